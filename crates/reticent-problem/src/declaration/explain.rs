//! A declaration explained column by column, for `reticent schema check`.

use std::fmt;

use serde::Serialize;

use super::curve::{Basis, Curve, Scale};
use super::date::{PartForm, iso_of_days};
use super::encoding::{Encoding, NumericRange};
use super::error::DeclarationError;
use super::layout::{InputKind, Labels, Layout, Pair, default_fill, input_kind, parts_of};
use super::schema::{BoundsBasis, Column, Declaration, Kind, Role, TaskKind};
use super::spelling::MISSING_SPELLINGS;
use crate::Weighting;
use crate::number::{about, norm_at_most};
use crate::text::visible;

/// The explanation of one column.
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
    /// Its contribution to the squared norm bound.
    pub squared_bound: f64,
}

/// A declaration and an encoding, explained in words and numbers. Reads no row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The table's name.
    pub name: Option<String>,
    /// The owner's public description of the table.
    pub description: Option<String>,
    /// The task.
    pub task: TaskKind,
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
    /// Which cells count as missing, and the meaning of the bounds for the default losses.
    pub facts: Vec<String>,
    /// Points that the owner may want to review.
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
        columns.extend(layout.pairs().iter().map(|pair| explain_pair(pair, &layout)));
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
            facts: [vec![missing_cells()], protected(self), facts(&layout), weighted(&layout)]
                .concat(),
            hints: hints(self, &layout),
            unpublished: self.unpublished().to_vec(),
        })
    }
}

