//! Intervals from the sandwich formula, with the noise of everything in it.
//!
//! # Setting
//!
//! The released weights are `w = θ_μ + z`, where `θ_μ` minimises the average loss plus
//! `⟨b, θ⟩/n + (μ/2)‖θ‖²`, `b ~ N(0, s_b² I)`. With `θ*` the minimiser of the expected loss and `H`
//! its Hessian, to first order
//!
//! ```text
//! w − θ* = −(H + μ)⁻¹ (ḡ + b/n + μθ*) + z,      ḡ ~ N(0, V/n)   the mean gradient at θ*.
//! ```
//!
//! # Estimate
//!
//! `ŵ = w + μH⁻¹w` takes the pull of the ridge back: `ŵ − θ* = −H⁻¹(ḡ + b/n) + (1 + μH⁻¹)z`, so
//!
//! ```text
//! Cov ŵ = H⁻¹ V H⁻¹/n + s_b²/n² H⁻² + s_z² (1 + μH⁻¹)².
//! ```
//!
//! The first is the sampling error, the others are privacy's.
//!
//! # Noise in `H` and `V`
//!
//! The released matrices are `Ĥ = H + E`, `V̂ = V + F` with symmetric noise of a known law. An
//! eigenvector of `Ĥ` is *lost* where its eigenvalue is at most `t = CLEAR · e`, with
//! `e = σ_H √(2d)` the spectral radius of the noise.
//!
//! *If a direction is lost, no coefficient is determined.* Split the coordinates into lost ones `L`
//! and known ones `K`. The gradient equation's part in `K` is
//!
//! ```text
//! θ*_K = w_K + H_KK⁻¹ (μ w_K + H_KL (w_L − θ*_L) + noise),     Ĥ_KL = 0, so H_KL = −E_KL.
//! ```
//!
//! Nothing bounds `θ*_L`: a column that fills a hundredth of its declared bounds has a hundred
//! times the weight, the ridge holds it back, and its effect then moves to the columns correlated
//! with it. That `H_KL` is below the noise does not help, because it is multiplied by `θ*_L`; and a
//! bound that holds without knowing either, `|a'H_KK⁻¹H_KL θ_L|² ≤ a'H_KK⁻¹a · θ_L'H_LLθ_L`, does
//! not fall as `1/√n`. How little a coefficient's own direction loads on `L` says nothing about
//! that term. Only without noise is `H_KL` zero: then the coefficients that do not load on null
//! directions are determined.
//!
//! *If none is lost*, `H = Ĥ − E` is drawn given `Ĥ` ([`DRAWS`] draws of fresh noise, public
//! randomness), and the error of `ŵ` is a mixture of the normal laws that go with each draw: of the
//! variance above, around the difference that another `H` makes to the correction. The interval
//! holds its share of the mixture. Where `V̂` gives a variance below zero it counts as zero: other
//! draws make up for it.
//!
//! *The draws are weighted.* A table is printed only if `Ĥ` passes the threshold, and an `H` that
//! rarely passes looks larger than it is whenever it does. The likelihood given that `Ĥ` passed is
//! that of `Ĥ` over the chance of passing, so a draw counts `1/P(pass | draw)`, with `P` the
//! product of `Φ((λ_i − t)/σ_H)`: the least eigenvalue of the draw by inverse iteration, the others
//! by the draw's diagonal in the eigenbasis of `Ĥ`. Far above the threshold all weights are 1.
//! Close to it the intervals become wide, and where more than half of the errors that the level
//! allows lie in draws without an inverse, nothing is determined.
//!
//! One risk remains, a table in which `Ĥ` passes although `H` is far below: then the interval may
//! miss, but the chance of such a table is less than that of a miss.
//!
//! Everything here is post-processing of the released values.

use reticent_math::ndtr;
use reticent_noise::fast::fill_standard_gaussian;
use reticent_noise::{Purpose, Source, Stream};
use reticent_optim::objective::curvature::NoisyMatrix;
use serde::Serialize;

use reticent_math::symmetric::{Square, dot};

/// How many spectral radii of the noise every eigenvalue must have.
pub(super) const CLEAR: f64 = 1.25;

