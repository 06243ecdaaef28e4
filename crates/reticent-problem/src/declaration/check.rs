//! From the file as written to a checked declaration: every refusal of a schema is here.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::curve::{Basis, Curve, Knots, MOST_KNOTS, Scale, Shape};
use super::date::{DateColumn, DatePart, PartForm, days, is_format, moment, moment_of_days};
use super::error::DeclarationError;
use super::hash::{MOST_BUCKETS, SEED};
use super::layout::NORMS;
use super::published::Scalar;
use super::raw::{
    RawBasis, RawBounds, RawColumn, RawCurve, RawDeclaration, RawMissing, RawParts, RawRange,
    as_text,
};
use super::schema::{
    BoundsBasis, Column, Declaration, Kind, MOST_FEATURES, Role, TaskKind, VectorBounds,
};
use super::spelling::{number_spelled, same_value};
use super::unpublished;
use super::weights::can_weigh;
use crate::{MOST_ROWS, Unit, Weighting};

/// The most characters of a table's name.
const MOST_NAME: usize = 200;

/// The most characters of a published description.
const MOST_DESCRIPTION: usize = 2000;

/// Roles that leave a column out of the features.
const IGNORED: &[&str] = &["ignore", "ignored", "id", "raw", "leakage", "leaking", "note"];
const IGNORED_LIST: &str = "`ignore`, `id`, `raw`, `leakage`, `note`";

/// The role of the column that holds the weights of rows, and that of their exposures.
const WEIGHT: &str = "weight";
const EXPOSURE: &str = "exposure";

/// A role that looks as if it protected a person and does not: it is the unit's column or refused.
const GROUP: &str = "group";

impl TryFrom<RawDeclaration> for Declaration {
    type Error = DeclarationError;

    fn try_from(mut raw: RawDeclaration) -> Result<Self, DeclarationError> {
        if raw.columns.is_empty() {
            return Err(DeclarationError::NoColumns);
        }
        raw.columns = raw.columns.into_iter().map(RawColumn::with_truth_values).collect();
        let Parts { target, asked, unit, columns } = check_each(&raw)?;
        check_part_names(&columns)?;
        let task = check_task(&columns[target], asked)?;
        let positive = positive_class(&raw, &columns[target], task)?;
        if !columns.iter().any(|c| c.role == Role::Feature) {
            return Err(DeclarationError::NoFeatures);
        }
        let mut weights = columns.iter().filter(|c| c.role.weighs());
        if let (Some(_), Some(second)) = (weights.next(), weights.next()) {
            return Err(DeclarationError::TwoWeights { column: second.name.clone() });
        }
        if task != TaskKind::Regression
            && let Some(column) = columns.iter().find(|c| c.role == Role::Exposure)
        {
            return Err(DeclarationError::ExposureOfClasses { column: column.name.clone() });
        }
        let interactions = check_pairs(raw.interactions.as_deref().unwrap_or_default(), &columns)?;
        let name = check_text("name", raw.name.as_deref(), MOST_NAME)?;
        let description = raw.publish.as_ref().and_then(|publish| publish.description.as_deref());
        let description = check_text("publish.description", description, MOST_DESCRIPTION)?;
        let unpublished = unpublished::paths(&raw, &columns, task);
        Ok(Self {
            raw,
            name,
            description,
            unpublished,
            columns,
            target,
            task,
            positive,
            interactions,
            unit,
        })
    }
}

/// The parts of a declaration, each checked on its own.
struct Parts {
    target: usize,
    asked: Option<TaskKind>,
    unit: Option<Unit>,
    columns: Vec<Column>,
}

