//! The Python binding: borrow, release the interpreter, call, translate.
//!
//! What is given comes as plain Python values and becomes the library's own types (`given`, `input`); what runs long
//! runs on a thread of its own, so that the interpreter stays free and can be interrupted (`watch`); what comes back is
//! translated. No number is computed here.

mod cluster;
mod error;
mod given;
mod input;
mod model;
mod plan;
mod privacy;
mod watch;

use pyo3::prelude::*;

/// The engine of the package `reticent`.
#[pymodule]
mod _reticent {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::cluster::{BlockPacker, BlockWorker, RowEncoder, fit_on_cluster, merge_sums};
    #[pymodule_export]
    use crate::error::OverBudget;
    #[pymodule_export]
    use crate::model::{FittedModel, fit};
    #[pymodule_export]
    use crate::plan::{algorithms, audit, census, layout, losses, rank};
    #[pymodule_export]
    use crate::privacy::{
        Event, noise_multiplier_for, sample_rate_for, sampled_gaussian, steps_for,
    };
}
