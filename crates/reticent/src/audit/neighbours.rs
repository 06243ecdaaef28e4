//! Pairs of neighbouring tables on which a run is easiest to tell apart.
//!
//! The changed row, the canary, lies at the declared bounds, and the other rows say as little as
//! possible or as much as possible in its direction. Every row of every table keeps the bounds, so
//! the plan's promise covers each pair.
//!
//! | varied | values |
//! | --- | --- |
//! | direction | along one feature, spread over all, with signs that look random |
//! | size | the largest that norm and entries allow; where nothing bounds rows, several powers of ten |
//! | label | both ends of the declared range, the first class against the second and the last |
//! | place | the first row, the middle, the last two: some algorithms read rows in order |
//! | others | rows of zeros, rows that agree, rows that contradict (the canary first); under add/remove none at all |
//! | neighbour | the opposite label, the mirror image (several outputs), a row of zeros, the same row with weight 0 (where rows have weights), no row |
//!
//! Where rows have weights, all others weigh as much as a row may.
//!
//! Where a record is a unit of up to `m` rows, the canary is a unit of 1, 4, `m` or `4m` equal
//! rows, of which at most `m` may count, and so is its replacement; each of the others has one row.
//! Its rows may also lie along one feature after another: they then bend the loss in as many
//! directions.
//!
//! For a kernel model rows are inputs: the canary lies at the origin, and a silent row so far away
//! that the kernel sees no resemblance.

use reticent_data::feature_map::FeatureMap;
use reticent_data::{Dense, Features, Rows};
use reticent_privacy::{Adjacency, Relation};
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Loss, Problem};

use super::Audited;
use crate::Error;

/// Two neighbouring tables.
pub(super) struct Pair {
    /// In words.
    pub(super) name: String,
    /// The table without the canary, or with its opposite.
    pub(super) without: Rows,
    /// The table with the canary.
    pub(super) with: Rows,
}

/// A row: how much of the direction, the label, and the weight.
#[derive(Clone, Copy)]
struct AuditRow {
    size: f64,
    label: f64,
    /// What it counts, where rows have weights.
    weight: f64,
}

/// Where the canary lies and who else is there.
struct Scene<'a> {
    audited: &'a dyn Audited,
    problem: &'a Problem,
    map: Option<&'a MapLaw>,
    /// Of the canary's rows, in turn; of the others the first.
    directions: &'a [Vec<f64>],
    crowd: AuditRow,
    others: usize,
    place: usize,
}

/// The pairs for a problem. Under add/remove the first table has one row less.
pub(super) fn pairs(
    audited: &dyn Audited,
    problem: &Problem,
    adjacency: Adjacency,
    map: Option<&MapLaw>,
) -> Result<Vec<Pair>, Error> {
    let mut list = Vec::new();
    let directions = match map {
        Some(_) => vec![(vec![vec![1.0]], "at the origin".to_owned())],
        None => directions(problem),
    };
    for (directions, where_) in &directions {
        for (yes, no) in label_pairs(problem) {
            let canary = AuditRow { size: 1.0, label: yes, weight: 1.0 };
            for (crowd, others, company) in crowds(problem, adjacency, canary, no) {
                for place in places(crowd, others) {
                    let scene = Scene { audited, problem, map, directions, crowd, others, place };
                    for rows in sizes(problem) {
                        if rows < directions.len().min(2) {
                            continue; // one row lies along one feature
                        }
                        let with = scene.table(Some(canary), rows)?;
                        for (other, word) in alternatives(problem, adjacency, map, canary, no) {
                            let name = match problem.unit {
                                None => format!("row {}", place + 1),
                                Some(_) => format!("unit {} of {rows} rows", place + 1),
                            };
                            list.push(Pair {
                                name: format!("a canary {where_}, {name} {company}, {word}"),
                                without: scene.table(other, rows)?,
                                with: with.clone(),
                            });
                        }
                    }
                }
            }
        }
    }
    Ok(list)
}

/// How many rows the canary has.
fn sizes(problem: &Problem) -> Vec<usize> {
    let Some(unit) = &problem.unit else { return vec![1] };
    let mut list = vec![1, 4.min(unit.max_rows), unit.max_rows, unit.max_rows.saturating_mul(4)];
    list.dedup();
    list
}

/// Where the canary stands: among silent rows also where some algorithms read last, or not at all.
fn places(crowd: AuditRow, others: usize) -> Vec<usize> {
    if crowd.size != 0.0 {
        return vec![0];
    }
    let mut list = vec![0, others.div_ceil(2), others.saturating_sub(1), others];
    list.dedup();
    list
}

/// The possible replacements of the canary, each with its description.
fn alternatives(
    problem: &Problem,
    adjacency: Adjacency,
    map: Option<&MapLaw>,
    canary: AuditRow,
    no: f64,
) -> Vec<(Option<AuditRow>, &'static str)> {
    let silent = Some(AuditRow { size: 0.0, ..canary });
    match (adjacency.relation(), map) {
        (Relation::AddRemove, _) => vec![(None, "or absent")],
        (Relation::Replace, Some(_)) => {
            vec![
                (Some(AuditRow { label: no, ..canary }), "or its opposite"),
                (silent, "or a silent row"),
            ]
        }
        (Relation::Replace, None) => {
            let mut list = vec![
                (Some(AuditRow { label: no, ..canary }), "or its opposite"),
                (silent, "or a row of zeros"),
            ];
            if problem.weighted {
                list.push((Some(AuditRow { weight: 0.0, ..canary }), "or itself without weight"));
            }
            if problem.loss.outputs() > 1 || problem.hidden.is_some() {
                list.push((Some(AuditRow { size: -1.0, ..canary }), "or its mirror image"));
            }
            list
        }
        // Through a map, or before a hidden layer with constants behind it, no row is one that adds
        // nothing.
        (_, Some(_)) => Vec::new(),
        (_, None) if problem.hidden.is_some() => Vec::new(),
        (_, None) if problem.loss.is_classification() => vec![(silent, "or a row of zeros")],
        (_, None) => {
            vec![(Some(AuditRow { size: 0.0, label: 0.0, weight: 1.0 }), "or a row of zeros")]
        }
    }
}

