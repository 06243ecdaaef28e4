//! Sums of curvatures and of squared gradients over records: what standard errors are made of.
//!
//! For a loss `φ(⟨w, x⟩, y)` of one output,
//!
//! ```text
//! H = Σ_u Σ_i c_i φ''_i x_i x_iᵀ,      V = Σ_u g_u g_uᵀ,   g_u = Σ_i c_i φ'_i x_i,
//! ```
//!
//! over records `u` with rows `i`, which count `c_i` (one row that counts 1, or its weight, where
//! each row is a record). Of both symmetric matrices the upper triangle is summed, row after row.
//!
//! # Bound on a record's contribution
//!
//! `φ''` is a central difference of the slope, held to `[0, β/B²]`, and the slope is held to
//! `±L/B`: so each record adds two matrices that are positive semi-definite, the first of Frobenius
//! norm at most `β`, the second at most `L²`, whatever the weights are. Neither needs to be known
//! exactly for that, and NaN adds zero.

use std::ops::Range;

use reticent_problem::Problem;

use super::layout::by_layout;
use super::robust::{RobustRow, RobustTable};
use super::{Derivative, Sums, sum_chunks};
use crate::Rows;

/// Half the distance of the margins between which the slope's difference is taken.
const STEP: f64 = 1e-4;

/// `into` = the upper triangle of `H`, then that of `V`, at the weights `at`.
pub(crate) fn sum(rows: &Rows, problem: &Problem, at: &[f64], into: &mut [f64], room: &mut [f64]) {
    let k = problem.regularity();
    let norm = problem.bounds.norm();
    let pass = CurvaturePass {
        rows,
        at,
        derivative: Derivative::of(problem),
        bent: k.smoothness.unwrap_or(0.0) / (norm * norm),
        steep: k.lipschitz / norm,
    };
    let records = rows.shares().map_or(rows.len(), |shares| shares.len());
    by_layout!(rows.features(), x => sum_chunks(
        records,
        into,
        room,
        #[inline(always)]
        |range, sums| pass.add(x, range, sums),
    ));
}

/// One sum.
struct CurvaturePass<'a> {
    rows: &'a Rows,
    at: &'a [f64],
    derivative: Derivative,
    /// The largest `φ''`.
    bent: f64,
    /// The largest `|φ'|`.
    steep: f64,
}

impl CurvaturePass<'_> {
    /// Adds the records in `range`.
    #[inline(always)]
    fn add(&self, table: &impl RobustTable, range: Range<usize>, sums: &mut Sums<'_>) {
        let d = self.at.len();
        let (mut x, mut gradient) = (vec![0.0; d], vec![0.0; d]);
        let labels = self.rows.labels();
        let Some(shares) = self.rows.shares() else {
            table.each(range, |i, row| {
                let (slope, second) = self.slopes(row.dot(self.at), labels[i]);
                x.fill(0.0);
                row.add_scaled(1.0, &mut x);
                let (bends, squares) = sums.block().split_at_mut(d * (d + 1) / 2);
                add_both(&x, second, bends, slope * slope, squares);
                sums.hold(1);
            });
            return;
        };
        for u in range {
            let share = shares.share(u);
            gradient.fill(0.0);
            table.each(shares.rows(u), |i, row| {
                let share = share * shares.weight(i);
                let (slope, second) = self.slopes(row.dot(self.at), labels[i]);
                x.fill(0.0);
                row.add_scaled(1.0, &mut x);
                row.add_scaled(share * slope, &mut gradient);
                add_one(&x, share * second, &mut sums.block()[..d * (d + 1) / 2]);
            });
            add_one(&gradient, 1.0, &mut sums.block()[d * (d + 1) / 2..]);
            sums.hold(1);
        }
    }

    /// `φ'` and `φ''`, within their bounds.
    #[inline(always)]
    fn slopes(&self, margin: f64, label: f64) -> (f64, f64) {
        let around = [margin - STEP, margin, margin + STEP];
        let [low, slope, high] = self.derivative.slopes(around, [label; 3]);
        let second = (high - low) / (2.0 * STEP);
        let held =
            |x: f64, least: f64, most: f64| if x.is_nan() { 0.0 } else { x.clamp(least, most) };
        (held(slope, -self.steep, self.steep), held(second, 0.0, self.bent))
    }
}

/// `first += a x xᵀ` and `second += b x xᵀ`, upper triangles.
#[inline(always)]
fn add_both(x: &[f64], a: f64, first: &mut [f64], b: f64, second: &mut [f64]) {
    let (mut first, mut second) = (first, second);
    for (j, &xj) in x.iter().enumerate() {
        let (line, rest) = first.split_at_mut(x.len() - j);
        let (other, others) = second.split_at_mut(x.len() - j);
        (first, second) = (rest, others);
        if xj != 0.0 {
            for ((f, s), &xk) in line.iter_mut().zip(other).zip(&x[j..]) {
                let product = xj * xk;
                *f = a.mul_add(product, *f);
                *s = b.mul_add(product, *s);
            }
        }
    }
}

/// `sum += a x xᵀ`, upper triangle.
#[inline(always)]
fn add_one(x: &[f64], a: f64, sum: &mut [f64]) {
    let mut rest = sum;
    for (j, &xj) in x.iter().enumerate() {
        let (line, others) = rest.split_at_mut(x.len() - j);
        rest = others;
        if xj != 0.0 {
            for (s, &xk) in line.iter_mut().zip(&x[j..]) {
                *s = a.mul_add(xj * xk, *s);
            }
        }
    }
}
