//! Algorithms for sets, other norms and heavy tails against their theorems: worst-case neighbours,
//! refusals, risk.

#[path = "../../../../reticent-data/tests/it/common/clear.rs"]
pub(crate) mod clear;
mod coordinate_mean;
mod lr_noise;
mod mirror;
mod phased;
mod shuffled_mirror;
mod sparse;
mod support;
mod truncated_mirror;
