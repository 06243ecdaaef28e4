//! How noise is drawn: a secure source, exact lattice samplers, fast Gaussian vectors.

mod ball;
mod error;
pub mod fast;
pub mod integer;
pub mod lattice;
mod normal;
mod source;
mod uniform;

pub use error::NoiseError;
pub use source::{Purpose, Randomness, Source, Stream};
