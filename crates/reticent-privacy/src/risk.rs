//! Risk in place of epsilon: a bound on an attacker's success, the least noise that keeps it, and a
//! whole curve in one number.
//!
//! # Risks
//!
//! The *advantage* of an attack is its true-positive rate less its false-positive rate. The largest
//! over all attacks is the total variation of the outputs of neighbours, `δ(0)` of the profile. The
//! largest true-positive rate at a false-positive rate follows from the whole profile
//! ([`crate::tradeoff`]).
//!
//! # A curve in one number
//!
//! [`RiskBounds`] states a `μ` such that no attack is better than one on Gaussian noise of that
//! `μ`, but for the promised slack: with `δ` the promised delta,
//!
//! ```text
//! δ_event(ε) ≤ δ_μ(ε) + δ for all ε ≥ 0,   so   TPR ≤ Φ(Φ⁻¹(FPR) + μ) + δ.
//! ```
//!
//! *Proof of the second.* The trade-off function of the event is the supremum over `ε ≥ 0` of
//! `1 − δ_event(ε) − e^ε α` and `e^{−ε}(1 − δ_event(ε) − α)`, and zero. Putting `δ_μ(ε) + δ` for
//! `δ_event(ε)` lowers each by at most `δ`, and the supremum is then that of Gaussian noise less at
//! most `δ`. ∎
//!
//! *How it is found.* Beyond the promised `ε`, or one a hair above where rounding asks for it, the
//! slack alone covers `δ_event`. Below it, `δ_event`
//! is convex in `x = e^ε` (a supremum of linear functions of `x`), so it lies below the chords
//! between upper bounds at the points of a grid. Each chord is cut into pieces; on a piece the
//! chord is at most its left end, and `δ_μ`, which falls, at least its right one. So
//! `chord(left) ≤ δ_μ(right) + δ` on all pieces suffices, and the least such `μ` is searched for,
//! from above. The rates of the curve are the best of the same chords and of [`tradeoff::curve`].

use serde::{Deserialize, Serialize};

use crate::tradeoff::{self, TradeOff};
use crate::{
    Delta, Epsilon, Event, PrivacyError, delta_upper, error::check, gaussian, query::deltas_upper,
};

/// A bound on an attacker's success.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "risk", deny_unknown_fields)]
pub enum Risk {
    /// True-positive rate less false-positive rate, of any attack.
    Advantage {
        /// At most this.
        most: f64,
    },
    /// The true-positive rate of any attack with this false-positive rate.
    TruePositiveRate {
        /// At most this.
        most: f64,
        /// At this false-positive rate.
        false_positive_rate: f64,
    },
}

impl Risk {
    /// Checks that the bound can be met and says something.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OutOfRange`].
    pub fn check(self) -> Result<(), PrivacyError> {
        match self {
            Self::Advantage { most } => {
                check(most > 0.0 && most < 1.0, "max_advantage", "lie between 0 and 1", most)
            }
            Self::TruePositiveRate { most, false_positive_rate } => {
                check(
                    false_positive_rate > 0.0 && false_positive_rate < 1.0,
                    "at_fpr",
                    "lie between 0 and 1",
                    false_positive_rate,
                )?;
                check(
                    most > false_positive_rate && most < 1.0,
                    "max_tpr",
                    "lie between the false-positive rate, which guessing reaches, and 1",
                    most,
                )
            }
        }
    }

    /// The largest value that the bound allows.
    pub fn most(self) -> f64 {
        match self {
            Self::Advantage { most } | Self::TruePositiveRate { most, .. } => most,
        }
    }

    /// An upper bound on what any attack on `event` does.
    ///
    /// # Errors
    ///
    /// As [`crate::delta_upper`].
    pub fn upper(self, event: &Event) -> Result<f64, PrivacyError> {
        match self {
            Self::Advantage { .. } => advantage_upper(event),
            Self::TruePositiveRate { false_positive_rate, .. } => {
                tradeoff::true_positive_rate_upper(event, false_positive_rate)
            }
        }
    }

