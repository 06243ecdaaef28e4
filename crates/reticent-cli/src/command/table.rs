//! Shared parts of `fit` and `tune`: the task, the rows, the ledger.

use std::path::Path;

use reticent::data::table::{TableError, TableFile, count_rows};
use reticent::data::{LocalOracle, Oracle, Speed, memory};
use reticent::ledger::Ledger;
use reticent::noise::Source;
use reticent::optim::Plan;
use reticent::privacy::Adjacency;
use reticent::problem::Unit;
use reticent::problem::declaration::not_published;
use reticent::problem::number::at_least;
use reticent::release::Released;
use reticent::{
    Error, Model, Paths, Replace, Task, count_units, map_seed, no_rows, read_rows, stream,
};
use serde_json::{Value, json};

use super::{curved, task};
use crate::arguments::TableArgs;
use crate::output;

/// Printed before a table is read and paid for, independently of its contents.
const CELLS: &str = "a cell that cannot be read makes the whole row zero, silently; the owner can count such cells with `reticent data check`";

/// Where noise comes from.
pub(super) fn source(args: &TableArgs) -> Result<Source, Error> {
    Ok(match args.insecure_seed {
        Some(seed) => Source::seeded_not_private(seed),
        None => Source::from_os()?,
    })
}

/// The task, with the algorithm's curves or with random features if they were asked for, and the
/// number of rows. A run that goes on has `kept` the seed of its features.
pub(super) fn task_of(
    args: &TableArgs,
    algorithm: &str,
    hidden: Option<usize>,
    source: &Source,
    kept: Option<u64>,
) -> Result<(Task, usize), Error> {
    let data = Some(args.data.file()?);
    let task =
        task(&args.schema, args.target.as_deref(), &args.unit, &args.encoding, &args.loss, data)?;
    if let Some(sentence) = not_published(task.declaration.unpublished()) {
        output::remark(&sentence);
    }
    let unit = task.declaration.unit();
    let adjacency = task.adjacency(args.budget.adjacency.parse()?)?;
    let bounded = args.memory.is_some();
    let rows = public_rows(args.data.file()?, adjacency, args.rows, unit, bounded)?;
    let budget = args.budget.check(rows, unit)?;
    if unit.is_some() && args.labels.is_some() {
        return Err(Error::Arguments(
            "`--unit` needs a table with named columns, and `--labels` goes with one that has none; leave one of them out",
        ));
    }
    let task = Task { hidden, ..task };
    let task = match args.kernel.choice() {
        Some(_) => task,
        None => curved(task, &args.encoding, algorithm, rows, budget, data)?,
    };
    if args.memory.is_none()
        && let Some(available) = memory::available()
    {
        memory::check(&task.layout()?, rows, task.dimension()?, available)?;
    }
    output::remark(CELLS);
    Ok(match args.kernel.choice() {
        Some(choice) => {
            let seed = args.kernel.map_seed.or(kept).unwrap_or_else(|| map_seed(source));
            (task.with_kernel(&choice, rows, seed)?, rows)
        }
        None => (task, rows),
    })
}

/// The ledger that is to pay for a model, if one is named.
pub(super) fn book(path: Option<&Path>, args: &TableArgs) -> Result<Option<Ledger>, Error> {
    if path.is_some() && args.insecure_seed.is_some() {
        return Err(Error::Arguments(
            "`insecure_seed` must not be given with `--ledger`: a run whose noise is known keeps no budget; leave one of them out",
        ));
    }
    path.map(Ledger::open).transpose()
}

/// The files of a command that learns from a table.
pub(super) fn paths(args: &TableArgs, ledger: Option<&Path>) -> Paths {
    Paths::default()
        .reads("--data", args.data.paths())
        .reads("--schema", Some(&args.schema))
        .reads("--labels", args.labels.as_deref())
        .ledger("--ledger", ledger)
}

