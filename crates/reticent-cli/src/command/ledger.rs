//! `reticent ledger`.

use std::path::Path;
use std::process::ExitCode;

use reticent::ledger::{Checked, Entry, Filter, Item, Ledger, Record, Room, Standing};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon, Event};
use reticent::problem::number::{self, at_least, at_most};
use reticent::{Error, Paths, write_atomically};
use serde_json::json;

use super::table::replace;
use super::{declaration, read};
use crate::arguments::{FilterName, LedgerAction, UnitArgs};
use crate::output;

pub(super) fn run(action: &LedgerAction, json: bool) -> Result<ExitCode, Error> {
    match action {
        LedgerAction::Init { ledger, epsilon, delta, adjacency, unit, filter } => {
            let adjacency: Adjacency = adjacency.parse()?;
            let budget = Budget {
                epsilon: Epsilon::new(*epsilon)?,
                delta: Delta::new(*delta)?,
                adjacency: if unit.is_some() { adjacency.of_units() } else { adjacency },
            };
            let filter = match filter {
                FilterName::Gaussian => Filter::Gaussian,
                FilterName::Basic => Filter::Basic,
                FilterName::Auto => Filter::Auto,
            };
            let made = Ledger::create_for(ledger, budget, filter, unit.as_deref())?;
            print_standing(&made, "made", json)
        }
        LedgerAction::Show { ledger } => {
            let standing = Ledger::open(ledger)?.standing()?;
            if json {
                output::json(&json!(standing));
            } else {
                show(&standing);
            }
            Ok(ExitCode::SUCCESS)
        }
        LedgerAction::Charge { ledger, event, epsilon, delta, unit, label } => {
            let ledger = Ledger::open(ledger)?;
            let event = match (event, epsilon) {
                (Some(file), _) => event_of(file)?,
                (None, epsilon) => Event::ApproxDp {
                    epsilon: epsilon.unwrap_or_default(),
                    delta: *delta,
                    adjacency: ledger.standing()?.budget.adjacency,
                },
            };
            let charge = ledger.charge_event_for(label, &event, *delta, unit.as_deref())?;
            print_standing(&ledger, &format!("charge {charge} to"), json)
        }
        LedgerAction::Refund { ledger, charge } => {
            let ledger = Ledger::open(ledger)?;
            ledger.refund(*charge)?;
            print_standing(&ledger, &format!("took back charge {charge} of"), json)
        }
        LedgerAction::Accept { ledger, schema } => {
            let ledger = Ledger::open(ledger)?;
            ledger.accept(&declaration(schema, None, &UnitArgs::default())?)?;
            print_standing(&ledger, "accepted the schema's columns for", json)
        }
        LedgerAction::History { ledger } => {
            let records = Ledger::open(ledger)?.history()?;
            if json {
                output::json(&json!({ "records": records }));
            } else {
                let rows: Vec<_> = records.iter().map(line).collect();
                output::line(&output::table(&["record", "time", "what", "charge", "of"], &rows));
            }
            Ok(ExitCode::SUCCESS)
        }
        LedgerAction::Recover { ledger, out, charge, force } => {
            recover(ledger, out, *charge, *force, json)
        }
        LedgerAction::Check { ledger } => {
            let checked = Ledger::open(ledger)?.check()?;
            if json {
                output::json(&json!(checked));
            } else {
                say_checked(&checked);
            }
            Ok(ExitCode::SUCCESS)
        }
        LedgerAction::Export { ledger, out } => {
            let paths = Paths::default().ledger("LEDGER", Some(ledger));
            paths.writes("--out", out.as_deref()).check()?;
            let export = Ledger::open(ledger)?.export()?;
            match out {
                None => output::json(&export),
                Some(out) => {
                    write_atomically(out, export.to_string().as_bytes())?;
                    if json {
                        output::json(&json!({ "export": out }));
                    } else {
                        output::line(&format!("wrote {}", out.display()));
                    }
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn recover(
    ledger: &Path,
    out: &Path,
    charge: Option<u64>,
    force: bool,
    json: bool,
) -> Result<ExitCode, Error> {
    Paths::default().ledger("LEDGER", Some(ledger)).writes("--out", Some(out)).check()?;
    let (charge, model) = Ledger::open(ledger)?.recover(charge, out, replace(force))?;
    if json {
        output::json(&json!({ "model": out, "charge": charge, "certificate": model.certificate }));
    } else {
        let out = out.display();
        output::line(&model.certificate.statement);
        output::line(&format!(
            "wrote {out}, which charge {charge} paid for; check it with `reticent verify {out}`"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn event_of(file: &Path) -> Result<Event, Error> {
    serde_json::from_str(&read(file)?)
        .map_err(|e| Error::NotAnEvent { file: file.display().to_string(), why: e.to_string() })
}

/// Says what was done and where the ledger stands.
fn print_standing(ledger: &Ledger, done: &str, json: bool) -> Result<ExitCode, Error> {
    let standing = ledger.standing()?;
    if json {
        output::json(&json!(standing));
    } else {
        output::line(&format!("{done} {}", ledger.path().display()));
        show(&standing);
    }
    Ok(ExitCode::SUCCESS)
}

fn say_checked(checked: &Checked) {
    for (what, found) in [
        ("file", "the database's pages hold together".to_owned()),
        ("triggers", "no record can be altered or removed in passing".to_owned()),
        ("chain", format!("{} records, each with the hash of the one before", checked.records)),
        (
            "order",
            "each charge went from charged to begun to released, or was given back".to_owned(),
        ),
        ("charges", format!("{} charges, each admitted again at its cost", checked.charges)),
        (
            "last",
            format!(
                "{}; note it elsewhere to see later whether records were removed",
                checked.last_hash
            ),
        ),
    ] {
        output::line(&format!("{what:<9} {found}"));
    }
    show(&checked.standing);
}

fn show(standing: &Standing) {
    let (budget, delta) = (standing.budget, standing.budget.delta.get());
    output::line(&format!(
        "budget    epsilon = {} at delta = {delta:e}, {} adjacency{}; it holds however plans are chosen ({} filter)",
        budget.epsilon,
        budget.adjacency,
        standing
            .unit
            .as_ref()
            .map_or_else(String::new, |unit| format!(", for all rows of one `{unit}`")),
        match standing.room {
            Some(Room::Gaussian { .. }) => "gaussian",
            Some(Room::Basic { .. }) => "basic",
            None => standing.filter.name(),
        }
    ));
    let spent = standing.tight.map_or("unbounded".to_owned(), at_most);
    output::line(&format!(
        "spent     epsilon <= {spent} at delta = {delta:e} together, if no plan was chosen after looking at an earlier release"
    ));
    // Rounded down, so that it fits.
    let left = at_least(standing.left);
    output::line(&if delta > 0.0 {
        format!(
            "left      epsilon = {left} at delta = {delta:e} for one more Gaussian release; stated at delta = {:e} the same release has epsilon = {}",
            standing.left_delta,
            at_least(standing.left_epsilon)
        )
    } else {
        format!("left      epsilon = {left} at delta = 0")
    });
    output::line(&format!(
        "sum       epsilon = {}, delta = {} of the charges, each as it was asked for{}",
        at_most(standing.basic_epsilon),
        at_most(standing.basic_delta),
        if standing.basic_epsilon > budget.epsilon.get() {
            "; it may exceed the budget: Gaussian noise adds up by squares, and an epsilon at a smaller delta is worth less at the larger delta of the budget"
        } else {
            ""
        }
    ));
    if let [_, ..] = standing.kept_models.as_slice() {
        let charges: Vec<String> = standing.kept_models.iter().map(u64::to_string).collect();
        output::line(&format!(
            "kept      the models of charges {}, which nobody has said to be saved; get one with `reticent ledger recover`",
            charges.join(", ")
        ));
    }
    if standing.refusals > 0 {
        output::line(&format!("refused   {}", standing.refusals));
    }
    if standing.charges.is_empty() {
        return;
    }
    let rows: Vec<_> = standing
        .charges
        .iter()
        .map(|line| {
            let state = json!(line.state).as_str().unwrap_or_default().to_owned();
            vec![
                line.charge.to_string(),
                line.time.clone(),
                line.item.label.clone(),
                at_most(line.item.budget.epsilon.get()),
                number::show(line.item.budget.delta.get()),
                state,
            ]
        })
        .collect();
    output::line("");
    let header = ["charge", "time", "what", "epsilon", "delta", "state"];
    output::line(&output::table(&header, &rows));
}

fn charge_of(item: &Item) -> String {
    format!("{}, epsilon = {}", item.label, at_most(item.budget.epsilon.get()))
}

/// A record in words.
fn line(record: &Record) -> Vec<String> {
    let (what, charge, of) = match &record.entry {
        Entry::Opened { budget, unit, .. } => (
            "opened",
            None,
            format!(
                "epsilon = {}, delta = {:e}{}",
                budget.epsilon,
                budget.delta.get(),
                unit.as_ref().map_or_else(String::new, |unit| format!(", of one `{unit}`"))
            ),
        ),
        Entry::Accepted { .. } => ("accepted", None, "a set of columns".to_owned()),
        Entry::Charged { charge, item, reserved, .. } => {
            (if *reserved { "reserved" } else { "charged" }, Some(*charge), charge_of(item))
        }
        Entry::Claimed { charge } => ("claimed", Some(*charge), String::new()),
        Entry::Unclaimed { charge } => ("waits again", Some(*charge), String::new()),
        Entry::Closed { room: Room::Gaussian { mu, .. } } => {
            ("closed", None, format!("later plans share mu = {}", at_least(*mu)))
        }
        Entry::Closed { room: Room::Basic { epsilon, .. } } => {
            ("closed", None, format!("later plans share epsilon = {}", at_least(*epsilon)))
        }
        Entry::Begun { charge } => ("begun", Some(*charge), String::new()),
        Entry::Resumed { charge, runs, step, .. } => (
            "resumed",
            Some(*charge),
            format!("after {runs} run{} and {step} kept steps", if *runs == 1 { "" } else { "s" }),
        ),
        Entry::Released { charge, model } => {
            ("released", Some(*charge), model.chars().take(19).collect())
        }
        Entry::Refunded { charge } => ("refunded", Some(*charge), String::new()),
        Entry::Refused { item, .. } => ("refused", None, charge_of(item)),
        _ => ("unknown", None, "a record of a later version".to_owned()),
    };
    let charge = charge.map_or_else(String::new, |c| c.to_string());
    vec![record.number.to_string(), record.time.clone(), what.to_owned(), charge, of]
}
