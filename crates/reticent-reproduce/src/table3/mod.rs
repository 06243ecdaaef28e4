//! Table 3 of Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives" (IJCAI
//! 2017).
//!
//! Five data sets, two ridges each, four epsilons, delta = 0.001: the gap of the objective to its
//! minimum, and the CPU time of a run, for output-perturbed gradient descent and for noisy SGD with
//! batches of 50.
//!
//! | configuration | what runs | row bound |
//! | --- | --- | --- |
//! | ours, paper | `output-gd`, the paper's calibration | `√d` |
//! | ours, tight | `output-gd`, tight; without ridge the plan chooses one | structural |
//! | baseline, printed | `noisy-sgd`, paper, noise not divided by the batch | `√d` |
//! | baseline, scaled | `noisy-sgd`, paper | `√d` |
//! | baseline, tight | `noisy-sgd`, tight | structural |
//!
//! Seeds are fixed, so that a table can be made again. Nothing here is private: see [`super`].

pub mod minimum;
pub mod page;
pub mod published;
pub mod sets;

use std::path::Path;

use reticent::Error;
use reticent::data::{LocalOracle, Rows, Speed};
use reticent::noise::lattice::{GaussianLattice, L2LaplaceLattice};
use reticent::noise::{Purpose, Source};
use reticent::optim::output_gd::{Noise, NoiseChoice, OutputGdPlan};
use reticent::optim::{Algorithm, Calibration, NoisySgd, OutputGd, Quiet};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Domain, Problem, RowBounds};
use serde::{Deserialize, Serialize};

use minimum::{Minimum, minimise, objective};
use published::Printed;
use sets::Set;

/// The delta of the whole table.
pub const DELTA: f64 = 1e-3;

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Noise draws for our method, whose descent is the same in each.
    pub rounds: u64,
    /// Runs of the baseline.
    pub baseline_rounds: u64,
}

/// The measurements of one method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Mean of `F(w) − F(ŵ)`.
    pub error: f64,
    /// Its standard error; none of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// CPU time of one run, in seconds.
    pub seconds: f64,
    /// Steps.
    pub steps: u64,
}

/// One row of the table, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The printed values.
    pub printed: Printed,
    /// Rows.
    pub rows: usize,
    /// Features.
    pub features: usize,
    /// The minimum from which the error is measured.
    pub minimum: Minimum,
    /// Ours with the paper's calibration.
    pub ours_paper: Measured,
    /// Ours, tight.
    pub ours_tight: Measured,
    /// The baseline as it seems to have been run.
    pub baseline_printed: Measured,
    /// The baseline with its noise divided by the batch.
    pub baseline_scaled: Measured,
    /// The baseline, tight.
    pub baseline_tight: Measured,
}

/// Measures every cell of a set, and tells each.
///
/// # Errors
///
/// If a file is absent or of another structure.
pub fn run(
    folder: &Path,
    set: &'static Set,
    settings: Settings,
    tell: &mut dyn FnMut(&Cell),
) -> Result<Vec<Cell>, Error> {
    let rows = set.read(folder)?;
    let mut cells = Vec::new();
    let mut minimum: Option<(f64, Minimum)> = None;
    for printed in published::rows().filter(|p| p.set == set.name) {
        let problem = problem(set, &rows, printed.ridge);
        let known = minimum.take().filter(|(ridge, _)| *ridge == printed.ridge);
        let (_, best) = known.unwrap_or_else(|| (printed.ridge, minimise(&rows, &problem)));
        minimum = Some((printed.ridge, best.clone()));
        let bench = Bench { set, rows: &rows, problem, printed, best, settings };
        let cell = bench.cell()?;
        tell(&cell);
        cells.push(cell);
    }
    Ok(cells)
}

/// The cells of a set as they are kept beside the page, so that a long job can be continued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// How much was run.
    pub settings: Settings,
    /// The measured cells.
    pub cells: Vec<Cell>,
}

