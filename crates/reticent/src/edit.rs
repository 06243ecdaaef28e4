//! Edits of a released model that read no row: monotone curves.
//!
//! # Post-processing
//!
//! If a release is (epsilon, delta)-differentially private, so is every function of it that looks
//! at nothing else of the table. An edit here is a function of the released weights and of what its
//! author typed, so the guarantee of the release holds for the edited model. The file keeps the
//! released weights beside the edits: verification recomputes the edited weights from them, and
//! compares the ledger's digest with that of the model as it was released.
//!
//! # Monotone curves
//!
//! The values `v` of a curve at its knots become the `z` with `z_1 <= ... <= z_K` that minimises
//! `sum_k m_k (z_k − v_k)²`, with `m_k` the length of the column's interval that value `k` stands
//! for, on the curve's scale. Pooling adjacent violators finds it: neighbours in the wrong order
//! are replaced by their weighted mean until none are. The projection onto a convex set that holds
//! a monotone truth never leads away from it. A curve that is linear or constant between monotone
//! values is monotone.

use reticent_problem::declaration::{Basis, Curve, InputKind, Layout};
use serde::{Deserialize, Serialize};

use crate::curves::share;
use crate::{Error, Model};

/// Which way a curve may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The prediction never falls as the number grows.
    Increasing,
    /// The prediction never grows as the number grows.
    Decreasing,
}

impl Direction {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
        }
    }
}

impl std::str::FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "increasing" => Ok(Self::Increasing),
            "decreasing" => Ok(Self::Decreasing),
            _ => Err("a direction is `increasing` or `decreasing`".to_owned()),
        }
    }
}

/// An edit of a released model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monotone {
    /// The column whose curve is made monotone.
    pub column: String,
    /// Which way it runs then.
    pub direction: Direction,
}

/// The edits of a model after its release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edited {
    /// Curves that were made monotone, in order.
    pub monotone: Vec<Monotone>,
    /// The weights as they were released.
    pub released: Vec<Vec<f64>>,
}

impl Model {
    /// The model as it was released.
    #[must_use]
    pub fn as_released(&self) -> Self {
        let mut model = self.clone();
        if let Some(edited) = model.edited.take() {
            model.weights = edited.released;
        }
        model
    }

    /// The model with monotone curves besides the edits that it has.
    ///
    /// # Errors
    ///
    /// [`Error::NotMonotone`] for a column without a curve and for a model of several outputs; as
    /// [`Model::layout`].
    pub fn with_monotone(&self, more: &[Monotone]) -> Result<Self, Error> {
        let before = self.edited.as_ref();
        let monotone: Vec<Monotone> =
            before.map_or(&[][..], |edited| &edited.monotone).iter().chain(more).cloned().collect();
        let mut model = self.as_released();
        let released = model.weights.clone();
        model.weights = apply(&model, &monotone)?;
        model.edited = Some(Edited { monotone, released });
        Ok(model)
    }

    /// Whether the weights follow from the released ones and the edits.
    pub(crate) fn edits_hold(&self) -> bool {
        let Some(edited) = &self.edited else { return true };
        apply(&self.as_released(), &edited.monotone).is_ok_and(|weights| weights == self.weights)
    }
}

/// The weights after the edits.
fn apply(model: &Model, edits: &[Monotone]) -> Result<Vec<Vec<f64>>, Error> {
    let refused = |column: &str, why| Error::NotMonotone { column: column.to_owned(), why };
    let layout = model.layout()?;
    let mut weights = model.weights.clone();
    for Monotone { column, direction } in edits {
        let [weights] = weights.as_mut_slice() else {
            return Err(refused(
                column,
                "the model has several outputs, of which no one is the prediction",
            ));
        };
        if model.task.map.is_some() || model.task.hidden.is_some() {
            return Err(refused(column, "the model is no sum over its columns"));
        }
        let rises = (*direction == Direction::Increasing)
            == (model.task.margin_scale(layout.labels()) > 0.0);
        let sign = if rises { 1.0 } else { -1.0 };
        edit(weights, column, sign, &layout)
            .ok_or_else(|| refused(column, "it is no numeric column of the model"))?;
    }
    Ok(weights)
}

