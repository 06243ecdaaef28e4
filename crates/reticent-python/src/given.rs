//! What a caller gives, as plain Python values, and what the library makes of it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reticent::noise::Source;
use reticent::optim::{Plan, Settings, setting};
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

/// What a caller fixes beside the settings of an algorithm: the flags of the command.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenMethod {
    algorithm: Option<String>,
    radius: Option<f64>,
    set: Option<SetName>,
    low: Option<Ends>,
    high: Option<Ends>,
    groups: Vec<usize>,
    group_weights: Vec<f64>,
    slope_limit: Option<f64>,
}

/// The method that a caller asks for: an algorithm, a set of weights, settings.
pub(crate) struct Method {
    algorithm: String,
    set: SetChoice,
    slope_limit: Option<f64>,
    settings: Settings,
}

/// The names of its fields.
const METHOD: [&str; 8] =
    ["algorithm", "radius", "set", "low", "high", "groups", "group_weights", "slope_limit"];

/// Reads the flags of the command by their names: those that an algorithm declares, and the others.
pub(crate) fn read_method(given: &Bound<'_, PyAny>) -> PyResult<Method> {
    let (declared, others) = (PyDict::new(given.py()), PyDict::new(given.py()));
    for (name, value) in given.cast::<PyDict>()?.iter() {
        let word: String = name.extract()?;
        let place = match setting::find(&word) {
            Some(_) => &declared,
            None if METHOD.contains(&word.as_str()) => &others,
            None => return Err(unknown(&word)),
        };
        place.set_item(name, value)?;
    }
    let settings: Settings = read("settings", &declared)?;
    let given: GivenMethod = read("settings", &others)?;
    let set = SetChoice {
        set: given.set,
        radius: given.radius,
        p: settings.number(&setting::P),
        low: Ends::list(given.low.as_ref()),
        high: Ends::list(given.high.as_ref()),
        groups: given.groups,
        group_weights: given.group_weights,
    };
    Ok(Method {
        algorithm: given.algorithm.unwrap_or_else(|| "auto".to_owned()),
        settings: set.settings(settings),
        set,
        slope_limit: given.slope_limit,
    })
}

fn unknown(word: &str) -> PyErr {
    let declared = setting::declared().iter().map(|declared| declared.setting.name);
    let known: Vec<_> = METHOD.into_iter().chain(declared).collect();
    PyValueError::new_err(format!(
        "cannot read the settings: unknown setting `{word}`; expected one of {}",
        known.join(", ")
    ))
}

impl Method {
    /// The settings of the algorithm.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The algorithm asked for.
    pub(crate) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// Where weights of this dimension may lie.
    fn domain(&self, dimension: usize) -> Result<Domain, Error> {
        self.set.domain(dimension)
    }

    /// The problem of a task.
    pub(crate) fn problem(&self, task: &Task, rows: usize) -> Result<Problem, Error> {
        task.problem(rows, self.domain(task.dimension()?)?, self.slope_limit)
    }

    /// The plan of the named algorithm, or of the best one.
    pub(crate) fn plan(&self, problem: &Problem, budget: Budget) -> Result<Plan, Error> {
        Ok(planner::choose(problem, budget, &self.settings, &self.algorithm)?)
    }

    /// The same, of those that can run on a cluster.
    pub(crate) fn plan_for_cluster(
        &self,
        problem: &Problem,
        budget: Budget,
    ) -> Result<Plan, Error> {
        choose_for_cluster(problem, budget, &self.settings, &self.algorithm)
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
    pub(crate) fn problem(&self, method: &Method) -> Result<Problem, Error> {
        let bounds = RowBounds::new(self.feature_norm, self.label_bound)?;
        let free = Problem {
            slope_limit: method.slope_limit,
            hidden: self.hidden,
            ..Problem::new(self.loss.named()?, bounds, self.n, self.d)
        };
        let problem = Problem { domain: method.domain(free.dimension())?, ..free };
        problem.check_parameters()?; // each algorithm checks what it needs
        Ok(problem)
    }
}
