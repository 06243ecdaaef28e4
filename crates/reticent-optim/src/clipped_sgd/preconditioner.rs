//! The preconditioner, estimated privately: feature scales, by which features are standardized, and
//! the mean direction of the rows, which is shrunk. In regression also the mean of the labels, for
//! a warm start ([`start`](super::start)).
//!
//! # Algorithm
//!
//! Before the first step the sums of all rows, of their entries' squares and, in regression, of
//! their labels are released with noise,
//!
//! ```text
//! (Σ x_i, Σ x_i∘x_i/E, Σ y_i B/2Y) + sσ_m z,      s = aB or r/2,      a² = 1 + 1 + 1/4,
//! ```
//!
//! for rows of norm at most `B` with entries up to `E` and labels up to `Y`; `s = r/2` where a row
//! is replaced, with `r² = ρ + B²` and `ρ` the bound of [`RowBounds::replaced`]. With `v_j` the
//! noisy mean square of feature `j`, `λ` the deviation of its noise (or `10⁻³B²`, if that is more),
//! and `u` the direction of `D Σ x_i`,
//!
//! ```text
//! D = c · diag((v_j + λ)^{−1/2}),      P = (I − (1 − k)uuᵀ) D,
//! ```
//!
//! and `c` such that the mean of `‖Px_i‖²`, as far as it can be told from what was released, is
//! that of rows of the typical size ([`typical_norm`]). The steps are those of DP-SGD on the rows
//! `P x_i`, for weights `v`. The model `⟨v, Px⟩ = ⟨Pᵀv, x⟩` is kept as `w = Pᵀv`:
//!
//! ```text
//! g_t = (Σ clip_τ(P ∇ℓ_i(w_t)) + τσ z_t)/b,      w_{t+1} = w_t − ηPᵀg_t.
//! ```
//!
//! # Theorem (privacy)
//!
//! The release is the event `PoissonGaussian(1, σ_m, 1)`, then `PoissonGaussian(q, σ, T')`.
//!
//! *Proof.* `‖x∘x‖ ≤ E‖x‖`, so a row that joins moves the sums together by at most
//! `sqrt(B² + B² + B²/4) = aB`. A replaced one moves the first two by at most `√ρ` together, and
//! the third by at most `2Y · B/2Y = B`: by `r`, which the event counts as twice its unit. It is
//! the Gaussian mechanism in units of `s`, with every row in the batch (`B`, `E` and `Y` within
//! `1e±100`, so that no square overflows). Of a unit the mean over its rows is released, some of
//! which may be null: a point of the convex hull of what single rows add, and two points of a hull
//! are no farther apart than two of its corners. A null row has zeros for features and label, so
//! that it adds nothing. `P` is a function of what it released and of public numbers, so for the
//! steps it is public, and `P∇ℓ_i` is one more vector per row that is cut to `τ`. The step is a
//! function of the noisy sum and of `P`. ∎
//!
//! Rounding is paid for by [`moments_rounding`] and
//! [`shortened_rounding`](reticent_data::shortened_rounding).
//!
//! # Why it helps
//!
//! The noise of a step is `τσ` in every coordinate, and `τ` has to be about as long as gradients
//! are. Where half or nearly all of the rows' energy is in one direction, which one or two numbers
//! describe, shortened gradients are a half or a third as long, and so is the noise in all other
//! directions. Of the scales: near the minimum of a loss with the curvature `v_j` in feature `j`,
//! noise moves the margins of rows by `Σ_j v_j (noise/v_j)²` in squares, which is
//! `(Σ s_j² v_j)(Σ 1/(s_j² v_j))` with scales, for `τ² ∝ Σ s_j² v_j`. By the inequality of Cauchy
//! and Schwarz it is least where all `s_j² v_j` are equal. `λ` keeps features apart that the noise
//! hides, and with many of them nothing is scaled.
//!
//! The release takes a tenth of the budget at most where steps are many ([`MOMENTS_NOISE_RATIO`]),
//! and less where `r` is below `2aB`: the noise of `s = aB` is enough, so that `σ_m` grows by
//! `2aB/r`. Where the mean of all `v_j`, `B²/d` at most, is less than twice their noise, the
//! squares are not released, they do not count in `a` and `r`, and `D = I`: that is decided by
//! public numbers ([`standardizes`]). Where more than half of `‖DΣx‖²` is likely noise, `u` would
//! be a random direction: nothing is shrunk then, which is decided by what was released.
//!
//! # Features that no row was seen to have
//!
//! A declared category that no row has gets the noise of every step and no gradient against it, and
//! its scale `(0 + λ)^{−1/2}` is the largest of all. A feature is *unseen* if neither its noisy sum
//! nor its noisy sum of squares is `z` deviations of their noise from zero ([`UNSEEN_DEVIATIONS`])
//! and the latter, with as many deviations added, is still below a part of the mean feature's
//! ([`UNSEEN_SHARE`]). An empty category is taken for seen with a probability of at most
//! `P(N > z) + P(|N| > z)`, 0.4 %. The list goes with the release, of which it is a function, and
//! anyone who knows what features stand for can decide on it: a small number may say much, a
//! category of no rows says nothing. Scales and steps do not depend on it.
//!
//! The sums alone count where `D = I`. They do not tell a feature that no row has from one with as
//! much above zero as below, and a mean square that noise could hide is no rarity there: none is
//! unseen. None is enlarged then either.
//!
//! [`RowBounds::replaced`]: reticent_problem::RowBounds::replaced
//!
//! Without constraint and ridge the minimiser is the same for every `P`: where the gradient is
//! zero, so is `P` times it. With them the steps in `v` would stand for another set and another
//! ridge, so they are refused.

