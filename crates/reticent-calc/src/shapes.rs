//! Formulas of sets, of mirror maps, and of the algorithms that use them.

use reticent_optim::{Calibration, coordinate_mean, lr_noise, mirror, phased, truncated_mirror};
use reticent_problem::Domain;
use reticent_problem::geometry::{MirrorMap, dual_exponent, dual_smoothness, width_of_box};
use serde_json::{Value, json};

use crate::{CalcError, Formula, Inputs, number};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("width_l2", |i| width(&Domain::Ball { radius: i.number("R")? }, dimension(i)?)),
    ("width_l1", |i| width(&Domain::L1 { radius: i.number("R")? }, dimension(i)?)),
    ("width_lp", |i| {
        let (p, radius, dimension) = (i.number("p")?, i.number("R")?, dimension(i)?);
        width(&Domain::Lp { p, radius, dimension }, dimension)
    }),
    ("width_simplex", |i| width(&Domain::Simplex { total: i.number("R")? }, dimension(i)?)),
    ("width_box", |i| width_of_any_box(&i.numbers("lo")?, &i.numbers("hi")?)),
    ("width_group", |i| {
        let (radius, sizes) = (i.number("R")?, sizes(i)?);
        let dimension = sizes.iter().sum();
        width(&Domain::Group { radius, sizes, weights: None }, dimension)
    }),
    ("proj_l1", |i| projection(i, |_| Ok(Domain::L1 { radius: i.number("R")? }))),
    ("proj_simplex", |i| projection(i, |_| Ok(Domain::Simplex { total: i.number("s")? }))),
    ("proj_lp", |i| {
        projection(i, |dimension| {
            Ok(Domain::Lp { p: i.number("p")?, radius: i.number("R")?, dimension })
        })
    }),
    ("proj_group", |i| {
        projection(i, |_| {
            Ok(Domain::Group { radius: i.number("R")?, sizes: sizes(i)?, weights: None })
        })
    }),
    ("kappa_opt", |i| {
        let map = MirrorMap::new(exponent(i, "p", 1.0, 2.0)?, dimension(i)?);
        Ok(json!({
            "r": number(map.r)?,
            "kappa": number(map.kappa)?,
            "p_tilde": number(map.p_tilde())?,
        }))
    }),
    ("mirror_grad", |i| {
        let p_tilde = exponent(i, "p_tilde", 1.0, 2.0)?;
        let map = MirrorMap { r: dual_exponent(p_tilde), kappa: i.positive("kappa")? };
        mapped(&i.numbers("w")?, |w, into| map.gradient(w, into))
    }),
    ("mirror_conj_grad", |i| {
        let map = map(i)?;
        mapped(&i.numbers("theta")?, |theta, into| map.inverse_gradient(theta, into))
    }),
    ("mirror_argmin_l1", |i| {
        let (map, set) = (map(i)?, Domain::L1 { radius: i.positive("M")? });
        mapped(&i.numbers("theta")?, |theta, into| map.argmin(&set, theta, into))
    }),
    ("gg_log_density", |i| {
        let r = exponent(i, "r", 2.0, 1e4)?;
        number(lr_noise::log_density(&i.numbers("z")?, r, i.positive("sigma")?))
    }),
    ("gauss_lq_sq_bound", |i| {
        let q = exponent(i, "q", 2.0, f64::INFINITY)?;
        number(lr_noise::gaussian_square_bound(dimension(i)?, q))
    }),
    ("nrmd_noise_sigma", |i| {
        let change = 2.0 * i.positive("L")? / i.positive("n")?;
        let uses = i.positive("T")?;
        number(lr_noise::noise_sigma(kappa(i)?, change, uses, tight_mu(i)?))
    }),
    ("tdbmd_noise_sigma", |i| {
        let (truncation, batch) = (i.positive("S")?, i.positive("b")?);
        number(truncated_mirror::noise_sigma(kappa(i)?, truncation, batch, 2.0, tight_mu(i)?))
    }),
    ("nrmd_alpha", |i| {
        number(mirror::paper_alpha(i.positive("beta")?, i.positive("T")?, i.positive("n")?))
    }),
    ("nrmd_T_raw", |i| {
        let (n, epsilon, delta) = (i.positive("n")?, i.positive("eps")?, i.share("delta")?);
        number(mirror::paper_steps(n, epsilon, delta, i.positive("d")?, i.positive("kappa")?))
    }),
    ("nrmd_step", mirror_step),
    ("phased_schedule", phased_schedule),
    ("cwgd_tau", |i| {
        let (v, n, mu) = (i.positive("v")?, i.positive("n")?, i.positive("mu")?);
        number(coordinate_mean::clip_for(v, n, mu, i.positive("d")?, i.positive("T")?, 2.0))
    }),
];

fn dimension(i: &Inputs<'_>) -> Result<usize, CalcError> {
    match i.count("d")? {
        0 => Err(CalcError::Argument { name: "d".to_owned(), expected: "a whole number >= 1" }),
        d => Ok(d as usize),
    }
}

