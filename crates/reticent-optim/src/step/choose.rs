//! One of many candidates, chosen privately: the exponential mechanism on scores that a row moves by at most 1.

use reticent_data::Sensitive;
use reticent_noise::select::exponential_mechanism;
use reticent_noise::{NoiseError, Purpose, Source};

/// The index of the chosen candidate, with odds `exp(epsilon·score/2)`. The caller's event has paid for it.
///
/// # Errors
///
/// [`NoiseError`] without candidates, or for an `epsilon` that is not positive and finite.
pub(crate) fn choose(
    scores: Sensitive<Vec<f64>>,
    epsilon: f64,
    source: &Source,
) -> Result<usize, NoiseError> {
    let mut stream = source.stream(Purpose::Noise);
    let mut scores = scores;
    scores.expose(|scores| exponential_mechanism(scores, epsilon, 1.0, &mut stream))
}
