//! A small table that stands for a large one: the planner tries its plans on simulated rows with
//! it.
//!
//! Row `i` of the `n` rows that it claims to have is row `i mod m` of the `m` that it holds, so a
//! plan for `n` rows runs as it is: the same batches in expectation, the same noise, and sums as
//! large as those of `n` rows. A pass costs that of `m` rows. Where more rows are asked for than it
//! holds, all of them answer, and the sum is scaled: a batch of that size differs little from the
//! whole.
//!
//! Nobody's data belongs in here: sums are those of the large table up to scaling only, and no
//! bound on their rounding is kept.

use std::ops::Range;
use std::sync::Mutex;

use reticent_noise::batch::{Draw, SampleRate};
use reticent_problem::{Problem, RowBounds, Unit};

use crate::kernel::robust::Chosen;
use crate::oracle::{InOrder, Oracle, OracleError, RandomAccess};
use crate::question::{Block, Question, Scratch, clipped_batch};
use crate::walk::{Walk, WalkState};
use crate::{Rows, Sensitive, kernel};

/// Rows of a claimed table up to which a batch is drawn from all of them.
const MOST_DRAWN: usize = 1 << 18;

/// Few rows, served as many.
pub struct RepeatedOracle {
    rows: Rows,
    total: usize,
    /// The unit that each row stands for, if it is not a row.
    unit: Option<Unit>,
    /// Whether it claims that its rows have weights: all of them count 1.
    weighted: bool,
    sizes: kernel::clipped::Sizes,
    scratch: Mutex<(Scratch, Vec<usize>)>,
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
        Self { rows, total, unit: None, weighted: false, sizes, scratch: Mutex::default() }
    }

    /// The same as a table of so many units, each of rows like one of those that it holds: the sums
    /// are those of as many rows.
    #[must_use]
    pub fn of_units(self, unit: Option<Unit>) -> Self {
        Self { unit, ..self }
    }

    /// The same as a table whose rows have weights, if `weighted`: each counts the whole.
    #[must_use]
    pub fn with_weights(self, weighted: bool) -> Self {
        Self { weighted, ..self }
    }

    /// The rows that it holds.
    pub fn held(&self) -> &Rows {
        &self.rows
    }

    /// The rows that answer for `asked` rows of the large table, and what their sum is multiplied
    /// by.
    fn stand_in(&self, asked: impl ExactSizeIterator<Item = usize>, into: &mut Vec<usize>) -> f64 {
        let (held, count) = (self.rows.len(), asked.len());
        into.clear();
        if count >= held {
            into.extend(0..held);
            return count as f64 / held as f64;
        }
        into.extend(asked.map(|i| i % held));
        1.0
    }

    /// The rows that answer for a draw from the large table, and what their sum is multiplied by.
    fn draw(&self, draw: &Draw<'_>, into: &mut Vec<usize>) -> f64 {
        let held = self.rows.len();
        let expected = draw.rate.value() * self.total as f64;
        into.clear();
        if expected >= held as f64 {
            into.extend(0..held);
            return expected / held as f64;
        }
        if self.total > MOST_DRAWN {
            // As many in expectation, without going through all that it claims to have.
            let rate = SampleRate::new(expected / held as f64).unwrap_or(draw.rate);
            Draw { rate, ..*draw }.rows(0..held, into);
        } else {
            draw.rows(0..self.total, into);
            for i in into.iter_mut() {
                *i %= held;
            }
        }
        1.0
    }

    /// `into =` the answer of the rows that it holds, as large as that of all.
    fn answer(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        scratch: &mut Scratch,
        list: &mut Vec<usize>,
        into: &mut [f64],
    ) {
        let block = Block::whole(&self.rows, &self.sizes);
        let factor = match *question {
            Question::Batch { batch, clip, at } => {
                let factor = self.stand_in(batch.iter().copied(), list);
                Question::Batch { batch: list, clip, at }.answer(problem, block, scratch, into);
                factor
            }
            Question::Robust { ref chosen, rule, at } => {
                let factor = match chosen {
                    Chosen::Block(range) => self.stand_in(range.clone(), list),
                    Chosen::Listed(rows) => self.stand_in(rows.iter().copied(), list),
                };
                let chosen = Chosen::Listed(list);
                Question::Robust { chosen, rule, at }.answer(problem, block, scratch, into);
                factor
            }
            Question::Clipped { ref draw, clip, preconditioner, at } => {
                let (clipped, rate) = (&mut scratch.clipped, draw.rate.value());
                let factor = self.draw(draw, &mut clipped.batch);
                let count = clipped.batch.len();
                clipped_batch(problem, block, rate, count, clip, preconditioner, at, into, clipped);
                factor
            }
            Question::Gradient { .. }
            | Question::Below { .. }
            | Question::Moments
            | Question::Curvature { .. }
            | Question::Score { .. } => {
                question.answer(problem, block, scratch, into);
                self.total as f64 / self.rows.len() as f64
            }
        };
        scale(into, factor);
    }
}

impl Oracle for RepeatedOracle {
    fn rows(&self) -> usize {
        self.total
    }

    fn unit(&self) -> Option<&Unit> {
        self.unit.as_ref()
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn features(&self) -> usize {
        self.rows.features().columns()
    }

    fn bounds(&self) -> RowBounds {
        self.rows.bounds()
    }

    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        let (mut kept, mut fresh) = (self.scratch.try_lock().ok(), Default::default());
        let (scratch, list) = kept.as_deref_mut().unwrap_or(&mut fresh);
        into.compute(|into| self.answer(problem, question, scratch, list, into));
        Ok(())
    }

    fn random_access(&self) -> Option<&dyn RandomAccess> {
        Some(self)
    }

    fn in_order(&self) -> Option<&dyn InOrder> {
        Some(self)
    }
}

impl RandomAccess for RepeatedOracle {
    fn walk(
        &self,
        problem: &Problem,
        walk: &Walk,
        state: &mut Sensitive<WalkState>,
    ) -> Result<(), OracleError> {
        state.compute(|state| kernel::walk::walk(&self.rows, problem, walk, state));
        Ok(())
    }
}

impl InOrder for RepeatedOracle {
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
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
        Ok(())
    }
}
