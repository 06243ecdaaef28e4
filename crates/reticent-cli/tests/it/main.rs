//! The built command, end to end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod audit;
mod bad_arguments;
mod bad_files;
mod calc;
mod certificate;
mod clipped_sgd;
mod coefficients;
mod common;
mod curves;
mod data_check;
mod determinism;
mod draft;
mod faults;
mod formats;
mod happy;
mod kernels;
mod ledger;
mod losses;
mod noisy_algorithms;
mod nothing_private;
mod registry;
mod risk;
mod schema;
mod sets;
mod sgd;
mod signature;
mod sources;
mod tune;
mod units;
mod weights;
mod writes;
