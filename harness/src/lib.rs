//! The benchmark harness of `cargo rbench`, for new benchmarks.
//!
//! It has no dependencies, so that it adds nothing to what it measures and builds in a second, and
//! no `unsafe`: a bench target may say `#![forbid(unsafe_code)]`.
//!
//! ```toml
//! [dev-dependencies]
//! rbench-harness = "0.1"
//!
//! [[bench]]
//! name = "text"
//! harness = false
//! ```
//!
//! ```no_run
//! // benches/text.rs
//! use rbench_harness::{Suite, Throughput};
//!
//! fn words(suite: &mut Suite) {
//!     suite.bench("empty", |bencher| bencher.iter(|| ()));
//!
//!     let mut group = suite.group("words");
//!     for size in [64, 1024] {
//!         // Registers `words/64` and `words/1024`.
//!         group.bench(size, |bencher| {
//!             let text = "lorem ".repeat(size);
//!             bencher.throughput(Throughput::Bytes(text.len() as u64));
//!             bencher.iter(|| text.split(' ').count());
//!         });
//!     }
//! }
//!
//! rbench_harness::main!(words);
//! ```
//!
//! `cargo bench` prints a table; `cargo test --benches` runs every benchmark once; `cargo rbench`
//! runs each benchmark in processes of its own and compares builds and commits.
//!
//! Prepare inputs inside the closure given to [`Suite::bench`]: it is called only for a benchmark
//! that was asked for, and only what [`Bencher::iter`] repeats is timed.

mod arguments;
mod bencher;
mod initial_state;
mod measure;
mod protocol;
mod runner;
mod suite;
mod table;
mod tuning;

pub use std::hint::black_box;

pub use bencher::Bencher;
pub use runner::run;
pub use suite::{Group, Suite, Throughput};

/// Makes the `main` function of a bench target from functions that take a `&mut` [`Suite`].
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
