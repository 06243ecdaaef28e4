//! How rows come in: tables, encoding by the declaration, and the one door to the rows.

pub mod encode;
mod kernel;
mod oracle;
mod rows;
mod sensitive;
pub mod table;

pub use kernel::margins;
pub use oracle::{Chosen, LocalOracle, Oracle, OracleError, Rule, Speed, summation_depth};
pub use rows::{Csr, Dense, Features, Rows};
pub use sensitive::Sensitive;
