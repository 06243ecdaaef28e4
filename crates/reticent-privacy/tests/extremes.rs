//! Numbers at the ends of their ranges: a bound must stay one there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reticent_privacy::rdp::{rdp_laplace, rdp_poisson, rdp_poisson_replace};
use reticent_privacy::{Adjacency, Event, delta_upper, epsilon_lower, epsilon_upper, gaussian};

const ADJACENCY: Adjacency = Adjacency::ReplaceOne;

fn poisson(sample_rate: f64, noise_multiplier: f64, steps: u64) -> Event {
    Event::PoissonGaussian { sample_rate, noise_multiplier, steps, adjacency: ADJACENCY }
}

#[test]
fn more_steps_than_a_counter_holds_are_not_free() {
    let many =
        |times| Event::Repeated { event: Box::new(poisson(1e-10, 1.0, 1_000_000_000)), times };
    let mut events = vec![many(1_000_000_000); 18];
    let before = epsilon_upper(&Event::Composed(events.clone()), 1e-5).unwrap();
    // Together 2^64 and a little.
    events.push(many(446_744_074));
    let after = epsilon_upper(&Event::Composed(events), 1e-5).unwrap();
    assert!(after >= 4.0, "{after}, and {before} before");
}

#[test]
fn a_rate_near_one_is_no_cheaper_than_all_rows() {
    // With all rows the curve is 2·order/sigma²; leaving out a row in a billion changes nothing that shows.
    for (sigma, order) in [(3.0, 20.0), (3.0, 60.0), (10.0, 200.0), (100.0, 2500.5)] {
        let whole = 2.0 * order / (sigma * sigma);
        let got = rdp_poisson_replace(order, 1.0 - 1e-9, sigma).unwrap();
        assert!((got / whole - 1.0).abs() < 1e-2, "sigma {sigma}, order {order}: {got} {whole}");
    }
}

#[test]
fn what_is_added_to_a_list_does_not_make_it_cheaper() {
    let one = poisson(0.999_999_999, 3.0, 1);
    let alone = epsilon_lower(&one, 1e-300).unwrap();
    assert!((alone - 24.8473).abs() < 1e-3, "{alone}"); // by quadrature with forty digits
    let two = vec![one, Event::Zcdp { rho: 1e-9, adjacency: ADJACENCY }];
    let both = epsilon_upper(&Event::Composed(two), 1e-300).unwrap();
    assert!(both >= alone, "{both} {alone}");
}

#[test]
fn almost_no_noise_costs_almost_everything() {
    // ε with δ = 1e-5 is mu²/2 + 4.2648…·mu for so large a mu; computed with sixty digits.
    let epsilon = gaussian::epsilon_upper(1e10, 1e-5).unwrap();
    assert!((5.000_000_004_264_89e19..5.000_001e19).contains(&epsilon), "{epsilon}");
    assert!(gaussian::delta_upper(4.999_999_978_182_919e19, 1e10) > 0.999);
    let noise = 1.0 / gaussian::mu_lower(1e18, 1e-12).unwrap();
    assert!((7.071_067_847_0e-10..7.072e-10).contains(&noise), "{noise}");
}

#[test]
fn an_infinite_epsilon_does_not_close_an_open_failure() {
    let open = Event::ApproxDp { epsilon: 1.0, delta: 1e-6, adjacency: ADJACENCY };
    let got = delta_upper(&open, f64::INFINITY).unwrap();
    assert!((1e-6..1.001e-6).contains(&got), "{got:e}");
    let closed = Event::Gaussian { noise_multiplier: 1.0, adjacency: ADJACENCY };
    assert_eq!(delta_upper(&closed, f64::INFINITY).unwrap(), 0.0);
}

#[test]
fn a_tiny_loss_is_a_loss() {
    let faint = Event::Gaussian { noise_multiplier: 1e200, adjacency: Adjacency::AddRemoveOne };
    let epsilon = epsilon_upper(&faint, 1e-300).unwrap();
    assert!((2e-199..1e-198).contains(&epsilon), "{epsilon:e}");
    for loss in [1e-8, 1e-7] {
        let curve = rdp_laplace(2.0, loss);
        assert!(curve >= loss * loss * (1.0 - 1e-6), "{curve:e}");
    }
}

#[test]
fn orders_next_to_one_keep_their_digits() {
    let near = rdp_poisson(1.0 + 1e-13, 0.01, 1.0).unwrap();
    let further = rdp_poisson(1.001, 0.01, 1.0).unwrap();
    assert!((8.381_2e-5..=further).contains(&near), "{near:e} {further:e}");
}
