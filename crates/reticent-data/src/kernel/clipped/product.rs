//! Rows times weights: the margins of a block of rows.

use super::real::{BLOCK, PANEL, Panel, Real};
use super::wide::Wide;

/// Weight vectors that are multiplied together.
const GROUP: usize = 3;

/// `out[i·outputs + k] = ⟨x_i, w_k⟩` for the rows of a block, in the precision of the features.
///
/// Four rows and up to three weight vectors at a time: twelve sums in registers for seven loads.
#[inline(always)]
pub(super) fn product<T: Real, W: Wide>(
    wide: W,
    x: &[Panel<T>],
    w: &[[T; PANEL]],
    outputs: usize,
    out: &mut [T],
) {
    let panels = x.len();
    let mut k = 0;
    while k < outputs {
        // As even as possible: 10 is 3 + 3 + 2 + 2, so that no group is left with one vector.
        let groups_left = (outputs - k).div_ceil(GROUP);
        let size = (outputs - k).div_ceil(groups_left);
        let w = |c: usize| &w[(k + c) * panels..(k + c + 1) * panels];
        match size {
            3 => column(wide, x, [w(0), w(1), w(2)], k, outputs, out),
            2 => column(wide, x, [w(0), w(1)], k, outputs, out),
            _ => column(wide, x, [w(0)], k, outputs, out),
        }
        k += size;
    }
}

#[inline(always)]
fn column<T: Real, W: Wide, const C: usize>(
    wide: W,
    x: &[Panel<T>],
    w: [&[[T; PANEL]]; C],
    k: usize,
    outputs: usize,
    out: &mut [T],
) {
    for row in (0..BLOCK).step_by(4) {
        let products = tile(wide, x, row, w);
        for (r, products) in products.iter().enumerate() {
            out[(row + r) * outputs + k..][..C].copy_from_slice(products);
        }
    }
}

/// Products of rows `row..row + 4` with `C` weight vectors.
#[inline(always)]
fn tile<T: Real, W: Wide, const C: usize>(
    wide: W,
    x: &[Panel<T>],
    row: usize,
    w: [&[[T; PANEL]]; C],
) -> [[T; C]; 4] {
    let mut sums = [[T::zeros(wide); 4]; C];
    for (p, x) in x.iter().enumerate() {
        let Some(x) = x.get(row..row + 4) else { break };
        let mut first = 0;
        while first < PANEL {
            // In this order three weight vectors and one row are live beside the sums: sixteen registers.
            for r in 0..4 {
                for c in 0..C {
                    sums[c][r] = T::fuse(wide, first, &x[r], &w[c][p], sums[c][r]);
                }
            }
            first += T::LANES;
        }
    }
    let mut out = [[T::ZERO; C]; 4];
    for c in 0..C {
        let totals = T::totals(wide, sums[c]);
        for r in 0..4 {
            out[r][c] = totals[r];
        }
    }
    out
}
