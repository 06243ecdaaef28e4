//! The standing of a ledger: the budget spent and the budget left.

use reticent_privacy::{Budget, epsilon_upper};
use serde::Serialize;

use super::book::{Book, ChargeLine};
use super::record::{Filter, Room};
use crate::Error;

/// The budget spent and the budget left.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The ledger's random name.
    pub ledger: String,
    /// The total budget. It holds for every sequence of charges, also if plans were chosen after
    /// looking at earlier models.
    pub budget: Budget,
    /// The column that tells the protected units apart, if the budget is not that of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How later plans are to be counted.
    pub filter: Filter,
    /// The total that later plans may spend; none until a run has begun.
    pub room: Option<Room>,
    /// An upper bound on epsilon at the budget's delta for everything charged, by the product of
    /// pairs. It is exact about plans that did not depend on earlier releases; for others the
    /// budget is the statement.
    pub tight: Option<f64>,
    /// Basic composition: the sum of epsilons.
    pub basic_epsilon: f64,
    /// And the sum of deltas.
    pub basic_delta: f64,
    /// The largest epsilon that one more Gaussian release may have at the budget's own delta.
    pub left: f64,
    /// The same release's epsilon at [`Self::left_delta`].
    pub left_epsilon: f64,
    /// A tenth of the budget's delta.
    pub left_delta: f64,
    /// The number of refused items.
    pub refusals: usize,
    /// Every charge.
    pub charges: Vec<ChargeLine>,
    /// The charges whose models are kept because nobody has said that they are saved.
    pub kept_models: Vec<u64>,
}

impl Standing {
    pub(super) fn of(book: &Book) -> Result<Self, Error> {
        let budget = book.budget;
        let tight = epsilon_upper(&book.together(), budget.delta.get())?;
        let (basic_epsilon, basic_delta) = book.sums();
        let left_delta = budget.delta.get() / 10.0;
        Ok(Self {
            ledger: book.ledger.clone(),
            budget,
            unit: book.unit.clone(),
            filter: book.filter,
            room: book.room,
            tight: tight.is_finite().then_some(tight),
            basic_epsilon,
            basic_delta,
            // All of it may be spent at once, also where a bound on Gaussian noise is a little
            // less.
            left: match book.live().next() {
                None => budget.epsilon.get(),
                Some(_) => book.left(budget.delta.get())?,
            },
            left_epsilon: book.left(left_delta)?,
            left_delta,
            refusals: book.refusals,
            charges: book.lines.clone(),
            kept_models: Vec::new(),
        })
    }
}
