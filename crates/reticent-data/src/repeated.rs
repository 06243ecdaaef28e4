//! A small table that stands for a large one: the planner tries its plans on made-up rows with it.
//!
//! Row `i` of the `n` rows that it claims to have is row `i mod m` of the `m` that it holds, so a plan for `n` rows runs as it
//! is: the same batches in expectation, the same noise, and sums as large as those of `n` rows. What a pass costs is that of
//! `m` rows. Where more rows are asked for than it holds, all of them answer, and the sum is scaled: a batch of that size
//! differs little from the whole.
//!
//! Nobody's data belongs in here: sums are those of the large table up to scaling only, and no bound on their rounding is kept.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use reticent_noise::batch::{Draw, SampleRate};
use reticent_problem::{Problem, RowBounds};

use crate::oracle::{Chosen, Oracle, RandomAccess, Rule};
use crate::walk::{Walk, WalkState};
use crate::{Common, Rows, Sensitive, kernel};

/// Rows of a claimed table up to which a batch is drawn from all of them.
const MOST_DRAWN: usize = 1 << 18;

/// Few rows, served as many.
pub struct RepeatedOracle {
    rows: Rows,
    total: usize,
    sizes: kernel::clipped::Sizes,
    scratch: Mutex<Scratch>,
}

#[derive(Default)]
struct Scratch {
    numbers: Vec<f64>,
    clipped: kernel::clipped::Scratch,
    batch: Vec<usize>,
}

impl Scratch {
    fn numbers(&mut self, needed: usize) -> &mut [f64] {
        if self.numbers.len() < needed {
            self.numbers.resize(needed, 0.0);
        }
        &mut self.numbers[..needed]
    }
}

fn scale(into: &mut [f64], factor: f64) {
    for x in into {
        *x *= factor;
    }
}

impl RepeatedOracle {
    /// `rows`, which must not be empty, as a table of `total` rows.
    pub fn new(rows: Rows, total: usize) -> Self {
        let sizes = kernel::clipped::Sizes::default();
        Self { rows, total, sizes, scratch: Mutex::default() }
    }

    /// The rows that it holds.
    pub fn held(&self) -> &Rows {
        &self.rows
    }

    /// The rows that answer for `asked` rows of the large table, and what their sum is multiplied by.
    fn answer(&self, asked: impl ExactSizeIterator<Item = usize>, into: &mut Vec<usize>) -> f64 {
        let (held, count) = (self.rows.len(), asked.len());
        into.clear();
        if count >= held {
            into.extend(0..held);
            return count as f64 / held as f64;
        }
        into.extend(asked.map(|i| i % held));
        1.0
    }

