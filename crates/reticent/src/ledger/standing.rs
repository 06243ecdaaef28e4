//! What a ledger says when asked.

use reticent_privacy::{Budget, epsilon_upper};
use serde::Serialize;

use super::book::{Book, Line};
use super::record::{Filter, Room};
use crate::Error;

/// What has been spent and what is left.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The ledger's random name.
    pub ledger: String,
    /// What is allowed in all. It holds whatever was charged, also if plans were chosen after looking at earlier models.
    pub budget: Budget,
    /// How later plans are to be counted.
    pub filter: Filter,
    /// What later plans may spend in all; none as long as nothing has begun.
    pub room: Option<Room>,
    /// An upper bound on epsilon at the budget's delta for everything charged, by the product of pairs. It is exact about
    /// plans that did not depend on earlier releases; for others the budget is the statement.
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
    /// What was refused, in number.
    pub refusals: usize,
    /// Every charge.
    pub charges: Vec<Line>,
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
            filter: book.filter,
            room: book.room,
            tight: tight.is_finite().then_some(tight),
            basic_epsilon,
            basic_delta,
            // All of it may be spent at once, also where a bound on Gaussian noise is a little less.
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
