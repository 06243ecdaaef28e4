//! Why a declaration, or the layout asked of it, is refused.

/// What is wrong with a declaration or an encoding. Every variant is raised before any row is read,
/// so a message may quote whatever was declared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// The text is not the JSON of a declaration.
    #[error("the schema is not readable JSON of the expected form: {message}")]
    Json {
        /// What the JSON reader says.
        message: String,
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
        /// What was written.
        role: String,
        /// The roles that leave a column out.
        ignored: &'static str,
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

    /// Bounds, and the statement that there are none.
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
        /// What was written.
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

    /// Two categories are the same number: where a column holds numbers, they could not be told apart.
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

    /// A type that has no encoding.
    #[error(
        "column `{column}` has type `{kind}`, which has no encoding: declare it `integer`, `real` or `categorical`, or give it role `ignore`"
    )]
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
        /// What was written.
        task: String,
    },

    /// The task and the target's type do not fit.
    #[error("task `{task}` and target `{target}` do not fit: {needs}")]
    TaskMismatch {
        /// The task.
        task: &'static str,
        /// The target.
        target: String,
        /// What the task needs of its target.
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
        /// What was given as positive class.
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
        /// What was given.
        got: f64,
    },

    /// Too many features.
    #[error("the declaration gives {got} features: at most {most} are supported")]
    TooManyFeatures {
        /// How many there would be.
        got: usize,
        /// The most that is allowed.
        most: usize,
    },
}
