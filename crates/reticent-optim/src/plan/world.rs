//! Simulated tables for a declared problem: the planner tries its plans on them. No data enters.
//!
//! A world is a law for rows and labels within the declared bounds, at one of three [`Level`]s. All
//! three are what bounded, encoded tables tend to be, and differ in what makes learning hard:
//!
//! - *rows* have half of their energy or more in a mean direction (an intercept, numbers that
//!   keep away from zero, frequent categories) and the rest in directions of falling variance,
//!   `j^-a`; they lie on the sphere that the bound declares, or inside it;
//! - *labels* follow a linear model. Where its weights have the same size in every direction,
//!   directions of more variance say more, and few steps find them; the other extreme is that every
//!   direction says equally much, and small weights in none suffice. How much of the label the
//!   model explains is the level's signal. Classes are not balanced, and regression targets fill a
//!   part of their declared range, below its middle.
//!
//! Nothing is fitted to a data set. The seeds are fixed, so that the same problem has the same
//! worlds everywhere.

use reticent_data::{Dense, Features, Rows, margins};
use reticent_noise::fast::fill_standard_gaussian;
use reticent_noise::{Purpose, Source};
use reticent_problem::loss::Signal;
use reticent_problem::{Domain, Loss, Problem};

use crate::tuning;

/// How hard the synthetic problem is.
pub(crate) struct Level {
    /// The name in flags, files and messages.
    pub(crate) name: &'static str,
    /// The part of the rows' energy that all rows share.
    pub(crate) common: f64,
    /// `a`: how fast the variance of directions falls.
    pub(crate) decay: f64,
    /// The true weight of a direction is its variance to the power of minus this: 0 for equal
    /// weights, a half for directions that say equally much.
    pub(crate) tilt: f64,
    /// Standard deviation of the true margin; labels of classes are drawn by it.
    pub(crate) margin: f64,
    /// How much the most frequent class is ahead, as a margin.
    pub(crate) offset: f64,
    /// Standard deviation of a regression target over the bound on labels.
    pub(crate) spread: f64,
    /// How far the mean of regression targets is below the middle of their range, in standard
    /// deviations.
    pub(crate) away: f64,
    /// The part of its variance that a linear model explains.
    pub(crate) explained: f64,
    /// Whether the rest of it has a long tail to one side, as counts and prices have.
    pub(crate) skewed: bool,
    /// Norm of a row over its bound.
    pub(crate) length: f64,
}

/// The problem as it is simulated: with fewer features if it has many. The effect of noise on a
/// margin depends on the row's norm and not on how many features share it, so a narrower table errs
/// much as the wide one does.
pub(super) fn narrowed(problem: &Problem) -> Option<Problem> {
    let bounded = problem.bounds.norm().is_finite() && problem.bounds.label().is_finite();
    if problem.hidden.is_some() || !bounded {
        return None;
    }
    let outputs = problem.loss.outputs() as f64;
    let most = (tuning::WORLD_FEATURES / outputs.powf(tuning::FEWER_FEATURES)).max(4.0) as usize;
    if problem.features <= most {
        return Some(Problem { curves: Vec::new(), ..problem.clone() });
    }
    let domain = match problem.domain {
        Domain::Unbounded | Domain::Ball { .. } | Domain::L1 { .. } | Domain::Simplex { .. } => {
            problem.domain.clone()
        }
        _ => return None, // other sets are declared for a number of weights
    };
    Some(Problem { domain, features: most, curves: Vec::new(), ..problem.clone() })
}

/// A table of simulated rows, and what is known of it.
pub(super) struct World {
    /// Its level's word.
    pub(super) name: &'static str,
    pub(super) rows: Rows,
    loss: Loss,
    /// Score of the best constant answer.
    pub(super) trivial: f64,
    /// Score without privacy; see [`World::aim`].
    pub(super) best: f64,
    /// Log loss of the best constant answer; none for losses that give no probabilities.
    trivial_log_loss: Option<f64>,
    /// Log loss without privacy.
    best_log_loss: f64,
}

