//! A problem: the loss, the domain and the declared bounds.

use serde::{Deserialize, Serialize};

use crate::{Domain, Loss, Regularity, Unit};

/// More weights than a model has: some plans make a vector of them, also of a file that somebody
/// altered.
const MOST_WEIGHTS: usize = 1_000_000_000;

/// Why a problem cannot be stated like this. Raised before any row is read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A declared number is absent, or no bound at all.
    #[error(
        "declare `{name}`: it must be a finite number > 0, got {got}; it cannot be taken from the data without spending privacy"
    )]
    NotDeclared {
        /// The parameter.
        name: &'static str,
        /// The value given.
        got: f64,
    },
    /// A parameter lies outside its range.
    #[error("`{name}` must be {expected}, got {got}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its range.
        expected: &'static str,
        /// The value given.
        got: f64,
    },
    /// A proof that needs a convex loss was asked to serve another.
    #[error(
        "a convex loss is needed, and `loss` = {loss} is not convex; choose random-round, or logistic, softmax or huber"
    )]
    NotConvex {
        /// The loss.
        loss: &'static str,
    },
    /// Rows without a norm bound, for an algorithm whose proof relies on one.
    #[error(
        "this algorithm needs bounded rows, and `{name}` is `none`: declare a finite number > 0, or choose truncated-mirror or coordinate-mean, whose guarantees need none"
    )]
    UnboundedRows {
        /// The bound.
        name: &'static str,
    },
    /// A parameter of another set.
    #[error("`{name}` is not a parameter of the {set} set; leave it out or choose another `set`")]
    NotOfSet {
        /// The parameter.
        name: &'static str,
        /// The set.
        set: &'static str,
    },
    /// A limit on the slope of a loss that has none.
    #[error(
        "`slope_limit` needs a loss with one weight vector: the clipped gradient of softmax is not a gradient of a convex loss"
    )]
    NoSlope,
    /// The squared loss on classes for an algorithm that has no proof for it.
    #[error(
        "the one-hot loss is for least-squares alone: choose that `algorithm`, or `loss` logistic for two classes and softmax for more"
    )]
    OnlyLeastSquares,
    /// Ordered levels without their shares.
    #[error(
        "the ordinal loss needs `shares`: about which part of the rows has each level, from the lowest to the highest, 3 to 16 numbers >= 0 of which one is > 0, such as 0.1,0.3,0.4,0.2; they cannot be taken from the data without spending privacy"
    )]
    Shares,
    /// A loss that does not exist.
    #[error("unknown `loss` {got}; expected one of {}", loss_names())]
    UnknownLoss {
        /// The name.
        got: String,
    },
    /// Structured frequencies for a kernel that is not isotropic.
    #[error(
        "structured features need an isotropic kernel; got {kernel}: use `independent` frequencies, or a gaussian, matern or rational-quadratic kernel"
    )]
    NotIsotropic {
        /// The kernel.
        kernel: &'static str,
    },
}

fn loss_names() -> String {
    Loss::ALL.iter().map(|about| about.name).collect::<Vec<_>>().join(", ")
}

/// Public bounds on every row: `‖x‖₂ ≤ norm`, `|x_j| ≤ entry` and `|y| ≤ label`. Rows are forced
/// into them when encoded.
///
/// A bound may be declared absent ([`RowBounds::unbounded`]); then it is infinite, and written as
/// null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowBounds {
    #[serde(with = "or_none")]
    norm: f64,
    #[serde(with = "or_none")]
    label: f64,
    #[serde(with = "or_none", default = "no_bound")]
    entry: f64,
    #[serde(with = "or_none", default = "no_bound")]
    replaced: f64,
}

/// `‖x − x'‖² + ‖x∘x − x'∘x'‖²/E²` over `B²`, at most, for rows of norm at most `B` with entries up
/// to `E`.
///
/// *Proof.* With `s` and `t` the sum and the difference of an entry of both rows over `E`, so that
/// `|s| + |t| ≤ 2`, the entry adds `E²t²(1 + s²)`, which is at most
/// `2t²(1 + s²)/(s² + t²)` times its share in `‖x‖² + ‖x'‖² ≤ 2B²`. That grows with `|t|`, and at
/// `|t| = 2 − |s|` its maximum over `s` is 2.31141 and something, at 0.6778. ∎
pub const REPLACED: f64 = 4.6229;

