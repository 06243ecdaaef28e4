//! Formulas of clipped DP-SGD.

use reticent_optim::clipped_sgd::auto::Charge;
use reticent_optim::clipped_sgd::rates::{self, Gap, RunSize};
use reticent_optim::clipped_sgd::selection;
use reticent_optim::clipped_sgd::tails::{self, Moment};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::Loss;
use reticent_problem::loss::extended_norm;
use serde_json::{Value, json};

use crate::{CalcError, Formula, Inputs, number, refused};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("lipschitz_softmax", |i| row(i, Loss::Softmax { classes: 2 })),
    ("lipschitz_logistic_binary", |i| row(i, Loss::Logistic)),
    ("lipschitz_q_hinge", |i| row(i, Loss::Hinge { q: exponent(i)? })),
    ("lipschitz_q_norm", |i| row(i, Loss::Power { q: exponent(i)? })),
    ("lipschitz_huber", |i| row(i, Loss::Huber { threshold: i.number("threshold")? })),
    ("lipschitz_half_squared", |i| row(i, Loss::Squared)),
    ("softmax_grad_norm", |i| {
        let (probabilities, label) = (i.numbers("probs")?, i.count("label")? as usize);
        number(rates::softmax_gradient_norm(&probabilities, label, i.number("norm_x_ext")?))
    }),
    ("clip_coefficient", |i| {
        let norm = non_negative(i, "norm")?;
        number(rates::clip_coefficient(norm, i.positive("tau")?))
    }),
    ("phi", |i| {
        let (d, n) = (i.number("d")?, i.number("n")?);
        number(rates::phi(i.number("nu")?, d, i.share("delta")?, n, i.number("eps")?))
    }),
    ("phi_from_noise", |i| number(shape(i)?.phi())),
    ("s_total", |i| number(shape(i)?.total())),
    ("noise_std_per_coordinate", |i| {
        let (tau, sigma) = (i.number("tau")?, i.number("sigma")?);
        number(rates::noise_deviation(tau, sigma, i.number("batch")?))
    }),
    ("nu_full_batch_add_remove", |i| {
        number(rates::nu_full_batch(i.number("eps")?, i.share("delta")?))
    }),
    ("nu_effective", |i| {
        let (rate, steps) = (i.share("rate")?, i.number("steps")?);
        let (epsilon, delta) = (i.number("eps")?, i.share("delta")?);
        number(rates::nu_effective(i.number("sigma")?, rate, steps, epsilon, delta))
    }),
    ("thm54_steps", |i| number(rates::thm54_steps(i.positive("phi")?))),
    ("thm54_eta", |i| {
        number(rates::thm54_eta(i.positive("C")?, i.number("phi")?, i.positive("tau")?))
    }),
    ("step_size_general", |i| {
        let (c, steps) = (i.positive("C")?, i.number("steps")?);
        number(rates::eta_general(c, steps, i.positive("s_total")?, i.positive("tau")?))
    }),
    ("thm54_bound", |i| {
        let (distance, c) = (i.number("D0")?, i.positive("C")?);
        number(rates::thm54_bound(distance, c, i.number("phi")?, &gap(i)?))
    }),
    ("thmH1_bound", |i| {
        let (distance, c) = (i.number("D0")?, i.positive("C")?);
        number(rates::thm_h1_bound(distance, c, i.number("s_total")?, &gap(i)?))
    }),
    ("alpha_upper_bound", |i| {
        number(rates::alpha_upper(i.number("G_max")?, i.number("G_min")?, i.number("tau")?))
    }),
    ("alpha_ratio_at_point", |i| {
        let (lipschitz, gaps) = (i.numbers("lipschitz")?, i.numbers("gaps")?);
        number(rates::alpha_ratio(i.positive("tau")?, &lipschitz, &gaps))
    }),
    ("tau_unconstrained_convex", |i| number(moment(i)?.clip_unconstrained(total(i)?))),
    ("bound_unconstrained_convex", |i| {
        number(moment(i)?.bound_unconstrained(total(i)?, i.positive("C")?, i.number("D0")?))
    }),
    ("tau_constrained_convex", |i| number(moment(i)?.clip_constrained(total(i)?))),
    ("bound_constrained_convex", |i| {
        number(moment(i)?.bound_constrained(total(i)?, i.number("diameter")?))
    }),
    ("tau_sharp_convex", |i| number(moment(i)?.clip_sharp(total(i)?))),
    ("bound_sharp_convex", |i| {
        let (phi, c, distance) = (i.number("phi")?, i.positive("C")?, i.number("D0")?);
        number(moment(i)?.bound_sharp(total(i)?, phi, c, distance, i.number("D")?))
    }),
    ("tau_nonconvex", |i| {
        let (c, smoothness) = (i.positive("C")?, i.positive("smoothness")?);
        number(moment(i)?.clip_nonconvex(total(i)?, c, smoothness))
    }),
    ("eta_nonconvex", |i| {
        let (c, steps, tau) = (i.positive("C")?, i.number("steps")?, i.positive("tau")?);
        number(tails::eta_nonconvex(c, steps, tau, i.positive("smoothness")?, total(i)?))
    }),
    ("bound_nonconvex", |i| {
        let (c, smoothness) = (i.positive("C")?, i.positive("smoothness")?);
        number(moment(i)?.bound_nonconvex(total(i)?, c, smoothness, i.number("f_gap")?))
    }),
    ("tau_constrained_tight", |i| {
        number(moment(i)?.clip_constrained_tight(i.positive("steps")?, i.positive("V")?))
    }),
    ("bound_constrained_tight", |i| {
        let (steps, second) = (i.positive("steps")?, i.positive("V")?);
        number(moment(i)?.bound_constrained_tight(steps, second, i.number("diameter")?))
    }),
    ("clip_bias_lemma_F1", |i| {
        let (p, moment) = (i.number("p")?, i.number("moment_norm")?);
        number(tails::clip_bias(p, moment, i.share("tail_prob")?, i.positive("tau")?))
    }),
    ("clip_bias_corollary_F2", |i| {
        number(tails::clip_bias_paper(i.number("p")?, i.number("moment_norm")?, i.positive("tau")?))
    }),
    ("clip_bias_sharp", |i| {
        number(tails::clip_bias_sharp(i.number("p")?, i.number("moment_norm")?, i.positive("tau")?))
    }),
    ("gmin_target_rank", |i| {
        let (epsilon, cells) = (i.positive("eps")?, i.number("grid_size")?);
        number(selection::target_rank(epsilon, cells, i.share("beta")?))
    }),
    ("gmin_probabilities", |i| {
        let (counts, rank) = (i.numbers("counts_below_grid")?, i.number("rank")?);
        Ok(json!(selection::probabilities(&counts, rank, i.positive("eps")?)))
    }),
    ("rnm_query_sensitivity_softmax", |i| {
        number(selection::noisy_max_sensitivity(i.number("B")?, i.flag("bias")?))
    }),
    ("second_moment_factor", |i| number(shape(i)?.second_moment())),
    ("eta_tight", |i| number(shape(i)?.eta_tight(i.number("D0")?, i.positive("tau")?))),
    ("bound_tight", |i| number(shape(i)?.bound_tight(i.number("D0")?, &gap(i)?))),
    ("auto_steps", auto_steps),
];

