//! The `reticent` command.

fn main() {}
