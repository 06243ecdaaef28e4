//! A schema file to fill in: names and types that are public, and blanks.
//!
//! A skeleton is made from a header, from a file's own types or from a data dictionary, never from
//! a cell. A value that nobody stated is `null`, which a schema check refuses with the place to
//! fill in.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Number, Value, json};

use super::date::iso_of_days;
use super::schema::BoundsBasis;

/// The comment at the top of a skeleton, a line each.
const HELP: [&str; 7] = [
    "Fill in each null from what is known without the table; a value looked up in it is published.",
    "A column of numbers keeps `bounds` {min, max}; add `basis`: domain, data-dictionary, convention.",
    "A column of dates has them as bounds, such as \"2020-01-01\"; `parts` adds month, weekday, hour.",
    "A column with one of a list of values keeps `categories`, such as [\"no\", \"yes\"].",
    "Give role `id` or `ignore` to a column that is not to be learned from; leave its blanks.",
    "`target` names the column to predict; of two classes `positive_class` is the one that counts.",
    "Then run `reticent schema check FILE`. Fields that begin with _ are comments.",
];

/// The type of a skeleton's column, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkeletonType {
    /// A whole number.
    Integer,
    /// Any number.
    Real,
    /// True or false.
    Boolean,
    /// One of a list.
    Categorical,
    /// A date, a time, or both.
    Date,
    /// A list of numbers, of this length if it is fixed.
    Vector(Option<usize>),
    /// A type without an encoding: the column is left out.
    Other,
}

impl SkeletonType {
    /// The type as a schema writes it.
    fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Boolean => "boolean",
            Self::Categorical => "categorical",
            Self::Date => "date",
            Self::Vector(_) => "vector",
            Self::Other => "other",
        }
    }

    /// The type that a data dictionary calls by this name; none for a name that is not known.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Some(match name.as_str() {
            "integer" | "int" | "whole" | "count" | "bigint" | "smallint" => Self::Integer,
            "real" | "float" | "double" | "number" | "numeric" | "decimal" | "continuous" => {
                Self::Real
            }
            "boolean" | "bool" | "logical" | "flag" => Self::Boolean,
            "categorical" | "category" | "factor" | "enum" | "nominal" | "ordinal" => {
                Self::Categorical
            }
            "date" | "datetime" | "timestamp" | "time" => Self::Date,
            _ => return None,
        })
    }
}

/// A column of a skeleton.
#[derive(Clone, Debug, PartialEq)]
pub struct SkeletonColumn {
    /// The name in the table's header.
    pub name: String,
    /// The role, if it is stated; the target has its own.
    pub role: Option<String>,
    /// Its type.
    pub kind: Option<SkeletonType>,
    /// The lower and the upper end, as far as they are stated; of dates in days since 1970-01-01.
    pub ends: [Option<f64>; 2],
    /// Where the ends come from.
    pub basis: Option<BoundsBasis>,
    /// The categories, if they are stated.
    pub categories: Option<Vec<String>>,
    /// Where the categories come from.
    pub categories_basis: Option<BoundsBasis>,
    /// The category that undeclared ones count as, if it is stated.
    pub other: Option<String>,
    /// The knots of its curve, from the lower end to the upper one, if they are stated.
    pub knots: Option<Vec<f64>>,
    /// Where the knots come from.
    pub knots_basis: Option<BoundsBasis>,
}

impl SkeletonColumn {
    /// A column of which the name and perhaps the type are known.
    pub fn new(name: impl Into<String>, kind: Option<SkeletonType>) -> Self {
        let name = name.into();
        Self {
            name,
            role: None,
            kind,
            ends: [None; 2],
            basis: None,
            categories: None,
            categories_basis: None,
            other: None,
            knots: None,
            knots_basis: None,
        }
    }

    /// The known fields of the column, in the order in which people read it, each as JSON.
    fn fields(&self, is_target: bool) -> Vec<(&'static str, String)> {
        let role = match &self.role {
            _ if is_target => "target",
            Some(role) => role.as_str(),
            None if self.kind == Some(SkeletonType::Other) => "ignore",
            None => "feature",
        };
        let text = |value: Value| spaced(&value);
        let mut fields = vec![("name", text(json!(self.name))), ("role", text(json!(role)))];
        let categories = ("categories", text(json!(self.categories)));
        let Some(kind) = self.kind else {
            if self.categories.is_none() {
                fields.push(("bounds", self.bounds()));
            }
            if self.ends == [None; 2] {
                fields.push(categories);
            }
            return fields;
        };
        fields.push(("type", text(json!(kind.name()))));
        match kind {
            SkeletonType::Integer | SkeletonType::Real | SkeletonType::Date => {
                fields.push(("bounds", self.bounds()));
                if let Some(knots) = &self.knots {
                    let knots: Vec<_> = knots.iter().map(|knot| number(Some(*knot))).collect();
                    fields.push(("basis", text(json!({ "knots": knots }))));
                    let basis = self.knots_basis.map(|basis| text(json!(basis)));
                    fields.extend(basis.map(|basis| ("knots_basis", basis)));
                }
            }
            SkeletonType::Categorical => {
                fields.push(categories);
                let basis = self.categories_basis.filter(|_| self.categories.is_some());
                fields.extend(basis.map(|basis| ("categories_basis", text(json!(basis)))));
                fields.extend(self.other.as_ref().map(|other| ("other", text(json!(other)))));
            }
            SkeletonType::Vector(dimension) => {
                fields.push(("dimension", text(json!(dimension))));
                fields.push(("bounds", self.bounds()));
            }
            SkeletonType::Boolean | SkeletonType::Other => {}
        }
        fields
    }

