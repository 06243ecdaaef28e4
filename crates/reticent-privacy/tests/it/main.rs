//! The accountant against vectors, properties and limits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dominance;
mod extremes;
mod limits;
mod objective;
mod properties;
mod stop;
mod vectors;
