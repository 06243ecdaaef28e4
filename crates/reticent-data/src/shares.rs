//! How much rows count: as parts of a unit, by their own weights, or both.
//!
//! # Facts
//!
//! A weighted row has the loss `c ℓ(w; x, y)` with `0 ≤ c ≤ 1`, its declared weight over the
//! declared maximum. So it is convex, `L`-Lipschitz, `β`-smooth and Hölder with the same constants
//! wherever `ℓ` is; a slope keeps its sign, a Hessian its rank; and the gradient of a record lies
//! between zero and one that `ℓ` can have, so no two records' gradients lie farther apart than two
//! of `ℓ`, or one of them and zero. In a unit a row counts its weight times its share, and these
//! sum to at most 1 as the shares do: what [`reticent_problem::Unit`] says of shares holds.
//!
//! The bound on a weight is that of [`Rows::weighted`](crate::Rows::weighted). A product of two
//! numbers of which one is at most 1 is rounded to no more than the other.

use std::ops::Range;

use crate::Units;

/// The records of a table, and how much each row of one counts.
#[derive(Clone, Copy)]
pub(crate) struct Shares<'a> {
    units: Option<&'a Units>,
    weights: Option<&'a [f64]>,
    rows: usize,
}

impl<'a> Shares<'a> {
    /// None where each of the `rows` rows is a record that counts 1.
    pub(crate) fn new(
        units: Option<&'a Units>,
        weights: Option<&'a [f64]>,
        rows: usize,
    ) -> Option<Self> {
        (units.is_some() || weights.is_some()).then_some(Self { units, weights, rows })
    }

    /// How many records.
    pub(crate) fn len(&self) -> usize {
        self.units.map_or(self.rows, Units::len)
    }

    /// The rows of record `u`.
    #[inline(always)]
    pub(crate) fn rows(&self, u: usize) -> Range<usize> {
        self.units.map_or(u..u + 1, |units| units.rows(u))
    }

    /// What each row of record `u` counts, beside its own weight.
    #[inline(always)]
    pub(crate) fn share(&self, u: usize) -> f64 {
        self.units.map_or(1.0, |units| units.share(u))
    }

    /// The own weight of row `i`.
    #[inline(always)]
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// The same where rows have no weights of their own.
    pub(crate) fn without_weights(self) -> Self {
        Self { weights: None, ..self }
    }
}
