//! A model beside the record of its release. Reads, and writes nothing.

use serde_json::json;

use super::{ChargeLine, Ledger, Payment, State, record, store};
use crate::model::digest;
use crate::verify::Check;
use crate::{Error, Model};

/// Whether an item is what the model states that was done: plan or selection, budget and event.
pub(super) fn is_charged(item: &record::Item, model: &Model) -> bool {
    let certificate = &model.certificate;
    let (label, plan) = match &certificate.selection {
        Some(selection) => (record::TUNE, digest(&json!(selection))),
        None => (certificate.plan.algorithm(), digest(&json!(certificate.plan))),
    };
    item.plan == plan
        && item.label == label
        && item.budget == certificate.budget
        && item.event == certificate.event
}

impl Ledger {
    /// The line of the charge that a payment names; none if it is another ledger's.
    pub(crate) fn line_of(&self, payment: &Payment) -> Result<Option<ChargeLine>, Error> {
        let book = self.book(&store::read(&self.path)?)?;
        let named =
            |line: &ChargeLine| book.ledger == payment.ledger && line.charge == payment.charge;
        Ok(book.lines.iter().find(|line| named(line)).cloned())
    }

    /// Compares a model with this ledger's record of it: the payment, what was charged, and the
    /// digest of the one model that the charge paid for; and the payment for the draft of its
    /// schema, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`] if the ledger cannot be read.
    pub fn compare(&self, model: &Model) -> Result<Vec<Check>, Error> {
        let standing = self.standing()?;
        let certificate = &model.certificate;
        let payment = certificate.payment.as_ref();
        let line = payment
            .filter(|payment| payment.ledger == standing.ledger)
            .and_then(|payment| standing.charges.iter().find(|line| line.charge == payment.charge));
        let paid = Check::new(
            "the ledger has the payment",
            line.is_some(),
            match (payment, line) {
                (None, _) => "the file names no payment".to_owned(),
                (Some(payment), None) => {
                    format!("ledger {} has no charge {}", standing.ledger, payment.charge)
                }
                (Some(_), Some(line)) => format!("charge {} of {}", line.charge, line.time),
            },
        );
        // The draft of the schema also discloses information on the table, so it is compared as
        // well.
        let draft = model.draft.as_ref().map(|draft| draft.compare(self)).transpose()?;
        let Some(line) = line else {
            return Ok([Some(paid), draft].into_iter().flatten().collect());
        };
        let same = is_charged(&line.item, model);
        // The ledger knows the model as it was released.
        let made = digest(&json!(model.as_released()));
        let mut checks = vec![
            paid,
            Check::new(
                "what was charged is what the file states",
                same,
                format!("{} with epsilon = {}", line.item.label, line.item.budget.epsilon),
            ),
            Check::new(
                "the ledger has the digest of this model",
                line.state == State::Released && line.model.as_ref() == Some(&made),
                match &line.model {
                    None => "no release is recorded for the charge",
                    Some(known) if *known == made => "the charge paid for this model",
                    Some(_) => "the charge paid for another model",
                },
            ),
        ];
        checks.extend(draft);
        Ok(checks)
    }
}