    /// The `μ` of Gaussian noise that just keeps it: where a search begins.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub fn gaussian_mu(self) -> Result<f64, PrivacyError> {
        use reticent_math::normal_quantile;
        self.check()?;
        Ok(match self {
            // 2Φ(μ/2) − 1 is the advantage.
            Self::Advantage { most } => 2.0 * normal_quantile(0.5 + 0.5 * most),
            // Φ(Φ⁻¹(FPR) + μ) is the true-positive rate.
            Self::TruePositiveRate { most, false_positive_rate } => {
                normal_quantile(most) - normal_quantile(false_positive_rate)
            }
        })
    }
}

/// An upper bound on the total variation of the outputs of neighbours. It is `δ(0)`; where the
/// accountant has no bound there but one, the least over `ε` of `(e^ε − 1 + 2δ(ε))/(e^ε + 1)`,
/// which every point of the profile gives (Kairouz, Oh, Viswanath 2015, Theorem 3.4).
fn advantage_upper(event: &Event) -> Result<f64, PrivacyError> {
    let mut least = delta_upper(event, 0.0)?;
    if least < 1.0 {
        return Ok(least);
    }
    // Several at once cost little more than one.
    let mut next = 1e-4;
    while next < 40.0 {
        let epsilons: Vec<f64> = (0..64).map(|i| next * 1.05_f64.powi(i)).collect();
        next *= 1.05_f64.powi(64);
        let deltas = deltas_upper(event, &epsilons)?;
        for (epsilon, delta) in epsilons.iter().zip(&deltas) {
            let shrink = f64::exp(-epsilon);
            let bound = (1.0 - shrink + 2.0 * delta * shrink) / (1.0 + shrink);
            least = least.min(bound * (1.0 + 8.0 * f64::EPSILON));
        }
        if deltas.last().is_some_and(|delta| *delta < 1e-13) {
            break;
        }
    }
    Ok(least)
}

impl std::fmt::Display for Risk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Advantage { most } => write!(f, "the advantage of any attack is at most {most}"),
            Self::TruePositiveRate { most, false_positive_rate } => write!(
                f,
                "any attack that accuses wrongly at a rate of {false_positive_rate} detects at a rate of at most {most}"
            ),
        }
    }
}

/// The least noise, found from above, for which `event(noise)` keeps the risk, which must fall in
/// the noise.
///
/// # Errors
///
/// [`PrivacyError::Unreachable`] if not even a noise multiplier of 1e6 does; whatever
/// [`crate::delta_upper`] refuses.
pub fn noise_multiplier_for_risk(
    risk: Risk,
    event: impl Fn(f64) -> Event,
) -> Result<f64, PrivacyError> {
    const LARGEST: f64 = 1e6;
    const SMALLEST: f64 = 1e-2;
    /// How far the result may lie above the least noise, relatively.
    const FINE: f64 = 1e-6;
    let most = risk.most();
    // The logarithm of the excess, which is nearly a line over that of the noise.
    let excess = |x: f64| Ok::<f64, PrivacyError>((risk.upper(&event(x.exp()))? / most).ln());
    let (floor, ceiling) = (SMALLEST.ln(), LARGEST.ln());
    let mut good = (1.0 / risk.gaussian_mu()?).ln().clamp(floor, ceiling);
    let mut at_good = excess(good)?;
    let (mut bad, mut at_bad) = (good, at_good);
    let mut step = 0.1;
    while at_good > 0.0 {
        if good >= ceiling {
            return Err(PrivacyError::Unreachable {
                name: "noise_multiplier",
                reason: format!("even noise of {LARGEST:e} clip norms does not keep the risk"),
            });
        }
        (bad, at_bad) = (good, at_good);
        good = (good + step).min(ceiling);
        at_good = excess(good)?;
        step *= 2.0;
    }
    while at_bad <= 0.0 {
        if bad <= floor {
            return Ok(bad.exp());
        }
        (good, at_good) = (bad, at_bad);
        bad = (bad - step).max(floor);
        at_bad = excess(bad)?;
        step *= 2.0;
    }
    for round in 0..60 {
        let width = good - bad;
        if width <= FINE {
            break;
        }
        let share = if at_bad.is_finite() { at_bad / (at_bad - at_good) } else { 0.5 };
        let share = if round % 4 == 3 || !share.is_finite() { 0.5 } else { share };
        // Aimed a little beyond the root, so that both ends close in on it.
        let aside = if round % 2 == 0 { 0.3 } else { -0.3 } * FINE / width;
        let x = bad + width * (share + aside).clamp(0.01, 0.99);
        let at = excess(x)?;
        if at <= 0.0 {
            (good, at_good) = (x, at);
        } else {
            (bad, at_bad) = (x, at);
        }
    }
    Ok(good.exp())
}