/// An interaction as a line of its own.
fn explain_pair(pair: &Pair, layout: &Layout) -> ExplainedColumn {
    let [first, second] = pair.inputs.map(|i| layout.inputs()[i].name.as_str());
    let [one, other] = [0, 1].map(|side| pair.factors[side].features());
    ExplainedColumn {
        name: format!("{first} x {second}"),
        role: "pair".to_owned(),
        encoding: format!("a surface of {one} by {other} products of both columns' features"),
        features: pair.features(),
        squared_bound: 1.0,
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
    match (&column.role, input_kind(column, layout.encoding().knots)) {
        (Role::Ignored(role), _) => explained(role, left_out(role), 0, 0.0),
        (Role::Target, _) => {
            explained("target", explain_labels(layout.labels()) + &by_convention(column), 0, 0.0)
        }
        (Role::Weight, _) => explained("weight", weigh(column) + &by_convention(column), 0, 0.0),
        (Role::Exposure, _) => explained(
            "exposure",
            format!("the target is divided by it; {}", weigh(column)) + &by_convention(column),
            0,
            0.0,
        ),
        (Role::Feature, _) if layout.encoding().drop.contains(&column.name) => {
            explained("dropped", "left out: dropped by the encoding".to_owned(), 0, 0.0)
        }
        (Role::Feature, Some(kind)) => explained(
            "feature",
            explain_cells(column, &kind, layout.numeric_range())
                + &indicated(column)
                + &by_convention(column),
            kind.features()
                + usize::from(column.missing_indicator)
                + parts_of(column).map(|part| part.kind.features()).sum::<usize>(),
            kind.squared_bound() + parts_of(column).map(|p| p.kind.squared_bound()).sum::<f64>(),
        ),
        (Role::Feature, None) => explained("feature", "no encoding".to_owned(), 0, 0.0),
    }
}

/// How cells are encoded, and how they are read before that where it is declared.
fn explain_cells(column: &Column, kind: &InputKind, range: NumericRange) -> String {
    let encoded = explain_kind(column, kind, range);
    if let Some(mark) = column.thousands {
        return format!("{encoded}; `1{mark}000` is a thousand");
    }
    let Some(date) = &column.date else { return encoded };
    let format = date.format.as_ref().map_or("ISO 8601".to_owned(), |format| format!("`{format}`"));
    let parts = date.parts.iter().map(|(part, form)| match form {
        PartForm::Periodic => format!("; its {} as cosine and sine", part.name()),
        PartForm::Categorical => format!("; its {} one-hot", part.name()),
    });
    format!(
        "dates in {format}, {encoded}, and so does what is no date{}",
        parts.collect::<String>()
    )
}

/// Why a column is left out.
fn left_out(role: &str) -> String {
    match role {
        "unit" => "tells units apart, and is left out of the features".to_owned(),
        _ => format!("left out: its role is `{role}`"),
    }
}

/// What is multiplied by the weights of rows, beside a column's.
fn weighted(layout: &Layout) -> Vec<String> {
    let mut facts = Vec::new();
    let Some(weights) = layout.weights() else { return facts };
    if let Some(column) = layout.exposure() {
        facts.push(format!(
            "predictions and the bounds of `{}` are rates: for one unit of `{}`",
            layout.target(),
            column.name
        ));
    }
    if let Some(max) = weights.array_max {
        facts.push(format!("rows come with weights, of which each is clamped to [0, {max}]"));
    }
    if !weights.classes.is_empty() {
        let each = layout.classes().iter().zip(&weights.classes);
        let each: Vec<_> = each.map(|(class, w)| format!("`{class}` {}", about(*w))).collect();
        facts.push(format!("rows count by their class: {}", each.join(", ")));
    }
    facts
}

/// How the weights of rows are read.
fn weigh(column: &Column) -> String {
    let Kind::Number { min, max } = column.kind else { return "weights".to_owned() };
    format!(
        "the row's loss is multiplied by its share of {max}, clamped to [{min}, {max}]; missing: 0"
    )
}

/// Whom a model's guarantee protects.
fn protected(declaration: &Declaration) -> Vec<String> {
    let Some(unit) = declaration.unit() else {
        return vec![
            "the guarantee protects one row: a person with several rows is protected less; to protect all rows of a person, declare `unit` with the column that tells persons apart and `max_rows`"
                .to_owned(),
        ];
    };
    let count = match unit.weighting {
        Weighting::Equal => "every unit counts the same, however many rows it has",
        Weighting::Rows => "every kept row counts the same, 1/max_rows of a unit",
    };
    vec![
        format!(
            "the guarantee protects {} together: whatever they hold and however many there are, the model hardly changes; the number of units is public, the number of rows is not",
            unit.protected()
        ),
        format!(
            "{count}; of a unit with more than {} rows, that many are used, evenly spread in the order of the table; a row whose `{}` is empty is a unit of its own",
            unit.max_rows, unit.column
        ),
    ]
}

/// Readers of a report see which bounds somebody picked, and what was drawn from the table.
fn by_convention(column: &Column) -> String {
    [
        (column.basis, "bounds"),
        (column.categories_basis, "categories"),
        (column.knots_basis, "knots"),
    ]
    .into_iter()
    .map(|(basis, what)| match basis {
        Some(BoundsBasis::Convention) => format!("; {what} by convention"),
        Some(BoundsBasis::Released) => format!("; {what} released with noise"),
        Some(BoundsBasis::Domain | BoundsBasis::DataDictionary) | None => String::new(),
    })
    .collect()
}

/// The declared handling of missing and undeclared categories; empty without one, and for numbers.
fn indicated(column: &Column) -> String {
    match (&column.kind, column.other) {
        (Kind::Number { .. }, _) => String::new(),
        (Kind::Categorical { categories }, Some(other)) => {
            format!("; but an undeclared category counts as `{}`", categories[other])
        }
        _ if column.missing_indicator => "; a missing value has a feature of its own".to_owned(),
        _ => String::new(),
    }
}

fn explain_curve(curve: &Curve, date: bool) -> String {
    let what = match curve.basis {
        Basis::Tent => "a curve with knots at",
        Basis::Bins => "constant in bins that end at",
    };
    let scale = match curve.scale {
        Scale::Linear => "",
        Scale::Log => " on a logarithmic scale",
        Scale::Sqrt => " on a square-root scale",
        Scale::Symlog => " on a symmetric logarithmic scale",
    };
    let texts = if date {
        curve.knots.iter().map(|days| iso_of_days(days.round())).collect()
    } else {
        curve.texts()
    };
    let knots = match texts {
        list if list.len() <= 6 => list.join(", "),
        list => format!(
            "{}, {}, ..., {} ({} of them)",
            list[0],
            list[1],
            list[list.len() - 1],
            list.len()
        ),
    };
    format!("{what} {knots}{scale}")
}

/// What becomes of a missing number.
fn explain_missing(column: &Column, kind: &InputKind) -> String {
    let date = column.date.is_some();
    let shown = |number| if date { iso_of_days(number) } else { about(number) };
    match (column.fill, default_fill(column, kind)) {
        (Some(fill), _) => format!("counts as {}", shown(fill)),
        (None, Some(middle)) if column.shape.is_none() => {
            format!("counts as {}, the middle, and on a curve as nothing", shown(middle))
        }
        (None, Some(middle)) => format!("counts as {}, the middle", shown(middle)),
        (None, None) if column.missing_indicator => "has a feature of its own".to_owned(),
        (None, None) => match kind {
            InputKind::Curve { .. } => "adds nothing".to_owned(),
            _ => "counts as 0".to_owned(),
        },
    }
}

fn explain_kind(column: &Column, kind: &InputKind, range: NumericRange) -> String {
    let date = column.date.is_some();
    let end = |end: f64| if date { iso_of_days(end) } else { end.to_string() };
    let to = match range {
        NumericRange::Unit => "[0, 1]",
        NumericRange::Symmetric => "[-1, 1]",
    };
    let marks: Vec<_> =
        column.missing.iter().filter(|m| !m.is_empty()).map(|m| format!("`{m}`")).collect();
    let marks = if marks.is_empty() { String::new() } else { format!(" or {}", marks.join(", ")) };
    let missing = explain_missing(column, kind);
    match kind {
        InputKind::Number { .. } if kind.is_unbounded() => {
            format!("taken as it is; an empty cell{marks} {missing}")
        }
        InputKind::Entries { len, .. } if kind.is_unbounded() => {
            format!("{len} entries as they are")
        }
        InputKind::Number { min, max } => {
            let (min, max) = (end(*min), end(*max));
            format!("clamped to [{min}, {max}], scaled to {to}; an empty cell{marks} {missing}")
        }
        InputKind::Curve { curve, .. } => {
            format!("{}; an empty cell{marks} {missing}", explain_curve(curve, date))
        }
        InputKind::Periodic { period } => {
            format!("cosine and sine of {period} places; an empty cell{marks} gives zeros")
        }
        InputKind::Hashed { buckets, words: false, .. } => {
            format!("one-hot over {buckets} buckets by hash; an empty cell{marks} gives zeros")
        }
        InputKind::Hashed { buckets, words: true, .. } => format!(
            "words counted in {buckets} buckets by hash, scaled to norm 1; an empty cell{marks} gives zeros"
        ),
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
    let mut facts = vec![format!(
        "every row has norm at most B = {}, whatever the table holds",
        norm_at_most(b)
    )];
    match layout.task() {
        TaskKind::Binary => facts.push(format!(
            "logistic loss: gradients of norm at most L = B = {}, smoothness B^2/4 = {}",
            norm_at_most(b),
            norm_at_most(b * b / 4.0)
        )),
        TaskKind::Multiclass => facts.push(format!(
            "softmax loss: gradients of norm at most L = sqrt(2) B = {}, smoothness B^2/2 = {}, {} weights",
            norm_at_most(b * std::f64::consts::SQRT_2),
            norm_at_most(b * b / 2.0),
            layout.dimension() * layout.classes().len()
        )),
        TaskKind::Regression => {
            let y = layout.label_bound();
            facts.push(format!("labels have absolute value at most Y = {y}"));
            facts.push(format!(
                "Huber loss with parameter h: L = h B = {} h; squared loss on a ball of radius R: L = B (B R + Y)",
                norm_at_most(b)
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
    let assumed: Vec<_> = used()
        .filter(|c| c.basis == Some(BoundsBasis::Convention))
        .map(|c| c.name.as_str())
        .collect();
    if !assumed.is_empty() {
        hints.push(format!(
            "the bounds of {} are a convention: an assumption, private only if they were not read off the rows",
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
        if let Some(InputKind::OneHot { categories }) = input_kind(column, None)
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
            "B = {} is large and noise grows with it: consider a smaller feature norm or normalised rows",
            norm_at_most(layout.norm_bound())
        ));
    }
    if let Some(norm) = layout.encoding().feature_norm
        && !layout.encoding().normalize_rows
        && norm > layout.structural_bound()
    {
        hints.push(format!(
            "feature_norm = {norm} exceeds what the columns can reach ({}) and changes nothing",
            norm_at_most(layout.structural_bound())
        ));
    }
    hints
}

/// The sentence that names fields without effect; absent if there are no such fields. A field whose
/// name begins with `_` is a comment and is not named.
pub fn not_published(paths: &[String]) -> Option<String> {
    const MOST: usize = 20;
    let is_comment = |path: &&String| path.rsplit('.').next().is_some_and(|f| f.starts_with('_'));
    let paths: Vec<_> = paths.iter().filter(|path| !is_comment(path)).collect();
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
        // Names come from a file of someone else's: none may turn the line around or colour the
        // terminal.
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
            "{} features; the columns give norm at most {}; rows are held to B = {}",
            self.dimension,
            norm_at_most(self.structural_bound),
            norm_at_most(self.norm_bound)
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
