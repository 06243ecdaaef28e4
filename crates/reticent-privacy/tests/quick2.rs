use reticent_privacy::{pair::Pair, pld::Composition};
#[test]
fn quick2() {
    for (q, s, t, d) in [(0.001, 0.6, 10000, 1e-6), (0.01, 1.0, 1000, 1e-5)] {
        for tol in [1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6] {
            let c = Composition::new([(Pair::PoissonRemove { rate: q, mu: 1.0 / s }, t)])
                .with_tolerance(tol);
            let now = std::time::Instant::now();
            let e = c.epsilon_upper(d);
            println!("{q} {s} tol {tol:e} eps {e:.7} {:.2} ms", now.elapsed().as_secs_f64() * 1e3);
        }
    }
}
