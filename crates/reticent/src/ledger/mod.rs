//! The ledger: a data set's budget across releases, in one SQLite file.
//!
//! The owner says once what the people in a data set may lose in all. Every plan is charged in a
//! transaction before a row is read and before noise is drawn; a plan that does not fit is refused,
//! and both are recorded permanently.
//!
//! # Accounting, and why it holds
//!
//! Charges made before the first run begins are fixed without having seen anything: they compose by
//! the product of their dominating pairs, the tightest way there is. From then on a plan may have
//! been chosen after looking at earlier models, and products of pairs bound nothing. So, when the
//! first run is about to draw noise, the ledger fixes how much is left and in which units, Gaussian
//! ones or epsilons ([`Filter`]), and later plans draw on that ([`reticent_privacy::filter`]). So
//! the budget holds also for anyone who chooses plans adaptively.
//!
//! # The life of a charge
//!
//! [`Planned`](crate::release::Planned) is charged before a row is read; that it begins is written
//! down before noise is drawn; when the run has ended, the digest of the one model that the charge
//! pays for is recorded, and the model's text is kept until the model is saved
//! ([`Ledger::recover`]). A charge can be taken back only before it begins. A process that dies
//! leaves its charge where it was.
//!
//! The accountant works while nobody waits: a decision is taken from the records as they are, and
//! recorded if no record was added in the meantime; else it is taken again.
//!
//! # Identification of the data set
//!
//! A keyed fingerprint of the names of the declared columns. It is not of the rows: anyone who
//! holds the ledger holds its key, and could test guesses about a row against any fingerprint that
//! depends on one.

mod book;
mod charge;
mod check;
mod compare;
mod record;
mod recover;
mod standing;
mod store;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use reticent_noise::NoiseError;
use reticent_optim::{Plan, Selection};
use reticent_privacy::{Budget, Event};
use reticent_problem::declaration::Declaration;
use reticent_problem::text::is_plain;
use serde_json::{Value, json};
use sha2::Sha256;

pub use book::{ChargeLine, State};
pub use charge::Payment;
pub(crate) use charge::{Begun, Charge, Resumption};
pub use check::Checked;
pub(crate) use record::hex;
pub use record::{Cost, Entry, Filter, Item, Record, Room};
pub use standing::Standing;
pub(crate) use store::is_header;

use crate::Error;
use crate::draft::check_draft;
use crate::model::{check_readable, digest};
use book::{Book, Costs};
use store::Contents;

/// How often a slow decision is taken while nobody waits, before it is taken while others do.
const TRIES: usize = 5;

/// A decision that takes less than this may be taken while others wait.
const QUICK: Duration = Duration::from_millis(200);

