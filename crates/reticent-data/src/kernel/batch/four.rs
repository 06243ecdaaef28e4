//! Dense rows of a batch, four at a time.
//!
//! A step on one row waits for itself at every turn: the margin for its last product, the slope for
//! the margin, the sum for the slope. Four rows together wait once, and read and write the weights
//! and the sum once. Each row is still added in the order of the batch, with the factor that it has
//! alone, so the sum has the bits of adding row after row.

use reticent_problem::loss::{LinearLoss, LinearVisitor};

use super::{BLOCK, BatchPass, Bounds, Derivative, dense};
use crate::Dense;

/// `into = Σ_{i in batch} clip(∇ℓ(w; xᵢ, yᵢ))`.
#[inline(always)]
pub(super) fn sum<T: dense::Element>(x: &Dense<T>, pass: BatchPass<'_>) {
    let BatchPass { labels, derivative, bounds, batch, w, into, scratch } = pass;
    let one = match *batch {
        [i] => derivative.visit_linear(One {
            x: x.row(i),
            label: labels[i],
            bounds,
            w,
            into: &mut *into,
        }),
        _ => None,
    };
    if one.is_some() {
        return;
    }
    if batch.len() <= BLOCK {
        few(x, labels, derivative, bounds, batch, w, into);
    } else {
        into.fill(0.0);
        for part in batch.chunks(BLOCK) {
            few(x, labels, derivative, bounds, part, w, scratch);
            for (total, b) in into.iter_mut().zip(scratch.iter()) {
                *total += *b;
            }
        }
    }
}

/// One row: nothing to prepare for others, and compiled for each loss. A step on it is so short
/// that a loss handed over in memory would be waited for.
struct One<'a, T> {
    x: &'a [T],
    label: f64,
    bounds: Bounds,
    w: &'a [f64],
    into: &'a mut [f64],
}

impl<T: dense::Element> LinearVisitor for One<'_, T> {
    type Output = ();

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) {
        let Self { x, label, bounds, w, into } = self;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            move || {
                // moved out: only a closure that runs once is compiled for wide registers
                let into = into;
                let (margin, square) = dense::dot_and_square(x, w);
                if square > 0.0 {
                    let c = bounds.within(loss.slope(margin, label), square);
                    dense::set_scaled([x], [c], into);
                } else {
                    into.fill(0.0);
                }
            },
        );
    }
}

/// Up to a block of rows.
fn few<T: dense::Element>(
    x: &Dense<T>,
    labels: &[f64],
    derivative: Derivative,
    bounds: Bounds,
    batch: &[usize],
    w: &[f64],
    into: &mut [f64],
) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            let into = into; // moved out, as above
            let mut sum = Sum { into, fresh: true };
            let (fours, rest) = batch.as_chunks::<4>();
            for &four in fours {
                let [i, j, k, l] = four;
                let rows = [x.row(i), x.row(j), x.row(k), x.row(l)];
                let (margins, squares) = dense::dots_and_squares(rows, w);
                let y = [labels[i], labels[j], labels[k], labels[l]];
                add_four(rows, derivative.slopes(margins, y), squares, bounds, &mut sum);
            }
            for &i in rest {
                let (margin, square) = dense::dot_and_square(x.row(i), w);
                if square > 0.0 {
                    let c = bounds.within(derivative.slope(margin, labels[i]), square);
                    sum.add([x.row(i)], [c]);
                }
            }
            if sum.fresh {
                sum.into.fill(0.0);
            }
        },
    );
}

/// Adds four rows with these slopes and squared norms.
#[inline(always)]
fn add_four<T: dense::Element>(
    rows: [&[T]; 4],
    mut c: [f64; 4],
    squares: [f64; 4],
    bounds: Bounds,
    sum: &mut Sum<'_>,
) {
    let (mut short, mut all) = (true, true);
    for r in 0..4 {
        short &= bounds.short(c[r], squares[r]);
    }
    if !short {
        for r in 0..4 {
            c[r] = bounds.clipped(c[r], squares[r]);
            all &= squares[r] > 0.0;
        }
    }
    if all {
        sum.add(rows, c);
    } else {
        // A row of zeros is left out, whatever its slope.
        for r in 0..4 {
            if squares[r] > 0.0 {
                sum.add([rows[r]], [c[r]]);
            }
        }
    }
}

/// A sum that is written by the first rows and added to by the others: nothing has to be cleared
/// before.
struct Sum<'a> {
    into: &'a mut [f64],
    fresh: bool,
}

impl Sum<'_> {
    #[inline(always)]
    fn add<T: dense::Element, const N: usize>(&mut self, rows: [&[T]; N], c: [f64; N]) {
        if self.fresh {
            dense::set_scaled(rows, c, self.into);
        } else {
            dense::add_scaled(rows, c, self.into);
        }
        self.fresh = false;
    }
}

#[cfg(test)]
mod tests {
    use reticent_problem::Loss;
    use reticent_problem::loss::{Logistic, Squared};

    use super::*;

