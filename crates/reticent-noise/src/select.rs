//! Private selection: the best of many candidates, with exact odds.
//!
//! Both rules add noise to every score and name the index of the largest sum. The comparison is
//! certified: sums are formed in `f64` with error bounds, and candidates that the bounds cannot
//! tell apart are compared with more digits of the same random numbers. So the odds are those of
//! the real-number mechanism, and the guarantee is pure. Scores are held within `±10^15` units of
//! noise, a public range; holding does not add to their sensitivity. A score that is not a number
//! counts as the lowest.

use crate::ball::Ball;
use crate::error::positive;
use crate::source::Uniform;
use crate::uniform::{minus_log, minus_log_exact, settle, working_digits};
use crate::{NoiseError, Stream};

/// The exponential mechanism: index `i` with probability proportional to
/// `exp(epsilon·score_i/(2·sensitivity))`.
///
/// Drawn as the largest of `epsilon·score/(2·sensitivity) + G`, `G` standard Gumbel (`-ln(-ln u)`).
///
/// # Guarantee
///
/// `epsilon`-DP, and `epsilon`-bounded range, if each score moves by at most `sensitivity` between
/// neighbours (McSherry, Talwar 2007; Dong, Durfee, Rogers 2020).
///
/// # Errors
///
/// [`NoiseError::OutOfRange`] without candidates, or if `epsilon` or `sensitivity` is not positive
/// and finite.
///
/// # Example
///
/// ```
/// use reticent_noise::{Purpose, Source, select};
///
/// let mut stream = Source::from_os()?.stream(Purpose::Noise);
/// let best = select::exponential_mechanism(&[0.0, 900.0, 1.0], 1.0, 1.0, &mut stream)?;
/// assert_eq!(best, 1);
/// # Ok::<(), reticent_noise::NoiseError>(())
/// ```
pub fn exponential_mechanism(
    scores: &[f64],
    epsilon: f64,
    sensitivity: f64,
    stream: &mut Stream,
) -> Result<usize, NoiseError> {
    largest(scores, epsilon, sensitivity, Noise::Gumbel, stream)
}

/// Permute-and-flip, as report-noisy-max: the largest of `epsilon·score/(2·sensitivity) + E`, `E`
/// standard exponential. Never worse in expected score than [`exponential_mechanism`] at the same
/// `epsilon`, but without its bounded-range property.
///
/// # Guarantee
///
/// `epsilon`-DP if each score moves by at most `sensitivity` between neighbours (McKenna, Sheldon
/// 2020; Ding et al. 2021 for the equivalence).
///
/// # Errors
///
/// As [`exponential_mechanism`].
pub fn permute_and_flip(
    scores: &[f64],
    epsilon: f64,
    sensitivity: f64,
    stream: &mut Stream,
) -> Result<usize, NoiseError> {
    largest(scores, epsilon, sensitivity, Noise::Exponential, stream)
}

#[derive(Clone, Copy)]
enum Noise {
    Gumbel,
    Exponential,
}

impl Noise {
    /// The noise in `f64` and a bound on its error.
    fn approximate(self, u: &Uniform) -> (f64, f64) {
        let (log, relative) = minus_log(u);
        match self {
            Self::Exponential => (log, log * relative),
            // The slope of ln is the inverse: a relative error becomes an absolute one.
            Self::Gumbel => {
                let value = -libm::log(log);
                (value, 2.0 * relative + value.abs() * 1e-15)
            }
        }
    }

    fn exact(self, u: &Uniform, key: &[u8; 32], further: usize) -> Option<Ball> {
        let log = minus_log_exact(key, u, further)?;
        match self {
            Self::Exponential => Some(log),
            Self::Gumbel => Some(log.ln()?.neg()),
        }
    }
}

/// A score and its noise.
struct Candidate {
    index: usize,
    score: f64,
    u: Uniform,
    value: f64,
    error: f64,
}

