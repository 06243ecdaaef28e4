//! The records of a ledger: append-only, each bound to the one before by a hash.

use reticent_privacy::{Budget, Event};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How later plans are counted: those that may have been chosen after looking at earlier releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// Whichever has room for more plans like the first; decided before the first noise is drawn.
    Auto,
    /// In Gaussian units, whose squares add: many small releases cost much less than the sum of
    /// their epsilons. Best for Gaussian noise and sampled steps; needs `delta > 0`.
    Gaussian,
    /// Epsilons add. Best for pure noise and objective perturbation.
    Basic,
}

impl Filter {
    /// The name in flags, files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Gaussian => "gaussian",
            Self::Basic => "basic",
        }
    }
}

/// The total that later plans may spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "filter", rename_all = "kebab-case")]
pub enum Room {
    /// In Gaussian units.
    Gaussian {
        /// Squares of parameters add up to this one's.
        mu: f64,
        /// Probabilities of leaking add up to this.
        leak: f64,
    },
    /// In epsilons.
    Basic {
        /// Epsilons add up to this.
        epsilon: f64,
        /// Probabilities of leaking add up to this.
        leak: f64,
    },
}

/// The label of a choice among several plans.
pub(super) const TUNE: &str = "tune";

/// An item to be charged. All of it is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The algorithm, or the owner's word for something done elsewhere.
    pub label: String,
    /// The budget that it keeps on its own.
    pub budget: Budget,
    /// The event on the data.
    pub event: Event,
    /// The digest of the plan; of the event for something done elsewhere.
    pub plan: String,
    /// The column that tells its records apart; none where each row is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// The cost of an item to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "kebab-case")]
pub enum Cost {
    /// Fixed before anything was released: it composes with the others by the product of their
    /// pairs.
    Planned,
    /// Chosen later, in Gaussian units.
    Gaussian {
        /// The parameter; squares add.
        mu: f64,
        /// The probability of leaking; these add.
        leak: f64,
    },
    /// Chosen later, in epsilons.
    Basic {
        /// These add.
        epsilon: f64,
        /// The probability of leaking; these add.
        leak: f64,
    },
}

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Entry {
    /// The first: whose budget this is.
    Opened {
        /// A random name.
        ledger: String,
        /// The total budget that the owner allows.
        budget: Budget,
        /// How later plans are counted.
        filter: Filter,
        /// The column that tells the protected units apart; none where each row is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The program and its version.
        software: String,
    },
    /// The owner says that a table of this structure is the data set of this ledger.
    Accepted {
        /// Keyed, and of the declared column names alone.
        fingerprint: String,
    },
    /// An item was paid for.
    Charged {
        /// Its number.
        charge: u64,
        /// What.
        item: Item,
        /// Its privacy cost.
        cost: Cost,
        /// Whether it waits for a later run of the same plan.
        reserved: bool,
    },
    /// A run took up a reserved charge.
    Claimed {
        /// Which.
        charge: u64,
    },
    /// The run that held a charge ended before noise was drawn: the charge waits for the same plan
    /// again. A charge that was fixed before the first noise is counted in what was left then, so
    /// taking it back would give nothing.
    Unclaimed {
        /// Which.
        charge: u64,
    },
    /// From here on more charges may depend on what was seen: what is left for them is fixed.
    Closed {
        /// That much.
        room: Room,
    },
    /// From here on noise may have been drawn.
    Begun {
        /// For which charge.
        charge: u64,
    },
    /// A run went on from where an earlier one was kept.
    Resumed {
        /// Paid by.
        charge: u64,
        /// How many runs there had been.
        runs: u64,
        /// The steps that were kept of them.
        step: u64,
        /// The random name of the run that goes on: the only one that may release the model.
        run: String,
    },
    /// A model was handed over.
    Released {
        /// Paid by.
        charge: u64,
        /// Its digest.
        model: String,
    },
    /// A charge was taken back: no noise was drawn for it.
    Refunded {
        /// Which.
        charge: u64,
    },
    /// An item did not fit.
    Refused {
        /// What.
        item: Item,
        /// Why.
        why: String,
    },
}

/// An entry with its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 1.
    pub number: u64,
    /// When, in coordinated universal time.
    pub time: String,
    /// What.
    #[serde(flatten)]
    pub entry: Entry,
    /// Of this record and the hash before.
    pub hash: String,
}

/// The hash of a record after one with the hash `before`.
pub(super) fn link(before: &str, number: u64, time: &str, body: &str) -> String {
    let bytes = Sha256::digest(format!("{before}\n{number}\n{time}\n{body}").as_bytes());
    hex(&bytes)
}

/// Bytes as lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}
