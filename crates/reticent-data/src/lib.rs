//! How rows come in: tables, encoding by the declaration, and the one door to the rows.

pub mod cluster;
mod common;
pub mod encode;
pub mod feature_map;
mod kernel;
pub mod memory;
mod oracle;
mod question;
mod repeated;
mod rows;
mod sensitive;
pub mod stream;
pub mod table;
pub mod threads;
mod tree;
pub mod walk;
mod wire;

pub use cluster::ClusterOracle;
pub use common::Common;
#[doc(hidden)]
pub use kernel::Stages;
pub use kernel::{clip_rounding, mapped_margins, margins, second_layer, shortened_rounding};
pub use oracle::{
    Chosen, LocalOracle, Oracle, OracleError, RandomAccess, Rule, Speed, batch_depth,
    moments_rounding, summation_depth,
};
pub use repeated::RepeatedOracle;
pub use rows::{Csr, Dense, Features, Rows};
pub use sensitive::Sensitive;
pub use stream::StreamOracle;
