//! A fitted model: weights, the task they belong to, and the certificate.

use std::path::Path;

use reticent_data::feature_map::FeatureMap;
use reticent_data::{Features, mapped_margins, margins, second_layer};
use reticent_optim::{Plan, Release};
use reticent_privacy::risk::Risk;
use reticent_problem::declaration::{Input, InputKind, Labels, Layout};
use reticent_problem::loss::{Link, Predicts};
use reticent_table::encode::CellCounts;
use reticent_table::table::{self, TableFile};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::draft::DraftCertificate;
use crate::files::{Replace, read_text, write_over};
use crate::{Certificate, Edited, Error, Task, unique};

/// The format that this version writes and reads.
pub(crate) const FORMAT: &str = "reticent-model/1";

/// Whether a format is that of a model of some version.
fn is_version(format: &str) -> bool {
    let number = format.strip_prefix("reticent-model/");
    number.is_some_and(|n| (1..=4).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Weights with the task they belong to and the certificate that speaks for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The file format.
    pub format: String,
    /// The certificate.
    pub certificate: Certificate,
    /// The task: declaration, encoding, loss.
    pub task: Task,
    /// The encoded columns: the features, in the order of the weights, or what a map makes features
    /// of.
    pub features: Vec<String>,
    /// For each output (one, or one for each class) a weight for each feature. Of a network, first
    /// for each hidden unit a weight for each feature, then for each output a weight for each
    /// hidden unit and a constant.
    pub weights: Vec<Vec<f64>>,
    /// The features, by their place, of declared categories that the noisy moments of the rows show
    /// no data for: their weights are zero.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<usize>,
    /// The noisy curvature of the loss at the weights, from which standard errors follow; none
    /// where the plan releases none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curvature: Option<Vec<f64>>,
    /// The private weights of each block of records, one after another, from whose spread standard
    /// errors follow; none where the plan has no blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<f64>>,
    /// The release from the table that filled in its schema; none if that was written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftCertificate>,
    /// The edits of the weights after their release; none if they are as they were released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Edited>,
    /// Whether it came from a file that was altered after it was written: a file written from it
    /// says so.
    #[serde(skip)]
    altered: bool,
}

/// A model's prediction for one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The class or the number.
    pub value: Value,
    /// The probability of each declared class, where the loss gives one.
    pub probabilities: Option<Vec<f64>>,
}

/// Kinds of models, by the map from a row to its prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Weights of the encoded columns.
    Linear,
    /// The same, with a curve for a number or a surface for a pair of columns.
    Additive,
    /// Weights of random features.
    Kernel,
    /// One hidden layer.
    Network,
}

impl Model {
    /// Its kind.
    pub fn kind(&self) -> ModelKind {
        let bent = |layout: &Layout| {
            let curve = |input: &Input| matches!(input.kind, InputKind::Curve { .. });
            !layout.pairs().is_empty() || layout.inputs().iter().any(curve)
        };
        match (&self.task.map, self.task.hidden) {
            (Some(_), _) => ModelKind::Kernel,
            (None, Some(_)) => ModelKind::Network,
            (None, None) if self.layout().is_ok_and(|layout| bent(&layout)) => ModelKind::Additive,
            (None, None) => ModelKind::Linear,
        }
    }

    /// A model from a release. Of the task's declaration it holds the published part. Categories
    /// that no row was seen to have get no weight: their released weights are noise, and zeros in
    /// their place are post-processing.
    pub fn of_release(task: Task, release: &Release, certificate: Certificate) -> Self {
        let mut model = Self::new(task, &release.weights, certificate);
        model.curvature.clone_from(&release.curvature);
        model.blocks.clone_from(&release.blocks);
        let categories = model.task.category_features();
        let of_category = |j: &usize| categories.iter().any(|features| features.contains(j));
        model.unseen = release.unseen.iter().copied().filter(of_category).collect();
        for weights in &mut model.weights {
            model.unseen.iter().for_each(|j| weights[*j] = 0.0);
        }
        model
    }

