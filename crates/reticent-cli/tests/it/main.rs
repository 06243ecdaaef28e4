//! The built command, end to end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod audit;
mod bad_arguments;
mod bad_files;
mod calc;
mod certificate;
mod clipped_sgd;
mod common;
mod data_check;
mod determinism;
mod faults;
mod formats;
mod happy;
mod kernels;
mod ledger;
mod losses;
mod noisy_algorithms;
mod nothing_private;
mod sets;
mod sgd;
mod signature;
mod tune;
mod writes;