/// How much of its square a coefficient may have in null directions of an exact Hessian: rounding.
const LOAD: f64 = 1e-9;

/// Steps of the inverse iteration for a draw's least eigenvalue.
const ITERATIONS: usize = 12;

/// Draws of the noise in `H` and `V`.
const DRAWS: usize = 500;

/// The released values, for the coordinates in which coefficients are stated.
pub(crate) struct Evidence {
    /// `n`.
    pub(crate) records: f64,
    /// `Ĥ`.
    pub(crate) hessian: NoisyMatrix,
    /// `V̂`.
    pub(crate) scores: NoisyMatrix,
    /// `s_b/n`.
    pub(crate) gradient_noise: f64,
    /// `s_z`.
    pub(crate) output_noise: f64,
    /// `μ`.
    pub(crate) ridge: f64,
    /// `w`.
    pub(crate) weights: Vec<f64>,
}

/// A number that is stated: `value` plus what the correction adds along `direction`.
#[derive(Clone, Debug)]
pub(crate) struct Stated {
    /// The number as released.
    pub(crate) value: f64,
    /// Its gradient by the coordinates.
    pub(crate) direction: Vec<f64>,
}

/// An estimate with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The standard deviation of the whole error.
    pub standard_error: f64,
    /// The part that other rows would have made; none where the parts cannot be told apart.
    pub sampling_error: Option<f64>,
    /// The part that the noise made; none where the parts cannot be told apart.
    pub privacy_error: Option<f64>,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The estimate over its standard error.
    pub z: f64,
    /// The chance of an estimate as far from zero, were the coefficient zero.
    pub p: f64,
}

/// The result for one stated number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// The number with the pull of the ridge taken back, where that is known.
    pub(crate) estimate: f64,
    /// Its interval where it is determined.
    pub(crate) interval: Option<Interval>,
    /// The share of its square in directions that are lost.
    pub(crate) lost: f64,
}

/// Each number's estimate, and its interval at this level (a share) where it is determined.
pub(crate) fn intervals(evidence: &Evidence, stated: &[Stated], level: f64) -> Vec<Found> {
    let Basis { values, vectors, lost } = Basis::of(evidence);
    let missing = |direction: &[f64]| {
        let missing: f64 = lost.iter().map(|v| dot(v, direction).powi(2)).sum();
        missing / dot(direction, direction)
    };
    let exact = evidence.hessian.deviation == 0.0;
    let loads: Vec<f64> = stated.iter().map(|s| missing(&s.direction)).collect();
    let along = |(stated, load): (&Stated, &f64)| {
        let determined = if exact { *load <= LOAD } else { lost.is_empty() };
        determined.then(|| vectors.iter().map(|v| dot(v, &stated.direction)).collect())
    };
    let directions: Vec<Option<Vec<f64>>> = stated.iter().zip(&loads).map(along).collect();
    let weights: Vec<f64> = vectors.iter().map(|v| dot(v, &evidence.weights)).collect();
    let shift = |direction: &[f64]| -> f64 {
        let each = direction.iter().zip(&values).zip(&weights).map(|((a, h), w)| a * w / h);
        evidence.ridge * each.sum::<f64>()
    };
    let centres: Vec<f64> = directions.iter().map(|d| d.as_deref().map_or(0.0, shift)).collect();
    let draws = Draws { evidence, values: &values, vectors: &vectors, weights: &weights };
    let errors = draws.errors(&directions, &centres);
    let each = stated.iter().zip(&centres).zip(errors).zip(loads);
    each.map(|(((stated, centre), errors), lost)| {
        let estimate = stated.value + centre;
        let interval = errors.and_then(|errors| errors.interval(estimate, level));
        Found { estimate, interval, lost }
    })
    .collect()
}

/// The directions in which the Hessian is told from noise, with its eigenvalues, and the others.
struct Basis {
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    lost: Vec<Vec<f64>>,
}