/// Names, target, task and every column on its own: all that is wrong with them is said at once.
fn check_each(raw: &RawDeclaration) -> Result<Parts, DeclarationError> {
    let mut problems = Vec::new();
    problems.extend(check_names(&raw.columns).err());
    let target = find_target(raw);
    let asked = raw.task.as_deref().map(task_of).transpose();
    let task = asked.as_ref().ok().copied().flatten();
    let unit = check_unit(raw, target.as_ref().ok().copied());
    let of_rows = unit.as_ref().ok().and_then(Option::as_ref);
    let mut columns = Vec::with_capacity(raw.columns.len());
    for (i, column) in raw.columns.iter().enumerate() {
        let named = column.role.as_deref().is_some_and(|role| role.trim() == "target");
        let is_target = target.as_ref().map_or(named, |target| *target == i);
        let is_unit = of_rows.is_some_and(|unit| unit.column == column.name.trim());
        match check_column(column, is_target, is_unit, task) {
            Ok(column) => columns.push(column),
            Err(problem) => problems.push(problem),
        }
    }
    match (target, asked, unit) {
        (Ok(target), Ok(asked), Ok(unit)) if problems.is_empty() => {
            return Ok(Parts { target, asked, unit, columns });
        }
        (target, asked, unit) => {
            problems.extend(target.err());
            problems.extend(asked.err());
            problems.extend(unit.err());
        }
    }
    Err(DeclarationError::together(problems).unwrap_or(DeclarationError::NoColumns))
}

