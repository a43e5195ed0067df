//! The machine that measures: its identity, its state, and disturbances of measurements. Read-only:
//! it never changes a setting.

mod cores;
pub mod doctor;
mod identity;
mod root;
pub mod state;

pub use cores::{by_core, default_parallel, one_of_each_core};
pub use identity::{available_memory, class, this_machine};
