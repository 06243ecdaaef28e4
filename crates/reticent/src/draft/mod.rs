//! Bounds, types and categories that nobody knows: released from the table, certified, paid for.
//!
//! [`Draft::plan`] decides what is asked and how much noise each answer gets without reading a
//! cell; [`Draft::read`] counts, and its result is sealed; [`Draft::release`] opens it through the
//! mechanisms of [`reticent_optim::draft`], where the proofs are. The result is a schema with
//! blanks where nothing was found, and a [`DraftCertificate`] inside it.
//!
//! Everything after the noise is post-processing: which rank is asked, widening a bound by a cell
//! of the grid, choosing the columns whose bounds are drawn again (`fine`), taking 0 for a bound
//! that is small beside the other, leaving out a column without a category or with too few numbers.

mod certificate;
mod counts;
mod fine;

use reticent_data::Sensitive;
use reticent_noise::Source;
use reticent_optim::draft::{DraftPlan, DraftShape, grid};
use reticent_privacy::{Budget, Epsilon};
use reticent_problem::declaration::{BoundsBasis, Skeleton, SkeletonColumn, SkeletonType};
use reticent_table::table::{TableFile, visit_cells};

use self::fine::{FineCounts, FineGrid};
use crate::Error;
use crate::ledger::{Ledger, Payment};

pub(crate) use certificate::check_draft;
pub use certificate::{DraftCertificate, Spent, Together, check_risk};
pub use counts::DraftCounts;

/// The rank of a bound from its end, as a share of the column's numbers.
const TAIL: f64 = 0.005;

/// A bound whose size is below this part of the other's is 0.
const SMALL: f64 = 1e-3;

/// The category of values that were not found.
const OTHER: &str = "other";

/// How 0 and 1 are written where they are truth values.
const TRUTH: [(&str, &str); 2] = [("0", "false"), ("1", "true")];

/// With fewer numbers than so many times the error of a rank, a column has no bounds.
const ENOUGH: f64 = 2.0;

/// Bounds of whole numbers up to this size stay in the cell that was drawn.
const NEAR: f64 = 100.0;

/// A draft is precise if its error is at most this share of the rows.
const PRECISE: f64 = 0.02;

/// One column in so many may have its bounds drawn again.
const REFINED: usize = 8;

/// Noise of so many standard deviations is taken for nothing.
const DEVIATIONS: f64 = 3.0;

/// The unknown part of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Whether it holds numbers or categories, and then which.
    Everything,
    Bounds,
    Categories,
}

/// The unknown parts of a schema, and the noise with which they are released.
#[derive(Clone, Debug)]
pub struct Draft {
    skeleton: Skeleton,
    /// Places of the columns that are asked, and the unknown part of each.
    asked: Vec<(usize, Asked)>,
    rows: usize,
    plan: DraftPlan,
}

impl Draft {
    /// Plans to fill the blanks of a skeleton from a table of `rows` rows, a public or declared
    /// number, with `knots` inner knots for each column of numbers. Reads no cell.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] for a budget that no noise keeps, or if nothing is blank.
    pub fn plan(
        skeleton: Skeleton,
        knots: usize,
        rows: usize,
        budget: Budget,
    ) -> Result<Self, Error> {
        let asked: Vec<_> = skeleton
            .columns
            .iter()
            .enumerate()
            .filter_map(|(i, column)| Some((i, asked_of(column)?)))
            .collect();
        let count = |kind: Asked| asked.iter().filter(|(_, asked)| *asked == kind).count();
        let half = |column: &SkeletonColumn| column.ends.iter().flatten().count() == 1;
        let ends = asked
            .iter()
            .filter(|(i, asked)| *asked != Asked::Categories && half(&skeleton.columns[*i]))
            .count();
        let open = count(Asked::Everything) + count(Asked::Bounds) - ends;
        let shape = DraftShape {
            ends,
            refined: open.div_ceil(REFINED),
            unknown: count(Asked::Everything),
            numbers: count(Asked::Bounds),
            categories: count(Asked::Categories),
            knots,
        };
        let plan = DraftPlan::new(shape, budget)?;
        Ok(Self { skeleton, asked, rows, plan })
    }

    /// The plan: the event to be charged and the noise.
    pub fn noise(&self) -> &DraftPlan {
        &self.plan
    }

    /// By how large a share of the rows a bound's rank may be off, but for one in a hundred; 1 if
    /// bounds are as good as random.
    pub fn rank_share(&self) -> f64 {
        (self.plan.off() / self.rows.max(1) as f64).min(1.0)
    }

