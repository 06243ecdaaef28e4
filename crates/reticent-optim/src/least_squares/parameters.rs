//! How many features, steps and how long a step: functions of `n` and two guesses of how hard the
//! problem is.
//!
//! `r ∈ (½, 1]` says how smooth the target is in the kernel's space, `α ∈ (0, 1)` how large that
//! space is. They tune, they never pay. The unknown constants of the rates are set to one.

use serde::{Deserialize, Serialize};

use crate::setting::words;

/// Guesses of the problem's difficulty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difficulty {
    /// `r`.
    pub source_smoothness: f64,
    /// `α`.
    pub capacity: f64,
}

impl Default for Difficulty {
    fn default() -> Self {
        Self { source_smoothness: 1.0, capacity: 0.5 }
    }
}

/// How the paper trades the length of a step for their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Fewer, longer steps.
    #[default]
    LargeStep,
    /// `η = 1/n`.
    SmallStep,
}

words! { Schedule:
    LargeStep = "large-step", "Few and long";
    SmallStep = "small-step", "Many of length 1/n";
}

impl Difficulty {
    fn denominator(self) -> f64 {
        2.0 * self.source_smoothness + self.capacity
    }

    /// `M = ⌈n^{(1+α(2r−1))/(2r+α)} ln(n/conf)⌉` features.
    pub fn features(self, rows: f64, confidence: f64) -> f64 {
        let power =
            (1.0 + self.capacity * (2.0 * self.source_smoothness - 1.0)) / self.denominator();
        (rows.powf(power) * (rows / confidence).ln()).ceil()
    }

    /// `T`, at least three.
    pub fn steps(self, rows: f64, schedule: Schedule) -> f64 {
        let above = match schedule {
            Schedule::LargeStep => 2.0 * self.source_smoothness + 1.0,
            Schedule::SmallStep => 2.0 * self.source_smoothness + self.capacity + 1.0,
        };
        rows.powf(above / self.denominator()).ceil().max(3.0)
    }

    /// `η`, below what the theorem allows for `T` steps.
    pub fn eta(self, rows: f64, schedule: Schedule, norm: f64, steps: f64) -> f64 {
        let eta = match schedule {
            Schedule::LargeStep => rows.powf(-2.0 * self.source_smoothness / self.denominator()),
            Schedule::SmallStep => 1.0 / rows,
        };
        eta.min(longest_step(norm, steps))
    }

    /// `(4−4r)/(3−2r)`: below this capacity the paper proves no rate.
    pub fn least_capacity(self) -> f64 {
        (4.0 - 4.0 * self.source_smoothness) / (3.0 - 2.0 * self.source_smoothness)
    }

    /// The exponent of `1/n` in the paper's privacy term, with its spurious factor `M`.
    pub fn privacy_rate_printed(self) -> f64 {
        let (r, a) = (self.source_smoothness, self.capacity);
        (4.0 * r + 3.0 * a - 4.0 - 2.0 * r * a) / self.denominator()
    }

    /// The exponent of `1/n` in the privacy term with the exact variance of the noise.
    pub fn privacy_rate(self) -> f64 {
        (4.0 * self.source_smoothness + 2.0 * self.capacity - 3.0) / self.denominator()
    }

    /// The exponent of `1/n` without privacy.
    pub fn statistical_rate(self) -> f64 {
        2.0 * self.source_smoothness / self.denominator()
    }

    /// `κ²σ² + c²(τ^{−2r} + τ^α/n)` for the time `τ = ηT`.
    pub fn excess(self, rows: f64, time: f64, sigma: f64, label: f64, norm: f64) -> f64 {
        let left = time.powf(-2.0 * self.source_smoothness) + time.powf(self.capacity) / rows;
        norm * norm * sigma * sigma + label * label * left
    }
}

/// `0.99/(κ²(ln T + 1))`: the paper's strict limit on a step, with a margin.
pub(crate) fn longest_step(norm: f64, steps: f64) -> f64 {
    0.99 / (norm * norm * (steps.ln() + 1.0))
}
