//! dbg
use reticent_privacy::{pair::Pair, pld::Composition};
#[test]
fn dbg() {
    let c = Composition::new([(
        Pair::FixedReplace { rate: 8.277003200461166e-6, mu: 2.0 / 1.7132845282350735 },
        33639,
    )]);
    let d = 1.9534573206804545e-30;
    let e = c.epsilon_upper(d);
    println!("{e} {:e} {:e}", c.delta_upper(e), c.epsilon_lower(d));
}
