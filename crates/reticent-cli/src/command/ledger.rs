//! `reticent ledger`.

use std::path::Path;
use std::process::ExitCode;

use reticent::ledger::{Entry, Filter, Ledger, Record, Room, Standing};
use reticent::privacy::{Budget, Delta, Epsilon, Event};
use reticent::{Error, write_atomically};
use serde_json::json;

use super::{declaration, read};
use crate::arguments::{FilterName, LedgerAction};
use crate::output;

pub(super) fn run(action: &LedgerAction, json: bool) -> Result<ExitCode, Error> {
    match action {
        LedgerAction::Init { ledger, epsilon, delta, adjacency, filter } => {
            let budget = Budget {
                epsilon: Epsilon::new(*epsilon)?,
                delta: Delta::new(*delta)?,
                adjacency: adjacency.parse()?,
            };
            let filter = match filter {
                FilterName::Gaussian => Filter::Gaussian,
                FilterName::Basic => Filter::Basic,
                FilterName::Auto => Filter::Auto,
            };
            let made = Ledger::create(ledger, budget, filter)?;
            tell(&made, "made", json)
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
        LedgerAction::Charge { ledger, event, epsilon, delta, label } => {
            let ledger = Ledger::open(ledger)?;
            let event = match (event, epsilon) {
                (Some(file), _) => event_of(file)?,
                (None, epsilon) => Event::ApproxDp {
                    epsilon: epsilon.unwrap_or_default(),
                    delta: *delta,
                    adjacency: ledger.standing()?.budget.adjacency,
                },
            };
            let charge = ledger.charge_event(label, &event, *delta)?;
            tell(&ledger, &format!("charge {charge} to"), json)
        }
        LedgerAction::Refund { ledger, charge } => {
            let ledger = Ledger::open(ledger)?;
            ledger.refund(*charge)?;
            tell(&ledger, &format!("took back charge {charge} of"), json)
        }
        LedgerAction::Accept { ledger, schema } => {
            let ledger = Ledger::open(ledger)?;
            ledger.accept(&declaration(schema, None)?)?;
            tell(&ledger, "accepted the schema's columns for", json)
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
        LedgerAction::Export { ledger, out } => {
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

fn event_of(file: &Path) -> Result<Event, Error> {
    serde_json::from_str(&read(file)?)
        .map_err(|e| Error::NotAnEvent { file: file.display().to_string(), why: e.to_string() })
}

/// Says what was done and where the ledger stands.
fn tell(ledger: &Ledger, done: &str, json: bool) -> Result<ExitCode, Error> {
    let standing = ledger.standing()?;
    if json {
        output::json(&json!(standing));
    } else {
        output::line(&format!("{done} {}", ledger.path().display()));
        show(&standing);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(standing: &Standing) {
    let budget = standing.budget;
    output::line(&format!(
        "budget    epsilon = {} at delta = {:e}, {} adjacency; it holds however plans are chosen ({} filter)",
        budget.epsilon,
        budget.delta.get(),
        budget.adjacency,
        match standing.room {
            Some(Room::Gaussian { .. }) => "gaussian",
            Some(Room::Basic { .. }) => "basic",
            None => standing.filter.word(),
        }
    ));
    let tight =
        standing.tight.map_or("unbounded".to_owned(), |e| format!("{:.6}", (e * 1e6).ceil() / 1e6));
    output::line(&format!(
        "together  epsilon <= {tight} at delta = {:e}, if no plan was chosen after looking at an earlier release",
        budget.delta.get()
    ));
    output::line(&format!(
        "sum       epsilon = {:.6}, delta = {:e} (basic composition)",
        standing.basic_epsilon, standing.basic_delta
    ));
    output::line(&format!(
        "left      a release of epsilon = {:.4} at delta = {:e}",
        (standing.left_epsilon * 1e4).floor() / 1e4,
        standing.left_delta
    ));
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
                format!("{:.4}", line.item.budget.epsilon.get()),
                format!("{:e}", line.item.budget.delta.get()),
                state,
            ]
        })
        .collect();
    output::line("");
    let header = ["charge", "time", "what", "epsilon", "delta", "state"];
    output::line(&output::table(&header, &rows));
}

/// A record in words.
fn line(record: &Record) -> Vec<String> {
    let (what, charge, of) = match &record.entry {
        Entry::Opened { budget, .. } => (
            "opened",
            None,
            format!("epsilon = {}, delta = {:e}", budget.epsilon, budget.delta.get()),
        ),
        Entry::Accepted { .. } => ("accepted", None, "a set of columns".to_owned()),
        Entry::Charged { charge, item, reserved, .. } => (
            if *reserved { "reserved" } else { "charged" },
            Some(*charge),
            format!("{}, epsilon = {:.4}", item.label, item.budget.epsilon.get()),
        ),
        Entry::Claimed { charge } => ("claimed", Some(*charge), String::new()),
        Entry::Closed { room: Room::Gaussian { mu, .. } } => {
            ("closed", None, format!("later plans share mu = {mu:.4}"))
        }
        Entry::Closed { room: Room::Basic { epsilon, .. } } => {
            ("closed", None, format!("later plans share epsilon = {epsilon:.4}"))
        }
        Entry::Begun { charge } => ("begun", Some(*charge), String::new()),
        Entry::Released { charge, model } => {
            ("released", Some(*charge), model.chars().take(19).collect())
        }
        Entry::Refunded { charge } => ("refunded", Some(*charge), String::new()),
        Entry::Refused { item, .. } => {
            ("refused", None, format!("{}, epsilon = {:.4}", item.label, item.budget.epsilon.get()))
        }
        _ => ("", None, String::new()),
    };
    let charge = charge.map_or_else(String::new, |c| c.to_string());
    vec![record.number.to_string(), record.time.clone(), what.to_owned(), charge, of]
}
