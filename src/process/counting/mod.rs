//! Counts what a process does, instead of timing it.

pub mod allocations;
