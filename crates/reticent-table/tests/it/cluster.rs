//! Rows that lie with workers give the same bits however they are spread, agree with the same rows
//! in memory, and release nothing once a block is lost, doubled or changed.

use crate::common::clear::{answer, in_the_clear};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::layout_with;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use reticent_data::cluster::{
    Answer, Catalogue, ClusterError, Format, Packer, Worker, Workers, buckets, merge,
};
use reticent_data::{
    Chosen, ClusterOracle, LocalOracle, Oracle, OracleError, Preconditioner, Question, RobustRule,
    Sensitive, Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::declaration::{Encoding, Layout, Precision};
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};
use reticent_problem::{Domain, Loss, Problem};
use reticent_table::cluster::{self as table_cluster, RowBytes, add_blocks, pack, pack_rest};
use reticent_table::encode::Encoder;
use reticent_table::table::{TableError, from_batches};

const SCHEMA: &str = r#"{"target": "sick", "columns": [
    {"name": "age", "type": "number", "bounds": {"min": 0, "max": 1}},
    {"name": "dose", "type": "number", "bounds": {"min": -1, "max": 1}},
    {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
    {"name": "sick", "type": "categorical", "categories": ["no", "yes"]}]}"#;

const ROWS: usize = 3000;
const LIMIT: usize = 64;

fn layout(precision: Precision) -> Layout {
    layout_with(SCHEMA, &Encoding { precision, ..Encoding::default() })
}

/// Rows of which some are alike, from the numbers given.
fn table(numbers: &[usize]) -> RecordBatch {
    let x = |i: usize| ((i % 2500) as f64 * 0.754_877).fract();
    let y = |i: usize| ((i % 2500) as f64 * 0.569_84).fract();
    let of = |f: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(numbers.iter().map(|&i| f(i))))
    };
    let text = |f: &dyn Fn(usize) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(numbers.iter().map(|&i| f(i))))
    };
    RecordBatch::try_from_iter([
        ("age", of(&x)),
        ("dose", of(&|i| 2.0 * y(i) - 1.0)),
        ("ward", text(&|i| ["a", "b", "c", "?"][i % 2500 % 7 % 4])),
        ("sick", text(&|i| if x(i) + y(i) > 1.1 { "yes" } else { "no" })),
    ])
    .unwrap()
}

/// A hash that spreads rows; any will do.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

fn digest(bytes: &[u8]) -> [u8; 16] {
    let (a, b) = (hash(bytes), hash(&[bytes, b"more"].concat()));
    [a.to_le_bytes(), b.to_le_bytes()].concat().try_into().unwrap()
}

/// The blocks of a table whose rows come in some order, cut into `parts` contiguous ranges of
/// buckets.
fn blocks(layout: &Layout, order: &[usize], parts: usize) -> Vec<RecordBatch> {
    let encoder = RowBytes::new(layout);
    let count = buckets(ROWS, LIMIT);
    let mut rows: Vec<(u64, Vec<u8>)> = Vec::new();
    for piece in order.chunks(713) {
        let encoded = encoder.encode(&table(piece)).unwrap();
        rows.extend(encoded.iter().map(|row| {
            let row = row.unwrap().to_vec();
            (hash(&row) % count as u64, row)
        }));
    }
    rows.sort();
    let part_of = |bucket: u64| bucket as usize * parts / count;
    (0..parts)
        .map(|part| {
            let mine: Vec<_> = rows.iter().filter(|row| part_of(row.0) == part).collect();
            let mut packer = Packer::new(Format::new(layout, None), LIMIT);
            let mut packed = Vec::new();
            for piece in mine.chunks(100) {
                let buckets: ArrayRef =
                    Arc::new(Int64Array::from_iter_values(piece.iter().map(|r| r.0 as i64)));
                let rows: ArrayRef =
                    Arc::new(BinaryArray::from_iter_values(piece.iter().map(|r| &r.1)));
                let batch = RecordBatch::try_from_iter([("bucket", buckets), ("row", rows)]);
                packed.push(pack(&mut packer, &batch.unwrap()).unwrap());
            }
            packed.push(pack_rest(&mut packer).unwrap());
            with_digests(&packed)
        })
        .collect()
}

