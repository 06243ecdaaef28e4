//! Categories that no row has: their weights are zero, and the file says which they are.

use std::fmt::Write as _;
use std::fs;

use reticent::data::Speed;
use reticent::noise::Source;
use reticent::optim::{Quiet, Settings};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Domain;
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::report::{Beside, html};
use reticent::verify::verify_text;
use reticent::{Model, Task, fit, planner, read_rows};

const ROWS: usize = 5000;

/// Binary classification: the odds follow the category; nobody is in `nowhere`. The numeric column
/// has a curve, as the command gives it one, and no row in its upper half.
fn task() -> Task {
    let schema = r#"{"target": "y", "columns": [
        {"name": "x", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "place", "type": "categorical", "categories": ["north", "south", "east", "nowhere"]},
        {"name": "y", "type": "categorical", "categories": [0, 1]}]}"#;
    let task = Task::new(Declaration::from_json(schema).unwrap(), Encoding::default());
    planner::with_curves(task, ROWS, Epsilon::new(1.0).unwrap(), "auto").unwrap()
}

fn table() -> String {
    let mut table = "x,place,y\n".to_owned();
    for i in 0..ROWS {
        let place = i % 3;
        let share = [20, 50, 80][place];
        let class = usize::from(i / 3 * 37 % 100 < share);
        let x = (i * 61 % 500) as f64 / 1000.0;
        _ = writeln!(table, "{x},{},{class}", ["north", "south", "east"][place]);
    }
    table
}

/// The models of default fits, one for each source of noise.
fn models(task: &Task, sources: &[Source]) -> Vec<Model> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("t.csv");
    fs::write(&data, table()).unwrap();
    let rows = read_rows(task, &data, None).unwrap();
    let budget = Budget {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let problem = task.problem(ROWS, Domain::Unbounded, None).unwrap();
    let plan = planner::choose(&problem, budget, &Settings::default(), "auto").unwrap();
    assert_eq!(plan.algorithm(), "clipped-sgd", "another has no preconditioner");
    let model = |source: &Source| {
        fit(task, plan.clone(), rows.clone(), source, Speed::default(), &Quiet).unwrap()
    };
    sources.iter().map(model).collect()
}

#[test]
fn weights_that_nobody_has_data_for_are_below_half_of_the_others() {
    let models = models(&task(), &[0, 1, 2, 3, 4, 5, 6, 7].map(Source::seeded_not_private));
    let place = |name: &str| models[0].features.iter().position(|f| f.ends_with(name)).unwrap();
    let (empty, populated) = (place("nowhere"), ["north", "south", "east"].map(place));
    for model in &models {
        let weights = &model.weights[0];
        let mut sizes = populated.map(|j| weights[j].abs());
        sizes.sort_by(f64::total_cmp);
        assert!(weights[empty].abs() < 0.5 * sizes[1], "{weights:?}");
        // Seeds are fixed: an empty category would pass as seen once in 250 fits.
        assert_eq!((model.unseen.as_slice(), weights[empty]), (&[empty][..], 0.0), "{weights:?}");
        assert!(weights[populated[0]] < weights[populated[2]] - 0.5, "{weights:?}");
    }
}

#[test]
fn the_file_and_the_report_name_them_and_the_list_is_checked() {
    // An empty category passes as seen once in 250 fits, so all three once in a hundred million.
    let sources = [(); 3].map(|()| Source::from_os().unwrap());
    let mut models = models(&task(), &sources).into_iter();
    let model = models.find(|model| !model.unseen.is_empty()).unwrap();
    assert!(model.features[model.unseen[0]].ends_with("nowhere"), "{:?}", model.unseen);
    let check = |model: &Model| {
        let verified = verify_text(&model.to_json(), "m").unwrap();
        let name = "features without data have no weight";
        verified.recomputed.iter().find(|check| check.name == name).map(|check| check.holds)
    };
    assert_eq!(check(&model), Some(true));
    assert!(html(&model, &Beside::default()).unwrap().contains("show no data for feature "));
    // A knot, which is no category; the same one twice; none.
    for (unseen, holds) in [
        (vec![0], Some(false)),
        ([model.unseen.clone(), model.unseen.clone()].concat(), Some(false)),
        (vec![], None),
    ] {
        let mut altered = model.clone();
        altered.unseen = unseen;
        assert_eq!(check(&altered), holds);
    }
    let mut beyond = model.clone();
    beyond.unseen = vec![model.features.len()];
    assert!(Model::from_json(&beyond.to_json(), "m").is_err());
}
