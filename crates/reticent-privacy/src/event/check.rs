//! The name of an event, its adjacency, and whether its parameters are valid.

use super::{Event, Hits, MAX_STEPS, ObjectiveClass, Trials};
use crate::{
    Adjacency, PrivacyError,
    error::{check, non_negative, positive, probability},
    last_iterate,
    scalar::check_delta,
};

impl Event {
    /// The event's kind, as it is written in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NotPrivate => "not-private",
            Self::Gaussian { .. } => "gaussian",
            Self::Gdp { .. } => "gdp",
            Self::Laplace { .. } => "laplace",
            Self::L2Laplace { .. } => "l2-laplace",
            Self::PureDp { .. } => "pure-dp",
            Self::BoundedRange { .. } => "bounded-range",
            Self::ApproxDp { .. } => "approx-dp",
            Self::Zcdp { .. } => "zcdp",
            Self::PoissonGaussian { .. } => "poisson-gaussian",
            Self::FixedSizeGaussian { .. } => "fixed-size-gaussian",
            Self::SingleIndexGaussian { .. } => "single-index-gaussian",
            Self::EpochPartitionGaussian { .. } => "epoch-partition-gaussian",
            Self::HitMixture { .. } => "hit-mixture",
            Self::LastIterate { .. } => "last-iterate",
            Self::ObjectivePerturbation { .. } => "objective-perturbation",
            Self::Shuffled { .. } => "shuffled",
            Self::ShuffledGdp { .. } => "shuffled-gdp",
            Self::Repeated { .. } => "repeated",
            Self::RandomStop { .. } => "random-stop",
            Self::Composed(_) => "composed",
            Self::Disjoint { .. } => "disjoint",
            Self::OneOf(_) => "one-of",
            Self::Tuned { .. } => "tuned",
            Self::Group { .. } => "group",
            Self::Approximated { .. } => "approximated",
        }
    }

    /// The one adjacency of the whole tree, or `None` if nothing in it has one.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::MixedAdjacency`] if two parts differ.
    pub fn adjacency(&self) -> Result<Option<Adjacency>, PrivacyError> {
        let of_list = |parts: &[Self]| {
            let mut found: Option<Adjacency> = None;
            for part in parts {
                match (found, part.adjacency()?) {
                    (Some(first), Some(second)) if first != second => {
                        return Err(PrivacyError::MixedAdjacency { first, second });
                    }
                    (None, some) => found = some,
                    _ => {}
                }
            }
            Ok(found)
        };
        match self {
            Self::None | Self::NotPrivate => Ok(None),
            Self::Gaussian { adjacency, .. }
            | Self::Gdp { adjacency, .. }
            | Self::Laplace { adjacency, .. }
            | Self::L2Laplace { adjacency, .. }
            | Self::PureDp { adjacency, .. }
            | Self::BoundedRange { adjacency, .. }
            | Self::ApproxDp { adjacency, .. }
            | Self::Zcdp { adjacency, .. }
            | Self::PoissonGaussian { adjacency, .. }
            | Self::FixedSizeGaussian { adjacency, .. }
            | Self::SingleIndexGaussian { adjacency, .. }
            | Self::EpochPartitionGaussian { adjacency, .. }
            | Self::HitMixture { adjacency, .. }
            | Self::LastIterate { adjacency, .. }
            | Self::ObjectivePerturbation { adjacency, .. }
            | Self::Shuffled { adjacency, .. }
            | Self::ShuffledGdp { adjacency, .. } => Ok(Some(*adjacency)),
            Self::Composed(parts) | Self::OneOf(parts) | Self::Disjoint { parts, .. } => {
                of_list(parts)
            }
            Self::Repeated { event: base, .. }
            | Self::RandomStop { event: base, .. }
            | Self::Tuned { base, .. }
            | Self::Group { base, .. }
            | Self::Approximated { inner: base, .. } => base.adjacency(),
        }
    }

    /// Refuse numbers outside the range of the event's theorem, anywhere in the tree.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`] with the field's name, [`PrivacyError::MixedAdjacency`].
    pub fn check(&self) -> Result<(), PrivacyError> {
        self.adjacency()?;
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), PrivacyError> {
        match self {
            Self::None | Self::NotPrivate => Ok(()),
            Self::Gaussian { noise_multiplier, .. } | Self::Laplace { noise_multiplier, .. } => {
                noise(*noise_multiplier)
            }
            Self::Gdp { mu, .. } => non_negative("mu", *mu),
            Self::L2Laplace { epsilon, .. }
            | Self::PureDp { epsilon, .. }
            | Self::BoundedRange { epsilon, .. } => non_negative("epsilon", *epsilon),
            Self::ApproxDp { epsilon, delta, .. } => {
                non_negative("epsilon", *epsilon)?;
                check_delta(*delta)
            }
            Self::Zcdp { rho, .. } => non_negative("rho", *rho),
            Self::PoissonGaussian { sample_rate, noise_multiplier, steps, .. } => {
                probability("sample_rate", *sample_rate)?;
                noise(*noise_multiplier)?;
                count("steps", *steps)
            }
            Self::FixedSizeGaussian { batch, rows, noise_multiplier, steps, .. } => {
                check(*rows >= 1, "rows", "be at least 1", *rows as f64)?;
                check(*batch <= *rows, "batch", "be at most `rows`", *batch as f64)?;
                noise(*noise_multiplier)?;
                count("steps", *steps)
            }
            Self::SingleIndexGaussian { rows, noise_multiplier, steps, .. } => {
                check(*rows >= 1, "rows", "be at least 1", *rows as f64)?;
                noise(*noise_multiplier)?;
                count("steps", *steps)
            }
            Self::EpochPartitionGaussian { passes, noise_multiplier, .. } => {
                noise(*noise_multiplier)?;
                count("passes", *passes)
            }
            Self::HitMixture { hits, shift, drift, cap, .. } => {
                non_negative("shift", *shift)?;
                non_negative("drift", *drift)?;
                non_negative("cap", cap.unwrap_or(0.0))?;
                let (rows, steps) = match *hits {
                    Hits::AverageWithReplacement { rows, steps }
                    | Hits::LastWithReplacement { rows, steps } => (rows, steps),
                    Hits::AveragePermuted { rows, passes } => (rows, passes.saturating_mul(rows)),
                };
                check(rows >= 1, "rows", "be at least 1", rows as f64)?;
                check(steps >= 1, "steps", "be at least 1", steps as f64)
            }
            Self::LastIterate { steps, contraction, noise_multiplier, diameter, .. } => {
                last_iterate::check_numbers(*steps, *contraction, *noise_multiplier, *diameter)
            }
            Self::ObjectivePerturbation { class, epsilon_det, slope, output_mu, .. } => {
                check_class(class)?;
                non_negative("epsilon_det", *epsilon_det)?;
                non_negative("slope", *slope)?;
                non_negative("output_mu", *output_mu)
            }
            Self::Shuffled { epsilon0, delta0, rows, .. } => {
                non_negative("epsilon0", *epsilon0)?;
                check_delta(*delta0)?;
                check(*rows >= 1, "rows", "be at least 1", *rows as f64)
            }
            Self::ShuffledGdp { local_mu, rows, .. } => {
                non_negative("local_mu", *local_mu)?;
                check(*rows >= 1, "rows", "be at least 1", *rows as f64)
            }
            Self::Repeated { event, times } => {
                count("times", *times)?;
                event.check_numbers()
            }
            Self::RandomStop { event, rounds } => {
                let expected = "be at least 1 and at most 1e9";
                check((1..=MAX_STEPS).contains(rounds), "rounds", expected, *rounds as f64)?;
                event.check_numbers()
            }
            Self::OneOf(parts) if parts.is_empty() => {
                check(false, "events", "name at least one that is drawn", 0.0)
            }
            Self::Composed(parts) | Self::OneOf(parts) | Self::Disjoint { parts, .. } => {
                parts.iter().try_for_each(Self::check_numbers)
            }
            Self::Tuned { base, trials } => {
                match *trials {
                    Trials::TruncatedNegativeBinomial { eta, gamma } => {
                        check(eta > -1.0 && eta.is_finite(), "eta", "be finite and > -1", eta)?;
                        check(gamma > 0.0 && gamma < 1.0, "gamma", "satisfy 0 < gamma < 1", gamma)?;
                    }
                    Trials::Poisson { mean } => {
                        check(mean >= 1.0 && mean.is_finite(), "mean", "be finite and >= 1", mean)?;
                    }
                }
                base.check_numbers()
            }
            Self::Group { base, size } => {
                check(*size >= 1, "size", "be at least 1", *size as f64)?;
                base.check_numbers()
            }
            Self::Approximated { inner, total_variation } => {
                probability("total_variation", *total_variation)?;
                inner.check_numbers()
            }
        }
    }
}

fn check_class(class: &ObjectiveClass) -> Result<(), PrivacyError> {
    let at_least_one = |d: u32| check(d >= 1, "dimension", "be at least 1", f64::from(d));
    match *class {
        ObjectiveClass::Subspace { dimension } => at_least_one(dimension),
        ObjectiveClass::Unit { dimension, directions, monotone } => {
            at_least_one(dimension)?;
            let fits = directions >= 1 && (directions == 1 || !monotone);
            let must = "be at least 1, and 1 where slopes have one sign";
            check(fits, "directions", must, f64::from(directions))
        }
        _ => Ok(()),
    }
}

fn noise(multiplier: f64) -> Result<(), PrivacyError> {
    positive("noise_multiplier", multiplier)
}

fn count(name: &'static str, steps: u64) -> Result<(), PrivacyError> {
    check(steps <= MAX_STEPS, name, "be at most 1e9", steps as f64)
}
