//! Clipped DP-SGD against its theorems: worst-case neighbours, noise, outputs, the private clip
//! norm, interruption, risk.

use crate::common::kept::run_from;
use rand_core::Rng as _;
use reticent_data::{Dense, Features, LocalOracle, Rows, Speed, clip_rounding};
use reticent_noise::{Purpose, Source, Stream, fast};
use reticent_optim::clipped_sgd::rates::{self, Gap, RunSize};
use reticent_optim::clipped_sgd::{
    AdaptiveStep, Clip, ClippedSgd, ClippedSgdPlan, Output, State, selection,
};
use reticent_optim::{Algorithm, Calibration, Quiet, RunError};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Domain, Loss, Problem, RowBounds};
use reticent_testkit::distribution::kolmogorov_smirnov;

type Table = (Vec<Vec<f64>>, Vec<f64>);

fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap(), adjacency }
}

fn no_privacy() -> Budget {
    budget(f64::INFINITY, 0.0, Adjacency::AddRemoveOne)
}

/// Bounds so wide that every row below is within them.
fn wide() -> RowBounds {
    RowBounds::features(1e300).unwrap()
}

fn oracle((x, y): &Table, columns: usize, bounds: RowBounds) -> LocalOracle {
    let features = Features::F64(Dense::new(x.len(), columns, x.concat()));
    LocalOracle::new(Rows::new(features, y.clone(), bounds), Speed { threads: Some(1) }).unwrap()
}

fn run(plan: &ClippedSgdPlan, table: &Table, seed: u64) -> Vec<f64> {
    let problem = &plan.outline.problem;
    let oracle = oracle(table, problem.features, problem.bounds);
    ClippedSgd::run(plan, &oracle, &Source::seeded_not_private(seed), &Quiet).unwrap().weights
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|a| a * a).sum::<f64>().sqrt()
}

struct Dice(Stream);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Source::seeded_not_private(seed).stream(Purpose::Initial))
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn normals(&mut self, n: usize) -> Vec<f64> {
        let mut z = vec![0.0; n];
        fast::fill_standard_gaussian(&mut z, &mut self.0);
        z
    }
}

