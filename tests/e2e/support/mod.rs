//! Common to all tests: a project, the program under test, and its output.

pub mod api;
pub mod builds;
pub mod fixture;
pub mod history;
pub mod library;
pub mod modules;
pub mod postgres;
pub mod project;
pub mod rbench;
pub mod schema;
pub mod script;
pub mod sources;
pub mod tree;

pub use builds::Builds;
pub use project::TestProject;
