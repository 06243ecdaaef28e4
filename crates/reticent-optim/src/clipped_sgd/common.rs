//! What rows have in common, found privately: their features' sizes, which are evened out, a direction, which is shortened, and the mean of
//! labels that are numbers, from which the steps begin ([`start`](super::start)).
//!
//! # Algorithm
//!
//! Before the first step the sums of all rows, of their entries' squares and, if they are numbers, of their labels are released with noise,
//!
//! ```text
//! (Σ x_i, Σ x_i∘x_i/E, Σ y_i B/2Y) + aBσ_m z,      a² = 1 + 1 + 1/4,
//! ```
//!
//! for rows of norm at most `B` with entries up to `E` and labels up to `Y`. With `v_j` the noisy mean square of feature `j`, `λ` the deviation of its noise (or `10⁻³B²`, if that is more), and
//! `u` the direction of `D Σ x_i`,
//!
//! ```text
//! D = c · diag((v_j + λ)^{−1/2}),      P = (I − (1 − k)uuᵀ) D,
//! ```
//!
//! and `c` such that the mean of `‖Px_i‖²`, as far as it can be told from what was released, is that of rows of the usual size ([`usual_size`]). The
//! steps are those of DP-SGD on the rows `P x_i`, for weights `v`. The model `⟨v, Px⟩ = ⟨Pᵀv, x⟩` is kept as `w = Pᵀv`:
//!
//! ```text
//! g_t = (Σ clip_τ(P ∇ℓ_i(w_t)) + τσ z_t)/b,      w_{t+1} = w_t − ηPᵀg_t.
//! ```
//!
//! # Theorem (privacy)
//!
//! The release is the event `PoissonGaussian(1, σ_m, 1)`, then `PoissonGaussian(q, σ, T')`.
//!
//! *Proof.* `‖x∘x‖ ≤ E‖x‖`, so a row that joins moves the sums together by at most `sqrt(B² + B² + B²/4) = aB`, a replaced one by at most twice that: the
//! Gaussian mechanism in units of `aB`, with every row in the batch (`B`, `E` and `Y` within `1e±100`, so that no square overflows). A null row has zeros for features
//! and label, so that it adds nothing. `P` is a function of what it released and of public numbers, so for the steps it
//! is public, and `P∇ℓ_i` is one more vector per row that is cut to `τ`. The step is a function of the noisy sum and of `P`. ∎
//!
//! Rounding is paid for by [`moments_rounding`] and [`shortened_rounding`](reticent_data::shortened_rounding).
//!
//! # Why it helps
//!
//! The noise of a step is `τσ` in every coordinate, and `τ` has to be about as long as gradients are. Where half or nearly all of the rows' energy is in one
//! direction, which one or two numbers describe, shortened gradients are a half or a third as long, and so is the noise in all other directions.
//! Of the scales: near the minimum of a loss with the curvature `v_j` in feature `j`, noise moves the margins of rows by `Σ_j v_j (noise/v_j)²` in squares, which is
//! `(Σ s_j² v_j)(Σ 1/(s_j² v_j))` with scales, for `τ² ∝ Σ s_j² v_j`. By the inequality of Cauchy and Schwarz it is least where all `s_j² v_j` are equal. `λ` keeps features apart that the
//! noise hides, and with many of them nothing is scaled.
//!
//! The release takes about a tenth of the budget where steps are many ([`MOMENTS_NOISE_RATIO`]). Where the mean of all `v_j`, `B²/d` at most, is less than twice their noise, the squares are not
//! released, they do not count in `a`, and `D = I`: that is decided by public numbers ([`evens`]). Where more than half of `‖DΣx‖²` is likely noise, `u` would be a random direction: nothing is
//! shortened then, which is decided by what was released.
//!
//! Without constraint and ridge the minimiser is the same for every `P`: where the gradient is zero, so is `P` times it. With them the steps in
//! `v` would stand for another set and another ridge, so they are refused.

