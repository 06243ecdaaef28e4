//! Models that keep quiet about the people they learned from.
//!
//! Overview: a [`Task`] (the public declaration of a table, and the quantity to learn) gives a
//! [`Problem`](reticent_problem::Problem); a planner turns it and a budget into a
//! [`Plan`](reticent_optim::Plan) without looking at data; a run spends the budget; its result is a
//! [`Model`] that carries its [`Certificate`], which anyone can [`verify`](verify::verify) without
//! the data.

#![doc = include_str!("../README.md")]

pub mod audit;
mod cells;
mod certificate;
mod checkpoint;
mod cluster;
mod curves;
pub mod draft;
mod edit;
mod error;
mod files;
mod intervals;
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
mod units;
pub mod verify;

pub use cells::{CellQuery, CellRelease, cell_sensitivity};
pub use certificate::{Certificate, RandomnessUsed};
pub use checkpoint::KeptRun;
pub use cluster::{check_cluster, choose_for_cluster};
pub use curves::{Axis, AxisKind, Curves, Effect, Surface};
pub use edit::{Direction, Edited, Monotone};
pub use error::Error;
pub use files::{Replace, check_writable, write_atomically};
pub use intervals::{
    Coefficient, Coefficients, ExpectedIntervals, Interval, NOT_DETERMINED, Outcome, Relative,
    asks_for_intervals, expected_intervals, expected_of_each_method, for_intervals,
    with_interval_method,
};
pub use kernel::{KernelChoice, map_seed};
pub use metrics::{
    BestThreshold, CalibrationBin, ClassMetrics, Costs, CountMoves, EvaluationQuery,
    EvaluationRelease, Gap, GroupMetrics, Measure, Metrics, NoisyGroup, NoisyMetrics, Scores,
    evaluation_sensitivity,
};
pub use model::{LastLayer, Model, ModelKind, Prediction, is_model};
pub use paths::Paths;
pub use set::{SetChoice, SetName};
pub use task::{
    Task, Tuned, check_stream, default_delta, fit, fit_on, no_rows, read_rows, select_on, stream,
};
pub use units::{adjacency_of, count_units, kept_rows};

pub use reticent_noise as noise;
pub use reticent_optim as optim;
pub use reticent_privacy as privacy;
pub use reticent_problem as problem;

/// Rows and tables: the oracles of `reticent-data`, the readers and the encoding of
/// `reticent-table`.
pub mod data {
    pub use reticent_data::*;
    pub use reticent_table::{StreamOracle, encode, stream, table, units};

    /// Tables on a cluster: the oracle, its workers, and their Arrow batches.
    pub mod cluster {
        pub use reticent_data::cluster::*;
        pub use reticent_table::cluster::*;
    }
}
