//! Intervals cover the truth as often as they say, copies that forget a source of error do not, and
//! no interval is given where a column is lost in the noise.

#[path = "../../../../bench/intervals/simulation.rs"]
#[allow(unreachable_pub, reason = "shared by path with the benchmark")]
mod simulation;

use reticent::data::{Dense, Features, Rows, Speed};
use reticent::noise::fast::fill_standard_gaussian;
use reticent::noise::{Purpose, Source};
use reticent::optim::objective::blocks::{INTERVAL_METHOD, IntervalMethod};
use reticent::optim::objective::curvature::INTERVALS;
use reticent::optim::{Quiet, Settings, plan_named};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::Domain;
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::{
    Coefficients, Curves, Model, Outcome, Relative, Task, expected_intervals,
    expected_of_each_method, fit, for_intervals, with_interval_method,
};
use simulation::{Cell, Tally};

/// So many standard deviations of the coverage over independent tables to either side: a chance of
/// 1 in 2000 for each cell that is right. The seeds are fixed.
const LIMIT: f64 = 3.5;

/// The least and the largest coverage of a cell that is right.
fn limits(tally: &Tally) -> (f64, f64) {
    let reach = LIMIT * tally.deviation();
    assert!(reach < 0.06, "too few tables: {tally:?}");
    (0.95 - reach, 0.95 + reach)
}

#[test]
fn intervals_cover_and_a_copy_without_the_privacy_term_does_not() {
    for cell in [
        Cell { rows: 20_000, columns: 5, epsilon: 1.0, linear: false, of_a_unit: 1, blocks: false },
        Cell { rows: 20_000, columns: 5, epsilon: 1.0, linear: true, of_a_unit: 1, blocks: false },
    ] {
        let tally = cell.run(100, 11);
        // The curvature of the Huber loss has more noise, which hides it in one table of a hundred.
        assert!(10 * tally.determined >= 9 * tally.all, "{cell:?}: {tally:?}");
        assert!(cell.linear || tally.determined == tally.all, "{cell:?}: {tally:?}");
        let (least, most) = limits(&tally);
        assert!((least..=most).contains(&tally.coverage()), "{cell:?}: {tally:?}");
        let width = tally.width_over_ideal / tally.compared as f64;
        assert!((0.9..=1.5).contains(&width), "{cell:?}: {width}");
        let broken = tally.covered_by_broken as f64 / tally.determined as f64;
        assert!(broken < least, "{cell:?}: the broken copy covers {broken} of {tally:?}");
    }
}

#[test]
fn intervals_of_units_cover_and_a_copy_that_takes_their_rows_for_records_does_not() {
    let cell =
        Cell { rows: 20_000, columns: 3, epsilon: 4.0, linear: false, of_a_unit: 3, blocks: false };
    let tally = cell.run(100, 7);
    assert_eq!(tally.determined, tally.all, "{tally:?}");
    let (least, most) = limits(&tally);
    assert!((least..=most).contains(&tally.coverage()), "{tally:?}");
    let broken = tally.covered_row_by_row as f64 / tally.determined as f64;
    assert!(broken < least, "the broken copy covers {broken} of {tally:?}");
}

#[test]
fn intervals_from_blocks_cover_and_a_copy_whose_records_are_in_two_blocks_does_not() {
    for (linear, of_a_unit) in [(false, 1), (true, 1), (false, 2)] {
        let cell = Cell { rows: 20_000, columns: 4, epsilon: 4.0, linear, of_a_unit, blocks: true };
        let tally = cell.run(100, 23);
        assert_eq!(tally.determined, tally.all, "{cell:?}: {tally:?}");
        // The bound on the bias makes them wider than Student's, and coverage larger.
        let (least, _) = limits(&tally);
        assert!(tally.coverage() >= least, "{cell:?}: {tally:?}");
        let width = tally.width_over_ideal / tally.compared as f64;
        assert!((1.1..=2.0).contains(&width), "{cell:?}: {width}");
        let broken = tally.covered_by_broken as f64 / tally.determined as f64;
        assert!(broken < least, "{cell:?}: the broken copy covers {broken} of {tally:?}");
    }
}

#[test]
fn nothing_is_determined_where_the_noise_drowns_the_curvature() {
    let cell =
        Cell { rows: 2_000, columns: 12, epsilon: 0.3, linear: false, of_a_unit: 1, blocks: false };
    let tally = cell.run(5, 3);
    assert!(tally.all == 65 && tally.determined == 0, "{tally:?}");
}

