//! Fitting, and the fitted model.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::data::Rows;
use reticent::data::Speed;
use reticent::data::encode::Encoder;
use reticent::data::table::TableError;
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::optim::{Plan, Progress, RunError};
use reticent::privacy::Adjacency;
use reticent::problem::declaration::Layout;
use reticent::release::{Charged, Planned, Purchase, Released};
use reticent::{Error, Model, Task, no_rows, report, verify};

use crate::error::to_python;
use crate::given::{GivenBudget, GivenTask, read, read_method};
use crate::input::{BorrowedLabels, BorrowedTable, Labels, Table};
use crate::watch::watched;

/// A fitted model. Holds the library's value and nothing of its own.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct FittedModel(pub(crate) Released);

/// Fits a private model to a table.
///
/// `rows` is the declared number of rows where the table's own is private; a `ledger` is charged before a row is read.
#[pyfunction]
#[pyo3(signature = (table, labels, *, task, budget, settings, rows=None, ledger=None, seed=None, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    task: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
    rows: Option<usize>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<FittedModel> {
    let task: GivenTask = read("declaration", task)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let (table, labels) = (Table::read(table)?, Labels::read(Some(labels))?);
    let n = public_rows(&budget, rows, table.rows()).map_err(to_python)?;
    let (table, labels) = (table.borrow()?, labels.borrow()?);
    watched(py, progress, move |progress| {
        // Everything is decided before a cell is read.
        let source = source(seed)?;
        let task = task.task(n, &source)?;
        let budget = budget.budget(n)?;
        let plan = method.plan(&method.problem(&task, n)?, budget)?;
        let charged = charge(ledger.as_deref(), seed, &plan, &task)?;
        let (charged, rows) = charged.read(|| {
            let rows = encode(&task, table, &labels, budget.adjacency)?;
            // Whoever interrupts before noise is drawn gets the charge back.
            not_stopped(progress, &plan)?;
            Ok(rows)
        })?;
        let begun = charged.begin(None, source.randomness())?;
        let model = reticent::fit(&task, plan, rows, &source, Speed { threads }, progress)?;
        begun.release(model, None)
    })
    .map(FittedModel)
}

/// Where noise comes from.
pub(crate) fn source(seed: Option<u64>) -> Result<Source, Error> {
    Ok(match seed {
        Some(seed) => Source::seeded_not_private(seed),
        None => Source::from_os()?,
    })
}

/// A plan that is paid for, if there is a ledger.
pub(crate) fn charge(
    ledger: Option<&Path>,
    seed: Option<u64>,
    plan: &Plan,
    task: &Task,
) -> Result<Charged, Error> {
    if ledger.is_some() && seed.is_some() {
        return Err(Error::Arguments(
            "`random_state` must not be given with `ledger`: a run whose noise is known keeps no budget; leave one of them out",
        ));
    }
    let ledger = ledger.map(Ledger::open).transpose()?;
    Planned { ledger, purchase: Purchase::Plan(plan), declaration: &task.declaration }.charge(None)
}

/// Whether nobody has asked the run to stop before its first step.
pub(crate) fn not_stopped(progress: &dyn Progress, plan: &Plan) -> Result<(), Error> {
    match progress.step(0, 0) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            Err(RunError::Stopped { done: 0, total: plan.outline().steps }.into())
        }
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
        Err(TableError::Empty { .. }) if adjacency == Adjacency::AddRemoveOne => no_rows(task),
        rows => Ok(rows?),
    }
}

/// The number of rows that the plan may use: the table's own where it is public, a declared one where it is not.
pub(crate) fn public_rows(
    budget: &GivenBudget,
    declared: Option<usize>,
    own: usize,
) -> Result<usize, Error> {
    match (budget.adjacency()? == Adjacency::AddRemoveOne, declared) {
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
        let table = Table::read(table)?;
        let table: BorrowedTable<'_> = table.borrow()?;
        py.detach(|| {
            let encoder = Encoder::new(&self.0.model.layout()?);
            let rows = table.encode(&encoder, &BorrowedLabels::Absent)?;
            Ok(work(&self.0.model, &rows, encoder.layout()))
        })
        .map_err(|error: Error| to_python(error))
    }
}

/// Weights, a row for each output, and constants.
type Coefficients<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

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

    /// Writes the model file, whole or not at all. Another model is replaced only with `overwrite`. The ledger that paid need
    /// not keep the model from here on.
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
        let classes = self.0.model.task.declaration.classes().len();
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

    /// Weights and constant of each output of a linear model.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Coefficients<'py>> {
        let layout = self.0.model.layout().map_err(to_python)?;
        let (weights, constants) = self.0.model.coefficients(&layout);
        let columns = weights.first().map_or(0, Vec::len);
        Ok((matrix(py, weights.concat(), columns)?, constants.into_pyarray(py)))
    }

    /// How a number is predicted from a margin; none for classes.
    fn last_layer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model.last_layer().map_err(to_python)?)?)
    }

    /// All of the model as plain values.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model)?)
    }

    /// The certificate as plain values.
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.model.certificate)?)
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
