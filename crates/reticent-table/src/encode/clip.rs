//! Clipping a row to a norm so that the bound holds in exact arithmetic, not merely up to rounding.
//!
//! A computed norm of `n` numbers is off by at most a relative `(n/2 + 2) u` with `u = 2^-53`, in
//! any order of summation. So a row counts as within `B` only if its computed norm, enlarged by the
//! slack `1 + 2 (n + 8) u`, is; and a row that is not is scaled by the enlarged norm. The slack
//! pays twice for the error, so the exact norm is at most `B`, and so is the norm anyone computes
//! from the result.
//!
//! A norm that is no number is beyond every bound: comparisons are written so that they fail
//! closed.

/// How far a computed norm of `n` numbers is enlarged.
fn slack(n: usize) -> f64 {
    1.0 + (n as f64 + 8.0) * f64::EPSILON
}

/// Largest sum of squares, and with its reciprocal the smallest, that is taken without rescaling.
const PLAIN: f64 = 1e200;

/// An upper bound on the norm of finite numbers, which may overflow to infinity.
pub(super) fn norm_upper(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (mut n, mut sum) = (0, 0.0);
    for value in values.clone() {
        n += 1;
        sum += value * value;
    }
    if (1.0 / PLAIN..PLAIN).contains(&sum) {
        return sum.sqrt() * slack(n);
    }
    let largest = values.clone().fold(0.0_f64, |m, value| m.max(value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let sum: f64 = values.map(|value| (value / largest).powi(2)).sum();
    largest * (sum.sqrt() * slack(n)) * (1.0 + f64::EPSILON)
}

/// Whether `n` finite numbers with this sum of squares surely have a norm of at most `bound`, as
/// [`norm_upper`] finds it; false also where that takes a closer look.
pub(super) fn within(sum: f64, n: f64, bound: f64) -> bool {
    (1.0 / PLAIN..PLAIN).contains(&sum) && sum.sqrt() * slack(n as usize) <= bound
}

/// Whether all entries are finite and their computed norm is at most `bound`, as after clipping.
pub(super) fn keeps(entries: &[(u32, f64)], bound: f64) -> bool {
    let norm = norm_upper(entries.iter().map(|entry| entry.1)) / slack(entries.len());
    norm <= bound && entries.iter().all(|entry| entry.1.is_finite())
}

/// Scale finite entries so that their norm is at most `bound`; those already within it stay as they
/// are.
pub(super) fn clip(entries: &mut [(u32, f64)], bound: f64) {
    let within = norm_upper(entries.iter().map(|entry| entry.1)) <= bound;
    if !within {
        onto_sphere(entries, bound);
    }
}

/// Whether the norm of entries is beyond `bound` by more than rounding.
pub(super) fn is_beyond(entries: &[(u32, f64)], bound: f64) -> bool {
    let within = norm_upper(entries.iter().map(|entry| entry.1)) <= bound * (1.0 + 1e-6);
    !within
}

/// Scale finite entries so that their norm is `radius`, from below. Zeros stay zeros.
pub(super) fn onto_sphere(entries: &mut [(u32, f64)], radius: f64) {
    let largest = entries.iter().fold(0.0_f64, |m, entry| m.max(entry.1.abs()));
    if largest == 0.0 {
        return;
    }
    // Dividing by the largest entry first keeps the squares in range for every finite row.
    let norm = norm_upper(entries.iter().map(|entry| entry.1 / largest));
    let factor = radius / norm * (1.0 - 8.0 * f64::EPSILON);
    for entry in entries {
        entry.1 = entry.1 / largest * factor;
    }
}

/// The nearest `f32` that is not larger in absolute value.
pub(super) fn toward_zero(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest).abs() > value.abs() {
        f32::from_bits(nearest.to_bits() - 1)
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(values: &[f64]) -> Vec<(u32, f64)> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn norm(entries: &[(u32, f64)]) -> f64 {
        entries.iter().map(|e| e.1 * e.1).sum::<f64>().sqrt()
    }

    #[test]
    fn extreme_rows_are_clipped_without_overflow_or_underflow() {
        let big = f64::MAX;
        let tiny = f64::from_bits(1);
        for values in [vec![big; 5], vec![big, -big, tiny], vec![1e200, 1.0], vec![3.0, 4.0]] {
            for bound in [1e-100, 1e-3, 1.0, 2.5] {
                let mut row = entries(&values);
                clip(&mut row, bound);
                assert!(keeps(&row, bound));
                assert!(norm(&row) <= bound && norm(&row) > bound * (1.0 - 1e-12), "{bound}");
            }
        }
        let mut row = entries(&[tiny, tiny, 0.0]);
        clip(&mut row, 1.0);
        assert_eq!(row[0].1, tiny);
        onto_sphere(&mut row, 2.0);
        assert!(norm(&row) <= 2.0 && norm(&row) > 2.0 - 1e-12);
        let mut zeros = entries(&[0.0, -0.0]);
        onto_sphere(&mut zeros, 2.0);
        assert_eq!(norm(&zeros), 0.0);
    }

    #[test]
    fn what_is_no_number_is_beyond_every_bound() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut row = entries(&[0.5, bad]);
            assert!(!keeps(&row, f64::INFINITY) && is_beyond(&row, 1.0), "{bad}");
            clip(&mut row, 1.0);
            assert!(!keeps(&row, 1.0), "scaling does not mend it: the writer drops the row");
        }
    }

    #[test]
    fn a_row_within_the_bound_is_left_alone() {
        let mut row = entries(&[1.0; 15]);
        clip(&mut row, 15_f64.sqrt() * (1.0 + 1e-12));
        assert!(row.iter().all(|e| e.1 == 1.0));
    }

    #[test]
    fn rounding_toward_zero_never_grows() {
        for value in [0.1, -0.1, 1.0 / 3.0, 1e-60, -1e-46, 0.0, 1.0, 1e-45, 0.999_999_999] {
            let rounded = f64::from(toward_zero(value));
            assert!(rounded.abs() <= value.abs(), "{value}");
            assert!((rounded - value).abs() <= value.abs() * 1.2e-7 + 2e-45, "{value}");
        }
    }
}
