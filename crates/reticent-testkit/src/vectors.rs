//! The test vectors: `{formula, inputs, expected, rel_tol}`, one file for each family of
//! algorithms.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One expected value of one formula.
#[derive(Clone, Debug, Deserialize)]
pub struct Vector {
    /// The name of the formula, as `calc` knows it.
    pub formula: String,
    /// The arguments by name.
    pub inputs: BTreeMap<String, Value>,
    /// A number, an integer or a word.
    pub expected: Value,
    /// Relative tolerance; zero asks for equality.
    pub rel_tol: f64,
}

impl Vector {
    /// The argument called `name` as a number.
    ///
    /// # Panics
    ///
    /// If the vector has no such number.
    pub fn number(&self, name: &str) -> f64 {
        self.inputs
            .get(name)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("{}: no number called {name}", self.formula))
    }

    /// Whether `got` is what the vector expects. Where zero is expected, 1e-12 is the allowance.
    pub fn accepts(&self, got: f64) -> bool {
        match self.expected.as_f64() {
            Some(0.0) => got.abs() < 1e-12,
            Some(want) => (got - want).abs() <= self.rel_tol * want.abs() + 1e-300,
            None => false,
        }
    }
}

/// The vectors of `namespace` (`accounting`, `output-gd`, `holder-sgd`, ...).
///
/// # Panics
///
/// If there is no such namespace, or its file does not parse.
pub fn load(namespace: &str) -> Vec<Vector> {
    serde_json::from_str(text(namespace)).expect("the vectors are well formed")
}

/// The file of `namespace` as text.
///
/// # Panics
///
/// If there is no such namespace.
pub fn text(namespace: &str) -> &'static str {
    match namespace {
        "accounting" => include_str!("../vectors/accounting.json"),
        "clipped-sgd" => include_str!("../vectors/clipped-sgd.json"),
        "geometry" => include_str!("../vectors/geometry.json"),
        "holder-sgd" => include_str!("../vectors/holder-sgd.json"),
        "output-gd" => include_str!("../vectors/output-gd.json"),
        "random-features" => include_str!("../vectors/random-features.json"),
        other => panic!("no vectors called {other}"),
    }
}
