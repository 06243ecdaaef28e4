//! Formulas of SGD for losses with Hölder-continuous gradients; `s` is one replace sensitivity over
//! the noise.

use reticent_optim::holder::{self, LossForm, Run};
use reticent_optim::{gradient_sgd, output_sgd::paper};
use reticent_privacy::{
    Adjacency, Event, PrivacyError, calibrate::noise_multiplier_for, delta_upper, gaussian,
    mixture, mixture::HitLaw, pair, rdp,
};
use serde_json::{Value, json};

use crate::losses::{self, Naming};
use crate::sampled::clip_units;
use crate::{CalcError, Formula, Inputs, answer, number, refused};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("gauss_delta", |i| number(gaussian::delta(i.number("eps")?, i.number("mu")?))),
    ("gauss_mu", |i| answer(gaussian::mu_lower(i.number("eps")?, i.number("delta")?))),
    ("hits_binom", |i| {
        answer(mixture::hits_quantile(i.count("n")?, i.count("N")?, i.number("gamma")?))
    }),
    ("hit_prob", |i| number(mixture::hit_probability(i.count("n")?, i.count("T")?))),
    ("eps_inner", |i| number(pair::inner_epsilon(i.number("eps")?, i.share("q")?))),
    ("avg_hits_tail", |i| answer(mixture::averaged_hits_tail(i.number("x")?, i.number("ratio")?))),
    ("avg_hits_quantile", |i| {
        answer(mixture::averaged_hits_quantile(i.number("ratio")?, i.number("gamma")?))
    }),
    ("sigma_output_tight", |i| {
        let (rows, steps, blocks) = (i.count("n")?, i.count("T")?, i.count("J")? as usize);
        sigma(i, HitLaw::averaged(rows, steps, blocks, mixture::CUT * i.share("delta")?))
    }),
    ("sigma_output_layered", |i| {
        let (rows, steps, bins) = (i.count("n")?, i.count("T")?, i.count("bins")? as usize);
        sigma(i, HitLaw::layered(rows, steps, bins, mixture::LAYERED_CUT * i.share("delta")?))
    }),
    ("sigma_output_permuted", |i| {
        let (rows, passes, blocks) = (i.count("n")?, i.count("epochs")?, i.count("J")? as usize);
        sigma(i, HitLaw::permuted(rows, passes, blocks, mixture::CUT * i.share("delta")?))
    }),
    ("step_profile", |i| {
        let (rate, shift) = (i.share("rate")?, i.positive("s")?);
        number(pair::fixed_size_replace_delta(i.number("t")?, rate, shift))
    }),
    ("step_atom_zero", |i| {
        number(pair::fixed_size_replace_atom(i.share("rate")?, i.positive("s")?))
    }),
    ("rdp_step", |i| {
        let (rate, noise) = (i.share("rate")?, clip_units(1.0 / i.positive("s")?));
        answer(rdp::rdp_fixed_size_replace(i.number("lam")?, rate, noise))
    }),
    ("rdp_to_eps_classic", |i| {
        answer(rdp::rdp_to_epsilon_classic(i.number("lam")?, i.number("rho")?, i.number("delta")?))
    }),
    ("rdp_to_eps_cks", |i| {
        answer(rdp::rdp_to_epsilon(i.number("lam")?, i.number("rho")?, i.number("delta")?))
    }),
    ("pld_delta", |i| {
        let event = steps(i)?(1.0 / i.positive("s")?);
        answer(delta_upper(&event, i.number("eps")?))
    }),
    ("noise_multiplier_tight", |i| {
        answer(noise_multiplier_for(i.number("eps")?, i.number("delta")?, steps(i)?))
    }),
    ("loss_constant", loss_constant),
    ("c_alpha_1_paper", |i| {
        number(holder::c_alpha_1_paper(order(i)?, i.positive("L")?, i.number("M")?))
    }),
    ("c_alpha_2_paper", |i| number(holder::c_alpha_2_paper(order(i)?, i.positive("L")?))),
    ("C_alpha_paper", |i| {
        let (m, m0) = (i.number("M")?, i.number("M0")?);
        number(holder::c_alpha_paper(order(i)?, i.positive("L")?, m, m0))
    }),
    ("omega", |i| number(holder::omega(order(i)?, i.positive("L")?, i.positive("eta")?, kind(i)?))),
    ("iterate_radius", |i| {
        let (l, eta, m0) = (i.positive("L")?, i.positive("eta")?, i.number("M0")?);
        number(holder::iterate_radius(order(i)?, l, eta, m0, i.number("T")?))
    }),
    ("avg_sqrt_weight", |i| number(holder::average_root(i.count("T")?))),
    ("c_gamma_T", |i| {
        number(paper::hits_deviation(i.positive("n")?, i.positive("T")?, i.share("gamma")?))
    }),
    ("hits_paper", |i| number(paper::hits(i.positive("n")?, i.positive("T")?, i.share("gamma")?))),
    ("delta_sgd_bounded_paper", |i| {
        number(paper::sensitivity_bounded(&output(i)?, i.positive("R")?, i.share("gamma")?))
    }),
    ("delta_sgd_unbounded_paper", |i| {
        number(paper::sensitivity_unbounded(&output(i)?, i.share("gamma")?))
    }),
    ("sigma_output_paper", |i| {
        answer(paper::sigma(i.positive("Delta")?, i.positive("eps")?, i.share("delta")?))
    }),
    ("sigma_gradient_paper", |i| number(gradient(i)?.sigma(i.positive("G")?, i.share("beta")?))),
    ("beta_unconstrained", |i| number(gradient(i)?.beta_unconstrained())),
    ("rdp_conditions_hold", |i| {
        Ok(json!(if gradient(i)?.holds(i.share("beta")?) { 1.0 } else { 0.0 }))
    }),
    ("best_noise_multiplier_paper", |i| {
        number(gradient(i)?.best_noise_multiplier().unwrap_or(-1.0))
    }),
    ("lemma13_eps", |i| number(gradient_sgd::paper::lemma13_epsilon(i.positive("n")?))),
    ("T_bounded", |i| number(holder::steps_bounded(i.positive("n")?, order(i)?))),
    ("T_unbounded", |i| number(holder::steps_unbounded(i.positive("n")?, order(i)?))),
    ("eta_thm9", |i| {
        let (n, t) = (i.positive("n")?, i.positive("T")?);
        number(paper::eta_unbounded(n, t, order(i)?, i.share("gamma")?))
    }),
    ("eta_thm10", |i| number(rate(i)?.eta_bounded(i.positive("T")?))),
    ("eta_thm12", |i| number(rate(i)?.eta_of_noisy_steps(i.positive("T")?))),
    ("rate_thm9", |i| number(rate(i)?.unbounded(order(i)?, i.number("wnorm")?))),
    ("rate_thm10", |i| number(rate(i)?.bounded(i.number("wnorm")?))),
    ("rate_thm12", |i| number(rate(i)?.of_noisy_steps(i.number("wnorm")?))),
    ("noise_penalty_glm", |i| {
        number(holder::noise_penalty(order(i)?, i.positive("L")?, i.number("sigma")?))
    }),
    ("explicit_bound_output", |i| {
        let noise = holder::noise_penalty(order(i)?, i.positive("L")?, i.number("sigma")?);
        number(run(i)?.excess(holder::average_root(i.count("T")?)) + noise)
    }),
    ("explicit_bound_gradient", |i| {
        let root = holder::average_root(i.count("T")?);
        number(run(i)?.excess_with_noisy_steps(root, i.number("sigma")?, i.number("d")?))
    }),
];

