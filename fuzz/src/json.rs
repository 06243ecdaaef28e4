//! Mutations that know JSON: the text stays JSON, and what is in it becomes strange.

use serde_json::{Map, Number, Value};

use crate::mutate::Random;

/// Numbers at which formulas go wrong.
const NUMBERS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-300,
    5e-324,
    1e300,
    f64::MAX,
    1e9,
    1e18,
    1e-9,
    0.999_999_999,
    50.0,
];

/// Whole numbers at their ends, and a little inside.
const WHOLE: &[u64] = &[
    0,
    1,
    2,
    3,
    255,
    65_536,
    1_000_000,
    u32::MAX as u64,
    1 << 31,
    1 << 53,
    u64::MAX - 1,
    u64::MAX,
];

const WORDS: &[&str] = &[
    "",
    "infinity",
    "nan",
    "replace-one",
    "add-remove-one",
    "zero-out",
    "secure",
    "seeded",
    "gaussian",
    "clipped-sgd",
    "objective",
    "output-gd",
    "softmax",
    "logistic",
    "tight",
    "paper",
    "\u{202e}x",
    "<script>alert(1)</script>",
    "age",
    "1e999",
];

/// A few changes; none if the value has no place to change.
pub(crate) fn mutate(value: &mut Value, random: &mut Random) {
    for _ in 0..=random.below(2) * random.below(3) {
        let places = count(value);
        let place = random.below(places);
        change(value, place, random);
    }
}

/// Values in it, itself among them.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value at a place, in the order of [`count`].
fn change(value: &mut Value, place: usize, random: &mut Random) {
    if place == 0 {
        return change_here(value, random);
    }
    let mut left = place - 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => return,
    };
    for value in inner {
        let size = count(value);
        if left < size {
            return change(value, left, random);
        }
        left -= size;
    }
}

fn change_here(value: &mut Value, random: &mut Random) {
    match value {
        Value::Number(number) => *number = strange(number, random),
        Value::Object(map) if !map.is_empty() => change_object(map, random),
        Value::Array(list) if !list.is_empty() => {
            let at = random.below(list.len());
            match random.below(5) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list.clear(),
                3 => list.reverse(),
                _ => list.truncate(at),
            }
        }
        Value::Bool(truth) => *truth = !*truth,
        _ => *value = anything(random),
    }
}

fn change_object(map: &mut Map<String, Value>, random: &mut Random) {
    let names: Vec<String> = map.keys().cloned().collect();
    let [one, other] = [0; 2].map(|_| names[random.below(names.len())].clone());
    match random.below(5) {
        0 => drop(map.remove(&one)),
        1 => {
            // Two fields change places.
            if let (Some(a), Some(b)) = (map.get(&one).cloned(), map.get(&other).cloned()) {
                map.insert(one, b);
                map.insert(other, a);
            }
        }
        2 => drop(map.insert(format!("{one}x"), Value::Bool(true))),
        3 => drop(map.insert(one, anything(random))),
        _ => {
            let copy = map.get(&other).cloned().unwrap_or(Value::Null);
            map.insert(one, copy);
        }
    }
}

fn strange(number: &Number, random: &mut Random) -> Number {
    let float = |x: f64| Number::from_f64(x).unwrap_or_else(|| Number::from(0));
    let old = number.as_f64().unwrap_or(1.0);
    match (number.is_f64(), random.below(4)) {
        (false, 0 | 1) => Number::from(WHOLE[random.below(WHOLE.len())]),
        (false, 2) => Number::from(number.as_u64().unwrap_or(0).wrapping_add(1)),
        (false, _) => Number::from(-1),
        (true, 0 | 1) => float(NUMBERS[random.below(NUMBERS.len())]),
        (true, 2) => float(-old),
        (true, _) => float(old * [0.5, 2.0, 10.0, 1e-3, 1.000_000_1][random.below(5)]),
    }
}

fn anything(random: &mut Random) -> Value {
    match random.below(7) {
        0 => Value::Null,
        1 => Value::Array(Vec::new()),
        2 => Value::Object(Map::new()),
        3 => Value::from(WHOLE[random.below(WHOLE.len())]),
        4 => Value::from(NUMBERS[random.below(NUMBERS.len())]),
        _ => Value::from(WORDS[random.below(WORDS.len())]),
    }
}

/// The text with one field twice: parsers disagree about which of them counts.
pub(crate) fn with_duplicate(value: &Value, random: &mut Random) -> String {
    let text = value.to_string();
    let Some(map) = value.as_object().filter(|map| !map.is_empty()) else { return text };
    let Some((name, own)) = map.iter().nth(random.below(map.len())) else { return text };
    format!("{{{}:{own},{}", Value::from(name.as_str()), &text[1..])
}
