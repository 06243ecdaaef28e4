//! Why the accountant refuses, in sentences that name the word the caller used.

use crate::Adjacency;

/// Why a privacy question has no answer. Nothing here depends on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A number lies outside the range for which the theorem is proven.
    #[error("`{name}` must {expected}, got {got}")]
    OutOfRange {
        /// The word the caller used.
        name: &'static str,
        /// The requirement, as the end of "must ...".
        expected: &'static str,
        /// The value given.
        got: f64,
    },

    /// An unknown adjacency.
    #[error(
        "`adjacency` must be replace-one, add-remove-one or zero-out, or one of these followed by -unit, got `{got}`"
    )]
    UnknownAdjacency {
        /// The word given.
        got: String,
    },

    /// An event tree mixes adjacencies, so that no single statement covers it.
    #[error("an event has one adjacency, got both {first} and {second}; restate the parts for one")]
    MixedAdjacency {
        /// The first one met.
        first: Adjacency,
        /// The one that differs.
        second: Adjacency,
    },

    /// No theorem here covers this event under this adjacency.
    #[error("{event} cannot be analysed under {adjacency} adjacency: {reason}")]
    Adjacency {
        /// The event's name.
        event: &'static str,
        /// The adjacency asked for.
        adjacency: Adjacency,
        /// Why not, and what to do instead.
        reason: &'static str,
    },

    /// The accountant asked for does not know this event.
    #[error("the {accountant} accountant cannot analyse {event}: {reason}")]
    Unsupported {
        /// The accountant.
        accountant: &'static str,
        /// The event's name.
        event: &'static str,
        /// Why not, and what to do instead.
        reason: &'static str,
    },

    /// No setting within reach meets the budget.
    #[error("no `{name}` meets the budget: {reason}")]
    Unreachable {
        /// The name of the parameter searched for.
        name: &'static str,
        /// Why no value meets the budget.
        reason: String,
    },
}

/// `Ok` if `ok`, otherwise [`PrivacyError::OutOfRange`].
pub(crate) fn check(
    ok: bool,
    name: &'static str,
    expected: &'static str,
    got: f64,
) -> Result<(), PrivacyError> {
    if ok { Ok(()) } else { Err(PrivacyError::OutOfRange { name, expected, got }) }
}

/// A finite number above zero.
pub(crate) fn positive(name: &'static str, x: f64) -> Result<(), PrivacyError> {
    check(x > 0.0 && x.is_finite(), name, "be a finite positive number", x)
}

/// A finite number of at least zero.
pub(crate) fn non_negative(name: &'static str, x: f64) -> Result<(), PrivacyError> {
    check(x >= 0.0 && x.is_finite(), name, "be a finite number >= 0", x)
}

/// A probability between 0 and 1, both included.
pub(crate) fn probability(name: &'static str, x: f64) -> Result<(), PrivacyError> {
    check((0.0..=1.0).contains(&x), name, "satisfy 0 <= value <= 1", x)
}
