//! The losses, one file each, with the constants that their gradients obey.
//!
//! Most have the form `φ(⟨w, x⟩, y)` and implement [`LinearLoss`]; their gradient is `slope · x`.
//! Softmax, and the squared loss on more than two classes, have one weight vector per class and a
//! residual vector in place of the slope: [`MultiLoss`].
//!
//! A loss describes itself: its file states its name, labels, constants, predictions and ranges
//! ([`About`]). The list in this file is the only one.

mod about;
mod residual;
mod row;
mod simulated;
mod thresholds;
mod visit;

mod cauchy;
mod gamma;
mod hinge;
mod huber;
mod log_cosh;
mod logistic;
mod negative_binomial;
mod one_hot;
mod ordinal;
mod pinball;
mod poisson;
mod power;
mod sigmoid;
mod softmax;
mod squared;
mod tweedie;
mod welsch;

use serde::{Deserialize, Serialize};

use crate::{Domain, ProblemError, Regularity, RowBounds};
use about::Describe;

pub use about::{About, LabelKind, Link, Parameters, Predicts};
pub use row::extended_norm;
pub use simulated::Signal;
pub use thresholds::Thresholds;
pub use visit::{LinearLoss, LinearVisitor, LossVisitor, MultiLoss};

/// Makes [`Loss`] of the list of losses: a type with its parameters, and the file that has it.
macro_rules! losses {
    ($($name:ident $({ $($field:ident: $kind:ty),* })? in $file:ident,)*) => {
        $(pub use $file::$name;)*

        /// A loss by name, as it is declared, stored and shown. The type of the same name states
        /// the formula and the constants.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Loss {
            $(
                #[doc = concat!("[`struct@", stringify!($name), "`].")]
                $name $({
                    $(
                        #[doc = concat!("As in [`struct@", stringify!($name), "`].")]
                        $field: $kind
                    ),*
                })?
            ),*
        }

        impl Loss {
            /// Every loss that exists.
            pub const ALL: &'static [&'static About] = &[$(&$file::ABOUT),*];

            /// The properties of the loss that do not depend on its parameters.
            pub fn about(self) -> &'static About {
                match self {
                    $(Self::$name { .. } => &$file::ABOUT),*
                }
            }

            fn described<T>(self, ask: impl FnOnce(&(dyn Describe + 'static)) -> T) -> T {
                match self {
                    $(Self::$name $({ $($field),* })? => ask(&$name $({ $($field),* })?)),*
                }
            }

            /// Hands the loss to `visitor`: the branch on the loss is taken here, outside every
            /// loop. A residual vector is held to the length `limit` where the loss can be
            /// limited; a linear loss is handed over as it is.
            #[inline(always)]
            pub fn visit<V: LossVisitor>(self, limit: f64, visitor: V) -> V::Output {
                match self {
                    $(Self::$name $({ $($field),* })? => {
                        $name $({ $($field),* })?.accept(limit, visitor)
                    }),*
                }
            }
        }
    };
}

losses! {
    Logistic in logistic,
    Softmax { classes: usize } in softmax,
    Hinge { q: f64 } in hinge,
    Power { q: f64 } in power,
    Squared in squared,
    OneHot { classes: usize } in one_hot,
    Huber { threshold: f64 } in huber,
    Sigmoid in sigmoid,
    Welsch { threshold: f64 } in welsch,
    Cauchy { threshold: f64 } in cauchy,
    Poisson { threshold: f64 } in poisson,
    LogCosh { threshold: f64 } in log_cosh,
    Gamma { threshold: f64 } in gamma,
    Tweedie { q: f64, threshold: f64 } in tweedie,
    NegativeBinomial { dispersion: f64, threshold: f64 } in negative_binomial,
    Pinball { quantile: f64, threshold: f64 } in pinball,
    Ordinal { thresholds: Thresholds } in ordinal,
}

impl Loss {
    /// The loss called `name`, with these parameters.
    ///
    /// # Errors
    ///
    /// [`ProblemError::UnknownLoss`] lists the names.
    pub fn named(name: &str, parameters: &Parameters) -> Result<Self, ProblemError> {
        let is_it = |about: &&&About| about.name == name || about.aliases.contains(&name);
        match Self::ALL.iter().find(is_it) {
            Some(about) => Ok((about.make)(parameters)),
            None => Err(ProblemError::UnknownLoss { got: name.to_owned() }),
        }
    }

    /// The name by which it is declared, stored and shown.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The name with the parameter that decides whether the loss is smooth, for messages.
    pub fn full_name(self) -> String {
        match self.described(Describe::detail) {
            Some((parameter, value)) => format!("{} with {parameter} = {value}", self.name()),
            None => self.name().to_owned(),
        }
    }

    /// The labels that it is for.
    pub fn labels(self) -> LabelKind {
        self.described(Describe::labels)
    }

    /// Whether labels are classes rather than numbers: levels, too, are classes with an order, and
    /// their margins are log-odds.
    pub fn is_classification(self) -> bool {
        match self.labels() {
            LabelKind::TwoClasses | LabelKind::Classes { .. } | LabelKind::Levels { .. } => true,
            LabelKind::Numbers | LabelKind::NonNegative => false,
        }
    }

