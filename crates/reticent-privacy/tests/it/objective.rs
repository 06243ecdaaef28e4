//! The profile of objective perturbation against exact numerical integration, with records made to
//! break it.
//!
//! The map from the linear term `b` to the minimiser `θ` is one to one, so the released density is
//! known in closed form: the normal density at `b(θ) = −Σ∇l_i(θ) − Λθ`, times the determinant of
//! the Hessian. `δ(ε) = ∫ (p − e^ε p')_+` is then an integral in as many dimensions as there are
//! weights, and needs no sampling.
use reticent_privacy::objective::{Objective, epsilon_det, epsilon_det_softmax};
use reticent_privacy::{Adjacency, ObjectiveClass};

/// An allowance for the relative error of the midpoint rule.
const INTEGRAL: f64 = 1.0 + 1e-5;

/// A record's gradient and Hessian at a point.
type Record = Box<dyn Fn(&[f64]) -> (Vec<f64>, Vec<Vec<f64>>)>;

/// `φ(⟨x, θ⟩)` from `φ'` and `φ''`.
fn linear(x: &[f64], slope: impl Fn(f64) -> (f64, f64) + 'static) -> Record {
    let x = x.to_vec();
    Box::new(move |t: &[f64]| {
        let u: f64 = x.iter().zip(t).map(|(x, t)| x * t).sum();
        let (first, second) = slope(u);
        let hessian = x.iter().map(|a| x.iter().map(|b| second * a * b).collect()).collect();
        (x.iter().map(|x| first * x).collect(), hessian)
    })
}

fn logistic(x: &[f64], y: f64) -> Record {
    linear(x, move |u| {
        let s = 1.0 / (1.0 + (y * u).exp());
        (-y * s, s * (1.0 - s))
    })
}

/// Huber with threshold one around `c`, curvature `beta`.
fn huber(x: &[f64], c: f64, beta: f64) -> Record {
    linear(x, move |u| {
        let r = beta * (u - c);
        (r.clamp(-1.0, 1.0), if r.abs() < 1.0 { beta } else { 0.0 })
    })
}

/// Softmax with one feature of length one: as many weights as classes.
fn softmax(class: usize, classes: usize) -> Record {
    Box::new(move |t: &[f64]| {
        let top = t.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = t.iter().map(|t| (t - top).exp()).sum();
        let p: Vec<f64> = t.iter().map(|t| (t - top).exp() / sum).collect();
        let hessian = (0..classes)
            .map(|i| (0..classes).map(|j| p[i] * (if i == j { 1.0 } else { 0.0 } - p[j])).collect())
            .collect();
        let residual = (0..classes).map(|i| p[i] - if i == class { 1.0 } else { 0.0 }).collect();
        (residual, hessian)
    })
}

fn determinant(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut det = 1.0;
    for i in 0..n {
        // Positive definite: no pivoting.
        det *= a[i][i];
        let pivot = a[i].clone();
        for row in &mut a[i + 1..] {
            let f = row[i] / pivot[i];
            for (entry, above) in row.iter_mut().zip(&pivot) {
                *entry -= f * above;
            }
        }
    }
    det
}

