//! Objective perturbation: the privacy of a perturbed minimiser.
//!
//! # Theorem
//!
//! Release `argmin_C Σ l_i(θ) + (Λ/2)‖θ‖² + ⟨b, θ⟩` with `b ~ N(0, σ₁² I)`, every `l_i` convex with
//! Lipschitz gradient and `‖∇l_i‖ <= L`, plus optional output noise with sensitivity over deviation
//! `mu2`. The privacy loss at `b` is at most `ε_det + (2⟨b, v⟩ + ‖v‖²)/(2σ₁²)`, where `v` is the
//! difference of the two rows' gradients at the output and `ε_det = k·ln(1 + β/Λ)` for Hessians of
//! rank `k` with eigenvalues at most `β`. `v` depends on `b`; for a generalised linear loss it is
//! `a₁x − a₂x'` with scalars in a box, so its worst value is a corner of the box. With
//! `e = ε − ε_det > 0`, `a = L/σ₁` and `G` the Gaussian profile:
//!
//! | class | adjacency | `δ(ε)` |
//! | --- | --- | --- |
//! | monotone | zero-out | `G(e; √(a² + mu2²)) + G(e; mu2)` |
//! | two-sided | zero-out | `2G(e; √(a² + mu2²))`; without output noise and for `e < a²/2` also `1 − 2e^e Φ(−a)` |
//! | monotone | replace-one | `G(e; √(4a² + mu2²)) + 2G(e; √(a² + mu2²)) + G(e; mu2)` |
//! | two-sided | replace-one | `c·G(e; m)`, `m = √(4a² + 2mu2²)`, `c = 2` if `(m/2)φ(e/m − m/2) >= G(e; m)`, else 4 |
//! | logistic | zero-out | `G(ε − p₁; √(a² + mu2²)) + G(ε − p₀; mu2)` |
//! | logistic | replace-one | `G(ε − p₁; √(4a² + mu2²)) + G(ε − p₁; √(a² + mu2²)) + G(ε − p₀; √(a² + mu2²)) + G(ε − p₀; mu2)` |
//! | two-sided, `mu2² > a²/10` | replace-one | the largest `2G(e; √s) + 2G(e; √(4a² + 2mu2² − s))` over `s` from `2a² + mu2²` to `4a² + mu2²`, if that is less |
//! | subspace of dimension `m` | both | `∫ (1 − e^{e − μs − μ²/2})_+ χ_m(s) ds`, `μ = 2a` or `a` |
//! | unit of several rows | both | the lesser of that of its subspace and of the bound of `objective/unit.rs`, which knows no number of rows |
//!
//! # The logistic loss
//!
//! A row whose slope has the size `s` has the curvature `s(1 − s)`: where it pulls hardest it bends
//! nothing. With `r = B²/Λ`, the loss at `b` is at most `g(s) + (2⟨b, v⟩ + ‖v‖²)/(2σ₁²)`,
//! `g(s) = ln(1 + r s(1 − s))` and `v = s x − s' x'`. `g` is concave, so it lies below each of its
//! tangents, `p₀` at `s = 0` and `p₁` at `s = 1`. With the tangent in its place the loss is convex
//! in `(s, s')`, and its largest value is at a corner: `s = 1` costs `p₁`, `s = 0` costs `p₀` and
//! has the smaller `v`. Every tangent gives a bound, so the least over a few holds; the one at
//! `s = ½` is that of the monotone class, and from `r = ε/2` down the one at `s = 1` leaves next to
//! nothing of the curvature term. `r` follows from `ε_det = ln(1 + r/4)`. (The tangent trick needs
//! the slope's whole range, `L = B`.)
//!
//! With output noise the last row's integrand is `G(e − μs − μ²/2; mu2)`. The bounds hold in both
//! directions, so they are curves in the sense of [`crate::pair::PairTable`].

mod unit;

use std::f64::consts::LN_2;

use reticent_math::quadrature::{edges, log_integral};
use reticent_math::{ln_gamma, log_add, log_ndtr, normal_pdf};

use crate::{
    Adjacency, ObjectiveClass, PrivacyError,
    error::{non_negative, positive},
    gaussian::{self, bisect},
    rdp::check_order,
    scalar::{check_delta, check_epsilon},
};

