//! Weights of rows from a column, from classes, or both: read alike in every format, held to what
//! is declared, in memory, in blocks, by unit and on a cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use reticent_data::cluster::{Format, Packer};
use reticent_data::{BlockOracle, Blocks as _, LocalOracle, Oracle, Question, Sensitive, Speed};
use reticent_problem::declaration::{Encoding, Layout};
use reticent_problem::{Loss, Problem, Unit};
use reticent_table::cluster::{RowBytes, pack, pack_rest};
use reticent_table::encode::{Encoder, Targets};
use reticent_table::stream::FileBlocks;
use reticent_table::table::{self, TableError};
use reticent_table::units::{UnitBlocks, unit_keys};

use crate::common::clear::answer;
use crate::common::{layout, layout_with, write};

const SCHEMA: &str = r#"{"target": "sick", "columns": [
    {"name": "age", "type": "number", "bounds": {"min": 0, "max": 1}},
    {"name": "times", "role": "weight", "bounds": {"min": 0.5, "max": 4}, "missing": ["-9"]},
    {"name": "sick", "type": "categorical", "categories": ["no", "yes"]}]}"#;

const CELLS: [&str; 9] = ["1", "4", "9", "-3", "0", "", "-9", "many", "inf"];
const SHARES: [f64; 9] = [0.25, 1.0, 1.0, 0.125, 0.125, 0.0, 0.0, 0.0, 0.0];

fn by_class() -> Layout {
    let class_weights = Some(BTreeMap::from([("no".to_owned(), 0.5), ("yes".to_owned(), 2.0)]));
    layout_with(SCHEMA, &Encoding { class_weights, ..Encoding::default() })
}

#[test]
fn a_weight_is_its_share_of_the_declared_maximum() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "times,age,sick\n".to_owned();
    for cell in CELLS {
        writeln!(text, "{cell},0.5,yes").unwrap();
    }
    text += "4,oops,yes\n4,0.5,no\n";
    let path = write(folder.path(), "a.csv", text.as_bytes());
    let rows = table::read(&path, None, &layout(SCHEMA), true).unwrap();
    // A row that cannot be read counts nothing.
    let mut want = SHARES.to_vec();
    want.extend([0.0, 1.0]);
    assert_eq!(rows.weights().unwrap(), want);
    assert_eq!(rows.features().columns(), 2, "no feature");
    // Times the class's share of the largest class weight.
    let rows = table::read(&path, None, &by_class(), true).unwrap();
    want[10] = 0.25;
    assert_eq!(rows.weights().unwrap(), want);

    // Marks between thousands.
    let schema = SCHEMA.replace(r#""max": 4}"#, r#""max": 4000}, "thousands": ",""#);
    let text = "times,age,sick\n\"2,000\",0.5,yes\n1000,0.5,yes\n";
    let path = write(folder.path(), "b.csv", text.as_bytes());
    let rows = table::read(&path, None, &layout(&schema), true).unwrap();
    assert_eq!(rows.weights().unwrap(), [0.5, 0.25]);

    // Nothing is read where nothing is trained, and the column may be absent.
    let path = write(folder.path(), "c.csv", b"age\n0.5\n");
    assert!(table::read(&path, None, &layout(SCHEMA), false).unwrap().weights().is_none());
    let path = write(folder.path(), "d.csv", b"age,sick\n0.5,no\n");
    assert!(table::inspect(&path, None, &layout(SCHEMA), true).unwrap().rows.weights().is_none());
    let missing = table::read(&path, None, &layout(SCHEMA), true).unwrap_err().to_string();
    assert!(missing.contains("`times`"), "{missing}");
}

