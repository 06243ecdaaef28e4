//! Formulas of output-perturbed gradient descent and of the private SGD it is compared with.

use super::Formula;

pub(super) const FORMULAS: &[(&str, Formula)] = &[];