/// The parameters of the theorem, as ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The class of the loss.
    pub class: ObjectiveClass,
    /// The part of the loss due to the change of variables.
    pub epsilon_det: f64,
    /// Lipschitz constant of a row over the deviation of the linear term, `a = L/σ₁`.
    pub slope: f64,
    /// Sensitivity over deviation of the output noise; zero for none.
    pub output_mu: f64,
    /// The adjacency under which the bound holds.
    pub adjacency: Adjacency,
}

/// `k·ln(1 + β/Λ)` for Hessians of rank `k` with eigenvalues at most `β`.
pub fn epsilon_det(rank: f64, smoothness: f64, modulus: f64) -> f64 {
    rank * (smoothness / modulus).ln_1p()
}

/// [`epsilon_det`] of softmax with `classes` classes and rows of norm at most `norm`:
/// `(K−1)·ln(1 + B²/(KΛ))`.
///
/// Smaller than rank `K−1` with `β = B²/2` gives: the eigenvalues of `diag p − pp'` sum to at most
/// `1 − 1/K`, and the determinant is largest when they are equal.
pub fn epsilon_det_softmax(classes: f64, norm: f64, modulus: f64) -> f64 {
    epsilon_det(classes - 1.0, norm * norm / classes, modulus)
}

/// From this `mu2²/a²` on the output noise counts as a release of its own.
const OWN_RELEASE: f64 = 0.1;

/// The four corners of a two-sided loss whose row is replaced: `v = ±x ± x'` have squared lengths
/// `(2 ± 2c)a²` for rows at an angle with cosine `c`, twice each, so with output noise the bound is
/// `2G(√s) + 2G(√(S − s))`, `S = 4a² + 2mu2²`. `G` grows with `s`, so on each of some cells of `s`
/// the larger end bounds the one term and the smaller end the other.
fn two_sided_corners(a: f64, mu2: f64, gd: impl Fn(f64) -> f64) -> f64 {
    const CELLS: u32 = 64;
    let (middle, half) = (2.0 * a * a + mu2 * mu2, 2.0 * a * a);
    let at = |cell: u32| half * f64::from(cell) / f64::from(CELLS);
    let bound = |cell: u32| {
        let (longer, shorter) = (middle + at(cell + 1), middle - at(cell));
        2.0 * gd((longer * (1.0 + 1e-15)).sqrt()) + 2.0 * gd((shorter * (1.0 + 1e-15)).sqrt())
    };
    (0..CELLS).map(bound).fold(0.0, f64::max)
}

impl Objective {
    /// `μ = Δ/σ₁`: twice the slope when a row is replaced.
    fn mu(&self) -> f64 {
        self.adjacency.sum_sensitivity() * self.slope
    }

    fn checked(&self) -> Result<(), PrivacyError> {
        if !self.adjacency.records_are_public() {
            return Err(PrivacyError::Adjacency {
                event: "objective-perturbation",
                adjacency: self.adjacency,
                reason: "the number of rows enters the objective; use zero-out or replace-one",
            });
        }
        Ok(())
    }

