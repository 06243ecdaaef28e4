//! How noise is drawn: a secure source, exact lattice samplers, fast Gaussian vectors.
//!
//! A privacy guarantee is proved over the real numbers. Value plus noise computed naively in
//! floating point breaks it: the last bits of the sum tell which values it can have come from.
//! Everything in this crate is built so that the proof over the reals carries over to the bits that
//! leave, and so that a reader can check why:
//!
//! - **Noise and value live on a public grid.** A value is rounded to a multiple of a cell width
//!   that depends on public numbers only; the rounding is charged to the sensitivity; the noise is
//!   a whole number of cells; the sum is exact.
//! - **Decisions are exact.** Either they are made in integers ([`integer`]), or they are
//!   *certified*: a formula is evaluated in `f64` with an error bound, and where the bound leaves
//!   the decision open, with as many further digits of the same random numbers as it takes. The
//!   outcome is the one that real-number arithmetic would give, on every machine.
//! - **Random bits are addressed, not consumed by the clock.** A number depends on the seed, the
//!   stream and its position, so chunks and threads change nothing.
//!
//! | to release | take | guarantee |
//! | --- | --- | --- |
//! | one vector, `(epsilon, delta)` | [`lattice::GaussianLattice`] | zCDP exactly; Gaussian profile within `d/(16s²)` total variation |
//! | one vector, pure `epsilon`, l2 sensitivity | [`lattice::L2LaplaceLattice`] | pure |
//! | counts, bounds, quantiles, l1 sensitivity | [`lattice::LaplaceLattice`] | pure |
//! | one vector, `l_r` sensitivity | [`lattice::GeneralizedGaussianLattice`] | exactly the ideal mechanism, rounded |
//! | a vector in every step | [`fast::FastGaussian`] | exactly the ideal Gaussian mechanism, rounded |
//! | the best of many | [`select`] | pure |
//! | which rows join a batch | [`batch`] | exact odds |
//!
//! Time is not hidden. The vector mechanisms draw their noise without looking at the value, but how
//! long that takes depends on the noise (rejections, rare exact evaluations), and [`select`] takes
//! longer when scores are close. Do not let an adversary time a release.
//!
//! # Example
//!
//! ```
//! use reticent_noise::{Purpose, Source, lattice::GaussianLattice};
//!
//! let source = Source::from_os()?;
//! let mean = [0.31, -0.02, 1.7]; // l2 sensitivity 0.01
//! let mechanism = GaussianLattice::new(0.01, 4.2, mean.len())?;
//! let released = mechanism.release(&mean, &mut source.stream(Purpose::Noise));
//! assert_eq!(released.len(), 3);
//! # Ok::<(), reticent_noise::NoiseError>(())
//! ```

mod ball;
pub mod batch;
mod error;
pub mod fast;
pub mod integer;
pub mod lattice;
mod normal;
pub mod select;
mod source;
pub mod sphere;
mod uniform;

pub use error::NoiseError;
pub use source::{Purpose, Randomness, Source, Stream};
