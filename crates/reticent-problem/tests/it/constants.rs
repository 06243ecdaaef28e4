//! Every constant of every loss: a search for a violation, and a case that comes within 5% of it.
//!
//! The search draws rows at the corners of the declared bounds as well as inside, because a
//! supremum lives at a corner.

use std::f64::consts::TAU;

use proptest::prelude::*;
use reticent_problem::loss::{
    LabelKind, LinearLoss, LinearVisitor, LossVisitor, MultiLoss, Parameters, Thresholds,
};
use reticent_problem::{Domain, Loss, Problem, Regularity, RowBounds};

const DIM: usize = 3;

#[derive(Clone, Debug)]
struct Row {
    x: Vec<f64>,
    y: f64,
}

/// The derivative of the loss by each margin.
struct Residual<'a> {
    margins: &'a [f64],
    label: f64,
}

impl LinearVisitor for Residual<'_> {
    type Output = Vec<f64>;
    fn visit<L: LinearLoss>(self, loss: L) -> Vec<f64> {
        vec![loss.slope(self.margins[0], self.label)]
    }
}

impl LossVisitor for Residual<'_> {
    fn visit_multi<L: MultiLoss>(self, loss: L) -> Vec<f64> {
        let mut margins = self.margins.to_vec();
        loss.residual(&mut margins, self.label as usize);
        margins
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Value and gradient of the loss of one row; weights are one block of `DIM` for each output.
fn evaluate(loss: Loss, w: &[f64], row: &Row) -> (f64, Vec<f64>) {
    let margins: Vec<f64> = w.chunks(DIM).map(|w| dot(w, &row.x)).collect();
    let residual = loss.visit(f64::INFINITY, Residual { margins: &margins, label: row.y });
    let gradient = residual.iter().flat_map(|r| row.x.iter().map(move |x| r * x)).collect();
    (loss.value(&margins, row.y), gradient)
}

fn gradient(loss: Loss, w: &[f64], row: &Row) -> Vec<f64> {
    evaluate(loss, w, row).1
}

/// Every loss of the list, with parameters of all sizes.
fn losses() -> impl Strategy<Value = Loss> {
    let q = prop_oneof![Just(1.0), Just(2.0), 1.0..2.0_f64];
    let quantile = 0.05..0.95_f64;
    let given = (2..5_usize, q, 0.1..6.0_f64, quantile, 0.1..30.0_f64).prop_map(
        |(classes, q, threshold, quantile, dispersion)| Parameters {
            classes,
            q: Some(q),
            threshold: Some(threshold),
            quantile: Some(quantile),
            dispersion: Some(dispersion),
            thresholds: Thresholds::of_shares(&[q, threshold, quantile, dispersion], q).ok(),
        },
    );
    (0..Loss::ALL.len(), given).prop_map(|(which, given)| {
        let make = Loss::ALL[which].make;
        let threshold = given.threshold.map(|t| 1.0 + t);
        // Some losses take no threshold below 1.
        let loss = make(&given);
        if loss.check().is_ok() { loss } else { make(&Parameters { threshold, ..given }) }
    })
}

fn direction(entries: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0_f64, entries).prop_map(|v| {
        let n = norm(&v).max(1e-9);
        v.into_iter().map(|x| x / n).collect()
    })
}

/// A point of the ball of this radius, half of them on its surface.
fn in_ball(entries: usize, radius: f64) -> impl Strategy<Value = Vec<f64>> {
    (direction(entries), prop_oneof![Just(1.0), 0.0..1.0_f64])
        .prop_map(move |(v, s)| v.into_iter().map(|x| x * s * radius).collect())
}

fn row(loss: Loss, bounds: RowBounds) -> impl Strategy<Value = Row> {
    let label = match loss.labels() {
        LabelKind::Classes { count, .. } if loss.outputs() > 1 => {
            (0..count).prop_map(|k| k as f64).boxed()
        }
        LabelKind::TwoClasses | LabelKind::Classes { .. } => {
            prop_oneof![Just(-1.0), Just(1.0)].boxed()
        }
        // The constants hold for whatever a table can hold, a negative number where none belongs
        // too.
        LabelKind::Numbers | LabelKind::NonNegative | LabelKind::Levels { .. } => {
            prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0_f64]
                .prop_map(move |s| s * bounds.label())
                .boxed()
        }
    };
    (in_ball(DIM, bounds.norm()), label).prop_map(|(x, y)| Row { x, y })
}

