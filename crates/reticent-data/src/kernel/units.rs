//! Sums over units of several rows, and over rows that have weights: the gradient of each record is
//! added up, changed as a whole, and added.
//!
//! # Bound on a unit's contribution
//!
//! The gradient of unit `v` is `g = Σ_i c_i ∇ℓ_i`, `c_i` what its row `i` counts ([`Shares`]; a row
//! with a weight that is no part of a unit is a unit of one row here), and is written
//! to memory. However it came about, its contribution is bounded by the operation on the stored
//! numbers ([`Finish`]):
//!
//! - *clipped*: `g` is scaled to l2 norm at most `clip`, or such that `P g` has; what is not
//!   finite, or too long for its square, adds zero, as a unit may. Squares of `k` numbers err by
//!   less than `k 2^-53`, which [`slack`] outweighs; a product with `P` errs by
//!   `(d + 10) 2^-53 ‖Dg‖ ≤ (d + 10) 2^-53 ‖Pg‖/keep`.
//! - *by a rule*: as a row's gradient by the same rule, with the norm of `g` itself.
//!
//! Nothing here looks at two units at once, and a unit passes through as many additions as a row
//! does where each row is a record, so the bounds on rounding of those sums hold with units in the
//! place of rows. A full gradient adds the rounding of its own rows
//! ([`summation_depth`](crate::summation_depth)).

mod few;

use std::ops::Range;

use reticent_problem::Problem;

use super::clipped::careful;
use super::dense::{self, Element};
use super::layout::by_layout;
use super::robust::{self, Chosen, RobustRow, RobustRule, RobustTable, coefficients};
use super::{Derivative, Sums, sum_chunks};
use crate::shares::Shares;
use crate::{Dense, Features, Preconditioner, Rows};
use few::{Few, ROWS};

/// The operation on a unit's gradient before it is added.
pub(crate) enum Finish<'a> {
    /// Nothing: the loss bounds it.
    Add,
    /// It is scaled to norm at most `clip`, by the norm of `P` times it where there is a `P`.
    Clip { clip: f64, preconditioner: Option<&'a Preconditioner> },
    /// It is left out or clipped by a rule.
    Rule(RobustRule),
}

/// How far a clip norm is undercut, beside what the numbers' count adds.
const MARGIN: f64 = 1e-12;

/// The least sum of squares that has lost nothing to underflow that counts; a shorter gradient adds
/// zero.
const LEAST: f64 = 1e-280;

/// More than a computed norm of so many numbers can fall short of the exact one, as a factor.
fn slack(numbers: usize) -> f64 {
    1.0 + MARGIN + (numbers + 16) as f64 * f64::EPSILON
}

#[inline(always)]
fn square(of: &[f64]) -> f64 {
    let (chunks, rest) = of.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        for l in 0..8 {
            lanes[l] = chunk[l].mul_add(chunk[l], lanes[l]);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().fold(0.0, |sum, x| x.mul_add(*x, sum))
}

impl Finish<'_> {
    /// `sum +=` what becomes of `gradient`; `room` holds as many numbers.
    #[inline(always)]
    fn add(&self, gradient: &[f64], room: &mut [f64], sum: &mut [f64]) {
        match *self {
            Self::Add => sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g),
            Self::Clip { clip, preconditioner } => {
                let factor = match preconditioner {
                    None => factor(square(gradient), clip, slack(gradient.len())),
                    Some(preconditioner) => {
                        room.copy_from_slice(gradient);
                        preconditioner.apply(room);
                        let d = preconditioner.direction().len() as f64;
                        let product =
                            4.0 * (d + 16.0) * f64::EPSILON / preconditioner.keep().powi(2);
                        factor(square(room), clip, slack(gradient.len()) + product)
                    }
                };
                if factor > 0.0 {
                    sum.iter_mut().zip(gradient).for_each(|(s, g)| *s = g.mul_add(factor, *s));
                }
            }
            Self::Rule(RobustRule::Truncate { q, threshold, grid }) => {
                let length = robust::norm(gradient.iter().copied(), q);
                // A norm that is no number fails the comparison too.
                if length * robust::slack(gradient.len(), 1) <= threshold {
                    let onto = |g: f64| grid.map_or(g, |grid| (g / grid).round_ties_even() * grid);
                    sum.iter_mut().zip(gradient).for_each(|(s, &g)| *s += onto(g));
                }
            }
            Self::Rule(RobustRule::ClipEntries { bound }) => {
                let clip = |g: f64| if g.is_nan() { 0.0 } else { g.clamp(-bound, bound) };
                sum.iter_mut().zip(gradient).for_each(|(s, &g)| *s += clip(g));
            }
        }
    }
}

/// By what a gradient with this computed square is scaled; zero for one that adds nothing.
#[inline(always)]
fn factor(square: f64, clip: f64, slack: f64) -> f64 {
    if !square.is_finite() || square < LEAST {
        return 0.0;
    }
    let longest = square.sqrt() * slack;
    let factor = if longest <= clip { 1.0 } else { clip / longest };
    // A quotient that has lost digits to underflow may be twice too large.
    if factor >= f64::MIN_POSITIVE { factor } else { 0.0 }
}

