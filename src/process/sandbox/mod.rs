//! The sandbox of what is compiled, traced, executed and set up: code of a commit, and of everything that it depends on,
//! beside the secrets of whoever runs rbench.
//!
//! `rules.rs` says what such code may read and write. The kernel enforces it by Landlock, which also hides the memory and
//! the variables of processes outside. Where the kernel permits it, each process gets process ids and a `/proc` of its
//! own, and everything that it started ends with it.

mod active;
mod confinement;
mod enter;
mod rules;

pub use active::{
    add_places, confine_from_now_on, confined, is_confined, namespaces, pass_confinement,
    set_state, state,
};
pub(super) use active::{confine, is_download_of_cargo, is_of_cargo, permits, temporary_directory};
pub use confinement::{Namespaces, SANDBOX};
pub use enter::{AtRequest, Confined, enter, exit_code, landlock_version, run_as_sandbox};
pub use rules::{Places, Task, has_secret_of_cargo};
