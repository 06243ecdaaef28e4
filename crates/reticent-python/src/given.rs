//! The arguments of a caller, as plain Python values, and their conversion to the library's types.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reticent::noise::Source;
use reticent::optim::{Plan, RowCost, Settings, setting};
use reticent::privacy::risk::Risk;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding, NumericRange, Precision};
use reticent::problem::feature_map::{Construction, Form, Kernel};
use reticent::problem::loss::{Parameters, Thresholds};
use reticent::problem::{Domain, Loss, Problem, ProblemError, RowBounds, Unit};
use reticent::{
    Error, KernelChoice, SetChoice, SetName, Task, adjacency_of, asks_for_intervals,
    choose_for_cluster, default_delta, for_intervals, map_seed, planner, with_interval_method,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a Python dictionary as a type of the library.
pub(crate) fn read<T: DeserializeOwned>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<T> {
    pythonize::depythonize(given)
        .map_err(|e| PyValueError::new_err(format!("cannot read the {name}: {e}")))
}

/// The public facts about a table, and what is to be learned.
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
    /// `[0, 1]` if not given, `[-1, 1]` where intervals are asked for.
    #[serde(default)]
    numeric_range: Option<NumericRange>,
    precision: Precision,
    #[serde(default)]
    kernel: Option<GivenKernel>,
    /// Knots of the curves of numeric columns; lines if not given.
    #[serde(default)]
    knots: Option<GivenKnots>,
    /// Pairs of columns with a surface, in place of the declaration's.
    #[serde(default)]
    pairs: Option<Vec<Vec<String>>>,
    /// Whose rows count as one record, where no declaration says so.
    #[serde(default)]
    unit: Option<Unit>,
    /// The weights of classes by name.
    #[serde(default)]
    class_weights: Option<BTreeMap<String, f64>>,
    /// The largest weight of an array beside the table.
    #[serde(default)]
    max_weight: Option<f64>,
}

/// So many knots, or as many as the planner takes.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(crate) enum GivenKnots {
    Count(usize),
    Word(Auto),
}

/// The word that leaves the number to the planner.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Auto {
    Auto,
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
    quantile: Option<f64>,
    dispersion: Option<f64>,
    shares: Option<Vec<f64>>,
    stretch: Option<f64>,
}

