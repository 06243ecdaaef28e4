//! Gradients of a few rows of a unit at a time, where a model has several outputs or a hidden
//! layer: weights and gradient are read once for the few, and nothing is allocated for a row.
//!
//! Exponentials are computed in lanes, to a few units in the last place. A unit's contribution is
//! bounded by the numbers of its gradient, whatever they are; only where a gradient is added as it
//! is, and the loss is what bounds it, are residuals those of the loss's own code ([`Derivative`]).

use reticent_problem::{Loss, Problem};

use super::super::Derivative;
use super::super::dense::{self, Element};

/// Rows taken together, at most.
pub(super) const ROWS: usize = 4;

/// A model at its weights, with room for a few rows.
pub(super) struct Few<'a> {
    w: &'a [f64],
    features: usize,
    hidden: Option<usize>,
    derivative: Derivative,
    /// The classes, where residuals are computed here.
    classes: Option<usize>,
    /// The hidden layer's outputs and the constant behind them, row after row.
    units: Vec<f64>,
    /// Derivatives by the hidden layer's margins, row after row.
    deltas: Vec<f64>,
    /// Derivatives by the margins, row after row.
    residuals: Vec<f64>,
}

impl<'a> Few<'a> {
    /// `exact`: residuals are those of the loss's own code.
    pub(super) fn new(problem: &Problem, w: &'a [f64], exact: bool) -> Self {
        let derivative = Derivative::of(problem);
        let classes = match problem.loss {
            Loss::Softmax { classes } if !exact => Some(classes),
            _ => None,
        };
        let width = problem.hidden.unwrap_or(0);
        Self {
            w,
            features: problem.features,
            hidden: problem.hidden,
            derivative,
            classes,
            units: vec![1.0; ROWS * (width + 1)],
            deltas: vec![0.0; ROWS * width],
            residuals: vec![0.0; ROWS * derivative.outputs()],
        }
    }

    /// `gradient =` or, unless `fresh`, `+=` the sum over these rows, each times its share.
    #[inline(always)]
    pub(super) fn add<T: Element, const N: usize>(
        &mut self,
        rows: [&[T]; N],
        labels: [f64; N],
        shares: [f64; N],
        fresh: bool,
        gradient: &mut [f64],
    ) {
        let Self { w, features, hidden, derivative, classes, units, deltas, residuals } = self;
        let (outputs, classes, derivative) = (derivative.outputs(), *classes, *derivative);
        let residuals = &mut residuals[..N * outputs];
        let of_loss = |residuals: &mut [f64]| match classes {
            Some(classes) => softmax(residuals, &labels, classes),
            None => derivative.of_block(residuals, &labels),
        };
        let Some(width) = *hidden else {
            margins(rows, w, *features, outputs, residuals);
            of_loss(residuals);
            return spread(rows, residuals, outputs, shares, fresh, gradient);
        };
        let (first, second) = w.split_at(width * *features);
        margins(rows, first, *features, width + 1, units);
        let mut above: [&[f64]; N] = [&[]; N];
        for row in units[..N * (width + 1)].chunks_exact_mut(width + 1) {
            for m in &mut row[..width] {
                *m = tanh(*m);
            }
            row[width] = 1.0;
        }
        for r in 0..N {
            above[r] = &units[r * (width + 1)..][..=width];
        }
        margins(above, second, width + 1, outputs, residuals);
        of_loss(residuals);
        let deltas = &mut deltas[..N * width];
        deltas.fill(0.0);
        for r in 0..N {
            let into = &mut deltas[r * width..][..width];
            let weights = second.chunks_exact(width + 1);
            for (w, c) in weights.zip(&residuals[r * outputs..][..outputs]) {
                for (into, w) in into.iter_mut().zip(w) {
                    *into = w.mul_add(*c, *into);
                }
            }
            for (into, unit) in into.iter_mut().zip(above[r]) {
                *into *= unit.mul_add(-unit, 1.0);
            }
        }
        let (into_first, into_second) = gradient.split_at_mut(width * *features);
        spread(rows, deltas, width, shares, fresh, into_first);
        spread(above, residuals, outputs, shares, fresh, into_second);
    }
}

/// The products of rows with each block of `columns` weights, `apart` numbers from row to row.
#[inline(always)]
fn margins<T: Element, const N: usize>(
    rows: [&[T]; N],
    w: &[f64],
    columns: usize,
    apart: usize,
    into: &mut [f64],
) {
    for (k, w) in w.chunks_exact(columns).enumerate() {
        let m = dense::dots(rows, w);
        for r in 0..N {
            into[r * apart + k] = m[r];
        }
    }
}

