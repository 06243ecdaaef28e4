//! Spending under watch: filters that stop in time, and an odometer that can always be read.
//!
//! When later events' *parameters* may depend on earlier outputs, the product of dominating pairs
//! is not a valid bound. These are valid then:
//!
//! - a **filter** for quantities that add, with a budget fixed in advance: `Σμ² <= μ_B²` for
//!   Gaussian and GDP events and all that they dominate ([`gaussian_cost`], [`gaussian_room`]),
//!   `Σρ <= ρ_B` for zCDP, and `Σ r(α*) <= B` at one order `α*` fixed in advance (Feldman, Zrnic
//!   2021);
//! - an **odometer** with no budget: zCDP budgets `B_k = B₀2^k` with failure `δ_k = 6δ/(π²(k+1)²)`
//!   each, reported by the tail bound `B_k + 2√(B_k ln(1/δ_k))` for the smallest `k` that covers
//!   what was spent. The tail bound holds for the loss itself, so
//!   `P(some time: loss > report) <= Σδ_k = δ`; sharper conversions do not have that property.

mod gaussian;

use std::f64::consts::PI;

pub use gaussian::{basic_room, gaussian_cost, gaussian_room};
use serde::{Deserialize, Serialize};

use crate::{
    Adjacency, Event, PrivacyError,
    error::{check, positive},
    rdp,
    scalar::check_delta,
};

/// A budget that adaptively chosen events may draw on, in the units of one Rényi order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenyiFilter {
    order: f64,
    budget: f64,
    spent: f64,
    /// That of the first event; the statement has no meaning for a mixture.
    adjacency: Option<Adjacency>,
}

impl RenyiFilter {
    /// The filter for `(epsilon, delta)` at the order that leaves the largest budget,
    /// `B = ε − ln(1 − 1/α) + (ln δ + ln α)/(α − 1)`.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] for an illegal budget, [`PrivacyError::Unreachable`] if no
    /// order has room.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, PrivacyError> {
        positive("epsilon", epsilon)?;
        check_delta(delta)?;
        // The cost of a typical event at an order grows with the order, so compare budgets for each
        // unit of order.
        let room = |a: f64| epsilon - (-1.0 / a).ln_1p() + (delta.ln() + a.ln()) / (a - 1.0);
        let (order, value) = rdp::best_order(|a| -room(a) / a, 1e7);
        if !value.is_finite() || value >= 0.0 {
            return Err(PrivacyError::Unreachable {
                name: "order",
                reason: "no Rényi order reaches this budget; delta must be > 0".to_owned(),
            });
        }
        Self::at_order(order, epsilon, delta)
    }

    /// The filter at a chosen order.
    ///
    /// # Errors
    ///
    /// As [`RenyiFilter::new`].
    pub fn at_order(order: f64, epsilon: f64, delta: f64) -> Result<Self, PrivacyError> {
        check(order > 1.0 && order.is_finite(), "order", "be finite and > 1", order)?;
        positive("epsilon", epsilon)?;
        check_delta(delta)?;
        let budget = epsilon - (-1.0 / order).ln_1p() + (delta.ln() + order.ln()) / (order - 1.0);
        if budget.is_nan() || budget <= 0.0 {
            return Err(PrivacyError::Unreachable {
                name: "order",
                reason: "this order has no room within the budget".to_owned(),
            });
        }
        // A hair less, so that converting back never lands above the target.
        Ok(Self { order, budget: budget * (1.0 - 1e-12), spent: 0.0, adjacency: None })
    }

    /// The order fixed at the start.
    pub fn order(&self) -> f64 {
        self.order
    }

    /// The remaining budget, in units of this order.
    pub fn left(&self) -> f64 {
        (self.budget - self.spent).max(0.0)
    }

    /// The cost of `event` at this order.
    ///
    /// # Errors
    ///
    /// As [`rdp::rdp`].
    pub fn cost(&self, event: &Event) -> Result<f64, PrivacyError> {
        rdp::rdp(event, self.order)
    }

    /// Draw `event` from the budget, before it is run.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Unreachable`] if it does not fit; nothing is drawn then.
    pub fn spend(&mut self, event: &Event) -> Result<(), PrivacyError> {
        let cost = self.cost(event)?;
        let adjacency = match (self.adjacency, event.adjacency()?) {
            (Some(before), Some(now)) if before != now => {
                return Err(PrivacyError::Unreachable {
                    name: "event",
                    reason: format!(
                        "this budget is for {before} adjacency, the event is for {now}"
                    ),
                });
            }
            (before, now) => before.or(now),
        };
        // Sums are rounded up.
        let spent = (self.spent + cost) * (1.0 + f64::EPSILON);
        if spent.is_nan() || spent > self.budget {
            let (left, order) = (self.left(), self.order);
            return Err(PrivacyError::Unreachable {
                name: "event",
                reason: format!("needs {cost:.6} at order {order:.3}, left {left:.6}"),
            });
        }
        (self.spent, self.adjacency) = (spent, adjacency);
        Ok(())
    }

    /// The `ε` at `delta` that covers everything drawn so far and everything that may still be
    /// drawn.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] for an illegal `delta`.
    pub fn epsilon(&self, delta: f64) -> Result<f64, PrivacyError> {
        rdp::rdp_to_epsilon(self.order, self.budget, delta)
    }
}

