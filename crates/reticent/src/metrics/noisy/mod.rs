//! Metrics of private test rows: noisy histograms, and the metrics computed from them.
//!
//! Exact metrics tell of the rows they were measured on. [`EvaluationQuery`] counts the rows in the
//! cells of a public grid instead, adds noise that an event pays for, and computes every metric
//! from the noisy counts alone: that is post-processing and costs nothing more.
//!
//! | of | cells of a block | blocks `k` |
//! | --- | --- | --- |
//! | two classes | true class × bin of the score | 1 |
//! | more classes | true × predicted class; bins of the true class's probability | 1, or 2 with probabilities |
//! | regression | bins of the signed error; bins of the target | 2 |
//!
//! With groups each block is repeated for each declared category of the groups' column, and once
//! for rows of none of them. Bins depend on the model, the declaration and the threshold, never on
//! rows.
//!
//! # Sensitivity
//!
//! A row with a known label is counted in exactly one cell of each block, in one group; any other
//! row in none. So it adds a vector of zeros and ones with at most `k` ones, at most one in each
//! block, and the counts are the sum of these vectors, since no row decides where another is
//! counted. Of a unit at most `m` rows are counted, and which ones follows from the unit's own
//! rows: its vector `v` has entries `≥ 0` that sum to at most `m` in each block.
//!
//! | neighbours | the counts differ by | l2 norm at most | l1 norm at most |
//! | --- | --- | --- | --- |
//! | a unit (a row: `m = 1`) is added or removed | `v` | `m √k` | `mk` |
//! | a unit is replaced, or blanked out | `v − v'` | `m √(2k)` | `2mk` |
//!
//! The l1 norm counts at delta = 0, where Laplace noise may be the smaller.
//!
//! *Proof.* The l1 norm of `v` is its sum, and that of a difference at most both. In a block,
//! entries `≥ 0` that sum to at most `m` have squares that sum to at most `m²`. For `v − v'` the
//! square is `‖v‖² − 2⟨v, v'⟩ + ‖v'‖² ≤ 2m²`, because the entries are `≥ 0`. Blocks add up. A row
//! that is blanked out may still have a label and be counted elsewhere, so it is bounded as one
//! that is replaced. ∎
//!
//! Both bounds are attained: all rows of the unit in one cell, before and after. A test finds the
//! largest difference over all pairs of rows of a small table.
//!
//! # Errors
//!
//! Each metric comes with the standard deviation that noise gives it, to first order: the root of
//! the sum over cells of its squared change when the cell's count moves by one deviation. That the
//! test rows are a sample is not in it. Grouping into bins moves log loss and Brier score by about
//! a thousandth, AUC by a few, since two rows of one bin are a tie, and regression errors by a few
//! percent.

mod many;
mod number;
mod two;

use reticent_data::Sensitive;
use reticent_noise::{Randomness, Source};
use reticent_optim::{OneShot, PlanError};
use reticent_privacy::{Adjacency, Budget, Event, Relation, delta_upper};
use reticent_problem::declaration::{Labels, Layout};
use reticent_problem::{Loss, Unit};
use reticent_table::encode::CategoryFinder;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Known, Measure, Scores};
use crate::certificate::{RandomnessUsed, why_void};
use crate::units::change;
use crate::verify::same_value;
use crate::{Error, Model};

/// Bins of a score.
const BINS: usize = 20;

/// Noisy metrics, planned and not yet drawn.
#[derive(Clone, Debug)]
pub struct EvaluationQuery {
    budget: Budget,
    unit: Option<Unit>,
    noise: OneShot,
    moves: CountMoves,
    grid: Grid,
    groups: Vec<String>,
}

/// The sensitivity of the counts to one record, and their number: both determine the noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountMoves {
    /// Histograms in which a row is counted once.
    pub blocks: usize,
    /// The most rows of one record that are counted.
    pub max_rows: usize,
    /// Counts in all.
    pub cells: usize,
    /// The l2 sensitivity that follows.
    pub sensitivity: f64,
}

impl CountMoves {
    fn new(blocks: usize, max_rows: usize, cells: usize, adjacency: Adjacency) -> Self {
        let sensitivity = evaluation_sensitivity(blocks, max_rows, adjacency);
        Self { blocks, max_rows, cells, sensitivity }
    }

    /// The l1 sensitivity.
    fn in_l1(&self, adjacency: Adjacency) -> f64 {
        moved(adjacency) * self.max_rows as f64 * self.blocks as f64
    }

