//! A declaration explained column by column, for `reticent schema check`.

use std::fmt;

use serde::Serialize;

use super::encoding::{Encoding, NumericRange};
use super::error::DeclarationError;
use super::layout::{InputKind, Labels, Layout, input_kind};
use super::schema::{Basis, Column, Declaration, Role, Task};
use super::spelling::MISSING_SPELLINGS;
use crate::text::visible;

/// What becomes of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedColumn {
    /// The column.
    pub name: String,
    /// Its part: `feature`, `target`, `dropped`, or the role that leaves it out.
    pub role: String,
    /// How it is encoded, or why it is not.
    pub encoding: String,
    /// How many features it gives.
    pub features: usize,
    /// What it adds to the squared norm bound.
    pub squared_bound: f64,
}

/// What a declaration and an encoding amount to, in words and numbers. Reads no row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The table's name.
    pub name: Option<String>,
    /// What the owner wants everybody to read of the table.
    pub description: Option<String>,
    /// The task.
    pub task: Task,
    /// The columns in declared order.
    pub columns: Vec<ExplainedColumn>,
    /// How many features a row has, intercept included.
    pub dimension: usize,
    /// The bound that follows from the columns.
    pub structural_bound: f64,
    /// The bound on a whole row after clipping or normalising.
    pub norm_bound: f64,
    /// The bound on a label.
    pub label_bound: f64,
    /// The classes in declared order; none for regression.
    pub classes: Vec<String>,
    /// Which cells count as missing, and what the bounds mean for the usual losses.
    pub facts: Vec<String>,
    /// What the owner may want to look at again.
    pub hints: Vec<String>,
    /// Fields of the schema that have no effect and are not published.
    pub unpublished: Vec<String>,
}

impl Declaration {
    /// Explain what becomes of each column, the norm bound and the labels.
    ///
    /// # Errors
    ///
    /// As [`Declaration::layout`].
    pub fn explain(&self, encoding: &Encoding) -> Result<Explanation, DeclarationError> {
        let layout = self.layout(encoding)?;
        let mut columns: Vec<_> =
            self.columns().iter().map(|c| explain_column(c, &layout)).collect();
        if encoding.intercept {
            columns.push(ExplainedColumn {
                name: "(intercept)".to_owned(),
                role: "intercept".to_owned(),
                encoding: "the constant 1; part of the row and of its norm".to_owned(),
                features: 1,
                squared_bound: 1.0,
            });
        }
        Ok(Explanation {
            name: self.name().map(str::to_owned),
            description: self.description().map(str::to_owned),
            task: self.task(),
            columns,
            dimension: layout.dimension(),
            structural_bound: layout.structural_bound(),
            norm_bound: layout.norm_bound(),
            label_bound: layout.label_bound(),
            classes: layout.classes().to_vec(),
            facts: [vec![missing_cells()], facts(&layout)].concat(),
            hints: hints(self, &layout),
            unpublished: self.unpublished().to_vec(),
        })
    }
}

fn explain_column(column: &Column, layout: &Layout) -> ExplainedColumn {
    let explained = |role: &str, encoding: String, features, squared_bound| ExplainedColumn {
        name: column.name.clone(),
        role: role.to_owned(),
        encoding,
        features,
        squared_bound,
    };
    match (&column.role, input_kind(column)) {
        (Role::Ignored(role), _) => {
            explained(role, format!("left out: its role is `{role}`"), 0, 0.0)
        }
        (Role::Target, _) => {
            explained("target", explain_labels(layout.labels()) + by_convention(column), 0, 0.0)
        }
        (Role::Feature, _) if layout.encoding().drop.contains(&column.name) => {
            explained("dropped", "left out: dropped by the encoding".to_owned(), 0, 0.0)
        }
        (Role::Feature, Some(kind)) => explained(
            "feature",
            explain_kind(&kind, layout.numeric_range(), &column.missing) + by_convention(column),
            kind.features(),
            kind.squared_bound(),
        ),
        (Role::Feature, None) => explained("feature", "no encoding".to_owned(), 0, 0.0),
    }
}

/// Readers of a report see which bounds somebody picked.
fn by_convention(column: &Column) -> &'static str {
    if column.basis == Some(Basis::Convention) { "; bounds by convention" } else { "" }
}

fn explain_kind(kind: &InputKind, range: NumericRange, missing: &[String]) -> String {
    let to = match range {
        NumericRange::Unit => "[0, 1]",
        NumericRange::Symmetric => "[-1, 1]",
    };
    let marks: Vec<_> =
        missing.iter().filter(|m| !m.is_empty()).map(|m| format!("`{m}`")).collect();
    let marks = if marks.is_empty() { String::new() } else { format!(" or {}", marks.join(", ")) };
    match kind {
        InputKind::Number { .. } if kind.is_unbounded() => {
            format!("taken as it is; an empty cell{marks} gives 0")
        }
        InputKind::Entries { len, .. } if kind.is_unbounded() => {
            format!("{len} entries as they are")
        }
        InputKind::Number { min, max } => {
            format!("clamped to [{min}, {max}], scaled to {to}; an empty cell{marks} gives 0")
        }
        InputKind::OneHot { categories } => format!(
            "one-hot, {} categories; an empty cell{marks} or an undeclared category gives all zeros",
            categories.len()
        ),
        InputKind::Entries { len, min, max } => {
            format!("{len} entries, each clamped to [{min}, {max}] and scaled to {to}")
        }
        InputKind::Vector { len, norm } => {
            format!("{len} entries as they are, clipped together to norm {norm}")
        }
    }
}

