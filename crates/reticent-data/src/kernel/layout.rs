//! How rows are held: the branch on it, and the sums over consecutive rows in each layout.

use std::ops::Range;

use super::dense::Element;
use super::{Derivative, Sums, dense, sparse};
use crate::feature_map::Mapped;
use crate::{Csr, Dense};

/// Evaluates an expression for the rows in whichever layout they are: the branch on the layout is
/// taken once, outside every loop.
macro_rules! by_layout {
    ($features:expr, $x:ident => $work:expr) => {
        match $features {
            $crate::Features::F32($x) => $work,
            $crate::Features::F64($x) => $work,
            $crate::Features::Sparse($x) => $work,
            $crate::Features::Mapped($x) => $work,
        }
    };
}

pub(crate) use by_layout;

/// Sums over consecutive rows, to be inlined where wide registers are at hand.
pub(crate) trait Layout: Sync {
    /// Adds the gradients of the rows in `range` to `sums`, one block of weights for each output.
    fn gradients(
        &self,
        labels: &[f64],
        w: &[f64],
        range: Range<usize>,
        derivative: Derivative,
        sums: &mut Sums<'_>,
    );

    /// Adds the rows in `range`, behind them their squares, and last their labels, to `sums`.
    fn moments(&self, labels: &[f64], range: Range<usize>, sums: &mut Sums<'_>);

    /// Margins of the rows from `first` on, as many as `out` has room for.
    fn margins(&self, w: &[f64], first: usize, outputs: usize, out: &mut [f64]);
}

impl<T: Element> Layout for Dense<T> {
    #[inline(always)]
    fn gradients(
        &self,
        labels: &[f64],
        w: &[f64],
        range: Range<usize>,
        derivative: Derivative,
        sums: &mut Sums<'_>,
    ) {
        if derivative.outputs() == 1 {
            dense::linear(self, labels, w, range, derivative, sums);
        } else {
            dense::multi(self, labels, w, range, derivative, sums);
        }
    }

    #[inline(always)]
    fn moments(&self, labels: &[f64], range: Range<usize>, sums: &mut Sums<'_>) {
        dense::moments(self, labels, range, sums);
    }

    #[inline(always)]
    fn margins(&self, w: &[f64], first: usize, outputs: usize, out: &mut [f64]) {
        dense::margins(self, w, first, outputs, out);
    }
}

impl Layout for Csr {
    #[inline(always)]
    fn gradients(
        &self,
        labels: &[f64],
        w: &[f64],
        range: Range<usize>,
        derivative: Derivative,
        sums: &mut Sums<'_>,
    ) {
        if derivative.outputs() == 1 {
            sparse::linear(self, labels, w, range, derivative, sums);
        } else {
            sparse::multi(self, labels, w, range, derivative, sums);
        }
    }

    #[inline(always)]
    fn moments(&self, labels: &[f64], range: Range<usize>, sums: &mut Sums<'_>) {
        sparse::moments(self, labels, range, sums);
    }

    #[inline(always)]
    fn margins(&self, w: &[f64], first: usize, outputs: usize, out: &mut [f64]) {
        sparse::margins(self, w, first, outputs, out);
    }
}

impl Layout for Mapped {
    #[inline(always)]
    fn gradients(
        &self,
        labels: &[f64],
        w: &[f64],
        range: Range<usize>,
        derivative: Derivative,
        sums: &mut Sums<'_>,
    ) {
        self.blocks(
            range,
            #[inline(always)]
            |rows, x| x.gradients(&labels[rows[0]..], w, 0..rows.len(), derivative, sums),
        );
    }

    #[inline(always)]
    fn moments(&self, labels: &[f64], range: Range<usize>, sums: &mut Sums<'_>) {
        self.blocks(
            range,
            #[inline(always)]
            |rows, x| x.moments(&labels[rows[0]..], 0..rows.len(), sums),
        );
    }

    #[inline(always)]
    fn margins(&self, w: &[f64], first: usize, outputs: usize, out: &mut [f64]) {
        Self::margins(self, w, first, outputs, out);
    }
}
