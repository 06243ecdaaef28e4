//! The properties of a loss that the rest of the project needs.
//!
//! Each loss states all of them in its own file, in an [`About`] and in an implementation of
//! [`Describe`]. Nothing has a default on the unsafe side: convexity, labels, constants and ranges
//! must be written down, and a file that leaves one out does not compile.

use super::{LossVisitor, Signal, Thresholds};
use crate::{Domain, Loss, ProblemError, Regularity, RowBounds};

/// The facts of a loss that do not depend on its parameters.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name by which it is declared, stored and shown.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// A description for help texts: one phrase.
    pub help: &'static str,
    /// Whether it is convex in the weights. A proof that needs convexity is no proof for the
    /// others.
    pub convex: bool,
    /// Whether the slope keeps one sign for each label, whatever the margin.
    pub monotone: bool,
    /// Whether the gradient with a clamped slope is the gradient of a loss with the same curvature
    /// bounds, so that `slope_limit` may be given.
    pub slope_limit: bool,
    /// How margins become predictions.
    pub predicts: Predicts,
    /// The loss with these parameters, and with its defaults for the absent ones.
    pub make: fn(&Parameters) -> Loss,
    /// Parameters at which tests check its constants and audit it: at least one.
    pub samples: &'static [Loss],
}

/// The parameters that losses have. A loss takes those that it knows and leaves the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The number of classes.
    pub classes: usize,
    /// An exponent.
    pub q: Option<f64>,
    /// A threshold on the scale of labels.
    pub threshold: Option<f64>,
    /// Which quantile is estimated.
    pub quantile: Option<f64>,
    /// How much more than its mean a count varies.
    pub dispersion: Option<f64>,
    /// The thresholds between ordered levels.
    pub thresholds: Option<Thresholds>,
}

/// How margins become predictions.
#[derive(Clone, Copy, Debug)]
pub enum Predicts {
    /// The class with the largest margin, or the sign of a single margin.
    Class,
    /// The same class, and a probability for each.
    Probabilities {
        /// Turns the margins of a row into the classes' probabilities, in place; a single margin
        /// into that of the class +1.
        of: fn(&mut [f64]),
        /// The ONNX operator that does the same.
        onnx: &'static str,
    },
    /// A number on the scale of the labels.
    Number,
}

/// From a margin to the predicted number, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The margin is the prediction.
    Identity,
    /// The margin is the logarithm of the prediction.
    Log,
    /// The prediction is the mean of levels whose log-odds are the margin less each threshold.
    Levels(Thresholds),
}

impl Link {
    /// The prediction at a margin.
    pub fn prediction(self, margin: f64) -> f64 {
        match self {
            Self::Identity => margin,
            Self::Log => margin.exp(),
            Self::Levels(thresholds) => thresholds.mean(margin).0,
        }
    }

    /// The margin at which a number is predicted, and the standard deviation of that margin if the
    /// number has the given one (to first order). Not finite where no margin predicts it.
    pub fn margin(self, predicted: f64, deviation: f64) -> (f64, f64) {
        match self {
            Self::Identity => (predicted, deviation),
            Self::Log => (predicted.ln(), deviation / predicted),
            Self::Levels(thresholds) => {
                let margin = thresholds.margin(predicted);
                (margin, deviation / thresholds.mean(margin).1)
            }
        }
    }

    /// The factor of the margin and the constant beside it that give predictions on the scale
    /// `offset + scale · prediction`. A logarithm takes no offset: labels with one have none. The
    /// log-odds of levels have no scale but their own.
    pub fn rescaled(self, scale: f64, offset: f64) -> (f64, f64) {
        match self {
            Self::Identity => (scale, offset),
            Self::Log => (1.0, scale.ln()),
            Self::Levels(_) => (1.0, 0.0),
        }
    }

    /// The ONNX operators from margins to predictions, in order: of levels, from the margin less
    /// each threshold to the odds whose mean it is.
    pub fn onnx(self) -> &'static [&'static str] {
        match self {
            Self::Identity => &[],
            Self::Levels(_) => &["Sigmoid"],
            Self::Log => &["Exp"],
        }
    }
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
    /// A number in `[-Y, Y]`.
    Numbers,
    /// A number in `[0, Y]`: a count, a cost, a duration.
    NonNegative,
    /// One of several ordered levels, evenly spread from -1 to 1.
    Levels {
        /// How many.
        count: usize,
    },
}

/// The properties of a loss that depend on its parameters.
pub(super) trait Describe {
    /// The labels that it is for.
    fn labels(&self) -> LabelKind;

