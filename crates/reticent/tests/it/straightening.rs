//! The default straightens curves, and its certificate names those of the declaration.

use std::fmt::Write as _;
use std::fs;

use reticent::data::Speed;
use reticent::noise::Source;
use reticent::optim::{Plan, Quiet, Settings};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::problem::{Domain, EvenCurve};
use reticent::verify::verify_text;
use reticent::{Model, Task, fit, planner, read_rows};

const ROWS: usize = 4000;

fn task(encoding: Encoding) -> Task {
    let schema = r#"{"target": "y", "columns": [
        {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "place", "type": "categorical", "categories": ["north", "south"]},
        {"name": "b", "type": "integer", "bounds": {"min": 0, "max": 1}},
        {"name": "c", "type": "real", "bounds": {"min": 0, "max": 1},
         "basis": {"kind": "tent", "knots": [0, 0.2, 0.5, 1]}},
        {"name": "d", "type": "real", "bounds": {"min": 0, "max": 1},
         "basis": {"kind": "bins", "knots": 5}},
        {"name": "e", "type": "integer", "bounds": {"min": 1, "max": 5}},
        {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;
    let encoding = Encoding { knots: Some(8), ..encoding };
    Task::new(Declaration::from_json(schema).unwrap(), encoding)
}

/// The default model of a table in which the classes follow the first column.
fn model(task: &Task) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("t.csv");
    let mut table = "a,place,b,c,d,e,y\n".to_owned();
    for i in 0..ROWS {
        let a = i * 61 % 1000;
        let (b, c, e) = (i % 2, i * 7 % 100, 1 + i % 5);
        let class = usize::from(i * 37 % 1000 < a);
        _ = writeln!(table, "{},north,{b},{},0.3,{e},{class}", a as f64 / 1e3, c as f64 / 1e2);
    }
    fs::write(&data, table).unwrap();
    let rows = read_rows(task, &data, None).unwrap();
    let budget = Budget {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let problem = task.problem(ROWS, Domain::Unbounded, None).unwrap();
    let plan = planner::choose(&problem, budget, &Settings::default(), "auto").unwrap();
    let source = Source::from_os().unwrap();
    fit(task, plan, rows, &source, Speed::default(), &Quiet).unwrap()
}

#[test]
fn curves_are_those_of_the_declaration_with_even_knots() {
    let task = task(Encoding::default());
    let layout = task.layout().unwrap();
    let names = layout.feature_names();
    let curves = task.curves().unwrap();
    let of = |curve: &EvenCurve| (names[curve.start].clone(), curve.knots);
    let found: Vec<(String, usize)> = curves.iter().map(of).collect();
    // Two values, a category, uneven knots and bins have none.
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].0.starts_with("a@") && found[0].1 == 8, "{found:?}");
    assert!(found[1].0.starts_with("e@") && found[1].1 == 5, "{found:?}");
    // Tents of shortened rows do not add up to 1.
    let short = Encoding { feature_norm: Some(0.5), ..Encoding::default() };
    assert_eq!(self::task(short).curves().unwrap(), []);
}

#[test]
fn the_default_straightens_and_other_curves_fail_to_verify() {
    let task = task(Encoding::default());
    let model = model(&task);
    let Plan::ClippedSgd(plan) = &model.certificate.plan else {
        panic!("{}", model.certificate.plan.algorithm());
    };
    assert!(plan.settings.straightening.is_some_and(|s| s > 0.0));
    assert_eq!(plan.outline.problem.curves, task.curves().unwrap());
    let follows = |model: &Model| {
        let verified = verify_text(&model.to_json(), "m").unwrap();
        let name = "bounds follow from the declaration";
        verified.recomputed.iter().find(|check| check.name == name).map(|check| check.holds)
    };
    assert_eq!(follows(&model), Some(true));
    assert!(verify_text(&model.to_json(), "m").unwrap().pass);
    let mut altered = model.clone();
    if let Plan::ClippedSgd(plan) = &mut altered.certificate.plan {
        plan.outline.problem.curves[0].start += 1;
    }
    assert_eq!(follows(&altered), Some(false));
}
