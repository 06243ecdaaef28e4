//! A row's contribution to a sum has the same bits wherever the row lies among others.
//!
//! The sensitivity of a computed sum is charged for rounding on the ground that the rows which two
//! neighbouring tables share are rounded alike before they are added. Where numbers of rows shift
//! (a row joins or leaves, or a cluster numbers rows by what they hold), this needs that a row's
//! margins, slope and clip factor do not depend on which rows it is computed together with.

use crate::common::clear::in_the_clear;
use reticent_data::{Csr, Dense, Features, LocalOracle, Oracle, Question, Rows, Sensitive, Speed};
use reticent_noise::Source;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Loss, Problem, RowBounds};

const ROWS: usize = 300;

/// Numbers between −1 and 1 that look random.
fn number(i: usize) -> f64 {
    let x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Rows of zeros, but for one at `place`.
fn table(layout: &str, row: &[f64], place: usize, labels: &[f64], bounds: RowBounds) -> Rows {
    let d = row.len();
    let mut values = vec![0.0; ROWS * d];
    values[place * d..(place + 1) * d].copy_from_slice(row);
    let features = match layout {
        "f64" => Features::F64(Dense::new(ROWS, d, values)),
        "f32" => Features::F32(Dense::new(ROWS, d, values.iter().map(|v| *v as f32).collect())),
        _ => {
            let offsets = (0..=ROWS).map(|i| if i > place { d } else { 0 }).collect();
            Features::Sparse(Csr::new(d, offsets, (0..d as u32).collect(), row.to_vec()))
        }
    };
    Rows::new(features, labels.to_vec(), bounds)
}

/// Every kind of sum over the table at `w`.
fn sums(problem: &Problem, rows: Rows, w: &[f64], clip: f64) -> Vec<Vec<f64>> {
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let key = SampleKey::new(&Source::seeded_not_private(1));
    let rate = SampleRate::new(1.0).unwrap();
    let fresh = || Sensitive::new(vec![f64::NAN; w.len()]);
    let (mut clipped, mut batch, mut gradient) = (fresh(), fresh(), fresh());
    oracle
        .ask(
            problem,
            &Question::Clipped {
                draw: Draw { key: &key, step: 0, rate },
                clip,
                preconditioner: None,
                at: w,
            },
            &mut clipped,
        )
        .unwrap();
    let all: Vec<usize> = (0..ROWS).collect();
    oracle.ask(problem, &Question::Batch { batch: &all, at: w, clip }, &mut batch).unwrap();
    oracle
        .ask(problem, &Question::Gradient { at: &Sensitive::new(w.to_vec()) }, &mut gradient)
        .unwrap();
    vec![in_the_clear(clipped), in_the_clear(batch), in_the_clear(gradient)]
}

#[test]
fn what_a_row_adds_does_not_depend_on_its_place() {
    let losses = [
        (Loss::Logistic, 1.0),
        (Loss::Huber { threshold: 0.5 }, 0.7),
        (Loss::Hinge { q: 1.5 }, -1.0),
        (Loss::Softmax { classes: 3 }, 2.0),
        (Loss::Softmax { classes: 10 }, 7.0),
        (Loss::Softmax { classes: 33 }, 7.0),
    ];
    for (loss, label) in losses {
        for d in [3, 17, 64, 131] {
            let bounds = RowBounds::new(100.0, 1.0).unwrap();
            let problem = Problem::new(loss, bounds, ROWS, d);
            let row: Vec<f64> = (0..d).map(|i| f64::from(number(i) as f32)).collect();
            let w: Vec<f64> = (0..problem.dimension()).map(|i| number(1000 + i)).collect();
            let margin: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
            // On the wrong side, where the hinge has a slope.
            let label = if let Loss::Hinge { .. } = loss { -margin.signum() } else { label };
            let labels = vec![label; ROWS];
            for layout in ["f64", "f32", "sparse"] {
                for clip in [0.1, 1e6] {
                    let at = |place| {
                        let rows = table(layout, &row, place, &labels, bounds);
                        sums(&problem, rows, &w, clip)
                    };
                    let first = at(0);
                    assert!(first.iter().all(|sum| sum.iter().any(|v| *v != 0.0)));
                    for place in [1, 2, 3, 4, 7, 8, 15, 31, 32, 63, 100, 255, 256, 257, 298, 299] {
                        for (kind, (a, b)) in first.iter().zip(&at(place)).enumerate() {
                            assert_eq!(
                                a, b,
                                "{loss:?}, d = {d}, {layout}, clip {clip}, sum {kind}, place {place}"
                            );
                        }
                    }
                }
            }
        }
    }
}
