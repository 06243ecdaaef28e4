//! A problem: what is minimised, where, and within which declared bounds.

use serde::{Deserialize, Serialize};

use crate::{Domain, Loss, Regularity};

/// More weights than a model has: some plans make a vector of them, also of a file that somebody altered.
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
        /// What was given.
        got: f64,
    },
    /// A parameter lies outside its range.
    #[error("`{name}` must be {expected}, got {got}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its range.
        expected: &'static str,
        /// What was given.
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
    /// Rows without a norm bound, for an algorithm whose proof rests on one.
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

/// Public bounds on every row: `‖x‖₂ ≤ norm`, `|x_j| ≤ entry` and `|y| ≤ label`. Rows are forced into them when encoded.
///
/// A bound may be declared absent ([`RowBounds::unbounded`]); then it is infinite, and written as null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowBounds {
    #[serde(with = "or_none")]
    norm: f64,
    #[serde(with = "or_none")]
    label: f64,
    #[serde(with = "or_none", default = "no_bound")]
    entry: f64,
}

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
        Ok(Self { norm, label, entry: norm })
    }

    /// No bound on the features: for algorithms whose guarantee needs none. `label` may be infinite too.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`] if `label` is no positive number.
    pub fn unbounded(label: f64) -> Result<Self, ProblemError> {
        if label.is_nan() || label <= 0.0 {
            return Err(ProblemError::NotDeclared { name: "label_bound", got: label });
        }
        Ok(Self { norm: f64::INFINITY, label, entry: f64::INFINITY })
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
        Self { norm, label, entry }
    }

    /// Whether every row within `self` is within `other` too.
    pub fn within(self, other: Self) -> bool {
        self.norm <= other.norm && self.label <= other.label && self.entry() <= other.entry()
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

/// The average loss over `rows` rows of `features` features, plus `(ridge/2)‖w‖²`, over a domain.
///
/// The ridge acts on every coordinate, the intercept too: without it there the objective is not strongly convex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// What a row costs.
    pub loss: Loss,
    /// Where the weights may lie.
    pub domain: Domain,
    /// `μ ≥ 0`.
    pub ridge: f64,
    /// What is declared of every row.
    pub bounds: RowBounds,
    /// `n`, public.
    pub rows: usize,
    /// Features of a row, the intercept among them.
    pub features: usize,
    /// The slope `∂φ/∂margin` is clamped to `±slope_limit`: the gradient of a convex loss with Lipschitz
    /// constant `slope_limit · B` and the same smoothness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_limit: Option<f64>,
    /// Width of a layer of tanh units between the features and the outputs; none for a linear model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// How many candidates a private selection runs this one among; none for a problem that is solved
    /// by itself. It changes no number: it keeps a candidate's plan from being taken for a plan that
    /// is charged alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
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
        }
    }

    /// Checks every number that a theorem relies on, and that the loss is convex, as nearly every theorem needs.
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

    /// As [`Self::check`], for whoever needs no convexity.
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
        Ok(())
    }

    /// As [`Self::check`], for least squares from zero, which alone takes the squared loss on classes.
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

    /// Checks the rest: for algorithms whose guarantee rests on no bound on the rows.
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
        range(ridge.is_finite() && ridge >= 0.0, "mu", "a finite number >= 0", ridge)?;
        range(
            !self.loss.is_signed() || self.bounds.label == 1.0,
            "label_bound",
            "1 for a loss on two classes, whose labels are -1 and +1",
            self.bounds.label,
        )?;
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

    /// How many weights are trained: a block of `features` for each output, or for a network a block of `features` for
    /// each hidden unit and then, for each output, one for each hidden unit and a constant. A number that does not fit is
    /// the largest: no table has so many.
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