/// A ledger file. Each method opens it, and no lock is held in between.
///
/// # Example
///
/// ```
/// use reticent::ledger::{Filter, Ledger};
/// use reticent::privacy::{Adjacency, Budget, Delta, Epsilon, Event};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("clinic.ledger");
/// let adjacency = Adjacency::ReplaceOne;
/// let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-6)?, adjacency };
/// let ledger = Ledger::create(&path, budget, Filter::Auto)?;
/// let count = Event::Gaussian { noise_multiplier: 20.0, adjacency };
/// ledger.charge_event("a noisy count", &count, 1e-7)?;
/// let standing = ledger.standing()?;
/// assert!(standing.tight.is_some_and(|epsilon| epsilon < 0.3));
///
/// // An event that does not fit is refused, and no noise is drawn.
/// let large = Event::Gaussian { noise_multiplier: 1.0, adjacency };
/// assert!(ledger.charge_event("too much", &large, 1e-7).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// Makes a new file for a data set on which `budget` may be spent in all.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`] if the file exists; [`Error::Arguments`] for an infinite budget or a
    /// Gaussian filter at `delta = 0`; [`Error::File`].
    pub fn create(path: &Path, budget: Budget, filter: Filter) -> Result<Self, Error> {
        Self::create_for(path, budget, filter, None)
    }

    /// [`Self::create`] for the units that the column `unit` tells apart: the budget is each
    /// unit's, and pays for plans with that unit alone.
    ///
    /// # Errors
    ///
    /// As there, and [`Error::Arguments`] if the adjacency is one of units without a column or the
    /// other way round.
    pub fn create_for(
        path: &Path,
        budget: Budget,
        filter: Filter,
        unit: Option<&str>,
    ) -> Result<Self, Error> {
        let unit = unit.map(|unit| unit.trim().to_owned());
        if unit.as_ref().is_some_and(|unit| unit.is_empty() || !is_plain(unit)) {
            return Err(Error::Arguments(
                "`unit` must be the name of a column, one line of plain text",
            ));
        }
        if unit.is_some() != budget.adjacency.protects_units() {
            return Err(Error::Arguments(
                "`adjacency` of units goes with a `unit`: give both, as `--unit patient --adjacency replace-one-unit`, or neither",
            ));
        }
        if budget.epsilon.is_infinite() {
            return Err(Error::Arguments(
                "`epsilon` must be finite for a ledger, got infinity; a budget without end needs no book",
            ));
        }
        if filter == Filter::Gaussian && budget.delta.get() == 0.0 {
            return Err(Error::Arguments(
                "`filter` must be basic where delta is 0, got gaussian; allow a delta, or choose basic",
            ));
        }
        let mut key = [0; 32];
        fill(&mut key)?;
        let first = Entry::Opened {
            ledger: random_name()?,
            budget,
            filter,
            unit,
            software: concat!("reticent ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        store::create(path, &key, &first)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Opens a file and checks that every record is as it was written.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let ledger = Self { path: path.to_owned() };
        ledger.book(&store::read(path)?)?;
        Ok(ledger)
    }

    /// Its random name.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn name(&self) -> Result<String, Error> {
        Ok(self.book(&store::read(&self.path)?)?.ledger)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Pays for one run of `plan` on the table that `declaration` describes, or takes up a reserved
    /// charge for the same plan. Call it before any row is read.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if it does not fit; [`Error::Arguments`] for an infinite budget;
    /// [`Error::Ledger`].
    pub(crate) fn charge(&self, plan: &Plan, declaration: &Declaration) -> Result<Charge, Error> {
        check_readable(plan)?;
        let payment = self.pay(&item_of(plan), Some(declaration), false)?;
        Ok(Charge::new(self.clone(), payment))
    }

    /// [`Self::charge`] for a choice among several plans on the private rows.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn charge_selection(
        &self,
        selection: &Selection,
        declaration: &Declaration,
    ) -> Result<Charge, Error> {
        if !selection.is_whole() {
            return Err(Error::Arguments("`selection` must be as it was planned; plan it again"));
        }
        check_readable(selection)?;
        let item = Item {
            label: record::TUNE.to_owned(),
            budget: selection.budget,
            event: selection.event.clone(),
            plan: digest(&json!(selection)),
            unit: selection.candidates.first().and_then(unit_of),
        };
        Ok(Charge::new(self.clone(), self.pay(&item, Some(declaration), false)?))
    }

    /// Pays for a later run of `plan`, which will take the charge up. Plans that are reserved
    /// before the first run begins compose most tightly.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if it does not fit; [`Error::UnpaidDraft`] if the schema was filled in
    /// from the table and this ledger did not pay for that; [`Error::Arguments`] for an infinite
    /// budget; [`Error::Ledger`].
    pub fn reserve(&self, plan: &Plan, declaration: &Declaration) -> Result<u64, Error> {
        check_readable(plan)?;
        check_draft(declaration, plan.outline().budget.adjacency, Some(self))?;
        Ok(self.pay(&item_of(plan), Some(declaration), true)?.charge)
    }

    /// Pays for something done elsewhere to single rows, with a bound on its loss at `delta`. It
    /// counts as begun at once.
    ///
    /// # Errors
    ///
    /// As [`Self::reserve`], and, with nothing written down, if the accountant cannot analyse the
    /// event, if its numbers are not finite or out of range, if it costs nothing, or if `label` is
    /// not one line of plain text.
    pub fn charge_event(&self, label: &str, event: &Event, delta: f64) -> Result<u64, Error> {
        self.charge_event_for(label, event, delta, None)
    }

    /// [`Self::charge_event`] for something that protects the units that the column `unit` tells
    /// apart. An event does not say which those are, so the caller does; no charge for rows is
    /// turned into one for units ([`Self::create_for`]).
    ///
    /// # Errors
    ///
    /// As there, and if the ledger's budget is that of a unit and the charge names none.
    pub fn charge_event_for(
        &self,
        label: &str,
        event: &Event,
        delta: f64,
        unit: Option<&str>,
    ) -> Result<u64, Error> {
        self.charge_at_once(label, event, delta, unit, None)
    }

    /// [`Self::charge_event`] for an answer that is drawn right after, from the table that
    /// `declaration` describes.
    ///
    /// # Errors
    ///
    /// As there, and if the declared columns are not those of this ledger's data set.
    pub fn charge_answer(
        &self,
        label: &str,
        event: &Event,
        delta: f64,
        declaration: &Declaration,
    ) -> Result<u64, Error> {
        let unit = declaration.unit().map(|unit| unit.column.as_str());
        self.charge_at_once(label, event, delta, unit, Some(declaration))
    }

    fn charge_at_once(
        &self,
        label: &str,
        event: &Event,
        delta: f64,
        unit: Option<&str>,
        declaration: Option<&Declaration>,
    ) -> Result<u64, Error> {
        use reticent_privacy::{Delta, Epsilon, epsilon_upper};
        if !is_plain(label) {
            return Err(Error::Arguments(
                "`label` must be one line of plain text, got one with control characters; leave those out",
            ));
        }
        event.check()?;
        let delta = Delta::new(delta)?;
        let epsilon = match event {
            Event::ApproxDp { epsilon, delta: own, .. } if *own <= delta.get() => *epsilon,
            _ => epsilon_upper(event, delta.get())?,
        };
        if epsilon == 0.0 && delta == Delta::ZERO {
            return Err(Error::Arguments(
                "`epsilon` must be > 0 where `delta` is 0, got 0; what costs nothing need not be charged, so leave it out",
            ));
        }
        let book = self.book(&store::read(&self.path)?)?;
        let unit = unit.map(|unit| unit.trim().to_owned());
        if let (Some(ours), None, None) = (&book.unit, &unit, declaration) {
            return Err(self.refuse(&format!(
                "its budget is that of one `{ours}`, and the charge does not say whom it protects; name the unit (`--unit {ours}`) if it is a guarantee for all rows of one `{ours}`: one for single rows is not taken, since it protects the rows of one `{ours}` less, by a factor that their private number decides"
            )));
        }
        let adjacency = event.adjacency()?.unwrap_or(book.budget.adjacency);
        let budget = Budget {
            // An event that costs nothing but its delta still needs a number.
            epsilon: Epsilon::new(epsilon.max(f64::MIN_POSITIVE))?,
            delta,
            adjacency,
        };
        let item = Item {
            label: label.to_owned(),
            budget,
            event: event.clone(),
            plan: digest(&json!(event)),
            unit,
        };
        self.pay_at_once(&item, declaration)
    }

    /// Takes back charge `number`, which is possible only if no run of it has begun.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn refund(&self, number: u64) -> Result<(), Error> {
        self.update(|book, _| match book.line(number).map(|line| line.state) {
            Some(State::Reserved | State::Charged) => {
                Ok((vec![Entry::Refunded { charge: number }], ()))
            }
            Some(State::Refunded) => Ok((Vec::new(), ())),
            Some(State::Begun | State::Released) => Err(self.refuse(&format!(
                "charge {number} has begun, and noise that may have been drawn stays paid for"
            ))),
            None => Err(self
                .refuse(&format!("it has no charge {number}; `reticent ledger show` lists them"))),
        })
    }

    /// Gives back a charge whose run ended before noise was drawn. One that was reserved, or fixed
    /// before the first noise, waits for the same plan again instead: what was left for later plans
    /// has it counted in. Whether it waits.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`], also if no run holds the charge.
    pub fn give_back(&self, number: u64) -> Result<bool, Error> {
        self.update(|book, _| match book.line(number) {
            Some(line)
                if line.state == State::Charged
                    && (line.was_reserved || book.room.is_some() && line.cost == Cost::Planned) =>
            {
                Ok((vec![Entry::Unclaimed { charge: number }], true))
            }
            Some(line) if line.state == State::Charged => {
                Ok((vec![Entry::Refunded { charge: number }], false))
            }
            _ => Err(self.refuse(&format!("charge {number} is not held by a run"))),
        })
    }

    /// Says that a table with the declared columns is this ledger's data set too.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn accept(&self, declaration: &Declaration) -> Result<(), Error> {
        self.update(|book, contents| {
            let fingerprint = fingerprint(&contents.key, declaration);
            let known = book.fingerprints.contains(&fingerprint);
            Ok((if known { vec![] } else { vec![Entry::Accepted { fingerprint }] }, ()))
        })
    }

    /// The budget spent and the budget left.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn standing(&self) -> Result<Standing, Error> {
        let standing = Standing::of(&self.book(&store::read(&self.path)?)?)?;
        Ok(Standing { kept_models: self.kept_models()?, ..standing })
    }

    /// Every record.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn history(&self) -> Result<Vec<Record>, Error> {
        Ok(store::read(&self.path)?.records)
    }

    /// Everything but the key, for other programs and for auditors.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn export(&self) -> Result<Value, Error> {
        let contents = store::read(&self.path)?;
        let standing = Standing::of(&self.book(&contents)?)?;
        Ok(
            json!({ "format": "reticent-ledger/1", "standing": standing, "records": contents.records }),
        )
    }

    /// A key for the checkpoints of runs that this ledger pays for, derived from its own.
    pub(crate) fn checkpoint_key(&self) -> Result<Vec<u8>, Error> {
        Ok(keyed(&store::read(&self.path)?.key, "key of checkpoints"))
    }

    /// [`Self::pay`] and the beginning, in one transaction: what was done elsewhere can never be
    /// taken back.
    fn pay_at_once(&self, item: &Item, declaration: Option<&Declaration>) -> Result<u64, Error> {
        check_bounded(item)?;
        let known = Costs::default();
        self.account(|book, contents| {
            let how = (declaration, false);
            let (mut entries, number) = self.decide(book, contents, item, how, &known);
            if let Ok(charge) = number {
                entries.extend(charge::close(&book.after(&entries))?);
                entries.push(Entry::Begun { charge });
            }
            Ok((entries, number))
        })?
    }

    /// The decision and the record of it.
    fn pay(
        &self,
        item: &Item,
        declaration: Option<&Declaration>,
        reserve: bool,
    ) -> Result<Payment, Error> {
        check_bounded(item)?;
        let known = Costs::default();
        self.account(|book, contents| {
            let how = (declaration, reserve);
            let (entries, number) = self.decide(book, contents, item, how, &known);
            let ledger = book.ledger.clone();
            Ok((entries, number.map(|charge| Payment { ledger, charge })))
        })?
    }

    /// The entries to record, and the charge's number or the reason for refusal.
    fn decide(
        &self,
        book: &Book,
        contents: &Contents,
        item: &Item,
        (declaration, reserve): (Option<&Declaration>, bool),
        known: &Costs,
    ) -> (Vec<Entry>, Result<u64, Error>) {
        let mut entries = Vec::new();
        if let Some(declaration) = declaration {
            let fingerprint = fingerprint(&contents.key, declaration);
            if book.fingerprints.is_empty() {
                entries.push(Entry::Accepted { fingerprint });
            } else if !book.fingerprints.contains(&fingerprint) {
                let why = "the schema's columns are not those of this ledger's data set; name the right ledger, or say that they belong to it with `reticent ledger accept`";
                let entry = Entry::Refused { item: item.clone(), why: why.to_owned() };
                return (vec![entry], Err(self.refuse(why)));
            }
        }
        let waiting =
            |line: &&book::ChargeLine| line.state == State::Reserved && line.item.plan == item.plan;
        if let Some(line) = book.lines.iter().find(waiting).filter(|_| !reserve) {
            entries.push(Entry::Claimed { charge: line.charge });
            return (entries, Ok(line.charge));
        }
        match book.admit(item, known) {
            Ok(cost) => {
                let charge = book.lines.len() as u64 + 1;
                entries.push(Entry::Charged {
                    charge,
                    item: item.clone(),
                    cost,
                    reserved: reserve,
                });
                (entries, Ok(charge))
            }
            Err(why) => {
                entries.push(Entry::Refused { item: item.clone(), why: why.clone() });
                (entries, Err(Error::OverBudget { why }))
            }
        }
    }

    fn book(&self, contents: &Contents) -> Result<Book, Error> {
        self.book_of(&contents.records)
    }

    fn book_of(&self, records: &[Record]) -> Result<Book, Error> {
        Book::of(records).map_err(|number| {
            self.refuse(&format!("record {number} makes no sense; restore a copy of the file, and charge again what came after that copy"))
        })
    }

    /// Decides while nobody waits, and records the decision if no record was added in the meantime;
    /// else decides again: with the file locked if that is quick, or if it came too late too often.
    fn account<T>(
        &self,
        decide: impl Fn(&Book, &Contents) -> Result<(Vec<Entry>, T), Error>,
    ) -> Result<T, Error> {
        for _ in 0..TRIES {
            let started = Instant::now();
            let contents = store::read(&self.path)?;
            let (entries, result) = decide(&self.book(&contents)?, &contents)?;
            if entries.is_empty() || store::add_after(&self.path, contents.last(), entries)? {
                return Ok(result);
            }
            if started.elapsed() < QUICK {
                break;
            }
        }
        self.update(decide)
    }

    /// Decides with the file locked: for what needs no accountant.
    fn update<T>(
        &self,
        decide: impl FnOnce(&Book, &Contents) -> Result<(Vec<Entry>, T), Error>,
    ) -> Result<T, Error> {
        store::update(&self.path, |contents| decide(&self.book(contents)?, contents))
    }

    pub(crate) fn refuse(&self, why: &str) -> Error {
        Error::Ledger { file: self.path.display().to_string(), why: why.to_owned() }
    }
}

