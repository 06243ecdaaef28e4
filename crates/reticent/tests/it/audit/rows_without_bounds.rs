//! Algorithms for rows that nothing bounds.

use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{Calibration, CoordinateMean, Plan, ShuffledMirror, TruncatedMirror};
use reticent::privacy::Adjacency;
use reticent::problem::{Domain, Loss, Problem, RowBounds};

use crate::audit::support::{Case, Lie, budget, planned, usual, zero_out};

/// Rows of any size with labels within one; residuals are clamped to one, so that a gradient is as
/// long as its row.
fn unbounded(rows: usize, features: usize) -> Problem {
    Problem {
        domain: Domain::Box { low: vec![-1e3; features], high: vec![1e3; features] },
        slope_limit: Some(1.0),
        ..Problem::new(Loss::Squared, RowBounds::unbounded(1e6).unwrap(), rows, features)
    }
}

pub(crate) fn truncated_mirror() -> Vec<Case> {
    let plan = |calibration, noise, p, d, budget| {
        let settings = TruncatedMirror {
            calibration,
            noise,
            p: Some(p),
            clip: Some(1.0),
            steps: Some(2),
            ..TruncatedMirror::default()
        };
        planned(&settings, &unbounded(4, d), budget, Plan::TruncatedMirror)
    };
    let (tight, paper) = (Calibration::Tight, Calibration::Paper);
    let (normal, general) = (NoiseChoice::Gaussian, NoiseChoice::GeneralizedGaussian);
    let one = TruncatedMirror { clip: Some(1.0), steps: Some(8), ..TruncatedMirror::default() };
    let blocks = planned(&one, &unbounded(8, 1), usual(), Plan::TruncatedMirror);
    let sigma = "/noise/noise_multiplier";
    vec![
        // Two blocks, the mean of the points at which gradients were taken: only the first block
        // shows.
        Case::new("tight", plan(tight, normal, 2.0, 1, usual()))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("sensitivity off by two", Lie::CountsTwice)
            .lied_to("a block without noise", Lie::DrownsTheNoise { every: 2 })
            .lied_to("long gradients not left out", Lie::DoesNotClip),
        Case::new("tight, eight blocks of one row", blocks)
            .lied_to("the first block in every step", Lie::KnowsOneRow),
        Case::new("tight, zero-out", plan(tight, normal, 2.0, 1, zero_out()))
            .shows(0.3, 0.6)
            .attacked_under("a row replaced, noise for a null row", Adjacency::ReplaceOne),
        Case::new("tight, p = 1", plan(tight, general, 1.0, 12, usual())).scaled(
            "a twentieth of the noise",
            sigma,
            0.05,
        ),
        Case::new("paper", plan(paper, normal, 2.0, 1, usual())).scaled(
            "a quarter of the noise",
            sigma,
            0.25,
        ),
    ]
}

pub(crate) fn coordinate_mean() -> Vec<Case> {
    let plan = |calibration, d: usize, steps, budget| {
        let settings = CoordinateMean {
            calibration,
            clip: Some(1.0),
            steps: Some(steps),
            eta: Some(1.0),
            ..CoordinateMean::default()
        };
        let problem = Problem { domain: Domain::Ball { radius: 1e6 }, ..unbounded(2, d) };
        planned(&settings, &problem, budget, Plan::CoordinateMean)
    };
    let (tight, paper) = (Calibration::Tight, Calibration::Paper);
    let sigma = "/noise/noise_multiplier";
    vec![
        Case::new("tight, one step", plan(tight, 1, 1, usual()))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("sensitivity off by two", Lie::CountsTwice)
            .lied_to("the clip missing", Lie::DoesNotClip),
        Case::new("tight, three steps", plan(tight, 1, 3, usual()))
            .shows(0.3, 0.6)
            .scaled("noise halved", sigma, 0.5)
            .lied_to("a step without noise", Lie::DrownsTheNoise { every: 3 }),
        Case::new("tight, nine weights", plan(tight, 9, 1, usual())).shows(0.3, 0.6).scaled(
            "sensitivity of one entry for all",
            sigma,
            1.0 / 3.0,
        ),
        Case::new("tight, zero-out", plan(tight, 1, 1, zero_out()))
            .shows(0.3, 0.6)
            .attacked_under("a row replaced, noise for a null row", Adjacency::ReplaceOne),
        Case::new("paper", plan(paper, 1, 1, usual())).scaled(
            "a quarter of the noise",
            sigma,
            0.25,
        ),
    ]
}

pub(crate) fn shuffled_mirror() -> Vec<Case> {
    let plan = |calibration| {
        let settings = ShuffledMirror {
            calibration,
            batch: Some(1),
            clip: Some(1.0),
            ..ShuffledMirror::default()
        };
        let problem = Problem { domain: Domain::Ball { radius: 1e9 }, ..unbounded(60, 1) };
        let budget = budget(0.2, 0.05, Adjacency::ReplaceOne);
        planned(&settings, &problem, budget, Plan::ShuffledMirror)
    };
    vec![
        // The shuffle bound is far from tight for the mean of all points, so the audit is far below
        // it.
        Case::new("tight", plan(Calibration::Tight))
            .runs(1_500)
            .scaled("a twentieth of the noise", "/noise_multiplier", 0.05)
            .lied_to("long gradients not left out", Lie::DoesNotClip)
            .lied_to("a row is all rows", Lie::KnowsOneRow),
    ]
}
