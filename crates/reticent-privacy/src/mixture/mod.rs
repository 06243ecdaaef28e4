//! Output-perturbed SGD: how often a secret index stream meets the changed row.
//!
//! # Theorem
//!
//! SGD draws secret indices and releases an average (or the last) iterate plus `N(0, σ²I)`. Couple
//! the runs on two data sets that differ in one row by the same index stream. A *hit* is a step
//! that draws that row; hits at steps `s` give the weight `A = Σ(T − s)/T`, and the two outputs
//! differ by at most `D(A) = min(drift + shift·A, cap)`, or by nothing if `A = 0`.
//!
//! *With replacement.* Let `q = 1 − (1 − 1/n)^{T−1}` be the chance of any hit. Draw indices among
//! the other rows and independent coins that overwrite them with the changed row. Given those
//! indices both laws share the component without a hit, and all centres are pairwise within `D(A)`.
//! Advanced joint convexity (Balle, Barthe, Gaboardi 2018) gives for every `ε > 0`
//!
//! ```text
//! δ(ε) <= Σ_{A>0} Pr[A]·G(D(A)/σ; ε'),     ε' = ln(1 + (e^ε − 1)/q),
//! ```
//!
//! `G` the Gaussian profile. *Permuted passes* have exactly one hit each and no common component:
//! plain joint convexity, `ε' = ε`. *The last iterate* counts hits with weight one; also `ε' = ε`.
//!
//! # Numerics
//!
//! The law of `A` is rounded up onto a grid of `1/blocks` and convolved with positive terms only;
//! what is cut off is added to `δ` in full. For more than 256 expected hits a Chernoff tail
//! replaces the convolution (layer cake).

mod masses;
mod tail;

pub use tail::{averaged_hits_quantile, averaged_hits_tail, hit_probability, hits_quantile};

use crate::{
    Hits, PrivacyError,
    error::{check, non_negative},
    gaussian,
    pair::inner_epsilon,
    scalar::{check_delta, check_epsilon},
};
use masses::{add_multiples, binomial_masses, convolve_shifted, trim};

/// Blocks of steps in which the hit weight is rounded up.
pub const BLOCKS: usize = 64;

/// Bins of the layer cake.
pub const BINS: usize = 4096;

/// The share of `δ` that a convolved law may cut off.
pub const CUT: f64 = 1e-9;

/// The share of `δ` that may lie above the last bin of a layer cake.
pub const LAYERED_CUT: f64 = 1e-6;

/// The most multiplications of a convolution, a few seconds; a finer or longer law is refused.
const MAX_WORK: f64 = 2e10;

/// A discrete upper bound on the hit weight.
#[derive(Clone, Debug, PartialEq)]
pub struct HitLaw {
    weights: Vec<(f64, f64)>,
    leftover: f64,
    amplification: f64,
}

impl HitLaw {
    /// The law for `hits`, with at most about `tail` of its mass cut off.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] for no rows or fewer than two steps.
    pub fn new(hits: Hits, tail: f64) -> Result<Self, PrivacyError> {
        match hits {
            Hits::AverageWithReplacement { rows, steps } if steps as f64 > 256.0 * rows as f64 => {
                Self::layered(rows, steps, BINS, (LAYERED_CUT / CUT) * tail)
            }
            Hits::AverageWithReplacement { rows, steps } => {
                Self::averaged(rows, steps, BLOCKS, tail)
            }
            Hits::AveragePermuted { rows, passes } => Self::permuted(rows, passes, BLOCKS, tail),
            Hits::LastWithReplacement { rows, steps } => Self::last(rows, steps, tail),
        }
    }

