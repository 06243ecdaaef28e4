//! Private estimates of the unknown parts of a declaration: types, bounds, quantiles and categories
//! of columns.
//!
//! Three mechanisms answer, and one event composes them. The columns are public: `u` of unknown
//! type, `k` known to hold numbers and `c` known to hold categories.
//!
//! # Types
//!
//! For each of the `m = u + k` columns three counts of cells: whole numbers, other numbers, other
//! texts. A cell counts in at most one of them and a missing one in none, so a row adds a vector
//! with at most one 1 in each column. Added, removed or zeroed it moves the counts by at most `√m`
//! in the l2 norm, replaced by at most `√(2m)`. All get Gaussian noise on a grid, in one release.
//!
//! # Bounds and quantiles
//!
//! The cells of the public grid ([`grid`]) are the candidates for the `r`-th smallest number of a
//! column. With `b_j` the number of cells below `g_j` (`b_0 = 0`, `b_K = ∞`) the score of the cell
//! `[g_j, g_{j+1})` is `−max(0, b_j − (r − 1), r − b_{j+1})`, and a cell is drawn with odds
//! `exp(ε₀·score/2)`. A row moves every `b_j` by at most 1 under every adjacency, so every score
//! too: the exponential mechanism is `ε₀`-bounded-range. Ranks from above are those of the negated
//! numbers, because the grid is symmetric. Each of the `m` columns has a rank for each of its two
//! bounds that is not public and one for each inner knot. Which rank is asked may follow from the
//! noisy counts of types: the event is the same for each. Two ranks more are paid for each of a
//! public number of columns whose bounds are drawn again from cells between the first ones: which
//! columns and cells follows from what was drawn, and the scores of any cells move by at most 1.
//!
//! A rank drawn is off by at most `2 ln(K/β)/ε₀`, but with probability `β`, and all `k` of a draft
//! are, with `β/k` in its place, but with probability `β` ([`DraftPlan::off`]): the outer ranks are
//! at least so far from the ends, lest a bound lie where there is no number.
//!
//! # Categories
//!
//! *Theorem.* For each of `q = u + c` columns count the rows of each text that occurs; add Gaussian
//! noise of standard deviation `σ` to every count and show the texts whose noisy count exceeds
//! `T = σ·√(2 ln(q/(2τ)))`. This is within total variation `τ + 3q/(16 s²)`, `s ≥ 2^40`, of a
//! function of the Gaussian mechanism on a vector of sensitivity `√(2q)` if a row is replaced and
//! `√q` if it is added, removed or zeroed.
//!
//! *Proof.* Let `D`, `D'` be neighbours and `U` the texts of either. `M_U` adds noise to the counts
//! of all of `U`, zeros included, and cuts at `T`: a function of noisy counts whose texts are the
//! same for both, and of which each column has at most two that differ (one text less, another
//! more, if a row is replaced), by 1 each. Texts whose counts are equal have equal, independent
//! noise and drop out, which leaves the stated sensitivity and `2q` coordinates at most. Counts are
//! whole and the grid divides 1, so rounding moves nothing, and each coordinate's discrete noise is
//! within `1/(16 s²)` of the continuous one. `M(D)` is `M_U(D)` without the texts that are in `D'`
//! alone: at most one for each column. With the same noise the two differ only if such a text, of
//! count 0, exceeds `T`: probability at most `q·P(N > T/σ) ≤ (q/2)·exp(−T²/(2σ²)) = τ`, and another
//! `1/(16 s²)` each for discrete noise. The same holds of `D'`. ∎
//!
//! Which mechanism a column of unknown type is asked by follows from its noisy counts; both are
//! paid for. How many texts there are is not told, and more than [`MOST_NAMES`] are not shown.

use reticent_data::{Mechanism, Sensitive};
use reticent_noise::lattice::GaussianLattice;
use reticent_noise::{NoiseError, Purpose, Source, Stream};
use reticent_privacy::{Adjacency, Budget, Event, Relation, epsilon_upper, gaussian};
use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::clipped_sgd::selection::{probabilities, scores, target_rank};
use crate::step::choose::choose;
use crate::step::perturb::{self, Noise};

