//! How far least squares moves when a row is replaced, on rows with `‖φ‖ ≤ κ` and labels with
//! `|y| ≤ c`.
//!
//! The squared loss has no Lipschitz constant on `R^d`. Its gradients are bounded because gradient
//! steps from zero cannot go far: with `r = ⟨w, φ⟩ − y` and `ηκ² < 2`,
//!
//! ```text
//! ‖w − ηrφ‖² ≤ ‖w‖² + η(−(2 − ηκ²)r² − 2ry) ≤ ‖w‖² + ηc²/(2 − ηκ²),
//! ```
//!
//! so `‖w_t‖ ≤ W_t = c√(η(t−1)/(2−ηκ²))` for single rows, and for averages of rows because the
//! square is convex. Two rows' gradients at one such point differ by at most `g_t = 2cκ + κ²W_t`:
//! `‖(φφᵀ − φ'φ'ᵀ)w‖ ≤ κ²‖w‖`, since the difference of two positive matrices of norm at most `κ²`
//! has norm at most `κ²`. A step on a common row does not expand, a step on the changed row adds at
//! most `ηg_t`. A residual clamped to `±h` (the gradient of a convex, smooth loss) has `g = 2hκ`.

/// The declared bounds and the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBounds {
    /// `κ`.
    pub norm: f64,
    /// `c`.
    pub label: f64,
    /// `η`, with `ηκ² < 2`.
    pub eta: f64,
    /// `h`, if residuals are clamped.
    pub residual_limit: Option<f64>,
}

impl StepBounds {
    /// `W_t`: bounds the norm of the iterate before step `t = 1, 2, …`.
    pub fn iterate_norm(&self, t: f64) -> f64 {
        self.label * (self.eta * (t - 1.0) / (2.0 - self.eta * self.norm * self.norm)).sqrt()
    }

    /// `g_t`: bounds the distance of two rows' gradients at step `t`.
    pub fn gradient_diameter(&self, t: f64) -> f64 {
        match self.residual_limit {
            Some(h) => 2.0 * h * self.norm,
            None => 2.0 * self.label * self.norm + self.norm * self.norm * self.iterate_norm(t),
        }
    }

    /// How far `visits` steps on the changed row move the last of `steps` iterates.
    pub fn visits(&self, visits: f64, steps: f64) -> f64 {
        visits * self.eta * self.gradient_diameter(steps)
    }

    /// `η Σ_j g_{jn}`: each of `passes` passes visits every row once, in an order that does not
    /// depend on the data.
    pub fn passes(&self, passes: u64, rows: f64) -> f64 {
        let passes_f = passes as f64;
        if self.residual_limit.is_some() {
            return passes_f * self.eta * self.gradient_diameter(1.0);
        }
        // A sum of rounded terms: a few units of roundoff for each.
        let sum: f64 = (1..=passes).map(|j| self.gradient_diameter(j as f64 * rows)).sum();
        self.eta * sum * (1.0 + 2.0 * passes_f * f64::EPSILON)
    }

    /// `(η/n) Σ_t g_t`: full gradients.
    pub fn full(&self, steps: u64, rows: f64) -> f64 {
        let t = steps as f64;
        if self.residual_limit.is_some() {
            return self.eta * t * self.gradient_diameter(1.0) / rows;
        }
        let (k, c) = (self.norm, self.label);
        let growth = k * k * c * (self.eta / (2.0 - self.eta * k * k)).sqrt();
        self.eta / rows * (2.0 * c * k * t + growth * sum_of_roots(steps - 1))
    }

    /// `((2cκ + κ²W_μ)/(nμ))(1 − (1 − ημ)^T)`: full gradients with a ridge, `η(κ² + μ) ≤ 1`.
    ///
    /// The iterates are `(I − (I − ηA)^t)A⁻¹b` with `A = ΦᵀΦ/n + μ`, so `‖w‖ ≤ c·max_s s/(s² + μ)`
    /// over singular values `s ≤ κ`.
    pub fn full_with_ridge(&self, ridge: f64, steps: u64, rows: f64) -> f64 {
        let (k, c) = (self.norm, self.label);
        let diameter = if let Some(h) = self.residual_limit {
            2.0 * h * k
        } else {
            let root = ridge.sqrt();
            let norm = if root <= k { c / (2.0 * root) } else { c * k / (k * k + ridge) };
            2.0 * c * k + k * k * norm
        };
        crate::output_gd::sensitivity::tight(diameter, ridge, self.eta, steps as f64, rows)
    }
}

/// `Σ_{j=1}^{n} √j`: exact to rounding up to a million, above it the upper bound
/// `(2/3)n^{3/2} + √n/2`.
fn sum_of_roots(n: u64) -> f64 {
    if n <= 1_000_000 {
        let sum: f64 = (1..=n).map(|j| (j as f64).sqrt()).sum();
        return sum * (1.0 + n as f64 * f64::EPSILON);
    }
    let n = n as f64;
    (2.0 / 3.0 * n.powf(1.5) + 0.5 * n.sqrt()) * (1.0 + 4.0 * f64::EPSILON)
}

/// `c_γ = max(√(3n ln(n/γ)/T), 3n ln(n/γ)/T)`: the paper's excess of visits over their mean, for
/// all rows at once.
pub fn visit_excess(rows: f64, steps: f64, gamma: f64) -> f64 {
    let x = 3.0 * rows * (rows / gamma).ln() / steps;
    x.sqrt().max(x)
}

/// The paper's sensitivity with its square root and its missing factor `c` restored.
pub fn paper(shape: &StepBounds, rows: f64, steps: f64, gamma: f64) -> f64 {
    let visits = steps / rows * (1.0 + visit_excess(rows, steps, gamma));
    let StepBounds { norm, label, eta, .. } = *shape;
    let move_of_one = 2.0 * eta * label * norm * (1.0 + norm * (eta * steps).sqrt());
    move_of_one * (std::f64::consts::E * visits * (1.0 + visits)).sqrt()
}

/// The paper's Gaussian scale `√(2 ln(2.5/δ))/ε`, proven for `ε ≤ 1`.
pub fn paper_multiplier(epsilon: f64, delta: f64) -> f64 {
    (2.0 * (2.5 / delta).ln()).sqrt() / epsilon
}
