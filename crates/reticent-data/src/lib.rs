//! How rows come in: tables, encoding by the declaration, and the one door to the rows.

mod blocks;
pub mod cluster;
mod common;
pub mod encode;
pub mod feature_map;
mod kernel;
mod local;
pub mod memory;
mod oracle;
mod question;
mod repeated;
mod rows;
mod sensitive;
mod sent;
pub mod stream;
pub mod table;
pub mod threads;
mod tree;
pub mod walk;
mod wire;

pub use blocks::{BlockOracle, Blocks, block_rows};
pub use cluster::ClusterOracle;
pub use common::Common;
#[doc(hidden)]
pub use kernel::Stages;
pub use kernel::robust::{Chosen, Rule};
pub use kernel::{clip_rounding, mapped_margins, margins, second_layer, shortened_rounding};
pub use local::LocalOracle;
pub use oracle::{
    InOrder, Oracle, OracleError, RandomAccess, Speed, batch_depth, moments_rounding,
    summation_depth,
};
pub use question::Question;
pub use repeated::RepeatedOracle;
pub use rows::{Csr, Dense, Features, Rows};
pub use sensitive::{Key, Mechanism, Sensitive, Withheld};
pub use stream::StreamOracle;