    fn scratch(&self) -> std::sync::MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Oracle for RepeatedOracle {
    fn rows(&self) -> usize {
        self.total
    }

    fn features(&self) -> usize {
        self.rows.features().columns()
    }

    fn bounds(&self) -> RowBounds {
        self.rows.bounds()
    }

    fn random_access(&self) -> Option<&dyn RandomAccess> {
        Some(self)
    }

    fn gradient_sum(
        &self,
        problem: &Problem,
        at: &Sensitive<Vec<f64>>,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        let factor = self.total as f64 / self.rows.len() as f64;
        let mut scratch = self.scratch();
        into.compute_at(at, |into, at| {
            let room = scratch.numbers(kernel::scratch_len(self.rows.len(), into.len()));
            kernel::gradient_sum(&self.rows, problem.loss, limit, at, into, room);
            scale(into, factor);
        });
    }

    fn batch_sum(
        &self,
        problem: &Problem,
        batch: &[usize],
        at: &[f64],
        clip: f64,
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let limit = problem.slope_limit.unwrap_or(f64::INFINITY);
        let bounds = kernel::batch::Bounds { limit, clip };
        let mut scratch = self.scratch();
        let mut list = std::mem::take(&mut scratch.batch);
        let factor = self.answer(batch.iter().copied(), &mut list);
        let needed = kernel::batch::scratch_len(&self.rows, problem.loss, list.len(), at.len());
        into.compute(|into| {
            let room = scratch.numbers(needed);
            kernel::batch::sum_called(&self.rows, problem.loss, bounds, &list, at, into, room);
            scale(into, factor);
        });
        scratch.batch = list;
    }

    fn clipped_sum(
        &self,
        problem: &Problem,
        draw: &Draw<'_>,
        clip: f64,
        common: Option<&Common>,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let held = self.rows.len();
        let (rate, mut factor) = (draw.rate.value(), 1.0);
        let expected = rate * self.total as f64;
        let mut scratch = self.scratch();
        let clipped = &mut scratch.clipped;
        clipped.batch.clear();
        if expected >= held as f64 {
            clipped.batch.extend(0..held);
            factor = expected / held as f64;
        } else if self.total > MOST_DRAWN {
            // As many in expectation, without going through all that it claims to have.
            let rate = SampleRate::new(expected / held as f64).unwrap_or(draw.rate);
            Draw { rate, ..*draw }.rows(0..held, &mut clipped.batch);
        } else {
            draw.rows(0..self.total, &mut clipped.batch);
            for i in &mut clipped.batch {
                *i %= held;
            }
        }
        let count = clipped.batch.len();
        into.compute(|into| {
            let rows = &self.rows;
            let sizes = self.sizes.of(rows.features(), common);
            let clip = kernel::clipped::Clip::new(clip, common);
            kernel::clipped::sum(rows, &sizes, problem, rate, count, clip, at, into, clipped);
            scale(into, factor);
        });
    }

    fn robust_sum(
        &self,
        problem: &Problem,
        chosen: &Chosen<'_>,
        rule: Rule,
        at: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let mut scratch = self.scratch();
        let mut list = std::mem::take(&mut scratch.batch);
        let factor = match chosen {
            Chosen::Block(range) => self.answer(range.clone(), &mut list),
            Chosen::Listed(rows) => self.answer(rows.iter().copied(), &mut list),
        };
        let few = Chosen::Listed(&list);
        let needed = kernel::scratch_len(list.len(), at.len());
        into.compute(|into| {
            let room = scratch.numbers(needed);
            kernel::robust::sum(&self.rows, problem, &few, rule, at, into, room);
            scale(into, factor);
        });
        scratch.batch = list;
    }

    fn count_below(
        &self,
        problem: &Problem,
        common: Option<&Common>,
        from: &[f64],
        grid: &[f64],
        into: &mut Sensitive<Vec<f64>>,
    ) {
        let factor = self.total as f64 / self.rows.len() as f64;
        let sizes = self.sizes.of(self.rows.features(), common);
        into.compute(|into| {
            kernel::below::count_below(&self.rows, problem, &sizes, from, grid, into);
            scale(into, factor);
        });
    }

    fn row_moments(&self, into: &mut Sensitive<Vec<f64>>) {
        let factor = self.total as f64 / self.rows.len() as f64;
        let mut scratch = self.scratch();
        into.compute(|into| {
            let room = scratch.numbers(kernel::scratch_len(self.rows.len(), into.len()));
            kernel::row_moments(&self.rows, into, room);
            scale(into, factor);
        });
    }

    fn score(&self, problem: &Problem, at: &[f64], into: &mut Sensitive<Vec<f64>>) {
        let factor = self.total as f64 / self.rows.len() as f64;
        into.compute(|into| into[0] = factor * kernel::score::score(&self.rows, problem, at));
    }

    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) {
        let held = self.rows.len();
        w.compute(|w| {
            sum.compute(|sum| {
                let mut first = range.start;
                while first < range.end {
                    let start = first % held;
                    let count = (held - start).min(range.end - first);
                    kernel::robust::pass(&self.rows, problem, start..start + count, eta, w, sum);
                    first += count;
                }
            });
        });
    }
}

impl RandomAccess for RepeatedOracle {
    fn walk(&self, problem: &Problem, walk: &Walk, state: &mut Sensitive<WalkState>) {
        state.compute(|state| kernel::walk::walk(&self.rows, problem, walk, state));
    }
}
