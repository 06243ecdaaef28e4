//! What a release costs: events, accountants and calibration of differential privacy.
//!
//! An [`Event`] says what was done to the data; [`epsilon_upper`] and [`delta_upper`] say what it costs. No
//! row is ever seen here. Every number returned is an upper bound on the loss or, for searches, the end of
//! the interval that keeps the promise; functions whose name ends in `_lower` bound from the other side.
//!
//! # Example
//!
//! ```
//! use reticent_privacy::{Adjacency, Event, epsilon_upper};
//!
//! let event = Event::Gaussian { noise_multiplier: 4.0, adjacency: Adjacency::ReplaceOne };
//! let epsilon = epsilon_upper(&event, 1e-6)?;
//! assert!((epsilon - 1.0607).abs() < 1e-4);
//! # Ok::<(), reticent_privacy::PrivacyError>(())
//! ```

mod account;
mod adjacency;
mod error;
mod event;
mod quadrature;
mod query;
mod scalar;

pub mod calibrate;
pub mod composition;
pub mod explain;
pub mod filter;
pub mod gaussian;
pub mod mixture;
pub mod objective;
pub mod pair;
pub mod pld;
pub mod rdp;
pub mod shuffle;
pub mod special;
pub mod tradeoff;
pub mod tuning;

pub use adjacency::Adjacency;
pub use error::PrivacyError;
pub use event::{Event, Hits, MAX_STEPS, ObjectiveClass, Trials};
pub use query::{delta_lower, delta_upper, epsilon_attained, epsilon_lower, epsilon_upper};
pub use scalar::{Budget, Delta, Epsilon};
