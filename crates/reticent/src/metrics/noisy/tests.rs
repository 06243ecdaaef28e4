//! Tests of the sensitivity of the counts, of the noise, and of its effect on the metrics.

use reticent_privacy::audit::judge;
use reticent_privacy::{Delta, Epsilon, epsilon_upper};

use super::*;

fn classes(count: usize) -> Vec<String> {
    (0..count).map(|class| format!("c{class}")).collect()
}

fn grids() -> Vec<(Loss, Labels)> {
    vec![
        (Loss::Logistic, Labels::Binary { classes: classes(2), positive: 1 }),
        (Loss::Hinge { q: 1.0 }, Labels::Binary { classes: classes(2), positive: 0 }),
        (Loss::Softmax { classes: 3 }, Labels::Multiclass { classes: classes(3) }),
        (Loss::OneHot { classes: 3 }, Labels::Multiclass { classes: classes(3) }),
        (
            Loss::Huber { threshold: 1.0 },
            Labels::Regression { min: 0.0, max: 10.0, from_zero: false },
        ),
        (
            Loss::Pinball { quantile: 0.9, threshold: 1.0 },
            Labels::Regression { min: 0.0, max: 10.0, from_zero: false },
        ),
    ]
}

fn grid(loss: Loss, labels: &Labels) -> Grid {
    Grid::new(loss, labels, &Measure::default()).unwrap()
}

/// Rows with margins and labels of all kinds, beyond their ranges too.
fn rows(loss: Loss) -> Vec<(Vec<f64>, f64)> {
    let margins: Vec<Vec<f64>> = (0..9)
        .map(|i| (0..loss.outputs()).map(|j| f64::from((i * (2 * j as i32 + 3)) % 9 - 4)).collect())
        .collect();
    let labels: &[f64] = match loss.outputs() {
        1 if loss.is_classification() => &[-1.0, 1.0],
        1 => &[-1.5, -0.3, 0.0, 0.9],
        _ => &[0.0, 1.0, 2.0],
    };
    margins.iter().flat_map(|m| labels.iter().map(|y| (m.clone(), *y))).collect()
}

/// The contribution of the rows of a unit to the counts.
fn added(grid: &Grid, unit: &[&(Vec<f64>, f64)]) -> Vec<f64> {
    let mut counts = vec![0.0; grid.len()];
    for (margins, label) in unit {
        for cell in grid.cells((margins, *label)).into_iter().flatten() {
            counts[cell] += 1.0;
        }
    }
    counts
}

#[test]
fn no_record_moves_the_counts_further_than_the_sensitivity_and_some_move_them_as_far() {
    for (loss, labels) in grids() {
        let (grid, rows) = (grid(loss, &labels), rows(loss));
        for most in [1, 2] {
            let mut units: Vec<Vec<f64>> = vec![vec![0.0; grid.len()]];
            for a in &rows {
                units.push(added(&grid, &[a]));
                if most == 2 {
                    units.extend(rows.iter().map(|b| added(&grid, &[a, b])));
                }
            }
            units.sort_by(|a, b| a.partial_cmp(b).unwrap());
            units.dedup();
            let in_l1 =
                |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum() };
            let farthest = |adjacency: Adjacency| match adjacency {
                Adjacency::AddRemoveOne => {
                    units.iter().map(|v| in_l1(v, &[0.0].repeat(grid.len()))).fold(0.0, f64::max)
                }
                _ => {
                    units.iter().flat_map(|a| units.iter().map(|b| in_l1(a, b))).fold(0.0, f64::max)
                }
            };
            for adjacency in [Adjacency::AddRemoveOne, Adjacency::ReplaceOne] {
                let moves = CountMoves::new(grid.blocks(), most, grid.len(), adjacency);
                assert_eq!(moves.in_l1(adjacency), farthest(adjacency), "{loss:?} {adjacency}");
            }
            let distance = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            };
            let none = vec![0.0; grid.len()];
            let joined = units.iter().map(|v| distance(v, &none)).fold(0.0, f64::max);
            let replaced = units.iter().flat_map(|a| units.iter().map(|b| distance(a, b)));
            for (adjacency, found) in [
                (Adjacency::AddRemoveOne, joined),
                (Adjacency::ReplaceOne, replaced.fold(0.0, f64::max)),
            ] {
                let bound = evaluation_sensitivity(grid.blocks(), most, adjacency);
                assert!(
                    found <= bound && found > bound * (1.0 - 1e-12),
                    "{loss:?} {most} {adjacency}: {found} of {bound}"
                );
            }
        }
        assert_eq!(
            evaluation_sensitivity(grid.blocks(), 3, Adjacency::ZeroOut),
            evaluation_sensitivity(grid.blocks(), 3, Adjacency::ReplaceOne)
        );
    }
}

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

