//! Every published accounting vector, through the public functions; and the accountant's part of
//! the others.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeMap;

use reticent_privacy::{
    Adjacency, Event,
    calibrate::{Sampling, noise_multiplier_for, sampled_gaussian},
    composition, epsilon_lower, epsilon_upper, gaussian, last_iterate, pair,
    pld::Composition,
    rdp, shuffle, tuning,
};
use reticent_testkit::vectors::{Vector, load};
use serde_json::Value;

fn adjacency(v: &BTreeMap<String, Value>) -> Adjacency {
    v["adjacency"].as_str().unwrap().parse().unwrap()
}

fn sampling(v: &Vector) -> Sampling {
    let rate = v.number("rate");
    match v.inputs["sampling"].as_str().unwrap() {
        "poisson" => Sampling::Poisson { rate },
        "fixed_size" => Sampling::FixedSize { rate },
        other => panic!("no sampling called {other}"),
    }
}

fn heterogeneous(v: &Vector) -> Event {
    let adjacency = adjacency(&v.inputs);
    let parts = v.inputs["events"].as_array().unwrap().iter().map(|e| {
        let number = |name: &str| e[name].as_f64().unwrap();
        let steps = number("count") as u64;
        let event = match e["mechanism"].as_str().unwrap() {
            "poisson_gaussian" => {
                let sampling = Sampling::Poisson { rate: number("q") };
                return sampled_gaussian(sampling, number("sigma"), steps, adjacency);
            }
            "gaussian" => {
                return sampled_gaussian(Sampling::None, number("sigma"), steps, adjacency);
            }
            "pure" => Event::PureDp { epsilon: number("eps"), adjacency },
            other => panic!("no mechanism called {other}"),
        };
        Event::Repeated { event: Box::new(event), times: steps }
    });
    Event::Composed(parts.collect())
}

