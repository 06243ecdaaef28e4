//! What a caller gives, as plain Python values, and what the library makes of it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use reticent::noise::Source;
use reticent::optim::clipped_sgd::Output;
use reticent::optim::least_squares::Order;
use reticent::optim::least_squares::parameters::Schedule;
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{Calibration, Plan, Request};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding, NumericRange, Precision};
use reticent::problem::feature_map::{Construction, Form, Kernel};
use reticent::problem::loss::Parameters;
use reticent::problem::{Domain, Loss, Problem, ProblemError, RowBounds};
use reticent::{
    Error, KernelChoice, SetChoice, SetName, Task, choose_for_cluster, default_delta, map_seed,
    planner,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a Python dictionary as a type of the library.
pub(crate) fn read<T: DeserializeOwned>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<T> {
    pythonize::depythonize(given)
        .map_err(|e| PyValueError::new_err(format!("cannot read the {name}: {e}")))
}

/// What is public about a table, and what is to be learned.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenTask {
    /// A whole declaration; the next three fields make one where there is none.
    declaration: Option<Declaration>,
    /// Columns of a matrix.
    dimension: Option<usize>,
    /// The norm that its rows are clipped to.
    feature_norm: Option<f64>,
    /// Either the classes or the range of the target.
    classes: Option<Vec<Value>>,
    label_range: Option<(f64, f64)>,
    loss: GivenLoss,
    #[serde(default)]
    hidden: Option<usize>,
    intercept: bool,
    #[serde(default)]
    numeric_range: NumericRange,
    precision: Precision,
    #[serde(default)]
    kernel: Option<GivenKernel>,
}

/// A loss by name, with the parameters that were given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenLoss {
    name: String,
    #[serde(default)]
    classes: usize,
    q: Option<f64>,
    threshold: Option<f64>,
}

impl GivenLoss {
    fn named(&self) -> Result<Loss, ProblemError> {
        let Self { classes, q, threshold, .. } = *self;
        Loss::named(&self.name, &Parameters { classes, q, threshold })
    }
}

/// A kernel model: the words of the command.
#[derive(Deserialize)]
pub(crate) struct GivenKernel {
    #[serde(flatten)]
    kernel: Kernel,
    bandwidth: Option<f64>,
    features: Option<usize>,
    map: Option<Construction>,
    form: Form,
    map_seed: Option<u64>,
}

impl GivenTask {
    /// The task for a table of so many rows. The seed of a map is public and, if not given, drawn from the source.
    pub(crate) fn task(mut self, rows: usize, source: &Source) -> Result<Task, Error> {
        let Some(given) = self.kernel.take() else { return self.of_columns() };
        let GivenKernel { kernel, bandwidth, features, map, form, map_seed: seed } = given;
        let choice = KernelChoice { kernel, bandwidth, features, construction: map, form };
        let seed = seed.unwrap_or_else(|| map_seed(source));
        self.of_columns()?.with_kernel(&choice, rows, seed)
    }

    /// The task of the columns themselves.
    fn of_columns(self) -> Result<Task, Error> {
        let declaration = match self.declaration {
            Some(declaration) => declaration,
            None => matrix(self.dimension, self.feature_norm, self.classes, self.label_range)?,
        };
        let encoding = Encoding {
            intercept: self.intercept,
            numeric_range: self.numeric_range,
            precision: self.precision,
            ..Encoding::default()
        };
        let task = Task::new(declaration, encoding).with_loss(self.loss.named()?)?;
        Ok(Task { hidden: self.hidden, ..task })
    }
}

/// The declaration of a matrix and its target, with classes as they were given.
fn matrix(
    dimension: Option<usize>,
    feature_norm: Option<f64>,
    classes: Option<Vec<Value>>,
    label_range: Option<(f64, f64)>,
) -> Result<Declaration, Error> {
    let label = match (classes, label_range) {
        (Some(classes), _) => {
            json!({"name": "label", "role": "target", "type": "categorical", "categories": classes})
        }
        (None, range) => {
            let bounds = range.map(|(min, max)| json!({"min": min, "max": max}));
            json!({"name": "label", "role": "target", "type": "real", "bounds": bounds})
        }
    };
    let features = json!({
        "name": "features", "role": "feature", "type": "real",
        "dimension": dimension, "bounds": {"l2_norm_max": feature_norm},
    });
    let whole = json!({"target": "label", "columns": [features, label]});
    Ok(Declaration::from_json(&whole.to_string())?)
}

/// What may be spent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenBudget {
    epsilon: f64,
    delta: Option<f64>,
    adjacency: String,
}

impl GivenBudget {
    /// The budget for a table of this many rows.
    pub(crate) fn budget(&self, rows: usize) -> Result<Budget, Error> {
        Ok(Budget {
            epsilon: Epsilon::new(self.epsilon)?,
            delta: Delta::new(self.delta.unwrap_or_else(|| default_delta(rows)))?,
            adjacency: self.adjacency()?,
        })
    }

    /// Which tables must be hard to tell apart.
    pub(crate) fn adjacency(&self) -> Result<Adjacency, Error> {
        Ok(self.adjacency.parse()?)
    }
}

/// One number for all, or one for each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Ends {
    One(f64),
    Each(Vec<f64>),
}

