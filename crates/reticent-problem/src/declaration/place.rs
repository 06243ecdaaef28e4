//! Where in a schema file a problem stands: line and column, found in the text itself.

use serde_json::Value;

use super::error::DeclarationError;

/// Values nested deeper than this are not looked into: nothing of a declaration lies there.
const DEEPEST: usize = 16;

/// The places of all values of a JSON text, each by its path, such as `columns[3].bounds`.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    found: Vec<(String, usize)>,
}

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Passes a quoted text and gives what lies between its quotes, as written.
    fn string(&mut self) -> String {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.text.len());
        self.at += 1;
        String::from_utf8_lossy(&self.text[start..end]).into_owned()
    }

    /// Passes a value and notes it and, in the upper levels, the values within.
    fn value(&mut self, path: &str, depth: usize) {
        self.skip_blanks();
        if depth <= DEEPEST {
            self.found.push((path.to_owned(), self.at));
        }
        match self.byte() {
            Some(b'"') => {
                self.string();
            }
            Some(open @ (b'{' | b'[')) => self.members(path, open == b'{', depth),
            _ => {
                let ends = |byte: u8| b",]}".contains(&byte) || byte.is_ascii_whitespace();
                while self.byte().is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
            }
        }
    }

    fn members(&mut self, path: &str, named: bool, depth: usize) {
        self.at += 1;
        for index in 0.. {
            self.skip_blanks();
            match self.byte() {
                None => return,
                Some(b'}' | b']') => {
                    self.at += 1;
                    return;
                }
                Some(b',') => {
                    self.at += 1;
                    self.skip_blanks();
                }
                Some(_) => {}
            }
            let path = if named {
                let key = self.string();
                self.skip_blanks();
                self.at += 1;
                if path.is_empty() { key } else { format!("{path}.{key}") }
            } else {
                format!("{path}[{index}]")
            };
            self.value(&path, depth + 1);
        }
    }
}

/// Line and column, both from one, of a byte of a text.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

impl DeclarationError {
    /// Several problems as one; none for none.
    pub(super) fn together(mut problems: Vec<Self>) -> Option<Self> {
        match problems.len() {
            0 | 1 => problems.pop(),
            _ => Some(Self::Several { problems }),
        }
    }