impl World {
    /// The world of this level for a [`narrowed`] problem, always the same.
    pub(super) fn new(problem: &Problem, level: &Level, seed: u64) -> Self {
        let (d, outputs) = (problem.features, problem.loss.outputs());
        let (least, most) = tuning::WORLD_ROWS;
        let n = (tuning::WORLD_ENTRIES / (d * outputs) as f64).clamp(least, most) as usize;
        let source = Source::seeded_not_private(seed);
        let normal = |count: usize| {
            let mut numbers = vec![0.0; count];
            fill_standard_gaussian(&mut numbers, &mut source.stream(Purpose::Initial));
            numbers
        };
        let features = Features::F64(Dense::new(n, d, rows(problem, level, n, normal(n * d))));
        // True margins: linear, with the same mean over the rows and the level's deviation.
        let mut weights = normal(d * outputs);
        for (j, w) in weights.iter_mut().enumerate() {
            *w *= variance(problem, level, j % d).powf(-level.tilt);
        }
        let mut truth = margins(&features, &weights, outputs);
        for k in 0..outputs {
            standardise(&mut truth, k, outputs);
        }
        let noise = normal(n * outputs);
        let labels = (0..n)
            .map(|i| label(problem, level, &truth[i * outputs..][..outputs], &noise[i * outputs..]))
            .collect();
        let rows = Rows::new(features, labels, problem.bounds);
        let (name, loss) = (level.name, problem.loss);
        let mut world = Self {
            name,
            rows,
            loss,
            trivial: 0.0,
            best: 0.0,
            trivial_log_loss: None,
            best_log_loss: f64::INFINITY,
        };
        world.trivial = world.constant();
        world.best = world.trivial;
        world.trivial_log_loss = world.entropy();
        world
    }

    /// A table of `n` rows. Fewer than the world has are a part of them, another one for each draw:
    /// the rest are the fresh rows on which a model shows that it learned its own by heart.
    /// Otherwise these rows stand for all.
    pub(super) fn table(&self, n: usize, draw: usize) -> Rows {
        let held = self.rows.len();
        match self.rows.features() {
            Features::F64(all) if n < held => {
                let chosen: Vec<usize> = (0..n).map(|i| (draw * n + i) % held).collect();
                let values = chosen.iter().flat_map(|i| all.row(*i)).copied().collect();
                let labels = chosen.iter().map(|i| self.rows.labels()[*i]).collect();
                let features = Features::F64(Dense::new(n, all.columns(), values));
                Rows::new(features, labels, self.rows.bounds())
            }
            _ => self.rows.clone(),
        }
    }

    /// How often a run is repeated with other rows where `n` are few: chance decides more then, and
    /// a run costs little.
    pub(super) fn repeats(&self, n: usize) -> usize {
        (self.rows.len() / n.max(1)).clamp(1, 16)
    }

    /// The score of the best constant prediction.
    fn constant(&self) -> f64 {
        if self.loss.predicts_number() {
            return 0.0;
        }
        self.rows.labels().iter().map(|y| self.share(*y)).fold(0.0, f64::max)
    }

    /// The share of the rows with this label.
    fn share(&self, label: f64) -> f64 {
        let labels = self.rows.labels();
        labels.iter().filter(|y| **y == label).count() as f64 / labels.len() as f64
    }

    /// Log loss of the classes' shares; none where the loss gives no probabilities.
    fn entropy(&self) -> Option<f64> {
        let labels = self.rows.labels();
        let sum: f64 = labels.iter().map(|y| -self.share(*y).ln()).sum();
        self.loss.is_log_loss().then_some(sum / labels.len() as f64)
    }

    /// Mean log loss of these weights.
    fn log_loss(&self, weights: &[f64]) -> f64 {
        let outputs = self.loss.outputs();
        let margins = margins(self.rows.features(), weights, outputs);
        let labels = self.rows.labels();
        let one = |(margins, label): (&[f64], &f64)| self.loss.value(margins, *label);
        margins.chunks_exact(outputs).zip(labels).map(one).sum::<f64>() / labels.len() as f64
    }

    /// Accuracy of these weights, or the part of the variance or deviance that they explain.
    pub(super) fn score(&self, weights: &[f64]) -> f64 {
        let outputs = self.loss.outputs();
        let margins = margins(self.rows.features(), weights, outputs);
        let labels = self.rows.labels();
        let n = labels.len() as f64;
        if self.loss.predicts_number() {
            let (loss, link) = (self.loss, self.loss.link());
            let constant = loss.constant(labels.iter().copied());
            let off = |y: f64, at: f64| loss.deviance(y, at).unwrap_or_else(|| (y - at).powi(2));
            let around = |at: &dyn Fn(usize) -> f64| {
                labels.iter().enumerate().map(|(i, y)| off(*y, at(i))).sum::<f64>()
            };
            let rest = around(&|i| link.prediction(margins[i]));
            return 1.0 - rest / around(&|_| constant).max(f64::MIN_POSITIVE);
        }
        let right = margins.chunks_exact(outputs).zip(labels).filter(|(margins, label)| {
            if outputs == 1 {
                return margins[0] * **label > 0.0;
            }
            let own = margins[**label as usize];
            margins.iter().enumerate().all(|(k, m)| k == **label as usize || *m < own)
        });
        right.count() as f64 / n
    }