impl Basis {
    fn of(evidence: &Evidence) -> Self {
        let size = evidence.weights.len();
        let (values, rows) = Square::new(size, evidence.hessian.entries.clone()).eigen();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let least = threshold(&evidence.hessian, size).max(1e-10 * largest);
        let (mut kept, mut vectors, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for (i, value) in values.into_iter().enumerate() {
            let vector = rows.row(i).to_vec();
            if value > least {
                kept.push(value);
                vectors.push(vector);
            } else {
                lost.push(vector);
            }
        }
        Self { values: kept, vectors, lost }
    }
}

/// `t`: the threshold that an eigenvalue of a noisy Hessian of this size must exceed.
pub(super) fn threshold(hessian: &NoisyMatrix, size: usize) -> f64 {
    CLEAR * hessian.deviation * (2.0 * size as f64).sqrt()
}

/// Draws of the Hessian and the covariance of gradients, given the released values.
struct Draws<'a> {
    evidence: &'a Evidence,
    values: &'a [f64],
    vectors: &'a [Vec<f64>],
    weights: &'a [f64],
}

/// The normal laws of an error, one for each draw; infinite where a draw has no inverse.
#[derive(Clone, Default)]
struct Errors {
    /// The weight of each draw.
    counts: Vec<f64>,
    shifts: Vec<f64>,
    sampling: Vec<f64>,
    privacy: Vec<f64>,
}

impl Draws<'_> {
    fn errors(&self, directions: &[Option<Vec<f64>>], centres: &[f64]) -> Vec<Option<Errors>> {
        let mut all: Vec<Option<Errors>> =
            directions.iter().map(|d| d.as_ref().map(|_| Errors::default())).collect();
        if directions.iter().all(Option::is_none) {
            return all;
        }
        let scores = self.scores();
        let exact = self.evidence.hessian.deviation == 0.0;
        // Public randomness: the same table every time.
        let mut stream = Source::seeded_not_private(0).stream(Purpose::Noise);
        for _ in 0..if exact { 1 } else { DRAWS } {
            let hessian = self.hessian(&mut stream);
            let diagonal = hessian.diagonal();
            let hessian = hessian.cholesky();
            let count = self.count(&diagonal, hessian.as_ref());
            let scores = noisy(scores.clone(), self.evidence.scores.deviation, &mut stream);
            let each = all.iter_mut().zip(directions).zip(centres);
            for ((errors, direction), centre) in each {
                if let (Some(errors), Some(direction)) = (errors, direction) {
                    errors.counts.push(count);
                    self.add(errors, direction, *centre, hessian.as_ref(), &scores);
                }
            }
        }
        all
    }

    /// `1/P(pass)` of a draw with this diagonal and factor; without a factor its least eigenvalue
    /// is at most zero.
    fn count(&self, diagonal: &[f64], factor: Option<&Square>) -> f64 {
        let hessian = &self.evidence.hessian;
        if hessian.deviation == 0.0 {
            return 1.0;
        }
        let threshold = threshold(hessian, self.evidence.weights.len());
        let pass = |value: f64| ndtr((value - threshold) / hessian.deviation);
        let weakest =
            (0..diagonal.len()).min_by(|i, j| self.values[*i].total_cmp(&self.values[*j]));
        let weakest = weakest.unwrap_or(0);
        let least = factor.map_or(0.0, |factor| factor.least_eigenvalue(weakest, ITERATIONS));
        let others = diagonal.iter().enumerate().filter(|(i, _)| *i != weakest);
        let chance = pass(least) * others.map(|(_, value)| pass(*value)).product::<f64>();
        1.0 / chance.max(f64::MIN_POSITIVE)
    }

    /// `V̂` in the basis.
    fn scores(&self) -> Square {
        let size = self.evidence.weights.len();
        let scores = Square::new(size, self.evidence.scores.entries.clone());
        let image = |v: &Vec<f64>| (0..size).map(|i| dot(scores.row(i), v)).collect::<Vec<f64>>();
        let images: Vec<Vec<f64>> = self.vectors.iter().map(image).collect();
        let entries = images.iter().flat_map(|i| self.vectors.iter().map(|v| dot(i, v)));
        Square::new(self.vectors.len(), entries.collect())
    }

    fn hessian(&self, stream: &mut Stream) -> Square {
        let r = self.values.len();
        let mut diagonal = vec![0.0; r * r];
        self.values.iter().enumerate().for_each(|(i, value)| diagonal[i * r + i] = *value);
        noisy(Square::new(r, diagonal), self.evidence.hessian.deviation, stream)
    }

    fn add(
        &self,
        errors: &mut Errors,
        direction: &[f64],
        centre: f64,
        hessian: Option<&Square>,
        scores: &Square,
    ) {
        let &Evidence { records, gradient_noise, output_noise, ridge, .. } = self.evidence;
        let Some(factor) = hessian else {
            errors.push(0.0, f64::INFINITY, 0.0);
            return;
        };
        let mut solved = direction.to_vec();
        factor.solve(&mut solved);
        let sampling = scores.form(&solved).max(0.0) / records;
        let output: f64 = direction.iter().zip(&solved).map(|(a, x)| (a + ridge * x).powi(2)).sum();
        let privacy =
            gradient_noise.powi(2) * dot(&solved, &solved) + output_noise.powi(2) * output;
        errors.push(ridge * dot(&solved, self.weights) - centre, sampling, privacy);
    }
}

