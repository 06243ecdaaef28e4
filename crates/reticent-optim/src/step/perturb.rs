//! One noise draw on a vector: from what is promised to what is added, and back to an event.
//!
//! A vector with Euclidean sensitivity `Δ` leaves the house here. It is rounded to a public grid
//! and gets exact noise on that grid ([`reticent_noise::lattice`]), so that no bit of the result
//! depends on how floating-point numbers are spaced. The rounding is part of the sensitivity, and
//! what the grid noise differs from ideal noise is part of delta.

use reticent_data::{Mechanism, Sensitive};
use reticent_noise::lattice::{
    GaussianLattice, GeneralizedGaussianLattice, L2LaplaceLattice, LaplaceLattice,
};
use reticent_noise::{NoiseError, Purpose, Source, Stream};
use reticent_privacy::mixture::{CUT, HitLaw};
use reticent_privacy::{Budget, Event, Hits, delta_upper, epsilon_upper, gaussian};
use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::setting::Words as _;

/// The noise of one release.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case")]
pub enum Noise {
    /// `N(0, σ² I)`, exactly discrete on the grid.
    Gaussian {
        /// `σ` over the sensitivity, rounding included.
        noise_multiplier: f64,
        /// Standard deviation added to each coordinate.
        sigma: f64,
        /// The grid.
        grid: f64,
    },
    /// Density proportional to `exp(−ε‖z‖₂/Δ)`: pure differential privacy.
    Ball {
        /// `Δ/ε`, rounding included.
        scale: f64,
        /// The grid.
        grid: f64,
    },
    /// No noise: an infinite epsilon was asked for.
    None,
}

/// Which law to draw from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseChoice {
    /// The one with the smaller variance, if delta leaves the choice.
    #[default]
    Auto,
    /// Gaussian; needs delta > 0.
    Gaussian,
    /// Ball noise, pure for every delta.
    Ball,
    /// Density proportional to `exp(−‖z‖_r²/(2σ²))`, for mirror descent.
    GeneralizedGaussian,
    /// Gaussian, in each step of gradient descent on all rows, of which only the last iterate
    /// leaves.
    EachStep,
}

impl Noise {
    /// `E z_j²`, the same for every coordinate.
    pub fn second_moment(self, dimension: usize) -> f64 {
        match self {
            Self::Gaussian { sigma, .. } => sigma * sigma,
            Self::Ball { scale, .. } => (dimension as f64 + 1.0) * scale * scale,
            Self::None => 0.0,
        }
    }

    /// Whether a number could come out of a release with this noise.
    pub(crate) fn could_give(self, x: f64) -> bool {
        match self {
            Self::Gaussian { grid, .. } => {
                let cells = x / grid;
                cells.is_finite() && cells.fract() == 0.0
            }
            Self::Ball { .. } | Self::None => x.is_finite(),
        }
    }

    /// The standard deviation of a coordinate.
    pub fn deviation(self, dimension: usize) -> f64 {
        self.second_moment(dimension).sqrt()
    }
}

/// `E z_j²` of ball noise of a vector with sensitivity one: `(d+1)/ε²`.
pub(crate) fn ball_second_moment(dimension: usize, epsilon: f64) -> f64 {
    (dimension as f64 + 1.0) / (epsilon * epsilon)
}

/// Whether ball noise has the smaller variance, `(d+1)/ε² < s1²`; at delta = 0 it is the only one.
///
/// # Errors
///
/// The accountant's, for an illegal budget.
pub fn ball_is_smaller(dimension: usize, epsilon: f64, delta: f64) -> Result<bool, PlanError> {
    if delta == 0.0 {
        return Ok(true);
    }
    let s = gaussian::noise_multiplier_upper(epsilon, delta)?;
    Ok(ball_second_moment(dimension, epsilon) < s * s)
}

/// Plans the noise for a vector of this sensitivity. `multiplier` overrides the tight Gaussian
/// scale (it must be enough).
pub(crate) fn plan(
    budget: Budget,
    sensitivity: f64,
    dimension: usize,
    choice: NoiseChoice,
    multiplier: Option<f64>,
) -> Result<(Noise, Event), PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if epsilon.is_infinite() {
        return Ok((Noise::None, Event::NotPrivate));
    }
    let ball = match choice {
        NoiseChoice::Ball => true,
        NoiseChoice::Gaussian => false,
        NoiseChoice::GeneralizedGaussian | NoiseChoice::EachStep => {
            return Err(not_one_shot(choice));
        }
        NoiseChoice::Auto => multiplier.is_none() && ball_is_smaller(dimension, epsilon, delta)?,
    };
    if ball {
        let lattice = L2LaplaceLattice::new(sensitivity, epsilon, dimension)?;
        let noise = Noise::Ball { scale: lattice.scale(), grid: lattice.grid() };
        return Ok((noise, Event::L2Laplace { epsilon, adjacency: budget.adjacency }));
    }
    gaussian(budget, sensitivity, dimension, multiplier)
}

