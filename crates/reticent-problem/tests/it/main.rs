//! Constants, sets and declarations.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod constants;
mod declaration;
mod mirror;
mod sets;