fn explain_labels(labels: &Labels) -> String {
    match labels {
        Labels::Binary { classes, positive } => format!(
            "`{}` is +1, `{}` is -1; anything else is `{}`",
            classes[*positive],
            classes[1 - positive],
            classes[0]
        ),
        Labels::Multiclass { classes } => {
            format!("{} classes by index; anything else is `{}`", classes.len(), classes[0])
        }
        Labels::Regression { max, .. } if max.is_infinite() => {
            "taken as it is; what is no number gives 0".to_owned()
        }
        Labels::Regression { min, max, .. } => {
            format!("clamped to [{min}, {max}], scaled to [-1, 1]; what is no number gives 0")
        }
    }
}

/// Which cells are missing without a declared mark.
fn missing_cells() -> String {
    format!(
        "an empty cell is missing, and so is {}, in either case, unless it is a declared category",
        MISSING_SPELLINGS.join(", ")
    )
}

fn facts(layout: &Layout) -> Vec<String> {
    let b = layout.norm_bound();
    if b.is_infinite() {
        return vec![
            "rows have no norm bound: only algorithms that need none can run (`reticent algorithms`)"
                .to_owned(),
        ];
    }
    let mut facts =
        vec![format!("every row has norm at most B = {b:.6}, whatever the table holds")];
    match layout.task() {
        Task::Binary => facts.push(format!(
            "logistic loss: gradients of norm at most L = B = {b:.6}, smoothness B^2/4 = {:.6}",
            b * b / 4.0
        )),
        Task::Multiclass => facts.push(format!(
            "softmax loss: gradients of norm at most L = sqrt(2) B = {:.6}, smoothness B^2/2 = {:.6}, {} weights",
            b * std::f64::consts::SQRT_2,
            b * b / 2.0,
            layout.dimension() * layout.classes().len()
        )),
        Task::Regression => {
            let y = layout.label_bound();
            facts.push(format!("labels have absolute value at most Y = {y}"));
            facts.push(format!(
                "Huber loss with parameter h: L = h B = {b:.6} h; squared loss on a ball of radius R: L = B (B R + Y)"
            ));
        }
    }
    facts
}

fn hints(declaration: &Declaration, layout: &Layout) -> Vec<String> {
    let mut hints = Vec::new();
    let in_use = |c: &&Column| {
        c.role == Role::Target
            || c.role == Role::Feature && !layout.encoding().drop.contains(&c.name)
    };
    let used = || declaration.columns().iter().filter(in_use);
    let quoted =
        |names: Vec<&str>| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let assumed: Vec<_> =
        used().filter(|c| c.basis == Some(Basis::Convention)).map(|c| c.name.as_str()).collect();
    if !assumed.is_empty() {
        hints.push(format!(
            "the bounds of {} rest on convention: an assumption, private only if it was not read off the rows",
            quoted(assumed)
        ));
    }
    for column in used() {
        if column.leaks_target {
            hints.push(format!(
                "`{}` is marked as leaking the target: drop it for a realistic model",
                column.name
            ));
        }
        if let Some(InputKind::OneHot { categories }) = input_kind(column)
            && column.role == Role::Feature
            && categories.len() == 1
        {
            hints.push(format!("`{}` has a single category and tells little", column.name));
        }
    }
    if !layout.encoding().normalize_rows
        && layout.encoding().feature_norm.is_none()
        && layout.norm_bound() > 10.0
        && layout.norm_bound().is_finite()
    {
        hints.push(format!(
            "B = {:.2} is large and noise grows with it: consider a smaller feature norm or normalised rows",
            layout.norm_bound()
        ));
    }
    if let Some(norm) = layout.encoding().feature_norm
        && !layout.encoding().normalize_rows
        && norm > layout.structural_bound()
    {
        hints.push(format!(
            "feature_norm = {norm} exceeds what the columns can reach ({:.6}) and changes nothing",
            layout.structural_bound()
        ));
    }
    hints
}

/// The sentence that names fields without effect; none if there are none.
pub fn not_published(paths: &[String]) -> Option<String> {
    const MOST: usize = 20;
    if paths.is_empty() {
        return None;
    }
    let shown: Vec<_> = paths.iter().take(MOST).map(|path| format!("`{path}`")).collect();
    let more = match paths.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "these fields of the schema have no effect and are not published: {}{more}",
        shown.join(", ")
    ))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names come from a file of someone else's: none may turn the line around or colour the terminal.
        let name = visible(self.name.as_deref().unwrap_or("(unnamed table)"));
        writeln!(f, "{name}: {}", self.task.name())?;
        if let Some(description) = &self.description {
            writeln!(f, "  published description: {}", visible(description))?;
        }
        let names: Vec<String> = self.columns.iter().map(|c| visible(&c.name)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, column) in names.iter().zip(&self.columns) {
            let features = match column.features {
                0 => String::new(),
                n => format!("{n}"),
            };
            writeln!(
                f,
                "  {name:width$}  {:9}  {features:>6}  {}",
                visible(&column.role),
                visible(&column.encoding)
            )?;
        }
        writeln!(
            f,
            "{} features; the columns give norm at most {:.6}; rows are held to B = {:.6}",
            self.dimension, self.structural_bound, self.norm_bound
        )?;
        for fact in &self.facts {
            writeln!(f, "  {}", visible(fact))?;
        }
        for hint in &self.hints {
            writeln!(f, "  note: {}", visible(hint))?;
        }
        if let Some(sentence) = not_published(&self.unpublished) {
            writeln!(f, "  note: {}", visible(&sentence))?;
        }
        Ok(())
    }
}
