//! The way of a release: planned, charged, begun, released.
//!
//! Each step takes the one before by value, so none can be left out or taken twice, and everything
//! that fits a model goes this way, with a ledger or without one:
//!
//! | step | written down | a process that dies after it |
//! | --- | --- | --- |
//! | [`Planned::charge`] | the charge | leaves a charge that can be given back |
//! | [`Charged::read`] | nothing; if the rows cannot be read, the charge is given back, or waits again if it was fixed before | the same |
//! | [`Charged::begin`] | the checkpoint if one is kept, then that noise may be drawn | leaves a run that goes on from its checkpoint |
//! | [`Begun::release`] | the model under a hidden name beside its place, flushed | leaves a model for [`Ledger::recover`] |
//! | | then the model's digest and its text in the ledger | the same |
//! | | then the model's name and its folder, flushed; the ledger forgets the text | leaves the model |

use std::path::Path;

use reticent_noise::Randomness;
use reticent_optim::{Plan, Selection};
use reticent_problem::declaration::Declaration;

use crate::draft::check_draft;
use crate::files::{Replace, Staged};
use crate::ledger::{self, Charge, Ledger, Payment};
use crate::{Error, KeptRun, Model};

/// The computation that a charge pays for.
#[derive(Clone, Copy, Debug)]
pub enum Purchase<'a> {
    /// One run of a plan.
    Plan(&'a Plan),
    /// A choice among several plans on the private rows.
    Selection(&'a Selection),
}

/// A run that nobody has paid for.
#[derive(Debug)]
pub struct Planned<'a> {
    /// The ledger that is to pay, if there is one.
    pub ledger: Option<Ledger>,
    /// The computation to pay for.
    pub purchase: Purchase<'a>,
    /// The table.
    pub declaration: &'a Declaration,
}

impl Planned<'_> {
    /// Pays, or finds that the interrupted run of a checkpoint has paid. Call it before a row is
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if it does not fit; [`Error::UnpaidDraft`] if the ledger did not pay
    /// for the draft of the schema; [`Error::Ledger`], also if the checkpoint must not be gone on
    /// from.
    pub fn charge(self, kept: Option<&KeptRun>) -> Result<Charged, Error> {
        let budget = match self.purchase {
            Purchase::Plan(plan) => plan.outline().budget,
            Purchase::Selection(selection) => selection.budget,
        };
        check_draft(self.declaration, budget.adjacency, self.ledger.as_ref())?;
        let Some(ledger) = self.ledger else { return Ok(Charged(Paid::Free)) };
        if let Some(run) = kept.and_then(|run| run.resumption("")) {
            let last = ledger.check_resumable(&run)?;
            return Ok(Charged(Paid::Before(ledger, last)));
        }
        let charge = match self.purchase {
            Purchase::Plan(plan) => ledger.charge(plan, self.declaration)?,
            Purchase::Selection(selection) => {
                ledger.charge_selection(selection, self.declaration)?
            }
        };
        Ok(Charged(Paid::Now(charge)))
    }
}

/// A run that is paid for, if there is a ledger. No noise has been drawn for it by this process.
#[derive(Debug)]
#[must_use = "a charge that is neither begun nor given back stays paid"]
pub struct Charged(Paid);

#[derive(Debug)]
enum Paid {
    /// There is no ledger.
    Free,
    /// It was charged just now.
    Now(Charge),
    /// An interrupted run has paid for it; the name of the last that went on.
    Before(Ledger, String),
}

impl Charged {
    /// The ledger and the charge that can be given back.
    pub fn refundable(&self) -> Option<(&Ledger, u64)> {
        match &self.0 {
            Paid::Now(charge) => Some((charge.ledger(), charge.payment().charge)),
            Paid::Free | Paid::Before(..) => None,
        }
    }

    /// Reads the rows. If that fails, no noise was drawn, and the charge is given back.
    ///
    /// # Errors
    ///
    /// Those of `read`; [`Error::Ledger`].
    pub fn read<T>(self, read: impl FnOnce() -> Result<T, Error>) -> Result<(Self, T), Error> {
        match read() {
            Ok(rows) => Ok((self, rows)),
            Err(error) => {
                self.give_back()?;
                Err(error)
            }
        }
    }

    fn give_back(self) -> Result<(), Error> {
        match self.0 {
            Paid::Now(charge) => charge.give_back(),
            Paid::Free | Paid::Before(..) => Ok(()),
        }
    }

