//! The Euclidean ball: projection by scaling, `w · min(1, R/‖w‖)`.

/// Moves `w` to the nearest point of the ball of this radius around zero.
///
/// # Numerics
///
/// The norm is taken of `w` divided by its largest entry, so no finite `w` overflows or underflows.
pub fn project_onto_ball(w: &mut [f64], radius: f64) {
    let norm = norm(w);
    if norm > radius {
        let scale = radius / norm;
        for x in w {
            *x *= scale;
        }
    }
}

/// The Euclidean norm without overflow.
fn norm(w: &[f64]) -> f64 {
    let largest = w.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * w.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
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
        assert!((norm(&large) - 1.0).abs() < 1e-12);
        let mut small = [1e-200, 0.0];
        project_onto_ball(&mut small, 1e-201);
        assert!((norm(&small) / 1e-201 - 1.0).abs() < 1e-12);
    }
}
