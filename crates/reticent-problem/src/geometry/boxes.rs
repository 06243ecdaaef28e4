//! The box: each weight between its own bounds. Clipping is the projection.

/// Moves `w` to the nearest point with `low_j ≤ w_j ≤ high_j`.
pub fn project_onto_box(w: &mut [f64], low: &[f64], high: &[f64]) {
    for ((x, low), high) in w.iter_mut().zip(low).zip(high) {
        *x = x.max(*low).min(*high);
    }
}

/// `max ⟨v, w⟩` over the box.
pub(super) fn support(v: &[f64], low: &[f64], high: &[f64]) -> f64 {
    v.iter().zip(low).zip(high).map(|((v, low), high)| (v * low).max(v * high)).sum()
}

/// `max_j |v_j|/a_j` for a box `[−a, a]` with every `a_j > 0`; none for one that is not symmetric.
pub(super) fn gauge(v: &[f64], low: &[f64], high: &[f64]) -> Option<f64> {
    let symmetric = low.iter().zip(high).all(|(low, high)| -low == *high && *high > 0.0);
    symmetric.then(|| v.iter().zip(high).fold(0.0_f64, |m, (v, a)| m.max(v.abs() / a)))
}

/// The largest size of a weight, coordinate by coordinate.
pub(super) fn reach<'a>(low: &'a [f64], high: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    low.iter().zip(high).map(|(low, high)| low.abs().max(high.abs()))
}
