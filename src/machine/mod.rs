//! The machine that measures: its identity, its state, and disturbances of measurements.

pub mod disturbance;
pub mod doctor;
mod identity;
pub mod state;

pub use identity::this_machine;