fn value(v: &Vector) -> f64 {
    let n = |name: &str| v.number(name);
    match v.formula.as_str() {
        "gaussian_delta" => gaussian::delta(n("eps"), n("mu")),
        "gaussian_sigma" => {
            n("sensitivity") * gaussian::noise_multiplier_upper(n("eps"), n("delta")).unwrap()
        }
        "gaussian_eps" => gaussian::epsilon_upper(n("mu"), n("delta")).unwrap(),
        "zcdp_to_eps_simple" => rdp::zcdp_epsilon_simple(n("rho"), n("delta")).unwrap(),
        "zcdp_to_eps_optimal" => rdp::zcdp_epsilon(n("rho"), n("delta")).unwrap(),
        "rdp_to_eps" => rdp::rdp_to_epsilon(n("order"), n("rdp"), n("delta")).unwrap(),
        "rdp_to_delta" => rdp::rdp_to_delta(n("order"), n("rdp"), n("eps")).unwrap(),
        "rdp_poisson_gaussian" => rdp::rdp_poisson(n("order"), n("q"), n("sigma")).unwrap(),
        "rdp_wor_gaussian_replace" => {
            rdp::rdp_fixed_size_replace(n("order"), n("gamma"), n("sigma")).unwrap()
        }
        "rdp_wor_gaussian_wbk2019" => {
            rdp::rdp_fixed_size_replace_wbk(n("order"), n("gamma"), n("sigma")).unwrap()
        }
        "delta_poisson_remove" => pair::poisson_remove_delta(n("eps"), n("q"), 1.0 / n("sigma")),
        "delta_poisson_add" => pair::poisson_add_delta(n("eps"), n("q"), 1.0 / n("sigma")),
        "delta_poisson_replace" => pair::poisson_replace_delta(n("eps"), n("q"), 1.0 / n("sigma")),
        "delta_wor_replace" => {
            pair::fixed_size_replace_delta(n("eps"), n("gamma"), 2.0 / n("sigma"))
        }
        "tuning_delta_gdp" => {
            tuning::tuning_delta_gdp(n("eps"), n("mu"), n("gamma"), n("eta")).unwrap()
        }
        "laplace_delta" => pair::laplace_delta(n("eps"), n("sensitivity") / n("scale")),
        "laplace_rdp" => rdp::rdp_laplace(n("order"), n("sensitivity") / n("scale")),
        "pure_dp_rdp" => rdp::rdp_pure(n("order"), n("eps")),
        "bounded_range_delta" => pair::bounded_range_delta(n("eps"), n("eps0")),
        "l2_laplace_mean_norm" => {
            composition::l2_laplace_mean_norm(n("d"), n("sensitivity"), n("eps"))
        }
        "l2_laplace_median_norm" => {
            composition::l2_laplace_median_norm(n("d"), n("sensitivity"), n("eps"))
        }
        "advanced_composition_eps" => {
            composition::advanced_epsilon(n("eps"), n("k") as u64, n("delta_prime")).unwrap()
        }
        "optimal_composition_delta" => {
            composition::optimal_delta(n("eps"), n("delta"), n("k") as u64, n("eps_total")).unwrap()
        }
        "tnb_mean" => tuning::tnb_mean(n("gamma"), n("eta")).unwrap(),
        "tnb_pmf" => tuning::tnb_pmf(n("gamma"), n("eta"), n("k") as u64).unwrap(),
        "tuning_rdp_tnb" => tuning::tuning_rdp_tnb(
            n("order"),
            n("rdp"),
            n("order_hat"),
            n("rdp_hat"),
            n("gamma"),
            n("eta"),
        )
        .unwrap(),
        "tuning_rdp_poisson" => {
            tuning::tuning_rdp_poisson(n("order"), n("rdp"), n("mean"), n("delta_hat")).unwrap()
        }
        "shuffle_clones_eps_closed" => {
            shuffle::shuffle_epsilon_closed(n("delta"), n("eps0"), n("n") as u64).unwrap()
        }
        "shuffle_clones_delta_exact" => {
            shuffle::shuffle_delta(n("eps"), n("eps0"), n("n") as u64).unwrap()
        }
        "epoch_partition_mu" => {
            composition::epoch_partition_mu(n("epochs") as u64, n("sigma"), n("sensitivity"))
        }
        "last_iterate_mu" => {
            let diameter = v.inputs.contains_key("diameter").then(|| n("diameter"));
            let (steps, noise) = (n("steps") as u64, n("noise_multiplier"));
            last_iterate::mu_upper(steps, n("contraction"), noise, diameter).unwrap()
        }
        "rdp_eps_optimal_order" => {
            let sampling = Sampling::Poisson { rate: n("q") };
            let (steps, adjacency) = (n("steps") as u64, adjacency(&v.inputs));
            let event = sampled_gaussian(sampling, n("sigma"), steps, adjacency);
            rdp::rdp_epsilon_upper(&event, n("delta")).unwrap()
        }
        "pld_eps" => {
            let (steps, adjacency) = (n("steps") as u64, adjacency(&v.inputs));
            let event = sampled_gaussian(sampling(v), n("sigma"), steps, adjacency);
            epsilon_upper(&event, n("delta")).unwrap()
        }
        "pld_eps_heterogeneous" => epsilon_upper(&heterogeneous(v), n("delta")).unwrap(),
        "calibrate_sigma" => {
            let (steps, adjacency) = (n("steps") as u64, adjacency(&v.inputs));
            noise_multiplier_for(n("eps"), n("delta"), |s| {
                sampled_gaussian(sampling(v), s, steps, adjacency)
            })
            .unwrap()
        }
        other => panic!("no function for {other}"),
    }
}

#[test]
fn all_accounting_vectors() {
    let vectors = load("accounting");
    assert_eq!(vectors.len(), 194);
    for v in &vectors {
        if v.formula == "addremove_to_replace" {
            let (epsilon, delta) =
                composition::add_remove_to_replace(v.number("eps"), v.number("delta"));
            assert_eq!(epsilon, v.expected["eps"].as_f64().unwrap());
            assert!((delta / v.expected["delta"].as_f64().unwrap() - 1.0).abs() < v.rel_tol);
            continue;
        }
        let got = value(v);
        assert!(v.accepts(got), "{} {:?}: {got}, want {}", v.formula, v.inputs, v.expected);
    }
}

/// The brackets that the loader leaves out.
fn brackets() -> Vec<(Vector, f64, f64)> {
    let raw: Vec<Value> =
        serde_json::from_str(reticent_testkit::vectors::text("accounting")).unwrap();
    let with = |(v, raw): (Vector, Value)| {
        Some((v, raw.get("lower")?.as_f64()?, raw.get("upper")?.as_f64()?))
    };
    load("accounting").into_iter().zip(raw).filter_map(with).collect()
}

