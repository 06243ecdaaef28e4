//! Noise once or in each step of `output-gd`, by plans alone, which read no rows: the ridge and the
//! number of steps that are chosen, and the bound on the excess of the unridged logistic loss.
//!
//! `cargo run --example each_step` prints the table of `bench/guarantee/RESULTS.md`.

use reticent_optim::output_gd::{NoiseChoice, OutputGd};
use reticent_optim::{Algorithm, PlanError};
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Loss, Problem, RowBounds};

/// A guess of the norm of the best weights, as the plan makes it for rows of norm one.
const DISTANCE: f64 = 5.0;

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), PlanError> {
    println!(
        "| rows | weights | epsilon | once: ridge, steps, bound | each step: ridge, steps, bound | ratio |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for rows in [6497, 20_640, 32_561, 45_211] {
        for weights in [12, 100] {
            for epsilon in [0.3, 1.0, 3.0] {
                let problem =
                    Problem::new(Loss::Logistic, RowBounds::features(1.0)?, rows, weights);
                let adjacency = Adjacency::ReplaceOne;
                let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(1e-6)?);
                let budget = Budget { epsilon, delta, adjacency };
                let ask = |noise| -> Result<(String, f64), PlanError> {
                    let settings = OutputGd { noise, ..OutputGd::default() };
                    let outline = settings.plan_with_ridge(&problem, budget)?.outline;
                    let ridge = outline.problem.ridge;
                    let excess = outline.predicted_excess.unwrap_or(f64::INFINITY);
                    let bound = excess + 0.5 * ridge * DISTANCE * DISTANCE;
                    Ok((format!("{ridge:.1e}, {}, {bound:.3}", outline.steps), bound))
                };
                let (once, before) = ask(NoiseChoice::Auto)?;
                let (each, after) = ask(NoiseChoice::EachStep)?;
                let ratio = after / before;
                println!("| {rows} | {weights} | {epsilon} | {once} | {each} | {ratio:.3} |");
            }
        }
    }
    Ok(())
}