fn no_bound() -> f64 {
    f64::INFINITY
}

/// An infinite number as null.
pub(crate) mod or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it like this")]
    pub(crate) fn serialize<S: Serializer>(bound: &f64, to: S) -> Result<S::Ok, S::Error> {
        bound.is_finite().then_some(*bound).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

impl RowBounds {
    /// Bounds for regression: both must be declared.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`] if either is not a finite positive number.
    pub fn new(norm: f64, label: f64) -> Result<Self, ProblemError> {
        for (name, got) in [("feature_norm", norm), ("label_bound", label)] {
            if !(got.is_finite() && got > 0.0) {
                return Err(ProblemError::NotDeclared { name, got });
            }
        }
        Ok(Self { norm, label, entry: norm, replaced: f64::INFINITY })
    }

    /// No bound on the features: for algorithms whose guarantee needs none. `label` may be infinite
    /// too.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`] if `label` is no positive number.
    pub fn unbounded(label: f64) -> Result<Self, ProblemError> {
        if label.is_nan() || label <= 0.0 {
            return Err(ProblemError::NotDeclared { name: "label_bound", got: label });
        }
        Ok(Self { norm: f64::INFINITY, label, entry: f64::INFINITY, replaced: f64::INFINITY })
    }

    /// The same with a bound on the size of an entry, which the norm bounds in any case.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`] if it is not a finite positive number.
    pub fn with_entries(self, entry: f64) -> Result<Self, ProblemError> {
        if !(entry.is_finite() && entry > 0.0) {
            return Err(ProblemError::NotDeclared { name: "entry_bound", got: entry });
        }
        Ok(Self { entry: entry.min(self.norm), ..self })
    }

    /// Bounds for classification, where labels are classes and have no size.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`] if the bound is not a finite positive number.
    pub fn features(norm: f64) -> Result<Self, ProblemError> {
        Self::new(norm, 1.0)
    }

    /// Bounds that a layout has already checked.
    pub(crate) fn of_layout(norm: f64, label: f64, entry: f64) -> Self {
        Self { norm, label, entry, replaced: f64::INFINITY }
    }

    /// The same with a bound on [`Self::replaced`].
    pub(crate) fn with_replaced(self, replaced: f64) -> Self {
        Self { replaced, ..self }
    }

    /// Whether every row within `self` is within `other` too.
    pub fn within(self, other: Self) -> bool {
        self.norm <= other.norm
            && self.label <= other.label
            && self.entry() <= other.entry()
            && self.replaced() <= other.replaced()
    }

    /// Bounds `‖x − x'‖² + ‖x∘x − x'∘x'‖²/E²` for any two rows, be they null or not.
    pub fn replaced(self) -> f64 {
        self.replaced.min(REPLACED * self.norm * self.norm)
    }

    /// `B`.
    pub fn norm(self) -> f64 {
        self.norm
    }

    /// The largest size of an entry.
    pub fn entry(self) -> f64 {
        self.entry.min(self.norm)
    }

    /// Bounds `‖x‖_q` for `q ≥ 2`: `B^{2/q} E^{1−2/q}`, because `Σ|x_j|^q ≤ E^{q−2} Σ x_j²`.
    pub fn norm_in(self, q: f64) -> f64 {
        let (norm, entry) = (self.norm, self.entry());
        if norm == entry || q == 2.0 {
            return norm;
        }
        // The powers round a few times.
        (norm.powf(2.0 / q) * entry.powf(1.0 - 2.0 / q) * (1.0 + 1e-14)).min(norm)
    }

    /// `Y`.
    pub fn label(self) -> f64 {
        self.label
    }
}

/// The average loss over `rows` rows of `features` features, plus `(ridge/2)‖w‖²`, over a domain;
/// or over `rows` units, where a unit is declared ([`Unit`]).
///
/// The ridge acts on every coordinate, the intercept too: without it there the objective is not
/// strongly convex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The loss of a row.
    pub loss: Loss,
    /// Where the weights may lie.
    pub domain: Domain,
    /// `μ ≥ 0`.
    pub ridge: f64,
    /// The declared bounds on every row.
    pub bounds: RowBounds,
    /// `n`, public: how many rows; where a unit is declared, how many units.
    pub rows: usize,
    /// Features of a row, the intercept among them.
    pub features: usize,
    /// The slope `∂φ/∂margin` is clamped to `±slope_limit`: the gradient of a convex loss with
    /// Lipschitz constant `slope_limit · B` and the same smoothness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_limit: Option<f64>,
    /// Width of a layer of tanh units between the features and the outputs; none for a linear
    /// model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// How many candidates a private selection runs this one among; none for a problem that is
    /// solved by itself. It changes no number: it keeps a candidate's plan from being taken for a
    /// plan that is charged alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// Whose rows count as one record; none where each row is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Whether the loss of each row is multiplied by a weight between 0 and 1 that the row brings:
    /// all constants hold as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
    /// Features that are the values of a curve at even knots, in order. No guarantee depends on
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<EvenCurve>,
}

