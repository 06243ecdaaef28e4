//! How many steps, how long, and what they promise: the formulas of clipped DP-SGD in closed form.
//!
//! `T` steps with noise multiplier `σ` on batches of expected size `b` in `d` dimensions have a
//! noise energy of `d σ²/b²` for each step, in units of the clip norm squared. The paper's `φ` is
//! `sqrt(d/T) σ/b`.

/// The shape of a run, as far as its rate depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSize {
    /// `d`.
    pub dimension: f64,
    /// `b`.
    pub batch: f64,
    /// `n`.
    pub rows: f64,
    /// `T`.
    pub steps: f64,
    /// `σ`.
    pub noise_multiplier: f64,
}

impl RunSize {
    /// `d σ²/b²`: the energy of a step's noise, in clip norms squared.
    pub(crate) fn noise_energy(&self) -> f64 {
        self.dimension * (self.noise_multiplier / self.batch).powi(2)
    }

    /// `φ = sqrt(d/T) σ/b`.
    pub fn phi(&self) -> f64 {
        (self.noise_energy() / self.steps).sqrt()
    }

    /// `S = 1/T + φ² = (1 + d σ²/b²)/T`.
    pub fn total(&self) -> f64 {
        (1.0 + self.noise_energy()) / self.steps
    }

    /// `V = 1 + 1/b − 1/n + d σ²/b²`: what bounds `E‖g‖²/τ²` of a step. The batch is sampled, so
    /// the sum over a batch of `b` clipped gradients has second moment at most `b² + b(1 − b/n)`.
    pub fn second_moment(&self) -> f64 {
        1.0 + 1.0 / self.batch - 1.0 / self.rows + self.noise_energy()
    }

    /// `η = C/(T τ sqrt(S))`, the step of the theorems.
    pub fn eta_general(&self, c: f64, clip: f64) -> f64 {
        eta_general(c, self.steps, self.total(), clip)
    }

    /// `η = D₀/(τ sqrt(T V))`, the step that makes [`Self::bound_tight`] hold.
    pub fn eta_tight(&self, distance: f64, clip: f64) -> f64 {
        distance / (clip * (self.steps * self.second_moment()).sqrt())
    }

    /// `G_max D₀ sqrt(V/T)/α + (G_max/(τ α) − 1)Δ`: Theorem H.1 at [`Self::eta_tight`], without the
    /// factor 2 that the paper loses between (39) and (40).
    pub fn bound_tight(&self, distance: f64, gap: &Gap) -> f64 {
        gap.largest * distance * (self.second_moment() / self.steps).sqrt() / gap.alpha + gap.bias()
    }
}

/// The cost of clipping below the largest gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// `G_max`.
    pub largest: f64,
    /// `τ`.
    pub clip: f64,
    /// `α(τ)`; 1 is always valid.
    pub alpha: f64,
    /// `Δ`: the mean over rows of the loss at the best weights above the row's own least loss; 0
    /// where one model fits every row.
    pub interpolation: f64,
}

impl Gap {
    fn bias(&self) -> f64 {
        (self.largest / (self.clip * self.alpha) - 1.0) * self.interpolation
    }
}

/// The paper's `φ = sqrt(ν d ln(1/δ))/(n ε)`.
pub fn phi(nu: f64, dimension: f64, delta: f64, rows: f64, epsilon: f64) -> f64 {
    (nu * dimension * -delta.ln()).sqrt() / (rows * epsilon)
}

/// `τ σ/b`: the standard deviation of the noise in a coordinate of the averaged gradient.
pub fn noise_deviation(clip: f64, noise_multiplier: f64, batch: f64) -> f64 {
    clip * noise_multiplier / batch
}

/// `ν = 2 + ε/ln(1/δ)` for full batches under add/remove: with it the paper's scale holds for every
/// `ε` and `δ`.
pub fn nu_full_batch(epsilon: f64, delta: f64) -> f64 {
    2.0 + epsilon / -delta.ln()
}

/// The paper's noise multiplier `q sqrt(ν T ln(1/δ))/ε`.
pub fn paper_multiplier(nu: f64, rate: f64, steps: f64, epsilon: f64, delta: f64) -> f64 {
    rate * (nu * steps * -delta.ln()).sqrt() / epsilon
}

/// The `ν` that a noise multiplier stands for: `σ² ε²/(q² T ln(1/δ))`.
pub fn nu_effective(noise_multiplier: f64, rate: f64, steps: f64, epsilon: f64, delta: f64) -> f64 {
    (noise_multiplier * epsilon / rate).powi(2) / (steps * -delta.ln())
}

/// Theorem 5.4's `T = ⌈1/(3φ²)⌉`.
pub fn thm54_steps(phi: f64) -> f64 {
    (1.0 / (3.0 * phi * phi)).ceil()
}

/// Theorem 5.4's `η = 3Cφ/(2τ)`.
pub fn thm54_eta(c: f64, phi: f64, clip: f64) -> f64 {
    1.5 * c * phi / clip
}

/// `η = C/(T τ sqrt(S))`.
pub fn eta_general(c: f64, steps: f64, total: f64, clip: f64) -> f64 {
    c / (steps * clip * total.sqrt())
}

/// Theorem 5.4: `(D₀²/C + 2C) G_max φ/α + (G_max/(τ α) − 1)Δ`, for `T = 1/(3φ²)`.
pub fn thm54_bound(distance: f64, c: f64, phi: f64, gap: &Gap) -> f64 {
    (distance * distance / c + 2.0 * c) * gap.largest * phi / gap.alpha + gap.bias()
}

/// Theorem H.1: `(D₀²/(2C) + C) G_max sqrt(S)/α + (G_max/(τ α) − 1)Δ`, for any `T`.
pub fn thm_h1_bound(distance: f64, c: f64, total: f64, gap: &Gap) -> f64 {
    (distance * distance / (2.0 * c) + c) * gap.largest * total.sqrt() / gap.alpha + gap.bias()
}

/// `α(τ) ≤ G_max/max(τ, G_min)`.
pub fn alpha_upper(largest: f64, least: f64, clip: f64) -> f64 {
    largest / clip.max(least)
}

/// The ratio at one point whose infimum over points is `α(τ)`:
/// `mean min(1/τ, 1/G_i) e_i / mean (e_i/G_max)`, `e_i` the row's loss above its least. It depends
/// on rows.
pub fn alpha_ratio(clip: f64, lipschitz: &[f64], gaps: &[f64]) -> f64 {
    let largest = lipschitz.iter().copied().fold(0.0, f64::max);
    let (mut weighted, mut plain) = (0.0, 0.0);
    for (g, gap) in lipschitz.iter().zip(gaps) {
        weighted += (1.0 / clip).min(1.0 / g) * gap;
        plain += gap / largest;
    }
    weighted / plain
}

/// `c = min(1, τ(1 − 1e-12)/‖g‖)`: what a gradient of this norm is scaled by. The margin is for
/// rounding.
pub fn clip_coefficient(norm: f64, clip: f64) -> f64 {
    let limit = clip * (1.0 - 1e-12);
    if norm <= limit { 1.0 } else { limit / norm }
}

/// `‖p − e_y‖·‖x‖`: the gradient norm of softmax from its probabilities.
pub fn softmax_gradient_norm(probabilities: &[f64], label: usize, norm: f64) -> f64 {
    let entry = |(k, p): (usize, &f64)| if k == label { p - 1.0 } else { *p };
    probabilities.iter().enumerate().map(entry).map(|r| r * r).sum::<f64>().sqrt() * norm
}
