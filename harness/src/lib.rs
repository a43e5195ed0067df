//! The benchmark harness of `cargo rbench`, for new benchmarks.
//!
//! It has no dependencies, so that it adds nothing to what it measures.