    /// The share of the rows that a category needs to be found.
    ///
    /// # Errors
    ///
    /// [`Error::Noise`], for settings that the plan has checked.
    pub fn category_share(&self) -> Result<f64, Error> {
        Ok((self.plan.threshold()? / self.rows.max(1) as f64).min(1.0))
    }

    /// The least epsilon, to two digits, at which a bound's rank is off by at most 2 % of the rows,
    /// or, if no bound is asked, a category is found that so many rows hold. None if 10 is too
    /// little.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`], [`Error::Noise`].
    pub fn advised_epsilon(&self) -> Result<Option<f64>, Error> {
        let DraftPlan { budget, shape, .. } = self.plan;
        let precise = |epsilon: f64| -> Result<bool, Error> {
            let budget = Budget { epsilon: Epsilon::new(epsilon)?, ..budget };
            // Some are refused because they are too small.
            let Ok(plan) = DraftPlan::new(shape, budget) else { return Ok(false) };
            let draft = Self { plan, asked: Vec::new(), skeleton: Skeleton::default(), ..*self };
            let bounds = shape.unknown + shape.numbers > 0;
            let error = if bounds { draft.rank_share() } else { draft.category_share()? };
            Ok(error <= PRECISE)
        };
        // 0.010, 0.011, ..., 0.099, 0.10, 0.11, ..., 9.9, 10.
        let candidate = |i: u32| f64::from(10 + i % 90) / 10f64.powi(3 - (i / 90) as i32);
        let (mut low, mut high) = (0, 270);
        if !precise(candidate(high))? {
            return Ok(None);
        }
        while low < high {
            let middle = u32::midpoint(low, high);
            if precise(candidate(middle))? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(Some(candidate(low)))
    }

    /// Counts the cells of the columns that are asked. The counts are sealed.
    ///
    /// # Errors
    ///
    /// About the structure of the file.
    pub fn read(&self, file: &TableFile) -> Result<DraftCounts, Error> {
        let mut counting = self.counting();
        let comma = file.decimal_comma();
        visit_cells(file.clone(), &self.names(), &mut |cells| counting.row(cells, comma))?;
        Ok(counting.sealed())
    }

    /// The columns that are asked.
    pub fn names(&self) -> Vec<String> {
        self.asked.iter().map(|(i, _)| self.skeleton.columns[*i].name.clone()).collect()
    }

    /// [`Self::read`] of rows in memory: the cells of [`Self::names`], in that order.
    pub fn count<'a>(&self, rows: impl Iterator<Item = Vec<&'a str>>) -> DraftCounts {
        let mut counting = self.counting();
        for row in rows {
            let cells: Vec<&[u8]> = row.iter().map(|cell| cell.as_bytes()).collect();
            counting.row(&cells, false);
        }
        counting.sealed()
    }

    /// The counts of a table without a row.
    pub fn no_rows(&self) -> DraftCounts {
        self.counting().sealed()
    }

    fn counting(&self) -> counts::Counting {
        let asks = |asked: Asked| (asked != Asked::Categories, asked != Asked::Bounds);
        counts::Counting::new(self.asked.iter().map(|(_, a)| asks(*a)))
    }

