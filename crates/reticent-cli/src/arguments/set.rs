//! Sets that hold the weights.

use clap::{Args, ValueEnum};
use reticent::problem::{Domain, ProblemError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetName {
    /// |w|_2 <= radius
    Ball,
    /// |w|_1 <= radius: few weights differ from zero
    L1,
    /// |w|_p <= radius
    Lp,
    /// w >= 0, adding up to radius
    Simplex,
    /// low <= w <= high
    Box,
    /// The norms of the groups add up to at most radius
    Group,
    /// The norm of each group is at most radius
    Product,
}

#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// The shape of the set that the weights are kept in
    #[arg(long, value_enum)]
    pub(crate) set: Option<SetName>,
    /// The exponent of the norm in which weights are measured: of `--set lp`, and of mirror descent
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) p: Option<f64>,
    /// Lower ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) low: Vec<f64>,
    /// Upper ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) high: Vec<f64>,
    /// Sizes of consecutive groups of weights, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) groups: Vec<usize>,
    /// What the norm of each group counts; 1 if not given
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) group_weights: Vec<f64>,
}

impl SetArgs {
    pub(super) fn domain(
        &self,
        radius: Option<f64>,
        dimension: usize,
    ) -> Result<Domain, reticent::Error> {
        let set = match (self.set, radius) {
            (None, None) => None,
            (None, Some(_)) => Some(SetName::Ball),
            (named, _) => named,
        };
        // A radius that was not given is no number, and is asked for when the problem is checked.
        let size = radius.unwrap_or(f64::NAN);
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
            ("radius", is_box && radius.is_some()),
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
}
