//! Re-checks a model's certificate without the data, and says what that shows.
//!
//! Three lists are kept apart. *Recomputed*: everything that follows from other parts of the file
//! is computed and compared. *Stated*: statements of the file that nobody can check from it. *Not
//! covered*: facts that no model file can show. A ledger ([`verify_with`]) and a signature
//! ([`crate::signature`]) move lines out of the last list; each is a comparison with another file.

mod compare;
mod recomputed;
mod stated;

use std::path::Path;

use serde::Serialize;

use crate::certificate::{claim, why_void};
use crate::files::read_text;
use crate::ledger::Ledger;
use crate::{Error, Model};

pub(crate) use recomputed::same_value;
pub use stated::Stated;

/// One comparison and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The condition that must hold.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// The values found.
    pub found: String,
}

impl Check {
    /// A check with the values `found`.
    pub fn new(name: &'static str, holds: bool, found: impl Into<String>) -> Self {
        Self { name, holds, found: found.into() }
    }
}

/// The result of a verification: checks, statements that were only read, and facts that no check
/// covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether every check holds.
    pub pass: bool,
    /// The guarantee; where a check fails, the file's claim.
    pub statement: String,
    /// Checks within the file.
    pub recomputed: Vec<Check>,
    /// Comparisons with other files: the ledger, the signature.
    pub compared: Vec<Check>,
    /// Statements of the file that nothing in it can confirm.
    pub stated: Vec<Stated>,
    /// Facts that the file does not show.
    pub not_covered: Vec<String>,
}

impl Verification {
    /// The checks that fail.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.recomputed.iter().chain(&self.compared).filter(|c| !c.holds)
    }

    fn of(model: &Model, recomputed: Vec<Check>, compared: Vec<Check>) -> Self {
        let pass = recomputed.iter().chain(&compared).all(|c| c.holds);
        let certificate = &model.certificate;
        let void = why_void(certificate.budget, certificate.randomness).is_some();
        let statement =
            if pass || void { certificate.statement_that_follows() } else { claim(certificate) };
        let in_ledger = !compared.is_empty() && compared.iter().all(|c| c.holds);
        let not_covered = stated::not_covered(model, in_ledger);
        Self { pass, statement, recomputed, compared, stated: stated::of(model), not_covered }
    }

    /// The same with the outcome of checking a signature of the file.
    #[must_use]
    pub fn with_signature(mut self, check: Check) -> Self {
        if check.holds {
            self.not_covered.retain(|line| line != stated::NOT_SIGNED);
            self.not_covered.insert(0, stated::SIGNED.to_owned());
        }
        self.pass &= check.holds;
        self.compared.push(check);
        self
    }
}

/// Verifies the model in a file.
///
/// # Errors
///
/// If it is no model at all. A model whose certificate does not hold is no error: the verification
/// says so.
pub fn verify(path: &Path) -> Result<Verification, Error> {
    verify_text(&read_text(path)?, &path.display().to_string())
}

/// Verifies the model in `text`; `file` is its name in messages.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_text(text: &str, file: &str) -> Result<Verification, Error> {
    verify_with(text, file, None)
}

/// [`verify_text`], and compares the model with the record of the ledger that paid for it.
///
/// # Errors
///
/// As [`verify`], and if the ledger cannot be read.
pub fn verify_with(text: &str, file: &str, ledger: Option<&Ledger>) -> Result<Verification, Error> {
    let (model, digest_matches) = Model::from_json(text, file)?;
    let recomputed = recomputed::checks(text, &model, digest_matches);
    let compared = match ledger {
        Some(ledger) => ledger.compare(&model)?,
        None => Vec::new(),
    };
    Ok(Verification::of(&model, recomputed, compared))
}
