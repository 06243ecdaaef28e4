//! A charge in the hands of the run that it pays for.

use reticent_privacy::PrivacyError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::book::{Book, State};
use super::record::Entry;
use super::{Ledger, store};
use crate::model::digest;
use crate::{Error, Model};

/// Which charge of which ledger paid; a model's certificate carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The ledger's random name.
    pub ledger: String,
    /// The charge's number.
    pub charge: u64,
}

/// A charge for which no noise has been drawn.
#[derive(Debug)]
#[must_use = "a charge that is neither begun nor refunded stays paid"]
pub struct Charge {
    ledger: Ledger,
    number: u64,
}

impl Charge {
    pub(super) fn new(ledger: Ledger, number: u64) -> Self {
        Self { ledger, number }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Takes it back. Only a charge that has not begun can be, which is why this takes a [`Charge`] and no [`Begun`].
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn refund_unused(self) -> Result<(), Error> {
        self.ledger.refund(self.number)
    }

    /// Writes down that noise is about to be drawn. Whoever draws noise calls this before.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`], also if somebody took the charge back in the meantime.
    pub fn begin(self) -> Result<Begun, Error> {
        let payment = self.ledger.update(|book, _| {
            if book.line(self.number).map(|line| line.state) != Some(State::Charged) {
                return Err(self.ledger.refuse(&format!(
                    "charge {} was taken back while its run was waiting; run it again",
                    self.number
                )));
            }
            let mut entries = close(book)?;
            entries.push(Entry::Begun { charge: self.number });
            Ok((entries, Payment { ledger: book.ledger.clone(), charge: self.number }))
        })?;
        Ok(Begun::new(self.ledger, payment))
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
pub struct Begun {
    ledger: Ledger,
    payment: Payment,
}

impl Begun {
    pub(super) fn new(ledger: Ledger, payment: Payment) -> Self {
        Self { ledger, payment }
    }

    /// What to keep in a checkpoint.
    pub fn payment(&self) -> &Payment {
        &self.payment
    }

    /// Writes the payment into the model's certificate and the model's digest into the ledger. Save the model after this,
    /// not before: a model that exists is a model that the ledger knows.
    ///
    /// One charge pays for one model. A run that is resumed after this point makes the same model again, and that is no
    /// second release.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`], also if the charge has paid for another model; then do not save this one.
    pub fn released(self, model: &mut Model) -> Result<(), Error> {
        model.certificate.payment = Some(self.payment.clone());
        let made = digest(&json!(model));
        let charge = self.payment.charge;
        store::update(&self.ledger.path, |contents| {
            let book = self.ledger.book(contents)?;
            let line = book.line(charge);
            match line.map(|line| (line.state, line.model.as_deref())) {
                Some((State::Begun, _)) => Ok((vec![Entry::Released { charge, model: made }], ())),
                Some((State::Released, Some(before))) if before == made => Ok((Vec::new(), ())),
                _ => Err(self.ledger.refuse(&format!(
                    "charge {charge} has paid for another model; one charge pays for one"
                ))),
            }
        })
    }
}
