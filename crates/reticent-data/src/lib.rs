//! How rows come in: tables, encoding by the declaration, and the one door to the rows.

pub mod encode;
mod rows;
pub mod table;

pub use rows::{Csr, Dense, Features, Rows};
