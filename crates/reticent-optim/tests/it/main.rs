//! Algorithms against their theorems.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clipped_sgd;
mod clipped_sgd_plan;
mod common;
mod draft;
mod each_step;
mod executor;
mod geometry;
mod gradient_sgd;
mod least_squares;
mod noisy_steps;
mod objective;
mod output_gd;
mod output_sgd;
mod precondition;
mod selection;
mod settings_docs;
mod simulate;
mod straightening;
mod units;
mod weights;
