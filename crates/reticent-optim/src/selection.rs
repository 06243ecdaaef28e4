//! Private selection: try settings on the rows themselves, publish the best run, pay for the
//! choice.
//!
//! # Theorem
//!
//! Draw a number of runs from the logarithmic law `P(K = k) = (1 − γ)^k/(k·ln(1/γ))`. Each run
//! draws a plan from the list, carries it out, and scores its weights with noise. Publish weights,
//! plan and score of the best run and nothing else: not the number of runs, no other run. The cost
//! is [`Event::tuned`] of the list's events, each composed with its score: about one and a half
//! times one run's epsilon. The proofs are in [`reticent_privacy::tuning`], by profiles and by
//! Rényi orders; the smaller bound counts.
//!
//! # The score
//!
//! Each row counts between 0 and 1 ([`Oracle::score`]), so one row moves the score by at most 1,
//! under every adjacency and whatever the weights are. The score gets discrete Gaussian noise on a
//! grid. Its profile is that of the continuous one but for a distance ([`GaussianLattice`], 2),
//! which the event carries once for each expected run.
//!
//! # The draw of `K`
//!
//! By inversion of a table of `N` sums of probabilities on a grid of `2^-53`. A probability is off
//! by at most `(k + 10)` units of rounding relatively, a sum adds half a unit and the grid two
//! more; with the cut-off tail this stays below `(4N + 4·E K + 40)·2^-53` in total variation, which
//! the event carries.

use rand_core::Rng as _;
use reticent_data::{Oracle, Question, Sensitive};
use reticent_noise::integer::uniform_below;
use reticent_noise::lattice::GaussianLattice;
use reticent_noise::{Purpose, Source, Stream};
use reticent_privacy::tuning::{expected_trials, tnb_mean};
use reticent_privacy::{Budget, Epsilon, Event, Trials, delta_upper, epsilon_upper};
use reticent_problem::Problem;
use serde::{Deserialize, Serialize};

use crate::plan::plan_named;
use crate::step::perturb::{Noise, release};
use crate::{Assumption, Plan, PlanError, Quiet, Release, RunError, Settings};

/// The noise on a score times the budget's epsilon, in rows.
const SCORE_NOISE: f64 = 25.0;

/// The most runs on average.
const MOST_TRIALS: f64 = 200.0;

/// Halvings of the interval in which the epsilon of one run is sought.
const HALVINGS: usize = 9;

/// One thing to try: a problem, an algorithm and what is fixed of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The objective and its constraint set. The table's shape and bounds are the same for all.
    pub problem: Problem,
    /// Its word.
    pub algorithm: String,
    /// The fixed settings.
    pub request: Settings,
}

impl Choice {
    /// Its plan within a budget. Reads no row.
    ///
    /// # Errors
    ///
    /// [`PlanError`].
    pub fn plan(&self, budget: Budget) -> Result<Plan, PlanError> {
        plan_named(&self.problem, budget, &self.request, &self.algorithm)
    }

    /// The same as one of so many candidates.
    fn among(&self, candidates: usize) -> Self {
        let problem = Problem { candidates: Some(candidates), ..self.problem.clone() };
        Self { problem, ..self.clone() }
    }
}

/// Every choice made before the data is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The total privacy budget.
    pub budget: Budget,
    /// The candidate plans, each within the budget of one run.
    pub candidates: Vec<Plan>,
    /// The law of the number of runs.
    pub trials: Trials,
    /// Standard deviation of the noise on a score, in rows.
    pub score_noise: f64,
    /// The event charged to the budget.
    pub event: Event,
}

/// The best run.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// Which candidate it was.
    pub candidate: usize,
    /// Its weights, and the event of the whole choice.
    pub release: Release,
    /// How many rows it predicts right, with noise; of a number, how near.
    pub score: f64,
}