    /// Takes these weights, trained without privacy, for the best that can be reached.
    pub(super) fn aim(&mut self, weights: &[f64]) {
        self.best = self.best.max(self.score(weights));
        if self.trivial_log_loss.is_some() {
            self.best_log_loss = self.best_log_loss.min(self.log_loss(weights));
        }
    }

    /// Whether anything can be learned here.
    pub(super) fn is_learnable(&self) -> bool {
        self.best > self.trivial + tuning::LEARNABLE
    }

    /// 0 for the trivial model, 1 for the one without privacy. A model far worse than the trivial
    /// one counts as -1. With probabilities, the mean of the gains in accuracy and in log loss.
    pub(super) fn gain(&self, weights: &[f64]) -> f64 {
        let part = |gain: f64| if gain.is_nan() { -1.0 } else { gain.clamp(-1.0, 1.0) };
        let accuracy = part((self.score(weights) - self.trivial) / (self.best - self.trivial));
        match self.trivial_log_loss {
            Some(trivial) if self.best_log_loss < trivial => {
                let log_loss = trivial - self.log_loss(weights);
                f64::midpoint(accuracy, part(log_loss / (trivial - self.best_log_loss)))
            }
            _ => accuracy,
        }
    }
}

/// The norm of the rows of a level, and the features that share the common part: as many as the
/// bound on entries asks for.
fn shape(problem: &Problem, level: &Level) -> (f64, usize) {
    let target = level.length * problem.bounds.norm() * (1.0 - 1e-9);
    let share = level.common * (target / problem.bounds.entry()).powi(2);
    (target, (share.ceil() as usize).clamp(1, problem.features))
}

/// The variance of feature `j`, up to a factor. It falls behind the features of the common part,
/// and wraps around.
fn variance(problem: &Problem, level: &Level, j: usize) -> f64 {
    let (d, common) = (problem.features, shape(problem, level).1);
    let place = (j + d - common % d) % d;
    ((place + 1) as f64).powf(-level.decay)
}

/// The rows: a common part, and directions of falling variance.
fn rows(problem: &Problem, level: &Level, n: usize, mut numbers: Vec<f64>) -> Vec<f64> {
    let (d, entry) = (problem.features, problem.bounds.entry());
    let (target, common) = shape(problem, level);
    let height = target * (level.common / common as f64).sqrt();
    let variances: Vec<f64> = (0..d).map(|j| variance(problem, level, j)).collect();
    let total: f64 = variances.iter().sum();
    for i in 0..n {
        let row = &mut numbers[i * d..(i + 1) * d];
        for (j, x) in row.iter_mut().enumerate() {
            *x *= target * ((1.0 - level.common) * variances[j] / total).sqrt();
            if j < common {
                *x += height;
            }
        }
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let factor = target / length.max(f64::MIN_POSITIVE);
        for x in row.iter_mut() {
            *x = (*x * factor).clamp(-entry, entry);
        }
    }
    numbers
}

/// Gives column `k` mean 0 and variance 1.
fn standardise(values: &mut [f64], k: usize, columns: usize) {
    let n = (values.len() / columns) as f64;
    let mean = values.iter().skip(k).step_by(columns).sum::<f64>() / n;
    let square = |x: &f64| (x - mean).powi(2);
    let deviation = (values.iter().skip(k).step_by(columns).map(square).sum::<f64>() / n).sqrt();
    for x in values.iter_mut().skip(k).step_by(columns) {
        *x = (*x - mean) / deviation.max(f64::MIN_POSITIVE);
    }
}

/// The label of a row with these true margins.
fn label(problem: &Problem, level: &Level, truth: &[f64], noise: &[f64]) -> f64 {
    let Level { margin, offset, spread, away, explained, skewed, .. } = *level;
    let signal = Signal { margin, offset, spread, away, explained, skewed };
    problem.loss.simulated_label(&signal, problem.bounds.label(), truth, noise)
}
