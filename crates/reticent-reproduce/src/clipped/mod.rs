//! The accuracy tables of Das, Kale, Xu, Zhang and Sanghavi, "Beyond uniform Lipschitz condition in differentially
//! private optimization" (ICML 2023).
//!
//! Every cell is a clip norm and an epsilon; the step length is tuned for each on the test rows, as in the paper. So the
//! stated epsilon is that of one run, and the tuning is not counted. One more run is made as it would be on private
//! data: clip norm 1 and everything else chosen without data.
//!
//! Each run is written to a file as it ends, and a run that is there is not made again.

mod data;
mod page;
mod paper;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reticent::data::table::Inspected;
use reticent::data::{LocalOracle, Speed};
use reticent::noise::Source;
use reticent::optim::clipped_sgd::{Clip, ClippedSgd, Output};
use reticent::optim::{Algorithm, Quiet};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Domain, Problem};
use reticent::{Certificate, Error, Model, Task, evaluate, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::json;

use data::Data;
pub(super) use data::Dataset;
use page::Cell;
use paper::EPSILONS;

use crate::output;

/// Delta of every run.
const DELTA: f64 = 1e-5;

/// What may be chosen.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder that holds the data sets
    #[arg(long)]
    data: PathBuf,
    /// The folder to write to: runs, page and figure
    #[arg(long, default_value = "reproduction")]
    out: PathBuf,
    /// Runs of each cell at its best step length
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Passes over the data, in expectation
    #[arg(long, default_value_t = 50)]
    epochs: u64,
    /// Expected batch size
    #[arg(long, default_value_t = 500)]
    batch: u64,
    /// Clip norms; the paper's if not given
    #[arg(long, value_delimiter = ',')]
    clips: Vec<f64>,
    /// Epsilons
    #[arg(long, value_delimiter = ',', default_values_t = EPSILONS)]
    epsilons: Vec<f64>,
    /// Step length times clip norm: the values that are tried, each with one run
    #[arg(long, value_delimiter = ',')]
    strides: Vec<f64>,
    /// The network of table 7 instead of the linear model (EMNIST)
    #[arg(long)]
    hidden: bool,
    /// Leave out the run that is made as on private data
    #[arg(long)]
    tuned_only: bool,
    /// Threads
    #[arg(long)]
    threads: Option<usize>,
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

/// What a run is asked to be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ask {
    epsilon: Option<f64>,
    clip: f64,
    stride: Option<f64>,
    seed: u64,
}

struct Bench<'a> {
    args: &'a Args,
    task: Task,
    oracle: LocalOracle,
    rows: usize,
    test: Inspected,
    kept: PathBuf,
    runs: Vec<Run>,
    quiet: bool,
}

