//! Algorithms with noise in every step, on bounded rows.

use reticent::optim::clipped_sgd::{Clip, Output};
use reticent::optim::gradient_sgd::paper::PaperGradient;
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{
    Calibration, ClippedSgd, GradientSgd, Mirror, NoisySgd, Phased, Plan, RandomRound,
};
use reticent::privacy::{Adjacency, Budget};
use reticent::problem::geometry::{MirrorMap, lp_norm};
use reticent::problem::{Domain, Loss, Problem, RowBounds};
use serde_json::json;

use crate::audit::support::{Case, Lie, budget, planned, saturated, usual, zero_out};

const BATCHES: &str = "/batches/noise_multiplier";

fn everyone(rows: u64) -> serde_json::Value {
    json!({ "scheme": "fixed-size", "size": rows })
}

/// Squares whose slopes are cut to one: labels are so large that all of them are.
fn slopes_limited(rows: usize) -> Problem {
    Problem {
        domain: Domain::Ball { radius: 1e3 },
        slope_limit: Some(1.0),
        ..Problem::new(Loss::Squared, RowBounds::new(1.0, 1e6).unwrap(), rows, 1)
    }
}

pub(crate) fn gradient_sgd() -> Vec<Case> {
    let plan = |calibration, rows: usize, batch, steps| {
        let settings = GradientSgd {
            calibration,
            batch: Some(batch),
            steps: Some(steps),
            eta: Some(1e-3),
            ..GradientSgd::default()
        };
        let problem = Problem { domain: Domain::Ball { radius: 1e6 }, ..saturated(rows, 1) };
        planned(&settings, &problem, usual(), Plan::GradientSgd)
    };
    let tight = Calibration::Tight;
    let one = GradientSgd { batch: Some(1), steps: Some(2), ..GradientSgd::default() };
    let limited = GradientSgd { batch: Some(4), eta: Some(1e-3), ..one };
    let limited = planned(&limited, &slopes_limited(4), usual(), Plan::GradientSgd);
    let little = budget(2.0, 1e-3, Adjacency::ReplaceOne);
    let sampled = planned(&one, &saturated(30, 1), little, Plan::GradientSgd);
    let printed = PaperGradient { rows: 30.0, batch: 1.0, steps: 2.0, epsilon: 2.0, delta: 1e-3 };
    assert!(!printed.holds(0.5));
    vec![
        Case::new("tight, slopes limited", limited)
            .shows(0.3, 0.6)
            .lied_to("the limit missing", Lie::DoesNotClip),
        Case::new("tight, one row of thirty, once", sampled).runs(40_000).with(
            "erratum: beta without its conditions",
            BATCHES,
            &json!(printed.sigma(1.0, 0.5)),
        ),
        Case::new("tight, one step on all rows", plan(tight, 4, 4, 2))
            .shows(0.3, 0.6)
            .scaled("noise halved", BATCHES, 0.5)
            .lied_to("every row counts twice", Lie::CountsTwice),
        Case::new("tight, two steps on all rows", plan(tight, 4, 4, 3))
            .shows(0.2, 0.4)
            .scaled("noise halved", BATCHES, 0.5)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 2 }),
        Case::new("tight, one row of eight", plan(tight, 8, 1, 3))
            .runs(20_000)
            .with("all rows in every step", "/batches/sampling", &everyone(8))
            .scaled("an eighth of the noise", BATCHES, 0.125),
    ]
}

pub(crate) fn random_round() -> Vec<Case> {
    let plan = |calibration, batch, steps, clip| {
        let paper = calibration == Calibration::Paper;
        let budget = if paper { budget(1.0, 1e-3, Adjacency::ReplaceOne) } else { usual() };
        let settings = RandomRound {
            calibration,
            batch: Some(batch),
            steps: Some(steps),
            eta: Some(1.0),
            clip,
            ..RandomRound::default()
        };
        planned(&settings, &saturated(8, 1), budget, Plan::RandomRound)
    };
    let tight = Calibration::Tight;
    vec![
        // At most one of the two steps that are paid for is taken, half of the time.
        Case::new("tight, all rows", plan(tight, 8, 2, None))
            .runs(20_000)
            .scaled("a third of the noise", BATCHES, 0.33)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 1 }),
        Case::new("tight, all rows, up to seven steps", plan(tight, 8, 8, None))
            .runs(20_000)
            .scaled("noise halved", BATCHES, 0.5)
            .lied_to("every row counts twice", Lie::CountsTwice),
        Case::new("tight, one row of eight", plan(tight, 1, 2, None)).runs(20_000).with(
            "all rows in every step",
            "/batches/sampling",
            &everyone(8),
        ),
        Case::new("tight, clipped", plan(tight, 8, 2, Some(0.1)))
            .runs(20_000)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("paper", plan(Calibration::Paper, 1, 64, None)).scaled(
            "a hundredth of the noise",
            BATCHES,
            0.01,
        ),
    ]
}

