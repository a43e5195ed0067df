//! Common to all tests: a project, the program under test, and its output.

pub mod api;
pub mod builds;
pub mod fixture;
pub mod history;
pub mod library;
pub mod modules;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod preloaded;
pub mod project;
pub mod rbench;
pub mod schema;
pub mod script;
pub mod sources;
pub mod tree;

pub use builds::Builds;
pub use project::TestProject;

/// Options of a comparison that gives a verdict, and is quick.
pub const QUICK: [&str; 8] = [
    "--config=build.strategy=relink",
    "-l",
    "4",
    "-m",
    "1",
    "-n",
    "5",
    "--config=experiment.warm-up=5ms",
];

/// A quick comparison.
pub const COMPARE_QUICK: [&str; 9] = {
    let [strategy, l, builds, m, executions, n, measurements, warm_up] = QUICK;
    ["compare", strategy, l, builds, m, executions, n, measurements, warm_up]
};