    /// Rows of many lengths: zero, ordinary, beyond any clip, next to the ends of the range.
    fn table(rows: usize, columns: usize) -> Vec<f64> {
        let scales = [0.1, 1.0, 30.0, 0.0, 1e-170, 1e160, 0.3];
        (0..rows * columns).map(|k| (k as f64 * 0.7).sin() * scales[k / columns % 7]).collect()
    }

    /// Row after row, with a root and a quotient for each.
    fn row_after_row<T: dense::Element>(
        x: &Dense<T>,
        labels: &[f64],
        loss: impl LinearLoss,
        bounds: Bounds,
        batch: &[usize],
        w: &[f64],
    ) -> Vec<f64> {
        let mut into = vec![0.0; w.len()];
        for part in batch.chunks(BLOCK) {
            let mut block = vec![0.0; w.len()];
            for &i in part {
                let (margin, square) = dense::dot_and_square(x.row(i), w);
                if square > 0.0 {
                    // One bound after the other, as the words say.
                    let limited = loss.slope(margin, labels[i]).clamp(-bounds.limit, bounds.limit);
                    let only_clip = Bounds { limit: f64::INFINITY, ..bounds };
                    let c = only_clip.clipped(limited, square);
                    dense::add_scaled([x.row(i)], [c], &mut block);
                }
            }
            for (total, b) in into.iter_mut().zip(block) {
                *total += b;
            }
        }
        into
    }

    fn check<T: dense::Element>(x: &Dense<T>, loss: Loss, written_out: impl LinearLoss) {
        let columns = x.columns();
        let labels: Vec<f64> = (0..x.rows()).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let mut w: Vec<f64> = (0..columns).map(|j| (j as f64).cos()).collect();
        let mut block = vec![0.0; columns];
        for weights in 0..2 {
            if weights == 1 {
                w[0] = f64::NAN; // no slope is a number
            }
            for size in [0, 1, 2, 3, 4, 5, 8, 16, 31, BLOCK, BLOCK + 7] {
                let batch: Vec<usize> = (0..size).map(|k| (k * 5 + size) % x.rows()).collect();
                for (limit, clip) in [(f64::INFINITY, 1.0), (0.2, 1e3), (f64::INFINITY, 1e-160)] {
                    let bounds = Bounds { limit, clip };
                    let mut into = vec![f64::NAN; columns];
                    let derivative = Derivative::new(loss, limit);
                    let (into_sum, scratch) = (&mut into[..], &mut block[..]);
                    let (labels, batch, w) = (&labels[..], &batch[..], &w[..]);
                    sum(
                        x,
                        BatchPass { labels, derivative, bounds, batch, w, into: into_sum, scratch },
                    );
                    let want = row_after_row(x, labels, written_out, bounds, batch, w);
                    let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&into), bits(&want), "{size} rows, {columns} columns, {clip}");
                }
            }
        }
    }

    #[test]
    fn four_rows_together_are_the_same_bits_as_row_after_row() {
        for columns in [1, 7, 8, 50, 67] {
            let values = table(23, columns);
            let single = values.iter().map(|v| *v as f32).collect();
            let (double, single) =
                (Dense::new(23, columns, values), Dense::new(23, columns, single));
            check(&double, Loss::Squared, Squared);
            check(&double, Loss::Logistic, Logistic);
            check(&single, Loss::Logistic, Logistic);
        }
    }

    #[test]
    fn no_row_is_longer_than_the_clip_however_small_that_is() {
        for clip in [1e-300, 1e-200, 1e-180, 1e-154, 1e-20, 1.0, 1e150] {
            let bounds = Bounds { limit: f64::INFINITY, clip };
            for norm in [1e-140, 1e-3, 1.0, 3.9e143, 1.1e150] {
                for c in [1e-160, 1.0, 1e100, f64::INFINITY] {
                    let held = bounds.within(c, norm * norm);
                    assert!(
                        held >= 0.0 && held * norm <= clip * (1.0 + 1e-12),
                        "{clip} {norm} {c}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_seen_to_be_short_is_not_clipped() {
        let sizes = [
            0.0, 1e-300, 1e-160, 1e-154, 1e-140, 1e-90, 1e-30, 0.1, 0.999, 1.0, 1.001, 7.0, 1e100,
            1e160,
        ];
        let mut seen = 0;
        for clip in [1e-200, 1e-30, 0.5, 1.0, 3.0, 1e150, 1e200] {
            for limit in [0.1, 1.0, f64::INFINITY] {
                let bounds = Bounds { limit, clip };
                for c in sizes.into_iter().chain([f64::NAN, f64::INFINITY]) {
                    for norm in sizes.into_iter().chain([clip, clip * (1.0 + 1e-15)]) {
                        if bounds.short(c, norm * norm) {
                            seen += 1;
                            assert_eq!(bounds.clipped(c, norm * norm), c, "{c} {norm} {clip}");
                            assert!(c * norm <= clip && c <= limit, "{c} {norm} {clip} {limit}");
                        }
                    }
                }
            }
        }
        assert!(seen > 300, "{seen}");
    }
}