impl Ends {
    fn list(ends: Option<&Self>) -> Vec<f64> {
        match ends {
            None => Vec::new(),
            Some(Self::One(end)) => vec![*end],
            Some(Self::Each(ends)) => ends.clone(),
        }
    }
}

/// What a user may fix: the words of the command.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GivenSettings {
    algorithm: String,
    calibration: Calibration,
    noise: NoiseChoice,
    mu: Option<f64>,
    radius: Option<f64>,
    set: Option<SetName>,
    low: Option<Ends>,
    high: Option<Ends>,
    groups: Vec<usize>,
    group_weights: Vec<f64>,
    slope_limit: Option<f64>,
    steps: Option<u64>,
    eta: Option<f64>,
    adapt_eta: Option<bool>,
    keep_common: Option<f64>,
    distance: Option<f64>,
    max_steps: Option<u64>,
    passes: Option<u64>,
    order: Option<Order>,
    exact: bool,
    schedule: Option<Schedule>,
    regularity: Option<f64>,
    capacity: Option<f64>,
    batch: Option<u64>,
    clip: Option<f64>,
    clip_part: Option<f64>,
    clip_selection: Option<f64>,
    clip_low: Option<f64>,
    clip_high: Option<f64>,
    gradient_moment: Option<f64>,
    moment_order: Option<f64>,
    moment_failure: Option<f64>,
    growth_radius: Option<f64>,
    smoothness: Option<f64>,
    output: Option<Output>,
    p: Option<f64>,
    deviation: Option<f64>,
    trajectory: bool,
}

impl Default for GivenSettings {
    fn default() -> Self {
        Self {
            algorithm: "auto".to_owned(),
            calibration: Calibration::Tight,
            noise: NoiseChoice::Auto,
            mu: None,
            radius: None,
            set: None,
            low: None,
            high: None,
            groups: Vec::new(),
            group_weights: Vec::new(),
            slope_limit: None,
            steps: None,
            eta: None,
            adapt_eta: None,
            keep_common: None,
            distance: None,
            max_steps: None,
            passes: None,
            order: None,
            exact: false,
            schedule: None,
            regularity: None,
            capacity: None,
            batch: None,
            clip: None,
            clip_part: None,
            clip_selection: None,
            clip_low: None,
            clip_high: None,
            gradient_moment: None,
            moment_order: None,
            moment_failure: None,
            growth_radius: None,
            smoothness: None,
            output: None,
            p: None,
            deviation: None,
            trajectory: false,
        }
    }
}

impl GivenSettings {
    /// What was fixed.
    pub(crate) fn request(&self) -> Request {
        Request {
            calibration: self.calibration,
            ridge: self.mu,
            noise: self.noise,
            steps: self.steps,
            eta: self.eta,
            adapt_eta: self.adapt_eta,
            keep_common: self.keep_common,
            distance: self.distance,
            trajectory: self.trajectory,
            max_steps: self.max_steps,
            passes: self.passes,
            order: self.order,
            exact: self.exact,
            schedule: self.schedule,
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
            output: self.output,
            p: self.set_choice().exponent(),
            deviation: self.deviation,
        }
    }

    /// The algorithm asked for.
    pub(crate) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    fn set_choice(&self) -> SetChoice {
        SetChoice {
            set: self.set,
            radius: self.radius,
            p: self.p,
            low: Ends::list(self.low.as_ref()),
            high: Ends::list(self.high.as_ref()),
            groups: self.groups.clone(),
            group_weights: self.group_weights.clone(),
        }
    }

    /// Where weights of this dimension may lie.
    fn domain(&self, dimension: usize) -> Result<Domain, Error> {
        self.set_choice().domain(dimension)
    }

    /// The problem of a task.
    pub(crate) fn problem(&self, task: &Task, rows: usize) -> Result<Problem, Error> {
        task.problem(rows, self.domain(task.dimension()?)?, self.slope_limit)
    }

    /// The plan of the named algorithm, or of the best one.
    pub(crate) fn plan(&self, problem: &Problem, budget: Budget) -> Result<Plan, Error> {
        Ok(planner::choose(problem, budget, &self.request(), &self.algorithm)?)
    }

    /// The same, of those that can run on a cluster.
    pub(crate) fn plan_for_cluster(
        &self,
        problem: &Problem,
        budget: Budget,
    ) -> Result<Plan, Error> {
        choose_for_cluster(problem, budget, &self.request(), &self.algorithm)
    }
}

/// A problem without a declaration: its shape and bounds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenProblem {
    n: usize,
    d: usize,
    loss: GivenLoss,
    feature_norm: f64,
    label_bound: f64,
    #[serde(default)]
    hidden: Option<usize>,
}

impl GivenProblem {
    /// How many rows.
    pub(crate) fn rows(&self) -> usize {
        self.n
    }

    /// The problem.
    pub(crate) fn problem(&self, settings: &GivenSettings) -> Result<Problem, Error> {
        let bounds = RowBounds::new(self.feature_norm, self.label_bound)?;
        let free = Problem {
            slope_limit: settings.slope_limit,
            hidden: self.hidden,
            ..Problem::new(self.loss.named()?, bounds, self.n, self.d)
        };
        let problem = Problem { domain: settings.domain(free.dimension())?, ..free };
        problem.check_parameters()?; // each algorithm checks what it needs
        Ok(problem)
    }
}
