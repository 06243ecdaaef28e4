//! Steps that algorithms share.

pub(crate) mod choose;
pub(crate) mod descend;
pub mod lr_noise;
pub(crate) mod noisy_gradient;
pub(crate) mod noisy_sum;
pub(crate) mod perturb;
pub(crate) mod public;
pub(crate) mod room;
pub(crate) mod walk;
