//! Results as text and as JSON: each takes a value and gives a string, and prints nothing.

mod build;
mod comparison;
mod date;
mod diff;
mod execution;
mod history;
mod list;
pub mod quantity;
mod show;
pub mod style;
pub mod table;
mod value;

pub use build::{BuildReport, TargetAgreement, VersionReport, common_targets};
pub use comparison::{ComparisonReport, ComparisonRow};
pub use diff::{DiffReport, TargetDiff};
pub use execution::ExecReport;
pub use history::{BenchmarkHistory, HistoryReport, HistoryRow};
pub use list::ListReport;
pub use show::{RawMeasurements, StoredBenchmark, StoredBuild, StoredVersionReport};