    /// Whether its parameters lie in their ranges.
    fn check(&self) -> Result<(), ProblemError>;

    /// The constants on this domain for rows within these bounds, without ridge.
    fn regularity(&self, bounds: RowBounds, domain: &Domain) -> Regularity;

    /// The largest slope, or norm of the residual, of a row with `|⟨w,x⟩| ≤ reach` and
    /// `|y| = label`.
    fn row_slope(&self, reach: f64, label: f64) -> f64;

    /// A loss of the residual and a limit on its slope: where zero is predicted, its limited slope
    /// has about the size of this one's. None where that size tells nothing of a row but its norm.
    fn at_zero(&self) -> Option<(Loss, f64)>;

    /// How margins become predicted numbers; for classification they stay as they are.
    fn link(&self) -> Link {
        Link::Identity
    }

    /// The label of a simulated row with the true margins `truth` and normal `noise`, for labels of
    /// size at most `bound`.
    fn simulated(&self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64;

    /// Half the deviance of a label from a predicted number, where `evaluate` reports the explained
    /// share of it.
    fn deviance(&self, _label: f64, _predicted: f64) -> Option<f64> {
        None
    }

    /// The factor from the deviance of labels to that of targets `scale` times as large.
    fn deviance_factor(&self, scale: f64) -> f64 {
        scale
    }

    /// Which quantile of the labels is predicted; none for a loss that predicts their mean or near
    /// it.
    fn quantile(&self) -> Option<f64> {
        None
    }

    /// The parameter that errors name beside the loss, if any.
    fn detail(&self) -> Option<(&'static str, f64)> {
        None
    }

    /// The Lipschitz and smoothness constants of a loss with several weight vectors, for weights in
    /// `l_p` and rows of norm at most `norm` in the dual norm. Infinite where none is proven.
    fn dual_constants(&self, _norm: f64, _p: f64) -> (f64, Option<f64>) {
        (f64::INFINITY, None)
    }

    /// Hands the loss to `visitor`. A residual vector is held to the length `limit` where the loss
    /// can be limited; a linear loss is handed over as it is.
    fn accept<V: LossVisitor>(self, limit: f64, visitor: V) -> V::Output
    where
        Self: Sized;
}

/// Refuses a parameter outside its range.
pub(super) fn range(
    ok: bool,
    name: &'static str,
    expected: &'static str,
    got: f64,
) -> Result<(), ProblemError> {
    if ok { Ok(()) } else { Err(ProblemError::OutOfRange { name, expected, got }) }
}

/// Refuses a threshold that is not a finite number above zero.
pub(super) fn check_threshold(threshold: f64) -> Result<(), ProblemError> {
    let ok = threshold.is_finite() && threshold > 0.0;
    range(ok, "threshold", "a finite number > 0", threshold)
}

/// Refuses an exponent outside `[1, 2]`.
pub(super) fn check_exponent(q: f64) -> Result<(), ProblemError> {
    range((1.0..=2.0).contains(&q), "q", "between 1 and 2", q)
}

/// Refuses a quantile outside `(0, 1)`.
pub(super) fn check_quantile(quantile: f64) -> Result<(), ProblemError> {
    range(quantile > 0.0 && quantile < 1.0, "quantile", "between 0 and 1, both excluded", quantile)
}

/// Refuses a dispersion that is not a finite number above zero.
pub(super) fn check_dispersion(dispersion: f64) -> Result<(), ProblemError> {
    let ok = dispersion.is_finite() && dispersion > 0.0;
    range(ok, "dispersion", "a finite number > 0", dispersion)
}

/// Refuses fewer than two classes.
pub(super) fn check_classes(classes: usize) -> Result<(), ProblemError> {
    range(classes >= 2, "classes", "at least 2", classes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_go_both_ways_and_follow_the_scale_of_the_target() {
        for link in [Link::Identity, Link::Log] {
            for predicted in [0.01, 0.3, 1.0] {
                let (margin, deviation) = link.margin(predicted, 1e-6);
                assert!((link.prediction(margin) - predicted).abs() < 1e-15, "{link:?}");
                let moved = link.prediction(margin + deviation) - predicted;
                assert!((moved - 1e-6).abs() < 1e-9, "{link:?}: {moved}");
                let (factor, constant) = link.rescaled(50.0, 0.0);
                let on_target = link.prediction(factor * margin + constant);
                assert!((on_target - 50.0 * predicted).abs() < 1e-12, "{link:?}: {on_target}");
            }
        }
        assert!(!Link::Log.margin(-0.1, 0.1).0.is_finite());
    }
}