/// Features that are tents at even knots, side by side: of a row at most two neighbours are not
/// zero, and they add up to 1, or all are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvenCurve {
    /// The first feature.
    pub start: usize,
    /// How many knots there are.
    pub knots: usize,
}

impl Problem {
    /// The problem without ridge, limit or ball.
    pub fn new(loss: Loss, bounds: RowBounds, rows: usize, features: usize) -> Self {
        Self {
            loss,
            domain: Domain::Unbounded,
            ridge: 0.0,
            bounds,
            rows,
            features,
            slope_limit: None,
            hidden: None,
            candidates: None,
            unit: None,
            weighted: false,
            curves: Vec::new(),
        }
    }

    /// Checks every number that a theorem relies on, and that the loss is convex, as nearly every
    /// theorem needs.
    ///
    /// # Errors
    ///
    /// [`ProblemError`] names the parameter, what it must be and what it was.
    pub fn check(&self) -> Result<(), ProblemError> {
        self.check_numbers()?;
        if self.loss.is_convex() {
            Ok(())
        } else {
            Err(ProblemError::NotConvex { loss: self.loss.name() })
        }
    }

    /// As [`Self::check`], for anyone who needs no convexity.
    ///
    /// # Errors
    ///
    /// [`ProblemError`] names the parameter, what it must be and what it was.
    pub fn check_numbers(&self) -> Result<(), ProblemError> {
        self.check_rows()?;
        self.check_without_bounds()
    }

    fn check_rows(&self) -> Result<(), ProblemError> {
        for (name, bound) in
            [("feature_norm", self.bounds.norm), ("label_bound", self.bounds.label)]
        {
            if bound == f64::INFINITY {
                return Err(ProblemError::UnboundedRows { name });
            }
        }
        RowBounds::new(self.bounds.norm, self.bounds.label)?.with_entries(self.bounds.entry())?;
        let replaced = self.bounds.replaced();
        if replaced.is_nan() || replaced <= 0.0 {
            return Err(ProblemError::NotDeclared { name: "replaced_bound", got: replaced });
        }
        Ok(())
    }

    /// As [`Self::check`], for least squares from zero, which alone takes the squared loss on
    /// classes.
    ///
    /// # Errors
    ///
    /// [`ProblemError`] names the parameter, what it must be and what it was.
    pub fn check_least_squares(&self) -> Result<(), ProblemError> {
        match self.loss {
            Loss::OneHot { .. } => {
                self.check_rows()?;
                self.check_parameters()
            }
            _ => self.check(),
        }
    }

