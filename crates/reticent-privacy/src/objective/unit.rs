//! The linear term where a record is a unit of several rows: a bound that does not grow with their
//! number.
//!
//! # Theorem
//!
//! Let a record's gradient be `Σ cᵢ uᵢ` at every output, with `cᵢ ≥ 0`, `Σ cᵢ ≤ 1`, `‖uᵢ‖ ≤ L`, and
//! `uᵢ` in a fixed subspace `Uᵢ` of at most `k` dimensions (the row's direction; for softmax its
//! `K − 1` directions). Neighbours differ by one record that is replaced (`μ = 2L/σ₁`) or that
//! counts or does not (`μ = L/σ₁`). With `κ = E χ_k = √2 Γ((k+1)/2)/Γ(k/2)`, or half of that where
//! `k = 1` and each row's slope has one sign, `e = ε − ε_det` and `G` the Gaussian profile,
//!
//! ```text
//! δ(ε) ≤ G(e − κμ; √(μ² + mu2²)) + ½ G(e − κμ − μ²/2; mu2)
//! ```
//!
//! # Proof
//!
//! *The loss.* Let `P` be the law of the output on the one table, `Q` on the other, and `b` the
//! linear term that leads to an output on the first: under `P` it is `σ₁ g` with `g ~ N(0, I)`. The
//! loss `ln dP/dQ` there is at most `ε_det + X`, `X = ⟨g, v⟩ + ‖v‖²/2`, `v` the difference of the
//! records' gradients over `σ₁` (head of the module above). `v` depends on the output and so on
//! `g`; but whatever it is, `v = Σ cᵢ uᵢ − Σ c'ⱼ u'ⱼ` over `σ₁`, so `‖v‖ ≤ μ`, and
//! `⟨g, v⟩ ≤ W(g)`,
//!
//! ```text
//! W(g) = Σ cᵢ sup ⟨g, uᵢ/σ₁⟩ + Σ c'ⱼ sup ⟨g, −u'ⱼ/σ₁⟩
//! ```
//!
//! each supremum over all values of `uᵢ` that the row allows: a ball of radius `L` in `Uᵢ`, or the
//! segment from 0 to one of its ends where the slope has one sign. The rows, and so the sets, do
//! not depend on `g`. Hence the loss is at most `ε_det + W(g) + μ²/2`.
//!
//! *`W`.* It is a supremum of linear functions of norm at most `(Σ cᵢ + Σ c'ⱼ)L/σ₁ ≤ μ`: convex,
//! and `μ`-Lipschitz. A term's mean is at most `(L/σ₁) E‖Πg‖ ≤ (L/σ₁)κ` for the projection `Π` onto
//! `Uᵢ`, and `(L/σ₁) E max(0, g₁)`, half of it, for a segment. So `E W ≤ κμ`.
//!
//! *Concentration.* Let `M` be the median of `W(g)`. `M ≤ E W`: sets `{W ≤ t}` are convex, so by
//! Ehrhard's inequality `t ↦ Φ⁻¹(Pr(W ≤ t))` is concave; `W` has the law of `ψ(Z)` with `ψ` convex,
//! `Z ~ N(0, 1)`, and `E ψ(Z) ≥ ψ(0) = M` (Ehrhard, Math. Scand. 53, 1983; Kwapień, 1994). By the
//! isoperimetric inequality `Pr(W > M + μt) ≤ Φ(−t)` for `t ≥ 0` (Borell, Invent. Math. 30, 1975;
//! Sudakov and Tsirelson, 1974). So `Pr(W > x) ≤ Pr(κμ + μ max(0, Z) > x)` for every `x`.
//!
//! *The profile.* `δ(ε) = E_P (1 − e^{ε − loss})₊`, the expectation under the law for which the
//! loss was bounded, of a function that grows with the loss: a larger loss in its place, and then
//! one that is stochastically larger, gives no less. With output noise the second release costs,
//! given the output, at most `G(ε − loss; mu2)`, which grows with the loss too. So with
//! `h(z) = G(e − κμ − μ²/2 − μz; mu2)`, `δ(ε) ≤ E h(max(0, Z)) ≤ E h(Z) + ½ h(0)`, because
//! `h(max(0, z)) − h(z) ≤ h(0)` where `z < 0`. The first is the profile of two Gaussian releases,
//! one of loss `N(κμ + μ²/2, μ²)` in place of `N(μ²/2, μ²)`. ∎
//!
//! *Rényi.* `E_P e^{(α−1) loss}` grows with the loss too, and
//! `E e^{t max(0, Z)} = ½ + e^{t²/2} Φ(t)`.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use reticent_math::{ln_gamma, log_add, log_ndtr};