    /// The average of `steps` iterates, one index of `rows` each, by convolution over `blocks`.
    ///
    /// # Errors
    ///
    /// As [`HitLaw::new`], and if the blocks are too many or the hits too frequent for a
    /// convolution.
    pub fn averaged(rows: u64, steps: u64, blocks: usize, tail: f64) -> Result<Self, PrivacyError> {
        check_counts(rows, steps)?;
        let blocks = (blocks.max(1) as u64).min(steps);
        let (hits, grain) = (steps as f64 / rows as f64, blocks as f64);
        check_work(grain * grain * (hits + 1.0) * (hits / grain + 20.0))?;
        let mut law = vec![1.0];
        let mut leftover = 0.0;
        let share = tail / (2 * blocks) as f64;
        for j in 1..=blocks {
            // Steps from floor((j−1)T/J)+1 to floor(jT/J), counted from the last; the last update
            // is unused.
            let mut size = j * steps / blocks - (j - 1) * steps / blocks;
            if j == blocks {
                size -= 1;
            }
            let (kernel, cut) = binomial_masses(size as f64, 1.0 / rows as f64, share);
            leftover += cut;
            law = add_multiples(&law, &kernel, j as usize);
            leftover += trim(&mut law, share);
        }
        let grid = 1.0 / blocks as f64;
        let weights = law.iter().enumerate().skip(1).map(|(i, p)| (i as f64 * grid, *p)).collect();
        Ok(Self { weights, leftover, amplification: hit_probability(rows, steps) })
    }

    /// The same by Chernoff's tail in `bins` layers, for many hits; `cut` is what may lie above the
    /// last.
    ///
    /// # Errors
    ///
    /// As [`HitLaw::new`].
    pub fn layered(rows: u64, steps: u64, bins: usize, cut: f64) -> Result<Self, PrivacyError> {
        check_counts(rows, steps)?;
        check((1..=1 << 20).contains(&bins), "bins", "be from 1 to 2^20", bins as f64)?;
        let ratio = steps as f64 / rows as f64;
        let q = hit_probability(rows, steps);
        let top = tail::quantile(ratio, cut.clamp(1e-300, 0.5));
        let low = 0.5 * ratio;
        let width = (top - low) / bins as f64;
        let mut weights = Vec::with_capacity(bins);
        let mut above = q;
        for k in 1..=bins {
            let x = low + width * k as f64;
            let next = tail::tail(x, ratio).min(q).min(above);
            weights.push((x, above - next));
            above = next;
        }
        Ok(Self { weights, leftover: above, amplification: q })
    }

    /// The average over `passes` freshly permuted passes.
    ///
    /// # Errors
    ///
    /// As [`HitLaw::new`], and if the blocks or passes are too many for a convolution.
    pub fn permuted(
        rows: u64,
        passes: u64,
        blocks: usize,
        tail: f64,
    ) -> Result<Self, PrivacyError> {
        let steps = passes.saturating_mul(rows);
        check_counts(rows, steps)?;
        check(steps < u64::MAX, "passes", "make fewer than 2^64 steps", passes as f64)?;
        let blocks = blocks.max(1) as u64;
        let (hits, grain) = (passes as f64, blocks as f64);
        check_work(hits * grain * (0.5 * hits + 1.0) * (grain / hits + 2.0))?;
        let mut law = vec![1.0];
        let mut leftover = 0.0;
        for pass in 0..passes {
            // T − s runs over remaining..remaining+n−1 with equal chances; weights ⌈(T−s)J/T⌉/J.
            let remaining = u128::from(steps - (pass + 1) * rows);
            let last = remaining + u128::from(rows) - 1;
            let level = |r: u128| (r * u128::from(blocks)).div_ceil(u128::from(steps));
            let (from, to) = (level(remaining), level(last));
            // Level j holds the r with (j−1)T/J < r <= jT/J.
            let upto = |j: u128| (j * u128::from(steps) / u128::from(blocks)).min(last);
            let kernel: Vec<f64> = (from..=to)
                .map(|j| {
                    let high = upto(j);
                    let low = if j == from { remaining } else { upto(j - 1) + 1 };
                    (high + 1).saturating_sub(low) as f64 / rows as f64
                })
                .collect();
            law = convolve_shifted(&law, &kernel, from as usize);
            leftover += trim(&mut law, tail / passes as f64);
        }
        let grid = 1.0 / blocks as f64;
        let weights = law.iter().enumerate().skip(1).map(|(i, p)| (i as f64 * grid, *p)).collect();
        Ok(Self { weights, leftover, amplification: 1.0 })
    }

    /// The last iterate after `steps` updates: the number of hits is binomial.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] for no rows or no steps.
    pub fn last(rows: u64, steps: u64, tail: f64) -> Result<Self, PrivacyError> {
        check(rows >= 1, "rows", "be at least 1", rows as f64)?;
        check(steps >= 1, "steps", "be at least 1", steps as f64)?;
        check_work(2e3 * steps as f64 / rows as f64)?;
        let (masses, leftover) = binomial_masses(steps as f64, 1.0 / rows as f64, tail);
        let weights = masses.iter().enumerate().skip(1).map(|(k, p)| (k as f64, *p)).collect();
        Ok(Self { weights, leftover, amplification: 1.0 })
    }

