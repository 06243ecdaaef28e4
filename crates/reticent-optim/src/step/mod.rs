//! Steps that algorithms share.

pub(crate) mod noisy_gradient;
pub(crate) mod noisy_sum;
pub(crate) mod perturb;
pub(crate) mod walk;
