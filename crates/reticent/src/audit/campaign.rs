//! Many runs of one mechanism: a short look at every pair of tables, then all runs on the most
//! telling one.
//!
//! The first look ranks by how far outputs lie apart, the second by the bound that they give; a
//! mixture of laws can lie close and show much. The runs that choose the pair are not judged: those
//! on the chosen pair are fresh.

use std::sync::atomic::{AtomicUsize, Ordering};

use reticent_data::Rows;
use reticent_noise::Source;
use reticent_optim::{Progress, RunError};

use super::neighbours::Pair;
use super::{Attack, Audited, score};
use crate::Error;

/// Pairs that get a second look.
const FINALISTS: usize = 6;

/// The released vectors of all runs, one per run.
pub(super) type Outputs = Vec<Vec<f64>>;

pub(super) struct Campaign<'a> {
    audited: &'a dyn Audited,
    seed: Option<u64>,
    delta: f64,
    /// Runs on each table of a first and a second look.
    looks: [usize; 2],
    progress: &'a dyn Progress,
    total: u64,
    done: AtomicUsize,
}

/// Beyond this all weights look alike; the square of it is still a number.
const FAR: f64 = 1e100;

impl<'a> Campaign<'a> {
    pub(super) fn new(
        audited: &'a dyn Audited,
        settings: Attack,
        delta: f64,
        pairs: usize,
        progress: &'a dyn Progress,
    ) -> Self {
        // Where there are many pairs, most of them are much alike: a shorter look at each will do.
        let most = (6_000 / pairs.max(1)).clamp(30, 150);
        let looks = [(settings.runs / 20).clamp(20, most), (settings.runs / 5).clamp(20, 8_000)];
        let scouting = pairs * looks[0] + pairs.min(FINALISTS) * looks[1];
        let total = 2 * (scouting + settings.runs) as u64;
        let done = AtomicUsize::new(0);
        Self { audited, seed: settings.seed, delta, looks, progress, total, done }
    }

    /// The pair whose outputs show most.
    pub(super) fn most_telling<'p>(&self, pairs: &'p [Pair]) -> Result<&'p Pair, Error> {
        let apart = |with: &Outputs, without: &Outputs| Ok(score::separation(with, without));
        let shown = |with: &Outputs, without: &Outputs| {
            let bound = score::judge(with, without, self.delta, 0.5)?.epsilon_lower;
            Ok(bound + 0.1 * score::separation(with, without).min(1.0))
        };
        let ranked = self.ranked(pairs.iter().collect(), self.looks[0], &apart)?;
        let finalists = ranked.into_iter().take(FINALISTS).collect();
        Ok(self.ranked(finalists, self.looks[1], &shown)?[0])
    }

    fn ranked<'p>(
        &self,
        pairs: Vec<&'p Pair>,
        runs: usize,
        value: &dyn Fn(&Outputs, &Outputs) -> Result<f64, Error>,
    ) -> Result<Vec<&'p Pair>, Error> {
        let mut list = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let (with, without) = self.outputs(pair, runs)?;
            list.push((value(&with, &without)?, pair));
        }
        list.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(list.into_iter().map(|(_, pair)| pair).collect())
    }

    /// The outputs of `runs` runs on each table: with the canary, and without.
    pub(super) fn outputs(&self, pair: &Pair, runs: usize) -> Result<(Outputs, Outputs), Error> {
        Ok((self.repeat(&pair.with, runs)?, self.repeat(&pair.without, runs)?))
    }

    fn repeat(&self, rows: &Rows, runs: usize) -> Result<Outputs, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let share = runs.div_ceil(threads);
        let first = self.done.load(Ordering::Relaxed);
        let worker = |from: usize, to: usize| -> Result<Outputs, Error> {
            let oracle = self.audited.oracle(rows.clone())?;
            let mut list = Vec::with_capacity(to - from);
            for run in from..to {
                let source = match self.seed {
                    Some(seed) => Source::seeded_not_private(seed ^ ((first + run) as u64) << 20),
                    None => Source::from_os()?,
                };
                let mut released = self.audited.release(&*oracle, &source)?;
                // A NaN must not invalidate the scores: it carries information like any other
                // value.
                for w in &mut released {
                    *w = if w.is_nan() { FAR } else { w.clamp(-FAR, FAR) };
                }
                list.push(released);
                let done = self.done.fetch_add(1, Ordering::Relaxed) as u64 + 1;
                if self.progress.step(done, self.total).is_break() {
                    return Err(RunError::Stopped { done, total: self.total }.into());
                }
            }
            Ok(list)
        };
        let parts = std::thread::scope(|scope| {
            let starts = (0..threads).map(|t| (t * share).min(runs));
            let workers: Vec<_> = starts
                .map(|from| {
                    let worker = &worker;
                    scope.spawn(move || worker(from, (from + share).min(runs)))
                })
                .collect();
            workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }
}