    /// An upper bound on `δ(epsilon)` for the moves `min(drift + shift·A, cap)` in standard
    /// deviations.
    pub fn delta_upper(&self, epsilon: f64, shift: f64, drift: f64, cap: Option<f64>) -> f64 {
        let inner = if self.amplification < 1.0 {
            inner_epsilon(epsilon, self.amplification)
        } else {
            epsilon
        };
        let (mut sum, mut moves) = (self.leftover, false);
        // Small terms first.
        for (weight, probability) in self.weights.iter().rev() {
            if *probability > 0.0 {
                let mu = (drift + shift * weight).min(cap.unwrap_or(f64::INFINITY));
                sum += probability * gaussian::delta_upper(inner, mu);
                moves |= mu > 0.0;
            }
        }
        // A small chance of next to nothing is not nothing, though the product may round to it.
        let least = if moves && epsilon < f64::INFINITY { f64::MIN_POSITIVE } else { 0.0 };
        (sum * (1.0 + 1e-13)).min(1.0).max(least)
    }

    /// The smallest standard deviation that meets the budget, rounded up; `shift`, `drift` and
    /// `cap` are lengths.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Unreachable`] if `delta` is below what was cut off, or zero;
    /// [`PrivacyError::OutOfRange`] for an illegal budget or length.
    pub fn sigma_upper(
        &self,
        epsilon: f64,
        delta: f64,
        shift: f64,
        drift: f64,
        cap: Option<f64>,
    ) -> Result<f64, PrivacyError> {
        self.sigma_within(epsilon, delta, shift, drift, cap, 1e-11)
    }