/// The running statement of an odometer that has seen `rho` of zCDP, valid at all times at once.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `rho >= 0`, `0 < delta < 1` and `first_budget > 0`.
pub fn odometer_epsilon(rho: f64, delta: f64, first_budget: f64) -> Result<f64, PrivacyError> {
    check(rho >= 0.0 && rho.is_finite(), "rho", "be a finite number >= 0", rho)?;
    check(delta > 0.0 && delta < 1.0, "delta", "satisfy 0 < delta < 1", delta)?;
    positive("first_budget", first_budget)?;
    let mut k = 0.0f64;
    let mut budget = first_budget;
    while budget < rho {
        budget *= 2.0;
        k += 1.0;
    }
    let delta_k = 6.0 * delta / (PI * PI * (k + 1.0) * (k + 1.0));
    rdp::zcdp_epsilon_simple(budget, delta_k)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Adjacency;

    proptest! {
        #[test]
        fn what_was_let_through_never_exceeds_the_budget(
            rhos in proptest::collection::vec(1e-4..0.05f64, 1..200), epsilon in 0.2..5.0f64,
        ) {
            let mut filter = RenyiFilter::new(epsilon, 1e-6).unwrap();
            let mut spent = 0.0;
            for rho in rhos {
                let event = Event::Zcdp { rho, adjacency: Adjacency::ReplaceOne };
                if filter.spend(&event).is_ok() {
                    spent += rho;
                }
            }
            let cost = rdp::rdp_to_epsilon(filter.order(), spent * filter.order(), 1e-6).unwrap();
            prop_assert!(cost <= epsilon, "{cost} {epsilon}");
            prop_assert!(filter.epsilon(1e-6).unwrap() <= epsilon);
        }

        #[test]
        fn the_odometer_never_runs_backwards(rho in 0.0..10.0f64, more in 0.0..1.0f64) {
            let at = |r| odometer_epsilon(r, 1e-6, 1e-3).unwrap();
            prop_assert!(at(rho + more) >= at(rho));
            prop_assert!(at(rho) >= rdp::zcdp_epsilon_simple(rho, 1e-6).unwrap());
        }
    }

    #[test]
    fn a_refusal_draws_nothing_and_says_what_is_left() {
        let mut filter = RenyiFilter::new(1.0, 1e-6).unwrap();
        let before = filter.clone();
        let event = Event::Zcdp { rho: 5.0, adjacency: Adjacency::ReplaceOne };
        let message = filter.spend(&event).unwrap_err().to_string();
        assert!(message.contains("left"), "{message}");
        assert_eq!(filter, before);
        assert!(RenyiFilter::new(1.0, 0.0).is_err());
    }

    #[test]
    fn one_budget_is_for_one_adjacency() {
        let mut filter = RenyiFilter::new(1.0, 1e-6).unwrap();
        let event = |adjacency| Event::Gaussian { noise_multiplier: 50.0, adjacency };
        filter.spend(&event(Adjacency::ReplaceOne)).unwrap();
        let message = filter.spend(&event(Adjacency::AddRemoveOne)).unwrap_err().to_string();
        assert!(message.contains("replace-one"), "{message}");
        filter.spend(&event(Adjacency::ReplaceOne)).unwrap();
    }
}