fn largest(
    scores: &[f64],
    epsilon: f64,
    sensitivity: f64,
    noise: Noise,
    stream: &mut Stream,
) -> Result<usize, NoiseError> {
    const RANGE: f64 = 1e15;
    if scores.is_empty() {
        return Err(NoiseError::out_of_range("scores.len()", "at least 1", 0.0));
    }
    positive("epsilon", epsilon)?;
    positive("sensitivity", sensitivity)?;
    // Rounded down: a smaller factor is more private. The products below are taken exactly.
    let factor = positive("epsilon / (2 * sensitivity)", epsilon / 2.0 / sensitivity)?;
    let factor = positive("epsilon / (2 * sensitivity)", factor * (1.0 - 1e-15))?;
    let limit = positive("2e15 * sensitivity / epsilon", RANGE / factor)?;

    let mut leaders: Vec<Candidate> = Vec::new(); // every candidate that may still be the largest
    let mut floor = f64::NEG_INFINITY; // the largest lower bound so far
    for (index, &score) in scores.iter().enumerate() {
        let score = if score.is_nan() { -limit } else { score.clamp(-limit, limit) };
        let u = stream.uniform();
        let (noise, error) = noise.approximate(&u);
        let value = factor * score + noise;
        let error = error + (factor * score).abs() * 1e-15 + value.abs() * 1e-15;
        if value + error >= floor {
            if value - error > floor {
                floor = value - error;
                leaders.retain(|c| c.value + c.error >= floor);
            }
            leaders.push(Candidate { index, score, u, value, error });
        }
    }
    let sum = |c: &Candidate, further: usize| {
        let digits = working_digits(further);
        let scaled = Ball::float(factor, digits).mul(&Ball::float(c.score, digits));
        Some(scaled.add(&noise.exact(&c.u, stream.key(), further)?))
    };
    // Ties of real sums have probability 0: some number of digits always tells two apart.
    let best = leaders.into_iter().reduce(|best, c| {
        let is_below = settle(|further| {
            // Scores may need all their binary places before their sums can be compared.
            let further = further.max(1);
            sum(&best, further)?.sub(&sum(&c, further)?).is_negative()
        });
        if is_below { c } else { best }
    });
    Ok(best.map_or(0, |c| c.index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Source};

    /// Chi-square against exact odds; 40 for 4 degrees of freedom: false alarm 4e-8.
    fn check(runs: u32, select: impl Fn(&mut Stream) -> usize, odds: &[f64]) -> f64 {
        let mut stream = Source::seeded_not_private(41).stream(Purpose::Noise);
        let mut counts = vec![0.0; odds.len()];
        for _ in 0..runs {
            counts[select(&mut stream)] += 1.0;
        }
        let total: f64 = odds.iter().sum();
        let statistic = counts.iter().zip(odds).map(|(c, o)| {
            let wanted = o / total * f64::from(runs);
            (c - wanted).powi(2) / wanted
        });
        statistic.sum()
    }

    #[test]
    fn the_exponential_mechanism_has_its_odds() {
        let scores = [0.0, 1.0, 2.5, -1.0, 2.0];
        let odds: Vec<f64> = scores.iter().map(|s| f64::exp(0.8 * s / 2.0)).collect();
        let run = |eps: f64| {
            check(100_000, |s| exponential_mechanism(&scores, eps, 1.0, s).unwrap(), &odds)
        };
        assert!(run(0.8) < 40.0);
        assert!(run(0.8 * 1.05) > 40.0, "a 5% wrong epsilon must show");
    }

    #[test]
    fn permute_and_flip_has_its_odds() {
        // Two candidates at distance x = epsilon·gap/2: the worse one wins with odds e^(-x)/2.
        let worse = f64::exp(-0.7) / 2.0;
        let odds = [worse, 1.0 - worse];
        let run = |eps: f64| {
            check(100_000, |s| permute_and_flip(&[0.0, 1.4], eps, 1.0, s).unwrap(), &odds)
        };
        assert!(run(1.0) < 30.0); // one degree of freedom: false alarm 4e-8
        assert!(run(1.1) > 30.0);
    }

    #[test]
    fn scores_beyond_f64_resolution_are_still_told_apart_by_noise() {
        // At 10^15 units the f64 sums swallow the noise; exact comparison does not.
        let far = 2e15;
        let odds = [1.0, 1.0];
        assert!(
            check(5000, |s| exponential_mechanism(&[far, far], 1.0, 1.0, s).unwrap(), &odds) < 30.0
        );
    }

    #[test]
    fn odd_scores_do_not_panic() {
        let mut stream = Source::seeded_not_private(42).stream(Purpose::Noise);
        let scores = [f64::NAN, f64::NEG_INFINITY, 0.0, f64::NAN];
        for _ in 0..100 {
            assert_eq!(exponential_mechanism(&scores, 1.0, 1.0, &mut stream), Ok(2));
        }
        assert!(exponential_mechanism(&[], 1.0, 1.0, &mut stream).is_err());
        assert!(exponential_mechanism(&[1.0], f64::NAN, 1.0, &mut stream).is_err());
        assert!(exponential_mechanism(&[1.0], 1.0, 0.0, &mut stream).is_err());
    }
}
