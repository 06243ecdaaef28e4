//! The second predictor: every plan is run on simulated tables, and ranked by what it learned
//! there.
//!
//! A bound on the risk holds for the worst table within the declared bounds, and its constants are
//! loose by different amounts for different algorithms: it ranks poorly. So each plan, exactly as
//! it would be run (its batches, steps, noise and sampling rate), is run on a few
//! [worlds](super::world) that stand for tables of the declared size ([`RepeatedOracle`]). What
//! counts is the *gain*: 0 for the best constant answer, 1 for what the same model reaches without
//! privacy, averaged over the worlds.
//!
//! Where a record is a unit, a plan is that for units, with its noise and its ridge, and the rows
//! of a simulated unit are alike: how many a unit has is not known, and what more of them teach is
//! not counted.
//!
//! This is a heuristic and decides nothing about privacy. It reads no data, its randomness is
//! seeded, and its work is limited by counting numbers touched and not by a clock, so that the same
//! problem has the same ranking everywhere.

use rayon::prelude::*;
use reticent_data::RepeatedOracle;
use reticent_data::threads::shared;
use reticent_noise::Source;
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::loss::Link;
use reticent_problem::{Loss, Problem};
use serde::{Deserialize, Serialize};

use super::vary::{class_clip_suits, suits, unshortened, variations, without_curves, worth_a_run};
use super::world::{Level, World, narrowed};
use super::{Plan, cost, plan_by};
use crate::clipped_sgd::{CLIP_QUANTILE_MULTIPLE, PRECONDITION};
use crate::setting::{CLIP, RIDGE, Settings};
use crate::{ALGORITHMS, PlanError, Quiet, gradient_sgd, least_squares, random_round, tuning};

/// Why an algorithm is not tried, as the rest of a sentence that begins with it; none if it is.
pub(super) fn why_left_out(algorithm: &str, problem: &Problem) -> Option<&'static str> {
    if algorithm == gradient_sgd::NAME {
        return Some(
            "is clipped-sgd with a batch of one, and never better: name it to have it planned",
        );
    }
    let convex = problem.loss.is_convex() && problem.hidden.is_none();
    (algorithm == random_round::NAME && convex).then_some(
        "keeps a random step, and for a convex loss the average of the same steps is better: name it to have it planned",
    )
}

fn is_left_out(algorithm: &str, problem: &Problem) -> bool {
    why_left_out(algorithm, problem).is_some()
}

fn most_work(problem: &Problem) -> f64 {
    tuning::MOST_WORK_OF_A_RUN / (problem.loss.outputs() as f64 / tuning::MANY_CLASSES).max(1.0)
}

/// The results of the runs on simulated tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The part of the gain without privacy that is kept: 0 for the trivial model, 1 for no loss. A
    /// mean over the levels.
    pub gain: f64,
    /// The same for each level in which something can be learned, from easy to hard; only for one
    /// where the rest was not worth a look.
    pub levels: Vec<LevelGain>,
    /// How many runs.
    pub runs: usize,
}

/// The part of the gain kept at one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelGain {
    /// Its word, one of [`level_names`].
    pub level: String,
    /// As [`Prediction::gain`].
    pub gain: f64,
}

/// One algorithm's answer to the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Which.
    pub algorithm: &'static str,
    /// The settings that did best, those that were asked for among them.
    pub settings: Settings,
    /// How well.
    pub prediction: Prediction,
}

impl Simulated {
    /// Whether the simulation may have found this for the problem and the request: what was
    /// remembered may have been altered.
    pub fn belongs_to(&self, problem: &Problem, request: &Settings) -> bool {
        !is_left_out(self.algorithm, problem)
            && narrowed(problem).is_some()
            && variations(self.algorithm, problem, request)
                .into_iter()
                .any(|v| v == self.settings || unshortened(&v, request) == self.settings)
    }
}

struct Try {
    algorithm: &'static str,
    settings: Settings,
    plan: Plan,
    /// Numbers that one run touches.
    work: f64,
    /// The deduction from its gain in comparisons.
    handicap: f64,
    gains: Vec<Vec<f64>>,
    /// The worlds' levels.
    names: Vec<&'static str>,
}

impl Try {
    /// Runs until there are so many runs in each of these worlds.
    fn run(&mut self, worlds: &[World], which: std::ops::Range<usize>, runs: usize) {
        for (gains, world) in self.gains[which.clone()].iter_mut().zip(&worlds[which]) {
            let total = self.plan.outline().problem.rows;
            while gains.len() < runs * world.repeats(total) {
                let oracle = RepeatedOracle::new(world.table(total, gains.len()), total)
                    .of_units(self.plan.outline().problem.unit.clone())
                    .with_weights(self.plan.outline().problem.weighted);
                let source = Source::seeded_not_private(1 + gains.len() as u64);
                let release = self.plan.run(&oracle, &source, &Quiet);
                gains.push(release.map_or(-1.0, |release| world.gain(&release.weights)));
            }
        }
    }

