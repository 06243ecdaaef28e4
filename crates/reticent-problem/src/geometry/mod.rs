//! Where the weights may lie: closed convex sets, one file each.
//!
//! Of every set there is the projection, the support function `max ⟨v, w⟩`, the gauge, the largest
//! norm of a point, the distance from zero to the border and the Gaussian width. All of it is
//! public and none of it enters a privacy statement except through the largest norm, from which the
//! constants of a loss follow.

mod ball;
mod boxes;
mod group;
mod l1;
mod lp;
mod mirror;
mod norm;
mod simplex;
mod threshold;
mod width;

use serde::{Deserialize, Serialize};

use crate::ProblemError;

pub use ball::project_onto_ball;
pub use boxes::project_onto_box;
pub use group::{project_onto_group_ball, project_onto_product};
pub use l1::project_onto_l1_ball;
pub use lp::project_onto_lp_ball;
pub use mirror::{MirrorMap, dual_exponent, dual_smoothness};
pub use norm::lp_norm;
pub use simplex::project_onto_simplex;
pub use width::{
    width_of_ball, width_of_box, width_of_group_ball, width_of_l1_ball, width_of_lp_ball,
    width_of_product, width_of_simplex,
};

/// The closed convex set over which the loss is minimised. Each but the simplex contains zero; a
/// run starts at the set's point nearest to zero.
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
    /// `‖w‖₁ ≤ radius`: few weights differ from zero.
    L1 {
        /// Its radius.
        radius: f64,
    },
    /// `‖w‖_p ≤ radius`.
    Lp {
        /// `1 < p < ∞`.
        p: f64,
        /// Its radius.
        radius: f64,
        /// `d`, on which its Euclidean size depends.
        dimension: usize,
    },
    /// `w_j ≥ 0` and `Σ w_j = total`: weights that are shares.
    Simplex {
        /// The sum of the weights.
        total: f64,
    },
    /// `low_j ≤ w_j ≤ high_j`, zero among them.
    Box {
        /// One for each weight.
        low: Vec<f64>,
        /// One for each weight.
        high: Vec<f64>,
    },
    /// `Σ_g weight_g ‖w_g‖₂ ≤ radius` over consecutive groups: few groups differ from zero.
    Group {
        /// Its radius.
        radius: f64,
        /// Weights in each group.
        sizes: Vec<usize>,
        /// The weight of each group's norm; all 1 if none are given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
    },
    /// `‖w_g‖₂ ≤ radius` for each of consecutive groups.
    Product {
        /// The radius of each.
        radius: f64,
        /// Weights in each group.
        sizes: Vec<usize>,
    },
}