/// `ln p(θ)` for records, ridge and deviation.
fn log_density(records: &[&Record], lambda: f64, sigma: f64, t: &[f64]) -> f64 {
    let d = t.len();
    let mut b: Vec<f64> = t.iter().map(|t| lambda * t).collect();
    let mut h: Vec<Vec<f64>> =
        (0..d).map(|i| (0..d).map(|j| if i == j { lambda } else { 0.0 }).collect()).collect();
    for record in records {
        let (g, hessian) = record(t);
        for i in 0..d {
            b[i] += g[i];
            for j in 0..d {
                h[i][j] += hessian[i][j];
            }
        }
    }
    let square: f64 = b.iter().map(|b| b * b).sum();
    determinant(h).ln()
        - square / (2.0 * sigma * sigma)
        - d as f64 * (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln()
}

/// `δ(ε)` of two lists of records in one or two dimensions, by the midpoint rule.
fn delta(
    one: &[&Record],
    other: &[&Record],
    lambda: f64,
    sigma: f64,
    epsilon: f64,
    dimension: usize,
) -> f64 {
    let pull = one.len().max(other.len()) as f64;
    within((9.0 * sigma + pull) / lambda, one, other, lambda, sigma, epsilon, dimension)
}

/// The part of it that weights of at most this size add.
fn within(
    reach: f64,
    one: &[&Record],
    other: &[&Record],
    lambda: f64,
    sigma: f64,
    epsilon: f64,
    dimension: usize,
) -> f64 {
    let points: usize = if dimension == 1 { 10_000 } else { 400 };
    let step = 2.0 * reach / points as f64;
    let at = |i: usize| -reach + (i as f64 + 0.5) * step;
    let mut sum = 0.0;
    let mut add = |t: &[f64]| {
        let p = log_density(one, lambda, sigma, t);
        let q = log_density(other, lambda, sigma, t);
        if p > epsilon + q {
            sum += p.exp() * -(epsilon + q - p).exp_m1();
        }
    };
    for i in 0..points {
        if dimension == 1 {
            add(&[at(i)]);
        } else {
            for j in 0..points {
                add(&[at(i), at(j)]);
            }
        }
    }
    sum * step.powi(dimension as i32)
}

fn objective(
    class: ObjectiveClass,
    epsilon_det: f64,
    sigma: f64,
    adjacency: Adjacency,
) -> Objective {
    Objective { class, epsilon_det, slope: 1.0 / sigma, output_mu: 0.0, adjacency }
}

#[test]
fn one_logistic_weight_stays_below_the_profile_and_comes_close() {
    let mut closest: f64 = 0.0;
    let (plus, minus) = (logistic(&[1.0], 1.0), logistic(&[1.0], -1.0));
    let crowd: Vec<Record> =
        (0..3).map(|i| logistic(&[0.7], if i == 0 { -1.0 } else { 1.0 })).collect();
    for lambda in [0.3, 1.0, 4.0] {
        for sigma in [0.7, 1.5, 4.0] {
            let mut with: Vec<&Record> = crowd.iter().collect();
            let mut without = with.clone();
            with.push(&plus);
            without.push(&minus);
            for epsilon in [0.3, 1.0, 2.0] {
                let det = epsilon_det(1.0, 0.25, lambda);
                for class in [ObjectiveClass::Monotone, ObjectiveClass::Logistic] {
                    let bound = objective(class, det, sigma, Adjacency::ReplaceOne);
                    let bound = bound.delta_upper(epsilon).unwrap();
                    let got = delta(&with, &without, lambda, sigma, epsilon, 1);
                    assert!(
                        got <= bound * INTEGRAL,
                        "{class:?} {lambda} {sigma} {epsilon}: {got} > {bound}"
                    );
                    let zero = objective(class, det, sigma, Adjacency::ZeroOut);
                    let zero = zero.delta_upper(epsilon).unwrap();
                    let base: Vec<&Record> = crowd.iter().collect();
                    for (a, b) in [(&with, &base), (&base, &with)] {
                        let got = delta(a, b, lambda, sigma, epsilon, 1);
                        assert!(
                            got <= zero * INTEGRAL,
                            "{class:?} {lambda} {sigma} {epsilon}: {got} > {zero}"
                        );
                        if class == ObjectiveClass::Logistic && zero < 0.1 {
                            closest = closest.max(got / zero);
                        }
                    }
                }
            }
        }
    }
    assert!(closest > 0.95, "the bound is nearly attained: {closest}");
}

#[test]
fn the_logistic_class_is_never_above_the_monotone_one_and_saves_the_curvature_term() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        for (det, sigma, epsilon) in [(0.2, 5.0, 2.0), (0.05, 20.0, 0.5), (0.5, 3.0, 1.0)] {
            let of = |class| objective(class, det, sigma, adjacency).delta_upper(epsilon).unwrap();
            let (sharp, plain) = (of(ObjectiveClass::Logistic), of(ObjectiveClass::Monotone));
            assert!(sharp <= plain * (1.0 + 1e-9), "{adjacency:?} {det}: {sharp:e} {plain:e}");
        }
    }
    let sigma = |class, det| {
        objective(class, det, 1.0, Adjacency::ReplaceOne).sigma_upper(1.0, 0.01, 2.0, 1e-6).unwrap()
    };
    let free = sigma(ObjectiveClass::Monotone, 1e-9);
    let (sharp, plain) =
        (sigma(ObjectiveClass::Logistic, 0.2), sigma(ObjectiveClass::Monotone, 0.2));
    assert!(sharp < 1.01 * free && plain > 1.08 * free, "{free} {sharp} {plain}");
}

