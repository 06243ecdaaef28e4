use reticent_privacy::{pair::Pair, pld::Composition};
#[test]
fn quick() {
    for v in reticent_testkit::vectors::load("accounting") {
        if v.formula != "pld_eps" {
            continue;
        }
        let adj = v.inputs["adjacency"].as_str().unwrap();
        let samp = v.inputs["sampling"].as_str().unwrap();
        let (q, s, t, d) =
            (v.number("rate"), v.number("sigma"), v.number("steps") as u64, v.number("delta"));
        let pair = match (adj, samp) {
            ("add_remove", "poisson") => Pair::PoissonRemove { rate: q, mu: 1.0 / s },
            ("add_remove", _) => Pair::PoissonRemove { rate: q, mu: 2.0 / s },
            ("replace", "poisson") => Pair::PoissonReplace { rate: q, mu: 1.0 / s },
            _ => Pair::FixedReplace { rate: q, mu: 2.0 / s },
        };
        let c = Composition::new([(pair, t)]);
        let mut best = 1e9f64;
        let mut e = 0.0;
        for _ in 0..5 {
            let now = std::time::Instant::now();
            e = c.epsilon_upper(d);
            best = best.min(now.elapsed().as_secs_f64() * 1e3);
        }
        let back = c.delta_upper(e);
        let now = std::time::Instant::now();
        let ea = if c.is_symmetric() { 0.0 } else { c.reversed().epsilon_upper(d) };
        let ta = now.elapsed().as_secs_f64() * 1e3;
        let now = std::time::Instant::now();
        let lo = c.epsilon_lower(d);
        let tl = now.elapsed().as_secs_f64() * 1e3;
        let dl = c.delta_lower(e * 0.99999);
        print!("low {lo:.6} gap {:.1e} {tl:.1} ms dl {:.5} ", e / lo - 1.0, dl / d);
        println!(
            "{adj:10} {samp:10} q={q:.5} s={s} T={t} d={d:e} eps={e:.7} want={} rel={:+.2e} {best:.3} ms | delta back ratio {:.6} | add {ea:.6} {ta:.2} ms",
            v.expected,
            e / v.expected.as_f64().unwrap() - 1.0,
            back / d
        );
    }
}
