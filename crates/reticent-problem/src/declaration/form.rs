//! The kinds of values that the fields of a schema file take. All that are of another kind are
//! found at once, by their paths; no value is quoted.

use serde_json::{Map, Value};

use super::error::DeclarationError;

/// The kind of value that a field may hold.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Truth,
    Whole,
    Number,
    List,
    Object,
    TextOrObject,
}

impl Form {
    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Truth => value.is_boolean(),
            Self::Whole => value.is_u64(),
            Self::Number => value.is_number(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::TextOrObject => value.is_string() || value.is_object(),
        }
    }

    /// The form in words.
    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text in double quotes",
            Self::Truth => "true or false",
            Self::Whole => "a whole number without quotes, such as 8",
            Self::Number => "a number without quotes, such as 0.5",
            Self::List => "a list in brackets, [...]",
            Self::Object => "an object in braces, {...}",
            Self::TextOrObject => "a text in double quotes, or an object in braces, {...}",
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The walk through a file.
#[derive(Default)]
struct Found(Vec<DeclarationError>);

impl Found {
    /// Notes a value of another kind; whether it is of this one.
    fn check(&mut self, path: &str, value: &Value, form: Form) -> bool {
        let holds = form.holds(value);
        if !holds {
            let (path, expected, found) = (path.to_owned(), form.expected(), kind(value));
            self.0.push(DeclarationError::WrongKind { path, expected, found });
        }
        holds
    }

    /// Checks the fields that are there and not null.
    fn fields(&mut self, at: &str, object: &Map<String, Value>, forms: &[(&str, Form)]) {
        for (name, form) in forms {
            if let Some(value) = object.get(*name).filter(|value| !value.is_null()) {
                self.check(&below(at, name), value, *form);
            }
        }
    }

    fn each(&mut self, at: &str, list: &Value, form: Form) {
        for (i, value) in list.as_array().into_iter().flatten().enumerate() {
            self.check(&format!("{at}[{i}]"), value, form);
        }
    }

    fn column(&mut self, at: &str, column: &Map<String, Value>) {
        self.check(
            &below(at, "name"),
            &column.get("name").cloned().unwrap_or_default(),
            Form::Text,
        );
        self.fields(
            at,
            column,
            &[
                ("role", Form::Text),
                ("type", Form::Text),
                ("categories", Form::List),
                ("basis", Form::TextOrObject),
                ("shape", Form::List),
                ("dimension", Form::Whole),
            ],
        );
        if let Some(leaks) = column.get("leaks_target") {
            self.check(&below(at, "leaks_target"), leaks, Form::Truth);
        }
        self.each(
            &below(at, "shape"),
            &column.get("shape").cloned().unwrap_or_default(),
            Form::Whole,
        );
        if let Some(Value::Object(bounds)) = column.get("bounds") {
            let at = below(at, "bounds");
            let number = Form::Number;
            self.fields(&at, bounds, &[("l2_norm_max", number), ("norm_bound", number)]);
            self.fields(&at, bounds, &[("basis", Form::Text)]);
            if let Some(unbounded) = bounds.get("unbounded") {
                self.check(&below(&at, "unbounded"), unbounded, Form::Truth);
            }
        }
        if let Some(Value::Object(basis)) = column.get("basis") {
            let at = below(at, "basis");
            self.fields(&at, basis, &[("kind", Form::Text), ("scale", Form::Text)]);
        }
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// Every field of a schema that holds a value of another kind than it takes, in the order of the
/// file's parts.
pub(super) fn problems(schema: &Map<String, Value>) -> Vec<DeclarationError> {
    let mut found = Found::default();
    found.fields(
        "",
        schema,
        &[
            ("name", Form::Text),
            ("task", Form::Text),
            ("target", Form::Text),
            ("interactions", Form::List),
            ("publish", Form::Object),
            ("unit", Form::TextOrObject),
        ],
    );
    if let Some(pairs) = schema.get("interactions") {
        found.each("interactions", pairs, Form::List);
        for (i, pair) in pairs.as_array().into_iter().flatten().enumerate() {
            found.each(&format!("interactions[{i}]"), pair, Form::Text);
        }
    }
    if let Some(Value::Object(publish)) = schema.get("publish") {
        found.fields("publish", publish, &[("description", Form::Text)]);
    }
    if let Some(Value::Object(unit)) = schema.get("unit") {
        let forms = [("column", Form::Text), ("max_rows", Form::Whole), ("weighting", Form::Text)];
        found.fields("unit", unit, &forms);
    }
    if let Some(columns) = schema.get("columns")
        && found.check("columns", columns, Form::List)
    {
        found.each("columns", columns, Form::Object);
        for (i, column) in columns.as_array().into_iter().flatten().enumerate() {
            if let Value::Object(column) = column {
                found.column(&format!("columns[{i}]"), column);
            }
        }
    }
    found.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::super::{Declaration, DeclarationError};

    #[test]
    fn all_values_of_another_kind_are_found_at_once_each_with_its_place() {
        let text = r#"{"target": 7, "interactions": [["a"], 3],
 "unit": {"column": "a", "max_rows": 2.5},
 "columns": [{"name": "a", "type": 5, "categories": "x", "leaks_target": null},
  "b", {"role": "feature", "shape": [2, "3"],
  "bounds": {"min": 0, "max": 1, "unbounded": "secret", "norm_bound": "1"}}]}"#;
        let located = Declaration::from_json(text).unwrap_err().located(text);
        let paths: Vec<_> = located
            .iter()
            .map(|one| match &one.problem {
                DeclarationError::WrongKind { path, .. } => (path.as_str(), one.place),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(
            paths,
            [
                ("target", Some((1, 12))),
                ("interactions[1]", Some((1, 39))),
                ("unit.max_rows", Some((2, 38))),
                ("columns[1]", Some((4, 3))),
                ("columns[0].type", Some((3, 36))),
                ("columns[0].categories", Some((3, 53))),
                ("columns[0].leaks_target", Some((3, 74))),
                ("columns[2].name", None),
                ("columns[2].shape[1]", Some((4, 41))),
                ("columns[2].bounds.norm_bound", Some((5, 71))),
                ("columns[2].bounds.unbounded", Some((5, 47))),
            ]
        );
        let said = located.iter().map(|one| one.problem.to_string()).collect::<String>();
        assert!(!said.contains("secret") && said.contains("a text in double quotes"), "{said}");
    }

    #[test]
    fn what_is_not_an_object_is_told_so() {
        let text = Declaration::from_json("[1]").unwrap_err().to_string();
        assert!(text.contains("must be an object"), "{text}");
    }
}
