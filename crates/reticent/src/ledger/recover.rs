//! Models that are paid for and were not saved.

use std::path::Path;

use super::charge::{Payment, released};
use super::{Ledger, State, store};
use crate::files::{Replace, Staged};
use crate::model::digest_of;
use crate::{Error, Model};

impl Ledger {
    /// The charges whose models the ledger keeps because nobody has said that they are saved.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn kept_models(&self) -> Result<Vec<u64>, Error> {
        store::kept_models(self.path())
    }

    /// Forgets the text of a model that is saved. The record of its release stays.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn model_is_saved(&self, charge: u64) -> Result<(), Error> {
        store::forget_model(self.path(), charge)
    }

    /// Writes the model of a charge whose process died, or found no room, between the end of its
    /// run and the file: the one that the ledger keeps, or the one that waits under its hidden name
    /// beside `out`. Without `charge` there must be one.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`] if there is none, or several and none is named; [`Error::File`].
    pub fn recover(
        &self,
        charge: Option<u64>,
        out: &Path,
        replace: Replace,
    ) -> Result<(u64, Model), Error> {
        let contents = store::read(self.path())?;
        let book = self.book(&contents)?;
        let payment = |charge| Payment { ledger: book.ledger.clone(), charge };
        let kept = self.kept_models()?;
        let waiting = book.lines.iter().filter(|line| line.state == State::Begun);
        let waiting: Vec<(u64, Staged)> = waiting
            .filter_map(|line| {
                let name = payment(line.charge).staged_name();
                Some((line.charge, Staged::find(out, &name)?))
            })
            .collect();
        let mut found: Vec<u64> = kept.iter().copied().chain(waiting.iter().map(|w| w.0)).collect();
        found.retain(|number| charge.is_none_or(|charge| charge == *number));
        let charge = match found.as_slice() {
            [one] => *one,
            [] => {
                return Err(self.refuse(
                    "it keeps no such model: each that it recorded was saved, and none waits in the folder of `--out`; name that folder, or go on from a checkpoint",
                ));
            }
            several => {
                let several: Vec<String> = several.iter().map(u64::to_string).collect();
                return Err(self.refuse(&format!(
                    "it keeps the models of charges {}; name one with `--charge`",
                    several.join(", ")
                )));
            }
        };
        let text = match waiting.iter().find(|waiting| waiting.0 == charge) {
            Some((_, staged)) if !kept.contains(&charge) => {
                let text = staged.read()?;
                let (model, _) = self.check_paid(&text, &payment(charge))?;
                store::keep_model(self.path(), charge, &text, |contents| {
                    released(&self.book(contents)?, charge, None, &model)
                        .map_err(|why| self.refuse(&why))
                })?;
                text
            }
            _ => store::kept_model(self.path(), charge)?,
        };
        let (model, digest) = self.check_paid(&text, &payment(charge))?;
        let recorded = self.book(&store::read(self.path())?)?;
        let line = recorded.line(charge);
        if line.and_then(|line| line.model.as_ref()) != Some(&digest) {
            return Err(self.refuse("the model that it keeps is not the one it recorded"));
        }
        if replace == Replace::Model {
            model.save_over(out)?;
        } else {
            model.save(out)?;
        }
        if let Some(staged) = Staged::find(out, &payment(charge).staged_name()) {
            staged.discard();
        }
        self.model_is_saved(charge)?;
        Ok((charge, model))
    }

    /// The model in `text` and its digest, if this payment made it and it is whole.
    fn check_paid(&self, text: &str, payment: &Payment) -> Result<(Model, String), Error> {
        let (model, whole) = Model::from_json(text, "the kept model")?;
        if !whole || model.certificate.payment.as_ref() != Some(payment) {
            return Err(self.refuse("the model that waits is not the one that the charge paid for"));
        }
        let digest = digest_of(&model);
        Ok((model, digest))
    }
}
