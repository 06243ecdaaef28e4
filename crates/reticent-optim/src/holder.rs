//! Constants, iterate bounds, numbers of steps and risk bounds of SGD on losses with
//! Hölder-continuous gradients.
//!
//! A loss has a gradient of Hölder order `α` with constant `L` if `‖∇ℓ(w) − ∇ℓ(w')‖ ≤ L‖w − w'‖^α`
//! on **all of** `R^d` (`α = 0`: Lipschitz, `α = 1`: smooth). Wang, Lei, Ying and Zhang,
//! "Differentially private SGD with non-smooth losses" (Applied and Computational Harmonic
//! Analysis, 2022), is the source; its errata are in `docs/algorithms/output-sgd.md`.
//!
//! # One step on a common row
//!
//! With `w⁺ = w − η∇ℓ(w)` for the same row,
//!
//! ```text
//! ‖w⁺ − w'⁺‖² ≤ ‖w − w'‖² + ω²,     ω = √((1−α)/(1+α)) (k(α) L η)^{1/(1−α)}  (α < 1),     ω = 0  (α = 1, Lη ≤ 2)
//! ```
//!
//! with `k(α) = 2^{−α}` in general (the source's Lemma 21) and `k(α) = (α/(1+α))^α` for a loss of
//! one margin.
//!
//! *Proof of the latter.* A gradient is `φ'(⟨w,x⟩)x`. In one dimension a convex `φ` with an
//! `(α, L)`-Hölder derivative has `(a − b)(m − m') ≥ L^{−1/α}|a − b|^{(1+α)/α}` for slopes `a`, `b`
//! at `m`, `m'`, because `|a − b| ≤ L|m − m'|^α`. So the square grows by at most
//! `η²g² − 2ηL^{−1/α}g^{(1+α)/α}`, `g = ‖∇ℓ(w) − ∇ℓ(w')‖`, which is largest at
//! `g^{(1−α)/α} = (α/(1+α))ηL^{1/α}`, where it is `ω²`. For `α = 0` it is monotonicity alone:
//! `g ≤ L`. ∎
//!
//! # Radius without a ball
//!
//! For a loss that is nowhere negative, the iterates of `T` steps from zero have norms at most
//!
//! ```text
//! ρ_T = √((T−1)·[(1−α)/(1+α)(ηL)^{2/(1−α)} + 2ηM₀]),     ρ_T = √((T−1)·2ηM₀)  (α = 1, η ≤ 1/L),
//! ```
//!
//! with `M₀` the largest loss at zero.
//!
//! Powers that overflow as `α → 1` are only ever taken together with `η`, in logarithms.

use reticent_math::ln_gamma;

/// Which bound on a common step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossForm {
    /// Any convex loss (the source).
    General,
    /// A loss `φ(⟨w,x⟩, y)` of one margin.
    Glm,
}

/// `ω`: what a step on a common row adds, squared, to a squared distance. Infinite where the steps
/// expand: `α = 1`, `Lη > 2`.
pub fn omega(order: f64, constant: f64, eta: f64, kind: LossForm) -> f64 {
    if order >= 1.0 {
        return if constant * eta <= 2.0 { 0.0 } else { f64::INFINITY };
    }
    let k = match kind {
        LossForm::General => (-order).exp2(),
        LossForm::Glm if order == 0.0 => 1.0,
        LossForm::Glm => (order / (1.0 + order)).powf(order),
    };
    ((1.0 - order) / (1.0 + order)).sqrt() * ((k * constant * eta).ln() / (1.0 - order)).exp()
}

/// `ρ_T`: bounds every iterate on `R^d`. Infinite where it is not proven: `α = 1` and `η > 1/L`.
pub fn iterate_radius(order: f64, constant: f64, eta: f64, value_at_zero: f64, steps: f64) -> f64 {
    ((steps - 1.0) * radius_gain(order, constant, eta, value_at_zero)).sqrt()
}

/// Bounds the increase of the squared norm of the iterate in one step.
pub(crate) fn radius_gain(order: f64, constant: f64, eta: f64, value_at_zero: f64) -> f64 {
    let fall = 2.0 * eta * value_at_zero;
    if order >= 1.0 {
        return if constant * eta <= 1.0 { fall } else { f64::INFINITY };
    }
    (1.0 - order) / (1.0 + order) * (2.0 * (constant * eta).ln() / (1.0 - order)).exp() + fall
}

/// `a_T = (1/T) Σ_{r<T} √r`, from above: the sum up to ten million steps, `(2/3)√T` beyond.
pub fn average_root(steps: u64) -> f64 {
    let t = steps as f64;
    let bound = 2.0 / 3.0 * t.sqrt();
    if steps > 10_000_000 {
        return bound;
    }
    let mut sum = 0.0;
    let mut first = 0;
    while first < steps {
        let last = steps.min(first + 4096);
        sum += (first..last).map(|r| (r as f64).sqrt()).sum::<f64>();
        first = last;
    }
    (sum / t * (1.0 + 1e-11)).min(bound)
}

/// `c_{α,1}` of the source, which jumps to `M + L` at `α = 0`.
pub fn c_alpha_1_paper(order: f64, constant: f64, gradient_at_zero: f64) -> f64 {
    if order == 0.0 {
        return gradient_at_zero + constant;
    }
    (1.0 + 1.0 / order).powf(order / (1.0 + order)) * constant.powf(1.0 / (1.0 + order))
}

