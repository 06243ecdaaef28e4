//! The adaptive step size: it grows and shrinks with what the noisy gradients show.
//!
//! # Rule
//!
//! Let `S_t` be the sum of the clipped gradients of step `t` with its share `bμw_t` of the ridge,
//! `G_t` the same with noise of standard deviation `s` in each of its `D` coordinates. From each
//! step the rule uses
//!
//! ```text
//! A_t = |G_t|² − D s²,      B_t = ⟨G_t, G_{t−1}⟩.
//! ```
//!
//! The noise of a step has mean zero and is independent of all that was before. So given the past,
//! `A_t` has the mean `|S_t|²`, and `B_t` the mean `⟨S_t, G_{t−1}⟩`: what a longer last step would
//! have gained, since that step went along `−G_{t−1}`. Baydin, Cornish, Martínez Rubio, Schmidt and
//! Wood call it the hypergradient ("Online learning rate adaptation with hypergradient descent",
//! ICLR 2018).
//!
//! For a quadratic with the matrix `H` and the sum `g` without noise, `E A = |g|²` and
//! `E B = |g|² − ηK`, where `K` is `gᵀHg` and the noise's `s² tr H`, over `b`. The loss falls most
//! for `η* = |g|²/K`, and at `η = cη*` it is `B = (1 − c)A`. Hence
//!
//! ```text
//! z = B_t + (c − 1)(A_t + A_{t−1})/2,
//! r = s² sqrt(D (1 + (c − 1)²)) + max(|B_t|, |A_t|/2),
//! ln η += κ · clamp(z/r, −1, 1),      η_0/30 ≤ η ≤ 30 η_0.
//! ```
//!
//! The first part of `r` is the standard deviation of `z` where there is nothing but noise: there
//! `η` wanders by small steps and has no trend. The new `η` is used for step `t` itself.
//!
//! Batches are drawn again in each step, and their spread is part of `A` as noise is, but is not
//! taken off, since it is private. So near the minimum `η` settles where `ηK` is a part `c − 1` of
//! that spread, and not at zero.
//!
//! # Where it begins
//!
//! Unless `η_0` is given, it is such that the noise of all `T` steps moves a weight by about a
//! third of the typical norm of the best weights: `η_0 (s/b) √T = 0.36 U`, with `U = 7/B` for two
//! classes and `2.5 Y/B` for regression, for rows of norm `B` (0.6 of it, or `k`, where `k` of
//! their mean direction is kept) and labels up to `Y`. With several classes it is `6/B` for the
//! weights of each, for the declared `B`. Where the clip norm `τ = fG` is a multiple of the
//! 70th-percentile gradient norm `G`, which follows the labels' spread, so does `U = 4G/B²`
//! (`1.7G/B²` where features are standardized): the stride `η_0 τ` is then the same for every part,
//! as are the best weights. `η_0` is at most `1/μ`, and at most `8/β` for a loss of smoothness `β`:
//! with many rows and little noise it would overshoot from the first step on. Without noise, for a
//! network and for rows that nothing bounds it is the length that fixed steps would have.
//!
//! # Privacy
//!
//! `G_t` is what the event has paid for, `s` and `w_t` are public given the earlier ones: all of
//! this is post-processing.

use rayon::prelude::*;
use reticent_data::threads::shared;
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::tuning::{
    FIRST_STEEPNESS, FIRST_WANDER, STEP_GOAL, STEP_RANGE, STEP_RATE, TYPICAL_NORM_PER_GRADIENT,
    TYPICAL_NORMS,
};

/// Coordinates that a thread looks at at a time. The result is the same for any number of threads.
const CHUNK: usize = 8192;

/// `U`: the typical norm of the best weights, for rows of this norm.
pub(crate) fn typical_weights_norm(problem: &Problem, norm: f64) -> f64 {
    let [regression, two_classes, several] = TYPICAL_NORMS;
    match problem.loss.outputs() {
        _ if problem.loss.is_on_label_scale() => regression * problem.bounds.label() / norm,
        1 => two_classes / norm,
        // As measured: with shortened rows longer first strides lose (decision 0026).
        _ => several / problem.bounds.norm(),
    }
}

/// `U/τ` for a clip norm `τ` that is this multiple of the 70th-percentile gradient norm, for rows
/// of this norm.
pub(super) fn typical_per_clip(multiple: f64, norm: f64, standardized: bool) -> f64 {
    TYPICAL_NORM_PER_GRADIENT[usize::from(standardized)] / (multiple * norm * norm)
}

