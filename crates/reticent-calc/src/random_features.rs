//! Formulas of least squares on random features.

use reticent_data::feature_map::{
    features_of, laplace_kernel_frequency, matern_stretch, walsh_hadamard,
};
use reticent_optim::least_squares::parameters::{Difficulty, Schedule};
use reticent_optim::least_squares::sensitivity::{self, StepBounds};
use reticent_privacy::gaussian;
use reticent_privacy::mixture::HitLaw;
use reticent_problem::feature_map::Kernel;
use serde_json::{Value, json};

use crate::{CalcError, Formula, Inputs, answer, number, refused};

/// The tail mass of the law of visits that may be truncated.
const TAIL: f64 = 1e-30;

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("rf_c_gamma", |i| {
        number(sensitivity::visit_excess(i.number("n")?, i.number("T")?, i.number("gamma")?))
    }),
    ("rf_sensitivity_paper_corrected", |i| {
        let (n, t) = (i.number("n")?, i.number("T")?);
        number(sensitivity::paper(&shape(i)?, n, t, i.number("gamma")?))
    }),
    ("rf_sigma_paper_corrected", |i| {
        let (n, t, delta) = (i.number("n")?, i.number("T")?, i.share("delta")?);
        let epsilon = i.positive("eps")?;
        let moved = sensitivity::paper(&shape(i)?, n, t, 0.5 * delta);
        let scale = if epsilon <= 1.0 {
            sensitivity::paper_multiplier(epsilon, delta)
        } else {
            gaussian::noise_multiplier_upper(epsilon, 0.5 * delta).map_err(refused)?
        };
        number(scale * moved)
    }),
    ("rf_iterate_norm_bound", |i| number(shape(i)?.iterate_norm(i.number("t")?))),
    ("rf_gradient_diameter", |i| number(shape(i)?.gradient_diameter(i.number("t")?))),
    ("rf_sensitivity_k", |i| number(shape(i)?.visits(i.number("k")?, i.number("T")?))),
    ("rf_binomial_quantile", |i| {
        let chance = 1.0 / i.positive("n")?;
        number(reticent_math::binomial_quantile_upper(i.number("T")?, chance, i.share("gamma")?))
    }),
    ("rf_mixture_delta", |i| {
        let shift = i.positive("step")? / i.positive("sigma")?;
        number(visits(i)?.delta_upper(i.number("eps")?, shift, 0.0, None))
    }),
    ("rf_sigma_mixture", |i| {
        let (epsilon, delta, step) = (i.number("eps")?, i.number("delta")?, i.positive("step")?);
        answer(visits(i)?.sigma_upper(epsilon, delta, step, 0.0, None))
    }),
    ("rf_sensitivity_shuffle", |i| number(shape(i)?.passes(i.count("epochs")?, i.number("n")?))),
    ("rf_sensitivity_gd", |i| number(shape(i)?.full(i.count("T")?.max(1), i.number("n")?))),
    ("rf_sensitivity_gd_ridge", |i| {
        number(shape(i)?.full_with_ridge(i.positive("mu")?, i.count("T")?, i.number("n")?))
    }),
    ("rf_sensitivity_gd_huber", |i| {
        let (norm, eta) = (i.number("kappa")?, i.number("eta")?);
        let shape = StepBounds { norm, label: 1.0, eta, residual_limit: Some(i.number("h")?) };
        number(shape.full(i.count("T")?, i.number("n")?))
    }),
    ("rf_thm1_M", |i| number(difficulty(i)?.features(i.number("n")?, i.number("delta")?))),
    ("rf_thm1_T", |i| number(difficulty(i)?.steps(i.number("n")?, schedule(i)?))),
    ("rf_thm1_eta", |i| {
        let (n, norm) = (i.number("n")?, i.number("kappa")?);
        number(difficulty(i)?.eta(n, schedule(i)?, norm, i.number("T")?))
    }),
    ("rf_alpha_min", |i| {
        let difficulty = Difficulty { source_smoothness: i.number("r")?, ..Difficulty::default() };
        number(difficulty.least_capacity())
    }),
    ("rf_rate_privacy_printed", |i| number(difficulty(i)?.privacy_rate_printed())),
    ("rf_rate_privacy_tight", |i| number(difficulty(i)?.privacy_rate())),
    ("rf_rate_statistical", |i| number(difficulty(i)?.statistical_rate())),
    ("rf_predicted_excess", |i| {
        let (n, tau, sigma) = (i.number("n")?, i.number("tau")?, i.number("sigma")?);
        number(difficulty(i)?.excess(n, tau, sigma, i.number("c")?, i.number("kappa")?))
    }),
    ("kernel_gaussian", |i| kernel(i, Kernel::Gaussian)),
    ("kernel_laplace_l1", |i| kernel(i, Kernel::Laplace)),
    ("kernel_cauchy_product", |i| kernel(i, Kernel::Cauchy)),
    ("kernel_matern", |i| kernel(i, Kernel::Matern { nu: i.positive("nu")? })),
    ("features_cos", |i| {
        let phases = i.numbers("b")?;
        Ok(json!(features_of(
            &i.numbers("x")?,
            &frequencies(i, Some(phases.len()))?,
            Some(&phases)
        )))
    }),
    ("features_paired", |i| Ok(json!(features_of(&i.numbers("x")?, &frequencies(i, None)?, None)))),
    ("walsh_hadamard_normalised", |i| {
        let v = i.numbers("v")?;
        if !v.len().is_power_of_two() {
            return Err(CalcError::Refused("`v` must have a power of two of entries".to_owned()));
        }
        Ok(json!(walsh_hadamard(&v)))
    }),
    ("omega_matern", |i| {
        let scale = matern_stretch(i.positive("nu")?, i.positive("g")?) / i.positive("bw")?;
        Ok(json!(i.numbers("z")?.iter().map(|z| scale * z).collect::<Vec<_>>()))
    }),
    ("omega_laplace_l1", |i| {
        let bandwidth = i.positive("bw")?;
        let frequency = |u: &f64| laplace_kernel_frequency(*u) / bandwidth;
        Ok(json!(i.numbers("u")?.iter().map(frequency).collect::<Vec<_>>()))
    }),
];

