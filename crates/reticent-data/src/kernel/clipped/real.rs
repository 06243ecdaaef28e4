//! The two precisions in which a batch is computed.

use super::block::Block;
use super::wide::Wide;
use crate::kernel::dense::Element;

/// Rows that are computed together.
pub(super) const BLOCK: usize = 32;
/// Columns that lie together.
pub(super) const PANEL: usize = 16;

/// How many panels hold this many columns.
pub(super) fn panels(columns: usize) -> usize {
    columns.div_ceil(PANEL)
}

/// Margins of a row up to which several rows are turned into probabilities together.
const SHORT: usize = 16;

/// A number as features, weights and margins of a batch are held: single precision where the
/// features are.
pub(super) trait Real: Element + Default + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// The number rounded to this precision.
    fn narrow(value: f64) -> Self;
    /// `self + a`.
    fn plus(self, a: Self) -> Self;
    /// Numbers in a line of the cache.
    const LINE: usize = 64 / size_of::<Self>();
    /// Whether this is single precision.
    const SINGLE: bool;
    /// Numbers in a vector.
    fn lanes<W: Wide>() -> usize;
    /// A vector.
    type Vector<W: Wide>: Copy;
    /// A vector of zeros.
    fn zeros<W: Wide>(wide: W) -> Self::Vector<W>;
    /// `c + a · b` for the vectors that begin at `first` in `a` and `b`.
    fn fuse<W: Wide>(
        wide: W,
        first: usize,
        a: &[Self; PANEL],
        b: &[Self; PANEL],
        c: Self::Vector<W>,
    ) -> Self::Vector<W>;
    /// A vector from memory: the first numbers of `from`.
    fn load<W: Wide>(wide: W, from: &[Self]) -> Self::Vector<W>;
    /// A vector to memory: the first numbers of `into`.
    fn store<W: Wide>(wide: W, from: Self::Vector<W>, into: &mut [Self]);
    /// `c + a · b` for a number `a`.
    fn fuse_one<W: Wide>(
        wide: W,
        a: Self,
        b: Self::Vector<W>,
        c: Self::Vector<W>,
    ) -> Self::Vector<W>;
    /// Four times the total of a line of the cache that lies in `H` vectors.
    fn totals<W: Wide, const H: usize>(wide: W, of: [[Self::Vector<W>; H]; 4]) -> [Self; 4];
    /// The same blocks, if they are in single precision.
    fn single_blocks(blocks: &[Block<Self>]) -> Option<&[Block<f32>]>;
    /// The first numbers of `from` in double precision.
    fn widen<W: Wide>(wide: W, from: &[Self]) -> W::Double;
    /// Turns a row's margins into class probabilities, in place. A margin that is NaN or plus
    /// infinity makes them all NaN.
    fn softmax(margins: &mut [Self]);
    /// [`Real::softmax`] for the rows of a block, one after the other in `margins`.
    #[inline(always)]
    fn softmax_rows(margins: &mut [Self], outputs: usize) {
        for margins in margins.chunks_exact_mut(outputs) {
            Self::softmax(margins);
        }
    }
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn plus(self, a: Self) -> Self {
        self + a
    }

    const SINGLE: bool = true;
    type Vector<W: Wide> = W::Single;

    #[inline(always)]
    fn lanes<W: Wide>() -> usize {
        W::SINGLES
    }

    #[inline(always)]
    fn zeros<W: Wide>(wide: W) -> W::Single {
        wide.single(0.0)
    }

    #[inline(always)]
    fn fuse<W: Wide>(
        wide: W,
        first: usize,
        a: &[f32; PANEL],
        b: &[f32; PANEL],
        c: W::Single,
    ) -> W::Single {
        wide.fuse_single(wide.load_single(&a[first..]), wide.load_single(&b[first..]), c)
    }

    #[inline(always)]
    fn load<W: Wide>(wide: W, from: &[Self]) -> W::Single {
        wide.load_single(from)
    }

    #[inline(always)]
    fn store<W: Wide>(wide: W, from: W::Single, into: &mut [Self]) {
        wide.store_single(from, into);
    }

    #[inline(always)]
    fn fuse_one<W: Wide>(wide: W, a: Self, b: W::Single, c: W::Single) -> W::Single {
        wide.fuse_single(wide.single(a), b, c)
    }

    #[inline(always)]
    fn totals<W: Wide, const H: usize>(wide: W, of: [[W::Single; H]; 4]) -> [f32; 4] {
        wide.totals_single(of)
    }

    #[inline(always)]
    fn single_blocks(blocks: &[Block<f32>]) -> Option<&[Block<f32>]> {
        Some(blocks)
    }

    #[inline(always)]
    fn widen<W: Wide>(wide: W, from: &[f32]) -> W::Double {
        wide.widen(from)
    }

    #[inline(always)]
    fn softmax(margins: &mut [Self]) {
        let top = top(margins);
        let inverse = 1.0 / exps(margins, top);
        for m in margins {
            *m *= inverse;
        }
    }

    #[inline(always)]
    fn softmax_rows(margins: &mut [Self], outputs: usize) {
        if outputs > SHORT {
            // A row waits for its largest margin, then for its sum: side by side, others do not
            // wait for it.
            let (mut tops, mut sums) = ([0.0; BLOCK], [0.0; BLOCK]);
            for (top, margins) in tops.iter_mut().zip(margins.chunks_exact(outputs)) {
                *top = self::top(margins);
            }
            let rows = margins.chunks_exact_mut(outputs).zip(tops);
            for (sum, (margins, top)) in sums.iter_mut().zip(rows) {
                *sum = exps(margins, top);
            }
            for (sum, margins) in sums.into_iter().zip(margins.chunks_exact_mut(outputs)) {
                let inverse = 1.0 / sum;
                for m in margins {
                    *m *= inverse;
                }
            }
            return;
        }
        // A row is too short to fill a vector: eight rows do, margin by margin.
        for rows in margins.chunks_mut(8 * outputs) {
            let mut lanes = [[0.0; 8]; SHORT];
            for (l, row) in rows.chunks_exact(outputs).enumerate() {
                for (lanes, m) in lanes.iter_mut().zip(row) {
                    lanes[l] = *m;
                }
            }
            let lanes = &mut lanes[..outputs];
            let (mut top, mut sum) = ([Self::NEG_INFINITY; 8], [0.0; 8]);
            for m in &*lanes {
                for l in 0..8 {
                    top[l] = if m[l] > top[l] { m[l] } else { top[l] };
                    sum[l] += 0.0 * m[l]; // NaN if a margin is not finite
                }
            }
            for m in &mut *lanes {
                for l in 0..8 {
                    m[l] = exp_of_negative(m[l] - top[l]);
                    sum[l] += m[l];
                }
            }
            for (l, row) in rows.chunks_exact_mut(outputs).enumerate() {
                let inverse = 1.0 / sum[l];
                for (m, lanes) in row.iter_mut().zip(&*lanes) {
                    *m = lanes[l] * inverse;
                }
            }
        }
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        let e = exp_of_negative(-2.0 * self.abs());
        let t = (1.0 - e) / (1.0 + e);
        // Near zero the quotient cancels; the series errs by less than 6e-8 of its value there.
        let square = self * self;
        let mut series = 62.0 / 2835.0_f32;
        for c in [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0] {
            series = series.mul_add(square, c);
        }
        let near = self * series;
        if self.abs() < 0.3 { near } else { t.copysign(self) }
    }
}