/// Refuses what no ledger can bear, before anything is written: a record must hold numbers that can
/// be read again.
fn check_bounded(item: &Item) -> Result<(), Error> {
    if item.budget.epsilon.is_infinite() {
        return Err(Error::Arguments(
            "`epsilon` must be finite to be charged to a ledger, got infinity; ask for a finite one, or allow a larger `delta`",
        ));
    }
    item.event.check()?;
    Ok(())
}

fn item_of(plan: &Plan) -> Item {
    let outline = plan.outline();
    Item {
        label: plan.algorithm().to_owned(),
        budget: outline.budget,
        event: outline.event.clone(),
        plan: digest(&json!(plan)),
        unit: unit_of(plan),
    }
}

/// The column that tells a plan's units apart.
fn unit_of(plan: &Plan) -> Option<String> {
    plan.outline().problem.unit.as_ref().map(|unit| unit.column.clone())
}

fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    let none = |e: getrandom::Error| NoiseError::NoRandomness { reason: e.to_string() };
    Ok(getrandom::fill(bytes).map_err(none)?)
}

/// A random name of 32 digits.
pub(crate) fn random_name() -> Result<String, Error> {
    let mut name = [0; 16];
    fill(&mut name)?;
    Ok(record::hex(&name))
}

/// Of the declared name and the names of the columns that models publish, in any order: a schema
/// and the declaration in a model fitted with it are of one data set.
fn fingerprint(key: &[u8], declaration: &Declaration) -> String {
    let declaration = declaration.published();
    let mut names: Vec<&str> = declaration.columns().iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    let text = json!({ "name": declaration.name(), "columns": names }).to_string();
    record::hex(&keyed(key, &text))
}

