//! Sums of curvatures and of squared gradients: right for every layout and for units, and no record
//! moves them by more than the page of the algorithm says.

use crate::common::clear::answer;
use crate::common::layouts::{dense, single, sparse};
use reticent_data::{Features, LocalOracle, Question, Rows, Speed, curvature_rounding};
use reticent_problem::{Loss, Problem, RowBounds, Unit, Weighting};

const D: usize = 4;

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

fn oracle(features: Features, y: &[f64], problem: &Problem, keys: &[usize]) -> LocalOracle {
    let rows = Rows::new(features, y.to_vec(), problem.bounds);
    let rows = match &problem.unit {
        Some(unit) => rows.grouped(keys.iter().map(|key| Some(*key)), unit).unwrap(),
        None => rows,
    };
    LocalOracle::new(rows, Speed { threads: Some(2) }).unwrap()
}

/// `φ'` and `φ''` by their formulas.
fn derivatives(loss: Loss, margin: f64, label: f64) -> (f64, f64) {
    match loss {
        Loss::Logistic => {
            let p = 1.0 / (1.0 + (label * margin).exp());
            (-label * p, p * (1.0 - p))
        }
        Loss::Huber { threshold } => {
            let r = margin - label;
            (r.clamp(-threshold, threshold), f64::from(u8::from(r.abs() < threshold)))
        }
        _ => unreachable!(),
    }
}

/// Both sums by hand, records as lists of rows with what each counts.
fn by_hand(
    loss: Loss,
    x: &[Vec<f64>],
    y: &[f64],
    w: &[f64],
    records: &[(Vec<usize>, f64)],
) -> Vec<f64> {
    let (mut bends, mut squares) = (Vec::new(), Vec::new());
    for j in 0..D {
        for k in j..D {
            let (mut h, mut v) = (0.0, 0.0);
            for (rows, share) in records {
                let (mut gj, mut gk) = (0.0, 0.0);
                for &i in rows {
                    let margin = x[i].iter().zip(w).map(|(x, w)| x * w).sum();
                    let (slope, second) = derivatives(loss, margin, y[i]);
                    h += share * second * x[i][j] * x[i][k];
                    gj += share * slope * x[i][j];
                    gk += share * slope * x[i][k];
                }
                v += gj * gk;
            }
            bends.push(h);
            squares.push(v);
        }
    }
    bends.extend(squares);
    bends
}

#[test]
fn both_sums_are_those_by_hand_in_every_layout_and_for_units() {
    let bounds = RowBounds::new(2.0, 1.0).unwrap();
    let mut numbers = Numbers(5);
    let n = 700;
    let x: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let entry =
                |j: usize| if (i + j).is_multiple_of(3) { 0.0 } else { numbers.next() as f32 };
            (0..D).map(entry).map(f64::from).collect()
        })
        .collect();
    let y: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let w = [0.4, -0.3, 1.1, 0.2];
    let keys: Vec<usize> = (0..n).map(|i| i / 3).collect();
    for loss in [Loss::Logistic, Loss::Huber { threshold: 0.7 }] {
        let rows = Problem::new(loss, bounds, n, D);
        let alone: Vec<_> = (0..n).map(|i| (vec![i], 1.0)).collect();
        let unit = Unit { weighting: Weighting::Rows, ..Unit::new("who", 3).unwrap() };
        let units = Problem { unit: Some(unit), rows: n.div_ceil(3), ..rows.clone() };
        let of_three: Vec<_> = (0..n.div_ceil(3))
            .map(|u| ((3 * u..(3 * u + 3).min(n)).collect(), 1.0 / 3.0))
            .collect();
        for (problem, records) in [(&rows, &alone), (&units, &of_three)] {
            let want = by_hand(loss, &x, &y, &w, records);
            for features in [dense(&x, D), single(&x, D), sparse(&x, D)] {
                let oracle = oracle(features, &y, problem, &keys);
                let got = answer(&oracle, problem, &Question::Curvature { at: &w });
                for (g, w) in got.iter().zip(&want) {
                    // The second derivative is a difference over 2e-4.
                    assert!((g - w).abs() <= 1e-5 * n as f64, "{got:?}\n{want:?}");
                }
            }
        }
    }
}