/// One full-batch step of length 1 without noise, divided by one: the weights are minus the clipped
/// sum.
fn one_step(problem: &Problem, clip: f64) -> ClippedSgdPlan {
    let settings = ClippedSgd {
        clip: Clip::Public { norm: clip },
        batch: Some(problem.rows as u64),
        steps: Some(1),
        eta: Some(problem.rows as f64),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    settings.plan(problem, no_privacy()).unwrap()
}

#[test]
fn one_row_moves_the_sum_by_at_most_the_clip_norm() {
    let mut dice = Dice::new(1);
    let mut longest: f64 = 0.0;
    for trial in 0..600 {
        let loss = [
            Loss::Logistic,
            Loss::Softmax { classes: 3 },
            Loss::Hinge { q: 1.5 },
            Loss::Power { q: 1.0 },
            Loss::Squared,
            Loss::Huber { threshold: 0.3 },
        ][trial % 6];
        let hidden = (trial % 12 >= 6 && trial % 6 < 2).then_some(4);
        let (n, d) = (1 + dice.below(12), 3);
        let row = |dice: &mut Dice| {
            let scale = 10_f64.powf(600.0 * dice.unit() - 300.0);
            let mut row: Vec<f64> = dice.normals(d).iter().map(|z| scale * z).collect();
            match dice.below(20) {
                0 => row[0] = f64::NAN,
                1 => row[1] = f64::INFINITY,
                2 => row.fill(0.0),
                _ => {}
            }
            row
        };
        let mut x: Vec<Vec<f64>> = (0..n).map(|_| row(&mut dice)).collect();
        let label = |dice: &mut Dice| match loss {
            Loss::Softmax { .. } => dice.below(3) as f64,
            _ if loss.is_classification() => [-1.0, 1.0][dice.below(2)],
            _ => 1.0 - 2.0 * dice.unit(),
        };
        let mut y: Vec<f64> = (0..n).map(|_| label(&mut dice)).collect();
        let problem = Problem { hidden, ..Problem::new(loss, wide(), n, d) };
        let clip = 10_f64.powf(6.0 * dice.unit() - 3.0);
        let plan = one_step(&problem, clip);
        let slack = clip_rounding(&problem, 1.0);
        let all = run(&plan, &(x.clone(), y.clone()), 0);
        assert!(all.iter().all(|w| w.is_finite()), "{loss:?}");
        // Removed, and replaced by a row that pulls the other way.
        let (last, last_y) = (x.pop().unwrap(), y.pop().unwrap());
        let without = run(&plan, &(x.clone(), y.clone()), 0);
        let moved = distance(&all, &without) / clip;
        assert!(moved <= slack, "{loss:?} {hidden:?}: one row moved the sum by {moved} clips");
        longest = longest.max(moved);
        x.push(last.iter().map(|v| -2.0 * v).collect());
        y.push(last_y);
        let replaced = run(&plan, &(x, y), 0);
        let moved = distance(&all, &replaced) / clip;
        assert!(moved <= 2.0 * slack, "{loss:?}: a replaced row moved the sum by {moved} clips");
    }
    assert!(longest > 1.0 - 1e-9, "the bound is attained: {longest}");
}

#[test]
fn crossing_powers_of_two_stays_within_the_paid_rounding() {
    for k in [8_u32, 12] {
        let ulp = f64::EPSILON * f64::from(1_u32 << (k - 1));
        // 2^k − 1 ones, one half, then many values just above half a unit in the last place, each a
        // row's gradient.
        let mut values = vec![1.0; (1 << k) - 1];
        values.push(0.5);
        values.extend(vec![1.01 * ulp; 1 << (k - 1)]);
        let rows = values.len() + 1;
        // The absolute loss at zero has slope −1 for a positive label: a row's gradient is minus
        // its feature.
        let problem = Problem::new(Loss::Power { q: 1.0 }, wide(), rows, 1);
        let plan = one_step(&problem, 1.0 / (1.0 - 1e-12));
        let sum = |values: &[f64]| {
            let table = (values.iter().map(|v| vec![*v]).collect(), vec![0.5; values.len()]);
            run(&plan, &table, 0)[0]
        };
        let few = sum(&values);
        values.insert(0, 1.0);
        let moved = (sum(&values) - few).abs();
        assert!(moved <= clip_rounding(&problem, 1.0), "k = {k}: {moved}");
        assert!(moved >= 1.0 - 1e-9, "k = {k}: {moved}");
    }
}

#[test]
fn clipped_gradients_are_the_written_out_ones() {
    let mut dice = Dice::new(2);
    for trial in 0..200 {
        let (d, classes) = (7, 5);
        let hidden = (trial % 2 == 1).then_some(4);
        let x: Vec<f64> = dice.normals(d);
        let label = dice.below(classes);
        let problem = Problem { hidden, ..Problem::new(Loss::Softmax { classes }, wide(), 1, d) };
        let clip = 0.1 + 3.0 * dice.unit();
        let mut plan = one_step(&problem, clip);
        // Start from random weights: an interrupted run may stand anywhere.
        let weights = dice.normals(problem.dimension());
        let state = State {
            step: 0,
            clip,
            pick: None,
            weights: weights.clone(),
            average: Vec::new(),
            preconditioner: None,
            unseen: Vec::new(),
            trace: None,
            adaptive_step: None,
        };
        plan.outline.steps = 1;
        let table = (vec![x.clone()], vec![label as f64]);
        let oracle = oracle(&table, d, wide());
        let source = Source::seeded_not_private(0);
        let after = run_from(&plan, Some(&state), &oracle, &source, |_| Ok(())).unwrap();
        let got: Vec<f64> = weights.iter().zip(&after.weights).map(|(a, b)| a - b).collect();

        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (inputs, outer) = match hidden {
            None => (x.clone(), &weights[..]),
            Some(width) => {
                let (first, second) = weights.split_at(width * d);
                let mut h: Vec<f64> = first.chunks(d).map(|w| dot(w, &x).tanh()).collect();
                h.push(1.0);
                (h, second)
            }
        };
        let margins: Vec<f64> = outer.chunks(inputs.len()).map(|w| dot(w, &inputs)).collect();
        let sum: f64 = margins.iter().map(|m| m.exp()).sum();
        let p: Vec<f64> = margins.iter().map(|m| m.exp() / sum).collect();
        let mut residual = p.clone();
        residual[label] -= 1.0;
        let mut gradient = Vec::new();
        if let Some(width) = hidden {
            for u in 0..width {
                let back: f64 =
                    (0..classes).map(|k| outer[k * (width + 1) + u] * residual[k]).sum();
                gradient.extend(x.iter().map(|x| back * (1.0 - inputs[u] * inputs[u]) * x));
            }
        }
        for r in &residual {
            gradient.extend(inputs.iter().map(|v| r * v));
        }
        let length = norm(&gradient);
        if hidden.is_none() {
            let ghost = rates::softmax_gradient_norm(&p, label, norm(&x));
            assert!((ghost / length - 1.0).abs() < 1e-10);
        }
        let c = rates::clip_coefficient(length, clip);
        let want: Vec<f64> = gradient.iter().map(|g| c * g).collect();
        assert!(distance(&got, &want) <= 1e-9 * clip.max(length), "{hidden:?}: {c}");
    }
}

#[test]
fn the_noise_has_the_planned_law_and_an_empty_batch_gets_it_too() {
    // Rows of zeros have no gradient; 1e5 coordinates: a relative standard error of 0.22 % on the
    // deviation, so 1 % is a false alarm of 8e-6 for each of two batch sizes.
    let d = 100_000;
    let problem = Problem::new(Loss::Logistic, wide(), 3, d);
    for batch in [1, 3] {
        let settings = ClippedSgd {
            clip: Clip::Public { norm: 0.7 },
            batch: Some(batch),
            steps: Some(1),
            eta: Some(1.0),
            output: Some(Output::Last),
            ..ClippedSgd::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6, Adjacency::AddRemoveOne)).unwrap();
        let mut w = run(&plan, &(Vec::new(), Vec::new()), 5);
        let sigma = plan.outline.noise_deviation;
        let wanted = rates::noise_deviation(0.7, plan.noise_multiplier, batch as f64);
        assert!(sigma >= wanted && sigma < wanted * 1.001, "{sigma} and {wanted}");
        let deviation = norm(&w) / (d as f64).sqrt();
        assert!((deviation / sigma - 1.0).abs() < 0.01, "{deviation} and {sigma}");
        let cdf = |x: f64| reticent_math::ndtr(x / sigma);
        assert!(kolmogorov_smirnov(&mut w, cdf) < 0.01);
    }
}

