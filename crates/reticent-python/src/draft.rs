//! Bounds and categories found privately.

use std::path::PathBuf;

use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::default_delta;
use reticent::draft::{Draft, DraftCertificate};
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Skeleton, SkeletonColumn, SkeletonType};
use serde::{Deserialize, Serialize};

use crate::error::to_python;
use crate::given::read;

/// A cell as text; a missing one is empty.
fn cell(column: &[Option<String>], row: usize) -> &str {
    column.get(row).and_then(Option::as_deref).unwrap_or_default()
}

/// The known part of a schema.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenSkeleton {
    target: Option<String>,
    columns: Vec<GivenColumn>,
}

/// The known part of a column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenColumn {
    name: String,
    role: Option<String>,
    kind: Option<String>,
    ends: [Option<f64>; 2],
    categories: Option<Vec<String>>,
}

impl From<GivenColumn> for SkeletonColumn {
    fn from(given: GivenColumn) -> Self {
        let GivenColumn { name, role, kind, ends, categories } = given;
        let kind = kind.as_deref().and_then(SkeletonType::named);
        Self { role, ends, categories, ..Self::new(name, kind) }
    }
}

/// The privacy budget of a draft, its number of rows and its number of knots.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenDraft {
    /// None for the least one that is precise: then nothing is released.
    epsilon: Option<f64>,
    delta: Option<f64>,
    adjacency: String,
    rows: usize,
    knots: usize,
}

/// How exact a draft would be.
#[derive(Serialize)]
struct Outlook {
    advised_epsilon: Option<f64>,
    rank_share: f64,
    category_share: f64,
}

/// A draft that is planned. No cell has been read.
#[pyclass(frozen, module = "reticent._reticent")]
pub(crate) struct PlannedDraft(Draft);

#[pymethods]
impl PlannedDraft {
    /// Plans to fill in what is blank of a schema.
    #[new]
    fn new(skeleton: &Bound<'_, PyAny>, draft: &Bound<'_, PyAny>) -> PyResult<Self> {
        let GivenSkeleton { target, columns } = read("schema", skeleton)?;
        let GivenDraft { epsilon, delta, adjacency, rows, knots } = read("budget", draft)?;
        let columns = columns.into_iter().map(SkeletonColumn::from).collect();
        let skeleton = Skeleton { name: None, target, columns, draft: None };
        let plan = || -> Result<Draft, reticent::Error> {
            let adjacency: Adjacency = adjacency.parse()?;
            let delta = Delta::new(delta.unwrap_or_else(|| default_delta(rows)))?;
            let budget =
                Budget { epsilon: Epsilon::new(epsilon.unwrap_or(1.0))?, delta, adjacency };
            Draft::plan(skeleton, knots, rows, budget)
        };
        plan().map(Self).map_err(to_python)
    }

    /// The columns whose cells are asked for.
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// How exact the answers would be, and which epsilon makes them precise.
    fn outlook<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let outlook = || -> Result<Outlook, reticent::Error> {
            Ok(Outlook {
                advised_epsilon: self.0.advised_epsilon()?,
                rank_share: self.0.rank_share(),
                category_share: self.0.category_share()?,
            })
        };
        Ok(pythonize(py, &outlook().map_err(to_python)?)?)
    }

    /// Charges the ledger, if there is one, and releases: the text of the schema, the certificate,
    /// and a sentence for each column of which something was not found. `cells` holds a list of
    /// texts for each of the columns that are asked, None for a missing one.
    #[pyo3(signature = (cells, ledger=None))]
    fn release<'py>(
        &self,
        py: Python<'py>,
        cells: Vec<Vec<Option<String>>>,
        ledger: Option<PathBuf>,
    ) -> PyResult<(String, Bound<'py, PyAny>, Vec<String>)> {
        let draft = self.0.clone();
        let release =
            move || -> Result<(String, DraftCertificate, Vec<String>), reticent::Error> {
                let ledger = ledger.as_deref().map(Ledger::open).transpose()?;
                let source = Source::from_os()?;
                let rows = cells.first().map_or(0, Vec::len);
                let row = |row| cells.iter().map(|column| cell(column, row)).collect();
                let counts = draft.count((0..rows).map(row));
                let (schema, certificate, remarks) =
                    draft.pay_and_release(counts, &source, ledger.as_ref())?;
                Ok((schema.to_text(), certificate, remarks))
            };
        let (schema, certificate, remarks) = py.detach(release).map_err(to_python)?;
        Ok((schema, pythonize(py, &certificate)?, remarks))
    }
}
