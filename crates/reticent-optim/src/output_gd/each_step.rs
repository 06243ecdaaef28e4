//! Noise in each step in place of noise on the result: the last iterate, and nothing else, leaves.
//!
//! # Algorithm
//!
//! For a ridge `μ > 0`, on all of `R^d`, with a step `η ≤ 1/β`, `β = β_ℓ + μ`, from `w₀ = 0`,
//!
//! ```text
//! w_{t+1} = Hold( w_t − η∇F_S(w_t) + z_t ),      z_t ~ N(0, σ²I),      release w_T,
//! ```
//!
//! where `Hold` clamps each weight to `[−H, H]`, a public range that exact iterates and sixteen
//! deviations of their noise do not leave.
//!
//! # Theorem (privacy)
//!
//! Replace-one. With the `G` of [the parent](super), `c = 1 − ημ` and `s = ηG/n`, the release is
//! `μ_T`-GDP by [`reticent_privacy::last_iterate`]:
//!
//! - `w ↦ w − η∇F_S(w)` contracts by `c` for *every* table, as the parent proves for
//!   `η ≤ 2/(β_ℓ + 2μ)`; nothing is clipped, because a clipped gradient is that of no convex loss;
//! - two tables move one iterate at most `s` apart: the ridge cancels;
//! - `Hold` does not expand, and all rows are used in each step;
//! - `T`, `η` and `H` are public, and iterates stay sealed: they are in no file and no progress.
//!
//! # Rounding
//!
//! A computed step takes `q(w)`, rounds it to the grid `g` of the noise, which gives `r(w)`, adds
//! noise on the grid (`g·round(cZ)`, [`reticent_noise::fast`]) and holds the sum. The exact step is
//! `e` away from `q`, at most, whatever `w` is within `H√d` (`sensitivity::rounding_within`, which
//! bounds `2e`). The theorem's shifts must lie on the grid, for `r + v + g·round(cZ)` to be a
//! function of `v + cgZ`. Let the vector that a shift has a share of be `D = r'(w') − r(y)`, on the
//! grid, and take `v = λD` rounded to the grid *towards zero*. Then `‖v‖ ≤ λ‖D‖`, what is left is
//! at most `(1 − λ)‖D‖ + g√d`, and `λ = 1` leaves nothing, bit for bit. Because `‖D‖ ≤ s + c‖w' −
//! y‖ + 2e + g√d`, the theorem's recursion holds with
//!
//! ```text
//! s + 2e + g√d + c·g√d ≤ s + 2e + 2g√d      in place of s.
//! ```
//!
//! `Hold` is exact. The sum of cells is rounded where it has more than 53 bits, which is a function
//! of the exact sum, and moves it by less than the roundings of `e` that the parent counts and this
//! step does not have. ∎
//!
//! # Why it is better
//!
//! The certificate asks for the same noise along the flattest direction as noise on the result
//! does: there `w_T` has the variance `σ²(1 − c^{2T})/(1 − c²) = (Δ_T/μ_T)²`, with the `Δ_T` of the
//! parent. Along a direction of curvature `h` it is only `σ²/(1 − (1 − ηh)²)`: where the loss is
//! steep, noise dies out.
//!
//! # Risk
//!
//! With the law to which the iterates converge, `w_∞`, and its minimiser `w*` within `Hold`,
//! `‖w − η∇F − w*‖² ≤ ‖w − w*‖² − 2η(F(w) − F*)` for `η ≤ 1/β`, so
//!
//! ```text
//! E F(w_∞) − F* ≤ dσ²/(2η),      E‖w_∞ − w*‖² ≤ dσ²/(1 − c²),
//! E F(w_T) − F* ≤ ( √(dσ²/(2η)) + √(β/2)·c^T·(D + σ√(d/(1 − c²))) )².
//! ```
//!
//! *Proof of the last.* Run `w_T` beside a `w_∞` with the same noise: they are `c^T(E‖w₀ −
//! w_∞‖²)^{1/2}` apart in mean square. `F(a) ≤ F(b) + ⟨∇F(b), a − b⟩ + (β/2)‖a − b‖²` and `‖∇F(b)‖²
//! ≤ 2β(F(b) − F*)`. ∎ More steps never cost much: `σ` stays bounded, and `T` is the least number
//! at which the bound is within a thousandth of its least.

use reticent_data::{Oracle, Question, Sensitive};
use reticent_noise::Source;
use reticent_noise::fast::FastGaussian;
use reticent_privacy::last_iterate::root_of_steps;
use reticent_privacy::{Budget, Event, delta_upper, epsilon_upper, gaussian};
use reticent_problem::{Domain, Problem, Regularity};
use serde::{Deserialize, Serialize};