    /// Whether labels are -1 and +1.
    pub fn is_signed(self) -> bool {
        match self.labels() {
            LabelKind::TwoClasses | LabelKind::Classes { .. } => self.outputs() == 1,
            LabelKind::Numbers | LabelKind::NonNegative | LabelKind::Levels { .. } => false,
        }
    }

    /// Whether it is convex in the weights. A proof that needs convexity is no proof for the
    /// others.
    pub fn is_convex(self) -> bool {
        self.about().convex
    }

    /// Whether the slope keeps one sign for each label, whatever the margin.
    pub fn is_monotone(self) -> bool {
        self.about().monotone
    }

    /// Whether margins are numbers on the scale of the labels. Otherwise they are log-odds or
    /// logarithms, whose size does not follow from the bound on labels.
    pub fn is_on_label_scale(self) -> bool {
        self.predicts_number() && self.link() == Link::Identity
    }

    /// Whether it predicts a number rather than a class.
    pub fn predicts_number(self) -> bool {
        matches!(self.about().predicts, Predicts::Number)
    }

    /// Whether its value is the negative logarithm of the label's probability, so that its mean is
    /// the log loss.
    pub fn is_log_loss(self) -> bool {
        match self.about().predicts {
            Predicts::Probabilities { .. } => true,
            Predicts::Number => matches!(self.link(), Link::Levels(_)),
            Predicts::Class => false,
        }
    }

    /// From a margin to the predicted number; for classes the margin itself.
    pub fn link(self) -> Link {
        self.described(Describe::link)
    }

    /// Half the deviance of a label from a predicted number; none for a loss that has none.
    pub fn deviance(self, label: f64, predicted: f64) -> Option<f64> {
        self.described(|loss| loss.deviance(label, predicted))
    }

    /// The factor from the deviance of labels to that of targets `scale` times as large.
    pub fn deviance_factor(self, scale: f64) -> f64 {
        self.described(|loss| loss.deviance_factor(scale))
    }

    /// Which quantile of the labels is predicted; none for a loss that predicts their mean or near
    /// it.
    pub fn quantile(self) -> Option<f64> {
        self.described(Describe::quantile)
    }

    /// The number that predicts all of these labels best without knowing more of them.
    pub fn constant(self, labels: impl Iterator<Item = f64>) -> f64 {
        let mut labels: Vec<f64> = labels.collect();
        let Some(quantile) = self.quantile() else {
            return labels.iter().sum::<f64>() / labels.len().max(1) as f64;
        };
        labels.sort_unstable_by(f64::total_cmp);
        let place = (quantile * labels.len() as f64).ceil() as usize;
        labels.get(place.max(1) - 1).copied().unwrap_or(0.0)
    }

    /// Whether its parameters lie in their ranges.
    ///
    /// # Errors
    ///
    /// [`ProblemError::OutOfRange`] names the parameter.
    pub fn check(self) -> Result<(), ProblemError> {
        self.described(Describe::check)
    }

    /// The constants on this domain for rows within these bounds, without ridge.
    pub fn regularity(self, bounds: RowBounds, domain: &Domain) -> Regularity {
        self.described(|loss| loss.regularity(bounds, domain))
    }

    /// The Lipschitz and smoothness constants when weights are measured in `l_p`, `1 ≤ p ≤ 2`, and
    /// rows and gradients in the dual `l_q`, `1/p + 1/q = 1`; no smoothness if the loss is not
    /// smooth.
    ///
    /// A linear loss has the gradient `slope·x`, and a margin is at most `‖w‖_p ‖x‖_q`: the
    /// formulas are those of the Euclidean norm with the largest `l_p` norm of a weight and the
    /// largest `l_q` norm of a row. A loss with several weight vectors states its own, or is
    /// refused.
    pub fn dual_constants(
        self,
        bounds: RowBounds,
        domain: &Domain,
        p: f64,
        dimension: usize,
    ) -> (f64, Option<f64>) {
        let q = if p == 1.0 { f64::INFINITY } else { p / (p - 1.0) };
        let norm = bounds.norm_in(q);
        if self.outputs() > 1 {
            return self.described(|loss| loss.dual_constants(norm, p));
        }
        let radius = domain.norm_radius(p, dimension);
        let bounds = RowBounds::of_layout(norm, bounds.label(), norm);
        let constants = self.regularity(bounds, &Domain::Ball { radius });
        (constants.lipschitz, constants.smoothness)
    }

    /// A loss of the residual and a limit on its slope: where zero is predicted, its limited slope
    /// has about the size of this one's. None where that size tells nothing of a row but its norm.
    pub fn at_zero(self) -> Option<(Self, f64)> {
        self.described(Describe::at_zero)
    }

    /// The label of a simulated row with the true margins `truth` and normal `noise`, a number for
    /// each output, for labels of size at most `bound`.
    pub fn simulated_label(self, signal: &Signal, bound: f64, truth: &[f64], noise: &[f64]) -> f64 {
        self.described(|loss| loss.simulated(signal, bound, truth, noise))
    }
}