#[derive(Clone, Debug)]
struct Case {
    loss: Loss,
    bounds: RowBounds,
    domain: Domain,
    w: Vec<f64>,
    v: Vec<f64>,
    row: Row,
    other: Row,
}

fn cases() -> impl Strategy<Value = Case> {
    (losses(), 0.2..3.0_f64, 0.1..3.0_f64, 0.1..4.0_f64, any::<bool>()).prop_flat_map(
        |(loss, b, y, r, ball)| {
            let y = if loss.is_signed() { 1.0 } else { y };
            let bounds = RowBounds::new(b, y).unwrap();
            let domain = if ball { Domain::Ball { radius: r } } else { Domain::Unbounded };
            let reach = if ball { r } else { 40.0 * r };
            let weights = DIM * loss.outputs();
            (in_ball(weights, reach), in_ball(weights, reach), row(loss, bounds), row(loss, bounds))
                .prop_map(move |(w, v, row, other)| Case {
                    loss,
                    bounds,
                    domain: domain.clone(),
                    w,
                    v,
                    row,
                    other,
                })
        },
    )
}

fn at_most(got: f64, limit: f64) -> bool {
    got <= limit * (1.0 + 1e-9) + 1e-12
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_row_within_the_bounds_violates_a_constant(case in cases()) {
        let Case { loss, bounds, domain, w, v, row, other } = case;
        let k = loss.regularity(bounds, &domain);
        let g = gradient(loss, &w, &row);
        prop_assert!(at_most(norm(&g), k.lipschitz), "L: {} > {}", norm(&g), k.lipschitz);
        let apart = distance(&g, &gradient(loss, &w, &other));
        prop_assert!(at_most(apart, k.gradient_difference), "G: {apart} > {}", k.gradient_difference);
        let moved = distance(&g, &gradient(loss, &v, &row));
        let step = distance(&w, &v);
        if let Some(beta) = k.smoothness {
            prop_assert!(at_most(moved, beta * step), "beta: {moved} > {beta} * {step}");
        }
        let holder = k.holder_constant * step.powf(k.holder_order);
        prop_assert!(at_most(moved, holder), "Hoelder: {moved} > {holder}");
        let origin = vec![0.0; w.len()];
        let (value, at_zero) = evaluate(loss, &origin, &row);
        prop_assert!(at_most(norm(&at_zero), k.gradient_at_zero));
        prop_assert!(at_most(value, k.value_at_zero));
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_value(case in cases()) {
        let Case { loss, w, row, .. } = case;
        let g = gradient(loss, &w, &row);
        for j in 0..w.len() {
            let h = 1e-6;
            let shifted = |s: f64| {
                let mut w = w.clone();
                w[j] += s * h;
                evaluate(loss, &w, &row).0
            };
            // Convexity: every subgradient lies between the one-sided difference quotients.
            let (left, right) = ((shifted(0.0) - shifted(-1.0)) / h, (shifted(1.0) - shifted(0.0)) / h);
            let slack = 1e-4 * (1.0 + g[j].abs());
            prop_assert!(left - slack <= g[j] && g[j] <= right + slack, "{left} {} {right}", g[j]);
        }
    }

    #[test]
    fn the_trace_bounds_what_isotropic_noise_can_cost(case in cases()) {
        // E[l(w+z)] - l(w) <= tau/2 for z with unit covariance: averaged over ± each axis, scaled
        // by sqrt(dim).
        let Case { loss, bounds, domain, w, row, .. } = case;
        let k = loss.regularity(bounds, &domain);
        let Some(tau) = k.hessian_trace else { return Ok(()) };
        let reach = (w.len() as f64).sqrt();
        let here = evaluate(loss, &w, &row).0;
        let mut mean = 0.0;
        for j in 0..w.len() {
            for sign in [-1.0, 1.0] {
                let mut z = w.clone();
                z[j] += sign * reach;
                mean += (evaluate(loss, &z, &row).0 - here) / (2.0 * w.len() as f64);
            }
        }
        prop_assert!(at_most(mean, 0.5 * tau + 1e-9 * here.abs()), "{mean} > {tau}/2");
    }
}

/// The largest value that a grid of two-dimensional corner cases reaches, for each constant.
fn reached(loss: Loss, bounds: RowBounds, radius: f64) -> Regularity {
    let (b, y) = (bounds.norm(), bounds.label());
    let mut top = Regularity {
        lipschitz: 0.0,
        gradient_difference: 0.0,
        smoothness: Some(0.0),
        hessian_trace: Some(0.0),
        hessian_rank: 0,
        holder_order: loss.regularity(bounds, &Domain::Unbounded).holder_order,
        holder_constant: 0.0,
        gradient_at_zero: 0.0,
        value_at_zero: 0.0,
        strong_convexity: 0.0,
    };
    let labels: Vec<f64> = match loss {
        _ if loss.outputs() > 1 => (0..loss.outputs()).map(|k| k as f64).collect(),
        _ if loss.is_signed() => vec![-1.0, 1.0],
        _ => vec![-y, 0.0, y],
    };
    let rows: Vec<Row> = (0..96)
        .flat_map(|i| {
            let angle = TAU * f64::from(i) / 96.0;
            labels.iter().map(move |&y| Row { x: vec![b * angle.cos(), b * angle.sin(), 0.0], y })
        })
        .collect();
    // Weights along the first axis: two classes of softmax pull apart, the rest stay at zero.
    let weights = |size: f64| {
        let mut w = vec![0.0; DIM * loss.outputs()];
        if let Loss::Softmax { .. } = loss {
            w[0] = size / 2.0_f64.sqrt();
            w[DIM] = -size / 2.0_f64.sqrt();
        } else {
            w[0] = size;
        }
        w
    };
    for size in [0.0, radius / 2.0, radius] {
        let w = weights(size);
        let gradients: Vec<Vec<f64>> = rows.iter().map(|r| gradient(loss, &w, r)).collect();
        for g in &gradients {
            top.lipschitz = top.lipschitz.max(norm(g));
            for h in &gradients {
                top.gradient_difference = top.gradient_difference.max(distance(g, h));
            }
        }
    }
    for row in &rows {
        let (value, at_zero) = evaluate(loss, &weights(0.0), row);
        top.value_at_zero = top.value_at_zero.max(value);
        top.gradient_at_zero = top.gradient_at_zero.max(norm(&at_zero));
        // Curvature: a short step around the point of greatest curvature, and a step across a kink.
        let kink = if loss.is_classification() && !matches!(loss, Loss::Hinge { .. }) {
            0.0
        } else {
            1.0_f64.max(y) / b
        };
        let bend = (2.0 + 3.0_f64.sqrt()).ln() / b; // where a sigmoid bends most
        // Elsewhere the point of greatest curvature is looked for, along the row.
        let aligned = row.x[1] == 0.0 && row.x[0] > 0.0;
        let along = (-400..=400).filter(|_| aligned).map(|i| f64::from(i) / (100.0 * b));
        for centre in [0.0, kink, -kink, y / b, -y / b, 1.0 / b, bend].into_iter().chain(along) {
            for (down, up) in [(1e-3, 1e-3), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)] {
                let (mut w, mut v) = (weights(centre - down), weights(centre + up));
                // Softmax is most curved where two classes share all the probability.
                for class in 2..loss.outputs() {
                    w[class * DIM] = -50.0;
                    v[class * DIM] = -50.0;
                }
                let step = distance(&w, &v);
                let moved = distance(&gradient(loss, &w, row), &gradient(loss, &v, row));
                top.smoothness = top.smoothness.map(|s| s.max(moved / step));
                top.holder_constant = top.holder_constant.max(moved / step.powf(top.holder_order));
            }
        }
    }
    top
}

