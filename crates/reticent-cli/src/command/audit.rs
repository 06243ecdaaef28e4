//! `reticent audit`.

use std::process::ExitCode;

use reticent::audit::one_run::{self, OneRun};
use reticent::audit::{Attack, Claim, Finding, ProfilePoint, attack};
use reticent::optim::{Plan, RowCost};
use reticent::problem::number::{about, at_least, at_most};
use reticent::{Error, KernelChoice};
use serde_json::json;

use super::{choose, plan};
use crate::arguments::AuditArgs;
use crate::output;
use crate::progress::Bar;

/// Bytes of the largest table that is attacked.
const LARGEST: f64 = 4e9;

pub(super) fn run(args: &AuditArgs, json: bool) -> Result<ExitCode, Error> {
    let problem = plan::problem(&args.plan)?;
    args.plan.budget.without_risk()?;
    let budget = args.plan.budget.check(args.plan.n, problem.unit.as_ref())?;
    let plan = choose(&problem, budget, &args.plan.method)?;
    if plan.bytes(RowCost::dense(plan.outline().problem.features)) > LARGEST {
        return Err(Error::Arguments(
            "an audit simulates its tables in memory, and these would take more than 4 GB: lower `n` or `d`",
        ));
    }
    let claim = Claim::of(&plan)?;
    let violated = if args.single_run {
        once(args, &plan, &claim, json)?
    } else {
        many_times(args, &plan, &claim, json)?
    };
    if !json {
        output::line(if violated {
            "VIOLATED: a lower bound lies above the claim; the algorithm or its accounting is broken"
        } else {
            "the claim stands; an audit can refute a claim and never prove one"
        });
    }
    Ok(if violated { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn say_claim(claim: &Claim) {
    output::line(&format!(
        "{} claims epsilon = {} at delta = {:e} under {} adjacency",
        claim.algorithm,
        at_most(claim.epsilon),
        claim.delta,
        claim.adjacency
    ));
}

fn many_times(args: &AuditArgs, plan: &Plan, claim: &Claim, json: bool) -> Result<bool, Error> {
    let map = match args.plan.kernel.choice() {
        // The attack scales its inputs by the bandwidth, so any will do.
        Some(choice) => {
            let seed = args.plan.kernel.map_seed.or(args.seed).unwrap_or_default();
            let bandwidth = Some(choice.bandwidth.unwrap_or(1.0));
            Some(KernelChoice { bandwidth, ..choice }.law(claim.problem.rows, 1, 1.0, seed)?)
        }
        None => None,
    };
    let settings = Attack { runs: args.runs, confidence: args.confidence, seed: args.seed, map };
    let finding = attack(plan, claim, settings, &Bar::new(json))?;
    if json {
        output::json(&json!({ "audit": finding, "plan": plan }));
    } else {
        say_claim(claim);
        say(&finding);
    }
    Ok(finding.violated)
}

fn say(finding: &Finding) {
    output::line(&format!("{} runs judged on each side of {}:", finding.runs, finding.neighbours));
    let bounds = [
        ("no assumption", Some(finding.epsilon_lower)),
        ("Gaussian noise: two normal laws", finding.epsilon_lower_gdp),
    ];
    for (word, lower) in bounds {
        if let Some(lower) = lower {
            output::line(&bound(lower, finding.epsilon_claimed, finding.confidence, word));
        }
    }
    let ratio = |point: &ProfilePoint| point.delta_lower / point.delta_claimed;
    let exceeded = finding.profile.iter().filter(|point| point.exceeded());
    if let Some(worst) = exceeded.max_by(|a, b| ratio(a).total_cmp(&ratio(b))) {
        output::line(&format!(
            "  delta({}) >= {} with the same confidence, and {} is claimed",
            about(worst.epsilon),
            at_least(worst.delta_lower),
            at_most(worst.delta_claimed)
        ));
    }
}

fn bound(lower: f64, claimed: f64, confidence: f64, word: &str) -> String {
    let share = 100.0 * lower / claimed;
    format!(
        "  epsilon >= {} with confidence {confidence} ({word}; {share:.0} % of the claim)",
        at_least(lower)
    )
}

fn once(args: &AuditArgs, plan: &Plan, claim: &Claim, json: bool) -> Result<bool, Error> {
    if args.plan.kernel.choice().is_some() {
        return Err(Error::Arguments(
            "`single_run` is for models without a kernel; leave out `kernel`, or audit it in many runs",
        ));
    }
    let canaries = args.canaries.unwrap_or(claim.problem.rows);
    let settings = OneRun { canaries, confidence: args.confidence, seed: args.seed };
    let finding = one_run::attack(plan, claim, settings, &Bar::new(json))?;
    if json {
        output::json(&json!({ "audit": finding, "plan": plan }));
    } else {
        say_claim(claim);
        output::line(&format!(
            "one run with {} canaries, {} of {} guesses right:",
            finding.canaries, finding.correct, finding.guesses
        ));
        let lower = finding.epsilon_lower;
        let word = "no assumption";
        output::line(&bound(lower, finding.epsilon_claimed, finding.confidence, word));
    }
    Ok(finding.violated)
}