    /// Writes down that noise is about to be drawn: first in the checkpoint, then in the ledger. A
    /// process that dies in between has drawn none, and its checkpoint can be gone on from.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`], also if somebody took the charge back or went on in the meantime;
    /// [`Error::File`].
    pub fn begin(self, kept: Option<&mut KeptRun>, randomness: Randomness) -> Result<Begun, Error> {
        match (self.0, kept) {
            (Paid::Free, None) => Ok(Begun(None)),
            (Paid::Before(..), None) => Err(Error::Arguments(
                "a run that an earlier one has paid for goes on from its checkpoint; hand it over",
            )),
            (Paid::Free, Some(run)) => run.renew(None, ["", ""], randomness).map(|()| Begun(None)),
            (Paid::Now(charge), kept) => {
                if let Some(run) = kept {
                    let payment = charge.payment().clone();
                    if let Err(error) = run.renew(Some(payment), ["", ""], randomness) {
                        charge.give_back()?;
                        return Err(error);
                    }
                }
                charge.begin().map(|begun| Begun(Some(begun)))
            }
            (Paid::Before(ledger, last), Some(run)) => {
                let name = ledger::random_name()?;
                let payment = run.payment().cloned();
                run.renew(payment, [&last, &name], randomness)?;
                let begun = match run.resumption(&name) {
                    Some(resumption) => Some(ledger.resume(&resumption)?),
                    None => None,
                };
                run.goes_by(begun.as_ref().map_or("", ledger::Begun::run));
                Ok(Begun(begun))
            }
        }
    }
}

/// A run for which noise may have been drawn.
#[derive(Debug)]
pub struct Begun(Option<ledger::Begun>);

impl Begun {
    /// Which charge of which ledger paid.
    pub fn payment(&self) -> Option<&Payment> {
        self.0.as_ref().map(ledger::Begun::payment)
    }

    /// Hands over the model: saved at `to` if that is given, else to the caller, for whom the
    /// ledger keeps it until [`Released::saved`].
    ///
    /// # Errors
    ///
    /// [`Error::NotSaved`] if the ledger keeps the model and it could not be written;
    /// [`Error::NotRecorded`] if the model waits under its hidden name and the ledger could not be
    /// written; [`Error::Ledger`] if the charge has paid for another model; without a ledger
    /// [`Error::File`].
    pub fn release(
        self,
        mut model: Model,
        to: Option<(&Path, Replace)>,
    ) -> Result<Released, Error> {
        let Some(begun) = self.0 else {
            match to {
                Some((path, Replace::Model)) => model.save_over(path)?,
                Some((path, _)) => model.save(path)?,
                None => {}
            }
            return Ok(Released { model, receipt: None });
        };
        model.certificate.payment = Some(begun.payment().clone());
        let text = model.to_json();
        Model::from_json(&text, "the model")?;
        let ledger = begun.ledger().clone();
        let receipt = (ledger.clone(), begun.payment().charge);
        let Some((path, replace)) = to else {
            begun.record(&model, &text)?;
            return Ok(Released { model, receipt: Some(receipt) });
        };
        let (file, at) = (path.display().to_string(), ledger.path().display().to_string());
        let staged = Staged::write(path, &begun.payment().staged_name(), text.as_bytes());
        if let Err(error) = begun.record(&model, &text) {
            return Err(match staged {
                Ok(_) => Error::NotRecorded { why: error.to_string(), file, ledger: at },
                Err(_) => error,
            });
        }
        let placed = staged.and_then(|staged| staged.place(replace));
        placed.map_err(|e| Error::NotSaved { file, why: e.to_string(), ledger: at })?;
        let released = Released { model, receipt: Some(receipt) };
        released.saved();
        Ok(released)
    }
}

/// A model that is handed over.
#[derive(Debug)]
pub struct Released {
    /// The model.
    pub model: Model,
    receipt: Option<(Ledger, u64)>,
}

impl From<Model> for Released {
    /// A model that was saved before.
    fn from(model: Model) -> Self {
        Self { model, receipt: None }
    }
}

impl Released {
    /// The ledger and the charge that paid, if one did.
    pub fn charge(&self) -> Option<(&Ledger, u64)> {
        self.receipt.as_ref().map(|(ledger, charge)| (ledger, *charge))
    }

    /// Says that the model is on a disk, so that the ledger need not keep it. A ledger that cannot
    /// be written keeps it longer, which does no harm.
    pub fn saved(&self) {
        if let Some((ledger, charge)) = &self.receipt {
            _ = ledger.model_is_saved(*charge);
        }
    }
}
