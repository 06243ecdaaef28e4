//! The common form of the weights of every run of a plan, for any rows and noise: a reader of a
//! model file can check it.

use reticent_problem::Domain;

use super::Plan;
use crate::clipped_sgd::Output;
use crate::step::perturb::Noise;

/// The form of released weights that is known before a run.
#[derive(Clone, Debug, PartialEq)]
pub enum WeightsForm {
    /// They lie in this set: the last operation is a projection onto it, or an average of points in
    /// it.
    Set(Domain),
    /// They are multiples of this number: the last operation adds noise on a grid.
    Grid(f64),
    /// Nothing that can be checked.
    Free,
}

impl Plan {
    /// The form of the weights of every run of this plan.
    pub fn weights_form(&self) -> WeightsForm {
        let domain = &self.outline().problem.domain;
        let in_set = || match domain {
            Domain::Unbounded => WeightsForm::Free,
            set => WeightsForm::Set(set.clone()),
        };
        match self {
            Self::OutputGd(plan) if *domain == Domain::Unbounded => on_grid(plan.noise),
            Self::OutputSgd(plan) => on_grid(plan.noise),
            Self::PermutedSgd(plan) => on_grid(plan.noise),
            Self::LeastSquares(plan) => on_grid(plan.noise),
            Self::NoisySgd(plan) => WeightsForm::Set(Domain::Ball { radius: plan.radius }),
            // The first iterate is zero, which no simplex holds, and only the last iterate leaves
            // it out.
            Self::ClippedSgd(plan) if plan.output != Output::Last => match domain {
                Domain::Simplex { .. } => WeightsForm::Free,
                _ => in_set(),
            },
            // The noise on the output of `objective` covers the solver's distance to the minimiser
            // alone: its grid is finer than the spacing of the weights.
            Self::Objective(_)
            | Self::OutputGd(_)
            | Self::GradientSgd(_)
            | Self::RandomRound(_)
            | Self::ClippedSgd(_)
            | Self::Mirror(_)
            | Self::Phased(_)
            | Self::TruncatedMirror(_)
            | Self::CoordinateMean(_)
            | Self::ShuffledMirror(_) => in_set(),
        }
    }
}

fn on_grid(noise: Noise) -> WeightsForm {
    match noise {
        Noise::Gaussian { grid, .. } | Noise::Ball { grid, .. } => WeightsForm::Grid(grid),
        Noise::None => WeightsForm::Free,
    }
}

impl WeightsForm {
    /// Sets hold up to this distance, relative to the set: what rounding does to projections and
    /// averages.
    const ROUNDING: f64 = 1e-9;

    /// Whether weights, output after output, have this form.
    pub fn holds(&self, weights: &[f64]) -> bool {
        match self {
            Self::Free => true,
            Self::Grid(grid) => weights.iter().all(|w| {
                let cells = w / grid;
                cells.is_finite() && cells.fract() == 0.0
            }),
            Self::Set(set) => {
                let mut nearest = weights.to_vec();
                set.project(&mut nearest);
                let apart = nearest.iter().zip(weights).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                apart.sqrt() <= Self::ROUNDING * set.radius()
            }
        }
    }
}
