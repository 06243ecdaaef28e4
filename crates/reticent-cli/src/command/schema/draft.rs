//! `reticent schema draft`: bounds and categories found privately, and paid for.

use std::process::ExitCode;

use reticent::draft::Draft;
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Skeleton, SkeletonType};
use reticent::{Error, Paths, Replace, check_writable, default_delta, write_atomically};
use serde_json::json;

use super::init;
use crate::arguments::DraftArgs;
use crate::command::table::{allow_empty, public_rows};
use crate::output;

/// Room for a schema and its certificate.
const BYTES: u64 = 1 << 20;

pub(super) fn run(args: &DraftArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("--data", args.data.paths())
        .reads("--dictionary", args.dictionary.as_deref())
        .ledger("--ledger", args.ledger.as_deref())
        .writes("--out", Some(&args.out))
        .check()?;
    init::check_new(&args.out, args.force)?;
    let file = args.data.file()?;
    let adjacency: Adjacency = args.adjacency.parse()?;
    let rows = public_rows(file, adjacency, args.rows, None, false)?;
    let delta = args.delta.unwrap_or_else(|| default_delta(rows));
    let budget = |epsilon: f64| -> Result<Budget, Error> {
        Ok(Budget { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta)?, adjacency })
    };
    let plan = |epsilon| Draft::plan(skeleton(args)?, args.knots, rows, budget(epsilon)?);
    let Some(epsilon) = args.epsilon else {
        // Asked at any epsilon, the advice is the same.
        let advised = plan(1.0)?.advised_epsilon()?;
        let draft = plan(advised.unwrap_or(1.0))?;
        return show_plan(&draft, advised, json);
    };
    let draft = plan(epsilon)?;
    if args.plan {
        return show_plan(&draft, draft.advised_epsilon()?, json);
    }
    announce(&draft)?;
    let source = Source::from_os()?;
    let ledger = args.ledger.as_deref().map(Ledger::open).transpose()?;
    check_writable(&args.out, BYTES, Replace::Document)?;
    // A file that cannot be read costs nothing.
    let counts = allow_empty(draft.read(file), adjacency, || Ok(draft.no_rows()))?;
    let (skeleton, certificate, remarks) =
        draft.pay_and_release(counts, &source, ledger.as_ref())?;
    write_atomically(&args.out, skeleton.to_text().as_bytes())?;
    if json {
        output::json(&json!({ "out": args.out, "certificate": certificate, "remarks": remarks }));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&certificate.statement);
    for remark in remarks {
        output::remark(&remark);
    }
    if let (Some(payment), Some(ledger)) = (&certificate.payment, &args.ledger) {
        output::line(&format!("charge {} to {}", payment.charge, ledger.display()));
    }
    output::line(&format!(
        "wrote {}; look through it, then run `reticent schema check {}`",
        args.out.display(),
        args.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The known facts about the columns: from the header, the file's types, the dictionary and the
/// flags.
fn skeleton(args: &DraftArgs) -> Result<Skeleton, Error> {
    let mut skeleton =
        init::skeleton(Some(&args.data), args.dictionary.as_deref(), args.target.as_deref())?;
    let lists = [
        (&args.categorical, Some(SkeletonType::Categorical), None),
        (&args.numeric, Some(SkeletonType::Real), None),
        (&args.ignore, None, Some("ignore")),
    ];
    for (names, kind, role) in lists {
        for name in names {
            let column = skeleton.columns.iter_mut().find(|column| column.name == *name);
            let column = column.ok_or_else(|| Error::UnknownTarget { target: name.clone() })?;
            column.kind = kind.or(column.kind);
            column.role = role.map(str::to_owned).or(column.role.take());
        }
    }
    Ok(skeleton)
}

/// How exact the answers would be, and which epsilon makes them precise. Nothing is spent.
fn show_plan(draft: &Draft, advised: Option<f64>, json: bool) -> Result<ExitCode, Error> {
    let plan = draft.noise();
    if json {
        output::json(&json!({ "plan": plan, "rank_share": draft.rank_share(),
            "category_share": draft.category_share()?, "advised_epsilon": advised }));
        return Ok(ExitCode::SUCCESS);
    }
    let precise = if plan.shape.unknown + plan.shape.numbers > 0 {
        "every bound lies off its rank by at most 2 % of the rows"
    } else {
        "a category is found that 2 % of the rows hold"
    };
    match advised {
        Some(advised) => output::remark(&format!("from `--epsilon {advised}` on {precise}")),
        None => output::remark(&format!(
            "no epsilon up to 10 is enough that {precise}: the table has too few rows for so many columns, so fill in what is public, or leave columns out with `--ignore`"
        )),
    }
    output::remark(&format!("at `--epsilon {}`:", plan.budget.epsilon));
    announce(draft)?;
    Ok(ExitCode::SUCCESS)
}

/// Says before anything is spent how exact the answers will be.
fn announce(draft: &Draft) -> Result<(), Error> {
    let (ranks, categories) = (draft.rank_share(), draft.category_share()?);
    let shape = draft.noise().shape;
    if shape.unknown + shape.numbers > 0 {
        output::remark(&format!(
            "a bound lies off its rank by at most {:.1} % of the rows, but for one in a hundred{}",
            100.0 * ranks,
            if ranks > 0.1 {
                ": give a larger `--epsilon`, name types with `--categorical` and `--numeric`, or leave columns out with `--ignore`"
            } else {
                ""
            }
        ));
    }
    if categories > 0.0 {
        output::remark(&format!(
            "a category is found if about {:.1} % of the rows hold it",
            100.0 * categories
        ));
    }
    Ok(())
}
