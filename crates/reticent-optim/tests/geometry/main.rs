//! Algorithms for sets, other norms and heavy tails against their theorems: worst-case neighbours, refusals,
//! risk.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../reticent-data/tests/common/clear.rs"]
mod clear;
mod coordinate_mean;
mod lr_noise;
mod mirror;
mod phased;
mod shuffled_mirror;
mod sparse;
mod support;
mod truncated_mirror;
