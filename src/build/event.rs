//! What a build tells whoever watches it.

use std::time::Duration;

/// Something that happened. Nothing in here prints: the one who watches decides.
#[derive(Debug)]
pub enum Event<'a> {
    /// A tool is about to run, as one could type it.
    Command(&'a str),
    /// A compilation starts: of which version, and why.
    Compiling {
        /// The version, as the user named it.
        version: &'a str,
        /// What the compilation is for.
        purpose: &'a str,
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
        target: &'a str,
        /// Links done.
        done: usize,
        /// Links in all.
        of: usize,
    },
    /// Something the user should know.
    Note(&'a str),
    /// Something that makes the result less than what was asked.
    Warning(&'a str),
}

/// Who watches. Called from several threads.
pub type Watch<'a> = &'a (dyn Fn(Event<'_>) + Sync);
