//! Mirror maps against their definition: strong convexity, the inverse, and the condition for a
//! least point.
use proptest::prelude::*;
use reticent_problem::geometry::{Domain, MirrorMap, dual_exponent, lp_norm};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn gradient(map: MirrorMap, w: &[f64]) -> Vec<f64> {
    let mut into = vec![0.0; w.len()];
    map.gradient(w, &mut into);
    into
}

fn vector(d: usize) -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![
        4 => -3.0..3.0_f64,
        1 => Just(0.0),
        1 => (-4.0..4.0_f64).prop_map(|e| 10_f64.powf(e)),
    ];
    prop::collection::vec(entry, d)
}

/// `2 (Φ(x+y) − Φ(x) − ⟨∇Φ(x), y⟩)` over `‖y‖_p²`: at least one for a strongly convex map.
fn convexity(map: MirrorMap, p: f64, x: &[f64], y: &[f64]) -> f64 {
    let sum: Vec<f64> = x.iter().zip(y).map(|(x, y)| x + y).collect();
    let gap = map.value(&sum) - map.value(x) - dot(&gradient(map, x), y);
    2.0 * gap / lp_norm(y, p).powi(2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_map_is_strongly_convex_for_its_norm(x in vector(20), y in vector(20)) {
        prop_assume!(y.iter().any(|y| *y != 0.0));
        for p in [1.0, 1.05, 1.5, 1.9, 2.0] {
            let got = convexity(MirrorMap::new(p, 20), p, &x, &y);
            // Rounding of values as large as Φ(x) is no violation.
            let slack = 1e-12 * MirrorMap::new(p, 20).value(&x) / lp_norm(&y, p).powi(2);
            prop_assert!(got >= 0.9999 - slack, "p = {p}: {got}");
        }
    }

    #[test]
    fn the_inverse_gradient_inverts(w in vector(20), size in prop_oneof![Just(1.0), Just(1e-150), Just(1e150)]) {
        let w: Vec<f64> = w.iter().map(|w| w * size).collect();
        for p in [1.0, 1.05, 1.5, 1.9, 2.0] {
            let map = MirrorMap::new(p, 20);
            let mut back = vec![0.0; 20];
            map.inverse_gradient(&gradient(map, &w), &mut back);
            for (a, b) in w.iter().zip(&back) {
                prop_assert!((a - b).abs() <= 1e-10 * a.abs(), "p = {p}: {a} {b}");
            }
        }
    }

    /// `w` is least if and only if it lies in the set and `⟨θ − ∇Φ(w), z − w⟩ ≤ 0` for every point
    /// `z`; the largest left side is the support function's.
    #[test]
    fn the_argmin_is_least(theta in vector(6), other in vector(6), r in 0.05..5.0_f64, p in 1.0..2.0_f64) {
        let sets = [
            Domain::Unbounded,
            Domain::L1 { radius: r },
            Domain::Ball { radius: r },
            Domain::Lp { p: 1.3, radius: r, dimension: 6 },
            Domain::Lp { p: 4.0, radius: r, dimension: 6 },
            Domain::Lp { p: p.max(1.001), radius: r, dimension: 6 },
            Domain::Simplex { total: r },
            Domain::Box { low: vec![-r, 0.0, -r, -2.0 * r, -r, -0.1], high: vec![r, r, 0.0, r, 0.3, r] },
        ];
        for map in [MirrorMap::new(p, 6), MirrorMap { r: 3.5, kappa: 2.0 }, MirrorMap { r: 9.0, kappa: 20.0 }] {
            for set in &sets {
                prop_assert!(map.serves(set));
                let mut w = vec![0.0; 6];
                map.argmin(set, &theta, &mut w);
                let mut inside = w.clone();
                set.project(&mut inside);
                let moved: Vec<f64> = w.iter().zip(&inside).map(|(a, b)| a - b).collect();
                prop_assert!(lp_norm(&moved, 2.0) <= 1e-9 * r, "{set:?} {w:?} {inside:?}");
                if matches!(set, Domain::Unbounded) {
                    continue;
                }
                let away: Vec<f64> =
                    theta.iter().zip(gradient(map, &w)).map(|(t, g)| t - g).collect();
                let gap = set.support(&away) - dot(&away, &w);
                let scale = lp_norm(&away, 2.0) * set.radius() + map.value(&w) + 1e-12;
                prop_assert!(gap <= 1e-7 * scale, "{map:?} {set:?} {theta:?} {w:?}: {gap}");
                // And by comparison with another point of the set.
                let mut z = other.clone();
                set.project(&mut z);
                let at = |w: &[f64]| map.value(w) - dot(&theta, w);
                prop_assert!(at(&w) <= at(&z) + 1e-9 * (1.0 + at(&z).abs()), "{map:?} {set:?}");
            }
        }
    }

    #[test]
    fn a_euclidean_map_projects_onto_every_set(theta in vector(5), r in 0.05..5.0_f64) {
        let map = MirrorMap::new(2.0, 5);
        prop_assert_eq!((map.r, map.kappa), (2.0, 1.0));
        for set in [
            Domain::Group { radius: r, sizes: vec![2, 3], weights: None },
            Domain::Product { radius: r, sizes: vec![2, 3] },
        ] {
            let (mut w, mut projected) = (vec![0.0; 5], theta.clone());
            map.argmin(&set, &theta, &mut w);
            set.project(&mut projected);
            for (a, b) in w.iter().zip(&projected) {
                prop_assert!((a - b).abs() <= 1e-14 * r.max(b.abs()));
            }
        }
    }
}

#[test]
fn huge_and_tiny_arguments_stay_in_the_set() {
    let map = MirrorMap { r: 9.0, kappa: 20.0 };
    for size in [1e-300, 1e-20, 1e20, 1e300] {
        let theta = [size, -0.3 * size, 0.0, 0.999_999_999 * size];
        for set in [
            Domain::L1 { radius: 0.5 },
            Domain::Simplex { total: 0.5 },
            Domain::Lp { p: 1.2, radius: 0.5, dimension: 4 },
            Domain::Box { low: vec![-0.5; 4], high: vec![0.5; 4] },
        ] {
            let mut w = vec![0.0; 4];
            map.argmin(&set, &theta, &mut w);
            let mut inside = w.clone();
            set.project(&mut inside);
            assert!(
                w.iter().zip(&inside).all(|(a, b)| (a - b).abs() < 1e-12),
                "{size} {set:?} {w:?}"
            );
            if size > 1.0 {
                let best = set.support(&theta.map(|t| t / size));
                assert!(dot(&theta.map(|t| t / size), &w) > 0.9 * best, "{size} {set:?} {w:?}");
            }
        }
    }
}

/// The exponent printed in the paper is the dual of κ, not of r; with it the map is not strongly
/// convex.
#[test]
fn the_printed_exponent_is_not_strongly_convex() {
    let d = 200;
    let mut state = 5_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let p = 1.8;
    let kappa: f64 = 1.0 / (p - 1.0);
    // Φ = (κ/2)‖·‖² in the exponent κ/(κ−1) = 1/(2−p) = 5: the map with r = 5/4.
    let printed = MirrorMap { r: kappa, kappa };
    assert!((printed.p_tilde() - 5.0).abs() < 1e-12);
    let ours = MirrorMap::new(p, d);
    let (mut worst, mut least) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..500 {
        let x: Vec<f64> = (0..d).map(|_| uniform() - 0.5).collect();
        let y: Vec<f64> = (0..d).map(|_| uniform() - 0.5).collect();
        worst = worst.min(convexity(printed, p, &x, &y));
        least = least.min(convexity(ours, p, &x, &y));
    }
    assert!(worst < 0.1, "{worst}");
    assert!(least >= 0.9999, "{least}");
}

#[test]
fn the_exponent_makes_kappa_least() {
    for d in [2, 7, 8, 100, 10_000] {
        for p in [1.0, 1.01, 1.2, 1.7, 2.0] {
            let (map, q) = (MirrorMap::new(p, d), dual_exponent(p));
            for i in 0..2000 {
                let r = 2.0 + f64::from(i) * 0.02;
                if r <= q {
                    let kappa = reticent_problem::geometry::dual_smoothness(r, q, d);
                    assert!(map.kappa <= kappa * (1.0 + 1e-12), "d = {d}, p = {p}, r = {r}");
                }
            }
        }
    }
}