/// The matrix with symmetric noise of this deviation on the diagonal.
fn noisy(mut matrix: Square, deviation: f64, stream: &mut Stream) -> Square {
    if deviation == 0.0 {
        return matrix;
    }
    let n = matrix.size;
    let mut noise = vec![0.0; n * (n + 1) / 2];
    fill_standard_gaussian(&mut noise, stream);
    let mut next = noise.into_iter();
    for i in 0..n {
        for j in i..n {
            let z = deviation * next.next().unwrap_or(0.0);
            if i == j {
                matrix.entries[i * n + i] += z;
            } else {
                let z = z * std::f64::consts::FRAC_1_SQRT_2;
                matrix.entries[i * n + j] += z;
                matrix.entries[j * n + i] += z;
            }
        }
    }
    matrix
}

impl Errors {
    fn push(&mut self, shift: f64, sampling: f64, privacy: f64) {
        self.shifts.push(shift);
        self.sampling.push(sampling);
        self.privacy.push(privacy);
    }

    /// A mean over the draws that have an inverse.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        let finite = (0..self.shifts.len()).filter(|i| self.sampling[*i].is_finite());
        let (sum, count) = finite.fold((0.0, 0.0), |(sum, count), i| {
            (self.counts[i].mul_add(of(i), sum), count + self.counts[i])
        });
        sum / count
    }

    /// The chance that the error is larger than `size`.
    fn beyond(&self, size: f64) -> f64 {
        let chance = |i: usize| {
            let (shift, deviation) = (self.shifts[i], (self.sampling[i] + self.privacy[i]).sqrt());
            if deviation == 0.0 {
                return f64::from(u8::from(shift.abs() > size));
            }
            if deviation.is_infinite() {
                return 1.0;
            }
            ndtr((shift - size) / deviation) + ndtr((-shift - size) / deviation)
        };
        let sum: f64 = (0..self.shifts.len()).map(|i| self.counts[i] * chance(i)).sum();
        sum / self.counts.iter().sum::<f64>()
    }

    /// The interval around an estimate; none where too many draws have no inverse.
    fn interval(&self, estimate: f64, level: f64) -> Option<Interval> {
        if self.beyond(f64::MAX) > 0.5 * (1.0 - level) {
            return None;
        }
        let sampling = self.mean(|i| self.sampling[i]);
        let privacy = self.mean(|i| self.privacy[i] + self.shifts[i].powi(2));
        let (mut low, mut high) = (0.0, (sampling + privacy).sqrt());
        while self.beyond(high) > 1.0 - level {
            high *= 2.0;
            if high.is_infinite() {
                return None;
            }
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.beyond(middle) > 1.0 - level {
                low = middle;
            } else {
                high = middle;
            }
        }
        let standard_error = (sampling + privacy).sqrt();
        Some(Interval {
            standard_error,
            sampling_error: Some(sampling.sqrt()),
            privacy_error: Some(privacy.sqrt()),
            low: estimate - high,
            high: estimate + high,
            z: estimate / standard_error,
            p: self.beyond(estimate.abs()).min(1.0),
        })
    }
}
