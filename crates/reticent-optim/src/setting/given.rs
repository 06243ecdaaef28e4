//! The settings that a user gave, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Declared, Kind, Setting, Words, find, one_of};
use crate::{AlgorithmInfo, PlanError};

/// The value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A word.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Whole(whole) => write!(f, "{whole}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Flag(on)
    }
}

impl From<u64> for Value {
    fn from(whole: u64) -> Self {
        Self::Whole(whole)
    }
}

impl From<&'static str> for Value {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// The settings that were fixed; an algorithm chooses the others without looking at data.
///
/// An algorithm takes the settings that it has and refuses the others ([`Settings::check`]), so
/// none is dropped silently. In JSON an object: names that no algorithm has are refused, `null` is
/// as if not given, and so is a flag or a word that is the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    given: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// The same with one setting fixed.
    #[must_use]
    pub fn with(mut self, setting: &Setting, value: impl Into<Value>) -> Self {
        self.give(setting, value);
        self
    }

    /// The same with one setting fixed, unless it was or there is no value.
    #[must_use]
    pub fn or(mut self, setting: &Setting, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value.filter(|_| !self.has(setting)) {
            self.give(setting, value);
        }
        self
    }

    /// The same with one setting as another has it, given or not.
    #[must_use]
    pub fn as_in(mut self, setting: &Setting, other: &Self) -> Self {
        match other.given.get(setting.name) {
            Some(value) => self.given.insert(setting.name, *value),
            None => self.given.remove(setting.name),
        };
        self
    }

    /// Fixes a setting. A flag or a word that is the default is as if not given, so that equal
    /// settings are one value.
    pub fn give(&mut self, setting: &Setting, value: impl Into<Value>) {
        let value = value.into();
        if setting.is_default(value) {
            self.given.remove(setting.name);
        } else {
            self.given.insert(setting.name, value);
        }
    }

    /// Whether a setting was given.
    pub fn has(&self, setting: &Setting) -> bool {
        self.given.contains_key(setting.name)
    }

    /// The value of a flag, if given.
    pub fn flag(&self, setting: &Setting) -> Option<bool> {
        match self.given.get(setting.name) {
            Some(Value::Flag(on)) => Some(*on),
            _ => None,
        }
    }

    /// The value of a whole number, if given.
    pub fn whole(&self, setting: &Setting) -> Option<u64> {
        match self.given.get(setting.name) {
            Some(Value::Whole(whole)) => Some(*whole),
            _ => None,
        }
    }

    /// The value of a number, if given.
    pub fn number(&self, setting: &Setting) -> Option<f64> {
        match self.given.get(setting.name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The value of a word, if given.
    pub fn choice<T: Words>(&self, setting: &Setting) -> Option<T> {
        match self.given.get(setting.name) {
            Some(Value::Word(word)) => T::of_name(word),
            _ => None,
        }
    }

    /// Refuses a setting that the algorithm does not have, and a value that its declaration
    /// excludes.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotASetting`], [`PlanError::OutOfRange`], [`PlanError::BadChoice`].
    pub fn check(&self, algorithm: &AlgorithmInfo) -> Result<Checked<'_>, PlanError> {
        for (name, value) in &self.given {
            let own = algorithm.settings.iter().find(|setting| setting.name == *name);
            let setting = own.ok_or(PlanError::NotASetting { algorithm: algorithm.name, name })?;
            setting.check(*value)?;
        }
        Ok(Checked(self))
    }
}

impl Setting {
    /// Refuses a value of another kind or outside the range.
    fn check(&self, value: Value) -> Result<(), PlanError> {
        let (inside, got) = match (self.kind, value) {
            (Kind::Flag, Value::Flag(_)) => return Ok(()),
            (Kind::Whole { least, most }, Value::Whole(x)) => {
                ((least..=most).contains(&x), x as f64)
            }
            (Kind::Number(range), Value::Number(x)) => (range.contains(x), x),
            (Kind::Choice(words), Value::Word(given))
                if words.iter().any(|(word, _)| *word == given) =>
            {
                return Ok(());
            }
            _ => {
                let (expected, got) = (self.values(), value.to_string());
                return Err(PlanError::BadChoice { name: self.name, expected, got });
            }
        };
        if inside {
            return Ok(());
        }
        Err(PlanError::OutOfRange { name: self.name, expected: self.range(), got })
    }
}

/// Settings that an algorithm has, each within its declared range.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a>(&'a Settings);

#[cfg(test)]
impl Settings {
    /// The same with one setting fixed, though it be the default.
    pub(super) fn exactly(mut self, setting: &Setting, value: Value) -> Self {
        self.given.insert(setting.name, value);
        self
    }
}

#[cfg(test)]
impl<'a> Checked<'a> {
    /// The settings without a check, to test that the plan itself refuses invalid ones.
    pub(super) fn unchecked(settings: &'a Settings) -> Self {
        Self(settings)
    }
}

impl Deref for Checked<'_> {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        self.0
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.given)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(on) => serializer.serialize_bool(*on),
            Self::Whole(whole) => serializer.serialize_u64(*whole),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut settings = Settings::default();
        while let Some(name) = map.next_key::<String>()? {
            let Some(declared) = find(&name) else {
                return Err(A::Error::custom(format!(
                    "`{name}` is not a setting of any algorithm; see `reticent algorithms NAME`"
                )));
            };
            if settings.has(&declared.setting) {
                return Err(A::Error::custom(format!(
                    "`{}` is given twice; leave one out",
                    declared.setting.name
                )));
            }
            if let Some(value) = map.next_value_seed(Typed(declared))? {
                settings.give(&declared.setting, value);
            }
        }
        Ok(settings)
    }
}

/// Reads a value as its declaration says, so that a reader need not guess its type.
struct Typed(&'static Declared);

impl<'de> DeserializeSeed<'de> for Typed {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Option<Value>, D::Error> {
        let Setting { name, kind, .. } = self.0.setting;
        let refuse = |expected: &str| D::Error::custom(format!("`{name}` must be {expected}"));
        Ok(match kind {
            Kind::Flag => {
                let on = Option::deserialize(value).map_err(|_| refuse("true or false"))?;
                on.map(Value::Flag)
            }
            Kind::Whole { .. } => {
                let whole =
                    Option::deserialize(value).map_err(|_| refuse("a whole number >= 0"))?;
                whole.map(Value::Whole)
            }
            Kind::Number(_) => {
                let number = Option::deserialize(value).map_err(|_| refuse("a number"))?;
                number.map(Value::Number)
            }
            Kind::Choice(_) => {
                let expected = one_of(&self.0.words);
                let given: Option<String> =
                    Option::deserialize(value).map_err(|_| refuse(&expected))?;
                let known = |given: String| {
                    let mut words = self.0.words.iter();
                    let word = words.find(|(word, _)| *word == given);
                    word.map(|(word, _)| Value::Word(word))
                        .ok_or_else(|| refuse(&format!("{expected}, got {given}")))
                };
                given.map(known).transpose()?
            }
        })
    }
}
