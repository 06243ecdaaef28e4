//! The accountant's formulas that other namespaces publish under their own names and in their own units.
//!
//! A namespace's own file chains its list here behind its own formulas. `s` and `nm` are noise over the *replace*
//! sensitivity, half the accountant's clip units; in `holder-sgd` `s` is the inverse of that.

use reticent_privacy::{
    Adjacency, Event, Hits, ObjectiveClass,
    calibrate::noise_multiplier_for,
    gaussian,
    mixture::{self, HitLaw},
    objective::{self, Objective},
    pair::{self, Pair},
    pld::Composition,
    rdp, shuffle, special,
};

use super::{Answer, CalcError, Formula, Inputs, adjacency, answer, number, refused};

/// Of `output-gd`: a uniform subset in each step, a row replaced.
pub(in crate::calc) const OUTPUT_GD: &[(&str, Formula)] = &[
    ("subsampled_one_step_delta", |i| {
        number(pair::fixed_size_replace_delta(
            i.number("eps")?,
            i.number("q")?,
            1.0 / i.number("s")?,
        ))
    }),
    ("subsampled_rdp_M_minus_1", |i| {
        let order = i.number("lam")?;
        number(((order - 1.0) * fixed_size_rdp(i, "q", 2.0 * i.number("s")?)?).exp_m1())
    }),
    ("subsampled_rdp_N", |i| {
        number(i.number("N")? * fixed_size_rdp(i, "q", 2.0 * i.number("s")?)?)
    }),
    ("subsampled_pld_delta", |i| {
        let mu = 1.0 / i.number("s")?;
        number(fixed_size(i.number("q")?, mu, i.count("N")?).delta_upper(i.number("eps")?))
    }),
    ("rdp_to_eps", rdp_to_eps),
];

/// Of `holder-sgd`: the Gaussian primitive, hits, and gradient perturbation.
pub(in crate::calc) const HOLDER_SGD: &[(&str, Formula)] = &[
    ("gauss_delta", |i| number(gaussian::delta(i.number("eps")?, i.number("mu")?))),
    ("gauss_mu", |i| answer(gaussian::mu_lower(i.number("eps")?, i.number("delta")?))),
    ("eps_inner", |i| number(pair::inner_epsilon(i.number("eps")?, i.number("q")?))),
    ("hit_prob", |i| number(mixture::hit_probability(i.count("n")?, i.count("T")?))),
    ("hits_binom", |i| {
        let p = 1.0 / i.number("n")?;
        number(special::binomial_quantile_upper(i.number("N")?, p, i.number("gamma")?))
    }),
    ("avg_hits_tail", |i| number(mixture::averaged_hits_tail(i.number("x")?, i.number("ratio")?))),
    ("avg_hits_quantile", |i| {
        number(mixture::averaged_hits_quantile(i.number("ratio")?, i.number("gamma")?))
    }),
    ("sigma_output_tight", |i| {
        let (n, steps, tail) = (i.count("n")?, i.count("T")?, 1e-9 * i.number("delta")?);
        output_sigma(i, HitLaw::averaged(n, steps, i.count("J")? as usize, tail))
    }),
    ("sigma_output_layered", |i| {
        let (n, steps, tail) = (i.count("n")?, i.count("T")?, 1e-6 * i.number("delta")?);
        output_sigma(i, HitLaw::layered(n, steps, i.count("bins")? as usize, tail))
    }),
    ("sigma_output_permuted", |i| {
        let (n, passes, tail) = (i.count("n")?, i.count("epochs")?, 1e-9 * i.number("delta")?);
        output_sigma(i, HitLaw::permuted(n, passes, i.count("J")? as usize, tail))
    }),
    ("step_profile", |i| {
        number(pair::fixed_size_replace_delta(i.number("t")?, i.number("rate")?, i.number("s")?))
    }),
    ("step_atom_zero", |i| {
        let tails = Pair::FixedReplace { rate: i.number("rate")?, mu: i.number("s")? }.tails(0.0);
        // What is neither above zero nor, by symmetry, below it.
        number((1.0 - tails.p_above - tails.q_above).max(0.0))
    }),
    ("rdp_step", |i| number(fixed_size_rdp(i, "rate", 2.0 / i.number("s")?)?)),
    ("rdp_to_eps_cks", rdp_to_eps),
    ("pld_delta", |i| {
        let rate = i.number("b")? / i.number("n")?;
        let composed = fixed_size(rate, i.number("s")?, i.count("T_eff")?);
        number(composed.delta_upper(i.number("eps")?))
    }),
    ("noise_multiplier_tight", |i| {
        let (batch, rows, steps) = (i.count("b")?, i.count("n")?, i.count("T_eff")?);
        let event = |noise: f64| Event::FixedSizeGaussian {
            batch,
            rows,
            noise_multiplier: 2.0 * noise,
            steps,
            adjacency: Adjacency::ReplaceOne,
        };
        answer(noise_multiplier_for(i.number("eps")?, i.number("delta")?, event))
    }),
];