use super::{Noise, OutputGd, OutputGdPlan, distance_of, sensitivity, steps};
use crate::executor;
use crate::step::noisy_sum::NoisySum;
use crate::{Calibration, Outline, PlanError, Progress, RunError};

/// What a run with noise in each step has beside the rest of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EachStep {
    /// `c`: by what a step multiplies distances, at most.
    pub contraction: f64,
    /// `H`: weights are clamped to this after each step.
    pub hold: f64,
}

/// The numbers that decide on the number of steps.
struct RunNumbers {
    eta: f64,
    contraction: f64,
    smoothness: f64,
    dimension: f64,
    distance: f64,
    /// `s/μ_T`: a step's noise if there were but one.
    alone: f64,
}

impl RunNumbers {
    /// `σ` for so many steps.
    fn deviation(&self, steps: f64) -> f64 {
        self.alone * root_of_steps(self.contraction, steps)
    }

    /// How far the noise of all steps spreads a weight at most.
    fn spread(&self, sigma: f64) -> f64 {
        sigma / ((1.0 - self.contraction) * (1.0 + self.contraction)).sqrt()
    }

    /// The bound on the risk.
    fn excess(&self, steps: f64, sigma: f64) -> f64 {
        let Self { eta, contraction, smoothness, dimension, distance, .. } = *self;
        let noise = sigma * (0.5 * dimension / eta).sqrt();
        let kept = (steps * (contraction - 1.0).ln_1p()).exp();
        let far = distance + dimension.sqrt() * self.spread(sigma);
        (noise + (0.5 * smoothness).sqrt() * kept * far).powi(2)
    }

    /// The least number of steps with a bound near the least.
    fn choose(&self) -> u64 {
        let bound = |steps: u64| self.excess(steps as f64, self.deviation(steps as f64));
        let mut numbers = vec![1_u64];
        while let Some(last) = numbers.last().copied().filter(|last| *last < steps::MAX_STEPS) {
            numbers.push((last + last / 50 + 1).min(steps::MAX_STEPS));
        }
        let least = numbers.iter().map(|n| bound(*n)).fold(f64::INFINITY, f64::min);
        numbers.into_iter().find(|n| bound(*n) <= 1.001 * least).unwrap_or(steps::MAX_STEPS)
    }
}

/// The plan for a finite epsilon.
pub(super) fn plan(
    settings: &OutputGd,
    problem: &Problem,
    budget: Budget,
    k: Regularity,
    beta_l: f64,
    mut warnings: Vec<String>,
) -> Result<OutputGdPlan, PlanError> {
    check(settings, problem)?;
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    let (ridge, n, dimension) = (problem.ridge, problem.rows as f64, problem.dimension());
    let beta = beta_l + ridge;
    let eta = settings.eta.unwrap_or(1.0 / beta);
    if eta > (1.0 + f64::EPSILON) / beta {
        let expected = format!("at most 1/(beta + ridge) = {} with noise each-step", 1.0 / beta);
        return Err(PlanError::OutOfRange { name: "step_size", expected, got: eta });
    }
    // Rounded up: the product and the difference round once each.
    let contraction = (1.0 - eta * ridge + 2.0 * f64::EPSILON).clamp(0.0, 1.0);
    if contraction >= 1.0 {
        let expected = "so large that a step contracts, with noise each-step".to_owned();
        return Err(PlanError::OutOfRange { name: "ridge", expected, got: ridge });
    }
    let mu = gaussian::mu_lower(epsilon, delta)?;
    let shape = RunNumbers {
        eta,
        contraction,
        smoothness: beta,
        dimension: dimension as f64,
        distance: settings.distance.unwrap_or_else(|| distance_of(problem, &k)),
        alone: eta * k.gradient_difference / n / mu,
    };
    let steps = settings.steps.unwrap_or_else(|| shape.choose());
    if steps == steps::MAX_STEPS {
        warnings.push(format!("steps are capped at {}", steps::MAX_STEPS));
    }
    let t = steps as f64;
    let farthest = k.iterate_radius() + 16.0 * shape.spread(shape.deviation(t));
    let hold = farthest.log2().ceil().exp2();
    let reach = hold * (dimension as f64).sqrt();
    let rounded = sensitivity::rounding_within(problem, eta, reach);
    let apart = eta * (k.gradient_difference + rounded) / n * (1.0 + 8.0 * f64::EPSILON);
    let (noise_multiplier, event) = calibrated(apart, contraction, steps, dimension, mu, budget)?;
    let law = FastGaussian::new(apart, noise_multiplier, dimension)?;
    let excess = shape.excess(t, law.sigma());
    if excess > k.value_at_zero {
        warnings.push("noise dominates: the trained model is not expected to beat w = 0; increase n, epsilon or ridge".to_owned());
    }
    let outline = Outline {
        problem: problem.clone(),
        budget,
        event,
        steps,
        noise_deviation: law.sigma(),
        predicted_excess: Some(excess),
        warnings,
    };
    let noise = Noise::Gaussian { noise_multiplier, sigma: law.sigma(), grid: law.grid() };
    let each_step = Some(EachStep { contraction, hold });
    Ok(OutputGdPlan {
        outline,
        settings: *settings,
        regularity: k,
        eta,
        sensitivity: apart,
        noise,
        each_step,
    })
}

