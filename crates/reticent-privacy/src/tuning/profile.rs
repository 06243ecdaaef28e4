//! The cost of a choice by profiles: no Rényi curve is needed, and far less is lost.
//!
//! # Theorem
//!
//! Draw `K` from the truncated negative binomial law with `η > −1`, `0 < γ < 1`, run a base release
//! `K` times and publish the run with the best score, which is part of a run's output or a public
//! function of it; ties go to the first. Let `δ₀` bound the base's profile in both directions, and
//! let `e₀ >= 0` satisfy
//!
//! ```text
//! (1 − γ)·δ₀(e₀) <= γ·(e^{e₀} − 1).
//! ```
//!
//! Then for every `ε >= s`, `s = (1 + η)e₀`, in both directions
//!
//! ```text
//! δ(ε) <= E K · δ₀(ε − s).
//! ```
//!
//! *Proof.* Append to each run's output a number `U`, uniform on `[0, 1]` and independent of
//! everything. It changes no profile of the base. Runs are identically distributed given `K`, so
//! the first of those that tie and the one with the largest `U` among them have the same law, and
//! outputs `y` may be ordered by score, then by `U`: a total preorder whose levels have
//! probability zero. Let `P` and `Q` be the laws of one run on two neighbouring data sets. All
//! others of `k` runs lie below `y` with probability `F_P(y)^{k−1}`, so the published output has
//! the law
//!
//! ```text
//! Σ_k P(K = k)·k·F_P(y)^{k−1} P(dy) = f′(F_P(y)) P(dy),      f(x) = E x^K,
//! ```
//!
//! and the same with `Q`. For this law `f′(x) = E K·(γ/(1 − (1 − γ)x))^{1+η}`, which increases and
//! is `E K` at one. With `G = 1 − F`, the probability of the event "above `y`",
//!
//! ```text
//! (f′(F_P)/f′(F_Q))^{1/(1+η)} = (γ + (1 − γ)G_Q)/(γ + (1 − γ)G_P) <= e^{e₀},
//! ```
//!
//! because `G_Q <= e^{e₀}G_P + δ₀(e₀)` by the profile, and then the numerator is at most
//! `e^{e₀}(γ + (1 − γ)G_P) − γ(e^{e₀} − 1) + (1 − γ)δ₀(e₀)`. So with `p`, `q` the densities of `P`
//! and `Q`, `f′(F_Q) >= e^{−s}f′(F_P)` and
//!
//! ```text
//! ∫ (f′(F_P)p − e^ε f′(F_Q)q)₊ <= ∫ f′(F_P)(p − e^{ε−s}q)₊ <= E K·H_{e^{ε−s}}(P‖Q).
//! ```
//!
//! `P` and `Q` may be exchanged. ∎
//!
//! Settings drawn from a list are part of a run: its profile is the mean of theirs, at most the
//! largest. `e₀` is the exact supremum of the ratio for the best trade-off curve with this profile,
//! and a pure base costs `(2 + η)ε` again.
//!
//! The reduction to a function of the profile follows Koskela, Redberg, Wang, "Privacy profiles for
//! private selection" (ICML 2024); the constants are derived here.
//!
//! # The numbers
//!
//! `e₀` may be any number that satisfies the condition. Both sides are linear or convex in `e^ε`,
//! so between two points the chord of a bound on `δ₀` is a bound, and where the chord meets the
//! right side the condition holds.

use super::{tnb_mean, up};
use crate::{PrivacyError, Trials, gaussian, scalar::check_epsilon};

/// Points between which chords are drawn.
const POINTS: u32 = 32;

/// How often the points are drawn closer.
const ROUNDS: u32 = 2;

/// The range in which `e₀` is sought.
const RANGE: (f64, f64) = (1e-6, 512.0);

/// The cost that a choice among runs adds to a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    /// `E K`, rounded up.
    pub(crate) mean: f64,
    /// `(1 + η)e₀`, rounded up.
    pub(crate) shift: f64,
}

