//! A sensitive value as a test sees it.

use reticent_data::{Mechanism, Oracle, Question, Sensitive};
use reticent_problem::Problem;

struct InTheClear;

impl<T: Default> Mechanism<T> for InTheClear {
    type Output = T;

    fn release(self, value: &mut T) -> T {
        std::mem::take(value)
    }
}

/// The value itself, without noise: for tests alone.
#[must_use]
#[allow(unreachable_pub, reason = "shared by path")]
pub fn in_the_clear<T: Default>(mut value: Sensitive<T>) -> T {
    value.release(InTheClear)
}

/// An oracle's answer, in the clear.
#[must_use]
#[allow(unreachable_pub, dead_code, clippy::unwrap_used, reason = "shared by path, for tests")]
pub fn answer(oracle: &dyn Oracle, problem: &Problem, question: &Question<'_>) -> Vec<f64> {
    let mut into = Sensitive::new(vec![f64::NAN; question.width(problem)]);
    oracle.ask(problem, question, &mut into).unwrap();
    in_the_clear(into)
}