/// The declared unit: an identifier and a cap, both public.
fn check_unit(
    raw: &RawDeclaration,
    target: Option<usize>,
) -> Result<Option<Unit>, DeclarationError> {
    let Some(unit) = &raw.unit else { return Ok(None) };
    let column = unit.column.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let column = column.ok_or(DeclarationError::NoUnitColumn)?.to_owned();
    if column.chars().any(char::is_control) {
        return Err(DeclarationError::BadText { field: "unit.column", most: MOST_NAME });
    }
    let weighting = unit.weighting.as_deref().map_or(Ok(Weighting::Equal), |word| {
        Weighting::named(word)
            .ok_or_else(|| DeclarationError::UnknownWeighting { got: word.trim().to_owned() })
    })?;
    let max_rows =
        unit.max_rows.ok_or_else(|| DeclarationError::NoMaxRows { column: column.clone() })?;
    let max_rows = usize::try_from(max_rows)
        .ok()
        .filter(|rows| (1..=MOST_ROWS).contains(rows))
        .ok_or(DeclarationError::BadMaxRows { got: max_rows })?;
    let declared = raw.columns.iter().position(|c| c.name.trim() == column);
    if let Some(place) = declared {
        let role = raw.columns[place].role.as_deref().map(str::trim);
        if Some(place) == target || matches!(role, None | Some("feature")) {
            return Err(DeclarationError::UnitIsFeature { column });
        }
    }
    Ok(Some(Unit { column, max_rows, weighting }))
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

/// No column is called like a part of a date, as which its features would be named.
fn check_part_names(columns: &[Column]) -> Result<(), DeclarationError> {
    for column in columns {
        for (part, _) in column.date.iter().flat_map(|date| &date.parts) {
            let name = format!("{}.{}", column.name, part.name());
            if columns.iter().any(|other| other.name == name) {
                return Err(DeclarationError::DuplicateColumn { column: name });
            }
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

fn task_of(task: &str) -> Result<TaskKind, DeclarationError> {
    match task.trim() {
        "binary_classification" | "binary" => Ok(TaskKind::Binary),
        "multiclass_classification" | "multiclass" => Ok(TaskKind::Multiclass),
        "regression" => Ok(TaskKind::Regression),
        other => Err(DeclarationError::UnknownTask { task: other.to_owned() }),
    }
}

fn check_column(
    raw: &RawColumn,
    is_target: bool,
    is_unit: bool,
    task: Option<TaskKind>,
) -> Result<Column, DeclarationError> {
    let name = raw.name.trim().to_owned();
    let role = match raw.role.as_deref().map(str::trim) {
        _ if is_target => Role::Target,
        None | Some("feature") => Role::Feature,
        Some(_) if is_unit => Role::Ignored("unit".to_owned()),
        Some(WEIGHT) => Role::Weight,
        Some(EXPOSURE) => Role::Exposure,
        Some(GROUP) => return Err(DeclarationError::GroupRole { column: name }),
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
    let kind = match role {
        Role::Ignored(_) => ignored_kind(raw),
        Role::Weight => weight_kind(raw, &name, 0.0)?,
        Role::Exposure => weight_kind(raw, &name, f64::MIN_POSITIVE)?,
        Role::Feature | Role::Target => check_kind(raw, &name, is_target, task)?,
    };
    let Missing { marks: missing, indicator: missing_indicator, fill } =
        if ignored { Missing::default() } else { check_missing(raw, &name, &kind, is_target)? };
    if role.weighs() && (missing_indicator || fill.is_some()) {
        return Err(DeclarationError::BadWeight { column: name });
    }
    let other = if ignored || is_target { None } else { check_other(raw, &name, &kind)? };
    let date = if ignored { None } else { check_date(raw, &name, is_target)? };
    let thousands =
        if ignored { None } else { check_thousands(raw, &name, &kind, date.is_some())? };
    let shape = match &raw.basis {
        Some(basis) if role == Role::Feature => Some(check_shape(basis, &name, &kind)?),
        _ => None,
    };
    let integer = raw.kind.as_deref().is_some_and(|k| is_integer(&k.trim().to_ascii_lowercase()));
    let scalars = match (&kind, &raw.categories) {
        (Kind::Categorical { categories }, Some(declared)) => {
            declared.iter().zip(categories).map(|(value, text)| Scalar::new(value, text)).collect()
        }
        _ => Vec::new(),
    };
    let basis = raw.range().and_then(|b| b.basis.as_deref()).and_then(BoundsBasis::named);
    let named = |word: &Option<String>, used: bool| {
        word.as_deref().filter(|_| used).and_then(BoundsBasis::named)
    };
    let is_categorical = matches!(kind, Kind::Categorical { .. });
    Ok(Column {
        categories_basis: named(&raw.categories_basis, is_categorical),
        knots_basis: named(&raw.knots_basis, shape.is_some()),
        role,
        kind,
        missing,
        basis,
        integer,
        date,
        thousands,
        shape,
        missing_indicator: missing_indicator && !is_target,
        fill: fill.filter(|_| !is_target),
        other,
        leaks_target: raw.leaks_target,
        scalars,
        name,
    })
}

fn ignored_kind(raw: &RawColumn) -> Kind {
    Kind::Other(raw.kind.clone().unwrap_or_else(|| "unstated".to_owned()))
}

/// The kind of a column of weights: numbers with bounds that are no less than `least`.
fn weight_kind(raw: &RawColumn, name: &str, least: f64) -> Result<Kind, DeclarationError> {
    let kind = check_kind(raw, name, false, None).ok().filter(can_weigh);
    let kind = kind.filter(|kind| matches!(kind, Kind::Number { min, .. } if *min >= least));
    let written = raw.kind.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
    kind.filter(|_| !written.as_deref().is_some_and(is_date))
        .ok_or_else(|| DeclarationError::BadWeight { column: name.to_owned() })
}

fn check_kind(
    raw: &RawColumn,
    name: &str,
    is_target: bool,
    task: Option<TaskKind>,
) -> Result<Kind, DeclarationError> {
    let written = raw.kind.as_deref().map(|k| k.trim().to_ascii_lowercase());
    let classified = is_target && task != Some(TaskKind::Regression) && raw.categories.is_some();
    let vector = raw.shape.is_some() || raw.dimension.is_some();
    match written.as_deref() {
        _ if raw.hash.is_some() => hashed(raw, name, is_target),
        Some(kind) if is_date(kind) && !is_target => dates(raw, name),
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

/// Whether a type is that of dates.
fn is_date(kind: &str) -> bool {
    matches!(kind, "date" | "datetime" | "timestamp")
}

/// Bounds that are dates, in days since 1970-01-01.
fn dates(raw: &RawColumn, name: &str) -> Result<Kind, DeclarationError> {
    let end = |end: Option<&Value>| days_of(end?).map(days);
    let ends = raw.range().filter(|bounds| !bounds.unbounded);
    let ends = ends.and_then(|bounds| end(bounds.min.as_ref()).zip(end(bounds.max.as_ref())));
    match ends.filter(|(min, max)| min < max) {
        Some((min, max)) => Ok(Kind::Number { min, max }),
        None => Err(DeclarationError::BadDates { column: name.to_owned() }),
    }
}

/// The moment that a value of a schema names.
fn days_of(value: &Value) -> Option<i64> {
    moment(value.as_str()?.trim(), None)
}

fn check_date(
    raw: &RawColumn,
    name: &str,
    is_target: bool,
) -> Result<Option<DateColumn>, DeclarationError> {
    let written = raw.kind.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
    if is_target || raw.hash.is_some() || !written.as_deref().is_some_and(is_date) {
        return Ok(None);
    }
    let column = || name.to_owned();
    let format = raw.format.as_deref().map(str::trim).map(str::to_owned);
    if format.as_deref().is_some_and(|format| !is_format(format)) {
        return Err(DeclarationError::BadFormat { column: column() });
    }
    let named: Vec<(&str, &str)> = match &raw.parts {
        None => Vec::new(),
        Some(RawParts::Names(names)) => names.iter().map(|n| (n.as_str(), "periodic")).collect(),
        Some(RawParts::Forms(forms)) => {
            forms.iter().map(|(name, form)| (name.as_str(), form.as_str())).collect()
        }
    };
    let part = |(name, form): &(&str, &str)| DatePart::named(name).zip(PartForm::named(form));
    let parts: Option<Vec<_>> = named.iter().map(part).collect();
    let mut parts = parts.ok_or_else(|| DeclarationError::BadParts { column: column() })?;
    parts.sort_by_key(|part| part.0);
    if parts.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(DeclarationError::BadParts { column: column() });
    }
    Ok(Some(DateColumn { format, parts }))
}

/// Buckets in place of a list of categories, or for words.
fn hashed(raw: &RawColumn, name: &str, is_target: bool) -> Result<Kind, DeclarationError> {
    let bad = || DeclarationError::BadHash { column: name.to_owned(), most: MOST_BUCKETS };
    let written = raw.kind.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
    let words = match written.as_deref() {
        None | Some("categorical" | "category" | "enum") => false,
        Some("text" | "string" | "str") => true,
        Some(_) => return Err(bad()),
    };
    let hash = raw.hash.as_ref().filter(|_| !is_target && raw.categories.is_none());
    let buckets = hash.and_then(|hash| usize::try_from(hash.buckets?).ok());
    let buckets = buckets.filter(|buckets| (2..=MOST_BUCKETS).contains(buckets)).ok_or_else(bad)?;
    let seed = hash.and_then(|hash| hash.seed).unwrap_or(SEED);
    Ok(Kind::Hashed { buckets, seed, words })
}

fn check_thousands(
    raw: &RawColumn,
    name: &str,
    kind: &Kind,
    date: bool,
) -> Result<Option<char>, DeclarationError> {
    let Some(mark) = raw.thousands.as_deref() else { return Ok(None) };
    let is_number = matches!(kind, Kind::Number { .. }) && !date;
    match mark {
        "," | "." | " " | "'" if is_number => Ok(mark.chars().next()),
        _ => Err(DeclarationError::BadThousands { column: name.to_owned() }),
    }
}

fn is_number(kind: &str) -> bool {
    let bits = |rest: &str| matches!(rest, "" | "8" | "16" | "32" | "64");
    matches!(kind, "integer" | "number" | "numeric" | "real" | "double")
        || ["int", "uint", "float"].iter().any(|p| kind.strip_prefix(p).is_some_and(bits))
}

fn is_integer(kind: &str) -> bool {
    is_number(kind) && kind.contains("int")
}

/// How a number enters the model.
fn check_shape(basis: &RawBasis, name: &str, kind: &Kind) -> Result<Shape, DeclarationError> {
    let column = || name.to_owned();
    let Kind::Number { min, max } = *kind else {
        return Err(DeclarationError::BasisOfNoNumber { column: column() });
    };
    let word = |kind: &str| match kind.trim() {
        "linear" => Ok(None),
        "tent" => Ok(Some(Basis::Tent)),
        "bins" => Ok(Some(Basis::Bins)),
        other => Err(DeclarationError::UnknownBasis { column: column(), kind: other.to_owned() }),
    };
    let of_word = RawCurve::default();
    let (basis, raw) = match basis {
        RawBasis::Word(kind) => (word(kind)?, &of_word),
        RawBasis::Object(raw) => (raw.kind.as_deref().map_or(Ok(Some(Basis::Tent)), word)?, raw),
    };
    let Some(basis) = basis else {
        if raw.knots.is_some() || raw.scale.is_some() {
            return Err(DeclarationError::LinearWithKnots { column: column() });
        }
        return Ok(Shape::Linear);
    };
    if max.is_infinite() {
        return Err(DeclarationError::CurveWithoutBounds { column: column() });
    }
    let scale = raw.scale.as_deref().map_or(Ok(Scale::Linear), |scale| {
        let known = Scale::named(scale).filter(|known| known.serves(min));
        known.ok_or_else(|| DeclarationError::BadScale {
            column: column(),
            scale: scale.to_owned(),
            words: Scale::WORDS,
        })
    })?;
    let ok = match &raw.knots {
        None => true,
        Some(Knots::Count(count)) => (2..=MOST_KNOTS).contains(count),
        Some(Knots::At(places)) => {
            (2..=MOST_KNOTS).contains(&places.len())
                && places.first() == Some(&min)
                && places.last() == Some(&max)
                && places.windows(2).all(|pair| pair[0] < pair[1])
        }
    };
    if !ok {
        return Err(DeclarationError::BadKnots { column: column(), min, max, most: MOST_KNOTS });
    }
    let shape = Shape::Curve { basis, scale, knots: raw.knots.clone() };
    if Curve::of(Some(&shape), (min, max), false, None).is_some_and(|curve| !curve.rises()) {
        return Err(DeclarationError::KnotsCoincide { column: column() });
    }
    Ok(shape)
}

/// Pairs of features, each named once.
pub(super) fn check_pairs(
    raw: &[Vec<String>],
    columns: &[Column],
) -> Result<Vec<[String; 2]>, DeclarationError> {
    let mut pairs: Vec<[String; 2]> = Vec::with_capacity(raw.len());
    for names in raw {
        let trimmed: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let [first, second]: [String; 2] = trimmed
            .try_into()
            .map_err(|names: Vec<String>| DeclarationError::NotAPair { got: names.len() })?;
        for name in [&first, &second] {
            let known = columns.iter().find(|c| c.name == *name && c.role == Role::Feature);
            if !known.is_some_and(|c| match c.kind {
                Kind::Number { max, .. } => max.is_finite(),
                Kind::Categorical { .. } => true,
                _ => false,
            }) {
                return Err(DeclarationError::BadPairColumn { column: name.clone() });
            }
        }
        let same = |pair: &[String; 2]| pair.contains(&first) && pair.contains(&second);
        if first == second || pairs.iter().any(same) {
            return Err(DeclarationError::PairTwice { first, second });
        }
        pairs.push([first, second]);
    }
    Ok(pairs)
}

fn interval(raw: &RawColumn, name: &str) -> Result<Kind, DeclarationError> {
    let (min, max) = min_max(raw, name)?.ok_or_else(|| missing_bounds(raw, name))?;
    Ok(Kind::Number { min, max })
}

/// Fields that people write in place of `bounds`.
const MISPLACED: &[&str] = &["bound", "max", "maximum", "min", "minimum", "range"];

fn missing_bounds(raw: &RawColumn, name: &str) -> DeclarationError {
    let column = name.to_owned();
    match raw.unknown.0.iter().find(|field| MISPLACED.contains(&field.as_str())) {
        Some(found) => DeclarationError::MisplacedBounds { column, found: found.clone() },
        None if raw.kind.is_none() && raw.range().is_some_and(RawBounds::is_blank) => {
            DeclarationError::Blank { column }
        }
        None => DeclarationError::MissingBounds { column },
    }
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
    let norm = raw.range().and_then(|b| b.l2_norm_max);
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
    let Some(range) = &raw.bounds else { return Ok(None) };
    let RawRange::Object(bounds) = range else {
        return Err(DeclarationError::BoundsForm { column: name.to_owned() });
    };
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

/// The category that undeclared ones count as: one of the list.
fn check_other(
    raw: &RawColumn,
    name: &str,
    kind: &Kind,
) -> Result<Option<usize>, DeclarationError> {
    let Some(value) = &raw.other else { return Ok(None) };
    let place = match (kind, as_text(value)) {
        (Kind::Categorical { categories }, Some(text)) => {
            categories.iter().position(|category| *category == text)
        }
        _ => None,
    };
    place.map(Some).ok_or_else(|| DeclarationError::BadOther { column: name.to_owned() })
}

/// The declared handling of missing values.
#[derive(Default)]
struct Missing {
    marks: Vec<String>,
    indicator: bool,
    fill: Option<f64>,
}

/// The middle of a column's bounds.
pub(super) fn middle(min: f64, max: f64, date: bool) -> f64 {
    let middle = min + 0.5 * (max - min);
    // A date is published as a text, which has microseconds.
    if date { days(moment_of_days(middle)) } else { middle }
}

/// The number that a missing one counts as.
fn check_fill(fill: &Value, name: &str, kind: &Kind, date: bool) -> Result<f64, DeclarationError> {
    let within = |number: &f64, min: f64, max: f64| (min..=max).contains(number);
    let number = match (kind, fill) {
        (Kind::Number { min, max }, _) if max.is_infinite() || min.is_infinite() => None,
        (Kind::Number { min, max }, Value::String(word)) if word.trim() == "middle" => {
            Some(middle(*min, *max, date))
        }
        (Kind::Number { min, max }, _) if date => {
            days_of(fill).map(days).filter(|number| within(number, *min, *max))
        }
        (Kind::Number { min, max }, Value::Number(number)) => {
            number.as_f64().filter(|number| within(number, *min, *max))
        }
        _ => None,
    };
    number.ok_or_else(|| DeclarationError::BadFill { column: name.to_owned() })
}

fn check_missing(
    raw: &RawColumn,
    name: &str,
    kind: &Kind,
    is_target: bool,
) -> Result<Missing, DeclarationError> {
    let written = raw.kind.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
    let date = !is_target && written.as_deref().is_some_and(is_date);
    let column = || name.to_owned();
    let bad = || DeclarationError::BadMissing { column: column() };
    let (given, indicator, fill) = match &raw.missing {
        Some(Value::String(word)) if word.trim() == "indicator" => (None, true, None),
        Some(Value::Object(fields)) => {
            if fields.is_empty() {
                return Err(bad());
            }
            let object: RawMissing = raw
                .missing
                .clone()
                .and_then(|value| serde_json::from_value(value).ok())
                .filter(|object: &RawMissing| object.unknown.0.is_empty())
                .ok_or_else(bad)?;
            if object.indicator && object.fill.is_some() {
                return Err(DeclarationError::FillAndIndicator { column: column() });
            }
            (object.marks, object.indicator, object.fill)
        }
        given => (given.clone(), false, None),
    };
    let fill = fill.map(|fill| check_fill(&fill, name, kind, date)).transpose()?;
    if indicator && matches!(kind, Kind::Vector { .. } | Kind::Other(_)) {
        return Err(DeclarationError::IndicatorOfVector { column: column() });
    }
    let marks = match &given {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.iter().map(as_text).collect(),
        Some(one) => vec![as_text(one)],
    };
    let marks = marks.into_iter().collect::<Option<Vec<_>>>().ok_or_else(bad)?;
    if let Kind::Categorical { categories } = kind
        && let Some(mark) = marks.iter().find(|m| categories.iter().any(|c| same_value(c, m)))
    {
        return Err(DeclarationError::MissingIsCategory { column: column(), mark: mark.clone() });
    }
    Ok(Missing { marks, indicator, fill })
}

fn check_task(target: &Column, asked: Option<TaskKind>) -> Result<TaskKind, DeclarationError> {
    let mismatch = |task: TaskKind, needs| DeclarationError::TaskMismatch {
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
        (Kind::Categorical { .. }, Some(TaskKind::Regression)) => Err(mismatch(
            TaskKind::Regression,
            "regression needs a number with `bounds: {min, max}`",
        )),
        (Kind::Categorical { categories }, Some(TaskKind::Binary)) if categories.len() != 2 => {
            Err(mismatch(TaskKind::Binary, "a binary target has exactly 2 `categories`"))
        }
        // Two classes are -1 and +1, by whatever name the task goes: the losses for them know no
        // other labels.
        (Kind::Categorical { categories }, _) if categories.len() == 2 => Ok(TaskKind::Binary),
        (Kind::Categorical { .. }, _) => Ok(TaskKind::Multiclass),
        (Kind::Number { .. }, None | Some(TaskKind::Regression)) => Ok(TaskKind::Regression),
        (Kind::Number { .. }, Some(task)) => {
            Err(mismatch(task, "classification needs `categories: [...]`, the list of classes"))
        }
        (_, task) => Err(mismatch(
            task.unwrap_or(TaskKind::Regression),
            "a target is one number or one category, not a vector",
        )),
    }
}

fn positive_class(
    raw: &RawDeclaration,
    target: &Column,
    task: TaskKind,
) -> Result<usize, DeclarationError> {
    let (TaskKind::Binary, Kind::Categorical { categories }, Some(positive)) =
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
