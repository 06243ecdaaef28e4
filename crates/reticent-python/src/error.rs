//! One function that turns the library's errors into Python's.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use reticent::Error;
use reticent::data::OracleError;
use reticent::optim::RunError;

pyo3::create_exception!(
    _reticent,
    OverBudget,
    PyValueError,
    "The ledger does not bear the plan; nothing was drawn and nothing was charged."
);

/// Bad input is a `ValueError`; what the machine refuses is not.
pub(crate) fn to_python(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    match error {
        Error::OverBudget { .. } => OverBudget::new_err(text),
        Error::File { verb: "read", .. } => PyFileNotFoundError::new_err(text),
        Error::File { .. } => PyOSError::new_err(text),
        Error::Noise(_)
        | Error::Run(
            RunError::Noise(_)
            | RunError::NotCertified
            | RunError::Oracle(OracleError::Unread { .. }),
        )
        | Error::Oracle(OracleError::Unread { .. })
        | Error::Cluster(_) => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
