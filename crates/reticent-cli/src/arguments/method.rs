//! How a model is fitted: an algorithm, the set of weights, settings.

use clap::Args;
use reticent::SetChoice;
use reticent::optim::Settings;
use reticent::optim::setting::P;
use reticent::problem::Domain;

use super::declared::DeclaredArgs;
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

    /// Where weights of this dimension may lie.
    pub(crate) fn domain(&self, dimension: usize) -> Result<Domain, reticent::Error> {
        self.choice().domain(dimension)
    }
}
