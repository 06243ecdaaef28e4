//! Models that keep quiet about the people they learned from.

pub mod calc;
