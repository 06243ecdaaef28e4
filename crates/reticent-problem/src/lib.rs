//! What is minimised: losses, constraint sets, the declaration and the constants that follow.

pub mod declaration;