/// `into =` or `+=` the sum over rows of the outer product of their coefficients, each times its
/// share, with their features.
#[inline(always)]
fn spread<T: Element, const N: usize>(
    rows: [&[T]; N],
    coefficients: &[f64],
    apart: usize,
    shares: [f64; N],
    fresh: bool,
    into: &mut [f64],
) {
    for (k, into) in into.chunks_exact_mut(rows[0].len()).enumerate() {
        let mut c = [0.0; N];
        for r in 0..N {
            c[r] = shares[r] * coefficients[r * apart + k];
        }
        if fresh {
            dense::set_scaled(rows, c, into);
        } else {
            dense::add_scaled(rows, c, into);
        }
    }
}

/// Turns the margins of rows into class probabilities less one for the row's class, in place. A
/// margin that is not finite makes those of its row NaN; a class that does not exist counts as the
/// last one.
#[inline(always)]
fn softmax(margins: &mut [f64], labels: &[f64], classes: usize) {
    for row in margins.chunks_exact_mut(classes) {
        let (mut top, mut odd) = (f64::NEG_INFINITY, 0.0);
        for m in &*row {
            top = if *m > top { *m } else { top };
            odd += 0.0 * m;
        }
        for m in row {
            *m -= top + odd;
        }
    }
    for m in &mut *margins {
        *m = exp_m1(*m) + 1.0;
    }
    for (row, label) in margins.chunks_exact_mut(classes).zip(labels) {
        let inverse = 1.0 / row.iter().sum::<f64>();
        for m in &mut *row {
            *m *= inverse;
        }
        row[(*label as usize).min(classes - 1)] -= 1.0;
    }
}

#[inline(always)]
fn tanh(x: f64) -> f64 {
    let e = exp_m1(-2.0 * x.abs());
    (-e / (2.0 + e)).copysign(x)
}

/// `e^t − 1` for `t ≤ 0`; NaN for NaN.
///
/// `e^t = 2^k e^r` with `|r| ≤ ln 2 / 2`, and `e^r − 1` by the Taylor polynomial of degree 13,
/// whose next term is below `2^-57` of it; arguments below -700 count as -700.
#[inline(always)]
fn exp_m1(t: f64) -> f64 {
    // 1.5 * 2^52: adding it rounds to a whole number, held in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let t = if t < -700.0 { -700.0 } else { t };
    let shifted = t.mul_add(std::f64::consts::LOG2_E, MAGIC);
    let k = shifted - MAGIC;
    let r = k.mul_add(-6.931_471_803_691_238e-1, t);
    let r = k.mul_add(-1.908_214_929_270_587_7e-10, r);
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ] {
        p = r.mul_add(p, c);
    }
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3ff0_0000_0000_0000));
    power.mul_add(r * p, power - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_in_lanes_are_good_to_a_few_units_in_the_last_place() {
        for i in 0..200_000 {
            let t = -f64::from(i) * 5e-4;
            for t in [t, t / 400.0, t * 1e-9] {
                let (got, want) = (exp_m1(t), t.exp_m1());
                assert!((got - want).abs() <= 4.0 * f64::EPSILON * want.abs(), "{t}: {got} {want}");
                for t in [t, -t] {
                    let (got, want) = (tanh(t), t.tanh());
                    let near = (got - want).abs() <= 6.0 * f64::EPSILON * want.abs();
                    assert!(near, "{t}: {got} {want}");
                }
            }
        }
        assert!(exp_m1(f64::NAN).is_nan() && tanh(f64::NAN).is_nan());
        assert_eq!((tanh(f64::INFINITY), tanh(f64::NEG_INFINITY)), (1.0, -1.0));
        assert_eq!((exp_m1(0.0), exp_m1(f64::NEG_INFINITY)), (0.0, -1.0));
    }

    #[test]
    fn residuals_are_those_of_the_loss() {
        let loss = Derivative::new(Loss::Softmax { classes: 3 }, f64::INFINITY);
        let margins = [0.5, -2.0, 30.0, 1e3, 1e3, -1e3, 0.0, 0.0, 0.0];
        let labels = [1.0, 0.0, 2.0];
        let (mut here, mut there) = (margins, margins);
        softmax(&mut here, &labels, 3);
        loss.of_block(&mut there, &labels);
        for (a, b) in here.iter().zip(there) {
            assert!((a - b).abs() <= 1e-15, "{here:?} {there:?}");
        }
        let mut bad = [0.0, f64::INFINITY, 1.0, 0.0, 1.0, 2.0];
        softmax(&mut bad, &[0.0, 9.0], 3);
        assert!(bad[..3].iter().all(|p| p.is_nan()) && bad[5] < 0.0 && bad[3] > 0.0, "{bad:?}");
    }
}
