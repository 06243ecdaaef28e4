//! How far apart two encoded rows are, together with the squares of their entries.
//!
//! # Rule
//!
//! For rows `x`, `x'` of a layout with entries up to `E`,
//!
//! ```text
//! ‖x − x'‖² + ‖x∘x − x'∘x'‖²/E² ≤ max(Σ_c r_c, 2B²),
//! ```
//!
//! where a column `c` whose features have squared norm at most `b` adds `r_c`: 2 for a number in
//! [0, 1], 4b for features that are never negative and for a number in [−1, 1],
//! [`REPLACED`](crate::REPLACED)·b for any others, and the intercept adds nothing.
//!
//! # Proof
//!
//! Write `a`, `a'` for the two values of an entry over `E`, both within [−1, 1]; it adds
//! `E²(a − a')²(1 + (a + a')²)`. *Numbers in [0, 1]:* `|a − a'|` and `|a² − a'²|` are at most 1.
//! *Numbers in [−1, 1]:* with `s = |a + a'|` and `|a − a'| ≤ 2 − s` it is at most
//! `(2 − s)²(1 + s²)`, which falls in `s` on [0, 2], from 4. *Never negative:*
//! `(a − a')² ≤ a² + a'²` and `(a² − a'²)² ≤ a⁴ + a'⁴ ≤ a² + a'²`, so that the column adds at most
//! `2b + 2b`. *Any:* [`REPLACED`](crate::REPLACED). *The intercept* is 1 in every row that can be
//! read. A row that cannot be read is zero, intercept and all: then what is left is
//! `Σ x_j² + x_j⁴/E² ≤ 2B²`. ∎
//!
//! Rows that are clipped or scaled to a norm have the bound of any rows, [`RowBounds`]'s own.
//!
//! [`RowBounds`]: crate::RowBounds

use super::encoding::NumericRange;
use super::layout::{InputKind, Layout};
use crate::problem::REPLACED;

/// The bound above; infinite where rows are clipped, scaled or unbounded.
pub(super) fn distance(layout: &Layout) -> f64 {
    let encoding = layout.encoding();
    if encoding.unbounded_rows || encoding.normalize_rows || encoding.feature_norm.is_some() {
        return f64::INFINITY;
    }
    let unit = encoding.numeric_range == NumericRange::Unit;
    let columns: f64 = layout
        .inputs()
        .iter()
        .filter(|input| input.start.is_some())
        .map(|input| match &input.kind {
            kind if kind.is_unbounded() => f64::INFINITY,
            // With a feature for missing values it is one of several.
            InputKind::Number { .. } if unit && !input.indicator => 2.0,
            InputKind::Entries { len, .. } if unit && !input.indicator => 2.0 * *len as f64,
            InputKind::Number { .. } if unit || !input.indicator => 4.0,
            InputKind::Curve { .. } | InputKind::OneHot { .. } | InputKind::Hashed { .. } => 4.0,
            kind => REPLACED * kind.squared_bound(),
        })
        .sum();
    // Products of tents and of categories are never negative.
    let pairs = 4.0 * layout.pairs().len() as f64;
    (columns + pairs).max(2.0 * layout.structural_bound().powi(2))
}