/// Refuses what the theorem or the risk bound does not cover.
fn check(settings: &OutputGd, problem: &Problem) -> Result<(), PlanError> {
    if settings.calibration == Calibration::Paper {
        let expected = "tight with noise each-step, which is not the paper's".to_owned();
        let got = "paper".to_owned();
        return Err(PlanError::BadChoice { name: "calibration", expected, got });
    }
    if problem.domain != Domain::Unbounded {
        let why = "adds noise in each step on all of R^d only; leave out the set, or choose another `noise`";
        let algorithm = super::NAME;
        return Err(PlanError::NotApplicable { algorithm, why: why.to_owned() });
    }
    if problem.ridge > 0.0 {
        return Ok(());
    }
    let expected = "above 0 with noise each-step, which dies out where steps contract".to_owned();
    Err(PlanError::OutOfRange { name: "ridge", expected, got: problem.ridge })
}

/// The least noise over `apart`, the grid's share included, whose event keeps the budget.
fn calibrated(
    apart: f64,
    contraction: f64,
    steps: u64,
    dimension: usize,
    mu: f64,
    budget: Budget,
) -> Result<(f64, Event), PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    let mut noise_multiplier = root_of_steps(contraction, steps as f64) / mu * (1.0 + 1e-11);
    let mut more = 1e-9;
    loop {
        let law = FastGaussian::new(apart, noise_multiplier, dimension)?;
        let moved = apart + 2.0 * law.grid() * (dimension as f64).sqrt();
        let event = Event::LastIterate {
            steps,
            contraction,
            noise_multiplier: law.sigma() / moved * (1.0 - 4.0 * f64::EPSILON),
            diameter: None,
            adjacency: budget.adjacency,
        };
        if delta_upper(&event, epsilon)? <= delta && epsilon_upper(&event, delta)? <= epsilon {
            return Ok((noise_multiplier, event));
        }
        if more > 1.0 {
            let expected = "large enough for the accountant to tell it from zero".to_owned();
            return Err(PlanError::OutOfRange { name: "delta", expected, got: delta });
        }
        noise_multiplier *= 1.0 + more;
        more *= 2.0;
    }
}

/// The steps of a plan, and the last iterate with its noise.
pub(super) fn run(
    plan: &OutputGdPlan,
    each: EachStep,
    noise_multiplier: f64,
    oracle: &dyn Oracle,
    source: &Source,
    progress: &dyn Progress,
) -> Result<Vec<f64>, RunError> {
    let Outline { problem, steps, .. } = &plan.outline;
    let (dimension, n) = (problem.dimension(), problem.rows as f64);
    let mut noise = NoisySum::new(plan.sensitivity, noise_multiplier, dimension, source)?;
    let (grid, hold, eta) = (noise.grid(), each.hold, plan.eta);
    let mut w = Sensitive::new(vec![0.0_f64; dimension]);
    let mut gradient = Sensitive::new(vec![0.0; dimension]);
    let mut drawn = vec![0.0; dimension];
    let mut done = 0;
    executor::repeat(oracle, progress, 1, 0, *steps, || {
        if done > 0 {
            // What the last step is owed: it stays sealed, so its noise is drawn apart from it.
            noise.draw(&mut drawn);
            w.update_inside(|w| {
                for (w, z) in w.iter_mut().zip(&drawn) {
                    let cells = if w.is_finite() { (*w / grid).round_ties_even() } else { 0.0 };
                    *w = (cells * grid + z).clamp(-hold, hold);
                }
            });
        }
        oracle.ask(problem, &Question::Gradient { at: &w }, &mut gradient)?;
        w.update_inside_with(&gradient, |w, gradient| {
            for (w, g) in w.iter_mut().zip(gradient) {
                *w -= eta * (problem.ridge * *w + g / n);
            }
        });
        done += 1;
        Ok(done)
    })?;
    let mut weights = noise.release(w);
    for w in &mut weights {
        *w = w.clamp(-hold, hold);
    }
    Ok(weights)
}