    /// The noise that keeps this budget.
    fn noise(&self, budget: Budget) -> Result<OneShot, PlanError> {
        let in_l1 = self.in_l1(budget.adjacency);
        OneShot::plan_counts(budget, self.sensitivity, in_l1, self.cells)
    }

    /// Whether noise of this event and deviation follows from these moves: all is planned again.
    pub(crate) fn explains(&self, budget: Budget, event: &Event, deviation: f64) -> bool {
        let Self { blocks, max_rows, cells, .. } = *self;
        if blocks == 0 || max_rows == 0 || cells < blocks {
            return false;
        }
        let again = Self::new(blocks, max_rows, cells, budget.adjacency);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
        again.noise(budget).is_ok_and(|noise| {
            near(self.sensitivity, again.sensitivity)
                && same_value(noise.event(), event)
                && near(deviation, noise.deviation())
        })
    }
}

/// Where rows are counted.
#[derive(Clone, Debug)]
enum Grid {
    Two(two::Cells),
    Many(many::Cells),
    Number(number::Cells),
}

/// Metrics of one group of rows, or of all, with the noise in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NoisyMetrics {
    /// The metrics, by the names of [`Metrics`](super::Metrics).
    pub metrics: Map<String, Value>,
    /// Of each metric that is one number, the standard deviation that noise gives it.
    pub noise: Map<String, Value>,
}

/// The metrics of one group, with the noise in them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoisyGroup {
    /// The declared category; empty for rows of none.
    pub group: String,
    /// The metrics of the group.
    #[serde(flatten)]
    pub measured: NoisyMetrics,
}

/// Noisy metrics, with their privacy cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationRelease {
    /// The guarantee in words.
    pub statement: String,
    /// Why the guarantee does not hold, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The promised budget, with the neighbouring relation.
    pub budget: Budget,
    /// Whose rows are protected together, if not each row alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The event on the data.
    pub event: Event,
    /// The standard deviation of the noise on each count.
    pub noise_deviation: f64,
    /// The sensitivity that determines the noise.
    #[serde(flatten)]
    pub moves: CountMoves,
    /// Of all rows.
    #[serde(flatten)]
    pub measured: NoisyMetrics,
    /// Of each group, where groups were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<NoisyGroup>,
}

/// How often a record that changes is counted, before and after.
fn moved(adjacency: Adjacency) -> f64 {
    match adjacency.relation() {
        Relation::Replace | Relation::ZeroOut => 2.0,
        Relation::AddRemove => 1.0,
    }
}

/// The largest change of the counts in the l2 norm, for `blocks` histograms in which each record is
/// counted at most `rows` times.
pub fn evaluation_sensitivity(blocks: usize, rows: usize, adjacency: Adjacency) -> f64 {
    // The last factor outweighs the rounding of the root.
    rows as f64 * (moved(adjacency) * blocks as f64).sqrt() * (1.0 + 1e-15)
}

impl EvaluationQuery {
    /// Plans cells and noise. Reads no row. `groups` are the declared categories of a column to
    /// measure by; none for all rows alone.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for an infinite epsilon, a target without bounds, or a measure that
    /// does not fit; [`Error::Plan`] for a budget that no noise keeps.
    pub fn plan(
        model: &Model,
        layout: &Layout,
        measure: &Measure,
        groups: Vec<String>,
        budget: Budget,
    ) -> Result<Self, Error> {
        if budget.epsilon.is_infinite() {
            return Err(Error::Arguments(
                "`epsilon` must be finite to share metrics of private rows, got infinity; leave `--epsilon` out for exact metrics of rows that may be public",
            ));
        }
        if measure.costs.is_some() {
            return Err(Error::Arguments(
                "costs need exact metrics: leave `--cost-fp` and `--cost-fn` out with `--epsilon`, and compare thresholds by `--threshold`",
            ));
        }
        super::check(measure, model.task.loss, layout.labels())?;
        let grid = Grid::new(model.task.loss, layout.labels(), measure)?;
        let unit = model.task.declaration.unit().cloned();
        let most = unit.as_ref().map_or(1, |unit| unit.max_rows);
        let parts = if groups.is_empty() { 1 } else { groups.len() + 1 };
        let moves = CountMoves::new(grid.blocks(), most, parts * grid.len(), budget.adjacency);
        let noise = moves.noise(budget)?;
        Ok(Self { budget, unit, noise, moves, grid, groups })
    }