fn exponent(i: &Inputs<'_>, name: &str, least: f64, most: f64) -> Result<f64, CalcError> {
    let x = i.number(name)?;
    if (least..=most).contains(&x) {
        return Ok(x);
    }
    Err(CalcError::Refused(format!("`{name}` must be between {least} and {most}, got {x}")))
}

/// Sizes of groups, few enough to add up.
fn sizes(i: &Inputs<'_>) -> Result<Vec<usize>, CalcError> {
    let whole = |x: &f64| *x >= 1.0 && x.fract() == 0.0 && *x < 1e9;
    let list = i.numbers("sizes")?;
    if !list.iter().all(whole) {
        let name = "sizes".to_owned();
        return Err(CalcError::Argument { name, expected: "whole numbers from 1 to 1e9" });
    }
    Ok(list.iter().map(|x| *x as usize).collect())
}

fn check(set: &Domain, dimension: usize) -> Result<(), CalcError> {
    set.check(dimension).map_err(|e| CalcError::Refused(e.to_string()))
}

fn width(set: &Domain, dimension: usize) -> Result<Value, CalcError> {
    check(set, dimension)?;
    number(set.width(dimension))
}

/// Of any box: the algorithms need zero inside, the width does not.
fn width_of_any_box(low: &[f64], high: &[f64]) -> Result<Value, CalcError> {
    let mut sides = low.iter().zip(high);
    let is_box = sides.all(|(low, high)| low.is_finite() && high.is_finite() && low <= high);
    if low.len() != high.len() || !is_box {
        let text = "`lo` and `hi` must be lists of the same length, finite, with `lo` <= `hi`";
        return Err(CalcError::Refused(text.to_owned()));
    }
    number(width_of_box(low, high))
}

fn projection(
    i: &Inputs<'_>,
    set: impl Fn(usize) -> Result<Domain, CalcError>,
) -> Result<Value, CalcError> {
    let mut w = i.numbers("y")?;
    let set = set(w.len())?;
    check(&set, w.len())?;
    set.project(&mut w);
    list(&w)
}

fn list(values: &[f64]) -> Result<Value, CalcError> {
    values.iter().map(|x| number(*x)).collect::<Result<Vec<_>, _>>().map(Value::Array)
}

fn mapped(v: &[f64], f: impl Fn(&[f64], &mut [f64])) -> Result<Value, CalcError> {
    let mut into = vec![0.0; v.len()];
    f(v, &mut into);
    list(&into)
}

fn map(i: &Inputs<'_>) -> Result<MirrorMap, CalcError> {
    Ok(MirrorMap { r: exponent(i, "r", 2.0, 1e4)?, kappa: i.positive("kappa")? })
}

/// `κ(r)`; `r` may be the word `q`.
fn kappa(i: &Inputs<'_>) -> Result<f64, CalcError> {
    let q = dual_exponent(exponent(i, "p", 1.0, 2.0)?);
    let r = if i.word("r").is_ok_and(|r| r == "q") { q } else { exponent(i, "r", 2.0, q)? };
    Ok(dual_smoothness(r, q, dimension(i)?))
}

fn tight_mu(i: &Inputs<'_>) -> Result<f64, CalcError> {
    lr_noise::total_mu(Calibration::Tight, i.number("eps")?, i.number("delta")?)
        .map_err(|e| CalcError::Refused(e.to_string()))
}

fn mirror_step(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let (mut theta, gradient) = (i.numbers("theta")?, i.numbers("grad_plus_noise")?);
    let mut w = vec![0.0; theta.len()];
    let lengths = (i.positive("alpha")?, i.positive("beta")?);
    mirror::step(map(i)?, &Domain::Unbounded, lengths, &gradient, &mut theta, &mut w);
    Ok(json!({ "theta_next": list(&theta)?, "w_next": list(&w)? }))
}

fn phased_schedule(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let (n, lipschitz, distance) = (i.count("n")?, i.positive("L")?, i.positive("D")?);
    let (epsilon, delta) = (i.positive("eps")?, i.share("delta")?);
    let paper = match i.word("mode")? {
        "paper" => true,
        "tight" => false,
        other => {
            let sentence = format!("`mode` must be paper or tight, got `{other}`");
            return Err(CalcError::Refused(sentence));
        }
    };
    let multiplier = phased::multiplier(
        if paper { Calibration::Paper } else { Calibration::Tight },
        epsilon,
        delta,
    )
    .map_err(|e| CalcError::Refused(e.to_string()))?;
    let d = i.positive("d")?;
    let eta = phased::step_length(lipschitz, None, distance, n as f64, d, 1.0 / multiplier);
    let (mut rows, mut lengths, mut sigmas) = (Vec::new(), Vec::new(), Vec::new());
    for (phase, n_i) in phased::phase_rows(n).into_iter().enumerate() {
        let length = phased::phase_length(eta, phase);
        rows.push(n_i);
        lengths.push(number(length)?);
        sigmas
            .push(number(multiplier * phased::move_of(paper, 2.0, lipschitz, length, n_i as f64))?);
    }
    Ok(json!({
        "k": rows.len(),
        "eta": number(eta)?,
        "n_i": rows,
        "eta_i": lengths,
        "sigma_i": sigmas,
    }))
}
