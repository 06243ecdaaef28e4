//! Every model that can be planned and paid for can be written, read and verified: every loss with
//! every algorithm.
use reticent::optim::clipped_sgd::GRADIENT_MOMENT;
use reticent::optim::setting::{BATCH, CLIP, DEVIATION, SMOOTHNESS};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use reticent::data::Speed;
use reticent::noise::Source;
use reticent::optim::{ALGORITHMS, Plan, Quiet, Settings, plan_named};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::problem::{Domain, Loss};
use reticent::verify::verify;
use reticent::{Model, Task, fit, read_rows};

const ROWS: usize = 3000;

/// A target, the losses for it, and whether rows have bounds.
fn tasks() -> Vec<Task> {
    let bounds = r#"{"min": -4, "max": 4}"#;
    let target = |form: &str| format!(r#"{{"name": "y", {form}}}"#);
    let numbers = target(&format!(r#""type": "real", "bounds": {bounds}"#));
    let classes = |list: &str| target(&format!(r#""type": "categorical", "categories": {list}"#));
    let of = |target: &str, bounds: &str, losses: &[Loss]| {
        let schema = format!(
            r#"{{"target": "y", "columns": [{{"name": "x", "type": "real", "bounds": {bounds}}}, {target}]}}"#
        );
        let declaration = Declaration::from_json(&schema).unwrap();
        let unbounded_rows = bounds.contains("unbounded");
        let encoding = Encoding { unbounded_rows, ..Encoding::default() };
        let task = Task::new(declaration, encoding);
        losses.iter().map(|&loss| task.clone().with_loss(loss).unwrap()).collect::<Vec<_>>()
    };
    let threshold = 0.5;
    let of_numbers = [
        Loss::Squared,
        Loss::Power { q: 1.0 },
        Loss::Power { q: 1.5 },
        Loss::Power { q: 2.0 },
        Loss::Huber { threshold },
        Loss::Welsch { threshold },
        Loss::Cauchy { threshold },
    ];
    let of_two = [
        Loss::Logistic,
        Loss::Hinge { q: 1.0 },
        Loss::Hinge { q: 1.5 },
        Loss::Hinge { q: 2.0 },
        Loss::Sigmoid,
        Loss::OneHot { classes: 2 },
    ];
    let of_three = [Loss::Softmax { classes: 3 }, Loss::OneHot { classes: 3 }];
    let free = r#"{"unbounded": true}"#;
    [
        of(&numbers, bounds, &of_numbers),
        of(&classes("[0, 1]"), bounds, &of_two),
        of(&classes("[0, 1, 2]"), bounds, &of_three),
        of(&target(&format!(r#""type": "real", "bounds": {free}"#)), free, &of_numbers),
        of(&classes("[0, 1]"), free, &of_two),
    ]
    .concat()
}

/// The requests: some algorithms need a ball, a clip norm, or constants that rows without bounds
/// leave open.
fn requests() -> Vec<(Domain, Option<f64>, Settings)> {
    let ball = Domain::Ball { radius: 1.0 };
    let asked = Settings::default();
    let clipped = asked.clone().with(&CLIP, 1.0);
    let moments = asked.clone().with(&GRADIENT_MOMENT, 2.0);
    let shuffled = asked.clone().with(&BATCH, 2_u64);
    let assumed = asked.clone().with(&SMOOTHNESS, 12.0).with(&DEVIATION, 8.0);
    vec![
        (Domain::Unbounded, None, asked.clone()),
        (Domain::Unbounded, Some(0.5), asked.clone()),
        (Domain::Unbounded, None, clipped.clone()),
        (ball.clone(), None, asked),
        (ball.clone(), None, clipped),
        (ball.clone(), None, moments),
        (ball.clone(), None, shuffled),
        (ball, None, assumed),
    ]
}

#[test]
fn every_model_is_read_back_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("t.csv"), folder.path().join("model.json"));
    let mut table = "x,y\n".to_owned();
    for i in 0..ROWS {
        writeln!(table, "{},{}", i % 9, i % 2).unwrap();
    }
    fs::write(&data, table).unwrap();
    let budget = Budget {
        epsilon: Epsilon::new(0.5).unwrap(),
        delta: Delta::new(1e-4).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let mut seen = BTreeSet::new();
    let mut failed = Vec::new();
    for task in tasks() {
        let rows = read_rows(&task, &data, None).unwrap();
        for (domain, limit, request) in requests() {
            let Ok(problem) = task.problem(ROWS, domain, limit) else { continue };
            for name in ALGORITHMS.iter().map(|info| info.name) {
                let Ok(plan) = plan_named(&problem, budget, &request, name) else { continue };
                let again = serde_json::to_value(&plan).and_then(serde_json::from_value::<Plan>);
                let case = format!("{} {name} {:?}", task.loss.name(), problem.domain);
                if let Err(error) = again {
                    failed.push(format!("{case}: {error}"));
                }
                // To run each pair of loss and algorithm once is enough.
                if !seen.insert((task.loss.name(), name)) {
                    continue;
                }
                let source = Source::from_os().unwrap();
                let model = fit(&task, plan, rows.clone(), &source, Speed::default(), &Quiet);
                let again = model.and_then(|model| {
                    model.save_over(&out)?;
                    Ok((model.to_json() == Model::load(&out)?.to_json(), verify(&out)?.pass))
                });
                if !matches!(again, Ok((true, true))) {
                    failed.push(format!("{case}: {again:?}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    let served: BTreeSet<_> = seen.iter().map(|(_, name)| *name).collect();
    assert_eq!(served.len(), ALGORITHMS.len(), "{served:?}");
}