    /// The column that a problem is about, and the fields at fault, the likeliest first; fields of
    /// the whole file where there is no column.
    fn subject(&self) -> (Option<&str>, &'static [&'static str]) {
        match self {
            Self::DuplicateColumn { column }
            | Self::Blank { column }
            | Self::UnboundedColumn { column } => (Some(column), &[]),
            Self::UnknownRole { column, .. }
            | Self::GroupRole { column }
            | Self::TwoWeights { column }
            | Self::ExposureOfClasses { column } => (Some(column), &["role"]),
            Self::MissingBounds { column }
            | Self::BoundsForm { column }
            | Self::BoundedAndUnbounded { column }
            | Self::MissingVectorBounds { column }
            | Self::BadBounds { column, .. }
            | Self::BadNorm { column, .. }
            | Self::BadDates { column }
            | Self::BadWeight { column }
            | Self::CurveWithoutBounds { column } => (Some(column), &["bounds"]),
            Self::MisplacedBounds { column, .. } => {
                (Some(column), &["range", "min", "minimum", "bound", "max", "maximum"])
            }
            Self::MissingCategories { column }
            | Self::BadCategory { column }
            | Self::DuplicateCategory { column, .. }
            | Self::SameNumber { column, .. }
            | Self::NotFiniteCategory { column, .. } => (Some(column), &["categories"]),
            Self::MissingIsCategory { column, .. }
            | Self::BadMissing { column }
            | Self::BadFill { column }
            | Self::FillAndIndicator { column }
            | Self::IndicatorOfVector { column } => (Some(column), &["missing"]),
            Self::BasisOfNoNumber { column }
            | Self::UnknownBasis { column, .. }
            | Self::LinearWithKnots { column }
            | Self::BadScale { column, .. }
            | Self::BadKnots { column, .. }
            | Self::KnotsCoincide { column } => (Some(column), &["basis"]),
            Self::BadOther { column } => (Some(column), &["other"]),
            Self::BadFormat { column } => (Some(column), &["format"]),
            Self::BadParts { column } => (Some(column), &["parts"]),
            Self::BadHash { column, .. } => (Some(column), &["hash"]),
            Self::BadThousands { column } => (Some(column), &["thousands"]),
            Self::UnsupportedType { column, .. } => (Some(column), &["type"]),
            Self::BadShape { column, .. } => (Some(column), &["shape", "dimension"]),
            Self::TooFewClasses { target, .. } => (Some(target), &["categories"]),
            Self::UnknownTask { .. } | Self::TaskMismatch { .. } => (None, &["task"]),
            Self::UnknownTarget { .. } | Self::TwoTargets { .. } | Self::NoTarget => {
                (None, &["target"])
            }
            Self::PositiveClass { .. } => (None, &["positive_class"]),
            Self::NoUnitColumn
            | Self::NoMaxRows { .. }
            | Self::BadMaxRows { .. }
            | Self::UnknownWeighting { .. }
            | Self::UnitIsFeature { .. } => (None, &["unit"]),
            Self::NotAPair { .. } | Self::BadPairColumn { .. } | Self::PairTwice { .. } => {
                (None, &["interactions"])
            }
            Self::NoColumns | Self::NoFeatures | Self::EmptyName { .. } => (None, &["columns"]),
            Self::BadText { field: "name", .. } => (None, &["name"]),
            Self::BadText { .. } => (None, &["publish"]),
            Self::Json { .. }
            | Self::Several { .. }
            | Self::WrongKind { .. }
            | Self::UnboundedAndNormalized
            | Self::KnotCount { .. }
            | Self::UnknownDrop { .. }
            | Self::MaxWeight { .. }
            | Self::ClassWeightOfNumbers
            | Self::UnknownClass { .. }
            | Self::ClassWeight { .. }
            | Self::NoClassWeight
            | Self::FeatureNorm { .. }
            | Self::TooManyFeatures { .. } => (None, &[]),
        }
    }

    /// The problems one by one, each with its line and its column in the text that it was found in,
    /// where it is about a place in it.
    #[must_use]
    pub fn located(self, text: &str) -> Vec<Located> {
        let problems = match self {
            Self::Several { problems } => problems,
            one => vec![one],
        };
        // A text that was read once is JSON.
        let whole: Value = serde_json::from_str(text).unwrap_or_default();
        let mut scan = Scan { text: text.as_bytes(), at: 0, found: Vec::new() };
        if whole.is_object() {
            scan.value("", 0);
        }
        let index = |column: &str| {
            let columns = whole["columns"].as_array()?;
            columns.iter().position(|c| c["name"].as_str().is_some_and(|n| n.trim() == column))
        };
        let offset = |path: &str| scan.found.iter().find(|(found, _)| found == path).map(|f| f.1);
        let place_of = |problem: &Self| {
            if let Self::WrongKind { path, .. } = problem {
                return offset(path);
            }
            let (column, fields) = problem.subject();
            let at = match column {
                Some(column) => format!("columns[{}]", index(column)?),
                None => String::new(),
            };
            let field = |field: &&str| {
                offset(&if at.is_empty() { (*field).to_owned() } else { format!("{at}.{field}") })
            };
            fields.iter().find_map(field).or_else(|| offset(&at).filter(|_| !at.is_empty()))
        };
        let located = |problem: Self| {
            let place = place_of(&problem).map(|at| line_and_column(text, at));
            Located { place, problem }
        };
        problems.into_iter().map(located).collect()
    }
}

/// A problem of a schema file, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// Line and column, both from one; none for what is absent from the file.
    pub place: Option<(usize, usize)>,
    /// The error, and how to correct it.
    pub problem: DeclarationError,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
mod tests {
    use super::super::Declaration;

    #[test]
    fn each_problem_has_its_line_and_column() {
        let text = r#"{"target": "y", "note": "a \"{\" b",
 "columns": [
  {"name": "a\"", "bounds": {"min": 5, "max": 1}},
  {"name": "ä", "categories": ["ä"], "role": "oops"}, {"name": " b ", "type": "real"},
  {"name": "y", "categories": [0, 1], "missing": {"x": [[]]}}]}"#;
        let located = Declaration::from_json(text).unwrap_err().located(text);
        let places: Vec<_> = located.iter().map(|one| one.place).collect();
        // Bounds, role, the whole column where the field is absent, missing.
        assert_eq!(places, [Some((3, 29)), Some((4, 46)), Some((4, 55)), Some((5, 50))]);
        let text = r#"{"columns": [{"name": "a", "bounds": {"min": 0, "max": 1}}]}"#;
        assert_eq!(Declaration::from_json(text).unwrap_err().located(text)[0].place, None);
    }
}
