//! Checked scalars: a budget that exists is a budget that makes sense.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Adjacency, PrivacyError, error::check};

/// A privacy loss `ε > 0`. Infinity is allowed and means that nothing is promised.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// No promise at all.
    pub const INFINITE: Self = Self(f64::INFINITY);

    /// A checked `ε`.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] unless `x > 0`.
    pub fn new(x: f64) -> Result<Self, PrivacyError> {
        check(x > 0.0, "epsilon", "be > 0", x)?;
        Ok(Self(x))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether nothing is promised.
    pub fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_infinite() { f.write_str("infinity") } else { self.0.fmt(f) }
    }
}

impl Serialize for Epsilon {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_infinite() {
            serializer.serialize_str("infinity")
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Epsilon {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Epsilon;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number > 0 or the word \"infinity\"")
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Epsilon, E> {
                Epsilon::new(x).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Epsilon, E> {
                self.visit_f64(x as f64)
            }

            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Epsilon, E> {
                self.visit_f64(x as f64)
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Epsilon, E> {
                match word {
                    "infinity" | "inf" => Ok(Epsilon::INFINITE),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The probability `0 <= δ < 1` with which the bound `ε` may fail. Zero means pure differential
/// privacy.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Delta(f64);

impl Delta {
    /// Pure differential privacy.
    pub const ZERO: Self = Self(0.0);

    /// A checked `δ`.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] unless `0 <= x < 1`.
    pub fn new(x: f64) -> Result<Self, PrivacyError> {
        check_delta(x)?;
        Ok(Self(x))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Refuse a `δ` outside `[0, 1)`.
pub(crate) fn check_delta(x: f64) -> Result<(), PrivacyError> {
    let expected = "satisfy 0 <= delta < 1 (delta = 0 means pure DP)";
    check((0.0..1.0).contains(&x), "delta", expected, x)
}

/// Refuse an `ε` that is negative or not a number.
pub(crate) fn check_epsilon(x: f64) -> Result<(), PrivacyError> {
    check(x >= 0.0, "epsilon", "be >= 0", x)
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A privacy budget and its adjacency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The largest privacy loss.
    pub epsilon: Epsilon,
    /// The probability with which it may be exceeded.
    pub delta: Delta,
    /// Which two data sets must be hard to tell apart.
    pub adjacency: Adjacency,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for bad in [0.0, -1.0, f64::NAN] {
            let message = Epsilon::new(bad).unwrap_err().to_string();
            assert!(message.starts_with("`epsilon` must be > 0, got "), "{message}");
        }
        for bad in [1.0, -1e-9, f64::NAN, f64::INFINITY] {
            let message = Delta::new(bad).unwrap_err().to_string();
            let want = "`delta` must satisfy 0 <= delta < 1 (delta = 0 means pure DP), got ";
            assert!(message.starts_with(want), "{message}");
        }
        assert!(Epsilon::new(f64::INFINITY).unwrap().is_infinite());
    }

    #[test]
    fn a_file_is_checked_as_it_is_read() {
        assert_eq!(serde_json::to_string(&Epsilon::INFINITE).unwrap(), "\"infinity\"");
        let epsilon: Epsilon = serde_json::from_str("\"infinity\"").unwrap();
        assert!(epsilon.is_infinite());
        assert_eq!(serde_json::from_str::<Epsilon>("2").unwrap().get(), 2.0);
        assert!(serde_json::from_str::<Epsilon>("-1").is_err());
        assert!(serde_json::from_str::<Delta>("1.0").is_err());
        let text = r#"{"epsilon":1.5,"delta":1e-6,"adjacency":"replace-one"}"#;
        let budget: Budget = serde_json::from_str(text).unwrap();
        assert_eq!(
            serde_json::from_str::<Budget>(&serde_json::to_string(&budget).unwrap()).unwrap(),
            budget
        );
    }
}