/// The most categories that are shown of a column: those of the largest noisy counts.
pub const MOST_NAMES: usize = 1000;

/// The most inner knots.
const MOST_KNOTS: usize = 64;

/// With this probability one of a draft's ranks is off by more than [`DraftPlan::off`].
const FAILURE: f64 = 0.01;

/// Parts of the squared loss of types, ranks and categories. Types need few rows to be told apart;
/// numbers are asked several times for each column, categories once.
const SHARES: [f64; 3] = [0.06, 0.6, 0.34];

/// The part of delta for texts that one row holds alone.
const NAMES_DELTA: f64 = 0.25;

/// Halvings of the interval in which the scale of the noise is sought.
const HALVINGS: usize = 10;

/// Decades of the grid, and cells in each.
const DECADES: std::ops::RangeInclusive<i32> = -6..=12;
const CELLS: i32 = 8;

/// The public grid: 0 and ±10^(k/8) from 1e-6 to 1e12, to four digits, rising.
pub fn grid() -> Vec<f64> {
    let power = |k: i32| {
        let decade = k.div_euclid(CELLS);
        // Four digits, read as a decimal number, are the same on every machine.
        let digits = (10f64.powf(3.0 + f64::from(k.rem_euclid(CELLS)) / f64::from(CELLS))).round();
        format!("{digits}e{}", decade - 3).parse().unwrap_or(f64::NAN)
    };
    let above: Vec<f64> = (DECADES.start() * CELLS..=DECADES.end() * CELLS).map(power).collect();
    above.iter().rev().map(|g: &f64| -g).chain([0.0]).chain(above.iter().copied()).collect()
}

/// The shape of a draft: numbers of columns, all public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftShape {
    /// Columns of unknown type.
    pub unknown: usize,
    /// Columns that hold numbers.
    pub numbers: usize,
    /// Columns that hold categories.
    pub categories: usize,
    /// Inner knots of each column of numbers; 0 for bounds alone.
    pub knots: usize,
    /// Columns of unknown type or of numbers of which one bound is public.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ends: usize,
    /// Columns whose two bounds may be drawn a second time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refined: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl DraftShape {
    /// Columns whose cells are counted by type.
    fn typed(self) -> usize {
        self.unknown + self.numbers
    }

    /// Columns whose texts are counted.
    fn named(self) -> usize {
        self.unknown + self.categories
    }

    /// Ranks that are drawn at most.
    fn ranks(self) -> usize {
        (self.typed() * (2 + self.knots) + 2 * self.refined).saturating_sub(self.ends)
    }
}

/// Every choice made before a cell is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftPlan {
    /// The privacy budget.
    pub budget: Budget,
    /// The public numbers of columns.
    pub shape: DraftShape,
    /// Noise of the counts of types over their sensitivity.
    pub type_multiplier: f64,
    /// The epsilon spent on each rank.
    pub rank_epsilon: f64,
    /// Noise of the counts of texts over their sensitivity.
    pub name_multiplier: f64,
    /// The event charged to the budget.
    pub event: Event,
}

