//! The Python binding: borrow, release the interpreter, call, translate.
//!
//! Arguments come as plain Python values and become the library's own types (`given`, `input`).
//! Long computations run on a thread of their own, so that the interpreter stays free and can be
//! interrupted (`watch`). Results are translated back. No number is computed here.

mod cluster;
mod draft;
mod error;
mod files;
mod given;
mod input;
mod model;
mod plan;
mod privacy;
mod tune;
mod watch;

use pyo3::prelude::*;

/// The engine of the package `reticent`.
#[pymodule]
mod _reticent {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("BALANCED", reticent::problem::declaration::BALANCED)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::cluster::{BlockPacker, BlockWorker, RowEncoder, fit_on_cluster, merge_sums};
    #[pymodule_export]
    use crate::draft::PlannedDraft;
    #[pymodule_export]
    use crate::error::OverBudget;
    #[pymodule_export]
    use crate::files::{Book, explain, verify_file};
    #[pymodule_export]
    use crate::model::{FittedModel, fit};
    #[pymodule_export]
    use crate::plan::{algorithms, audit, census, layout, losses, missing_spellings, rank};
    #[pymodule_export]
    use crate::privacy::{
        Event, noise_multiplier_for, noise_multiplier_for_risk, sample_rate_for, sampled_gaussian,
        steps_for,
    };
    #[pymodule_export]
    use crate::tune::tune;
}
