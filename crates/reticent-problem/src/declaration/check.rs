//! From the file as written to a checked declaration: every refusal of a schema is here.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::error::DeclarationError;
use super::layout::NORMS;
use super::published::Scalar;
use super::raw::{RawColumn, RawDeclaration, as_text};
use super::schema::{Basis, Column, Declaration, Kind, MOST_FEATURES, Role, Task, VectorBounds};
use super::spelling::{number_spelled, same_value};
use super::unpublished;

/// The most characters of a table's name.
const MOST_NAME: usize = 200;

/// The most characters of a published description.
const MOST_DESCRIPTION: usize = 2000;

/// Roles that leave a column out of the features.
const IGNORED: &[&str] =
    &["ignore", "ignored", "id", "raw", "leakage", "leaking", "weight", "note", "group"];
const IGNORED_LIST: &str = "`ignore`, `id`, `raw`, `leakage`, `weight`, `note`, `group`";

impl TryFrom<RawDeclaration> for Declaration {
    type Error = DeclarationError;

    fn try_from(raw: RawDeclaration) -> Result<Self, DeclarationError> {
        if raw.columns.is_empty() {
            return Err(DeclarationError::NoColumns);
        }
        check_names(&raw.columns)?;
        let target = find_target(&raw)?;
        let asked = raw.task.as_deref().map(task_of).transpose()?;
        let columns = raw
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| check_column(column, i == target, asked))
            .collect::<Result<Vec<_>, _>>()?;
        let task = check_task(&columns[target], asked)?;
        let positive = positive_class(&raw, &columns[target], task)?;
        if !columns.iter().any(|c| c.role == Role::Feature) {
            return Err(DeclarationError::NoFeatures);
        }
        let name = check_text("name", raw.name.as_deref(), MOST_NAME)?;
        let description = raw.publish.as_ref().and_then(|publish| publish.description.as_deref());
        let description = check_text("publish.description", description, MOST_DESCRIPTION)?;
        let unpublished = unpublished::paths(&raw, &columns, task);
        Ok(Self { raw, name, description, unpublished, columns, target, task, positive })
    }
}

/// A text that is published: short, and without characters that are not shown.
fn check_text(
    field: &'static str,
    text: Option<&str>,
    most: usize,
) -> Result<Option<String>, DeclarationError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.chars().count() > most || text.chars().any(char::is_control) {
        return Err(DeclarationError::BadText { field, most });
    }
    Ok(Some(text.to_owned()))
}

fn check_names(columns: &[RawColumn]) -> Result<(), DeclarationError> {
    let mut seen = HashSet::new();
    for (i, column) in columns.iter().enumerate() {
        let name = column.name.trim();
        if name.is_empty() {
            return Err(DeclarationError::EmptyName { position: i + 1 });
        }
        if !seen.insert(name) {
            return Err(DeclarationError::DuplicateColumn { column: name.to_owned() });
        }
    }
    Ok(())
}

fn find_target(raw: &RawDeclaration) -> Result<usize, DeclarationError> {
    let mut with_role = (0..raw.columns.len())
        .filter(|&i| raw.columns[i].role.as_deref().is_some_and(|r| r.trim() == "target"));
    let (first, second) = (with_role.next(), with_role.next());
    let name = |i: usize| raw.columns[i].name.trim().to_owned();
    if let (Some(first), Some(second)) = (first, second) {
        return Err(DeclarationError::TwoTargets { first: name(first), second: name(second) });
    }
    let named = match raw.target.as_deref().map(str::trim) {
        None => None,
        Some(target) => Some(
            raw.columns
                .iter()
                .position(|c| c.name.trim() == target)
                .ok_or_else(|| DeclarationError::UnknownTarget { target: target.to_owned() })?,
        ),
    };
    match (named, first) {
        (Some(a), Some(b)) if a != b => {
            Err(DeclarationError::TwoTargets { first: name(a), second: name(b) })
        }
        (Some(i), _) | (None, Some(i)) => Ok(i),
        (None, None) => Err(DeclarationError::NoTarget),
    }
}

fn task_of(task: &str) -> Result<Task, DeclarationError> {
    match task.trim() {
        "binary_classification" | "binary" => Ok(Task::Binary),
        "multiclass_classification" | "multiclass" => Ok(Task::Multiclass),
        "regression" => Ok(Task::Regression),
        other => Err(DeclarationError::UnknownTask { task: other.to_owned() }),
    }
}

