//! Settings that several algorithms have.

use super::{ChoiceWord, Kind, Range, Setting, Words as _, words};
use crate::Calibration;
use crate::step::perturb::NoiseChoice;

/// The default of whatever an algorithm chooses.
pub(crate) const CHOSEN: &str = "chosen without looking at data";

words! { Calibration:
    Tight = "tight", "The least noise that we can prove";
    Paper = "paper", "As proven in the paper, errata corrected";
}

words! { NoiseChoice:
    Auto = "auto", "The smaller one";
    Gaussian = "gaussian", "Gaussian noise";
    Ball = "ball", "Uniform direction, gamma length; for delta = 0";
    GeneralizedGaussian = "generalized-gaussian", "For a norm other than the Euclidean one";
    EachStep = "each-step", "Gaussian noise in each step; only the last iterate leaves";
}

/// Paper or tight.
pub const CALIBRATION: Setting =
    Setting::choice("calibration", Calibration::WORDS, "tight", "How the noise is calibrated");

/// `μ`.
pub const RIDGE: Setting = Setting::number(
    "ridge",
    Range::NOT_NEGATIVE,
    "Ridge (ridge/2)|w|^2 on every weight, the intercept among them",
)
.or_named("mu")
.common();

/// The ridge of an algorithm that serves only problems without one.
pub(crate) const NO_RIDGE: Setting =
    RIDGE.by_default("0").limited("and only 0 is served: a set or a distance keeps weights small");

/// The ridge of an algorithm that adds none of its own.
pub(crate) const OWN_RIDGE: Setting = RIDGE.by_default("0");

/// The noise of a one-shot release.
pub const NOISE: Setting = Setting::choice("noise", ONE_SHOT, "auto", "The law of the noise");

const ONE_SHOT: &[ChoiceWord] =
    &[NoiseChoice::WORDS[0], NoiseChoice::WORDS[1], NoiseChoice::WORDS[2]];
const EACH_STEP: &[ChoiceWord] =
    &[NoiseChoice::WORDS[0], NoiseChoice::WORDS[1], NoiseChoice::WORDS[3]];

/// The noise of gradient descent on all rows: once, or in each step.
pub(crate) const ANY_PLACE: Setting = NOISE.within(Kind::Choice(ANYWHERE));

const ANYWHERE: &[ChoiceWord] =
    &[NoiseChoice::WORDS[0], NoiseChoice::WORDS[1], NoiseChoice::WORDS[2], NoiseChoice::WORDS[4]];

/// The noise of mirror descent, in every step.
pub(crate) const STEP_NOISE: Setting = NOISE.within(Kind::Choice(EACH_STEP));

/// `T`.
pub const STEPS: Setting = Setting::whole("steps", 1, "Number of steps").common();

/// The range of a number of steps up to the most that the accountant takes.
pub(crate) const fn up_to(least: u64, most: u64) -> Kind {
    Kind::Whole { least, most }
}

/// Caps the number of steps that is chosen where none is given.
pub const STEP_CAP: Setting =
    Setting::whole("max_steps", 2, "Cap the number of steps that is chosen where none is given");

/// `η`.
pub const STEP_SIZE: Setting =
    Setting::number("step_size", Range::POSITIVE, "Step size").or_named("eta");

/// A guess of the best weights' norm.
pub const DISTANCE: Setting = Setting::number(
    "distance",
    Range::POSITIVE,
    "A guess of the best weights' norm; affects accuracy only, not privacy",
);

/// Rows of a step.
pub const BATCH: Setting =
    Setting::whole("batch", 1, "Rows that a step uses; the expected number where they are sampled")
        .limited("at most the number of rows")
        .common();

/// `τ` or `S`.
pub const CLIP: Setting =
    Setting::number("clip", Range::POSITIVE, "The norm to which a row's gradient is clipped")
        .common();

/// Clipping norms for which nothing overflows on the way, whatever the rows are.
pub(crate) const CLIP_LENGTHS: Range = Range::closed(1e-100, 1e100);

/// The exponent of the norm in which weights are measured.
pub const P: Setting = Setting::number(
    "p",
    Range::closed(1.0, 2.0),
    "The exponent of the norm in which weights are measured: of mirror descent, and of the set lp",
)
.by_default("that of the set, or 2");

/// A bound on the curvature of the averaged loss.
pub const SMOOTHNESS: Setting = Setting::number(
    "smoothness",
    Range::POSITIVE,
    "A bound on the curvature of the averaged loss, where rows give none; affects accuracy only, not privacy",
)
.by_default("from the bounds on rows, or 1");

/// A bound on the standard deviation of a row's gradient.
pub const DEVIATION: Setting = Setting::number(
    "deviation",
    Range::POSITIVE,
    "A bound on the standard deviation of a row's gradient, where rows give none; affects accuracy only, not privacy",
)
.by_default("from the bounds on rows, or 1");