fn comes_near(what: &str, loss: Loss, got: f64, limit: f64) {
    assert!(
        got >= 0.95 * limit && got <= limit * (1.0 + 1e-6),
        "{what} of {loss:?}: {got} of {limit}"
    );
}

#[test]
fn every_constant_is_nearly_attained() {
    let bounds = RowBounds::new(1.7, 2.3).unwrap();
    for &loss in Loss::ALL.iter().flat_map(|about| about.samples) {
        let label = if loss.is_signed() { 1.0 } else { bounds.label() };
        let bounds = RowBounds::new(bounds.norm(), label).unwrap();
        let radius = 3.1;
        let domain = Domain::Ball { radius };
        let k = loss.regularity(bounds, &domain);
        let top = reached(loss, bounds, radius);
        // Two of several weight vectors share the radius.
        if loss.outputs() == 1 {
            comes_near("L on a ball", loss, top.lipschitz, k.lipschitz);
        }
        comes_near("gradient at zero", loss, top.gradient_at_zero, k.gradient_at_zero);
        comes_near("value at zero", loss, top.value_at_zero, k.value_at_zero);
        comes_near("Hoelder", loss, top.holder_constant, k.holder_constant);
        if let Some(beta) = k.smoothness {
            comes_near("beta", loss, top.smoothness.unwrap(), beta);
        }
    }
}

