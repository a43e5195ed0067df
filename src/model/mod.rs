//! The words of the product as types: no IO, no clock, no environment.

mod metric;

pub use metric::{Metric, Unit};
