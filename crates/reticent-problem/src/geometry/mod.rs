//! Where the weights may lie.

mod ball;

use serde::{Deserialize, Serialize};

pub use ball::project_onto_ball;

/// The closed convex set over which the loss is minimised. Each contains zero, where every run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "set", rename_all = "kebab-case")]
pub enum Domain {
    /// All of `R^d`.
    Unbounded,
    /// The Euclidean ball around zero.
    Ball {
        /// Its radius.
        radius: f64,
    },
}

impl Domain {
    /// The largest Euclidean norm of a point of the set.
    pub fn radius(&self) -> f64 {
        match self {
            Self::Unbounded => f64::INFINITY,
            Self::Ball { radius } => *radius,
        }
    }

    /// Moves `w` to the nearest point of the set.
    pub fn project(&self, w: &mut [f64]) {
        match self {
            Self::Unbounded => {}
            Self::Ball { radius } => project_onto_ball(w, *radius),
        }
    }
}
