//! Files and cells, and the oracles that read them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_tables;
mod cells;
mod cluster;
mod common;
mod curves;
mod formats;
mod labels;
mod libsvm;
mod never_panics;
mod one_column;
mod parts;
mod practice;
mod replaced;
mod rules;
mod shared_tables;
mod stream;
mod tiles;
mod units;
mod weights;
