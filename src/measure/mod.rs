//! Measuring: processes, what they took, and on which machine.

pub mod disturbance;
pub mod machine;
pub mod machine_state;
pub mod process;
pub mod schedule;
pub mod session;