impl DraftPlan {
    /// Splits the budget and finds the least noise that keeps it. Reads no cell.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for a budget without delta or an infinite one, and for no or too many
    /// columns.
    pub fn new(shape: DraftShape, budget: Budget) -> Result<Self, PlanError> {
        let outside = |name, expected: &str, got: f64| {
            Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
        };
        let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
        if epsilon.is_infinite() {
            return outside("epsilon", "finite: a draft without noise is the table's own", epsilon);
        }
        if delta == 0.0 {
            return outside("delta", "> 0: without it no category may be shown", delta);
        }
        if budget.adjacency.protects_units() {
            return Err(PlanError::BadChoice {
                name: "adjacency",
                expected: "one of single rows, which a draft protects".to_owned(),
                got: budget.adjacency.to_string(),
            });
        }
        if shape.knots > MOST_KNOTS {
            return outside("knots", "at most 64", shape.knots as f64);
        }
        if shape.ends > shape.typed() {
            return outside("ends", "at most one for each column of numbers", shape.ends as f64);
        }
        if shape.refined + shape.ends > shape.typed() {
            let expected = "at most the columns of numbers without a public bound";
            return outside("refined", expected, shape.refined as f64);
        }
        let columns = shape.unknown + shape.numbers + shape.categories;
        if !(1..=100_000).contains(&columns) {
            let expected = "from 1 to 100000 columns whose bounds or categories are not known";
            return outside("columns", expected, columns as f64);
        }
        let first = 1.0 / gaussian::noise_multiplier_upper(epsilon, delta)?;
        let keeps = |plan: &Self| Ok::<_, PlanError>(epsilon_upper(&plan.event, delta)? <= epsilon);
        let (mut low, mut high) = (0.5 * first, 1.5 * first);
        let mut kept = Self::at(shape, budget, low)?;
        while !keeps(&kept)? {
            (low, high) = (0.5 * low, low);
            if low < 1e-3 * first {
                return outside("epsilon", "large enough for so many columns", epsilon);
            }
            kept = Self::at(shape, budget, low)?;
        }
        // The proof for categories: whole counts lie on the grid. Later plans have less noise.
        if shape.named() > 0 && kept.name_law()?.grid() > 1.0 {
            return outside(
                "epsilon",
                "large enough for noise that is smaller than any table",
                epsilon,
            );
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let more = Self::at(shape, budget, middle)?;
            if keeps(&more)? {
                (low, kept) = (middle, more);
            } else {
                high = middle;
            }
        }
        Ok(kept)
    }