use reticent_data::{Common, Oracle, Question, Sensitive, moments_rounding};
use reticent_noise::fast::FastGaussian;
use reticent_noise::{NoiseError, Source};
use reticent_privacy::Event;
use reticent_problem::{Domain, Problem};

use super::start::Known;
use super::{ClippedSgd, ClippedSgdPlan, NAME};
use crate::step::noisy_sum::NoisySum;
use crate::tuning::{
    LABEL_WEIGHT, LEAST_DAMPING, LEAST_ROW_SQUARE, MOMENTS_NOISE_RATIO, PRECONDITIONED_NORM,
    SIGNIFICANT,
};
use crate::{Calibration, PlanError, RunError};

/// How much larger than the declared bound an entry may be once it is rounded to single precision.
const ROUNDED_ENTRY: f64 = 1.0 + 1e-6;

/// Bounds on rows and entries with which no square is too large or too small for a number.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// The usual size of a row, over whose inverse guesses of weights and steps are made.
pub(crate) fn usual_size(problem: &Problem, keep: Option<f64>) -> f64 {
    let norm = problem.bounds.norm();
    keep.map_or(norm, |keep| norm * PRECONDITIONED_NORM.max(keep))
}

/// `σ_m`.
pub(super) fn noise_multiplier(steps_multiplier: f64, rate: f64, steps: u64) -> f64 {
    MOMENTS_NOISE_RATIO * steps_multiplier / (rate * (steps as f64).sqrt())
}

impl ClippedSgdPlan {
    /// The noise of all steps together, `σ/(q√T')`, over the clip norm: of one sum over all rows that is as good.
    pub(crate) fn noise_of_all_steps(&self) -> f64 {
        let steps = self.output.noisy_steps(self.outline.steps).max(1);
        noise_multiplier(self.noise_multiplier, self.sample_rate, steps) / MOMENTS_NOISE_RATIO
    }
}

/// `a`, with the squares or without.
fn parts(problem: &Problem, squares: bool) -> f64 {
    let labels = if problem.loss.is_classification() { 0.0 } else { LABEL_WEIGHT * LABEL_WEIGHT };
    (1.0 + f64::from(u8::from(squares)) + labels).sqrt()
}

/// Whether features are evened out: whether their mean square, `B²/d` at most, could be twice its noise `aBEσ_m/n`. Without noise it is.
pub(super) fn evens(problem: &Problem, multiplier: f64) -> bool {
    let (rows, features) = (problem.rows as f64, problem.features as f64);
    let noise = parts(problem, true) * multiplier * problem.bounds.entry();
    rows * problem.bounds.norm() >= SIGNIFICANT * noise * features
}

/// What is released of the rows.
struct Moments {
    /// `aB`: what a row adds at most, rounding included.
    longest: f64,
    /// `σ_m`.
    multiplier: f64,
    /// `a`.
    parts: f64,
    /// Whether the squares are among it.
    squares: bool,
    /// What the sum of the labels is multiplied by; none for classes.
    labels: Option<f64>,
    /// How many numbers it is.
    dimension: usize,
}

impl Moments {
    fn new(problem: &Problem, steps_multiplier: f64, rate: f64, steps: u64) -> Self {
        let multiplier = noise_multiplier(steps_multiplier, rate, steps);
        let squares = evens(problem, multiplier);
        let labels = (!problem.loss.is_classification())
            .then(|| LABEL_WEIGHT * problem.bounds.norm() / problem.bounds.label());
        let parts = parts(problem, squares);
        let longest = problem.bounds.norm() * moments_rounding(problem);
        Self {
            longest: parts * (1.0 + 4.0 * f64::EPSILON) * longest,
            multiplier,
            parts,
            squares,
            labels,
            dimension: problem.features * (1 + usize::from(squares))
                + usize::from(labels.is_some()),
        }
    }

