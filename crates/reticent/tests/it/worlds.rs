//! Real fits of simulated tables whose truth is known: more rows and more budget give a better
//! model, and bounds that are too wide cost little.
//!
//! The noise is seeded, so that each test has one outcome; the margins leave room for other seeds.

use reticent::Task;
use reticent::data::encode::{Encoder, Targets};
use reticent::data::{Features, LocalOracle, Rows, Speed};
use reticent::noise::Source;
use reticent::optim::{Quiet, Settings};
use reticent::planner::{choose, with_curves};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Domain;
use reticent::problem::declaration::{Declaration, Encoding};

/// Rows that are held out.
const HELD: usize = 20_000;

/// A simulated table: its schema, the features row after row, and the targets.
struct World {
    schema: String,
    columns: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    /// The prediction of the best model: the probability, or the mean, of each row.
    truth: Vec<f64>,
}

/// Pseudorandom numbers, uniform on (0, 1).
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

fn normal(next: &mut impl FnMut() -> f64) -> f64 {
    (-2.0 * next().ln()).sqrt() * (std::f64::consts::TAU * next()).cos()
}

fn schema(columns: usize, (low, high): (f64, f64), target: &str) -> String {
    let number = |j: usize| {
        format!(
            r#"{{"name": "x{j}", "type": "real", "bounds": {{"min": {low:?}, "max": {high:?}}}}}"#
        )
    };
    let numbers: Vec<String> = (0..columns).map(number).collect();
    format!(r#"{{"target": "y", "columns": [{}, {target}]}}"#, numbers.join(", "))
}

/// Binary classification with nearly balanced classes and linear log-odds.
fn classes(rows: usize) -> World {
    let weights = [3.0, -2.0, 1.5, -1.0, 0.7, 0.5, -0.3, 0.0];
    let mut next = uniform(7);
    let (mut x, mut y, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows + HELD {
        let row = weights.map(|_| next());
        let log_odds: f64 = row.iter().zip(weights).map(|(x, w)| (x - 0.5) * w).sum();
        let share = 1.0 / (1.0 + (-log_odds).exp());
        x.extend(row);
        y.push(f64::from(u8::from(next() < share)));
        truth.push(share);
    }
    let target = r#"{"name": "y", "type": "categorical", "categories": [0, 1]}"#;
    World { schema: schema(8, (0.0, 1.0), target), columns: 8, x, y, truth }
}

/// Regression with linear effects of `columns` features that are mixtures of three and spread by
/// about one, declared within `bounds`.
fn collinear(rows: usize, columns: usize, bounds: (f64, f64)) -> World {
    let mut next = uniform(11);
    let mixing: Vec<[f64; 3]> = (0..columns).map(|_| [(); 3].map(|()| normal(&mut next))).collect();
    let (mut x, mut y, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows + HELD {
        let hidden = [(); 3].map(|()| normal(&mut next));
        for mix in &mixing {
            let length = mix.iter().map(|m| m * m).sum::<f64>().sqrt();
            let sum: f64 = mix.iter().zip(hidden).map(|(m, z)| m * z).sum();
            x.push(sum / length + 0.05 * normal(&mut next));
        }
        let effect = 0.25 * 0.95_f64.sqrt() * hidden.iter().sum::<f64>() / 3_f64.sqrt();
        truth.push(effect);
        y.push((effect + 0.25 * 0.05_f64.sqrt() * normal(&mut next)).clamp(-1.0, 1.0));
    }
    World { schema: schema(columns, bounds, NUMBER), columns, x, y, truth }
}

const NUMBER: &str = r#"{"name": "y", "type": "real", "bounds": {"min": -1, "max": 1}}"#;

/// Regression with linear effects of eight independent features in `[0, 1]`.
fn numbers(rows: usize, bounds: (f64, f64)) -> World {
    let weights = [1.0, -0.8, 0.6, -0.5, 0.4, -0.3, 0.2, 0.1];
    let mut next = uniform(13);
    let (mut x, mut y, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows + HELD {
        let row = weights.map(|_| next());
        let effect: f64 = row.iter().zip(weights).map(|(x, w)| 0.55 * (x - 0.5) * w).sum();
        x.extend(row);
        truth.push(effect);
        y.push((effect + 0.08 * normal(&mut next)).clamp(-1.0, 1.0));
    }
    World { schema: schema(8, bounds, NUMBER), columns: 8, x, y, truth }
}

impl World {
    fn encoded(&self, task: &Task, rows: std::ops::Range<usize>) -> Rows {
        let layout = task.layout().unwrap();
        let cells = &self.x[rows.start * self.columns..rows.end * self.columns];
        let targets = Targets::Numbers(&self.y[rows]);
        Encoder::new(&layout).matrix(self.columns, cells, targets).unwrap()
    }

    /// The margins of the held-out rows by the default fit of the first ones.
    fn margins(&self, epsilon: f64, encoding: Option<Encoding>, seed: u64) -> Vec<f64> {
        let rows = self.y.len() - HELD;
        let declaration = Declaration::from_json(&self.schema).unwrap();
        let named = encoding.is_some();
        let task = Task::new(declaration, encoding.unwrap_or_default());
        let budget = Budget {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        let task =
            if named { task } else { with_curves(task, rows, budget.epsilon, "auto").unwrap() };
        let problem = task.problem(rows, Domain::Unbounded, None).unwrap();
        let plan = choose(&problem, budget, &Settings::default(), "auto").unwrap();
        let oracle = LocalOracle::new(self.encoded(&task, 0..rows), Speed::default()).unwrap();
        let source = Source::seeded_not_private(seed);
        let weights = plan.run(&oracle, &source, &Quiet).unwrap().weights;
        let held = self.encoded(&task, rows..rows + HELD);
        let Features::F64(x) = held.features() else { unreachable!("rows are dense") };
        (0..HELD).map(|i| x.row(i).iter().zip(&weights).map(|(x, w)| x * w).sum()).collect()
    }

    /// How far the log loss of the held-out rows lies above that of the true probabilities.
    fn excess(&self, epsilon: f64) -> f64 {
        let rows = self.y.len() - HELD;
        let loss = |share: f64, y: f64| -(if y > 0.5 { share } else { 1.0 - share }).ln();
        let margins = self.margins(epsilon, None, 5);
        let held = margins.iter().zip(&self.y[rows..]).zip(&self.truth[rows..]);
        held.map(|((m, y), truth)| loss(1.0 / (1.0 + (-m).exp()), *y) - loss(*truth, *y))
            .sum::<f64>()
            / HELD as f64
    }

    /// The mean R2 of two fits.
    fn r2(&self, epsilon: f64, encoding: Option<&Encoding>) -> f64 {
        let held = &self.y[self.y.len() - HELD..];
        let mean = held.iter().sum::<f64>() / HELD as f64;
        let total: f64 = held.iter().map(|y| (y - mean).powi(2)).sum();
        let one = |seed| {
            let margins = self.margins(epsilon, encoding.cloned(), seed);
            1.0 - margins.iter().zip(held).map(|(m, y)| (m - y).powi(2)).sum::<f64>() / total
        };
        0.5 * (one(1) + one(2))
    }

    /// The R2 of the truth.
    fn best_r2(&self) -> f64 {
        let rows = self.y.len() - HELD;
        let (held, truth) = (&self.y[rows..], &self.truth[rows..]);
        let mean = held.iter().sum::<f64>() / HELD as f64;
        let total: f64 = held.iter().map(|y| (y - mean).powi(2)).sum();
        1.0 - truth.iter().zip(held).map(|(m, y)| (m - y).powi(2)).sum::<f64>() / total
    }
}

#[test]
fn ten_times_the_rows_leave_less_than_half_of_the_excess_log_loss() {
    let [few, many] = [10_000, 100_000].map(|rows| classes(rows).excess(1.0));
    assert!(many < 0.5 * few && many < 0.002, "{few} and {many}");
}

#[test]
fn more_budget_gives_no_worse_model_of_collinear_columns_that_fill_a_tenth_of_their_bounds() {
    let world = collinear(10_000, 12, (-20.0, 20.0));
    let scores = [0.1, 0.3, 1.0, 4.0].map(|epsilon| world.r2(epsilon, None));
    for pair in scores.windows(2) {
        assert!(pair[1] >= pair[0] - 0.005, "{scores:?}");
    }
    assert!(scores[3] > 0.97 * world.best_r2(), "{scores:?} of {}", world.best_r2());
}

#[test]
fn bounds_ten_times_too_wide_cost_less_than_a_tenth_of_the_gain() {
    let tight = numbers(10_000, (0.0, 1.0)).r2(1.0, None);
    for bounds in [(0.0, 10.0), (-4.5, 5.5)] {
        let wide = numbers(10_000, bounds).r2(1.0, None);
        assert!(wide >= 0.9 * tight, "{bounds:?}: {wide}, not {tight}");
    }
}
