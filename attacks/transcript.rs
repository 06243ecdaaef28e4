//! Reads whole transcripts of clipped-sgd: the noisy moments and every noisy sum of one run.
//!
//! The attacker knows all rows but one. It sees more than is released, namely all that the proof
//! says the event pays for, and computes the exact likelihood ratio `e^L` of two neighbouring
//! tables under the proof's model: Gaussian noise of the charged scale on the moments, each row in
//! each batch with the planned probability, and Gaussian noise on sums of clipped and shortened
//! gradients. If the code does what the model says, then
//!
//! ```text
//! E_B[e^L] = 1   and   E_A[e^−L] = 1,      L = ln p_A − ln p_B,
//! ```
//!
//! exactly, whatever the tables. Noise of another scale, another sampler, another `P` or another
//! clip norm moves the means. The moments take a tenth of the budget and hardly move them, so the
//! energy of their noise is looked at too, and that of the sums where no row adds to them. So this
//! checks that the code is the mechanism that the accountant prices.
//!
//! The price is measured with the same `L`: for these tables
//!
//! ```text
//! δ(ε) = E_A[(1 − e^{ε−L})₊]   and, the other way,   E_B[(1 − e^{ε+L})₊],
//! ```
//!
//! which must not exceed what the accountant says of the plan's event. A claim with a third less
//! noise than is needed, which is what an event that is too cheap amounts to, is exceeded.
//!
//! Both tables hold rows that add nothing, and one that is as long as rows may be: there `L` is
//! largest, and under add-remove adjacency it attains the claim.
//!
//! # False alarms
//!
//! A mean of [`RUNS`] values is off by [`ALARM`] standard errors with odds of about 1e-6, or 1e-5
//! with what the skewness of `e^L` adds; there are four such means, and five of squares, and of
//! each pair of tables ten values of `δ`, which are looked at where at least [`FEWEST`] transcripts
//! add to them. The seeds are fixed, so a check has the same outcome every time.
//!
//! Run with ten times as many transcripts:
//! `cargo test --release -p reticent-optim --test attack_transcript -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "settings are constants; a panic is a failed test")]

#[path = "../crates/reticent-optim/tests/it/common/kept.rs"]
mod kept;

use kept::run_from;
use reticent_data::{
    Dense, Features, LocalOracle, Preconditioner, Rows, Speed, moments_rounding, shortened_rounding,
};
use reticent_noise::Source;
use reticent_noise::fast::FastGaussian;
use reticent_optim::Algorithm as _;
use reticent_optim::clipped_sgd::{Clip, ClippedSgd, ClippedSgdPlan, Output};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, delta_upper};
use reticent_problem::{Loss, Problem, RowBounds};

/// Transcripts of each table.
const RUNS: u64 = 4000;
/// Standard errors by which a mean may be off.
const ALARM: f64 = 5.0;
/// Transcripts that must add to a measured `δ`.
const FEWEST: usize = 100;
/// Where `δ` is measured.
const EPSILONS: [f64; 5] = [0.0, 0.3, 0.6, 1.0, 1.5];
/// Declared rows.
const ROWS: usize = 400;
const FEATURES: usize = 3;
const KEEP: f64 = 0.3;

/// A row and its label, or none.
type Canary = Option<([f64; FEATURES], f64)>;

/// A pair of neighbouring tables.
#[derive(Clone, Copy)]
struct Game {
    adjacency: Adjacency,
    with: Canary,
    without: Canary,
}

const ADDED: Game =
    Game { adjacency: Adjacency::AddRemoveOne, with: Some(([1.0, 0.0, 0.0], 1.0)), without: None };

const REPLACED: Game = Game {
    adjacency: Adjacency::ReplaceOne,
    with: Some(([1.0, 0.0, 0.0], 1.0)),
    without: Some(([-1.0, 0.0, 0.0], 1.0)),
};

/// A null row in the place of one.
const ZEROED: Game = Game {
    adjacency: Adjacency::ZeroOut,
    with: Some(([1.0, 0.0, 0.0], 1.0)),
    without: Some(([0.0, 0.0, 0.0], 1.0)),
};

/// Entries in the ratio 1 to −0.3222, swapped: of two entries the ones that move first and second
/// moments together farthest (decision 0082).
const FARTHEST: Game = Game {
    adjacency: Adjacency::ReplaceOne,
    with: Some(([0.9518, -0.3066, 0.0], 1.0)),
    without: Some(([-0.3066, 0.9518, 0.0], 1.0)),
};