pub(crate) fn noisy_sgd() -> Vec<Case> {
    let plan = |calibration, batch, steps| {
        let paper = calibration == Calibration::Paper;
        let budget = if paper { budget(1.0, 1e-3, Adjacency::ReplaceOne) } else { usual() };
        let settings =
            NoisySgd { calibration, batch: Some(batch), steps: Some(steps), ..NoisySgd::default() };
        let problem = Problem { domain: Domain::Ball { radius: 1e3 }, ..saturated(8, 1) };
        planned(&settings, &problem, budget, Plan::NoisySgd)
    };
    let tight = Calibration::Tight;
    let limited = NoisySgd { batch: Some(8), steps: Some(4), ..NoisySgd::default() };
    let limited = planned(&limited, &slopes_limited(8), usual(), Plan::NoisySgd);
    vec![
        Case::new("tight, slopes limited", limited)
            .shows(0.2, 0.4)
            .lied_to("the limit missing", Lie::DoesNotClip),
        Case::new("tight, four steps on all rows", plan(tight, 8, 4))
            .shows(0.2, 0.4)
            .scaled("noise halved", BATCHES, 0.5)
            .lied_to("every row counts twice", Lie::CountsTwice)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 4 }),
        Case::new("tight, one row of eight", plan(tight, 1, 2))
            .runs(20_000)
            .with("all rows in every step", "/batches/sampling", &everyone(8))
            .with(
                "each row joins",
                "/batches/sampling",
                &json!({ "scheme": "poisson", "rate": 1.0 }),
            ),
        Case::new("paper", plan(Calibration::Paper, 1, 64)).scaled(
            "a hundredth of the noise",
            BATCHES,
            0.01,
        ),
    ]
}

/// Rows without a gradient, and canaries that are far longer than the clip norm.
fn long(rows: usize) -> Problem {
    Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), rows, 1)
}

fn settings(calibration: Calibration, batch: u64, (norm, eta): (f64, f64)) -> ClippedSgd {
    ClippedSgd {
        calibration,
        clip: Clip::Public { norm },
        batch: Some(batch),
        steps: Some(3),
        eta: Some(eta),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    }
}

/// Steps so short that the gradients stay what they are.
const SHORT: (f64, f64) = (1.0, 1e-9);

/// Audits of the quantities computed before the first step.
pub(crate) fn clipped_sgd_before_it_steps() -> Vec<Case> {
    let tight = Calibration::Tight;
    // One step and one row: the size of the noise in many weights tells the clip norm, and the row
    // decides it.
    let chosen = |clip, problem: &Problem, epsilon| {
        let rows = problem.rows as u64;
        let one = ClippedSgd { clip, steps: Some(1), ..settings(tight, rows, (1.0, 1.0)) };
        let problem = Problem { features: 20, ..problem.clone() };
        planned(&one, &problem, budget(epsilon, 1e-2, Adjacency::ReplaceOne), Plan::ClippedSgd)
    };
    let part = Clip::Quantile { multiple: 1.0, epsilon: Some(6.0) };
    let part = chosen(part, &saturated(1, 1), 6.5);
    let least = Clip::Selected { epsilon: 4.0, low: None, high: None };
    let least = chosen(least, &long(2), 4.5);
    // The shortened direction is that of the row that stands out, or none: the spread of the
    // weights tells.
    let direction = ClippedSgd { precondition: Some(0.05), ..settings(tight, 40, SHORT) };
    let little = budget(1.0, 1e-2, Adjacency::ReplaceOne);
    let direction = planned(&direction, &long(40), little, Plan::ClippedSgd);
    // The steps begin where the mean of the labels is predicted.
    let mean = ClippedSgd { precondition: Some(0.05), ..settings(tight, 60, SHORT) };
    let numbers = Problem::new(Loss::Squared, RowBounds::new(1.0, 1.0).unwrap(), 60, 1);
    let mean = planned(&mean, &numbers, little, Plan::ClippedSgd);
    vec![
        Case::new("tight, the 70th-percentile gradient norm chosen", part)
            .runs(20_000)
            .scaled("a choice with half the noise", "/selection/epsilon", 2.0)
            .scaled("a choice without noise", "/selection/epsilon", 1e3),
        Case::new("tight, the least gradient chosen", least).scaled(
            "a choice without noise",
            "/selection/epsilon",
            1e3,
        ),
        Case::new("tight, the mean direction", direction)
            .runs(20_000)
            .lied_to("the direction without noise", Lie::DrownsTheNoise { every: 4 }),
        Case::new("tight, the labels' mean", mean)
            .runs(20_000)
            .lied_to("the mean without noise", Lie::DrownsTheNoise { every: 4 }),
    ]
}

