//! Fitting, and the fitted model.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::data::encode::Encoder;
use reticent::data::feature_map::FeatureMap;
use reticent::data::table::TableError;
use reticent::data::{Rows, Speed, kept_rows};
use reticent::draft::{DraftCertificate, Together, check_risk};
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::optim::{Progress, RunError};
use reticent::privacy::risk::Risk;
use reticent::privacy::{Adjacency, Budget};
use reticent::problem::Unit;
use reticent::problem::declaration::{Labels as DeclaredLabels, Layout};
use reticent::problem::loss::LabelKind;
use reticent::release::{Charged, Planned, Purchase, Released};
use reticent::{
    Costs, Curves, Error, EvaluationQuery, EvaluationRelease, Gap, GroupMetrics, Measure, Metrics,
    Model, Scores, Task, no_rows, report, verify,
};
use serde::Serialize;

use crate::error::to_python;
use crate::given::{GivenBudget, GivenTask, read, read_method};
use crate::input::{BorrowedLabels, BorrowedTable, GivenTable, Labels};
use crate::watch::watched;

/// A fitted model. Holds the library's value and nothing of its own.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct FittedModel(pub(crate) Released);

/// Fits a private model to a table.
///
/// `rows` is the declared number of rows where the table's own is private; a `ledger` is charged
/// before a row is read. `units` holds the unit of each row where one is declared; none for a row
/// that is a unit of its own. `weights` holds the weight of each row where the task has a largest
/// one.
#[pyfunction]
#[pyo3(signature = (table, labels, *, task, budget, settings, units=None, weights=None, rows=None, ledger=None, seed=None, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    task: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
    units: Option<Vec<Option<String>>>,
    weights: Option<Vec<f64>>,
    rows: Option<usize>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<FittedModel> {
    let task: GivenTask = read("declaration", task)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let (table, labels) = (GivenTable::read(table)?, Labels::read(Some(labels))?);
    let units = read_keys(units);
    let own = units.as_deref().map_or_else(|| table.rows(), count_keys);
    let n = public_rows(&budget, rows, own).map_err(to_python)?;
    let (table, labels) = (table.borrow()?, labels.borrow()?);
    watched(py, progress, move |progress| {
        // Everything is decided before a cell is read.
        let source = source(seed)?;
        let task = task.task(n, budget.epsilon(n)?, &source, method.settings())?;
        let given = Given::new(&task, table, &labels, units, weights)?;
        let risk = budget.risk();
        check_risk(&task.declaration, risk)?;
        let budget = budget.budget(n, task.declaration.unit())?;
        let problem = method.problem(&task, n)?;
        let method = method.for_task(&task, &problem, budget)?;
        let plan = method.plan_for(&problem, budget, risk)?;
        // From here on nobody waits for the planner.
        not_stopped(progress, plan.outline().steps)?;
        let charged = charge(ledger.as_deref(), seed, Purchase::Plan(&plan), &task)?;
        let steps = plan.outline().steps;
        let (charged, rows) =
            charged.read(|| given.rows(&task, budget.adjacency, progress, steps))?;
        let begun = charged.begin(None, source.randomness())?;
        let model = reticent::fit(&task, plan, rows, &source, Speed { threads }, progress)?;
        begun.release(kept(model, risk), None)
    })
    .map(FittedModel)
}

/// The model with the risk that its epsilon was chosen to keep.
pub(crate) fn kept(model: Model, risk: Option<Risk>) -> Model {
    match risk {
        Some(risk) => model.keeping(risk),
        None => model,
    }
}

/// A table as it was given, with the unit of each row where one is declared.
pub(crate) struct Given<'a> {
    table: BorrowedTable<'a>,
    labels: &'a BorrowedLabels<'a>,
    units: Option<Vec<Option<String>>>,
    /// The weight of each row.
    weights: Option<Vec<f64>>,
}

