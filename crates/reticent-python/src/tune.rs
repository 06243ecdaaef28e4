//! A private choice among settings.

use std::path::PathBuf;

use pyo3::prelude::*;
use reticent::data::{LocalOracle, Speed};
use reticent::optim::{Choice, Selection};
use reticent::release::Purchase;
use reticent::{Error, Tuned, asks_for_intervals, planner, select_on};

use crate::error::to_python;
use crate::given::{GivenBudget, GivenTask, Method, read, read_method};
use crate::input::{GivenTable, Labels};
use crate::model::{FittedModel, Given, charge, count_keys, public_rows, read_keys, source};
use crate::watch::watched;

/// The best run of a choice among `tries`, or among the planner's own where there are none: the
/// model, the place of what it came from among all candidates, and its noisy score.
///
/// The number of runs stays secret, so nobody hears of progress.
#[pyfunction]
#[pyo3(signature = (table, labels, *, task, budget, settings, tries, trials, units=None, weights=None, rows=None, ledger=None, seed=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn tune<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    task: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
    tries: Vec<Bound<'py, PyAny>>,
    trials: f64,
    units: Option<Vec<Option<String>>>,
    weights: Option<Vec<f64>>,
    rows: Option<usize>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    threads: Option<usize>,
) -> PyResult<(FittedModel, usize, f64)> {
    let task: GivenTask = read("declaration", task)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let tries = tries.iter().map(read_method).collect::<PyResult<Vec<Method>>>()?;
    let (table, labels) = (GivenTable::read(table)?, Labels::read(Some(labels))?);
    let units = read_keys(units);
    let own = units.as_deref().map_or_else(|| table.rows(), count_keys);
    let n = public_rows(&budget, rows, own).map_err(to_python)?;
    let (table, labels) = (table.borrow()?, labels.borrow()?);
    let (model, candidate, score) = watched(py, None, move |progress| {
        // Everything is decided before a cell is read.
        if budget.risk().is_some() {
            return Err(Error::Arguments(
                "a private choice takes `epsilon`: `max_advantage` and `max_tpr` are for `fit`; the certificate of a model that was fitted for the risk says which epsilon keeps it",
            ));
        }
        let source = source(seed)?;
        for tried in tries.iter().chain([&method]) {
            if asks_for_intervals(tried.settings()) {
                return Err(Error::Arguments(
                    "`intervals` cannot be tuned: their curvature is a release of one run; leave it out, or fit once with it",
                ));
            }
        }
        let task = task.task(n, budget.epsilon(n)?, &source, method.settings())?;
        let given = Given::new(&task, table, &labels, units, weights)?;
        let budget = budget.budget(n, task.declaration.unit())?;
        let choices = if tries.is_empty() {
            let problem = method.problem(&task, n)?;
            planner::default_choices(&problem, budget, method.settings(), method.algorithm())
        } else {
            let choice = |tried: &Method| -> Result<Choice, Error> {
                Ok(Choice {
                    problem: tried.problem(&task, n)?,
                    algorithm: tried.algorithm().to_owned(),
                    request: tried.settings().clone(),
                })
            };
            tries.iter().map(choice).collect::<Result<Vec<_>, _>>()?
        };
        let selection = Selection::plan(&choices, budget, trials)?;
        let charged = charge(ledger.as_deref(), seed, Purchase::Selection(&selection), &task)?;
        let (charged, rows) = charged.read(|| given.rows(&task, budget.adjacency, progress, 0))?;
        let begun = charged.begin(None, source.randomness())?;
        let oracle = LocalOracle::new(task.table(rows)?, Speed { threads })?;
        let Tuned { model, candidate, score } = select_on(&task, selection, &oracle, &source)?;
        Ok((begun.release(model, None)?, candidate, score))
    })?;
    Ok((FittedModel(model), candidate, score))
}
