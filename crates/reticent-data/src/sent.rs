//! A question on its way to those who hold the rows.
//!
//! **As secret as the rows**: a draw travels with its key, and a gradient may be asked for at
//! weights that carry no noise yet.

use std::ops::Range;

use reticent_noise::Randomness;
use reticent_noise::batch::{Draw, SampleKey, SampleRate};
use reticent_problem::{Domain, Problem};
use serde::{Deserialize, Serialize};

use crate::kernel::robust::{Chosen, RobustRule};
use crate::question::Question;
use crate::{Preconditioner, Sensitive};

/// Both ends must have the same.
const VERSION: u32 = 4;

/// A problem, a question about it, and how many rows its draw picks in all.
pub(crate) struct Sent {
    pub(crate) problem: Problem,
    pub(crate) drawn: usize,
    sum: Sum,
    /// The weights that [`Question`] borrows.
    at: Sensitive<Vec<f64>>,
    key: Option<SampleKey>,
}

/// The message on the wire.
#[derive(Serialize, Deserialize)]
struct Message {
    version: u32,
    /// As JSON: a problem has parts that name their kind.
    problem: String,
    drawn: u64,
    at: Vec<f64>,
    sum: Sum,
}

/// [`Question`] by value, without the weights.
#[derive(Serialize, Deserialize)]
enum Sum {
    Gradient,
    Batch {
        batch: Vec<usize>,
        clip: f64,
    },
    Clipped {
        key: [u8; 32],
        seeded: bool,
        step: u64,
        rate: f64,
        clip: f64,
        preconditioner: Option<Preconditioner>,
    },
    Robust {
        chosen: Rows,
        rule: RobustRule,
    },
    Below {
        preconditioner: Option<Preconditioner>,
        grid: Vec<f64>,
    },
    Moments,
    Curvature,
    Score,
}

/// [`Chosen`] by value.
#[derive(Serialize, Deserialize)]
enum Rows {
    Block(Range<usize>),
    Listed(Vec<usize>),
}

/// The question as bytes; none if it cannot be written.
pub(crate) fn write(problem: &Problem, question: &Question<'_>, drawn: usize) -> Option<Vec<u8>> {
    let (sum, at): (Sum, &[f64]) = match *question {
        Question::Gradient { at } => (Sum::Gradient, at.point()),
        Question::Batch { batch, clip, at } => (Sum::Batch { batch: batch.to_vec(), clip }, at),
        Question::Clipped { ref draw, clip, preconditioner, at } => {
            let (key, preconditioner) = (*draw.key.secret_for_workers(), preconditioner.cloned());
            let seeded = draw.key.randomness() == Randomness::Seeded;
            let (step, rate) = (draw.step, draw.rate.value());
            (Sum::Clipped { key, seeded, step, rate, clip, preconditioner }, at)
        }
        Question::Robust { ref chosen, rule, at } => {
            let chosen = match chosen {
                Chosen::Block(range) => Rows::Block(range.clone()),
                Chosen::Listed(list) => Rows::Listed(list.to_vec()),
            };
            (Sum::Robust { chosen, rule }, at)
        }
        Question::Below { preconditioner, from, grid } => {
            (Sum::Below { preconditioner: preconditioner.cloned(), grid: grid.to_vec() }, from)
        }
        Question::Moments => (Sum::Moments, &[]),
        Question::Curvature { at } => (Sum::Curvature, at),
        Question::Score { at } => (Sum::Score, at),
    };
    let problem = serde_json::to_string(problem).ok()?;
    let (version, drawn, at) = (VERSION, drawn as u64, at.to_vec());
    postcard::to_allocvec(&Message { version, problem, drawn, at, sum }).ok()
}

impl Sent {
    /// The question in bytes that [`write`] wrote; none in any other, or if it is not about its
    /// problem.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (version, _) = postcard::take_from_bytes::<u32>(bytes).ok()?;
        if version != VERSION {
            return None;
        }
        let (message, rest) = postcard::take_from_bytes::<Message>(bytes).ok()?;
        let problem: Problem = serde_json::from_str(&message.problem).ok()?;
        // Shapes and constants; lengths may be asked for at zero alone, which is no set to search.
        let anywhere = Problem { domain: Domain::Unbounded, ..problem.clone() };
        anywhere.check_parameters().ok()?;
        let Message { drawn, at, sum, .. } = message;
        if !rest.is_empty() || !sum.is_about(&problem, &at) {
            return None;
        }
        let key = sum.key();
        let drawn = usize::try_from(drawn).ok()?;
        Some(Self { problem, drawn, sum, at: Sensitive::new(at), key })
    }

    /// The question.
    pub(crate) fn question(&self) -> Option<Question<'_>> {
        let at = self.at.point();
        Some(match &self.sum {
            Sum::Gradient => Question::Gradient { at: &self.at },
            Sum::Batch { batch, clip } => Question::Batch { batch, clip: *clip, at },
            Sum::Clipped { step, rate, clip, preconditioner, .. } => {
                let (key, rate) = (self.key.as_ref()?, SampleRate::new(*rate).ok()?);
                let draw = Draw { key, step: *step, rate };
                Question::Clipped { draw, clip: *clip, preconditioner: preconditioner.as_ref(), at }
            }
            Sum::Robust { chosen, rule } => {
                let chosen = match chosen {
                    Rows::Block(range) => Chosen::Block(range.clone()),
                    Rows::Listed(list) => Chosen::Listed(list),
                };
                Question::Robust { chosen, rule: *rule, at }
            }
            Sum::Below { preconditioner, grid } => {
                Question::Below { preconditioner: preconditioner.as_ref(), from: at, grid }
            }
            Sum::Moments => Question::Moments,
            Sum::Curvature => Question::Curvature { at },
            Sum::Score => Question::Score { at },
        })
    }
}