    /// The event to be charged.
    pub fn event(&self) -> &Event {
        self.noise.event()
    }

    /// The exact counts of the rows in `kept`, which are as private as the rows. `groups` has the
    /// text of each row's cell in the column of groups, which names a category as it does to the
    /// encoder; it is empty where nothing was asked for by group.
    pub fn count(
        &self,
        scores: &Scores,
        groups: &[String],
        kept: impl Iterator<Item = usize>,
    ) -> Sensitive<Vec<f64>> {
        let len = self.grid.len();
        let parts = if self.groups.is_empty() { 1 } else { self.groups.len() + 1 };
        let finder = CategoryFinder::new(&self.groups);
        let mut counts = vec![0.0; parts * len];
        for row in kept {
            let Some(known) = scores.row(row) else { continue };
            let part = match groups.get(row) {
                Some(group) if !self.groups.is_empty() => {
                    finder.place(group).unwrap_or(self.groups.len())
                }
                _ => parts - 1,
            };
            for cell in self.grid.cells(known).into_iter().flatten() {
                counts[part * len + cell] += 1.0;
            }
        }
        Sensitive::new(counts)
    }

    /// The counts of a table without rows.
    pub fn no_rows(&self) -> Sensitive<Vec<f64>> {
        let parts = if self.groups.is_empty() { 1 } else { self.groups.len() + 1 };
        Sensitive::new(vec![0.0; parts * self.grid.len()])
    }

    /// Draws the noise. The caller has paid for the event.
    ///
    /// # Errors
    ///
    /// [`Error::Noise`].
    pub fn release(
        self,
        counts: Sensitive<Vec<f64>>,
        source: &Source,
    ) -> Result<EvaluationRelease, Error> {
        let Self { budget, unit, noise, moves, grid, groups } = self;
        let (event, deviation) = (noise.event().clone(), noise.deviation());
        let noisy = noise.release(counts, source)?;
        let randomness = match source.randomness() {
            Randomness::Secure => RandomnessUsed::Secure,
            Randomness::Seeded => RandomnessUsed::Seeded,
        };
        let mut all = vec![0.0; grid.len()];
        for part in noisy.chunks(grid.len()) {
            all.iter_mut().zip(part).for_each(|(sum, count)| *sum += count);
        }
        let parts = noisy.len() / grid.len().max(1);
        let measured = grid.measured(&all, deviation * (parts as f64).sqrt());
        let of_group = |(group, part): (String, &[f64])| NoisyGroup {
            group,
            measured: grid.measured(part, deviation),
        };
        let names = groups.iter().cloned().chain([String::new()]);
        let groups = match groups.len() {
            0 => Vec::new(),
            _ => names.zip(noisy.chunks(grid.len())).map(of_group).collect(),
        };
        Ok(EvaluationRelease {
            statement: statement(budget, &event, unit.as_ref()),
            unit,
            void: why_void(budget, randomness),
            budget,
            event,
            noise_deviation: deviation,
            moves,
            measured,
            groups,
        })
    }
}

impl Grid {
    fn new(loss: Loss, labels: &Labels, measure: &Measure) -> Result<Self, Error> {
        Ok(match labels {
            Labels::Binary { classes, positive } => {
                Self::Two(two::Cells::new(loss, classes, *positive, measure))
            }
            Labels::Multiclass { classes } => Self::Many(many::Cells::new(loss, classes.len())),
            Labels::Regression { .. } => Self::Number(number::Cells::new(loss, labels)?),
        })
    }

    /// How many cells a row is counted in.
    fn blocks(&self) -> usize {
        match self {
            Self::Two(_) => 1,
            Self::Many(cells) => cells.blocks(),
            Self::Number(_) => 2,
        }
    }

    /// How many cells there are.
    fn len(&self) -> usize {
        match self {
            Self::Two(cells) => cells.len(),
            Self::Many(cells) => cells.len(),
            Self::Number(_) => number::CELLS,
        }
    }

    /// The cells that a row is counted in: one of each block.
    fn cells(&self, row: Known<'_>) -> [Option<usize>; 2] {
        match self {
            Self::Two(cells) => [Some(cells.of(row)), None],
            Self::Many(cells) => cells.of(row),
            Self::Number(cells) => cells.of(row).map(Some),
        }
    }

