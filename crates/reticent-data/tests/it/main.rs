//! Sums over rows against their definitions, bounds and bits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch_sum;
mod blocks;
mod clipped_sum;
mod common;
mod curvature;
mod feature_map;
mod gradient_sum;
mod mapped;
mod moments;
mod part;
mod place;
mod repeated;
mod truncated;
mod units;
mod walk;
mod weights;
