//! The statistics of regression benchmarking across builds. Pure: no IO, no clock, no environment,
//! and every random routine takes a seeded generator.

pub mod distribution;
pub mod random;