fn with_digests(packed: &[RecordBatch]) -> RecordBatch {
    let column = |name: &str| -> Vec<&ArrayRef> {
        packed.iter().map(|batch| batch.column_by_name(name).unwrap()).collect()
    };
    let whole = |name: &str| -> ArrayRef {
        let values = column(name);
        let values =
            values.iter().flat_map(|a| a.as_primitive::<Int64Type>().values().iter().copied());
        Arc::new(Int64Array::from_iter_values(values))
    };
    let blocks: Vec<_> = column("block").iter().flat_map(|a| a.as_binary::<i32>().iter()).collect();
    let digests = blocks.iter().map(|block| digest(block.unwrap()));
    RecordBatch::try_from_iter([
        ("bucket", whole("bucket")),
        ("part", whole("part")),
        ("records", whole("records")),
        ("digest", Arc::new(BinaryArray::from_iter_values(digests)) as ArrayRef),
        ("block", Arc::new(BinaryArray::from(blocks)) as ArrayRef),
    ])
    .unwrap()
}

/// Workers in this process; each has a part of the blocks. Sums meet in an order that changes from
/// question to question.
struct Fake {
    worker: Worker,
    parts: Vec<RecordBatch>,
    asked: AtomicUsize,
    /// From this question on there is no answer.
    dies: usize,
}

impl Workers for Fake {
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String> {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed);
        if turn >= self.dies {
            return Err("nobody is there".to_owned());
        }
        let answer = |part: &RecordBatch| {
            let mut answer = Answer::begin(question).map_err(|e| e.to_string())?;
            for i in 0..part.num_rows() {
                add_blocks(&self.worker, &part.slice(i, 1), &mut answer)
                    .map_err(|e| e.to_string())?;
            }
            Ok(answer.to_bytes())
        };
        let mut sums: Vec<Vec<u8>> =
            self.parts.iter().map(answer).collect::<Result<_, String>>()?;
        // Somebody was slow and was asked again: the answer is the same, and only one of them
        // counts.
        assert!(sums[0] == answer(&self.parts[0])?);
        let len = sums.len();
        sums.rotate_left(turn % len);
        if turn % 2 == 1 {
            sums.reverse();
        }
        let mut sums = sums.into_iter();
        let first = sums.next().unwrap();
        sums.try_fold(first, |a, b| merge(&a, &b).map_err(|e| e.to_string()))
    }
}

fn catalogue(parts: &[RecordBatch]) -> Catalogue {
    let made = table_cluster::catalogue(parts).unwrap();
    Catalogue::from_bytes(&made.to_bytes()).unwrap()
}

fn cluster(layout: &Layout, law: Option<&MapLaw>, parts: Vec<RecordBatch>) -> ClusterOracle<Fake> {
    counted(layout, law, &parts.clone(), parts, usize::MAX)
}

/// Workers that hold `parts` of a table that had the blocks of `first` when it was counted.
fn counted(
    layout: &Layout,
    law: Option<&MapLaw>,
    first: &[RecordBatch],
    parts: Vec<RecordBatch>,
    dies: usize,
) -> ClusterOracle<Fake> {
    let speed = Speed { threads: Some(1) };
    let worker = Worker::new(layout, None, law, catalogue(first), speed).unwrap();
    let columns = law.map_or(layout.dimension(), |law| law.features);
    let bounds = law.map_or(layout.bounds(), |law| law.bounds(1.0).unwrap());
    let workers = Fake { worker, parts, asked: AtomicUsize::new(0), dies };
    ClusterOracle::new(workers, &catalogue(first), None, columns, bounds)
}

