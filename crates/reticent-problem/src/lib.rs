//! The optimisation problem: losses, constraint sets, the declaration and the constants that
//! follow.
//!
//! Everything here is public. A [`Problem`] is a loss, a domain, a ridge and the declared bounds;
//! its [`Regularity`] holds the constants that the privacy theorems ask for. No type in this crate
//! can hold a row.

pub mod declaration;
pub mod feature_map;
pub mod geometry;
pub mod loss;
pub mod number;
mod problem;
mod regularity;
pub mod text;
mod unit;

pub use geometry::Domain;
pub use loss::Loss;
pub use problem::{EvenCurve, Problem, ProblemError, REPLACED, RowBounds};
pub use regularity::{Regularity, iterate_radius};
pub use unit::{LONGEST_CELL, MOST_ROWS, Unit, Weighting};
