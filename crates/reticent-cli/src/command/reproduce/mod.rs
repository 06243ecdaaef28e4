//! `reticent reproduce`: published tables made anew, ours beside the paper's.
//!
//! One file for each paper. A table needs many runs on the same rows, and the best of them is shown: what is printed is
//! the epsilon of one run, and every page says so.

mod clipped;
mod table3;

use std::process::ExitCode;

use clap::Subcommand;
use reticent::Error;

/// Which table.
#[derive(Subcommand, Debug)]
pub(crate) enum Reproduce {
    /// Accuracy by clip norm and epsilon on Fashion-MNIST (Das et al., ICML 2023, table 6)
    FashionMnist(clipped::Args),
    /// Accuracy by clip norm and epsilon on EMNIST (Das et al., ICML 2023, tables 6 and 7)
    Emnist(clipped::Args),
    /// Accuracy by clip norm and epsilon on TweetEval Emoji (Das et al., ICML 2023, table 5)
    Tweeteval(clipped::Args),
    /// Minimisation error and time of output-gd and noisy-sgd on five tables (Zhang et al., IJCAI 2017, table 3)
    Table3(table3::Args),
}

pub(super) fn run(what: &Reproduce, json: bool) -> Result<ExitCode, Error> {
    match what {
        Reproduce::FashionMnist(args) => clipped::run(clipped::Dataset::FashionMnist, args, json),
        Reproduce::Emnist(args) => clipped::run(clipped::Dataset::Emnist, args, json),
        Reproduce::Tweeteval(args) => clipped::run(clipped::Dataset::Tweeteval, args, json),
        Reproduce::Table3(args) => table3::run(args, json),
    }
}
