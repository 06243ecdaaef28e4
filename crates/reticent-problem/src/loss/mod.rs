//! The losses, one file each, with the constants that their gradients obey.
//!
//! All but softmax have the form `φ(⟨w, x⟩, y)` and implement [`LinearLoss`]; their gradient is `slope · x`.
//! Softmax has one weight vector per class and a residual vector in place of the slope.

mod hinge;
mod huber;
mod logistic;
mod power;
mod softmax;
mod squared;

use serde::{Deserialize, Serialize};

use crate::{Domain, Regularity, RowBounds};

pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use power::Power;
pub use softmax::Softmax;
pub use squared::Squared;

/// A loss of the form `φ(⟨w, x⟩, y)`.
///
/// Its gradient is `slope · x`, so a row's gradient norm is `|slope|·‖x‖` and no row's gradient is ever
/// written to memory.
pub trait LinearLoss: Copy + Send + Sync {
    /// `φ(margin, label)`.
    fn value(self, margin: f64, label: f64) -> f64;

    /// `∂φ/∂margin`, a fixed choice at a kink.
    fn slope(self, margin: f64, label: f64) -> f64;
}

/// Something to be done with whichever linear loss it is: the branch on the loss is taken once, outside every loop.
pub trait LinearVisitor {
    /// What it gives back.
    type Output;
    /// Does it.
    fn visit<L: LinearLoss>(self, loss: L) -> Self::Output;
}

/// A loss by name, as it is declared, stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Loss {
    /// `ln(1 + e^{−y⟨w,x⟩})`, two classes.
    Logistic,
    /// Cross-entropy over several classes.
    Softmax {
        /// How many.
        classes: usize,
    },
    /// `max(0, 1 − y⟨w,x⟩)^q`, two classes; `q = 1` is the support vector machine.
    Hinge {
        /// `1 ≤ q ≤ 2`.
        q: f64,
    },
    /// `|⟨w,x⟩ − y|^q`; `q = 1` is the absolute loss.
    Power {
        /// `1 ≤ q ≤ 2`.
        q: f64,
    },
    /// `(⟨w,x⟩ − y)²/2`.
    Squared,
    /// Squared near zero, linear beyond the threshold.
    Huber {
        /// Where it turns linear.
        threshold: f64,
    },
}

impl Loss {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::Softmax { .. } => "softmax",
            Self::Hinge { .. } => "hinge",
            Self::Power { .. } => "power",
            Self::Squared => "squared",
            Self::Huber { .. } => "huber",
        }
    }

    /// Whether labels are classes rather than numbers.
    pub fn is_classification(self) -> bool {
        matches!(self, Self::Logistic | Self::Softmax { .. } | Self::Hinge { .. })
    }

    /// Weight vectors: the number of classes for softmax, one otherwise.
    pub fn outputs(self) -> usize {
        match self {
            Self::Softmax { classes } => classes,
            _ => 1,
        }
    }

    /// The constants on this domain for rows within these bounds, without ridge.
    pub fn regularity(self, bounds: RowBounds, domain: &Domain) -> Regularity {
        match self {
            Self::Logistic => logistic::regularity(bounds, domain),
            Self::Softmax { classes } => softmax::regularity(classes, bounds),
            Self::Hinge { q } => hinge::regularity(q, bounds, domain),
            Self::Power { q } => power::regularity(q, bounds, domain),
            Self::Squared => squared::regularity(bounds, domain),
            Self::Huber { threshold } => huber::regularity(threshold, bounds, domain),
        }
    }

    /// The Lipschitz and smoothness constants when weights are measured in `l_p`, `1 ≤ p ≤ 2`, and rows and
    /// gradients in the dual `l_q`, `1/p + 1/q = 1`; no smoothness if the loss is not smooth.
    ///
    /// A linear loss has the gradient `slope·x`, and a margin is at most `‖w‖_p ‖x‖_q`: the formulas are those of the
    /// Euclidean norm with the largest `l_p` norm of a weight and the largest `l_q` norm of a row.
    /// The residual of softmax has `l_q` norm at most `2^{1/q}`, and its Jacobian the norm `2^{−2/p}` from `l_p` to
    /// `l_q`.
    pub fn dual_constants(
        self,
        bounds: RowBounds,
        domain: &Domain,
        p: f64,
        dimension: usize,
    ) -> (f64, Option<f64>) {
        let q = if p == 1.0 { f64::INFINITY } else { p / (p - 1.0) };
        let norm = bounds.norm_in(q);
        if let Self::Softmax { .. } = self {
            return softmax::dual_constants(norm, p);
        }
        let radius = domain.norm_radius(p, dimension);
        let bounds = RowBounds::of_layout(norm, bounds.label(), norm);
        let constants = self.regularity(bounds, &Domain::Ball { radius });
        (constants.lipschitz, constants.smoothness)
    }

    /// Whether the slope keeps one sign for each label, whatever the margin.
    pub fn is_monotone(self) -> bool {
        matches!(self, Self::Logistic | Self::Hinge { .. })
    }

    /// Hands the linear loss to `visitor`; none for softmax, which is no linear loss.
    pub fn visit_linear<V: LinearVisitor>(self, visitor: V) -> Option<V::Output> {
        Some(match self {
            Self::Logistic => visitor.visit(Logistic),
            Self::Hinge { q } => visitor.visit(Hinge { q }),
            Self::Power { q } => visitor.visit(Power { q }),
            Self::Squared => visitor.visit(Squared),
            Self::Huber { threshold } => visitor.visit(Huber { threshold }),
            Self::Softmax { .. } => return None,
        })
    }
}