    /// The metrics that are one number each, by name; those that counts do not give are left out.
    fn scalars(&self, counts: &[f64]) -> Vec<(&'static str, f64)> {
        let found = match self {
            Self::Two(cells) => cells.scalars(counts),
            Self::Many(cells) => cells.scalars(counts),
            Self::Number(cells) => cells.scalars(counts),
        };
        let known = found.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.filter(|(_, value)| value.is_finite()).collect()
    }

    /// Metrics of noisy counts, each of which has noise of this deviation.
    fn measured(&self, counts: &[f64], deviation: f64) -> NoisyMetrics {
        let counts = match self {
            Self::Number(_) => number::Cells::without_tails(counts, deviation),
            Self::Two(_) | Self::Many(_) => counts.to_vec(),
        };
        let scalars = self.scalars(&counts);
        let mut squares = vec![0.0; scalars.len()];
        let mut moved = counts.clone();
        for cell in 0..counts.len() {
            let mut at = |change: f64| {
                moved[cell] = counts[cell] + change;
                let found = self.scalars(&moved);
                moved[cell] = counts[cell];
                found
            };
            let (up, down) = (at(deviation), at(-deviation));
            let value = |found: &[(&str, f64)], name: &str, otherwise: f64| {
                found.iter().find(|(n, _)| *n == name).map_or(otherwise, |(_, value)| *value)
            };
            for ((name, here), square) in scalars.iter().zip(&mut squares) {
                let change = value(&up, name, *here) - value(&down, name, *here);
                *square += 0.25 * change * change;
            }
        }
        let mut metrics: Map<String, Value> =
            scalars.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let noise = scalars.iter().zip(squares);
        let noise = noise.map(|((name, _), square)| ((*name).to_owned(), json!(square.sqrt())));
        let noise = noise.collect();
        match self {
            Self::Two(cells) => metrics.extend(cells.tables(&counts, deviation)),
            Self::Many(cells) => metrics.extend(cells.tables(&counts)),
            Self::Number(_) => {
                metrics.insert("rows".to_owned(), json!(number::rows(&counts)));
            }
        }
        NoisyMetrics { metrics, noise }
    }
}

/// A noisy count of rows, rounded to a non-negative integer.
fn whole(count: f64) -> u64 {
    count.round().max(0.0) as u64
}

/// A ratio of noisy counts, held to `[0, 1]`; none where the whole is not above zero.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
}

/// The ends of the bins of a probability: `sin²(πi/2K)`, finer where a probability matters more.
fn ends() -> Vec<f64> {
    let at = |i: usize| match i {
        _ if 2 * i == BINS => 0.5,
        i => (std::f64::consts::FRAC_PI_2 * i as f64 / BINS as f64).sin().powi(2),
    };
    (0..=BINS).map(at).collect()
}

/// The middle of a bin on the scale on which the bins of [`ends`] are equal.
fn middle(from: f64, to: f64) -> f64 {
    let angle = |p: f64| p.sqrt().min(1.0).asin();
    (0.5 * (angle(from) + angle(to))).sin().powi(2)
}

/// The bin of a value among bins with these ends, of which each holds its lower one.
fn bin(ends: &[f64], value: f64) -> usize {
    let inner = &ends[1..ends.len() - 1];
    inner.partition_point(|end| *end <= value)
}

/// The log loss of the shares of these counts.
fn entropy(counts: &[f64]) -> Option<f64> {
    let counts = counts.iter().map(|count| count.max(0.0));
    let n: f64 = counts.clone().sum();
    let terms = counts.filter(|count| *count > 0.0).map(|count| -(count / n) * (count / n).ln());
    (n > 0.0).then(|| terms.sum())
}

/// The guarantee in words, without a delta where the event needs none.
pub(crate) fn statement(budget: Budget, event: &Event, unit: Option<&Unit>) -> String {
    let (epsilon, delta, adjacency) = (budget.epsilon, budget.delta.get(), budget.adjacency);
    let change = match unit.filter(|_| adjacency.protects_units()) {
        None if adjacency.protects_units() => format!("{adjacency} adjacency of units"),
        unit => change(adjacency, unit),
    };
    if delta_upper(event, epsilon.get()).is_ok_and(|delta| delta == 0.0) {
        format!(
            "These metrics are epsilon-differentially private with epsilon = {epsilon} under {change} of the test table."
        )
    } else {
        format!(
            "These metrics are (epsilon, delta)-differentially private with epsilon = {epsilon} and delta = {delta:e} under {change} of the test table."
        )
    }
}

#[cfg(test)]
mod tests;
