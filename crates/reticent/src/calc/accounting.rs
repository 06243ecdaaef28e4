//! The accountant's formulas.

use super::Formula;

pub(super) const FORMULAS: &[(&str, Formula)] = &[];