impl GivenLoss {
    fn named(&self) -> Result<Loss, ProblemError> {
        let Self { classes, q, threshold, quantile, dispersion, .. } = *self;
        let stretch = self.stretch.unwrap_or(Thresholds::STRETCH);
        let of_shares = |shares| Thresholds::of_shares(shares, stretch);
        let thresholds = self.shares.as_deref().map(of_shares).transpose()?;
        let parameters = Parameters { classes, q, threshold, quantile, dispersion, thresholds };
        Loss::named(&self.name, &parameters)
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
    /// The task for a table of so many rows. The seed of a map is public and, if not given, drawn
    /// from the source.
    pub(crate) fn task(
        self,
        rows: usize,
        epsilon: Epsilon,
        source: &Source,
        settings: &Settings,
    ) -> Result<Task, Error> {
        if !asks_for_intervals(settings) {
            return self.task_of_columns(rows, epsilon, source);
        }
        let keep_range = self.numeric_range.is_some();
        for_intervals(self.task_of_columns(rows, epsilon, source)?, keep_range)
    }

    /// The task as it was described.
    fn task_of_columns(
        mut self,
        rows: usize,
        epsilon: Epsilon,
        source: &Source,
    ) -> Result<Task, Error> {
        let Some(given) = self.kernel.take() else { return self.with_curves(rows, epsilon) };
        let GivenKernel { kernel, bandwidth, features, map, form, map_seed: seed } = given;
        let choice = KernelChoice { kernel, bandwidth, features, construction: map, form };
        let seed = seed.unwrap_or_else(|| map_seed(source));
        self.of_columns()?.with_kernel(&choice, rows, seed)
    }

    /// The task of the columns with their curves. A request for curves gets the command's rule
    /// whatever the algorithm, and rows held as they are smallest.
    fn with_curves(self, rows: usize, epsilon: Epsilon) -> Result<Task, Error> {
        let Some(knots) = self.knots else { return self.of_columns() };
        let task = self.of_columns()?;
        let mut task = match knots {
            GivenKnots::Word(Auto::Auto) => planner::with_curves(task, rows, epsilon, "auto")?,
            GivenKnots::Count(_) => task,
        };
        if task.encoding.precision == Precision::F64 && task.layout()?.is_mostly_zero() {
            task.encoding.precision = Precision::Sparse;
        }
        Ok(task)
    }

    /// The task of the columns themselves.
    fn of_columns(self) -> Result<Task, Error> {
        let declaration = if let Some(declaration) = self.declaration {
            declaration
        } else {
            let target = (self.classes, self.label_range);
            matrix(self.dimension, self.feature_norm, target, self.unit.as_ref())?
        };
        let encoding = Encoding {
            intercept: self.intercept,
            numeric_range: self.numeric_range.unwrap_or_default(),
            precision: self.precision,
            knots: match self.knots {
                Some(GivenKnots::Count(count)) if count > 0 => Some(count),
                _ => None,
            },
            interactions: self.pairs,
            class_weights: self.class_weights,
            max_weight: self.max_weight,
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
    target: (Option<Vec<Value>>, Option<(f64, f64)>),
    unit: Option<&Unit>,
) -> Result<Declaration, Error> {
    let label = match target {
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
    let whole = json!({"target": "label", "columns": [features, label], "unit": unit});
    Ok(Declaration::from_json(&whole.to_string())?)
}

/// The privacy budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenBudget {
    /// None where a risk is given in its place.
    epsilon: Option<f64>,
    #[serde(default)]
    risk: Option<Risk>,
    delta: Option<f64>,
    adjacency: String,
}

impl GivenBudget {
    /// The budget for a table of this many rows, or of this many units; with a risk in place of
    /// epsilon one to begin the search with.
    pub(crate) fn budget(&self, rows: usize, unit: Option<&Unit>) -> Result<Budget, Error> {
        Ok(Budget {
            epsilon: self.epsilon(rows)?,
            delta: self.delta(rows)?,
            adjacency: adjacency_of(unit, self.adjacency()?)?,
        })
    }

    /// The budget of a ledger, which has no number of rows to take a delta from.
    pub(crate) fn for_ledger(&self) -> Result<(Epsilon, Delta, Adjacency), Error> {
        Ok((self.given_epsilon()?, Delta::new(self.delta.unwrap_or_default())?, self.adjacency()?))
    }

    /// The allowed privacy loss, for a table of this many records; with a risk in its place about
    /// the one that keeps it.
    pub(crate) fn epsilon(&self, rows: usize) -> Result<Epsilon, Error> {
        match self.risk {
            Some(risk) => planner::epsilon_for_risk(risk, self.delta(rows)?),
            None => self.given_epsilon(),
        }
    }

    fn given_epsilon(&self) -> Result<Epsilon, Error> {
        let epsilon = self.epsilon.ok_or(Error::Arguments("`epsilon` must be given"))?;
        Ok(Epsilon::new(epsilon)?)
    }

    fn delta(&self, rows: usize) -> Result<Delta, Error> {
        Ok(Delta::new(self.delta.unwrap_or_else(|| default_delta(rows)))?)
    }

    /// The bound on an attacker's success, where it was given in place of epsilon.
    pub(crate) fn risk(&self) -> Option<Risk> {
        self.risk
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

/// The choices of a caller besides the settings of an algorithm: the flags of the command.
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

    /// The same with the method of intervals that suits a task, where they are asked for.
    pub(crate) fn for_task(
        self,
        task: &Task,
        problem: &Problem,
        budget: Budget,
    ) -> Result<Self, Error> {
        let settings = with_interval_method(task, problem, budget, self.settings)?;
        Ok(Self { settings, ..self })
    }

    /// The plan that a budget makes, or a risk that is given in its place.
    pub(crate) fn plan_for(
        &self,
        problem: &Problem,
        budget: Budget,
        risk: Option<Risk>,
    ) -> Result<Plan, Error> {
        self.keeping(problem, budget, risk, |budget| self.plan(problem, budget))
    }

    /// The same, of those that can run on a cluster.
    pub(crate) fn plan_for_cluster(
        &self,
        problem: &Problem,
        budget: Budget,
        risk: Option<Risk>,
    ) -> Result<Plan, Error> {
        let (settings, algorithm) = (&self.settings, &self.algorithm);
        let choose = |budget| choose_for_cluster(problem, budget, settings, algorithm);
        self.keeping(problem, budget, risk, choose)
    }

    fn keeping(
        &self,
        problem: &Problem,
        budget: Budget,
        risk: Option<Risk>,
        choose: impl Fn(Budget) -> Result<Plan, Error>,
    ) -> Result<Plan, Error> {
        let wanted = (&self.settings, self.algorithm.as_str());
        match risk {
            Some(risk) => planner::keep_risk(problem, risk, budget, wanted, choose),
            None => choose(budget),
        }
    }
}

/// A problem without a declaration: its shape and bounds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenProblem {
    n: usize,
    /// Features, or a declaration whose columns they follow from.
    d: Option<usize>,
    declaration: Option<Declaration>,
    /// None for the default loss of the declared target.
    loss: Option<GivenLoss>,
    feature_norm: f64,
    label_bound: f64,
    hidden: Option<usize>,
    /// In place of the declaration's.
    unit: Option<Unit>,
}

impl GivenProblem {
    /// How many records.
    pub(crate) fn records(&self) -> usize {
        self.n
    }

    /// Whose rows are one record.
    pub(crate) fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref().or_else(|| self.declaration.as_ref()?.unit())
    }

    /// The loss that was named.
    fn loss(&self) -> Result<Option<Loss>, ProblemError> {
        self.loss.as_ref().map(GivenLoss::named).transpose()
    }

    /// The cost of a row, as a fit would keep it.
    pub(crate) fn row_cost(&self, problem: &Problem) -> Result<RowCost, Error> {
        let Some(declaration) = &self.declaration else {
            return Ok(RowCost::dense(problem.features));
        };
        let mut task = Task::new(declaration.clone(), Encoding::default());
        if task.layout()?.is_mostly_zero() {
            task.encoding.precision = Precision::Sparse;
        }
        task.row_cost()
    }

    /// The problem.
    pub(crate) fn problem(&self, method: &Method) -> Result<Problem, Error> {
        let (loss, unit) = (self.loss()?, self.unit().cloned());
        if let Some(declaration) = &self.declaration {
            if self.d.is_some() {
                return Err(Error::Arguments(
                    "`d` and `declaration` exclude each other: the features follow from the declared columns; leave `d` out",
                ));
            }
            let task = Task::new(declaration.clone(), Encoding::default());
            let task = match loss {
                Some(loss) => task.with_loss(loss)?,
                None => task,
            };
            let task = Task { hidden: self.hidden, ..task };
            let problem = method.problem(&task, self.n)?;
            return Ok(Problem { unit, ..problem });
        }
        let Some(d) = self.d else {
            return Err(Error::Arguments(
                "give `d`, the number of features with the intercept among them, or a `declaration`",
            ));
        };
        let bounds = RowBounds::new(self.feature_norm, self.label_bound)?;
        let free = Problem {
            slope_limit: method.slope_limit,
            hidden: self.hidden,
            unit,
            ..Problem::new(loss.unwrap_or(Loss::Logistic), bounds, self.n, d)
        };
        let problem = Problem { domain: method.domain(free.dimension())?, ..free };
        problem.check_parameters()?; // each algorithm checks what it needs
        Ok(problem)
    }
}
