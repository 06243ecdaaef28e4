//! The losses, one file each, with the constants that their gradients obey.
//!
//! Most have the form `φ(⟨w, x⟩, y)` and implement [`LinearLoss`]; their gradient is `slope · x`.
//! Softmax, and the squared loss on more than two classes, have one weight vector per class and a residual vector in place of the slope: [`MultiLoss`].

mod cauchy;
mod hinge;
mod huber;
mod logistic;
mod one_hot;
mod power;
mod row;
mod sigmoid;
mod softmax;
mod squared;
mod welsch;

use serde::{Deserialize, Serialize};

use crate::{Domain, Regularity, RowBounds};

pub use cauchy::Cauchy;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use one_hot::OneHot;
pub use power::Power;
pub use row::extended_norm;
pub use sigmoid::Sigmoid;
pub use softmax::Softmax;
pub use squared::Squared;
pub use welsch::Welsch;

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

/// A loss with one weight vector per class.
///
/// Its gradient is `residual ⊗ x`.
pub trait MultiLoss: Copy + Send + Sync {
    /// How many classes.
    fn classes(self) -> usize;

    /// Turns margins into the residual, in place. A class that does not exist counts as the last one, because nothing
    /// that happens here may stop a run for the sake of one row.
    fn residual(self, margins: &mut [f64], class: usize);
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
    /// The squared distance to the class, halved: two classes are -1 and +1, more are the unit vectors.
    OneHot {
        /// How many.
        classes: usize,
    },
    /// Squared near zero, linear beyond the threshold.
    Huber {
        /// Where it turns linear.
        threshold: f64,
    },
    /// `1/(1 + e^{y⟨w,x⟩})`, two classes; not convex.
    Sigmoid,
    /// `(k²/2)(1 − e^{−r²/k²})`; not convex.
    Welsch {
        /// `k`: rows much farther off pull no more.
        threshold: f64,
    },
    /// `(k²/2) ln(1 + r²/k²)`; not convex.
    Cauchy {
        /// `k`: rows farther off pull less and less.
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
            Self::OneHot { .. } => "one-hot",
            Self::Huber { .. } => "huber",
            Self::Sigmoid => "sigmoid",
            Self::Welsch { .. } => "welsch",
            Self::Cauchy { .. } => "cauchy",
        }
    }

    /// Whether labels are classes rather than numbers.
    pub fn is_classification(self) -> bool {
        matches!(
            self,
            Self::Logistic
                | Self::Softmax { .. }
                | Self::Hinge { .. }
                | Self::OneHot { .. }
                | Self::Sigmoid
        )
    }

    /// Whether it is convex in the weights. A proof that needs convexity is no proof for the others.
    pub fn is_convex(self) -> bool {
        !matches!(self, Self::Sigmoid | Self::Welsch { .. } | Self::Cauchy { .. })
    }

    /// Weight vectors: the number of classes for softmax and for one-hot with more than two, one otherwise.
    pub fn outputs(self) -> usize {
        match self {
            Self::Softmax { classes } => classes,
            Self::OneHot { classes } if classes > 2 => classes,
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
            Self::Squared | Self::OneHot { classes: 0..=2 } => squared::regularity(bounds, domain),
            Self::OneHot { classes } => one_hot::regularity(classes, bounds, domain),
            Self::Huber { threshold } => huber::regularity(threshold, bounds, domain),
            Self::Sigmoid => sigmoid::regularity(bounds),
            Self::Welsch { threshold } => welsch::regularity(threshold, bounds, domain),
            Self::Cauchy { threshold } => cauchy::regularity(threshold, bounds, domain),
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

    /// Hands the linear loss to `visitor`; none for one with several weight vectors, which is no linear loss.
    #[inline(always)]
    pub fn visit_linear<V: LinearVisitor>(self, visitor: V) -> Option<V::Output> {
        Some(match self {
            Self::Logistic => visitor.visit(Logistic),
            Self::Hinge { q: 1.0 } => visitor.visit(hinge::PlainHinge),
            Self::Hinge { q } => visitor.visit(Hinge { q }),
            Self::Power { q } => visitor.visit(Power { q }),
            Self::Squared | Self::OneHot { classes: 0..=2 } => visitor.visit(Squared),
            Self::Huber { threshold } => visitor.visit(Huber { threshold }),
            Self::Sigmoid => visitor.visit(Sigmoid),
            Self::Welsch { threshold } => visitor.visit(Welsch { threshold }),
            Self::Cauchy { threshold } => visitor.visit(Cauchy { threshold }),
            Self::Softmax { .. } | Self::OneHot { .. } => return None,
        })
    }
}

/// The constants of a loss of the residual whose slope rises up to the residual `steepest` and falls beyond, with
/// curvature at most one.
fn redescending(
    loss: impl LinearLoss,
    steepest: f64,
    bounds: RowBounds,
    domain: &Domain,
) -> Regularity {
    let (b, y) = (bounds.norm(), bounds.label());
    let lipschitz = b * loss.slope(steepest.min(y + b * domain.radius()), 0.0);
    Regularity {
        lipschitz,
        gradient_difference: 2.0 * lipschitz,
        smoothness: Some(b * b),
        hessian_trace: Some(b * b),
        hessian_rank: 1,
        holder_order: 1.0,
        holder_constant: b * b,
        gradient_at_zero: b * loss.slope(steepest.min(y), 0.0),
        value_at_zero: loss.value(y, 0.0),
        strong_convexity: 0.0,
    }
}
