//! Which settings are tried for an algorithm where the user fixed none. All of them are public.
//!
//! Lengths are in units of what the declared bounds imply: a clip norm is a part of the largest gradient, a step a part of the
//! usual norm of the best weights, a guess of that norm a multiple of the usual one.

use reticent_problem::Problem;

use super::Request;
use crate::clipped_sgd::pace::usual_norm;
use crate::{Calibration, clipped_sgd, objective, output_gd};

/// Noisy steps of clipped-sgd, clip norms over the largest gradient, and how far a step can go at most, over the usual norm of
/// the best weights.
const WALKS: [(u64, &[f64], &[f64]); 2] = [
    (300, &[0.1, 0.4, 1.0], &[0.03, 0.12, 0.5, 2.0]),
    (1000, &[0.1, 0.4, 1.0], &[0.06, 0.25, 1.0]),
];

/// With several classes the step length follows the noisy gradients: how long it should be depends on how many directions matter, which
/// tables of few features do not show. The clip norm over the largest gradient, and the number of steps.
const PACED: (f64, u64) = (0.2, 1000);

/// With numbers the clip norm follows the labels' spread as well: it may be any part of the declared range. The clip norms over the
/// usual gradient.
const PARTS: [f64; 3] = [0.65, 1.0, 1.6];

/// The part of the rows in a batch, and the least that is taken where there are as many.
const PART: u64 = 20;
const LEAST_BATCH: u64 = 250;

/// The request itself, then the variations that leave alone what it fixes.
pub(super) fn variations(algorithm: &str, problem: &Problem, request: &Request) -> Vec<Request> {
    let mut list = vec![request.clone()];
    if request.calibration == Calibration::Paper {
        return list; // the paper says what to take
    }
    let norm = problem.bounds.norm();
    match algorithm {
        // With classes the usual guess does well on all tables that were tried.
        objective::NAME if request.distance.is_none() && !problem.loss.is_classification() => {
            let usual = objective::ridge::Size::of(problem, None).distance;
            for factor in [0.3, 3.0] {
                list.push(Request { distance: Some(factor * usual), ..request.clone() });
            }
        }
        output_gd::NAME if request.distance.is_none() => {
            for distance in [1.5, 20.0] {
                list.push(Request { distance: Some(distance / norm), ..request.clone() });
            }
        }
        clipped_sgd::NAME => {
            let fixed = request.eta.is_some() || request.adapt_eta == Some(false);
            let part = request.clip_part.filter(|_| fixed);
            let rules = [request.clip_selection, request.gradient_moment, part];
            if rules.iter().any(Option::is_some) || request.distance.is_some() {
                return list;
            }
            let largest = problem.regularity().lipschitz;
            let largest = if largest.is_finite() { largest } else { norm };
            let usual = usual_norm(problem);
            let rows = problem.rows as u64;
            let batch = (rows / PART).max(LEAST_BATCH).min(rows);
            let paced = Request {
                adapt_eta: Some(true),
                steps: request.steps.or(Some(PACED.1)),
                batch: request.batch.or(Some(batch)),
                output: request.output.or(Some(clipped_sgd::Output::TailAverage)),
                ..request.clone()
            };
            if !fixed && problem.loss.is_classification() && problem.loss.outputs() > 1 {
                let clip = request.clip.or(Some(PACED.0 * largest));
                list.push(Request { clip, ..paced });
                return distinct(list);
            }
            if !fixed
                && request.clip.is_none()
                && clipped_sgd::selection::at_zero(problem).is_some()
            {
                let parts = request.clip_part.map_or(PARTS.to_vec(), |part| vec![part]);
                for part in parts {
                    list.push(Request { clip_part: Some(part), ..paced.clone() });
                }
                return distinct(list);
            }
            for (steps, clips, lengths) in WALKS {
                for (part, length) in clips.iter().flat_map(|c| lengths.iter().map(move |l| (c, l)))
                {
                    let clip = request.clip.unwrap_or(part * largest);
                    list.push(Request {
                        clip: Some(clip),
                        eta: request.eta.or(Some(length * usual / clip)),
                        steps: request.steps.or(Some(steps)),
                        batch: request.batch.or(Some(batch)),
                        output: request.output.or(Some(clipped_sgd::Output::TailAverage)),
                        ..request.clone()
                    });
                }
            }
        }
        _ => {}
    }
    distinct(list)
}

/// Each once, in the same order.
fn distinct(list: Vec<Request>) -> Vec<Request> {
    let mut distinct: Vec<Request> = Vec::with_capacity(list.len());
    for request in list {
        if !distinct.contains(&request) {
            distinct.push(request);
        }
    }
    distinct
}
