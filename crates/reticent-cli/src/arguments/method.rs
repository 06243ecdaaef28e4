//! How a model is fitted: an algorithm, the set of weights, settings.

use clap::Args;
use reticent::optim::Settings;
use reticent::optim::setting::P;
use reticent::problem::Domain;
use reticent::{SetChoice, Task, asks_for_intervals, for_intervals};

use super::declared::DeclaredArgs;
use super::encoding::EncodingArgs;
use super::set::SetArgs;

#[derive(Args, Debug)]
pub(crate) struct MethodArgs {
    /// The algorithm; auto takes the one with the best simulated accuracy, with all its settings
    #[arg(long, default_value = "auto")]
    pub(crate) algorithm: String,
    /// Keep the weights in a set of this radius: a Euclidean ball unless `--set` names another
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) radius: Option<f64>,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Clamp the slope of the loss, so that its gradient is bounded
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) slope_limit: Option<f64>,
    /// Put a layer of this many tanh units before the outputs; 256 if no number is given
    #[arg(long, num_args = 0..=1, default_missing_value = "256", value_name = "WIDTH")]
    pub(crate) hidden: Option<usize>,
    #[command(flatten)]
    pub(crate) declared: DeclaredArgs,
}

impl MethodArgs {
    fn choice(&self) -> SetChoice {
        self.set.choice(self.radius, self.declared.settings.number(&P))
    }

    /// The settings that were given.
    pub(crate) fn settings(&self) -> Settings {
        self.choice().settings(self.declared.settings.clone())
    }

    /// The algorithm as the choice of curves sees it: a set of weights is declared for the columns
    /// as they are, and intervals are for one coefficient of each number.
    pub(crate) fn curves_for(&self) -> &str {
        if asks_for_intervals(&self.declared.settings) {
            "intervals"
        } else if self.radius.is_some() || self.set.set.is_some() {
            "set"
        } else {
            &self.algorithm
        }
    }

    /// The task as it is if intervals are asked for.
    pub(crate) fn for_intervals(
        &self,
        task: Task,
        encoding: &EncodingArgs,
    ) -> Result<Task, reticent::Error> {
        if !asks_for_intervals(&self.declared.settings) {
            return Ok(task);
        }
        for_intervals(task, encoding.numeric_range.is_some())
    }

    /// Where weights of this dimension may lie.
    pub(crate) fn domain(&self, dimension: usize) -> Result<Domain, reticent::Error> {
        self.choice().domain(dimension)
    }
}
