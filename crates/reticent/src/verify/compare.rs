//! Two JSON values, compared field by field.

use serde_json::Value;

/// Numbers that were computed twice may differ by this much, relatively: another machine's
/// mathematical library.
const TOLERANCE: f64 = 1e-9;

/// Where `given` differs from `written`, which is the same model written again: the path of the
/// first field that is unknown, absent or of another value, or of the first list of another length.
/// Numbers may be spelled otherwise.
pub(super) fn difference(given: &Value, written: &Value) -> Option<String> {
    let below = |key: &str, rest: String| match rest.as_str() {
        "" => key.to_owned(),
        rest if rest.starts_with('[') => format!("{key}{rest}"),
        rest => format!("{key}.{rest}"),
    };
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => {
            let shown = |key: &str| key.escape_debug().to_string();
            let unknown = given.iter().find_map(|(key, value)| match written.get(key) {
                Some(written) => difference(value, written).map(|rest| below(&shown(key), rest)),
                None => Some(shown(key)),
            });
            unknown.or_else(|| {
                written.keys().find(|key| !given.contains_key(*key)).map(|key| shown(key))
            })
        }
        (Value::Array(given), Value::Array(written)) if given.len() == written.len() => {
            let mut pairs = given.iter().zip(written).enumerate();
            pairs.find_map(|(i, (given, written))| {
                difference(given, written).map(|rest| below(&format!("[{i}]"), rest))
            })
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => {
            (x.as_f64() != y.as_f64()).then(String::new)
        }
        (given, written) => (given != written).then(String::new),
    }
}

/// Whether two values are the same up to rounding.
pub(super) fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => close(x, y),
            _ => false,
        },
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| agree(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, x)| y.get(k).is_some_and(|y| agree(x, y)))
        }
        (x, y) => x == y,
    }
}

/// Whether two numbers are the same up to rounding.
pub(super) fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= TOLERANCE * x.abs().max(y.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_difference_is_found_and_named() {
        let written = json!({"a": [{"b": 1.0}, {"b": 2.0}], "c": null});
        for (given, path) in [
            (json!({"a": [{"b": 1, "x": 0}, {"b": 2.0}], "c": null}), "a[0].x"),
            (json!({"a": [{"b": 1}, {"b": 2}, {"b": 3}], "c": null}), "a"),
            (json!({"a": [{"b": 1}], "c": null}), "a"),
            (json!({"a": [{"b": 1}, {"b": {"x": 1}}], "c": null}), "a[1].b"),
            (json!({"a": [{"b": 1}, {}], "c": null}), "a[1].b"),
            (json!({"a": [{"b": 1}, {"b": 2}], "c": {"x": 1}}), "c"),
            (json!({"a": [{"b": 1}, {"b": 2}]}), "c"),
            (json!({"a": [{"b": 1}, {"b": 2}], "c": null, "new\n": 1}), "new\\n"),
        ] {
            assert_eq!(difference(&given, &written).as_deref(), Some(path), "{given}");
        }
        assert_eq!(difference(&json!({"c": null, "a": [{"b": 1}, {"b": 2}]}), &written), None);
        assert!(
            difference(&json!(18446744073709551615_u64), &json!(18446744073709551614_u64))
                .is_some()
        );
    }
}
