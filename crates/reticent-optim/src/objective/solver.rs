//! The minimiser, to a certified distance.
//!
//! First L-BFGS on all of `R^d`, from gradients alone: along a line the slope of a convex function
//! only grows, so a step is found by bisection on its sign, and no value of the objective is
//! needed. If the certificate holds at the point, projected, that is the answer; it does at once if
//! the set does not bind. Otherwise, or if L-BFGS is slow, the accelerated projected gradient
//! method runs from the set's point nearest to zero. Its rate is proven for every table, so within
//! the public number of steps the certificate holds.
//!
//! Numbers computed from rows are bare inside [`Sensitive::within`], because what happens next
//! depends on them. The result leaves sealed, and the number of steps does not leave at all. (The
//! time that they take is not hidden.) That is also why no library solves here: it would report
//! steps and values, and its line search may fail for the sake of a row.

use std::collections::VecDeque;

use reticent_data::{Key, Oracle, OracleError, Question, Sensitive, Withheld};
use reticent_problem::Problem;

use super::certificate::CertificateInputs;

/// Pairs that L-BFGS remembers.
const MEMORY: usize = 30;
/// Gradients that L-BFGS may take.
const TRIES: usize = 1_500;
/// Gradients along one line.
const LINE: usize = 30;
/// Steps of the accelerated method between two looks at the certificate.
const LOOK: u64 = 8;

/// The perturbed objective, averaged.
struct Field<'a> {
    key: &'a Key,
    problem: &'a Problem,
    oracle: &'a dyn Oracle,
    shape: &'a CertificateInputs,
    /// `b`.
    linear: &'a [f64],
    /// `‖b‖/n`.
    linear_norm: f64,
    tolerance: f64,
    at: Sensitive<Vec<f64>>,
    sum: Sensitive<Vec<f64>>,
}

/// A point within `tolerance` of the minimiser of the objective with the linear term `⟨linear, ·⟩`
/// in its sum.
///
/// # Errors
///
/// [`Withheld`], if the rows could not be asked, or if no point can be certified, which no table
/// brings about.
pub(super) fn minimise(
    problem: &Problem,
    oracle: &dyn Oracle,
    shape: &CertificateInputs,
    linear: &[f64],
    tolerance: f64,
) -> Result<Sensitive<Vec<f64>>, Withheld> {
    let linear_norm = norm(linear) / problem.rows as f64;
    Sensitive::within(|key| {
        let zero = vec![0.0; problem.dimension()];
        let (at, sum) = (Sensitive::new(zero.clone()), Sensitive::new(zero));
        let mut field =
            Field { key, problem, oracle, shape, linear, linear_norm, tolerance, at, sum };
        let found = match field.lbfgs()? {
            Some(found) => Some(found),
            None => field.accelerated()?,
        };
        found.ok_or(Withheld::NotCertified)
    })
}

