//! Intervals from the spread of fits on disjoint blocks.
//!
//! The `K` released weights `w_k` of the blocks are independent and, to first order, normal with
//! one mean and one covariance, so that of each number `a'w` the distance of the mean to its
//! expectation over `s/√K` has Student's law with `K − 1` degrees of freedom, `s` the deviation of
//! the blocks. That covers rows, noise and solver together, and no curvature is needed.
//!
//! # Bias
//!
//! The expectation is not the truth. With `ρ` a bound on the bias in standard errors of the mean,
//! the interval is `± q s/√K` with
//!
//! ```text
//! P(|Z + ρ| ≤ qS) = level,      Z ~ N(0, 1),   (K − 1)S² ~ χ²_{K−1},
//! ```
//!
//! which has at least its level whatever the sign and size of the bias up to `ρ`: for every `S` the
//! chance falls as `|ρ|` grows. For `ρ = 0` it is Student's interval. Two biases are in it.
//!
//! - *The ridge's pull*: `√K Λ‖θ*‖/σ₁` ([`reticent_optim::objective::blocks`]). `‖θ*‖` is not
//!   known. The pull is `μ(H + μ)⁻¹θ*` and `‖μ(H + μ)⁻¹‖ ≤ f = (Λ/σ₁)λ^{1/2}`, `λ` the largest
//!   eigenvalue of the blocks' covariance, so `‖θ*‖ ≤ ‖E w‖/(1 − f)`. The covariance is estimated
//!   from `K` blocks: along any one direction it is less than `χ²/(K − 1)` of what it should be in
//!   1 of 100 tables ([`SURE`]), and `f` is enlarged by that. **Where `f` is more than a half, no
//!   coefficient is determined**: the ridge then holds some direction back, nothing tells how large
//!   its coefficient is, and its effect may hide in all others, as where a direction is lost to the
//!   noise of a curvature release.
//! - *The bend of the loss*: a block's error `δ` has a mean of about `½H⁻¹E φ'''(x'δ)²x`. With
//!   `|φ'''| ≤ κφ''` its margins are off by about `½κv`, `v` the mean square of `x'δ`, beside
//!   standard errors `√(v/K)`. `v ≤ B² tr(Cov)/d`, because the covariance is the smaller the larger
//!   the second moment of the rows is (Chebyshev's inequality for sums). This is the size of the
//!   term, and not a bound for each coefficient; the simulation looks at it.
//!
//! Where both together are more than [`MOST_BIAS`], nothing is determined.
//!
//! Features of categories sum to the intercept, so that weights along such a sum are the noise's
//! alone. They are left out of the covariance and of the norm; no stated number depends on them.

use reticent_math::ndtr;
use reticent_math::symmetric::{Square, dot};
use reticent_optim::objective::ObjectivePlan;
use reticent_optim::objective::blocks::{BlocksPlan, bend_change};

use super::sandwich::{Found, Interval};

/// `√((K − 1)/χ²)` with the quantile of 1 % of `K − 1 = 9` degrees of freedom, 2.0879.
pub(super) const SURE: f64 = 2.0762;

/// The largest `f`.
pub(super) const HELD_BACK: f64 = 0.5;

/// The largest `ρ`.
pub(super) const MOST_BIAS: f64 = 3.0;

/// The constants of a plan that the bias depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// `K`.
    pub(super) count: usize,
    /// `Λ/σ₁`.
    pull: f64,
    /// `κ`.
    bend: f64,
    /// `B²`.
    square: f64,
}

impl Blocks {
    pub(super) fn of(plan: &ObjectivePlan, blocks: BlocksPlan) -> Self {
        let problem = &plan.outline.problem;
        let modulus = problem.ridge + plan.extra_ridge;
        Self {
            count: blocks.count,
            pull: blocks.records as f64 * modulus / plan.sigma,
            bend: bend_change(problem.loss).unwrap_or(f64::INFINITY),
            square: problem.bounds.norm().powi(2),
        }
    }

