//! Private selection: better than a run at random, and no easier to attack than it says.
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent_noise::Source;
use reticent_optim::least_squares::ORDER;
use reticent_optim::setting::{RIDGE, STEPS};
use reticent_optim::{Choice, Selection, Settings};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, epsilon_upper};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

fn budget(epsilon: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

/// Rows on a line; the label is the sign, but for `wrong` of them.
fn table(n: usize, wrong: usize) -> Rows {
    let x: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 0.9 } else { -0.7 }).collect();
    let labels =
        x.iter().enumerate().map(|(i, x)| if i < wrong { -x.signum() } else { x.signum() });
    let labels = labels.collect();
    Rows::new(Features::F64(Dense::new(n, 1, x)), labels, RowBounds::features(1.0).unwrap())
}

fn problem(n: usize) -> Problem {
    Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), n, 1)
}

fn choice(n: usize, algorithm: &str, request: Settings) -> Choice {
    Choice { problem: problem(n), algorithm: algorithm.to_owned(), request }
}

#[test]
fn the_budget_is_kept_and_used_and_a_run_gets_less_the_dearer_the_choice() {
    let choices = [
        choice(2000, "objective", Settings::default()),
        choice(2000, "output-gd", Settings::default().with(&STEPS, 20_u64)),
        choice(2000, "clipped-sgd", Settings::default().with(&STEPS, 30_u64)),
    ];
    let mut before = f64::INFINITY;
    for mean in [2.0, 16.0, 100.0] {
        let selection = Selection::plan(&choices, budget(1.0), mean).unwrap();
        let spent = epsilon_upper(&selection.event, 1e-6).unwrap();
        // Plans change their noise with epsilon, so the cost jumps, and the last bit may stay
        // unspent.
        assert!(spent <= 1.0 && spent > 0.97, "{mean}: {spent}");
        let one = selection.candidates[0].outline().budget.epsilon.get();
        assert!(one < before && one > 0.35 && one < 0.9, "{mean}: {one}");
        before = one;
        assert_eq!(selection.again().unwrap(), selection);
        assert!(selection.is_whole());
        let mut cheaper = selection.clone();
        cheaper.budget.epsilon = Epsilon::new(0.5).unwrap();
        assert!(!cheaper.is_whole());
        // Composing sixteen runs would leave less.
        if mean == 16.0 {
            let once = selection.candidates[0].outline().event.clone();
            let all = Event::Repeated { event: Box::new(once), times: 16 };
            assert!(epsilon_upper(&all, 1e-6).unwrap() > 1.5);
        }
    }
}

/// Their costs are known by a profile and have no Rényi curve.
#[test]
fn algorithms_without_a_renyi_curve_can_be_tried() {
    let ball = Domain::Ball { radius: 1.0 };
    let classes = Problem { domain: ball, ..problem(2000) };
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let numbers = Problem::new(Loss::Squared, bounds, 2000, 2);
    let drawn = Settings::default().with(&ORDER, "with-replacement");
    for (algorithm, problem, request) in [
        ("output-sgd", &classes, Settings::default()),
        ("permuted-sgd", &classes, Settings::default()),
        ("shuffled-mirror", &classes, Settings::default()),
        ("random-round", &problem(2000), Settings::default()),
        ("least-squares", &numbers, drawn),
    ] {
        let algorithm = algorithm.to_owned();
        let choice = Choice { problem: problem.clone(), algorithm, request };
        let selection = Selection::plan(std::slice::from_ref(&choice), budget(1.0), 8.0);
        let selection = selection.unwrap_or_else(|e| panic!("{}: {e}", choice.algorithm));
        let spent = epsilon_upper(&selection.event, 1e-6).unwrap();
        // The amplification by shuffling is known at one point of the profile only: its runs can be
        // tried, with little left for each.
        let shuffled = choice.algorithm == "shuffled-mirror";
        let (least, least_run) = if shuffled { (0.6, 0.02) } else { (0.9, 0.4) };
        assert!(spent <= 1.0 && spent > least, "{}: {spent}", choice.algorithm);
        let one = selection.candidates[0].outline().budget.epsilon.get();
        assert!(one > least_run, "{}: {one}", choice.algorithm);
        assert!(Selection::can_try(&selection.candidates[0]) && selection.is_whole());
    }
}

