//! For tests only: the test vectors, neighbouring data sets, and tests of distributions.

pub mod distribution;
pub mod vectors;