    /// The noise, if something is promised.
    fn noise(&self, event: &Event, source: &Source) -> Result<NoisySum, NoiseError> {
        if *event == Event::NotPrivate {
            return Ok(NoisySum::without_noise());
        }
        NoisySum::new(self.longest, self.multiplier, self.dimension, source)
    }

    /// The standard deviation of the noise in each number.
    fn sigma(&self, event: &Event) -> Result<f64, NoiseError> {
        if *event == Event::NotPrivate {
            return Ok(0.0);
        }
        Ok(FastGaussian::new(self.longest, self.multiplier, self.dimension)?.sigma())
    }

    /// What is released, without noise, of all that an oracle sums.
    fn of(&self, sums: &[f64], problem: &Problem) -> Vec<f64> {
        let (first, rest) = sums.split_at(problem.features);
        let (second, label) = rest.split_at(problem.features);
        let entry = problem.bounds.entry() * ROUNDED_ENTRY;
        let second = if self.squares { second } else { &[] };
        let second = second.iter().map(|x| x / entry);
        let label = self.labels.iter().zip(label).map(|(unit, y)| unit * y);
        first.iter().copied().chain(second).chain(label).collect()
    }
}

/// Refuses what noise would hide: a sum that is not at least twice as long as its noise, though all rows were equal and as long as they may be.
/// That its noise can be drawn is seen to as well, so that a run cannot fail for want of it.
pub(super) fn check_noise(
    problem: &Problem,
    steps_multiplier: f64,
    rate: f64,
    steps: u64,
) -> Result<(), PlanError> {
    let moments = Moments::new(problem, steps_multiplier, rate, steps);
    FastGaussian::new(moments.longest, moments.multiplier, moments.dimension)?;
    let least = SIGNIFICANT * moments.parts * moments.multiplier * (problem.features as f64).sqrt();
    if problem.rows as f64 >= least {
        return Ok(());
    }
    Err(PlanError::NotApplicable {
        algorithm: NAME,
        why: format!(
            "cannot tell the rows' common direction from noise with fewer than {least:.0} rows at this epsilon; leave `keep_common` out"
        ),
    })
}

/// Whether the common direction of such rows can be shortened at all.
pub(crate) fn is_applicable(problem: &Problem) -> bool {
    problem.hidden.is_none()
        && problem.ridge == 0.0
        && matches!(problem.domain, Domain::Unbounded)
        && ORDINARY.contains(&problem.bounds.norm())
        && ORDINARY.contains(&problem.bounds.entry())
        && (problem.loss.is_classification() || ORDINARY.contains(&problem.bounds.label()))
}

impl ClippedSgd {
    /// Whether `keep_common`, if it is given, can be kept.
    pub(super) fn check_common(&self, problem: &Problem) -> Result<(), PlanError> {
        let Some(keep) = self.keep_common else { return Ok(()) };
        if !(Common::LEAST..=1.0).contains(&keep) {
            return Err(PlanError::OutOfRange {
                name: "keep_common",
                expected: format!("between {} and 1", Common::LEAST),
                got: keep,
            });
        }
        let why = if !is_applicable(problem) {
            "shortens the common direction of rows with a bound on their norm, for linear models without ridge and constraint; leave `keep_common` out"
        } else if self.calibration == Calibration::Paper {
            "shortens the common direction with the tight calibration only; leave `keep_common` out, or take that"
        } else {
            return Ok(());
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() })
    }
}