    fn bounds(&self) -> String {
        let basis = match (self.basis, self.ends) {
            (Some(basis), [Some(_), Some(_)]) => format!(", \"basis\": {}", json!(basis)),
            _ => String::new(),
        };
        let date = |end: Option<f64>| end.map_or(Value::Null, |days| json!(iso_of_days(days)));
        let is_date = self.kind == Some(SkeletonType::Date);
        let [min, max] = self.ends.map(if is_date { date } else { number });
        format!("{{\"min\": {min}, \"max\": {max}{basis}}}")
    }
}

/// A number as people write it: whole ones without a fraction.
fn number(end: Option<f64>) -> Value {
    match end {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => json!(whole as i64),
        end => end.and_then(Number::from_f64).map_or(Value::Null, Value::Number),
    }
}

/// A schema file with blanks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// The table's name in reports.
    pub name: Option<String>,
    /// The column to predict.
    pub target: Option<String>,
    /// The columns, in the order of the table.
    pub columns: Vec<SkeletonColumn>,
    /// The certificate of what was released to fill it in.
    pub draft: Option<Value>,
}

impl Skeleton {
    /// The text of the file: JSON with a column in each line.
    pub fn to_text(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                let fields = column.fields(self.target.as_ref() == Some(&column.name));
                let fields = fields.iter().map(|(field, value)| format!("\"{field}\": {value}"));
                format!("  {{{}}}", fields.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let help: Vec<String> =
            HELP.iter().map(|line| format!("  {}", spaced(&json!(line)))).collect();
        let name = self
            .name
            .as_ref()
            .map_or(String::new(), |name| format!(" \"name\": {},\n", spaced(&json!(name))));
        let draft = self
            .draft
            .as_ref()
            .map_or(String::new(), |draft| format!(",\n \"draft\": {}", spaced(draft)));
        format!(
            "{{\n \"_help\": [\n{}\n ],\n{name} \"target\": {},\n \"columns\": [\n{}\n ]{draft}\n}}\n",
            help.join(",\n"),
            spaced(&json!(self.target)),
            columns.join(",\n")
        )
    }
}

/// JSON on one line with a blank after each comma and colon.
fn spaced(value: &Value) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail, and keys of a `Value` are texts.
    _ = value.serialize(&mut Serializer::with_formatter(&mut text, Spaced));
    String::from_utf8_lossy(&text).into_owned()
}

struct Spaced;

fn comma<W: io::Write + ?Sized>(writer: &mut W, first: bool) -> io::Result<()> {
    if first { Ok(()) } else { writer.write_all(b", ") }
}

impl Formatter for Spaced {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        comma(w, first)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        comma(w, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::super::{Declaration, DeclarationError};
    use super::*;

    fn skeleton() -> Skeleton {
        let column = SkeletonColumn::new;
        let stated = SkeletonColumn {
            ends: [Some(0.0), Some(1.5)],
            basis: Some(BoundsBasis::DataDictionary),
            ..column("dose", Some(SkeletonType::Real))
        };
        Skeleton {
            name: Some("a \"clinic\"".to_owned()),
            target: Some("back".to_owned()),
            columns: vec![
                column("age", None),
                stated,
                column("smoker", Some(SkeletonType::Boolean)),
                column("photo", Some(SkeletonType::Other)),
                column("back", Some(SkeletonType::Categorical)),
            ],
            draft: None,
        }
    }

    #[test]
    fn a_skeleton_is_a_schema_whose_blanks_are_refused_together() {
        let text = skeleton().to_text();
        let located = Declaration::from_json(&text).unwrap_err().located(&text);
        let blank = |one: &super::super::Located| match &one.problem {
            DeclarationError::Blank { column } | DeclarationError::MissingCategories { column } => {
                column.clone()
            }
            other => format!("{other}"),
        };
        assert_eq!(located.iter().map(blank).collect::<Vec<_>>(), ["age", "back"]);
        for (one, name) in located.iter().zip(["age", "back"]) {
            let line = text.lines().nth(one.place.unwrap().0 - 1).unwrap();
            assert!(line.contains(name), "{line}");
        }
    }

    #[test]
    fn a_filled_skeleton_is_a_declaration_without_remarks() {
        let text = skeleton()
            .to_text()
            .replacen("\"categories\": null", "\"categories\": [\"no\", \"yes\"]", 1)
            .replacen("\"categories\": null", "\"categories\": [0, 1]", 1);
        let declaration = Declaration::from_json(&text).unwrap();
        assert_eq!(declaration.unpublished(), ["_help"]);
        assert_eq!(super::super::not_published(declaration.unpublished()), None);
        let dose = &declaration.columns()[1];
        assert_eq!(dose.basis, Some(BoundsBasis::DataDictionary));
        assert_eq!(declaration.classes(), ["0", "1"]);
    }
}