#[test]
fn two_weights_stay_below_the_profile() {
    for angle in [0.0_f64, 1.0, 2.2, 3.1] {
        let (lambda, sigma, epsilon) = (0.8, 1.6, 1.0);
        let x = [1.0, 0.0];
        let y = [angle.cos(), angle.sin()];
        let common = logistic(&[0.6, 0.8], 1.0);
        let (a, b) = (logistic(&x, 1.0), logistic(&y, 1.0));
        let det = epsilon_det(1.0, 0.25, lambda);
        let bound = objective(ObjectiveClass::Logistic, det, sigma, Adjacency::ReplaceOne);
        let got = delta(&[&common, &a], &[&common, &b], lambda, sigma, epsilon, 2);
        assert!(got <= bound.delta_upper(epsilon).unwrap(), "logistic, angle {angle}: {got}");

        let (a, b) = (huber(&x, 0.4, 1.0), huber(&y, -0.9, 1.0));
        let det = epsilon_det(1.0, 1.0, lambda);
        let bound = objective(ObjectiveClass::TwoSided, det, sigma, Adjacency::ReplaceOne);
        let got = delta(&[&common, &a], &[&common, &b], lambda, sigma, epsilon, 2);
        assert!(got <= bound.delta_upper(epsilon).unwrap(), "huber, angle {angle}: {got}");
    }
    // Two classes and one feature: two weights, a subspace of one dimension.
    let (a, b) = (softmax(0, 2), softmax(1, 2));
    for (lambda, sigma, epsilon) in [(0.5, 2.0, 1.0), (2.0, 4.0, 0.5), (1.0, 1.0, 3.0)] {
        let det = epsilon_det_softmax(2.0, 1.0, lambda);
        let class = ObjectiveClass::Subspace { dimension: 1 };
        let bound = Objective {
            class,
            epsilon_det: det,
            slope: std::f64::consts::SQRT_2 / sigma,
            output_mu: 0.0,
            adjacency: Adjacency::ReplaceOne,
        };
        let got = delta(&[&a], &[&b], lambda, sigma, epsilon, 2);
        let bound = bound.delta_upper(epsilon).unwrap();
        assert!(got <= bound, "softmax {lambda} {sigma} {epsilon}: {got} > {bound}");
    }
}

/// A unit whose rows count the same.
fn unit(rows: Vec<Record>) -> Record {
    Box::new(move |t: &[f64]| {
        let share = 1.0 / rows.len() as f64;
        let (mut gradient, mut hessian) = (vec![0.0; t.len()], vec![vec![0.0; t.len()]; t.len()]);
        for row in &rows {
            let (g, h) = row(t);
            gradient.iter_mut().zip(&g).for_each(|(sum, g)| *sum += share * g);
            for (sums, h) in hessian.iter_mut().zip(&h) {
                sums.iter_mut().zip(h).for_each(|(sum, h)| *sum += share * h);
            }
        }
        (gradient, hessian)
    })
}

/// Units of several rows in two dimensions, replaced by others, or by none.
#[test]
fn units_of_several_rows_stay_below_their_profile() {
    let row = |angle: f64| [angle.cos(), angle.sin()];
    let common = logistic(&[0.6, 0.8], 1.0);
    let mut closest: f64 = 0.0;
    for (angle, lambda, sigma) in
        [(0.0, 0.8, 1.6), (0.8, 0.8, 4.0), (1.6, 2.0, 4.0), (3.1, 2.0, 1.6)]
    {
        for curved in [false, true] {
            let pair = |first: f64, pull: f64| {
                unit(if curved {
                    vec![huber(&row(first), 0.4, 0.25), huber(&row(first + angle), -pull, 0.25)]
                } else {
                    vec![
                        logistic(&row(first), pull),
                        logistic(&row(first + angle), pull),
                        logistic(&row(first + 2.0 * angle), -pull),
                    ]
                })
            };
            let (a, b) = (pair(0.0, 1.0), pair(1.1, -1.0));
            let det = epsilon_det(2.0, 0.125, lambda);
            let class = ObjectiveClass::Unit { dimension: 2, directions: 1, monotone: !curved };
            for epsilon in [0.6, 1.2] {
                let bound = |adjacency| {
                    objective(class, det, sigma, adjacency).delta_upper(epsilon).unwrap()
                };
                let whole = bound(Adjacency::ReplaceOneUnit);
                let got = delta(&[&common, &a], &[&common, &b], lambda, sigma, epsilon, 2);
                assert!(got <= whole * INTEGRAL, "{angle} {curved} {epsilon}: {got} > {whole}");
                let zero = bound(Adjacency::ZeroOutUnit);
                for (one, other) in
                    [(vec![&common, &a], vec![&common]), (vec![&common], vec![&common, &a])]
                {
                    let got = delta(&one, &other, lambda, sigma, epsilon, 2);
                    assert!(got <= zero * INTEGRAL, "{angle} {curved} {epsilon}: {got} > {zero}");
                    closest = closest.max(got / zero);
                }
            }
        }
    }
    assert!(closest > 0.01, "far below the bound everywhere: {closest}");
}