/// Of `geometry`: the Gaussian primitive, objective perturbation, shuffling.
pub(in crate::calc) const GEOMETRY: &[(&str, Formula)] = &[
    ("gauss_delta", |i| number(gaussian::delta(i.number("eps")?, i.number("mu")?))),
    ("gauss_mu", |i| answer(gaussian::mu_lower(i.number("eps")?, i.number("delta")?))),
    ("zcdp_rho", |i| answer(rdp::zcdp_rho(i.number("eps")?, i.number("delta")?))),
    ("eps_det", |i| {
        number(objective::epsilon_det(i.number("k")?, i.number("beta")?, i.number("Lambda")?))
    }),
    ("objpert_delta", |i| {
        let mut o = objective_of(i)?;
        (o.slope, o.output_mu) = (i.number("L_over_sigma")?, i.number("mu2")?);
        answer(o.delta_upper(i.number("eps")?))
    }),
    ("objpert_delta_chi", |i| {
        let e = i.number("eps")? - i.number("eps_det")?;
        number(objective::chi_delta(e, i.number("mu")?, i.number("m")?, 0.0))
    }),
    ("objpert_delta_chi_out", |i| {
        let e = i.number("eps")? - i.number("eps_det")?;
        number(objective::chi_delta(e, i.number("mu")?, i.number("m")?, i.number("mu2")?))
    }),
    ("objpert_rdp", |i| {
        let (class, adjacency) = match i.word("kind")? {
            "two_sided_add_remove" => (ObjectiveClass::TwoSided, Adjacency::ZeroOut),
            "monotone_add_remove" => (ObjectiveClass::Monotone, Adjacency::ZeroOut),
            _ => (ObjectiveClass::TwoSided, Adjacency::ReplaceOne),
        };
        let slope = i.number("mu")? / adjacency.sum_sensitivity();
        let epsilon_det = i.number("eps_det")?;
        answer(
            Objective { class, epsilon_det, slope, output_mu: 0.0, adjacency }
                .rdp(i.number("alpha")?),
        )
    }),
    ("objpert_sigma1", |i| {
        let (l, share) = (i.number("L")?, i.number("mu2sq_over_mua_sq")?);
        answer(objective_of(i)?.sigma_upper(l, share, i.number("eps")?, i.number("delta")?))
    }),
    ("shuffle_delta", |i| {
        answer(shuffle::shuffle_delta(i.number("eps")?, i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_eps", |i| {
        answer(shuffle::shuffle_epsilon(i.number("delta")?, i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_tv_factor", |i| {
        number(shuffle::shuffle_failure_factor(i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_closed", |i| {
        answer(shuffle::shuffle_epsilon_closed(
            i.number("delta")?,
            i.number("eps0")?,
            i.count("n")?,
        ))
    }),
    ("shuffle_total_delta", |i| {
        let (epsilon0, users) = (i.number("eps0")?, i.count("n")?);
        let delta0 = gaussian::delta_upper(epsilon0, i.number("mu_loc")?);
        answer(shuffle::shuffle_total_delta(i.number("eps")?, epsilon0, delta0, users))
    }),
];

/// Of `random-features`: the last iterate of SGD.
pub(in crate::calc) const RANDOM_FEATURES: &[(&str, Formula)] = &[
    ("rf_binomial_quantile", |i| {
        let p = 1.0 / i.number("n")?;
        number(special::binomial_quantile_upper(i.number("T")?, p, i.number("gamma")?))
    }),
    ("rf_mixture_delta", |i| {
        let shift = i.number("step")? / i.number("sigma")?;
        number(last(i)?.delta_upper(i.number("eps")?, shift, 0.0, None))
    }),
    ("rf_sigma_mixture", |i| {
        let (epsilon, delta, step) = (i.number("eps")?, i.number("delta")?, i.number("step")?);
        answer(last(i)?.sigma_upper(epsilon, delta, step, 0.0, None))
    }),
];

fn rdp_to_eps(i: &Inputs<'_>) -> Answer {
    answer(rdp::rdp_to_epsilon(i.number("lam")?, i.number("rho")?, i.number("delta")?))
}

fn fixed_size_rdp(i: &Inputs<'_>, rate: &str, noise_multiplier: f64) -> Result<f64, CalcError> {
    rdp::rdp_fixed_size_replace(i.number("lam")?, i.number(rate)?, noise_multiplier)
        .map_err(refused)
}

fn fixed_size(rate: f64, mu: f64, steps: u64) -> Composition {
    Composition::new([(Pair::FixedReplace { rate, mu }, steps)])
}

fn last(i: &Inputs<'_>) -> Result<HitLaw, CalcError> {
    let hits = Hits::LastWithReplacement { rows: i.count("n")?, steps: i.count("T")? };
    HitLaw::new(hits, 1e-60).map_err(refused)
}

fn output_sigma(i: &Inputs<'_>, law: Result<HitLaw, reticent_privacy::PrivacyError>) -> Answer {
    let cap = if i.0.contains_key("cap") { Some(i.number("cap")?) } else { None };
    let (epsilon, delta) = (i.number("eps")?, i.number("delta")?);
    let law = law.map_err(refused)?;
    answer(law.sigma_upper(epsilon, delta, i.number("h")?, i.number("omega_aT")?, cap))
}

/// The class and adjacency; `add_remove` there means that a row is zeroed.
fn objective_of(i: &Inputs<'_>) -> Result<Objective, CalcError> {
    let class = match i.word("class")? {
        "monotone" => ObjectiveClass::Monotone,
        "two_sided" => ObjectiveClass::TwoSided,
        other => {
            return Err(CalcError::Refused(format!(
                "`class` must be monotone or two_sided, got `{other}`"
            )));
        }
    };
    let adjacency = match adjacency(i)? {
        Adjacency::ReplaceOne => Adjacency::ReplaceOne,
        _ => Adjacency::ZeroOut,
    };
    let epsilon_det = i.number("eps_det")?;
    Ok(Objective { class, epsilon_det, slope: 0.0, output_mu: 0.0, adjacency })
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;
    use serde_json::Map;

    use super::*;

    #[test]
    fn every_vector_of_these_formulas() {
        let lists = [
            ("output-gd", OUTPUT_GD),
            ("holder-sgd", HOLDER_SGD),
            ("geometry", GEOMETRY),
            ("random-features", RANDOM_FEATURES),
        ];
        for (namespace, formulas) in lists {
            let vectors = load(namespace);
            for (name, formula) in formulas {
                let mut seen = 0;
                for v in vectors.iter().filter(|v| v.formula == *name) {
                    let inputs: Map<_, _> = v.inputs.clone().into_iter().collect();
                    let got = formula(&Inputs(&inputs)).unwrap().as_f64().unwrap();
                    assert!(v.accepts(got), "{name} {:?}: {got}, want {}", v.inputs, v.expected);
                    seen += 1;
                }
                assert!(seen > 0, "{namespace} has no vector of {name}");
            }
        }
    }
}
