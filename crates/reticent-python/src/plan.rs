//! Planning, auditing and declarations: all without data.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::audit::{Attack, Claim, attack, one_run};
use reticent::data::Features;
use reticent::data::encode::Encoder;
use reticent::optim::ALGORITHMS;
use reticent::problem::Loss;
use reticent::problem::declaration::{Declaration, Encoding, MISSING_SPELLINGS, not_published};
use reticent::problem::loss::About;
use reticent::{Error, planner};
use reticent_census::Census;
use serde_json::{Value, json};

use crate::error::to_python;
use crate::given::{GivenBudget, GivenProblem, read, read_method};
use crate::input::{BorrowedLabels, GivenTable};
use crate::watch::watched;

/// The algorithms: name, paper, assumptions, guarantee.
#[pyfunction]
pub(crate) fn algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(pythonize(py, ALGORITHMS)?)
}

/// Ranks the algorithms for a problem.
#[pyfunction]
pub(crate) fn rank<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let given: GivenProblem = read("problem", problem)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let ranking = watched(py, None, |_| {
        let problem = given.problem(&method)?;
        let row = given.row_cost(&problem)?;
        let (budget, request) = (budget.budget(given.records(), given.unit())?, method.settings());
        let wanted = method.algorithm();
        let list = planner::rank(&problem, budget, request, wanted)?;
        let outlook = planner::outlook(&problem, budget, request, wanted, &list[0]);
        let no_outlook = || planner::no_outlook(&problem).to_owned();
        let shares = list[0].plan.as_ref().map(planner::split);
        let ranking: Vec<Value> = list
            .iter()
            .map(|c| match &c.plan {
                Ok(plan) => json!({
                    "algorithm": c.algorithm,
                    "kept": c.prediction.as_ref().map(|p| p.gain),
                    "predicted_excess": plan.outline().predicted_excess,
                    "noise_deviation": plan.outline().noise_deviation,
                    "noise_place": plan.noise_place(),
                    "steps": plan.outline().steps,
                    "mu": plan.ridge(),
                    "seconds": plan.seconds(row),
                    "bytes": plan.bytes(row),
                    "assumptions": plan.assumptions().iter().map(|a| a.statement.as_str())
                        .collect::<Vec<_>>().join("; "),
                    "remarks": plan.outline().warnings.join("; "),
                }),
                Err(error) => json!({ "algorithm": c.algorithm, "remarks": error.to_string() }),
            })
            .collect();
        Ok(json!({
            "ranking": ranking,
            "outlook": outlook.map_or_else(no_outlook, |o| o.sentence(&problem, budget)),
            "split": shares.ok().transpose()?,
        }))
    })?;
    Ok(pythonize(py, &ranking)?)
}

/// Attacks an algorithm as implemented: in many runs, or with canaries in a single one.
#[pyfunction]
#[pyo3(signature = (problem, budget, settings, *, runs, canaries=None, confidence, seed=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn audit<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
    runs: usize,
    canaries: Option<usize>,
    confidence: f64,
    seed: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given: GivenProblem = read("problem", problem)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let finding = watched(py, progress, |progress| {
        let problem = given.problem(&method)?;
        let plan = method.plan(&problem, budget.budget(given.records(), given.unit())?)?;
        let claim = Claim::of(&plan)?;
        Ok(if let Some(canaries) = canaries {
            let once = one_run::OneRun { canaries, confidence, seed };
            json!(one_run::attack(&plan, &claim, once, progress)?)
        } else {
            let many = Attack { runs, confidence, seed, map: None };
            json!(attack(&plan, &claim, many, progress)?)
        })
    })?;
    Ok(pythonize(py, &finding)?)
}

/// The losses: name, what it is, and whether it is for regression.
#[pyfunction]
pub(crate) fn losses() -> Vec<(&'static str, &'static str, bool)> {
    let row =
        |about: &&'static About| (about.name, about.help, !about.samples[0].is_classification());
    Loss::ALL.iter().map(row).collect()
}

/// Spellings of a missing value that need no declaration.
#[pyfunction]
pub(crate) fn missing_spellings() -> Vec<&'static str> {
    MISSING_SPELLINGS.to_vec()
}

/// The synthetic census: its table as CSV, and its declaration as JSON.
#[pyfunction]
pub(crate) fn census(rows: usize, seed: u64) -> (String, String) {
    (Census::csv(rows, seed), Census::schema())
}

/// The layout of the features, which follows from the declaration alone; with a table, also its
/// encoded rows.
#[pyfunction]
#[pyo3(signature = (declaration, encoding, table=None))]
pub(crate) fn layout<'py>(
    py: Python<'py>,
    declaration: &Bound<'py, PyAny>,
    encoding: &Bound<'py, PyAny>,
    table: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
    let declaration: Declaration = read("declaration", declaration)?;
    let encoding: Encoding = read("encoding", encoding)?;
    let layout = declaration.layout(&encoding).map_err(to_python)?;
    let facts = json!({
        "feature_names": layout.feature_names(),
        "inputs": layout.inputs().iter().filter(|i| !i.is_part()).map(|i| &i.name).collect::<Vec<_>>(),
        "width": layout.width(),
        "norm_bound": layout.norm_bound(),
        "not_published": not_published(declaration.unpublished()),
        "published": declaration,
    });
    let facts = pythonize(py, &facts)?;
    let Some(table) = table else { return Ok((facts, None)) };
    let table = GivenTable::read(table)?;
    let table = table.borrow()?;
    let rows = py
        .detach(|| {
            Ok(table.encode(&Encoder::new(&layout.without_weights()), &BorrowedLabels::Absent)?)
        })
        .map_err(|error: Error| to_python(error))?;
    let shape = [rows.len(), layout.dimension()];
    let encoded = match rows.features() {
        Features::F32(x) => PyArray1::from_slice(py, x.values()).reshape(shape)?.into_any(),
        Features::F64(x) => PyArray1::from_slice(py, x.values()).reshape(shape)?.into_any(),
        _ => return Err(PyValueError::new_err("`precision` must be `f32` or `f64`")),
    };
    Ok((facts, Some(encoded)))
}