/// Upper bounds on the success of any attack on an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RiskBounds {
    /// The largest advantage.
    pub advantage_upper: f64,
    /// No attack is better than on Gaussian noise of this `μ`, up to `slack`; none if no finite one
    /// was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu_upper: Option<f64>,
    /// The slack of the true-positive rates of Gaussian noise: the promised delta.
    pub slack: f64,
    /// Points of the trade-off curve.
    pub trade_off: Vec<TradeOff>,
}

/// The false-positive rates at which [`RiskBounds`] states the curve.
const RATES: [f64; 6] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5];

/// Points of the profile that are asked for.
const POINTS: u32 = 16;

/// Pieces of each chord.
const PIECES: u32 = 32;

/// A piece of a chord: where it begins and ends as `ε`, and the chord at its beginning.
struct Piece {
    from: f64,
    to: f64,
    delta: f64,
}

impl RiskBounds {
    /// The bounds of an event that was promised to keep `(epsilon, delta)`.
    ///
    /// # Errors
    ///
    /// As [`crate::delta_upper`].
    pub fn of(event: &Event, epsilon: Epsilon, delta: Delta) -> Result<Self, PrivacyError> {
        let slack = delta.get();
        let (end, at_end) = end_of_profile(event, epsilon.get(), slack)?;
        let at = |i: u32| end * f64::from(i) / f64::from(POINTS);
        let epsilons: Vec<f64> = (0..POINTS).map(at).collect();
        let deltas = deltas_upper(event, &epsilons)?;
        let mut profile: Vec<(f64, f64)> = epsilons.into_iter().zip(deltas).collect();
        profile.push((end, at_end));
        let pieces = pieces(&profile);
        let rate = |point: TradeOff| {
            let rate = point.false_positive_rate;
            let of_chords = pieces.iter().map(|p| tradeoff::rate_bound(rate, p.from, p.delta));
            TradeOff {
                true_positive_rate: of_chords.fold(point.true_positive_rate, f64::min),
                ..point
            }
        };
        Ok(Self {
            advantage_upper: advantage_upper(event)?.min(profile[0].1).min(1.0),
            mu_upper: if at_end <= slack { mu_upper(&pieces, slack) } else { None },
            slack,
            trade_off: tradeoff::curve(event, &RATES)?.into_iter().map(rate).collect(),
        })
    }
}

/// Where the slack covers the profile from on, with the bound there: the promised `epsilon`, or the
/// least of some that are hardly larger. Bounds on epsilon and on delta come from grids of their
/// own, so that at an epsilon that was found for a delta the latter may be missed by a hair.
fn end_of_profile(event: &Event, epsilon: f64, slack: f64) -> Result<(f64, f64), PrivacyError> {
    const BEYOND: [f64; 6] = [1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2];
    let mut end = (epsilon, delta_upper(event, epsilon)?);
    for beyond in BEYOND {
        if end.1 <= slack || end.1 >= 1.0 {
            break;
        }
        let further = epsilon * (1.0 + beyond);
        end = (further, delta_upper(event, further)?);
    }
    Ok(end)
}

