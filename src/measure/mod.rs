//! Measuring: processes, what they took, and on which machine.

pub mod machine;
pub mod process;
pub mod schedule;
pub mod session;
