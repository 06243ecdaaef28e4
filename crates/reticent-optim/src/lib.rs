//! How it is minimised privately: one file per algorithm, and the planner.
//!
//! An [`Algorithm`] plans in public and runs once. Its [`Plan`](Algorithm::Plan) is a function of
//! public facts alone; the run sees rows only through an [`Oracle`](reticent_data::Oracle), and
//! what it hands over is paid for by the event that the plan names.

mod algorithm;
pub mod clipped_sgd;
pub mod coordinate_mean;
pub mod draft;
mod executor;
pub mod gradient_sgd;
pub mod holder;
pub mod least_squares;
pub mod mirror;
pub mod noisy_sgd;
pub mod objective;
mod one_shot;
pub mod output_gd;
pub mod output_sgd;
pub mod permuted_sgd;
pub mod phased;
mod plan;
pub mod random_round;
mod release;
mod selection;
pub mod setting;
pub mod shuffled_mirror;
mod step;
pub mod truncated_mirror;
pub mod tuning;

pub use algorithm::{
    Algorithm, AlgorithmInfo, Assumption, Calibration, Outline, PlanError, Planned, Progress,
    Quiet, RunError, UnitSupport, WeightSupport,
};
pub use clipped_sgd::ClippedSgd;
pub use coordinate_mean::CoordinateMean;
pub use executor::{Keep, Standing};
pub use gradient_sgd::GradientSgd;
pub use least_squares::LeastSquares;
pub use mirror::Mirror;
pub use noisy_sgd::NoisySgd;
pub use objective::ObjectivePerturbation;
pub use one_shot::OneShot;
pub use output_gd::OutputGd;
pub use output_sgd::OutputSgd;
pub use permuted_sgd::PermutedSgd;
pub use phased::Phased;
pub use plan::{
    ALGORITHMS, Candidate, LevelGain, Plan, Prediction, RowCost, Simulated, WeightsForm,
    candidates, choose, info_of, level_names, plan_first, plan_named, ranked, simulate,
    simulate_named, simulate_only, why_none,
};
pub use random_round::RandomRound;
pub use release::Release;
pub use selection::{Choice, Selected, Selection};
pub use setting::{Setting, Settings};
pub use shuffled_mirror::ShuffledMirror;
pub use step::lr_noise;
pub use truncated_mirror::TruncatedMirror;
