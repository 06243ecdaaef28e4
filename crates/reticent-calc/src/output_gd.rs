//! Formulas of output-perturbed gradient descent, random-round SGD and noisy SGD.

use reticent_optim::PlanError;
use reticent_optim::output_gd::steps::{self, RiskInputs};
use reticent_optim::output_gd::{self, sensitivity};
use reticent_optim::{noisy_sgd, random_round};
use reticent_privacy::gaussian;
use serde_json::{Value, json};

use crate::{CalcError, Formula, Inputs, number};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("gd_sensitivity_tight", |i| {
        let (g, mu, eta) = (i.number("G")?, i.number("mu")?, i.number("eta")?);
        number(sensitivity::tight(g, mu, eta, i.number("T")?, i.number("n")?))
    }),
    ("gd_sensitivity_paper_convex", |i| {
        let (l, eta) = (i.number("L")?, i.number("eta")?);
        number(sensitivity::paper_convex(l, eta, i.number("T")?, i.number("n")?))
    }),
    ("gd_sensitivity_paper_sc", |i| {
        let (l, mu, beta) = (i.number("L")?, i.number("mu")?, i.number("beta")?);
        number(sensitivity::paper_strongly_convex(l, mu, beta, i.number("n")?))
    }),
    ("logistic_trajectory_sensitivity", |i| {
        let (b, mu, eta) = (i.number("B")?, i.number("mu")?, i.number("eta")?);
        let steps = i.count("T")?;
        // It walks step by step; no plan has more of them.
        if steps > steps::MAX_STEPS {
            return Err(CalcError::Refused(format!("`T` must be at most {}", steps::MAX_STEPS)));
        }
        number(sensitivity::logistic_trajectory(b, mu, eta, steps, i.number("n")?))
    }),
    ("iterate_radius", |i| {
        let (l, mu) = (i.number("L")?, i.number("mu")?);
        number(reticent_problem::iterate_radius(l, mu, i.number("l0")?))
    }),
    ("lipschitz_paper_regularised", |i| {
        let (l, mu) = (i.number("L")?, i.number("mu")?);
        number(output_gd::lipschitz_paper(l, mu, i.number("l0")?))
    }),
    ("sigma_paper_gaussian", |i| {
        let s = output_gd::paper_gaussian_multiplier(i.number("eps")?, i.number("delta")?);
        number(s * i.number("Delta")?)
    }),
    ("sigma_tight_gaussian", |i| {
        let s = gaussian::noise_multiplier_upper(i.number("eps")?, i.number("delta")?);
        number(s.map_err(|e| CalcError::Refused(e.to_string()))? * i.number("Delta")?)
    }),
    ("gaussian_profile_delta", |i| {
        number(gaussian::delta(i.number("eps")?, 1.0 / i.number("ratio")?))
    }),
    ("pure_radius_mean", |i| number(i.number("d")? * ball_scale(i)?)),
    ("pure_second_moment", |i| {
        let noise = output_gd::Noise::Ball { scale: ball_scale(i)?, grid: 0.0 };
        let d = i.count("d")? as usize;
        number(d as f64 * noise.second_moment(d))
    }),
    ("pure_radius_cdf", |i| {
        number(reticent_math::gamma_p(i.number("d")?, i.number("r")? / ball_scale(i)?))
    }),
    ("noise_auto_choice", |i| {
        let d = i.count("d")? as usize;
        let ball = output_gd::ball_is_smaller(d, i.number("eps")?, i.number("delta")?);
        Ok(json!(if ball.map_err(refused)? { "ball" } else { "gauss" }))
    }),
    ("T_paper_convex", |i| {
        let (eps, delta) = (i.number("eps")?, i.number("delta")?);
        Ok(json!(steps::paper_convex(&shape(i)?, i.number("L")?, eps, delta)))
    }),
    ("T_paper_sc", |i| {
        let (eps, delta) = (i.number("eps")?, i.number("delta")?);
        Ok(json!(steps::paper_strongly_convex(&shape(i)?, i.number("L")?, eps, delta)))
    }),
    ("T_tight_convex", |i| Ok(json!(steps::tight_convex(&shape(i)?, moment(i)?)))),
    ("T_tight_sc", |i| Ok(json!(steps::tight_strongly_convex(&shape(i)?, moment(i)?)))),
    ("excess_tight_convex", excess),
    ("excess_tight_sc", excess),
    ("rrpsgd_sigma_paper", |i| number(random_round_sigma(i)?)),
    ("rrpsgd_sigma_total_squared", |i| {
        let sigma = random_round_sigma(i)?;
        number(random_round::paper_variance(i.number("L")?, i.number("d")?, sigma))
    }),
    ("rrpsgd_DF", |i| number(random_round::value_distance(i.number("f0")?, i.number("beta")?))),
    ("rrpsgd_eta", |i| {
        let (beta, distance) = (i.number("beta")?, i.number("DF")?);
        number(random_round::step_length(beta, distance, i.number("sigma")?, i.number("N")?))
    }),
    ("rrpsgd_bound", |i| {
        let (beta, distance, sigma) = (i.number("beta")?, i.number("DF")?, i.number("sigma")?);
        let (rounds, eta) = (i.number("N")?, i.number("eta")?);
        number(random_round::gradient_bound(beta, distance, sigma, rounds, eta))
    }),
    ("rrpsgd_round_probability", |i| {
        let (etas, beta, k) = (i.numbers("etas")?, i.number("beta")?, i.count("k")? as usize);
        number(random_round::round_probability(&etas, beta, k))
    }),
    ("bassily_sigma", |i| {
        let (n, m) = (i.positive("n")?, i.positive("m")?);
        let s = noisy_sgd::paper_multiplier(n, i.positive("eps")?, i.share("delta")?);
        number(2.0 * i.number("L")? * s / m)
    }),
    ("bassily_step_convex", |i| {
        let (radius, lipschitz, d) = (i.number("R")?, i.number("L")?, i.number("d")?);
        number(noisy_sgd::step_convex(radius, lipschitz, d, i.number("sigma")?, i.number("t")?))
    }),
    ("bassily_steps", |i| number(noisy_sgd::paper_steps(i.positive("n")?, i.positive("m")?))),
];

