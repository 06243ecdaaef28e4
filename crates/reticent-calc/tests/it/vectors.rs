//! Every test vector of every namespace that `calc` knows, through `calc`.
use std::collections::BTreeSet;

use reticent_testkit::vectors::{self, Vector};
use serde_json::{Map, Value};

/// Whether `got` is what the vector expects: numbers within its tolerance, lists and objects entry
/// by entry.
fn matches(vector: &Vector, expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(_), Value::Number(got)) => {
            let entry = Vector { expected: expected.clone(), ..vector.clone() };
            got.as_f64().is_some_and(|x| entry.accepts(x))
        }
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(w, g)| matches(vector, w, g))
        }
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len()
                && want.iter().all(|(name, w)| got.get(name).is_some_and(|g| matches(vector, w, g)))
        }
        _ => expected == got,
    }
}

/// Checks every vector of the formulas in `built`. A formula that `calc` has must be listed there
/// and have vectors; one that it lacks must be listed in `not_built`.
fn check(namespace: &str, built: &[&str], not_built: &[&str]) {
    let known: BTreeSet<&str> = reticent_calc::formulas(namespace).unwrap().collect();
    assert_eq!(known, built.iter().copied().collect::<BTreeSet<_>>(), "what calc has, and `built`");
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    let vectors = vectors::load(namespace);
    for vector in &vectors {
        let inputs: Map<String, Value> = vector.inputs.clone().into_iter().collect();
        let got = reticent_calc::evaluate(namespace, &vector.formula, &inputs);
        seen.insert(vector.formula.as_str());
        let right = match &got {
            Ok(value) => matches(vector, &vector.expected, value),
            Err(reticent_calc::CalcError::UnknownFormula { .. }) => {
                not_built.contains(&vector.formula.as_str())
            }
            Err(_) => false,
        };
        if !right {
            wrong.push(format!("{vector:?}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
    let listed: BTreeSet<&str> = built.iter().chain(not_built).copied().collect();
    assert_eq!(listed, seen, "every name is listed, and every listed name has a vector");
}

#[test]
fn output_gd() {
    let built = &[
        "gd_sensitivity_tight",
        "gd_sensitivity_paper_convex",
        "gd_sensitivity_paper_sc",
        "iterate_radius",
        "lipschitz_paper_regularised",
        "logistic_trajectory_sensitivity",
        "sigma_paper_gaussian",
        "gaussian_profile_delta",
        "sigma_tight_gaussian",
        "pure_radius_mean",
        "pure_second_moment",
        "pure_radius_cdf",
        "noise_auto_choice",
        "T_paper_convex",
        "T_paper_sc",
        "T_tight_convex",
        "excess_tight_convex",
        "T_tight_sc",
        "excess_tight_sc",
        "subsampled_one_step_delta",
        "subsampled_rdp_M_minus_1",
        "subsampled_rdp_N",
        "rdp_to_eps",
        "subsampled_pld_delta",
        "rrpsgd_sigma_paper",
        "rrpsgd_sigma_total_squared",
        "rrpsgd_DF",
        "rrpsgd_eta",
        "rrpsgd_bound",
        "rrpsgd_round_probability",
        "bassily_sigma",
        "bassily_step_convex",
        "bassily_steps",
    ];
    check("output-gd", built, &[]);
}

#[test]
fn clipped_sgd() {
    let built = &[
        "lipschitz_softmax",
        "lipschitz_logistic_binary",
        "lipschitz_q_hinge",
        "lipschitz_q_norm",
        "lipschitz_huber",
        "lipschitz_half_squared",
        "softmax_grad_norm",
        "clip_coefficient",
        "phi",
        "phi_from_noise",
        "s_total",
        "noise_std_per_coordinate",
        "nu_full_batch_add_remove",
        "nu_effective",
        "thm54_steps",
        "thm54_eta",
        "step_size_general",
        "thm54_bound",
        "thmH1_bound",
        "alpha_upper_bound",
        "alpha_ratio_at_point",
        "tau_unconstrained_convex",
        "bound_unconstrained_convex",
        "tau_constrained_convex",
        "bound_constrained_convex",
        "tau_sharp_convex",
        "bound_sharp_convex",
        "tau_nonconvex",
        "eta_nonconvex",
        "bound_nonconvex",
        "tau_constrained_tight",
        "bound_constrained_tight",
        "clip_bias_lemma_F1",
        "clip_bias_corollary_F2",
        "clip_bias_sharp",
        "gmin_target_rank",
        "gmin_probabilities",
        "rnm_query_sensitivity_softmax",
        "second_moment_factor",
        "eta_tight",
        "bound_tight",
        "auto_steps",
    ];
    check("clipped-sgd", built, &[]);
}

#[test]
fn holder_sgd() {
    let built = &[
        "gauss_delta",
        "gauss_mu",
        "hits_binom",
        "hit_prob",
        "eps_inner",
        "avg_hits_tail",
        "avg_hits_quantile",
        "sigma_output_tight",
        "sigma_output_layered",
        "sigma_output_permuted",
        "step_profile",
        "step_atom_zero",
        "rdp_step",
        "rdp_to_eps_classic",
        "rdp_to_eps_cks",
        "pld_delta",
        "noise_multiplier_tight",
        "loss_constant",
        "c_alpha_1_paper",
        "c_alpha_2_paper",
        "C_alpha_paper",
        "omega",
        "iterate_radius",
        "c_gamma_T",
        "hits_paper",
        "delta_sgd_bounded_paper",
        "delta_sgd_unbounded_paper",
        "sigma_output_paper",
        "avg_sqrt_weight",
        "sigma_gradient_paper",
        "beta_unconstrained",
        "rdp_conditions_hold",
        "best_noise_multiplier_paper",
        "lemma13_eps",
        "T_bounded",
        "T_unbounded",
        "eta_thm9",
        "eta_thm10",
        "eta_thm12",
        "rate_thm9",
        "rate_thm10",
        "rate_thm12",
        "noise_penalty_glm",
        "explicit_bound_output",
        "explicit_bound_gradient",
    ];
    check("holder-sgd", built, &[]);
}

#[test]
fn geometry() {
    let built = &[
        "gauss_delta",
        "gauss_mu",
        "zcdp_rho",
        "eps_det",
        "eps_det_softmax",
        "objpert_delta",
        "objpert_delta_chi",
        "objpert_delta_chi_out",
        "objpert_sigma1",
        "objpert_rdp",
        "objpert_lambda_min",
        "amp_sigma1_paper",
        "amp_sigma2_paper",
        "amp_alpha",
        "shuffle_delta",
        "shuffle_eps",
        "shuffle_closed",
        "shuffle_tv_factor",
        "shuffle_total_delta",
        "loss_constants",
        "kappa_opt",
        "gg_log_density",
        "nrmd_noise_sigma",
        "gauss_lq_sq_bound",
        "width_l2",
        "width_l1",
        "width_lp",
        "width_simplex",
        "width_box",
        "width_group",
        "proj_l1",
        "proj_simplex",
        "proj_lp",
        "proj_group",
        "mirror_grad",
        "mirror_conj_grad",
        "mirror_argmin_l1",
        "nrmd_step",
        "nrmd_alpha",
        "nrmd_T_raw",
        "phased_schedule",
        "tdbmd_noise_sigma",
        "cwgd_tau",
    ];
    check("geometry", built, &[]);
}

/// Seconds that this thread has had a processor, however busy the machine is; 0 where the system
/// does not tell.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Arguments that make no sense get an error or a number, soon.
#[test]
fn absurd_arguments_are_answered() {
    let numbers =
        ["-1", "0", "1e-300", "0.5", "1", "7", "1e15", "1e300", "\"inf\"", "\"word\"", "null"];
    for namespace in ["output-gd", "clipped-sgd", "holder-sgd", "geometry"] {
        let mut seen = BTreeSet::new();
        for vector in vectors::load(namespace) {
            if !seen.insert(vector.formula.clone()) {
                continue;
            }
            for name in vector.inputs.keys() {
                for number in numbers {
                    let mut inputs: Map<String, Value> =
                        vector.inputs.clone().into_iter().collect();
                    inputs.insert(name.clone(), serde_json::from_str(number).unwrap());
                    let started = processor_seconds();
                    let got = reticent_calc::evaluate(namespace, &vector.formula, &inputs);
                    let seconds = processor_seconds() - started;
                    assert!(seconds < 20.0, "{} {inputs:?}: {seconds} s, {got:?}", vector.formula);
                }
            }
        }
    }
}

#[test]
fn random_features() {
    let built: Vec<&str> = reticent_calc::formulas("random-features").unwrap().collect();
    check("random-features", &built, &[]);
}