    /// Numbers that so many runs in each world would touch beyond those that were made.
    fn work_left(&self, worlds: &[World], runs: usize) -> f64 {
        let total = self.plan.outline().problem.rows;
        let each = worlds.iter().zip(&self.gains);
        let missing =
            each.map(|(world, gains)| (runs * world.repeats(total)).saturating_sub(gains.len()));
        self.work * missing.sum::<usize>() as f64
    }

    /// The score by which it is ranked.
    fn rank(&self) -> f64 {
        self.prediction().gain - self.handicap
    }

    fn prediction(&self) -> Prediction {
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
        let known = || self.gains.iter().zip(&self.names).filter(|(gains, _)| !gains.is_empty());
        let levels: Vec<f64> = known().map(|(gains, _)| mean(gains)).collect();
        // So few runs tell no more digits; those that follow would be decided by chance, or by the
        // processor.
        let round = |x: f64| (1e2 * x).round() / 1e2;
        Prediction {
            gain: round(mean(&levels)),
            runs: self.gains.iter().map(Vec::len).sum(),
            levels: known()
                .map(|(gains, name)| LevelGain {
                    level: (*name).to_owned(),
                    gain: round(mean(gains)),
                })
                .collect(),
        }
    }
}

/// The words for the levels, from easy to hard.
pub fn level_names() -> Vec<&'static str> {
    tuning::LEVELS.iter().map(|level| level.name).collect()
}

/// Tries every algorithm with the settings that the request leaves open; the best first. Empty
/// where nothing can be simulated: for a network, for rows without a bound, and where nothing has a
/// plan.
pub fn simulate(problem: &Problem, budget: Budget, request: &Settings) -> Vec<Simulated> {
    simulate_those(problem, budget, request, |name| !is_left_out(name, problem))
}

/// [`simulate`] with this algorithm alone; none where it cannot be simulated.
pub fn simulate_only(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    name: &str,
) -> Option<Simulated> {
    simulate_those(problem, budget, request, |other| other == name).pop()
}

