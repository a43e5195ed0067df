//! The benchmark harness of `cargo rbench`, for new benchmarks.
//!
//! The README follows; its example is tested with this documentation.
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod arguments;
mod bencher;
mod initial_state;
mod measure;
mod protocol;
mod runner;
#[cfg(feature = "sources")]
#[doc(hidden)]
pub mod sources;
mod suite;
mod table;
mod tuning;

pub use std::hint::black_box;

pub use bencher::{Bencher, Throughput};
pub use runner::run;
pub use suite::{Group, Suite};

/// Creates the `main` function of a bench target from functions that take a `&mut` [`Suite`].
///
/// ```
/// fn sorting(suite: &mut rbench_harness::Suite) {
///     suite.bench("sort", |bencher| {
///         bencher.iter_with_inputs(|| vec![3, 1, 2], |mut numbers| {
///             numbers.sort_unstable();
///             numbers
///         });
///     });
/// }
///
/// rbench_harness::main!(sorting);
/// ```
#[macro_export]
macro_rules! main {
    ($($function:path),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run(|suite| {
                $($function(suite);)+
            })
        }
    };
}
