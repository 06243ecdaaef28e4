//! From released weights to one number: how much they speak for the table with the canary.
//!
//! By Neyman and Pearson the best test is on the likelihood ratio. Five scores stand for it; each
//! is learned on runs that are not judged, and so is the choice between them.
//!
//! - *means*: along the difference of the mean outputs, `⟨w, m₁ − m₀⟩`; the likelihood ratio of two
//!   normal laws of covariance `σ²I`.
//! - *Fisher*: along `Σ⁻¹(m₁ − m₀)` with the estimated covariance; that of two normal laws of any
//!   common covariance.
//! - *distances*: `‖w − m₀‖ − ‖w − m₁‖`; that of ball noise.
//! - *roots*: as *means*, of the cube roots of the weights: for weights with heavy tails, as mirror
//!   maps make them.
//! - *size*: the distance from the median of all outputs; for laws that differ in their spread.

use reticent_privacy::audit::{self, Audit};

use crate::Error;

/// Beyond so many weights a covariance would need more runs than anyone makes.
const MOST_WEIGHTS: usize = 64;

/// A score that was learned.
enum Score {
    Along(Vec<f64>),
    Roots(Vec<f64>),
    Distances {
        with: Vec<f64>,
        without: Vec<f64>,
    },
    /// With the side that speaks for the canary.
    Size {
        centre: Vec<f64>,
        side: f64,
    },
}

impl Score {
    fn of(&self, weights: &[f64]) -> f64 {
        match self {
            Self::Along(direction) => dot(weights, direction),
            Self::Roots(direction) => {
                weights.iter().zip(direction).map(|(w, d)| w.cbrt() * d).sum()
            }
            Self::Distances { with, without } => {
                distance(weights, without) - distance(weights, with)
            }
            Self::Size { centre, side } => side * distance(weights, centre),
        }
    }