/// `c_{α,2}` of the source: `ω` for `η = 1`, without its condition.
pub fn c_alpha_2_paper(order: f64, constant: f64) -> f64 {
    omega(order, constant, 1.0, LossForm::General)
}

/// `C_α` of the source, in the form that is left when its factors cancel:
/// `(1−α)/(1+α) L^{2/(1−α)} + 2M₀`.
pub fn c_alpha_paper(order: f64, constant: f64, gradient_at_zero: f64, value_at_zero: f64) -> f64 {
    let fall = 2.0 * value_at_zero;
    if order == 0.0 {
        return (gradient_at_zero + constant).powi(2) + fall;
    }
    if order >= 1.0 {
        return fall;
    }
    (1.0 - order) / (1.0 + order) * (2.0 * constant.ln() / (1.0 - order)).exp() + fall
}

/// `T` of the source on a ball: `n` for `α ≥ 1/2`, else `n^{(2−α)/(1+α)}`.
pub fn steps_bounded(rows: f64, order: f64) -> f64 {
    if order >= 0.5 { rows } else { power_up(rows, (2.0 - order) / (1.0 + order)) }
}

/// `T` of the source on `R^d`: `n` for `α ≥ (√73 − 7)/4`, else `n^{(6−3α−α²)/((1+α)(3+α))}`.
pub fn steps_unbounded(rows: f64, order: f64) -> f64 {
    if order >= (73_f64.sqrt() - 7.0) / 4.0 {
        return rows;
    }
    let top = 6.0 - 3.0 * order - order * order;
    power_up(rows, top / ((1.0 + order) * (3.0 + order)))
}

/// `⌈n^e⌉`, where an exact power does not round up.
fn power_up(rows: f64, exponent: f64) -> f64 {
    (rows.powf(exponent) * (1.0 - 1e-12)).ceil()
}

/// `E|Z|^p` of a standard normal number: `2^{p/2} Γ((p+1)/2)/√π`.
pub(crate) fn normal_moment(p: f64) -> f64 {
    (0.5 * p).exp2() * ln_gamma(0.5 * (p + 1.0)).exp() / std::f64::consts::PI.sqrt()
}

/// The cost of `N(0, σ²I)` on the weights for a loss of one margin: `L/(1+α) σ^{1+α} E|Z|^{1+α}`,
/// in any dimension.
pub fn noise_penalty(order: f64, constant: f64, sigma: f64) -> f64 {
    if sigma == 0.0 {
        return 0.0;
    }
    constant / (1.0 + order) * sigma.powf(1.0 + order) * normal_moment(1.0 + order)
}

/// The parameters of the risk bounds for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// `G`, the ridge's part included.
    pub lipschitz: f64,
    /// `ω`.
    pub omega: f64,
    /// `‖w*‖`, or a guess of it.
    pub distance: f64,
    /// `n`.
    pub rows: f64,
    /// `T`.
    pub steps: u64,
    /// `η`.
    pub eta: f64,
}

impl Run {
    /// `‖w*‖²/(2ηT) + ηG²/2 + G(ω a_T + ηG(T−1)/n)`: the expected excess risk of the average of `T`
    /// iterates, on the training rows and on new ones, before any noise.
    ///
    /// *Proof.* The first two terms are the regret of gradient steps. The last is `G` times the
    /// expected distance between the averages of runs that differ in one row, which bounds what is
    /// lost by using the same rows for steps and for risk: rows are hit with expected weight
    /// `(T−1)/(2n)`, each hit moves the iterate by `2ηG`. ∎
    pub fn excess(&self, average_root: f64) -> f64 {
        let Self { lipschitz: g, omega, distance, rows, steps, eta } = *self;
        let t = steps as f64;
        distance * distance / (2.0 * eta * t)
            + 0.5 * eta * g * g
            + g * (omega * average_root + eta * g * (t - 1.0) / rows)
    }

    /// [`Self::excess`] where every step has noise of standard deviation `sigma` in each of
    /// `dimension` coordinates.
    pub fn excess_with_noisy_steps(&self, average_root: f64, sigma: f64, dimension: f64) -> f64 {
        self.excess(average_root) + 0.5 * self.eta * dimension * sigma * sigma
    }
}

/// The least of `f` on a logarithmic scale between `low` and `high`, by golden section: thirty
/// rounds, to a hundred-thousandth.
pub(crate) fn least(low: f64, high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    if low >= high {
        return high;
    }
    let (mut a, mut b) = (low.ln(), high.ln());
    let (mut x, mut y) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut at_x, mut at_y) = (f(x.exp()), f(y.exp()));
    for _ in 0..30 {
        if at_x <= at_y {
            (b, y, at_y) = (y, x, at_x);
            x = b - GOLDEN * (b - a);
            at_x = f(x.exp());
        } else {
            (a, x, at_x) = (x, y, at_y);
            y = a + GOLDEN * (b - a);
            at_y = f(y.exp());
        }
    }
    // The ends of the bracket are exact only up to the logarithm: stay inside.
    (0.5 * (a + b)).exp().clamp(low, high)
}
