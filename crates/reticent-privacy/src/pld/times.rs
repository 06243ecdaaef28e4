//! How often a loss is added: a fixed number of times, or a random one drawn without the data.
//!
//! # Theorem
//!
//! Draw `K` uniformly from `0..N` without looking at data, run a mechanism `K` times, adaptively,
//! and tell `K`. If `(P, Q)` dominates one run in a direction, then in that direction
//!
//! ```text
//! δ(ε) <= (1/N) Σ_{k<N} H_{e^ε}(P^k‖Q^k),
//! ```
//!
//! and this is the profile of the loss `S_K = L_1 + … + L_K` with `K` drawn first.
//!
//! *Proof.* The law of `(K, outputs)` is the same mixture over disjoint values of `K` for both data
//! sets, so a set of outcomes splits by `K` and `H_g` is the mean of the conditional ones, each at
//! most that of the `k`-fold product. The mean over `K` of `E[(1 − e^{ε−S_k})₊]` is the same
//! expectation over `S_K`. ∎ What does not tell `K` follows by post-processing. Equality holds if
//! some pair of data sets attains the product for every `k`.
//!
//! # Numerics
//!
//! If `M(θ) = e^κ` is the moment of one loss and `φ` the characteristic function of the tilted one,
//! then the moment of `S_K` is the mean of `e^{κK}`, and its tilted characteristic function
//!
//! ```text
//! E[(e^κφ)^K]/E[e^{κK}] = [(e^{Nw} − 1)/(e^w − 1)]/[(e^{Nκ} − 1)/(e^κ − 1)],   w = κ + ln φ.
//! ```
//!
//! So the mean costs one transform, as one product does. `e^w − 1 = e^κ(φ − 1) + (e^κ − 1)` is
//! formed without cancellation and `w` from it, so numerator and denominator agree where both are
//! small; both have the factor `e^{−Nκ}` taken out where that is below one. From `κ = 40` on all
//! but `K = N − 1` has less than a unit of roundoff.

use realfft::num_complex::Complex64;

/// How often a loss is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Times {
    /// This often.
    Exactly(f64),
    /// A whole number, uniform from zero and below this.
    Below(f64),
}

/// A moment from which on only the largest number counts.
const LARGE: f64 = 40.0;

impl Times {
    /// The largest number.
    pub(super) fn most(self) -> f64 {
        match self {
            Self::Exactly(times) => times,
            Self::Below(rounds) => rounds - 1.0,
        }
    }

    /// The largest sum of losses of which each is at most `one`.
    pub(super) fn largest(self, one: f64) -> f64 {
        match self {
            Self::Exactly(times) => times * one,
            Self::Below(_) => self.most() * one.max(0.0),
        }
    }

    /// The smallest sum of losses of which each is at least `one`.
    pub(super) fn smallest(self, one: f64) -> f64 {
        match self {
            Self::Exactly(times) => times * one,
            Self::Below(_) => self.most() * one.min(0.0),
        }
    }

    /// `ln E e^{κK}`, for the moment `κ` of one loss.
    pub(super) fn log_moment(self, one: f64) -> f64 {
        match self {
            Self::Exactly(times) => times * one,
            Self::Below(rounds) => log_mean_power(rounds, one),
        }
    }

    /// Mean and variance of the number under the weights `e^{κK}`; rounded, for guesses.
    pub(super) fn weighted(self, one: f64) -> (f64, f64) {
        match self {
            Self::Exactly(times) => (times, 0.0),
            Self::Below(rounds) => {
                let (n, all) = (rounds, rounds * one);
                if all.abs() < 1e-2 {
                    let variance = (n * n - 1.0) / 12.0;
                    return (0.5 * (n - 1.0) + one * variance, variance);
                }
                let tail = |x: f64| -1.0 / (-x).exp_m1();
                let spread = |x: f64| tail(x) * (tail(x) - 1.0);
                let mean = n * tail(all) - tail(one);
                let variance = spread(one) - n * n * spread(all);
                (mean.clamp(0.0, n - 1.0), variance.clamp(0.0, n * n))
            }
        }
    }