/// `P` from the noisy sums: noise of deviation `sigma` in each number.
fn shape(sums: &[f64], squares: &[f64], sigma: f64, problem: &Problem, keep: f64) -> Common {
    let rows = problem.rows.max(1) as f64;
    let level = level(sigma, problem);
    let unit = problem.bounds.entry() * ROUNDED_ENTRY / rows;
    let means: Vec<f64> = squares.iter().map(|x| (x * unit).max(0.0)).collect();
    let mut scales = vec![1.0; sums.len()];
    if !squares.is_empty() {
        scales.iter_mut().zip(&means).for_each(|(s, v)| *s = (v + level).sqrt().recip());
    }
    let mut towards: Vec<f64> = sums.iter().zip(&scales).map(|(x, s)| x * s).collect();
    let square: f64 = towards.iter().map(|x| x * x).sum();
    let hidden: f64 = scales.iter().map(|s| (s * sigma).powi(2)).sum();
    let told = square >= SIGNIFICANT * hidden;
    if !told {
        towards.fill(0.0);
    }
    let common = Common::new(towards, keep);
    if squares.is_empty() {
        return common;
    }
    let energy: f64 = scales.iter().zip(&means).map(|(s, v)| s * s * v).sum();
    let along = if told { (square - hidden) / (rows * rows) } else { 0.0 };
    let size =
        (energy - (1.0 - keep * keep) * along).max(keep * keep * energy).max(LEAST_ROW_SQUARE);
    let longer = usual_size(problem, Some(keep)) / size.sqrt();
    for s in &mut scales {
        *s *= longer;
    }
    common.with_scales(scales)
}

/// `λ`.
fn level(sigma: f64, problem: &Problem) -> f64 {
    let unit = problem.bounds.entry() * ROUNDED_ENTRY / problem.rows.max(1) as f64;
    (sigma * unit).max(LEAST_DAMPING * problem.bounds.norm().powi(2))
}

impl ClippedSgdPlan {
    /// The moments that a run releases.
    fn moments(&self) -> Moments {
        let steps = self.output.noisy_steps(self.outline.steps).max(1);
        let problem = &self.outline.problem;
        Moments::new(problem, self.noise_multiplier, self.sample_rate, steps)
    }

    /// Releases the rows' moments, with the noise that the plan's event pays for, as a run does
    /// before its first step; none where the plan has no `keep_common`. With a seeded source these
    /// are the numbers of a run with the same seed: auditors look at them beside its steps.
    ///
    /// # Errors
    ///
    /// [`RunError`]; none of its variants depends on a row's value.
    pub fn release_moments(
        &self,
        oracle: &dyn Oracle,
        source: &Source,
    ) -> Result<Option<Vec<f64>>, RunError> {
        if self.settings.keep_common.is_none() {
            return Ok(None);
        }
        let (problem, moments) = (&self.outline.problem, self.moments());
        let mut noise = moments.noise(&self.outline.event, source)?;
        let mut sums = Sensitive::new(vec![0.0; 2 * problem.features + 1]);
        oracle.ask(problem, &Question::Moments, &mut sums)?;
        Ok(Some(noise.release(sums.map(|sums| moments.of(&sums, problem)))))
    }
}

/// What the rows' moments tell.
pub(super) struct Found {
    /// How rows are shortened.
    pub(super) common: Common,
    /// Where the steps begin; none where that is zero.
    pub(super) start: Option<Vec<f64>>,
}

