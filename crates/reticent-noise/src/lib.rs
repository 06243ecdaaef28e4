//! How noise is drawn: a secure source, exact lattice samplers, fast Gaussian vectors.

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
