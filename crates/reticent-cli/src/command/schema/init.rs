//! `reticent schema init`: a skeleton from names and types, without a cell.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use reticent::data::table::{FileColumn, FileType, column_texts, columns};
use reticent::problem::declaration::{
    BoundsBasis, Skeleton, SkeletonColumn, SkeletonType, days, moment, spells_missing,
};
use reticent::problem::text::visible;
use reticent::{Error, Paths, write_atomically};
use serde_json::json;

use crate::arguments::{DataArgs, InitArgs};
use crate::output;

/// The separator of categories in a data dictionary.
const SEPARATOR: char = '|';

/// The error for a bound that cannot be read.
const NOT_A_NUMBER: &str =
    "not a number; write it with a point and without separators, such as 1000 or 0.5";

/// The error for an invalid bound of a date column.
const NOT_A_DATE: &str = "not a date; write it as 2024-12-31 or 2024-12-31T23:59:59";

/// The error for an unknown type.
const NOT_A_TYPE: &str =
    "not a type; write integer, real, boolean, categorical or date, or leave the field empty";

pub(super) fn run(args: &InitArgs, json: bool) -> Result<ExitCode, Error> {
    Paths::default()
        .reads("--data", args.data.iter().flat_map(DataArgs::paths))
        .reads("--dictionary", args.dictionary.as_deref())
        .writes("--out", args.out.as_deref())
        .check()?;
    if let Some(out) = &args.out {
        check_new(out, args.force)?;
    }
    let skeleton =
        skeleton(args.data.as_ref(), args.dictionary.as_deref(), args.target.as_deref())?;
    let text = skeleton.to_text();
    match &args.out {
        None if json => output::json(&json!({ "schema": text })),
        None => output::line(text.trim_end()),
        Some(out) => {
            write_atomically(out, text.as_bytes())?;
            if json {
                output::json(&json!({ "out": out, "columns": skeleton.columns.len() }));
            } else {
                output::line(&format!(
                    "wrote {} with {} columns; fill in what is null, then run `reticent schema check {}`",
                    out.display(),
                    skeleton.columns.len(),
                    out.display()
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A schema that is there may be filled in already.
pub(super) fn check_new(out: &Path, force: bool) -> Result<(), Error> {
    if force || !out.exists() {
        return Ok(());
    }
    Err(Error::NotReplaced {
        file: out.display().to_string(),
        why: "it is there and may be filled in already; name another file or add `--force`"
            .to_owned(),
    })
}

/// The schema skeleton from a table's header, its types and a dictionary.
pub(super) fn skeleton(
    data: Option<&DataArgs>,
    words: Option<&Path>,
    target: Option<&str>,
) -> Result<Skeleton, Error> {
    let stated = words.map(dictionary).transpose()?.unwrap_or_default();
    let mut columns = match data {
        Some(data) => of_table(&columns(data.file()?)?, stated),
        None => stated,
    };
    if let Some(target) = target
        && !columns.iter().any(|column| column.name == target)
    {
        // A matrix has no names, and its labels lie in a second file.
        if !columns.iter().any(|column| column.name == FEATURES) {
            return Err(Error::UnknownTarget { target: target.to_owned() });
        }
        columns.push(SkeletonColumn::new(target, None));
    }
    let table = data.and_then(|data| data.typed().next());
    let name = table.or(words).and_then(stem);
    Ok(Skeleton { name, target: target.map(str::to_owned), columns, draft: None })
}

/// The name of the only column of a file without names.
const FEATURES: &str = "features";

/// A file's name up to its first dot.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.split('.').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The columns of a table, with what a dictionary states of them.
fn of_table(found: &[FileColumn], stated: Vec<SkeletonColumn>) -> Vec<SkeletonColumn> {
    let mut stated: HashMap<String, SkeletonColumn> =
        stated.into_iter().map(|column| (column.name.clone(), column)).collect();
    let column = |found: &FileColumn| {
        let name = if found.name.is_empty() { FEATURES } else { &found.name };
        let kind = found.kind.map(|kind| match kind {
            FileType::Integer => SkeletonType::Integer,
            FileType::Real => SkeletonType::Real,
            FileType::Boolean => SkeletonType::Boolean,
            FileType::Text => SkeletonType::Categorical,
            FileType::Date => SkeletonType::Date,
            FileType::Vector(length) => SkeletonType::Vector(length),
            FileType::Other => SkeletonType::Other,
        });
        let mut column = stated.remove(name).unwrap_or_else(|| SkeletonColumn::new(name, None));
        column.kind = column.kind.or(kind.filter(|_| column.categories.is_none()));
        column
    };
    found.iter().map(column).collect()
}

/// The columns that a data dictionary describes. It is public, so its cells may be read.
fn dictionary(path: &Path) -> Result<Vec<SkeletonColumn>, Error> {
    let fields = ["name", "type", "min", "max", "categories", "role"];
    let header = columns(path)?;
    // The header may be written in any case.
    let known = |field: &str| header.iter().find(|c| c.name.eq_ignore_ascii_case(field));
    let mut texts = HashMap::new();
    for field in fields {
        let name = match known(field) {
            Some(column) => column.name.clone(),
            None if field == "name" => field.to_owned(), // refused as absent
            None => continue,
        };
        texts.insert(field, column_texts(path, &[name])?.swap_remove(0));
    }
    let rows = texts.get("name").map_or(0, Vec::len);
    let cell = |field: &str, row: usize| {
        let text = texts.get(field)?.get(row)?.trim();
        (!text.is_empty()).then_some(text)
    };
    let refuse = |field: &str, row: usize, got: &str, expected: &str| Error::Owner {
        file: path.display().to_string(),
        // The header is line 1.
        why: format!(
            "cannot be used as a data dictionary: in line {}, field `{field}`, `{}` is {expected}",
            row + 2,
            visible(got)
        ),
    };
    let column = |row: usize| -> Result<SkeletonColumn, Error> {
        let role = cell("role", row).map(str::to_ascii_lowercase);
        // Of a column that is left out any type may be stated.
        let used = role.as_deref().is_none_or(|role| matches!(role, "feature" | "target"));
        let kind = match cell("type", row) {
            None => None,
            Some(text) => match SkeletonType::named(text) {
                None if used => return Err(refuse("type", row, text, NOT_A_TYPE)),
                kind => kind,
            },
        };
        let is_date = matches!(kind, Some(SkeletonType::Date));
        let end = |field: &str| match cell(field, row) {
            None => Ok(None),
            Some(text) if spells_missing(text.as_bytes()) => Ok(None),
            Some(text) if is_date => match moment(text, None).map(days) {
                Some(day) => Ok(Some(day)),
                None => Err(refuse(field, row, text, NOT_A_DATE)),
            },
            Some(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(refuse(field, row, text, NOT_A_NUMBER)),
            },
        };
        let ends = [end("min")?, end("max")?];
        Ok(SkeletonColumn {
            role,
            ends,
            basis: ends.iter().all(Option::is_some).then_some(BoundsBasis::DataDictionary),
            categories: cell("categories", row)
                .map(|list| list.split(SEPARATOR).map(|one| one.trim().to_owned()).collect()),
            ..SkeletonColumn::new(cell("name", row).unwrap_or_default(), kind)
        })
    };
    (0..rows).map(column).collect()
}
