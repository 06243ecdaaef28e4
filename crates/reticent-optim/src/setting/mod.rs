//! Settings, declared once as data: the command's flags, Python, `tune`, the refusals and the docs
//! are made from these declarations.
//!
//! A setting is one constant. Each algorithm lists those that it has ([`AlgorithmInfo::settings`])
//! and reads them by that constant ([`Settings::number`] and its siblings). A setting that several
//! algorithms share is a constant of this module; an algorithm narrows its range or states its own
//! default where it lists it (`within`, `by_default`).

mod given;
mod range;
mod shared;

use std::sync::LazyLock;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

pub use given::{Checked, Settings, Value};
pub use range::{End, Range};
pub(crate) use shared::{ANY_PLACE, CHOSEN, CLIP_LENGTHS, NO_RIDGE, OWN_RIDGE, STEP_NOISE, up_to};
pub use shared::{
    BATCH, CALIBRATION, CLIP, DEVIATION, DISTANCE, NOISE, P, RIDGE, SMOOTHNESS, STEP_CAP,
    STEP_SIZE, STEPS,
};

use crate::{ALGORITHMS, AlgorithmInfo};

/// A word that a setting may be, and its meaning.
pub type ChoiceWord = (&'static str, &'static str);

/// The values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Flag,
    /// A whole number, both ends included.
    Whole {
        /// The least.
        least: u64,
        /// The most; [`u64::MAX`] for no end.
        most: u64,
    },
    /// A number.
    Number(Range),
    /// One of these words.
    Choice(&'static [ChoiceWord]),
}

impl Kind {
    /// Its name in JSON: `flag`, `whole`, `number` or `choice`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Whole { .. } => "whole",
            Self::Number(_) => "number",
            Self::Choice(_) => "choice",
        }
    }
}

/// Something that a user may fix of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name in Rust and Python; the flag has dashes for underscores.
    pub name: &'static str,
    /// A name that it had before.
    pub alias: Option<&'static str>,
    /// The values that it takes.
    pub kind: Kind,
    /// A bound that depends on the problem or on another setting, in words. The plan checks it.
    pub limit: Option<&'static str>,
    /// The value if it is not given: the value itself where it is fixed, otherwise in words.
    pub default: &'static str,
    /// Its meaning, in one sentence without a full stop.
    pub help: &'static str,
    /// Whether the short help shows it.
    pub common: bool,
}

