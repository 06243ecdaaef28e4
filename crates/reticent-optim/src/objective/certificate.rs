//! How far a point is from the minimiser, proven from one gradient.
//!
//! Let `J` be `m`-strongly convex and `M`-smooth, `θ₁` its minimiser over `C`, `z` any point and
//!
//! ```text
//! z⁺ = Proj_C(z − ∇J(z)/M),    g = M(z − z⁺).    Then    ‖z⁺ − θ₁‖ ≤ (‖g‖/m)·√(1 − m/M).
//! ```
//!
//! *Proof.* For every `x ∈ C`, `J(x) ≥ J(z⁺) + ⟨g, x − z⟩ + ‖g‖²/(2M) + (m/2)‖x − z‖²`. Take
//! `x = θ₁` and `J(z⁺) − J(θ₁) ≥ (m/2)‖z⁺ − θ₁‖²`; what is left is largest at `x − z = −g/m`. ∎
//!
//! # Rounding
//!
//! A computed gradient is that of `J + ⟨e, ·⟩` at `z`, with `‖e‖` at most the bound below, and that
//! function's minimiser is within `‖e‖/m` of `θ₁`. A computed projection is within `p` of the exact
//! one, which changes `g` by at most `Mp` and `z⁺` by at most `p`. So the distance is at most
//! `(‖g‖ + Mp)·√(1 − m/M)/m + ‖e‖/m + p`.
//!
//! A quadratic loss on a bounded set has a bounded gradient there only. The theorem speaks of the
//! loss that goes on linearly outside the margins that the set allows; on `C` both are the same,
//! and so is the minimiser.

use reticent_data::{batch_depth, summation_depth};
use reticent_problem::{Domain, Problem, Regularity};

use super::noise::certificate_norm;

const UNIT: f64 = f64::EPSILON / 2.0;

/// The problem's constants in the certificate, for the average and not the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CertificateInputs {
    /// How many weights.
    pub dimension: usize,
    /// `m`: the whole ridge.
    pub modulus: f64,
    /// `M = β + m`.
    pub smoothness: f64,
    lipschitz: f64,
    radius: f64,
    holds_zero: bool,
    /// `l0`, where it is used: the largest loss of a row at zero, of a loss that is never negative.
    value_at_zero: f64,
    /// `n`.
    pub rows: f64,
    /// Error of a gradient for each unit of the point's norm, beside the ridge's.
    by_margin: f64,
    /// Error of a gradient wherever it is taken.
    by_sum: f64,
    projection: f64,
}

/// Slope and sum add `K + 16` and the depth of the summation, relative to `L`; a tenth is for
/// products of these.
fn by_sum(problem: &Problem, k: &Regularity, depth: usize) -> f64 {
    1.1 * UNIT * (depth as f64 + problem.loss.outputs() as f64 + 16.0) * k.lipschitz
}

impl CertificateInputs {
    /// The shape of a problem with a smooth loss and a whole ridge of this modulus.
    pub fn of(problem: &Problem, k: &Regularity, modulus: f64) -> Self {
        let beta = k.smoothness.unwrap_or(f64::INFINITY);
        let dimension = problem.dimension();
        let outputs = problem.loss.outputs() as f64;
        let depth = summation_depth(problem, problem.rows, dimension);
        let by_sum = by_sum(problem, k, depth);
        // A margin is a sum of at most `features + 12` rounded terms, and moves a gradient by `β`
        // times its error; a tenth is for products with other errors.
        Self {
            dimension,
            modulus,
            smoothness: beta + modulus,
            lipschitz: k.lipschitz,
            radius: problem.domain.radius(),
            holds_zero: !matches!(problem.domain, Domain::Simplex { .. }),
            value_at_zero: f64::INFINITY,
            rows: problem.rows as f64,
            by_margin: 1.1 * UNIT * outputs.sqrt() * (problem.features as f64 + 12.0) * beta,
            by_sum,
            projection: UNIT * problem.domain.projection_roundings(dimension),
        }
    }

    /// The same where records are summed as lists of them are.
    pub(super) fn of_a_list(self, problem: &Problem, k: &Regularity) -> Self {
        let listed = batch_depth(problem.rows).saturating_add(problem.rows_of_a_record());
        let depth = listed.max(summation_depth(problem, problem.rows, self.dimension));
        Self { by_sum: by_sum(problem, k, depth), ..self }
    }

    /// The same where the minimiser's norm is bounded by the loss at zero too, for a smaller
    /// [`Self::floor`].
    pub(super) fn knowing_value(self, k: &Regularity) -> Self {
        Self { value_at_zero: k.value_at_zero, ..self }
    }

    /// A bound on the norm of the minimiser over a set that holds zero, for a linear term of the
    /// average of norm `l`: at the minimiser the objective is at most what it is at zero, so
    /// `(m/2)r² − lr ≤ l0`; and the gradient vanishes there, so that `mr ≤ L + l` (or the set
    /// binds).
    fn reach(&self, linear: f64) -> f64 {
        let (m, value) = (self.modulus, self.value_at_zero);
        let by_value = (linear + (linear * linear + 2.0 * m * value).sqrt()) / m;
        self.radius.min((self.lipschitz + linear) / m).min(by_value * (1.0 + 1e-12))
    }

    /// `‖e‖` and `p` at a point of this norm, where the linear term of the average has norm
    /// `linear`.
    fn errors(&self, norm: f64, linear: f64) -> (f64, f64) {
        let rest = 4.0 * UNIT * (self.modulus * norm + linear + self.lipschitz);
        let gradient = self.by_margin * norm + self.by_sum + rest;
        // The point before the projection is one step away, at most `(L + ‖b‖/n + m‖z‖)/M`.
        let step = (self.lipschitz + linear) / self.smoothness + norm;
        let longest = if self.radius.is_finite() { (norm + step).max(self.radius) } else { 0.0 };
        (gradient, self.projection * longest + 4.0 * UNIT * (norm + step))
    }

    /// The distance of `z⁺` to the minimiser, from above: `mapped` is `‖g‖`, `norm` is `‖z‖`.
    pub fn distance(&self, mapped: f64, norm: f64, linear: f64) -> f64 {
        let (gradient, projection) = self.errors(norm, linear);
        let (m, big) = (self.modulus, self.smoothness);
        let root = (1.0 - m / big).max(0.0).sqrt();
        (mapped + big * projection) * root / m + gradient / m + projection
    }

    /// The least distance that rounding lets a solver certify, with room to spare. Public.
    pub fn floor(&self, sigma: f64) -> f64 {
        let linear = sigma * certificate_norm(self.dimension) / self.rows;
        let steepest = self.lipschitz + linear;
        // A ridge draws the minimiser to zero, and near it where the set holds zero.
        let reach = if self.holds_zero { self.reach(linear) } else { self.radius };
        let printed = 1e-13 * (steepest + self.smoothness * reach) / self.modulus;
        printed.max(8.0 * self.distance(0.0, reach, linear))
    }

    /// After so many steps of the accelerated method the certificate holds, four times over.
    pub(crate) fn step_limit(&self, linear: f64, tolerance: f64) -> u64 {
        let (m, big) = (self.modulus, self.smoothness);
        let steepest = self.lipschitz + linear;
        let reach = (2.0 * self.radius).min(steepest / m);
        let digits = (4.0 * big * reach * steepest / (m * tolerance).powi(2)).ln().max(1.0);
        ((big / m).sqrt() * digits).ceil() as u64 * 4 + 100
    }
}