#[test]
fn the_gradient_difference_is_nearly_attained() {
    // On R^d (large weights stand for it) where G is finite there, and on a small ball elsewhere:
    // for a ball of moderate size the bound B²R + 2BY of a squared loss adds two terms that one
    // pair of rows cannot both reach.
    let bounds = RowBounds::new(1.7, 2.3).unwrap();
    for (loss, radius, domain) in [
        (Loss::Logistic, 2e3, Domain::Unbounded),
        (Loss::Logistic, 0.3, Domain::Ball { radius: 0.3 }),
        (Loss::Logistic, 3.1, Domain::Ball { radius: 3.1 }),
        (Loss::Softmax { classes: 3 }, 2e3, Domain::Unbounded),
        (Loss::Hinge { q: 1.0 }, 2e3, Domain::Unbounded),
        (Loss::Power { q: 1.0 }, 2e3, Domain::Unbounded),
        (Loss::Huber { threshold: 0.7 }, 2e3, Domain::Unbounded),
        (Loss::Hinge { q: 1.5 }, 0.02, Domain::Ball { radius: 0.02 }),
        (Loss::Hinge { q: 2.0 }, 0.02, Domain::Ball { radius: 0.02 }),
        (Loss::Power { q: 1.5 }, 0.02, Domain::Ball { radius: 0.02 }),
        (Loss::Power { q: 2.0 }, 0.02, Domain::Ball { radius: 0.02 }),
        (Loss::Squared, 0.02, Domain::Ball { radius: 0.02 }),
        // Steepest at zero weights: for a sigmoid always, for the others if the label lies where
        // the slope is largest.
        (Loss::Sigmoid, 0.02, Domain::Unbounded),
        (Loss::Welsch { threshold: 2.3 * 2.0_f64.sqrt() }, 0.02, Domain::Unbounded),
        (Loss::Cauchy { threshold: 2.3 }, 0.02, Domain::Unbounded),
    ] {
        let k = loss.regularity(bounds, &domain);
        let top = reached(loss, bounds, radius);
        comes_near("G", loss, top.gradient_difference, k.gradient_difference);
        if matches!(domain, Domain::Unbounded) {
            comes_near("L", loss, top.lipschitz, k.lipschitz);
        }
    }
    // With labels that hardly matter the other term is reached: ‖(xxᵀ − x'x'ᵀ)w‖ = B²R.
    let quiet = RowBounds::new(1.7, 1e-3).unwrap();
    for loss in [Loss::Squared, Loss::Power { q: 2.0 }] {
        let radius = 3.1;
        let k = loss.regularity(quiet, &Domain::Ball { radius });
        let top = reached(loss, quiet, radius);
        comes_near("G", loss, top.gradient_difference, k.gradient_difference);
    }
}