fn check_column(
    raw: &RawColumn,
    is_target: bool,
    task: Option<Task>,
) -> Result<Column, DeclarationError> {
    let name = raw.name.trim().to_owned();
    let role = match raw.role.as_deref().map(str::trim) {
        _ if is_target => Role::Target,
        None | Some("feature") => Role::Feature,
        Some(role) if IGNORED.contains(&role) => Role::Ignored(role.to_owned()),
        Some(role) => {
            return Err(DeclarationError::UnknownRole {
                column: name,
                role: role.to_owned(),
                ignored: IGNORED_LIST,
            });
        }
    };
    let ignored = matches!(role, Role::Ignored(_));
    let kind = if ignored { ignored_kind(raw) } else { check_kind(raw, &name, is_target, task)? };
    let missing = if ignored { Vec::new() } else { check_missing(raw, &name, &kind)? };
    let scalars = match (&kind, &raw.categories) {
        (Kind::Categorical { categories }, Some(declared)) => {
            declared.iter().zip(categories).map(|(value, text)| Scalar::new(value, text)).collect()
        }
        _ => Vec::new(),
    };
    let basis = raw.bounds.as_ref().and_then(|b| b.basis.as_deref()).and_then(Basis::named);
    Ok(Column { role, kind, missing, basis, leaks_target: raw.leaks_target, scalars, name })
}

fn ignored_kind(raw: &RawColumn) -> Kind {
    Kind::Other(raw.kind.clone().unwrap_or_else(|| "unstated".to_owned()))
}

fn check_kind(
    raw: &RawColumn,
    name: &str,
    is_target: bool,
    task: Option<Task>,
) -> Result<Kind, DeclarationError> {
    let written = raw.kind.as_deref().map(|k| k.trim().to_ascii_lowercase());
    let classified = is_target && task != Some(Task::Regression) && raw.categories.is_some();
    let vector = raw.shape.is_some() || raw.dimension.is_some();
    match written.as_deref() {
        None if raw.categories.is_some() => categorical(raw, name),
        Some("categorical" | "category" | "enum") if !vector => categorical(raw, name),
        Some(kind) if is_number(kind) && classified => categorical(raw, name),
        Some("embedding" | "embeddings" | "image" | "vector") | None if vector => {
            check_vector(raw, name)
        }
        Some(kind) if vector && is_number(kind) => check_vector(raw, name),
        None => interval(raw, name),
        Some(kind) if is_number(kind) => interval(raw, name),
        Some(_) => Err(DeclarationError::UnsupportedType {
            column: name.to_owned(),
            kind: raw.kind.clone().unwrap_or_default(),
        }),
    }
}

fn is_number(kind: &str) -> bool {
    let bits = |rest: &str| matches!(rest, "" | "8" | "16" | "32" | "64");
    matches!(kind, "integer" | "number" | "numeric" | "real" | "double")
        || ["int", "uint", "float"].iter().any(|p| kind.strip_prefix(p).is_some_and(bits))
}

fn interval(raw: &RawColumn, name: &str) -> Result<Kind, DeclarationError> {
    let (min, max) = min_max(raw, name)?
        .ok_or_else(|| DeclarationError::MissingBounds { column: name.to_owned() })?;
    Ok(Kind::Number { min, max })
}

fn check_vector(raw: &RawColumn, name: &str) -> Result<Kind, DeclarationError> {
    let shape: Vec<u64> = match (&raw.shape, raw.dimension) {
        (Some(shape), _) => shape.clone(),
        (None, dimension) => vec![dimension.unwrap_or(0)],
    };
    let entries = shape.iter().fold(1_u128, |n, &k| n.saturating_mul(u128::from(k)));
    let len = usize::try_from(entries).ok().filter(|n| (1..=MOST_FEATURES).contains(n));
    let Some(len) = len.filter(|_| !shape.is_empty()) else {
        return Err(DeclarationError::BadShape {
            column: name.to_owned(),
            entries: if shape.is_empty() { 0 } else { entries },
            most: MOST_FEATURES,
        });
    };
    let each = min_max(raw, name)?;
    let norm = raw.bounds.as_ref().and_then(|b| b.l2_norm_max);
    let bounds = match (norm, each) {
        (Some(norm), _) if NORMS.contains(&norm) => VectorBounds::Norm(norm),
        (Some(got), _) => {
            return Err(DeclarationError::BadNorm { column: name.to_owned(), got });
        }
        (None, Some((min, max))) => VectorBounds::Each { min, max },
        (None, None) => {
            return Err(DeclarationError::MissingVectorBounds { column: name.to_owned() });
        }
    };
    Ok(Kind::Vector { len, bounds })
}