impl<'a> Given<'a> {
    /// Checks that units are given if and only if the task declares one, and weights if and only if
    /// it declares the largest. Reads no row.
    pub(crate) fn new(
        task: &Task,
        table: BorrowedTable<'a>,
        labels: &'a BorrowedLabels<'a>,
        units: Option<Vec<Option<String>>>,
        weights: Option<Vec<f64>>,
    ) -> Result<Self, Error> {
        if task.encoding.max_weight.is_some() != weights.is_some() {
            return Err(Error::Arguments(
                "`sample_weight` and `max_weight` go together: give `fit` the weight of each row, and the estimator the largest one, known without the rows",
            ));
        }
        if weights.as_ref().is_some_and(|weights| weights.len() != table.rows()) {
            return Err(Error::Arguments("`sample_weight` must have one weight for each row of X"));
        }
        if task.declaration.unit().is_some() != units.is_some() {
            return Err(Error::Arguments(
                "`unit` and `max_rows` go together: give `fit` the unit of each row, or the name of a column that holds it, and the most rows of one that are used",
            ));
        }
        Ok(Self { table, labels, units, weights })
    }

    /// The encoded rows, of a run of so many steps.
    pub(crate) fn rows(
        self,
        task: &Task,
        adjacency: Adjacency,
        progress: &dyn Progress,
        steps: u64,
    ) -> Result<Rows, Error> {
        let mut rows = encode(task, self.table, self.labels, adjacency)?;
        if let (Some(most), Some(weights)) = (task.encoding.max_weight, self.weights) {
            rows = rows.weighted(weights.into_iter().map(|weight| weight / most));
        }
        if let (Some(unit), Some(keys)) = (task.declaration.unit(), self.units) {
            rows = rows.grouped(keys.into_iter(), unit)?;
        }
        // Anyone who interrupts before noise is drawn gets the charge back.
        not_stopped(progress, steps)?;
        Ok(rows)
    }
}

/// The [key](Unit::key) of each row's unit.
pub(crate) fn read_keys(units: Option<Vec<Option<String>>>) -> Option<Vec<Option<String>>> {
    let key = |cell: Option<String>| cell.as_deref().and_then(Unit::key).map(Cow::into_owned);
    units.map(|cells| cells.into_iter().map(key).collect())
}

/// How many units: rows without a key are units of their own.
pub(crate) fn count_keys(keys: &[Option<String>]) -> usize {
    let known: std::collections::HashSet<_> = keys.iter().flatten().collect();
    known.len() + keys.iter().filter(|key| key.is_none()).count()
}

/// Where noise comes from.
pub(crate) fn source(seed: Option<u64>) -> Result<Source, Error> {
    Ok(match seed {
        Some(seed) => Source::seeded_not_private(seed),
        None => Source::from_os()?,
    })
}

/// A run that is paid for, if there is a ledger.
pub(crate) fn charge(
    ledger: Option<&Path>,
    seed: Option<u64>,
    purchase: Purchase<'_>,
    task: &Task,
) -> Result<Charged, Error> {
    if ledger.is_some() && seed.is_some() {
        return Err(Error::Arguments(
            "`random_state` must not be given with `ledger`: a run whose noise is known keeps no budget; leave one of them out",
        ));
    }
    let ledger = ledger.map(Ledger::open).transpose()?;
    Planned { ledger, purchase, declaration: &task.declaration }.charge(None)
}

/// Whether nobody has asked the run to stop before its first step.
pub(crate) fn not_stopped(progress: &dyn Progress, total: u64) -> Result<(), Error> {
    match progress.step(0, 0) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Stopped { done: 0, total }.into()),
    }
}

/// The rows as they are declared.
fn encode(
    task: &Task,
    table: BorrowedTable<'_>,
    labels: &BorrowedLabels<'_>,
    adjacency: Adjacency,
) -> Result<Rows, Error> {
    match table.encode(&Encoder::new(&task.layout()?), labels) {
        // A table of one row and one of none are neighbours: neither is refused.
        Err(TableError::Empty { .. }) if !adjacency.records_are_public() => no_rows(task),
        rows => Ok(rows?),
    }
}

/// The number of rows that the plan may use: the table's own where it is public, a declared one
/// where it is not.
pub(crate) fn public_rows(
    budget: &GivenBudget,
    declared: Option<usize>,
    own: usize,
) -> Result<usize, Error> {
    match (!budget.adjacency()?.records_are_public(), declared) {
        (true, Some(rows)) => Ok(rows),
        (true, None) => Err(Error::Arguments(
            "declare `rows`: under add-remove adjacency the table's own number of rows is private, so give `rows` a number known without it",
        )),
        (false, Some(_)) => Err(Error::Arguments(
            "`rows` is for add-remove adjacency: under any other the table's own number of rows is public and is used; leave `rows` out",
        )),
        (false, None) => Ok(own),
    }
}