/// Generalised Gaussian noise is for sums measured in another norm, and noise in each step is not
/// drawn once.
pub(crate) fn not_one_shot(choice: NoiseChoice) -> PlanError {
    PlanError::BadChoice {
        name: "noise",
        expected: "auto, gaussian or ball for a one-shot release (generalized-gaussian is for mirror descent)".to_owned(),
        got: choice.name().to_owned(),
    }
}

/// Adds generalised Gaussian noise to one of a run's sums. The caller's event has paid for what
/// comes out.
pub(crate) fn release_general(
    mut sum: Sensitive<Vec<f64>>,
    law: &GeneralizedGaussianLattice,
    stream: &mut Stream,
) -> Vec<f64> {
    sum.release(General { law, stream })
}

/// Adds independent Laplace noise to a vector of known l1 sensitivity. The caller's event has paid
/// for what comes out.
pub(crate) fn release_laplace(
    mut value: Sensitive<Vec<f64>>,
    law: &LaplaceLattice,
    source: &Source,
) -> Vec<f64> {
    value.release(Laplace { law, stream: source.stream(Purpose::Noise) })
}

/// Laplace noise.
struct Laplace<'a> {
    law: &'a LaplaceLattice,
    stream: Stream,
}

impl Mechanism<Vec<f64>> for Laplace<'_> {
    type Output = Vec<f64>;

    fn release(mut self, value: &mut Vec<f64>) -> Vec<f64> {
        self.law.release(value, &mut self.stream)
    }
}

/// Generalised Gaussian noise.
struct General<'a> {
    law: &'a GeneralizedGaussianLattice,
    stream: &'a mut Stream,
}

impl Mechanism<Vec<f64>> for General<'_> {
    type Output = Vec<f64>;

    fn release(self, sum: &mut Vec<f64>) -> Vec<f64> {
        self.law.release(sum, self.stream)
    }
}

/// The least Gaussian scale for which the event, with what the grid costs, keeps the budget.
fn gaussian(
    budget: Budget,
    sensitivity: f64,
    dimension: usize,
    multiplier: Option<f64>,
) -> Result<(Noise, Event), PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    // The grid's term in delta grows like e^ε: where that matters, at huge ε, less loss is promised
    // than was allowed.
    let first = gaussian::noise_multiplier_upper(epsilon, delta)?;
    let variation = GaussianLattice::new(sensitivity, first, dimension)?.total_variation();
    let affordable = (1e-3 * delta / variation).ln_1p().max(1e-3);
    let promised = epsilon.min(affordable);
    let mut reserve = (1.0 + promised.exp()) * variation;
    loop {
        let noise_multiplier = match multiplier {
            Some(s) => s,
            // A hair more than the least, so that the accountant's epsilon, rounded up, keeps the
            // budget too.
            None => gaussian::noise_multiplier_upper(promised, delta - reserve)? * (1.0 + 1e-11),
        };
        let lattice = GaussianLattice::new(sensitivity, noise_multiplier, dimension)?;
        let inner = Event::Gaussian { noise_multiplier, adjacency: budget.adjacency };
        let event = Event::Approximated {
            inner: Box::new(inner),
            total_variation: lattice.total_variation(),
        };
        let spent = delta_upper(&event, epsilon)?;
        if spent <= delta && epsilon_upper(&event, delta)? <= epsilon {
            let (sigma, grid) = (lattice.sigma(), lattice.grid());
            return Ok((Noise::Gaussian { noise_multiplier, sigma, grid }, event));
        }
        reserve *= 2.0;
        if multiplier.is_some() || reserve > 0.5 * delta {
            return Err(PlanError::OutOfRange {
                name: "delta",
                expected: format!("at least {spent:e} for this epsilon, scale and dimension"),
                got: delta,
            });
        }
    }
}

/// How far a vector moves when a secret index stream hits the changed row with weight `A > 0`: at
/// most `min(drift + shift·A, cap)`. Lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    /// For one unit of hit weight.
    pub shift: f64,
    /// As soon as there is a hit.
    pub drift: f64,
    /// At most.
    pub cap: Option<f64>,
}