    /// `f`, enlarged, where the blocks' covariance has this largest eigenvalue.
    pub(super) fn held_back(self, largest: f64) -> f64 {
        SURE * self.pull * largest.sqrt()
    }

    /// `ρ`, where the best weights have this norm and the covariance of a block this mean
    /// eigenvalue.
    pub(super) fn bias(self, norm: f64, mean: f64) -> f64 {
        let k = self.count as f64;
        let ridge = k.sqrt() * self.pull * norm;
        0.5_f64.mul_add(self.bend * (k * self.square * mean).sqrt(), ridge)
    }

    /// The chance that an estimate is off by more than `size` standard errors.
    pub(super) fn beyond(self, size: f64, bias: f64) -> f64 {
        /// Steps of the integral over `S`, which is below 4.
        const STEPS: u32 = 400;
        let freedom = self.count as f64 - 1.0;
        let (mut sum, mut whole) = (0.0, 0.0);
        for i in 1..STEPS {
            let s = 4.0 * f64::from(i) / f64::from(STEPS);
            let weight = ((freedom - 1.0) * s.ln() - 0.5 * freedom * (s * s - 1.0)).exp();
            whole += weight;
            sum += weight * (ndtr(bias - size * s) + ndtr(-bias - size * s));
        }
        sum / whole
    }

