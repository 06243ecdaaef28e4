//! How it is minimised privately: one file per algorithm, and the planner.
//!
//! An [`Algorithm`] plans in public and runs once. Its [`Plan`](Algorithm::Plan) is a function of public facts alone;
//! the run sees rows only through an [`Oracle`](reticent_data::Oracle), and what it hands over is paid for by the event
//! that the plan names.

mod algorithm;
pub mod coordinate_mean;
pub mod mirror;
pub mod objective;
pub mod output_gd;
pub mod phased;
mod plan;
pub mod shuffled_mirror;
mod step;
pub mod truncated_mirror;

pub use algorithm::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Quiet, Release, RunError,
};
pub use coordinate_mean::CoordinateMean;
pub use mirror::Mirror;
pub use objective::ObjectivePerturbation;
pub use output_gd::OutputGd;
pub use phased::Phased;
pub use plan::{ALGORITHMS, Candidate, Plan, Request, candidates};
pub use shuffled_mirror::ShuffledMirror;
pub use step::lr_noise;
pub use truncated_mirror::TruncatedMirror;
