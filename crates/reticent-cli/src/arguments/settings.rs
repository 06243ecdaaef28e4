//! What a user may fix of an algorithm.

use clap::{Args, ValueEnum};
use reticent::optim::clipped_sgd::Output;
use reticent::optim::least_squares::Order;
use reticent::optim::least_squares::parameters::Schedule;
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{Calibration, Request};
use reticent::problem::Domain;

use super::set::SetArgs;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationName {
    /// The least noise that we can prove
    Tight,
    /// As proven in the paper, errata corrected
    Paper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseName {
    Auto,
    Gaussian,
    Ball,
    GeneralizedGaussian,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputName {
    /// The mean of all iterates
    Average,
    /// The mean of the later half
    TailAverage,
    /// The last one
    Last,
    /// A random one
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// One row, in passes over all of them
    Passes,
    /// One uniform row, independent of all others
    WithReplacement,
    /// All rows
    Full,
}

impl OrderName {
    fn order(self) -> Order {
        match self {
            Self::Passes => Order::Passes,
            Self::WithReplacement => Order::WithReplacement,
            Self::Full => Order::Full,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleName {
    /// Few and long
    LargeStep,
    /// Many of length 1/n
    SmallStep,
}

impl ScheduleName {
    fn schedule(self) -> Schedule {
        match self {
            Self::LargeStep => Schedule::LargeStep,
            Self::SmallStep => Schedule::SmallStep,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct SettingsArgs {
    /// The algorithm; auto takes the one that does best on made-up tables, with all its settings
    #[arg(long, default_value = "auto")]
    pub(crate) algorithm: String,
    /// How the noise is calibrated
    #[arg(long, value_enum, default_value = "tight")]
    pub(crate) calibration: CalibrationName,
    /// The noise; generalized-gaussian is for mirror descent
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) noise: NoiseName,
    /// Ridge (mu/2)|w|^2 on every weight; chosen without looking at data if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) mu: Option<f64>,
    /// Keep the weights in a set of this radius: a Euclidean ball unless `set` names another
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) radius: Option<f64>,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    /// Clamp the slope of the loss, so that its gradient is bounded
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) slope_limit: Option<f64>,
    /// Number of steps
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) steps: Option<u64>,
    /// Length of a step
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) eta: Option<f64>,
    /// Begin with that length, and let it follow the noisy gradients of clipped-sgd; it costs nothing
    #[arg(long)]
    pub(crate) adapt_eta: bool,
    /// Keep this part of the direction that the rows have in common, bring features to a like size, and with numbers begin at the labels' mean, all found privately, in clipped-sgd: it needs less noise
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) keep_common: Option<f64>,
    /// A guess of the best weights' norm: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) distance: Option<f64>,
    /// Cap the number of steps that is chosen where none is given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) max_steps: Option<u64>,
    /// Passes over the rows
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) passes: Option<u64>,
    /// Which rows a step of least squares uses
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderName>,
    /// Leave the residuals of least squares unclamped
    #[arg(long)]
    pub(crate) exact: bool,
    /// The steps of least squares in paper calibration; large-step if not given
    #[arg(long, value_enum)]
    pub(crate) schedule: Option<ScheduleName>,
    /// A guess of how smooth the target of least squares is for its kernel, above 1/2 and at most 1; 1 if not given: tunes the run,
    /// never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) regularity: Option<f64>,
    /// A guess of how large the kernel's space is, between 0 and 1; 1/2 if not given: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) capacity: Option<f64>,
    /// Rows that a step uses; the expected number where they are sampled
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) batch: Option<u64>,
    /// The norm to which a row's gradient is clipped
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip: Option<f64>,
    /// Clip to this part of the usual gradient, which is found privately; for numbers as labels
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip_part: Option<f64>,
    /// Choose the clip norm privately, near the smallest per-row Lipschitz constant, spending this much of epsilon; with
    /// `--clip-part`, what finding the usual gradient spends (a tenth of epsilon if not given)
    #[arg(long, value_name = "EPSILON", allow_hyphen_values = true)]
    pub(crate) clip_selection: Option<f64>,
    /// Where the grid of that choice begins
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip_low: Option<f64>,
    /// Where it ends
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) clip_high: Option<f64>,
    /// Clip for heavy tails: a bound on E[G^k]^(1/k) of the gradients' lengths G, known without the data
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) gradient_moment: Option<f64>,
    /// The order k of that moment, above 1; `inf` for a bound on all of them; 2 if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) moment_order: Option<f64>,
    /// How often the risk bound may fail over the draw of the table; 0.1 if not given
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) moment_failure: Option<f64>,
    /// Beyond this distance from the best weights the loss grows
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) growth_radius: Option<f64>,
    /// A bound on the curvature of the averaged loss, where rows give none: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) smoothness: Option<f64>,
    /// Which iterate of noisy steps is released; all cost the same
    #[arg(long, value_enum)]
    pub(crate) output: Option<OutputName>,
    /// Put a layer of this many tanh units before the outputs; 256 if no number is given
    #[arg(long, num_args = 0..=1, default_missing_value = "256", value_name = "WIDTH")]
    pub(crate) hidden: Option<usize>,
    /// A bound on the standard deviation of a row's gradient, where the rows have none: tunes the run, never the guarantee
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) deviation: Option<f64>,
    /// Use the sharper sensitivity of the logistic loss along the trajectory
    #[arg(long)]
    pub(crate) trajectory: bool,
}

impl SettingsArgs {
    /// What was fixed.
    pub(crate) fn request(&self) -> Request {
        let calibration = match self.calibration {
            CalibrationName::Tight => Calibration::Tight,
            CalibrationName::Paper => Calibration::Paper,
        };
        let noise = match self.noise {
            NoiseName::Auto => NoiseChoice::Auto,
            NoiseName::Gaussian => NoiseChoice::Gaussian,
            NoiseName::Ball => NoiseChoice::Ball,
            NoiseName::GeneralizedGaussian => NoiseChoice::GeneralizedGaussian,
        };
        Request {
            calibration,
            noise,
            ridge: self.mu,
            steps: self.steps,
            eta: self.eta,
            adapt_eta: self.adapt_eta.then_some(true),
            keep_common: self.keep_common,
            distance: self.distance,
            trajectory: self.trajectory,
            max_steps: self.max_steps,
            passes: self.passes,
            order: self.order.map(OrderName::order),
            exact: self.exact,
            schedule: self.schedule.map(ScheduleName::schedule),
            regularity: self.regularity,
            capacity: self.capacity,
            batch: self.batch,
            clip: self.clip,
            clip_part: self.clip_part,
            clip_selection: self.clip_selection,
            clip_low: self.clip_low,
            clip_high: self.clip_high,
            gradient_moment: self.gradient_moment,
            moment_order: self.moment_order,
            moment_failure: self.moment_failure,
            growth_radius: self.growth_radius,
            smoothness: self.smoothness,
            output: self.output.map(|output| match output {
                OutputName::Average => Output::Average,
                OutputName::TailAverage => Output::TailAverage,
                OutputName::Last => Output::Last,
                OutputName::Random => Output::Random,
            }),
            p: self.set.choice(self.radius).exponent(),
            deviation: self.deviation,
        }
    }

    /// Where weights of this dimension may lie.
    pub(crate) fn domain(&self, dimension: usize) -> Result<Domain, reticent::Error> {
        self.set.choice(self.radius).domain(dimension)
    }
}
