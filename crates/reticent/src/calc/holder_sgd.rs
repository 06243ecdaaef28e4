//! Formulas of SGD for losses with Hölder-continuous gradients; `s` is one replace sensitivity over the noise.

use reticent_privacy::{
    Adjacency, Event, PrivacyError, calibrate::noise_multiplier_for, delta_upper, gaussian,
    mixture, mixture::HitLaw, pair, rdp,
};
use serde_json::Value;

use super::losses::{self, Naming};
use super::sampled::clip_units;
use super::{CalcError, Formula, Inputs, answer, number, refused};

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
];

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
