//! More than two classes.

use reticent_problem::Loss;
use reticent_problem::loss::Predicts;
use serde::Serialize;

use super::{Known, Metrics, calibration, entropy, log_loss, ranking, share};

/// One class against the rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassMetrics {
    /// The class.
    pub class: String,
    /// How many rows are of it.
    pub rows: usize,
    /// Share of the rows predicted to be of it that are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Share of its rows that are predicted to be of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// Harmonic mean of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// The chance that a row of it scores higher for it than a row of another class, where the
    /// loss gives probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
}

/// Margins of each class, and labels that are indices.
pub(super) fn metrics(loss: Loss, classes: &[String], known: &[Known<'_>]) -> Metrics {
    let n = known.len();
    let mut confusion = vec![vec![0_usize; classes.len()]; classes.len()];
    for (m, y) in known {
        let top = m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let predicted = m.iter().position(|v| *v == top).unwrap_or(0);
        confusion[*y as usize][predicted] += 1;
    }
    let probabilities = probabilities(loss, known);
    let each: Vec<ClassMetrics> = classes
        .iter()
        .enumerate()
        .map(|(class, name)| {
            one_against_rest(class, name, &confusion, known, probabilities.as_deref())
        })
        .collect();
    let counts: Vec<usize> = each.iter().map(|class| class.rows).collect();
    let right: usize = (0..classes.len()).map(|class| confusion[class][class]).sum();
    // As scikit-learn has it, a class that is never predicted has precision zero in the mean.
    let mean = |of: fn(&ClassMetrics) -> Option<f64>| {
        share(each.iter().map(|class| of(class).unwrap_or(0.0)).sum(), each.len())
    };
    let areas: Option<Vec<f64>> = each.iter().map(|class| class.auc).collect();
    let bins = probabilities.as_deref().map_or(Vec::new(), |p| confidence(p, known));
    Metrics {
        rows: n,
        accuracy: share(right as f64, n),
        baseline_accuracy: counts.iter().max().and_then(|most| share(*most as f64, n)),
        log_loss: log_loss(loss, known),
        baseline_log_loss: probabilities.as_ref().and_then(|_| entropy(&counts)),
        brier: probabilities.as_deref().and_then(|p| brier(p, known)),
        auc: areas.and_then(|areas| share(areas.iter().sum(), areas.len())),
        precision: mean(|class| class.precision),
        recall: mean(|class| class.recall),
        f1: mean(|class| class.f1),
        calibration_error: calibration::error(&bins),
        confusion,
        classes: each,
        calibration: bins,
        ..Metrics::default()
    }
}

/// The probability of each class of each row, where the loss gives one.
fn probabilities(loss: Loss, known: &[Known<'_>]) -> Option<Vec<Vec<f64>>> {
    let Predicts::Probabilities { of, .. } = loss.about().predicts else { return None };
    let one = |(m, _): &Known<'_>| {
        let mut p = m.to_vec();
        of(&mut p);
        p
    };
    Some(known.iter().map(one).collect())
}

fn one_against_rest(
    class: usize,
    name: &str,
    confusion: &[Vec<usize>],
    known: &[Known<'_>],
    probabilities: Option<&[Vec<f64>]>,
) -> ClassMetrics {
    let rows: usize = confusion[class].iter().sum();
    let predicted: usize = confusion.iter().map(|line| line[class]).sum();
    let hits = confusion[class][class] as f64;
    let auc = probabilities.and_then(|probabilities| {
        let scored: Vec<(f64, bool)> = probabilities
            .iter()
            .zip(known)
            .map(|(p, (_, y))| (p[class], *y as usize == class))
            .collect();
        ranking::auc(&ranking::steps(&scored))
    });
    ClassMetrics {
        class: name.to_owned(),
        rows,
        precision: share(hits, predicted),
        recall: share(hits, rows),
        f1: share(2.0 * hits, predicted + rows),
        auc,
    }
}

/// Mean over rows of the squared errors of all classes' probabilities.
fn brier(probabilities: &[Vec<f64>], known: &[Known<'_>]) -> Option<f64> {
    let squares = probabilities.iter().zip(known).map(|(p, (_, y))| {
        let truth = |class: usize| f64::from(u8::from(class == *y as usize));
        p.iter().enumerate().map(|(class, p)| (p - truth(class)).powi(2)).sum::<f64>()
    });
    share(squares.sum(), known.len())
}

/// The calibration table of the predicted class's probability.
fn confidence(probabilities: &[Vec<f64>], known: &[Known<'_>]) -> Vec<calibration::CalibrationBin> {
    let rows: Vec<(f64, f64)> = probabilities
        .iter()
        .zip(known)
        .map(|(p, (_, y))| {
            let top = p.iter().copied().fold(0.0, f64::max);
            let predicted = p.iter().position(|v| *v == top);
            (top, f64::from(u8::from(predicted == Some(*y as usize))))
        })
        .collect();
    calibration::of_probabilities(&rows)
}