    /// The transforms of one tilted law, whose moment is `one`, become those of the sum.
    pub(super) fn raise(self, spectrum: &mut [Complex64], one: f64) {
        match self {
            Self::Exactly(times) => power(spectrum, times),
            Self::Below(rounds) if one > LARGE => power(spectrum, rounds - 1.0),
            Self::Below(rounds) => mean_power(spectrum, rounds, one),
        }
    }
}

/// `ln (1/N) Σ_{k<N} e^{κk}`.
pub(crate) fn log_mean_power(rounds: f64, one: f64) -> f64 {
    if rounds <= 1.0 || one == 0.0 {
        return 0.0;
    }
    if one > LARGE {
        return (rounds - 1.0) * one - rounds.ln() + (-one).exp();
    }
    let all = rounds * one;
    let above = if all > 50.0 { all } else { 0.0 };
    let top = if all > 50.0 { -(-all).exp_m1() } else { all.exp_m1() };
    (top / (one.exp_m1() * rounds)).ln() + above
}

/// Each entry to the power `times`.
fn power(spectrum: &mut [Complex64], times: f64) {
    if times == 1.0 {
        return;
    }
    let negligible = (-160.0 / times).exp();
    for z in spectrum {
        let square = z.norm_sqr();
        *z = if square <= negligible {
            Complex64::ZERO
        } else {
            Complex64::from_polar((0.5 * times * square.ln()).exp(), times * z.im.atan2(z.re))
        };
    }
}

/// The weighted mean of each entry's powers below `rounds`.
fn mean_power(spectrum: &mut [Complex64], rounds: f64, one: f64) {
    let (factor, less) = (one.exp(), one.exp_m1());
    let all = rounds * one;
    let scale = if all > 50.0 { all } else { 0.0 };
    let sum = |top: Complex64, below: Complex64| {
        if below == Complex64::ZERO {
            Complex64::from(rounds * (-scale).exp())
        } else {
            top / below
        }
    };
    let real = if scale > 0.0 { -(-all).exp_m1() } else { all.exp_m1() };
    let normaliser = sum(real.into(), less.into()).re;
    for z in spectrum {
        let below = (*z - 1.0) * factor + less;
        let a = rounds * 0.5 * (2.0 * below.re + below.norm_sqr()).ln_1p();
        let top = if a - scale < -80.0 {
            Complex64::from(-(-scale).exp())
        } else {
            let b = rounds * below.im.atan2(1.0 + below.re);
            if scale > 0.0 {
                Complex64::from_polar((a - scale).exp(), b) - (-scale).exp()
            } else {
                let half = (0.5 * b).sin();
                Complex64::new(a.exp_m1() * b.cos() - 2.0 * half * half, a.exp() * b.sin())
            }
        };
        *z = sum(top, below) / normaliser;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_forms_are_the_sums() {
        for rounds in [2.0, 7.0, 300.0] {
            for one in [-1e-4, 0.0, 1e-12, 1e-5, 0.02, 0.3, 5.0, 45.0] {
                let times = Times::Below(rounds);
                let weight = |k: u32| (one * (f64::from(k) - rounds + 1.0)).exp();
                let numbers = || 0..rounds as u32;
                let total: f64 = numbers().map(weight).sum();
                let log = (total / rounds).ln() + one * (rounds - 1.0);
                let got = times.log_moment(one);
                assert!((got - log).abs() <= 1e-12 * log.abs().max(1e-2), "{rounds} {one}");
                let mean = numbers().map(|k| weight(k) * f64::from(k)).sum::<f64>() / total;
                assert!((times.weighted(one).0 - mean).abs() <= 1e-3 * mean.max(1e-3));
                for (re, im) in [(1.0, 0.0), (0.999, 1e-3), (0.4, -0.5), (-0.7, 0.1), (0.0, 0.0)] {
                    let z = Complex64::new(re, im);
                    let mut found = [z];
                    times.raise(&mut found, one);
                    let (mut sum, mut run) = (Complex64::ZERO, Complex64::from(1.0));
                    for k in numbers() {
                        sum += run * weight(k);
                        run *= z;
                    }
                    assert!((found[0] - sum / total).norm() < 1e-13, "{rounds} {one} {z}");
                }
            }
        }
    }
}