/// Releases the rows' moments with noise, and takes from them how rows are shortened and where the steps begin; none where they are not.
pub(super) fn find(
    plan: &ClippedSgdPlan,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<Option<Found>, RunError> {
    let Some(keep) = plan.settings.keep_common else { return Ok(None) };
    let Some(noisy) = plan.release_moments(oracle, source)? else { return Ok(None) };
    let (problem, moments) = (&plan.outline.problem, plan.moments());
    let sigma = moments.sigma(&plan.outline.event)?;
    let (sums, rest) = noisy.split_at(problem.features);
    let (squares, label) = rest.split_at(if moments.squares { problem.features } else { 0 });
    let common = shape(sums, squares, sigma, problem, keep);
    let start = moments.labels.zip(label.first()).and_then(|(unit, label)| {
        let rows = problem.rows.max(1) as f64;
        let square = problem.bounds.entry() * ROUNDED_ENTRY / rows;
        let link = problem.loss.link();
        let (label, label_deviation) = link.margin(label / (unit * rows), sigma / (unit * rows));
        let known = Known {
            label,
            label_deviation,
            means: sums.iter().map(|x| x / rows).collect(),
            deviation: sigma / rows,
            squares: squares.iter().map(|x| x * square).collect(),
            level: level(sigma, problem),
            norm: problem.bounds.norm(),
        };
        known.start()
    });
    Ok(Some(Found { common, start }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_problem::{Loss, RowBounds};

    fn problem(features: usize, norm: f64) -> Problem {
        let bounds = RowBounds::features(norm).unwrap();
        Problem::new(Loss::Logistic, bounds, 1000, features)
    }

    #[test]
    fn what_a_row_at_its_bounds_adds_is_what_is_charged_and_no_more() {
        let bounds = RowBounds::new(3.0, 5.0).unwrap();
        for (loss, multiplier, numbers) in [
            (Loss::Logistic, 1.0, 4),
            (Loss::Logistic, 1e4, 2),
            (Loss::Squared, 1.0, 5),
            (Loss::Squared, 1e4, 3),
        ] {
            let problem = Problem::new(loss, bounds, 1000, 2);
            let moments = Moments::new(&problem, multiplier, 1.0, 1);
            let added = moments.of(&[3.0, 0.0, 9.0, 0.0, -5.0], &problem);
            assert_eq!((added.len(), moments.dimension), (numbers, numbers));
            let length = added.iter().map(|x| x * x).sum::<f64>().sqrt() / moments.longest;
            assert!((0.999_99..=1.0).contains(&length), "{loss:?}: {length}");
        }
    }

    #[test]
    fn a_direction_that_noise_hides_is_none() {
        let direction = |noisy: &[f64], sigma: f64| {
            shape(noisy, &[], sigma, &problem(2, 1.0), 0.3).direction().to_vec()
        };
        assert_eq!(direction(&[3.0, 4.0], 2.0), [0.6, 0.8]);
        assert_eq!(direction(&[3.0, 4.0], 3.0), [0.0, 0.0]);
        assert_eq!(direction(&[1e-3, 0.0], 0.0), [1.0, 0.0], "without noise nothing is hidden");
    }

    #[test]
    fn features_are_brought_to_a_like_size_and_rows_to_the_usual_one() {
        // A thousand rows: the first feature is ±0.45 or so, the second ±0.1, the third next to nothing.
        let noisy = [0.0, 0.0, 0.0, 100.0, 5.0, 1e-3];
        let common = shape(&noisy[..3], &noisy[3..], 0.0, &problem(3, 2.0), 0.3);
        let s = common.scales();
        let size = |j: usize| s[j] * (noisy[3 + j] * 2.0 / 1000.0).sqrt();
        // λ is 0.004, and the second mean square 0.01.
        assert!((size(1) / size(0) - (0.01_f64 / 0.014).sqrt()).abs() < 1e-2, "{s:?}");
        assert!(s[2] / s[1] < 2.0, "what noise or rarity hides is not blown up: {s:?}");
        let mean: f64 = (0..3).map(|j| size(j).powi(2)).sum();
        assert!((mean.sqrt() - 1.2).abs() < 1e-3, "{mean}");
        // The same rows declared ten times as wide are brought to the same size, in units of the bound.
        let noisy = noisy.map(|x| x / 10.0);
        let wide = shape(&noisy[..3], &noisy[3..], 0.0, &problem(3, 20.0), 0.3);
        assert!(wide.scales()[0] / s[0] > 9.0, "{:?}", wide.scales());
    }

    #[test]
    fn with_much_noise_features_stay_as_they_are() {
        assert!(evens(&problem(10, 1.0), 35.3) && !evens(&problem(10, 1.0), 35.4));
        let even = shape(&[700.0, 0.0], &[700.0, 10.0], 1e4, &problem(2, 1.0), 0.3);
        assert!((even.scales()[0] / even.scales()[1] - 1.0).abs() < 0.05, "{:?}", even.scales());
    }
}
