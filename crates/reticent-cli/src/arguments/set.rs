//! Sets that hold the weights.

use clap::{Args, ValueEnum};
use reticent::{SetChoice, SetName};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetWord {
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
    pub(crate) set: Option<SetWord>,
    /// Lower ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) low: Vec<f64>,
    /// Upper ends of the box: one for all weights or one for each, separated by commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) high: Vec<f64>,
    /// Sizes of consecutive groups of weights, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) groups: Vec<usize>,
    /// Weight of each group's norm; 1 if not given
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) group_weights: Vec<f64>,
}

impl SetArgs {
    /// The chosen constraint set.
    pub(super) fn choice(&self, radius: Option<f64>, p: Option<f64>) -> SetChoice {
        let set = self.set.map(|set| match set {
            SetWord::Ball => SetName::Ball,
            SetWord::L1 => SetName::L1,
            SetWord::Lp => SetName::Lp,
            SetWord::Simplex => SetName::Simplex,
            SetWord::Box => SetName::Box,
            SetWord::Group => SetName::Group,
            SetWord::Product => SetName::Product,
        });
        SetChoice {
            set,
            radius,
            p,
            low: self.low.clone(),
            high: self.high.clone(),
            groups: self.groups.clone(),
            group_weights: self.group_weights.clone(),
        }
    }
}
