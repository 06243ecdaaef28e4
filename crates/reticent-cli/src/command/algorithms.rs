//! `reticent algorithms`.

use reticent::optim::ALGORITHMS;
use serde_json::json;

use crate::output;

pub(super) fn run(json: bool) {
    if json {
        output::json(&json!({ "algorithms": ALGORITHMS }));
        return;
    }
    for a in ALGORITHMS {
        output::line(&format!("{}: {}", a.name, a.summary));
        output::line(&format!("  paper       {}", a.paper));
        output::line(&format!("  needs       {}", a.assumptions));
        output::line(&format!("  guarantee   {}", a.guarantee));
    }
}
