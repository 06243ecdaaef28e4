//! Kernel models: random features take the place of the encoded columns, and everything else stays
//! as it is.
//!
//! Nothing here looks at a row. The bandwidth and the number of features follow from the
//! declaration and the public number of rows; the seed of the frequencies is a public number of its
//! own, and the noise is never drawn from it.

use rand_core::Rng as _;
use reticent_noise::{Purpose, Source};
use reticent_optim::least_squares::parameters::Difficulty;
use reticent_problem::ProblemError;
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};

use crate::{Error, Task};

/// The most features that are chosen where none is asked for.
const MOST_FEATURES: f64 = 16_384.0;

/// From this many inputs on frequencies are structured. With few, signs and transforms reach only a
/// few directions (two inputs: along the axes and the diagonals), and a product with a stored
/// matrix costs little.
const STRUCTURED_FROM: usize = 64;

/// How often the theorem behind the number of features may fail.
const CONFIDENCE: f64 = 0.05;

/// The settings of a kernel model that a user may fix.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `kernel` | | which kernel is approximated |
/// | `bandwidth` | half the declared bound on a row's norm | how far apart rows are that resemble each other |
/// | `features` | `n^{0.6} ln(20n)`, even, at most 16,384 | `M` |
/// | `construction` | structured from 64 inputs on, orthogonal below; independent for kernels that are not isotropic | how frequencies belong together |
/// | `form` | paired | how a frequency becomes features |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelChoice {
    /// Which kernel is approximated.
    pub kernel: Kernel,
    /// Its bandwidth.
    pub bandwidth: Option<f64>,
    /// `M`.
    pub features: Option<usize>,
    /// How frequencies belong together.
    pub construction: Option<Construction>,
    /// How a frequency becomes features.
    pub form: Form,
}

impl KernelChoice {
    /// The defaults for a kernel.
    pub fn new(kernel: Kernel) -> Self {
        let (bandwidth, features, construction) = (None, None, None);
        Self { kernel, bandwidth, features, construction, form: Form::default() }
    }

    /// The whole law, for a table of `rows` rows of `inputs` encoded columns that have this norm at
    /// most.
    ///
    /// # Errors
    ///
    /// [`ProblemError`]; a bandwidth is asked for where no bound gives one.
    pub fn law(
        &self,
        rows: usize,
        inputs: usize,
        norm_bound: f64,
        seed: u64,
    ) -> Result<MapLaw, ProblemError> {
        let structure = match (self.kernel.is_isotropic(), inputs) {
            (false, _) => Construction::Independent,
            (true, STRUCTURED_FROM..) => Construction::Structured,
            (true, _) => Construction::Orthogonal,
        };
        let law = MapLaw {
            kernel: self.kernel,
            bandwidth: self.bandwidth.unwrap_or(0.5 * norm_bound),
            construction: self.construction.unwrap_or(structure),
            form: self.form,
            features: self.features.unwrap_or_else(|| default_features(rows)),
            seed,
        };
        law.check()?;
        Ok(law)
    }
}

/// `M` of the paper's Theorem 1, even and within bounds.
fn default_features(rows: usize) -> usize {
    let features = Difficulty::default().features(rows as f64, CONFIDENCE);
    (features.clamp(2.0, MOST_FEATURES) as usize).next_multiple_of(2)
}

/// A public seed for the frequencies of a map, from a stream that serves nothing else.
pub fn map_seed(source: &Source) -> u64 {
    source.stream(Purpose::Initial).next_u64()
}

impl Task {
    /// The same task with random features in place of the columns, for a table of `rows` rows. A
    /// constant column would only shift phases, so there is none.
    ///
    /// # Errors
    ///
    /// As [`KernelChoice::law`] and [`Task::layout`].
    pub fn with_kernel(
        mut self,
        choice: &KernelChoice,
        rows: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        self.encoding.intercept = false;
        let layout = self.layout()?;
        self.map = Some(choice.law(rows, layout.dimension(), layout.norm_bound(), seed)?);
        Ok(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_from_public_facts() {
        let gaussian = KernelChoice::new(Kernel::Gaussian);
        let law = gaussian.law(10_000, 63, 3.0, 7).unwrap();
        assert_eq!((law.bandwidth, law.features, law.seed), (1.5, 3068, 7));
        assert_eq!((law.construction, law.form), (Construction::Orthogonal, Form::Paired));
        let wide = gaussian.law(10_000, 64, 3.0, 7).unwrap();
        assert_eq!(wide.construction, Construction::Structured);
        let laplace = KernelChoice::new(Kernel::Laplace);
        assert_eq!(laplace.law(10, 99, 1.0, 0).unwrap().construction, Construction::Independent);
        assert_eq!(laplace.law(usize::MAX, 1, 1.0, 0).unwrap().features, 16_384);
        assert_eq!(laplace.law(1, 1, 1.0, 0).unwrap().features % 2, 0);
        let refusal = laplace.law(10, 1, f64::INFINITY, 0).unwrap_err().to_string();
        assert!(refusal.contains("declare `bandwidth`"), "{refusal}");
    }

    #[test]
    fn a_seeded_source_gives_the_same_map_and_another_source_another() {
        let seed = || map_seed(&Source::seeded_not_private(4));
        assert_eq!(seed(), seed());
        assert_ne!(seed(), map_seed(&Source::from_os().unwrap()));
    }
}
