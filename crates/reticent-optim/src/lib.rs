//! How it is minimised privately: one file per algorithm, and the planner.
//!
//! An [`Algorithm`] plans in public and runs once. Its [`Plan`](Algorithm::Plan) is a function of public facts alone;
//! the run sees rows only through an [`Oracle`](reticent_data::Oracle), and what it hands over is paid for by the event
//! that the plan names.

mod algorithm;
pub mod least_squares;
pub mod output_gd;
mod plan;
mod step;

pub use algorithm::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Quiet, Release, RunError,
};
pub use output_gd::OutputGd;
pub use plan::{ALGORITHMS, Candidate, Plan, Request, candidates};