/// A broken copy that counts a unit's Hessian as that of one row: two rows at right angles bend in
/// two directions, and tell themselves apart by the determinant.
#[test]
fn a_unit_charged_as_one_row_is_caught() {
    let (lambda, sigma, epsilon) = (0.25, 20.0, 1.9);
    let a = unit(vec![huber(&[1.0, 0.0], 0.0, 1.0), huber(&[0.0, 1.0], 0.0, 1.0)]);
    let of = |class, det| objective(class, det, sigma, Adjacency::ZeroOutUnit);
    let got = within(2.0, &[&a], &[], lambda, sigma, epsilon, 2);
    let broken = of(ObjectiveClass::TwoSided, epsilon_det(1.0, 1.0, lambda));
    let claimed = broken.delta_upper(epsilon).unwrap();
    assert!(got > 100.0 * claimed, "{got:e} against a claim of {claimed:e}");
    let class = ObjectiveClass::Unit { dimension: 2, directions: 1, monotone: false };
    let honest = of(class, epsilon_det(2.0, 0.5, lambda));
    for epsilon in [epsilon, 2.3, 2.6] {
        let got = within(2.0, &[&a], &[], lambda, sigma, epsilon, 2);
        assert!(got <= honest.delta_upper(epsilon).unwrap(), "{epsilon}: {got:e}");
    }
}

/// Erratum: the printed rule `λ ≥ rβ/(2εn)`, `r = min(d, 2·rank)`, in one dimension.
#[test]
fn the_printed_ridge_leaks_and_ours_does_not() {
    let (epsilon, target): (f64, f64) = (0.1, 1e-8);
    let printed = (32.0 * (1.0 / target).ln()).sqrt() / epsilon;
    let worst = |lambda: f64, sigma: f64, fine: usize| {
        let straight = linear(&[1.0], |_| (-1.0, 0.0));
        let reach = 8.0 * sigma / lambda;
        (0..=fine)
            .map(|i| {
                let c = reach * (2.0 * i as f64 / fine as f64 - 1.0);
                let bent = huber(&[1.0], c, 1.0);
                let there = delta(&[&bent], &[&straight], lambda, sigma, epsilon, 1);
                there.max(delta(&[&straight], &[&bent], lambda, sigma, epsilon, 1))
            })
            .fold(0.0, f64::max)
    };
    // Λ = 2nλ = β/ε with r = 1.
    let leak = worst(1.0 / epsilon, printed, 80);
    assert!(leak > 2e-5, "the printed rule promises {target:e} and leaks {leak:e}");
    for share in [0.1, 0.5, 0.9] {
        // Λ from ε_det = share·ε.
        let lambda = 1.0 / (share * epsilon).exp_m1();
        let det = epsilon_det(1.0, 1.0, lambda);
        let ours = objective(ObjectiveClass::TwoSided, det, 1.0, Adjacency::ReplaceOne);
        let sigma = ours.sigma_upper(1.0, 0.0, epsilon, target).unwrap();
        let got = worst(lambda, sigma, 48);
        assert!(got <= target, "ours at {share}: {got:e}");
    }
}