/// `η_0` for rows of this norm, weights of the typical norm and noise of this deviation in an
/// averaged gradient; none without noise, for a network, and where nothing bounds the rows.
pub(super) fn first_eta(
    problem: &Problem,
    norm: f64,
    typical: f64,
    noise_deviation: f64,
    steps: u64,
) -> Option<f64> {
    let eta = FIRST_WANDER * typical / (noise_deviation * (steps as f64).sqrt());
    if !eta.is_normal() {
        return None;
    }
    let eta = if problem.ridge > 0.0 { eta.min(1.0 / problem.ridge) } else { eta };
    let shorter = norm / problem.bounds.norm();
    let steepest = |beta: f64| FIRST_STEEPNESS / (beta * shorter * shorter);
    let eta = problem.regularity().smoothness.map_or(eta, |beta| eta.min(steepest(beta)));
    (problem.hidden.is_none() && eta.is_normal()).then_some(eta)
}

/// Where the step length stands. Private by what has been paid so far, as the weights are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveStep {
    /// `η` of the last step.
    pub eta: f64,
    /// `G_{t−1}`; empty before the first step.
    pub previous: Vec<f64>,
    /// `A_{t−1}`.
    pub square: f64,
    /// `|G_t|²` and `⟨G_t, G_{t−1}⟩` by chunks; empty between steps.
    #[serde(skip)]
    parts: Vec<[f64; 2]>,
}

/// The constants of all steps of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// `η_0`.
    pub(super) eta: f64,
    /// `bμ`: the ridge's share of a sum is this times the weights.
    pub(super) pull: f64,
    /// `s`; 0 if there is no noise.
    pub(super) sigma: f64,
}

impl AdaptiveStep {
    /// Before the first step.
    pub(super) fn new(eta: f64) -> Self {
        Self { eta, previous: Vec::new(), square: 0.0, parts: Vec::new() }
    }

    /// Whether a run that began with `eta` can stand here after so many steps.
    pub(super) fn belongs_to(&self, eta: f64, step: u64, dimension: usize) -> bool {
        self.eta.is_finite()
            && (eta / STEP_RANGE..=eta * STEP_RANGE).contains(&self.eta)
            && self.previous.len() == if step == 0 { 0 } else { dimension }
    }

    /// `η` of the step that `noisy` was released for, at `weights`.
    pub(super) fn next(&mut self, noisy: &[f64], weights: &[f64], context: &Context) -> f64 {
        let first = self.previous.is_empty();
        if first {
            self.previous.resize(noisy.len(), 0.0);
        }
        let [square, product] = self.advance(noisy, weights, context.pull);
        let dimension = noisy.len() as f64;
        let variance = context.sigma * context.sigma;
        let square = square - dimension * variance;
        if !first {
            let more = STEP_GOAL - 1.0;
            let z = product + more * (square + self.square) / 2.0;
            let noise = variance * (dimension * (1.0 + more * more)).sqrt();
            let scale = noise + product.abs().max(square.abs() / 2.0);
            if scale > 0.0 && scale.is_finite() && z.is_finite() {
                let eta = self.eta * (STEP_RATE * (z / scale).clamp(-1.0, 1.0)).exp();
                self.eta = eta.clamp(context.eta / STEP_RANGE, context.eta * STEP_RANGE);
            }
        }
        self.square = square;
        self.eta
    }

    /// `|G_t|²` and `⟨G_t, G_{t−1}⟩`; `G_t` takes the place of `G_{t−1}`.
    fn advance(&mut self, noisy: &[f64], weights: &[f64], pull: f64) -> [f64; 2] {
        if noisy.len() <= CHUNK {
            return part(&mut self.previous, noisy, weights, pull);
        }
        self.parts.resize(noisy.len().div_ceil(CHUNK), [0.0; 2]);
        shared(|| {
            let sums = noisy.par_chunks(CHUNK).zip(weights.par_chunks(CHUNK));
            let all = self.previous.par_chunks_mut(CHUNK).zip(sums).zip(&mut self.parts);
            all.for_each(|((previous, (noisy, weights)), sums)| {
                *sums = part(previous, noisy, weights, pull);
            });
        });
        let total = self.parts.iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        self.parts.clear(); // keeps its memory
        total
    }
}

