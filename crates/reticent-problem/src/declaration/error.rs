//! Why a declaration, or the layout asked of it, is refused.

/// An error in a declaration or an encoding. Every variant is raised before any row is read, so a
/// message may quote whatever was declared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// The text is not the JSON of a declaration.
    #[error("the schema is not readable JSON of the expected form: {message}")]
    Json {
        /// The JSON reader's message.
        message: String,
    },

    /// A field holds a value of another kind.
    #[error("`{path}` is {found}: write {expected}")]
    WrongKind {
        /// Where in the file.
        path: String,
        /// The kind of value that the field takes.
        expected: &'static str,
        /// The kind of value that it holds; null where it is absent.
        found: &'static str,
    },

    /// More than one thing is wrong.
    #[error("the schema has {} problems: {}", .problems.len(), listed(.problems))]
    Several {
        /// The problems, in the order of the file.
        problems: Vec<DeclarationError>,
    },

    /// There is no column at all.
    #[error("the schema declares no column: add `columns`, a list with one object per column")]
    NoColumns,

    /// A published text that is too long or cannot be shown.
    #[error(
        "`{field}` must be at most {most} characters on one line, without control characters: shorten it"
    )]
    BadText {
        /// The field.
        field: &'static str,
        /// The most characters.
        most: usize,
    },

    /// A column has an empty name.
    #[error("column number {position} has an empty `name`: name it as the table's header does")]
    EmptyName {
        /// Position in the list, from one.
        position: usize,
    },

    /// Two columns share a name.
    #[error("column `{column}` is declared twice: names must be unique")]
    DuplicateColumn {
        /// The name.
        column: String,
    },

    /// A role that is not known.
    #[error(
        "column `{column}` has role `{role}`: use `feature`, `target`, or one of {ignored} to leave it out"
    )]
    UnknownRole {
        /// The column.
        column: String,
        /// The role as written.
        role: String,
        /// The roles that leave a column out.
        ignored: &'static str,
    },

    /// A role that would seem to protect the rows of a group together.
    #[error(
        "column `{column}` has role `group`, which would protect nobody's rows together: add `\"unit\": {{\"column\": \"{column}\", \"max_rows\": 8}}` with the most rows that one may use, or give `--unit {column} --max-rows 8`; the role `id` leaves the column out"
    )]
    GroupRole {
        /// The column.
        column: String,
    },

    /// A unit without a column.
    #[error(
        "`unit.column` is absent: name the column that tells units apart, such as `\"unit\": {{\"column\": \"patient\", \"max_rows\": 8}}`, or give `--unit` with `--max-rows`"
    )]
    NoUnitColumn,

    /// A unit without a cap.
    #[error(
        "`unit` names `{column}` without `max_rows`: declare the most rows of one that are used, a number known without the table, in the schema or with `--max-rows`; or give `--unit none` for a guarantee for single rows"
    )]
    NoMaxRows {
        /// The column.
        column: String,
    },

    /// An invalid cap.
    #[error("`unit.max_rows` must be a whole number from 1 to 1000000, got {got}")]
    BadMaxRows {
        /// The cap as written.
        got: u64,
    },

    /// An unknown weighting.
    #[error("`unit.weighting` must be `equal` or `rows`, got `{got}`")]
    UnknownWeighting {
        /// The weighting as written.
        got: String,
    },

    /// The unit's column is learnt from.
    #[error(
        "`unit.column` is `{column}`, a feature or the target: an identifier is never learnt from; give that column the role `id`, or name another"
    )]
    UnitIsFeature {
        /// The column.
        column: String,
    },

    /// No column is the target.
    #[error("the schema names no target: add `target` with the name of the column to predict")]
    NoTarget,

    /// The target is not a column.
    #[error(
        "target `{target}` is not among the declared columns: declare it or name another target"
    )]
    UnknownTarget {
        /// The name given as target.
        target: String,
    },

    /// Two columns claim to be the target.
    #[error(
        "both `{first}` and `{second}` are declared as target: keep one, give the other role `ignore`"
    )]
    TwoTargets {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },

    /// A number without bounds.
    #[error(
        "column `{column}` has no bounds: declare `bounds: {{min, max}}`; they cannot be taken from the data without spending privacy"
    )]
    MissingBounds {
        /// The column.
        column: String,
    },

    /// A column of a skeleton that nobody has filled in.
    #[error(
        "column `{column}` is blank: fill in `bounds` if it holds numbers, `categories` if it holds one of a list, or give it role `ignore`"
    )]
    Blank {
        /// The column.
        column: String,
    },

    /// Ends of a range that stand beside `bounds` or under another name.
    #[error(
        "column `{column}` has no bounds but a field `{found}`: write `\"bounds\": {{\"min\": 0, \"max\": 1}}` with the ends of its range"
    )]
    MisplacedBounds {
        /// The column.
        column: String,
        /// The field that looks like bounds.
        found: String,
    },

    /// Bounds that are no object.
    #[error(
        "column `{column}` has bounds of another form: write `\"bounds\": {{\"min\": 0, \"max\": 1}}` with the ends of its range"
    )]
    BoundsForm {
        /// The column.
        column: String,
    },

    /// Both bounds and the statement that the column is unbounded.
    #[error("column `{column}` has bounds and `unbounded: true`: keep one of them")]
    BoundedAndUnbounded {
        /// The column.
        column: String,
    },

    /// A column that gives no bound, where one is needed.
    #[error(
        "column `{column}` is declared unbounded, so rows have no norm bound: give `feature_norm` to clip them, or `none` for an algorithm that needs no bound"
    )]
    UnboundedColumn {
        /// The column.
        column: String,
    },

    /// A norm for rows that are to have none.
    #[error("`feature_norm` is `none` and rows are to be normalised: keep one of them")]
    UnboundedAndNormalized,

    /// A vector without bounds.
    #[error(
        "column `{column}` has no bounds: declare `bounds: {{min, max}}` for each entry or `bounds: {{l2_norm_max}}` for the whole vector; they cannot be taken from the data without spending privacy"
    )]
    MissingVectorBounds {
        /// The column.
        column: String,
    },

    /// Bounds that do not span an interval.
    #[error(
        "column `{column}` has bounds min = {min}, max = {max}: both must be finite numbers with min < max (and max - min finite)"
    )]
    BadBounds {
        /// The column.
        column: String,
        /// The lower end, as written.
        min: String,
        /// The upper end, as written.
        max: String,
    },

    /// A norm bound that is not a positive number.
    #[error("column `{column}` has l2_norm_max = {got}: it must be a number from 1e-30 to 1e30")]
    BadNorm {
        /// The column.
        column: String,
        /// The value as written.
        got: f64,
    },

    /// A categorical column without categories.
    #[error(
        "column `{column}` has no categories: declare `categories: [...]`; they cannot be taken from the data without spending privacy"
    )]
    MissingCategories {
        /// The column.
        column: String,
    },

    /// A category is neither text, a number nor true/false.
    #[error("column `{column}` has a category that is not text, a number or true/false")]
    BadCategory {
        /// The column.
        column: String,
    },

    /// A category is listed twice.
    #[error(
        "column `{column}` lists category `{category}` twice (blanks around a category do not count)"
    )]
    DuplicateCategory {
        /// The column.
        column: String,
        /// The category.
        category: String,
    },

    /// Two categories are the same number: where a column holds numbers, they could not be told
    /// apart.
    #[error(
        "column `{column}` lists categories `{other}` and `{category}`, which are the same number (true is 1, false is 0): keep one of them, or spell them as words"
    )]
    SameNumber {
        /// The column.
        column: String,
        /// The category.
        category: String,
        /// The one before.
        other: String,
    },

    /// A category spells a number that is not finite.
    #[error(
        "column `{column}` lists category `{category}`, which spells a number that is not finite: spell it as another word, or declare it `missing`"
    )]
    NotFiniteCategory {
        /// The column.
        column: String,
        /// The category.
        category: String,
    },

    /// A value is at once a category and a missing mark.
    #[error(
        "column `{column}` declares `{mark}` both as a category and as missing: keep one of the two"
    )]
    MissingIsCategory {
        /// The column.
        column: String,
        /// The value.
        mark: String,
    },

    /// A missing mark is neither text nor a number.
    #[error("column `{column}` has a `missing` that is not a text, a number or a list of them")]
    BadMissing {
        /// The column.
        column: String,
    },

    /// A fill that cannot be used.
    #[error(
        "column `{column}` has a bad `missing.fill`: give a number within its bounds, or `middle`; a column of other than bounded numbers has none"
    )]
    BadFill {
        /// The column.
        column: String,
    },

    /// A missing value that is filled in and has a feature too.
    #[error(
        "column `{column}` has `missing.fill` and `missing.indicator`: keep one, because a feature of its own takes the place of the value"
    )]
    FillAndIndicator {
        /// The column.
        column: String,
    },

    /// A catch-all outside the categories.
    #[error(
        "column `{column}` has an `other` that is none of its `categories`: add it to the list, as in `\"categories\": [\"a\", \"b\", \"other\"], \"other\": \"other\"`"
    )]
    BadOther {
        /// The column.
        column: String,
    },

    /// A basis for a column that is not numeric.
    #[error(
        "column `{column}` has a `basis`, which is for numbers with bounds: leave it out, or declare the column `real` or `integer`"
    )]
    BasisOfNoNumber {
        /// The column.
        column: String,
    },

    /// A basis that is not known.
    #[error("column `{column}` has basis `{kind}`: use `tent`, `bins` or `linear`")]
    UnknownBasis {
        /// The column.
        column: String,
        /// The kind as written.
        kind: String,
    },

    /// Knots or a scale of a column that enters as one number.
    #[error(
        "column `{column}` has basis `linear` with `knots` or `scale`, which are for curves: use `tent` or `bins`, or leave them out"
    )]
    LinearWithKnots {
        /// The column.
        column: String,
    },

    /// A curve needs two ends.
    #[error(
        "column `{column}` has a curve and no bounds: declare `bounds: {{min, max}}`, or basis `linear`"
    )]
    CurveWithoutBounds {
        /// The column.
        column: String,
    },

    /// A scale that is not known or does not serve the bounds.
    #[error(
        "column `{column}` has scale `{scale}`: use {words}; `log` needs a lower bound above 0 and `sqrt` one of 0 or more"
    )]
    BadScale {
        /// The column.
        column: String,
        /// The scale as written.
        scale: String,
        /// The scales.
        words: &'static str,
    },

    /// Invalid knots.
    #[error(
        "column `{column}` has bad `knots`: give their number, from 2 to {most}, or a rising list that begins with the lower bound {min} and ends with the upper bound {max}"
    )]
    BadKnots {
        /// The column.
        column: String,
        /// Its lower bound.
        min: f64,
        /// Its upper bound.
        max: f64,
        /// The most knots.
        most: usize,
    },

    /// Knots that rise but are the same place once they are scaled and rounded.
    #[error(
        "column `{column}` has knots that double precision does not tell apart on their scale: use fewer knots, another `scale`, or bounds of a size with the values"
    )]
    KnotsCoincide {
        /// The column.
        column: String,
    },

    /// A number of knots for all columns that is out of range.
    #[error("`knots` must be a whole number from 2 to {most}, got {got}")]
    KnotCount {
        /// The number given.
        got: usize,
        /// The most.
        most: usize,
    },

    /// An indicator for the missing entries of a vector.
    #[error(
        "column `{column}` asks for an indicator of missing values, which numbers and categories can have: leave it out for a vector"
    )]
    IndicatorOfVector {
        /// The column.
        column: String,
    },

    /// An interaction of other than two columns.
    #[error("`interactions` holds a list of {got} names: each interaction names 2 columns")]
    NotAPair {
        /// How many it names.
        got: usize,
    },

    /// An interaction names what cannot be part of one.
    #[error(
        "an interaction names `{column}`: it must be a declared feature with bounds or categories, and no vector"
    )]
    BadPairColumn {
        /// The column it names.
        column: String,
    },

    /// The same pair twice, or a column with itself.
    #[error(
        "the interaction of `{first}` and `{second}` is named twice, or is one column with itself: name each pair of two columns once"
    )]
    PairTwice {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },

    /// A date without usable bounds.
    #[error(
        "column `{column}` holds dates and needs two of them as bounds: write `\"bounds\": {{\"min\": \"2020-01-01\", \"max\": \"2024-12-31\"}}` with min before max, in ISO 8601"
    )]
    BadDates {
        /// The column.
        column: String,
    },

    /// A form that tells no day.
    #[error(
        "column `{column}` has a bad `format`: write how its dates look with the letters of strftime, such as `%d.%m.%Y` or `%Y-%m-%d %H:%M`, or leave it out for ISO 8601"
    )]
    BadFormat {
        /// The column.
        column: String,
    },

    /// Parts that a date does not have.
    #[error(
        "column `{column}` has bad `parts`: list some of `month`, `weekday`, `hour`, each once, or give each its form, as in {{\"month\": \"periodic\", \"weekday\": \"categorical\"}}"
    )]
    BadParts {
        /// The column.
        column: String,
    },

    /// A hash without buckets, or beside categories.
    #[error(
        "column `{column}` has a bad `hash`: write `\"hash\": {{\"buckets\": 256}}` with 2 to {most} buckets, for a feature of type `categorical` without `categories` or of type `text`"
    )]
    BadHash {
        /// The column.
        column: String,
        /// The most buckets.
        most: usize,
    },

    /// An invalid thousands separator.
    #[error(
        "column `{column}` has a bad `thousands`: it is one of `,`, `.`, `'` and the blank, for a column of numbers"
    )]
    BadThousands {
        /// The column.
        column: String,
    },

    /// A type that has no encoding.
    #[error("column `{column}` has type `{kind}`, which has no encoding: {}", advice(.kind))]
    UnsupportedType {
        /// The column.
        column: String,
        /// The type as written.
        kind: String,
    },

    /// A shape that holds no entry, or too many.
    #[error("column `{column}` has a shape of {entries} entries: a vector has from 1 to {most}")]
    BadShape {
        /// The column.
        column: String,
        /// How many entries the shape holds.
        entries: u128,
        /// The most that is allowed.
        most: usize,
    },

    /// A task that is not known.
    #[error(
        "task `{task}` is not known: use `binary_classification`, `multiclass_classification` or `regression`"
    )]
    UnknownTask {
        /// The task as written.
        task: String,
    },

    /// The task and the target's type do not fit.
    #[error("task `{task}` and target `{target}` do not fit: {needs}")]
    TaskMismatch {
        /// The task.
        task: &'static str,
        /// The target.
        target: String,
        /// The task's requirement on its target.
        needs: &'static str,
    },

    /// Fewer than two classes.
    #[error("target `{target}` has {got} class: classification needs at least 2 `categories`")]
    TooFewClasses {
        /// The target.
        target: String,
        /// How many were declared.
        got: usize,
    },

    /// The positive class is not a class.
    #[error("positive_class `{positive}` is not among the categories of target `{target}`")]
    PositiveClass {
        /// The target.
        target: String,
        /// The positive class as given.
        positive: String,
    },

    /// Nothing is left to learn from.
    #[error("no feature is left: declare at least one column with role `feature`, or drop fewer")]
    NoFeatures,

    /// A column to drop is not a feature.
    #[error("cannot drop `{column}`: it is not a declared feature")]
    UnknownDrop {
        /// The name given.
        column: String,
    },

    /// The feature norm is not a positive number.
    #[error("`feature_norm` must be a number from 1e-30 to 1e30, got {got}")]
    FeatureNorm {
        /// The value given.
        got: f64,
    },

    /// A column of weights without usable bounds.
    #[error(
        "column `{column}` holds weights or exposures and needs bounds: write `\"bounds\": {{\"min\": 0, \"max\": 10}}` with 0 <= min < max, and 0 < min for an exposure, known without the rows, or give it role `ignore` to leave it out"
    )]
    BadWeight {
        /// The column.
        column: String,
    },

    /// Weights from two sources.
    #[error(
        "rows have one weight each, and column `{column}` is a second source of it: give one column the role `weight` or `exposure`, or an array with its largest weight, not both"
    )]
    TwoWeights {
        /// The column.
        column: String,
    },

    /// Exposures of classes.
    #[error(
        "column `{column}` has the role `exposure`, by which a numeric target is divided, and the target holds classes: give it the role `weight` or `ignore`"
    )]
    ExposureOfClasses {
        /// The column.
        column: String,
    },

    /// An array of weights without a bound.
    #[error(
        "`max_weight` must be a finite number > 0, got {got}: the largest weight that a row may have, known without the rows"
    )]
    MaxWeight {
        /// The value given.
        got: f64,
    },

    /// Class weights for regression.
    #[error(
        "class weights need classes, and the target holds numbers: leave `--class-weight` (`class_weight`) out"
    )]
    ClassWeightOfNumbers,

    /// A class weight for no class.
    #[error("class weight of `{class}`, which is not a declared class: expected one of `{known}`")]
    UnknownClass {
        /// The name given.
        class: String,
        /// The classes.
        known: String,
    },

    /// A class weight that is no weight.
    #[error("the class weight of `{class}` must be a finite number >= 0, got {got}")]
    ClassWeight {
        /// The class.
        class: String,
        /// The value given.
        got: f64,
    },

    /// Class weights that are all zero.
    #[error("no class has a weight above 0: give at least one class a positive weight")]
    NoClassWeight,

    /// Too many features.
    #[error("the declaration gives {got} features: at most {most} are supported")]
    TooManyFeatures {
        /// How many there would be.
        got: usize,
        /// The most that is allowed.
        most: usize,
    },
}

/// The most problems that a message names.
const MOST_LISTED: usize = 20;

fn listed(problems: &[DeclarationError]) -> String {
    let mut list: Vec<String> = problems
        .iter()
        .take(MOST_LISTED)
        .enumerate()
        .map(|(i, problem)| format!("({}) {problem}", i + 1))
        .collect();
    if let Some(more @ 1..) = problems.len().checked_sub(MOST_LISTED) {
        list.push(format!("and {more} more"));
    }
    list.join("; ")
}

/// Advice for a type that has no encoding: the type to declare in its place.
fn advice(kind: &str) -> &'static str {
    match kind.trim().to_ascii_lowercase().as_str() {
        "date" | "datetime" | "timestamp" | "time" => {
            "a feature may be a `date`; turn a target into a number, such as days since a public day, and declare that `integer` with bounds"
        }
        "string" | "str" | "text" | "object" => {
            "declare it `categorical` with `categories`, or `text` with `hash` for words, or give it role `ignore`"
        }
        _ => "declare it `integer`, `real`, `boolean` or `categorical`, or give it role `ignore`",
    }
}