fn batch(rows: usize) -> RecordBatch {
    let number = |f: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new((0..rows).map(f).collect::<Float64Array>())
    };
    let sick: ArrayRef = Arc::new(
        (0..rows)
            .map(|i| Some(if i.is_multiple_of(3) { "yes" } else { "no" }))
            .collect::<StringArray>(),
    );
    let weights = |i: usize| if i.is_multiple_of(11) { f64::NAN } else { (i % 7) as f64 };
    RecordBatch::try_from_iter([
        ("age", number(&|i| (i as f64 * 0.754_877).fract())),
        ("times", number(&weights)),
        ("sick", sick),
    ])
    .unwrap()
}

fn gradient(oracle: &dyn Oracle, layout: &Layout) -> Vec<f64> {
    let problem = Problem {
        weighted: true,
        unit: oracle.unit().cloned(),
        ..Problem::new(Loss::Logistic, layout.bounds(), oracle.rows(), layout.dimension())
    };
    oracle.check(&problem).unwrap();
    let at = Sensitive::new(vec![0.3; layout.dimension()]);
    answer(oracle, &problem, &Question::Gradient { at: &at })
}

#[test]
fn every_way_to_read_a_table_gives_the_same_weights() {
    let (folder, layout, speed) = (tempfile::tempdir().unwrap(), by_class(), Speed::default());
    let batch = batch(90_000);
    let path = folder.path().join("a.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let rows = table::read(&path, None, &layout, true).unwrap();
    let again =
        table::from_batches(&Encoder::new(&layout), std::slice::from_ref(&batch), None).unwrap();
    assert!(rows == again);
    let memory = gradient(&LocalOracle::new(rows.clone(), speed).unwrap(), &layout);
    let blocks = FileBlocks::open(&path, &layout, None, 64 << 20, speed).unwrap();
    assert!(blocks.weighted());
    let mut weights: Vec<f64> = Vec::new();
    blocks.each(0..90_000, &mut |_, rows| weights.extend(rows.weights().unwrap())).unwrap();
    assert!(weights == rows.weights().unwrap());
    let streamed = gradient(&BlockOracle::new(blocks), &layout);
    for (m, s) in memory.iter().zip(&streamed) {
        assert!((m - s).abs() <= 1e-9 * m.abs(), "{memory:?} {streamed:?}");
    }
    assert!(memory.iter().all(|m| *m != 0.0));

    // On a cluster a row travels with its weight.
    let bytes = RowBytes::new(&layout).encode(&batch.slice(0, 50)).unwrap();
    let sent = RecordBatch::try_from_iter([
        ("bucket", Arc::new(arrow_array::Int64Array::from(vec![0; 50])) as ArrayRef),
        ("row", Arc::new(bytes) as ArrayRef),
    ])
    .unwrap();
    let format = Format::new(&layout, None);
    let mut packer = Packer::new(format.clone(), 100);
    assert_eq!(pack(&mut packer, &sent).unwrap().num_rows(), 0);
    let block = pack_rest(&mut packer).unwrap();
    let block = block.column_by_name("block").unwrap();
    let block = arrow_array::cast::AsArray::as_binary::<i32>(block);
    let arrived = format.unpack(block.value(0)).unwrap();
    assert!(arrived.weights().unwrap() == &rows.weights().unwrap()[..50]);
    // Bytes of rows without weights are no rows with them.
    assert!(Format::new(&layout.without_weights(), None).unpack(block.value(0)).is_none());
}

#[test]
fn an_exposure_divides_the_target_and_weighs_the_row() {
    let schema = r#"{"target": "claims", "columns": [
        {"name": "age", "type": "number", "bounds": {"min": 0, "max": 1}},
        {"name": "years", "role": "exposure", "bounds": {"min": 0.25, "max": 2}},
        {"name": "claims", "type": "number", "bounds": {"min": 0, "max": 8}, "missing": 4}]}"#;
    let layout = layout(schema).for_labels(reticent_problem::loss::LabelKind::NonNegative);
    let folder = tempfile::tempdir().unwrap();
    let text = "years,claims,age\n1,2,0.5\n0.5,2.5,0.5\n0.01,1,0.5\n9,3,0.5\n2,20,0.5\n,2,0.5\nx,2,0.5\n1,,0.5\n0.5,2,0\n";
    let path = write(folder.path(), "a.csv", text.as_bytes());
    let rows = table::read(&path, None, &layout, true).unwrap();
    // Rates over 8: 2, 5, 1/0.25, 3/2, 20/2 held to 8, none, none, none, and 4, which marks nothing
    // once it is a rate.
    let rates = [2.0, 5.0, 4.0, 1.5, 8.0, 0.0, 0.0, 0.0, 4.0];
    assert_eq!(rows.labels(), rates.map(|rate| rate / 8.0));
    assert_eq!(rows.weights().unwrap(), [0.5, 0.25, 0.125, 1.0, 1.0, 0.0, 0.0, 0.5, 0.25]);
    // Scored in the same way; a target without its exposure is no rate.
    let scored = table::inspect(&path, None, &layout, true).unwrap();
    let known = [2.0, 5.0, 4.0, 1.5, 10.0].map(|rate| Some(rate / 8.0));
    assert_eq!(scored.labels[..5], known);
    assert_eq!(scored.labels[5..], [None, None, None, Some(0.5)]);
    let years = scored.counts.columns.iter().find(|c| c.name == "years").unwrap();
    assert_eq!((years.missing, years.clamped, years.unreadable), (1, Some(2), Some(1)));
    assert!(table::read(&path, None, &layout, false).unwrap().weights().is_none());
}