    /// An upper bound on `δ(epsilon)`; one if `epsilon <= epsilon_det`.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Adjacency`] under add/remove.
    pub fn delta_upper(&self, epsilon: f64) -> Result<f64, PrivacyError> {
        self.checked()?;
        let e = epsilon - self.epsilon_det;
        if e.is_nan() || e <= 0.0 {
            return Ok(if self.slope == 0.0 && self.output_mu == 0.0 && e == 0.0 {
                0.0
            } else {
                1.0
            });
        }
        if e == f64::INFINITY {
            return Ok(0.0);
        }
        let (a, mu2) = (self.slope, self.output_mu);
        let replace = self.adjacency.replaces();
        let gd = |mu: f64| gaussian::delta_upper(e, mu);
        // Gaussian terms underflow long before they end.
        let least = if a == 0.0 && mu2 == 0.0 { 0.0 } else { f64::MIN_POSITIVE };
        let delta = match (self.class, replace) {
            (ObjectiveClass::Monotone, false) => gd(a.hypot(mu2)) + gd(mu2),
            (ObjectiveClass::TwoSided, false) => {
                let bound = 2.0 * gd(a.hypot(mu2));
                if mu2 == 0.0 && e < 0.5 * a * a {
                    bound.min(1.0 - 2.0 * (e + log_ndtr(-a)).exp() + 1e-15)
                } else {
                    bound
                }
            }
            (ObjectiveClass::Monotone, true) => {
                gd((2.0 * a).hypot(mu2)) + 2.0 * gd(a.hypot(mu2)) + gd(mu2)
            }
            (ObjectiveClass::Logistic, _) => logistic_delta(self, epsilon),
            (ObjectiveClass::TwoSided, true) => {
                let m = (4.0 * a * a + 2.0 * mu2 * mu2).sqrt();
                let growing = m > 0.0 && 0.5 * m * normal_pdf(e / m - 0.5 * m) >= gd(m);
                let bound = (if growing { 2.0 } else { 4.0 }) * gd(m);
                if mu2 * mu2 > OWN_RELEASE * a * a {
                    bound.min(two_sided_corners(a, mu2, gd))
                } else {
                    bound
                }
            }
            (ObjectiveClass::Subspace { dimension }, _) => {
                chi_delta(e, self.mu(), f64::from(dimension), mu2) * (1.0 + 1e-10)
            }
            (ObjectiveClass::Unit { dimension, directions, monotone }, _) => {
                let chi = chi_delta(e, self.mu(), f64::from(dimension), mu2) * (1.0 + 1e-10);
                chi.min(unit::delta_upper(e, self.mu(), mu2, unit::mean(directions, monotone)))
            }
        };
        Ok(delta.clamp(least, 1.0))
    }

    /// The least `ε` with `δ(ε) <= delta`, from above; infinite for `delta = 0`, unless there is no
    /// noise to look through.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Adjacency`] under add/remove.
    pub fn epsilon_upper(&self, delta: f64) -> Result<f64, PrivacyError> {
        self.checked()?;
        let ok = |e: f64| self.delta_upper(e).is_ok_and(|d| d <= delta);
        let (low, mut width) = (self.epsilon_det, 1e-3);
        while !ok(low + width) {
            width *= 2.0;
            if width > 1e18 {
                return Ok(f64::INFINITY);
            }
        }
        Ok(bisect(low, low + width, ok).1)
    }

    /// The Rényi curve, for composition with other releases.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Adjacency`] under add/remove, [`PrivacyError::OutOfRange`] unless
    /// `order > 1`.
    pub fn rdp(&self, order: f64) -> Result<f64, PrivacyError> {
        self.checked()?;
        check_order(order)?;
        let (al, mu) = (order, self.mu());
        let output = 0.5 * al * self.output_mu * self.output_mu;
        let replace = self.adjacency.replaces();
        let linear = match (self.class, replace) {
            (ObjectiveClass::TwoSided, false) => {
                0.5 * al * mu * mu + (LN_2 + log_ndtr((al - 1.0) * mu)) / (al - 1.0)
            }
            (ObjectiveClass::Monotone | ObjectiveClass::Logistic, false) => {
                let shifted = 0.5 * al * (al - 1.0) * mu * mu + log_ndtr((al - 0.5) * mu);
                log_add(log_ndtr(-0.5 * mu), shifted) / (al - 1.0)
            }
            (
                ObjectiveClass::Monotone | ObjectiveClass::TwoSided | ObjectiveClass::Logistic,
                true,
            ) => 0.5 * al * mu * mu + 2.0 * LN_2 / (al - 1.0),
            (ObjectiveClass::Subspace { dimension }, _) => chi_rdp(al, mu, dimension),
            (ObjectiveClass::Unit { dimension, directions, monotone }, _) => {
                chi_rdp(al, mu, dimension)
                    .min(unit::rdp(al, mu, unit::mean(directions, monotone)) * (1.0 + 1e-12))
            }
        };
        Ok(self.epsilon_det + linear + output)
    }

