//! A table that is read block by block gives what the same table in memory gives, through every
//! door of the oracle.

use crate::common::clear::{answer, in_the_clear};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::layout;
use reticent_data::block_rows;
use reticent_data::{
    Chosen, LocalOracle, Oracle, OracleError, Preconditioner, Question, RobustRule, Sensitive,
    Speed,
};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::declaration::Layout;
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};
use reticent_problem::{Domain, Loss, Problem};
use reticent_table::stream::{FileBlocks, StreamError, StreamOracle};
use reticent_table::table;

const SCHEMA: &str = r#"{"target": "sick", "columns": [
    {"name": "age", "type": "number", "bounds": {"min": 0, "max": 1}},
    {"name": "dose", "type": "number", "bounds": {"min": -1, "max": 1}},
    {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
    {"name": "sick", "type": "categorical", "categories": ["no", "yes"]}]}"#;

const MEMORY: usize = 512 << 20;

/// Two whole blocks and a part of a third.
const ROWS: usize = 2 * (1 << 16) + 777;

fn text(rows: usize) -> String {
    let mut text = "age,dose,ward,sick\n".to_owned();
    for i in 0..rows {
        let x = (i as f64 * 0.754_877).fract();
        let y = (i as f64 * 0.569_84).fract();
        let ward = ["a", "b", "c", "?"][i % 7 % 4];
        let sick = if x + y > 1.1 { "yes" } else { "no" };
        writeln!(text, "{x:.4},{:.4},{ward},{sick}", 2.0 * y - 1.0).unwrap();
    }
    text
}

fn file(folder: &Path) -> PathBuf {
    let path = folder.join("people.csv");
    fs::write(&path, text(ROWS)).unwrap();
    path
}

fn both(path: &Path, layout: &Layout) -> (StreamOracle, LocalOracle) {
    let speed = Speed { threads: Some(2) };
    let blocks = FileBlocks::open(path, layout, None, MEMORY, speed).unwrap();
    let streamed = StreamOracle::new(blocks);
    let rows = table::read(path, None, layout, true).unwrap();
    (streamed, LocalOracle::new(rows, speed).unwrap())
}

fn close(a: &[f64], b: &[f64]) {
    let size = b.iter().map(|b| b.abs()).fold(0.0, f64::max);
    assert!(size > 0.0, "something to compare");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-12 * size, "{a} {b}");
    }
}

#[test]
fn sums_agree_with_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    assert!(ROWS > 2 * block_rows(layout.dimension()));
    let (streamed, local) = both(&file(folder.path()), &layout);
    let oracles: [&dyn Oracle; 2] = [&streamed, &local];
    let problem = Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension());
    let d = problem.dimension();
    let w: Vec<f64> = (0..d).map(|j| 0.3 - 0.2 * j as f64).collect();
    for oracle in oracles {
        oracle.check(&problem).unwrap();
    }
    let sealed = Sensitive::new(w.clone());
    let [a, b] = oracles.map(|o| answer(o, &problem, &Question::Gradient { at: &sealed }));
    close(&a, &b);
    let batch: Vec<usize> = (0..ROWS).rev().step_by(1001).collect();
    let [a, b] =
        oracles.map(|o| answer(o, &problem, &Question::Batch { batch: &batch, at: &w, clip: 0.1 }));
    close(&a, &b);
    for chosen in
        [Chosen::Block(1000..ROWS - 3), Chosen::Block(70_000..70_010), Chosen::Listed(&batch)]
    {
        let rule = RobustRule::Truncate { q: 2.0, threshold: 0.8, grid: Some(1.0 / 1024.0) };
        let [a, b] = oracles.map(|o| {
            answer(o, &problem, &Question::Robust { chosen: chosen.clone(), rule, at: &w })
        });
        assert_eq!(a, b, "sums of grid points are exact");
    }
    let grid = [0.2, 0.9, 1.2, 1.5, 2.0];
    let [a, b] = oracles.map(|o| {
        answer(o, &problem, &Question::Below { preconditioner: None, from: &[], grid: &grid })
    });
    assert_eq!(a, b);
    let [a, b] = oracles.map(|o| answer(o, &problem, &Question::Moments));
    close(&a, &b);
    let scales = a[d..2 * d].iter().map(|v| (1.0 + v).sqrt().recip()).collect();
    let preconditioner = Preconditioner::new(a[..d].to_vec(), 0.3).with_scales(scales);
    let [a, b] = oracles.map(|o| {
        answer(
            o,
            &problem,
            &Question::Below { preconditioner: Some(&preconditioner), from: &[], grid: &grid },
        )
    });
    assert_eq!(a, b);
    let domain = Domain::Ball { radius: 0.0 };
    let numbers = Problem { loss: Loss::Squared, domain, ..problem };
    let [a, b] = oracles.map(|o| {
        answer(o, &numbers, &Question::Below { preconditioner: None, from: &w, grid: &grid })
    });
    assert_eq!(a, b);
    let [a, c] = oracles.map(|o| {
        answer(o, &numbers, &Question::Below { preconditioner: None, from: &[], grid: &grid })
    });
    assert_eq!(a, c);
    assert_ne!(b, c, "labels count from what is predicted");
}