fn plan(adjacency: Adjacency) -> ClippedSgdPlan {
    let bounds = RowBounds::features(1.0).unwrap();
    let problem = Problem::new(Loss::Logistic, bounds, ROWS, FEATURES);
    let budget =
        Budget { epsilon: Epsilon::new(3.0).unwrap(), delta: Delta::new(1e-5).unwrap(), adjacency };
    let settings = ClippedSgd {
        clip: Clip::Public { norm: 0.05 },
        batch: Some(100),
        steps: Some(8),
        eta: Some(1.0),
        output: Some(Output::Last),
        precondition: Some(KEEP),
        ..ClippedSgd::default()
    };
    settings.plan(&problem, budget).unwrap()
}

/// Rows that add nothing, and the canary.
fn table(canary: Canary) -> LocalOracle {
    let mut x = vec![0.0; FEATURES * (ROWS - 1)];
    let mut y = vec![1.0; ROWS - 1];
    if let Some((row, label)) = canary {
        x.extend(row);
        y.push(label);
    }
    let features = Features::F64(Dense::new(y.len(), FEATURES, x));
    let rows = Rows::new(features, y, RowBounds::features(1.0).unwrap());
    LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap()
}

/// All that a run shows: the noisy moments, `P`, and of each step the weights before it and the
/// noisy sum.
struct Transcript {
    moments: Vec<f64>,
    preconditioner: Preconditioner,
    steps: Vec<(Vec<f64>, Vec<f64>)>,
}

fn transcript(plan: &ClippedSgdPlan, oracle: &LocalOracle, seed: u64) -> Transcript {
    let source = || Source::seeded_not_private(seed);
    let moments = plan.release_moments(oracle, &source()).unwrap().unwrap();
    let mut states = Vec::new();
    let keep = |state: &reticent_optim::clipped_sgd::State| {
        states.push(state.clone());
        Ok(())
    };
    run_from(plan, None, oracle, &source(), keep).unwrap();
    let preconditioner = states[0].preconditioner.clone().unwrap();
    let step = plan.eta.unwrap() / plan.batch as f64;
    let mut at = vec![0.0; FEATURES];
    let steps = states.into_iter().map(|state| {
        let moved: Vec<f64> =
            at.iter().zip(&state.weights).map(|(old, new)| (old - new) / step).collect();
        (std::mem::replace(&mut at, state.weights), before_transpose(&preconditioner, moved))
    });
    Transcript { moments, steps: steps.collect(), preconditioner: preconditioner.clone() }
}

/// `(Pᵀ)⁻¹ v = (I + (1/k − 1)uuᵀ) D⁻¹ v`.
fn before_transpose(preconditioner: &Preconditioner, mut v: Vec<f64>) -> Vec<f64> {
    v.iter_mut().zip(preconditioner.scales()).for_each(|(v, s)| *v /= s);
    let u = preconditioner.direction();
    let along = (1.0 / preconditioner.keep() - 1.0) * dot(u, &v);
    v.iter_mut().zip(u).for_each(|(v, u)| *v += along * u);
    v
}

/// The proof's model of a run.
#[derive(Clone, Copy)]
struct Model {
    moments_deviation: f64,
    deviation: f64,
    rate: f64,
    clip: f64,
    shortens: bool,
}

impl Model {
    fn of(plan: &ClippedSgdPlan) -> Self {
        let problem = &plan.outline.problem;
        // Two sums, each of which a row moves by at most its norm, 1.
        let unit = 2_f64.sqrt() * moments_rounding(problem);
        let steps = plan.outline.steps as f64;
        let multiplier = 3.0 * plan.noise_multiplier / (plan.sample_rate * steps.sqrt());
        let clip = plan.clip.unwrap();
        let sum = clip * shortened_rounding(problem, plan.sample_rate, KEEP);
        let law = |unit, multiplier, dimension| FastGaussian::new(unit, multiplier, dimension);
        Self {
            moments_deviation: law(unit, multiplier, 2 * FEATURES).unwrap().sigma(),
            deviation: law(sum, plan.noise_multiplier, FEATURES).unwrap().sigma(),
            rate: plan.sample_rate,
            clip,
            shortens: true,
        }
    }