    /// The smallest deviation `σ₁` of the linear term for Lipschitz constant `lipschitz`, rounded
    /// up, when the output noise is tied to it by `mu2² = output_share·a²`. The fields `slope` and
    /// `output_mu` are ignored.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Unreachable`] if `epsilon <= epsilon_det` or `delta = 0`,
    /// [`PrivacyError::OutOfRange`] for an illegal budget, `lipschitz` or `output_share`.
    pub fn sigma_upper(
        &self,
        lipschitz: f64,
        output_share: f64,
        epsilon: f64,
        delta: f64,
    ) -> Result<f64, PrivacyError> {
        self.checked()?;
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        positive("lipschitz", lipschitz)?;
        non_negative("output_share", output_share)?;
        if epsilon <= self.epsilon_det || delta <= 0.0 {
            return Err(PrivacyError::Unreachable {
                name: "sigma",
                reason: format!(
                    "objective perturbation needs epsilon above {} and delta > 0",
                    self.epsilon_det
                ),
            });
        }
        // How far the logarithm of delta is above the budget's.
        let excess = |log_slope: f64| {
            let slope = log_slope.exp();
            let output_mu = output_share.sqrt() * slope;
            let here = Self { slope, output_mu, ..*self };
            match here.delta_upper(epsilon) {
                Ok(d) if d <= delta => (d / delta).ln().min(0.0),
                Ok(d) => (d / delta).ln().max(f64::MIN_POSITIVE),
                Err(_) => f64::INFINITY,
            }
        };
        let mut good = 0.0;
        while excess(good) > 0.0 {
            good -= 1.0;
            if good < -700.0 {
                return Err(PrivacyError::Unreachable {
                    name: "sigma",
                    reason: "no noise reaches the budget".to_owned(),
                });
            }
        }
        while excess(good + 1.0) <= 0.0 {
            good += 1.0;
            if good > 1499.0 {
                // Nothing is promised, so no noise is needed.
                return Ok(0.0);
            }
        }
        let good = last_good(good, &excess);
        Ok(lipschitz / good.exp() * (1.0 + 1e-14))
    }
}

/// The last of the numbers `low + i/2³⁷`, `i < 2³⁷`, at which `excess` is not positive, of a
/// function that grows, from `low`, where it is not, to `low + 1`, where it is.
///
/// Bisection takes 37 steps. Here the root of the line through both ends is looked at from a little
/// to either side, and once it is caught the next look is far closer. Both ends are always looked
/// at, so what is returned keeps the budget whatever the function does between them.
fn last_good(low: f64, excess: &impl Fn(f64) -> f64) -> f64 {
    const CELLS: u64 = 1 << 37;
    let at = |i: u64| low + i as f64 / CELLS as f64;
    let (mut good, mut bad) = (0, CELLS);
    let (mut below, mut above) = (excess(at(good)), excess(at(bad)));
    // The part of the interval by which the next look is off the root, towards the farther end;
    // none if the last one caught nothing, and this one halves.
    let mut part = Some(0.125);
    while bad - good > 1 {
        let width = (bad - good) as f64;
        let root = width * (below / (below - above));
        let look = match part.filter(|_| root.is_finite()) {
            Some(part) if 2.0 * root < width => root + (width * part).max(1.0),
            Some(part) => root - (width * part).max(1.0),
            None => 0.5 * width,
        };
        let i = (good + look as u64).clamp(good + 1, bad - 1);
        let value = excess(at(i));
        if value > 0.0 {
            (bad, above) = (i, value);
        } else {
            (good, below) = (i, value);
        }
        let caught = ((bad - good) as f64) < 0.6 * width;
        part = caught.then(|| part.map_or(0.125, |part| (part * part).max(1e-9)));
    }
    at(good)
}

/// The bound of the logistic class, the least over tangents of the curvature term.
fn logistic_delta(objective: &Objective, epsilon: f64) -> f64 {
    /// Tangents tried.
    const TANGENTS: u32 = 48;
    let (a, mu2) = (objective.slope, objective.output_mu);
    let r = 4.0 * objective.epsilon_det.exp_m1();
    let replace = objective.adjacency.replaces();
    let bound = |i: u32| {
        let s = 0.5 + 0.5 * f64::from(i) / f64::from(TANGENTS);
        let bend = 1.0 + r * s * (1.0 - s);
        let (value, tilt) = (bend.ln(), r * (1.0 - 2.0 * s) / bend);
        // A hair above, for the rounding of this function.
        let hair = 1e-14 * (1.0 + value + tilt.abs());
        let steep = epsilon - (value + tilt * (1.0 - s)) - hair;
        let flat = epsilon - (value - tilt * s) - hair;
        if flat <= 0.0 || steep <= 0.0 {
            return 1.0;
        }
        let near = gaussian::delta_upper(steep, a.hypot(mu2));
        let far = gaussian::delta_upper(flat, mu2);
        if replace {
            gaussian::delta_upper(steep, (2.0 * a).hypot(mu2))
                + near
                + gaussian::delta_upper(flat, a.hypot(mu2))
                + far
        } else {
            near + far
        }
    };
    (0..=TANGENTS).map(bound).fold(1.0, f64::min)
}