#[test]
fn the_trace_is_nearly_attained() {
    // Second differences of the loss along orthonormal axes, summed, at the point of greatest
    // curvature.
    let bounds = RowBounds::new(1.7, 2.3).unwrap();
    for (loss, label, centre) in [
        (Loss::Logistic, 1.0, 0.0),
        (Loss::Softmax { classes: 2 }, 0.0, 0.0),
        (Loss::Hinge { q: 2.0 }, 1.0, 0.0),
        (Loss::Power { q: 2.0 }, 2.3, 0.0),
        (Loss::Squared, 2.3, 0.0),
        (Loss::Huber { threshold: 5.0 }, 2.3, 0.0),
        (Loss::Sigmoid, 1.0, (2.0 + 3.0_f64.sqrt()).ln() / 1.7),
        (Loss::Welsch { threshold: 5.0 }, 2.3, 2.3 / 1.7),
        (Loss::Cauchy { threshold: 3.0 }, 2.3, 2.3 / 1.7),
    ] {
        let row = Row { x: vec![1.7, 0.0, 0.0], y: label };
        let w = vec![centre; DIM * loss.outputs()];
        let h = 1e-3;
        let trace: f64 = (0..w.len())
            .map(|j| {
                let at = |s: f64| {
                    let mut w = w.clone();
                    w[j] += s * h;
                    evaluate(loss, &w, &row).0
                };
                (at(1.0) - 2.0 * at(0.0) + at(-1.0)) / (h * h)
            })
            .sum();
        let limit = loss.regularity(bounds, &Domain::Unbounded).hessian_trace.unwrap();
        comes_near("tau", loss, trace, limit);
    }
}

#[test]
fn a_slope_limit_bounds_the_gradient_and_refuses_softmax() {
    let bounds = RowBounds::new(2.0, 1.0).unwrap();
    let mut problem = Problem::new(Loss::Squared, bounds, 100, 3);
    assert!(problem.regularity().lipschitz.is_infinite());
    problem.slope_limit = Some(0.5);
    let k = problem.regularity();
    assert_eq!((k.lipschitz, k.gradient_difference, k.smoothness), (1.0, 2.0, Some(4.0)));
    problem.loss = Loss::Softmax { classes: 3 };
    assert!(problem.check().is_err());
}

#[test]
fn convexity_is_asked_for_unless_it_is_not_needed() {
    let bounds = RowBounds::features(1.0).unwrap();
    for &loss in Loss::ALL.iter().flat_map(|about| about.samples) {
        // The second difference along a line, at its least over labels and places.
        let outputs = loss.outputs();
        let labels = if outputs > 1 { vec![0.0, 1.0] } else { vec![-1.0_f64, 0.3, 1.0] };
        let labels = labels.into_iter().filter(|y| !loss.is_signed() || y.abs() == 1.0);
        let bent = |label: f64, m: f64| {
            let value = |m: f64| {
                let mut margins = vec![0.0; outputs];
                margins[0] = m;
                loss.value(&margins, label)
            };
            value(m + 0.1) - 2.0 * value(m) + value(m - 0.1)
        };
        let places = || (-80..80).map(|i| f64::from(i) / 4.0);
        let least = labels.flat_map(|y| places().map(move |m| bent(y, m))).fold(0.0, f64::min);
        assert_eq!(loss.is_convex(), least > -1e-9, "{loss:?}: {least}");
        let problem = Problem::new(loss, bounds, 10, 2);
        if !loss.is_convex() {
            assert!(problem.check().unwrap_err().to_string().contains("not convex"));
            assert!(problem.check_numbers().is_ok());
        }
    }
    let bad = Problem::new(Loss::Cauchy { threshold: 0.0 }, bounds, 10, 2);
    assert!(bad.check_numbers().unwrap_err().to_string().contains("`threshold`"));
}

struct Kind;

impl LinearVisitor for Kind {
    type Output = usize;
    fn visit<L: LinearLoss>(self, _: L) -> usize {
        1
    }
}

impl LossVisitor for Kind {
    fn visit_multi<L: MultiLoss>(self, loss: L) -> usize {
        loss.classes()
    }
}

