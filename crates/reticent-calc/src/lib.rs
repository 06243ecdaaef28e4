//! Every formula by its name: `calc NAMESPACE.FORMULA key=value ...`.
//!
//! Nothing is computed here. A formula's entry reads its arguments and calls the function that the
//! planner, the accountants and the algorithms themselves call, so a value checked here is the
//! value used.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "all formulas share one signature")]

use reticent_privacy::PrivacyError;
use serde_json::{Map, Value, json};

mod accounting;
mod clipped_sgd;
mod geometry;
mod holder_sgd;
mod losses;
mod output_gd;
mod random_features;
mod sampled;
mod shapes;

/// Why a formula has no value for these arguments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalcError {
    /// There is no namespace of this name.
    #[error("unknown namespace `{got}`; expected one of {known}")]
    UnknownNamespace {
        /// The requested namespace.
        got: String,
        /// The namespaces there are.
        known: String,
    },
    /// The namespace has no formula of this name.
    #[error(
        "`{namespace}` has no formula `{got}`; run `reticent calc --namespace {namespace} --list`"
    )]
    UnknownFormula {
        /// Where it was looked for.
        namespace: String,
        /// The requested formula.
        got: String,
    },
    /// An argument is absent or of another kind.
    #[error("`{name}` must be given as {expected}")]
    Argument {
        /// The argument.
        name: String,
        /// The expected type or range.
        expected: &'static str,
    },
    /// The library refused the arguments.
    #[error("{0}")]
    Refused(String),
}

/// The arguments of one formula, by name.
#[derive(Clone, Debug)]
pub struct Inputs<'a>(pub &'a Map<String, Value>);

impl Inputs<'_> {
    /// Whether an argument of this name was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A number; the words `inf` and `infinity` are numbers too.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no number.
    pub fn number(&self, name: &str) -> Result<f64, CalcError> {
        let value = self.0.get(name);
        match value {
            Some(Value::String(word))
                if matches!(word.as_str(), "inf" | "infinity" | "Infinity") =>
            {
                Some(f64::INFINITY)
            }
            other => other.and_then(Value::as_f64),
        }
        .ok_or_else(|| CalcError::Argument { name: name.to_owned(), expected: "a number" })
    }

    /// A whole number of at least zero.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no such number.
    pub fn count(&self, name: &str) -> Result<u64, CalcError> {
        let x = self.number(name)?;
        if x >= 0.0 && x.fract() == 0.0 && x < 9.0e15 {
            Ok(x as u64)
        } else {
            Err(CalcError::Argument { name: name.to_owned(), expected: "a whole number >= 0" })
        }
    }

    /// A number above zero, and not infinite.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no such number.
    pub fn positive(&self, name: &str) -> Result<f64, CalcError> {
        let x = self.number(name)?;
        if x > 0.0 && x.is_finite() {
            Ok(x)
        } else {
            Err(CalcError::Argument { name: name.to_owned(), expected: "a finite number > 0" })
        }
    }

    /// A probability or a share: above zero and at most one.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no such number.
    pub fn share(&self, name: &str) -> Result<f64, CalcError> {
        let x = self.number(name)?;
        if x > 0.0 && x <= 1.0 {
            Ok(x)
        } else {
            Err(CalcError::Argument { name: name.to_owned(), expected: "a number in (0, 1]" })
        }
    }

    /// A list of numbers.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no list of numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, CalcError> {
        self.0
            .get(name)
            .and_then(Value::as_array)
            .and_then(|list| list.iter().map(Value::as_f64).collect())
            .ok_or_else(|| CalcError::Argument {
                name: name.to_owned(),
                expected: "a list of numbers",
            })
    }

    /// A word.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or no word.
    pub fn word(&self, name: &str) -> Result<&str, CalcError> {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| CalcError::Argument { name: name.to_owned(), expected: "a word" })
    }

    /// True or false.
    ///
    /// # Errors
    ///
    /// [`CalcError::Argument`] if it is absent or neither.
    pub fn flag(&self, name: &str) -> Result<bool, CalcError> {
        self.0
            .get(name)
            .and_then(Value::as_bool)
            .ok_or_else(|| CalcError::Argument { name: name.to_owned(), expected: "true or false" })
    }
}

/// The function that computes one formula.
pub type Formula = fn(&Inputs<'_>) -> Result<Value, CalcError>;

/// Formulas of one namespace, each with its name.
type Namespace = &'static [(&'static str, Formula)];

const NAMESPACES: &[(&str, &[Namespace])] = &[
    ("accounting", &[accounting::FORMULAS]),
    ("output-gd", &[output_gd::FORMULAS, sampled::FORMULAS]),
    ("clipped-sgd", &[clipped_sgd::FORMULAS]),
    ("holder-sgd", &[holder_sgd::FORMULAS]),
    ("geometry", &[geometry::FORMULAS, shapes::FORMULAS]),
    ("random-features", &[random_features::FORMULAS]),
];

/// The names of the namespaces.
pub fn namespaces() -> impl Iterator<Item = &'static str> {
    NAMESPACES.iter().map(|(name, _)| *name)
}

/// The names of the formulas of `namespace`.
///
/// # Errors
///
/// [`CalcError::UnknownNamespace`].
pub fn formulas(namespace: &str) -> Result<impl Iterator<Item = &'static str> + use<>, CalcError> {
    Ok(find(namespace)?.map(|(name, _)| *name))
}

/// The value of `namespace.formula` for `inputs`.
///
/// # Errors
///
/// [`CalcError`], if a name is unknown, an argument is absent, or the library refuses the
/// arguments.
pub fn evaluate(
    namespace: &str,
    formula: &str,
    inputs: &Map<String, Value>,
) -> Result<Value, CalcError> {
    let (_, compute) = find(namespace)?.find(|(name, _)| *name == formula).ok_or_else(|| {
        CalcError::UnknownFormula { namespace: namespace.to_owned(), got: formula.to_owned() }
    })?;
    compute(&Inputs(inputs))
}

fn find(
    namespace: &str,
) -> Result<impl Iterator<Item = &'static (&'static str, Formula)> + use<>, CalcError> {
    let found = NAMESPACES.iter().find(|(name, _)| *name == namespace);
    let (_, lists) = found.ok_or_else(|| CalcError::UnknownNamespace {
        got: namespace.to_owned(),
        known: namespaces().collect::<Vec<_>>().join(", "),
    })?;
    Ok(lists.iter().flat_map(|list| list.iter()))
}

/// The value of a function of the accountant.
fn answer(result: Result<f64, PrivacyError>) -> Result<Value, CalcError> {
    number(result.map_err(refused)?)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: PrivacyError) -> CalcError {
    CalcError::Refused(error.to_string())
}

/// A number; infinity is a word, and no number is a refusal.
fn number(x: f64) -> Result<Value, CalcError> {
    if x.is_nan() {
        return Err(CalcError::Refused("the formula has no value for these arguments".to_owned()));
    }
    Ok(if x.is_infinite() { json!("infinity") } else { json!(x) })
}