/// A text under a key, of any length.
fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key).map_or_else(
        |_| Vec::new(),
        |mut mac| {
            mac.update(text.as_bytes());
            mac.finalize().into_bytes().to_vec()
        },
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use std::cell::Cell;

    use reticent_privacy::{Adjacency, Delta, Epsilon};

    use super::*;

    fn ledger(folder: &tempfile::TempDir) -> Ledger {
        let budget = Budget {
            epsilon: Epsilon::new(9.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
        };
        Ledger::create(&folder.path().join("c.ledger"), budget, Filter::Auto).unwrap()
    }

    /// A decision that others overtake `times` times, and how often it was taken.
    fn overtaken(ledger: &Ledger, times: usize) -> usize {
        let (calls, other) = (Cell::new(0), ledger.clone());
        let event = Event::PureDp { epsilon: 0.01, adjacency: Adjacency::ReplaceOne };
        ledger
            .account(|_, _| {
                calls.set(calls.get() + 1);
                // While this one works nobody waits: with the file locked this would never return.
                if calls.get() <= times {
                    std::thread::sleep(QUICK);
                    other.charge_event("quick", &event, 0.0)?;
                }
                Ok((vec![Entry::Accepted { fingerprint: "slow".to_owned() }], ()))
            })
            .unwrap();
        calls.get()
    }

    #[test]
    fn nobody_waits_while_another_accounts_and_a_late_decision_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        assert_eq!(overtaken(&ledger, 0), 1);
        assert_eq!(overtaken(&ledger, 1), 2);
        // Anyone who is late too often comes to an end, too.
        assert_eq!(overtaken(&ledger, TRIES), TRIES + 1);
        let standing = ledger.standing().unwrap();
        assert_eq!(standing.charges.len(), 1 + TRIES);
        let slow = |record: &Record| matches!(&record.entry, Entry::Accepted { .. });
        assert_eq!(ledger.history().unwrap().iter().filter(|r| slow(r)).count(), 3);
        ledger.check().unwrap();
    }

    #[test]
    fn the_key_of_checkpoints_is_not_the_ledgers() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        let key = ledger.checkpoint_key().unwrap();
        assert_eq!(key, ledger.checkpoint_key().unwrap());
        assert_ne!(key, store::read(ledger.path()).unwrap().key);
    }
}
