//! Samplers against their laws.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
mod common;
mod fast_gaussian;
mod integer;
mod lattice;
