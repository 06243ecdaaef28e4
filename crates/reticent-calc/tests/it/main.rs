//! The formulas by their names, against the vectors.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod vectors;
