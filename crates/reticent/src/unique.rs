//! JSON in which no object has a key twice.
//!
//! A parser keeps the last value of a key that occurs twice, a reader sees the first, and a digest
//! of what the parser kept is silent about it. So a file that is to be believed is refused if it
//! says two things under one name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The value in `text`.
///
/// # Errors
///
/// If it is no JSON, or if an object anywhere in it has a key twice.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Unique(value)| value)
}

/// A value whose objects have each key once.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, x: bool) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_str<E: Error>(self, x: &str) -> Result<Value, E> {
        Ok(Value::from(x))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("an object has the key {key:?} twice")));
            }
            let Unique(value) = members.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_once_is_read_as_ever() {
        let text = r#"{"a": [1, -2, 0.1, 1e300, -0.0, 18446744073709551615], "b": {"a": null, "c": [true, {}]}, "": "\u00e9\n"}"#;
        let plain: Result<Value, _> = serde_json::from_str(text);
        assert_eq!(parse(text).ok(), plain.ok());
        assert!(parse(text).is_ok_and(|value| value["b"]["a"].is_null()));
        for broken in ["", "{", "[1,]", "{} {}", "1e999", &"[".repeat(1000)] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_is_said_twice_is_refused_wherever_it_stands() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"b": [0, {"c": {"a": 1, "d": 2, "a": 3}}]}"#,
        ] {
            let message = parse(text).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains("the key \"a\" twice"), "{text}: {message}");
        }
    }
}
