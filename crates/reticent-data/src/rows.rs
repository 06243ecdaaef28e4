//! Encoded rows in memory: dense `f32` or `f64`, or compressed sparse rows.
//!
//! Rows are private. The types here print their shape and never their contents.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use reticent_problem::{ProblemError, RowBounds, Unit};

use crate::OracleError;
use crate::feature_map::{FeatureMap, Mapped};
use crate::shares::Shares;
use crate::units::{Grouping, Units};

/// A row-major matrix.
#[derive(Clone, PartialEq)]
pub struct Dense<T> {
    rows: usize,
    columns: usize,
    values: Vec<T>,
}

impl<T> Dense<T> {
    /// A matrix of `rows` by `columns` from its values, row after row.
    ///
    /// # Panics
    ///
    /// If `values` does not hold `rows * columns` numbers: the caller made the shape, so this is a
    /// bug there.
    pub fn new(rows: usize, columns: usize, values: Vec<T>) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} x {columns} matrix");
        Self { rows, columns, values }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values, row after row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, to be changed in place.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }
}

impl<T: Copy> Dense<T> {
    /// The rows with these numbers.
    fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Self::new(rows.len(), self.columns, values)
    }
}

/// Compressed sparse rows. Within a row the column indices increase.
#[derive(Clone, PartialEq)]
pub struct Csr {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Csr {
    /// From the three arrays of CSR.
    ///
    /// # Panics
    ///
    /// If the arrays do not belong together: the reader made them, so this is a bug there.
    pub fn new(columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64>) -> Self {
        assert!(!offsets.is_empty() && offsets[0] == 0, "offsets start at zero");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets never fall");
        assert_eq!(offsets.last().copied(), Some(indices.len()), "offsets end at the last entry");
        assert_eq!(indices.len(), values.len(), "an index for each value");
        assert!(indices.iter().all(|&j| (j as usize) < columns), "indices lie below {columns}");
        let rising = |w: &[usize]| indices[w[0]..w[1]].windows(2).all(|pair| pair[0] < pair[1]);
        assert!(offsets.windows(2).all(rising), "indices of a row increase");
        Self { columns, offsets, indices, values }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Indices and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The rows with these numbers.
    fn select(&self, rows: &[usize]) -> Self {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let (at, of) = self.row(row);
            indices.extend_from_slice(at);
            values.extend_from_slice(of);
            offsets.push(indices.len());
        }
        Self::new(self.columns, offsets, indices, values)
    }
}

/// The features of all rows, in one of three layouts, or as a map computes them from such.
#[derive(Clone, PartialEq)]
pub enum Features {
    /// Single precision; arithmetic on it is done in double precision, but for clipped sums, which
    /// charge what they lose.
    F32(Dense<f32>),
    /// Double precision.
    F64(Dense<f64>),
    /// Sparse.
    Sparse(Csr),
    /// Random features, computed when they are looked at.
    Mapped(Mapped),
}

impl Features {
    /// How many rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::F32(x) => x.rows(),
            Self::F64(x) => x.rows(),
            Self::Sparse(x) => x.rows(),
            Self::Mapped(x) => x.rows(),
        }
    }

    /// How many columns, the intercept among them.
    pub fn columns(&self) -> usize {
        match self {
            Self::F32(x) => x.columns(),
            Self::F64(x) => x.columns(),
            Self::Sparse(x) => x.columns(),
            Self::Mapped(x) => x.columns(),
        }
    }

    /// The rows with these numbers; none of features that are yet to be computed.
    fn select(&self, rows: &[usize]) -> Option<Self> {
        Some(match self {
            Self::F32(x) => Self::F32(x.select(rows)),
            Self::F64(x) => Self::F64(x.select(rows)),
            Self::Sparse(x) => Self::Sparse(x.select(rows)),
            Self::Mapped(_) => return None,
        })
    }
}

/// Encoded features and labels.
///
/// A label is `-1` or `+1` for two classes, the class's index for more, and the scaled target for
/// regression.
#[derive(Clone, PartialEq)]
pub struct Rows {
    features: Features,
    labels: Vec<f64>,
    bounds: RowBounds,
    units: Option<Arc<Units>>,
    /// Of each row, between 0 and 1; none where every row counts 1.
    weights: Option<Arc<[f64]>>,
}