pub(crate) fn clipped_sgd() -> Vec<Case> {
    let plan = |calibration, problem: &Problem, batch, budget: Budget, lengths| {
        planned(&settings(calibration, batch, lengths), problem, budget, Plan::ClippedSgd)
    };
    let (tight, paper) = (Calibration::Tight, Calibration::Paper);
    let added = budget(4.0, 1e-2, Adjacency::AddRemoveOne);
    let short = SHORT;
    let network = Problem { hidden: Some(2), features: 2, ..long(4) };
    let classes = Problem { loss: Loss::Softmax { classes: 3 }, ..long(4) };
    let sigma = "/noise_multiplier";
    let paced = ClippedSgd { adaptive_step: true, ..settings(tight, 5, short) };
    let paced = planned(&paced, &long(5), added, Plan::ClippedSgd);
    let usual_gradient = ClippedSgd {
        clip: Clip::Quantile { multiple: 1.0, epsilon: Some(0.5) },
        ..settings(tight, 200, short)
    };
    let usual_gradient = planned(&usual_gradient, &saturated(200, 1), usual(), Plan::ClippedSgd);
    let shortened = ClippedSgd { precondition: Some(0.3), ..settings(tight, 40, short) };
    let flat = Problem { features: 2, ..long(40) };
    let shortened = planned(&shortened, &flat, usual(), Plan::ClippedSgd);
    vec![
        Case::new("tight, the mean direction shortened", shortened)
            .shows(0.3, 0.5)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("sensitivity off by two", Lie::CountsTwice)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("tight, a multiple of the 70th-percentile gradient norm", usual_gradient)
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("tight, adaptive step size", paced).shows(0.3, 0.6).scaled(
            "noise halved",
            sigma,
            0.5,
        ),
        Case::new("tight, all rows, a row added", plan(tight, &long(5), 5, added, short))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("sensitivity off by two", Lie::CountsTwice)
            .lied_to("the clip missing", Lie::DoesNotClip)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 3 })
            .attacked_under("a row replaced, noise for an added one", Adjacency::ReplaceOne),
        Case::new("tight, all rows, a row replaced", plan(tight, &long(5), 5, usual(), short))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("tight, sampled, a row added", plan(tight, &long(5), 1, added, short))
            .runs(20_000)
            .shows(0.1, 0.0)
            .with("each row joins", "/sample_rate", &json!(1.0))
            .scaled("a third of the noise", sigma, 0.33),
        Case::new("tight, sampled, a row replaced", plan(tight, &long(5), 2, usual(), short))
            .runs(20_000)
            .with("each row joins", "/sample_rate", &json!(1.0)),
        Case::new("tight, a tenth of fifty rows", plan(tight, &long(50), 5, added, short))
            .lied_to("divided by the batch's own size", Lie::DividesByItsSize { expected: 5.0 }),
        Case::new("paper", plan(paper, &long(5), 5, added, short)).scaled(
            "a quarter of the noise",
            sigma,
            0.25,
        ),
        Case::new("tight, a network", plan(tight, &network, 4, added, (0.1, 10.0)))
            .scaled("a third of the noise", sigma, 0.33)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("tight, three classes", plan(tight, &classes, 4, usual(), short))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5),
    ]
}

/// The likelihood ratio of the noisy sum behind the weights of one mirror step, for a row of ones
/// and its opposite.
fn likelihood(plan: &Plan) -> impl Fn(Vec<f64>) -> Vec<f64> + use<> {
    let Plan::Mirror(plan) = plan.clone() else { panic!("not a mirror plan") };
    let scale = -(plan.alpha + plan.smoothness) * plan.outline.problem.rows as f64;
    move |weights| {
        let mut sum = vec![0.0; weights.len()];
        plan.map.gradient(&weights, &mut sum);
        let square = |mean: f64| {
            let noise: Vec<f64> = sum.iter().map(|x| scale * x - mean).collect();
            (lp_norm(&noise, plan.noise.r) / plan.noise.sigma).powi(2)
        };
        vec![square(1.0) - square(-1.0)]
    }
}