/// The distance of two answers, each part over its bound, off-diagonal entries counted twice.
fn apart(a: &[f64], b: &[f64], problem: &Problem) -> f64 {
    let k = problem.regularity();
    let scales = [k.smoothness.unwrap(), k.lipschitz * k.lipschitz];
    let (mut place, mut square) = (0, 0.0);
    for scale in scales {
        for j in 0..D {
            for l in j..D {
                let gap = (a[place] - b[place]) / scale;
                square += if j == l { 1.0 } else { 2.0 } * gap * gap;
                place += 1;
            }
        }
    }
    square.sqrt()
}

#[test]
fn a_replaced_record_moves_both_by_at_most_the_root_of_two_times_what_one_adds() {
    // Every pair of corner rows, random rows at the bound, and units of such rows.
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    for (loss, one) in
        [(Loss::Logistic, 1.0726_f64.sqrt()), (Loss::Huber { threshold: 0.5 }, 2_f64.sqrt())]
    {
        for rows_of_a_record in [1, 3] {
            let mut problem = Problem::new(loss, bounds, 1, D);
            if rows_of_a_record > 1 {
                problem.unit = Some(Unit::new("who", rows_of_a_record).unwrap());
            }
            let mut numbers = Numbers(9);
            let mut farthest = 0.0_f64;
            for case in 0..4000 {
                let size = 10_f64.powf(3.0 * numbers.next());
                let mut w: Vec<f64> = (0..D).map(|_| size * numbers.next()).collect();
                if case % 10 == 0 {
                    // Residuals next to the threshold, and slopes where both parts are large.
                    w.fill(0.5005);
                }
                let mut record = || {
                    let (place, sign) = (numbers.next() + 0.5, numbers.next().signum());
                    let x: Vec<Vec<f64>> = (0..rows_of_a_record)
                        .map(|_| {
                            let corner = (place * D as f64) as usize;
                            let spread = if case % 2 == 0 { 0.0 } else { numbers.next() };
                            let mut x: Vec<f64> = (0..D)
                                .map(|j| f64::from(u8::from(j == corner)) + spread * numbers.next())
                                .collect();
                            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                            for x in &mut x {
                                *x /= norm * (1.0 + 1e-15);
                            }
                            x
                        })
                        .collect();
                    // Rows of one record may pull against each other.
                    let mixed = |_| if case % 4 < 2 { sign } else { numbers.next().signum() };
                    let y: Vec<f64> = (0..rows_of_a_record).map(mixed).collect();
                    let oracle = oracle(dense(&x, D), &y, &problem, &vec![0; rows_of_a_record]);
                    answer(&oracle, &problem, &Question::Curvature { at: &w })
                };
                let (a, b) = (record(), record());
                let moved = apart(&a, &b, &problem);
                farthest = farthest.max(moved);
                let none = vec![0.0; a.len()];
                let slack = curvature_rounding(&problem);
                assert!(moved <= 2_f64.sqrt() * one * slack, "{loss:?} {w:?}: {moved}");
                assert!(apart(&a, &none, &problem) <= one * slack, "{loss:?} {w:?}");
            }
            // The bound is not far too large.
            assert!(farthest > 0.96 * 2_f64.sqrt() * one, "{loss:?}: {farthest}");
        }
    }
}

#[test]
fn no_number_that_is_none_is_added() {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let problem = Problem::new(Loss::Logistic, bounds, 1, D);
    let oracle = oracle(dense(&[vec![0.5; D]], D), &[1.0], &problem, &[]);
    for weight in [f64::NAN, f64::INFINITY, 1e300] {
        let sums = answer(&oracle, &problem, &Question::Curvature { at: &[weight; D] });
        assert!(sums.iter().all(|s| s.is_finite()), "{weight}: {sums:?}");
    }
}
