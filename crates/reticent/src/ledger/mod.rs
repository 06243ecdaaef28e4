//! The ledger: a data set's budget across releases, in one SQLite file.
//!
//! The owner says once what the people in a data set may lose in all. Every plan is charged in a transaction before a row is
//! read and before noise is drawn; what does not fit is refused, and both are written down for good.
//!
//! # What is counted, and why it holds
//!
//! Charges made before the first run begins are fixed without having seen anything: they compose by the product of
//! their dominating pairs, the tightest way there is. From then on a plan may have been chosen after looking at
//! earlier models, and products of pairs bound nothing. So, when the first run is about to draw noise, the ledger fixes
//! how much is left and in which units, Gaussian ones or epsilons ([`Filter`]), and later plans draw on that
//! ([`reticent_privacy::filter`]). So the budget holds also for whoever chooses plans adaptively.
//!
//! # The life of a charge
//!
//! [`Ledger::charge`] pays; [`Charge::begin`] is written down before noise is drawn; [`Begun::released`] records the
//! digest of the one model that the charge pays for, before that model is saved. [`Charge::refund_unused`] takes a charge
//! back, which is possible only before it begins. A process that dies leaves its charge where it was.
//!
//! # What identifies the data set
//!
//! A keyed fingerprint of the names of the declared columns. It is not of the rows: whoever holds the ledger holds its key,
//! and could test guesses about a row against any fingerprint that depends on one.

mod book;
mod charge;
mod compare;
mod record;
mod standing;
mod store;

use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use reticent_optim::{Plan, Selection};
use reticent_privacy::{Budget, Event};
use reticent_problem::declaration::Declaration;
use reticent_problem::text::is_plain;
use serde_json::{Value, json};
use sha2::Sha256;

pub use book::{Line, State};
pub use charge::{Begun, Charge, Payment};
pub use record::{Cost, Entry, Filter, Item, Record, Room};
pub use standing::Standing;

