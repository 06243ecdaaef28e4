//! `reticent algorithms`.

use reticent::Error;
use reticent::optim::setting::Setting;
use reticent::optim::{ALGORITHMS, AlgorithmInfo, info_of};
use serde_json::json;

use crate::arguments::as_typed;
use crate::output;

/// Lists all algorithms, or one with its settings.
pub(super) fn run(name: Option<&str>, json: bool) -> Result<(), Error> {
    let Some(name) = name else {
        if json {
            output::json(&json!({ "algorithms": ALGORITHMS }));
        } else {
            ALGORITHMS.iter().for_each(print);
        }
        return Ok(());
    };
    let algorithm = info_of(name)?;
    if json {
        output::json(&json!({ "algorithm": algorithm }));
        return Ok(());
    }
    print(algorithm);
    output::line("");
    let rows: Vec<_> = algorithm.settings.iter().map(row).collect();
    output::line(&output::table(&["setting", "values", "default", "meaning"], &rows));
    output::line("");
    output::line(
        "n rows, d features, B the bound on a row's norm, Y on a label, beta on the curvature",
    );
    Ok(())
}

fn print(a: &AlgorithmInfo) {
    output::line(&format!("{}: {}", a.name, a.summary));
    output::line(&format!("  paper       {}", a.paper));
    output::line(&format!("  needs       {}", a.assumptions));
    output::line(&format!("  guarantee   {}", a.guarantee));
}

fn row(setting: &Setting) -> Vec<String> {
    let flag = format!("--{}", setting.flag_name());
    vec![flag, as_typed(&setting.values()), as_typed(setting.default), as_typed(setting.help)]
}
