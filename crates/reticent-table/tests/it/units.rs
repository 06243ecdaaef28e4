//! Units whose rows lie anywhere in a file: brought together with little memory they are those that
//! are brought together in memory, whole, and in the same order.

use crate::common::clear::answer;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::layout_with;
use reticent_data::cluster::{ClusterError, Format, Packer, write_row};
use reticent_data::{
    BlockOracle, Chosen, LocalOracle, Oracle, OracleError, Preconditioner, Question, RobustRule,
    Rows, Sensitive, Speed, block_records,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::declaration::{Encoding, Layout, Precision};
use reticent_problem::{Loss, Problem, Unit, Weighting};
use reticent_table::table::{self, TableError};
use reticent_table::units::{UnitBlocks, count_units, unit_keys};

const SCHEMA: &str = r#"{"target": "sick", "columns": [
    {"name": "age", "type": "number", "bounds": {"min": 0, "max": 1}},
    {"name": "dose", "type": "number", "bounds": {"min": -1, "max": 1}},
    {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
    {"name": "sick", "type": "categorical", "categories": ["no", "yes"]}]}"#;

/// Enough that rows do not fit into the room for sorting.
const ROWS: usize = 90_000;

/// One unit has every third row; some rows have none.
fn key(i: usize) -> String {
    match i % 3 {
        0 => "often".to_owned(),
        _ if i.is_multiple_of(19) => " ".to_owned(),
        _ => format!(" p{}", i * 7919 % 25_013),
    }
}

fn text(rows: usize) -> Vec<u8> {
    let mut text = "who,age,dose,ward,sick\n".to_owned();
    for i in 0..rows {
        let x = (i as f64 * 0.754_877).fract();
        let y = (i as f64 * 0.569_84).fract();
        let (ward, sick) =
            (["a", "b", "c", "?"][i % 7 % 4], if x + y > 1.1 { "yes" } else { "no" });
        writeln!(text, "{},{x:.4},{:.4},{ward},{sick}", key(i), 2.0 * y - 1.0).unwrap();
    }
    let mut bytes = text.into_bytes();
    // No text, and missing: units of their own, however alike.
    bytes.extend(b"\xff\xfe,0.5,0.5,a,no\n\xff\xfe,0.5,0.5,a,no\n,0.5,0.5,a,no\n");
    bytes.extend(b"NA,0.5,0.5,a,no\n na ,0.5,0.5,a,no\nnull,0.5,0.5,a,no\nnull,0.5,0.5,a,no\n");
    bytes
}

fn layout(precision: Precision) -> Layout {
    layout_with(SCHEMA, &Encoding { precision, ..Encoding::default() })
}

fn unit(max_rows: usize) -> Unit {
    Unit { weighting: Weighting::Rows, ..Unit::new("who", max_rows).unwrap() }
}

fn both(path: &Path, layout: &Layout, unit: &Unit) -> (BlockOracle<UnitBlocks>, LocalOracle) {
    let speed = Speed { threads: Some(2) };
    let blocks = UnitBlocks::open(path, layout, unit, None, 64 << 20, speed).unwrap();
    let rows = table::read(path, None, layout, true).unwrap();
    let keys = unit_keys(&path.into(), unit).unwrap();
    let rows = rows.grouped(keys.into_iter(), unit).unwrap();
    (BlockOracle::new(blocks), LocalOracle::new(rows, speed).unwrap())
}

fn everything(oracle: &dyn Oracle, problem: &Problem) -> Vec<Vec<f64>> {
    let w: Vec<f64> = (0..problem.dimension()).map(|j| 0.3 - 0.2 * j as f64).collect();
    let sealed = Sensitive::new(w.clone());
    let key = SampleKey::new(&Source::seeded_not_private(5));
    let listed: Vec<usize> = (0..oracle.rows()).rev().step_by(97).collect();
    let grid = [0.2, 0.9, 2.0, 4.0, 8.0];
    let scales = (0..problem.features).map(|j| 1.0 + j as f64).collect();
    let preconditioner = Preconditioner::new(w.clone(), 0.3).with_scales(scales);
    let preconditioner = Some(&preconditioner);
    let draw = |step, rate| Draw { key: &key, step, rate: SampleRate::new(rate).unwrap() };
    let chosen = Chosen::Listed(&listed);
    let truncate = RobustRule::Truncate { q: 2.0, threshold: 0.8, grid: Some(1.0 / 1_048_576.0) };
    [
        Question::Gradient { at: &sealed },
        Question::Clipped { draw: draw(0, 0.01), clip: 0.05, preconditioner: None, at: &w },
        Question::Clipped { draw: draw(1, 0.7), clip: 0.05, preconditioner, at: &w },
        Question::Batch { batch: &listed, clip: 0.1, at: &w },
        Question::Robust { chosen, rule: truncate, at: &w },
        Question::Below { preconditioner, from: &[], grid: &grid },
        Question::Moments,
        Question::Score { at: &w },
    ]
    .iter()
    .map(|question| answer(oracle, problem, question))
    .collect()
}