/// `into` = the sum over the chosen units of their gradients at `w`, each finished.
#[allow(clippy::too_many_arguments, reason = "each is another thing")]
pub(crate) fn sum(
    rows: &Rows,
    shares: Shares<'_>,
    problem: &Problem,
    chosen: &Chosen<'_>,
    finish: &Finish<'_>,
    w: &[f64],
    into: &mut [f64],
    scratch: &mut [f64],
) {
    let pass = UnitPass { rows, shares, chosen, finish, w };
    let derivative = Derivative::of(problem);
    let several = problem.hidden.is_some() || derivative.outputs() > 1;
    match rows.features() {
        Features::F32(x) if several => {
            return sum_chunks(
                chosen.len(),
                into,
                scratch,
                #[inline(always)]
                |range, sums| pass.several(problem, x, range, sums),
            );
        }
        Features::F64(x) if several => {
            return sum_chunks(
                chosen.len(),
                into,
                scratch,
                #[inline(always)]
                |range, sums| pass.several(problem, x, range, sums),
            );
        }
        _ if problem.hidden.is_some() => {
            return sum_chunks(
                chosen.len(),
                into,
                scratch,
                #[inline(always)]
                |range, sums| pass.network(problem, range, sums),
            );
        }
        Features::F32(x) => {
            return sum_chunks(
                chosen.len(),
                into,
                scratch,
                #[inline(always)]
                |range, sums| pass.dense(x, derivative, range, sums),
            );
        }
        Features::F64(x) => {
            return sum_chunks(
                chosen.len(),
                into,
                scratch,
                #[inline(always)]
                |range, sums| pass.dense(x, derivative, range, sums),
            );
        }
        _ => {}
    }
    by_layout!(rows.features(), x => sum_chunks(
        chosen.len(),
        into,
        scratch,
        #[inline(always)]
        |range, sums| pass.linear(x, derivative, range, sums),
    ));
}

/// One sum.
struct UnitPass<'a> {
    rows: &'a Rows,
    shares: Shares<'a>,
    chosen: &'a Chosen<'a>,
    finish: &'a Finish<'a>,
    w: &'a [f64],
}