/// `α`, which lies between zero and one.
fn order(i: &Inputs<'_>) -> Result<f64, CalcError> {
    let alpha = i.number("alpha")?;
    if (0.0..=1.0).contains(&alpha) {
        Ok(alpha)
    } else {
        Err(CalcError::Argument { name: "alpha".to_owned(), expected: "a number in [0, 1]" })
    }
}

fn kind(i: &Inputs<'_>) -> Result<LossForm, CalcError> {
    match i.word("kind")? {
        "general" => Ok(LossForm::General),
        "glm" => Ok(LossForm::Glm),
        other => Err(CalcError::Refused(format!("`kind` must be general or glm, got `{other}`"))),
    }
}

/// The parameters of the paper's sensitivity.
fn output(i: &Inputs<'_>) -> Result<paper::PaperOutput, CalcError> {
    Ok(paper::PaperOutput {
        order: order(i)?,
        constant: i.positive("L")?,
        gradient_at_zero: i.number("M")?,
        value_at_zero: if i.has("M0") { i.number("M0")? } else { 0.0 },
        rows: i.positive("n")?,
        steps: i.positive("T")?,
        eta: i.positive("eta")?,
    })
}

/// The parameters of the paper's noisy steps; those that a formula does not use may be left out.
fn gradient(i: &Inputs<'_>) -> Result<gradient_sgd::paper::PaperGradient, CalcError> {
    let optional = |name: &str| if i.has(name) { i.positive(name) } else { Ok(1.0) };
    Ok(gradient_sgd::paper::PaperGradient {
        rows: optional("n")?,
        batch: optional("b")?,
        steps: optional("T")?,
        epsilon: i.positive("eps")?,
        delta: i.share("delta")?,
    })
}