#[test]
fn units_of_a_file_are_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    fs::write(&path, text(ROWS)).unwrap();
    for (max_rows, precision) in [(1, Precision::F64), (3, Precision::Sparse), (40, Precision::F32)]
    {
        let (layout, unit) = (layout(precision), unit(max_rows));
        let (streamed, local) = both(&path, &layout, &unit);
        assert_eq!(streamed.rows(), local.rows());
        let several = block_records(layout.dimension(), Some(&unit)) < local.rows();
        assert_eq!(several, max_rows > 1, "blocks");
        let problem =
            Problem::new(Loss::Logistic, layout.bounds(), local.rows(), layout.dimension());
        let problem = Problem { unit: Some(unit), ..problem };
        streamed.check(&problem).unwrap();
        assert!(streamed.in_order().is_none() && streamed.random_access().is_none());
        let answers = [everything(&streamed, &problem), everything(&local, &problem)];
        for (q, (a, b)) in answers[0].iter().zip(&answers[1]).enumerate() {
            let size = b.iter().map(|b| b.abs()).fold(0.0, f64::max);
            assert!(size > 0.0, "question {q}, {max_rows} rows: something to compare");
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() <= 1e-12 * size, "question {q}, {max_rows} rows: {a} {b}");
            }
        }
        let by_rows = Problem { unit: None, ..problem };
        assert_eq!(streamed.check(&by_rows), Err(OracleError::Units));
    }
}

#[test]
fn units_are_counted_alike_with_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    fs::write(&path, text(5000)).unwrap();
    let file = (&path).into();
    let keys = unit_keys(&file, &unit(2)).unwrap();
    let named: HashSet<_> = keys.iter().flatten().collect();
    let alone = keys.iter().filter(|key| key.is_none()).count();
    for bounded in [false, true] {
        assert_eq!(count_units(&file, &unit(2), bounded).unwrap(), named.len() + alone);
    }
    assert!(alone > 3, "rows without a unit");
}

/// Texts that are equal are one unit, also where a letter was lost before; a missing or unreadable
/// cell is nobody's.
#[test]
fn a_key_is_the_text_of_a_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    let missing = reticent_problem::declaration::MISSING_SPELLINGS;
    let long = "7".repeat((1 << 20) + 9);
    let cells =
        ["J\u{fffd}rg", " J\u{fffd}rg", "\u{fffd}", "\u{fffd}", "NAN1", "NAN1", &long, &long];
    let cells = cells.into_iter().chain(missing).chain(missing);
    let mut text = String::new();
    for cell in cells {
        writeln!(text, "\"{cell}\",1,1,a,no").unwrap();
    }
    fs::write(&path, format!("who,age,dose,ward,sick\n{text}")).unwrap();
    let keys = unit_keys(&(&path).into(), &unit(2)).unwrap();
    let named: Vec<_> = keys.iter().map(|key| key.as_deref()).take(6).collect();
    let (umlaut, mark, name) = (Some("J\u{fffd}rg"), Some("\u{fffd}"), Some("NAN1"));
    assert_eq!(named, [umlaut, umlaut, mark, mark, name, name]);
    assert!(
        keys[6..].iter().all(Option::is_none),
        "{:?}",
        keys[6..].iter().flatten().next().map(String::len)
    );
    for bounded in [false, true] {
        let units = count_units(&(&path).into(), &unit(2), bounded).unwrap();
        assert_eq!(units, 3 + 2 + 2 * missing.len());
    }
}