pub(crate) fn mirror() -> Vec<Case> {
    let plan = |calibration, noise, p, problem: &Problem, steps, budget| {
        let settings = Mirror { calibration, noise, steps: Some(steps), p, ..Mirror::default() };
        planned(&settings, problem, budget, Plan::Mirror)
    };
    let (tight, paper) = (Calibration::Tight, Calibration::Paper);
    let sigma = "/noise/noise_multiplier";
    let auto = NoiseChoice::Auto;
    let bounds = RowBounds::new(12_f64.sqrt(), 1e6).unwrap().with_entries(1.0).unwrap();
    let entries = Problem { bounds, ..saturated(4, 12) };
    let general = NoiseChoice::GeneralizedGaussian;
    let d = 200_usize;
    let bounds = RowBounds::new((d as f64).sqrt(), 1e6).unwrap().with_entries(1.0).unwrap();
    let wide = Problem { bounds, ..saturated(4, d) };
    let wide = plan(tight, general, Some(1.0), &wide, 1, usual());
    let printed = (2.0 * (d as f64).ln() / MirrorMap::new(1.0, d).kappa).sqrt();
    vec![
        Case::new("tight, p = 1, 200 weights", wide.clone()).seen_by(likelihood(&wide)).scaled(
            "erratum: kappa as printed",
            sigma,
            printed,
        ),
        Case::new("tight, one step", plan(tight, auto, None, &saturated(4, 1), 1, usual()))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("every row counts twice", Lie::CountsTwice),
        Case::new("tight, two steps", plan(tight, auto, None, &saturated(4, 1), 2, usual()))
            .shows(0.2, 0.4)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 2 }),
        Case::new("tight, zero-out", plan(tight, auto, None, &saturated(4, 1), 1, zero_out()))
            .shows(0.3, 0.6)
            .attacked_under("a row replaced, noise for a null row", Adjacency::ReplaceOne),
        Case::new("tight, p = 1", plan(tight, general, Some(1.0), &entries, 1, usual())).scaled(
            "a fifth of the noise",
            sigma,
            0.2,
        ),
        Case::new("paper", plan(paper, auto, None, &saturated(4, 1), 1, usual())).scaled(
            "a quarter of the noise",
            sigma,
            0.25,
        ),
    ]
}

pub(crate) fn phased() -> Vec<Case> {
    let plan = |calibration, rows, budget| {
        let settings = Phased { calibration, eta: Some(1.0), ..Phased::default() };
        planned(&settings, &saturated(rows, 1), budget, Plan::Phased)
    };
    let (tight, paper) = (Calibration::Tight, Calibration::Paper);
    let small = Problem { domain: Domain::Ball { radius: 0.02 }, ..saturated(8, 1) };
    let one = Phased { eta: Some(1.0), ..Phased::default() };
    let small = planned(&one, &small, usual(), Plan::Phased);
    vec![
        Case::new("tight, one phase", plan(tight, 2, usual()))
            .shows(0.3, 0.6)
            .scaled("noise halved", "/noise_multiplier", 0.5)
            .scaled("sensitivity off by two", "/phases/0/sensitivity", 0.5)
            .lied_to("every row counts twice", Lie::CountsTwice),
        // Three phases of 4, 2 and 1 rows. The noise of the first stays in the weights and would
        // hide that of the others.
        Case::new("tight, three phases", plan(tight, 8, usual()))
            .scaled("all noise halved", "/noise_multiplier", 0.5)
            .scaled("the first phase without noise", "/phases/0/sensitivity", 1e-3),
        // On a set smaller than the noise of the first two phases, most of it is cut off.
        Case::new("tight, three phases, a small set", small)
            .scaled("the second phase without noise", "/phases/1/sensitivity", 1e-3)
            .scaled("the last phase without noise", "/phases/2/sensitivity", 1e-3),
        Case::new("tight, zero-out", plan(tight, 2, zero_out()))
            .shows(0.3, 0.6)
            .attacked_under("a row replaced, noise for a null row", Adjacency::ReplaceOne),
        Case::new("paper", plan(paper, 2, usual())).scaled(
            "a quarter of the noise",
            "/noise_multiplier",
            0.25,
        ),
    ]
}