impl Shift {
    /// For a base whose profile `deltas` bounds at several `ε`, which ascend; none for another law,
    /// or where no `e₀` is found.
    pub(crate) fn of(
        trials: Trials,
        deltas: impl Fn(&[f64]) -> Result<Vec<f64>, PrivacyError>,
    ) -> Result<Option<Self>, PrivacyError> {
        let Trials::TruncatedNegativeBinomial { eta, gamma } = trials else { return Ok(None) };
        let mean = up(tnb_mean(gamma, eta)?).max(1.0);
        // At most zero where the condition holds.
        let excess = |e: f64, delta: f64| (1.0 - gamma) * delta - gamma * e.exp_m1();
        let holds = |e: f64| Ok(excess(e, deltas(&[e])?[0]) <= 0.0);
        let mut high = 0.25;
        if holds(high)? {
            while high > RANGE.0 && holds(0.5 * high)? {
                high *= 0.5;
            }
        } else {
            while !holds(high)? {
                high *= 2.0;
                if high > RANGE.1 {
                    return Ok(None);
                }
            }
        }
        let (mut low, mut least) = (0.5 * high, high);
        for _ in 0..ROUNDS {
            let place = |i: u32| low + (high - low) * f64::from(i) / f64::from(POINTS);
            let points: Vec<f64> = (0..=POINTS).map(place).collect();
            let values = deltas(&points)?;
            let found: Vec<_> =
                points.iter().zip(values).map(|(e, d)| (*e, excess(*e, d))).collect();
            let Some(w) = found.windows(2).find(|w| w[0].1 > 0.0 && w[1].1 <= 0.0) else { break };
            let share = w[0].1 / (w[0].1 - w[1].1);
            let meet = w[0].0 + (share * (w[1].0 - w[0].0).exp_m1()).ln_1p();
            (low, high, least) = (w[0].0, w[1].0, least.min(meet));
        }
        Ok(Some(Self { mean, shift: up((1.0 + eta) * up(least)) }))
    }

    /// The `ε` of the base at which `δ₀` counts; none where the bound says nothing.
    pub(crate) fn base(&self, epsilon: f64) -> Option<f64> {
        let base = (epsilon - self.shift) * (1.0 - 1e-15);
        (base >= 0.0).then_some(base)
    }

    /// `E K·δ₀`.
    pub(crate) fn delta(&self, base: f64) -> f64 {
        up(self.mean * base)
    }

    /// The `δ₀` that `delta` leaves to the base.
    pub(crate) fn base_delta(&self, delta: f64) -> f64 {
        delta / self.mean * (1.0 - 1e-15)
    }

    /// The `ε` of the choice.
    pub(crate) fn epsilon(&self, base: f64) -> f64 {
        up(base + self.shift)
    }
}

