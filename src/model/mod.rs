//! The words of the product as types: no IO, no clock, no environment.

mod benchmark;
mod execution;
mod metric;

pub use benchmark::{Benchmark, HarnessKind, Name, Throughput};
pub use execution::{Asked, Execution, Resources, Series};
pub use metric::{Metric, Unit};