    /// All scores, from outputs that are not judged.
    fn learn(with: &[Vec<f64>], without: &[Vec<f64>]) -> Vec<Self> {
        let (m1, m0) = (mean(with), mean(without));
        let apart = difference(&m1, &m0);
        let centre = median(with, without);
        let mut list = vec![
            Self::Along(apart.clone()),
            Self::Size { centre: centre.clone(), side: 1.0 },
            Self::Size { centre, side: -1.0 },
        ];
        let d = apart.len();
        if d > 1 {
            if d <= MOST_WEIGHTS && with.len() >= 10 * d {
                let mut covariance = vec![0.0; d * d];
                add_covariance(&mut covariance, with, &m1);
                add_covariance(&mut covariance, without, &m0);
                list.extend(solve(covariance, &apart).map(Self::Along));
            }
            let roots = |outputs: &[Vec<f64>]| {
                mean(
                    &outputs
                        .iter()
                        .map(|w| w.iter().map(|w| w.cbrt()).collect())
                        .collect::<Vec<_>>(),
                )
            };
            list.push(Self::Roots(difference(&roots(with), &roots(without))));
            list.push(Self::Distances { with: m1, without: m0 });
        }
        list
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn mean(outputs: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; outputs[0].len()];
    for weights in outputs {
        for (m, w) in mean.iter_mut().zip(weights) {
            *m += w / outputs.len() as f64;
        }
    }
    mean
}

/// Of each weight; a mean would follow the tails.
fn median(with: &[Vec<f64>], without: &[Vec<f64>]) -> Vec<f64> {
    let of = |j: usize| {
        let mut values: Vec<f64> = with.iter().chain(without).map(|w| w[j]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    (0..with[0].len()).map(of).collect()
}

fn add_covariance(into: &mut [f64], outputs: &[Vec<f64>], mean: &[f64]) {
    let d = mean.len();
    for weights in outputs {
        for i in 0..d {
            let share = (weights[i] - mean[i]) / outputs.len() as f64;
            for j in 0..=i {
                into[i * d + j] += share * (weights[j] - mean[j]);
            }
        }
    }
}

/// `(A + λI)⁻¹b` for the lower half of a covariance, `λ` a thousandth of its mean variance: by
/// Cholesky's factor. None if it is no covariance of noise.
fn solve(mut a: Vec<f64>, b: &[f64]) -> Option<Vec<f64>> {
    let d = b.len();
    let lambda = 1e-3 * (0..d).map(|i| a[i * d + i]).sum::<f64>() / d as f64;
    for i in 0..d {
        a[i * d + i] += lambda;
        for j in 0..=i {
            let inner = dot(&a[i * d..i * d + j], &a[j * d..j * d + j]);
            let rest = a[i * d + j] - inner;
            a[i * d + j] = if i == j { rest.sqrt() } else { rest / a[j * d + j] };
        }
        if !(a[i * d + i] > 0.0 && a[i * d + i].is_finite()) {
            return None;
        }
    }
    let mut x = b.to_vec();
    for i in 0..d {
        x[i] = (x[i] - dot(&a[i * d..i * d + i], &x[..i])) / a[i * d + i];
    }
    for i in (0..d).rev() {
        x[i] /= a[i * d + i];
        for j in 0..i {
            x[j] -= a[i * d + j] * x[i];
        }
    }
    Some(x)
}

/// How far apart two samples lie, in standard deviations: by the best score learned on the first
/// half, measured on the other.
pub(super) fn separation(with: &[Vec<f64>], without: &[Vec<f64>]) -> f64 {
    let half = with.len() / 2;
    let apart = |score: &Score| {
        let scores = |outputs: &[Vec<f64>]| -> Vec<f64> {
            outputs[half..].iter().map(|w| score.of(w)).collect()
        };
        let (a, b) = (scores(with), scores(without));
        let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64;
        let spread = |s: &[f64], m: f64| s.iter().map(|x| (x - m).powi(2)).sum::<f64>();
        let (at, from) = (mean(&a), mean(&b));
        let variance = (spread(&a, at) + spread(&b, from)) / (a.len() + b.len()) as f64;
        if at == from { 0.0 } else { (at - from) / variance.sqrt() }
    };
    let list = Score::learn(&with[..half], &without[..half]);
    list.iter().map(apart).fold(f64::NEG_INFINITY, f64::max)
}

/// Judges outputs by the score that serves each bound best. The first half fixes score and
/// threshold.
pub(super) fn judge(
    with: &[Vec<f64>],
    without: &[Vec<f64>],
    delta: f64,
    confidence: f64,
) -> Result<Audit, Error> {
    let half = with.len() / 2;
    let quarter = half / 2;
    let scores = |score: &Score, from: usize, to: usize| -> (Vec<f64>, Vec<f64>) {
        let of = |outputs: &[Vec<f64>]| outputs[from..to].iter().map(|w| score.of(w)).collect();
        (of(with), of(without))
    };
    // The choice of the score: learned on the first quarter, compared on the second.
    let (mut direct, mut middle) = ((0, f64::NEG_INFINITY), (0, f64::NEG_INFINITY));
    if half - quarter >= 20 {
        for (i, score) in Score::learn(&with[..quarter], &without[..quarter]).iter().enumerate() {
            let (a, b) = scores(score, quarter, half);
            let audit = audit::judge(&a, &b, delta, confidence)?;
            let spread = audit.delta_lower(0.0);
            for (best, value) in [
                (&mut direct, audit.epsilon_lower + 1e-3 * spread),
                (&mut middle, audit.epsilon_lower_gdp + 1e-3 * spread),
            ] {
                if value > best.1 {
                    *best = (i, value);
                }
            }
        }
    }
    let list = Score::learn(&with[..half], &without[..half]);
    let judged = |i: usize| -> Result<Audit, Error> {
        // With few runs a covariance that was learned on a half may not be learned on a quarter.
        let (a, b) = scores(&list[i.min(list.len() - 1)], 0, 2 * half);
        Ok(audit::judge(&a, &b, delta, confidence)?)
    };
    let first = judged(direct.0)?;
    if middle.0 == direct.0 {
        return Ok(first);
    }
    let second = judged(middle.0)?;
    Ok(Audit { epsilon_lower_gdp: second.epsilon_lower_gdp, middle: second.middle, ..first })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_factor_solves() {
        // Lower half of [[4, 2], [2, 3]]; the small ridge moves the solution by about a thousandth.
        let x = solve(vec![4.0, 0.0, 2.0, 3.0], &[2.0, 5.0]).unwrap();
        assert!((x[0] + 0.5).abs() < 5e-3 && (x[1] - 2.0).abs() < 5e-3, "{x:?}");
        assert!(solve(vec![0.0; 4], &[1.0, 1.0]).is_none());
    }

    /// Outputs whose noise is long along the diagonal and short across it: the canary moves the
    /// first weight, and across the diagonal it can be seen.
    #[test]
    fn the_covariance_is_used_where_it_helps() {
        let uniform = |i: usize, k: f64| (i as f64 * k).fract() - 0.5;
        let outputs = |move_: f64, shift: usize| -> Vec<Vec<f64>> {
            (0..2000)
                .map(|i| {
                    let (long, short) =
                        (uniform(i + shift, 0.754_877_666), uniform(i + shift, 0.569_840_290));
                    vec![move_ + 10.0 * long + 0.1 * short, 10.0 * long - 0.1 * short]
                })
                .collect()
        };
        let (with, without) = (outputs(0.3, 0), outputs(0.0, 7777));
        let audit = judge(&with, &without, 1e-3, 0.95).unwrap();
        assert!(audit.epsilon_lower > 3.0, "{audit:?}");
        assert!(separation(&with, &without) > 3.0);
    }
}