    /// Checks the rest: for algorithms whose guarantee assumes no bound on the rows.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub fn check_without_bounds(&self) -> Result<(), ProblemError> {
        if let Loss::OneHot { .. } = self.loss {
            return Err(ProblemError::OnlyLeastSquares);
        }
        self.check_parameters()
    }

    /// Checks what must hold for any algorithm whatever.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub fn check_parameters(&self) -> Result<(), ProblemError> {
        let range = |ok: bool, name, expected, got| {
            if ok { Ok(()) } else { Err(ProblemError::OutOfRange { name, expected, got }) }
        };
        range(self.rows >= 1, "n", "a whole number >= 1", self.rows as f64)?;
        range(self.features >= 1, "d", "a whole number >= 1", self.features as f64)?;
        if let Some(unit) = &self.unit {
            unit.check()?;
        }
        if let Some(width) = self.hidden {
            range(width >= 1, "hidden", "a whole number >= 1", width as f64)?;
        }
        range(
            self.dimension() <= MOST_WEIGHTS,
            "d",
            "such that the model has at most 10^9 weights: declare fewer features, classes or hidden units",
            self.features as f64,
        )?;
        let ridge = self.ridge;
        range(ridge.is_finite() && ridge >= 0.0, "ridge", "a finite number >= 0", ridge)?;
        range(
            !self.loss.is_signed() || self.bounds.label == 1.0,
            "label_bound",
            "1 for a loss on two classes, whose labels are -1 and +1",
            self.bounds.label,
        )?;
        let mut free = 0;
        for curve in &self.curves {
            let end = curve.start.saturating_add(curve.knots);
            let holds = curve.start >= free && curve.knots >= 3 && end <= self.features;
            let expected = "runs of 3 or more of the features, one after another";
            range(holds, "curves", expected, curve.start as f64)?;
            free = end;
        }
        self.loss.check()?;
        self.domain.check(self.dimension())?;
        if let Some(limit) = self.slope_limit {
            range(limit.is_finite() && limit > 0.0, "slope_limit", "a finite number > 0", limit)?;
            if !self.loss.about().slope_limit {
                return Err(ProblemError::NoSlope);
            }
        }
        Ok(())
    }

    /// How many weights are trained: a block of `features` for each output, or for a network a
    /// block of `features` for each hidden unit and then, for each output, one for each hidden unit
    /// and a constant. A number that does not fit is the largest: no table has so many.
    pub fn dimension(&self) -> usize {
        let outputs = self.loss.outputs();
        match self.hidden {
            None => outputs.saturating_mul(self.features),
            Some(width) => {
                let last = outputs.saturating_mul(width.saturating_add(1));
                width.saturating_mul(self.features).saturating_add(last)
            }
        }
    }

    /// Rows that one record may consist of.
    pub fn rows_of_a_record(&self) -> usize {
        self.unit.as_ref().map_or(1, |unit| unit.max_rows)
    }

    /// The constants of this problem.
    pub fn regularity(&self) -> Regularity {
        let mut regularity = self.loss.regularity(self.bounds, &self.domain);
        if let Some(limit) = self.slope_limit {
            let lipschitz = limit * self.bounds.norm;
            regularity.lipschitz = regularity.lipschitz.min(lipschitz);
            regularity.gradient_difference = regularity.gradient_difference.min(2.0 * lipschitz);
            regularity.gradient_at_zero = regularity.gradient_at_zero.min(lipschitz);
        }
        regularity.strong_convexity = self.ridge;
        regularity
    }
}

#[cfg(test)]
mod tests {
    use super::REPLACED;

    /// `2t²(1 + s²)/(s² + t²)` at `t = 2 − s` changes by less than 8 per unit of `s`, so that a
    /// grid of steps of 1e-6 misses its maximum by less than 8e-6.
    #[test]
    fn replaced_is_the_least_constant_with_four_digits() {
        let at = |s: f64| 2.0 * (2.0 - s).powi(2) * (1.0 + s * s) / (s * s + (2.0 - s).powi(2));
        let most = (0..=2_000_000).map(|i| at(f64::from(i) * 1e-6)).fold(0.0, f64::max);
        assert!(2.0 * (most + 8e-6) <= REPLACED, "{most}");
        assert!(2.0 * most > 4.62, "4.62 would be too small");
    }
}
