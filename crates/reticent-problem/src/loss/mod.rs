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

/// Work to be done with a linear loss of any kind: the branch on the loss is taken once, outside
/// every loop.
pub trait LinearVisitor {
    /// The result of the work.
    type Output;
    /// Does the work with a linear loss.
    fn visit<L: LinearLoss>(self, loss: L) -> Self::Output;
}

/// Work to be done with a loss of any kind. Every loss is one or the other, so none is passed over.
pub trait LossVisitor: LinearVisitor {
    /// Does the work with a loss that has one weight vector per class.
    fn visit_multi<L: MultiLoss>(self, loss: L) -> Self::Output;
}

/// The labels that a loss is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// One of two classes, as -1 or +1.
    TwoClasses,
    /// One of several classes.
    Classes {
        /// The number of classes that the loss has constants for.
        count: usize,
        /// The fewest that the loss serves.
        least: usize,
    },
    /// A number.
    Numbers,
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

    /// The labels that it is for.
    pub fn labels(self) -> LabelKind {
        match self {
            Self::Logistic | Self::Hinge { .. } | Self::Sigmoid => LabelKind::TwoClasses,
            Self::Softmax { classes } => LabelKind::Classes { count: classes, least: 3 },
            Self::OneHot { classes } => LabelKind::Classes { count: classes, least: 2 },
            Self::Power { .. }
            | Self::Squared
            | Self::Huber { .. }
            | Self::Welsch { .. }
            | Self::Cauchy { .. } => LabelKind::Numbers,
        }
    }

    /// Whether labels are classes rather than numbers.
    pub fn is_classification(self) -> bool {
        self.labels() != LabelKind::Numbers
    }

    /// Whether labels are -1 and +1.
    pub fn is_signed(self) -> bool {
        self.is_classification() && self.outputs() == 1
    }

    /// Whether it is convex in the weights. A proof that needs convexity is no proof for the others.
    pub fn is_convex(self) -> bool {
        match self {
            Self::Logistic
            | Self::Softmax { .. }
            | Self::Hinge { .. }
            | Self::Power { .. }
            | Self::Squared
            | Self::OneHot { .. }
            | Self::Huber { .. } => true,
            Self::Sigmoid | Self::Welsch { .. } | Self::Cauchy { .. } => false,
        }
    }

    /// Weight vectors: the number of classes for softmax and for one-hot with more than two, one otherwise.
    pub fn outputs(self) -> usize {
        match self {
            Self::Softmax { classes } | Self::OneHot { classes: classes @ 3.. } => classes,
            Self::Logistic
            | Self::Hinge { .. }
            | Self::Power { .. }
            | Self::Squared
            | Self::OneHot { classes: 0..=2 }
            | Self::Huber { .. }
            | Self::Sigmoid
            | Self::Welsch { .. }
            | Self::Cauchy { .. } => 1,
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
        match self {
            Self::Softmax { .. } => return softmax::dual_constants(norm, p),
            // No bound is proven in another norm.
            Self::OneHot { classes: 3.. } => return (f64::INFINITY, None),
            Self::Logistic
            | Self::Hinge { .. }
            | Self::Power { .. }
            | Self::Squared
            | Self::OneHot { classes: 0..=2 }
            | Self::Huber { .. }
            | Self::Sigmoid
            | Self::Welsch { .. }
            | Self::Cauchy { .. } => {}
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

    /// Hands the loss to `visitor`. The residual of one-hot is held to the length `limit`; a linear
    /// loss is handed over as it is.
    #[inline(always)]
    pub fn visit<V: LossVisitor>(self, limit: f64, visitor: V) -> V::Output {
        match self {
            Self::Logistic => visitor.visit(Logistic),
            Self::Softmax { classes } => visitor.visit_multi(Softmax { classes }),
            Self::Hinge { q: 1.0 } => visitor.visit(hinge::PlainHinge),
            Self::Hinge { q } => visitor.visit(Hinge { q }),
            Self::Power { q } => visitor.visit(Power { q }),
            Self::Squared | Self::OneHot { classes: 0..=2 } => visitor.visit(Squared),
            Self::OneHot { classes } => visitor.visit_multi(OneHot { classes, limit }),
            Self::Huber { threshold } => visitor.visit(Huber { threshold }),
            Self::Sigmoid => visitor.visit(Sigmoid),
            Self::Welsch { threshold } => visitor.visit(Welsch { threshold }),
            Self::Cauchy { threshold } => visitor.visit(Cauchy { threshold }),
        }
    }

    /// Hands the linear loss to `visitor`; none for one with several weight vectors.
    #[inline(always)]
    pub fn visit_linear<V: LinearVisitor>(self, visitor: V) -> Option<V::Output> {
        self.visit(f64::INFINITY, OnlyLinear(visitor))
    }
}

struct OnlyLinear<V>(V);

impl<V: LinearVisitor> LinearVisitor for OnlyLinear<V> {
    type Output = Option<V::Output>;

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) -> Self::Output {
        Some(self.0.visit(loss))
    }
}

impl<V: LinearVisitor> LossVisitor for OnlyLinear<V> {
    #[inline(always)]
    fn visit_multi<L: MultiLoss>(self, _: L) -> Self::Output {
        None
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
