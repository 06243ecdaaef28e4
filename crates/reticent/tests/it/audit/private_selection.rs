//! Settings chosen on the rows themselves.

use reticent::Error;
use reticent::audit::{Attack, Audited, Claim};
use reticent::data::Oracle;
use reticent::noise::Source;
use reticent::optim::clipped_sgd::OUTPUT;
use reticent::optim::clipped_sgd::Output;
use reticent::optim::setting::{BATCH, CLIP, STEP_SIZE, STEPS};
use reticent::optim::{Choice, Selection, Settings};
use reticent::privacy::{Adjacency, Event, epsilon_upper};
use reticent::problem::{Loss, Problem, RowBounds};

use crate::audit::support::{CONFIDENCE, audit, budget};

/// The best of so many choices: one is what is paid for.
struct BestOf {
    selection: Selection,
    choices: usize,
}

impl Audited for BestOf {
    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error> {
        let mut best = self.selection.run(oracle, source)?;
        for _ in 1..self.choices {
            let next = self.selection.run(oracle, source)?;
            if next.score > best.score {
                best = next;
            }
        }
        Ok([best.release.weights, vec![best.score]].concat())
    }
}

/// One row whose gradient is cut to one, and whose sign decides the score.
#[test]
fn a_paid_choice_keeps_its_claim_and_the_best_of_many_runs_at_the_price_of_one_is_caught() {
    let problem = Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), 1, 1);
    let request = Settings::default()
        .with(&CLIP, 1.0)
        .with(&BATCH, 1_u64)
        .with(&STEPS, 1_u64)
        .with(&STEP_SIZE, 1.0)
        .with(&OUTPUT, Output::Last);
    let choice = Choice { problem: problem.clone(), algorithm: "clipped-sgd".to_owned(), request };
    let budget = budget(8.0, 1e-2, Adjacency::ReplaceOne);
    let selection = Selection::plan(&[choice], budget, 4.0).unwrap();
    let claim = |event: Event| Claim {
        algorithm: "selection",
        problem: problem.clone(),
        adjacency: budget.adjacency,
        epsilon: epsilon_upper(&event, 1e-2).unwrap(),
        delta: 1e-2,
        event,
    };
    let noise_multiplier = selection.score_noise;
    let score = Event::Gaussian { noise_multiplier, adjacency: budget.adjacency };
    let one_run = selection.candidates[0].outline().event.clone();
    let one_run = claim(Event::Composed(vec![one_run, score]));
    let whole = claim(selection.event.clone());
    let settings = Attack { runs: 3_000, confidence: CONFIDENCE, seed: Some(11), map: None };

    let paid = BestOf { selection, choices: 1 };
    let sound = audit(&paid, &whole, settings);
    assert!(!sound.violated && sound.epsilon_lower > 0.2 * sound.epsilon_claimed, "{sound:?}");
    let many = BestOf { choices: 20, ..paid };
    let caught = audit(&many, &one_run, settings);
    assert!(caught.violated, "{caught:?}");
}
