//! The accountant's formulas.

use reticent_privacy::{
    Adjacency, Event,
    calibrate::{Sampling, noise_multiplier_for, sampled_gaussian},
    composition, epsilon_lower, epsilon_upper, gaussian, last_iterate, pair, rdp, shuffle, tuning,
};
use serde_json::{Map, Value, json};

use crate::{CalcError, Formula, Inputs, answer, number, refused};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("gaussian_delta", |i| number(gaussian::delta(i.number("eps")?, i.number("mu")?))),
    ("gaussian_sigma", |i| {
        let noise = gaussian::noise_multiplier_upper(i.number("eps")?, i.number("delta")?);
        number(i.number("sensitivity")? * noise.map_err(refused)?)
    }),
    ("gaussian_sigma_classical", |i| {
        let noise = gaussian::noise_multiplier_classical(i.number("eps")?, i.number("delta")?);
        number(i.number("sensitivity")? * noise.map_err(refused)?)
    }),
    ("gaussian_eps", |i| answer(gaussian::epsilon_upper(i.number("mu")?, i.number("delta")?))),
    ("zcdp_to_eps_simple", |i| {
        answer(rdp::zcdp_epsilon_simple(i.number("rho")?, i.number("delta")?))
    }),
    ("zcdp_to_eps_optimal", |i| answer(rdp::zcdp_epsilon(i.number("rho")?, i.number("delta")?))),
    ("rdp_to_eps", |i| {
        answer(rdp::rdp_to_epsilon(i.number("order")?, i.number("rdp")?, i.number("delta")?))
    }),
    ("rdp_to_delta", |i| {
        answer(rdp::rdp_to_delta(i.number("order")?, i.number("rdp")?, i.number("eps")?))
    }),
    ("rdp_poisson_gaussian", |i| {
        answer(rdp::rdp_poisson(i.number("order")?, i.number("q")?, i.number("sigma")?))
    }),
    ("rdp_wor_gaussian_replace", |i| {
        let (order, rate) = (i.number("order")?, i.number("gamma")?);
        answer(rdp::rdp_fixed_size_replace(order, rate, i.number("sigma")?))
    }),
    ("rdp_wor_gaussian_wbk2019", |i| {
        let (order, rate) = (i.number("order")?, i.number("gamma")?);
        answer(rdp::rdp_fixed_size_replace_wbk(order, rate, i.number("sigma")?))
    }),
    ("rdp_eps_optimal_order", |i| {
        let sampling = Sampling::Poisson { rate: i.number("q")? };
        let (sigma, steps) = (i.number("sigma")?, i.count("steps")?);
        let event = sampled_gaussian(sampling, sigma, steps, adjacency(i)?);
        answer(rdp::rdp_epsilon_upper(&event, i.number("delta")?))
    }),
    ("delta_poisson_remove", |i| {
        let (rate, mu) = rate_and_mu(i, "q", 1.0)?;
        number(pair::poisson_remove_delta(i.number("eps")?, rate, mu))
    }),
    ("delta_poisson_add", |i| {
        let (rate, mu) = rate_and_mu(i, "q", 1.0)?;
        number(pair::poisson_add_delta(i.number("eps")?, rate, mu))
    }),
    ("delta_poisson_replace", |i| {
        let (rate, mu) = rate_and_mu(i, "q", 1.0)?;
        number(pair::poisson_replace_delta(i.number("eps")?, rate, mu))
    }),
    ("delta_wor_replace", |i| {
        let (rate, mu) = rate_and_mu(i, "gamma", 2.0)?;
        number(pair::fixed_size_replace_delta(i.number("eps")?, rate, mu))
    }),
    ("laplace_delta", |i| {
        number(pair::laplace_delta(i.number("eps")?, i.number("sensitivity")? / i.number("scale")?))
    }),
    ("laplace_rdp", |i| {
        number(rdp::rdp_laplace(i.number("order")?, i.number("sensitivity")? / i.number("scale")?))
    }),
    ("pure_dp_rdp", |i| number(rdp::rdp_pure(i.number("order")?, i.number("eps")?))),
    ("bounded_range_delta", |i| {
        number(pair::bounded_range_delta(i.number("eps")?, i.number("eps0")?))
    }),
    ("l2_laplace_mean_norm", |i| {
        let (d, sensitivity) = (i.number("d")?, i.number("sensitivity")?);
        number(composition::l2_laplace_mean_norm(d, sensitivity, i.number("eps")?))
    }),
    ("l2_laplace_median_norm", |i| {
        let (d, sensitivity) = (i.number("d")?, i.number("sensitivity")?);
        number(composition::l2_laplace_median_norm(d, sensitivity, i.number("eps")?))
    }),
    ("advanced_composition_eps", |i| {
        let (epsilon, times) = (i.number("eps")?, i.count("k")?);
        answer(composition::advanced_epsilon(epsilon, times, i.number("delta_prime")?))
    }),
    ("optimal_composition_delta", |i| {
        let (epsilon, delta) = (i.number("eps")?, i.number("delta")?);
        answer(composition::optimal_delta(epsilon, delta, i.count("k")?, i.number("eps_total")?))
    }),
    ("addremove_to_replace", |i| {
        let (epsilon, delta) =
            composition::add_remove_to_replace(i.number("eps")?, i.number("delta")?);
        Ok(json!({ "eps": epsilon, "delta": delta }))
    }),
    ("tnb_mean", |i| answer(tuning::tnb_mean(i.number("gamma")?, i.number("eta")?))),
    ("tnb_pmf", |i| answer(tuning::tnb_pmf(i.number("gamma")?, i.number("eta")?, i.count("k")?))),
    ("tuning_rdp_tnb", |i| {
        let (order, here) = (i.number("order")?, i.number("rdp")?);
        let (order_hat, there) = (i.number("order_hat")?, i.number("rdp_hat")?);
        let (gamma, eta) = (i.number("gamma")?, i.number("eta")?);
        answer(tuning::tuning_rdp_tnb(order, here, order_hat, there, gamma, eta))
    }),
    ("tuning_rdp_poisson", |i| {
        let (order, here) = (i.number("order")?, i.number("rdp")?);
        answer(tuning::tuning_rdp_poisson(order, here, i.number("mean")?, i.number("delta_hat")?))
    }),
    ("tuning_delta_gdp", |i| {
        let (epsilon, mu) = (i.number("eps")?, i.number("mu")?);
        answer(tuning::tuning_delta_gdp(epsilon, mu, i.number("gamma")?, i.number("eta")?))
    }),
    ("last_iterate_mu", |i| {
        let (steps, contraction) = (i.count("steps")?, i.number("contraction")?);
        let diameter = if i.has("diameter") { Some(i.number("diameter")?) } else { None };
        let noise = i.number("noise_multiplier")?;
        answer(last_iterate::mu_upper(steps, contraction, noise, diameter))
    }),
    ("shuffle_clones_delta_exact", |i| {
        answer(shuffle::shuffle_delta(i.number("eps")?, i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_clones_eps_closed", |i| {
        answer(shuffle::shuffle_epsilon_closed(
            i.number("delta")?,
            i.number("eps0")?,
            i.count("n")?,
        ))
    }),
    ("epoch_partition_mu", |i| {
        let (passes, sigma) = (i.count("epochs")?, i.number("sigma")?);
        number(composition::epoch_partition_mu(passes, sigma, i.number("sensitivity")?))
    }),
    ("pld_eps", |i| answer(epsilon_upper(&sampled(i)?, i.number("delta")?))),
    ("pld_eps_lower", |i| answer(epsilon_lower(&sampled(i)?, i.number("delta")?))),
    ("pld_eps_heterogeneous", |i| answer(epsilon_upper(&list(i)?, i.number("delta")?))),
    ("calibrate_sigma", |i| {
        let (sampling, steps, adjacency) = (sampling(i)?, i.count("steps")?, adjacency(i)?);
        answer(noise_multiplier_for(i.number("eps")?, i.number("delta")?, |sigma| {
            sampled_gaussian(sampling, sigma, steps, adjacency)
        }))
    }),
];

fn adjacency(i: &Inputs<'_>) -> Result<Adjacency, CalcError> {
    i.word("adjacency")?.parse().map_err(refused)
}

/// The sample rate called `name`, and the shift of a row for a sensitivity in clip units.
fn rate_and_mu(i: &Inputs<'_>, name: &str, sensitivity: f64) -> Result<(f64, f64), CalcError> {
    let (sample_rate, noise_multiplier) = (i.number(name)?, i.number("sigma")?);
    let adjacency = Adjacency::ReplaceOne;
    Event::PoissonGaussian { sample_rate, noise_multiplier, steps: 1, adjacency }
        .check()
        .map_err(refused)?;
    Ok((sample_rate, sensitivity / noise_multiplier))
}

fn sampling(i: &Inputs<'_>) -> Result<Sampling, CalcError> {
    let rate = i.number("rate")?;
    let fixed = match i.word("sampling")? {
        "none" => return Ok(Sampling::None),
        "poisson" => false,
        "fixed_size" | "fixed-size" | "without-replacement" => true,
        other => {
            return Err(CalcError::Refused(format!(
                "`sampling` must be poisson, fixed_size or none, got `{other}`"
            )));
        }
    };
    if !(0.0..=1.0).contains(&rate) {
        return Err(CalcError::Refused(format!("`rate` must satisfy 0 <= rate <= 1, got {rate}")));
    }
    Ok(if fixed { Sampling::FixedSize { rate } } else { Sampling::Poisson { rate } })
}

fn sampled(i: &Inputs<'_>) -> Result<Event, CalcError> {
    Ok(sampled_gaussian(sampling(i)?, i.number("sigma")?, i.count("steps")?, adjacency(i)?))
}

/// The events of a list, each with how often it happened.
fn list(i: &Inputs<'_>) -> Result<Event, CalcError> {
    let adjacency = adjacency(i)?;
    let expected = "a list of events, each with `mechanism` and `count`";
    let malformed = || CalcError::Argument { name: "events".to_owned(), expected };
    let events = i.0.get("events").and_then(Value::as_array).ok_or_else(malformed)?;
    let parts = events.iter().map(|event| {
        let map: &Map<String, Value> = event.as_object().ok_or_else(malformed)?;
        let event = Inputs(map);
        let times = if map.contains_key("count") { event.count("count")? } else { 1 };
        let gaussian =
            |sampling| Ok(sampled_gaussian(sampling, event.number("sigma")?, times, adjacency));
        let rate = |names: [&str; 2]| {
            let name = names.into_iter().find(|name| map.contains_key(*name));
            event.number(name.unwrap_or(names[0]))
        };
        let one = match event.word("mechanism")? {
            "poisson_gaussian" => {
                return gaussian(Sampling::Poisson { rate: rate(["q", "rate"])? });
            }
            "fixed_size_gaussian" => {
                return gaussian(Sampling::FixedSize { rate: rate(["gamma", "rate"])? });
            }
            "gaussian" => return gaussian(Sampling::None),
            "gaussian_mu" => Event::Gdp { mu: event.number("mu")?, adjacency },
            "pure" => Event::PureDp { epsilon: event.number("eps")?, adjacency },
            "bounded_range" => Event::BoundedRange { epsilon: event.number("eps")?, adjacency },
            "laplace" => {
                let noise_multiplier = event.number("scale")? / event.number("sensitivity")?;
                Event::Laplace { noise_multiplier, adjacency }
            }
            "approx" => {
                let (epsilon, delta) = (event.number("eps")?, event.number("delta")?);
                Event::ApproxDp { epsilon, delta, adjacency }
            }
            "zcdp" => Event::Zcdp { rho: event.number("rho")?, adjacency },
            other => {
                return Err(CalcError::Refused(format!("there is no mechanism called `{other}`")));
            }
        };
        Ok(Event::Repeated { event: Box::new(one), times })
    });
    Ok(Event::Composed(parts.collect::<Result<_, CalcError>>()?))
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;
    use serde_json::Map;

    use crate::evaluate;

    #[test]
    fn every_published_vector_through_calc() {
        let vectors = load("accounting");
        for v in &vectors {
            let inputs: Map<_, _> = v.inputs.clone().into_iter().collect();
            let got = evaluate("accounting", &v.formula, &inputs).unwrap();
            let accepted = match got.as_f64() {
                Some(x) => v.accepts(x),
                None => v.expected.as_object().is_some_and(|want| {
                    want.iter().all(|(name, want)| {
                        let (got, want) = (got[name].as_f64().unwrap(), want.as_f64().unwrap());
                        (got / want - 1.0).abs() <= v.rel_tol
                    })
                }),
            };
            assert!(accepted, "{} {:?}: {got}, want {}", v.formula, v.inputs, v.expected);
        }
    }

    #[test]
    fn nonsense_is_refused_in_one_sentence() {
        let ask = |formula: &str, text: &str| {
            let inputs: Map<_, _> = serde_json::from_str(text).unwrap();
            evaluate("accounting", formula, &inputs).unwrap_err().to_string()
        };
        let message = ask("delta_poisson_remove", r#"{"q": 0.1, "sigma": 0, "eps": 1}"#);
        assert!(message.contains("finite positive"), "{message}");
        let message = ask("gaussian_eps", r#"{"mu": 1, "delta": 2}"#);
        assert!(message.contains("`delta` must satisfy"), "{message}");
        assert!(ask("gaussian_delta", r#"{"mu": -1, "eps": 1}"#).contains("no value"));
        assert!(ask("gaussian_sigma", r#"{"eps": 1}"#).contains("`delta`"));
    }
}
