//! A table on a cluster: what runs beside the rows, and the run that asks them.
//!
//! Python carries bytes from here to there (`reticent.spark`); what they say is written and read by
//! the library.

use std::path::PathBuf;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use reticent::data::cluster::{
    Answer, Catalogue, Format, Packer, RowBytes, Worker, Workers, add_blocks, buckets, catalogue,
    merge, pack, pack_rest,
};
use reticent::data::{ClusterOracle, OracleError, Speed, block_records};
use reticent::release::Purchase;
use reticent::{Error, Task, fit_on};
use serde::{Deserialize, Serialize};

use crate::error::to_python;
use crate::given::{GivenBudget, GivenTask, read, read_method};
use crate::model::{FittedModel, charge, kept, not_stopped, public_rows, source};
use crate::watch::watched;

/// The set-up that every process of the cluster gets. Public.
#[derive(Serialize, Deserialize)]
struct Setup {
    task: Task,
    block_records: usize,
}

impl Setup {
    fn read(text: &str) -> PyResult<Self> {
        serde_json::from_str(text)
            .map_err(|_| PyValueError::new_err("the set-up was written by another version"))
    }
}

/// Encodes rows of a table, each by itself.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct RowEncoder(RowBytes);

#[pymethods]
impl RowEncoder {
    #[new]
    fn new(setup: &str) -> PyResult<Self> {
        let layout = Setup::read(setup)?.task.layout().map_err(to_python)?;
        Ok(Self(RowBytes::new(&layout)))
    }

    /// How many rows may be encoded at a time: their bytes are counted in 32 bits.
    fn rows_at_a_time(&self) -> usize {
        self.0.rows_at_a_time()
    }

    /// A batch's rows as bytes, in one column `row`.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = RecordBatch::from_pyarrow_bound(batch)?;
        let rows = py.detach(|| self.0.encode(&batch)).map_err(to_python)?;
        let column: ArrayRef = std::sync::Arc::new(rows);
        let rows = RecordBatch::try_from_iter([("row", column)]);
        rows.map_err(|_| PyValueError::new_err("rows without a column"))?.to_pyarrow(py)
    }
}

/// Puts rows together to blocks.
#[pyclass(module = "reticent._reticent")]
pub(crate) struct BlockPacker(Packer);

#[pymethods]
impl BlockPacker {
    #[new]
    fn new(setup: &str) -> PyResult<Self> {
        let setup = Setup::read(setup)?;
        let layout = setup.task.layout().map_err(to_python)?;
        let format = Format::new(&layout, setup.task.declaration.unit());
        Ok(Self(Packer::new(format, setup.block_records)))
    }

    /// Takes rows, and gives the blocks that are complete.
    fn push<'py>(
        &mut self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = RecordBatch::from_pyarrow_bound(batch)?;
        pack(&mut self.0, &batch).map_err(to_python)?.to_pyarrow(py)
    }

    /// The block that is left.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pack_rest(&mut self.0).map_err(to_python)?.to_pyarrow(py)
    }
}

/// Answers questions with the blocks of a catalogue.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct BlockWorker(Worker);

#[pymethods]
impl BlockWorker {
    #[new]
    fn new(setup: &str, catalogue: &[u8], threads: usize) -> PyResult<Self> {
        let task = Setup::read(setup)?.task;
        let layout = task.layout().map_err(to_python)?;
        let catalogue = Catalogue::from_bytes(catalogue).map_err(to_python)?;
        let speed = Speed { threads: Some(threads) };
        let unit = task.declaration.unit();
        let worker = Worker::new(&layout, unit, task.map.as_ref(), catalogue, speed);
        Ok(Self(worker.map_err(to_python)?))
    }

    /// The sums of all blocks that an iterator gives.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        question: &[u8],
        batches: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut answer = Answer::begin(question).map_err(to_python)?;
        for batch in batches.try_iter()? {
            let batch = RecordBatch::from_pyarrow_bound(&batch?)?;
            py.detach(|| add_blocks(&self.0, &batch, &mut answer)).map_err(to_python)?;
        }
        Ok(PyBytes::new(py, &answer.to_bytes()))
    }
}

/// Puts the sums of two sets of blocks together.
#[pyfunction]
pub(crate) fn merge_sums<'py>(
    py: Python<'py>,
    a: &[u8],
    b: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &merge(a, b).map_err(to_python)?))
}

/// The Python object that has jobs run.
struct Jobs<'a>(&'a Py<PyAny>);