use crate::gaussian;

/// `κ`, from above.
pub(super) fn mean(directions: u32, monotone: bool) -> f64 {
    let k = f64::from(directions.max(1));
    // The difference of large logarithms loses digits: beyond a hundred directions the series,
    // whose next term is negative: κ² = k − 1/2 + 1/(8k) + 1/(16k²) − 5/(128k³) − ...
    let norm = if k > 100.0 {
        (k - 0.5 + 0.125 / k + 0.0625 / (k * k)).sqrt()
    } else {
        (ln_gamma(0.5 * (k + 1.0)) - ln_gamma(0.5 * k)).exp() / FRAC_1_SQRT_2
    };
    match (directions, monotone) {
        (1, true) => 0.5 * (2.0 / PI).sqrt() * (1.0 + 1e-15),
        (1, false) => (2.0 / PI).sqrt() * (1.0 + 1e-15),
        _ => norm.min(k.sqrt()) * (1.0 + 1e-12),
    }
}

/// The theorem's bound on `δ` at `e = ε − ε_det`, from above.
pub(super) fn delta_upper(e: f64, mu: f64, mu2: f64, mean: f64) -> f64 {
    // A hair below, for the rounding of the differences.
    let left = |shift: f64| e - shift - 1e-15 * (e.abs() + shift);
    let (near, far) = (left(mean * mu), left(0.5f64.mul_add(mu, mean) * mu));
    gaussian::delta_upper(near, mu.hypot(mu2)) + 0.5 * gaussian::delta_upper(far, mu2)
}

/// The theorem's bound on the Rényi divergence of this order, without `ε_det` and output noise.
pub(super) fn rdp(order: f64, mu: f64, mean: f64) -> f64 {
    let t = (order - 1.0) * mu;
    let moment = log_add(-LN_2, 0.5 * t * t + log_ndtr(t));
    0.5f64.mul_add(mu, mean) * mu + moment / (order - 1.0)
}

#[cfg(test)]
mod tests {
    use reticent_math::quadrature::{edges, log_integral};
    use reticent_math::{ndtr, normal_pdf};

    use super::*;
    use crate::objective::chi_delta;

    /// `E h(max(0, Z))` by quadrature.
    fn exact(e: f64, mu: f64, mu2: f64, mean: f64) -> f64 {
        let h = |z: f64| gaussian::delta(e - mean * mu - 0.5 * mu * mu - mu * z, mu2);
        let panels = edges(0.0, 40.0, 0.25, Some((e / mu - mean - 0.5 * mu).max(0.0)));
        0.5 * h(0.0) + log_integral(&panels, |z| h(z).ln() + normal_pdf(z).ln()).exp()
    }