use reticent_data::{Oracle, Preconditioner, Question, Sensitive, moments_rounding};
use reticent_noise::fast::FastGaussian;
use reticent_noise::{NoiseError, Source};
use reticent_privacy::{Adjacency, Event};
use reticent_problem::{Domain, Problem, REPLACED};

use super::start::Known;
use super::straightening::Trace;
use super::{ClippedSgd, ClippedSgdPlan, NAME};
use crate::step::noisy_sum::NoisySum;
use crate::tuning::{
    LABEL_WEIGHT, LEAST_DAMPING, LEAST_ROW_SQUARE, MOMENTS_NOISE_RATIO, PRECONDITIONED_NORM,
    SIGNIFICANT, UNSEEN_DEVIATIONS, UNSEEN_SHARE,
};
use crate::{Calibration, PlanError, RunError};

/// How much larger than the declared bound an entry may be once it is rounded to single precision.
const ROUNDED_ENTRY: f64 = 1.0 + 1e-6;

/// Bounds on rows and entries with which no square is too large or too small for a number.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// The typical size of a row, over whose inverse guesses of weights and steps are made.
pub(crate) fn typical_norm(problem: &Problem, keep: Option<f64>) -> f64 {
    let norm = problem.bounds.norm();
    keep.map_or(norm, |keep| norm * PRECONDITIONED_NORM.max(keep))
}

/// `σ_m` over the noise of all steps together.
pub(super) fn ratio(problem: &Problem, adjacency: Adjacency) -> f64 {
    MOMENTS_NOISE_RATIO * parts(problem, true) / unit(problem, adjacency, true)
}

/// `σ/(q√T')`.
fn of_all_steps(steps_multiplier: f64, rate: f64, steps: u64) -> f64 {
    steps_multiplier / (rate * (steps as f64).sqrt())
}

/// `σ_m`, for a [`ratio`].
pub(super) fn noise_multiplier(ratio: f64, steps_multiplier: f64, rate: f64, steps: u64) -> f64 {
    ratio * of_all_steps(steps_multiplier, rate, steps)
}

impl ClippedSgdPlan {
    /// The noise of all steps together, `σ/(q√T')`, over the clip norm: of one sum over all rows
    /// that is as good.
    pub(crate) fn noise_of_all_steps(&self) -> f64 {
        let steps = self.output.noisy_steps(self.outline.steps).max(1);
        of_all_steps(self.noise_multiplier, self.sample_rate, steps)
    }
}

/// `a`, with the squares or without.
fn parts(problem: &Problem, squares: bool) -> f64 {
    let labels = if problem.loss.is_classification() { 0.0 } else { LABEL_WEIGHT * LABEL_WEIGHT };
    (1.0 + f64::from(u8::from(squares)) + labels).sqrt()
}

/// `s/B`, with the squares or without.
fn unit(problem: &Problem, adjacency: Adjacency, squares: bool) -> f64 {
    let most = parts(problem, squares);
    if !adjacency.replaces() {
        return most;
    }
    let norm = problem.bounds.norm();
    // The squares only add.
    let rows =
        (problem.bounds.replaced() / (norm * norm)).min(if squares { REPLACED } else { 4.0 });
    let labels = if problem.loss.is_classification() { 0.0 } else { 2.0 * LABEL_WEIGHT };
    ((rows + labels * labels).sqrt() / 2.0 * ROUNDED_ENTRY).min(most)
}