pub(super) fn run(dataset: Dataset, args: &Args, json: bool) -> Result<ExitCode, Error> {
    if args.hidden && dataset != Dataset::Emnist {
        return Err(refuse("`hidden` is for emnist: the paper has no such table for the others"));
    }
    if args.seeds == 0 || args.epochs == 0 || args.batch == 0 {
        return Err(refuse("`seeds`, `epochs` and `batch` must be at least 1"));
    }
    let table = dataset.table(args.hidden);
    let Data { task, train, test } = dataset.load(&args.data)?;
    let task = Task { hidden: args.hidden.then_some(256), ..task };
    let percentiles = page::percentiles(&train);
    std::fs::create_dir_all(&args.out).map_err(|e| file("write", &args.out, &e))?;
    let name = format!("{}{}", dataset.word(), if args.hidden { "-network" } else { "" });
    let kept = args.out.join(format!("{name}.runs.jsonl"));
    let rows = train.len();
    let oracle = LocalOracle::new(train, Speed { threads: args.threads })?;
    let runs = read_runs(&kept)?;
    let mut bench = Bench { args, task, oracle, rows, test, kept, runs, quiet: json };

    let strides = if args.strides.is_empty() { default_strides(dataset) } else { &args.strides };
    let clips: Vec<f64> = if args.clips.is_empty() {
        table.lines.iter().map(|line| line.clip).collect()
    } else {
        args.clips.clone()
    };
    let mut cells = Vec::new();
    for &epsilon in &args.epsilons {
        for &clip in &clips {
            cells.push(bench.cell(Some(epsilon), clip, strides)?);
        }
    }
    let largest = clips.iter().copied().fold(1.0, f64::max);
    let non_private = bench.cell(None, largest, strides)?;
    let mut untuned = Vec::new();
    if !args.tuned_only {
        for &epsilon in &args.epsilons {
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
        args,
        strides,
    };
    let (page_file, figure_file) =
        (args.out.join(format!("{name}.md")), args.out.join(format!("{name}.svg")));
    write_atomically(&page_file, result.markdown().as_bytes())?;
    write_atomically(&figure_file, result.figure().as_bytes())?;
    if json {
        output::json(
            &json!({ "page": page_file, "figure": figure_file, "cells": cells, "non_private": non_private, "untuned": untuned }),
        );
    } else {
        output::line(&result.markdown());
        output::line(&format!("wrote {} and {}", page_file.display(), figure_file.display()));
    }
    Ok(ExitCode::SUCCESS)
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

fn file(verb: &'static str, path: &Path, why: &std::io::Error) -> Error {
    Error::File { verb, file: path.display().to_string(), why: why.to_string() }
}

/// The runs that earlier calls have made. A line that was cut short is made again.
fn read_runs(path: &Path) -> Result<Vec<Run>, Error> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).map_err(|e| file("read", path, &e))?;
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
        for seed in 1..=self.args.seeds {
            runs.push(self.one(Ask { epsilon, clip, stride, seed })?);
        }
        Ok(Cell::new(epsilon, clip, stride, &runs))
    }

    /// One run, from the file if it is there.
    fn one(&mut self, ask: Ask) -> Result<Run, Error> {
        let args = self.args;
        let same = |run: &&Run| {
            (run.epsilon, run.clip, run.stride, run.seed)
                == (ask.epsilon, ask.clip, ask.stride, ask.seed)
                && run.hidden == args.hidden
                && (ask.stride.is_none() || (run.epochs, run.batch) == (args.epochs, args.batch))
        };
        if let Some(run) = self.runs.iter().find(same) {
            return Ok(run.clone());
        }
        let run = self.make(ask)?;
        if !self.quiet {
            output::remark(&format!("{}", serde_json::to_value(&run).unwrap_or_default()));
        }
        let mut kept = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.kept)
            .map_err(|e| file("write", &self.kept, &e))?;
        let line = serde_json::to_string(&run).unwrap_or_default();
        writeln!(kept, "{line}").map_err(|e| file("write", &self.kept, &e))?;
        self.runs.push(run.clone());
        Ok(run)
    }

    fn make(&self, ask: Ask) -> Result<Run, Error> {
        let args = self.args;
        let budget = Budget {
            epsilon: ask.epsilon.map_or(Ok(Epsilon::INFINITE), Epsilon::new)?,
            delta: Delta::new(DELTA)?,
            adjacency: Adjacency::AddRemoveOne,
        };
        let problem: Problem = self.task.problem(self.rows, Domain::Unbounded, None)?;
        let clip = Clip::Public { norm: ask.clip };
        let settings = match ask.stride {
            // As on private data: the planner chooses.
            None => ClippedSgd { clip, ..ClippedSgd::default() },
            Some(stride) => ClippedSgd {
                clip,
                batch: Some(args.batch),
                steps: Some((args.epochs * self.rows as u64).div_ceil(args.batch)),
                eta: Some(stride / ask.clip),
                output: Some(Output::TailAverage),
                ..ClippedSgd::default()
            },
        };
        let plan = settings.plan(&problem, budget)?;
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
        let metrics = evaluate(&model, &self.test, &self.task.layout()?);
        Ok(Run {
            epsilon: ask.epsilon,
            clip: ask.clip,
            stride: ask.stride,
            epochs: if ask.stride.is_some() {
                args.epochs
            } else {
                (steps * batch).div_ceil(self.rows as u64)
            },
            batch,
            hidden: args.hidden,
            seed: ask.seed,
            noise_multiplier,
            steps,
            accuracy: 100.0 * metrics.accuracy.unwrap_or(0.0),
        })
    }
}