/// The largest margin of a row; NaN if one is not finite.
#[inline(always)]
fn top(margins: &[f32]) -> f32 {
    // In lanes, so that no step waits for the one before.
    let (mut tops, mut odd) = ([f32::MIN; 16], [0.0; 16]);
    let (chunks, rest) = margins.as_chunks::<16>();
    for m in chunks {
        for l in 0..16 {
            tops[l] = if m[l] > tops[l] { m[l] } else { tops[l] };
            odd[l] += 0.0 * m[l];
        }
    }
    let mut top = fold(tops, |a, b| if b > a { b } else { a }) + fold(odd, |a, b| a + b);
    for &m in rest {
        top = if m > top { m } else { top + 0.0 * m };
    }
    top
}

/// Replaces each margin `m` by `e^(m − top)` and gives their sum.
#[inline(always)]
fn exps(margins: &mut [f32], top: f32) -> f32 {
    let (mut lanes, mut sum) = ([0.0; 16], 0.0);
    let (chunks, rest) = margins.as_chunks_mut::<16>();
    for m in chunks {
        for l in 0..16 {
            m[l] = exp_of_negative(m[l] - top);
            lanes[l] += m[l];
        }
    }
    for m in rest {
        *m = exp_of_negative(*m - top);
        sum += *m;
    }
    sum + fold(lanes, |a, b| a + b)
}

/// Brings sixteen numbers together, those of the second half with those of the first, and so on.
#[inline(always)]
fn fold(mut lanes: [f32; 16], both: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] = both(lanes[l], lanes[l + half]);
        }
    }
    lanes[0]
}