    /// A model from released weights. Of the task's declaration it holds the published part.
    pub fn new(task: Task, weights: &[f64], certificate: Certificate) -> Self {
        // One that cannot be read was refused before anything was paid.
        let draft = DraftCertificate::of(&task.declaration).unwrap_or_default();
        let task = Task { declaration: task.declaration.published(), ..task };
        let draft = draft.map(|draft| draft.published(&task.declaration));
        let features = task.layout().map_or_else(|_| Vec::new(), |l| l.feature_names().to_vec());
        let width = task.map.map_or(features.len(), |law| law.features).max(1);
        let units = task.hidden.unwrap_or(0);
        let (first, last) = weights.split_at((units * width).min(weights.len()));
        let last_width = if units > 0 { units + 1 } else { width };
        let chunks = first.chunks(width).chain(last.chunks(last_width));
        let weights = chunks.map(<[f64]>::to_vec).collect();
        let format = FORMAT.to_owned();
        Self {
            format,
            certificate,
            task,
            features,
            weights,
            unseen: Vec::new(),
            curvature: None,
            blocks: None,
            draft,
            edited: None,
            altered: false,
        }
    }

    /// The same with the risk that its plan was chosen to keep, which the statement then names.
    #[must_use]
    pub fn keeping(mut self, risk: Risk) -> Self {
        self.certificate = self.certificate.keeping(risk);
        self
    }