/// The declared interval: `None` if neither end is given, an error if it is not one.
fn min_max(raw: &RawColumn, name: &str) -> Result<Option<(f64, f64)>, DeclarationError> {
    let Some(bounds) = &raw.bounds else { return Ok(None) };
    let text = |v: &Option<Value>| v.as_ref().map_or("nothing".to_owned(), Value::to_string);
    match (&bounds.min, &bounds.max) {
        (None, None) if bounds.unbounded && bounds.l2_norm_max.is_none() => {
            Ok(Some((f64::NEG_INFINITY, f64::INFINITY)))
        }
        _ if bounds.unbounded => {
            Err(DeclarationError::BoundedAndUnbounded { column: name.to_owned() })
        }
        (None, None) => Ok(None),
        (Some(Value::Number(min)), Some(Value::Number(max))) => {
            let ends = min.as_f64().zip(max.as_f64());
            let (min, max) = ends.unwrap_or((f64::NAN, f64::NAN));
            interval_of(name, min, max).map(Some)
        }
        _ => Err(DeclarationError::BadBounds {
            column: name.to_owned(),
            min: text(&bounds.min),
            max: text(&bounds.max),
        }),
    }
}

pub(super) fn interval_of(name: &str, min: f64, max: f64) -> Result<(f64, f64), DeclarationError> {
    if min < max && (max - min).is_finite() {
        Ok((min, max))
    } else {
        Err(DeclarationError::BadBounds {
            column: name.to_owned(),
            min: min.to_string(),
            max: max.to_string(),
        })
    }
}

fn categorical(raw: &RawColumn, name: &str) -> Result<Kind, DeclarationError> {
    let column = || name.to_owned();
    let listed = raw.categories.as_deref().unwrap_or_default();
    if listed.is_empty() {
        return Err(DeclarationError::MissingCategories { column: column() });
    }
    let mut categories = Vec::with_capacity(listed.len());
    let mut seen = HashSet::new();
    let mut numbers = HashMap::new();
    for value in listed {
        let category =
            as_text(value).ok_or_else(|| DeclarationError::BadCategory { column: column() })?;
        if !seen.insert(category.clone()) {
            return Err(DeclarationError::DuplicateCategory { column: column(), category });
        }
        if let Some(number) = number_spelled(&category) {
            if !number.is_finite() {
                return Err(DeclarationError::NotFiniteCategory { column: column(), category });
            }
            if let Some(other) = numbers.insert((number + 0.0).to_bits(), category.clone()) {
                return Err(DeclarationError::SameNumber { column: column(), category, other });
            }
        }
        categories.push(category);
    }
    Ok(Kind::Categorical { categories })
}

fn check_missing(
    raw: &RawColumn,
    name: &str,
    kind: &Kind,
) -> Result<Vec<String>, DeclarationError> {
    let column = || name.to_owned();
    let marks = match &raw.missing {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.iter().map(as_text).collect(),
        Some(one) => vec![as_text(one)],
    };
    let marks = marks
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| DeclarationError::BadMissing { column: column() })?;
    if let Kind::Categorical { categories } = kind
        && let Some(mark) = marks.iter().find(|m| categories.iter().any(|c| same_value(c, m)))
    {
        return Err(DeclarationError::MissingIsCategory { column: column(), mark: mark.clone() });
    }
    Ok(marks)
}

fn check_task(target: &Column, asked: Option<Task>) -> Result<Task, DeclarationError> {
    let mismatch = |task: Task, needs| DeclarationError::TaskMismatch {
        task: task.name(),
        target: target.name.clone(),
        needs,
    };
    match (&target.kind, asked) {
        (Kind::Categorical { categories }, _) if categories.len() < 2 => {
            Err(DeclarationError::TooFewClasses {
                target: target.name.clone(),
                got: categories.len(),
            })
        }
        (Kind::Categorical { .. }, Some(Task::Regression)) => {
            Err(mismatch(Task::Regression, "regression needs a number with `bounds: {min, max}`"))
        }
        (Kind::Categorical { categories }, Some(Task::Binary)) if categories.len() != 2 => {
            Err(mismatch(Task::Binary, "a binary target has exactly 2 `categories`"))
        }
        // Two classes are -1 and +1, by whatever name the task goes: the losses for them know no other labels.
        (Kind::Categorical { categories }, _) if categories.len() == 2 => Ok(Task::Binary),
        (Kind::Categorical { .. }, _) => Ok(Task::Multiclass),
        (Kind::Number { .. }, None | Some(Task::Regression)) => Ok(Task::Regression),
        (Kind::Number { .. }, Some(task)) => {
            Err(mismatch(task, "classification needs `categories: [...]`, the list of classes"))
        }
        (_, task) => Err(mismatch(
            task.unwrap_or(Task::Regression),
            "a target is one number or one category, not a vector",
        )),
    }
}

fn positive_class(
    raw: &RawDeclaration,
    target: &Column,
    task: Task,
) -> Result<usize, DeclarationError> {
    let (Task::Binary, Kind::Categorical { categories }, Some(positive)) =
        (task, &target.kind, &raw.positive_class)
    else {
        return Ok(1);
    };
    let positive = as_text(positive).unwrap_or_else(|| positive.to_string());
    categories
        .iter()
        .position(|c| *c == positive)
        .ok_or_else(|| DeclarationError::PositiveClass { target: target.name.clone(), positive })
}