fn shape(i: &Inputs<'_>) -> Result<StepBounds, CalcError> {
    let (norm, label, eta) = (i.number("kappa")?, i.number("c")?, i.number("eta")?);
    Ok(StepBounds { norm, label, eta, residual_limit: None })
}

fn visits(i: &Inputs<'_>) -> Result<HitLaw, CalcError> {
    HitLaw::last(i.count("n")?, i.count("T")?, TAIL).map_err(refused)
}

fn difficulty(i: &Inputs<'_>) -> Result<Difficulty, CalcError> {
    Ok(Difficulty { source_smoothness: i.number("r")?, capacity: i.number("alpha")? })
}

fn schedule(i: &Inputs<'_>) -> Result<Schedule, CalcError> {
    match i.word("schedule")? {
        "large-step" => Ok(Schedule::LargeStep),
        "small-step" => Ok(Schedule::SmallStep),
        _ => Err(CalcError::Argument {
            name: "schedule".to_owned(),
            expected: "large-step or small-step",
        }),
    }
}

fn kernel(i: &Inputs<'_>, kernel: Kernel) -> Result<Value, CalcError> {
    let (x, y) = (i.numbers("x")?, i.numbers("y")?);
    match kernel.value(&x, &y, i.positive("bw")?) {
        Some(value) => number(value),
        None => Err(CalcError::Refused("`nu` must be 0.5, 1.5 or 2.5".to_owned())),
    }
}

fn frequencies(i: &Inputs<'_>, count: Option<usize>) -> Result<Vec<Vec<f64>>, CalcError> {
    let list = |value: &Value| -> Option<Vec<f64>> {
        value.as_array()?.iter().map(Value::as_f64).collect()
    };
    let all = i.0.get("omegas").and_then(Value::as_array);
    let all: Option<Vec<Vec<f64>>> = all.and_then(|all| all.iter().map(list).collect());
    all.filter(|all| count.is_none_or(|count| count == all.len())).ok_or(CalcError::Argument {
        name: "omegas".to_owned(),
        expected: "a list of lists of numbers, one for each phase",
    })
}
