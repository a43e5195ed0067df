//! Makes builds: `l` executables of one version that really differ.
//!
//! Cargo compiles a version at one path that all versions of a repository share. rbench acts as rustc's wrapper and as
//! the linker of bench targets, and records each link as a recipe. From a recipe, any number of layouts can be linked
//! without compiling again.

mod build_env;
mod cache_dirs;
mod cargo;
pub mod clean;
mod compilation;
mod compile;
mod compile_time;
mod conditions;
mod config;
mod default_link;
mod discovery;
mod environment;
mod features;
mod fetch;
pub mod files;
mod inputs;
mod key;
mod layout;
mod link;
mod linker;
mod lock_file;
mod optimization;
mod packed;
mod packing;
mod placeable;
mod read_files;
mod recipe;
mod reproducibility;
mod run_cargo;
mod run_time;
mod supervisor;
mod tool;
mod version_builds;
mod wrapper;

use std::{ffi::OsString, process::ExitCode};

pub use build_env::{BuildEnv, Event, Observer, Source, VersionFiles};
pub use cache_dirs::{CacheDirs, CacheLock, PACKED, cache_directory};
pub use compilation::{Compilation, CompilationRecord, CompiledTarget, PackedBuilds};
pub use compile::{PARTS, SlowTargets, Uncompiled};
pub use compile_time::{CompileTime, TimedCompilation};
pub use config::ConfigFiles;
pub use default_link::ListedExecutable;
pub use discovery::{
    KnownMetadata, Workspace, benches_in_sources, crate_text, is_default_member, manifests_outside,
};
pub use features::{SourceAttributes, features_off, need_nightly};
pub use link::{BuildRecord, LinkedBuild};
pub use lock_file::changed_dependencies;
pub use packing::PackingPlaces;
pub use tool::{run_confined_or as run_confined_tool_or, run_or as run_tool_or};
pub use version_builds::{BuildRequest, Compiled, TargetBuilds, VersionBuilds};
pub use wrapper::{Role, this_executable};

/// Runs the tool that this process was started as; `None` if a user started it as a command.
pub fn run_as_tool() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let argv0 = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    match Role::from_command_line(&argv0, &arguments) {
        Role::Command => None,
        Role::Wrapper => Some(wrapper::run_as_rustc(&arguments)),
        Role::Linker => Some(wrapper::run_as_linker(arguments)),
        Role::Tracer => Some(crate::process::trace::run_as_tracer(arguments.into_iter())),
        Role::Supervisor => Some(supervisor::main(&arguments)),
        Role::Sandbox => Some(crate::process::sandbox::run_as_sandbox(&arguments)),
        Role::Keeper => Some(crate::process::run_as_keeper()),
        Role::Control => Some(crate::process::run_as_control()),
    }
}