impl Moves {
    /// How far at this hit weight; nothing without a hit.
    pub fn at(&self, hit_weight: f64) -> f64 {
        if hit_weight == 0.0 {
            return 0.0;
        }
        (self.drift + self.shift * hit_weight).min(self.cap.unwrap_or(f64::INFINITY))
    }

    /// The sensitivity by which the lattice is laid: one full hit. Any public number would do,
    /// since the event states the moves in terms of the noise that is drawn.
    pub(crate) fn nominal(&self) -> f64 {
        (self.shift + self.drift).min(self.cap.unwrap_or(f64::INFINITY))
    }
}

/// The least Gaussian scale, and at least `at_least`, for a vector that moves with the hits of a
/// secret index stream.
///
/// Rounding to the grid moves two vectors that differ by another `grid·√d` apart, and equal ones
/// not at all: it joins the drift and the cap.
pub(crate) fn plan_mixture(
    budget: Budget,
    hits: Hits,
    moves: Moves,
    dimension: usize,
    at_least: f64,
) -> Result<(Noise, Event), PlanError> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if epsilon.is_infinite() {
        return Ok((Noise::None, Event::NotPrivate));
    }
    let nominal = moves.nominal();
    let law = HitLaw::new(hits, CUT * delta)?;
    // As for a plain Gaussian: at huge ε less loss is promised than was allowed, because of what
    // the grid adds to delta.
    let promised = epsilon.min((1e20 * delta / dimension as f64).ln_1p().max(1e-3));
    let (mut target, mut spent) = (delta * (1.0 - 1e-6), delta);
    for _ in 0..40 {
        let sigma = law.sigma_upper(promised, target, moves.shift, moves.drift, moves.cap)?;
        // Where hits are rarer than delta no noise is needed; the grid needs some.
        let sigma = sigma.max(at_least).max(1e-3 * nominal) * (1.0 + 1e-11);
        let noise_multiplier = sigma / nominal;
        let lattice = GaussianLattice::new(nominal, noise_multiplier, dimension)?;
        let rounded = lattice.grid() * (dimension as f64).sqrt();
        let in_noise = |length: f64| length / lattice.sigma() * (1.0 + 1e-15);
        let event = Event::Approximated {
            inner: Box::new(Event::HitMixture {
                hits,
                shift: in_noise(moves.shift),
                drift: in_noise(moves.drift + rounded),
                cap: moves.cap.map(|cap| in_noise(cap + rounded)),
                adjacency: budget.adjacency,
            }),
            total_variation: lattice.total_variation(),
        };
        spent = delta_upper(&event, epsilon)?;
        if spent <= delta && epsilon_upper(&event, delta)? <= epsilon {
            let (sigma, grid) = (lattice.sigma(), lattice.grid());
            return Ok((Noise::Gaussian { noise_multiplier, sigma, grid }, event));
        }
        target *= 0.999 * (delta / spent).min(1.0);
    }
    Err(PlanError::OutOfRange {
        name: "delta",
        expected: format!("at least {spent:e} for this epsilon and dimension"),
        got: delta,
    })
}

/// Adds the planned noise. This is where a sensitive vector becomes a release.
pub(crate) fn release(
    mut value: Sensitive<Vec<f64>>,
    noise: Noise,
    sensitivity: f64,
    epsilon: f64,
    source: &Source,
) -> Result<Vec<f64>, NoiseError> {
    let stream = source.stream(Purpose::Noise);
    value.release(OneShot { noise, sensitivity, epsilon, stream })
}

/// The planned noise of a one-shot release.
struct OneShot {
    noise: Noise,
    sensitivity: f64,
    epsilon: f64,
    stream: Stream,
}

impl Mechanism<Vec<f64>> for OneShot {
    type Output = Result<Vec<f64>, NoiseError>;

    fn release(mut self, value: &mut Vec<f64>) -> Self::Output {
        let (d, stream) = (value.len(), &mut self.stream);
        match self.noise {
            Noise::Gaussian { noise_multiplier, .. } => {
                let law = GaussianLattice::new(self.sensitivity, noise_multiplier, d)?;
                Ok(law.release(value, stream))
            }
            Noise::Ball { .. } => {
                let law = L2LaplaceLattice::new(self.sensitivity, self.epsilon, d)?;
                Ok(law.release(value, stream))
            }
            // Nothing is promised for an infinite epsilon: the event is `NotPrivate`.
            Noise::None => Ok(std::mem::take(value)),
        }
    }
}
