//! A curve that is evaluated at fixed orders only, and remembered.
//!
//! Tuning asks for its base's curve hundreds of times, and the curve of sampled noise takes
//! milliseconds each. The function `(α − 1)·r(α)` of the true divergence `r` is convex in `α`: it
//! is the logarithm of a moment as a function of its order. So the chord between two orders lies
//! above it, and all the more the chord between upper bounds. For a draw of several events the
//! chord between the largest bounds lies above each one's.

use std::cell::RefCell;
use std::rc::Rc;

use super::{ORDERS, at_least_zero, event::Curve};
use crate::{Event, PrivacyError};

/// Nodes for each unit of `ln(α − 1)`: the chord is off by some parts in 1,000 where the curve of
/// sampled noise is steepest, and far less elsewhere.
const NODES: f64 = 256.0;

/// Curves of the last events asked for.
const KEPT: usize = 8;

thread_local! {
    static LAST: RefCell<Vec<(Event, Rc<Remembered>)>> = const { RefCell::new(Vec::new()) };
}

/// The curve of an event, above its own by a hair.
pub(crate) struct Remembered {
    curve: Curve,
    nodes: RefCell<Vec<Option<f64>>>,
}

impl Remembered {
    /// The curve of `event`, shared with anyone who asked for the same event before.
    pub(crate) fn of(event: &Event) -> Result<Rc<Self>, PrivacyError> {
        let known = LAST.with_borrow(|last| {
            last.iter().find(|(own, _)| own == event).map(|(_, curve)| Rc::clone(curve))
        });
        if let Some(curve) = known {
            return Ok(curve);
        }
        let curve = Rc::new(Self { curve: super::event_curve(event)?, nodes: RefCell::default() });
        LAST.with_borrow_mut(|last| {
            last.truncate(KEPT - 1);
            last.insert(0, (event.clone(), Rc::clone(&curve)));
        });
        Ok(curve)
    }

    /// The curve at `order`.
    pub(crate) fn at(&self, order: f64) -> f64 {
        let above = order - 1.0;
        let place = (above / ORDERS.0).ln() * NODES;
        if !(place >= 0.0 && above < ORDERS.1) {
            return (self.curve)(order);
        }
        let node = place as usize;
        let (low, high) = (self.moment(node), self.moment(node + 1));
        let (from, to) = (excess(node), excess(node + 1));
        let share = ((above - from) / (to - from)).clamp(0.0, 1.0);
        // A relative 1e-13 outweighs the rounding of these lines. Beyond the curve's reach nothing
        // is known.
        at_least_zero((low + share * (high - low)) / above * (1.0 + 1e-13))
    }

    /// `(α − 1)·r(α)` at a node.
    fn moment(&self, node: usize) -> f64 {
        let known = self.nodes.borrow().get(node).copied().flatten();
        known.unwrap_or_else(|| {
            let value = excess(node) * (self.curve)(1.0 + excess(node));
            let mut nodes = self.nodes.borrow_mut();
            if nodes.len() <= node {
                nodes.resize(node + 1, None);
            }
            nodes[node] = Some(value);
            value
        })
    }
}

/// `α − 1` of a node.
fn excess(node: usize) -> f64 {
    ORDERS.0 * (node as f64 / NODES).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Adjacency;

    #[test]
    fn the_chord_lies_above_the_curve_and_near_it() {
        let adjacency = Adjacency::AddRemoveOne;
        let events = [
            Event::Gaussian { noise_multiplier: 1.5, adjacency },
            Event::PureDp { epsilon: 2.0, adjacency },
            Event::PoissonGaussian {
                sample_rate: 0.01,
                noise_multiplier: 1.0,
                steps: 100,
                adjacency,
            },
        ];
        for event in &events {
            let (own, chord) = (super::super::event_curve(event).unwrap(), Remembered::of(event));
            let chord = chord.unwrap();
            for i in 0..400 {
                let order = 1.0 + 0.011 * (f64::from(i) * 0.03).exp();
                let (own, chord) = (own(order), chord.at(order));
                assert!(chord >= own, "{event:?} at {order}: {chord} {own}");
                assert!(chord <= own * 1.005, "{event:?} at {order}: {chord} {own}");
            }
        }
        // Where the curve ends, nothing is promised: a hole must not read as a bound.
        let nothing = Remembered {
            curve: Box::new(|a| if a > 50.0 { f64::INFINITY } else { a }),
            nodes: RefCell::default(),
        };
        assert_eq!(nothing.at(1000.0), f64::INFINITY);
        assert!(nothing.at(20.0).is_finite());
        let unknown = Remembered { curve: Box::new(|_| f64::NAN), nodes: RefCell::default() };
        assert_eq!(super::super::epsilon_of_curve(|a| unknown.at(a), 1e-6).0, f64::INFINITY);
        assert_eq!(super::super::epsilon_of_curve(|_| f64::NAN, 1e-6).0, f64::INFINITY);
        assert_eq!(super::super::delta_of_curve(|_| f64::NAN, 1.0).0, 1.0);
        // Outside the nodes it is the curve itself.
        let chord = Remembered::of(&events[0]).unwrap();
        for order in [1.001, 1e9] {
            assert_eq!(chord.at(order), event_value(&events[0], order));
        }
    }

    fn event_value(event: &Event, order: f64) -> f64 {
        super::super::event_curve(event).unwrap()(order)
    }
}