/// `e^t` for `t <= 0`; NaN for NaN.
///
/// `e^t = 2^k e^r` with `|r| <= ln 2 / 2` and the Taylor polynomial of degree 7, good to `2e-7`;
/// arguments below -87 count as -87.
#[inline(always)]
fn exp_of_negative(t: f32) -> f32 {
    // 1.5 * 2^23: adding it rounds to a whole number, held in the low bits
    const MAGIC: f32 = 12_582_912.0;
    let t = if t < -87.0 { -87.0 } else { t };
    let shifted = t.mul_add(std::f32::consts::LOG2_E, MAGIC);
    let k = shifted - MAGIC;
    let r = k.mul_add(-0.693_145_75, t);
    let r = k.mul_add(-1.428_606_8e-6, r);
    let mut p = 1.0 / 5040.0_f32;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.mul_add(r, c);
    }
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

impl Real for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn plus(self, a: Self) -> Self {
        self + a
    }

    const SINGLE: bool = false;
    type Vector<W: Wide> = W::Double;

    #[inline(always)]
    fn lanes<W: Wide>() -> usize {
        W::SINGLES / 2
    }

    #[inline(always)]
    fn zeros<W: Wide>(wide: W) -> W::Double {
        wide.double(0.0)
    }

    #[inline(always)]
    fn fuse<W: Wide>(
        wide: W,
        first: usize,
        a: &[f64; PANEL],
        b: &[f64; PANEL],
        c: W::Double,
    ) -> W::Double {
        wide.fuse_double(wide.load_double(&a[first..]), wide.load_double(&b[first..]), c)
    }

    #[inline(always)]
    fn load<W: Wide>(wide: W, from: &[Self]) -> W::Double {
        wide.load_double(from)
    }

    #[inline(always)]
    fn store<W: Wide>(wide: W, from: W::Double, into: &mut [Self]) {
        wide.store_double(from, into);
    }

    #[inline(always)]
    fn fuse_one<W: Wide>(wide: W, a: Self, b: W::Double, c: W::Double) -> W::Double {
        wide.fuse_double(wide.double(a), b, c)
    }

    #[inline(always)]
    fn totals<W: Wide, const H: usize>(wide: W, of: [[W::Double; H]; 4]) -> [f64; 4] {
        of.map(
            #[inline(always)]
            |v| wide.total_double(v),
        )
    }

    #[inline(always)]
    fn single_blocks(_: &[Block<f64>]) -> Option<&[Block<f32>]> {
        None
    }

    #[inline(always)]
    fn widen<W: Wide>(wide: W, from: &[f64]) -> W::Double {
        wide.load_double(from)
    }

    #[inline(always)]
    fn softmax(margins: &mut [Self]) {
        let top = margins.iter().copied().fold(Self::NEG_INFINITY, Self::max);
        let mut sum = 0.0;
        for m in margins.iter_mut() {
            *m = (*m - top).exp();
            sum += *m;
        }
        for m in margins {
            *m /= sum;
        }
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        self.tanh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_functions_are_good_to_single_precision() {
        for i in 0..200_000 {
            let t = -(i as f32) * 5e-4;
            let want = f64::from(t.max(-87.0)).exp();
            assert!((f64::from(exp_of_negative(t)) / want - 1.0).abs() < 3e-7, "{t}");
            for t in [t / 10.0, -t / 10.0] {
                let want = f64::from(t).tanh();
                assert!((f64::from(Real::tanh(t)) - want).abs() <= 3e-7 * want.abs(), "{t}");
            }
        }
        assert!(exp_of_negative(f32::NAN).is_nan() && Real::tanh(f32::NAN).is_nan());
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert_eq!(Real::tanh(f32::INFINITY), 1.0);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut margins = [0.5, bad, 2.0, 1.0];
            Real::softmax(&mut margins);
            assert!(margins.iter().all(|m| m.is_nan()));
        }
    }

    #[test]
    fn rows_together_have_the_probabilities_they_have_alone() {
        for outputs in [1, 2, 10, SHORT, SHORT + 1, 40] {
            let mut margins: Vec<f32> =
                (0..BLOCK * outputs).map(|i| 20.0 * (i as f32 * 0.7).sin()).collect();
            margins[outputs] = f32::NAN;
            let mut alone = margins.clone();
            f32::softmax_rows(&mut margins, outputs);
            alone.chunks_exact_mut(outputs).for_each(f32::softmax);
            for (i, (together, alone)) in margins.iter().zip(&alone).enumerate() {
                let near = (together - alone).abs() <= 1e-6 * alone;
                assert!(near || (together.is_nan() && i / outputs == 1), "{together} {alone}");
            }
        }
    }
}