fn mixture(n: usize, p: usize, classes: usize, dice: &mut Dice) -> (Table, Vec<Vec<f64>>) {
    let means: Vec<Vec<f64>> = (0..classes)
        .map(|_| {
            let z = dice.normals(p);
            let length = norm(&z);
            z.iter().map(|z| z / length).collect()
        })
        .collect();
    (draws(n, &means, dice), means)
}

fn draws(n: usize, means: &[Vec<f64>], dice: &mut Dice) -> Table {
    let p = means[0].len();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let class = dice.below(means.len());
        let scale = 0.5 * 16_f64.powf(dice.unit());
        let z = dice.normals(p);
        let mut row: Vec<f64> =
            (0..p).map(|j| scale * (means[class][j] + 1.5 * z[j] / (p as f64).sqrt())).collect();
        row.push(1.0);
        x.push(row);
        y.push(class as f64);
    }
    (x, y)
}

fn accuracy(w: &[f64], (x, y): &Table) -> f64 {
    let d = x[0].len();
    let right = x.iter().zip(y).filter(|(x, y)| {
        let margins: Vec<f64> =
            w.chunks(d).map(|w| w.iter().zip(*x).map(|(w, x)| w * x).sum()).collect();
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        margins.iter().position(|m| *m == top) == Some(**y as usize)
    });
    right.count() as f64 / y.len() as f64
}

#[test]
fn long_gradients_make_only_stride_matter() {
    // All gradients are longer than both clip norms at every step: rows of length 1000 and more.
    let mut dice = Dice::new(3);
    let x: Vec<Vec<f64>> =
        (0..50).map(|_| dice.normals(4).iter().map(|z| 1e6 * (z + 3.0)).collect()).collect();
    let y: Vec<f64> = (0..50).map(|i| f64::from(i % 3)).collect();
    let problem = Problem::new(Loss::Softmax { classes: 3 }, wide(), 50, 4);
    let with = |clip: f64, eta: f64| {
        let settings = ClippedSgd {
            clip: Clip::Public { norm: clip },
            batch: Some(20),
            steps: Some(30),
            eta: Some(eta),
            output: Some(Output::Last),
            ..ClippedSgd::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6, Adjacency::ReplaceOne)).unwrap();
        run(&plan, &(x.clone(), y.clone()), 4)
    };
    // Powers of two scale the grid of the noise too.
    let (a, b) = (with(1.0, 0.5), with(0.125, 4.0));
    assert!(distance(&a, &b) <= 1e-9 * norm(&a), "{} of {}", distance(&a, &b), norm(&a));
}