fn rate(i: &Inputs<'_>) -> Result<paper::Rate, CalcError> {
    Ok(paper::Rate {
        rows: i.positive("n")?,
        dimension: i.positive("d")?,
        epsilon: i.positive("eps")?,
        delta: i.share("delta")?,
        gamma: i.share("gamma")?,
    })
}

/// The parameters of the explicit risk bounds, for a loss of one margin.
fn run(i: &Inputs<'_>) -> Result<Run, CalcError> {
    let (constant, eta) = (i.positive("L")?, i.positive("eta")?);
    Ok(Run {
        lipschitz: i.positive("G")?,
        omega: holder::omega(order(i)?, constant, eta, LossForm::Glm),
        distance: i.number("wnorm")?,
        rows: i.positive("n")?,
        steps: i.count("T")?,
        eta,
    })
}

/// The noise for this law of hits.
fn sigma(i: &Inputs<'_>, law: Result<HitLaw, PrivacyError>) -> Result<Value, CalcError> {
    let cap = if i.has("cap") { Some(i.number("cap")?) } else { None };
    let (shift, drift) = (i.number("h")?, i.number("omega_aT")?);
    let law = law.map_err(refused)?;
    answer(law.sigma_upper(i.number("eps")?, i.number("delta")?, shift, drift, cap))
}

/// The steps on batches of fixed size, for noise in replace sensitivities.
fn steps(i: &Inputs<'_>) -> Result<impl Fn(f64) -> Event, CalcError> {
    let (batch, rows, steps) = (i.count("b")?, i.count("n")?, i.count("T_eff")?);
    Ok(move |noise| Event::FixedSizeGaussian {
        batch,
        rows,
        noise_multiplier: clip_units(noise),
        steps,
        adjacency: Adjacency::ReplaceOne,
    })
}

fn loss_constant(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let constants = losses::problem(i, Naming::Holder)?.regularity();
    number(match i.word("what")? {
        "alpha" => constants.holder_order,
        "L" => constants.holder_constant,
        "M" => constants.gradient_at_zero,
        "M0" => constants.value_at_zero,
        "G" => constants.lipschitz,
        other => {
            return Err(CalcError::Refused(format!(
                "`what` must be alpha, L, M, M0 or G, got `{other}`"
            )));
        }
    })
}
