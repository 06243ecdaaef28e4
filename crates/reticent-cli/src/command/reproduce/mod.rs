//! `reticent reproduce`: the door to the published tables that are reproduced, one file for each
//! paper.

mod clipped;
mod table3;

use std::process::ExitCode;

use clap::Subcommand;
use reticent::Error;
use reticent_reproduce::clipped::Dataset;

/// Which table.
#[derive(Subcommand, Debug)]
pub(crate) enum Reproduce {
    /// Accuracy by clip norm and epsilon on Fashion-MNIST (Das et al., ICML 2023, table 6)
    FashionMnist(clipped::Args),
    /// Accuracy by clip norm and epsilon on EMNIST (Das et al., ICML 2023, tables 6 and 7)
    Emnist(clipped::Args),
    /// Accuracy by clip norm and epsilon on TweetEval Emoji (Das et al., ICML 2023, table 5)
    Tweeteval(clipped::Args),
    /// Minimisation error and time of output-gd and noisy-sgd on five tables (Zhang et al., IJCAI
    /// 2017, table 3)
    Table3(table3::Args),
}

pub(super) fn run(what: &Reproduce, json: bool) -> Result<ExitCode, Error> {
    match what {
        Reproduce::FashionMnist(args) => clipped::run(Dataset::FashionMnist, args, json),
        Reproduce::Emnist(args) => clipped::run(Dataset::Emnist, args, json),
        Reproduce::Tweeteval(args) => clipped::run(Dataset::Tweeteval, args, json),
        Reproduce::Table3(args) => table3::run(args, json),
    }
}