impl Selection {
    /// Splits the budget: the largest epsilon for one run such that the choice among about `mean`
    /// runs keeps `budget`. Reads no row.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if a choice has no plan or cannot be chosen among.
    pub fn plan(choices: &[Choice], budget: Budget, mean: f64) -> Result<Self, PlanError> {
        let outside = |name, expected: &str, got| {
            Err(PlanError::OutOfRange { name, expected: expected.to_owned(), got })
        };
        if budget.delta.get() == 0.0 {
            return outside("delta", "> 0: the cost of a choice is known for that alone", 0.0);
        }
        if choices.is_empty() {
            return outside(
                "try",
                "given at least once: no algorithm of the planner's can be chosen among here",
                0.0,
            );
        }
        if !(1.5..=MOST_TRIALS).contains(&mean) {
            return outside("trials", "between 1.5 and 200 runs on average", mean);
        }
        if budget.epsilon.is_infinite() {
            let why = "finite: without privacy nothing is gained by a random number of runs";
            return outside("epsilon", why, f64::INFINITY);
        }
        if choices.iter().any(|c| !c.problem.bounds.label().is_finite()) {
            let why = "finite, so that a score can be bounded; declare bounds of the target";
            return outside("label_bound", why, f64::INFINITY);
        }
        let choices: Vec<Choice> = choices.iter().map(|c| c.among(choices.len())).collect();
        let trials = logarithmic(mean);
        let score_noise = score_noise(budget);
        let at = |epsilon: f64| -> Result<Self, PlanError> {
            let one = Budget { epsilon: Epsilon::new(epsilon)?, ..budget };
            let candidates = choices.iter().map(|c| c.plan(one)).collect::<Result<Vec<_>, _>>()?;
            let event = event(&candidates, trials, score_noise, budget)?;
            Ok(Self { budget, candidates, trials, score_noise, event })
        };
        // The choice costs at least what a run costs, and seldom more than three times that.
        let whole = budget.epsilon.get();
        let (mut low, mut high) = (whole / 4.0, whole);
        let mut kept = at(low)?;
        while !keeps(&kept.event, budget)? {
            (low, high) = (low / 4.0, low);
            if low < whole * 1e-3 {
                let why = "large enough that every candidate can be run on a part of it; ask for fewer runs or a larger delta";
                return outside("epsilon", why, whole);
            }
            kept = at(low)?;
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match at(middle) {
                Ok(more) if keeps(&more.event, budget)? => (low, kept) = (middle, more),
                _ => high = middle,
            }
        }
        Ok(kept)
    }

    /// Whether a plan can be chosen among: an accountant must know the cost of that.
    pub fn can_try(plan: &Plan) -> bool {
        Event::tuned(vec![plan.outline().event.clone()], logarithmic(2.0), 0.0).is_ok()
    }

    /// The same selection, recomputed from its candidates. One that differs from it was altered.
    ///
    /// # Errors
    ///
    /// [`PlanError`], if a candidate cannot be planned.
    pub fn again(&self) -> Result<Self, PlanError> {
        let candidates = self.candidates.iter().map(Plan::again).collect::<Result<Vec<_>, _>>()?;
        let score_noise = score_noise(self.budget);
        let event = event(&candidates, self.trials, score_noise, self.budget)?;
        Ok(Self { candidates, score_noise, event, ..self.clone() })
    }

    /// Whether every candidate is marked as one of this many, so that none passes for a plan of its
    /// own.
    pub fn marks_candidates(&self) -> bool {
        let count = Some(self.candidates.len());
        self.candidates.iter().all(|plan| plan.outline().problem.candidates == count)
    }

    /// Whether it is what [`Self::plan`] makes: its event follows from its candidates and keeps its
    /// budget.
    pub fn is_whole(&self) -> bool {
        self.marks_candidates()
            && self.again().is_ok_and(|again| again == *self)
            && keeps(&self.event, self.budget).unwrap_or(false)
    }

    /// The assumptions of the guarantee, besides those of the chosen plan.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let theorem = "private selection by profiles (docs/tuning.md), or Papernot and Steinke 2022, Theorem 2";
        vec![
            Assumption::new(
                "only the best run is published: the number of runs, the other runs and their scores stay secret, in time and logs too",
                "owner",
                theorem,
            ),
            Assumption::new(
                "the list of what is tried was not made by looking at the data",
                "owner",
                theorem,
            ),
        ]
    }

    /// Spends the budget. How many runs there were is told to nobody, so nobody hears of progress
    /// either.
    ///
    /// # Errors
    ///
    /// [`RunError`]; none depends on a row's value.
    pub fn run(&self, oracle: &dyn Oracle, source: &Source) -> Result<Selected, RunError> {
        let mut stream = source.stream(Purpose::Sampling);
        let lattice = GaussianLattice::new(1.0, self.score_noise, 1)?;
        let noise = Noise::Gaussian {
            noise_multiplier: self.score_noise,
            sigma: lattice.sigma(),
            grid: lattice.grid(),
        };
        let mut best: Option<Selected> = None;
        for _ in 0..draw(self.trials, &mut stream) {
            let candidate = uniform_below(self.candidates.len() as u64, &mut stream) as usize;
            let plan = &self.candidates[candidate];
            let Release { weights, unseen, .. } = plan.run(oracle, source, &Quiet)?;
            let mut right = Sensitive::new(vec![0.0]);
            let question = Question::Score { at: &weights };
            oracle.ask(&plan.outline().problem, &question, &mut right)?;
            let score = release(right, noise, 1.0, self.score_noise, source)?[0];
            if best.as_ref().is_none_or(|best| score > best.score) {
                let release = Release { unseen, ..Release::new(weights, &self.event) };
                best = Some(Selected { candidate, release, score });
            }
        }
        best.ok_or(RunError::NotCertified)
    }
}

/// Little enough to tell candidates apart, and enough that a score costs little.
fn score_noise(budget: Budget) -> f64 {
    SCORE_NOISE / budget.epsilon.get()
}

