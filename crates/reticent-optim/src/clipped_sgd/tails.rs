//! The clip norm under heavy tails: Theorems I.1, J.1, K.1 and N.1, from moments that are declared.
//!
//! The rows are drawn from a law under which `E[G(x, y)^k]^{1/k} ≤ G`, `k > 1`, where `G(x, y)`
//! bounds the row's gradient. `G` and `k` are public knowledge, never measured on the table; the
//! bounds hold with probability `1 − γ` over the draw of the table. `S` is `(1 + d σ²/b²)/T`. With
//! `k = ∞` all of `1/k`, `1/(k+1)` and `1/(2k−1)` are 0.

use serde::{Deserialize, Serialize};

/// The declared moment of the gradient norms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// `G`.
    pub bound: f64,
    /// `k`; infinite if every gradient is at most `G`.
    #[serde(with = "order")]
    pub order: f64,
    /// `γ`.
    pub failure: f64,
}

impl Moment {
    /// `G γ^{−1/k}`: bounds the table's own moment with probability `1 − γ`.
    pub(crate) fn inflated(&self) -> f64 {
        self.bound * power(self.failure, -1.0 / self.order)
    }

    /// `2/(k+1)`.
    fn unconstrained_exponent(&self) -> f64 {
        2.0 / (self.order + 1.0)
    }

    /// `a = 1/(2k−1)`.
    fn nonconvex_exponent(&self) -> f64 {
        1.0 / (2.0 * self.order - 1.0)
    }

    /// I.1, a set of diameter `D_W`: `τ = G γ^{−1/k} S^{−1/(2k)}`.
    pub fn clip_constrained(&self, total: f64) -> f64 {
        self.inflated() * power(total, -0.5 / self.order)
    }

    /// I.1: `(5/2) D_W G γ^{−1/k} S^{(1−1/k)/2}`.
    pub fn bound_constrained(&self, total: f64, diameter: f64) -> f64 {
        2.5 * diameter * self.inflated() * power(total, 0.5 - 0.5 / self.order)
    }

    /// J.1, all of `R^d`: `τ = G γ^{−1/k} S^{−1/(k+1)}`.
    pub fn clip_unconstrained(&self, total: f64) -> f64 {
        self.inflated() * power(total, -1.0 / (self.order + 1.0))
    }

    /// J.1: `G γ^{−1/k} {(D₀²/C + 4C)/2 · S^{(1−2/(k+1))/2} + (D₀ + C) S^{1−2/(k+1)}}`.
    pub fn bound_unconstrained(&self, total: f64, c: f64, distance: f64) -> f64 {
        let left = 1.0 - self.unconstrained_exponent();
        let first = 0.5 * (distance * distance / c + 4.0 * c) * power(total, 0.5 * left);
        self.inflated() * (first + (distance + c) * power(total, left))
    }

    /// K.1, a loss that grows beyond a radius: `τ = G S^{−1/(2k)}`.
    pub fn clip_sharp(&self, total: f64) -> f64 {
        self.bound * power(total, -0.5 / self.order)
    }

    /// K.1: `G {(D₀²/C + 2C) S^{(1−1/k)/2} + 16 φ^{1−1/k} D}`, with probability 3/4.
    pub fn bound_sharp(&self, total: f64, phi: f64, c: f64, distance: f64, radius: f64) -> f64 {
        let left = 1.0 - 1.0 / self.order;
        let first = (distance * distance / c + 2.0 * c) * power(total, 0.5 * left);
        self.bound * (first + 16.0 * power(phi, left) * radius)
    }

    /// N.1, `L`-smooth and not convex: `τ = G (G/(γ² C sqrt(L)))^{1/(2k−1)} S^{−1/(2(2k−1))}`.
    pub fn clip_nonconvex(&self, total: f64, c: f64, smoothness: f64) -> f64 {
        let a = self.nonconvex_exponent();
        let ratio = self.bound / (self.failure * self.failure * c * smoothness.sqrt());
        self.bound * power(ratio, a) * power(total, -0.5 * a)
    }

    /// N.1: bounds `E‖∇f‖²` by `L^{(1−a)/2} G^{1+a} γ^{−2a} C^{−a} (3C + 2F₀/C) S^{(1−a)/2}`,
    /// `a = 1/(2k−1)`.
    pub fn bound_nonconvex(&self, total: f64, c: f64, smoothness: f64, gap: f64) -> f64 {
        let a = self.nonconvex_exponent();
        power(smoothness, 0.5 * (1.0 - a))
            * power(self.bound, 1.0 + a)
            * power(self.failure, -2.0 * a)
            * power(c, -a)
            * (3.0 * c + 2.0 * gap / c)
            * power(total, 0.5 * (1.0 - a))
    }

    /// I.1 with the sharp clipping bias: `τ = Ĝ A^{1/k} (T/V)^{1/(2k)}`, `A = (k−1) c_k`,
    /// `Ĝ = G γ^{−1/k}`.
    pub fn clip_constrained_tight(&self, steps: f64, second_moment: f64) -> f64 {
        self.inflated() * self.sharp_factor() * power(steps / second_moment, 0.5 / self.order)
    }

