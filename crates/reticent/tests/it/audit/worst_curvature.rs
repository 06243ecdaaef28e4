//! The worst pair for the curvature release: a row beside a row of zeros, replaced by another at
//! right angles, both at the bound on rows. The inner product of what is released with the
//! difference tells them apart as well as anything can.

use reticent::data::{Dense, Features, LocalOracle, Rows, Speed};
use reticent::noise::Source;
use reticent::optim::{ObjectivePerturbation, Plan, Quiet};
use reticent::privacy::Adjacency;
use reticent::problem::{Loss, Problem, RowBounds};
use serde_json::Value;

use crate::audit::support::{altered, budget, planned};

/// Runs on each table.
const RUNS: u64 = 3000;

/// Deviations of the number of errors: a sound release is refuted with a chance below 1e-4.
const LIMIT: f64 = 3.72;

fn plan() -> Plan {
    let problem = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 2, 2);
    // The weights stay near zero, where a row bends most.
    let settings = ObjectivePerturbation {
        extra_ridge: Some(200.0),
        tolerance: Some(1e-6),
        intervals: Some(95.0),
        curvature_share: Some(0.5),
        ..Default::default()
    };
    let budget = budget(4.0, 1e-2, Adjacency::ReplaceOne);
    planned(&settings, &problem, budget, Plan::Objective)
}

/// How often the sign of the attack's statistic names the wrong table of the two.
fn errors(plan: &Plan) -> u64 {
    let bounds = plan.outline().problem.bounds;
    let wrong = |table: u64| {
        let rows = if table == 0 { [1.0, 0.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0, 0.0] };
        let rows = Features::F64(Dense::new(2, 2, rows.to_vec()));
        let rows = Rows::new(rows, vec![1.0, 1.0], bounds);
        let oracle = LocalOracle::new(rows, Speed { threads: Some(1) }).unwrap();
        let names_the_other = |run: &u64| {
            let source = Source::seeded_not_private(2 * run + table);
            let released = plan.run(&oracle, &source, &Quiet).unwrap().curvature.unwrap();
            // Upper triangles of both matrices, in units of their bounds: at weights of zero the
            // Hessian is the bound, and the squared slope a quarter of it.
            let statistic = released[0] - released[2] + 0.25 * (released[3] - released[5]);
            (statistic > 0.0) != (table == 0)
        };
        (0..RUNS).filter(names_the_other).count() as u64
    };
    wrong(0) + wrong(1)
}

/// Whether so few errors refute the claim of the curvature release: no test of two tables errs, on
/// average over both, with a chance below `Φ(−1/(2σ))`.
fn refutes(plan: &Plan, errors: u64) -> bool {
    let value = serde_json::to_value(plan).unwrap();
    let multiplier = value["curvature"]["noise"]["noise_multiplier"].as_f64().unwrap();
    let (least, runs) = (reticent_math::ndtr(-0.5 / multiplier), 2.0 * RUNS as f64);
    (errors as f64) < runs * least - LIMIT * (runs * least * (1.0 - least)).sqrt()
}

#[test]
fn a_curvature_release_whose_sensitivity_is_that_of_one_record_is_caught() {
    let sound = plan();
    let found = errors(&sound);
    assert!(!refutes(&sound, found), "{found}");
    let root = |old: &Value| (old.as_f64().unwrap() * 0.5_f64.sqrt()).into();
    let broken = altered(&sound, "/curvature/sensitivity", root);
    let fewer = errors(&broken);
    assert!(refutes(&sound, fewer), "{fewer} of {found}");
    // The pair is the worst one: a copy with 15 % less noise is caught too.
    let tight =
        altered(&sound, "/curvature/sensitivity", |old| (old.as_f64().unwrap() * 0.85).into());
    let tight = errors(&tight);
    assert!(refutes(&sound, tight), "{tight} of {found}");
}
