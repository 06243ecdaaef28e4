//! Calibration of predictions: tables of predicted and observed, and the slope of the one over the
//! other.

use serde::Serialize;

/// Bins of a calibration table.
pub(super) const BINS: usize = 10;

/// Rows with like predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// The least prediction in the bin.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// How many rows.
    pub rows: usize,
    /// Mean prediction.
    pub predicted: f64,
    /// Mean of the observed labels: a share of rows, or the mean target.
    pub observed: f64,
}

/// Of probabilities: ten bins of one width, those without rows left out. `observed` is one where
/// the event came true, else zero.
pub(super) fn of_probabilities(rows: &[(f64, f64)]) -> Vec<CalibrationBin> {
    let width = 1.0 / BINS as f64;
    let mut bins = [(0_usize, 0.0, 0.0); BINS];
    for (predicted, observed) in rows {
        let bin = &mut bins[((predicted * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + 1, bin.1 + predicted, bin.2 + observed);
    }
    let bins = bins.into_iter().enumerate().filter(|(_, bin)| bin.0 > 0);
    bins.map(|(i, (rows, predicted, observed))| CalibrationBin {
        from: i as f64 * width,
        to: (i + 1) as f64 * width,
        rows,
        predicted: predicted / rows as f64,
        observed: observed / rows as f64,
    })
    .collect()
}

/// For regression: ten bins with nearly equal row counts, in the order of predictions.
pub(super) fn of_numbers(rows: &[(f64, f64)]) -> Vec<CalibrationBin> {
    let mut order = rows.to_vec();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bins = BINS.min(order.len());
    (0..bins)
        .map(|i| {
            let bin = &order[i * order.len() / bins..(i + 1) * order.len() / bins];
            let mean =
                |of: fn(&(f64, f64)) -> f64| bin.iter().map(of).sum::<f64>() / bin.len() as f64;
            CalibrationBin {
                from: bin[0].0,
                to: bin[bin.len() - 1].0,
                rows: bin.len(),
                predicted: mean(|row| row.0),
                observed: mean(|row| row.1),
            }
        })
        .collect()
}

/// Mean distance of predicted and observed, weighted by rows.
pub(super) fn error(bins: &[CalibrationBin]) -> Option<f64> {
    let rows = bins.iter().map(|bin| bin.rows).sum();
    let sum: f64 =
        bins.iter().map(|bin| bin.rows as f64 * (bin.predicted - bin.observed).abs()).sum();
    super::share(sum, rows)
}

/// A probability's log-odds, held to where they are finite.
pub(super) fn log_odds(probability: f64) -> f64 {
    const LEAST: f64 = 1e-15;
    let p = probability.clamp(LEAST, 1.0 - LEAST);
    (p / (1.0 - p)).ln()
}

/// The maximum-likelihood offset and slope of `P(positive) = sigmoid(offset + slope · log-odds)`
/// over rows `(log-odds, weight of positives, weight of negatives)`. None where no finite maximum
/// is found: one class alone, or classes that the scores separate.
///
/// Newton's method with halved steps; the objective is convex.
pub(super) fn slope(rows: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    const STEPS: usize = 60;
    const LARGEST: f64 = 1e3;
    let value = |offset: f64, slope: f64| -> f64 {
        let losses = rows.iter().map(|(x, positive, negative)| {
            let margin = offset + slope * x;
            positive * softplus(-margin) + negative * softplus(margin)
        });
        losses.sum()
    };
    let (mut offset, mut slope) = (0.0_f64, 1.0_f64);
    let mut at = value(offset, slope);
    for _ in 0..STEPS {
        let (mut g0, mut g1, mut h00, mut h01, mut h11) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, positive, negative) in rows {
            let p = 1.0 / (1.0 + (-(offset + slope * x)).exp());
            let (weight, curve) = (positive + negative, p * (1.0 - p));
            let residual = weight * p - positive;
            (g0, g1) = (g0 + residual, g1 + residual * x);
            let curve = curve * weight;
            (h00, h01, h11) = (h00 + curve, h01 + curve * x, h11 + curve * x * x);
        }
        let determinant = h00 * h11 - h01 * h01;
        if determinant.is_nan() || determinant <= 1e-12 * h00 * h11 {
            return None;
        }
        let step = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant);
        let decrease = step.0 * g0 + step.1 * g1;
        let mut factor = 1.0;
        let mut next = value(offset - step.0, slope - step.1);
        while next > at && factor > 1e-6 {
            factor *= 0.5;
            next = value(offset - factor * step.0, slope - factor * step.1);
        }
        (offset, slope) = (offset - factor * step.0, slope - factor * step.1);
        at = at.min(next);
        if offset.abs().max(slope.abs()) > LARGEST {
            return None;
        }
        if decrease <= 1e-14 * at.abs() {
            return Some((offset, slope));
        }
    }
    None
}

/// `ln(1 + e^x)`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_what_follows_a_line_is_that_of_the_line() {
        let rows: Vec<(f64, f64, f64)> = (-20..=20)
            .map(|i| {
                let x = 0.3 * f64::from(i);
                let p = 1.0 / (1.0 + (-(0.4 + 0.7 * x)).exp());
                (x, 5.0 * p, 5.0 * (1.0 - p))
            })
            .collect();
        let (offset, slope) = slope(&rows).unwrap();
        assert!((offset - 0.4).abs() < 1e-9 && (slope - 0.7).abs() < 1e-9, "{offset} {slope}");
        assert_eq!(super::slope(&[(-1.0, 0.0, 3.0), (1.0, 2.0, 0.0)]), None, "separated");
        assert_eq!(super::slope(&[(-1.0, 3.0, 0.0), (1.0, 2.0, 0.0)]), None, "one class");
        assert_eq!(super::slope(&[]), None);
    }

    #[test]
    fn every_row_is_in_one_bin() {
        let rows: Vec<(f64, f64)> = (0..=100).map(|i| (f64::from(i) / 100.0, 1.0)).collect();
        for bins in [of_probabilities(&rows), of_numbers(&rows)] {
            assert_eq!((bins.len(), bins.iter().map(|bin| bin.rows).sum::<usize>()), (10, 101));
            assert!(bins.iter().all(|b| b.from <= b.predicted && b.predicted <= b.to), "{bins:?}");
        }
        assert!((error(&of_probabilities(&rows)).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(error(&[]), None);
    }
}