#[test]
fn keyed_draws_pick_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let (streamed, local) = both(&file(folder.path()), &layout);
    let problem = Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension());
    let w: Vec<f64> = (0..problem.dimension()).map(|j| 0.1 * j as f64).collect();
    let source = Source::seeded_not_private(5);
    let key = SampleKey::new(&source);
    for (step, rate) in [(0, 1e-3), (1, 0.02), (2, 0.7)] {
        let draw = Draw { key: &key, step, rate: SampleRate::new(rate).unwrap() };
        let ask = |o: &dyn Oracle| {
            answer(
                o,
                &problem,
                &Question::Clipped { draw, clip: 0.05, preconditioner: None, at: &w },
            )
        };
        close(&ask(&streamed), &ask(&local));
        let odd = |times: f64| (0..w.len()).map(move |j| 1.0 + times * j as f64).collect();
        let preconditioner = Preconditioner::new(odd(1.0), 0.2).with_scales(odd(30.0));
        // Sizes are not computed for the second clip norm.
        for clip in [0.05, 1e-60] {
            let short = |o: &dyn Oracle| {
                answer(
                    o,
                    &problem,
                    &Question::Clipped {
                        draw,
                        clip,
                        preconditioner: Some(&preconditioner),
                        at: &w,
                    },
                )
            };
            close(&short(&streamed), &short(&local));
            assert_ne!(short(&local), ask(&local));
        }
    }
}

#[test]
fn one_pass_goes_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let (streamed, local) = both(&file(folder.path()), &layout);
    let problem = Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension());
    let d = problem.dimension();
    for range in [0..ROWS, 65_000..66_000, 131_500..ROWS] {
        let pass = |o: &dyn Oracle| {
            let (mut w, mut sum) = (Sensitive::new(vec![0.0; d]), Sensitive::new(vec![0.0; d]));
            let rows = o.in_order().unwrap();
            rows.one_pass(&problem, range.clone(), 0.01, &mut w, &mut sum).unwrap();
            (in_the_clear(w), in_the_clear(sum))
        };
        assert_eq!(pass(&streamed), pass(&local));
    }
}

#[test]
fn random_features_are_computed_block_by_block() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let path = folder.path().join("people.csv");
    fs::write(&path, text(70_000)).unwrap();
    let law = MapLaw {
        kernel: Kernel::Gaussian,
        bandwidth: 0.8,
        construction: Construction::Structured,
        form: Form::Paired,
        features: 16,
        seed: 3,
    };
    let speed = Speed::default();
    let blocks = FileBlocks::open(&path, &layout, Some(&law), MEMORY, speed).unwrap();
    let streamed = StreamOracle::new(blocks);
    let rows = table::read(&path, None, &layout, true).unwrap();
    let map = reticent_data::feature_map::FeatureMap::new(law, layout.dimension()).unwrap();
    let local = LocalOracle::new(rows.mapped(map).unwrap(), speed).unwrap();
    assert_eq!((streamed.features(), streamed.bounds()), (local.features(), local.bounds()));
    let problem = Problem::new(Loss::Logistic, local.bounds(), 70_000, 16);
    let w = Sensitive::new((0..16).map(|j| 0.1 * f64::from(j) - 0.7).collect::<Vec<_>>());
    let oracles: [&dyn Oracle; 2] = [&streamed, &local];
    let [a, b] = oracles.map(|o| answer(o, &problem, &Question::Gradient { at: &w }));
    close(&a, &b);
}

#[test]
fn rows_come_in_order_only_and_a_changed_file_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let path = file(folder.path());
    let (streamed, _) = both(&path, &layout);
    let problem = Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension());
    assert_eq!(streamed.check_walk(&problem).err(), Some(OracleError::InOrder));
    assert!(streamed.random_access().is_none(), "no way to ask for a walk");
    let w = Sensitive::new(vec![0.0; problem.dimension()]);
    let gradient = |o: &StreamOracle| {
        let mut sum = Sensitive::new(vec![0.0; problem.dimension()]);
        let asked = o.ask(&problem, &Question::Gradient { at: &w }, &mut sum);
        let nothing = in_the_clear(sum).iter().all(|x| *x == 0.0);
        assert_eq!(asked.is_err(), nothing, "a part of a sum");
        asked
    };
    gradient(&streamed).unwrap();
    // Rows that were not there when they were counted must not be used either.
    let (grown, _) = both(&path, &layout);
    fs::write(&path, text(ROWS + 5)).unwrap();
    assert!(matches!(gradient(&grown), Err(OracleError::Unread { .. })));
    fs::write(&path, text(100)).unwrap();
    assert!(matches!(gradient(&streamed), Err(OracleError::Unread { .. })));
    let rows = streamed.in_order().unwrap();
    let (mut at, mut sum) = (w.clone(), w.clone());
    let pass = rows.one_pass(&problem, 0..ROWS, 0.1, &mut at, &mut sum);
    assert!(matches!(pass, Err(OracleError::Unread { .. })));
    fs::remove_file(&path).unwrap();
    let (folder, layout) = (folder.path(), &layout);
    let gone = FileBlocks::open(&folder.join("people.csv"), layout, None, MEMORY, Speed::default());
    assert!(matches!(gone, Err(StreamError::Table(_))));
}

#[test]
fn too_little_memory_is_refused_and_an_empty_table_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(SCHEMA);
    let problem = Problem::new(Loss::Logistic, layout.bounds(), ROWS, layout.dimension());
    FileBlocks::check_memory(&layout, &problem, 512 << 20).unwrap();
    let refusal = FileBlocks::check_memory(&layout, &problem, 1 << 20).unwrap_err().to_string();
    assert!(refusal.contains("`memory` must be at least"), "{refusal}");
    let path = folder.path().join("none.csv");
    fs::write(&path, text(0)).unwrap();
    let blocks = FileBlocks::open(&path, &layout, None, MEMORY, Speed::default()).unwrap();
    let streamed = StreamOracle::new(blocks);
    let w = Sensitive::new(vec![0.0; problem.dimension()]);
    let sum = answer(&streamed, &problem, &Question::Gradient { at: &w });
    assert_eq!(sum, vec![0.0; problem.dimension()]);
}