/// Makes the curve of a column monotone; none if it has none.
fn edit(weights: &mut [f64], column: &str, sign: f64, layout: &Layout) -> Option<()> {
    let input = layout.inputs().iter().find(|input| input.name == column)?;
    let start = input.start?;
    match &input.kind {
        InputKind::Number { .. } => {
            // In either range the scaled number grows with the number.
            weights[start] = sign * (sign * weights[start]).max(0.0);
        }
        InputKind::Curve { curve, .. } => {
            let part = &mut weights[start..start + curve.features()];
            let values: Vec<f64> = part.iter().map(|w| sign * w).collect();
            for (weight, value) in part.iter_mut().zip(isotonic(&values, &masses(curve))) {
                *weight = sign * value;
            }
        }
        InputKind::OneHot { .. }
        | InputKind::Entries { .. }
        | InputKind::Vector { .. }
        | InputKind::Periodic { .. }
        | InputKind::Hashed { .. } => return None,
    }
    Some(())
}

/// The length of the interval that each value of a curve stands for, on its scale.
fn masses(curve: &Curve) -> Vec<f64> {
    let ends = [curve.knots[0], curve.knots[curve.knots.len() - 1]];
    let places: Vec<f64> = curve.knots.iter().map(|x| share(curve.scale, ends, *x)).collect();
    let widths: Vec<f64> = places.windows(2).map(|ends| ends[1] - ends[0]).collect();
    match curve.basis {
        Basis::Bins => widths,
        Basis::Tent => {
            let before = std::iter::once(0.0).chain(widths.iter().copied());
            let after = widths.iter().copied().chain([0.0]);
            before.zip(after).map(|(a, b)| 0.5 * (a + b)).collect()
        }
    }
}

/// The non-decreasing values nearest to these, each difference squared and weighted.
fn isotonic(values: &[f64], masses: &[f64]) -> Vec<f64> {
    // Blocks of neighbours with one value: its mean, its mass, how many.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, mass) in values.iter().zip(masses) {
        let mut block = (*value, *mass, 1);
        while let Some(last) = blocks.pop_if(|last| last.0 > block.0) {
            let mass = last.1 + block.1;
            block = ((last.0 * last.1 + block.0 * block.1) / mass, mass, last.2 + block.2);
        }
        blocks.push(block);
    }
    blocks.iter().flat_map(|(mean, _, count)| std::iter::repeat_n(*mean, *count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violators_are_pooled_to_their_weighted_mean() {
        assert_eq!(isotonic(&[1.0, 2.0, 3.0], &[1.0; 3]), [1.0, 2.0, 3.0]);
        assert_eq!(isotonic(&[3.0, 1.0, 2.0], &[1.0; 3]), [2.0, 2.0, 2.0]);
        assert_eq!(isotonic(&[0.0, 4.0, 1.0, 9.0], &[1.0, 1.0, 2.0, 1.0]), [0.0, 2.0, 2.0, 9.0]);
    }

    #[test]
    fn no_monotone_values_are_nearer() {
        // Against every monotone candidate of a grid.
        let (values, masses) = ([0.3, 0.9, 0.1, 0.6], [0.5, 1.0, 2.0, 0.5]);
        let cost = |z: &[f64]| {
            z.iter().zip(values).zip(masses).map(|((z, v), m)| m * (z - v) * (z - v)).sum::<f64>()
        };
        let best = cost(&isotonic(&values, &masses));
        let grid: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
        for a in &grid {
            for b in grid.iter().filter(|b| *b >= a) {
                for c in grid.iter().filter(|c| *c >= b) {
                    for d in grid.iter().filter(|d| *d >= c) {
                        assert!(cost(&[*a, *b, *c, *d]) >= best - 1e-12);
                    }
                }
            }
        }
    }
}
