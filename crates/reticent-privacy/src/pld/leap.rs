//! Losses so large that one of them decides, and so small that one of them settles it.
//!
//! # Theorem
//!
//! Cut each law at `B`: its *leap* is the mass at `B` and at infinity, the rest are *strides*.
//! Write `F` for the composed strides alone, and let a law have the mass `f` of strides and `a` of
//! its leap, and the masses `g` and `b` of the same under `Q`, where a loss `L` of mass `p` has
//! `p·e^{−L}`. Over all steps
//!
//! ```text
//! δ(ε) = ∫(1 − e^{ε−s})₊ dF(s) + A − e^ε·C + R(ε),
//! A = Π(f+a)^T − Πf^T,   C = Π(g+b)^T − Πg^T,   R(ε) = E[(e^{ε−S} − 1)₊; some leap].
//! ```
//!
//! *Proof.* `(x)₊ = x + (−x)₊`. With some leap, the mass of `P` is `A` and that of `Q` is `C`. ∎
//!
//! `A − e^ε·C` is what one loss `ln(A/C)` of mass `A` would give. The rest is small once `B` is so
//! far above `ε` that the other steps seldom make up for a leap: `(e^y − 1)₊ <= κe^{φy}` for
//! `φ >= 1`, `κ = (1/φ)(1 − 1/φ)^{φ−1}`, so
//!
//! ```text
//! R(ε) <= κ·e^{φε}·Σ_j T_j·a_j e^{−φB_j}/m_j · Πm^T,   m = E e^{−φL}, leap included.
//! ```
//!
//! The bound grows with `ε`, so a window is read only up to a `limit`.
//!
//! Where `ε` is due to one rare step, all of the law that needs a fine grid is then below `B`, a
//! few deviations of the common steps, and not spread up to the largest loss: the grid can be as
//! fine as `ε` asks. On the other side, mass below a low enough point may be raised to it, as
//! [`super::law`] does with all that lies below the first point.

use super::{
    grid::GridLaw,
    law::{Law, Sum},
    saddle::Saddle,
    times::Times,
};
use crate::pair::Knots;

/// The logarithm of the share of `δ` that leaps may cost.
const SHARE: f64 = -14.0;

/// Where laws are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Horizon {
    /// Losses below are raised to this.
    low: f64,
    /// A loss above is a leap.
    high: f64,
    /// The order `φ` of the bound on `R`.
    order: f64,
    /// The largest `ε` for which the cut is made.
    limit: f64,
}

/// All leaps of a composition, as one loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaps {
    /// The mass `A`.
    pub(super) mass: f64,
    /// The loss `ln(A/C)`.
    pub(super) loss: f64,
    /// An upper bound on `R` up to the limit.
    pub(super) missed: f64,
    /// The largest `ε` that may be asked for.
    pub(super) limit: f64,
}

impl Leaps {
    /// No leap at all.
    pub(super) const NONE: Self =
        Self { mass: 0.0, loss: f64::INFINITY, missed: 0.0, limit: f64::INFINITY };
}

/// `ln κ`, for an `order` of at least one.
fn log_kappa(order: f64) -> f64 {
    let rest = if order > 1.0 { (order - 1.0) * (-1.0 / order).ln_1p() } else { 0.0 };
    rest - order.ln()
}

/// The sum of masses times weights, with the rounding errors of the additions caught: it is raised
/// to a high power.
fn total(law: &Law, weight: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut rest) = (0.0, 0.0);
    for (&loss, &mass) in law.losses.iter().zip(&law.masses) {
        let term = mass * weight(loss) - rest;
        let next = sum + term;
        rest = (next - sum) - term;
        sum = next;
    }
    sum
}

/// How far the sum of all losses may fall below zero, and the order that shows it.
fn reach(sum: &Sum, deviation: f64) -> (f64, f64) {
    let at =
        |order: f64| ((sum.log_moment(-order) + log_kappa(order) - SHARE).max(0.0) / order, order);
    let mut best = at((1.0 / deviation).max(1.0));
    for _ in 0..20 {
        let next = at(3.0 * best.1);
        if next.0.is_nan() || next.0 >= best.0 {
            break;
        }
        best = next;
    }
    best
}

/// A loss so rarely undercut that raising what is below to it adds at most a share of `e^{SHARE}`.
///
/// With probability `u` a step is raised. That matters if the others reach `ε − low`, which has
/// probability at most `δ/(1 − e^{low})`.
fn harmless_low(sum: &Sum) -> f64 {
    let mut low = 0.0_f64;
    for (law, times) in &sum.terms {
        let mut below = 0.0;
        for (&loss, &mass) in law.losses.iter().zip(&law.masses) {
            below += times.most() * mass;
            if below > SHARE.exp() * -loss.exp_m1() {
                low = low.min(loss);
                break;
            }
        }
    }
    low
}

/// A loss after which the others hardly ever reach `ε`.
fn unreachable_low(sum: &Sum, saddle: Saddle, log_nominal: f64) -> f64 {
    let top = (0..6).map(|doubling| {
        let theta = saddle.theta + 2_f64.powi(doubling) / saddle.deviation;
        (sum.log_moment(theta) - log_nominal - SHARE) / theta
    });
    let top = top.filter(|e| !e.is_nan()).fold(f64::INFINITY, f64::min);
    (saddle.epsilon - top).min(-saddle.epsilon - saddle.deviation)
}

