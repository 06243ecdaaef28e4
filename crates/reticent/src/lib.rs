//! Models that keep quiet about the people they learned from.
//!
//! The way through the house: a [`Task`] (what is public about a table, and what is to be learned) gives a
//! [`Problem`](reticent_problem::Problem); a planner turns it and a budget into a [`Plan`](reticent_optim::Plan) without
//! looking at data; a run spends the budget; what comes out is a [`Model`] that carries its [`Certificate`], which anyone
//! can [`verify`](verify::verify) without the data.

#![doc = include_str!("../README.md")]

pub mod audit;
mod cells;
mod certificate;
mod checkpoint;
mod cluster;
mod error;
mod files;
mod kernel;
pub mod ledger;
mod metrics;
mod model;
mod paths;
pub mod planner;
pub mod release;
pub mod report;
mod set;
pub mod signature;
mod task;
mod unique;
pub mod verify;

pub use cells::{CellQuery, CellRelease, cell_sensitivity};
pub use certificate::{Certificate, RandomnessUsed};
pub use checkpoint::KeptRun;
pub use cluster::{check_cluster, choose_for_cluster};
pub use error::Error;
pub use files::{Replace, check_writable, write_atomically};
pub use kernel::{KernelChoice, map_seed};
pub use metrics::{Metrics, evaluate};
pub use model::{LastLayer, Model, Prediction, is_model};
pub use paths::Paths;
pub use set::{SetChoice, SetName};
pub use task::{
    Task, Tuned, check_stream, default_delta, fit, fit_on, no_rows, read_rows, select_on, stream,
};

pub use reticent_noise as noise;
pub use reticent_optim as optim;
pub use reticent_privacy as privacy;
pub use reticent_problem as problem;

/// Rows and tables: the oracles of `reticent-data`, the readers and the encoding of `reticent-table`.
pub mod data {
    pub use reticent_data::*;
    pub use reticent_table::{StreamOracle, encode, stream, table};

    /// Tables on a cluster: the oracle, its workers, and their Arrow batches.
    pub mod cluster {
        pub use reticent_data::cluster::*;
        pub use reticent_table::cluster::*;
    }
}