impl FittedModel {
    /// Does something with the encoded rows of a table, without the interpreter.
    fn on_rows<T: Send>(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        work: impl FnOnce(&Model, &Rows, &Layout) -> T + Send,
    ) -> PyResult<T> {
        let table = GivenTable::read(table)?;
        let table: BorrowedTable<'_> = table.borrow()?;
        py.detach(|| {
            let encoder = Encoder::new(&self.0.model.layout()?.without_weights());
            let rows = table.encode(&encoder, &BorrowedLabels::Absent)?;
            Ok(work(&self.0.model, &rows, encoder.layout()))
        })
        .map_err(|error: Error| to_python(error))
    }
}

/// The metrics of all rows, and of each group.
#[derive(Serialize)]
struct Evaluation {
    metrics: Metrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<GroupMetrics>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps: Option<Vec<Gap>>,
}

/// Metrics of private rows, with the charge that paid for them.
#[derive(Serialize)]
struct PrivateEvaluation {
    #[serde(flatten)]
    release: EvaluationRelease,
    charge: Option<u64>,
    private: bool,
}

fn evaluation(
    model: &Model,
    rows: &Rows,
    layout: &Layout,
    truth: &[f64],
    groups: Option<&[String]>,
    measure: &Measure,
) -> Result<Evaluation, Error> {
    if truth.len() != rows.len() {
        return Err(Error::Arguments("`y` must have one target for each row of X"));
    }
    let scores = Scores::of(model, rows.features(), &known_labels(truth, layout), layout);
    let metrics = scores.metrics(measure)?;
    let groups = groups.map(|groups| scores.by(groups, measure)).transpose()?;
    let gaps = groups.as_deref().map(Gap::between);
    Ok(Evaluation { metrics, groups, gaps })
}

/// The label of each target, or of the place of each class among the declared ones; none where it
/// is unknown.
fn known_labels(truth: &[f64], layout: &Layout) -> Vec<Option<f64>> {
    let labels = layout.labels();
    let label = |value: &f64| match labels {
        DeclaredLabels::Regression { .. } => value.is_finite().then(|| labels.unclamped(*value)),
        DeclaredLabels::Binary { classes, .. } | DeclaredLabels::Multiclass { classes } => {
            let place = (0..classes.len()).find(|place| (*place as f64).total_cmp(value).is_eq());
            place.map(|place| labels.of_class(place))
        }
    };
    truth.iter().map(label).collect()
}

/// Private rows to measure a model on, and what is public about them.
struct PrivateRows {
    truth: Vec<f64>,
    /// The group of each row; empty without groups.
    groups: Vec<String>,
    /// The key of each row's unit.
    units: Option<Vec<Option<String>>>,
    budget: Budget,
    ledger: Option<PathBuf>,
}

impl PrivateRows {
    /// The noisy metrics, with the number of the charge. The ledger is charged before noise is
    /// drawn, and not for a table that cannot be read.
    fn measure(
        self,
        model: &Model,
        table: BorrowedTable<'_>,
        query: EvaluationQuery,
    ) -> Result<(EvaluationRelease, Option<u64>), Error> {
        let adjacency = self.budget.adjacency;
        let ledger = self.ledger.as_deref().map(Ledger::open).transpose()?;
        let source = Source::from_os()?;
        let rows = encode(&model.task, table, &BorrowedLabels::Absent, adjacency)?;
        let per_row =
            [self.truth.len(), if self.groups.is_empty() { rows.len() } else { self.groups.len() }];
        let units = self.units.as_ref().map_or(rows.len(), Vec::len);
        if per_row.iter().chain([&units]).any(|len| *len != rows.len()) {
            return Err(Error::Arguments(
                "`y`, `by` and `unit` must have one value for each row of X",
            ));
        }
        let layout = model.layout()?;
        let labels = known_labels(&self.truth, &layout);
        let scores = Scores::of(model, rows.features(), &labels, &layout);
        let counts = match (model.task.declaration.unit(), self.units) {
            (Some(unit), Some(keys)) => {
                let kept = kept_rows(keys.into_iter(), unit);
                query.count(&scores, &self.groups, kept.into_iter())
            }
            (None, None) => query.count(&scores, &self.groups, 0..rows.len()),
            (Some(_), None) => {
                return Err(Error::Arguments(
                    "the model protects units: give `unit`, the unit of each row or the name of the column that holds it",
                ));
            }
            (None, Some(_)) => {
                return Err(Error::Arguments(
                    "the model was fitted without a `unit`: leave `unit` out",
                ));
            }
        };
        let (event, delta) = (query.event().clone(), self.budget.delta.get());
        let charge = ledger
            .map(|ledger| ledger.charge_answer("evaluate", &event, delta, &model.task.declaration))
            .transpose()?;
        Ok((query.release(counts, &source)?, charge))
    }
}

