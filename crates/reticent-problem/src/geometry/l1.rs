//! The l1 ball: soft thresholding at the level that leaves the right norm.

use super::norm::{Sum, lp_norm};
use super::threshold::level;

/// Moves `w` to the nearest point with `‖w‖₁ ≤ radius`.
pub fn project_onto_l1_ball(w: &mut [f64], radius: f64) {
    let mut sum = Sum::default();
    for x in w.iter() {
        sum.add(x.abs());
    }
    if sum.total() <= radius {
        return;
    }
    let mut sizes: Vec<(f64, f64)> = w.iter().map(|x| (x.abs(), 1.0)).collect();
    let level = level(&mut sizes, radius);
    for x in w {
        *x = level.excess(x.abs()).copysign(*x);
    }
}

/// `max ⟨v, w⟩` over the ball.
pub(super) fn support(v: &[f64], radius: f64) -> f64 {
    radius * lp_norm(v, f64::INFINITY)
}
