//! Helpers that the tests of this crate share.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses a part of it

pub mod clear;
pub mod layouts;
