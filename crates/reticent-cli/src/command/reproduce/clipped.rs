//! The accuracy tables of Das, Kale, Xu, Zhang and Sanghavi, "Beyond uniform Lipschitz condition in differentially
//! private optimization" (ICML 2023).

use std::path::PathBuf;
use std::process::ExitCode;

use reticent::Error;

/// What may be chosen.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder that holds the data sets
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// The folder to write to
    #[arg(long, default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Runs of each cell
    #[arg(long, default_value_t = 3)]
    pub(crate) seeds: u64,
    /// Passes over the data, in expectation
    #[arg(long, default_value_t = 50)]
    pub(crate) epochs: u64,
}

/// Which data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dataset {
    FashionMnist,
    Emnist,
    Tweeteval,
}

pub(super) fn run(_: Dataset, _: &Args, _: bool) -> Result<ExitCode, Error> {
    Ok(ExitCode::SUCCESS)
}
