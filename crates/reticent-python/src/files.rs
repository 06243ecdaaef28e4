//! Files that a budget and a guarantee live in: ledgers, model files, schemas.

use std::path::PathBuf;

use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::ledger::{Filter, Ledger};
use reticent::privacy::{Budget, Delta, Epsilon, Event};
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::{Error, verify};
use serde_json::Value;

use crate::error::to_python;
use crate::given::{GivenBudget, read};

/// The budget of a data set. Holds the library's value and nothing of its own.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct Book(Ledger);

#[pymethods]
impl Book {
    /// Makes a new file.
    #[staticmethod]
    #[pyo3(signature = (path, budget, *, unit=None, filter="auto"))]
    fn create(
        path: PathBuf,
        budget: &Bound<'_, PyAny>,
        unit: Option<&str>,
        filter: &str,
    ) -> PyResult<Self> {
        let given: GivenBudget = read("budget", budget)?;
        let made = || {
            let (epsilon, delta, adjacency) = given.for_ledger()?;
            let adjacency = if unit.is_some() { adjacency.of_units() } else { adjacency };
            let budget = Budget { epsilon, delta, adjacency };
            Ledger::create_for(&path, budget, filter_named(filter)?, unit)
        };
        made().map(Self).map_err(to_python)
    }

    /// Opens a file and checks that every record is as it was written.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        Ledger::open(&path).map(Self).map_err(to_python)
    }

    /// The spent and the remaining budget.
    fn show<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.standing().map_err(to_python)?)?)
    }

    /// Every record, the first one first.
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.history().map_err(to_python)?)?)
    }

    /// Whether the records hold together, in words.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.check().map_err(to_python)?)?)
    }

    /// Pays for something done elsewhere: an event, or a bound on its loss.
    #[pyo3(signature = (label, *, event=None, epsilon=None, delta=0.0, unit=None))]
    fn charge(
        &self,
        label: &str,
        event: Option<&Bound<'_, PyAny>>,
        epsilon: Option<f64>,
        delta: f64,
        unit: Option<&str>,
    ) -> PyResult<u64> {
        let event: Option<Event> = event.map(|event| read("event", event)).transpose()?;
        let charge = || {
            let event = match (event, epsilon) {
                (Some(event), None) => event,
                (None, Some(epsilon)) => Event::ApproxDp {
                    epsilon: Epsilon::new(epsilon)?.get(),
                    delta: Delta::new(delta)?.get(),
                    adjacency: self.0.standing()?.budget.adjacency,
                },
                _ => {
                    return Err(Error::Arguments(
                        "give either `epsilon`, a bound on the loss at `delta`, or `event`, what was done",
                    ));
                }
            };
            self.0.charge_event_for(label, &event, delta, unit)
        };
        charge().map_err(to_python)
    }

    /// Takes back a charge of which no run has begun.
    fn refund(&self, charge: u64) -> PyResult<()> {
        self.0.refund(charge).map_err(to_python)
    }
}

fn filter_named(name: &str) -> Result<Filter, Error> {
    Ok(match name {
        "auto" => Filter::Auto,
        "gaussian" => Filter::Gaussian,
        "basic" => Filter::Basic,
        _ => return Err(Error::Arguments("`filter` must be `auto`, `gaussian` or `basic`")),
    })
}

/// Recomputes the certificate of a model file, compares, and says what holds.
#[pyfunction]
#[pyo3(signature = (path, ledger=None))]
pub(crate) fn verify_file(
    py: Python<'_>,
    path: PathBuf,
    ledger: Option<PathBuf>,
) -> PyResult<Bound<'_, PyAny>> {
    let found = py.detach(|| {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|e| Error::File {
            verb: "read",
            file: file.clone(),
            why: e.to_string(),
        })?;
        let ledger = ledger.as_deref().map(Ledger::open).transpose()?;
        verify::verify_with(&text, &file, ledger.as_ref())
    });
    Ok(pythonize(py, &found.map_err(to_python)?)?)
}

/// The explanation of a declaration, as a dictionary of facts and as text.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    declaration: &Bound<'py, PyAny>,
    encoding: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let declaration: Declaration = read("declaration", declaration)?;
    let encoding: Encoding = read("encoding", encoding)?;
    let explanation = declaration.explain(&encoding).map_err(to_python)?;
    let facts: Value = serde_json::to_value(&explanation).unwrap_or_default();
    Ok((pythonize(py, &facts)?, explanation.to_string()))
}