impl Setting {
    const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self { name, alias: None, kind, limit: None, default, help, common: false }
    }

    /// A setting that is on or off, off if not given.
    pub(crate) const fn flag(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Kind::Flag, "off", help)
    }

    /// A whole number of at least `least`, chosen without the data if not given.
    pub(crate) const fn whole(name: &'static str, least: u64, help: &'static str) -> Self {
        Self::new(name, Kind::Whole { least, most: u64::MAX }, CHOSEN, help)
    }

    /// A number in a range, chosen without the data if not given.
    pub(crate) const fn number(name: &'static str, range: Range, help: &'static str) -> Self {
        Self::new(name, Kind::Number(range), CHOSEN, help)
    }

    /// One of some words.
    pub(crate) const fn choice(
        name: &'static str,
        words: &'static [ChoiceWord],
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self::new(name, Kind::Choice(words), default, help)
    }

    /// The same with another name that is understood too.
    pub(crate) const fn or_named(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// The same, shown in the short help.
    pub(crate) const fn common(self) -> Self {
        Self { common: true, ..self }
    }

    /// The same with a default of an algorithm's own.
    pub(crate) const fn by_default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The same with a range, a largest number or words of an algorithm's own.
    pub(crate) const fn within(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// The same with a bound that the plan checks, in words.
    pub(crate) const fn limited(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The flag of the command, without its dashes.
    pub fn flag_name(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The values that it takes, in words, with the bounds that a plan has besides.
    pub fn values(&self) -> String {
        let own = self.range();
        self.limit.map_or(own.clone(), |limit| format!("{own}, {limit}"))
    }

    /// The values that it takes in every plan, in words.
    fn range(&self) -> String {
        match self.kind {
            Kind::Flag => "on or off".to_owned(),
            Kind::Whole { least, most: u64::MAX } => format!("a whole number >= {least}"),
            Kind::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Number(range) => range.to_string(),
            Kind::Choice(words) => one_of(words),
        }
    }

    /// Whether this value is the same as none: a fixed flag or word that is the default.
    fn is_default(&self, value: Value) -> bool {
        match value {
            Value::Flag(on) => !on && self.default == "off",
            Value::Word(word) => word == self.default,
            Value::Whole(_) | Value::Number(_) => false,
        }
    }
}

/// `a, b or c`.
fn one_of(words: &[ChoiceWord]) -> String {
    match words {
        [] => String::new(),
        [(only, _)] => (*only).to_owned(),
        [first @ .., (last, _)] => {
            let first: Vec<_> = first.iter().map(|(word, _)| *word).collect();
            format!("{} or {last}", first.join(", "))
        }
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Setting", 7)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("kind", self.kind.name())?;
        let words = match self.kind {
            Kind::Choice(words) => words.iter().map(|(word, _)| *word).collect(),
            _ => Vec::new(),
        };
        fields.serialize_field("choices", &words)?;
        fields.serialize_field("values", &self.values())?;
        fields.serialize_field("default", self.default)?;
        fields.serialize_field("help", self.help)?;
        fields.serialize_field("common", &self.common)?;
        fields.end()
    }
}

/// A setting by its name, over all algorithms that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declared {
    /// As the first of them declares it.
    pub setting: Setting,
    /// The words of all of them together, for a choice.
    #[serde(skip)]
    pub words: Vec<ChoiceWord>,
    /// The flag of the command, without its dashes.
    pub flag: String,
    /// The placeholder for its value in a help text.
    #[serde(skip)]
    pub value_name: String,
    /// Their names.
    pub algorithms: Vec<&'static str>,
}

static DECLARED: LazyLock<Vec<Declared>> = LazyLock::new(|| {
    let mut list: Vec<Declared> = Vec::new();
    for AlgorithmInfo { name, settings, .. } in ALGORITHMS {
        for setting in *settings {
            let words = if let Kind::Choice(words) = setting.kind { words } else { &[] };
            if let Some(known) = list.iter_mut().find(|known| known.setting.name == setting.name) {
                let new = words.iter().filter(|word| !known.words.contains(word));
                let new: Vec<_> = new.copied().collect();
                known.words.extend(new);
                known.algorithms.push(name);
            } else {
                list.push(Declared {
                    setting: *setting,
                    words: words.to_vec(),
                    flag: setting.flag_name(),
                    value_name: setting.name.to_uppercase(),
                    algorithms: vec![name],
                });
            }
        }
    }
    list
});

/// Every setting that an algorithm has, each name once.
pub fn declared() -> &'static [Declared] {
    &DECLARED
}

/// The setting of this name, or of this name of before; none if no algorithm has it.
pub fn find(name: &str) -> Option<&'static Declared> {
    declared().iter().find(|d| d.setting.name == name || d.setting.alias == Some(name))
}

/// An enum whose values are the words of a setting.
pub trait Words: Copy + Sized {
    /// All words with their meanings.
    const WORDS: &'static [ChoiceWord];

    /// The word, as it is typed and as files have it.
    fn name(self) -> &'static str;

    /// The value of a word.
    fn of_name(word: &str) -> Option<Self>;
}

/// Gives an enum its words, each once.
macro_rules! words {
    ($type:ty: $($variant:ident = $word:literal, $help:literal;)+) => {
        impl $crate::setting::Words for $type {
            const WORDS: &'static [$crate::setting::ChoiceWord] = &[$(($word, $help)),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            fn of_name(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl From<$type> for $crate::setting::Value {
            fn from(given: $type) -> Self {
                Self::Word($crate::setting::Words::name(given))
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
pub(crate) mod tests;
