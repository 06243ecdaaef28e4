//! Steps that algorithms share.

pub mod lr_noise;
pub(crate) mod noisy_sum;
pub(crate) mod perturb;
pub(crate) mod public;
