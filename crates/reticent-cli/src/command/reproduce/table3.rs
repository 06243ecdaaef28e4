//! Table 3 of Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives" (IJCAI 2017).

use std::path::PathBuf;
use std::process::ExitCode;

use reticent::reproduce::table3::sets::{SETS, Set};
use reticent::reproduce::table3::{self, Cell, Measured, Settings, page};
use reticent::{Error, write_atomically};
use serde_json::{Value, json};

use crate::output;

/// What may be chosen.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder that holds the data sets with their schemas
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// The folder to write table3.md and table3.svg to
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
    let cells = table3::run(&args.data, &sets, settings, &mut |cell| {
        if !json {
            output::line(&said(cell));
        }
    })?;
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
        let rows: Vec<Value> = cells.iter().map(row).collect();
        output::json(
            &json!({ "page": markdown, "figure": figure, "checks": checks, "rows": rows }),
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

fn row(cell: &Cell) -> Value {
    let measured = |m: &Measured| json!({ "error": m.error, "standard_error": m.spread, "seconds": m.seconds, "steps": m.steps });
    let p = cell.printed;
    json!({
        "set": p.set, "mu": p.ridge, "epsilon": p.epsilon, "rows": cell.rows, "features": cell.features,
        "printed": { "ours": p.ours, "baseline": p.baseline },
        "minimum": { "value": cell.minimum.value, "norm": cell.minimum.norm, "gradient": cell.minimum.gradient },
        "ours_paper": measured(&cell.ours_paper),
        "ours_tight": measured(&cell.ours_tight),
        "baseline_printed": measured(&cell.baseline_printed),
        "baseline_scaled": measured(&cell.baseline_scaled),
        "baseline_tight": measured(&cell.baseline_tight),
    })
}
