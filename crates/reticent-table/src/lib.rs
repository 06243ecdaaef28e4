//! How tables come in: formats, encoding by the declaration, and rows that are streamed from a
//! file.
//!
//! | module | holds |
//! | --- | --- |
//! | [`table`] | readers of files and of Arrow batches, one file for each format |
//! | [`mod@encode`] | cells to numbers, by the declaration alone |
//! | [`stream`] | an oracle on a file that is larger than memory |
//! | [`units`] | the rows of each unit brought together, in memory or not |
//! | [`cluster`] | rows and blocks of [`reticent_data::cluster`] in Arrow batches |
//!
//! The kernels and the oracles themselves are in `reticent-data`, which knows no format: a change
//! of a reader compiles no kernel.

pub mod cluster;
pub mod encode;
mod error;
mod sort;
pub mod stream;
pub mod table;
pub mod units;

pub use stream::StreamOracle;
