//! The set that holds the weights, as a user names it.

use reticent_optim::setting::{P, Settings};
use reticent_problem::{Domain, ProblemError};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The shape of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetName {
    /// `‖w‖₂ <= radius`.
    Ball,
    /// `‖w‖₁ <= radius`.
    L1,
    /// `‖w‖_p <= radius`.
    Lp,
    /// `w >= 0`, adding up to `radius`.
    Simplex,
    /// `low <= w <= high`.
    Box,
    /// The norms of the groups add up to at most `radius`.
    Group,
    /// The norm of each group is at most `radius`.
    Product,
}

/// The user's choice of a constraint set; the default leaves the weights unconstrained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetChoice {
    /// Its shape; a ball, if there is a radius and no name.
    pub set: Option<SetName>,
    /// Its size.
    pub radius: Option<f64>,
    /// The exponent of the norm.
    pub p: Option<f64>,
    /// Lower ends of the box: one for all weights or one for each.
    pub low: Vec<f64>,
    /// Upper ends of the box.
    pub high: Vec<f64>,
    /// Sizes of consecutive groups of weights.
    pub groups: Vec<usize>,
    /// The weight of each group's norm; 1 if empty.
    pub group_weights: Vec<f64>,
}

impl SetChoice {
    /// The set of weights of this dimension.
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotOfSet`] for a parameter that the set does not have. Values of its
    /// parameters are checked with the problem.
    pub fn domain(&self, dimension: usize) -> Result<Domain, Error> {
        let set = match (self.set, self.radius) {
            (None, None) => None,
            (None, Some(_)) => Some(SetName::Ball),
            (named, _) => named,
        };
        // A radius that was not given is no number, and is asked for when the problem is checked.
        let size = self.radius.unwrap_or(f64::NAN);
        let each = |values: &[f64]| match values {
            [one] => vec![*one; dimension],
            many => many.to_vec(),
        };
        let sizes = || self.groups.clone();
        let domain = match set {
            None => Domain::Unbounded,
            Some(SetName::Ball) => Domain::Ball { radius: size },
            Some(SetName::L1) => Domain::L1 { radius: size },
            Some(SetName::Lp) => match self.p.unwrap_or(f64::NAN) {
                1.0 => Domain::L1 { radius: size },
                2.0 => Domain::Ball { radius: size },
                f64::INFINITY => {
                    Domain::Box { low: vec![-size; dimension], high: vec![size; dimension] }
                }
                p => Domain::Lp { p, radius: size, dimension },
            },
            Some(SetName::Simplex) => Domain::Simplex { total: size },
            Some(SetName::Box) => Domain::Box { low: each(&self.low), high: each(&self.high) },
            Some(SetName::Group) => {
                let weights = (!self.group_weights.is_empty()).then(|| self.group_weights.clone());
                Domain::Group { radius: size, sizes: sizes(), weights }
            }
            Some(SetName::Product) => Domain::Product { radius: size, sizes: sizes() },
        };
        let is_box = set == Some(SetName::Box);
        let grouped = matches!(set, Some(SetName::Group | SetName::Product));
        for (name, wrong) in [
            ("low", !is_box && !self.low.is_empty()),
            ("high", !is_box && !self.high.is_empty()),
            ("radius", is_box && self.radius.is_some()),
            ("groups", !grouped && !self.groups.is_empty()),
            ("group_weights", set != Some(SetName::Group) && !self.group_weights.is_empty()),
        ] {
            if wrong {
                let set = domain.name();
                return Err(ProblemError::NotOfSet { name, set }.into());
            }
        }
        Ok(domain)
    }

    /// The settings of an algorithm beside this set. The exponent of `lp` is a part of the set, and
    /// mirror descent takes it from there.
    pub fn settings(&self, given: Settings) -> Settings {
        if self.set == Some(SetName::Lp) { given.as_in(&P, &Settings::default()) } else { given }
    }
}