    /// The log-likelihood of a transcript, up to what is the same for every canary.
    fn log_likelihood(&self, seen: &Transcript, canary: Canary) -> f64 {
        let Some((row, label)) = canary else { return 0.0 };
        let squares = row.map(|x| x * x);
        let added: Vec<f64> = row.into_iter().chain(squares).collect();
        let moments = log_ratio(&seen.moments, &added, self.moments_deviation);
        let steps = seen.steps.iter().map(|(at, noisy)| {
            let gradient = self.gradient(&seen.preconditioner, &row, label, at);
            let joined = log_ratio(noisy, &gradient, self.deviation);
            (1.0 - self.rate + self.rate * joined.exp()).ln()
        });
        moments + steps.sum::<f64>()
    }

    /// The squares of the noise of a transcript, over what they are in the mean: of the moments,
    /// and of the sums where no row adds to them.
    fn noise(&self, seen: &Transcript, canary: Canary) -> [Vec<f64>; 2] {
        let row = canary.map_or([0.0; FEATURES], |(row, _)| row);
        let added = row.into_iter().chain(row.map(|x| x * x));
        let moments = seen.moments.iter().zip(added).map(|(seen, added)| seen - added);
        let sums = seen.steps.iter().flat_map(|(_, noisy)| noisy).copied();
        let square = |deviation: f64| move |x: f64| (x / deviation).powi(2);
        [
            moments.map(square(self.moments_deviation)).collect(),
            if canary.is_none() { sums.map(square(self.deviation)).collect() } else { Vec::new() },
        ]
    }

    /// The contribution of the row to a sum that it joins: its gradient, preconditioned and
    /// clipped.
    fn gradient(
        &self,
        preconditioner: &Preconditioner,
        row: &[f64],
        label: f64,
        at: &[f64],
    ) -> Vec<f64> {
        let slope = -label / (1.0 + (label * dot(row, at)).exp());
        let mut gradient: Vec<f64> = row.iter().map(|x| slope * x).collect();
        if self.shortens {
            preconditioner.apply(&mut gradient);
        }
        let factor = (self.clip / dot(&gradient, &gradient).sqrt()).min(1.0);
        for g in &mut gradient {
            *g *= factor;
        }
        gradient
    }
}

/// `ln` of the density of `N(mean, deviation² I)` over that of `N(0, deviation² I)`.
fn log_ratio(seen: &[f64], mean: &[f64], deviation: f64) -> f64 {
    (dot(seen, mean) - 0.5 * dot(mean, mean)) / (deviation * deviation)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Transcripts of both tables of a game, without the row and with it.
fn transcripts(plan: &ClippedSgdPlan, game: Game, runs: u64) -> [Vec<Transcript>; 2] {
    [game.without, game.with].map(|canary| {
        let oracle = table(canary);
        (0..runs).map(|seed| transcript(plan, &oracle, seed)).collect()
    })
}

/// By how many standard errors means are off that should be 1: of `e^L` without the row and of
/// `e^−L` with it, and of the squared noise in both.
fn alarms(seen: &[Vec<Transcript>; 2], model: &Model, game: Game) -> Vec<f64> {
    let mut found = Vec::new();
    for (seen, (canary, sign)) in seen.iter().zip([(game.without, 1.0), (game.with, -1.0)]) {
        let (mut ratios, mut squares) = (Vec::new(), [Vec::new(), Vec::new()]);
        for seen in seen {
            let of = |canary| model.log_likelihood(seen, canary);
            ratios.push((sign * (of(game.with) - of(game.without))).exp());
            let noise = model.noise(seen, canary);
            squares.iter_mut().zip(noise).for_each(|(all, new)| all.extend(new));
        }
        let lists = [&ratios, &squares[0], &squares[1]];
        found.extend(lists.into_iter().filter(|list| !list.is_empty()).map(|list| off(list)));
    }
    found
}

/// By how many standard errors the mean is off from 1.
fn off(list: &[f64]) -> f64 {
    off_from(list, 1.0)
}

fn off_from(list: &[f64], expected: f64) -> f64 {
    let count = list.len() as f64;
    let mean = list.iter().sum::<f64>() / count;
    let square = list.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / count;
    (mean - expected) / (square / count).sqrt()
}

/// By how many standard errors the measured `δ` is above what the accountant says of `event`, at
/// worst over `ε` and both directions.
fn excess(seen: &[Vec<Transcript>; 2], model: &Model, game: Game, event: &Event) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for (seen, sign) in seen.iter().zip([-1.0, 1.0]) {
        let of = |seen, canary| model.log_likelihood(seen, canary);
        let losses: Vec<f64> =
            seen.iter().map(|t| sign * (of(t, game.with) - of(t, game.without))).collect();
        for epsilon in EPSILONS {
            let terms = losses.iter().map(|loss| (-(epsilon - loss).exp_m1()).max(0.0));
            let terms: Vec<f64> = terms.collect();
            if terms.iter().filter(|term| **term > 0.0).count() >= FEWEST {
                most = most.max(off_from(&terms, delta_upper(event, epsilon).unwrap()));
            }
        }
    }
    most
}

