//! Integer noise decided by integer arithmetic alone.
//!
//! No floating-point number takes part in any decision here, so the probabilities are the stated
//! ones without error, and there are no low bits to read. [`crate::lattice`] turns these laws into
//! releases.

mod bernoulli;
mod gaussian;
mod laplace;

pub use bernoulli::{bernoulli, bernoulli_exp, uniform_below};
pub use gaussian::DiscreteGaussian;
pub use laplace::DiscreteLaplace;
