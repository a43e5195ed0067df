//! Measuring: processes, and what they took.

pub mod process;