/// A replaced row against the noise of this sensitivity: the lower bound on epsilon that the best
/// guess between the two tables shows.
fn attacked(grid: &Grid, budget: Budget, sensitivity: f64, seed: u64) -> f64 {
    const RUNS: usize = 6_000;
    let all = rows(Loss::Logistic);
    let (one, other) = (added(grid, &[&all[0]]), added(grid, &[&all[all.len() - 1]]));
    let direction: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
    assert!(direction.iter().any(|d| *d != 0.0));
    let noise = OneShot::plan(budget, sensitivity, grid.len()).unwrap();
    let scores = |counts: &[f64], seed: u64| -> Vec<f64> {
        (0..RUNS as u64)
            .map(|run| {
                let source = Source::seeded_not_private(seed + run);
                let drawn = noise.clone().release(Sensitive::new(counts.to_vec()), &source);
                drawn.unwrap().iter().zip(&direction).map(|(a, b)| a * b).sum()
            })
            .collect()
    };
    let (with, without) = (scores(&one, seed), scores(&other, seed + 1_000_000));
    judge(&with, &without, budget.delta.get(), 0.9999).unwrap().epsilon_lower_gdp
}

#[test]
fn an_audit_shows_most_of_the_claim_and_catches_half_the_noise() {
    // False alarms: 1e-4 for each of the two attacks.
    let (loss, labels) = &grids()[0];
    let (grid, budget) = (grid(*loss, labels), budget(4.0, 1e-2));
    let sensitivity = evaluation_sensitivity(1, 1, Adjacency::ReplaceOne);
    let found = attacked(&grid, budget, sensitivity, 1);
    assert!(found <= 4.0 && found > 3.0, "{found}");
    let broken = attacked(&grid, budget, 0.5 * sensitivity, 2);
    assert!(broken > 5.0, "half the noise: {broken}");
}

#[test]
fn without_a_delta_laplace_noise_is_drawn_where_it_is_the_smaller() {
    const DRAWS: u64 = 500;
    let (loss, labels) = &grids()[0];
    let (grid, pure) = (grid(*loss, labels), budget(1.0, 0.0));
    let moves = CountMoves::new(1, 1, grid.len(), pure.adjacency);
    let noise = moves.noise(pure).unwrap();
    let ball = OneShot::plan(pure, moves.sensitivity, grid.len()).unwrap();
    assert!((noise.deviation() / 8.0_f64.sqrt() - 1.0).abs() < 2e-3, "{}", noise.deviation());
    assert!(noise.deviation() < 0.35 * ball.deviation());
    assert_eq!(epsilon_upper(noise.event(), 0.0).unwrap(), 1.0);
    // Drawn as it is stated.
    let draws = (0..DRAWS).flat_map(|seed| {
        let source = Source::seeded_not_private(seed);
        noise.clone().release(Sensitive::new(vec![0.0; grid.len()]), &source).unwrap()
    });
    let square = draws.map(|x| x * x).sum::<f64>() / (DRAWS as usize * grid.len()) as f64;
    // The fourth moment of Laplace noise is 24, so that this is six of its deviations.
    let ratio = square / noise.deviation().powi(2);
    assert!((ratio - 1.0).abs() < 6.0 * (5.0 / 20_000.0_f64).sqrt(), "{ratio}");
    // Where a row is in as many histograms as there are numbers, ball noise may be the smaller.
    let few = CountMoves::new(8, 1, 8, pure.adjacency).noise(pure).unwrap();
    assert!(matches!(few.event(), Event::L2Laplace { .. }), "{few:?}");
}

#[test]
fn noise_that_does_not_follow_from_the_sensitivity_is_not_explained() {
    for budget in [budget(1.0, 1e-6), budget(1.0, 0.0)] {
        let moves = CountMoves::new(2, 3, 80, budget.adjacency);
        let noise = moves.noise(budget).unwrap();
        let (event, deviation) = (noise.event(), noise.deviation());
        assert!(moves.explains(budget, event, deviation));
        assert!(!moves.explains(budget, event, 0.99 * deviation));
        assert!(!CountMoves { max_rows: 2, ..moves }.explains(budget, event, deviation));
        assert!(
            !CountMoves { sensitivity: 0.5 * moves.sensitivity, ..moves }
                .explains(budget, event, deviation)
        );
        assert!(!CountMoves { blocks: 0, ..moves }.explains(budget, event, deviation));
        assert!(!moves.explains(budget, &Event::None, deviation));
    }
}

