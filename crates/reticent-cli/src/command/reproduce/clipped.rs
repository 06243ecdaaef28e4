//! The accuracy tables of Das et al. (ICML 2023).

use std::path::PathBuf;
use std::process::ExitCode;

use reticent::Error;
use reticent_reproduce::clipped::{self, Dataset, EPSILONS, Settings};
use serde_json::json;

use crate::output;

/// The options.
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

impl Args {
    fn settings(&self) -> Settings {
        Settings {
            data: self.data.clone(),
            out: self.out.clone(),
            seeds: self.seeds,
            epochs: self.epochs,
            batch: self.batch,
            clips: self.clips.clone(),
            epsilons: self.epsilons.clone(),
            strides: self.strides.clone(),
            hidden: self.hidden,
            tuned_only: self.tuned_only,
            threads: self.threads,
        }
    }
}

pub(super) fn run(dataset: Dataset, args: &Args, json: bool) -> Result<ExitCode, Error> {
    let outcome = clipped::run(dataset, &args.settings(), &mut |line| {
        if !json {
            output::remark(line);
        }
    })?;
    if json {
        output::json(&json!(outcome));
    } else {
        let (page, figure) = (outcome.page.display(), outcome.figure.display());
        output::line(&outcome.markdown);
        output::line(&format!("wrote {page} and {figure}"));
    }
    Ok(ExitCode::SUCCESS)
}