#[test]
fn our_bounds_and_the_certified_brackets_overlap() {
    let brackets = brackets();
    assert_eq!(brackets.len(), 21);
    for (v, lower, upper) in brackets {
        let event = if v.formula == "pld_eps" {
            let adjacency = adjacency(&v.inputs);
            sampled_gaussian(sampling(&v), v.number("sigma"), v.number("steps") as u64, adjacency)
        } else {
            heterogeneous(&v)
        };
        let delta = v.number("delta");
        let (low, high) =
            (epsilon_lower(&event, delta).unwrap(), epsilon_upper(&event, delta).unwrap());
        assert!(high >= lower, "{:?}: {high} is below the proven {lower}", v.inputs);
        assert!(low <= upper, "{:?}: {low} is above the proven {upper}", v.inputs);
        assert!(high <= upper * (1.0 + v.rel_tol), "{:?}: {high} against {upper}", v.inputs);
        assert!(high <= low * 1.01, "{:?}: gap {low} to {high}", v.inputs);
    }
}

#[test]
fn calibrated_noise_keeps_its_promise() {
    for v in load("accounting").iter().filter(|v| v.formula == "calibrate_sigma") {
        let (steps, adjacency) = (v.number("steps") as u64, adjacency(&v.inputs));
        let event = |s| sampled_gaussian(sampling(v), s, steps, adjacency);
        let sigma = value(v);
        let epsilon = epsilon_upper(&event(sigma), v.number("delta")).unwrap();
        assert!(epsilon <= v.number("eps"), "{:?} {epsilon}", v.inputs);
        assert!(epsilon >= v.number("eps") * (1.0 - 1e-4), "{:?} {epsilon}", v.inputs);
    }
}

/// The accountant's vectors of the other families; `s` there is the noise over the replace
/// sensitivity.
#[test]
fn vectors_of_other_families() {
    let mut seen = 0;
    let families = ["output-gd", "holder-sgd", "geometry"];
    for v in families.into_iter().flat_map(load) {
        let n = |name: &str| v.number(name);
        let composed = |rate: f64, mu: f64, steps: f64, epsilon: f64| {
            Composition::new([(pair::Pair::FixedReplace { rate, mu }, steps as u64)])
                .delta_upper(epsilon)
        };
        let got = match v.formula.as_str() {
            "gaussian_profile_delta" => gaussian::delta(n("eps"), 1.0 / n("ratio")),
            "gauss_delta" => gaussian::delta(n("eps"), n("mu")),
            "gauss_mu" => gaussian::mu_lower(n("eps"), n("delta")).unwrap(),
            "zcdp_rho" => rdp::zcdp_rho(n("eps"), n("delta")).unwrap(),
            "subsampled_one_step_delta" => {
                pair::fixed_size_replace_delta(n("eps"), n("q"), 1.0 / n("s"))
            }
            "subsampled_rdp_M_minus_1" => {
                let r = rdp::rdp_fixed_size_replace(n("lam"), n("q"), 2.0 * n("s")).unwrap();
                ((n("lam") - 1.0) * r).exp_m1()
            }
            "subsampled_rdp_N" => {
                n("N") * rdp::rdp_fixed_size_replace(n("lam"), n("q"), 2.0 * n("s")).unwrap()
            }
            "subsampled_pld_delta" => composed(n("q"), 1.0 / n("s"), n("N"), n("eps")),
            "rdp_to_eps" | "rdp_to_eps_cks" => {
                rdp::rdp_to_epsilon(n("lam"), n("rho"), n("delta")).unwrap()
            }
            "step_profile" => pair::fixed_size_replace_delta(n("t"), n("rate"), n("s")),
            "rdp_step" => rdp::rdp_fixed_size_replace(n("lam"), n("rate"), 2.0 / n("s")).unwrap(),
            "pld_delta" => composed(n("b") / n("n"), n("s"), n("T_eff"), n("eps")),
            "eps_inner" => pair::inner_epsilon(n("eps"), n("q")),
            "noise_multiplier_tight" => {
                let event = |noise: f64| Event::FixedSizeGaussian {
                    batch: n("b") as u64,
                    rows: n("n") as u64,
                    noise_multiplier: 2.0 * noise,
                    steps: n("T_eff") as u64,
                    adjacency: Adjacency::ReplaceOne,
                };
                noise_multiplier_for(n("eps"), n("delta"), event).unwrap()
            }
            _ => continue,
        };
        assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}