/// The event as if its sums had half as much noise again.
fn too_cheap(event: &Event) -> Event {
    match event.clone() {
        Event::Composed(parts) => Event::Composed(parts.iter().map(too_cheap).collect()),
        Event::Approximated { inner, total_variation } => {
            Event::Approximated { inner: Box::new(too_cheap(&inner)), total_variation }
        }
        Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency } => {
            let noise_multiplier = 1.5 * noise_multiplier;
            Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency }
        }
        other => other,
    }
}

fn worst(alarms: &[f64]) -> f64 {
    alarms.iter().fold(0.0, |worst: f64, off| worst.max(off.abs()))
}

#[expect(clippy::print_stdout, reason = "the figures are what a longer run is for")]
fn play(what: &str, game: Game, runs: u64) {
    let sound = plan(game.adjacency);
    let (model, seen) = (Model::of(&sound), transcripts(&sound, game, runs));
    let found = alarms(&seen, &model, game);
    println!("{what}: off by {found:.2?} standard errors");
    assert!(worst(&found) < ALARM, "{what}: {found:?}");
    let event = &sound.outline.event;
    let [claim, cheap] = [event, &too_cheap(event)].map(|e| excess(&seen, &model, game, e));
    println!("{what}: delta above the claim by {claim:.1}, above one too cheap by {cheap:.1}");
    assert!(claim < ALARM, "{what}: {claim}");
    assert!(cheap > ALARM, "{what}, not caught: a claim that is too cheap: {cheap}");

    let caught = |defect: &str, found: Vec<f64>| {
        println!("{what}, {defect}: {found:.1?}");
        assert!(worst(&found) > ALARM, "{what}, not caught: {defect}: {found:?}");
    };
    // Runs that do other things than the plan says.
    let quiet = ClippedSgdPlan { noise_multiplier: 0.5 * sound.noise_multiplier, ..sound.clone() };
    let often = ClippedSgdPlan { sample_rate: 3.0 * sound.sample_rate, ..sound.clone() };
    for (defect, broken) in [("half the noise", quiet), ("three times the rows", often)] {
        caught(defect, alarms(&transcripts(&broken, game, runs / 4), &model, game));
    }
    // Models of other code: this code is to them as broken code is to the proof's.
    let moments = Model { moments_deviation: 2.0 * model.moments_deviation, ..model };
    caught("half the noise on the moments", alarms(&seen, &moments, game));
    let sums = Model { deviation: 2.0 * model.deviation, ..model };
    caught("half the noise on the sums", alarms(&seen, &sums, game));
    let longer = Model { clip: 2.0 * model.clip, ..model };
    caught("half the clip norm", alarms(&seen, &longer, game));
    if game.without.is_none() {
        // Where a row is replaced, both rows are missed alike.
        let plain = Model { shortens: false, clip: f64::INFINITY, ..model };
        caught("gradients neither shortened nor clipped", alarms(&seen, &plain, game));
    }
}

#[test]
fn added_the_code_is_the_mechanism_that_is_priced_and_planted_errors_are_caught() {
    play("add-remove", ADDED, RUNS);
}

#[test]
fn replaced_the_code_is_the_mechanism_that_is_priced_and_planted_errors_are_caught() {
    play("replace-one", REPLACED, RUNS);
}

#[test]
fn other_neighbours_stay_within_the_claim() {
    for (what, game) in [("zero-out", ZEROED), ("the farthest moments", FARTHEST)] {
        let sound = plan(game.adjacency);
        let (model, seen) = (Model::of(&sound), transcripts(&sound, game, RUNS / 2));
        let found = alarms(&seen, &model, game);
        let claim = excess(&seen, &model, game, &sound.outline.event);
        println!("{what}: off by {found:.2?}, delta above the claim by {claim:.1}");
        assert!(worst(&found) < ALARM && claim < ALARM, "{what}: {found:?} {claim}");
    }
}

#[test]
#[ignore = "takes a minute: run by hand"]
fn many_transcripts_of_the_code_are_what_is_priced() {
    play("add-remove", ADDED, 10 * RUNS);
    play("replace-one", REPLACED, 10 * RUNS);
}