/// Whether features are standardized: whether their mean square, `B²/d` at most, could be twice its
/// noise `sEσ_m/n`. Without noise it is.
pub(super) fn standardizes(problem: &Problem, adjacency: Adjacency, multiplier: f64) -> bool {
    let (rows, features) = (problem.rows as f64, problem.features as f64);
    let noise = unit(problem, adjacency, true) * multiplier * problem.bounds.entry();
    rows * problem.bounds.norm() >= SIGNIFICANT * noise * features
}

/// The released moments of the rows.
struct Moments {
    /// `s`, rounding included.
    longest: f64,
    /// `σ_m`.
    multiplier: f64,
    /// `s/B`.
    unit: f64,
    /// Whether the squares are among it.
    squares: bool,
    /// The scale factor of the sum of the labels; none for classification.
    labels: Option<f64>,
    /// How many numbers it is.
    dimension: usize,
}

impl Moments {
    fn new(
        problem: &Problem,
        adjacency: Adjacency,
        steps_multiplier: f64,
        rate: f64,
        steps: u64,
    ) -> Self {
        let ratio = ratio(problem, adjacency);
        let multiplier = noise_multiplier(ratio, steps_multiplier, rate, steps);
        let squares = standardizes(problem, adjacency, multiplier);
        let labels = (!problem.loss.is_classification())
            .then(|| LABEL_WEIGHT * problem.bounds.norm() / problem.bounds.label());
        // Rounding errs by a part of what a row adds, however little it moves the sums.
        let (unit, most) = (unit(problem, adjacency, squares), parts(problem, squares));
        let rounded = unit + most * (moments_rounding(problem) - 1.0);
        Self {
            longest: rounded * (1.0 + 8.0 * f64::EPSILON) * problem.bounds.norm(),
            multiplier,
            unit,
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

    /// The moments to release, before noise, taken from all that an oracle sums.
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

/// Refuses what noise would hide: a sum that is not at least twice as long as its noise, though all
/// rows were equal and as long as they may be. That its noise can be drawn is seen to as well, so
/// that a run cannot fail for want of it.
pub(super) fn check_noise(
    problem: &Problem,
    adjacency: Adjacency,
    steps_multiplier: f64,
    rate: f64,
    steps: u64,
) -> Result<(), PlanError> {
    let moments = Moments::new(problem, adjacency, steps_multiplier, rate, steps);
    FastGaussian::new(moments.longest, moments.multiplier, moments.dimension)?;
    let least = SIGNIFICANT * moments.unit * moments.multiplier * (problem.features as f64).sqrt();
    if problem.rows as f64 >= least {
        return Ok(());
    }
    Err(PlanError::NotApplicable {
        algorithm: NAME,
        why: format!(
            "cannot tell the rows' preconditioner direction from noise with fewer than {least:.0} rows at this epsilon; leave `precondition` out"
        ),
    })
}

/// Whether the mean direction of such rows can be shortened at all.
pub(crate) fn is_applicable(problem: &Problem) -> bool {
    problem.hidden.is_none()
        && problem.ridge == 0.0
        && matches!(problem.domain, Domain::Unbounded)
        && ORDINARY.contains(&problem.bounds.norm())
        && ORDINARY.contains(&problem.bounds.entry())
        && (problem.loss.is_classification() || ORDINARY.contains(&problem.bounds.label()))
}

impl ClippedSgd {
    /// Whether `precondition`, if it is given, can be kept.
    pub(super) fn check_common(&self, problem: &Problem) -> Result<(), PlanError> {
        let Some(keep) = self.precondition else { return Ok(()) };
        if !(Preconditioner::LEAST..=1.0).contains(&keep) {
            return Err(PlanError::OutOfRange {
                name: "precondition",
                expected: format!("between {} and 1", Preconditioner::LEAST),
                got: keep,
            });
        }
        let why = if !is_applicable(problem) {
            "shortens the preconditioner direction of rows with a bound on their norm, for linear models without ridge and constraint; leave `precondition` out"
        } else if self.calibration == Calibration::Paper {
            "shortens the preconditioner direction with the tight calibration only; leave `precondition` out, or take that"
        } else {
            return Ok(());
        };
        Err(PlanError::NotApplicable { algorithm: NAME, why: why.to_owned() })
    }
}

/// `P` from the noisy sums: noise of deviation `sigma` in each number.
fn shape(
    sums: &[f64],
    squares: &[f64],
    sigma: f64,
    problem: &Problem,
    keep: f64,
) -> Preconditioner {
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
    let significant = square >= SIGNIFICANT * hidden;
    if !significant {
        towards.fill(0.0);
    }
    let preconditioner = Preconditioner::new(towards, keep);
    if squares.is_empty() {
        return preconditioner;
    }
    let energy: f64 = scales.iter().zip(&means).map(|(s, v)| s * s * v).sum();
    let along = if significant { (square - hidden) / (rows * rows) } else { 0.0 };
    let size =
        (energy - (1.0 - keep * keep) * along).max(keep * keep * energy).max(LEAST_ROW_SQUARE);
    let longer = typical_norm(problem, Some(keep)) / size.sqrt();
    for s in &mut scales {
        *s *= longer;
    }
    preconditioner.with_scales(scales)
}

/// The features that no row was seen to have, in order; none where the squares were not released.
fn unseen(sums: &[f64], squares: &[f64], sigma: f64) -> Vec<usize> {
    let most = UNSEEN_DEVIATIONS * sigma;
    let usual = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    let is_unseen = |(sum, square): (&f64, &f64)| {
        sum.abs() < most && *square < most && square + most < UNSEEN_SHARE * usual
    };
    let unseen = sums.iter().zip(squares).enumerate().filter(|(_, pair)| is_unseen(*pair));
    unseen.map(|(j, _)| j).collect()
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
        let adjacency = self.outline.budget.adjacency;
        Moments::new(problem, adjacency, self.noise_multiplier, self.sample_rate, steps)
    }

    /// Releases the rows' moments, with the noise that the plan's event pays for, as a run does
    /// before its first step; none where the plan has no `precondition`. With a seeded source these
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
        if self.settings.precondition.is_none() {
            return Ok(None);
        }
        let (problem, moments) = (&self.outline.problem, self.moments());
        let mut noise = moments.noise(&self.outline.event, source)?;
        let mut sums = Sensitive::new(vec![0.0; 2 * problem.features + 1]);
        oracle.ask(problem, &Question::Moments, &mut sums)?;
        Ok(Some(noise.release(sums.map_inside(|sums| moments.of(&sums, problem)))))
    }
}

/// The results that follow from the noisy moments of the rows.
pub(super) struct Found {
    /// How rows are shortened.
    pub(super) preconditioner: Preconditioner,
    /// Where the steps begin; none where that is zero.
    pub(super) start: Option<Vec<f64>>,
    /// The features that no row was seen to have.
    pub(super) unseen: Vec<usize>,
    /// What straightening needs of the moments.
    pub(super) trace: Trace,
}

/// Releases the rows' moments with noise, and takes from them how rows are shortened and where the
/// steps begin; none where they are not.
pub(super) fn find(
    plan: &ClippedSgdPlan,
    oracle: &dyn Oracle,
    source: &Source,
) -> Result<Option<Found>, RunError> {
    let Some(keep) = plan.settings.precondition else { return Ok(None) };
    let Some(noisy) = plan.release_moments(oracle, source)? else { return Ok(None) };
    let (problem, moments) = (&plan.outline.problem, plan.moments());
    let sigma = moments.sigma(&plan.outline.event)?;
    let (sums, rest) = noisy.split_at(problem.features);
    let (squares, label) = rest.split_at(if moments.squares { problem.features } else { 0 });
    let preconditioner = shape(sums, squares, sigma, problem, keep);
    let unseen = unseen(sums, squares, sigma);
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
    let (rows, entry) = (problem.rows.max(1) as f64, problem.bounds.entry() * ROUNDED_ENTRY);
    let trace = Trace {
        means: sums.iter().map(|x| x / rows).collect(),
        squares: squares.iter().map(|x| x * entry / rows).collect(),
        level: level(sigma, problem),
        etas: Vec::new(),
    };
    Ok(Some(Found { preconditioner, start, unseen, trace }))
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
            let moments = Moments::new(&problem, Adjacency::ZeroOut, multiplier, 1.0, 1);
            let added = moments.of(&[3.0, 0.0, 9.0, 0.0, -5.0], &problem);
            assert_eq!((added.len(), moments.dimension), (numbers, numbers));
            let length = added.iter().map(|x| x * x).sum::<f64>().sqrt() / moments.longest;
            assert!((0.999_99..=1.0).contains(&length), "{loss:?}: {length}");
        }
    }

    /// The farthest two rows of many small entries: half of the entries at 1 and −0.3222 in one row
    /// and the other way round in the other ([`REPLACED`]); labels at both ends.
    #[test]
    fn the_farthest_replaced_row_moves_what_is_charged_and_no_more() {
        let d = 40;
        let norm = (f64::from(d) / 2.0 * (1.0 + 0.322_185_f64.powi(2))).sqrt();
        let bounds = RowBounds::new(norm, 5.0).unwrap().with_entries(1.0).unwrap();
        for (loss, multiplier) in
            [(Loss::Logistic, 1e-3), (Loss::Logistic, 1e4), (Loss::Squared, 1e-3)]
        {
            let problem = Problem::new(loss, bounds, 1000, d as usize);
            let moments = Moments::new(&problem, Adjacency::ReplaceOne, multiplier, 1.0, 1);
            let row = |one: usize, label: f64| {
                let x = (0..d as usize).map(|j| if j % 2 == one { 1.0 } else { -0.322_185 });
                let x: Vec<f64> = x.collect();
                let sums: Vec<f64> = x.iter().copied().chain(x.iter().map(|x| x * x)).collect();
                moments.of(&[sums, vec![label]].concat(), &problem)
            };
            let (one, other) = (row(0, 5.0), row(1, -5.0));
            let apart = one.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let share = apart / (2.0 * moments.longest);
            let least = if moments.squares { 0.9999 } else { 0.88 };
            assert!((least..=1.0).contains(&share), "{loss:?}: {share}");
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
        // A thousand rows: the first feature is ±0.45 or so, the second ±0.1, the third next to
        // nothing.
        let noisy = [0.0, 0.0, 0.0, 100.0, 5.0, 1e-3];
        let preconditioner = shape(&noisy[..3], &noisy[3..], 0.0, &problem(3, 2.0), 0.3);
        let s = preconditioner.scales();
        let size = |j: usize| s[j] * (noisy[3 + j] * 2.0 / 1000.0).sqrt();
        // λ is 0.004, and the second mean square 0.01.
        assert!((size(1) / size(0) - (0.01_f64 / 0.014).sqrt()).abs() < 1e-2, "{s:?}");
        assert!(s[2] / s[1] < 2.0, "what noise or rarity hides is not blown up: {s:?}");
        let mean: f64 = (0..3).map(|j| size(j).powi(2)).sum();
        assert!((mean.sqrt() - 1.2).abs() < 1e-3, "{mean}");
        // The same rows declared ten times as wide are brought to the same size, in units of the
        // bound.
        let noisy = noisy.map(|x| x / 10.0);
        let wide = shape(&noisy[..3], &noisy[3..], 0.0, &problem(3, 20.0), 0.3);
        assert!(wide.scales()[0] / s[0] > 9.0, "{:?}", wide.scales());
    }

    #[test]
    fn a_feature_is_unseen_if_noise_explains_it_and_it_is_rare_for_sure() {
        let sums = [900.0, 0.0, 20.0, -29.0, 0.0, 31.0, -31.0];
        let squares = [900.0, 700.0, 29.0, -40.0, 31.0, 0.0, 0.0];
        assert_eq!(unseen(&sums, &squares, 10.0), [2, 3]);
        // Without noise, and without squares, nothing is.
        assert!(unseen(&[9.0, 0.0], &[9.0, 0.0], 0.0).is_empty());
        assert!(unseen(&sums, &[], 10.0).is_empty());
        // Where noise could hide an ordinary feature, none is taken for rare.
        assert!(unseen(&[0.0; 4], &[100.0, 0.0, 90.0, -5.0], 10.0).is_empty());
    }

    #[test]
    fn with_much_noise_features_stay_as_they_are() {
        let standardizes =
            |multiplier| standardizes(&problem(10, 1.0), Adjacency::ZeroOut, multiplier);
        assert!(standardizes(35.3) && !standardizes(35.4));
        let even = shape(&[700.0, 0.0], &[700.0, 10.0], 1e4, &problem(2, 1.0), 0.3);
        assert!((even.scales()[0] / even.scales()[1] - 1.0).abs() < 0.05, "{:?}", even.scales());
    }
}