/// The files that a model may replace.
pub(super) fn replace(force: bool) -> Replace {
    if force { Replace::Model } else { Replace::Document }
}

/// The charge and the remaining budget, as JSON and as text; none without a ledger.
pub(super) fn receipt(released: &Released) -> Option<(Value, String)> {
    let (ledger, charge) = released.charge()?;
    // The model is released and saved: the remaining budget can be queried later if the ledger
    // cannot be read now.
    let standing = ledger.standing().ok()?;
    let item = &standing.charges.get(usize::try_from(charge).ok()?.checked_sub(1)?)?.item;
    let (delta, left) = (standing.budget.delta.get(), at_least(standing.left));
    let sentence = format!(
        "charged epsilon = {} at delta = {:e} to {} as charge {charge}; left: epsilon = {left} at delta = {delta:e}",
        item.budget.epsilon,
        item.budget.delta.get(),
        ledger.path().display(),
    );
    let value = json!({
        "ledger": ledger.path(), "charge": charge, "left_epsilon": standing.left, "left_delta": delta
    });
    Some((value, sentence))
}

/// The cost of the schema's draft, if it has one, and of both together.
pub(super) fn draft_sentence(model: &Model) -> Option<String> {
    let (draft, together) = model.with_draft()?;
    Some(format!(
        "its draft cost epsilon = {}; schema and model together: {together}",
        draft.plan.budget.epsilon
    ))
}

/// The same for programs: the certificate and the sum.
pub(super) fn state_draft(model: &Model, value: &mut Value) {
    if let Some((draft, together)) = model.with_draft() {
        value["draft"] = json!(draft);
        value["with_draft"] = json!(together);
    }
}

/// The rows, in memory or streamed.
pub(super) fn open(args: &TableArgs, task: &Task, plan: &Plan) -> Result<Box<dyn Oracle>, Error> {
    let speed = Speed { threads: args.threads };
    if let Some(memory) = args.memory {
        return stream(task, plan, args.data.file()?, memory, speed);
    }
    let rows = read_rows(task, args.data.file()?, args.labels.as_deref());
    let rows = allow_empty(rows, plan.outline().budget.adjacency, || no_rows(task))?;
    // Threads of its own stay awake between steps, and nobody else needs them here.
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let speed = Speed { threads: Some(args.threads.unwrap_or_else(all)) };
    Ok(Box::new(LocalOracle::new(task.table(rows)?, speed)?))
}

/// The rows of a table, or `none()` where the table is empty and its number of rows is private: a
/// table of one row and an empty one are then neighbours, and neither is refused.
pub(super) fn allow_empty<T>(
    read: Result<T, Error>,
    adjacency: Adjacency,
    none: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    match read {
        Err(Error::Table(TableError::Empty { .. })) if !adjacency.records_are_public() => none(),
        read => read,
    }
}

/// The number of rows, or of units, that may be told: the table's own where it is public, a
/// declared one where it is not. With `bounded` memory no list of units is held.
pub(super) fn public_rows(
    data: &TableFile,
    adjacency: Adjacency,
    declared: Option<usize>,
    unit: Option<&Unit>,
    bounded: bool,
) -> Result<usize, Error> {
    let count = || match unit {
        None => count_rows(data).map_err(Error::from),
        Some(unit) => count_units(data, unit, bounded),
    };
    match (!adjacency.records_are_public(), declared) {
        (true, Some(rows)) => Ok(rows),
        (true, None) => Err(Error::Arguments(
            "declare `rows`: under add-remove adjacency the table's own number of rows, or of units, is private, so give `--rows` with a number known without it",
        )),
        (false, Some(_)) => Err(Error::Arguments(
            "`rows` is for add-remove adjacency: under any other the table's own number of rows, or of units, is public and is used; leave `--rows` out",
        )),
        (false, None) => match count()? {
            0 => Err(TableError::Empty { file: data.name() }.into()),
            rows => Ok(rows),
        },
    }
}
