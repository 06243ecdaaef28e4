//! The accuracy tables of Das, Kale, Xu, Zhang and Sanghavi, "Beyond uniform Lipschitz condition in
//! differentially private optimization" (ICML 2023).
//!
//! Every cell is a clip norm and an epsilon; the step length is tuned for each on the test rows, as
//! in the paper. So the stated epsilon is that of one run, and the tuning is not counted. One more
//! run is made as it would be on private data: clip norm 1 and everything else chosen without data.
//!
//! Each run is written to a file as it ends, and a run that is there is not made again.

mod data;
mod page;
mod paper;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use reticent::data::table::Inspected;
use reticent::data::{LocalOracle, Speed};
use reticent::noise::Source;
use reticent::optim::clipped_sgd::{Clip, ClippedSgd, Output};
use reticent::optim::{Algorithm, Quiet};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Domain, Problem};
use reticent::{Certificate, Error, Measure, Model, Scores, Task, write_atomically};
use serde::{Deserialize, Serialize};

use data::Data;
pub use data::Dataset;
pub use page::Cell;
pub use paper::EPSILONS;

use crate::{file_error, read};

/// Delta of every run.
const DELTA: f64 = 1e-5;

/// The choices of a reproduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The folder that holds the data sets.
    pub data: PathBuf,
    /// The folder to write to: runs, page and figure.
    pub out: PathBuf,
    /// Runs of each cell at its best step size; at least 1.
    pub seeds: u64,
    /// Passes over the data, in expectation; at least 1.
    pub epochs: u64,
    /// Expected batch size; at least 1.
    pub batch: u64,
    /// Clip norms; the paper's if empty.
    pub clips: Vec<f64>,
    /// Epsilons.
    pub epsilons: Vec<f64>,
    /// Step size times clip norm: the values to try, each with one run; those of the data set if
    /// empty.
    pub strides: Vec<f64>,
    /// The network of table 7 instead of the linear model (EMNIST only).
    pub hidden: bool,
    /// Leave out the run that is made as on private data.
    pub tuned_only: bool,
    /// Threads; all cores if none.
    pub threads: Option<usize>,
}

/// The cells of a table, and the files that were written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The file of the page.
    pub page: PathBuf,
    /// The file of the figure.
    pub figure: PathBuf,
    /// The page itself.
    #[serde(skip)]
    pub markdown: String,
    /// One for each epsilon and clip norm.
    pub cells: Vec<Cell>,
    /// Without privacy, at the largest clip norm.
    pub non_private: Cell,
    /// One for each epsilon, everything chosen without data; empty if left out.
    pub untuned: Vec<Cell>,
}

/// One run, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    /// None for a run without privacy.
    epsilon: Option<f64>,
    clip: f64,
    /// `ητ`; none if the plan chose it, and the batch and the steps with it.
    stride: Option<f64>,
    epochs: u64,
    batch: u64,
    hidden: bool,
    seed: u64,
    noise_multiplier: f64,
    steps: u64,
    /// Test accuracy in percent.
    accuracy: f64,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ask {
    epsilon: Option<f64>,
    clip: f64,
    stride: Option<f64>,
    seed: u64,
}

struct Bench<'a> {
    settings: &'a Settings,
    task: Task,
    oracle: LocalOracle,
    rows: usize,
    test: Inspected,
    kept: PathBuf,
    runs: Vec<Run>,
    tell: &'a mut dyn FnMut(&str),
}

/// Makes the runs that are not yet on file, and writes the page and the figure. `tell` gets a line
/// for each new run.
///
/// # Errors
///
/// If a setting is out of its range, or a file cannot be read or written.
pub fn run(
    dataset: Dataset,
    settings: &Settings,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, Error> {
    if settings.hidden && dataset != Dataset::Emnist {
        return Err(refuse("`hidden` is for emnist: the paper has no such table for the others"));
    }
    if settings.seeds == 0 || settings.epochs == 0 || settings.batch == 0 {
        return Err(refuse("`seeds`, `epochs` and `batch` must be at least 1"));
    }
    let table = dataset.table(settings.hidden);
    let Data { task, train, test } = dataset.load(&settings.data)?;
    let task = Task { hidden: settings.hidden.then_some(256), ..task };
    let percentiles = page::percentiles(&train);
    std::fs::create_dir_all(&settings.out).map_err(|e| file_error("write", &settings.out, &e))?;
    let name = format!("{}{}", dataset.name(), if settings.hidden { "-network" } else { "" });
    let kept = settings.out.join(format!("{name}.runs.jsonl"));
    let rows = train.len();
    let oracle = LocalOracle::new(train, Speed { threads: settings.threads })?;
    let runs = read_runs(&kept)?;
    let mut bench = Bench { settings, task, oracle, rows, test, kept, runs, tell };

    let strides =
        if settings.strides.is_empty() { default_strides(dataset) } else { &settings.strides };
    let clips: Vec<f64> = if settings.clips.is_empty() {
        table.lines.iter().map(|line| line.clip).collect()
    } else {
        settings.clips.clone()
    };
    let mut cells = Vec::new();
    for &epsilon in &settings.epsilons {
        for &clip in &clips {
            cells.push(bench.cell(Some(epsilon), clip, strides)?);
        }
    }
    let largest = clips.iter().copied().fold(1.0, f64::max);
    let non_private = bench.cell(None, largest, strides)?;
    let mut untuned = Vec::new();
    if !settings.tuned_only {
        for &epsilon in &settings.epsilons {
            untuned.push(bench.repeat(Some(epsilon), 1.0, None)?);
        }
    }
    let result = page::Results {
        dataset,
        name: &name,
        table,
        cells: &cells,
        non_private: &non_private,
        untuned: &untuned,
        percentiles: &percentiles,
        rows,
        test_rows: bench.test.rows.len(),
        settings,
        strides,
    };
    let (page, figure) =
        (settings.out.join(format!("{name}.md")), settings.out.join(format!("{name}.svg")));
    let markdown = result.markdown();
    write_atomically(&page, markdown.as_bytes())?;
    write_atomically(&figure, result.figure().as_bytes())?;
    Ok(Outcome { page, figure, markdown, cells, non_private, untuned })
}

/// `ητ` on the scale where the data's best lies, in steps of about two.
fn default_strides(dataset: Dataset) -> &'static [f64] {
    match dataset {
        Dataset::FashionMnist => &[0.05, 0.1, 0.2, 0.4, 0.8],
        Dataset::Emnist => &[0.2, 0.4, 0.8, 1.6],
        Dataset::Tweeteval => &[0.25, 0.5, 1.0, 2.0],
    }
}

