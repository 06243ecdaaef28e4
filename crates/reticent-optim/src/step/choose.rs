//! One of many candidates, chosen privately: the exponential mechanism on scores that a row moves
//! by at most 1.

use reticent_data::{Mechanism, Sensitive};
use reticent_noise::select::exponential_mechanism;
use reticent_noise::{NoiseError, Purpose, Source, Stream};

/// The index of the chosen candidate, with odds `exp(epsilon·score/2)`. The caller's event has paid
/// for it.
///
/// # Errors
///
/// [`NoiseError`] without candidates, or for an `epsilon` that is not positive and finite.
pub(crate) fn choose(
    mut scores: Sensitive<Vec<f64>>,
    epsilon: f64,
    source: &Source,
) -> Result<usize, NoiseError> {
    scores.release(Exponential { epsilon, stream: source.stream(Purpose::Noise) })
}

/// The exponential mechanism on scores of sensitivity 1.
struct Exponential {
    epsilon: f64,
    stream: Stream,
}

impl Mechanism<Vec<f64>> for Exponential {
    type Output = Result<usize, NoiseError>;

    fn release(mut self, scores: &mut Vec<f64>) -> Self::Output {
        exponential_mechanism(scores, self.epsilon, 1.0, &mut self.stream)
    }
}
