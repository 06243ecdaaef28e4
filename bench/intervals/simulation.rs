//! Tables with known coefficients, fitted over and over: how often intervals hold the truth, and
//! how wide they are.

use reticent::data::{Dense, Features, Rows, Speed};
use reticent::noise::fast::fill_standard_gaussian;
use reticent::noise::{Purpose, Source, Stream};
use reticent::optim::objective::blocks::{INTERVAL_METHOD, IntervalMethod};
use reticent::optim::objective::curvature::INTERVALS;
use reticent::optim::output_gd::Noise;
use reticent::optim::{Plan, Quiet, Settings, plan_named};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::problem::{Domain, Loss};
use reticent::{Coefficient, Coefficients, Model, Task, fit, for_intervals};
use serde::{Deserialize, Serialize};

/// The chance of the rare category.
const RARE: f64 = 0.05;

/// Rows from which the ideal width is found.
const MANY: usize = 200_000;

/// The level of the intervals.
const LEVEL: f64 = 0.95;

/// One setting of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Records.
    pub rows: usize,
    /// Columns: correlated numbers, and one rare category.
    pub columns: usize,
    /// The budget; delta is 1e-6.
    pub epsilon: f64,
    /// Least squares (Huber) in place of logistic regression.
    pub linear: bool,
    /// Rows of a record, all equal; 1 where records are rows.
    pub of_a_unit: usize,
    /// Intervals from blocks in place of the curvature.
    #[serde(default)]
    pub blocks: bool,
}

/// A cell with what all its tables share.
pub struct Prepared {
    cell: Cell,
    task: Task,
    truth: Vec<f64>,
    plan: Plan,
    ideal: Vec<f64>,
}

/// Counts over tables and coefficients, the intercept among them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Tables.
    pub tables: u64,
    /// Coefficients in all.
    pub all: u64,
    /// Those with an interval.
    pub determined: u64,
    /// Intervals that hold the truth.
    pub covered: u64,
    /// The sum over tables of the square of what they hold less what they should.
    pub squares: f64,
    /// Intervals that hold the truth in a broken copy: one whose table leaves the privacy noise
    /// out, or whose blocks are five, each counted twice.
    pub covered_by_broken: u64,
    /// The same in a copy in which every row of a unit counts as a record for `V`.
    pub covered_row_by_row: u64,
    /// Intervals of columns, whose ideal width is known.
    pub compared: u64,
    /// The sum of their widths over the ideal ones.
    pub width_over_ideal: f64,
}

impl Tally {
    /// The share of intervals that hold the truth.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.determined.max(1) as f64
    }

    /// Its standard deviation where the coverage is the level. Coefficients of a table have errors
    /// that hang together, so tables are what is independent.
    pub fn deviation(&self) -> f64 {
        self.squares.sqrt() / self.determined.max(1) as f64
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.tables += other.tables;
        self.all += other.all;
        self.determined += other.determined;
        self.covered += other.covered;
        self.squares += other.squares;
        self.covered_by_broken += other.covered_by_broken;
        self.covered_row_by_row += other.covered_row_by_row;
        self.compared += other.compared;
        self.width_over_ideal += other.width_over_ideal;
    }
}

impl Cell {
    /// The true coefficients: per unit of each number, of the rare category, and the intercept.
    fn truth(&self) -> Vec<f64> {
        let numbers = self.columns - 1;
        let size = if self.linear { 0.5 / (numbers as f64).sqrt() } else { 1.0 };
        let sign = |j: usize| [1.0, -0.7, 0.0, 0.4][j % 4];
        let mut truth: Vec<f64> = (0..numbers).map(|j| size * sign(j)).collect();
        truth.push(0.5 * size);
        let middle: f64 = truth[..numbers].iter().sum::<f64>() * 0.5;
        truth.push(if self.linear { 0.0 } else { -0.3 } - middle);
        truth
    }