fn refuse(sentence: &'static str) -> Error {
    Error::Arguments(sentence)
}

/// The runs that earlier calls have made. A line that was cut short is made again.
fn read_runs(path: &Path) -> Result<Vec<Run>, Error> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read(path)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

impl Bench<'_> {
    /// Tunes the step length with one run each, then repeats the best.
    fn cell(&mut self, epsilon: Option<f64>, clip: f64, strides: &[f64]) -> Result<Cell, Error> {
        let mut best = (f64::NEG_INFINITY, strides.first().copied().unwrap_or(1.0));
        for &stride in strides {
            let run = self.one(Ask { epsilon, clip, stride: Some(stride), seed: 1 })?;
            if run.accuracy > best.0 {
                best = (run.accuracy, stride);
            }
        }
        self.repeat(epsilon, clip, Some(best.1))
    }

    /// The same run with every seed.
    fn repeat(
        &mut self,
        epsilon: Option<f64>,
        clip: f64,
        stride: Option<f64>,
    ) -> Result<Cell, Error> {
        let mut runs = Vec::new();
        for seed in 1..=self.settings.seeds {
            runs.push(self.one(Ask { epsilon, clip, stride, seed })?);
        }
        Ok(Cell::new(epsilon, clip, stride, &runs))
    }

    /// One run, from the file if it is there.
    fn one(&mut self, ask: Ask) -> Result<Run, Error> {
        let settings = self.settings;
        let same = |run: &&Run| {
            (run.epsilon, run.clip, run.stride, run.seed)
                == (ask.epsilon, ask.clip, ask.stride, ask.seed)
                && run.hidden == settings.hidden
                && (ask.stride.is_none()
                    || (run.epochs, run.batch) == (settings.epochs, settings.batch))
        };
        if let Some(run) = self.runs.iter().find(same) {
            return Ok(run.clone());
        }
        let run = self.make(ask)?;
        (self.tell)(&serde_json::to_value(&run).unwrap_or_default().to_string());
        let mut kept = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.kept)
            .map_err(|e| file_error("write", &self.kept, &e))?;
        let line = serde_json::to_string(&run).unwrap_or_default();
        writeln!(kept, "{line}").map_err(|e| file_error("write", &self.kept, &e))?;
        self.runs.push(run.clone());
        Ok(run)
    }

    fn make(&self, ask: Ask) -> Result<Run, Error> {
        let settings = self.settings;
        let budget = Budget {
            epsilon: ask.epsilon.map_or(Ok(Epsilon::INFINITE), Epsilon::new)?,
            delta: Delta::new(DELTA)?,
            adjacency: Adjacency::AddRemoveOne,
        };
        let problem: Problem = self.task.problem(self.rows, Domain::Unbounded, None)?;
        let clip = Clip::Public { norm: ask.clip };
        let algorithm = match ask.stride {
            // As on private data: the planner chooses.
            None => ClippedSgd { clip, ..ClippedSgd::default() },
            Some(stride) => ClippedSgd {
                clip,
                batch: Some(settings.batch),
                steps: Some((settings.epochs * self.rows as u64).div_ceil(settings.batch)),
                eta: Some(stride / ask.clip),
                output: Some(Output::TailAverage),
                ..ClippedSgd::default()
            },
        };
        let plan = algorithm.plan(&problem, budget)?;
        // The data are public and the runs are meant to be repeated.
        let source = Source::seeded_not_private(ask.seed);
        let release = ClippedSgd::run(&plan, &self.oracle, &source, &Quiet)?;
        let (noise_multiplier, steps, batch) =
            (plan.noise_multiplier, plan.outline.steps, plan.batch);
        let certificate = Certificate::new(
            reticent::optim::Plan::ClippedSgd(plan),
            &release,
            source.randomness(),
        )?;
        let model = Model::new(self.task.clone(), &release.weights, certificate);
        let test = &self.test;
        let scores = Scores::of(&model, test.rows.features(), &test.labels, &self.task.layout()?);
        let metrics = scores.metrics(&Measure::default())?;
        Ok(Run {
            epsilon: ask.epsilon,
            clip: ask.clip,
            stride: ask.stride,
            epochs: if ask.stride.is_some() {
                settings.epochs
            } else {
                (steps * batch).div_ceil(self.rows as u64)
            },
            batch,
            hidden: settings.hidden,
            seed: ask.seed,
            noise_multiplier,
            steps,
            accuracy: 100.0 * metrics.accuracy.unwrap_or(0.0),
        })
    }
}
