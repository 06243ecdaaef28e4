//! The auditor against every algorithm: it stays below the claim, comes near it where one noise
//! draw is all there is, and catches copies that are broken on purpose.
//!
//! Each audit errs with odds of at most 1e-4; the noise is seeded, so a check has the same outcome
//! every time. There are about a hundred audits of sound plans: over seeds one of them would cry
//! wolf in one run of a hundred.
//!
//! Copies are broken from outside: a number of the written plan is changed, or the oracle lies. No
//! algorithm has a switch for it.
mod edges;
mod noise_each_step;
mod noise_once;
mod one_run;
mod private_selection;
mod rows_without_bounds;
mod support;
mod units;
mod weights;
mod worst_curvature;

use reticent::optim::ALGORITHMS;

/// One test for each algorithm, so that none is forgotten.
macro_rules! audited {
    ($($word:literal $test:ident: $cases:path;)+) => {
        $(#[test]
        fn $test() {
            support::check($word, $cases());
        })+

        const AUDITED: &[&str] = &[$($word),+];

        #[test]
        fn nothing_is_released_where_rows_were_missing_from_a_sum() {
            $(support::check_whole($cases());)+
        }
    };
}

audited! {
    "objective" objective: noise_once::objective;
    "output-gd" output_gd: noise_once::output_gd;
    "output-sgd" output_sgd: noise_once::output_sgd;
    "permuted-sgd" permuted_sgd: noise_once::permuted_sgd;
    "gradient-sgd" gradient_sgd: noise_each_step::gradient_sgd;
    "random-round" random_round: noise_each_step::random_round;
    "noisy-sgd" noisy_sgd: noise_each_step::noisy_sgd;
    "clipped-sgd" clipped_sgd: noise_each_step::clipped_sgd;
    "mirror" mirror: noise_each_step::mirror;
    "phased" phased: noise_each_step::phased;
    "truncated-mirror" truncated_mirror: rows_without_bounds::truncated_mirror;
    "coordinate-mean" coordinate_mean: rows_without_bounds::coordinate_mean;
    "shuffled-mirror" shuffled_mirror: rows_without_bounds::shuffled_mirror;
    "least-squares" least_squares: noise_once::least_squares;
}

#[test]
fn what_clipped_sgd_finds_before_it_steps() {
    support::check("clipped-sgd", noise_each_step::clipped_sgd_before_it_steps());
}

#[test]
fn no_algorithm_is_forgotten() {
    let known: Vec<_> = ALGORITHMS.iter().map(|a| a.name).collect();
    assert_eq!(AUDITED, known);
}
