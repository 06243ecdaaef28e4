//! Pairs of neighbouring tables on which a run is easiest to tell apart.
//!
//! The changed row, the canary, lies at the declared bounds, and the other rows say as little as possible or as much
//! as possible in its direction. Every row of every table keeps the bounds, so the plan's promise covers each pair.
//!
//! | what varies | how |
//! | --- | --- |
//! | direction | along one feature, spread over all, with signs that look random |
//! | size | the largest that norm and entries allow; where nothing bounds rows, several powers of ten |
//! | label | both ends of what is declared, the first class against the second and the last |
//! | place | the first row, the middle, the last two: some algorithms read rows in order |
//! | others | rows of zeros, rows that agree, rows that contradict (the canary first); under add/remove none at all |
//! | neighbour | the opposite label, the mirror image (several outputs), a row of zeros, no row |
//!
//! For a kernel model rows are inputs: the canary lies at the origin, and a silent row so far away that the kernel sees no
//! resemblance.

use reticent_data::feature_map::FeatureMap;
use reticent_data::{Dense, Features, Rows};
use reticent_privacy::Adjacency;
use reticent_problem::feature_map::MapLaw;
use reticent_problem::{Loss, Problem, ProblemError};

/// Two neighbouring tables.
pub(super) struct Pair {
    /// In words.
    pub(super) name: String,
    /// The table without the canary, or with its opposite.
    pub(super) without: Rows,
    /// The table with the canary.
    pub(super) with: Rows,
}

/// A row: how much of the direction, and the label.
#[derive(Clone, Copy)]
struct Row {
    size: f64,
    label: f64,
}

/// Where the canary lies and who else is there.
struct Scene<'a> {
    problem: &'a Problem,
    map: Option<&'a MapLaw>,
    direction: &'a [f64],
    crowd: Row,
    others: usize,
    place: usize,
}

/// The pairs for a problem. Under add/remove the first table has one row less.
pub(super) fn pairs(
    problem: &Problem,
    adjacency: Adjacency,
    map: Option<&MapLaw>,
) -> Result<Vec<Pair>, ProblemError> {
    let mut list = Vec::new();
    let directions = match map {
        Some(_) => vec![(vec![1.0], "at the origin".to_owned())],
        None => directions(problem),
    };
    for (direction, where_) in &directions {
        for (yes, no) in label_pairs(problem) {
            let canary = Row { size: 1.0, label: yes };
            for (crowd, others, company) in crowds(problem, adjacency, canary, no) {
                for place in places(crowd, others) {
                    let scene = Scene { problem, map, direction, crowd, others, place };
                    let with = scene.table(Some(canary))?;
                    for (other, word) in alternatives(problem, adjacency, map, canary, no) {
                        list.push(Pair {
                            name: format!("a canary {where_}, row {} {company}, {word}", place + 1),
                            without: scene.table(other)?,
                            with: with.clone(),
                        });
                    }
                }
            }
        }
    }
    Ok(list)
}

/// Where the canary stands: among silent rows also where some algorithms read last, or not at all.
fn places(crowd: Row, others: usize) -> Vec<usize> {
    if crowd.size != 0.0 {
        return vec![0];
    }
    let mut list = vec![0, others.div_ceil(2), others.saturating_sub(1), others];
    list.dedup();
    list
}

/// What may take the canary's place, in words.
fn alternatives(
    problem: &Problem,
    adjacency: Adjacency,
    map: Option<&MapLaw>,
    canary: Row,
    no: f64,
) -> Vec<(Option<Row>, &'static str)> {
    let silent = Some(Row { size: 0.0, ..canary });
    match (adjacency, map) {
        (Adjacency::AddRemoveOne, _) => vec![(None, "or absent")],
        (Adjacency::ReplaceOne, Some(_)) => {
            vec![
                (Some(Row { label: no, ..canary }), "or its opposite"),
                (silent, "or a silent row"),
            ]
        }
        (Adjacency::ReplaceOne, None) => {
            let mut list = vec![
                (Some(Row { label: no, ..canary }), "or its opposite"),
                (silent, "or a row of zeros"),
            ];
            if problem.loss.outputs() > 1 || problem.hidden.is_some() {
                list.push((Some(Row { size: -1.0, ..canary }), "or its mirror image"));
            }
            list
        }
        // Through a map, or before a hidden layer with constants behind it, no row is one that adds nothing.
        (_, Some(_)) => Vec::new(),
        (_, None) if problem.hidden.is_some() => Vec::new(),
        (_, None) if problem.loss.is_classification() => vec![(silent, "or a row of zeros")],
        (_, None) => vec![(Some(Row { size: 0.0, label: 0.0 }), "or a row of zeros")],
    }
}

/// The other rows: what they are, how many, in words.
fn crowds(
    problem: &Problem,
    adjacency: Adjacency,
    canary: Row,
    no: f64,
) -> Vec<(Row, usize, &'static str)> {
    let silent = Row { size: 0.0, ..canary };
    let others = problem.rows - 1;
    let mut list = Vec::new();
    if others == 0 || adjacency == Adjacency::AddRemoveOne {
        // The number of rows is private: one row is a neighbour of none.
        list.push((silent, 0, "alone"));
    }
    if others > 0 {
        list.push((silent, others, "among silent rows"));
        list.push((canary, others, "among rows that agree with it"));
        list.push((Row { label: no, ..canary }, others, "among rows that contradict it"));
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

/// The canary's features, as large as the bounds allow, and in words.
fn directions(problem: &Problem) -> Vec<(Vec<f64>, String)> {
    let d = problem.features;
    let mut along = vec![0.0; d];
    along[0] = 1.0;
    let mut list = vec![(along, "along one feature")];
    if d > 1 {
        list.push((vec![1.0; d], "spread over all features"));
        list.push(((0..d).map(sign).collect(), "with signs that look random"));
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
    let sized = |(direction, word): (Vec<f64>, &'static str)| {
        let lengths = lengths(&direction);
        lengths.into_iter().map(move |length| {
            let far = if norm.is_finite() { String::new() } else { format!(" of size {length:e}") };
            (direction.iter().map(|x| length * x).collect(), format!("{word}{far}"))
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
    fn table(&self, canary: Option<Row>) -> Result<Rows, ProblemError> {
        let mut rows = vec![self.crowd; self.others];
        if let Some(canary) = canary {
            rows.insert(self.place, canary);
        }
        let labels = rows.iter().map(|row| row.label).collect();
        let bounds = self.problem.bounds;
        let Some(law) = self.map else {
            let values = rows.iter().flat_map(|row| self.direction.iter().map(|x| row.size * x));
            let features = Dense::new(rows.len(), self.problem.features, values.collect());
            return Ok(Rows::new(Features::F64(features), labels, bounds));
        };
        // One input: zero for the canary's place, and twenty bandwidths away for a silent row.
        let inputs = rows.iter().map(|row| 20.0 * law.bandwidth * (1.0 - row.size)).collect();
        let inputs = Features::F64(Dense::new(rows.len(), 1, inputs));
        Rows::new(inputs, labels, bounds).mapped(FeatureMap::new(*law, 1)?)
    }
}