/// A row's Lipschitz constant; a loss that needs no radius or label may be given none.
fn row(i: &Inputs<'_>, loss: Loss) -> Result<Value, CalcError> {
    let norm = extended_norm(non_negative(i, "norm_x")?, i.flag("bias")?);
    let radius = if i.has("radius") { i.number("radius")? } else { f64::INFINITY };
    let label = if i.has("abs_y") { i.number("abs_y")? } else { 0.0 };
    number(loss.row_lipschitz(norm, label, radius))
}

fn exponent(i: &Inputs<'_>) -> Result<f64, CalcError> {
    let q = i.number("q")?;
    if (1.0..=2.0).contains(&q) {
        Ok(q)
    } else {
        Err(CalcError::Argument { name: "q".to_owned(), expected: "a number between 1 and 2" })
    }
}

fn non_negative(i: &Inputs<'_>, name: &str) -> Result<f64, CalcError> {
    let x = i.number(name)?;
    if x >= 0.0 {
        Ok(x)
    } else {
        Err(CalcError::Argument { name: name.to_owned(), expected: "a number >= 0" })
    }
}

fn total(i: &Inputs<'_>) -> Result<f64, CalcError> {
    i.positive("s_total")
}

/// A declared moment; what a formula does not use may be left out.
fn moment(i: &Inputs<'_>) -> Result<Moment, CalcError> {
    let failure = if i.has("gamma") { i.share("gamma")? } else { 1.0 };
    let order = i.number("k")?;
    if order > 1.0 {
        Ok(Moment { bound: i.positive("G")?, order, failure })
    } else {
        Err(CalcError::Argument { name: "k".to_owned(), expected: "a number above 1" })
    }
}

/// The run's shape; what a formula does not use may be left out.
fn shape(i: &Inputs<'_>) -> Result<RunSize, CalcError> {
    Ok(RunSize {
        dimension: i.number("d")?,
        batch: i.positive("batch")?,
        rows: if i.has("n") { i.positive("n")? } else { f64::INFINITY },
        steps: i.positive("steps")?,
        noise_multiplier: i.number("sigma")?,
    })
}

fn gap(i: &Inputs<'_>) -> Result<Gap, CalcError> {
    Ok(Gap {
        largest: i.number("G_max")?,
        clip: i.positive("tau")?,
        alpha: i.positive("alpha")?,
        interpolation: i.number("delta_interp")?,
    })
}

fn auto_steps(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let adjacency = match i.word("adjacency")? {
        "add_remove" => Adjacency::AddRemoveOne,
        "replace_one" => Adjacency::ReplaceOne,
        "zero_out" => Adjacency::ZeroOut,
        _ => {
            return Err(CalcError::Argument {
                name: "adjacency".to_owned(),
                expected: "add_remove, replace_one or zero_out",
            });
        }
    };
    if i.word("sampling")? != "poisson" {
        return Err(CalcError::Argument { name: "sampling".to_owned(), expected: "poisson" });
    }
    let budget = Budget {
        epsilon: Epsilon::new(i.positive("eps")?).map_err(refused)?,
        delta: Delta::new(i.number("delta")?).map_err(refused)?,
        adjacency,
    };
    let (rows, batch) = (i.count("n")?, i.count("batch")?);
    let charge =
        Charge { budget, selection: None, preconditioner: None, dimension: i.positive("d")?, rows };
    Ok(json!(charge.steps(batch, i.positive("kappa")?).map_err(refused)?))
}