    /// Reads a model file.
    ///
    /// # Errors
    ///
    /// [`Error::File`] or [`Error::NotAModel`]. A model whose certificate does not hold still
    /// loads: verify tells.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_json(&read_text(path)?, &path.display().to_string()).map(|(model, _)| model)
    }

    /// The model in `text`, which is called `file` in messages, and whether its digest is that of
    /// its contents.
    ///
    /// # Errors
    ///
    /// [`Error::NotAModel`].
    pub fn from_json(text: &str, file: &str) -> Result<(Self, bool), Error> {
        let not_a_model = |why: String| Error::NotAModel { file: file.to_owned(), why };
        let mut value = unique::parse(text).map_err(|e| not_a_model(e.to_string()))?;
        let stated = value.as_object_mut().and_then(|object| object.remove("digest"));
        let whole = stated.as_ref().and_then(Value::as_str) == Some(&digest(&value));
        match value.get("format").and_then(Value::as_str) {
            Some(FORMAT) => {}
            Some(other) if is_version(other) => {
                return Err(Error::OtherVersion {
                    file: file.to_owned(),
                    format: other.to_owned(),
                });
            }
            Some(_) => {
                return Err(not_a_model(format!(
                    "its format is not `{FORMAT}`, which this version reads"
                )));
            }
            None => return Err(not_a_model("it has no field `format`".to_owned())),
        }
        let mut model: Self =
            serde_json::from_value(value).map_err(|e| not_a_model(e.to_string()))?;
        model.altered = !whole;
        model.check_shape().map_err(|why| not_a_model(why.to_owned()))?;
        Ok((model, whole))
    }

    fn check_shape(&self) -> Result<(), &'static str> {
        let units = self.task.hidden.unwrap_or(0);
        if self.task.hidden == Some(0) {
            return Err("a hidden layer has no unit");
        }
        if self.task.check_loss().is_err() {
            return Err("the loss does not fit the target");
        }
        if self.weights.len().checked_sub(units) != Some(self.task.loss.outputs()) {
            return Err("the number of weight vectors is not that of the loss");
        }
        let width = match self.task.map {
            Some(law) if law.check().is_err() => {
                return Err("the law of its random features is invalid");
            }
            Some(law) => law.features,
            None => self.features.len(),
        };
        let (first, last) = self.weights.split_at(units);
        let last_width = if units > 0 { units + 1 } else { width };
        if first.iter().any(|w| w.len() != width) || last.iter().any(|w| w.len() != last_width) {
            return Err("weights and features differ in number");
        }
        if self.weights.iter().flatten().any(|w| !w.is_finite()) {
            return Err("a weight is not finite");
        }
        if self.unseen.last().is_some_and(|last| *last >= width) {
            return Err("a feature without data is none of the features");
        }
        if self.curvature.iter().flatten().any(|x| !x.is_finite()) {
            return Err("a number of the curvature release is not finite");
        }
        if self.blocks.iter().flatten().any(|x| !x.is_finite()) {
            return Err("a weight of a block is not finite");
        }
        let lengths = |weights: &[Vec<f64>]| weights.iter().map(Vec::len).collect::<Vec<_>>();
        if self.edited.as_ref().is_some_and(|edited| {
            lengths(&edited.released) != lengths(&self.weights)
                || edited.released.iter().flatten().any(|w| !w.is_finite())
        }) {
            return Err("the released weights of an edited model are not as many, or not finite");
        }
        Ok(())
    }

    /// The digest that the model file carries: that of its contents, or `altered` if it came from a
    /// file whose contents had another.
    pub fn digest(&self) -> String {
        self.digest_of(&serde_json::to_value(self).unwrap_or_default())
    }

    fn digest_of(&self, value: &Value) -> String {
        if self.altered { "altered".to_owned() } else { digest(value) }
    }

    /// The model file.
    pub fn to_json(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let digest = self.digest_of(&value);
        if let Some(object) = value.as_object_mut() {
            object.insert("digest".to_owned(), Value::String(digest));
        }
        format!("{value:#}\n")
    }

    /// Writes the model file, whole or not at all, and only if it can be read again: what is there
    /// stays until then. Another model is not replaced: it may have been paid for.
    ///
    /// # Errors
    ///
    /// [`Error::File`], [`Error::NotReplaced`] or [`Error::NotAModel`].
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        self.write(path, Replace::Document)
    }

    /// [`Self::save`] that replaces another model, too.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save_over(&self, path: &Path) -> Result<(), Error> {
        self.write(path, Replace::Model)
    }

    fn write(&self, path: &Path, replace: Replace) -> Result<(), Error> {
        let text = self.to_json();
        Self::from_json(&text, &path.display().to_string())?;
        write_over(path, text.as_bytes(), replace)
    }

    /// About how many bytes the file of a model for `task` with these plans takes, or more.
    pub fn bytes_at_most<'a>(task: &Task, plans: impl IntoIterator<Item = &'a Plan>) -> u64 {
        let text = |value: Value| value.to_string().len() as u64;
        let plans = plans.into_iter().map(|plan| {
            let weights = plan.outline().problem.dimension() as u64;
            let more = match plan {
                Plan::Objective(plan) => {
                    let curvature = plan.curvature.map_or(0, |_| weights * (weights + 1));
                    curvature + plan.blocks.map_or(0, |blocks| blocks.count as u64 * weights)
                }
                _ => 0,
            };
            48 * (weights + more) + 4 * text(serde_json::to_value(plan).unwrap_or_default())
        });
        let names = task.layout().map_or(0, |layout| layout.feature_names().join("      ").len());
        (1 << 14)
            + plans.sum::<u64>()
            + 2 * names as u64
            + 4 * text(serde_json::to_value(task).unwrap_or_default())
    }

    /// The layout of the rows that the model reads.
    ///
    /// # Errors
    ///
    /// If the stored task does not hold together.
    pub fn layout(&self) -> Result<Layout, Error> {
        self.task.layout()
    }

    /// Predicts for every row of a table, and says what became of its cells; it needs no target
    /// column. The table counts as public: predictions and counts tell of its rows.
    ///
    /// # Errors
    ///
    /// About the structure of the file.
    pub fn predict_file(
        &self,
        file: impl Into<TableFile>,
    ) -> Result<(Vec<Prediction>, CellCounts), Error> {
        let layout = self.layout()?;
        let table = table::inspect(file, None, &layout, false)?;
        Ok((self.predict(table.rows.features(), layout.labels()), table.counts))
    }

    /// Predicts for encoded rows.
    pub fn predict(&self, features: &Features, labels: &Labels) -> Vec<Prediction> {
        let outputs = self.task.loss.outputs();
        let one = |margins: &[f64]| Prediction {
            value: match labels {
                Labels::Regression { .. } => Value::from(self.number_of(margins[0], labels)),
                _ => Value::String(labels.classes()[class_of(margins, labels)].clone()),
            },
            probabilities: self.probabilities_of(margins, labels),
        };
        self.margins(features).chunks(outputs).map(one).collect()
    }

    /// The index of each encoded row's class in declared order.
    pub fn classify(&self, features: &Features, labels: &Labels) -> Vec<usize> {
        let margins = self.margins(features);
        margins.chunks(self.task.loss.outputs()).map(|m| class_of(m, labels)).collect()
    }

    /// For each encoded row the probability of each declared class or level, row after row, where
    /// the loss gives one.
    pub fn probabilities(&self, features: &Features, labels: &Labels) -> Option<Vec<f64>> {
        let margins = self.margins(features);
        let rows = margins.chunks(self.task.loss.outputs());
        rows.map(|m| self.probabilities_of(m, labels))
            .collect::<Option<Vec<_>>>()
            .map(|p| p.concat())
    }

    /// The number that is predicted for each encoded row.
    pub fn numbers(&self, features: &Features, labels: &Labels) -> Vec<f64> {
        self.margins(features).iter().map(|m| self.number_of(*m, labels)).collect()
    }

    /// For each encoded row how much speaks for the second of two declared classes, or for each of
    /// more.
    pub fn decisions(&self, features: &Features, labels: &Labels) -> Vec<f64> {
        let mut margins = self.margins(features);
        if let Labels::Binary { positive: 0, .. } = labels {
            for m in &mut margins {
                *m = -*m;
            }
        }
        margins
    }

    /// Weights and constant of each output of a linear model, such that they give
    /// [`Self::decisions`], or the predicted number, of a row within its bounds; with a logarithmic
    /// link the logarithm of that number.
    pub fn coefficients(&self, layout: &Layout) -> (Vec<Vec<f64>>, Vec<f64>) {
        let labels = layout.labels();
        let (_, offset) = self.task.loss.link().rescaled(labels.scale(), labels.offset());
        let scale = self.task.margin_scale(labels);
        let last = self.weights.len() - self.task.loss.outputs();
        let outputs = self.weights[last..].iter().map(|w| {
            // A network's last layer and a map's features have no column that is constant.
            let of_columns = self.task.hidden.is_none() && self.task.map.is_none();
            let width = layout.intercept().filter(|_| of_columns).unwrap_or(w.len());
            let constant = w.get(width).copied().unwrap_or(0.0);
            let weights = w[..width].iter().map(|w| w * scale).collect::<Vec<_>>();
            (weights, constant * scale + offset)
        });
        outputs.unzip()
    }

    /// The margins of encoded rows, one for each output, row after row.
    pub(crate) fn margins(&self, features: &Features) -> Vec<f64> {
        let map = self.task.map.and_then(|law| FeatureMap::new(law, features.columns()).ok());
        let margins = |weights: &[Vec<f64>]| match &map {
            Some(map) => mapped_margins(map, features, &weights.concat(), weights.len()),
            None => margins(features, &weights.concat(), weights.len()),
        };
        let Some(units) = self.task.hidden else { return margins(&self.weights) };
        let (first, last) = self.weights.split_at(units);
        second_layer(margins(first), &last.concat(), units)
    }

    /// The ordered levels of the target, from the lowest to the highest; none for other losses.
    pub fn levels(&self, labels: &Labels) -> Vec<f64> {
        let Link::Levels(thresholds) = self.task.loss.link() else { return Vec::new() };
        let last = (thresholds.levels() - 1).max(1) as f64;
        let label = |level: usize| 2.0 * level as f64 / last - 1.0;
        (0..thresholds.levels()).map(|level| labels.to_target(label(level)).round()).collect()
    }

    /// The probability of each declared class or level, where the loss gives one.
    fn probabilities_of(&self, margins: &[f64], labels: &Labels) -> Option<Vec<f64>> {
        if let Link::Levels(thresholds) = self.task.loss.link() {
            return Some(thresholds.probabilities(margins[0]));
        }
        let Predicts::Probabilities { of, .. } = self.task.loss.about().predicts else {
            return None;
        };
        let mut found = margins.to_vec();
        of(&mut found);
        match (labels, found.as_slice()) {
            (Labels::Binary { positive: 1, .. }, [p]) => Some(vec![1.0 - p, *p]),
            (Labels::Binary { .. }, [p]) => Some(vec![*p, 1.0 - p]),
            (Labels::Multiclass { .. }, _) => Some(found),
            (Labels::Binary { .. } | Labels::Regression { .. }, _) => None,
        }
    }

    /// The prediction of a margin on the target's scale, within its bounds.
    fn number_of(&self, margin: f64, labels: &Labels) -> f64 {
        let (low, high) = labels.range();
        labels.to_target(self.task.loss.link().prediction(margin).clamp(low, high))
    }

    /// How a number is predicted from a margin, for exports: operators, then the bounds of the
    /// labels, then the target's scale. None for classes.
    ///
    /// # Errors
    ///
    /// As [`Self::layout`].
    pub fn last_layer(&self) -> Result<Option<LastLayer>, Error> {
        let Predicts::Number = self.task.loss.about().predicts else { return Ok(None) };
        let link = self.task.loss.link();
        let layout = self.layout()?;
        let labels = layout.labels();
        let (low, high) = labels.range();
        let (scale, offset) = (labels.scale(), labels.offset());
        let thresholds = match link {
            Link::Levels(thresholds) => thresholds.into(),
            Link::Identity | Link::Log => Vec::new(),
        };
        Ok(Some(LastLayer { operators: link.onnx(), thresholds, low, high, scale, offset }))
    }
}

