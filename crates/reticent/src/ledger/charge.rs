//! A charge in the hands of the run that it pays for.

use reticent_privacy::PrivacyError;
use serde::{Deserialize, Serialize};

use super::book::{Book, ChargeLine, State};
use super::compare::is_charged;
use super::record::Entry;
use super::{Ledger, store};
use crate::model::digest_of;
use crate::{Error, Model};

/// Which charge of which ledger paid; a model's certificate carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The ledger's random name.
    pub ledger: String,
    /// The charge's number.
    pub charge: u64,
}

impl Payment {
    /// The hidden name under which the model waits beside its place until the ledger knows it.
    pub(crate) fn staged_name(&self) -> String {
        let ledger: String = self.ledger.chars().take(16).collect();
        format!(".reticent-paid-{ledger}-{}.json", self.charge)
    }
}

/// A charge for which no noise has been drawn.
#[derive(Debug)]
pub(crate) struct Charge {
    ledger: Ledger,
    payment: Payment,
}

impl Charge {
    pub(super) fn new(ledger: Ledger, payment: Payment) -> Self {
        Self { ledger, payment }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn payment(&self) -> &Payment {
        &self.payment
    }

    /// Gives it back. Only a charge that has not begun can be, which is why this takes a [`Charge`]
    /// and no [`Begun`].
    pub(crate) fn give_back(self) -> Result<(), Error> {
        self.ledger.give_back(self.payment.charge).map(drop)
    }

    /// Writes down that noise is about to be drawn. Anyone who draws noise calls this before.
    pub(crate) fn begin(self) -> Result<Begun, Error> {
        let charge = self.payment.charge;
        self.ledger.account(|book, _| {
            if book.line(charge).map(|line| line.state) != Some(State::Charged) {
                return Err(self.ledger.refuse(&format!(
                    "charge {charge} was taken back while its run was waiting; run it again"
                )));
            }
            let mut entries = close(book)?;
            entries.push(Entry::Begun { charge });
            Ok((entries, ()))
        })?;
        Ok(Begun { ledger: self.ledger, payment: self.payment, run: String::new() })
    }
}

/// With the first noise, what is left for later plans is fixed.
pub(super) fn close(book: &Book) -> Result<Vec<Entry>, PrivacyError> {
    Ok(match book.room {
        Some(_) => Vec::new(),
        None => vec![Entry::Closed { room: book.room_left_by_the_plan()? }],
    })
}

/// A charge for which noise may have been drawn. It stays paid.
#[derive(Debug)]
pub(crate) struct Begun {
    ledger: Ledger,
    payment: Payment,
    /// The random name of the run, if it went on from a checkpoint.
    run: String,
}

impl Begun {
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn payment(&self) -> &Payment {
        &self.payment
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Records that the charge has paid for the model of this digest, and keeps the model's text
    /// until it is saved.
    ///
    /// One charge pays for one model. A run that is resumed after this point makes the same model
    /// again, and that is no second release.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`], also if the charge has paid for another model; then do not save this one.
    pub(crate) fn record(&self, model: &Model, text: &str) -> Result<(), Error> {
        let charge = self.payment.charge;
        store::keep_model(self.ledger.path(), charge, text, |contents| {
            let book = self.ledger.book(contents)?;
            released(&book, charge, Some(&self.run), model).map_err(|why| self.ledger.refuse(&why))
        })
    }
}

/// The record of a release, or why there is none: the model must state what was charged. `run`
/// names the run that releases, where that is known.
pub(super) fn released(
    book: &Book,
    charge: u64,
    run: Option<&str>,
    model: &Model,
) -> Result<Vec<Entry>, String> {
    let digest = digest_of(model);
    match book.line(charge) {
        Some(line) if !is_charged(&line.item, model) => {
            Err(format!("charge {charge} was made for something else than the model states"))
        }
        Some(line) if run.is_some_and(|run| run != line.run) => Err(format!(
            "another run went on with charge {charge} in the meantime; its model is the one that is paid for"
        )),
        Some(ChargeLine { state: State::Begun, .. }) => {
            Ok(vec![Entry::Released { charge, model: digest }])
        }
        Some(line) if line.state == State::Released && line.model.as_ref() == Some(&digest) => {
            Ok(Vec::new())
        }
        _ => Err(format!("charge {charge} has paid for another model; one charge pays for one")),
    }
}

/// A run that is to go on from a checkpoint.
#[derive(Debug)]
pub(crate) struct Resumption<'a> {
    /// The payment for it.
    pub(crate) payment: &'a Payment,
    /// The digest of its plan.
    pub(crate) plan: String,
    /// The names that the checkpoint knows: of the run that wrote it, and of the one that was about
    /// to go on from it.
    pub(crate) names: [&'a str; 2],
    /// The name of the run that goes on.
    pub(crate) next: &'a str,
    /// How many runs there have been.
    pub(crate) runs: u64,
    /// The steps that are kept.
    pub(crate) step: u64,
    /// Whether no noise is left to be drawn.
    pub(crate) finished: bool,
}

impl Resumption<'_> {
    /// The entries to record, and the name of the run that may release the model; or the reason why
    /// the run must not go on.
    fn decide(&self, book: &Book) -> Result<(Vec<Entry>, String), String> {
        let charge = self.payment.charge;
        let line = book
            .line(charge)
            .filter(|line| book.ledger == self.payment.ledger && line.item.plan == self.plan)
            .filter(|line| line.state != State::Reserved)
            .ok_or("the checkpoint was charged elsewhere; name the ledger and the settings of the run that wrote it")?;
        if line.state == State::Refunded {
            return Err(
                "the checkpoint's charge was given back before a step was taken; remove the checkpoint and start again"
                    .to_owned(),
            );
        }
        let before = "a run went on from this checkpoint before, and its noise is drawn; go on from the latest, or pay for a new run";
        if !self.names.contains(&line.run.as_str()) {
            return Err(before.to_owned());
        }
        let resumed =
            Entry::Resumed { charge, runs: self.runs, step: self.step, run: self.next.to_owned() };
        match line.state {
            State::Begun | State::Released if self.finished => Ok((Vec::new(), line.run.clone())),
            State::Begun if self.runs > line.resumed => Ok((vec![resumed], self.next.to_owned())),
            State::Charged => {
                let mut entries = close(book).map_err(|e| e.to_string())?;
                entries.extend([Entry::Begun { charge }, resumed]);
                Ok((entries, self.next.to_owned()))
            }
            _ => Err(before.to_owned()),
        }
    }
}

impl Ledger {
    /// Whether a run may go on, without a record of it: asked before its checkpoint is written
    /// again. The name of the last run that went on.
    pub(crate) fn check_resumable(&self, run: &Resumption<'_>) -> Result<String, Error> {
        let book = self.book(&store::read(self.path())?)?;
        run.decide(&book).map_err(|why| self.refuse(&why))?;
        self.check_latest(run)?;
        Ok(book.line(run.payment.charge).map_or_else(String::new, |line| line.run.clone()))
    }

    /// Goes on with a charge whose run was interrupted. From a copy of its checkpoint nothing more
    /// is drawn: the ledger knows the name of the run that went on, which the copy does not, and
    /// how far a run was kept, which an older copy is behind.
    pub(crate) fn resume(&self, run: &Resumption<'_>) -> Result<Begun, Error> {
        self.check_latest(run)?;
        let name = self.account(|book, _| run.decide(book).map_err(|why| self.refuse(&why)))?;
        Ok(Begun { ledger: self.clone(), payment: run.payment.clone(), run: name })
    }

    /// Notes that the steps of a charge's run are kept up to `step`. Called after the checkpoint is
    /// written, so that one which is not ahead of the note is older than the last.
    pub(crate) fn note_step(&self, charge: u64, step: u64) -> Result<(), Error> {
        store::note_step(self.path(), charge, step)
    }

    /// Whether a checkpoint is the last that was kept.
    fn check_latest(&self, run: &Resumption<'_>) -> Result<(), Error> {
        if run.step < store::noted_step(self.path(), run.payment.charge)? {
            return Err(self.refuse(
                "the checkpoint is an older copy, and noise was drawn for the steps after it; go on from the latest, or pay for a new run",
            ));
        }
        Ok(())
    }
}