/// `ln` of the density of the chi law with `m` degrees of freedom.
fn log_chi_pdf(s: f64, m: f64) -> f64 {
    let power = if m == 1.0 { 0.0 } else { (m - 1.0) * s.ln() };
    (1.0 - 0.5 * m) * LN_2 + power - 0.5 * s * s - ln_gamma(0.5 * m)
}

/// `∫ (1 − e^{e − mu·s − mu²/2})_+ χ_m(s) ds`, or with output noise
/// `∫ G(e − mu·s − mu²/2; mu2) χ_m(s) ds`.
pub fn chi_delta(e: f64, mu: f64, m: f64, mu2: f64) -> f64 {
    if mu == 0.0 {
        return gaussian::delta(e, mu2);
    }
    let bend = e / mu - 0.5 * mu;
    let start = if mu2 == 0.0 { bend.max(0.0) } else { 0.0 };
    let end = start.max(m.sqrt()) + 40.0;
    let panels = edges(start, end, 0.25, Some(bend));
    let log = log_integral(&panels, |s| {
        let loss = e - mu * s - 0.5 * mu * mu;
        let log_value = if mu2 == 0.0 {
            if loss >= 0.0 { f64::NEG_INFINITY } else { (-loss.exp_m1()).ln() }
        } else {
            gaussian::delta(loss, mu2).ln()
        };
        log_value + log_chi_pdf(s, m)
    });
    log.exp().min(1.0)
}

/// The Rényi divergence of the linear term by the chi law.
fn chi_rdp(order: f64, mu: f64, dimension: u32) -> f64 {
    0.5 * mu * mu + log_chi_moment((order - 1.0) * mu, f64::from(dimension)) / (order - 1.0)
}

