//! Why a sampler could not be built. Raised from public numbers only, before any value is seen.

/// A setting lies outside what a sampler can honour, or the machine gives no randomness.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoiseError {
    /// The operating system did not hand out random bytes, so nothing private can be released.
    #[error("the operating system gave no randomness ({reason}); nothing was released")]
    NoRandomness {
        /// The operating system's message.
        reason: String,
    },

    /// A public setting lies outside the range the guarantee is stated for.
    #[error("`{name}` must be {expected}, got {got}")]
    OutOfRange {
        /// The setting's name, as the caller wrote it.
        name: &'static str,
        /// The valid values.
        expected: &'static str,
        /// The value given.
        got: f64,
    },
}

impl NoiseError {
    /// Shorthand for [`NoiseError::OutOfRange`].
    pub(crate) fn out_of_range(name: &'static str, expected: &'static str, got: f64) -> Self {
        Self::OutOfRange { name, expected, got }
    }
}

/// `value`, provided that it is finite and above zero.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, NoiseError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(NoiseError::out_of_range(name, "finite and above 0", value))
    }
}