/// Coefficients of `skill`, whose true one is 0.5, and of an `income` that fills this share of its
/// declared bounds and is correlated with it, at epsilon 1.
fn confounded(share: f64, rows: usize, seed: u64, method: IntervalMethod) -> Coefficients {
    let declaration = Declaration::from_json(
        r#"{"target": "y", "columns": [
            {"name": "skill", "type": "number", "bounds": {"min": -1, "max": 1}},
            {"name": "income", "type": "number", "bounds": {"min": 0, "max": 100}},
            {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#,
    )
    .unwrap();
    let task = for_intervals(Task::new(declaration, Encoding::default()), false).unwrap();
    let source = Source::seeded_not_private(seed);
    let mut stream = source.stream(Purpose::Initial);
    let (mut x, mut y, mut z) = (Vec::new(), Vec::new(), [0.0; 3]);
    for _ in 0..rows {
        fill_standard_gaussian(&mut z, &mut stream);
        let [skill, income, chance] = [z[0], 0.7 * z[0] + 0.51_f64.sqrt() * z[1], z[2]]
            .map(|z| 2.0 * reticent_math::ndtr(z) - 1.0);
        let margin = 0.5 * skill + income - 0.3;
        x.extend([skill, share * income, 1.0]);
        y.push(if 0.5 * (chance + 1.0) < 1.0 / (1.0 + (-margin).exp()) { 1.0 } else { -1.0 });
    }
    let table = Rows::new(Features::F64(Dense::new(rows, 3, x)), y, task.bounds().unwrap());
    Coefficients::of(&fitted_by(&task, table, 1.0, &source, method), None).unwrap()
}

/// Whether each point of a curve on four knots holds its true value, relative to the mean over the
/// knots; the table is one of 20,000 rows at epsilon 2, and its curve is straight between knots.
fn points_of_a_curve(seed: u64) -> Vec<bool> {
    const TRUTH: [f64; 4] = [-0.5, 1.0, 0.5, -1.0];
    let declaration = Declaration::from_json(
        r#"{"target": "y", "columns": [
            {"name": "x", "type": "number", "bounds": {"min": 0, "max": 3},
             "basis": {"kind": "tent", "knots": 4}},
            {"name": "y", "type": "categorical", "categories": ["no", "yes"]}]}"#,
    )
    .unwrap();
    let task = for_intervals(Task::new(declaration, Encoding::default()), false).unwrap();
    let source = Source::seeded_not_private(seed);
    let mut stream = source.stream(Purpose::Initial);
    let (mut x, mut y, mut z) = (Vec::new(), Vec::new(), [0.0; 2]);
    let rows = 20_000;
    for _ in 0..rows {
        fill_standard_gaussian(&mut z, &mut stream);
        let [place, chance] = z.map(reticent_math::ndtr);
        let left = ((3.0 * place) as usize).min(2);
        let share = 3.0 * place - left as f64;
        let mut tents = [0.0; 5];
        (tents[left], tents[left + 1], tents[4]) = (1.0 - share, share, 1.0);
        let margin: f64 = tents.iter().zip(TRUTH).map(|(x, t)| x * t).sum();
        x.extend(tents);
        y.push(if chance < 1.0 / (1.0 + (-margin).exp()) { 1.0 } else { -1.0 });
    }
    let table = Rows::new(Features::F64(Dense::new(rows, 5, x)), y, task.bounds().unwrap());
    let curves = Curves::of(&fitted(&task, table, 2.0, &source)).unwrap();
    assert_eq!(curves.level, Some(95.0));
    let band = curves.columns[0].band.as_ref().unwrap();
    assert!(band.iter().map(|point| point.estimate).sum::<f64>().abs() < 1e-9);
    let holds = |(point, truth): (&Relative, f64)| {
        let interval = point.interval.unwrap();
        (interval.low..=interval.high).contains(&truth)
    };
    band.iter().zip(TRUTH).map(holds).collect()
}

#[test]
fn bands_of_curves_cover_at_each_knot() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        let held = points_of_a_curve(seed);
        let covered = held.iter().filter(|held| **held).count();
        tally.determined += held.len() as u64;
        tally.covered += covered as u64;
        tally.squares += (covered as f64 - 0.95 * held.len() as f64).powi(2);
    }
    let (least, most) = limits(&tally);
    assert!((least..=most).contains(&tally.coverage()), "{tally:?}");
}

