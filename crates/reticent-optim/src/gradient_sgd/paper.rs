//! The source's calibration of noisy gradient steps, with the two conditions that its Algorithm 2
//! leaves out.
//!
//! With `A₀ = log(1/δ)/ε`, `λ = A₀/(1 − β) + 1` and batches of `b` of `n` rows, Theorem 11 asks for
//!
//! ```text
//! σ² = 14 G² T λ/(β n² ε),      v = (σb/(2G))² = 3.5 b² T λ/(β n² ε)
//! (C1)  v ≥ 0.67                (C2)  λ − 1 ≤ (2/3) v log(n/(b λ (1 + v)))
//! ```
//!
//! The conditions come from the bound on the Rényi divergence of a subsampled Gaussian and are part
//! of the guarantee: at `β = 1/2`, as printed, `n = T = 1000`, `ε = 8`, `δ = 10⁻⁶`, C1 fails and
//! the true delta is above 0.6.
//!
//! `v` is least at `β* = 1/(1 + √(A₀/(1 + A₀)))`, but the `β` that meet both conditions are usually
//! far smaller, a short interval between 10⁻⁴ and 10⁻²; so `β` is sought on a logistic scale.

pub use crate::output_sgd::paper::Rate;

/// The parameters of the calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperGradient {
    /// `n`.
    pub rows: f64,
    /// `b`.
    pub batch: f64,
    /// `T`.
    pub steps: f64,
    /// `ε`.
    pub epsilon: f64,
    /// `δ`.
    pub delta: f64,
}

/// Points of the first scan, on `[-20, 20]`.
const POINTS: u32 = 40_001;

impl PaperGradient {
    /// `A₀`.
    fn ratio(&self) -> f64 {
        (1.0 / self.delta).ln() / self.epsilon
    }

    /// `λ` and `v` at `β = 1/(1 + e^{−u})`.
    fn at(&self, u: f64) -> (f64, f64) {
        let lambda = self.ratio() * (1.0 + u.exp()) + 1.0;
        (lambda, self.variance(lambda, 1.0 / (1.0 + (-u).exp())))
    }

    fn variance(&self, lambda: f64, beta: f64) -> f64 {
        let share = self.batch / self.rows;
        share * share * 3.5 * self.steps * lambda / (beta * self.epsilon)
    }

    fn conditions(&self, lambda: f64, v: f64) -> bool {
        let room = (self.rows / (self.batch * lambda * (1.0 + v))).ln();
        v >= 0.67 && lambda - 1.0 <= 2.0 / 3.0 * v * room
    }

    /// Whether C1 and C2 hold at this `β`.
    pub fn holds(&self, beta: f64) -> bool {
        let lambda = self.ratio() / (1.0 - beta) + 1.0;
        self.conditions(lambda, self.variance(lambda, beta))
    }

    /// `β*`, where `v` is least if there were no conditions.
    pub fn beta_unconstrained(&self) -> f64 {
        let a = self.ratio();
        1.0 / (1.0 + (a / (1.0 + a)).sqrt())
    }

    /// `σ` of Theorem 11 at this `β`, conditions unasked.
    pub fn sigma(&self, lipschitz: f64, beta: f64) -> f64 {
        let lambda = self.ratio() / (1.0 - beta) + 1.0;
        let square = 14.0 * self.steps * lambda / (beta * self.rows * self.rows * self.epsilon);
        lipschitz * square.sqrt()
    }

    /// The least noise multiplier `√v` among the `β` that meet both conditions; none if none does.
    pub fn best_noise_multiplier(&self) -> Option<f64> {
        let (first, last) = (-20.0, 20.0);
        let mut spacing = (last - first) / f64::from(POINTS - 1);
        let (mut centre, mut least) = self.scan(first, spacing, POINTS)?;
        for _ in 0..5 {
            let finer = spacing / 50.0;
            if let Some((u, v)) = self.scan(centre - spacing, finer, 101)
                && v <= least
            {
                (centre, least) = (u, v);
            }
            spacing = finer;
        }
        let (lambda, v) = self.at(centre);
        self.conditions(lambda, v).then(|| v.sqrt())
    }

    /// The feasible point of least `v` on a grid.
    fn scan(&self, from: f64, spacing: f64, points: u32) -> Option<(f64, f64)> {
        let mut best: Option<(f64, f64)> = None;
        for i in 0..points {
            let u = from + spacing * f64::from(i);
            let (lambda, v) = self.at(u);
            // Ties go to the smaller λ, which comes first.
            if best.is_none_or(|(_, least)| v < least) && self.conditions(lambda, v) {
                best = Some((u, v));
            }
        }
        best
    }

    /// The least `ε`, above the given one, for which some `β` meets both conditions, to a
    /// thousandth; none below 10⁴.
    pub fn least_epsilon(&self) -> Option<f64> {
        let ok = |epsilon: f64| Self { epsilon, ..*self }.best_noise_multiplier().is_some();
        let (mut bad, mut good) = (self.epsilon, self.epsilon);
        while !ok(good) {
            bad = good;
            good *= 1.5;
            if good > 1e4 {
                return None;
            }
        }
        while good / bad > 1.001 {
            let middle = (good * bad).sqrt();
            if ok(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(good)
    }
}

/// Lemma 13's sufficient `ε` for `T = n`, `δ = 1/n²`: `(7c + 4n log n + 7)/(2nc)`,
/// `c = n^{1/3} − 1`. It holds from `n = 44`, not from 18 as printed, and never replaces the
/// conditions.
pub fn lemma13_epsilon(rows: f64) -> f64 {
    let c = rows.cbrt() - 1.0;
    (7.0 * c + 4.0 * rows * rows.ln() + 7.0) / (2.0 * rows * c)
}

/// Theorem 12.
impl Rate {
    /// The cost of sampling.
    fn noisy_sampling(&self) -> f64 {
        let (n, fail) = (self.rows, (1.0 / self.gamma).ln());
        (n.ln() * (n / self.gamma).ln() * fail).sqrt() / n.sqrt()
    }

    /// `√(d log(1/δ))/(nε)`.
    fn step_noise(&self) -> f64 {
        (self.dimension * (1.0 / self.delta).ln()).sqrt() / (self.rows * self.epsilon)
    }

    /// `η = 1/(T max{…})`; the source prints `(1/T) max{…}`.
    pub fn eta_of_noisy_steps(&self, steps: f64) -> f64 {
        let noise = self.step_noise() * (1.0 / self.gamma).ln().powf(0.25);
        1.0 / (steps * self.noisy_sampling().max(noise))
    }

    /// The rate, hidden constants one.
    pub fn of_noisy_steps(&self, distance: f64) -> f64 {
        let noise = self.step_noise() * (1.0 / self.gamma).ln().sqrt();
        distance * distance * (noise + self.noisy_sampling())
    }
}
