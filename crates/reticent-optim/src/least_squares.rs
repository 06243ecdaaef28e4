//! Least squares by gradient steps on bounded rows, one noise draw on the last iterate.
//!
//! (work in progress: formulas only)

pub mod parameters;
pub mod sensitivity;
