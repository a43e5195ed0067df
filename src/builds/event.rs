//! The events of a build. Builds print nothing; an observer decides about output.

use std::{path::Path, time::Duration};

use crate::model::BenchTarget;

/// An event. Only the observer prints.
#[derive(Debug)]
pub enum Event<'a> {
    /// A compilation starts.
    Compiling {
        /// The version, as the user named it.
        version: &'a str,
        /// The purpose of the compilation; empty for the first of a version.
        purpose: &'a str,
    },
    /// The compilation is still running after a while.
    StillCompiling {
        /// The version, as the user named it.
        version: &'a str,
        /// The time since its start.
        since: Duration,
    },
    /// Raw output of cargo for the user, with colours and progress bar.
    CargoOutput(&'a [u8]),
    /// The compilation is finished, or was cached.
    Compiled {
        /// The version, as the user named it.
        version: &'a str,
        /// Its duration; `None` if it was cached.
        took: Option<Duration>,
    },
    /// The links of a bench target start, or another one is finished.
    Linked {
        /// The bench target.
        target: &'a BenchTarget,
        /// The version, as the user named it.
        version: &'a str,
        /// The number of finished links.
        done: usize,
        /// The number of links in all.
        of: usize,
    },
    /// Another rbench process of this repository holds the lock at this path; this one waits for it.
    Locked(&'a Path),
    /// Information for the user.
    Note(&'a str),
    /// A problem because of which the result differs from the request.
    Warning(&'a str),
}

/// Receives the events of builds. Called from several threads.
pub trait Observer: Sync {
    /// Called for every event.
    fn build_event(&self, event: &Event<'_>);

    /// The columns of a terminal that cargo's progress bar may use, if there is one.
    fn progress_columns(&self) -> Option<u16> {
        None
    }
}

/// Ignores all events.
impl Observer for () {
    fn build_event(&self, _: &Event<'_>) {}
}
