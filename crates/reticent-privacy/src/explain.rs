//! Why the number is what it is: every accountant's bound, which one is used, and what it relies
//! on.

use serde::Serialize;

use crate::{
    Adjacency, Event, PrivacyError, account::parts, composition, epsilon_attained, epsilon_lower,
    epsilon_upper, gaussian, pair::Pair, pld::Composition, rdp, scalar::check_delta,
};

/// One accountant's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The accountant.
    pub accountant: &'static str,
    /// Its upper bound on `ε`; `None` if it is infinite or the accountant refuses.
    pub epsilon_upper: Option<f64>,
    /// Its lower bound on `ε`, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_lower: Option<f64>,
    /// A description of the method, or why it has no answer.
    pub note: String,
}

/// An event's cost, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The event.
    pub event: Event,
    /// For which neighbours; `None` if nothing in the event has any.
    pub adjacency: Option<Adjacency>,
    /// At which `δ`.
    pub delta: f64,
    /// The upper bound on `ε` that is reported; `None` if it is infinite.
    pub epsilon_upper: Option<f64>,
    /// The lower bound on the same pairs: the difference is what the numerics lose.
    pub epsilon_lower: Option<f64>,
    /// The `ε` that some pair of data sets provably attains.
    pub epsilon_attained: Option<f64>,
    /// The accountant whose bound is reported.
    pub accountant: &'static str,
    /// Why that one.
    pub reason: String,
    /// Every accountant's bound.
    pub bounds: Vec<Bound>,
    /// Things to think about before relying on the number.
    pub warnings: Vec<String>,
    /// The sources that the bound relies on.
    pub citations: Vec<&'static str>,
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Explain what `event` costs at `delta`. `rows`, if public, is used for warnings only.
///
/// # Errors
///
/// As [`crate::epsilon_upper`].
pub fn explain(event: &Event, delta: f64, rows: Option<u64>) -> Result<Explanation, PrivacyError> {
    event.check()?;
    check_delta(delta)?;
    let adjacency = event.adjacency()?;
    let upper = epsilon_upper(event, delta)?;
    let lower = epsilon_lower(event, delta)?;
    let attained = epsilon_attained(event, delta)?;
    let parts = parts(event)?;
    let mut bounds = Vec::new();
    if let Some(mu) = gaussian_mu(&parts.pairs)
        && parts.curves.is_empty()
    {
        bounds.push(Bound {
            accountant: "exact Gaussian",
            epsilon_upper: finite(gaussian::epsilon_upper(mu, delta)?),
            epsilon_lower: None,
            note: format!("all parts are unsampled Gaussians, together mu = {mu:.6}"),
        });
    }
    if parts.curves.is_empty() && !parts.exposed {
        let forward = Composition::new(parts.pairs.iter().cloned());
        let (there, back) = (forward.epsilon_upper(delta), forward.reversed().epsilon_upper(delta));
        let note = if forward.is_symmetric() {
            "product of dominating pairs, the same in both directions".to_owned()
        } else {
            format!("product of dominating pairs; removal {there:.6}, addition {back:.6}")
        };
        bounds.push(Bound {
            accountant: "PLD",
            epsilon_upper: finite(there.max(back)),
            epsilon_lower: finite(lower),
            note,
        });
    } else if !parts.exposed {
        bounds.push(Bound {
            accountant: "profile",
            epsilon_upper: finite(upper),
            epsilon_lower: None,
            note: "proven curves, composed as tables of points where there are several".to_owned(),
        });
    }
    bounds.push(match rdp::rdp_epsilon_upper(event, delta) {
        Ok(epsilon) => {
            let curve = rdp::event_curve(event)?;
            let order = rdp::epsilon_of_curve(curve, delta).1;
            let note = format!("best order {order:.4}");
            Bound { accountant: "RDP", epsilon_upper: finite(epsilon), epsilon_lower: None, note }
        }
        Err(error) => Bound {
            accountant: "RDP",
            epsilon_upper: None,
            epsilon_lower: None,
            note: error.to_string(),
        },
    });
    bounds.extend(closed_forms(&parts.pairs, delta).filter(|_| parts.curves.is_empty()));
    let (accountant, reason) = chosen(&bounds, upper);
    if parts.variation > 0.0 {
        for bound in bounds.iter_mut().filter(|b| b.epsilon_upper.is_some()) {
            bound.note.push_str("; as if samplers were exact");
        }
    }
    Ok(Explanation {
        event: event.clone(),
        adjacency,
        delta,
        epsilon_upper: finite(upper),
        epsilon_lower: finite(lower),
        epsilon_attained: finite(attained),
        accountant,
        reason,
        bounds,
        warnings: warnings(upper, delta, rows, event),
        citations: citations(event),
    })
}