/// `δ` at `epsilon` of a choice among runs that are each `mu`-GDP.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn tuning_delta_gdp(epsilon: f64, mu: f64, gamma: f64, eta: f64) -> Result<f64, PrivacyError> {
    check_epsilon(epsilon)?;
    crate::error::positive("mu", mu)?;
    let trials = Trials::TruncatedNegativeBinomial { eta, gamma };
    let profile = |e: &[f64]| Ok(e.iter().map(|&e| gaussian::delta_upper(e, mu)).collect());
    let bound = Shift::of(trials, profile)?
        .and_then(|shift| Some(shift.delta(gaussian::delta_upper(shift.base(epsilon)?, mu))));
    Ok(bound.unwrap_or(1.0).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::tnb_pmf;
    use super::*;

    /// A pair of laws on a fine grid: outcomes in the order of their scores, with masses.
    struct Game {
        masses: Vec<(f64, f64)>,
    }

    impl Game {
        /// Outcomes ordered by `score`, in both directions.
        fn new(law: &[(f64, f64)], score: impl Fn(usize) -> f64) -> Vec<Self> {
            let mut order: Vec<usize> = (0..law.len()).collect();
            order.sort_by(|&a, &b| score(a).total_cmp(&score(b)));
            let masses: Vec<_> = order.iter().map(|&i| law[i]).collect();
            let swapped = masses.iter().map(|&(p, q)| (q, p)).collect();
            vec![Self { masses }, Self { masses: swapped }]
        }

        /// The exact laws of the published outcome: `K` is enumerated, and of those that share the
        /// best score, `ties` neighbours in the order, the first run is published.
        fn published(&self, numbers: &[f64], ties: usize) -> Self {
            let laws = [|m: &(f64, f64)| m.0, |m: &(f64, f64)| m.1].map(|mass| {
                let (mut below, mut law) = (0.0_f64, Vec::new());
                for chunk in self.masses.chunks(ties) {
                    let level: f64 = chunk.iter().map(mass).sum();
                    // The best score is this level's: all runs at or below it, not all below.
                    let (mut best, mut here, mut less) = (0.0, 1.0, 1.0);
                    for weight in numbers {
                        here *= below + level;
                        less *= below;
                        best += weight * (here - less);
                    }
                    below += level;
                    law.extend(chunk.iter().map(|m| best * mass(m) / level));
                }
                law
            });
            Self { masses: laws[0].iter().copied().zip(laws[1].iter().copied()).collect() }
        }

        fn delta(&self, epsilon: f64) -> f64 {
            self.masses.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
        }
    }

    fn gaussian(mu: f64) -> Vec<(f64, f64)> {
        let density = |x: f64, m: f64| (-0.5 * (x - m) * (x - m)).exp();
        let points = (-120..120).map(|i| 0.1 * f64::from(i));
        let law: Vec<_> = points.map(|x| (density(x, mu), density(x, 0.0))).collect();
        let sums = law.iter().fold((0.0, 0.0), |s, m| (s.0 + m.0, s.1 + m.1));
        law.into_iter().map(|(p, q)| (p / sums.0, q / sums.1)).collect()
    }

    /// Randomised response.
    const RESPONSE: [(f64, f64); 2] = [(0.7, 0.3), (0.3, 0.7)];

    fn numbers(gamma: f64, eta: f64) -> Vec<f64> {
        let masses = (1..4000).map(|k| tnb_pmf(gamma, eta, k).unwrap());
        masses.take_while(|mass| *mass > 1e-16).collect()
    }

    /// Every number of runs, exactly, for scores that follow the loss, oppose it, ignore it or tie.
    #[test]
    fn the_exact_profile_of_the_best_run_is_below_the_bound_and_comes_near() {
        let mut nearest: f64 = 0.0;
        for (gamma, eta) in [(0.3, 0.0), (0.02, 0.0), (0.2, 1.0), (0.3, -0.5)] {
            let trials = Trials::TruncatedNegativeBinomial { eta, gamma };
            let numbers = numbers(gamma, eta);
            for law in [gaussian(0.2), gaussian(1.0), RESPONSE.to_vec()] {
                let mut games = Game::new(&law, |i| i as f64);
                games.extend(Game::new(&law, |i| -(i as f64)));
                games.extend(Game::new(&law, |i| ((i * 7919) % 240) as f64));
                for game in games {
                    let swapped = game.masses.iter().map(|m| (m.1, m.0)).collect();
                    let back = Game { masses: swapped };
                    let both = |e: f64| game.delta(e).max(back.delta(e));
                    let deltas = |e: &[f64]| Ok(e.iter().map(|&e| both(e)).collect());
                    let shift = Shift::of(trials, deltas).unwrap().unwrap();
                    for ties in [1, 8, 240] {
                        let best = game.published(&numbers, ties);
                        for epsilon in [0.1, 0.4, 1.0, 2.0, 4.0] {
                            let exact = best.delta(epsilon);
                            let bound = shift.base(epsilon).map_or(1.0, |e| shift.delta(both(e)));
                            assert!(
                                exact <= bound * (1.0 + 1e-9) + 1e-13,
                                "{gamma} {eta} {ties} {epsilon}: {exact:e} > {bound:e}"
                            );
                            if exact > 1e-9 {
                                nearest = nearest.max(exact / bound);
                            }
                        }
                    }
                }
            }
        }
        // A bound that were far too large would be noticed.
        assert!(nearest > 0.3, "{nearest}");
    }

    /// The bound without the shift is false: nobody answers yes in all of many runs.
    #[test]
    fn without_the_shift_the_bound_is_broken() {
        let epsilon = (0.7_f64 / 0.3).ln() + 0.01;
        let games = Game::new(&RESPONSE, |i| i as f64);
        assert!(games.iter().all(|game| game.delta(epsilon) == 0.0));
        let numbers = numbers(0.02, 0.0);
        assert!(games.iter().any(|game| game.published(&numbers, 1).delta(epsilon) > 0.01));
    }
}
