//! Noisy counts of missing, clamped, undeclared and unreadable cells of a private table; they may
//! be shared.
//!
//! For each column that is read (features that are kept, and the target) the owner learns how many
//! cells are missing, clamped, undeclared and unreadable, and for the whole table how many rows
//! become zero because a cell cannot be read. Exact counts ([`table::count_cells`]) are as private
//! as the table. [`CellQuery`] gives them with noise that an event pays for.
//!
//! # Sensitivity
//!
//! Let `c` be the number of columns, the target among them. Each cell of a row is counted in at
//! most one of its column's kinds (a cell that is read in none; a vector counts as one cell), and
//! the row in at most one place of the count of zero rows. So the contribution of one row to the
//! counts is a vector `v` of zeros and ones, with at most one 1 for each column and at most one 1
//! for the row, and the counts are the sum of these vectors, since no row affects how another is
//! counted.
//!
//! | neighbours | the counts differ by | l2 norm at most |
//! | --- | --- | --- |
//! | a row is added or removed | `v` | `√(c + 1)` |
//! | a row becomes one that contributes nothing | `v` | `√(c + 1)` |
//! | a row is replaced | `v − v'` | `√(2c + 1)` |
//!
//! *Proof.* `v` has at most `c + 1` ones. In `v − v'` a column has at most two entries that differ
//! from zero, one from each row, of size 1: its squares sum to at most 2. The count of zero rows is
//! one number and moves by at most 1. ∎
//!
//! Both bounds are attained: a row whose cells are all unreadable against one whose cells are all
//! missing. A test finds the largest difference over all pairs of rows of a small table.
//!
//! The number of rows is not part of the release. Where it is public, shares are taken of it; where
//! it is not (add-remove adjacency), of a declared number. Rounding the noisy counts to whole
//! numbers from 0 to that number is post-processing.

use reticent_data::Sensitive;
use reticent_noise::{Randomness, Source};
use reticent_optim::OneShot;
use reticent_privacy::{Adjacency, Budget, Event, Relation, delta_upper};
use reticent_problem::declaration::Layout;
use reticent_table::encode::CellCounts;
use serde::Serialize;

use crate::Error;
use crate::certificate::{RandomnessUsed, why_void};

/// Noisy counts, planned and not yet drawn.
#[derive(Clone, Debug)]
pub struct CellQuery {
    budget: Budget,
    noise: OneShot,
    /// The counts that tables of this layout have.
    shape: CellCounts,
}

/// Noisy counts, with their privacy cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellRelease {
    /// The guarantee in words.
    pub statement: String,
    /// Why the guarantee does not hold, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The promised budget, with the neighbouring relation.
    pub budget: Budget,
    /// The event on the data.
    pub event: Event,
    /// The standard deviation of the noise on each count.
    pub noise_deviation: f64,
    /// The counts. Their number of rows is the public or declared one.
    #[serde(flatten)]
    pub counts: CellCounts,
}

/// The largest change of the counts of `columns` columns, the target among them, in the l2 norm.
pub fn cell_sensitivity(columns: usize, adjacency: Adjacency) -> f64 {
    let moved = match adjacency.relation() {
        Relation::Replace => 2.0,
        Relation::AddRemove | Relation::ZeroOut => 1.0,
    };
    // The last factor outweighs the rounding of the root.
    (moved * columns as f64 + 1.0).sqrt() * (1.0 + 1e-15)
}

impl CellQuery {
    /// Plans the noise. Reads no row.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for an infinite epsilon, [`Error::Plan`] for a budget that no noise
    /// keeps.
    pub fn plan(layout: &Layout, budget: Budget) -> Result<Self, Error> {
        if budget.epsilon.is_infinite() {
            return Err(Error::Arguments(
                "`epsilon` must be finite to share counts, got infinity; leave `--epsilon` out for exact counts that stay with the owner",
            ));
        }
        if budget.adjacency.protects_units() {
            return Err(Error::Arguments(
                "noisy counts of cells protect one row, and all rows of a unit would move them further; leave `--epsilon` out for exact counts that stay with the owner, or name a schema without `unit`",
            ));
        }
        let shape = CellCounts::none(layout);
        let sensitivity = cell_sensitivity(shape.columns.len() + 1, budget.adjacency);
        let noise = OneShot::plan(budget, sensitivity, shape.to_vector().len())?;
        Ok(Self { budget, noise, shape })
    }

    /// The event to be charged.
    pub fn event(&self) -> &Event {
        self.noise.event()
    }

    /// Draws the noise. The caller has paid for the event. `rows` is the public or declared
    /// number of rows.
    ///
    /// # Errors
    ///
    /// [`Error::Noise`].
    pub fn release(
        self,
        counts: &CellCounts,
        rows: u64,
        source: &Source,
    ) -> Result<CellRelease, Error> {
        let (budget, event) = (self.budget, self.noise.event().clone());
        let noise_deviation = self.noise.deviation();
        let noisy = self.noise.release(Sensitive::new(counts.to_vector()), source)?;
        let randomness = match source.randomness() {
            Randomness::Secure => RandomnessUsed::Secure,
            Randomness::Seeded => RandomnessUsed::Seeded,
        };
        Ok(CellRelease {
            statement: statement(budget, &event),
            void: why_void(budget, randomness),
            budget,
            event,
            noise_deviation,
            counts: self.shape.with_vector(rows, &noisy),
        })
    }
}

/// The guarantee in words, without a delta where the event needs none.
fn statement(budget: Budget, event: &Event) -> String {
    let (epsilon, delta, adjacency) = (budget.epsilon, budget.delta.get(), budget.adjacency);
    if delta_upper(event, epsilon.get()).is_ok_and(|delta| delta == 0.0) {
        format!(
            "These counts are epsilon-differentially private with epsilon = {epsilon} under {adjacency} adjacency of rows."
        )
    } else {
        format!(
            "These counts are (epsilon, delta)-differentially private with epsilon = {epsilon} and delta = {delta:e} under {adjacency} adjacency of rows."
        )
    }
}
