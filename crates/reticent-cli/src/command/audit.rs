//! `reticent audit`.

use std::process::ExitCode;

use reticent::audit::{Attack, attack};
use reticent::{Error, KernelChoice};
use serde_json::json;

use super::{choose, plan};
use crate::arguments::AuditArgs;
use crate::output;
use crate::progress::Bar;

pub(super) fn run(args: &AuditArgs, json: bool) -> Result<ExitCode, Error> {
    let problem = plan::problem(&args.plan)?;
    let budget = args.plan.budget.check(args.plan.n)?;
    let plan = choose(&problem, budget, &args.plan.settings)?;
    let map = match args.plan.kernel.choice() {
        // The attack scales its inputs by the bandwidth, so any will do.
        Some(choice) => {
            let seed = args.plan.kernel.map_seed.or(args.seed).unwrap_or_default();
            let bandwidth = Some(choice.bandwidth.unwrap_or(1.0));
            Some(KernelChoice { bandwidth, ..choice }.law(problem.rows, 1, 1.0, seed)?)
        }
        None => None,
    };
    let settings = Attack { runs: args.runs, confidence: args.confidence, seed: args.seed, map };
    let finding = attack(&plan, &plan, settings, &Bar::new(json))?;
    if json {
        output::json(&json!({ "audit": finding, "plan": plan }));
    } else {
        output::line(&format!(
            "{} claims epsilon = {:.4} at delta = {:e} under {} adjacency",
            finding.algorithm, finding.epsilon_claimed, finding.delta, budget.adjacency
        ));
        output::line(&format!(
            "{} runs judged on each side of {}:",
            finding.runs, finding.neighbours
        ));
        let share = |lower: f64| 100.0 * lower / finding.epsilon_claimed;
        let rows = [
            ("no assumption", finding.epsilon_lower),
            ("two normal laws", finding.epsilon_lower_gdp),
        ];
        for (word, lower) in rows {
            output::line(&format!(
                "  epsilon >= {lower:.4} with confidence {} ({word}; {:.0} % of the claim)",
                finding.confidence,
                share(lower)
            ));
        }
        let verdict = if finding.violated {
            "VIOLATED: the attack contradicts the claim"
        } else {
            "the claim stands; an audit can refute a claim and never prove one"
        };
        output::line(verdict);
    }
    Ok(if finding.violated { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
