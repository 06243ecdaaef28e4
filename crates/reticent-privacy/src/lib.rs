//! The privacy cost of a release: events, accountants and calibration of differential privacy.
//!
//! An [`Event`] says what was done to the data; [`epsilon_upper`] and [`delta_upper`] say what it
//! costs. No row is ever seen here. Every number returned is an upper bound on the loss or, for
//! searches, the end of the interval that keeps the promise; functions whose name ends in `_lower`
//! bound from the other side.
//!
//! A mechanism is `(ε, δ)`-differentially private for an [`Adjacency`] if for all neighbouring data
//! sets and all sets `S` of outputs `P(S) <= e^ε Q(S) + δ`. The least such `δ` as a function of `ε`
//! is its *profile*.
//!
//! | question | where |
//! | --- | --- |
//! | what does this event cost? | [`epsilon_upper`], [`delta_upper`]; from below [`epsilon_lower`], [`delta_lower`] |
//! | how much noise, how many steps, how large a sample? | [`calibrate`] |
//! | why that number? | [`explain`] |
//! | what can an attacker do? | [`tradeoff`] |
//! | the least noise for a risk; a curve in one number | [`risk`] |
//! | may I spend this now, having seen earlier results? | [`filter`] |
//! | one Gaussian, exactly | [`gaussian`] |
//! | the laws that are hardest to tell apart | [`pair`] |
//! | many steps, composed | [`pld`] (the sharpest), [`rdp`] (for filters and tuning), [`composition`] (closed forms) |
//! | output-perturbed SGD; the last of noisy iterates | [`mixture`], [`last_iterate`] |
//! | objective perturbation; shuffling; tuning | [`objective`], [`shuffle`], [`tuning`] |
//!
//! # Example
//!
//! ```
//! use reticent_privacy::{Adjacency, Event, epsilon_lower, epsilon_upper};
//!
//! let event = Event::Gaussian { noise_multiplier: 4.0, adjacency: Adjacency::ReplaceOne };
//! let epsilon = epsilon_upper(&event, 1e-6)?;
//! assert!((epsilon - 1.0607).abs() < 1e-4);
//!
//! // A thousand noisy steps on Poisson samples, and an exponential mechanism to pick a setting.
//! let adjacency = Adjacency::AddRemoveOne;
//! let event = Event::Composed(vec![
//!     Event::PoissonGaussian { sample_rate: 0.01, noise_multiplier: 1.0, steps: 1000, adjacency },
//!     Event::BoundedRange { epsilon: 0.1, adjacency },
//! ]);
//! let (low, high) = (epsilon_lower(&event, 1e-5)?, epsilon_upper(&event, 1e-5)?);
//! assert!(low <= high && high < 1.9);
//! # Ok::<(), reticent_privacy::PrivacyError>(())
//! ```
//!
//! # Limits
//!
//! `ε` from 1e-4 to 1e4, `δ` zero or from 1e-30 to 0.1, up to 1e9 steps, sample rates from 1e-7 to
//! 1, noise multipliers from 0.05 to 1e4. One query takes about a millisecond and at most 100 MB;
//! at the corners of these ranges, and for lists with random stops, at most two seconds of one
//! core. Sampled events are composed on a grid that costs at most about 1e-4 of `ε`, so a bound may
//! be non-monotone by that much.

mod account;
mod adjacency;
mod error;
mod event;
mod query;
mod scalar;

pub mod audit;
pub mod calibrate;
pub mod composition;
pub mod explain;
pub mod filter;
pub mod gaussian;
pub mod last_iterate;
pub mod mixture;
pub mod objective;
pub mod pair;
pub mod pld;
pub mod rdp;
pub mod risk;
pub mod shuffle;
pub mod tradeoff;
pub mod tuning;

pub use adjacency::{Adjacency, Relation};
pub use error::PrivacyError;
pub use event::{Event, Hits, MAX_STEPS, ObjectiveClass, Trials};
pub use query::{
    delta_lower, delta_upper, deltas_upper, epsilon_attained, epsilon_lower, epsilon_upper,
};
pub use scalar::{Budget, Delta, Epsilon};