impl Field<'_> {
    fn gradient(&mut self, z: &[f64], into: &mut [f64]) -> Result<(), OracleError> {
        self.key.open(&mut self.at).copy_from_slice(z);
        self.oracle.ask(self.problem, &Question::Gradient { at: &self.at }, &mut self.sum)?;
        let (n, m) = (self.problem.rows as f64, self.shape.modulus);
        let sum = self.key.open(&mut self.sum);
        for (((g, s), b), z) in into.iter_mut().zip(sum.iter()).zip(self.linear).zip(z) {
            *g = (s + b) / n + m * z;
        }
        Ok(())
    }

    /// `z⁺`, if it is certainly close enough to the minimiser.
    fn certified(&self, z: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
        let big = self.shape.smoothness;
        let mut next: Vec<f64> = z.iter().zip(gradient).map(|(z, g)| z - g / big).collect();
        self.problem.domain.project(&mut next);
        // Without a set the mapped gradient is the gradient itself; the difference would cancel.
        let mapped = if self.problem.domain.is_bounded() {
            let moved: Vec<f64> = z.iter().zip(&next).map(|(z, next)| z - next).collect();
            big * norm(&moved)
        } else {
            norm(gradient)
        };
        let distance = self.shape.distance(mapped, norm(z), self.linear_norm);
        (distance <= 0.99 * self.tolerance).then_some(next)
    }

    fn lbfgs(&mut self) -> Result<Option<Vec<f64>>, OracleError> {
        let d = self.shape.dimension;
        let mut z = self.problem.domain.start(d);
        let mut gradient = vec![0.0; d];
        self.gradient(&z, &mut gradient)?;
        let mut pairs: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
        let mut tried = 1;
        let (mut trial, mut slope) = (vec![0.0; d], vec![0.0; d]);
        while tried < TRIES {
            if norm(&gradient) <= self.tolerance * self.shape.modulus {
                // Where the set binds this is not the constrained minimiser, and the accelerated
                // method takes over.
                let inside = self.inside(&z, &gradient)?;
                if inside.is_some() || self.problem.domain.is_bounded() {
                    return Ok(inside);
                }
            }
            let direction = direction(&pairs, &gradient, self.shape.smoothness);
            let first = dot(&direction, &gradient);
            // Not a descent direction, or lost in rounding.
            if first.is_nan() || first >= 0.0 {
                if pairs.is_empty() {
                    return Ok(None);
                }
                pairs.clear();
                continue;
            }
            let (mut low, mut high, mut step) = (0.0, f64::INFINITY, 1.0);
            for _ in 0..LINE {
                for ((t, z), p) in trial.iter_mut().zip(&z).zip(&direction) {
                    *t = z + step * p;
                }
                self.gradient(&trial, &mut slope)?;
                tried += 1;
                let here = dot(&direction, &slope);
                if here.abs() <= 0.5 * first.abs() {
                    break;
                }
                if here > 0.0 {
                    high = step;
                } else {
                    low = step;
                }
                step = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * step };
            }
            let moved: Vec<f64> = trial.iter().zip(&z).map(|(t, z)| t - z).collect();
            let bent: Vec<f64> = slope.iter().zip(&gradient).map(|(s, g)| s - g).collect();
            if dot(&moved, &bent) > 0.0 {
                if pairs.len() == MEMORY {
                    pairs.pop_front();
                }
                pairs.push_back((moved, bent));
            }
            std::mem::swap(&mut z, &mut trial);
            std::mem::swap(&mut gradient, &mut slope);
        }
        Ok(None)
    }

    /// The certificate of an unconstrained minimiser, projected.
    fn inside(&mut self, z: &[f64], gradient: &[f64]) -> Result<Option<Vec<f64>>, OracleError> {
        if !self.problem.domain.is_bounded() {
            return Ok(self.certified(z, gradient));
        }
        let mut point = z.to_vec();
        self.problem.domain.project(&mut point);
        let mut again = vec![0.0; z.len()];
        self.gradient(&point, &mut again)?;
        Ok(self.certified(&point, &again))
    }

    fn accelerated(&mut self) -> Result<Option<Vec<f64>>, OracleError> {
        let (d, m, big) = (self.shape.dimension, self.shape.modulus, self.shape.smoothness);
        let momentum = (big.sqrt() - m.sqrt()) / (big.sqrt() + m.sqrt());
        let mut x = self.problem.domain.start(d);
        let (mut next, mut ahead, mut gradient) = (x.clone(), x.clone(), vec![0.0; d]);
        for step in 0..=self.shape.step_limit(self.linear_norm, self.tolerance) {
            if step % LOOK == 0 {
                self.gradient(&x, &mut gradient)?;
                if let Some(point) = self.certified(&x, &gradient) {
                    return Ok(Some(point));
                }
            }
            self.gradient(&ahead, &mut gradient)?;
            for ((n, a), g) in next.iter_mut().zip(&ahead).zip(&gradient) {
                *n = a - g / big;
            }
            self.problem.domain.project(&mut next);
            for ((a, n), x) in ahead.iter_mut().zip(&next).zip(&x) {
                *a = n + momentum * (n - x);
            }
            std::mem::swap(&mut x, &mut next);
        }
        Ok(None)
    }
}

/// The quasi-Newton direction from the remembered pairs of moves and changes of the gradient.
fn direction(
    pairs: &VecDeque<(Vec<f64>, Vec<f64>)>,
    gradient: &[f64],
    smoothness: f64,
) -> Vec<f64> {
    let mut p: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut weights = Vec::with_capacity(pairs.len());
    for (moved, bent) in pairs.iter().rev() {
        let weight = dot(moved, &p) / dot(moved, bent);
        add(&mut p, bent, -weight);
        weights.push(weight);
    }
    let scale =
        pairs.back().map_or(1.0 / smoothness, |(moved, bent)| dot(moved, bent) / dot(bent, bent));
    for p in &mut p {
        *p *= scale;
    }
    for ((moved, bent), weight) in pairs.iter().zip(weights.iter().rev()) {
        let back = dot(bent, &p) / dot(moved, bent);
        add(&mut p, moved, weight - back);
    }
    p
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += times * what;
    }
}