#[test]
fn outputs_are_functions_of_the_same_iterates() {
    let mut dice = Dice::new(4);
    let (table, _) = mixture(60, 3, 3, &mut dice);
    let problem = Problem {
        domain: Domain::Ball { radius: 3.0 },
        ridge: 0.01,
        ..Problem::new(Loss::Softmax { classes: 3 }, wide(), 60, 4)
    };
    let steps = 9;
    let iterate = |t: u64| {
        if t == 0 {
            return vec![0.0; 12];
        }
        let plan = plan_of(&problem, steps, Output::Last);
        // The same noise, but stopped after t steps.
        let mut short = plan.clone();
        short.outline.steps = t;
        run(&short, &table, 6)
    };
    let iterates: Vec<Vec<f64>> = (0..steps).map(iterate).collect();
    let mean = |list: &[Vec<f64>]| -> Vec<f64> {
        (0..12).map(|j| list.iter().map(|w| w[j]).sum::<f64>() / list.len() as f64).collect()
    };
    // All plans get the noise of the last iterate, so that they share it.
    let noise = plan_of(&problem, steps, Output::Last).noise_multiplier;
    let released = |output: Output, seed: u64| {
        let mut plan = plan_of(&problem, steps, output);
        plan.noise_multiplier = noise;
        run(&plan, &table, seed)
    };
    assert!(distance(&released(Output::Average, 6), &mean(&iterates)) < 1e-12);
    assert!(distance(&released(Output::TailAverage, 6), &mean(&iterates[4..])) < 1e-12);
    let picked = released(Output::Random, 6);
    assert!(iterates.iter().any(|w| distance(w, &picked) < 1e-12));
    // Every iterate but the last can be picked: starting points too.
    let starts = (0..60).filter(|seed| norm(&released(Output::Random, *seed)) == 0.0).count();
    assert!((1..30).contains(&starts), "{starts} of 60 picked the starting point");
}

fn plan_of(problem: &Problem, steps: u64, output: Output) -> ClippedSgdPlan {
    paced(problem, steps, output, false)
}

fn paced(problem: &Problem, steps: u64, output: Output, adaptive_step: bool) -> ClippedSgdPlan {
    let settings = ClippedSgd {
        adaptive_step,
        batch: Some(20),
        steps: Some(steps),
        eta: Some(0.5),
        output: Some(output),
        ..ClippedSgd::default()
    };
    settings.plan(problem, budget(2.0, 1e-6, Adjacency::AddRemoveOne)).unwrap()
}

#[test]
fn the_choice_of_the_clip_norm_keeps_its_epsilon_on_any_neighbours() {
    let mut dice = Dice::new(5);
    let epsilon = 0.3;
    let mut largest: f64 = 0.0;
    for trial in 0..3000 {
        let n = 1 + dice.below(120);
        let mut values: Vec<f64> = match trial % 4 {
            0 => vec![10_f64.powf(4.0 * dice.unit() - 1.0); n],
            1 => (0..n).map(|_| 1e-9).collect(),
            2 => (0..n).map(|_| 1e9).collect(),
            _ => (0..n).map(|_| 10_f64.powf(4.0 * dice.unit() - 1.0)).collect(),
        };
        let grid =
            selection::ClipSelection { epsilon, low: 1.0, high: 100.0, cells: 40, quantile: None };
        let odds = |values: &[f64]| {
            let below: Vec<f64> = grid
                .grid()
                .iter()
                .map(|g| values.iter().filter(|v| **v < *g).count() as f64)
                .collect();
            selection::probabilities(&below, 1.0 + f64::from(trial % 30), epsilon)
        };
        let before = odds(&values);
        if trial % 2 == 0 {
            values.pop();
        } else {
            values[0] = 10_f64.powf(6.0 * dice.unit() - 2.0);
        }
        let ratios = before.iter().zip(odds(&values)).map(|(a, b)| (a / b).ln().abs());
        largest = ratios.fold(largest, f64::max);
    }
    assert!(largest <= epsilon + 1e-9, "{largest}");
    assert!(largest > 0.9 * epsilon, "nearly attained: {largest}");
}