/// The other rows: their common row, their number and the description.
fn crowds(
    problem: &Problem,
    adjacency: Adjacency,
    canary: AuditRow,
    no: f64,
) -> Vec<(AuditRow, usize, &'static str)> {
    let silent = AuditRow { size: 0.0, ..canary };
    let others = problem.rows - 1;
    let mut list = Vec::new();
    if others == 0 || !adjacency.records_are_public() {
        // The number of rows is private: one row is a neighbour of none.
        list.push((silent, 0, "alone"));
    }
    if others > 0 {
        list.push((silent, others, "among silent rows"));
        list.push((canary, others, "among rows that agree with it"));
        list.push((AuditRow { label: no, ..canary }, others, "among rows that contradict it"));
    }
    list
}

/// The label of a canary and the one farthest from it.
fn label_pairs(problem: &Problem) -> Vec<(f64, f64)> {
    match problem.loss {
        Loss::Softmax { classes: classes @ 3.. } | Loss::OneHot { classes: classes @ 3.. } => {
            vec![(0.0, 1.0), (classes as f64 - 1.0, 0.0)]
        }
        Loss::Softmax { .. } => vec![(0.0, 1.0)],
        _ => {
            let bound = problem.bounds.label();
            let most = if bound.is_finite() { bound } else { 1e6 };
            vec![(most, -most)]
        }
    }
}

/// The features of the canary's rows, in turn, as large as the bounds allow, and in words.
fn directions(problem: &Problem) -> Vec<(Vec<Vec<f64>>, String)> {
    let d = problem.features;
    let along = |j: usize| (0..d).map(|i| f64::from(u8::from(i == j))).collect::<Vec<_>>();
    let mut list = vec![(vec![along(0)], "along one feature")];
    if d > 1 {
        list.push((vec![vec![1.0; d]], "spread over all features"));
        list.push((vec![(0..d).map(sign).collect()], "with signs that look random"));
        if problem.rows_of_a_record() > 1 {
            list.push(((0..d).map(along).collect(), "with each row along another feature"));
        }
    }
    let (norm, entry) = (problem.bounds.norm(), problem.bounds.entry());
    // A hair short, so that rounding keeps the bounds.
    let lengths = |direction: &[f64]| -> Vec<f64> {
        let own = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm.is_finite() {
            let longest = (norm / own).min(entry);
            return vec![if d == 1 || own == 1.0 { longest } else { longest * (1.0 - 1e-12) }];
        }
        [0.1, 1.0, 10.0, 1e3, 1e9].map(|size| 0.999 * size / own).to_vec()
    };
    let sized = |(directions, word): (Vec<Vec<f64>>, &'static str)| {
        // All of them are equally long.
        let lengths = lengths(&directions[0]);
        lengths.into_iter().map(move |length| {
            let far = if norm.is_finite() { String::new() } else { format!(" of size {length:e}") };
            let long = |direction: &Vec<f64>| direction.iter().map(|x| length * x).collect();
            (directions.iter().map(long).collect(), format!("{word}{far}"))
        })
    };
    list.into_iter().flat_map(sized).collect()
}

/// A fixed sequence of signs without a pattern: a bit of a multiplicative hash.
pub(super) fn sign(i: usize) -> f64 {
    let hash = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 0 { 1.0 } else { -1.0 }
}

impl Scene<'_> {
    /// The table, with a canary of so many rows in its place.
    fn table(&self, canary: Option<AuditRow>, size: usize) -> Result<Rows, Error> {
        let mut rows = vec![self.crowd; self.others];
        let mut keys: Vec<usize> = (0..self.others).collect();
        let mut turns = vec![0; self.others];
        for turn in 0..canary.map_or(0, |_| size) {
            rows.splice(self.place..self.place, canary);
            keys.insert(self.place, self.others);
            turns.insert(self.place, turn % self.directions.len());
        }
        let labels = rows.iter().map(|row| row.label).collect();
        let bounds = self.problem.bounds;
        let weigh = |table: Rows| {
            let weights = rows.iter().map(|row| row.weight);
            if self.problem.weighted { table.weighted(weights) } else { table }
        };
        let Some(law) = self.map else {
            let rows_and_turns = rows.iter().zip(&turns);
            let values = rows_and_turns
                .flat_map(|(row, turn)| self.directions[*turn].iter().map(|x| row.size * x));
            let features = Dense::new(rows.len(), self.problem.features, values.collect());
            return self.group(weigh(Rows::new(Features::F64(features), labels, bounds)), &keys);
        };
        // One input: zero for the canary's place, and twenty bandwidths away for a silent row.
        let inputs = rows.iter().map(|row| 20.0 * law.bandwidth * (1.0 - row.size)).collect();
        let inputs = Features::F64(Dense::new(rows.len(), 1, inputs));
        let rows = self.group(weigh(Rows::new(inputs, labels, bounds)), &keys)?;
        Ok(rows.mapped(FeatureMap::new(*law, 1)?)?)
    }

    fn group(&self, rows: Rows, keys: &[usize]) -> Result<Rows, Error> {
        self.problem
            .unit
            .as_ref()
            .map_or(Ok(rows.clone()), |unit| self.audited.group(rows, keys, unit))
    }
}