    /// `q`.
    pub(super) fn quantile(self, level: f64, bias: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.beyond(high, bias) > 1.0 - level {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.beyond(middle, bias) > 1.0 - level {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// What is stated, with its value at the weights of each block.
pub(super) struct Values {
    /// The value at the mean of the weights.
    pub(super) value: f64,
    /// The value at each block's weights.
    pub(super) each: Vec<f64>,
    /// Its gradient by the weights that are kept.
    pub(super) direction: Vec<f64>,
}

/// Each number's estimate, and its interval at this level (a share) where it is determined. `null`
/// are the directions along which weights are noise by construction, `kept` the weights that
/// directions are of.
pub(super) fn intervals(
    blocks: Blocks,
    released: &[f64],
    null: &[Vec<f64>],
    kept: &[usize],
    stated: &[Values],
    level: f64,
) -> Vec<Found> {
    let spread = Spread::of(blocks.count, released, null);
    let held = blocks.held_back(spread.largest);
    let norm = dot(&spread.mean, &spread.mean).sqrt() / (1.0 - held);
    let bias = blocks.bias(norm, spread.trace / spread.dimension);
    let determined = held <= HELD_BACK && bias <= MOST_BIAS;
    let weakest: Vec<f64> = kept.iter().map(|j| spread.direction[*j]).collect();
    let k = blocks.count as f64;
    let quantile = if determined { blocks.quantile(level, bias) } else { 0.0 };
    let one = |Values { value, each, direction }: &Values| {
        let mean = each.iter().sum::<f64>() / k;
        let square = each.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (k - 1.0);
        let error = (square / k).sqrt();
        let standard_error = error * bias.hypot(1.0);
        let interval = Interval {
            standard_error,
            sampling_error: None,
            privacy_error: None,
            low: value - quantile * error,
            high: value + quantile * error,
            z: value / standard_error,
            p: blocks.beyond(value.abs() / error, bias).min(1.0),
        };
        let lost = dot(&weakest, direction).powi(2) / dot(direction, direction);
        Found { estimate: *value, interval: determined.then_some(interval), lost }
    };
    stated.iter().map(one).collect()
}

/// The mean of the blocks' weights and the spread around it.
struct Spread {
    mean: Vec<f64>,
    /// The largest eigenvalue of the covariance.
    largest: f64,
    /// Its eigenvector.
    direction: Vec<f64>,
    trace: f64,
    /// Dimensions that are not null.
    dimension: f64,
}

impl Spread {
    fn of(count: usize, released: &[f64], null: &[Vec<f64>]) -> Self {
        let width = released.len() / count;
        let basis = orthonormal(null);
        let without = |weights: &[f64]| {
            let mut weights = weights.to_vec();
            for v in &basis {
                subtract(&mut weights, v);
            }
            weights
        };
        let each: Vec<Vec<f64>> = released.chunks_exact(width).map(without).collect();
        let mean: Vec<f64> =
            (0..width).map(|j| each.iter().map(|w| w[j]).sum::<f64>() / count as f64).collect();
        let moved: Vec<Vec<f64>> =
            each.iter().map(|w| w.iter().zip(&mean).map(|(w, mean)| w - mean).collect()).collect();
        // The products of the differences have the eigenvalues of their covariance.
        let products = moved.iter().flat_map(|a| moved.iter().map(move |b| dot(a, b)));
        let products = products.map(|x| x / (count as f64 - 1.0)).collect();
        let (values, rows) = Square::new(count, products).eigen();
        let top = (0..count).max_by(|i, j| values[*i].total_cmp(&values[*j])).unwrap_or(0);
        let mut direction = vec![0.0; width];
        for (share, moved) in rows.row(top).iter().zip(&moved) {
            direction.iter_mut().zip(moved).for_each(|(d, m)| *d += share * m);
        }
        let length = dot(&direction, &direction).sqrt().max(f64::MIN_POSITIVE);
        for d in &mut direction {
            *d /= length;
        }
        Self {
            mean,
            largest: values[top],
            direction,
            trace: values.iter().sum(),
            dimension: width.saturating_sub(basis.len()).max(1) as f64,
        }
    }
}

/// Vectors of length 1 at right angles with the same span.
fn orthonormal(vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for vector in vectors {
        let mut rest = vector.clone();
        for v in &basis {
            subtract(&mut rest, v);
        }
        let length = dot(&rest, &rest).sqrt();
        for x in &mut rest {
            *x /= length;
        }
        basis.push(rest);
    }
    basis
}

/// Takes from `vector` its part along `unit`, which has length 1.
fn subtract(vector: &mut [f64], unit: &[f64]) {
    let along = dot(vector, unit);
    vector.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Blocks = Blocks { count: 10, pull: 0.0, bend: 1.0, square: 1.0 };

    #[test]
    fn without_bias_the_quantile_is_that_of_students_law() {
        for (level, want) in [(0.9, 1.833_113), (0.95, 2.262_157), (0.99, 3.249_836)] {
            let got = TEN.quantile(level, 0.0);
            assert!((got - want).abs() < 2e-5, "{level}: {got}");
        }
    }

    #[test]
    fn with_bias_it_is_that_of_the_noncentral_law() {
        // P(|T| > q), 9 degrees of freedom, by 2 million draws: 0.0500 ± 0.0002 each.
        for (bias, quantile) in [(0.5, 2.520), (1.0, 3.097), (2.0, 4.446)] {
            let chance = TEN.beyond(quantile, bias);
            assert!((chance - 0.05).abs() < 6e-4, "{bias}: {chance}");
        }
    }

    #[test]
    fn the_spread_leaves_out_what_is_null_and_finds_the_widest_direction() {
        let null = [vec![1.0, 1.0, -1.0, 0.0], vec![0.0, 0.0, -1.0, 2.0]];
        let mut released = Vec::new();
        for i in 0..10 {
            let (a, sign) = (f64::from(i), if i % 2 == 0 { 1.0 } else { -1.0 });
            // Much along the null directions, and ±2 along (1, -1, 0, 0).
            let along = [100.0 * a, -30.0 * a];
            let own = [2.0 * sign, -2.0 * sign, 0.0, 0.0];
            released.extend((0..4).map(|j| own[j] + along[0] * null[0][j] + along[1] * null[1][j]));
        }
        let spread = Spread::of(10, &released, &null);
        assert!((spread.largest - 80.0 / 9.0).abs() < 1e-6, "{}", spread.largest);
        assert!((spread.trace - spread.largest).abs() < 1e-6 && spread.dimension == 2.0);
        assert!((spread.direction[0].abs() - 0.5_f64.sqrt()).abs() < 1e-6);
        assert!(dot(&spread.mean, &spread.mean) < 1e-6);
    }
}