fn problem(set: &Set, rows: &Rows, ridge: f64) -> Problem {
    let features = rows.features().columns();
    Problem { ridge, ..Problem::new(set.loss, rows.bounds(), rows.len(), features) }
}

/// One cell about to be measured.
struct Bench<'a> {
    set: &'static Set,
    rows: &'a Rows,
    problem: Problem,
    printed: Printed,
    best: Minimum,
    settings: Settings,
}

impl Bench<'_> {
    fn cell(&self) -> Result<Cell, Error> {
        let oracle = LocalOracle::new(self.rows.clone(), Speed { threads: Some(1) })?;
        Ok(Cell {
            printed: self.printed,
            rows: self.rows.len(),
            features: self.problem.features,
            minimum: self.best.clone(),
            ours_paper: self.ours(&oracle, Calibration::Paper)?,
            ours_tight: self.ours(&oracle, Calibration::Tight)?,
            baseline_printed: self.baseline(&oracle, Calibration::Paper, true)?,
            baseline_scaled: self.baseline(&oracle, Calibration::Paper, false)?,
            baseline_tight: self.baseline(&oracle, Calibration::Tight, false)?,
        })
    }

    fn budget(&self) -> Result<Budget, Error> {
        Ok(Budget {
            epsilon: Epsilon::new(self.printed.epsilon)?,
            delta: Delta::new(DELTA)?,
            adjacency: Adjacency::ReplaceOne,
        })
    }

    /// `D`: fitted to the printed times where that is possible; with a ridge what it implies.
    fn distance(&self) -> f64 {
        let ridged = usize::from(self.problem.ridge > 0.0);
        let k = self.problem.regularity();
        let guess = 2.0 * self.problem.bounds.label() / self.problem.bounds.norm();
        let public = if ridged == 1 { k.iterate_radius() } else { guess };
        self.set.distances.map_or(public, |d| d[ridged])
    }

    /// The problem with the paper's row bound `√d`, or with the structural one.
    fn bounded(&self, calibration: Calibration) -> Result<Problem, Error> {
        let norm = match calibration {
            Calibration::Paper => (self.problem.features as f64).sqrt(),
            Calibration::Tight => self.problem.bounds.norm(),
        };
        let bounds =
            RowBounds::new(norm.max(self.problem.bounds.norm()), self.problem.bounds.label())?;
        Ok(Problem { bounds, ..self.problem.clone() })
    }

    fn ours(&self, oracle: &LocalOracle, calibration: Calibration) -> Result<Measured, Error> {
        let problem = self.bounded(calibration)?;
        let ridged = problem.ridge > 0.0;
        // With a ridge the public radius serves for D; without one the fitted D, or the default
        // guess.
        let distance = if ridged { None } else { Some(self.distance()) };
        let noise = match calibration {
            Calibration::Paper => NoiseChoice::Gaussian,
            Calibration::Tight => NoiseChoice::Auto,
        };
        let settings = OutputGd { calibration, noise, distance, ..OutputGd::default() };
        let plan = if !ridged && calibration == Calibration::Tight {
            settings.plan_with_ridge(&problem, self.budget()?)?
        } else {
            settings.plan(&problem, self.budget()?)?
        };
        let started = cpu_seconds();
        OutputGd::run(&plan, oracle, &Source::seeded_not_private(0), &Quiet)?;
        let seconds = cpu_seconds() - started;
        let last = last_iterate(&plan, oracle)?;
        let errors = (0..self.settings.rounds)
            .map(|seed| Ok(self.error(&noisy(&plan, &last, &Source::seeded_not_private(seed))?)))
            .collect::<Result<Vec<f64>, Error>>()?;
        Ok(measured(&errors, seconds, plan.outline.steps))
    }

    fn baseline(
        &self,
        oracle: &LocalOracle,
        calibration: Calibration,
        undivided: bool,
    ) -> Result<Measured, Error> {
        let domain = Domain::Ball { radius: self.distance() };
        let problem = Problem { domain, ..self.bounded(calibration)? };
        let settings = NoisySgd { calibration, undivided, ..NoisySgd::default() };
        let plan = settings.plan(&problem, self.budget()?)?;
        let started = cpu_seconds();
        let released = (0..self.settings.baseline_rounds)
            .map(|seed| {
                let source = Source::seeded_not_private(seed);
                Ok(NoisySgd::run(&plan, oracle, &source, &Quiet)?.weights)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let seconds = (cpu_seconds() - started) / self.settings.baseline_rounds as f64;
        let errors: Vec<f64> = released.iter().map(|w| self.error(w)).collect();
        Ok(measured(&errors, seconds, plan.outline.steps))
    }

    fn error(&self, w: &[f64]) -> f64 {
        objective(self.rows, &self.problem, w) - self.best.value
    }
}

/// The last iterate of the plan's descent, before its noise. The rows of the table are public.
fn last_iterate(plan: &OutputGdPlan, oracle: &LocalOracle) -> Result<Vec<f64>, Error> {
    let bare =
        OutputGd { steps: Some(plan.outline.steps), eta: Some(plan.eta), ..OutputGd::default() };
    let budget = Budget { epsilon: Epsilon::new(f64::INFINITY)?, ..plan.outline.budget };
    let bare = bare.plan(&plan.outline.problem, budget)?;
    Ok(OutputGd::run(&bare, oracle, &Source::seeded_not_private(0), &Quiet)?.weights)
}

/// The release of a run of the plan with this source, given the last iterate, which is the same for
/// every source.
fn noisy(plan: &OutputGdPlan, last: &[f64], source: &Source) -> Result<Vec<f64>, Error> {
    let (d, mut stream) = (last.len(), source.stream(Purpose::Noise));
    Ok(match plan.noise {
        Noise::Gaussian { noise_multiplier, .. } => {
            GaussianLattice::new(plan.sensitivity, noise_multiplier, d)?.release(last, &mut stream)
        }
        Noise::Ball { .. } => {
            let epsilon = plan.outline.budget.epsilon.get();
            L2LaplaceLattice::new(plan.sensitivity, epsilon, d)?.release(last, &mut stream)
        }
        Noise::None => last.to_vec(),
    })
}

fn measured(errors: &[f64], seconds: f64, steps: u64) -> Measured {
    let n = errors.len().max(1) as f64;
    let error = errors.iter().sum::<f64>() / n;
    let square: f64 = errors.iter().map(|e| (e - error).powi(2)).sum();
    let standard_error = (n > 1.0).then(|| (square / (n - 1.0) / n).sqrt());
    Measured { error, standard_error, seconds, steps }
}

/// CPU time of this process so far.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Time since the first call: other systems have no such clock.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reticent::data::{Dense, Features};
    use reticent::problem::Loss;

    use super::*;

    #[test]
    fn a_noise_draw_on_the_last_iterate_is_what_a_whole_run_releases() {
        let x: Vec<f64> = (0..60).flat_map(|i| [1.0, f64::from(i % 7) / 7.0]).collect();
        let labels = (0..60).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let bounds = RowBounds::features(2.0).unwrap();
        let rows = Rows::new(Features::F64(Dense::new(60, 2, x)), labels, bounds);
        let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
        let problem = Problem { ridge: 0.1, ..Problem::new(Loss::Logistic, bounds, 60, 2) };
        let budget = Budget {
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(DELTA).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        for noise in [NoiseChoice::Gaussian, NoiseChoice::Ball] {
            for calibration in [Calibration::Paper, Calibration::Tight] {
                let settings = OutputGd { calibration, noise, ..OutputGd::default() };
                let plan = settings.plan(&problem, budget).unwrap();
                let last = last_iterate(&plan, &oracle).unwrap();
                for seed in 0..5 {
                    let source = || Source::seeded_not_private(seed);
                    let whole = OutputGd::run(&plan, &oracle, &source(), &Quiet).unwrap().weights;
                    assert_eq!(whole, noisy(&plan, &last, &source()).unwrap());
                    assert_ne!(whole, last);
                }
            }
        }
    }
}