    /// The task with its declaration.
    pub fn task(&self) -> Task {
        let number = |j: usize| {
            format!(r#"{{"name": "x{j}", "type": "number", "bounds": {{"min": 0, "max": 1}}}}"#)
        };
        let mut columns: Vec<String> = (0..self.columns - 1).map(number).collect();
        columns.push(
            r#"{"name": "rare", "type": "categorical", "categories": ["no", "yes"]}"#.to_owned(),
        );
        columns.push(if self.linear {
            r#"{"name": "y", "type": "number", "bounds": {"min": -1, "max": 1}}"#.to_owned()
        } else {
            r#"{"name": "y", "type": "categorical", "categories": ["0", "1"]}"#.to_owned()
        });
        let mut more = String::new();
        if self.of_a_unit > 1 {
            columns.push(r#"{"name": "who", "type": "text", "role": "id"}"#.to_owned());
            more = format!(r#", "unit": {{"column": "who", "max_rows": {}}}"#, self.of_a_unit);
        }
        let json = format!(r#"{{"target": "y", "columns": [{}]{more}}}"#, columns.join(", "));
        let declaration = Declaration::from_json(&json).unwrap();
        let loss = if self.linear { Loss::Huber { threshold: 0.5 } } else { Loss::Logistic };
        let task = Task::new(declaration, Encoding::default()).with_loss(loss).unwrap();
        for_intervals(task, false).unwrap()
    }

    /// The plan of every replication.
    pub fn plan(&self, task: &Task) -> Plan {
        let budget = Budget {
            epsilon: Epsilon::new(self.epsilon).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: task.adjacency(Adjacency::ReplaceOne).unwrap(),
        };
        let problem = task.problem(self.rows, Domain::Unbounded, None).unwrap();
        let method = if self.blocks { IntervalMethod::Blocks } else { IntervalMethod::Curvature };
        let settings = Settings::default().with(&INTERVALS, 95.0).with(&INTERVAL_METHOD, method);
        plan_named(&problem, budget, &settings, "objective").unwrap()
    }

    /// Encoded rows of the layout `numbers, rare=no, rare=yes, intercept`, and labels.
    fn draw(&self, rows: usize, truth: &[f64], stream: &mut Stream) -> (Vec<f64>, Vec<f64>) {
        let (numbers, width) = (self.columns - 1, self.columns + 2);
        let (mut x, mut y) = (Vec::with_capacity(rows * width), Vec::with_capacity(rows));
        let mut z = vec![0.0; numbers + 3];
        for _ in 0..rows {
            fill_standard_gaussian(&mut z, stream);
            let mut margin = truth[numbers + 1];
            for (truth, own) in truth.iter().zip(&z[..numbers]) {
                let u = uniform(0.7 * z[numbers] + 0.51_f64.sqrt() * own);
                margin += truth * u;
                x.push(2.0 * u - 1.0);
            }
            let rare = uniform(z[numbers + 1]) < RARE;
            margin += if rare { truth[numbers] } else { 0.0 };
            x.extend([f64::from(u8::from(!rare)), f64::from(u8::from(rare)), 1.0]);
            let noise = z[numbers + 2];
            y.push(if self.linear {
                (margin + 0.2 * noise).clamp(-1.0, 1.0)
            } else if uniform(noise) < 1.0 / (1.0 + (-margin).exp()) {
                1.0
            } else {
                -1.0
            });
        }
        (x, y)
    }

    /// Fits so many tables, drawn from this seed on.
    pub fn run(&self, tables: u64, seed: u64) -> Tally {
        self.prepare().run(tables, seed)
    }

    /// What all tables share: the plan, and the widths that intervals should have, which take
    /// longer than a small table.
    pub fn prepare(&self) -> Prepared {
        let (task, truth) = (self.task(), self.truth());
        let plan = self.plan(&task);
        let ideal = self.ideal(&plan, &truth);
        Prepared { cell: *self, task, truth, plan, ideal }
    }

    /// The table of these records, each as often as it has rows.
    fn table(&self, task: &Task, (x, y): &(Vec<f64>, Vec<f64>)) -> Rows {
        let (m, width) = (self.of_a_unit, self.columns + 2);
        let x: Vec<f64> = x.chunks(width).flat_map(|row| row.repeat(m)).collect();
        let y = y.iter().flat_map(|y| vec![*y; m]).collect();
        let features = Features::F64(Dense::new(m * self.rows, width, x));
        let rows = Rows::new(features, y, task.bounds().unwrap());
        match task.declaration.unit() {
            None => rows,
            Some(unit) => rows.grouped((0..m * self.rows).map(|i| Some(i / m)), unit).unwrap(),
        }
    }

    /// One table's counts, and those of its broken copies.
    fn count(
        &self,
        model: &Model,
        drawn: &(Vec<f64>, Vec<f64>),
        truth: &[f64],
        ideal: &[f64],
    ) -> Tally {
        let mut tally = Tally { tables: 1, ..Tally::default() };
        let table = Coefficients::of(model, None).unwrap();
        for (j, (row, truth)) in table.rows.iter().zip(truth).enumerate() {
            tally.all += 1;
            let Some(interval) = row.interval else { continue };
            tally.determined += 1;
            tally.covered += u64::from((interval.low..=interval.high).contains(truth));
            if let Some(ideal) = ideal.get(j) {
                tally.compared += 1;
                tally.width_over_ideal += (interval.high - interval.low) / (2.0 * ideal);
            }
        }
        if tally.determined == 0 {
            return tally;
        }
        tally.squares = (tally.covered as f64 - LEVEL * tally.determined as f64).powi(2);
        let broken = if self.blocks { five_blocks(model) } else { without_privacy(model) };
        tally.covered_by_broken = covered(&broken, truth);
        if self.of_a_unit > 1 && !self.blocks {
            tally.covered_row_by_row = covered(&self.row_by_row(model, drawn), truth);
        }
        tally
    }

    /// The model of one whose `V` takes rows for records, without noise.
    fn row_by_row(&self, model: &Model, (x, y): &(Vec<f64>, Vec<f64>)) -> Model {
        assert!(!self.linear, "the slope here is the logistic one");
        let mut broken = model.clone();
        let Plan::Objective(plan) = &model.certificate.plan else { panic!("objective") };
        let unit = plan.curvature.unwrap().score_unit;
        let (weights, width) = (&model.weights[0], self.columns + 2);
        let released = broken.curvature.as_mut().unwrap();
        let scores = released.len() / 2;
        released[scores..].fill(0.0);
        for (row, label) in x.chunks(width).zip(y) {
            let margin: f64 = row.iter().zip(weights).map(|(x, w)| x * w).sum();
            let slope = 1.0 / (1.0 + (label * margin).exp());
            // Each of the rows counts 1/m, and there are m.
            let square = slope * slope / (self.of_a_unit as f64 * unit);
            let places = (0..width).flat_map(|j| (j..width).map(move |k| (j, k)));
            for (sum, (j, k)) in released[scores..].iter_mut().zip(places) {
                let twice = if j == k { 1.0 } else { 2_f64.sqrt() };
                *sum += square * twice * row[j] * row[k];
            }
        }
        broken
    }

    /// Half the width of intervals for each column with the true Hessian and covariance.
    fn ideal(&self, plan: &Plan, truth: &[f64]) -> Vec<f64> {
        let Plan::Objective(plan) = plan else { panic!("objective perturbation") };
        let source = Source::seeded_not_private(u64::MAX);
        let (x, y) = self.draw(MANY, truth, &mut source.stream(Purpose::Noise));
        let (d, width) = (self.columns + 1, self.columns + 2);
        let rare = self.columns - 1;
        let (mut h, mut v) = (vec![0.0; d * d], vec![0.0; d * d]);
        for (row, label) in x.chunks(width).zip(&y) {
            // Without the first category.
            let row: Vec<f64> =
                row.iter().enumerate().filter(|(j, _)| *j != rare).map(|(_, x)| *x).collect();
            let numbers = row[..rare].iter().zip(truth).map(|(x, t)| (x + 1.0) / 2.0 * t);
            let margin = numbers.sum::<f64>() + row[rare] * truth[rare] + truth[self.columns];
            let (bend, square) = if self.linear {
                let r = margin - label;
                (f64::from(u8::from(r.abs() < 0.5)), r.clamp(-0.5, 0.5).powi(2))
            } else {
                let p = 1.0 / (1.0 + (label * margin).exp());
                (p * (1.0 - p), p * p)
            };
            for (j, x) in row.iter().enumerate() {
                for (k, other) in row.iter().enumerate() {
                    h[j * d + k] += bend * x * other / MANY as f64;
                    v[j * d + k] += square * x * other / MANY as f64;
                }
            }
        }
        let n = self.rows as f64;
        let noise = match plan.blocks {
            None => plan.sigma / n,
            // The mean of so many.
            Some(blocks) => plan.sigma / (blocks.records as f64 * (blocks.count as f64).sqrt()),
        };
        let half_width = |j: usize| {
            let mut a = vec![0.0; d];
            a[j] = if j < rare { 2.0 } else { 1.0 };
            let a = solve(h.clone(), a);
            let sampling: f64 = (0..d * d).map(|i| a[i / d] * v[i] * a[i % d]).sum::<f64>() / n;
            let privacy = noise * noise * a.iter().map(|a| a * a).sum::<f64>();
            1.96 * (sampling + privacy).sqrt()
        };
        (0..self.columns).map(half_width).collect()
    }
}

impl Prepared {
    /// Fits so many tables, drawn from this seed on.
    pub fn run(&self, tables: u64, seed: u64) -> Tally {
        let Self { cell, task, truth, plan, ideal } = self;
        let mut tally = Tally::default();
        for table in 0..tables {
            let source = Source::seeded_not_private(seed.wrapping_add(table));
            let drawn = cell.draw(cell.rows, truth, &mut source.stream(Purpose::Noise));
            let rows = cell.table(task, &drawn);
            let speed = Speed { threads: Some(1) };
            let model = fit(task, plan.clone(), rows, &source, speed, &Quiet).unwrap();
            tally.add(&cell.count(&model, &drawn, truth, ideal));
        }
        tally
    }
}

/// How many true coefficients a model's intervals hold.
fn covered(model: &Model, truth: &[f64]) -> u64 {
    let table = Coefficients::of(model, None).unwrap();
    let holds = |row: &Coefficient, truth: &f64| {
        row.interval.is_some_and(|i| (i.low..=i.high).contains(truth))
    };
    table.rows.iter().zip(truth).map(|(row, truth)| u64::from(holds(row, truth))).sum()
}

/// The model of one that forgets which noise reached its weights.
fn without_privacy(model: &Model) -> Model {
    let mut broken = model.clone();
    if let Plan::Objective(plan) = &mut broken.certificate.plan {
        plan.sigma = 0.0;
        plan.noise = Noise::None;
    }
    broken
}

/// The model of one whose records are in two blocks each.
fn five_blocks(model: &Model) -> Model {
    let mut broken = model.clone();
    if let Some(blocks) = &mut broken.blocks {
        let half = blocks.len() / 2;
        blocks.copy_within(..half, half);
        broken.weights[0] = (0..half / 5)
            .map(|j| blocks[j..half].iter().step_by(half / 5).sum::<f64>() / 5.0)
            .collect();
    }
    broken
}

fn uniform(z: f64) -> f64 {
    reticent_math::ndtr(z)
}

/// Solves `m x = b` for a positive definite matrix, by elimination.
fn solve(mut m: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let d = b.len();
    for i in 0..d {
        for k in i + 1..d {
            let factor = m[k * d + i] / m[i * d + i];
            for j in i..d {
                m[k * d + j] -= factor * m[i * d + j];
            }
            b[k] -= factor * b[i];
        }
    }
    for i in (0..d).rev() {
        let known: f64 = (i + 1..d).map(|j| m[i * d + j] * b[j]).sum();
        b[i] = (b[i] - known) / m[i * d + i];
    }
    b
}