/// `σ_z` of one row a step.
fn random_round_sigma(i: &Inputs<'_>) -> Result<f64, CalcError> {
    let (n, eps, delta) = (i.positive("n")?, i.positive("eps")?, i.share("delta")?);
    Ok(2.0 * i.number("L")? * random_round::paper_multiplier(n, eps, delta))
}

fn excess(i: &Inputs<'_>) -> Result<Value, CalcError> {
    number(steps::excess_tight(&shape(i)?, moment(i)?, i.number("T")?))
}

/// The problem's shape; what a formula does not use may be left out.
fn shape(i: &Inputs<'_>) -> Result<RiskInputs, CalcError> {
    let optional =
        |name: &str, default: f64| if i.has(name) { i.number(name) } else { Ok(default) };
    Ok(RiskInputs {
        ridge: optional("mu", 0.0)?,
        smoothness: i.number("beta")?,
        hessian_trace: optional("tau", 0.0)?,
        distance: i.number("D")?,
        gradient_difference: optional("G", 0.0)?,
        rows: i.number("n")?,
        dimension: i.number("d")?,
    })
}

fn moment(i: &Inputs<'_>) -> Result<f64, CalcError> {
    let d = i.count("d")? as usize;
    steps::unit_second_moment(d, i.number("eps")?, i.number("delta")?).map_err(refused)
}

fn ball_scale(i: &Inputs<'_>) -> Result<f64, CalcError> {
    Ok(i.number("Delta")? / i.number("eps")?)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: PlanError) -> CalcError {
    CalcError::Refused(error.to_string())
}
