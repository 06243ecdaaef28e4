//! Facts of a release that no program can know: `release.toml`, written by the curator.

use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use toml::value::Datetime;

use crate::Error;
use crate::files::read_text;

/// The sectors that the registry of deployments has.
const SECTORS: [&str; 6] =
    ["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"];

/// The curator's statements about a release.
///
/// # Example
///
/// ```
/// use reticent::report::Owner;
///
/// let error = Owner::from_toml("name = 'Readmissions'", "release.toml").unwrap_err();
/// assert!(error.to_string().contains("lacks `curators`, `intended_use`"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    pub(super) name: String,
    pub(super) slug: Option<String>,
    pub(super) curators: Vec<String>,
    pub(super) intended_use: String,
    pub(super) region: String,
    pub(super) sector: Option<String>,
    pub(super) publication_date: String,
    pub(super) row: String,
    pub(super) releases: Releases,
    pub(super) source: Source,
    pub(super) justification: String,
    pub(super) authors: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) release_plan: Option<String>,
    pub(super) actors: Option<String>,
    pub(super) unprotected: Option<String>,
    pub(super) exploration: Option<String>,
    pub(super) security: Option<String>,
    pub(super) sources: Option<String>,
    pub(super) notes: Option<String>,
}

/// Whether the curator will release from the same people again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Releases {
    /// This one only.
    #[default]
    One,
    /// More over time.
    Many,
}

/// Whether new rows come in over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    /// The table stays as it is.
    #[default]
    Static,
    /// It grows or changes.
    Dynamic,
}

/// The file as it is written: anything may be missing.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    name: Option<String>,
    slug: Option<String>,
    curators: Vec<String>,
    intended_use: Option<String>,
    region: Option<String>,
    sector: Option<String>,
    publication_date: Option<Day>,
    row: Option<String>,
    releases: Option<Releases>,
    source: Option<Source>,
    justification: Option<String>,
    authors: Vec<String>,
    description: Option<String>,
    release_plan: Option<String>,
    actors: Option<String>,
    unprotected: Option<String>,
    exploration: Option<String>,
    security: Option<String>,
    sources: Option<String>,
    notes: Option<String>,
}

/// A day, in quotes or without.
#[derive(Deserialize)]
#[serde(untagged)]
enum Day {
    Date(Datetime),
    Text(String),
}

impl Owner {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`Error::Owner`] says all that is missing at once; [`Error::File`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        if !path.exists() {
            return Err(wrong(&file, format!("is not there; write it with {}", list(&REQUIRED))));
        }
        Self::from_toml(&read_text(path)?, &file)
    }

    /// Reads the text of a file that messages call `file`.
    ///
    /// # Errors
    ///
    /// [`Error::Owner`].
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Error> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
            let message = error.message().replace('\n', " ");
            wrong(file, format!("cannot be read: line {line}: {message}; correct that line"))
        })?;
        raw.check(file)
    }
}

/// The fields that have to be there.
const REQUIRED: [&str; 10] = [
    "name",
    "curators",
    "intended_use",
    "region",
    "publication_date",
    "row",
    "releases",
    "source",
    "justification",
    "authors",
];

fn wrong(file: &str, why: String) -> Error {
    Error::Owner { file: file.to_owned(), why }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The text, if it says anything.
fn said(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn all_said(texts: Vec<String>) -> Option<Vec<String>> {
    let texts: Vec<String> = texts.into_iter().filter_map(|text| said(Some(text))).collect();
    (!texts.is_empty()).then_some(texts)
}

impl Raw {
    fn check(self, file: &str) -> Result<Owner, Error> {
        let day = self.publication_date.map(|day| date(day, file)).transpose()?;
        let sector = said(self.sector);
        if sector.as_ref().is_some_and(|sector| !SECTORS.contains(&sector.as_str())) {
            let why = format!("has a `sector` that the registry does not: use {}", list(&SECTORS));
            return Err(wrong(file, why));
        }
        let slug = said(self.slug);
        let is_slug = |text: &String| {
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        if slug.as_ref().is_some_and(|slug| !is_slug(slug)) {
            let why = "has a `slug` with other characters than a to z, 0 to 9 and -; leave it out \
                       to get one from `name`";
            return Err(wrong(file, why.to_owned()));
        }
        let mut missing = Vec::new();
        let owner = Owner {
            name: need(said(self.name), "name", &mut missing),
            slug,
            curators: need(all_said(self.curators), "curators", &mut missing),
            intended_use: need(said(self.intended_use), "intended_use", &mut missing),
            region: need(said(self.region), "region", &mut missing),
            sector,
            publication_date: need(day, "publication_date", &mut missing),
            row: need(said(self.row), "row", &mut missing),
            releases: need(self.releases, "releases", &mut missing),
            source: need(self.source, "source", &mut missing),
            justification: need(said(self.justification), "justification", &mut missing),
            authors: need(all_said(self.authors), "authors", &mut missing),
            description: said(self.description),
            release_plan: said(self.release_plan),
            actors: said(self.actors),
            unprotected: said(self.unprotected),
            exploration: said(self.exploration),
            security: said(self.security),
            sources: said(self.sources),
            notes: said(self.notes),
        };
        if missing.is_empty() {
            return Ok(owner);
        }
        Err(wrong(file, format!("lacks {}; add what only the curator knows", list(&missing))))
    }
}

/// The value of a required field; where it is absent, its name is noted and the value never used.
fn need<T: Default>(value: Option<T>, name: &'static str, missing: &mut Vec<&'static str>) -> T {
    value.unwrap_or_else(|| {
        missing.push(name);
        T::default()
    })
}

/// The day as `YYYY-MM-DD`.
fn date(day: Day, file: &str) -> Result<String, Error> {
    let found = match day {
        Day::Date(date) => Some(date),
        Day::Text(text) => Datetime::from_str(text.trim()).ok(),
    };
    if let Some(Datetime { date: Some(date), time: None, offset: None }) = found {
        return Ok(date.to_string());
    }
    let why = "has a `publication_date` that is no day: write it as 2026-11-18";
    Err(wrong(file, why.to_owned()))
}
