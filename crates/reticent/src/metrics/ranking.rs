//! How well scores put positive rows above negative ones.
//!
//! Rows are taken in the order of their scores, the highest first. Rows with one score count
//! together: a curve has a point for each distinct score.

/// After the rows of one score: its value, and how many positives and negatives have at least it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) score: f64,
    pub(super) positives: usize,
    pub(super) negatives: usize,
}

/// The steps from the highest score to the lowest.
pub(super) fn steps(scored: &[(f64, bool)]) -> Vec<Step> {
    let mut order = scored.to_vec();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut steps: Vec<Step> = Vec::new();
    let (mut positives, mut negatives) = (0, 0);
    for (score, positive) in order {
        positives += usize::from(positive);
        negatives += usize::from(!positive);
        let step = Step { score, positives, negatives };
        match steps.last_mut() {
            Some(last) if last.score == score => *last = step,
            _ => steps.push(step),
        }
    }
    steps
}

/// The area under the ROC curve: trapezes between steps, so that a tie counts one half.
pub(super) fn auc(steps: &[Step]) -> Option<f64> {
    let last = steps.last()?;
    let all = last.positives as f64 * last.negatives as f64;
    let (mut area, mut before) = (0.0, (0, 0));
    for step in steps {
        let width = (step.negatives - before.1) as f64;
        area += width * 0.5 * (step.positives + before.0) as f64;
        before = (step.positives, step.negatives);
    }
    (all > 0.0).then(|| area / all)
}

/// `Σ (recall_k − recall_{k−1}) · precision_k`.
pub(super) fn average_precision(steps: &[Step]) -> Option<f64> {
    let positives = steps.last()?.positives;
    let (mut sum, mut before) = (0.0, 0);
    for step in steps {
        let gained = (step.positives - before) as f64;
        sum += gained * step.positives as f64 / (step.positives + step.negatives) as f64;
        before = step.positives;
    }
    super::share(sum, positives)
}

/// Points of the ROC curve, thinned to what a picture shows.
pub(super) fn roc(steps: &[Step]) -> Vec<[f64; 2]> {
    const SHOWN: f64 = 100.0;
    let Some(last) = steps.last().filter(|last| last.positives > 0 && last.negatives > 0) else {
        return Vec::new();
    };
    let point = |step: &Step| {
        [
            step.negatives as f64 / last.negatives as f64,
            step.positives as f64 / last.positives as f64,
        ]
    };
    let mut points = vec![[0.0, 0.0]];
    for step in steps {
        let (at, before) = (point(step), points[points.len() - 1]);
        if (at[0] - before[0]).max(at[1] - before[1]) * SHOWN >= 1.0 {
            points.push(at);
        }
    }
    if points[points.len() - 1] != [1.0, 1.0] {
        points.push([1.0, 1.0]);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_one_half_and_one_class_has_no_area() {
        let scored = [(0.9, true), (0.5, true), (0.5, false), (0.1, false), (0.1, true)];
        let steps = steps(&scored);
        assert_eq!(steps.len(), 3);
        // Of six pairs three are in order, one is not, and two are ties.
        assert_eq!(auc(&steps), Some((3.0 + 2.0 * 0.5) / 6.0));
        assert!((average_precision(&steps).unwrap() - (1.0 + 2.0 / 3.0 + 0.6) / 3.0).abs() < 1e-15);
        assert_eq!(roc(&steps), [[0.0, 0.0], [0.0, 1.0 / 3.0], [0.5, 2.0 / 3.0], [1.0, 1.0]]);
        assert_eq!(auc(&super::steps(&[(0.3, true)])), None);
        assert_eq!(auc(&[]), None);
    }
}