    /// [`HitLaw::sigma_upper`] that may be larger than the smallest by the relative `tolerance`,
    /// for quick searches.
    ///
    /// # Errors
    ///
    /// As [`HitLaw::sigma_upper`].
    pub fn sigma_within(
        &self,
        epsilon: f64,
        delta: f64,
        shift: f64,
        drift: f64,
        cap: Option<f64>,
        tolerance: f64,
    ) -> Result<f64, PrivacyError> {
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        non_negative("shift", shift)?;
        non_negative("drift", drift)?;
        cap.map_or(Ok(()), |cap| non_negative("cap", cap))?;
        if delta <= self.leftover * (1.0 + 1e-12) {
            return Err(PrivacyError::Unreachable {
                name: "sigma",
                reason: "Gaussian noise cannot give delta = 0".to_owned(),
            });
        }
        let ok = |log_sigma: f64| {
            let s = log_sigma.exp();
            self.delta_upper(epsilon, shift / s, drift / s, cap.map(|c| c / s)) <= delta
        };
        let scale = (shift + drift).min(cap.unwrap_or(f64::INFINITY));
        // Hits rarer than `delta`, or of no length, need no noise.
        if scale <= 0.0 || self.delta_upper(epsilon, f64::INFINITY, 0.0, None) <= delta {
            return Ok(0.0);
        }
        let mut high = scale.ln();
        while !ok(high) {
            high += 1.0;
            if high > 1500.0 {
                return Err(PrivacyError::Unreachable {
                    name: "sigma",
                    reason: "no noise reaches the budget".to_owned(),
                });
            }
        }
        let mut low = high - 1.0;
        while ok(low) && low > -1500.0 {
            high = low;
            low -= 1.0;
        }
        let (mut bad, mut good) = (low, high);
        while good - bad > tolerance.max(1e-11) {
            let middle = 0.5 * (bad + good);
            if ok(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(good.exp() * (1.0 + 1e-14))
    }
}

fn check_work(work: f64) -> Result<(), PrivacyError> {
    check(work <= MAX_WORK, "steps", "ask for at most 2e10 multiplications", work)
}

fn check_counts(rows: u64, steps: u64) -> Result<(), PrivacyError> {
    check(rows >= 1, "rows", "be at least 1", rows as f64)?;
    check(steps >= 2, "steps", "be at least 2", steps as f64)
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for v in load("holder-sgd").into_iter().chain(load("random-features")) {
            let cap = v.inputs.get("cap").and_then(serde_json::Value::as_f64);
            let got = match v.formula.as_str() {
                "hit_prob" => hit_probability(v.number("n") as u64, v.number("T") as u64),
                "avg_hits_tail" => averaged_hits_tail(v.number("x"), v.number("ratio")).unwrap(),
                "avg_hits_quantile" => {
                    averaged_hits_quantile(v.number("ratio"), v.number("gamma")).unwrap()
                }
                "sigma_output_tight" | "sigma_output_layered" | "sigma_output_permuted" => {
                    let (n, delta) = (v.number("n") as u64, v.number("delta"));
                    let law = match v.formula.as_str() {
                        "sigma_output_tight" => {
                            let blocks = v.number("J") as usize;
                            HitLaw::averaged(n, v.number("T") as u64, blocks, CUT * delta)
                        }
                        "sigma_output_layered" => {
                            let bins = v.number("bins") as usize;
                            HitLaw::layered(n, v.number("T") as u64, bins, LAYERED_CUT * delta)
                        }
                        _ => {
                            let blocks = v.number("J") as usize;
                            HitLaw::permuted(n, v.number("epochs") as u64, blocks, CUT * delta)
                        }
                    };
                    let (h, drift) = (v.number("h"), v.number("omega_aT"));
                    law.unwrap().sigma_upper(v.number("eps"), delta, h, drift, cap).unwrap()
                }
                "rf_mixture_delta" => {
                    let law = HitLaw::last(v.number("n") as u64, v.number("T") as u64, 1e-40);
                    let shift = v.number("step") / v.number("sigma");
                    law.unwrap().delta_upper(v.number("eps"), shift, 0.0, None)
                }
                "rf_sigma_mixture" => {
                    let law = HitLaw::last(v.number("n") as u64, v.number("T") as u64, 1e-40);
                    let (eps, delta) = (v.number("eps"), v.number("delta"));
                    law.unwrap().sigma_upper(eps, delta, v.number("step"), 0.0, None).unwrap()
                }
                _ => continue,
            };
            assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
            seen += 1;
        }
        assert_eq!(seen, 27);
    }

    #[test]
    fn finer_blocks_never_need_more_noise() {
        let sigma = |blocks| {
            let law = HitLaw::averaged(500, 700, blocks, 1e-16).unwrap();
            law.sigma_upper(1.0, 1e-6, 1.0, 0.0, None).unwrap()
        };
        let sigmas: Vec<f64> = [4, 16, 64, 256].map(sigma).to_vec();
        assert!(sigmas.windows(2).all(|w| w[1] < w[0]), "{sigmas:?}");
    }

    #[test]
    fn one_update_is_one_sampled_gaussian() {
        // T = 2: one update with weight 1/2, hit with chance 1/n.
        let law = HitLaw::averaged(40, 2, 64, 1e-30).unwrap();
        let got = law.delta_upper(0.7, 3.0, 0.0, None);
        let want = gaussian::delta(inner_epsilon(0.7, 1.0 / 40.0), 1.5) / 40.0;
        assert!((got / want - 1.0).abs() < 1e-9, "{got:e} {want:e}");
    }

    #[test]
    fn rare_hits_need_no_noise_and_absurd_laws_are_refused() {
        let law = HitLaw::averaged(1000, 2, 64, 1e-12).unwrap();
        assert_eq!(law.sigma_upper(1.0, 0.01, 1.0, 0.0, None).unwrap(), 0.0);
        assert!(law.sigma_upper(1.0, 1e-6, f64::INFINITY, 0.0, None).is_err());
        assert!(law.sigma_upper(1.0, 1e-6, 1.0, -1.0, None).is_err());
        assert!(HitLaw::averaged(1, 1 << 50, 64, 1e-15).is_err());
        assert!(HitLaw::averaged(1000, 1 << 50, 1 << 40, 1e-15).is_err());
        assert!(HitLaw::layered(1000, 1000, 1 << 40, 1e-12).is_err());
        assert!(HitLaw::permuted(1 << 40, 1 << 40, 64, 1e-15).is_err());
        assert!(HitLaw::permuted(1000, 1 << 30, 64, 1e-15).is_err());
        assert!(HitLaw::last(1, 1 << 50, 1e-15).is_err());
    }
}
