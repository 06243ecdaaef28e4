//! Models, ledgers, audits and the planner.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audit;
mod intervals;
mod kernel;
mod ledger;
mod model_files;
mod noisy_counts;
mod one_door;
mod planner;
mod straightening;
mod unseen;
mod worlds;
