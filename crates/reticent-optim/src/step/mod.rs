//! Steps that algorithms share.

pub(crate) mod perturb;
