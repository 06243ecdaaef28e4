//! Fields of a schema file that have no effect and are not published: the owner is told their
//! names.

use super::raw::{RawBasis, RawBounds, RawColumn, RawDeclaration, Unknown};
use super::schema::{Column, Kind, Role, TaskKind, VectorBounds};

/// The path of every field that has no effect, such as `class_counts` or `columns[3].bounds.note`,
/// in the order of the file's columns. Values are not looked at.
pub(super) fn paths(raw: &RawDeclaration, columns: &[Column], task: TaskKind) -> Vec<String> {
    let mut paths = Vec::new();
    list("", &raw.unknown, &mut paths);
    if let Some(publish) = &raw.publish {
        list("publish.", &publish.unknown, &mut paths);
    }
    if let Some(unit) = &raw.unit {
        list("unit.", &unit.unknown, &mut paths);
    }
    if raw.positive_class.is_some() && task != TaskKind::Binary {
        paths.push("positive_class".to_owned());
    }
    for (i, (raw, column)) in raw.columns.iter().zip(columns).enumerate() {
        let at = format!("columns[{i}].");
        list(&at, &raw.unknown, &mut paths);
        if let Some(bounds) = raw.range() {
            list(&format!("{at}bounds."), &bounds.unknown, &mut paths);
        }
        if let Some(RawBasis::Object(curve)) = &raw.basis {
            list(&format!("{at}basis."), &curve.unknown, &mut paths);
        }
        if let Some(hash) = &raw.hash {
            list(&format!("{at}hash."), &hash.unknown, &mut paths);
        }
        // A column that is left out is not published at all.
        if !matches!(column.role, Role::Ignored(_)) {
            paths.extend(unused(raw, column).into_iter().map(|field| format!("{at}{field}")));
        }
    }
    paths
}

/// Keys as text for people: a name of a field may hold anything.
fn list(at: &str, unknown: &Unknown, paths: &mut Vec<String>) {
    paths.extend(unknown.0.iter().map(|key| format!("{at}{}", key.escape_debug())));
}

/// Known fields that mean nothing for a column of this kind.
fn unused(raw: &RawColumn, column: &Column) -> Vec<&'static str> {
    let mut fields = Vec::new();
    let mut unless = |used: bool, given: bool, field| {
        if given && !used {
            fields.push(field);
        }
    };
    let is_vector = matches!(column.kind, Kind::Vector { .. });
    let is_categorical = matches!(column.kind, Kind::Categorical { .. });
    unless(is_categorical, raw.categories.is_some(), "categories");
    let stated = raw.categories_basis.is_some();
    unless(column.categories_basis.is_some(), stated, "categories_basis");
    let is_date = column.date.is_some();
    unless(is_date, raw.format.is_some(), "format");
    unless(is_date, raw.parts.is_some(), "parts");
    unless(matches!(column.kind, Kind::Hashed { .. }), raw.hash.is_some(), "hash");
    unless(column.thousands.is_some(), raw.thousands.is_some(), "thousands");
    unless(column.other.is_some(), raw.other.is_some(), "other");
    unless(column.shape.is_some(), raw.basis.is_some(), "basis");
    unless(column.knots_basis.is_some(), raw.knots_basis.is_some(), "knots_basis");
    unless(is_vector, raw.shape.is_some(), "shape");
    unless(is_vector && raw.shape.is_none(), raw.dimension.is_some(), "dimension");
    let blank = raw.range().is_some_and(RawBounds::is_blank);
    let has_bounds = matches!(column.kind, Kind::Number { .. } | Kind::Vector { .. });
    unless(has_bounds, raw.bounds.is_some() && !blank, "bounds");
    if let Some(bounds) = raw.range().filter(|_| has_bounds) {
        let by_norm = matches!(column.kind, Kind::Vector { bounds: VectorBounds::Norm(_), .. });
        unless(!by_norm, bounds.min.is_some(), "bounds.min");
        unless(!by_norm, bounds.max.is_some(), "bounds.max");
        unless(by_norm, bounds.l2_norm_max.is_some(), "bounds.l2_norm_max");
        unless(column.basis.is_some(), bounds.basis.is_some(), "bounds.basis");
    }
    fields
}