    /// I.1 with the sharp clipping bias, at `η = D_W/(τ sqrt(T V))`:
    /// `D_W Ĝ A^{1/k} (k/(k−1)) (V/T)^{(1−1/k)/2}`, where the middle factors cancel.
    pub fn bound_constrained_tight(&self, steps: f64, second_moment: f64, diameter: f64) -> f64 {
        diameter * self.inflated() * power(second_moment / steps, 0.5 - 0.5 / self.order)
    }

    /// `A^{1/k}`, `A = (k−1) c_k = ((k−1)/k)^k`.
    fn sharp_factor(&self) -> f64 {
        1.0 - 1.0 / self.order
    }
}

/// `η = C/(T τ sqrt(L) sqrt(S))`, the step of N.1.
pub fn eta_nonconvex(c: f64, steps: f64, clip: f64, smoothness: f64, total: f64) -> f64 {
    c / (steps * clip * (smoothness * total).sqrt())
}

/// Lemma F.1: clipping a vector with `E[‖v‖^p]^{1/p} ≤ M` and `P(‖v‖ ≥ τ) = P` to `τ` moves its
/// mean by at most `M P^{1−1/p} − τ P`.
pub fn clip_bias(p: f64, moment: f64, tail: f64, clip: f64) -> f64 {
    moment * power(tail, 1.0 - 1.0 / p) - clip * tail
}

/// Corollary F.2: `M^p/τ^{p−1}` whatever the tail.
pub fn clip_bias_paper(p: f64, moment: f64, clip: f64) -> f64 {
    moment * power(moment / clip, p - 1.0)
}

/// The largest value of [`clip_bias`] over the tail: `c_p M^p/τ^{p−1}`, `c_p = (p−1)^{p−1}/p^p`.
/// Two-point laws attain it.
pub fn clip_bias_sharp(p: f64, moment: f64, clip: f64) -> f64 {
    power((p - 1.0) / p, p - 1.0) / p * clip_bias_paper(p, moment, clip)
}

/// `x^p` as `exp(p ln x)`; 1 for `p = 0`, whatever `x` is.
fn power(x: f64, p: f64) -> f64 {
    if p == 0.0 { 1.0 } else { (p * x.ln()).exp() }
}

/// An order in a file: a number, or the word `infinity`.
mod order {
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(order: &f64, to: S) -> Result<S::Ok, S::Error> {
        if order.is_infinite() { to.serialize_str("infinity") } else { to.serialize_f64(*order) }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OrderForm {
            Number(f64),
            Word(String),
        }
        match OrderForm::deserialize(from)? {
            OrderForm::Number(x) => Ok(x),
            OrderForm::Word(word) if word == "infinity" => Ok(f64::INFINITY),
            OrderForm::Word(_) => Err(de::Error::custom("an order is a number or `infinity`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(order: f64) -> Moment {
        Moment { bound: 1.7, order, failure: 0.5 }
    }

    #[test]
    fn a_million_moments_are_as_good_as_all_of_them() {
        let both: Vec<Vec<f64>> = [1e6, f64::INFINITY]
            .map(|k| {
                let m = moment(k);
                vec![
                    m.clip_constrained(1e-3),
                    m.bound_constrained(1e-3, 2.0),
                    m.clip_unconstrained(1e-3),
                    m.bound_unconstrained(1e-3, 0.7, 2.0),
                    m.clip_sharp(1e-3),
                    m.bound_sharp(1e-3, 0.01, 0.7, 2.0, 3.0),
                    m.clip_nonconvex(1e-3, 0.7, 4.0),
                    m.bound_nonconvex(1e-3, 0.7, 4.0, 1.1),
                    m.clip_constrained_tight(6000.0, 1.07),
                    m.bound_constrained_tight(6000.0, 1.07, 2.0),
                ]
            })
            .to_vec();
        for (i, (a, b)) in both[0].iter().zip(&both[1]).enumerate() {
            assert!((a / b - 1.0).abs() < 1e-5, "formula {i}: {a} and {b}");
        }
    }

    #[test]
    fn the_forms_for_equal_noise_and_sampling_are_the_general_ones() {
        // T = 1/φ² makes S = 2φ².
        let (phi, c) = (0.01, 0.7);
        for k in [1.5, 2.0, 4.0] {
            let m = moment(k);
            let total = 2.0 * phi * phi;
            let clip = m.clip_unconstrained(total);
            let printed = m.inflated() * 2_f64.powf(-1.0 / (k + 1.0)) * phi.powf(-2.0 / (k + 1.0));
            assert!((clip / printed - 1.0).abs() < 1e-12, "k = {k}");
            let eta = super::super::rates::eta_general(c, 1.0 / (phi * phi), total, clip);
            assert!((eta / (c * phi / (2_f64.sqrt() * clip)) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_sharp_bias_is_the_largest_over_tails() {
        for p in [1.2, 2.0, 5.0] {
            let (m, tau) = (3.0, 4.0);
            let sharp = clip_bias_sharp(p, m, tau);
            let best = (1..=100_000)
                .map(|i| clip_bias(p, m, f64::from(i) / 100_000.0, tau))
                .fold(0.0, f64::max);
            assert!(best <= sharp * (1.0 + 1e-12) && best > sharp * 0.999, "{best} and {sharp}");
        }
    }
}