impl UnitPass<'_> {
    /// Adds the chosen units in `range`, of a linear model.
    #[inline(always)]
    fn linear(
        &self,
        table: &impl RobustTable,
        derivative: Derivative,
        range: Range<usize>,
        sums: &mut Sums<'_>,
    ) {
        let &Self { rows, shares, chosen, finish, w } = self;
        let mut c = vec![0.0; derivative.outputs()];
        let d = w.len() / c.len();
        let (mut gradient, mut room) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        each(shares, range.map(|i| chosen.row(i)), table, |i, row, share, last| {
            coefficients(row, rows.labels()[i], derivative, w, &mut c);
            for (&c, gradient) in c.iter().zip(gradient.chunks_exact_mut(d)) {
                row.add_scaled(share * c, gradient);
            }
            if last {
                finish.add(&gradient, &mut room, sums.block());
                gradient.fill(0.0);
                sums.hold(1);
            }
        });
    }

    /// The same of dense rows and one output: four rows of a unit at a time, so that weights and
    /// gradient are read once for four rows.
    #[inline(always)]
    fn dense<T: Element>(
        &self,
        x: &Dense<T>,
        derivative: Derivative,
        range: Range<usize>,
        sums: &mut Sums<'_>,
    ) {
        let &Self { shares, chosen, finish, w, .. } = self;
        let (mut gradient, mut room) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        for u in range.map(|i| chosen.row(i)) {
            let (rows, share) = (shares.rows(u), shares.share(u));
            let mut i = rows.start;
            while i < rows.end {
                let fresh = i == rows.start;
                let into = &mut gradient[..];
                i += match rows.end - i {
                    1 => self.few::<T, 1>(x, i, share, derivative, fresh, into),
                    2 => self.few::<T, 2>(x, i, share, derivative, fresh, into),
                    3 => self.few::<T, 3>(x, i, share, derivative, fresh, into),
                    _ => self.few::<T, 4>(x, i, share, derivative, fresh, into),
                };
            }
            finish.add(&gradient, &mut room, sums.block());
            sums.hold(1);
        }
    }

    /// `gradient = Σ` or `+= Σ` over the `N` rows from `first` on; gives `N`.
    #[inline(always)]
    fn few<T: Element, const N: usize>(
        &self,
        x: &Dense<T>,
        first: usize,
        share: f64,
        derivative: Derivative,
        fresh: bool,
        gradient: &mut [f64],
    ) -> usize {
        let (mut rows, mut labels): ([&[T]; N], _) = ([&[]; N], [0.0; N]);
        for n in 0..N {
            rows[n] = x.row(first + n);
            labels[n] = self.rows.labels()[first + n];
        }
        let mut c = derivative.slopes(dense::dots(rows, self.w), labels);
        for (n, c) in c.iter_mut().enumerate() {
            *c *= share * self.shares.weight(first + n);
        }
        if fresh {
            dense::set_scaled(rows, c, gradient);
        } else {
            dense::add_scaled(rows, c, gradient);
        }
        N
    }

    /// The same of dense rows and several outputs, or a hidden layer.
    #[inline(always)]
    fn several<T: Element>(
        &self,
        problem: &Problem,
        x: &Dense<T>,
        range: Range<usize>,
        sums: &mut Sums<'_>,
    ) {
        let &Self { rows, shares, chosen, finish, w } = self;
        let mut few = Few::new(problem, w, matches!(finish, Finish::Add));
        let (mut gradient, mut room) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        for u in range.map(|i| chosen.row(i)) {
            let (of_unit, share) = (shares.rows(u), shares.share(u));
            let mut i = of_unit.start;
            while i < of_unit.end {
                let (fresh, into) = (i == of_unit.start, &mut gradient[..]);
                let (x, y) = (|n: usize| x.row(i + n), &rows.labels()[i..of_unit.end]);
                let s = |n: usize| share * shares.weight(i + n);
                match *y {
                    [a] => few.add([x(0)], [a], [s(0)], fresh, into),
                    [a, b] => few.add([x(0), x(1)], [a, b], [s(0), s(1)], fresh, into),
                    [a, b, c] => {
                        few.add([x(0), x(1), x(2)], [a, b, c], [s(0), s(1), s(2)], fresh, into);
                    }
                    [a, b, c, d, ..] => {
                        let (x, s) = ([x(0), x(1), x(2), x(3)], [s(0), s(1), s(2), s(3)]);
                        few.add(x, [a, b, c, d], s, fresh, into);
                    }
                    [] => {}
                }
                i += ROWS;
            }
            finish.add(&gradient, &mut room, sums.block());
            sums.hold(1);
        }
    }

    /// The same of a network on other rows, which are written out.
    #[inline(always)]
    fn network(&self, problem: &Problem, range: Range<usize>, sums: &mut Sums<'_>) {
        let &Self { rows, shares, chosen, finish, w } = self;
        let mut few = Few::new(problem, w, matches!(finish, Finish::Add));
        let (mut gradient, mut room) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        let mut x = vec![0.0; problem.features];
        for u in range.map(|i| chosen.row(i)) {
            let (of_unit, share) = (shares.rows(u), shares.share(u));
            for i in of_unit.clone() {
                careful::write(rows, i, &mut x);
                let (row, label) = ([&x[..]], [rows.labels()[i]]);
                few.add(row, label, [share * shares.weight(i)], i == of_unit.start, &mut gradient);
            }
            finish.add(&gradient, &mut room, sums.block());
            sums.hold(1);
        }
    }
}

/// Runs `to(row's number, row, what it counts, whether it is its unit's last)` on the rows of these
/// units, in order.
#[inline(always)]
fn each<T: RobustTable>(
    shares: Shares<'_>,
    chosen: impl Iterator<Item = usize> + Clone,
    table: &T,
    mut to: impl FnMut(usize, T::Row<'_>, f64, bool),
) {
    let numbers: Vec<usize> = chosen.clone().flat_map(|u| shares.rows(u)).collect();
    let mut chosen = chosen;
    let (mut share, mut end) = (0.0, None);
    table.each(
        numbers.into_iter(),
        #[inline(always)]
        |i, row| {
            let last = *end.get_or_insert_with(|| {
                // Every unit has a row, so there is one unit left for a row that begins one.
                chosen.next().map_or(i, |u| {
                    share = shares.share(u);
                    shares.rows(u).end - 1
                })
            });
            if i == last {
                end = None;
            }
            to(i, row, share * shares.weight(i), i == last);
        },
    );
}

/// `into` = the sums over units of the means of their rows, of their squares, and of their labels.
pub(crate) fn moments(rows: &Rows, shares: Shares<'_>, into: &mut [f64], scratch: &mut [f64]) {
    let labels = rows.labels();
    let columns = rows.features().columns();
    by_layout!(rows.features(), x => sum_chunks(
        shares.len(),
        into,
        scratch,
        #[inline(always)]
        |range, sums| {
            let mut means = vec![0.0; 2 * columns + 1];
            each(shares, range, x, |i, row, share, last| {
                let (first, rest) = means.split_at_mut(columns);
                let (second, label) = rest.split_at_mut(columns);
                label[0] += share * labels[i];
                row.add_scaled(share, first);
                row.add_mapped(1.0, |x| share * x * x, second);
                if last {
                    Finish::Add.add(&means, &mut [], sums.block());
                    means.fill(0.0);
                    sums.hold(1);
                }
            });
        },
    ));
}
