//! Which settings are tried for an algorithm where the user fixed none. All of them are public.
//!
//! Lengths are in units of what the declared bounds imply: a clip norm is a part of the largest
//! gradient, a guess of the best weights' norm a multiple of the default one.

use reticent_problem::Problem;
use reticent_problem::loss::Link;

use super::Plan;
use crate::clipped_sgd::{
    ADAPTIVE_STEP, CLIP_QUANTILE_MULTIPLE, CLIP_SELECTION, GRADIENT_MOMENT, OUTPUT, Output,
    PRECONDITION, SHRINKAGE, STRAIGHTENING, straightening,
};
use crate::setting::{BATCH, CLIP, DISTANCE, RIDGE, STEP_SIZE, STEPS, Settings};
use crate::{Calibration, clipped_sgd, objective, output_gd, tuning};

/// Whether a clip norm that is this multiple of a typical gradient norm suits a plan, by a list of
/// multiples, each with the least noise that it suits, from little noise to much. A longer one has
/// more noise and less bias, which follows the tails of rows and labels: simulated tables only
/// guess them. The relevant noise is that in the mean of all gradients, over the gradient norm that
/// the multiples refer to. The plan may be that of a table with fewer features than the problem's.
fn suits_noise(multiple: f64, multiples: &[(f64, f64)], plan: &Plan, problem: &Problem) -> bool {
    let Plan::ClippedSgd(plan) = plan else { return true };
    let spread = (problem.features as f64).sqrt() / problem.rows.max(1) as f64;
    let noise = plan.noise_of_all_steps() * spread;
    let fits = multiples.iter().rev().find(|(_, least)| noise >= *least);
    fits.is_none_or(|(fits, _)| *fits == multiple)
}

/// Whether a clip norm of regression, as a multiple of the percentile of gradient norms, suits a
/// plan.
pub(super) fn suits(part: f64, plan: &Plan, problem: &Problem) -> bool {
    suits_noise(part, quantile_multiples(problem), plan, problem)
}

/// Whether a clip norm of regression is worth a simulation: one that is longer than most is where
/// there is little noise. Those that the user chose are.
pub(super) fn worth_a_run(
    variation: &Settings,
    asked: &Settings,
    plan: &Plan,
    problem: &Problem,
) -> bool {
    let long = variation
        .number(&CLIP_QUANTILE_MULTIPLE)
        .filter(|_| problem.loss.link() == Link::Identity && !asked.has(&CLIP_QUANTILE_MULTIPLE));
    long.is_none_or(|part| part <= tuning::LONG_MULTIPLE || suits(part, plan, problem))
}

/// Clip norms of regression as multiples of the percentile of gradient norms.
fn quantile_multiples(problem: &Problem) -> &'static [(f64, f64)] {
    match problem.loss.link() {
        Link::Identity | Link::Levels(_) => &tuning::CLIP_QUANTILE_MULTIPLES,
        Link::Log => &tuning::LOG_CLIP_QUANTILE_MULTIPLES,
    }
}

/// Whether a clip norm of classification suits a plan, given that of the variation; those that the
/// user chose do.
pub(super) fn class_clip_suits(
    variation: &Settings,
    asked: &Settings,
    plan: &Plan,
    problem: &Problem,
) -> bool {
    let (Some(clip), false) = (variation.number(&CLIP), asked.has(&CLIP)) else { return true };
    if !problem.loss.is_classification() {
        return true;
    }
    let unit = class_clip(problem, variation.number(&PRECONDITION));
    let factors = tuning::CLASS_CLIP_FACTORS;
    // The multiple that this clip norm is, by rounding.
    let off = |factor: f64| (clip / (factor * unit)).ln().abs();
    let nearest =
        factors.iter().map(|(factor, _)| *factor).min_by(|a, b| off(*a).total_cmp(&off(*b)));
    nearest.is_none_or(|factor| suits_noise(factor, &factors, plan, problem))
}

/// The clip norm of classification that [`tuning::CLASS_CLIP_FACTORS`] multiply.
fn class_clip(problem: &Problem, precondition: Option<f64>) -> f64 {
    let norm = problem.bounds.norm();
    let largest = problem.regularity().lipschitz;
    let largest = if largest.is_finite() { largest } else { norm };
    let shorter = clipped_sgd::preconditioner::typical_norm(problem, precondition) / norm;
    let part = match precondition {
        _ if problem.loss.outputs() > 1 => tuning::CLASS_CLIPS[2],
        kept => tuning::CLASS_CLIPS[usize::from(kept.is_some())],
    };
    part * largest * shorter
}

/// A variation for budgets at which noise hides the rows' mean direction.
pub(super) fn unshortened(variation: &Settings, asked: &Settings) -> Settings {
    variation
        .clone()
        .as_in(&PRECONDITION, asked)
        .as_in(&SHRINKAGE, asked)
        .as_in(&STRAIGHTENING, asked)
}

/// A variation for the tables of the simulation, which have no curves.
pub(super) fn without_curves(variation: &Settings) -> Settings {
    variation.clone().as_in(&STRAIGHTENING, &Settings::default())
}

/// The request itself, then the variations that leave alone what it fixes.
pub(super) fn variations(algorithm: &str, problem: &Problem, request: &Settings) -> Vec<Settings> {
    let mut list = vec![request.clone()];
    if request.calibration() == Calibration::Paper {
        return list; // the paper says what to take
    }
    let norm = problem.bounds.norm();
    match algorithm {
        // In classification the default guess does well on all tables that were tried.
        objective::NAME if !request.has(&DISTANCE) && !problem.loss.is_classification() => {
            let default = objective::ridge::Size::of(problem, None).distance;
            for factor in tuning::OBJECTIVE_DISTANCES {
                list.push(request.clone().with(&DISTANCE, factor * default));
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
            let common = clipped_sgd::preconditioner::is_applicable(&asked)
                .then_some(tuning::KEPT_DIRECTION);
            let precondition = request.number(&PRECONDITION).or(common);
            let shrinks = precondition.is_some() && problem.loss.is_classification();
            let shrinkage = shrinks.then_some(tuning::SHRINKAGE);
            let straightens = precondition.is_some() && straightening::is_served(problem);
            let straightening = straightens.then_some(tuning::STRAIGHTENING);
            // How long a step should be depends on how many directions matter, which tables of few
            // features do not show: unless it is given, it is adaptive.
            let walk = request
                .clone()
                .or(&ADAPTIVE_STEP, Some(!request.has(&STEP_SIZE)))
                .or(&PRECONDITION, precondition)
                .or(&SHRINKAGE, shrinkage)
                .or(&STRAIGHTENING, straightening)
                .or(&STEPS, Some(tuning::WALK_STEPS))
                .or(&BATCH, Some(batch))
                .or(&OUTPUT, Some(Output::TailAverage));
            let numbers = clipped_sgd::selection::at_zero(problem).is_some();
            if request.has(&CLIP) || request.has(&CLIP_QUANTILE_MULTIPLE) {
                list.push(walk);
            } else if numbers {
                for (part, _) in quantile_multiples(problem) {
                    list.push(walk.clone().with(&CLIP_QUANTILE_MULTIPLE, *part));
                }
            } else {
                let unit = class_clip(problem, precondition);
                for (factor, _) in tuning::CLASS_CLIP_FACTORS {
                    list.push(walk.clone().with(&CLIP, factor * unit));
                }
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