/// The same rows in memory, in the order of their numbers: sorted by bucket and bytes.
fn local(layout: &Layout, law: Option<&MapLaw>) -> LocalOracle {
    let encoder = RowBytes::new(layout);
    let count = buckets(ROWS, LIMIT) as u64;
    let mut numbers: Vec<usize> = (0..ROWS).collect();
    let encoded = encoder.encode(&table(&numbers)).unwrap();
    numbers.sort_by_key(|&i| (hash(encoded.value(i)) % count, encoded.value(i).to_vec()));
    let rows = from_batches(&Encoder::new(layout), &[table(&numbers)], None).unwrap();
    let rows = match law {
        Some(law) => {
            let map = reticent_data::feature_map::FeatureMap::new(*law, layout.dimension());
            rows.mapped(map.unwrap()).unwrap()
        }
        None => rows,
    };
    LocalOracle::new(rows, Speed::default()).unwrap()
}

/// All that can be asked on a cluster.
fn everything(oracle: &dyn Oracle, problem: &Problem) -> BTreeMap<&'static str, Vec<f64>> {
    let d = problem.dimension();
    let w: Vec<f64> = (0..d).map(|j| 0.3 - 0.2 * j as f64).collect();
    let mut all = BTreeMap::new();
    let sealed = Sensitive::new(w.clone());
    all.insert("gradient", answer(oracle, problem, &Question::Gradient { at: &sealed }));
    let key = SampleKey::new(&Source::seeded_not_private(5));
    for (name, step, rate) in [("rare", 0, 0.01), ("some", 1, 0.2), ("most", 2, 0.8)] {
        let draw = Draw { key: &key, step, rate: SampleRate::new(rate).unwrap() };
        all.insert(
            name,
            answer(
                oracle,
                problem,
                &Question::Clipped { draw, clip: 0.05, preconditioner: None, at: &w },
            ),
        );
    }
    let batch: Vec<usize> = (0..ROWS).rev().step_by(17).collect();
    all.insert(
        "batch",
        answer(oracle, problem, &Question::Batch { batch: &batch, at: &w, clip: 0.1 }),
    );
    let truncate = RobustRule::Truncate { q: 2.0, threshold: 0.8, grid: Some(1.0 / 1024.0) };
    let listed = Chosen::Listed(&batch);
    all.insert(
        "listed",
        answer(
            oracle,
            problem,
            &Question::Robust { chosen: listed.clone(), rule: truncate, at: &w },
        ),
    );
    let (every, clip) = (Chosen::Block(0..ROWS), RobustRule::ClipEntries { bound: 0.3 });
    all.insert(
        "entries",
        answer(oracle, problem, &Question::Robust { chosen: every.clone(), rule: clip, at: &w }),
    );
    let grid = [0.2, 0.9, 1.2, 1.5, 2.0];
    all.insert(
        "below",
        answer(oracle, problem, &Question::Below { preconditioner: None, from: &[], grid: &grid }),
    );
    let sum = answer(oracle, problem, &Question::Moments);
    let (towards, squares) = sum.split_at(problem.features);
    let scales = squares[..towards.len()].iter().map(|v| 40.0 / (1.0 + v).sqrt()).collect();
    let preconditioner = Preconditioner::new(towards.to_vec(), 0.3).with_scales(scales);
    let preconditioner = Some(&preconditioner);
    all.insert("rows", sum);
    let draw = Draw { key: &key, step: 3, rate: SampleRate::new(0.2).unwrap() };
    // Sizes are not computed for the second clip norm.
    for (name, clip) in [("short", 0.05), ("careful", 1e-60)] {
        all.insert(
            name,
            answer(oracle, problem, &Question::Clipped { draw, clip, preconditioner, at: &w }),
        );
    }
    all.insert(
        "shorter",
        answer(oracle, problem, &Question::Below { preconditioner, from: &[], grid: &grid }),
    );
    let numbers = Problem {
        loss: Loss::Squared,
        domain: Domain::Ball { radius: 0.0 },
        features: d,
        ..problem.clone()
    };
    let below = |from: &[f64]| {
        answer(oracle, &numbers, &Question::Below { preconditioner: None, from, grid: &grid })
    };
    assert_ne!(below(&w), below(&[]), "labels count from what is predicted");
    all.insert("predicted", below(&w));
    all.insert("score", answer(oracle, problem, &Question::Score { at: &w }));
    all
}