/// Nothing of the other side's message: it may quote a cell.
const FAILED: &str = "a job of the cluster failed or was stopped; its own log says why";

impl Workers for Jobs<'_> {
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String> {
        Python::attach(|py| {
            let question = PyBytes::new(py, question);
            self.0.call_method1(py, "ask", (question,))?.extract(py)
        })
        .map_err(|_: PyErr| FAILED.to_owned())
    }
}

impl Jobs<'_> {
    /// Has the table encoded and cut into blocks, and makes the list of blocks known.
    fn prepare(&self, setup: &Setup, buckets: usize) -> Result<Catalogue, Error> {
        let failed = |_: PyErr| OracleError::Unread { why: FAILED.to_owned() };
        let setup = serde_json::to_string(setup).unwrap_or_default();
        let counted = Python::attach(|py| {
            let counted = self.0.bind(py).call_method1("encode", (setup, buckets))?;
            let batches = counted.try_iter()?.map(|b| RecordBatch::from_pyarrow_bound(&b?));
            batches.collect::<PyResult<Vec<_>>>()
        })
        .map_err(failed)?;
        let catalogue = catalogue(&counted)?;
        let bytes = catalogue.to_bytes();
        Python::attach(|py| self.0.call_method1(py, "keep", (PyBytes::new(py, &bytes),)))
            .map_err(failed)?;
        Ok(catalogue)
    }
}

/// Fits a private model to a table on a cluster.
///
/// `cluster` runs jobs; `columns` is a batch of the table's columns without a row; `own_rows` is
/// the table's number of records where that is public.
#[pyfunction]
#[pyo3(signature = (cluster, columns, *, task, budget, settings, own_rows=None, rows=None, ledger=None, seed=None, block_rows=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn fit_on_cluster<'py>(
    py: Python<'py>,
    cluster: Py<PyAny>,
    columns: &Bound<'py, PyAny>,
    task: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    settings: &Bound<'py, PyAny>,
    own_rows: Option<usize>,
    rows: Option<usize>,
    ledger: Option<PathBuf>,
    seed: Option<u64>,
    block_rows: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<FittedModel> {
    let task: GivenTask = read("declaration", task)?;
    let budget: GivenBudget = read("budget", budget)?;
    let method = read_method(settings)?;
    let columns = RecordBatch::from_pyarrow_bound(columns)?;
    let n = public_rows(&budget, rows, own_rows.unwrap_or(0)).map_err(to_python)?;
    watched(py, progress, move |progress| {
        // Everything is decided before a cell is read.
        let source = source(seed)?;
        let task = task.task(n, budget.epsilon(n)?, &source, method.settings())?;
        let (layout, unit) = (task.layout()?, task.declaration.unit());
        let risk = budget.risk();
        let budget = budget.budget(n, unit)?;
        let problem = method.problem(&task, n)?;
        let method = method.for_task(&task, &problem, budget)?;
        let plan = method.plan_for_cluster(&problem, budget, risk)?;
        RowBytes::new(&layout).check(&columns)?;
        let block_records =
            block_rows.unwrap_or_else(|| block_records(layout.dimension(), unit));
        let rows = block_records.saturating_mul(unit.map_or(1, |unit| unit.max_rows));
        if rows.saturating_mul(12 * layout.dimension() + 8) > 1 << 30 {
            return Err(Error::Arguments(
                "`block_rows` must be so small that a block has less than a gigabyte; leave it out for blocks of 8 MB",
            ));
        }
        let charged = charge(ledger.as_deref(), seed, Purchase::Plan(&plan), &task)?;
        let steps = plan.outline().steps;
        let (charged, ()) = charged.read(|| not_stopped(progress, steps))?;
        // Whether the cluster comes to an end may depend on the table, so nothing is given back
        // from here on.
        let begun = charged.begin(None, source.randomness())?;
        let setup = Setup { task, block_records };
        let jobs = Jobs(&cluster);
        let catalogue = jobs.prepare(&setup, buckets(n, block_records))?;
        let Setup { task, .. } = setup;
        let oracle = ClusterOracle::new(
            jobs,
            &catalogue,
            task.declaration.unit(),
            task.features()?,
            task.bounds()?,
        )
        .with_weights(layout.encodes_weights());
        let model = fit_on(&task, plan, &oracle, &source, progress)?;
        begun.release(kept(model, risk), None)
    })
    .map(FittedModel)
}