#[test]
fn a_law_that_nobody_draws_from_is_refused_at_once() {
    let choices = [choice(500, "objective", Settings::default())];
    let honest = Selection::plan(&choices, budget(1.0), 4.0).unwrap();
    for gamma in [0.0, 1.0, 1e-9, 1e-300, f64::NAN] {
        let trials = reticent_privacy::Trials::TruncatedNegativeBinomial { eta: 0.0, gamma };
        assert!(Selection { trials, ..honest.clone() }.again().is_err(), "{gamma}");
    }
    let trials = reticent_privacy::Trials::Poisson { mean: 4.0 };
    assert!(Selection { trials, ..honest.clone() }.again().is_err());
    assert!(Selection { candidates: Vec::new(), ..honest }.again().is_err());
}

#[test]
fn the_better_setting_wins_nearly_always() {
    let n = 4000;
    // A ridge that leaves nothing of the weights, so that noise decides the sign, and one that does
    // not.
    let choices = [
        choice(n, "objective", Settings::default().with(&RIDGE, 1e4)),
        choice(n, "objective", Settings::default().with(&RIDGE, 1e-3)),
    ];
    let selection = Selection::plan(&choices, budget(2.0), 10.0).unwrap();
    let oracle = LocalOracle::new(table(n, 400), Speed::default()).unwrap();
    let (mut good, mut right) = (0, 0.0);
    for seed in 0..40 {
        let source = Source::seeded_not_private(seed);
        let best = selection.run(&oracle, &source).unwrap();
        good += usize::from(best.release.weights[0] > 0.0);
        right += best.score / 40.0;
        assert_eq!(best.release.event, selection.event);
    }
    // One run in two has the bad ridge, half of those the wrong sign; with a single run (a chance
    // of a fifth) nothing is chosen.
    assert!(good >= 34, "{good} of 40");
    assert!((right - 3600.0).abs() < 500.0, "{right}");
}

/// The worst pair for the score: a row that every candidate gets right, or wrong. The attacker sees
/// the published score.
#[test]
fn the_published_score_keeps_the_promise_and_a_naked_one_does_not() {
    // Rows enough that the fitted sign is sure: only the score depends on the row.
    let n = 2000;
    let selection =
        Selection::plan(&[choice(n, "objective", Settings::default())], budget(1.0), 4.0);
    let selection = selection.unwrap();
    let oracles = [0, 1].map(|wrong| LocalOracle::new(table(n, wrong), Speed::default()).unwrap());
    let runs = 600;
    let scores = |selection: &Selection, oracle: &LocalOracle, first: u64| -> Vec<f64> {
        (0..runs)
            .map(|i| {
                let source = Source::seeded_not_private(first + i);
                selection.run(oracle, &source).unwrap().score
            })
            .collect()
    };
    // The threshold halfway; a lower bound on epsilon from the two rates, four standard deviations
    // below: false alarm 6e-5 for a fixed threshold, by the normal approximation.
    let attack = |selection: &Selection| {
        let (high, low) =
            (scores(selection, &oracles[0], 0), scores(selection, &oracles[1], 1 << 32));
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let threshold = 0.5 * (mean(&high) + mean(&low));
        let rate = |v: &[f64]| v.iter().filter(|s| **s > threshold).count() as f64 / runs as f64;
        let spread = 4.0 * (0.25 / runs as f64).sqrt();
        ((rate(&high) - spread).max(1e-9) / (rate(&low) + spread)).ln()
    };
    let honest = attack(&selection);
    assert!(honest < 1.0, "{honest}");
    let naked = Selection { score_noise: 0.05, ..selection };
    let got = attack(&naked);
    assert!(got > 1.0, "a score without its noise tells the row: {got}");
}
