//! Every set against the conditions that define its projection, its support function, its gauge and
//! its width.
use proptest::prelude::*;
use reticent_problem::geometry::{Domain, lp_norm, project_onto_lp_ball};
use reticent_problem::{Loss, Problem, RowBounds};

/// The sets in this dimension, of size `r`.
fn sets(d: usize, r: f64) -> Vec<Domain> {
    let low = (0..d).map(|j| -r * (1.0 + j as f64) / d as f64).collect();
    let high = (0..d).map(|j| if j % 3 == 0 { 0.0 } else { r / (1.0 + j as f64) }).collect();
    let sizes = if d == 1 { vec![1] } else { vec![1, d - 1] };
    let weights = Some(sizes.iter().map(|&s| (s as f64).sqrt() * 0.7).collect());
    let lp = |p| Domain::Lp { p, radius: r, dimension: d };
    vec![
        Domain::Ball { radius: r },
        Domain::L1 { radius: r },
        lp(1.01),
        lp(1.2),
        lp(1.5),
        lp(1.9),
        lp(2.0),
        lp(3.0),
        lp(8.0),
        Domain::Simplex { total: r },
        Domain::Box { low, high },
        Domain::Box { low: vec![-r; d], high: vec![r; d] },
        Domain::Group { radius: r, sizes: sizes.clone(), weights: None },
        Domain::Group { radius: r, sizes: sizes.clone(), weights },
        Domain::Product { radius: r, sizes },
    ]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn projected(set: &Domain, v: &[f64]) -> Vec<f64> {
    let mut w = v.to_vec();
    set.project(&mut w);
    w
}

/// How far `w` is outside, in units of the set's size.
fn outside(set: &Domain, w: &[f64]) -> f64 {
    match set {
        Domain::Simplex { total } => {
            let negative = w.iter().fold(0.0_f64, |m, x| m.max(-x));
            ((w.iter().sum::<f64>() - total).abs() / total).max(negative / total)
        }
        Domain::Box { low, high } => w
            .iter()
            .zip(low.iter().zip(high))
            .fold(0.0_f64, |m, (x, (low, high))| m.max(low - x).max(x - high)),
        _ => set.gauge(w).unwrap() - 1.0,
    }
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![
        4 => -3.0..3.0_f64,
        1 => Just(0.0),
        1 => (-9.0..9.0_f64, any::<bool>()).prop_map(|(e, s)| if s { 10_f64.powf(e) } else { -10_f64.powf(e) }),
    ];
    prop::collection::vec(entry, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// `x` is the projection of `v` if and only if it lies in the set and `⟨v − x, z − x⟩ ≤ 0` for
    /// every point `z` of it; the largest value of the left side is the support function's.
    #[test]
    fn the_projection_is_the_nearest_point(v in vector(), r in 0.01..20.0_f64) {
        for set in sets(v.len(), r) {
            let x = projected(&set, &v);
            prop_assert!(outside(&set, &x) <= 1e-12, "{set:?} {v:?} {x:?}");
            let away = minus(&v, &x);
            let gap = set.support(&away) - dot(&away, &x);
            let scale = lp_norm(&away, 2.0) * (set.radius() + lp_norm(&v, 2.0));
            prop_assert!(gap <= 1e-12 * scale, "{set:?} {v:?} {x:?}: {gap}");
        }
    }

    #[test]
    fn projecting_twice_changes_nothing_and_projecting_two_points_brings_them_no_further_apart(
        v in vector(),
        u in prop::collection::vec(-3.0..3.0_f64, 12),
        r in 0.01..20.0_f64,
    ) {
        let u = &u[..v.len()];
        for set in sets(v.len(), r) {
            let x = projected(&set, &v);
            let again = projected(&set, &x);
            prop_assert!(lp_norm(&minus(&x, &again), 2.0) <= 1e-13 * set.radius(), "{set:?}");
            let y = projected(&set, u);
            let (before, after) = (lp_norm(&minus(&v, u), 2.0), lp_norm(&minus(&x, &y), 2.0));
            prop_assert!(after <= before * (1.0 + 1e-9) + 1e-13 * set.radius(), "{set:?}");
        }
    }

    /// The rounding of a projection is within the algorithms' charge for it.
    #[test]
    fn points_in_the_set_and_huge_or_tiny_points_are_served(
        v in vector(),
        size in prop_oneof![Just(1e-300), Just(1e-200), Just(1e-30), Just(1e30), Just(1e200), Just(1e300)],
    ) {
        let largest = lp_norm(&v, f64::INFINITY);
        prop_assume!(largest > 0.0);
        let huge: Vec<f64> = v.iter().map(|x| x / largest * size).collect();
        for set in sets(v.len(), 1.0) {
            let x = projected(&set, &huge);
            prop_assert!(x.iter().all(|x| x.is_finite()) && outside(&set, &x) <= 1e-12, "{set:?} {x:?}");
            // In the direction of v the set ends at its support function, and the limit is
            // attained.
            if size > 1e20 {
                let unit: Vec<f64> = huge.iter().map(|x| x / size).collect();
                let attained = dot(&unit, &x);
                prop_assert!((attained - set.support(&unit)).abs() <= 1e-6, "{set:?} {v:?} {x:?}");
            } else if !matches!(set, Domain::Simplex { .. } | Domain::Box { .. }) {
                prop_assert_eq!(x, huge.clone(), "{:?}", set);
            }
        }
    }

    #[test]
    fn radii_bound_every_point_and_are_attained(v in vector(), r in 0.1..5.0_f64) {
        let d = v.len();
        for set in sets(d, r) {
            let x = projected(&set, &v);
            for p in [1.0, 1.3, 2.0, 4.0, f64::INFINITY] {
                prop_assert!(lp_norm(&x, p) <= set.norm_radius(p, d) * (1.0 + 1e-12), "{set:?} {p}");
                let y = projected(&set, &v.iter().rev().map(|x| 3.0 - x).collect::<Vec<_>>());
                let apart = lp_norm(&minus(&x, &y), p);
                prop_assert!(apart <= set.norm_diameter(p, d) * (1.0 + 1e-12) + 1e-15, "{set:?} {p}");
            }
            prop_assert!((set.radius() - set.norm_radius(2.0, d)).abs() <= 1e-12 * set.radius());
            // A point nearer to zero than the border is inside.
            let inner = set.inner_radius(d);
            let length = lp_norm(&v, 2.0);
            if inner > 0.0 && length > 0.0 {
                let near: Vec<f64> = v.iter().map(|x| x / length * inner * 0.999).collect();
                prop_assert!(outside(&set, &near) <= 0.0, "{set:?} {near:?}");
            }
        }
    }
}

/// The largest norms are those of known extreme points.
#[test]
fn the_largest_norm_is_that_of_an_extreme_point() {
    let lp = |p, dimension| Domain::Lp { p, radius: 2.0, dimension };
    assert_eq!(Domain::L1 { radius: 2.0 }.radius(), 2.0);
    assert_eq!(lp(1.5, 9).radius(), 2.0);
    assert!((lp(4.0, 16).radius() - 2.0 * 2.0).abs() < 1e-14);
    assert!((lp(4.0, 16).norm_radius(1.0, 16) - 2.0 * 8.0).abs() < 1e-13);
    assert!((Domain::Ball { radius: 2.0 }.norm_radius(1.0, 9) - 6.0).abs() < 1e-14);
    let group = Domain::Group { radius: 3.0, sizes: vec![1, 4], weights: Some(vec![1.0, 2.0]) };
    assert!((group.radius() - 3.0).abs() < 1e-15);
    assert!((group.norm_radius(1.0, 5) - 3.0).abs() < 1e-15);
    let product = Domain::Product { radius: 3.0, sizes: vec![1, 4, 2] };
    assert!((product.radius() - 27.0_f64.sqrt()).abs() < 1e-14);
    assert!((product.inner_radius(7) - 3.0).abs() < 1e-15);
    assert!((Domain::Simplex { total: 2.0 }.norm_diameter(1.0, 3) - 4.0).abs() < 1e-15);
    assert!((Domain::L1 { radius: 2.0 }.inner_radius(4) - 1.0).abs() < 1e-15);
    // The nearest point of the l_p sphere, p > 2, is a vertex; for p < 2 the diagonal.
    assert!((lp(4.0, 16).inner_radius(16) - 2.0).abs() < 1e-15);
    assert!((lp(1.5, 64).inner_radius(64) - 2.0 * 64_f64.powf(0.5 - 2.0 / 3.0)).abs() < 1e-14);
}

/// In two dimensions the nearest point is found by walking along the border.
#[test]
fn the_lp_projection_is_what_a_walk_along_the_border_finds() {
    for p in [1.1, 1.5, 3.0, 6.0] {
        for v in [[2.0, 0.7], [0.4, -3.0], [1.0, 1.0], [5.0, 1e-9]] {
            let mut x = v;
            project_onto_lp_ball(&mut x, p, 0.8);
            let distance = |t: f64| {
                let q: [f64; 2] = [0.8 * t.cos().powf(2.0 / p), 0.8 * t.sin().powf(2.0 / p)];
                (q[0] - v[0].abs()).hypot(q[1] - v[1].abs())
            };
            let steps = 400_000;
            let best = (0..=steps)
                .map(|i| distance(f64::from(i) / f64::from(steps) * std::f64::consts::FRAC_PI_2))
                .fold(f64::INFINITY, f64::min);
            let got = (x[0] - v[0]).hypot(x[1] - v[1]);
            assert!(got <= best + 1e-9 && got >= best - 1e-6, "{p} {v:?}: {got} {best}");
        }
    }
}

/// A generator for statistics: uniform by a linear congruence, normal by Box and Muller.
struct Normals(u64);

impl Normals {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn fill(&mut self, v: &mut [f64]) {
        for x in v {
            let (a, b) = (self.uniform(), self.uniform());
            *x = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
        }
    }
}

/// 40,000 draws of each of 30 widths: a false alarm at four standard errors in one run of 500.
#[test]
fn widths_are_the_mean_of_the_support_function() {
    let mut normals = Normals(11);
    for d in [3, 20] {
        for set in sets(d, 1.3) {
            if matches!(set, Domain::Lp { p, .. } if p < 1.03) {
                continue; // an upper bound, tested below
            }
            let draws = 40_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            let mut g = vec![0.0; d];
            for _ in 0..draws {
                normals.fill(&mut g);
                let h = set.support(&g);
                sum += h;
                squares += h * h;
            }
            let mean = sum / f64::from(draws);
            let error = ((squares / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt();
            let width = set.width(d);
            assert!((mean - width).abs() <= 4.0 * error, "{set:?} {d}: {mean} ± {error}, {width}");
        }
    }
}

#[test]
fn widths_agree_where_sets_do() {
    for d in [1, 2, 10, 300, 5000] {
        let lp = |p| Domain::Lp { p, radius: 2.0, dimension: d };
        let ball = Domain::Ball { radius: 2.0 }.width(d);
        assert!((lp(2.0).width(d) / ball - 1.0).abs() < 1e-8, "{d}");
        let one = Domain::Group { radius: 2.0, sizes: vec![d], weights: None };
        assert!((one.width(d) / ball - 1.0).abs() < 1e-8, "{d}");
        let l1 = Domain::L1 { radius: 2.0 }.width(d);
        let single = Domain::Group { radius: 2.0, sizes: vec![1; d], weights: None };
        assert!((single.width(d) / l1 - 1.0).abs() < 1e-8, "{d}");
        assert!(Domain::Simplex { total: 2.0 }.width(d) <= l1);
        // Larger sets are wider; the bounds for extreme exponents bound.
        assert!(l1 <= lp(1.01).width(d) * (1.0 + 1e-12));
        assert!(lp(1.01).width(d) <= lp(1.03).width(d) * 1.2);
        assert!(lp(80.0).width(d) >= lp(40.0).width(d) * (1.0 - 1e-9));
    }
}

#[test]
fn a_set_that_is_none_is_refused() {
    let problem = |domain| Problem {
        domain,
        ..Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 10, 3)
    };
    let refuse = |domain| problem(domain).check().unwrap_err().to_string();
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refuse(Domain::L1 { radius }).contains("`radius`"));
        assert!(refuse(Domain::Simplex { total: radius }).contains("`radius`"));
        assert!(refuse(Domain::Lp { p: 1.5, radius, dimension: 3 }).contains("`radius`"));
        assert!(refuse(Domain::Product { radius, sizes: vec![1, 2] }).contains("`radius`"));
    }
    for p in [0.5, 1.0, 1.0 + 1e-9, 100.0, 1000.0] {
        assert!(refuse(Domain::Lp { p, radius: 1.0, dimension: 3 }).contains("`p` must be"));
    }
    assert!(refuse(Domain::Lp { p: 3.0, radius: 1e-9, dimension: 3 }).contains("`radius` must be"));
    assert!(refuse(Domain::Lp { p: 1.5, radius: 1.0, dimension: 4 }).contains("`dimension`"));
    let sides = |low: f64, high: f64| Domain::Box { low: vec![low; 3], high: vec![high; 3] };
    assert!(refuse(sides(0.5, 1.0)).contains("`low` must be a finite number <= 0, got 0.5"));
    assert!(refuse(sides(-1.0, -0.5)).contains("`high` must be a finite number >= 0"));
    assert!(refuse(sides(0.0, 0.0)).contains("`high` must be above"));
    assert!(
        refuse(Domain::Box { low: vec![-1.0], high: vec![1.0] }).contains("`low` must be as many")
    );
    let group = |sizes, weights| Domain::Group { radius: 1.0, sizes, weights };
    assert!(refuse(group(vec![1, 1], None)).contains("add up to the number of weights, got 2"));
    assert!(refuse(group(vec![3, 0], None)).contains("`groups`"));
    assert!(refuse(group(vec![1, 2], Some(vec![1.0]))).contains("one for each group"));
    assert!(refuse(group(vec![1, 2], Some(vec![1.0, 0.0]))).contains("`group_weights`"));
    for set in sets(3, 1.0) {
        problem(set).check().unwrap();
    }
}

#[test]
fn a_set_survives_a_file() {
    for set in sets(5, 0.3) {
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<Domain>(&json).unwrap(), set, "{json}");
    }
}