/// [`AdaptiveStep::advance`] of a chunk, in one pass.
fn part(previous: &mut [f64], noisy: &[f64], weights: &[f64], pull: f64) -> [f64; 2] {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            // moved out: only a closure that runs once is compiled for wide registers
            let previous = previous;
            // In lanes, so that no addition waits for the one before.
            let (mut squares, mut products) = ([0.0; 16], [0.0; 16]);
            let (chunks, rest) = previous.as_chunks_mut::<16>();
            let (sums, sum) = noisy.as_chunks::<16>();
            let (places, place) = weights.as_chunks::<16>();
            for ((previous, noisy), weights) in chunks.iter_mut().zip(sums).zip(places) {
                let mut now = [0.0; 16];
                for l in 0..16 {
                    now[l] = noisy[l] + pull * weights[l];
                }
                for l in 0..16 {
                    squares[l] += now[l] * now[l];
                    products[l] += now[l] * previous[l];
                }
                *previous = now;
            }
            // The additions below are kept out of the compiler's sight: seeing them, it narrows the
            // loop above.
            let (mut squares, mut products) = std::hint::black_box((squares, products));
            for (l, previous) in rest.iter_mut().enumerate() {
                let now = sum[l] + pull * place[l];
                squares[l] += now * now;
                products[l] += now * *previous;
                *previous = now;
            }
            [squares.iter().sum(), products.iter().sum()]
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::{Purpose, Source, Stream, fast};

    fn stream(seed: u64) -> Stream {
        Source::seeded_not_private(seed).stream(Purpose::Noise)
    }

    /// Steps on `Σ h_i w_i²/2` from all ones with gradients cut to length 1; the last step length
    /// and the last weights.
    fn quadratic(first: f64, steps: u32) -> (f64, Vec<f64>) {
        let curvature: Vec<f64> = (0..20).map(|i| 1.0 - 0.03 * f64::from(i)).collect();
        let context = Context { eta: first, pull: 0.0, sigma: 0.0 };
        let mut adaptive_step = AdaptiveStep::new(first);
        let (mut w, mut gradient) = (vec![1.0; 20], vec![0.0; 20]);
        for _ in 0..steps {
            for ((g, w), h) in gradient.iter_mut().zip(&w).zip(&curvature) {
                *g = h * w;
            }
            let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            for g in &mut gradient {
                *g /= length.max(1.0);
            }
            let eta = adaptive_step.next(&gradient, &w, &context);
            for (w, g) in w.iter_mut().zip(&gradient) {
                *w -= eta * g;
            }
        }
        (adaptive_step.eta, w)
    }

    #[test]
    fn a_step_far_too_short_grows_and_one_too_long_shrinks() {
        // Near the minimum the loss falls most for a step between 1 and 1/0.43, and a step beyond
        // 2/0.43 never settles.
        let (short, w) = quadratic(0.05, 1);
        assert_eq!(short, 0.05, "the first step is as planned");
        assert!(w.iter().all(|w| *w > 0.9));
        let (short, w) = quadratic(0.05, 200);
        assert!(short > 0.4 && short <= 0.05 * STEP_RANGE, "{short}");
        assert!(w.iter().all(|w| w.abs() < 0.01), "{w:?}");
        let (long, w) = quadratic(20.0, 300);
        assert!((20.0 / STEP_RANGE..3.0).contains(&long), "{long}");
        assert!(w.iter().all(|w| w.abs() < 0.01), "{w:?}");
        // One step changes it by at most the rate, and the range is kept.
        let (two, _) = quadratic(0.05, 2);
        assert!((two / (0.05 * STEP_RATE.exp()) - 1.0).abs() < 1e-12, "{two}");
        assert_eq!(quadratic(1e-6, 400).0, STEP_RANGE * 1e-6);
        assert_eq!(quadratic(1e6, 400).0, 1e6 / STEP_RANGE);
    }

    #[test]
    fn noise_alone_has_no_trend() {
        let (dimension, sigma, steps, runs) = (50, 3.0, 300, 60);
        let context = Context { eta: 0.1, pull: 0.0, sigma };
        let mut noise = vec![0.0; dimension];
        let ends: Vec<f64> = (0..runs)
            .map(|seed| {
                let (mut stream, mut adaptive_step) = (stream(seed), AdaptiveStep::new(0.1));
                for _ in 0..steps {
                    fast::fill_standard_gaussian(&mut noise, &mut stream);
                    for z in &mut noise {
                        *z *= sigma;
                    }
                    adaptive_step.next(&noise, &[0.0; 50], &context);
                }
                (adaptive_step.eta / 0.1).ln()
            })
            .collect();
        let mean = ends.iter().sum::<f64>() / ends.len() as f64;
        let spread = (ends.iter().map(|e| e * e).sum::<f64>() / ends.len() as f64).sqrt();
        // A trend of a tenth of the rate in each step would be 0.6.
        assert!(mean.abs() < 0.12, "{mean}");
        assert!(spread > 0.01 && spread < 0.5, "it wanders: {spread}");
    }

    #[test]
    fn what_is_used_of_a_step_is_unbiased() {
        let (dimension, sigma, draws) = (40, 2.0, 40_000);
        let (pull, mut stream) = (0.5, stream(7));
        let context = Context { eta: 1.0, pull, sigma };
        let weights: Vec<f64> = (0..dimension).map(|i| f64::from(i).cos()).collect();
        let sums: [Vec<f64>; 2] =
            [0.0, 0.7].map(|at| (0..dimension).map(|i| (at + f64::from(i)).sin()).collect());
        let whole: Vec<Vec<f64>> = sums
            .iter()
            .map(|s| s.iter().zip(&weights).map(|(s, w)| s + pull * w).collect())
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut noisy = vec![0.0; dimension as usize];
        let (mut squares, mut products) = (0.0, 0.0);
        for _ in 0..draws {
            let mut adaptive_step = AdaptiveStep::new(1.0);
            for sum in &sums {
                fast::fill_standard_gaussian(&mut noisy, &mut stream);
                noisy.iter_mut().zip(sum).for_each(|(z, s)| *z = s + sigma * *z);
                let before = adaptive_step.previous.clone();
                adaptive_step.next(&noisy, &weights, &context);
                if !before.is_empty() {
                    products += dot(&before, &adaptive_step.previous);
                }
            }
            squares += adaptive_step.square;
        }
        let (square, product) = (squares / f64::from(draws), products / f64::from(draws));
        let (want, both) = (dot(&whole[1], &whole[1]), dot(&whole[0], &whole[1]));
        // Standard deviations of a draw: about 45 and 30; of the mean, 0.22 and 0.15: false alarms
        // 6e-7 and 1e-7.
        assert!((square - want).abs() < 1.1, "{square} and {want}");
        assert!((product - both).abs() < 0.8, "{product} and {both}");
    }

    #[test]
    fn one_pass_computes_both_sums_for_any_length_and_number_of_threads() {
        for len in [1_u32, 15, 16, 50, 8192, 20_003] {
            let make =
                |k: f64| -> Vec<f64> { (0..len).map(|i| (k * f64::from(i)).sin()).collect() };
            let (before, noisy, weights) = (make(1.0), make(1.3), make(0.2));
            let now: Vec<f64> = noisy.iter().zip(&weights).map(|(g, w)| g + 0.25 * w).collect();
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut adaptive_step =
                    AdaptiveStep { previous: before.clone(), ..AdaptiveStep::new(1.0) };
                let sums = pool.install(|| adaptive_step.advance(&noisy, &weights, 0.25));
                assert_eq!(adaptive_step.previous, now);
                assert!(adaptive_step.parts.is_empty());
                sums
            };
            let [square, product] = on(1);
            assert_eq!(on(3), [square, product]);
            let want: f64 = now.iter().map(|g| g * g).sum();
            assert!((square - want).abs() <= 1e-12 * want);
            let want: f64 = now.iter().zip(&before).map(|(a, b)| a * b).sum();
            assert!((product - want).abs() <= 1e-9 * square, "{product} and {want}");
        }
    }

    #[test]
    fn sums_of_nothing_and_sums_beyond_all_numbers_change_nothing() {
        let context = Context { eta: 0.1, pull: 0.0, sigma: 0.0 };
        for value in [0.0, 1e200, f64::NAN] {
            let mut adaptive_step = AdaptiveStep::new(0.1);
            for _ in 0..3 {
                assert_eq!(adaptive_step.next(&[value; 3], &[0.0; 3], &context), 0.1);
            }
        }
    }
}
