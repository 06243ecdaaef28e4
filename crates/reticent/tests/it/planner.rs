//! The planner's answers before any budget is spent.

use reticent::Task;
use reticent::optim::clipped_sgd::CLIP_SELECTION;
use reticent::optim::{Plan, RowCost, Settings};
use reticent::planner::{choose, choose_for_passes, norm_advice, outlook, rank, split};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::declaration::Encoding;
use reticent::problem::{Loss, Problem, RowBounds};
use reticent_census::census_declaration;

fn budget(epsilon: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

fn problem(rows: usize, features: usize) -> Problem {
    Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), rows, features)
}

#[test]
fn it_says_when_no_useful_model_is_possible_and_how_many_rows_would_do() {
    let (problem, budget, request) = (problem(40, 30), budget(0.02), Settings::default());
    let list = rank(&problem, budget, &request, "auto").unwrap();
    let found = outlook(&problem, budget, &request, "auto", &list[0]).unwrap();
    assert!(!found.useful, "{found:?}");
    let needed = found.rows_needed.unwrap();
    assert!(needed > 40 * 4, "{found:?}");
    let sentence = found.sentence(&problem, budget);
    assert!(sentence.contains("no useful model"), "{sentence}");
    assert!(sentence.contains(&format!("n = {needed}")), "{sentence}");
    // With that many rows it is worth it.
    let larger = Problem { rows: needed, ..problem };
    let list = rank(&larger, budget, &request, "auto").unwrap();
    assert!(outlook(&larger, budget, &request, "auto", &list[0]).unwrap().useful);
}

#[test]
fn the_rows_that_a_named_algorithm_needs_are_its_own() {
    let (problem, budget, request) = (problem(100, 5), budget(0.02), Settings::default());
    let named = |problem: &Problem| {
        let list = rank(problem, budget, &request, "output-gd").unwrap();
        outlook(problem, budget, &request, "output-gd", &list[0]).unwrap()
    };
    let needed = named(&problem).rows_needed.unwrap();
    assert!(named(&Problem { rows: needed, ..problem.clone() }).useful, "{needed}");
    assert!(!named(&Problem { rows: needed / 4, ..problem }).useful, "{needed}");
}

#[test]
fn the_ranking_begins_with_what_auto_takes() {
    let (problem, budget, request) = (problem(20_000, 10), budget(1.0), Settings::default());
    let list = rank(&problem, budget, &request, "auto").unwrap();
    let plan = choose(&problem, budget, &request, "auto").unwrap();
    assert_eq!(list[0].plan.as_ref().unwrap(), &plan);
    assert!(list[0].prediction.as_ref().unwrap().gain > 0.8);
    let row = RowCost::dense(10);
    assert!(plan.seconds(row) > 0.0 && plan.bytes(row) > 20_000.0 * 10.0 * 8.0);
    // A named one comes alone, with its own settings.
    let named = rank(&problem, budget, &request, "output-gd").unwrap();
    assert_eq!(named.len(), 1);
    assert_eq!(
        named[0].plan.as_ref().unwrap(),
        &choose(&problem, budget, &request, "output-gd").unwrap()
    );
    assert!(rank(&problem, budget, &request, "magic").is_err());
}

#[test]
fn the_split_of_the_budget_ends_with_all_of_it() {
    let (problem, budget) = (problem(20_000, 10), budget(1.0));
    let chosen = Settings::default().with(&CLIP_SELECTION, 0.2);
    let ball = Problem { domain: reticent::problem::Domain::Ball { radius: 5.0 }, ..problem };
    let plan = choose(&ball, budget, &chosen, "clipped-sgd").unwrap();
    let shares = split(&plan).unwrap();
    assert_eq!(shares.len(), 3);
    assert!(shares[0].part.contains("clip norm") && shares[1].part.contains("steps"));
    let costs: Vec<f64> = shares.iter().map(|s| s.epsilon.unwrap()).collect();
    assert!(costs[2] <= 1.0 && costs[0] <= costs[2] && costs[1] <= costs[2], "{costs:?}");
    let objective = choose(&ball, budget, &Settings::default(), "objective").unwrap();
    let shares = split(&objective).unwrap();
    assert!(shares[0].epsilon.unwrap() < shares[1].epsilon.unwrap(), "{shares:?}");
}

#[test]
fn rows_that_are_shorter_than_their_bound_are_advised_onto_the_sphere() {
    let task = Task::new(census_declaration().unwrap(), Encoding::default());
    let advice = norm_advice(&task).unwrap();
    assert!(advice.contains("`normalize` rows"), "{advice}");
    let on_sphere = Encoding { normalize_rows: true, ..Encoding::default() };
    let task = Task::new(census_declaration().unwrap(), on_sphere);
    assert!(norm_advice(&task).unwrap().contains("nothing to do"));
}

#[test]
fn where_every_step_reads_the_whole_table_few_steps_are_taken_if_they_lose_little() {
    let (large, request) = (problem(200_000, 50), Settings::default());
    let every =
        |wanted: &str| choose_for_passes(&large, budget(1.0), &request, wanted, |_| true).unwrap();
    let kept = |plan: &Plan| {
        let list = rank(&large, budget(1.0), &request, "auto").unwrap();
        let found = list.into_iter().find(|c| c.algorithm == plan.algorithm()).unwrap();
        found.prediction.unwrap().gain
    };
    let memory = choose(&large, budget(1.0), &request, "auto").unwrap();
    let stream = every("auto");
    assert!(stream.passes() <= 0.2 * memory.passes(), "{} {}", stream.passes(), memory.passes());
    assert!(kept(&stream) >= kept(&memory) - 0.03);
    // A named algorithm is taken as it is, and what does not fit is not taken.
    assert_eq!(every("output-gd").algorithm(), "output-gd");
    let other = |plan: &Plan| plan.algorithm() != stream.algorithm();
    let second = choose_for_passes(&large, budget(1.0), &request, "auto", other).unwrap();
    assert!(other(&second));
    // Without privacy the exact minimum is best.
    let exact = Budget { epsilon: Epsilon::new(f64::INFINITY).unwrap(), ..budget(1.0) };
    let plan = choose_for_passes(&large, exact, &request, "auto", |p| !p.any_order()).unwrap();
    assert_eq!(plan.algorithm(), "objective");
}

#[test]
fn what_is_never_better_is_not_planned_unless_it_is_named() {
    let (problem, budget, request) = (problem(20_000, 10), budget(1.0), Settings::default());
    let list = rank(&problem, budget, &request, "auto").unwrap();
    for name in ["gradient-sgd", "random-round"] {
        let listed = list.iter().find(|c| c.algorithm == name).unwrap();
        let why = listed.plan.as_ref().unwrap_err().to_string();
        assert!(why.starts_with(name) && why.contains("better"), "{why}");
        let named = rank(&problem, budget, &request, name).unwrap();
        assert!(named[0].plan.is_ok(), "{name}");
    }
    // Where nothing can be simulated all are planned.
    let network = Problem { hidden: Some(4), ..problem };
    let list = rank(&network, budget, &request, "auto").unwrap();
    let listed = list.iter().find(|c| c.algorithm == "random-round").unwrap();
    assert!(listed.prediction.is_none());
    let why = listed.plan.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(!why.contains("better"), "{why}");
}