fn pieces(profile: &[(f64, f64)]) -> Vec<Piece> {
    /// Outweighs the rounding of logarithms: a chord is no steeper than this many roundings.
    const ROUNDING: f64 = 1e-14;
    let mut pieces = Vec::new();
    for pair in profile.windows(2) {
        let [(e0, d0), (e1, d1)] = [pair[0], pair[1]];
        let (x0, x1) = (e0.exp(), e1.exp());
        if e1 > 30.0 || x1 <= x0 {
            // Too wide for a chord in doubles; the profile falls.
            pieces.push(Piece { from: e0, to: e1, delta: d0.max(d1).min(1.0) });
            continue;
        }
        let end = |j: u32| x0 + (x1 - x0) * f64::from(j) / f64::from(PIECES);
        for j in 0..PIECES {
            let chord = d0 + (d1 - d0) * (end(j) - x0) / (x1 - x0);
            let steep = (d0 - d1).abs() / (x1 - x0) * end(j + 1);
            let (from, to) = (end(j).ln().max(e0), end(j + 1).ln().min(e1));
            let delta = (chord + ROUNDING * (steep + chord)).clamp(0.0, 1.0);
            pieces.push(Piece { from, to, delta });
        }
    }
    pieces
}

/// The least `μ`, from above, with `delta ≤ δ_μ(to) + slack` on each piece.
fn mu_upper(pieces: &[Piece], slack: f64) -> Option<f64> {
    const LARGEST: f64 = 1e3;
    let covers = |mu: f64| {
        // The profile on the right must not be an upper bound.
        pieces
            .iter()
            .all(|p| p.delta <= gaussian::delta(p.to, mu) * (1.0 - 1e-9) + slack || p.delta == 0.0)
    };
    let mut good = 1e-3;
    if covers(good) {
        return Some(good);
    }
    while !covers(good) {
        good *= 2.0;
        if good > LARGEST {
            return None;
        }
    }
    let mut bad = 0.5 * good;
    while good - bad > 1e-7 * good {
        let middle = 0.5 * (bad + good);
        if covers(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use reticent_math::{ndtr, normal_quantile};

    use super::*;
    use crate::{Adjacency, epsilon_upper};

    fn promised(event: &Event, delta: f64) -> (Epsilon, Delta) {
        let epsilon = epsilon_upper(event, delta).unwrap();
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    #[test]
    fn gaussian_noise_has_its_own_mu() {
        for mu in [0.05, 0.3, 1.0, 4.0] {
            let event = Event::Gdp { mu, adjacency: Adjacency::ReplaceOne };
            let (epsilon, delta) = promised(&event, 1e-6);
            let found = RiskBounds::of(&event, epsilon, delta).unwrap();
            let least = found.mu_upper.unwrap();
            assert!(least > mu * (1.0 - 1e-3) && least < mu * 1.03, "{mu}: {least}");
            let advantage = 2.0 * ndtr(0.5 * mu) - 1.0;
            assert!((found.advantage_upper - advantage).abs() < 1e-6, "{mu}: {found:?}");
            for point in found.trade_off {
                let exact = ndtr(normal_quantile(point.false_positive_rate) + mu);
                let got = point.true_positive_rate;
                assert!(got >= exact && got < exact * 1.002, "{point:?} {exact}");
            }
        }
    }

    #[test]
    fn the_bounds_of_sampled_noise_lie_above_its_profile_and_its_curve() {
        let event = Event::PoissonGaussian {
            sample_rate: 0.02,
            noise_multiplier: 0.9,
            steps: 300,
            adjacency: Adjacency::AddRemoveOne,
        };
        let (epsilon, delta) = promised(&event, 1e-6);
        let found = RiskBounds::of(&event, epsilon, delta).unwrap();
        let mu = found.mu_upper.unwrap();
        for i in 0..=57 {
            let at = epsilon.get() * f64::from(i) / 40.0;
            let (own, gaussian) = (delta_upper(&event, at).unwrap(), gaussian::delta(at, mu));
            assert!(own <= gaussian * (1.0 + 1e-9) + 1e-6, "{at}: {own} {gaussian}");
        }
        // A hair less noise would need a larger one: the bound is no more than three percent off.
        let tight =
            |at: f64| delta_upper(&event, at).unwrap() > gaussian::delta(at, 0.97 * mu) + 1e-6;
        assert!((0..=40).any(|i| tight(epsilon.get() * f64::from(i) / 40.0)), "{mu}");
        for point in found.trade_off {
            let own = tradeoff::true_positive_rate_upper(&event, point.false_positive_rate);
            let share = point.true_positive_rate / own.unwrap();
            assert!((0.995..=1.001).contains(&share), "{point:?}");
        }
    }

    /// At the epsilon that the accountant found, its bound on delta lies above the promised one.
    #[test]
    fn a_promise_that_is_missed_by_a_hair_has_a_mu() {
        let event = |noise_multiplier| Event::PoissonGaussian {
            sample_rate: 0.002,
            noise_multiplier,
            steps: 10_000,
            adjacency: Adjacency::AddRemoveOne,
        };
        let sigma = noise_multiplier_for_risk(Risk::Advantage { most: 0.1 }, event).unwrap();
        let event = event(sigma);
        let (epsilon, delta) = promised(&event, 1e-6);
        let found = RiskBounds::of(&event, epsilon, delta).unwrap();
        let least = 2.0 * normal_quantile(0.55);
        let mu = found.mu_upper.unwrap();
        assert!(mu > least * (1.0 - 1e-6) && mu < 1.1 * least, "{mu} {least}");
        // A promise that is missed by more has no `μ`.
        let less = Epsilon::new(0.9 * epsilon.get()).unwrap();
        assert_eq!(RiskBounds::of(&event, less, delta).unwrap().mu_upper, None);
    }

    #[test]
    fn without_a_guarantee_there_is_no_mu() {
        let one = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let found = RiskBounds::of(&Event::NotPrivate, one.0, one.1).unwrap();
        assert_eq!((found.mu_upper, found.advantage_upper), (None, 1.0));
        let pure = Event::PureDp { epsilon: 1.0, adjacency: Adjacency::ReplaceOne };
        let found = RiskBounds::of(&pure, one.0, Delta::ZERO).unwrap();
        let half = 0.5_f64.tanh();
        assert!((found.advantage_upper - half).abs() < 1e-9 && found.mu_upper.unwrap() > 1.0);
    }

    #[test]
    fn the_least_noise_keeps_the_risk_and_less_does_not() {
        let adjacency = Adjacency::AddRemoveOne;
        let sampled = |noise_multiplier| Event::PoissonGaussian {
            sample_rate: 0.01,
            noise_multiplier,
            steps: 100,
            adjacency,
        };
        let once = |noise_multiplier| Event::Gaussian { noise_multiplier, adjacency };
        for risk in [
            Risk::Advantage { most: 0.1 },
            Risk::TruePositiveRate { most: 0.2, false_positive_rate: 0.1 },
        ] {
            let exact = 1.0 / risk.gaussian_mu().unwrap();
            let found = noise_multiplier_for_risk(risk, once).unwrap();
            assert!(found >= exact * (1.0 - 1e-9) && found < exact * 1.005, "{found} {exact}");
            let found = noise_multiplier_for_risk(risk, sampled).unwrap();
            assert!(risk.upper(&sampled(found)).unwrap() <= risk.most());
            assert!(risk.upper(&sampled(found * 0.998)).unwrap() > risk.most(), "{risk}: {found}");
        }
    }

    #[test]
    fn risks_that_say_nothing_are_refused() {
        for risk in [
            Risk::Advantage { most: 0.0 },
            Risk::Advantage { most: 1.0 },
            Risk::TruePositiveRate { most: 0.1, false_positive_rate: 0.1 },
            Risk::TruePositiveRate { most: 0.5, false_positive_rate: 0.0 },
            Risk::TruePositiveRate { most: f64::NAN, false_positive_rate: 0.1 },
        ] {
            assert!(risk.check().is_err(), "{risk:?}");
        }
    }
}