impl Rows {
    /// Features with their labels, and the bounds that every row keeps. The caller vouches
    /// for them; the encoder does, for every row whatsoever.
    ///
    /// # Panics
    ///
    /// If their numbers differ: the encoder made both, so this is a bug there.
    pub fn new(features: Features, labels: Vec<f64>, bounds: RowBounds) -> Self {
        assert_eq!(features.rows(), labels.len(), "a label for each row");
        Self { features, labels, bounds, units: None, weights: None }
    }

    /// The same rows, each with a weight by which its loss is multiplied, besides the one that it
    /// may have. Whatever the numbers are, the weights lie between 0 and 1: every bound on a
    /// weighted row follows from this line. What is no number counts as 0.
    ///
    /// # Panics
    ///
    /// If there is not one for each row: the caller counted them, so this is a bug there.
    #[must_use]
    pub fn weighted(self, weights: impl IntoIterator<Item = f64>) -> Self {
        let held = |w: f64| if w.is_nan() { 0.0 } else { w.clamp(0.0, 1.0) };
        let mut weights: Vec<f64> = weights.into_iter().map(held).collect();
        assert_eq!(weights.len(), self.len(), "a weight for each row");
        if let Some(former) = &self.weights {
            weights.iter_mut().zip(former.iter()).for_each(|(w, former)| *w *= former);
        }
        Self { weights: Some(weights.into()), ..self }
    }

    /// The same rows with the features that `map` makes of theirs. Their bounds are the map's: they
    /// hold whatever the rows hold.
    ///
    /// # Errors
    ///
    /// [`ProblemError`], if the labels have no bound.
    pub fn mapped(self, map: impl Into<Arc<FeatureMap>>) -> Result<Self, ProblemError> {
        let map = map.into();
        let bounds = map.law().bounds(self.bounds.label())?;
        let features = Features::Mapped(Mapped::new(self.features, map));
        Ok(Self { features, bounds, ..self })
    }

    /// The rows that are kept of each unit, unit after unit: rows with the same key belong
    /// together, and a row without one is a unit of its own. See [`Units`].
    ///
    /// # Errors
    ///
    /// [`OracleError::UnitKeys`] if there is not one key for each row, or rows are
    /// [mapped](Self::mapped) already.
    pub fn grouped<K: Hash + Eq>(
        self,
        keys: impl ExactSizeIterator<Item = Option<K>>,
        unit: &Unit,
    ) -> Result<Self, OracleError> {
        if keys.len() != self.len() {
            return Err(OracleError::UnitKeys);
        }
        let Grouping { kept, units } = Grouping::new(keys, unit);
        let features = self.features.select(&kept).ok_or(OracleError::UnitKeys)?;
        let labels = kept.iter().map(|&row| self.labels[row]).collect();
        let weights = self.weights.map(|all| kept.iter().map(|&row| all[row]).collect());
        Ok(Self { features, labels, bounds: self.bounds, units: Some(Arc::new(units)), weights })
    }

    /// Rows that lie unit after unit, so many of each; none if that is not how many there are, or
    /// one has no row or more than are kept.
    pub(crate) fn in_units(self, unit: &Unit, sizes: &[usize]) -> Option<Self> {
        let units = Units::of_sizes(unit, sizes)?;
        (units.all_rows() == self.len()).then(|| Self { units: Some(Arc::new(units)), ..self })
    }

    /// Whose rows count as one record, if it is not each row alone.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_deref()
    }

    /// [`Self::units`] where a unit may have several rows: with one row each, a unit is a row.
    pub(crate) fn several(&self) -> Option<&Units> {
        self.units().filter(|units| units.unit().has_several_rows())
    }

    /// The weights of the rows, if they have such.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// How rows count, unless each is a record that counts 1.
    pub(crate) fn shares(&self) -> Option<Shares<'_>> {
        Shares::new(self.several(), self.weights(), self.len())
    }

    /// How many records: units, or rows.
    pub fn records(&self) -> usize {
        self.units().map_or(self.len(), Units::len)
    }

    /// The bounds that every row keeps.
    pub fn bounds(&self) -> RowBounds {
        self.bounds
    }

    /// The features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The labels.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

impl<T> fmt::Debug for Dense<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dense({} x {})", self.rows, self.columns)
    }
}

impl fmt::Debug for Csr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Csr({} x {})", self.rows(), self.columns)
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({} x {})", self.rows(), self.columns())
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} x {})", self.len(), self.features.columns())
    }
}
