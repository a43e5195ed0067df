//! Measuring: processes, what they took, and on which machine.

pub mod machine;
pub mod process;
