//! Which settings are tried for an algorithm where the user fixed none. All of them are public.
//!
//! Lengths are in units of what the declared bounds imply: a clip norm is a part of the largest gradient, a guess of the best weights' norm a
//! multiple of the usual one.

use reticent_problem::Problem;

use super::Plan;
use crate::clipped_sgd::{
    ADAPT_ETA, CLIP_PART, CLIP_SELECTION, GRADIENT_MOMENT, KEEP_COMMON, OUTPUT, Output,
};
use crate::setting::{BATCH, CLIP, DISTANCE, ETA, RIDGE, STEPS, Settings};
use crate::{Calibration, clipped_sgd, objective, output_gd, tuning};

/// Whether a clip norm that is this part of the usual gradient suits a plan. The longer it is, the more noise there is, and the less bias, which follows the
/// tails of the labels: made-up tables only guess them. What counts is the noise in the mean of all gradients, over the usual one, with a clip norm that is as long.
/// The plan may be that of a table with fewer features than the problem's.
pub(super) fn suits(part: f64, plan: &Plan, problem: &Problem) -> bool {
    let Plan::ClippedSgd(plan) = plan else { return true };
    let spread = (problem.features as f64).sqrt() / problem.rows.max(1) as f64;
    let noise = plan.noise_of_all_steps() * spread;
    let fits = tuning::CLIP_QUANTILE_MULTIPLES.iter().rev().find(|(_, least)| noise >= *least);
    fits.is_none_or(|(fits, _)| *fits == part)
}

/// A variation for budgets at which noise hides the rows' common direction.
pub(super) fn unshortened(variation: &Settings, asked: &Settings) -> Settings {
    variation.clone().as_in(&KEEP_COMMON, asked)
}

/// The request itself, then the variations that leave alone what it fixes.
pub(super) fn variations(algorithm: &str, problem: &Problem, request: &Settings) -> Vec<Settings> {
    let mut list = vec![request.clone()];
    if request.calibration() == Calibration::Paper {
        return list; // the paper says what to take
    }
    let norm = problem.bounds.norm();
    match algorithm {
        // With classes the usual guess does well on all tables that were tried.
        objective::NAME if !request.has(&DISTANCE) && !problem.loss.is_classification() => {
            let usual = objective::ridge::Size::of(problem, None).distance;
            for factor in tuning::OBJECTIVE_DISTANCES {
                list.push(request.clone().with(&DISTANCE, factor * usual));
            }
        }
        output_gd::NAME if !request.has(&DISTANCE) => {
            for distance in tuning::OUTPUT_GD_DISTANCES {
                list.push(request.clone().with(&DISTANCE, distance / norm));
            }
        }
        clipped_sgd::NAME => {
            let rules = [&CLIP_SELECTION, &GRADIENT_MOMENT, &DISTANCE];
            if rules.iter().any(|rule| request.has(rule)) {
                return list;
            }
            let rows = problem.rows as u64;
            let batch = (rows / tuning::BATCHES_PER_PASS).max(tuning::WALK_LEAST_BATCH).min(rows);
            let ridge = request.number(&RIDGE).unwrap_or(problem.ridge);
            let asked = Problem { ridge, ..problem.clone() };
            let common =
                clipped_sgd::common::is_applicable(&asked).then_some(tuning::KEPT_DIRECTION);
            let keep_common = request.number(&KEEP_COMMON).or(common);
            // How long a step should be depends on how many directions matter, which tables of few features do not show: unless it is
            // given, it follows the noisy gradients.
            let walk = request
                .clone()
                .or(&ADAPT_ETA, Some(!request.has(&ETA)))
                .or(&KEEP_COMMON, keep_common)
                .or(&STEPS, Some(tuning::WALK_STEPS))
                .or(&BATCH, Some(batch))
                .or(&OUTPUT, Some(Output::TailAverage));
            let numbers = clipped_sgd::selection::at_zero(problem).is_some();
            if request.has(&CLIP) || request.has(&CLIP_PART) {
                list.push(walk);
            } else if numbers {
                for (part, _) in tuning::CLIP_QUANTILE_MULTIPLES {
                    list.push(walk.clone().with(&CLIP_PART, part));
                }
            } else {
                let largest = problem.regularity().lipschitz;
                let largest = if largest.is_finite() { largest } else { norm };
                let shorter = clipped_sgd::common::usual_size(problem, keep_common) / norm;
                let part = match keep_common {
                    _ if problem.loss.outputs() > 1 => tuning::CLASS_CLIPS[2],
                    kept => tuning::CLASS_CLIPS[usize::from(kept.is_some())],
                };
                list.push(walk.with(&CLIP, part * largest * shorter));
            }
        }
        _ => {}
    }
    distinct(list)
}

/// Each once, in the same order.
fn distinct(list: Vec<Settings>) -> Vec<Settings> {
    let mut distinct: Vec<Settings> = Vec::with_capacity(list.len());
    for request in list {
        if !distinct.contains(&request) {
            distinct.push(request);
        }
    }
    distinct
}
