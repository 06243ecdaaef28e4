//! Table 3 of Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives" (IJCAI
//! 2017).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reticent::{Error, write_atomically};
use reticent_reproduce::table3::sets::{SETS, Set};
use reticent_reproduce::table3::{self, Cell, Kept, Settings, page};
use serde_json::{Value, json};

use crate::output;

/// The options.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder that holds the data sets with their schemas
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// The folder to write table3.md, table3.svg and a file of results for each data set to;
    /// results of an earlier run with the same settings are reused
    #[arg(long, default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Noise draws for output-gd in each cell
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Runs of the baseline in each cell; each takes (n/50)^2 steps
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) baseline_rounds: u64,
    /// Data sets to take, separated by commas; all five if not given
    #[arg(long, value_delimiter = ',', value_parser = ["bank", "adult", "creditcard", "wine", "bike"])]
    pub(crate) only: Vec<String>,
}

pub(super) fn run(args: &Args, json: bool) -> Result<ExitCode, Error> {
    let settings = Settings { rounds: args.rounds, baseline_rounds: args.baseline_rounds };
    let named: Vec<&'static Set> = args.only.iter().filter_map(|name| Set::named(name)).collect();
    let all: Vec<&'static Set> = SETS.iter().collect();
    let sets = if named.is_empty() { all } else { named };
    std::fs::create_dir_all(&args.out).map_err(|e| Error::File {
        verb: "write",
        file: args.out.display().to_string(),
        why: e.to_string(),
    })?;
    let mut cells = Vec::new();
    for set in sets {
        let file = args.out.join(format!("table3.{}.json", set.name.to_lowercase()));
        cells.extend(match kept(&file, settings) {
            Some(cells) => cells,
            None => measure(args, set, settings, &file, json)?,
        });
    }
    let (markdown, figure) = (args.out.join("table3.md"), args.out.join("table3.svg"));
    let command = command(args);
    write_atomically(&markdown, page::markdown(&cells, settings, &command).as_bytes())?;
    write_atomically(&figure, page::figure(&cells).as_bytes())?;
    let checks = page::checks(&cells);
    if json {
        let checks: Vec<Value> = checks
            .iter()
            .map(|c| json!({ "what": c.what, "holds": c.holds, "found": c.found }))
            .collect();
        output::json(
            &json!({ "page": markdown, "figure": figure, "checks": checks, "rows": cells }),
        );
        return Ok(ExitCode::SUCCESS);
    }
    for check in checks {
        let word = if check.holds { "holds" } else { "FAILS" };
        output::line(&format!("{word}: {} ({})", check.what, check.found));
    }
    output::line(&format!("wrote {} and {}", markdown.display(), figure.display()));
    Ok(ExitCode::SUCCESS)
}

/// The cells that an earlier run measured with the same settings.
fn kept(file: &Path, settings: Settings) -> Option<Vec<Cell>> {
    let kept: Kept = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    let matches = kept.settings == settings;
    if matches {
        output::remark(&format!(
            "{} is taken as it is; remove it to measure again",
            file.display()
        ));
    }
    matches.then_some(kept.cells)
}

/// Measures a set, tells of each cell, and keeps them.
fn measure(
    args: &Args,
    set: &'static Set,
    settings: Settings,
    file: &Path,
    json: bool,
) -> Result<Vec<Cell>, Error> {
    let cells = table3::run(&args.data, set, settings, &mut |cell| {
        if !json {
            output::line(&said(cell));
        }
    })?;
    let kept = Kept { settings, cells };
    write_atomically(file, format!("{:#}\n", json!(kept)).as_bytes())?;
    Ok(kept.cells)
}

/// The command that makes the same page, wherever the data lies.
fn command(args: &Args) -> String {
    let mut command = format!(
        "reticent reproduce table3 --data DIR --rounds {} --baseline-rounds {}",
        args.rounds, args.baseline_rounds
    );
    if !args.only.is_empty() {
        command.push_str(" --only ");
        command.push_str(&args.only.join(","));
    }
    command
}

fn said(cell: &Cell) -> String {
    let p = cell.printed;
    format!(
        "{} mu = {} epsilon = {}: output-gd {:.2e} (paper's calibration {:.2e}, printed {}), noisy-sgd {:.2e} (paper's calibration {:.2e}, not divided {:.2e}, printed {})",
        p.set,
        p.ridge,
        p.epsilon,
        cell.ours_tight.error,
        cell.ours_paper.error,
        p.ours,
        cell.baseline_tight.error,
        cell.baseline_scaled.error,
        cell.baseline_printed.error,
        p.baseline
    )
}