impl Horizon {
    /// No cut at all.
    pub(super) const NONE: Self =
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY, order: 1.0, limit: f64::INFINITY };

    /// Where to cut for an answer near the saddle's; the rough laws `sum` only guide the choice.
    pub(super) fn choose(sum: &Sum, saddle: Saddle, log_nominal: f64) -> Self {
        let mut cut = Self::NONE;
        // Not the saddle's: tilted towards one rare step, the law may be far wider.
        let deviation = sum.cumulant(0.0).variance.max(0.0).sqrt();
        let smallest = sum.terms.iter().map(|(law, _)| law.smallest()).fold(0.0, f64::min);
        if -smallest > deviation {
            cut.low = harmless_low(sum).max(unreachable_low(sum, saddle, log_nominal));
        }
        let largest = sum.terms.iter().map(|(law, _)| law.largest()).fold(0.0, f64::max);
        if largest > saddle.epsilon && deviation > 0.0 {
            let raised = cut.apply_to(sum);
            let (reach, order) = reach(&raised, deviation);
            let limit = 1.25 * saddle.epsilon + 0.1 * reach;
            if limit + reach < largest {
                cut = Self { low: cut.low, high: limit + reach, order, limit };
            }
        }
        cut
    }

    /// Leaps thrice as far above the limit, by a third of the order; none at all where that leads
    /// nowhere.
    pub(super) fn widen(&mut self) {
        let reach = (3.0 * (self.high - self.limit)).max(0.1 * self.limit);
        self.order = (self.order / 3.0).max(1.0);
        self.high = self.limit + reach;
        if reach.is_nan() || reach <= 0.0 {
            (self.high, self.limit) = (f64::INFINITY, f64::INFINITY);
        }
    }

    /// Whether nothing is cut off.
    pub(super) fn is_idle(&self) -> bool {
        self.high == f64::INFINITY && self.low == f64::NEG_INFINITY
    }

    /// Whether some loss is cut off as a leap.
    pub(super) fn has_leaps(&self) -> bool {
        self.high < f64::INFINITY
    }

    /// Whether these knots reach beyond the cut.
    fn has_leap(&self, knots: &Knots) -> bool {
        knots.points.last().is_some_and(|last| *last > self.high)
    }

    /// The strides of all laws; a leap counts as infinite.
    pub(super) fn apply_to(&self, sum: &Sum) -> Sum {
        let cut = |law: &Law| {
            let from = law.losses.partition_point(|loss| *loss < self.low);
            let to = law.losses.partition_point(|loss| *loss <= self.high);
            let mut losses = law.losses[from..to].to_vec();
            let mut masses = law.masses[from..to].to_vec();
            if from > 0 {
                losses.insert(0, self.low);
                masses.insert(0, law.masses[..from].iter().sum());
            }
            let leap: f64 = law.masses[to..].iter().sum();
            if to < law.losses.len() {
                losses.push(self.high);
                masses.push(0.0);
            }
            Law { losses, masses, infinite: law.infinite + leap }
        };
        Sum { terms: sum.terms.iter().map(|(law, times)| (cut(law), *times)).collect() }
    }

    /// The knots between the cuts, and the cuts where there is something beyond.
    pub(super) fn clip(&self, knots: &Knots) -> Knots {
        let (first, last) = (knots.points[0], knots.points[knots.points.len() - 1]);
        let (low, high) = (first.max(self.low), last.min(self.high));
        let inner = |e: &&f64| **e > low && **e < high;
        let mut points = vec![low];
        points.extend(knots.points.iter().filter(inner));
        points.push(high);
        let kinks = knots.kinks.iter().filter(|k| (low..=high).contains(*k)).copied().collect();
        Knots { points, kinks, linear: knots.linear }
    }

    /// Take the leap out of a law on the grid that was made from clipped knots.
    pub(super) fn take(&self, knots: &Knots, mut grid: GridLaw) -> GridLaw {
        if self.has_leap(knots)
            && let Some(last) = grid.law.masses.last_mut()
        {
            grid.leap = *last;
            *last = 0.0;
        }
        grid
    }

    /// All leaps of the composition, rounded up; `slip` is the relative error of a product over all
    /// steps.
    pub(super) fn leaps(&self, terms: &[(GridLaw, Times)], slip: f64) -> Leaps {
        // Logarithms of Πf^T and of the quotient (Π(f+a)^T)/(Πf^T), under each law.
        let (mut strides, mut ratio, mut strides_q, mut ratio_q) = (0.0, 0.0, 0.0, 0.0);
        let (mut moment, mut missed) = (0.0, 0.0);
        for (grid, times) in terms {
            // Of fewer steps the infinite part is smaller, and the rest is not asked for.
            let times = times.most();
            let place = grid.law.losses[grid.law.losses.len() - 1];
            let (f, g) = (total(&grid.law, |_| 1.0), total(&grid.law, |loss| (-loss).exp()));
            let (a, b) = (grid.leap + grid.law.infinite, grid.leap * (-place).exp());
            strides += times * f.ln();
            strides_q += times * g.ln();
            ratio += times * (a / f).ln_1p();
            ratio_q += times * (b / g).ln_1p();
            if grid.leap > 0.0 {
                let leap = grid.leap.ln() - self.order * place;
                let both = reticent_math::log_add(grid.law.log_moment(-self.order), leap);
                moment += times * both;
                missed += times * (leap - both).exp();
            } else {
                moment += times * grid.law.log_moment(-self.order);
            }
        }
        let difference = |log: f64, ratio: f64| -(log + ratio).exp() * (-ratio).exp_m1();
        let mass = difference(strides, ratio) * (1.0 + slip);
        let counter = difference(strides_q, ratio_q) * (1.0 - slip);
        let loss = if counter > 0.0 { (mass / counter).ln() } else { f64::INFINITY };
        let log_missed = log_kappa(self.order) + self.order * self.limit + moment + missed.ln();
        let missed = if missed > 0.0 { log_missed.exp() * (1.0 + 1e-9) } else { 0.0 };
        Leaps { mass, loss, missed, limit: self.limit }
    }
}