#[test]
fn every_loss_is_visited_as_what_its_outputs_and_labels_say() {
    let (q, threshold) = (1.5, 0.5);
    for (loss, outputs, labels) in [
        (Loss::Logistic, 1, LabelKind::TwoClasses),
        (Loss::Sigmoid, 1, LabelKind::TwoClasses),
        (Loss::Hinge { q: 1.0 }, 1, LabelKind::TwoClasses),
        (Loss::Hinge { q }, 1, LabelKind::TwoClasses),
        (Loss::Softmax { classes: 4 }, 4, LabelKind::Classes { count: 4, least: 3 }),
        (Loss::OneHot { classes: 2 }, 1, LabelKind::Classes { count: 2, least: 2 }),
        (Loss::OneHot { classes: 5 }, 5, LabelKind::Classes { count: 5, least: 2 }),
        (Loss::Power { q }, 1, LabelKind::Numbers),
        (Loss::Squared, 1, LabelKind::Numbers),
        (Loss::Huber { threshold }, 1, LabelKind::Numbers),
        (Loss::Welsch { threshold }, 1, LabelKind::Numbers),
        (Loss::Cauchy { threshold }, 1, LabelKind::Numbers),
    ] {
        assert_eq!((loss.visit(1.0, Kind), loss.labels()), (outputs, labels), "{loss:?}");
        assert_eq!(loss.outputs(), outputs, "{loss:?}");
        assert_eq!(loss.visit_linear(Kind).is_some(), outputs == 1, "{loss:?}");
        let signed = labels != LabelKind::Numbers && outputs == 1;
        assert_eq!(loss.is_signed(), signed, "{loss:?}");
        // Labels of two classes are -1 and +1, whatever was declared.
        let wide = Problem::new(loss, RowBounds::new(1.0, 2.0).unwrap(), 10, 2);
        assert_eq!(wide.check_parameters().is_err(), signed, "{loss:?}");
        // In another norm a loss has constants of its own, or none.
        let bounds = RowBounds::new(1.0, 1.0).unwrap();
        let (lipschitz, _) = loss.dual_constants(bounds, &Domain::Ball { radius: 1.0 }, 1.5, 4);
        assert_eq!(lipschitz.is_finite(), loss != (Loss::OneHot { classes: 5 }), "{loss:?}");
    }
}

/// The page of the losses, from the folder of this crate.
const PAGE: &str = "../../docs/losses.md";

#[test]
fn every_loss_is_named_once_described_sampled_and_documented() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut names = Vec::new();
    for about in Loss::ALL {
        let name = about.name;
        assert!(!about.samples.is_empty(), "{name}: no test would see it");
        assert!(!about.help.is_empty() && !about.help.ends_with('.'), "{name}");
        for &loss in about.samples {
            assert_eq!(loss.name(), name);
            loss.check().unwrap();
            let stored = serde_json::to_value(loss).unwrap();
            assert_eq!(stored["name"], name, "stored under its own name");
            assert_eq!(serde_json::from_value::<Loss>(stored).unwrap(), loss);
            let number = matches!(loss.labels(), LabelKind::Numbers | LabelKind::NonNegative);
            assert_eq!(loss.is_classification(), !number, "{name}");
        }
        for &alias in about.aliases.iter().chain([&name]) {
            let thresholds = Thresholds::of_shares(&[0.2, 0.5, 0.3], 1.2).ok();
            let given = Parameters { classes: 3, thresholds, ..Parameters::default() };
            let loss = Loss::named(alias, &given).unwrap();
            assert_eq!(loss.name(), name);
            loss.check().unwrap();
            names.push(alias);
        }
        let heading = format!("\n## {name}\n");
        assert!(page.contains(&heading), "{name}: `{PAGE}` has no section `## {name}`");
    }
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    let unknown = Loss::named("log", &Parameters::default()).unwrap_err().to_string();
    assert!(unknown.contains("unknown `loss` log; expected one of logistic, "), "{unknown}");
}

#[test]
fn what_is_not_declared_is_named() {
    let error = RowBounds::new(f64::NAN, 1.0).unwrap_err().to_string();
    assert!(
        error.contains("feature_norm") && error.contains("without spending privacy"),
        "{error}"
    );
    let bounds = RowBounds::features(1.0).unwrap();
    let mut problem = Problem::new(Loss::Hinge { q: 2.5 }, bounds, 100, 3);
    assert!(
        problem.check().unwrap_err().to_string().contains("`q` must be between 1 and 2, got 2.5")
    );
    problem.loss = Loss::Logistic;
    problem.ridge = -1.0;
    assert!(problem.check().unwrap_err().to_string().contains("`ridge`"));
}
