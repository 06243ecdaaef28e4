//! Rows with weights: sound plans are never refuted, and copies in which a weight may be twice as
//! large as declared are.
//!
//! One of the canary's replacements is itself without weight (`audit/neighbours.rs`).

use reticent::optim::clipped_sgd::{Clip, Output};
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{
    ALGORITHMS, ClippedSgd, CoordinateMean, GradientSgd, Mirror, NoisySgd, ObjectivePerturbation,
    OutputGd, OutputSgd, PermutedSgd, Phased, Plan, RandomRound, ShuffledMirror, TruncatedMirror,
    WeightSupport,
};
use reticent::privacy::Adjacency;
use reticent::problem::{Domain, Loss, Problem, RowBounds};

use crate::audit::support::{Case, Lie, budget, check, planned, saturated, usual};

fn weighted(problem: Problem) -> Problem {
    Problem { weighted: true, ..problem }
}

const DOUBLE: &str = "weights up to twice the declared largest";

#[test]
fn every_algorithm_that_carries_weights_keeps_its_claim() {
    let ball = weighted(Problem { domain: Domain::Ball { radius: 1e6 }, ..saturated(4, 1) });
    let linear = |rows| weighted(saturated(rows, 1));
    let free = |rows: usize| {
        weighted(Problem {
            domain: Domain::Box { low: vec![-1e3], high: vec![1e3] },
            slope_limit: Some(1.0),
            ..Problem::new(Loss::Squared, RowBounds::unbounded(1e6).unwrap(), rows, 1)
        })
    };
    let clipped = ClippedSgd {
        clip: Clip::Public { norm: 1.0 },
        batch: Some(4),
        steps: Some(3),
        eta: Some(1e-9),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let long = weighted(Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), 4, 1));
    let objective = ObjectivePerturbation {
        extra_ridge: Some(50.0),
        tolerance: Some(1e-6),
        ..ObjectivePerturbation::default()
    };
    let output = OutputGd { noise: NoiseChoice::Gaussian, steps: Some(5), ..OutputGd::default() };
    let gradient =
        GradientSgd { batch: Some(4), steps: Some(3), eta: Some(1e-3), ..GradientSgd::default() };
    let round =
        RandomRound { batch: Some(4), steps: Some(8), eta: Some(1.0), ..RandomRound::default() };
    let noisy = NoisySgd { batch: Some(4), steps: Some(4), ..NoisySgd::default() };
    let mean = CoordinateMean {
        clip: Some(1.0),
        steps: Some(1),
        eta: Some(1.0),
        ..CoordinateMean::default()
    };
    let walk = OutputSgd { steps: Some(20), eta: Some(1e-3), ..OutputSgd::default() };
    let permuted = PermutedSgd { passes: Some(8), eta: Some(1e-3), ..PermutedSgd::default() };
    let truncated =
        TruncatedMirror { clip: Some(1.0), steps: Some(2), ..TruncatedMirror::default() };
    let mirror = Mirror { steps: Some(1), ..Mirror::default() };
    let phased = Phased { eta: Some(1.0), ..Phased::default() };
    let plans = [
        planned(&clipped, &long, usual(), Plan::ClippedSgd),
        planned(&objective, &weighted(saturated(4, 3)), usual(), Plan::Objective),
        planned(&output, &linear(4), usual(), Plan::OutputGd),
        planned(&gradient, &ball, usual(), Plan::GradientSgd),
        planned(&round, &linear(4), usual(), Plan::RandomRound),
        planned(&noisy, &ball, usual(), Plan::NoisySgd),
        planned(&mirror, &linear(4), usual(), Plan::Mirror),
        planned(&mean, &free(4), usual(), Plan::CoordinateMean),
        planned(&walk, &linear(2), usual(), Plan::OutputSgd),
        planned(&permuted, &linear(2), usual(), Plan::PermutedSgd),
        planned(&phased, &linear(2), usual(), Plan::Phased),
        planned(&truncated, &free(4), usual(), Plan::TruncatedMirror),
    ];
    let mut seen = Vec::new();
    for plan in plans {
        let word = plan.algorithm();
        seen.push(word);
        check(word, vec![Case::new("weights", plan).lied_to(DOUBLE, Lie::CountsTwice)]);
    }
    let shuffled = ShuffledMirror { batch: Some(1), clip: Some(1.0), ..ShuffledMirror::default() };
    let little = budget(0.2, 0.05, Adjacency::ReplaceOne);
    let wide = Problem { domain: Domain::Ball { radius: 1e9 }, ..free(60) };
    let shuffled = planned(&shuffled, &wide, little, Plan::ShuffledMirror);
    seen.push(shuffled.algorithm());
    check(
        "shuffled-mirror",
        vec![Case::new("weights", shuffled).runs(1_500).scaled(
            "a twentieth of the noise",
            "/noise_multiplier",
            0.05,
        )],
    );
    let mut carried: Vec<_> =
        ALGORITHMS.iter().filter(|a| a.weights == WeightSupport::Carried).map(|a| a.name).collect();
    carried.sort_unstable();
    seen.sort_unstable();
    assert_eq!(carried, seen);
}
