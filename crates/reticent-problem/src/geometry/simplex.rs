//! The simplex: `w_j ≥ 0` and `Σ w_j = s`. The only set here that does not contain zero.

use super::threshold::level;

/// Moves `w` to the nearest point with `w_j ≥ 0` and `Σ w_j = total`.
pub fn project_onto_simplex(w: &mut [f64], total: f64) {
    let mut entries: Vec<(f64, f64)> = w.iter().map(|x| (*x, 1.0)).collect();
    let level = level(&mut entries, total);
    for x in w {
        *x = level.excess(*x);
    }
}

/// `max ⟨v, w⟩` over the simplex: a vertex.
pub(super) fn support(v: &[f64], total: f64) -> f64 {
    total * v.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