    /// Charges a ledger, if there is one, and [releases](Self::release).
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] and [`Error::Ledger`] before noise is drawn; [`Error::Noise`].
    pub fn pay_and_release(
        self,
        counts: DraftCounts,
        source: &Source,
        ledger: Option<&Ledger>,
    ) -> Result<(Skeleton, DraftCertificate, Vec<String>), Error> {
        let DraftPlan { event, budget, .. } = &self.plan;
        let payment = match ledger {
            Some(ledger) => Some(Payment {
                charge: ledger.charge_event("schema draft", event, budget.delta.get())?,
                ledger: ledger.name()?,
            }),
            None => None,
        };
        self.release(counts, source, payment)
    }

    /// Draws the noise and fills the skeleton in. The caller has paid for the plan's event.
    /// Second, a sentence for each column of which something was not found.
    ///
    /// # Errors
    ///
    /// [`Error::Noise`].
    pub fn release(
        mut self,
        counts: DraftCounts,
        source: &Source,
        payment: Option<Payment>,
    ) -> Result<(Skeleton, DraftCertificate, Vec<String>), Error> {
        let DraftCounts { types, columns } = counts;
        let typed = self.plan.types(types, source)?;
        let mut typed = typed.chunks_exact(3);
        let deviation = self.plan.type_deviation()?;
        let mut remarks = Vec::new();
        let mut narrow = Vec::new();
        for ((place, asked), counts) in self.asked.clone().into_iter().zip(columns) {
            let kinds = match asked {
                Asked::Categories => None,
                Asked::Everything | Asked::Bounds => typed.next(),
            };
            let numbers = kinds.filter(|kinds| {
                asked == Asked::Bounds || kinds[0].max(0.0) + kinds[1].max(0.0) > kinds[2]
            });
            let target = self.skeleton.target.clone();
            let column = &mut self.skeleton.columns[place];
            let is_target = target.as_ref() == Some(&column.name);
            if let Some(kinds) = numbers {
                let whole = kinds[1] < DEVIATIONS * deviation && kinds[0] > kinds[1];
                let kind = if whole { SkeletonType::Integer } else { SkeletonType::Real };
                column.kind.get_or_insert(kind);
                let count = kinds[0].max(0.0) + kinds[1].max(0.0);
                let open = column.ends == [None, None];
                if !fill_bounds(column, &self.plan, &counts, (count, whole), source)? {
                    remarks.push(format!(
                        "`{}` holds too few numbers to draw its bounds from: fill them in, or leave it out with role `ignore`",
                        column.name
                    ));
                    column.role = Some("ignore".to_owned());
                } else if let ([Some(low), Some(high)], true) = (column.ends, open)
                    && let Some(ratio) = fine::ratio(low, high)
                {
                    narrow.push((ratio, place, counts.fine, count, whole));
                }
                continue;
            }
            let mut names = self.plan.names(counts.names, source)?;
            if asked == Asked::Everything {
                spell_truth(&mut names);
            }
            column.kind = Some(SkeletonType::Categorical);
            if names.len() >= if is_target { 2 } else { 1 } {
                column.categories = Some(names);
                column.categories_basis = Some(BoundsBasis::Released);
                if !is_target {
                    catch_rest(column);
                }
                continue;
            }
            remarks.push(format!(
                "of `{}` too few categories were found: fill them in, or give it role `ignore`",
                column.name
            ));
            column.role = Some("ignore".to_owned());
        }
        narrow.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, place, fine, count, whole) in narrow.into_iter().take(self.plan.shape.refined) {
            let column = &mut self.skeleton.columns[place];
            refine(column, &self.plan, &fine, (count, whole), source)?;
        }
        let columns = self.names();
        let certificate = DraftCertificate::new(
            self.plan,
            self.rows as u64,
            columns,
            source.randomness(),
            payment,
        );
        self.skeleton.draft = serde_json::to_value(&certificate).ok();
        Ok((self.skeleton, certificate, remarks))
    }
}

/// Categories that were not found count as one of their own.
fn catch_rest(column: &mut SkeletonColumn) {
    if let Some(names) = &mut column.categories {
        if !names.iter().any(|name| name == OTHER) {
            names.push(OTHER.to_owned());
        }
        column.other = Some(OTHER.to_owned());
    }
}

/// A column of 0 and 1 alone whose cells are mostly texts, by their noisy counts, holds truth
/// values. Either way of writing names the same cells.
fn spell_truth(names: &mut [String]) {
    if names.iter().all(|name| TRUTH.iter().any(|(number, _)| name == number)) {
        for name in names {
            for (number, word) in TRUTH {
                if name == number {
                    word.clone_into(name);
                }
            }
        }
    }
}

/// The unknown part of a column; none if the column is left out or fully known.
fn asked_of(column: &SkeletonColumn) -> Option<Asked> {
    if column.role.as_deref().is_some_and(|role| !matches!(role, "feature" | "target")) {
        return None;
    }
    let bounded = column.ends.iter().all(Option::is_some);
    match column.kind {
        Some(SkeletonType::Integer | SkeletonType::Real) if !bounded => Some(Asked::Bounds),
        Some(SkeletonType::Categorical) if column.categories.is_none() => Some(Asked::Categories),
        None if !bounded && column.categories.is_none() => Some(Asked::Everything),
        _ => None,
    }
}