/// The event of the whole selection.
fn event(
    candidates: &[Plan],
    trials: Trials,
    score_noise: f64,
    budget: Budget,
) -> Result<Event, PlanError> {
    // The one law that is drawn from, and means for which its table is short.
    let mean = expected_trials(trials)?;
    let logarithmic = matches!(trials, Trials::TruncatedNegativeBinomial { eta: 0.0, .. });
    if !logarithmic || !(1.0..=MOST_TRIALS * 1.01).contains(&mean) || candidates.is_empty() {
        let expected = format!(
            "of the logarithmic law with a mean of at most {MOST_TRIALS}, and something to try"
        );
        return Err(PlanError::OutOfRange { name: "trials", expected, got: mean });
    }
    let adjacency = budget.adjacency;
    let score = Event::Approximated {
        inner: Box::new(Event::Gaussian { noise_multiplier: score_noise, adjacency }),
        total_variation: GaussianLattice::new(1.0, score_noise, 1)?.total_variation(),
    };
    let with_score =
        |plan: &Plan| Event::Composed(vec![plan.outline().event.clone(), score.clone()]);
    let bases = candidates.iter().map(with_score).collect();
    Ok(Event::tuned(bases, trials, distance(trials))?)
}

fn keeps(event: &Event, budget: Budget) -> Result<bool, PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    Ok(epsilon_upper(event, delta)? <= epsilon || delta_upper(event, epsilon)? <= delta)
}

/// The logarithmic law with this mean, or one a hair larger.
fn logarithmic(mean: f64) -> Trials {
    let (mut low, mut high) = (1e-12_f64, 1.0 - 1e-12);
    for _ in 0..100 {
        let gamma = (low * high).sqrt();
        if tnb_mean(gamma, 0.0).is_ok_and(|m| m >= mean) {
            low = gamma;
        } else {
            high = gamma;
        }
    }
    Trials::TruncatedNegativeBinomial { eta: 0.0, gamma: low }
}

/// `Σ_{j <= k} P(K = j)` for `k = 1, 2, …` up to where the rest is below `2^-54`.
fn table(trials: Trials) -> Vec<f64> {
    let Trials::TruncatedNegativeBinomial { gamma, .. } = trials else { return vec![1.0] };
    let (log, mut power, mut sum) = (-gamma.ln(), 1.0, 0.0);
    let mut table = Vec::new();
    for k in 1_u64.. {
        power *= 1.0 - gamma;
        sum += power / (k as f64 * log);
        table.push(sum);
        // The rest is below the geometric series that begins with the next term.
        if power / (k as f64 * log * gamma) < 0.5 * f64::EPSILON * 0.25 {
            break;
        }
    }
    table
}

/// How far the drawn law may be from the one that is charged.
fn distance(trials: Trials) -> f64 {
    let mean = expected_trials(trials).unwrap_or(f64::INFINITY);
    (4.0 * table(trials).len() as f64 + 4.0 * mean + 40.0) * 0.5 * f64::EPSILON
}

/// A number of runs.
fn draw(trials: Trials, stream: &mut Stream) -> u64 {
    let uniform = (stream.next_u64() >> 11) as f64 * 0.5 * f64::EPSILON;
    let table = table(trials);
    let place = table.partition_point(|sum| *sum <= uniform);
    (place.min(table.len() - 1) + 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_privacy::tuning::tnb_pmf;

    #[test]
    fn the_number_of_runs_follows_its_law() {
        let trials = logarithmic(8.0);
        let Trials::TruncatedNegativeBinomial { gamma, eta } = trials else { panic!() };
        assert!((tnb_mean(gamma, eta).unwrap() - 8.0).abs() < 1e-9);
        let sums = table(trials);
        let mut sum = 0.0;
        for (i, got) in sums.iter().enumerate().take(200) {
            sum += tnb_pmf(gamma, eta, i as u64 + 1).unwrap();
            assert!((got - sum).abs() < 1e-13, "{i}");
        }
        assert!(sums.last().unwrap() > &(1.0 - 1e-13));

        let mut stream = Source::seeded_not_private(5).stream(Purpose::Sampling);
        let (n, mut counts, mut total) = (20_000, [0_u64; 4], 0);
        for _ in 0..n {
            let k = draw(trials, &mut stream);
            total += k;
            counts[(k as usize).min(4) - 1] += 1;
        }
        // Six standard deviations: a false alarm has odds below 1e-8.
        for k in 1..4 {
            let p = tnb_pmf(gamma, eta, k as u64).unwrap();
            let off = counts[k - 1] as f64 - p * f64::from(n);
            assert!(off.abs() < 6.0 * (f64::from(n) * p * (1.0 - p)).sqrt(), "{k}: {off}");
        }
        let mean = total as f64 / f64::from(n);
        assert!((mean - 8.0).abs() < 1.0, "{mean}");
    }
}
