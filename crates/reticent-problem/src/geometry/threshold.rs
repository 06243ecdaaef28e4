//! The search that simplex, l1 ball and group ball share: the level `σ` with
//! `Σ_i ω_i (v_i − σ)₊ = s`.
//!
//! Sorted from above, the entries over the level are a prefix; on a prefix with weight `W` and sum
//! `S` the level is `(S − s)/W`, and the prefix ends before the first entry that lies under its
//! level.
//!
//! # Numerics
//!
//! Everything is relative to the largest entry, so only entries within `s/ω` of it are ever added
//! up: no finite entry overflows, and a small `s` beside huge entries keeps its digits.

use super::norm::Sum;

/// The largest entry and the level relative to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    top: f64,
    below: f64,
}

impl Level {
    /// `(v − σ)₊`.
    pub(super) fn excess(self, v: f64) -> f64 {
        ((v - self.top) - self.below).max(0.0)
    }
}

/// The level for entries with weights `(v_i, ω_i)`, `ω_i > 0`, and `s > 0`. Changes their order.
pub(super) fn level(entries: &mut [(f64, f64)], total: f64) -> Level {
    entries.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let top = entries.first().map_or(0.0, |e| e.0);
    let (mut sum, mut weight) = (Sum::default(), Sum::default());
    let mut below = f64::NEG_INFINITY;
    for &(v, w) in entries.iter() {
        let v = v - top;
        if v <= below {
            break;
        }
        sum.add(w * v);
        weight.add(w);
        below = (sum.total() - total) / weight.total();
    }
    Level { top, below }
}
