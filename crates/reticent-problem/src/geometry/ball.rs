//! The Euclidean ball: projection by scaling, `w · min(1, R/‖w‖)`.

use super::norm::lp_norm;

/// Moves `w` to the nearest point of the ball of this radius around zero.
///
/// # Numerics
///
/// The norm is taken of `w` divided by its largest entry, so no finite `w` overflows or underflows.
pub fn project_onto_ball(w: &mut [f64], radius: f64) {
    let norm = lp_norm(w, 2.0);
    if norm > radius {
        let scale = radius / norm;
        for x in w {
            *x *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_inside_stays_and_a_point_outside_lands_on_the_sphere() {
        let mut inside = [0.3, -0.4];
        project_onto_ball(&mut inside, 0.5);
        assert_eq!(inside, [0.3, -0.4]);
        let mut outside = [3.0, -4.0];
        project_onto_ball(&mut outside, 0.5);
        assert!((outside[0] - 0.3).abs() < 1e-15 && (outside[1] + 0.4).abs() < 1e-15);
    }

    #[test]
    fn extreme_entries_neither_overflow_nor_vanish() {
        let mut large = [1e200, 1e200];
        project_onto_ball(&mut large, 1.0);
        assert!((lp_norm(&large, 2.0) - 1.0).abs() < 1e-12);
        let mut small = [1e-200, 0.0];
        project_onto_ball(&mut small, 1e-201);
        assert!((lp_norm(&small, 2.0) / 1e-201 - 1.0).abs() < 1e-12);
    }
}