#[test]
fn units_keep_the_weights_of_their_rows() {
    let (folder, layout, speed) = (tempfile::tempdir().unwrap(), layout(SCHEMA), Speed::default());
    let mut text = "who,times,age,sick\n".to_owned();
    for i in 0..5000 {
        writeln!(text, "p{},{},{},{}", i * 31 % 701, i % 6, i % 2, ["no", "yes"][i / 7 % 2])
            .unwrap();
    }
    let path = write(folder.path(), "a.csv", text.as_bytes());
    let unit = Unit::new("who", 3).unwrap();
    let keys = unit_keys(&(&*path).into(), &unit).unwrap();
    let rows = table::read(&path, None, &layout, true).unwrap();
    let rows = rows.grouped(keys.into_iter(), &unit).unwrap();
    let memory = gradient(&LocalOracle::new(rows, speed).unwrap(), &layout);
    let blocks = UnitBlocks::open(&*path, &layout, &unit, None, 64 << 20, speed).unwrap();
    let streamed = gradient(&BlockOracle::new(blocks), &layout);
    assert_eq!(memory, streamed);
}

#[test]
fn a_table_without_names_has_no_column_of_weights() {
    let encoder = Encoder::new(&layout(SCHEMA));
    let refused = encoder.matrix(1, &[0.5, 0.7], Targets::Numbers(&[0.0, 1.0])).unwrap_err();
    assert!(matches!(refused, TableError::NamelessWeights { .. }), "{refused}");
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.libsvm", b"no 1:0.5\nyes 1:0.2\n");
    let refused = table::read(&path, None, &layout(SCHEMA), true).unwrap_err();
    assert!(matches!(refused, TableError::NamelessWeights { .. }), "{refused}");
    // Classes are read from such tables as from any other.
    let schema = SCHEMA.replace(
        r#"{"name": "times", "role": "weight", "bounds": {"min": 0.5, "max": 4}, "missing": ["-9"]},"#,
        "",
    );
    let class_weights = Some(BTreeMap::from([("no".to_owned(), 0.1)]));
    let layout = layout_with(&schema, &Encoding { class_weights, ..Encoding::default() });
    let encoder = Encoder::new(&layout);
    let rows = encoder.matrix(1, &[0.5, 0.7], Targets::Texts(&["no", "yes"])).unwrap();
    assert_eq!(rows.weights().unwrap(), [0.1, 1.0]);
}