    /// The same plan, recomputed from what was asked. One that differs from it was altered.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn again(&self) -> Result<Self, PlanError> {
        Self::new(self.shape, self.budget)
    }

    /// The plan whose mechanisms together cost about what a Gaussian of this mean shift does.
    fn at(shape: DraftShape, budget: Budget, shift: f64) -> Result<Self, PlanError> {
        let asked = [shape.typed() > 0, shape.ranks() > 0, shape.named() > 0];
        let sum: f64 = SHARES.iter().zip(asked).filter(|(_, asked)| *asked).map(|(s, _)| s).sum();
        let part = |i: usize| shift * (SHARES[i] / sum).sqrt();
        let mut plan = Self {
            budget,
            shape,
            type_multiplier: 1.0 / part(0),
            // A bounded range of e costs about what a Gaussian of mean shift e/2 does.
            rank_epsilon: 2.0 * part(1) / (shape.ranks().max(1) as f64).sqrt(),
            name_multiplier: 1.0 / part(2),
            event: Event::None,
        };
        plan.event = plan.composed()?;
        Ok(plan)
    }

    /// The composed event of all mechanisms.
    fn composed(&self) -> Result<Event, PlanError> {
        let adjacency = self.budget.adjacency;
        let mut events = Vec::new();
        if self.shape.typed() > 0 {
            events.push(Event::Approximated {
                inner: Box::new(Event::Gaussian {
                    noise_multiplier: self.type_multiplier,
                    adjacency,
                }),
                total_variation: self.type_law()?.total_variation(),
            });
            events.push(Event::Repeated {
                event: Box::new(Event::BoundedRange { epsilon: self.rank_epsilon, adjacency }),
                times: self.shape.ranks() as u64,
            });
        }
        if self.shape.named() > 0 {
            let columns = self.shape.named() as f64;
            events.push(Event::Approximated {
                inner: Box::new(Event::Gaussian {
                    noise_multiplier: self.name_multiplier,
                    adjacency,
                }),
                // Three coordinates of each column; the factor outweighs the rounding of the sum.
                total_variation: (self.alone()
                    + 3.0 * columns * self.name_law()?.total_variation())
                    * (1.0 + 1e-12),
            });
        }
        Ok(Event::Composed(events))
    }

    /// `τ`: the chance that a text of one row is shown.
    fn alone(&self) -> f64 {
        NAMES_DELTA * self.budget.delta.get() / (1.0 + self.budget.epsilon.get().exp())
    }

    /// By how much the counts of `columns` columns move in the l2 norm, rounded up.
    fn sensitivity(&self, columns: usize) -> f64 {
        (moved(self.budget.adjacency) * columns as f64).sqrt() * (1.0 + 1e-15)
    }

    fn type_law(&self) -> Result<GaussianLattice, NoiseError> {
        let columns = self.shape.typed();
        GaussianLattice::new(self.sensitivity(columns), self.type_multiplier, 3 * columns)
    }

    fn name_law(&self) -> Result<GaussianLattice, NoiseError> {
        GaussianLattice::new(self.sensitivity(self.shape.named()), self.name_multiplier, 1)
    }

    /// Standard deviation of the noise on a count of types, in rows; 0 if none is asked.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn type_deviation(&self) -> Result<f64, NoiseError> {
        if self.shape.typed() == 0 { Ok(0.0) } else { Ok(self.type_law()?.sigma()) }
    }

    /// How many rows a category needs, about, to be shown; 0 if none is asked.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn threshold(&self) -> Result<f64, NoiseError> {
        if self.shape.named() == 0 {
            return Ok(0.0);
        }
        let columns = self.shape.named() as f64;
        let deviations = (2.0 * (columns / (2.0 * self.alone())).ln()).sqrt() * (1.0 + 1e-12);
        Ok(self.name_law()?.sigma() * deviations)
    }

    /// By how many ranks each drawn cell is off at most, but for one draft in a hundred.
    pub fn off(&self) -> f64 {
        self.off_among(grid().len())
    }

    /// The same of ranks that are drawn from so many cells.
    pub fn off_among(&self, cells: usize) -> f64 {
        let failure = FAILURE / self.shape.ranks().max(1) as f64;
        target_rank(self.rank_epsilon, cells as f64, failure)
    }

    /// Noisy counts of types: for each column whole numbers, other numbers, texts. Anyone who calls
    /// this, once, has paid for the event.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn types(
        &self,
        counts: Sensitive<Vec<f64>>,
        source: &Source,
    ) -> Result<Vec<f64>, NoiseError> {
        let length = 3 * self.shape.typed();
        if length == 0 {
            return Ok(Vec::new()); // nothing is asked, and nothing is read
        }
        let counts = counts.map_inside(|mut counts| {
            counts.resize(length, 0.0);
            counts
        });
        let law = self.type_law()?;
        let noise = Noise::Gaussian {
            noise_multiplier: self.type_multiplier,
            sigma: law.sigma(),
            grid: law.grid(),
        };
        let sensitivity = self.sensitivity(self.shape.typed());
        perturb::release(counts, noise, sensitivity, self.budget.epsilon.get(), source)
    }

    /// The cell of a grid that is drawn for the `rank`-th smallest number, from how many lie below
    /// each point of the grid. The caller, at most so often as planned, has paid for
    /// it.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn cell(
        &self,
        below: &Sensitive<Vec<f64>>,
        rank: f64,
        source: &Source,
    ) -> Result<usize, NoiseError> {
        choose(below.clone().map_inside(|below| scores(&below, rank)), self.rank_epsilon, source)
    }

    /// The odds of each cell, for tests of the law.
    pub fn odds(&self, below: &[f64], rank: f64) -> Vec<f64> {
        probabilities(below, rank, self.rank_epsilon)
    }

    /// The texts of a column that many rows hold, in order. The caller, once
    /// for each column, has paid for the event. Counts must be whole numbers.
    ///
    /// # Errors
    ///
    /// [`NoiseError`], for settings that the plan has checked.
    pub fn names(
        &self,
        mut counts: Sensitive<Vec<(String, f64)>>,
        source: &Source,
    ) -> Result<Vec<String>, NoiseError> {
        let (law, threshold) = (self.name_law()?, self.threshold()?);
        let stream = source.stream(Purpose::Noise);
        let mut shown = counts.release(Names { law, threshold, stream });
        shown.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
        shown.truncate(MOST_NAMES);
        let mut names: Vec<String> = shown.into_iter().map(|(name, _)| name).collect();
        names.sort();
        Ok(names)
    }
}

