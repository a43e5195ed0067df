//! The words of the product as types: no IO, no clock, no environment.

mod compile;
mod layout;
mod metric;
mod target;
mod version;

pub use compile::CompileSettings;
pub use layout::{Layout, LayoutSeed, Strategy};
pub use metric::{Metric, Unit};
pub use target::{BenchTarget, TargetFilter};
pub use version::Version;