impl Sum {
    fn key(&self) -> Option<SampleKey> {
        let Self::Clipped { key, seeded, .. } = self else { return None };
        let randomness = if *seeded { Randomness::Seeded } else { Randomness::Secure };
        Some(SampleKey::for_workers((*key).into(), randomness))
    }

    /// Whether weights, rows and scales have the shape that this problem's have.
    fn is_about(&self, problem: &Problem, at: &[f64]) -> bool {
        let weights = match self {
            Self::Moments => at.is_empty(),
            Self::Below { .. } => [0, problem.features].contains(&at.len()),
            _ => at.len() == problem.dimension(),
        };
        let fits = |preconditioner: &Option<Preconditioner>| {
            preconditioner.as_ref().is_none_or(|c| {
                let keeps = (Preconditioner::LEAST..=1.0).contains(&c.keep());
                keeps && problem.hidden.is_none() && c.belongs_to(problem.features, c.keep())
            })
        };
        weights
            && match self {
                Self::Clipped { rate, preconditioner, .. } => {
                    SampleRate::new(*rate).is_ok() && fits(preconditioner)
                }
                Self::Below { preconditioner, .. } => fits(preconditioner),
                Self::Robust { chosen: Rows::Block(range), .. } => range.start <= range.end,
                Self::Curvature => problem.loss.outputs() == 1 && problem.hidden.is_none(),
                _ => true,
            }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;
    use reticent_noise::Source;
    use reticent_problem::{Loss, RowBounds};

    use super::*;

    fn problem(features: usize) -> Problem {
        Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 10, features)
    }

    fn message(problem: &Problem) -> Vec<u8> {
        let key = SampleKey::new(&Source::seeded_not_private(1));
        let draw = Draw { key: &key, step: 3, rate: SampleRate::new(0.25).unwrap() };
        let preconditioner = Preconditioner::new(vec![1.0, 2.0], 0.5);
        let at = [0.25, f64::NAN];
        let question =
            Question::Clipped { draw, clip: 0.5, preconditioner: Some(&preconditioner), at: &at };
        write(problem, &question, 7).unwrap()
    }

    #[test]
    fn a_question_arrives_as_it_was_sent() {
        let sent = Sent::read(&message(&problem(2))).unwrap();
        assert_eq!((sent.drawn, sent.problem.features), (7, 2));
        let Some(Question::Clipped { draw, clip, preconditioner, at }) = sent.question() else {
            panic!()
        };
        assert_eq!((draw.step, draw.rate.value(), clip), (3, 0.25, 0.5));
        assert_eq!(preconditioner, Some(&Preconditioner::new(vec![1.0, 2.0], 0.5)));
        assert!(at[0] == 0.25 && at[1].is_nan(), "to the bit");
    }

    #[test]
    fn a_question_about_another_problem_or_of_another_version_is_refused() {
        for features in [1, 3, 1 << 40, usize::MAX / 2] {
            assert!(Sent::read(&message(&problem(features))).is_none(), "{features}");
        }
        let moments = |features| write(&problem(features), &Question::Moments, 0).unwrap();
        assert!(Sent::read(&moments(5)).is_some());
        assert!(Sent::read(&moments(1 << 40)).is_none());
        let mut bytes = message(&problem(2));
        bytes[0] = VERSION as u8 + 1;
        assert!(Sent::read(&bytes).is_none());
        bytes[0] = VERSION as u8;
        bytes.push(0);
        assert!(Sent::read(&bytes).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            place in 0_usize..400, byte in any::<u8>(), cut in 0_usize..400,
            other in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut bytes = message(&problem(2));
            let place = place % bytes.len();
            bytes[place] = byte;
            bytes.truncate(cut.max(1));
            let _ = Sent::read(&bytes).map(|sent| sent.question().is_some());
            let _ = Sent::read(&other);
        }
    }
}