/// The privacy cost of a draft, alone and together with the model.
#[derive(Serialize)]
struct Drafted<'a> {
    certificate: &'a DraftCertificate,
    together: Together,
}

/// Weights, a row for each output, and constants.
type Coefficients<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Frequencies, phases and scale of a map.
type RandomFeatures<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, f32);

/// A matrix of so many columns.
fn matrix(py: Python<'_>, values: Vec<f64>, columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    values.into_pyarray(py).reshape([rows, columns])
}

#[pymethods]
impl FittedModel {
    /// The model in the text of a model file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(Model::from_json(text, "the text").map_err(to_python)?.0.into()))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self(Model::load(&path).map_err(to_python)?.into()))
    }

    /// The text of the model file.
    fn to_json(&self) -> String {
        self.0.model.to_json()
    }

    /// Writes the model file, whole or not at all. Another model is replaced only with `overwrite`.
    /// The ledger that paid need not keep the model from here on.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn save(&self, path: PathBuf, overwrite: bool) -> PyResult<()> {
        let model = &self.0.model;
        let saved = if overwrite { model.save_over(&path) } else { model.save(&path) };
        saved.map(|()| self.0.saved()).map_err(to_python)
    }

    /// For each row how much speaks for the second of two classes, or for each of more.
    fn decisions<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = self.on_rows(py, table, |m, r, l| m.decisions(r.features(), l.labels()))?;
        matrix(py, values, self.0.model.task.loss.outputs())
    }

    /// The index of each row's class.
    fn classify<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<usize>>> {
        let classes = self.on_rows(py, table, |m, r, l| m.classify(r.features(), l.labels()))?;
        Ok(classes.into_pyarray(py))
    }

    /// For each row the probability of each class, where the loss gives one.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let found = self.on_rows(py, table, |m, r, l| m.probabilities(r.features(), l.labels()))?;
        let task = &self.0.model.task;
        let classes = match task.loss.labels() {
            LabelKind::Levels { count } => count,
            _ => task.declaration.classes().len(),
        };
        found.map(|values| matrix(py, values, classes)).transpose()
    }

    /// The number that is predicted for each row.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let numbers = self.on_rows(py, table, |m, r, l| m.numbers(r.features(), l.labels()))?;
        Ok(numbers.into_pyarray(py))
    }

    /// Metrics on rows that may be public. `truth` holds targets, or the places of classes among
    /// the declared ones, and NaN where it is unknown.
    #[pyo3(signature = (table, truth, *, groups=None, threshold=None, costs=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        truth: PyReadonlyArray1<'py, f64>,
        groups: Option<Vec<String>>,
        threshold: Option<f64>,
        costs: Option<(f64, f64)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let truth = truth.as_slice()?.to_vec();
        let costs =
            costs.map(|(false_positive, false_negative)| Costs { false_positive, false_negative });
        let measure = Measure { threshold, costs };
        let found = self.on_rows(py, table, |model, rows, layout| {
            evaluation(model, rows, layout, &truth, groups.as_deref(), &measure)
        })?;
        Ok(pythonize(py, &found.map_err(to_python)?)?)
    }

    /// Noisy metrics of private rows, charged to the ledger if there is one. `truth` is as for
    /// `evaluate`; `by` holds the group of each row and `groups` the public names of groups; `rows`
    /// is the declared number of records where the table's own is private.
    #[pyo3(signature = (table, truth, *, budget, by=None, groups=None, threshold=None, units=None, rows=None, ledger=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn evaluate_privately<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        truth: PyReadonlyArray1<'py, f64>,
        budget: &Bound<'py, PyAny>,
        by: Option<Vec<String>>,
        groups: Option<Vec<String>>,
        threshold: Option<f64>,
        units: Option<Vec<Option<String>>>,
        rows: Option<usize>,
        ledger: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let budget: GivenBudget = read("budget", budget)?;
        let table = GivenTable::read(table)?;
        let units = read_keys(units);
        let own = units.as_deref().map_or_else(|| table.rows(), count_keys);
        let table: BorrowedTable<'_> = table.borrow()?;
        let truth = truth.as_slice()?.to_vec();
        let measure = Measure { threshold, costs: None };
        let found = py.detach(|| {
            let model = &self.0.model;
            let n = public_rows(&budget, rows, own)?;
            let budget = budget.budget(n, model.task.declaration.unit())?;
            let names = groups.unwrap_or_default();
            let query = EvaluationQuery::plan(model, &model.layout()?, &measure, names, budget)?;
            let groups = by.unwrap_or_default();
            PrivateRows { truth, groups, units, budget, ledger }.measure(model, table, query)
        });
        let (release, charge) = found.map_err(|error: Error| to_python(error))?;
        Ok(pythonize(py, &PrivateEvaluation { release, charge, private: true })?)
    }

    /// Weights and constant of each output of a linear model.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Coefficients<'py>> {
        let layout = self.0.model.layout().map_err(to_python)?;
        let (weights, constants) = self.0.model.coefficients(&layout);
        let columns = weights.first().map_or(0, Vec::len);
        Ok((matrix(py, weights.concat(), columns)?, constants.into_pyarray(py)))
    }

    /// The coefficients with standard errors and intervals, as plain values.
    #[pyo3(signature = (level=None))]
    fn intervals<'py>(&self, py: Python<'py>, level: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| reticent::Coefficients::of(&self.0.model, level));
        Ok(pythonize(py, &found.map_err(to_python)?)?)
    }

    /// The map from a margin to a predicted number; None in classification.
    fn last_layer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model.last_layer().map_err(to_python)?)?)
    }

    /// The random features that take the place of a row: frequencies, a row for each, their
    /// phases, if they have some, and the scale of the features; none for models of the columns.
    fn random_features<'py>(&self, py: Python<'py>) -> PyResult<Option<RandomFeatures<'py>>> {
        let Some(law) = self.0.model.task.map else { return Ok(None) };
        let inputs = self.0.model.layout().map_err(to_python)?.dimension();
        let map = FeatureMap::new(law, inputs).map_err(to_python)?;
        let frequencies = matrix(py, map.frequencies().concat(), inputs)?;
        let phases = map.phases().iter().copied().map(f64::from).collect::<Vec<_>>();
        Ok(Some((frequencies, phases.into_pyarray(py), map.scale())))
    }

    /// The curve of each column and the surface of each pair.
    fn curves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &Curves::of(&self.0.model).map_err(to_python)?)?)
    }

    /// How columns become features, as plain values.
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model.layout().map_err(to_python)?)?)
    }

    /// All of the model as plain values.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model)?)
    }

    /// The certificate as plain values.
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model.certificate)?)
    }

    /// The certificate of the draft of the schema, and what both cost together, as plain values;
    /// none where nothing was released to write the schema.
    fn draft<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((certificate, together)) = self.0.model.with_draft() else { return Ok(None) };
        Ok(Some(pythonize(py, &Drafted { certificate, together })?))
    }

    /// Recomputes the certificate, compares, and says what holds.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.0.model.to_json();
        let found = py.detach(|| verify::verify_text(&text, "the model")).map_err(to_python)?;
        Ok(pythonize(py, &found)?)
    }

    /// The report for people: one page of HTML.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| report::html(&self.0.model, &report::Beside::default())).map_err(to_python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.0.model.to_json(),)))
    }

    fn __repr__(&self) -> String {
        let outline = self.0.model.certificate.plan.outline();
        format!(
            "FittedModel({}, {} features)",
            outline.problem.loss.name(),
            self.0.model.features.len()
        )
    }
}