/// Copies of the theorem with a part left out, which the integral must catch.
#[test]
fn broken_copies_are_caught() {
    // Half the noise.
    let plus = logistic(&[1.0], 1.0);
    let (epsilon, target) = (2.0, 1e-4);
    let det = epsilon_det(1.0, 0.25, 1.0);
    let honest = objective(ObjectiveClass::Logistic, det, 1.0, Adjacency::ZeroOut);
    let sigma = honest.sigma_upper(1.0, 0.0, epsilon, target).unwrap();
    // A row that is missing is told from one that pulls: the other way round the pull fades where
    // it would show.
    let spent = |sigma| delta(&[], &[&plus], 1.0, sigma, epsilon, 1);
    assert!(spent(sigma) <= target * INTEGRAL);
    assert!(spent(0.5 * sigma) > target, "half the noise");

    // No ridge to speak of, while the curvature term is counted as if it were there.
    let (flat, bent) = (linear(&[1.0], |_| (0.0, 0.0)), huber(&[1.0], 0.0, 1.0));
    let honest = objective(
        ObjectiveClass::TwoSided,
        epsilon_det(1.0, 1.0, 20.0),
        1.0,
        Adjacency::ReplaceOne,
    );
    let sigma = honest.sigma_upper(1.0, 0.0, epsilon, target).unwrap();
    assert!(delta(&[&bent], &[&flat], 20.0, sigma, epsilon, 1) <= target);
    assert!(delta(&[&bent], &[&flat], 0.02, sigma, epsilon, 1) > target, "missing ridge");

    // Rank one instead of K − 1: the determinant of many classes at equal weights.
    let (classes, lambda) = (20_usize, 0.05);
    let p = 1.0 / classes as f64;
    let hessian = (0..classes)
        .map(|i| {
            let entry =
                |j| lambda * f64::from(u8::from(i == j)) + p * (f64::from(u8::from(i == j)) - p);
            (0..classes).map(entry).collect()
        })
        .collect();
    let exact = determinant(hessian).ln() - classes as f64 * f64::ln(lambda);
    let ours = epsilon_det_softmax(classes as f64, 1.0, lambda);
    assert!((exact / ours - 1.0).abs() < 1e-9, "attained: {exact} {ours}");
    assert!(exact > 3.0 * epsilon_det(1.0, 0.5, lambda), "missing rank factor");
}

/// The exact log-ratio of random softmax neighbours against its bound, draw by draw.
#[test]
fn the_loss_of_every_draw_is_below_its_bound() {
    let (classes, features, lambda, sigma) = (3, 2, 1.0, 2.0_f64);
    let mut state = 88_172_645_463_325_252_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let record = |x: [f64; 2], class: usize| -> Record {
        Box::new(move |t: &[f64]| {
            let m: Vec<f64> = (0..classes).map(|k| t[2 * k] * x[0] + t[2 * k + 1] * x[1]).collect();
            let (g, h) = softmax(class, classes)(&m);
            let d = classes * features;
            let gradient = (0..d).map(|i| g[i / 2] * x[i % 2]).collect();
            let hessian = (0..d)
                .map(|i| (0..d).map(|j| h[i / 2][j / 2] * x[i % 2] * x[j % 2]).collect())
                .collect();
            (gradient, hessian)
        })
    };
    let mut tightest = f64::NEG_INFINITY;
    for _ in 0..300 {
        let mut unit = || {
            let angle = std::f64::consts::TAU * uniform();
            [angle.cos(), angle.sin()]
        };
        let rows: Vec<[f64; 2]> = (0..5).map(|_| unit()).collect();
        let common: Vec<Record> = (0..3).map(|i| record(rows[i], i)).collect();
        let (old, new) = (record(rows[3], 0), record(rows[4], 1));
        let theta: Vec<f64> = (0..6).map(|_| 4.0 * uniform() - 2.0).collect();
        let list = |last| common.iter().chain([last]).collect::<Vec<&Record>>();
        let ratio = log_density(&list(&old), lambda, sigma, &theta)
            - log_density(&list(&new), lambda, sigma, &theta);
        // b, and its part in the span of the two rows for each class: with two features that is all
        // of it but the mean direction of the classes.
        let mut b: Vec<f64> = theta.iter().map(|t| lambda * t).collect();
        for record in list(&old) {
            record(&theta).0.iter().zip(&mut b).for_each(|(g, b)| *b += g);
        }
        let mean = [(b[0] + b[2] + b[4]) / 3.0, (b[1] + b[3] + b[5]) / 3.0];
        let s = b.iter().enumerate().map(|(i, b)| (b - mean[i % 2]).powi(2)).sum::<f64>().sqrt();
        let step = 2.0 * std::f64::consts::SQRT_2;
        let bound = epsilon_det_softmax(3.0, 1.0, lambda)
            + (2.0 * step * s + step * step) / (2.0 * sigma * sigma);
        assert!(ratio <= bound, "{ratio} > {bound}");
        tightest = tightest.max(ratio / bound);
    }
    assert!(tightest > 0.1, "not far too large: {tightest}");
}