/// A model with intervals.
fn fitted(task: &Task, table: Rows, epsilon: f64, source: &Source) -> Model {
    fitted_by(task, table, epsilon, source, IntervalMethod::Curvature)
}

/// A model with intervals by this method.
fn fitted_by(
    task: &Task,
    table: Rows,
    epsilon: f64,
    source: &Source,
    method: IntervalMethod,
) -> Model {
    let budget = Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    };
    let problem = task.problem(table.len(), Domain::Unbounded, None).unwrap();
    let settings = Settings::default().with(&INTERVALS, 95.0).with(&INTERVAL_METHOD, method);
    let plan = plan_named(&problem, budget, &settings, "objective").unwrap();
    fit(task, plan, table, source, Speed::default(), &Quiet).unwrap()
}

#[test]
fn a_column_that_is_lost_takes_the_intervals_of_all_with_it_and_is_named() {
    // `skill` takes over the effect of `income`: its weight is 1.09, its own error 0.02.
    for seed in 0..6 {
        for method in [IntervalMethod::Curvature, IntervalMethod::Blocks] {
            let table = confounded(0.01, 60_000, seed, method);
            let skill = &table.rows[0];
            assert!((skill.estimate - 0.5).abs() > 0.3, "no counterexample: {skill:?}");
            assert!(table.rows.iter().all(|row| row.interval.is_none()), "{table:?}");
            assert_eq!(table.hidden_columns, ["income"]);
            let said = table.not_determined().unwrap();
            assert!(said.contains("3 of 3") && said.contains("`income`"), "{said}");
        }
    }
}

/// Around half of these tables pass the threshold, and what passes looks as if it were better known
/// than it is. An interval that misses is printed for at most 5 % of tables: more than 10 of 80
/// have a chance of less than 1 in 400.
#[test]
fn tables_that_barely_pass_have_wide_intervals_and_not_wrong_ones() {
    let (mut printed, mut missed) = (0, 0);
    for seed in 100..180 {
        let table = confounded(0.21, 20_000, seed, IntervalMethod::Curvature);
        let Some(interval) = table.rows[0].interval else { continue };
        printed += 1;
        missed += u32::from(!(interval.low..=interval.high).contains(&0.5));
    }
    assert!((30..80).contains(&printed), "{printed}");
    assert!(missed <= 10, "{missed} of {printed}");
}

#[test]
fn a_plan_says_whether_its_coefficients_will_be_determined() {
    for (rows, epsilon, outcome) in [(100_000, 1.0, Outcome::All), (2_000, 0.5, Outcome::None)] {
        let cell = Cell { rows, columns: 4, epsilon, linear: false, of_a_unit: 1, blocks: false };
        let task = cell.task();
        let expected = expected_intervals(&task, &cell.plan(&task)).unwrap().unwrap();
        assert_eq!(expected.outcome, outcome, "{expected:?}");
        assert_eq!(expected.half_widths.len(), 5);
        let known = expected.half_widths.iter().all(|(_, half)| half.is_some());
        assert_eq!(known, outcome == Outcome::All, "{expected:?}");
    }
}

#[test]
fn the_method_with_the_narrower_expected_intervals_is_taken() {
    let ask = Settings::default().with(&INTERVALS, 95.0);
    for (rows, epsilon) in [(100_000, 4.0), (20_000, 1.0), (5_000, 1.0)] {
        let cell = Cell { rows, columns: 4, epsilon, linear: false, of_a_unit: 1, blocks: false };
        let task = cell.task();
        let plan = cell.plan(&task);
        let (problem, budget) = (plan.outline().problem.clone(), plan.outline().budget);
        let each = expected_of_each_method(&task, &problem, budget, &ask).unwrap();
        assert_eq!(each.len(), 2);
        let width = |k: usize| each[k].half_widths[0].1.unwrap_or(f64::INFINITY);
        let narrower = (width(1) < width(0)).then_some(IntervalMethod::Blocks);
        let chosen = with_interval_method(&task, &problem, budget, ask.clone()).unwrap();
        assert_eq!(chosen.choice::<IntervalMethod>(&INTERVAL_METHOD), narrower, "{each:?}");
        // What is asked for stays.
        let wanted = ask.clone().with(&INTERVAL_METHOD, IntervalMethod::Blocks);
        assert_eq!(with_interval_method(&task, &problem, budget, wanted.clone()).unwrap(), wanted);
    }
}