fn bits(all: &BTreeMap<&'static str, Vec<f64>>) -> Vec<(&'static str, Vec<u64>)> {
    all.iter().map(|(name, sum)| (*name, sum.iter().map(|x| x.to_bits()).collect())).collect()
}

fn shuffled(seed: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ROWS).collect();
    order.sort_by_key(|i| hash(&(i * 31 + seed).to_le_bytes()));
    order
}

fn problem(layout: &Layout) -> Problem {
    Problem {
        domain: Domain::Ball { radius: 2.0 },
        slope_limit: Some(0.9),
        ..Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension())
    }
}

#[test]
fn however_rows_are_spread_the_bits_are_the_same_and_agree_with_memory() {
    for precision in [Precision::F64, Precision::F32, Precision::Sparse] {
        let layout = layout(precision);
        let problem = problem(&layout);
        let one = cluster(&layout, None, blocks(&layout, &shuffled(0), 1));
        one.check(&problem).unwrap();
        let first = everything(&one, &problem);
        for (seed, parts) in [(1, 1), (2, 2), (3, 3), (4, 7), (5, 40)] {
            let other = cluster(&layout, None, blocks(&layout, &shuffled(seed), parts));
            let all = everything(&other, &problem);
            assert_eq!(bits(&first), bits(&all), "{parts} parts");
        }
        let memory = everything(&local(&layout, None), &problem);
        for (name, sum) in &memory {
            let size = sum.iter().map(|x| x.abs()).fold(0.0, f64::max);
            assert!(size > 0.0, "{name}");
            for (a, b) in sum.iter().zip(&first[name]) {
                assert!((a - b).abs() <= 1e-12 * size, "{name}: {a} {b}");
            }
        }
        assert_eq!(memory["below"], first["below"]);
        assert_eq!(memory["listed"], first["listed"], "sums of grid points are exact");
    }
}

#[test]
fn random_features_are_computed_beside_the_rows() {
    let layout = layout(Precision::F64);
    let law = MapLaw {
        kernel: Kernel::Gaussian,
        bandwidth: 0.8,
        construction: Construction::Structured,
        form: Form::Paired,
        features: 16,
        seed: 3,
    };
    let spread = cluster(&layout, Some(&law), blocks(&layout, &shuffled(1), 3));
    let memory = local(&layout, Some(&law));
    assert_eq!((spread.features(), spread.bounds()), (memory.features(), memory.bounds()));
    let problem = Problem::new(Loss::Logistic, memory.bounds(), ROWS, 16);
    let w = Sensitive::new((0..16).map(|j| 0.1 * f64::from(j) - 0.7).collect::<Vec<_>>());
    let oracles: [&dyn Oracle; 2] = [&spread, &memory];
    let [a, b] = oracles.map(|o| answer(o, &problem, &Question::Gradient { at: &w }));
    let size = b.iter().map(|x| x.abs()).fold(0.0, f64::max);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-12 * size));
}

/// Asks once and says whether anything may be released, and whether something came out.
fn outcome(oracle: &ClusterOracle<Fake>, problem: &Problem) -> (Result<(), OracleError>, bool) {
    let w = Sensitive::new(vec![0.1; problem.dimension()]);
    let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
    let asked = oracle.ask(problem, &Question::Gradient { at: &w }, &mut sum);
    (asked, in_the_clear(sum).iter().any(|x| *x != 0.0))
}

