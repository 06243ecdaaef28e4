//! Integer noise decided by integer arithmetic alone.

mod bernoulli;
mod gaussian;
mod laplace;

pub use bernoulli::{bernoulli, bernoulli_exp, uniform_below};
pub use gaussian::DiscreteGaussian;
pub use laplace::DiscreteLaplace;
