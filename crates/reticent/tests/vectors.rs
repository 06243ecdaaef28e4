//! Every test vector of every namespace that `calc` knows, through `calc`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reticent::calc;
use reticent_testkit::vectors;
use serde_json::{Map, Value};

fn check(namespace: &str, may_be_unknown: impl Fn(&str) -> bool) {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for vector in vectors::load(namespace) {
        let inputs: Map<String, Value> = vector.inputs.clone().into_iter().collect();
        match calc::evaluate(namespace, &vector.formula, &inputs) {
            Err(calc::CalcError::UnknownFormula { .. }) if may_be_unknown(&vector.formula) => {
                continue;
            }
            Ok(value) if value.is_number() && vector.accepts(value.as_f64().unwrap()) => {}
            Ok(value) if value == vector.expected => {}
            got => wrong.push(format!("{vector:?}: {got:?}")),
        }
        checked += 1;
    }
    assert!(checked > 0);
    assert!(wrong.is_empty(), "{} of {checked} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn output_gd() {
    // The single-example methods of the same paper are not built yet.
    check("output-gd", |f| {
        ["rrpsgd_", "bassily_", "subsampled_", "rdp_"].iter().any(|p| f.starts_with(p))
    });
}
