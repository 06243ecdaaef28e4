//! The one door to the rows: rows in memory, the sums that may be asked of them, and the oracles.
//!
//! Nothing here knows a file format. `reticent-table` reads and encodes tables, and streams them.

mod blocks;
pub mod cluster;
pub mod feature_map;
mod kernel;
mod local;
pub mod memory;
mod oracle;
mod part;
mod preconditioner;
mod question;
mod repeated;
mod rows;
mod sensitive;
mod sent;
mod shares;
pub mod threads;
mod tree;
mod units;
pub mod walk;
mod wire;

pub use blocks::{BlockOracle, Blocks, block_records, block_rows};
pub use cluster::ClusterOracle;
#[doc(hidden)]
pub use kernel::Stages;
pub use kernel::robust::{Chosen, RobustRule};
pub use kernel::{clip_rounding, mapped_margins, margins, second_layer, shortened_rounding};
pub use local::LocalOracle;
pub use oracle::{
    InOrder, Oracle, OracleError, RandomAccess, Speed, batch_depth, curvature_rounding,
    moments_rounding, summation_depth,
};
pub use part::PartOracle;
pub use preconditioner::Preconditioner;
pub use question::Question;
pub use repeated::RepeatedOracle;
pub use rows::{Csr, Dense, Features, Rows};
pub use sensitive::{Key, Mechanism, Sensitive, Withheld};
pub use units::{Units, kept_rows};