#[test]
fn groups_are_told_apart_as_the_encoder_tells_categories() {
    let (loss, labels) = &grids()[0];
    let groups = vec!["false".to_owned(), "true".to_owned()];
    let (grid, pure) = (grid(*loss, labels), budget(1.0, 0.0));
    let moves = CountMoves::new(1, 1, 3 * grid.len(), pure.adjacency);
    let noise = moves.noise(pure).unwrap();
    let query = EvaluationQuery { budget: pure, unit: None, noise, moves, grid, groups };
    let scores = Scores {
        loss: *loss,
        labels: labels.clone(),
        margins: vec![0.3; 6],
        truth: vec![Some(1.0); 6],
    };
    let texts = ["True", "1", "FALSE", "0.0", "maybe", ""].map(str::to_owned);
    let len = query.grid.len();
    let mut counts = query.count(&scores, &texts, 0..6);
    counts.update_inside(|counts| {
        let found: Vec<f64> = counts.chunks(len).map(|part| part.iter().sum()).collect();
        assert_eq!(found, [2.0, 2.0, 2.0]);
    });
}

/// Many rows of two classes with probabilities that are right.
fn sample() -> Vec<(Vec<f64>, f64)> {
    (0..20_000_u32)
        .map(|i| {
            let margin = 3.0 * (f64::from(i % 997) / 997.0 - 0.6);
            let chance = f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
            let p = 1.0 / (1.0 + (-margin).exp());
            (vec![margin], if chance < p { 1.0 } else { -1.0 })
        })
        .collect()
}

#[test]
fn counts_give_nearly_the_exact_metrics() {
    let (loss, labels) = &grids()[0];
    let grid = grid(*loss, labels);
    let rows = sample();
    let known: Vec<Known<'_>> = rows.iter().map(|(m, y)| (m.as_slice(), *y)).collect();
    let exact = super::super::two::metrics(*loss, labels.classes(), 1, &known, &Measure::default());
    let exact = serde_json::to_value(exact).unwrap();
    let counts = added(&grid, &rows.iter().collect::<Vec<_>>());
    let found = grid.scalars(&counts);
    assert!(found.len() >= 14);
    for (name, value) in found {
        let exact = exact[name].as_f64().unwrap();
        // Two rows of one bin are a tie: with twenty bins that costs AUC a few thousandths.
        let allowed = match name {
            "calibration_slope" | "calibration_offset" => 0.02,
            "auc" => 5e-3,
            _ => 2e-3,
        };
        assert!((value - exact).abs() < allowed, "{name}: {value} for {exact}");
    }
}

#[test]
fn numbers_in_bins_give_nearly_the_exact_metrics() {
    let (loss, labels) = &grids()[5];
    let grid = grid(*loss, labels);
    let rows: Vec<(Vec<f64>, f64)> = sample()
        .iter()
        .enumerate()
        .map(|(i, (m, _))| {
            let y = 0.3 * m[0];
            (vec![y + 0.1 * f64::sin(i as f64)], y)
        })
        .collect();
    let known: Vec<Known<'_>> = rows.iter().map(|(m, y)| (m.as_slice(), *y)).collect();
    let exact = super::super::number::metrics(*loss, labels, &known);
    let exact = serde_json::to_value(exact).unwrap();
    let found = grid.scalars(&added(&grid, &rows.iter().collect::<Vec<_>>()));
    let coverage = found.iter().find(|(name, _)| *name == "quantile_coverage").unwrap().1;
    assert!((coverage - exact["quantile_coverage"].as_f64().unwrap()).abs() < 1e-12);
    for (name, value) in found {
        let exact = exact[name].as_f64().unwrap();
        // Most errors lie at one end of their bin: about the worst for the mean over a bin, and
        // worse for squares.
        let allowed = if name == "rmse" { 0.08 } else { 0.06 };
        assert!((value / exact - 1.0).abs() < allowed, "{name}: {value} for {exact}");
    }
}

#[test]
fn the_stated_noise_is_that_of_repeated_releases() {
    const DRAWS: u64 = 400;
    let (loss, labels) = &grids()[0];
    let grid = grid(*loss, labels);
    let budget = budget(0.5, 1e-6);
    let counts = added(&grid, &sample().iter().collect::<Vec<_>>());
    let sensitivity = evaluation_sensitivity(1, 1, Adjacency::ReplaceOne);
    let noise = OneShot::plan(budget, sensitivity, grid.len()).unwrap();
    assert!(epsilon_upper(noise.event(), 1e-6).unwrap() <= 0.5);
    let stated = grid.measured(&counts, noise.deviation()).noise;
    let draws: Vec<Vec<(&str, f64)>> = (0..DRAWS)
        .map(|seed| {
            let source = Source::seeded_not_private(seed);
            let drawn = noise.clone().release(Sensitive::new(counts.clone()), &source);
            grid.scalars(&drawn.unwrap())
        })
        .collect();
    for name in ["accuracy", "auc", "log_loss", "brier", "recall", "precision"] {
        let values: Vec<f64> =
            draws.iter().map(|d| d.iter().find(|(n, _)| *n == name).unwrap().1).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        let ratio = square.sqrt() / stated[name].as_f64().unwrap();
        // A deviation of 400 draws is within a sixth of the true one: odds of 1e-5.
        assert!((ratio - 1.0).abs() < 0.17, "{name}: {ratio}");
    }
}