/// From a margin to the predicted number: `offset + scale · clamp(operators(margin), low, high)`;
/// with thresholds, the operators act on the margin less each of them, and the mean of what they
/// give is taken from `[0, 1]` to `[-1, 1]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastLayer {
    /// ONNX operators in order; none where the margin is the prediction.
    pub operators: &'static [&'static str],
    /// The thresholds between ordered levels; none for other losses.
    pub thresholds: Vec<f64>,
    /// The least label.
    pub low: f64,
    /// The largest label.
    pub high: f64,
    /// The factor that multiplies a prediction on the labels' scale.
    pub scale: f64,
    /// The number that is then added.
    pub offset: f64,
}

/// The index of the class that margins speak for; the first of several that they speak for alike.
fn class_of(margins: &[f64], labels: &Labels) -> usize {
    if let Labels::Binary { positive, .. } = labels {
        return if margins[0] > 0.0 { *positive } else { 1 - *positive };
    }
    let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    margins.iter().position(|m| *m == top).unwrap_or(0)
}

/// Whether the contents of a file say that they are a model, of whatever version;
/// [`Model::from_json`] tells whether they are.
pub fn is_model(contents: &[u8]) -> bool {
    let value: Option<Value> = serde_json::from_slice(contents).ok();
    let format = value.as_ref().and_then(|value| value.get("format")).and_then(Value::as_str);
    format.is_some_and(|format| format.starts_with("reticent-model"))
}

/// Whether what is written of a plan can be read again. Asked before it is paid for: a model with
/// such a plan would be lost.
///
/// # Errors
///
/// [`Error::Unreadable`].
pub(crate) fn check_readable<T: Serialize + DeserializeOwned>(plan: &T) -> Result<(), Error> {
    let again = serde_json::to_value(plan).and_then(serde_json::from_value::<T>);
    again.map(drop).map_err(|e| Error::Unreadable { why: e.to_string() })
}

/// The digest of a model's file.
pub(crate) fn digest_of(model: &Model) -> String {
    digest(&serde_json::to_value(model).unwrap_or_default())
}

/// The SHA-256 digest of a value's canonical text: keys sorted, no white space.
pub(crate) fn digest(value: &Value) -> String {
    format!("sha256:{}", sha256(value.to_string().as_bytes()))
}

/// The SHA-256 digest of bytes, in lower-case digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_again_is_refused_before_it_is_paid_for() {
        assert!(check_readable(&1.5).is_ok());
        let refused = check_readable(&vec![f64::INFINITY]);
        assert!(matches!(refused, Err(Error::Unreadable { .. })), "{refused:?}");
    }
}