/// Draws the bounds that are not public, and the inner knots, of a column of about `count` numbers,
/// which may be whole. False if there are too few to draw from; nothing is filled in then.
fn fill_bounds(
    column: &mut SkeletonColumn,
    plan: &DraftPlan,
    counts: &counts::ColumnCounts,
    (count, whole): (f64, bool),
    source: &Source,
) -> Result<bool, Error> {
    let grid = grid();
    if count <= ENOUGH * plan.off() {
        return Ok(false);
    }
    let rank = (TAIL * count).max(plan.off()).ceil();
    // The lower end of the cell before the one that was drawn, or a whole number: cells of small
    // ones are wide enough.
    let outward = |cell: usize| {
        let (near, far) = (grid[cell], grid[cell.saturating_sub(1)]);
        match whole {
            true if near.abs() <= NEAR => near.floor(),
            true => far.floor(),
            false => far,
        }
    };
    let low = || plan.cell(&counts.below, rank, source).map(outward);
    let high = || plan.cell(&counts.above, rank, source).map(|cell| -outward(cell));
    let ends = match column.ends {
        [Some(low), _] => above(low, high()?).map(|high| (low, high)),
        [None, Some(high)] => above(-high, -low()?).map(|low| (0.0 - low, high)),
        [None, None] => Some(tidy(low()?, high()?)),
    };
    let Some((low, high)) = ends else { return Ok(false) };
    column.ends = [Some(low), Some(high)];
    column.basis = Some(BoundsBasis::Released);
    let mut knots = vec![low];
    for k in 1..=plan.shape.knots {
        let rank = (count * k as f64 / (plan.shape.knots + 1) as f64).ceil().max(1.0);
        let cell = plan.cell(&counts.below, rank, source)?;
        // Zero is a point of the grid, and whole cells beside it are small: their nearer end.
        let knot = if grid[cell] < 0.0 { grid[(cell + 1).min(grid.len() - 1)] } else { grid[cell] };
        knots.push(knot);
    }
    if plan.shape.knots > 0 {
        knots.push(high);
        knots.retain(|knot| (low..=high).contains(knot));
        knots.sort_by(f64::total_cmp);
        knots.dedup();
        column.knots = Some(knots);
        column.knots_basis = Some(BoundsBasis::Released);
    }
    Ok(true)
}

/// Draws both bounds of a column of about `count` numbers again, from cells between the drawn ones.
/// They stay where there are too few numbers for it.
fn refine(
    column: &mut SkeletonColumn,
    plan: &DraftPlan,
    counts: &Sensitive<FineCounts>,
    (count, whole): (f64, bool),
    source: &Source,
) -> Result<(), Error> {
    let [Some(low), Some(high)] = column.ends else { return Ok(()) };
    let grid = FineGrid::between(low, high, whole);
    let off = plan.off_among(grid.len());
    if count <= ENOUGH * off {
        return Ok(());
    }
    let rank = (TAIL * count).max(off).ceil();
    let low = plan.cell(&grid.below(counts), rank, source)?;
    let high = plan.cell(&grid.above(counts), rank, source)?;
    if let Some((low, high)) = grid.bounds(low, high, rank / count) {
        column.ends = [Some(low), Some(high)];
        // Inner knots were drawn from the cells of the public grid.
        (column.knots, column.knots_basis) = (None, None);
    }
    Ok(())
}

/// Bounds as people write them: in order, and 0 for one that is small beside the other.
fn tidy(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = if low < high { (low, high) } else { (high, low) };
    match (small(low, high), small(high, low)) {
        (low, high) if low < high => (low, high),
        // Both are the same point: a column that is constant as far as can be told.
        _ => (low - 1.0, low + 1.0),
    }
}

/// The upper bound above a public lower one: the drawn one, or where noise drew none above it the
/// next point of the grid. None where the grid ends below.
fn above(public: f64, drawn: f64) -> Option<f64> {
    let drawn = small(drawn, public);
    if drawn > public { Some(drawn) } else { grid().into_iter().find(|g| *g > public) }
}

/// 0 for an end that is small beside the other.
fn small(end: f64, other: f64) -> f64 {
    if end.abs() <= SMALL * other.abs() { 0.0 } else { end }
}

/// How many of two bounds a draft must have found public to give them: 0 if it may have drawn both,
/// 1 if it may have drawn one of them. None if it cannot.
pub(super) fn public_ends(low: f64, high: f64) -> Option<usize> {
    let drawn = [low, high].iter().filter(|end| is_end(**end)).count();
    let constant = || grid().iter().any(|g| (low, high) == (g - 1.0, g + 1.0));
    match drawn {
        2 => Some(0),
        _ if constant() => Some(0),
        1 => Some(1),
        _ => None,
    }
}

/// Whether a bound can be drawn: a point of the grid, or the whole number beside one.
fn is_end(bound: f64) -> bool {
    let whole = bound.fract() == 0.0;
    grid().iter().any(|g| *g == bound || whole && (g.floor() == bound || g.ceil() == bound))
}

/// Whether a number is a point of the grid.
pub(super) fn on_grid(number: f64) -> bool {
    grid().contains(&number)
}

#[cfg(test)]
mod audit;
#[cfg(test)]
mod tests;