/// The largest squared move of a column's counts.
fn moved(adjacency: Adjacency) -> f64 {
    match adjacency.relation() {
        Relation::Replace => 2.0,
        Relation::AddRemove | Relation::ZeroOut => 1.0,
    }
}

/// Noise on the count of every text, and those that exceed the threshold.
struct Names {
    law: GaussianLattice,
    threshold: f64,
    stream: Stream,
}

impl Mechanism<Vec<(String, f64)>> for Names {
    type Output = Vec<(String, f64)>;

    fn release(mut self, counts: &mut Vec<(String, f64)>) -> Self::Output {
        let mut noisy = |count: f64| self.law.release(&[count], &mut self.stream)[0];
        let noisy = counts.drain(..).map(|(name, count)| (name, noisy(count)));
        noisy.filter(|(_, count)| *count > self.threshold).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_privacy::{Delta, Epsilon};

    fn budget(epsilon: f64) -> Budget {
        Budget {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        }
    }

    fn shape(unknown: usize, numbers: usize, categories: usize) -> DraftShape {
        DraftShape { unknown, numbers, categories, knots: 0, ends: 0, refined: 0 }
    }

    #[test]
    fn the_grid_rises_is_symmetric_and_readable() {
        let grid = grid();
        assert!(grid.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(grid.iter().zip(grid.iter().rev()).all(|(a, b)| *a == -b));
        assert_eq!((grid.len(), grid[0], grid[146], grid[147]), (291, -1e12, 1e-6, 1.334e-6));
    }

    #[test]
    fn a_plan_keeps_its_budget_uses_it_and_is_recomputed() {
        for shape in [shape(14, 0, 0), shape(0, 6, 9), shape(0, 0, 1), shape(0, 1, 0)] {
            let plan = DraftPlan::new(shape, budget(0.5)).unwrap();
            let spent = epsilon_upper(&plan.event, 1e-6).unwrap();
            assert!((0.48..=0.5).contains(&spent), "{spent} of {shape:?}");
            assert_eq!(plan.again().unwrap(), plan);
        }
        let none = DraftPlan::new(shape(0, 0, 0), budget(0.5));
        assert!(none.is_err());
        // A public end is a rank less, and there is at most one of a column.
        let with = |ends| DraftPlan::new(DraftShape { ends, ..shape(0, 6, 0) }, budget(0.5));
        assert_eq!(with(6).unwrap().shape.ranks(), 6);
        assert!(with(6).unwrap().off() < with(0).unwrap().off());
        assert!(with(7).is_err());
    }

    /// The law of a drawn cell, and that of the worst neighbour on the edge of a rank: chi-square
    /// against the exact odds over cells of at least 5 expected draws, false alarm below 1e-6.
    #[test]
    fn a_drawn_cell_has_its_exact_law_on_both_sides_of_an_edge() {
        let mut plan = DraftPlan::new(shape(0, 1, 0), budget(1.0)).unwrap();
        plan.rank_epsilon = 0.5;
        let runs = 20_000;
        let statistic = |drawn_with: f64, tested: f64, ahead: f64| {
            let grid = grid();
            // 20 numbers in one cell and 20 in a later one: the 20th is the last of the first.
            let below: Vec<f64> = (0..grid.len())
                .map(|j| {
                    if j > 200 {
                        40.0
                    } else if j > 180 {
                        20.0 - ahead
                    } else {
                        0.0
                    }
                })
                .collect();
            let source = Source::seeded_not_private(7);
            let drawing = DraftPlan { rank_epsilon: drawn_with, ..plan.clone() };
            let mut counts = vec![0.0; grid.len()];
            let sensitive = Sensitive::new(below.clone());
            for _ in 0..runs {
                counts[drawing.cell(&sensitive, 20.0, &source).unwrap()] += 1.0;
            }
            let odds = DraftPlan { rank_epsilon: tested, ..plan.clone() }.odds(&below, 20.0);
            let cells = odds.iter().map(|p| p * f64::from(runs)).zip(counts);
            let big: Vec<_> = cells.filter(|(wanted, _)| *wanted >= 5.0).collect();
            let sum: f64 = big.iter().map(|(w, c)| (c - w).powi(2) / w).sum();
            // Wilson and Hilferty's normal score of a chi-square.
            let k = (big.len() - 1) as f64;
            ((sum / k).cbrt() - (1.0 - 2.0 / (9.0 * k))) / (2.0 / (9.0 * k)).sqrt()
        };
        for ahead in [0.0, 1.0] {
            assert!(statistic(0.5, 0.5, ahead) < 4.8);
        }
        assert!(statistic(0.6, 0.5, 0.0) > 4.8, "another epsilon must show");
        // One row more or less on the edge: the odds of a cell change within a range of epsilon.
        let at = |edge: f64| {
            let below: Vec<f64> = (0..291).map(|j| if j > 180 { edge } else { 0.0 }).collect();
            plan.odds(&below, 20.0)
        };
        let ratios: Vec<f64> = at(20.0).iter().zip(at(19.0)).map(|(p, q)| (p / q).ln()).collect();
        let most = ratios.iter().copied().fold(f64::MIN, f64::max);
        let least = ratios.iter().copied().fold(f64::MAX, f64::min);
        assert!(most - least <= 0.5 + 1e-12 && most - least > 0.2, "{most} {least}");
    }

    /// A text of one row is almost never shown, and with half the noise, or the threshold of half
    /// of it, it is. The noise of a count is Gaussian of the stated deviation.
    #[test]
    fn a_rare_text_stays_hidden_and_half_the_noise_is_caught() {
        let plan = DraftPlan::new(shape(0, 0, 5), budget(1.0)).unwrap();
        let (threshold, sigma) = (plan.threshold().unwrap(), plan.name_law().unwrap().sigma());
        let source = Source::seeded_not_private(8);
        let shown = |count: f64, law: GaussianLattice, threshold: f64, runs: usize| {
            let counts = vec![("a".to_owned(), count); runs];
            let stream = source.stream(Purpose::Noise);
            Sensitive::new(counts).release(Names { law, threshold, stream }).len()
        };
        // At the threshold one half; 20,000 draws, 5 standard deviations: false alarm 6e-7 each.
        let runs = 20_000;
        let half = shown(50.0, plan.name_law().unwrap(), 50.0, runs) as f64;
        assert!((half - 10_000.0).abs() < 360.0, "{half}");
        // One deviation below: 15.87 %. A law of half the noise has 2.3 % there.
        let tail = shown(0.0, plan.name_law().unwrap(), sigma, runs) as f64;
        assert!((tail - 3173.0).abs() < 260.0, "{tail}");
        let halved =
            GaussianLattice::new(plan.sensitivity(5), 0.5 * plan.name_multiplier, 1).unwrap();
        let broken = shown(0.0, halved, sigma, runs) as f64;
        assert!((broken - 3173.0).abs() > 260.0, "half the noise must show: {broken}");
        assert_eq!(shown(1.0, plan.name_law().unwrap(), threshold, runs), 0);
        // The chance of a lone text, summed over columns, is within the plan's tau.
        let z = threshold / sigma;
        assert!(5.0 * 0.5 * (-0.5 * z * z).exp() <= plan.alone() * (1.0 + 1e-9));
    }

    /// The largest move of the counts of types, over all pairs of rows of a table of two columns.
    #[test]
    fn counts_of_types_move_by_their_sensitivity_at_most() {
        let kinds: [[f64; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let rows: Vec<Vec<f64>> =
            kinds.iter().flat_map(|a| kinds.iter().map(move |b| [*a, *b].concat())).collect();
        let distance = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
        };
        let most = |others: &[Vec<f64>]| {
            let pairs = rows.iter().flat_map(|a| others.iter().map(move |b| distance(a, b)));
            pairs.fold(0.0, f64::max)
        };
        for (adjacency, found) in
            [(Adjacency::ReplaceOne, most(&rows)), (Adjacency::AddRemoveOne, most(&[vec![0.0; 6]]))]
        {
            let bound = (moved(adjacency) * 2.0).sqrt();
            assert!((bound - found).abs() < 1e-12, "{adjacency:?}: {bound} {found}");
        }
    }
}