/// Whether the cost of `event` needs numerics that are measured and not proven: profiles of
/// sampled Gaussians, or a transform that adds up several losses (`pld`). What they may be off by
/// is added to the bound.
pub fn is_measured(event: &Event) -> bool {
    let sampled = |e: &Event| {
        matches!(
            e,
            Event::PoissonGaussian { .. }
                | Event::FixedSizeGaussian { .. }
                | Event::SingleIndexGaussian { .. }
        )
    };
    let composed = |e: &Event| {
        parts(e).is_ok_and(|parts| {
            let curves: u64 = parts.curves.iter().map(|(_, times)| *times).sum();
            let pairs = Composition::new(parts.pairs);
            let one = matches!(pairs.terms(), [] | [(_, 1)]);
            !parts.exposed && (!one || curves > 1 || (curves == 1 && !pairs.terms().is_empty()))
        })
    };
    has(event, &sampled) || has(event, &composed)
}

/// The common `mu` if all pairs are unsampled Gaussians.
fn gaussian_mu(pairs: &[(Pair, u64)]) -> Option<f64> {
    let composition = Composition::new(pairs.iter().cloned());
    match composition.terms() {
        [(Pair::Gaussian { mu }, 1)] => Some(*mu),
        _ => None,
    }
}

/// Basic, advanced and zCDP composition, where all pairs have the parameters they need.
fn closed_forms(pairs: &[(Pair, u64)], delta: f64) -> impl Iterator<Item = Bound> {
    let pure: Option<Vec<(f64, u64)>> = pairs
        .iter()
        .map(|(pair, times)| match *pair {
            Pair::Laplace { epsilon }
            | Pair::Response { epsilon }
            | Pair::BoundedRange { epsilon } => Some((epsilon, *times)),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    if let Some(pure) = pure.filter(|p| !p.is_empty()) {
        let sum: f64 = pure.iter().map(|(e, t)| e * *t as f64).sum();
        found.push(Bound {
            accountant: "basic composition",
            epsilon_upper: finite(sum),
            epsilon_lower: None,
            note: "the losses added up; holds at delta = 0".to_owned(),
        });
        if let Ok(epsilon) = composition::advanced_epsilon_of(&pure, delta) {
            found.push(Bound {
                accountant: "advanced composition",
                epsilon_upper: finite(epsilon),
                epsilon_lower: None,
                note: "sqrt(2 ln(1/delta) sum eps^2) + sum eps tanh(eps/2)".to_owned(),
            });
        }
    }
    if let Some(mu) = gaussian_mu(pairs)
        && let Ok(epsilon) = rdp::zcdp_epsilon(0.5 * mu * mu, delta)
    {
        found.push(Bound {
            accountant: "zCDP",
            epsilon_upper: finite(epsilon),
            epsilon_lower: None,
            note: format!("rho = {:.6}", 0.5 * mu * mu),
        });
    }
    found.into_iter()
}

fn chosen(bounds: &[Bound], upper: f64) -> (&'static str, String) {
    if !upper.is_finite() {
        return ("none", "no accountant has a finite bound at this delta".to_owned());
    }
    let near = |b: &&Bound| b.epsilon_upper.is_some_and(|e| e <= upper * (1.0 + 1e-9) + 1e-12);
    let name = bounds.iter().find(near).map_or("profile", |b| b.accountant);
    let reason = match name {
        "exact Gaussian" => {
            "a product of Gaussians is one Gaussian, whose profile is known exactly"
        }
        "PLD" => "the product of dominating pairs is never above the other accountants",
        "RDP" => "an event in the list is known by Rényi orders, which add over the whole list",
        _ => "the event is known by its own proven curve",
    };
    (name, reason.to_owned())
}

fn warnings(upper: f64, delta: f64, rows: Option<u64>, event: &Event) -> Vec<String> {
    let mut warnings = Vec::new();
    if upper > 50.0 {
        warnings.push(
            "at an epsilon above 50 an attacker's odds may grow by a factor of 10^21 and more"
                .to_owned(),
        );
    }
    if let Some(rows) = rows
        && rows > 0
        && delta >= 1.0 / rows as f64
    {
        warnings.push("delta of 1/n or more permits publishing a random record".to_owned());
    }
    if has(event, &|e| matches!(e, Event::PoissonGaussian { sample_rate: 0.0, .. })) {
        warnings.push("a sample rate of zero costs nothing and learns nothing".to_owned());
    }
    if has(event, &|e| {
        matches!(e, Event::FixedSizeGaussian { .. } | Event::SingleIndexGaussian { .. })
    }) {
        warnings.push(
            "fixed-size sampling costs more than Poisson sampling of the same rate; the sampler must match"
                .to_owned(),
        );
    }
    warnings
}

/// Whether `test` holds anywhere in the tree.
fn has(event: &Event, test: &dyn Fn(&Event) -> bool) -> bool {
    test(event)
        || match event {
            Event::Composed(parts) | Event::OneOf(parts) | Event::Disjoint { parts, .. } => {
                parts.iter().any(|part| has(part, test))
            }
            Event::Repeated { event: inner, .. }
            | Event::RandomStop { event: inner, .. }
            | Event::Tuned { base: inner, .. }
            | Event::Group { base: inner, .. }
            | Event::Approximated { inner, .. } => has(inner, test),
            _ => false,
        }
}

fn citations(event: &Event) -> Vec<&'static str> {
    let sampled = has(event, &|e| {
        matches!(
            e,
            Event::PoissonGaussian { .. }
                | Event::FixedSizeGaussian { .. }
                | Event::SingleIndexGaussian { .. }
        )
    });
    let mut list = Vec::new();
    let mut cite = |when: bool, text: &'static str| {
        if when {
            list.push(text);
        }
    };
    cite(
        has(event, &|e| matches!(e, Event::Gaussian { .. } | Event::EpochPartitionGaussian { .. })),
        "Balle, Wang 2018, Improving the Gaussian Mechanism",
    );
    cite(
        has(event, &|e| matches!(e, Event::Gdp { .. } | Event::LastIterate { .. })),
        "Dong, Roth, Su 2022, Gaussian Differential Privacy",
    );
    cite(sampled, "Balle, Barthe, Gaboardi 2018, Privacy Amplification by Subsampling");
    cite(sampled, "Zhu, Dong, Wang 2022, Optimal Accounting via Characteristic Function");
    cite(sampled, "Lebeda, Regehr, Kamath, Steinke 2024, Avoiding Pitfalls for Privacy Accounting");
    cite(sampled, "Doroshenko et al. 2022, Connect the Dots");
    cite(
        has(event, &|e| {
            matches!(e, Event::PureDp { .. } | Event::L2Laplace { .. } | Event::ApproxDp { .. })
        }),
        "Kairouz, Oh, Viswanath 2015, The Composition Theorem for Differential Privacy",
    );
    cite(
        has(event, &|e| matches!(e, Event::BoundedRange { .. })),
        "Dong, Durfee, Rogers 2020, Optimal Differential Privacy Composition for Exponential Mechanisms",
    );
    cite(
        has(event, &|e| matches!(e, Event::Zcdp { .. } | Event::Tuned { .. })),
        "Canonne, Kamath, Steinke 2020, The Discrete Gaussian (conversion from Rényi orders)",
    );
    cite(
        has(event, &|e| matches!(e, Event::Tuned { .. })),
        "Papernot, Steinke 2022, Hyperparameter Tuning with Rényi Differential Privacy",
    );
    cite(
        has(event, &|e| matches!(e, Event::Tuned { .. })),
        "Koskela, Redberg, Wang 2024, Privacy Profiles for Private Selection (constants derived in the module tuning)",
    );
    cite(
        has(event, &|e| matches!(e, Event::Shuffled { .. } | Event::ShuffledGdp { .. })),
        "Feldman, McMillan, Talwar 2021, Hiding Among the Clones",
    );
    cite(
        has(event, &|e| matches!(e, Event::ObjectivePerturbation { .. })),
        "Kifer, Smith, Thakurta 2012, Private Convex ERM (profile derived in the module objective)",
    );
    cite(
        has(event, &|e| matches!(e, Event::LastIterate { .. })),
        "Bok, Su, Altschuler 2024, Shifted Interpolation (derivation in the module last_iterate)",
    );
    cite(
        has(event, &|e| matches!(e, Event::HitMixture { .. })),
        "Balle, Barthe, Gaboardi 2018 (advanced joint convexity; derivation in the module mixture)",
    );
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_bound_is_the_least_of_those_listed() {
        let adjacency = Adjacency::AddRemoveOne;
        let event = Event::PoissonGaussian {
            sample_rate: 0.01,
            noise_multiplier: 1.0,
            steps: 1000,
            adjacency,
        };
        let explained = explain(&event, 1e-5, Some(60_000)).unwrap();
        let upper = explained.epsilon_upper.unwrap();
        for bound in &explained.bounds {
            assert!(bound.epsilon_upper.is_none_or(|e| e >= upper * (1.0 - 1e-12)), "{bound:?}");
        }
        assert_eq!(explained.accountant, "PLD");
        assert!(explained.epsilon_lower.unwrap() <= upper);
        assert!(explained.warnings.is_empty(), "{:?}", explained.warnings);
        assert!(explain(&event, 1e-4, Some(1000)).is_ok());
        let json = serde_json::to_string(&explained).unwrap();
        assert!(json.contains("\"epsilon_upper\":1.828"), "{json}");
    }

    #[test]
    fn what_is_known_in_closed_form_is_not_measured() {
        let adjacency = Adjacency::ReplaceOne;
        let gaussian = Event::Gaussian { noise_multiplier: 2.0, adjacency };
        let pure = Event::PureDp { epsilon: 0.1, adjacency };
        let last = Event::LastIterate {
            steps: 10,
            contraction: 0.9,
            noise_multiplier: 2.0,
            diameter: None,
            adjacency,
        };
        let inexact =
            Event::Approximated { inner: Box::new(gaussian.clone()), total_variation: 1e-20 };
        let many = Event::Composed(vec![gaussian.clone(), last.clone(), inexact.clone()]);
        for exact in [Event::None, gaussian.clone(), pure.clone(), last, inexact, many] {
            assert!(!is_measured(&exact), "{exact:?}");
        }
        let mixed = Event::Composed(vec![gaussian, pure.clone()]);
        let sampled =
            Event::PoissonGaussian { sample_rate: 0.1, noise_multiplier: 2.0, steps: 1, adjacency };
        let twice = Event::Repeated { event: Box::new(pure), times: 2 };
        let hidden = Event::OneOf(vec![Event::None, mixed.clone()]);
        for measured in [mixed, sampled, twice, hidden] {
            assert!(is_measured(&measured), "{measured:?}");
        }
    }

    #[test]
    fn each_kind_names_its_accountant() {
        let adjacency = Adjacency::ReplaceOne;
        let gaussian = Event::Gaussian { noise_multiplier: 2.0, adjacency };
        assert_eq!(explain(&gaussian, 1e-6, None).unwrap().accountant, "exact Gaussian");
        let zcdp = Event::Zcdp { rho: 0.1, adjacency };
        let explained = explain(&zcdp, 1e-6, None).unwrap();
        assert_eq!(explained.accountant, "profile");
        assert_eq!(explain(&Event::NotPrivate, 1e-6, None).unwrap().epsilon_upper, None);
        let exposed = explain(&gaussian, 0.5, Some(10)).unwrap();
        assert!(exposed.warnings[0].contains("1/n"), "{:?}", exposed.warnings);
    }
}
