//! A symmetric pair made of proven points.
//!
//! # Theorem
//!
//! Suppose that for every neighbouring pair, in both orders, `H_{e^{ε_i}} <= δ_i` at points
//! `0 = ε_0 < ε_1 < ...`. As a function of `g = e^ε` each such `H` is convex, so between points it
//! lies below the chord, hence below the lower convex hull of the points. The hull, continued to
//! `ε < 0` by `d(−ε) = 1 − e^{−ε} + e^{−ε}d(ε)`, is the profile of a symmetric pair, and that pair
//! dominates the mechanism. So anything with a proven curve `δ(ε)` can be composed with anything
//! else, no matter how the curve was proven.

use super::{Knots, Tails};

/// Proven points `(ε, δ)` of a symmetric profile, reduced to their lower convex hull in `e^ε`.
#[derive(Clone, Debug, PartialEq)]
pub struct PairTable {
    epsilons: Vec<f64>,
    deltas: Vec<f64>,
}

impl PairTable {
    /// The hull of `points`, which hold in both directions. A point `(0, 1)` is always true and is
    /// added.
    ///
    /// Points must have finite `ε >= 0` and are otherwise ignored.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut points: Vec<(f64, f64)> = points
            .into_iter()
            .filter(|(e, d)| (0.0..700.0).contains(e) && (0.0..=1.0).contains(d))
            .chain([(0.0, 1.0)])
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.dedup_by(|later, first| later.0 - first.0 <= 1e-12 * first.0.max(1e-3));
        let mut hull: Vec<(f64, f64)> = Vec::new();
        for point in points {
            if hull.last().is_some_and(|last| last.1 <= point.1) {
                continue; // a profile does not increase
            }
            while let [.., a, b] = hull[..] {
                // Keep b only if it lies below the chord from a to the new point.
                let share = (b.0 - a.0).exp_m1() / (point.0 - a.0).exp_m1();
                if b.1 < a.1 + share * (point.1 - a.1) {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        let (epsilons, deltas) = hull.into_iter().unzip();
        Self { epsilons, deltas }
    }

    /// The hull at any real `epsilon`; 1 for NaN.
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon.is_nan() {
            return 1.0;
        }
        if epsilon < 0.0 {
            return (epsilon.exp() * self.delta(-epsilon) - epsilon.exp_m1()).min(1.0);
        }
        let after = self.epsilons.partition_point(|e| *e <= epsilon);
        if after == self.epsilons.len() {
            return self.infinite();
        }
        let (e0, e1) = (self.epsilons[after - 1], self.epsilons[after]);
        let (d0, d1) = (self.deltas[after - 1], self.deltas[after]);
        let share = (epsilon - e0).exp_m1() / (e1 - e0).exp_m1();
        // A convex combination, so that nothing cancels near d1.
        (1.0 - share) * d0 + share * d1
    }

    /// The mass at infinite loss.
    pub(crate) fn infinite(&self) -> f64 {
        self.deltas.last().copied().unwrap_or(1.0)
    }

    /// The largest finite loss.
    pub(crate) fn largest_loss(&self) -> f64 {
        self.epsilons.last().copied().unwrap_or(0.0)
    }

    /// The tails of the finite part for `epsilon >= 0`: `Q(L > ε)` is minus the slope in `e^ε`.
    pub(super) fn tails(&self, epsilon: f64) -> Tails {
        if epsilon.is_nan() {
            return Tails {
                p_above: f64::NAN,
                q_above: f64::NAN,
                p_below: f64::NAN,
                q_below: f64::NAN,
            };
        }
        let infinite = self.infinite();
        let after = self.epsilons.partition_point(|e| *e <= epsilon);
        let (mut p_above, mut q_above) = (0.0, 0.0);
        if after < self.epsilons.len() {
            let (e0, e1) = (self.epsilons[after - 1], self.epsilons[after]);
            let slope = (self.deltas[after - 1] - self.deltas[after]) / (e1 - e0).exp_m1();
            q_above = (-e0).exp() * slope;
            p_above = self.delta(epsilon) - infinite + (epsilon - e0).exp() * slope;
        }
        let finite = 1.0 - infinite;
        Tails { p_above, q_above, p_below: finite - p_above, q_below: finite - q_above }
    }

    pub(super) fn knots(&self) -> Knots {
        let mirrored = self.epsilons.iter().skip(1).rev().map(|e| -e);
        let points: Vec<f64> = mirrored.chain(self.epsilons.iter().copied()).collect();
        Knots { kinks: points.clone(), points, linear: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_and_none_has_a_bound() {
        let table = PairTable::new([(0.0, 0.5), (0.5, 0.1), (2.0, 1e-9)]);
        assert_eq!(table.delta(f64::NAN), 1.0);
        assert!(table.tails(f64::NAN).p_above.is_nan());
        assert_eq!(table.delta(f64::INFINITY), 1e-9);
        assert_eq!(table.delta(f64::NEG_INFINITY), 1.0);
        assert_eq!(table.delta(1e4), 1e-9);
        // Points that hold nothing leave the one that is always true.
        let empty = PairTable::new([(f64::NAN, 0.1), (1.0, f64::NAN), (1e4, 0.0)]);
        assert_eq!((empty.delta(0.0), empty.delta(1e4), empty.delta(f64::NAN)), (1.0, 1.0, 1.0));
    }
}