impl Domain {
    /// The name in flags, files and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unbounded => "unbounded",
            Self::Ball { .. } => "ball",
            Self::L1 { .. } => "l1",
            Self::Lp { .. } => "lp",
            Self::Simplex { .. } => "simplex",
            Self::Box { .. } => "box",
            Self::Group { .. } => "group",
            Self::Product { .. } => "product",
        }
    }

    /// Whether the set has a largest norm.
    pub fn is_bounded(&self) -> bool {
        !matches!(self, Self::Unbounded)
    }

    /// Checks the numbers of the set, for weights of this dimension.
    ///
    /// # Errors
    ///
    /// [`ProblemError`] names the parameter, what it must be and what it was.
    pub fn check(&self, dimension: usize) -> Result<(), ProblemError> {
        let positive = |name, got: f64| {
            if got.is_finite() && got > 0.0 {
                Ok(())
            } else {
                Err(ProblemError::NotDeclared { name, got })
            }
        };
        let range = |ok: bool, name, expected, got| {
            if ok { Ok(()) } else { Err(ProblemError::OutOfRange { name, expected, got }) }
        };
        let sized = |name, got: usize| {
            range(got == dimension, name, "as many as there are weights", got as f64)
        };
        let groups = |sizes: &[usize]| {
            range(sizes.iter().all(|&s| s > 0), "groups", "groups of at least one weight", 0.0)?;
            let sum = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
            range(
                sum == dimension,
                "groups",
                "sizes that add up to the number of weights",
                sum as f64,
            )
        };
        match self {
            Self::Unbounded => Ok(()),
            Self::Ball { radius } | Self::L1 { radius } => positive("radius", *radius),
            Self::Lp { p, radius, dimension: own } => {
                // Within, the projection's multiplier is far from the ends of what a number can
                // hold, and its roots keep their digits; beyond, the computed projection would
                // expand.
                range(
                    (1.01..=8.0).contains(p),
                    "p",
                    "from 1.01 to 8 for this set; the ends are l1 and box",
                    *p,
                )?;
                sized("dimension", *own)?;
                positive("radius", *radius)?;
                range(
                    (1e-6..=1e6).contains(radius),
                    "radius",
                    "from 1e-6 to 1e6 for this set",
                    *radius,
                )
            }
            Self::Simplex { total } => positive("radius", *total),
            Self::Box { low, high } => {
                sized("low", low.len())?;
                sized("high", high.len())?;
                for (&low, &high) in low.iter().zip(high) {
                    range(low.is_finite() && low <= 0.0, "low", "a finite number <= 0", low)?;
                    range(high.is_finite() && high >= 0.0, "high", "a finite number >= 0", high)?;
                }
                let widest = low.iter().zip(high).fold(0.0_f64, |m, (low, high)| m.max(high - low));
                range(widest > 0.0, "high", "above `low` for at least one weight", widest)
            }
            Self::Group { radius, sizes, weights } => {
                groups(sizes)?;
                if let Some(weights) = weights {
                    let got = weights.len();
                    range(got == sizes.len(), "group_weights", "one for each group", got as f64)?;
                    weights.iter().try_for_each(|&w| positive("group_weights", w))?;
                }
                positive("radius", *radius)
            }
            Self::Product { radius, sizes } => {
                groups(sizes)?;
                positive("radius", *radius)
            }
        }
    }

    /// The largest Euclidean norm of a point of the set.
    pub fn radius(&self) -> f64 {
        match self {
            Self::Ball { radius } => *radius,
            // Only the ball's other norms need a dimension that it does not have.
            _ => self.norm_radius(2.0, 1),
        }
    }

    /// The largest `l_p` norm of a point of the set, `1 ≤ p ≤ ∞`.
    ///
    /// A norm is largest at an extreme point: a vertex, or for groups a point of one group each.
    pub fn norm_radius(&self, p: f64, dimension: usize) -> f64 {
        let d = dimension as f64;
        // The largest l_p norm of the unit ball of l_s in dimension m.
        let stretch = |m: f64, s: f64| m.powf((1.0 / p - 1.0 / s).max(0.0));
        match self {
            Self::Unbounded => f64::INFINITY,
            Self::Ball { radius } => radius * stretch(d, 2.0),
            Self::L1 { radius } => *radius,
            Self::Simplex { total } => *total,
            Self::Lp { p: own, radius, dimension } => radius * stretch(*dimension as f64, *own),
            Self::Box { low, high } => {
                let reach: Vec<f64> = boxes::reach(low, high).collect();
                lp_norm(&reach, p)
            }
            Self::Group { radius, sizes, weights } => {
                let each = sizes.iter().enumerate().map(|(g, &size)| {
                    stretch(size as f64, 2.0) / weights.as_ref().map_or(1.0, |w| w[g])
                });
                radius * each.fold(0.0, f64::max)
            }
            Self::Product { radius, sizes } => {
                let each: Vec<f64> = sizes.iter().map(|&size| stretch(size as f64, 2.0)).collect();
                radius * lp_norm(&each, p)
            }
        }
    }

    /// The largest `l_p` distance between two points of the set.
    pub fn norm_diameter(&self, p: f64, dimension: usize) -> f64 {
        match self {
            Self::Simplex { total } if dimension > 1 => total * (1.0 / p).exp2(),
            Self::Simplex { .. } => 0.0,
            Self::Box { low, high } => {
                let sides: Vec<f64> = low.iter().zip(high).map(|(low, high)| high - low).collect();
                lp_norm(&sides, p)
            }
            _ => 2.0 * self.norm_radius(p, dimension),
        }
    }

    /// The distance from zero to the nearest point outside the set; zero where zero is not inside.
    pub fn inner_radius(&self, dimension: usize) -> f64 {
        let d = dimension as f64;
        match self {
            Self::Unbounded => f64::INFINITY,
            Self::Ball { radius } | Self::Product { radius, .. } => *radius,
            Self::L1 { radius } => radius / d.sqrt(),
            Self::Lp { p, radius, .. } => radius * d.powf((0.5 - 1.0 / p).min(0.0)),
            Self::Simplex { .. } => 0.0,
            Self::Box { low, high } => {
                low.iter().zip(high).fold(f64::INFINITY, |m, (low, high)| m.min(-low).min(*high))
            }
            Self::Group { radius, sizes, weights } => match weights {
                None => radius / (sizes.len() as f64).sqrt(),
                Some(weights) => radius / lp_norm(weights, 2.0),
            },
        }
    }

    /// `max ⟨v, w⟩` over the set; infinite for all of `R^d` unless `v` is zero.
    pub fn support(&self, v: &[f64]) -> f64 {
        match self {
            Self::Unbounded => {
                if v.iter().all(|x| *x == 0.0) {
                    0.0
                } else {
                    f64::INFINITY
                }
            }
            Self::Ball { radius } => radius * lp_norm(v, 2.0),
            Self::L1 { radius } => l1::support(v, *radius),
            Self::Lp { p, radius, .. } => lp::support(v, *p, *radius),
            Self::Simplex { total } => simplex::support(v, *total),
            Self::Box { low, high } => boxes::support(v, low, high),
            Self::Group { radius, sizes, weights } => {
                group::ball_support(v, *radius, sizes, weights.as_deref())
            }
            Self::Product { radius, sizes } => group::product_support(v, *radius, sizes),
        }
    }

    /// The least `t ≥ 0` for which `v` lies in `t` times the set; none for a set that is not
    /// symmetric.
    pub fn gauge(&self, v: &[f64]) -> Option<f64> {
        Some(match self {
            Self::Unbounded => 0.0,
            Self::Ball { radius } => lp_norm(v, 2.0) / radius,
            Self::L1 { radius } => lp_norm(v, 1.0) / radius,
            Self::Lp { p, radius, .. } => lp_norm(v, *p) / radius,
            Self::Simplex { .. } => return None,
            Self::Box { low, high } => return boxes::gauge(v, low, high),
            Self::Group { radius, sizes, weights } => {
                group::ball_gauge(v, *radius, sizes, weights.as_deref())
            }
            Self::Product { radius, sizes } => group::product_gauge(v, *radius, sizes),
        })
    }

    /// The Gaussian width `E max ⟨g, w⟩`, `g ~ N(0, I)`; for tuning and risk bounds only.
    pub fn width(&self, dimension: usize) -> f64 {
        match self {
            Self::Unbounded => f64::INFINITY,
            Self::Ball { radius } => width_of_ball(dimension, *radius),
            Self::L1 { radius } => width_of_l1_ball(dimension, *radius),
            Self::Lp { p, radius, .. } => width_of_lp_ball(dimension, *p, *radius),
            Self::Simplex { total } => width_of_simplex(dimension, *total),
            Self::Box { low, high } => width_of_box(low, high),
            Self::Group { radius, sizes, weights } => {
                width_of_group_ball(*radius, sizes, weights.as_deref())
            }
            Self::Product { radius, sizes } => width_of_product(*radius, sizes),
        }
    }

    /// Moves `w` to the nearest point of the set.
    pub fn project(&self, w: &mut [f64]) {
        match self {
            Self::Unbounded => {}
            Self::Ball { radius } => project_onto_ball(w, *radius),
            Self::L1 { radius } => project_onto_l1_ball(w, *radius),
            Self::Lp { p, radius, .. } => project_onto_lp_ball(w, *p, *radius),
            Self::Simplex { total } => project_onto_simplex(w, *total),
            Self::Box { low, high } => project_onto_box(w, low, high),
            Self::Group { radius, sizes, weights } => {
                project_onto_group_ball(w, *radius, sizes, weights.as_deref());
            }
            Self::Product { radius, sizes } => project_onto_product(w, *radius, sizes),
        }
    }

    /// Where a run starts: the point nearest to zero.
    pub fn start(&self, dimension: usize) -> Vec<f64> {
        let mut w = vec![0.0; dimension];
        self.project(&mut w);
        w
    }

    /// Whether a point lies in the set, up to rounding: its projection moves it by less than a
    /// billionth of its length.
    pub fn holds(&self, w: &[f64]) -> bool {
        let mut nearest = w.to_vec();
        self.project(&mut nearest);
        let moved = nearest.iter().zip(w).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let square = w.iter().map(|x| x * x).sum::<f64>();
        square.is_finite() && moved <= 1e-18 * (1.0 + square)
    }

    /// How far a computed projection may lie from the exact one, in units of `2^-53` times the
    /// length of what is projected (or of the set, if that is longer).
    ///
    /// Scaling and clipping round a few times; a level is a quotient of sums of up to `d` entries,
    /// and the multiplier of the l_p ball is settled to `d` roundings and a few more.
    /// [`Self::check`] keeps to numbers for which this holds.
    pub fn projection_roundings(&self, dimension: usize) -> f64 {
        let d = dimension as f64;
        match self {
            Self::Unbounded | Self::Box { .. } => 0.0,
            Self::Ball { .. } | Self::Product { .. } => d + 16.0,
            Self::L1 { .. } | Self::Simplex { .. } => 2.0 * d + 32.0,
            Self::Group { weights, .. } => {
                // A group's level is weighed down and up again.
                let (low, high) = weights
                    .iter()
                    .flatten()
                    .fold((f64::INFINITY, 0.0_f64), |(low, high), w| (low.min(*w), high.max(*w)));
                (2.0 * d + 32.0) * if high > 0.0 { high / low } else { 1.0 }
            }
            // Roots of order p − 1 lose digits as p nears one.
            Self::Lp { p, .. } => 64.0 * (d + 64.0) * (1.0 / (p - 1.0)).max(1.0),
        }
    }
}
