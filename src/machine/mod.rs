//! The machine that measures: what it is, what state it is in, and what disturbs a measurement.

pub mod disturbance;
mod identity;
pub mod state;

pub use identity::this_machine;
