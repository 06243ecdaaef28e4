//! dbg
use reticent_privacy::{pair::Pair, pld::Composition};
#[test]
fn dbg() {
    for tol in [1e-3, 3e-5, 1e-6] {
        let c = Composition::new([(
            Pair::PoissonRemove { rate: 5.4459371893148216e-5, mu: 2.0 / 1.4957942615884399 },
            352,
        )])
        .with_tolerance(tol);
        println!(
            "   {tol} {:e} low {:e}",
            c.epsilon_upper(4.252411177025779e-9),
            c.epsilon_lower(4.252411177025779e-9)
        );
    }
    let c = Composition::new([(
        Pair::PoissonAdd { rate: 0.0021391072793271776, mu: 7.676315064005894 },
        2,
    )]);
    println!(
        "{:e} {:e}",
        c.epsilon_upper(1.8651237982632308e-11),
        c.epsilon_lower(1.8651237982632308e-11)
    );
}