/// Rows and whose they are belong to one state of a file, even if there are as many in another.
#[test]
fn a_file_that_changes_between_two_reads_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    fs::write(&path, text(50)).unwrap();
    let file = table::TableFile::from(&path);
    let whose = || unit_keys(&file, &unit(2));
    assert_eq!(file.unchanged(whose).unwrap(), whose().unwrap());
    let changed = file.unchanged(|| {
        let keys = whose();
        fs::write(&path, text(50).to_ascii_uppercase().repeat(2)).unwrap();
        keys
    });
    assert!(matches!(changed, Err(TableError::Changed { .. })));
}

#[test]
fn a_file_without_the_column_or_without_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    fs::write(&path, "who,age,dose,ward,sick\n").unwrap();
    let layout = layout(Precision::F64);
    let (streamed, local) = both_empty(&path, &layout);
    assert_eq!((streamed.rows(), local), (0, 0));
    let problem = Problem::new(Loss::Logistic, layout.bounds(), 9, layout.dimension());
    let problem = Problem { unit: Some(unit(2)), ..problem };
    assert!(everything(&streamed, &problem).iter().flatten().all(|x| *x == 0.0));
    fs::write(&path, "age,dose,ward,sick\n1,1,a,no\n").unwrap();
    let open = UnitBlocks::open(&path, &layout, &unit(2), None, 1 << 20, Speed::default());
    let message = open.err().unwrap().to_string();
    let expected = TableError::UnknownColumn { file: "visits.csv".into(), column: "who".into() };
    assert!(message.ends_with(&expected.to_string()[12..]), "{message}");
}

fn both_empty(path: &Path, layout: &Layout) -> (BlockOracle<UnitBlocks>, usize) {
    let blocks = UnitBlocks::open(path, layout, &unit(2), None, 1 << 20, Speed::default());
    (BlockOracle::new(blocks.unwrap()), unit_keys(&path.into(), &unit(2)).unwrap().len())
}

/// Rows of units in one bucket, as a cluster sorts them: by unit, those without one first.
#[test]
fn a_packer_keeps_units_whole_and_refuses_those_that_are_split() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visits.csv");
    fs::write(&path, text(2000)).unwrap();
    let (layout, unit) = (layout(Precision::F64), unit(7));
    let rows = table::read(&path, None, &layout, true).unwrap();
    let keys = unit_keys(&(&path).into(), &unit).unwrap();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&i| (&keys[i], i));
    let bytes = |i: usize| {
        let mut bytes = Vec::new();
        write_row(&rows, i, &mut bytes);
        bytes
    };
    let format = Format::new(&layout, Some(&unit));
    let mut packer = Packer::new(format.clone(), 64);
    let mut blocks = Vec::new();
    for &i in &order {
        let key = keys[i].as_deref().map(str::as_bytes);
        blocks.extend(packer.push(3, key, &bytes(i)).unwrap());
    }
    blocks.extend(packer.finish());
    let named: HashSet<_> = keys.iter().flatten().collect();
    let alone = keys.iter().filter(|key| key.is_none()).count();
    let records: Vec<_> = blocks.iter().map(|block| block.records).collect();
    assert_eq!(records.iter().sum::<usize>(), named.len() + alone);
    assert!(records[..records.len() - 1].iter().all(|records| *records == 64), "{records:?}");
    let read: Vec<_> = blocks.iter().map(|block| format.unpack(&block.bytes).unwrap()).collect();
    assert!(read.iter().map(Rows::records).eq(records));
    let most = read.iter().map(Rows::len).sum::<usize>();
    let count = |key: &String| keys.iter().flatten().filter(|other| *other == key).count();
    let kept = |key| usize::min(count(key), unit.max_rows);
    assert_eq!(most, alone + named.into_iter().map(kept).sum::<usize>());
    // Bytes that say otherwise are no block: a unit of no row, and one of more than are kept.
    let mut forged = blocks[0].bytes.clone();
    let last = forged.len() - 8;
    for size in [0_u8, 8] {
        forged[last] = size;
        assert!(format.unpack(&forged).is_none());
    }
    // A broken copy that does not sort by unit.
    let mut packer = Packer::new(format, 64);
    let unsorted: Result<Vec<_>, _> = (0..rows.len())
        .map(|i| packer.push(3, keys[i].as_deref().map(str::as_bytes), &bytes(i)))
        .collect();
    assert!(matches!(unsorted, Err(ClusterError::Order)));
}