#[test]
fn what_is_lost_doubled_or_changed_releases_nothing() {
    let layout = layout(Precision::F64);
    let problem = problem(&layout);
    let parts = blocks(&layout, &shuffled(0), 3);
    assert!(matches!(outcome(&cluster(&layout, None, parts.clone()), &problem), (Ok(()), true)));
    let refuses = |oracle: &ClusterOracle<Fake>, word: &str| {
        let (whole, something) = outcome(oracle, &problem);
        let why = whole.unwrap_err().to_string();
        assert!(why.starts_with("nothing is released") && why.contains(word), "{why}");
        assert!(!something, "what is incomplete is not handed on");
        assert!(outcome(oracle, &problem).0.is_err(), "and stays so");
    };
    let with = |now: Vec<RecordBatch>| counted(&layout, None, &parts, now, usize::MAX);
    refuses(&with(parts[..2].to_vec()), "missing");
    let mut short = parts.clone();
    short[1] = short[1].slice(1, short[1].num_rows() - 1);
    refuses(&with(short), "missing");
    refuses(&with([parts.clone(), parts[..1].to_vec()].concat()), "twice");
    // One row in three thousand is another: computed again, the table was not the same.
    let mut order = shuffled(0);
    order[1234] = (order[1234] + 1) % ROWS;
    refuses(&with(blocks(&layout, &order, 3)), "other rows");
    let dying = counted(&layout, None, &parts, parts.clone(), 1);
    assert!(matches!(outcome(&dying, &problem), (Ok(()), true)));
    refuses(&dying, "nobody is there");
}

#[test]
fn algorithms_that_need_an_order_get_nothing() {
    let layout = layout(Precision::F64);
    let problem = problem(&layout);
    let make = || cluster(&layout, None, blocks(&layout, &shuffled(0), 2));
    assert_eq!(make().check_walk(&problem).err(), Some(OracleError::InOrder));
    let d = problem.dimension();
    assert_eq!(make().check_order(&problem).err(), Some(OracleError::NoOrder));
    let (chosen, rule) = (Chosen::Block(0..100), RobustRule::ClipEntries { bound: 1.0 });
    let mut none = Sensitive::new(vec![0.0; d]);
    let consecutive = Question::Robust { chosen, rule, at: &vec![0.1; d] };
    let asked = make().ask(&problem, &consecutive, &mut none);
    assert_eq!(asked, Err(OracleError::NoOrder));
    assert!(in_the_clear(none).iter().all(|x| *x == 0.0));
}

#[test]
fn a_bucket_of_equal_rows_becomes_several_blocks_and_an_empty_table_is_a_table() {
    let layout = layout(Precision::Sparse);
    let same = vec![7; 500];
    let parts = blocks(&layout, &same, 3);
    let sizes: Vec<_> = parts.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 500_usize.div_ceil(LIMIT));
    assert_eq!(catalogue(&parts).records(), 500);
    let none = blocks(&layout, &[], 2);
    let empty = cluster(&layout, None, none);
    let problem = problem(&layout);
    assert!(matches!(outcome(&empty, &problem), (Ok(()), false)));
    empty.check_columns(&problem).unwrap();
}

#[test]
fn structure_is_refused_before_any_row() {
    let layout = layout(Precision::F64);
    let rows = RowBytes::new(&layout);
    rows.check(&table(&[])).unwrap();
    let missing = rows.check(&table(&[]).project(&[0, 1, 3]).unwrap());
    assert!(matches!(missing, Err(TableError::MissingColumn { .. })));
    let mut packer = Packer::new(Format::new(&layout, None), LIMIT);
    let batch = |buckets: Vec<i64>, row: &[u8]| {
        let rows: ArrayRef = Arc::new(BinaryArray::from_iter_values(buckets.iter().map(|_| row)));
        let buckets: ArrayRef = Arc::new(Int64Array::from(buckets));
        RecordBatch::try_from_iter([("bucket", buckets), ("row", rows)]).unwrap()
    };
    let encoded = rows.encode(&table(&[3])).unwrap();
    let unsorted = pack(&mut packer, &batch(vec![2, 1], encoded.value(0)));
    assert!(matches!(unsorted, Err(ClusterError::Order)));
    let torn = pack(
        &mut Packer::new(Format::new(&layout, None), LIMIT),
        &batch(vec![1], &encoded.value(0)[1..]),
    );
    assert!(matches!(torn, Err(ClusterError::Unreadable(_))));
    let parts = blocks(&layout, &shuffled(0), 2);
    assert!(matches!(
        table_cluster::catalogue(&[parts[0].clone(), parts[0].clone()]),
        Err(ClusterError::Twice)
    ));
    assert!(Catalogue::from_bytes(&[1, 2, 3]).is_err());
    assert!(merge(b"no", b"sum").is_err());
}