fn simulate_those(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Simulated> {
    let Some(small) = narrowed(problem) else { return Vec::new() };
    let tried = ALGORITHMS.iter().filter(|info| wanted(info.name));
    // Some settings are in units of what follows from the number of features: each is tried as it
    // is for the small table, and remembered as it is for the whole.
    let asked = tried.flat_map(|info| {
        let [narrow, whole] = [&small, problem].map(|p| variations(info.name, p, request));
        narrow.into_iter().zip(whole).map(|(narrow, whole)| (info.name, narrow, whole))
    });
    try_out(problem, &small, budget, request, asked.collect())
}

/// Tries the named algorithm with the settings of the request and no others; none where it cannot
/// be simulated.
pub fn simulate_named(
    problem: &Problem,
    budget: Budget,
    request: &Settings,
    name: &str,
) -> Option<Simulated> {
    let small = narrowed(problem)?;
    let info = ALGORITHMS.iter().find(|info| info.name == name)?;
    let asked = vec![(info.name, request.clone(), request.clone())];
    try_out(problem, &small, budget, request, asked).pop()
}

/// Runs what is asked for, an algorithm with its settings for the small table and for the whole;
/// the best first, each algorithm once.
fn try_out(
    problem: &Problem,
    small: &Problem,
    budget: Budget,
    request: &Settings,
    asked: Vec<(&'static str, Settings, Settings)>,
) -> Vec<Simulated> {
    let worlds = worlds(small, request);
    if worlds.is_empty() {
        return Vec::new();
    }
    let held = worlds[0].rows.len() as f64;
    let first = tuning::FIRST_LEVEL.min(worlds.len() - 1);
    let largest = small.regularity().lipschitz;
    let first_look = |(algorithm, narrow, whole): (&'static str, Settings, Settings)| {
        let can = whole.number(&PRECONDITION) == request.number(&PRECONDITION)
            || plan_by(algorithm, problem, budget, &whole)?.is_ok();
        let [narrow, settings] =
            if can { [narrow, whole] } else { [narrow, whole].map(|v| unshortened(&v, request)) };
        let plan = plan_by(algorithm, small, budget, &without_curves(&narrow))?.ok()?;
        let work = cost::work(&plan, held);
        let tried = work <= most_work(small)
            && class_clip_suits(&settings, request, &plan, problem)
            && worth_a_run(&settings, request, &plan, problem);
        tried.then(|| {
            let gains = vec![Vec::new(); worlds.len()];
            let short = settings.number(&CLIP).is_some_and(|clip| clip < 0.999 * largest);
            let handicap = match problem.loss.is_classification() {
                _ if budget.epsilon.get().is_infinite() => 0.0,
                true if !settings.has(&PRECONDITION) => tuning::LEAD_WITHOUT_PRECONDITIONER,
                false
                    if problem.loss.link() == Link::Log
                        && !suits_log_link(&settings, &plan, problem) =>
                {
                    tuning::LEAD_WITH_LOG_LINK
                }
                false if !settings.has(&PRECONDITION) => tuning::LEAD_IN_REGRESSION,
                false if short => tuning::LEAD_OF_SHORT_CLIP,
                false
                    if settings
                        .number(&CLIP_QUANTILE_MULTIPLE)
                        .is_some_and(|part| !suits(part, &plan, problem)) =>
                {
                    tuning::LEAD_OF_UNSUITED_CLIP
                }
                _ => 0.0,
            };
            let names = worlds.iter().map(|world| world.name).collect();
            let mut one = Try { algorithm, settings, plan, work, handicap, gains, names };
            one.run(&worlds, first..first + 1, 1);
            one
        })
    };
    let mut tries: Vec<Try> = shared(|| asked.into_par_iter().filter_map(first_look).collect());
    sort(&mut tries);
    let least = tries.first().map_or(0.0, |one| one.prediction().gain) - tuning::DROPPED_BEHIND;
    let mut work = tuning::SIMULATION_WORK;
    let (mut tries, rest) = split(tries, |place, one| {
        one.prediction().gain >= least && affords(&mut work, place, one, &worlds, 1)
    });
    shared(|| tries.par_iter_mut().for_each(|one| one.run(&worlds, 0..worlds.len(), 1)));
    sort(&mut tries);
    // The most promising are looked at again: the best of many noisy numbers is too good to be
    // true.
    let runs = 1 + tuning::FINAL_REPEATS;
    let (mut tries, second) = split(tries, |place, one| {
        place < tuning::FINALISTS && affords(&mut work, place, one, &worlds, runs)
    });
    shared(|| tries.par_iter_mut().for_each(|one| one.run(&worlds, 0..worlds.len(), runs)));
    tries.extend(second);
    sort(&mut tries);
    quicker_first(&mut tries);
    tries.extend(rest);
    let mut found: Vec<Simulated> = Vec::new();
    for one in tries {
        if found.iter().all(|known| known.algorithm != one.algorithm) {
            let prediction = one.prediction();
            found.push(Simulated { algorithm: one.algorithm, settings: one.settings, prediction });
        }
    }
    found
}

/// Whether what is left of the work serves so many runs in each world, and takes it. The first is
/// always served.
fn affords(work: &mut f64, place: usize, one: &Try, worlds: &[World], runs: usize) -> bool {
    let needed = one.work_left(worlds, runs);
    let served = place == 0 || needed <= *work;
    *work -= if served { needed } else { 0.0 };
    served
}

/// Whether settings have the preconditioner and a clip norm that suits their noise.
fn suits_log_link(settings: &Settings, plan: &Plan, problem: &Problem) -> bool {
    let part = settings.number(&CLIP_QUANTILE_MULTIPLE);
    settings.has(&PRECONDITION) && part.is_none_or(|part| suits(part, plan, problem))
}

/// Those that are kept, and the others.
fn split(tries: Vec<Try>, mut keep: impl FnMut(usize, &Try) -> bool) -> (Vec<Try>, Vec<Try>) {
    let (mut kept, mut rest): (Vec<Try>, Vec<Try>) = (Vec::new(), Vec::new());
    for (place, one) in tries.into_iter().enumerate() {
        if keep(place, &one) { &mut kept } else { &mut rest }.push(one);
    }
    (kept, rest)
}

fn sort(tries: &mut [Try]) {
    // Stable: among equals the order of the algorithms and of the settings decides.
    tries.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
}

/// Puts the best one that is much quicker than the first, and as good, before it, if the first
/// takes long.
fn quicker_first(tries: &mut [Try]) {
    let Some(first) = tries.first() else { return };
    // The problem does not say how rows are kept.
    let dense = |plan: &Plan| plan.seconds(cost::RowCost::dense(plan.outline().problem.features));
    let (least, seconds) = (first.rank() - tuning::AS_GOOD, dense(&first.plan));
    let quicker = |one: &Try| one.rank() >= least && dense(&one.plan) <= tuning::QUICKER * seconds;
    if seconds > tuning::PATIENCE_SECONDS
        && let Some(place) = tries.iter().position(quicker)
    {
        tries[..=place].rotate_right(1);
    }
}

/// The worlds in which something can be learned, with what is reached there without privacy.
fn worlds(problem: &Problem, request: &Settings) -> Vec<World> {
    let make = |(i, level): (usize, &Level)| {
        let mut world = World::new(problem, level, 100 + i as u64);
        // The best that can be learned of this world, and not only from a few of its rows.
        let rows = problem.rows.max(world.rows.len());
        let problem = &Problem { rows, unit: None, weighted: false, ..problem.clone() };
        for problem in [Some(problem), surrogate(problem).as_ref()].into_iter().flatten() {
            if let Ok(weights) = without_privacy(problem, request, &world) {
                world.aim(&weights);
            }
        }
        world
    };
    let mut list: Vec<World> = shared(|| tuning::LEVELS.par_iter().enumerate().map(make).collect());
    list.retain(World::is_learnable);
    list
}

/// The same with a loss whose minimum is found exactly, where that of its own is not: a gradient
/// without a bound or with jumps leaves methods of single rows, which stop far from the best.
fn surrogate(problem: &Problem) -> Option<Problem> {
    let own = problem.regularity();
    let exact = problem.loss.is_convex() && own.smoothness.is_some() && own.lipschitz.is_finite();
    if exact || problem.loss.outputs() > 1 || matches!(problem.loss, Loss::OneHot { .. }) {
        return None;
    }
    let (loss, slope_limit) = if problem.loss.is_classification() {
        (Loss::Logistic, None)
    } else {
        // No residual of a model that is any good is as large.
        (Loss::Squared, Some(100.0 * problem.bounds.label()))
    };
    Some(Problem { loss, slope_limit, ..problem.clone() })
}

/// The weights of the first algorithm that minimises this without noise.
fn without_privacy(
    problem: &Problem,
    request: &Settings,
    world: &World,
) -> Result<Vec<f64>, PlanError> {
    let budget = Budget {
        epsilon: Epsilon::new(f64::INFINITY)?,
        delta: Delta::new(0.0)?,
        adjacency: Adjacency::ReplaceOne,
    };
    let ridge = request.number(&RIDGE).unwrap_or(1e-5 * problem.bounds.norm().powi(2));
    // Who takes no ridge otherwise takes one with full gradients.
    let bare = |name: &str| {
        let full = (name == least_squares::NAME).then_some(least_squares::Order::Full);
        Settings::default().with(&RIDGE, ridge).or(&least_squares::ORDER, full)
    };
    let mut why = PlanError::NotApplicable { algorithm: "auto", why: "has no plan".to_owned() };
    for info in ALGORITHMS {
        let plan = match plan_by(info.name, problem, budget, &bare(info.name)) {
            Some(Ok(plan)) if cost::work(&plan, world.rows.len() as f64) <= most_work(problem) => {
                plan
            }
            Some(Err(error)) => {
                why = error;
                continue;
            }
            _ => continue,
        };
        let oracle = RepeatedOracle::new(world.rows.clone(), problem.rows);
        if let Ok(release) = plan.run(&oracle, &Source::seeded_not_private(0), &Quiet) {
            return Ok(release.weights);
        }
    }
    Err(why)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::setting::{BATCH, STEPS};
    use crate::{clipped_sgd, output_gd};
    use reticent_problem::RowBounds;

    /// Full gradients that kept all, and sampled ones that kept so much, in the order in which they
    /// are put.
    fn order(rows: usize, kept: f64) -> [&'static str; 2] {
        let problem = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), rows, 20);
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-9).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        let steps = |steps: u64| Settings::default().with(&STEPS, steps);
        let walk = steps(100).with(&BATCH, rows as u64 / 20);
        let tried = [(output_gd::NAME, steps(2000), 1.0), (clipped_sgd::NAME, walk, kept)];
        let mut tries = tried.map(|(algorithm, settings, gain)| {
            let plan = plan_by(algorithm, &problem, budget, &settings).unwrap().unwrap();
            let (gains, names) = (vec![vec![gain]], vec!["easy"]);
            Try { algorithm, settings, plan, work: 0.0, handicap: 0.0, gains, names }
        });
        sort(&mut tries);
        quicker_first(&mut tries);
        tries.map(|one| one.algorithm)
    }

    #[test]
    fn nobody_waits_for_the_last_percent() {
        // Forty seconds against a tenth of one.
        assert_eq!(order(1_000_000, 0.99), [clipped_sgd::NAME, output_gd::NAME]);
        assert_eq!(
            order(1_000_000, 0.97),
            [output_gd::NAME, clipped_sgd::NAME],
            "two are worth it"
        );
        assert_eq!(order(10_000, 0.99), [output_gd::NAME, clipped_sgd::NAME], "half a second");
    }
}