#[test]
fn the_chosen_clip_norm_lies_near_the_smallest_constant() {
    // Rows whose constants are spread like those of CIFAR-100; softmax has √2 times the row's norm.
    let knots = [(0.0, 17.7), (0.1, 29.2), (0.2, 31.6), (0.4, 34.7), (0.8, 40.1), (1.0, 55.7)];
    let n = 50_000;
    let value = |u: f64| {
        let j = knots.iter().rposition(|k| k.0 <= u).unwrap().min(4);
        let ((a, low), (b, high)) = (knots[j], knots[j + 1]);
        low + (u - a) / (b - a) * (high - low)
    };
    let x: Vec<f64> =
        (0..n).map(|i| value(f64::from(i) / f64::from(n - 1)) / 2_f64.sqrt()).collect();
    let bounds = RowBounds::features(100.0).unwrap();
    let problem = Problem::new(Loss::Softmax { classes: 2 }, bounds, n as usize, 1);
    let settings = ClippedSgd {
        clip: Clip::Selected { epsilon: 0.3, low: None, high: Some(60.0) },
        batch: Some(500),
        steps: Some(1),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let plan = settings.plan(&problem, budget(1.0, 1e-6, Adjacency::AddRemoveOne)).unwrap();
    assert_eq!(plan.selection.unwrap().rank(), 57.0);
    let features = Features::F64(Dense::new(n as usize, 1, x));
    let rows = Rows::new(features, vec![0.0; n as usize], bounds);
    let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
    let mut good = 0;
    for seed in 0..200 {
        let source = Source::seeded_not_private(seed);
        let mut chosen = 0.0;
        run_from(&plan, None, &oracle, &source, |state| {
            chosen = state.clip;
            Ok(())
        })
        .unwrap();
        good += i32::from((17.3..=18.0).contains(&chosen));
    }
    assert!(good >= 180, "{good} of 200");
}

/// A regression whose labels are `scale` times those of another, and the lengths of its gradients
/// at zero weights.
fn regression(scale: f64) -> (Problem, LocalOracle, Vec<f64>) {
    let (n, d) = (4000, 3);
    let mut dice = Dice::new(11);
    let x: Vec<f64> = (0..n * d).map(|_| 1.1 * (dice.unit() - 0.5)).collect();
    let label = |x: &[f64]| 0.2 * x[0] - 0.1 * x[1] + 0.02;
    let labels: Vec<f64> = x.chunks(d).map(|x| scale * label(x)).collect();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut lengths: Vec<f64> = x.chunks(d).zip(&labels).map(|(x, y)| y.abs() * norm(x)).collect();
    lengths.sort_by(f64::total_cmp);
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let problem = Problem::new(Loss::Huber { threshold: 0.5 }, bounds, n, d);
    let rows = Rows::new(Features::F64(Dense::new(n, d, x)), labels, bounds);
    (problem, LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap(), lengths)
}

#[test]
fn with_a_part_of_the_usual_gradient_a_run_does_not_depend_on_the_scale_of_the_labels() {
    let run = |scale: f64, clip: Clip| {
        let (problem, oracle, _) = regression(scale);
        let settings = ClippedSgd {
            clip,
            adaptive_step: true,
            batch: Some(200),
            steps: Some(200),
            output: Some(Output::TailAverage),
            ..ClippedSgd::default()
        };
        let plan = settings.plan(&problem, budget(1.0, 1e-6, Adjacency::ReplaceOne)).unwrap();
        let mut chosen = 0.0;
        let source = Source::seeded_not_private(3);
        let release = run_from(&plan, None, &oracle, &source, |state| {
            chosen = state.clip;
            assert!(state.belongs_to(&plan));
            Ok(())
        });
        (release.unwrap().weights, chosen)
    };
    let typical = Clip::Quantile { multiple: 1.0, epsilon: Some(0.5) };
    let ((one, clip), (small, tenth)) = (run(1.0, typical), run(1.0 / 8.0, typical));
    assert!((clip / tenth - 8.0).abs() < 1e-9, "{clip} and {tenth}");
    for (a, b) in one.iter().zip(&small) {
        assert!((a / b / 8.0 - 1.0).abs() < 1e-6, "{one:?} {small:?}");
    }
    // The cell that holds the 0.7-quantile begins at most a factor of √2 lower.
    let quantile = regression(1.0).2[2799];
    assert!((quantile / 2_f64.sqrt()..=quantile).contains(&clip), "{clip}");
    // A clip norm that is fixed in advance drowns the small labels in noise.
    let public = |scale| run(scale, Clip::Public { norm: 0.5 }).0;
    let off = |w: &[f64], scale: f64| (w[0] / scale - 0.2).hypot(w[1] / scale + 0.1);
    assert!(off(&small, 1.0 / 8.0) < 0.2 * off(&public(1.0 / 8.0), 1.0 / 8.0));
}

#[test]
fn an_interrupted_run_goes_on_with_fresh_noise_and_the_same_law() {
    let mut dice = Dice::new(6);
    let (table, _) = mixture(60, 3, 3, &mut dice);
    let problem = Problem::new(Loss::Softmax { classes: 3 }, wide(), 60, 4);
    let outputs = [Output::Last, Output::Average, Output::TailAverage, Output::Random];
    for (output, adaptive_step) in outputs.into_iter().flat_map(|o| [(o, false), (o, true)]) {
        let plan = paced(&problem, 40, output, adaptive_step);
        let oracle = oracle(&table, 4, wide());
        let source = Source::seeded_not_private(9);
        let mut kept = None;
        let stopped = run_from(&plan, None, &oracle, &source, |state: &State| {
            kept = Some(state.clone());
            if state.step == 5 {
                return Err(RunError::NotKept { why: "the lights went out".to_owned() });
            }
            Ok(())
        });
        let Some(state) = kept else {
            continue; // a random output of the starting point takes no step
        };
        if stopped.is_ok() {
            continue; // fewer than five steps were needed
        }
        assert!(state.belongs_to(&plan) && state.step == 5);
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
        let resume =
            |source: &Source| run_from(&plan, Some(&state), &oracle, source, |_| Ok(())).unwrap();
        // The source goes on: its next streams are others than those of the first five steps.
        let resumed = resume(&source);
        assert_eq!(resumed.event, plan.outline.event, "charged once");
        let straight =
            ClippedSgd::run(&plan, &oracle, &Source::seeded_not_private(9), &Quiet).unwrap();
        assert_ne!(resumed.weights, straight.weights, "the noise is fresh");
        let other = resume(&Source::seeded_not_private(10));
        assert_ne!(resumed.weights, other.weights);
        // It is as far from the straight run as two straight runs are from each other, in kind.
        let again =
            ClippedSgd::run(&plan, &oracle, &Source::seeded_not_private(11), &Quiet).unwrap();
        let ratio = distance(&resumed.weights, &straight.weights)
            / distance(&again.weights, &straight.weights).max(1e-12);
        if output != Output::Random {
            assert!((0.2..5.0).contains(&ratio), "{output:?}: {ratio}");
        }
        let mut foreign = state.clone();
        foreign.clip *= 2.0;
        assert!(!foreign.belongs_to(&plan));
        // A pace is kept where the step length follows the gradients, and only there; all of it.
        assert_eq!(json.contains("adaptive_step"), adaptive_step);
        assert!(!state.belongs_to(&paced(&problem, 40, output, !adaptive_step)));
        let altered = |change: &dyn Fn(&mut AdaptiveStep)| {
            let mut state = state.clone();
            change(state.adaptive_step.as_mut().unwrap());
            state.belongs_to(&plan)
        };
        if adaptive_step {
            assert!(altered(&|_| {}) && altered(&|adaptive_step| adaptive_step.eta = 0.5 / 30.0));
            assert!(
                !altered(&|adaptive_step| adaptive_step.eta = 15.1)
                    && !altered(&|adaptive_step| adaptive_step.eta = f64::NAN)
            );
            assert!(
                !altered(&|adaptive_step| adaptive_step.eta = 0.0)
                    && !altered(&|adaptive_step| adaptive_step.previous.clear())
            );
        }
    }
}

#[test]
fn steps_that_follow_the_gradients_go_on_where_they_were() {
    // All rows in every step and no noise: a straight run and a resumed one have the same bits.
    let mut dice = Dice::new(12);
    let (table, _) = mixture(60, 3, 3, &mut dice);
    let problem =
        Problem { ridge: 0.01, ..Problem::new(Loss::Softmax { classes: 3 }, wide(), 60, 4) };
    let settings = ClippedSgd {
        adaptive_step: true,
        batch: Some(60),
        steps: Some(40),
        eta: Some(0.05),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let plan = settings.plan(&problem, no_privacy()).unwrap();
    let oracle = oracle(&table, 4, wide());
    let states = |from: Option<State>| {
        let mut states = Vec::new();
        let source = Source::seeded_not_private(9);
        run_from(&plan, from.as_ref(), &oracle, &source, |state: &State| {
            assert!(state.belongs_to(&plan));
            states.push(state.clone());
            Ok(())
        })
        .unwrap();
        states
    };
    let straight = states(None);
    let etas: Vec<f64> = straight.iter().map(|s| s.adaptive_step.as_ref().unwrap().eta).collect();
    assert!(etas[0] == 0.05 && etas[39] > 0.09, "{etas:?}");
    for at in [0, 4, 38] {
        let json = serde_json::to_string(&straight[at]).unwrap();
        let kept: State = serde_json::from_str(&json).unwrap();
        assert_eq!(states(Some(kept)), straight[at + 1..]);
    }
    // One that forgets the last sum, or the step length, goes elsewhere.
    let mut forgetful = straight[4].clone();
    forgetful.adaptive_step.as_mut().unwrap().eta = 0.05;
    assert_ne!(states(Some(forgetful))[34], straight[39]);
}

#[test]
fn steps_that_follow_the_gradients_make_up_for_a_wrong_length() {
    let mut dice = Dice::new(13);
    let (mut table, _) = mixture(2000, 10, 3, &mut dice);
    // Rows of length 1 and a longer clip norm: no gradient is cut, so the steps minimise the loss
    // that is compared.
    for row in &mut table.0 {
        let length = norm(row);
        for x in row {
            *x /= length;
        }
    }
    let problem = Problem::new(Loss::Softmax { classes: 3 }, wide(), 2000, 11);
    let loss = |w: &[f64]| {
        let row = |(x, y): (&Vec<f64>, &f64)| {
            let margins: Vec<f64> =
                w.chunks(11).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum()).collect();
            let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = margins.iter().map(|m| (m - top).exp()).sum();
            top + sum.ln() - margins[*y as usize]
        };
        table.0.iter().zip(&table.1).map(row).sum::<f64>() / 2000.0
    };
    let rows = oracle(&table, 11, wide());
    let reached = |eta: f64, adaptive_step: bool| {
        let settings = ClippedSgd {
            adaptive_step,
            clip: Clip::Public { norm: 1.5 },
            batch: Some(200),
            steps: Some(1500),
            eta: Some(eta),
            output: Some(Output::Last),
            ..ClippedSgd::default()
        };
        let plan = settings.plan(&problem, budget(2.0, 1e-5, Adjacency::AddRemoveOne)).unwrap();
        let total: f64 = (0..3)
            .map(|seed| {
                let source = Source::seeded_not_private(seed);
                loss(&ClippedSgd::run(&plan, &rows, &source, &Quiet).unwrap().weights)
            })
            .sum();
        total / 3.0
    };
    let lengths = [0.03, 0.1, 0.3, 1.0, 3.0];
    let (best, least) = lengths
        .map(|eta| (eta, reached(eta, false)))
        .into_iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    assert!(best > 0.03 && best < 3.0, "the best lies within: {best}");
    // A short step grows as fast as it may. A long one is led back by what its noise does to the
    // next sums, which takes longer.
    for (wrong, part) in [(best / 10.0, 0.2), (best * 10.0, 0.85), (best * 100.0, 0.5)] {
        let (fixed, paced) = (reached(wrong, false) - least, reached(wrong, true) - least);
        assert!(fixed > 0.02, "{wrong} is no worse than {best}: {fixed}");
        assert!(paced < part * fixed, "{wrong} where {best} is best: {paced} and {fixed}");
    }
}

#[test]
fn a_small_clip_norm_is_better_than_the_largest_gradient() {
    let mut dice = Dice::new(7);
    let (train, means) = mixture(2000, 40, 10, &mut dice);
    let test = draws(2000, &means, &mut dice);
    let mut constants: Vec<f64> = train.0.iter().map(|x| 2_f64.sqrt() * norm(x)).collect();
    constants.sort_by(f64::total_cmp);
    let problem = Problem::new(Loss::Softmax { classes: 10 }, wide(), 2000, 41);
    let table = oracle(&train, 41, wide());
    let best = |clip: f64| {
        [0.1, 0.3, 1.0, 3.0]
            .map(|stride: f64| {
                let settings = ClippedSgd {
                    clip: Clip::Public { norm: clip },
                    batch: Some(100),
                    steps: Some(400),
                    eta: Some(stride / clip),
                    output: Some(Output::Last),
                    ..ClippedSgd::default()
                };
                let plan =
                    settings.plan(&problem, budget(1.0, 1e-5, Adjacency::AddRemoveOne)).unwrap();
                assert!((plan.noise_multiplier / 3.875 - 1.0).abs() < 1e-3);
                let source = Source::seeded_not_private(1);
                let w = ClippedSgd::run(&plan, &table, &source, &Quiet).unwrap().weights;
                accuracy(&w, &test)
            })
            .into_iter()
            .fold(0.0, f64::max)
    };
    let (small, large) = (best(constants[0]), best(constants[1999]));
    assert!(small > 0.93, "{small}");
    assert!(small - large >= 0.10, "{small} and {large}");
}

#[test]
fn the_risk_bounds_hold_and_utility_grows_with_rows() {
    // Binary logistic rows with norms on a log scale, in a ball of radius 5.
    let mut dice = Dice::new(8);
    let truth = dice.normals(5);
    let mut table = |n: usize| -> Table {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let scale = 0.5 * 16_f64.powf(dice.unit());
            let row: Vec<f64> = dice.normals(5).iter().map(|z| scale * z / 5_f64.sqrt()).collect();
            let margin: f64 = row.iter().zip(&truth).map(|(a, b)| a * b).sum();
            y.push(if dice.unit() < 1.0 / (1.0 + (-margin).exp()) { 1.0 } else { -1.0 });
            x.push([row, vec![1.0]].concat());
        }
        (x, y)
    };
    let objective = |(x, y): &Table, w: &[f64]| {
        let loss = |(x, y): (&Vec<f64>, &f64)| {
            let margin: f64 = w.iter().zip(x).map(|(w, x)| w * x).sum();
            (-y * margin).max(0.0) + (-(y * margin).abs()).exp().ln_1p()
        };
        x.iter().zip(y).map(loss).sum::<f64>() / y.len() as f64
    };
    let n = 500;
    let data = table(n);
    let mut constants: Vec<f64> = data.0.iter().map(|x| norm(x)).collect();
    constants.sort_by(f64::total_cmp);
    let largest = constants[n - 1];
    let problem = Problem {
        domain: Domain::Ball { radius: 5.0 },
        ..Problem::new(Loss::Logistic, wide(), n, 6)
    };
    let (b, steps, sigma) = (50, 400, 4.0);
    let shape = RunSize {
        dimension: 6.0,
        batch: b as f64,
        rows: n as f64,
        steps: steps as f64,
        noise_multiplier: sigma,
    };
    // The minimum, by many steps without noise.
    let exact = ClippedSgd {
        clip: Clip::Public { norm: 1e3 },
        batch: Some(n as u64),
        steps: Some(4000),
        eta: Some(0.3),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let floor = objective(&data, &run(&exact.plan(&problem, no_privacy()).unwrap(), &data, 0));
    let oracle = oracle(&data, 6, wide());
    let mut excess = Vec::new();
    for clip in [largest, constants[n / 2], constants[0]] {
        let c = 5.0 / 2_f64.sqrt();
        let settings = ClippedSgd {
            clip: Clip::Public { norm: clip },
            batch: Some(b),
            steps: Some(steps),
            eta: Some(shape.eta_general(c, clip)),
            ..ClippedSgd::default()
        };
        let mut plan = settings.plan(&problem, budget(1.0, 1e-5, Adjacency::AddRemoveOne)).unwrap();
        plan.noise_multiplier = sigma;
        let mean = (0..10)
            .map(|seed| {
                let source = Source::seeded_not_private(seed);
                let w = ClippedSgd::run(&plan, &oracle, &source, &Quiet).unwrap().weights;
                objective(&data, &w) - floor
            })
            .sum::<f64>()
            / 10.0;
        // Each row alone can be fitted almost perfectly in the ball, so the gap is about the floor.
        let gap = Gap { largest, clip, alpha: 1.0, interpolation: floor };
        let bound = rates::thm_h1_bound(5.0, c, shape.total(), &gap);
        assert!(mean > 0.0 && mean <= bound, "clip {clip}: {mean} and {bound}");
        assert!(mean <= shape.bound_tight(5.0, &gap) * 1.5);
        excess.push(mean);
    }
    assert!(excess[0] > excess[1] && excess[1] > excess[2], "{excess:?}");
    // At a fixed epsilon more rows mean less noise in each step.
    let test = table(4000);
    let risks = [500, 2000, 8000].map(|n| {
        let data = table(n);
        let problem = Problem { rows: n, ..problem.clone() };
        let settings = ClippedSgd { batch: Some(100), steps: Some(400), ..ClippedSgd::default() };
        let plan = settings.plan(&problem, budget(0.3, 1e-6, Adjacency::ReplaceOne)).unwrap();
        (0..3).map(|seed| objective(&test, &run(&plan, &data, seed))).sum::<f64>() / 3.0
    });
    assert!(risks[0] > risks[1] && risks[1] > risks[2] - 0.005, "{risks:?}");
}

#[test]
fn the_paper_calibration_is_for_full_batches() {
    let problem = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 1000, 10);
    let paper = ClippedSgd { calibration: Calibration::Paper, ..ClippedSgd::default() };
    for adjacency in [Adjacency::AddRemoveOne, Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-9), (30.0, 1e-3)] {
            let plan = paper.plan(&problem, budget(epsilon, delta, adjacency)).unwrap();
            assert_eq!((plan.batch, plan.sample_rate), (1000, 1.0));
            let spent = reticent_privacy::epsilon_upper(&plan.outline.event, delta).unwrap();
            assert!(spent <= epsilon, "{adjacency:?}: {spent} of {epsilon}");
            assert!(spent > 0.5 * epsilon, "not far too much noise: {spent} of {epsilon}");
        }
    }
}
