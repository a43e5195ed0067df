//! What every part of a search needs.

use std::time::Duration;

use crate::{config::VerdictSettings, console::Console, project::Project};

/// The context of a search.
pub struct Finder<'f> {
    /// The user's repository.
    pub project: &'f Project,
    /// The criteria of verdicts. The whole search together keeps the false-alarm rate.
    pub verdicts: &'f VerdictSettings,
    /// The measuring time after which no further comparison starts, if it is limited.
    pub budget: Option<Duration>,
    /// The console for progress.
    pub console: &'f Console,
}
