//! How it is minimised privately: one file per algorithm, and the planner.
