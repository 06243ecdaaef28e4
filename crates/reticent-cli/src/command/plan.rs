//! `reticent plan`.

use std::path::Path;
use std::process::ExitCode;

use reticent::optim::objective::curvature::CURVATURE_SHARE;
use reticent::optim::setting::Words as _;
use reticent::optim::{Candidate, LevelGain, Plan, RowCost, Settings, level_names, objective};
use reticent::planner::{self, Share};
use reticent::privacy::Budget;
use reticent::privacy::risk::{Risk, RiskBounds};
use reticent::problem::number::{about, at_most};
use reticent::problem::{Loss, Problem, RowBounds, Unit, Weighting};
use reticent::{
    Error, ExpectedIntervals, NOT_DETERMINED, Paths, Task, asks_for_intervals, expected_intervals,
    expected_of_each_method, with_interval_method, write_atomically,
};
use serde_json::{Value, json};

use super::{curved, curves_remark, declaration, plot, task};
use crate::arguments::{FeatureNorm, PlanArgs, RankArgs, as_typed};
use crate::{output, progress};

pub(super) fn run(rank: &RankArgs, json: bool) -> Result<ExitCode, Error> {
    let args = &rank.plan;
    if args.budget.epsilon.len() > 1 {
        return over_epsilon(args, rank.plot.as_deref(), json);
    }
    refuse_plot(rank)?;
    let unit = unit(args)?;
    let request = args.method.settings();
    let wanted = &args.method.algorithm;
    let budget = args.budget.check(args.n, unit.as_ref())?;
    let (problem, task) = stated(args, budget)?;
    let request = match &task {
        Some(task) => with_interval_method(task, &problem, budget, request)?,
        None => request,
    };
    let risk = args.budget.risk.given()?;
    let kept = risk.map(|risk| keeping(risk, &problem, budget, args)).transpose()?;
    let budget = kept.as_ref().map_or(budget, |plan| plan.outline().budget);
    let (list, outlook) = {
        let _spinner = progress::spinner("running every algorithm on simulated tables", json);
        let list = planner::rank(&problem, budget, &request, wanted)?;
        let outlook = planner::outlook(&problem, budget, &request, wanted, &list[0]);
        (list, outlook)
    };
    let list = if asks_for_intervals(&request) { serving(list) } else { list };
    let no_outlook = outlook.is_none().then(|| planner::no_outlook(&problem));
    if let Some(remark) = task.as_ref().and_then(|task| curves_remark(task, &args.encoding)) {
        output::remark(&remark);
    }
    let row = match &task {
        Some(task) => task.row_cost()?,
        None => RowCost::dense(problem.features),
    };
    let (intervals, other_intervals) = match (&task, &list[0].plan) {
        (Some(task), Ok(plan)) => both_intervals(task, plan, &request)?,
        _ => (None, None),
    };
    // Intervals need rows as long as they are.
    let advised = task.filter(|_| !asks_for_intervals(&request));
    let advice = advised.map(|task| planner::norm_advice(&task)).transpose()?;
    if let Some(remark) = planner::weak(budget) {
        output::remark(&remark);
    }
    let shares = match &list[0].plan {
        Ok(plan) => planner::split(plan)?,
        Err(_) => Vec::new(),
    };
    if json {
        let ranking: Vec<Value> = list.iter().map(|candidate| describe(candidate, row)).collect();
        output::json(&json!({
            "problem": problem,
            "budget": budget,
            "levels": level_names(),
            "ranking": ranking,
            "outlook": outlook,
            "no_outlook": no_outlook,
            "split": shares,
            "feature_norm": advice,
            "intervals": intervals,
            "other_intervals": other_intervals,
            "risk": risk,
            "keeps_risk": kept.as_ref().map(Plan::algorithm),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&stated_line(&problem, budget));
    if let (Some(risk), Some(plan)) = (risk, &kept) {
        output::line(&risk_line(risk, plan));
    }
    print_ranking(&list, row, rank.verbose);
    if let Some(outlook) = outlook {
        output::line(&outlook.sentence(&problem, budget));
    }
    if let Some(reason) = no_outlook {
        output::line(reason);
    }
    if let Some(expected) = &intervals {
        output::line(&half_widths(expected, other_intervals.as_ref()));
    }
    if let (Some(unit), Ok(plan)) = (&problem.unit, &list[0].plan) {
        output::line(&format!("protects {}", unit.protected()));
        output::line(&other_caps(&problem, plan, unit));
        // Of all algorithms this one's noise depends on the cap.
        let other = list[1..].iter().find(|one| one.algorithm == objective::NAME);
        if let Some(Ok(plan)) = other.map(|one| &one.plan) {
            output::line(&other_caps(&problem, plan, unit));
        }
    }
    if let Some(advice) = advice {
        output::line(&format!("feature norm: {}", typed_advice(&advice)));
    }
    match &list[0].plan {
        Ok(plan) if rank.verbose => print_first(plan, &shares),
        _ => {
            output::line(
                "noise, steps, assumptions and the privacy cost by stage: add `--verbose`",
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The request, in a line.
fn stated_line(problem: &Problem, budget: Budget) -> String {
    format!(
        "{} = {}, {} weights, {} loss, epsilon = {}, delta = {:e}, {}; no data was read",
        if problem.unit.is_some() { "units" } else { "n" },
        problem.rows,
        problem.dimension(),
        problem.loss.name(),
        budget.epsilon,
        budget.delta.get(),
        budget.adjacency
    )
}

/// The algorithms, the best first; their plans too if asked.
fn print_ranking(list: &[Candidate], row: RowCost, verbose: bool) {
    let rows: Vec<Vec<String>> = list.iter().map(|candidate| line(candidate, row)).collect();
    let header = ["algorithm", "expected accuracy retained", "time", "memory", "remark"];
    output::line(&output::table(&header, &rows));
    output::line("");
    if verbose {
        let rows: Vec<Vec<String>> = list.iter().filter_map(details).collect();
        let header =
            ["algorithm", "by difficulty", "excess risk at most", "noise", "steps", "ridge"];
        output::line(&output::table(&header, &rows));
        output::line("");
    }
    let kept = |c: &Candidate| c.prediction.as_ref().map(|p| p.gain);
    if list.iter().any(|c| kept(c) > kept(&list[0])) {
        output::line("near ties go to the more robust or the faster algorithm");
    }
}

/// The algorithms that give intervals; where none can, that one with its reason.
fn serving(list: Vec<Candidate>) -> Vec<Candidate> {
    let any = list.iter().any(|candidate| candidate.plan.is_ok());
    let serves = |c: &Candidate| if any { c.plan.is_ok() } else { c.algorithm == objective::NAME };
    let (serving, others): (Vec<_>, Vec<_>) = list.into_iter().partition(serves);
    if serving.is_empty() { others } else { serving }
}

/// The intervals that a plan is expected to give, and those of the other method.
fn both_intervals(
    task: &Task,
    plan: &Plan,
    request: &Settings,
) -> Result<(Option<ExpectedIntervals>, Option<ExpectedIntervals>), Error> {
    let Some(first) = expected_intervals(task, plan)? else { return Ok((None, None)) };
    if request.has(&CURVATURE_SHARE) {
        return Ok((Some(first), None));
    }
    let (problem, budget) = (&plan.outline().problem, plan.outline().budget);
    let each = expected_of_each_method(task, problem, budget, request)?;
    let other = each.into_iter().find(|other| other.method != first.method);
    Ok((Some(first), other))
}

/// The widths of intervals that a plan is expected to give, and those of the other method.
fn half_widths(expected: &ExpectedIntervals, other: Option<&ExpectedIntervals>) -> String {
    let width = |half: Option<f64>| {
        half.map_or(NOT_DETERMINED.to_owned(), |half| format!("± {}", about(half)))
    };
    let rows: Vec<Vec<String>> = (expected.half_widths.iter().enumerate())
        .map(|(i, (name, half))| {
            let mut cells = vec![name.clone(), width(*half)];
            cells.extend(other.map(|other| width(other.half_widths[i].1)));
            cells
        })
        .collect();
    let word = |expected: &ExpectedIntervals| expected.method.name();
    let mut header = vec!["coefficient".to_owned(), format!("with {}", word(expected))];
    header.extend(other.map(|other| format!("with {}", word(other))));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let sentence = typed(&expected.sentence());
    format!("intervals: {sentence}\n{}", output::table(&header, &rows))
}

/// One epsilon makes no picture.
fn refuse_plot(rank: &RankArgs) -> Result<(), Error> {
    match rank.plot {
        None => Ok(()),
        Some(_) => {
            Err(Error::Arguments("`--plot` needs several epsilons: write `--epsilon 0.1,0.3,1,3`"))
        }
    }
}

/// The plan with the least noise that keeps the risk, of the algorithm that is first at this
/// budget.
fn keeping(risk: Risk, problem: &Problem, budget: Budget, args: &PlanArgs) -> Result<Plan, Error> {
    let (request, wanted) = (args.method.settings(), &args.method.algorithm);
    let choose = |budget| planner::choose(problem, budget, &request, wanted);
    planner::keep_risk(problem, risk, budget, (&request, wanted), choose)
}

/// The risk that a plan keeps, and its mu, in words.
fn risk_line(risk: Risk, plan: &Plan) -> String {
    let (outline, budget) = (plan.outline(), plan.outline().budget);
    let bounds = RiskBounds::of(&outline.event, budget.epsilon, budget.delta).ok();
    let mu = bounds.and_then(|bounds| bounds.mu_upper).map_or(String::new(), |mu| {
        let mu = at_most(mu);
        format!("; GDP with mu <= {mu}, up to delta = {:e}", budget.delta.get())
    });
    let name = plan.algorithm();
    format!("risk: {risk}; this is the largest epsilon that keeps it with {name}{mu}")
}

/// The expected accuracy retained at each epsilon, as numbers and as bars.
fn over_epsilon(args: &PlanArgs, picture: Option<&Path>, json: bool) -> Result<ExitCode, Error> {
    Paths::default().reads("--schema", args.schema.as_deref()).writes("--plot", picture).check()?;
    let (request, wanted) = (args.method.settings(), &args.method.algorithm);
    let mut points = Vec::new();
    {
        let _spinner = progress::spinner("running every algorithm on simulated tables", json);
        for budget in args.budget.each(args.n, unit(args)?.as_ref())? {
            let (problem, _) = stated(args, budget)?;
            let first = planner::rank(&problem, budget, &request, wanted)?.swap_remove(0);
            let gain = first.prediction.map(|prediction| prediction.gain);
            points.push((problem, budget, first.algorithm, gain));
        }
    }
    if let Some(picture) = picture {
        let known =
            points.iter().filter_map(|(_, budget, _, gain)| Some((budget.epsilon.get(), (*gain)?)));
        let known: Vec<(f64, f64)> = known.filter(|(epsilon, _)| epsilon.is_finite()).collect();
        if known.is_empty() {
            return Err(Error::Arguments(
                "`--plot` has nothing to show: no plan for this problem is simulated; leave it out",
            ));
        }
        let title = format!("Expected accuracy retained, n = {}", args.n);
        write_atomically(picture, plot::over_epsilon(&known, &title).as_bytes())?;
    }
    if json {
        let point = |(problem, budget, algorithm, gain): &(Problem, Budget, &str, Option<f64>)| {
            let why = gain.is_none().then(|| planner::no_outlook(problem));
            json!({ "budget": budget, "algorithm": algorithm, "gain": gain, "no_outlook": why })
        };
        let points: Vec<Value> = points.iter().map(point).collect();
        output::json(&json!({ "rows": args.n, "over_epsilon": points, "plot": picture }));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("n = {}; no data was read", args.n));
    let row = |(problem, budget, algorithm, gain): &(Problem, Budget, &str, Option<f64>)| {
        let share = gain.map_or_else(
            || planner::no_outlook(problem).to_owned(),
            |gain| format!("{:>3.0} %  {:<30}", 100.0 * gain, output::bar(gain)),
        );
        vec![budget.epsilon.to_string(), share, (*algorithm).to_owned()]
    };
    let rows: Vec<Vec<String>> = points.iter().map(row).collect();
    output::line(&output::table(&["epsilon", "expected accuracy retained", "algorithm"], &rows));
    output::line("simulated: 0 % is a constant answer, 100 % a fit without privacy");
    if let Some(picture) = picture {
        output::line(&format!("wrote {}", picture.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(candidate: &Candidate, row: RowCost) -> Vec<String> {
    let none = || "-".to_owned();
    let gain = candidate.prediction.as_ref();
    let gain = gain.map_or_else(none, |p| match 100.0 * p.gain {
        kept if kept < 0.5 => "none".to_owned(),
        kept => format!("{kept:.0} %"),
    });
    let name = candidate.algorithm.to_owned();
    match &candidate.plan {
        Ok(plan) => {
            let warnings = typed(&plan.outline().warnings.join("; "));
            vec![name, gain, seconds(plan.seconds(row)), bytes(plan.bytes(row)), warnings]
        }
        Err(error) => vec![name, none(), none(), none(), typed(&error.to_string())],
    }
}

/// Advice of a plan or an error, with flags as they are typed.
fn typed(text: &str) -> String {
    crate::flags_as_typed(&as_typed(text))
}

/// Of an algorithm that has a plan, the numbers behind its line.
fn details(candidate: &Candidate) -> Option<Vec<String>> {
    let none = || "-".to_owned();
    let plan = candidate.plan.as_ref().ok()?;
    let outline = plan.outline();
    let share = |x: &LevelGain| format!("{} {:.0} %", x.level, 100.0 * x.gain);
    Some(vec![
        candidate.algorithm.to_owned(),
        candidate
            .prediction
            .as_ref()
            .map_or_else(none, |p| p.levels.iter().map(share).collect::<Vec<_>>().join(", ")),
        outline.predicted_excess.map_or_else(none, at_most),
        format!("{} {}", about(outline.noise_deviation), plan.noise_place()),
        outline.steps.to_string(),
        about(plan.ridge()),
    ])
}

/// The advice with flags as typed.
fn typed_advice(advice: &str) -> String {
    as_typed(&advice.replace("`normalize` rows", "`--normalize rows`"))
}

/// Prints the assumptions and privacy costs of the first plan of the list.
fn print_first(plan: &Plan, shares: &[Share]) {
    output::line(&format!("{} assumes:", plan.algorithm()));
    for assumption in plan.assumptions() {
        output::line(&format!("  - {} ({})", assumption.statement, assumption.enforced_by));
    }
    output::line("privacy cost by stage (each alone; together they compose to the total):");
    for share in shares {
        output::line(&format!("  - {share}"));
    }
    output::line("for the assumptions of another: name it with `--algorithm`, or see `--json`");
}

fn seconds(estimate: f64) -> String {
    match estimate {
        x if x < 0.1 => "< 0.1 s".to_owned(),
        x if x < 120.0 => format!("{x:.1} s"),
        x if x < 7200.0 => format!("{:.0} min", x / 60.0),
        x => format!("{:.0} h", x / 3600.0),
    }
}

fn bytes(estimate: f64) -> String {
    match estimate {
        x if x < 1e6 => "< 1 MB".to_owned(),
        x if x < 1e9 => format!("{:.0} MB", x / 1e6),
        x => format!("{:.1} GB", x / 1e9),
    }
}

/// The problem of the flags, or of the schema with them.
pub(super) fn problem(args: &PlanArgs) -> Result<Problem, Error> {
    stated(args, args.budget.check(args.n, unit(args)?.as_ref())?).map(|(problem, _)| problem)
}

/// Whose rows count as one record, by the schema or the flags.
fn unit(args: &PlanArgs) -> Result<Option<Unit>, Error> {
    match &args.schema {
        Some(schema) => Ok(declaration(schema, None, &args.unit)?.unit().cloned()),
        None => args.unit.alone(),
    }
}

/// The noise with other caps on the rows of a unit, relative to the first plan.
fn other_caps(problem: &Problem, plan: &Plan, unit: &Unit) -> String {
    let (m, noise) = (unit.max_rows, plan.outline().noise_deviation);
    let with = |max_rows: usize| {
        let problem = Problem { unit: Some(Unit { max_rows, ..unit.clone() }), ..problem.clone() };
        plan.for_problem(&problem).ok().map(|plan| plan.outline().noise_deviation / noise)
    };
    let change = |ratio: Option<f64>| match ratio {
        None => "no plan".to_owned(),
        Some(ratio) if (ratio - 1.0).abs() < 5e-4 => "the same noise".to_owned(),
        Some(ratio) => format!("{} times the noise", about(ratio)),
    };
    let uses = match unit.weighting {
        Weighting::Equal => "a larger cap uses more rows of the units that have them",
        Weighting::Rows => "a larger cap uses more rows, each of which counts less",
    };
    format!(
        "max rows: {m} of each unit; with {} by {}: {}; with {}: {}; {uses}",
        2 * m,
        plan.algorithm(),
        change(with(2 * m)),
        m.div_ceil(2),
        change(with(m.div_ceil(2))),
    )
}

/// The problem, and the task where a schema gives one.
fn stated(args: &PlanArgs, budget: Budget) -> Result<(Problem, Option<Task>), Error> {
    let slope_limit = args.method.slope_limit;
    if let Some(schema) = &args.schema {
        let task = task(schema, None, &args.unit, &args.encoding, &args.loss, None)?;
        let task = Task { hidden: args.method.hidden, ..task };
        // A plan does not depend on the frequencies.
        let task = match args.kernel.choice() {
            Some(choice) => task.with_kernel(&choice, args.n, 0)?,
            None => curved(task, &args.encoding, args.method.curves_for(), args.n, budget, None)?,
        };
        let task = args.method.for_intervals(task, &args.encoding)?;
        let domain = args.method.domain(task.dimension()?)?;
        return Ok((task.problem(args.n, domain, slope_limit)?, Some(task)));
    }
    let loss = args.loss.chosen(Loss::Logistic.name(), args.classes)?;
    let bounds = match args.encoding.feature_norm {
        Some(FeatureNorm::None) => RowBounds::unbounded(args.label_bound)?,
        norm => {
            let norm = norm.and_then(FeatureNorm::number).unwrap_or(1.0);
            let bounds = RowBounds::new(norm, args.label_bound)?;
            args.entry_bound.map_or(Ok(bounds), |entry| bounds.with_entries(entry))?
        }
    };
    let (bounds, features) = match args.kernel.choice() {
        Some(choice) => {
            let law = choice.law(args.n, args.d.unwrap_or_default(), bounds.norm(), 0)?;
            (law.bounds(args.label_bound)?, law.features)
        }
        None => (bounds, args.d.unwrap_or_default()),
    };
    let plain = Problem {
        hidden: args.method.hidden,
        unit: args.unit.alone()?,
        ..Problem::new(loss, bounds, args.n, features)
    };
    let domain = args.method.domain(plain.dimension())?;
    let problem = Problem { domain, slope_limit, ..plain };
    // an algorithm that needs a convex loss or bounded rows says so when planning
    problem.check_parameters()?;
    Ok((problem, None))
}

fn describe(candidate: &Candidate, row: RowCost) -> Value {
    match &candidate.plan {
        Ok(plan) => json!({
            "algorithm": candidate.algorithm,
            "noise_deviation": plan.outline().noise_deviation,
            "noise_place": plan.noise_place(),
            "steps": plan.outline().steps,
            "predicted_excess": plan.outline().predicted_excess,
            "prediction": candidate.prediction,
            "seconds": plan.seconds(row),
            "bytes": plan.bytes(row),
            "assumptions": plan.assumptions(),
            "plan": plan,
        }),
        Err(error) => {
            json!({ "algorithm": candidate.algorithm, "not_applicable": error.to_string() })
        }
    }
}