use crate::Error;
use crate::model::{check_readable, digest};
use book::Book;
use store::Contents;

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
/// // What does not fit is refused, and nothing is drawn.
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
    /// [`Error::Ledger`] if the file exists; [`Error::Arguments`] for an infinite budget or a Gaussian filter at
    /// `delta = 0`; [`Error::File`].
    pub fn create(path: &Path, budget: Budget, filter: Filter) -> Result<Self, Error> {
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
        let (mut key, mut name) = ([0; 32], [0; 16]);
        for bytes in [&mut key[..], &mut name[..]] {
            getrandom::fill(bytes).map_err(|e| Error::File {
                verb: "write",
                file: path.display().to_string(),
                why: format!("no randomness for its key ({e})"),
            })?;
        }
        let first = Entry::Opened {
            ledger: record::hex(&name),
            budget,
            filter,
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Pays for one run of `plan` on the table that `declaration` describes, or takes up a reserved charge for the same
    /// plan. Call it before any row is read.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if it does not fit; [`Error::Arguments`] for an infinite budget; [`Error::Ledger`].
    pub fn charge(&self, plan: &Plan, declaration: &Declaration) -> Result<Charge, Error> {
        check_readable(plan)?;
        let number = self.pay(&item_of(plan), Some(declaration), false)?;
        Ok(Charge::new(self.clone(), number))
    }

    /// [`Self::charge`] for a choice among several plans on the private rows.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn charge_selection(
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
        };
        Ok(Charge::new(self.clone(), self.pay(&item, Some(declaration), false)?))
    }

    /// Pays for a later run of `plan`, whose [`Self::charge`] will take it up. Plans that are reserved before the first run
    /// begins compose most tightly.
    ///
    /// # Errors
    ///
    /// As [`Self::charge`].
    pub fn reserve(&self, plan: &Plan, declaration: &Declaration) -> Result<u64, Error> {
        check_readable(plan)?;
        self.pay(&item_of(plan), Some(declaration), true)
    }

    /// Pays for something done elsewhere, with a bound on its loss at `delta`. It counts as begun at once.
    ///
    /// # Errors
    ///
    /// As [`Self::charge`], and, with nothing written down, if the accountant cannot analyse the event, if its numbers are
    /// not finite or out of range, if it costs nothing, or if `label` is not one line of plain text.
    pub fn charge_event(&self, label: &str, event: &Event, delta: f64) -> Result<u64, Error> {
        self.charge_at_once(label, event, delta, None)
    }

    /// [`Self::charge_event`] for an answer that is drawn right after, from the table that `declaration` describes.
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
        self.charge_at_once(label, event, delta, Some(declaration))
    }

    fn charge_at_once(
        &self,
        label: &str,
        event: &Event,
        delta: f64,
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
        let adjacency = match event.adjacency()? {
            Some(adjacency) => adjacency,
            None => self.book(&store::read(&self.path)?)?.budget.adjacency,
        };
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
        };
        self.pay_at_once(&item, declaration)
    }

    /// Goes on with a charge whose run was interrupted, from where run number `runs` was kept. Each such place pays once:
    /// from a copy of it nothing more is drawn. `finished` says that no noise is left to be drawn.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`] if it is not this ledger's, not this plan's, has not begun, has ended, or was gone on from before.
    pub fn resume(
        &self,
        payment: &Payment,
        plan: &Plan,
        runs: u64,
        finished: bool,
    ) -> Result<Begun, Error> {
        self.update(|book, _| {
            let line = book.line(payment.charge).filter(|line| {
                book.ledger == payment.ledger && line.item.plan == item_of(plan).plan
            });
            match line {
                Some(line) if finished && matches!(line.state, State::Begun | State::Released) => {
                    Ok((Vec::new(), ()))
                }
                Some(line) if line.state == State::Begun && runs > line.resumed => {
                    Ok((vec![Entry::Resumed { charge: payment.charge, runs }], ()))
                }
                Some(Line { state: State::Begun | State::Released, .. }) => Err(self.refuse(
                    "a run went on from this checkpoint before, and its noise is drawn; go on from the latest, or pay for a new run",
                )),
                _ => Err(self.refuse("the checkpoint was charged elsewhere; name the ledger and the settings of the run that wrote it")),
            }
        })?;
        Ok(Begun::new(self.clone(), payment.clone()))
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

    /// What has been spent and what is left.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn standing(&self) -> Result<Standing, Error> {
        Standing::of(&self.book(&store::read(&self.path)?)?)
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

    /// [`Self::pay`] and the beginning, in one transaction: what was done elsewhere can never be taken back.
    fn pay_at_once(&self, item: &Item, declaration: Option<&Declaration>) -> Result<u64, Error> {
        check_bounded(item)?;
        self.update(|book, contents| {
            let (mut entries, number) = self.decide(book, contents, item, declaration, false);
            if let Ok(charge) = number {
                entries.extend(charge::close(&book.after(&entries))?);
                entries.push(Entry::Begun { charge });
            }
            Ok((entries, number))
        })?
    }

    /// The decision and the record of it, in one transaction.
    fn pay(
        &self,
        item: &Item,
        declaration: Option<&Declaration>,
        reserve: bool,
    ) -> Result<u64, Error> {
        check_bounded(item)?;
        self.update(|book, contents| Ok(self.decide(book, contents, item, declaration, reserve)))?
    }

    /// What is to be recorded, and the charge's number or why there is none.
    fn decide(
        &self,
        book: &Book,
        contents: &Contents,
        item: &Item,
        declaration: Option<&Declaration>,
        reserve: bool,
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
            |line: &&book::Line| line.state == State::Reserved && line.item.plan == item.plan;
        if let Some(line) = book.lines.iter().find(waiting).filter(|_| !reserve) {
            entries.push(Entry::Claimed { charge: line.charge });
            return (entries, Ok(line.charge));
        }
        match book.admit(item) {
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
        Book::of(&contents.records).map_err(|number| {
            self.refuse(&format!("record {number} makes no sense; go back to a copy of the file, and charge again what came after it"))
        })
    }

    fn update<T>(
        &self,
        decide: impl FnOnce(&Book, &Contents) -> Result<(Vec<Entry>, T), Error>,
    ) -> Result<T, Error> {
        store::update(&self.path, |contents| decide(&self.book(contents)?, contents))
    }

    fn refuse(&self, why: &str) -> Error {
        Error::Ledger { file: self.path.display().to_string(), why: why.to_owned() }
    }
}

/// Refuses what no ledger can bear, before anything is written: a record must hold numbers that can be read again.
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
    }
}

/// Of the declared name and the column names, in any order.
fn fingerprint(key: &[u8], declaration: &Declaration) -> String {
    let mut names: Vec<&str> = declaration.columns().iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    let text = json!({ "name": declaration.name(), "columns": names }).to_string();
    // A key of any length will do.
    Hmac::<Sha256>::new_from_slice(key).map_or_else(
        |_| String::new(),
        |mut mac| {
            mac.update(text.as_bytes());
            record::hex(&mac.finalize().into_bytes())
        },
    )
}
