//! Measuring: processes, and what they took.

pub mod process;
pub mod schedule;
pub mod session;