    #[test]
    fn the_closed_form_is_above_the_integral_and_close() {
        for mu in [0.05, 0.3, 1.0, 4.0] {
            for share in [0.0, 0.1, 1.0] {
                for mean in [mean(1, true), mean(1, false), mean(9, false)] {
                    for e in [0.01, 0.3, 1.0, 4.0, 12.0] {
                        let (mu2, above) = (share * mu, mean * mu + 0.5 * mu * mu);
                        let (bound, want) =
                            (delta_upper(e, mu, mu2, mean), exact(e, mu, mu2, mean));
                        let case = format!("{mu} {mu2} {mean} {e}: {bound:e} {want:e}");
                        assert!(bound >= want * (1.0 - 1e-9), "{case}");
                        // The last term counts where little was left of epsilon to begin with.
                        let far = e > above + 6.0 * mu2 && want > 1e-280;
                        assert!(!far || bound <= want * (1.0 + 1e-6), "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn kappa_is_the_mean_of_a_chi_law() {
        for (k, want) in
            [(1, 0.797_884_560_802_865_4), (2, 1.253_314_137_315_500_3), (3, 1.595_769_121_605_731)]
        {
            let got = mean(k, false);
            assert!((want..want * (1.0 + 1e-11)).contains(&got), "{k}: {got}");
        }
        assert!((mean(1, true) - 0.398_942_280_401_432_7).abs() < 1e-14);
    }

    /// Normal deviates, the same ones always.
    struct Normals(u64);

    impl Normals {
        fn next(&mut self) -> f64 {
            let mut uniform = || {
                self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
            };
            let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), 2.0 * PI * uniform());
            radius * angle.cos()
        }
    }

    /// More than an adversary who sees `b` itself and picks every slope could make of it, sampled.
    #[test]
    fn no_choice_of_slopes_exceeds_the_bound_and_equal_rows_come_close() {
        const DRAWS: usize = 40_000;
        let mut normals = Normals(7);
        let (mut closest, mut cases) = (0.0_f64, 0);
        for (m, d, equal) in
            [(1, 1, true), (3, 3, false), (8, 8, false), (8, 2, false), (6, 1, true)]
        {
            for monotone in [false, true] {
                for mu in [0.4, 1.5] {
                    // Rows of the unit before and of that after, each half of the norm mu.
                    let rows: Vec<Vec<f64>> = (0..2 * m)
                        .map(|i| {
                            let x: Vec<f64> = (0..d)
                                .map(|j| match (equal, m == d) {
                                    (true, _) => 1.0,
                                    (_, true) => f64::from(u8::from(i % m == j)),
                                    _ => normals.next(),
                                })
                                .collect();
                            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                            x.iter().map(|x| 0.5 * mu * x / norm).collect()
                        })
                        .collect();
                    let losses: Vec<f64> = (0..DRAWS)
                        .map(|_| {
                            let g: Vec<f64> = (0..d).map(|_| normals.next()).collect();
                            // Each row at its better end, and the longest difference besides.
                            let best = |x: &Vec<f64>| {
                                let dot: f64 = x.iter().zip(&g).map(|(x, g)| x * g).sum();
                                (if monotone { dot.max(0.0) } else { dot.abs() }) / f64::from(m)
                            };
                            rows.iter().map(best).sum::<f64>() + 0.5 * mu * mu
                        })
                        .collect();
                    for e in [0.5 * mu, mu, 2.0 * mu + 0.5 * mu * mu] {
                        let values = losses.iter().map(|x| (-(e - x).exp_m1()).max(0.0));
                        let found = values.sum::<f64>() / DRAWS as f64;
                        let bound = delta_upper(e, mu, 0.0, mean(1, monotone));
                        // Values are in [0, 1]: five deviations of their mean.
                        let chance = 5.0 * (found / DRAWS as f64).sqrt() + 10.0 / DRAWS as f64;
                        assert!(found <= bound + chance, "{m} {d} {mu} {e}: {found} {bound}");
                        closest = closest.max(found / bound);
                        cases += 1;
                    }
                }
            }
        }
        assert!(closest > 0.4 && cases == 60, "far below the bound everywhere: {closest}");
    }

    #[test]
    fn more_rows_cost_nothing_more_and_the_chi_law_costs_more() {
        let (e, mu) = (1.0, 0.15);
        let ours = delta_upper(e, mu, 0.0, mean(1, false));
        assert!(ours < 1e-3 * chi_delta(e, mu, 16.0, 0.0));
        // Above the profile of one direction, as it has to be.
        let one = 2.0 * (ndtr(0.5 * mu - e / mu) - (e + log_ndtr(-0.5 * mu - e / mu)).exp());
        assert!(ours > one);
        // The divergence is at least that of one Gaussian release, and grows with the order.
        let curve: Vec<f64> =
            [1.5, 2.0, 8.0, 64.0].iter().map(|a| rdp(*a, mu, mean(1, false))).collect();
        assert!(curve.windows(2).all(|w| w[0] < w[1]) && curve[1] > mu * mu);
    }
}
