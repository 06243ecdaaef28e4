//! How rows come in: tables, encoding by the declaration, and the one door to the rows.

mod rows;

pub use rows::{Csr, Dense, Features, Rows};