/// `ln ∫ e^{t·s} χ_m(s) ds`.
fn log_chi_moment(t: f64, m: f64) -> f64 {
    if m == 1.0 {
        return LN_2 + 0.5 * t * t + log_ndtr(t);
    }
    // The integrand peaks at the root of s² − ts − (m − 1) = 0.
    let peak = 0.5 * (t + (t * t + 4.0 * (m - 1.0)).sqrt());
    let panels = edges((peak - 14.0).max(0.0), peak + 14.0, 0.25, None);
    log_integral(&panels, |s| t * s + log_chi_pdf(s, m))
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::{Vector, load};

    use super::*;
    use reticent_math::ndtr;

    fn half_normal_delta(e: f64, mu: f64) -> f64 {
        let s0 = (e / mu - 0.5 * mu).max(0.0);
        2.0 * (ndtr(-s0) - (e + log_ndtr(-s0 - mu)).exp())
    }

    fn class(v: &Vector) -> (ObjectiveClass, Adjacency) {
        let class = match v.inputs["class"].as_str().unwrap() {
            "monotone" => ObjectiveClass::Monotone,
            _ => ObjectiveClass::TwoSided,
        };
        let adjacency = match v.inputs["adjacency"].as_str().unwrap() {
            "replace" => Adjacency::ReplaceOne,
            _ => Adjacency::ZeroOut,
        };
        (class, adjacency)
    }

    /// The same cell as bisection finds, with a third of the looks.
    #[test]
    fn the_last_good_number_is_that_of_bisection() {
        let laws: [fn(f64) -> f64; 5] = [
            |x| x.exp() - 2.0,
            |x| 1e3 * (x - 1e-4),
            |x| if x > 0.7 { 1.0 } else { f64::NEG_INFINITY },
            |x| (8.0 * x - 7.9).powi(3),
            |x| if x < 0.5 { -1e9 } else { x - 0.5 + 1e-15 },
        ];
        for (i, law) in laws.iter().enumerate() {
            let looks = std::cell::Cell::new(0);
            let counted = |x: f64| {
                looks.set(looks.get() + 1);
                law(x)
            };
            let (mut good, mut bad) = (0.0, 1.0);
            while bad - good > 1e-11 {
                let middle = 0.5 * (bad + good);
                if law(middle) <= 0.0 { good = middle } else { bad = middle }
            }
            assert_eq!(last_good(0.0, &counted), good, "{i}");
            assert!(looks.get() <= if i < 2 { 16 } else { 100 }, "{i}: {}", looks.get());
        }
    }

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for v in load("geometry") {
            let got = match v.formula.as_str() {
                "objpert_delta" => {
                    let (class, adjacency) = class(&v);
                    let (slope, output_mu) = (v.number("L_over_sigma"), v.number("mu2"));
                    let epsilon_det = v.number("eps_det");
                    Objective { class, epsilon_det, slope, output_mu, adjacency }
                        .delta_upper(v.number("eps"))
                        .unwrap()
                }
                "objpert_delta_chi" => chi_delta(
                    v.number("eps") - v.number("eps_det"),
                    v.number("mu"),
                    v.number("m"),
                    0.0,
                ),
                "objpert_delta_chi_out" => {
                    let e = v.number("eps") - v.number("eps_det");
                    chi_delta(e, v.number("mu"), v.number("m"), v.number("mu2"))
                }
                "objpert_rdp" => {
                    let (class, adjacency, factor) = match v.inputs["kind"].as_str().unwrap() {
                        "two_sided_add_remove" => {
                            (ObjectiveClass::TwoSided, Adjacency::ZeroOut, 1.0)
                        }
                        "monotone_add_remove" => {
                            (ObjectiveClass::Monotone, Adjacency::ZeroOut, 1.0)
                        }
                        _ => (ObjectiveClass::Monotone, Adjacency::ReplaceOne, 2.0),
                    };
                    let (epsilon_det, slope) = (v.number("eps_det"), v.number("mu") / factor);
                    Objective { class, epsilon_det, slope, output_mu: 0.0, adjacency }
                        .rdp(v.number("alpha"))
                        .unwrap()
                }
                "objpert_sigma1" => {
                    let (class, adjacency) = class(&v);
                    let epsilon_det = v.number("eps_det");
                    Objective { class, epsilon_det, slope: 0.0, output_mu: 0.0, adjacency }
                        .sigma_upper(
                            v.number("L"),
                            v.number("mu2sq_over_mua_sq"),
                            v.number("eps"),
                            v.number("delta"),
                        )
                        .unwrap()
                }
                "eps_det_softmax" => {
                    epsilon_det_softmax(v.number("K"), v.number("B"), v.number("Lambda"))
                }
                "eps_det" => epsilon_det(v.number("k"), v.number("beta"), v.number("Lambda")),
                _ => continue,
            };
            assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
            seen += 1;
        }
        assert_eq!(seen, 26);
    }

    #[test]
    fn one_degree_of_freedom_has_a_closed_form() {
        for (e, mu) in [(0.9, 0.3), (0.1, 0.9), (3.0, 1.0)] {
            let (got, want) = (chi_delta(e, mu, 1.0, 0.0), half_normal_delta(e, mu));
            assert!((got / want - 1.0).abs() < 1e-10, "{e} {mu} {got:e} {want:e}");
        }
    }

    #[test]
    fn more_dimensions_and_more_output_noise_cost_more() {
        let delta = |m, mu2| chi_delta(0.9, 0.2, m, mu2);
        assert!(delta(2.0, 0.0) > delta(1.0, 0.0));
        assert!(delta(4.0, 0.05) > delta(4.0, 0.0));
        let objective = Objective {
            class: ObjectiveClass::Monotone,
            epsilon_det: 0.1,
            slope: 0.1,
            output_mu: 0.0,
            adjacency: Adjacency::AddRemoveOne,
        };
        assert!(objective.delta_upper(1.0).is_err());
    }
}
