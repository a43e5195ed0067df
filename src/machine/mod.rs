//! The machine that measures: its identity, its state, and disturbances of measurements. Read-only:
//! it never changes a setting.

pub mod doctor;
mod identity;
pub mod state;

pub use identity::this_machine;
