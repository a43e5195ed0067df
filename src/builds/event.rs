//! Events of a build, for observers.

use std::{path::Path, time::Duration};

use crate::model::BenchTarget;

/// Something that happened. Nothing in here prints: the observer decides.
#[derive(Debug)]
pub enum Event<'a> {
    /// A compilation starts.
    Compiling {
        /// The version, as the user named it.
        version: &'a str,
        /// What the compilation is for; empty for the first of a version.
        purpose: &'a str,
    },
    /// The compilation goes on, and has done so for a while.
    StillCompiling {
        /// The version, as the user named it.
        version: &'a str,
        /// For how long.
        since: Duration,
    },
    /// A piece of what cargo prints for people, with its colours and its progress bar.
    CargoOutput(&'a [u8]),
    /// The compilation is done, or was there from before.
    Compiled {
        /// The version, as the user named it.
        version: &'a str,
        /// How long it took; `None` if it was there from before.
        took: Option<Duration>,
    },
    /// Links of a bench target start, or another one is done.
    Linked {
        /// The bench target.
        target: &'a BenchTarget,
        /// The version, as the user named it.
        version: &'a str,
        /// Links done.
        done: usize,
        /// Links in all.
        of: usize,
    },
    /// Another rbench process of this repository holds the lock at this path and is waited for.
    Locked(&'a Path),
    /// Something the user should know.
    Note(&'a str),
    /// Something that makes the result less than what was requested.
    Warning(&'a str),
}

/// Takes the events of builds. Called from several threads.
pub trait Observer: Sync {
    /// Something happened.
    fn build_event(&self, event: &Event<'_>);

    /// The columns of a terminal that cargo's progress bar may use, if there is one.
    fn progress_columns(&self) -> Option<u16> {
        None
    }
}

/// Observes nothing.
impl Observer for () {
    fn build_event(&self, _: &Event<'_>) {}
}
