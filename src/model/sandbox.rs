//! What code of commits may do besides what the sandbox allows all code.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The beginning of a line that says what the sandbox refused, and what to do.
pub const REFUSED: &str = "the sandbox refused to";

/// Behind the name of a file in advice to change it, where the one of the base decides.
pub const OF_BASE: &str = " of the base (in a change, it holds once merged)";

/// `[sandbox]` of bench.toml: what the benchmarks of a project need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxExceptions {
    /// Files and directories that they may read.
    pub read: Vec<PathBuf>,
    /// Files and directories that they may read and write.
    pub write: Vec<PathBuf>,
    /// True if they may use Unix sockets: agents of ssh and gpg, and services of the machine, answer there.
    pub unix_sockets: bool,
}

/// Whether the sandbox confined code of commits, where a reader has to know: in CI, beside secrets, and if it was
/// requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SandboxState {
    /// It was on.
    On {
        /// The version of Landlock in the kernel.
        landlock: u32,
        /// True if compilations and set-ups had process ids of their own, so that they could see no other process.
        own_process_ids: bool,
    },
    /// It was off.
    Off {
        /// The reason.
        reason: SandboxOff,
    },
}

/// The reason why the sandbox was off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxOff {
    /// `--no-sandbox`.
    Requested,
    /// The kernel has no Landlock, or it is turned off.
    NoLandlock,
}

impl SandboxState {
    /// A line for people: `code of the commits ran in the sandbox, …: Landlock 7, …`.
    pub fn text(self) -> String {
        match self {
            Self::On { .. } => format!(
                "code of the commits ran in the sandbox, which closes secrets of the environment and of the home \
                 directory: {}",
                self.words()
            ),
            Self::Off { .. } => {
                format!("code of the commits ran outside of the sandbox: {}", self.words())
            }
        }
    }

    /// The one of both by which less is confined.
    fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::On { landlock, own_process_ids },
                Self::On { landlock: others, own_process_ids: has_other },
            ) => Self::On {
                landlock: landlock.min(others),
                own_process_ids: own_process_ids && has_other,
            },
            (off @ Self::Off { .. }, _) | (_, off) => off,
        }
    }

    /// What holds for all parts of a report, if each part has a state: a part that was not confined counts for all.
    pub fn of_all(states: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        states.reduce(|one, other| Some(one?.weaker(other?))).flatten()
    }

    /// What holds, or why nothing does, in a few words.
    pub fn words(self) -> String {
        match self {
            Self::On { landlock, own_process_ids: true } => {
                format!("Landlock {landlock}, own process ids for compilations and set-ups")
            }
            Self::On { landlock, own_process_ids: false } => {
                format!("Landlock {landlock}, compilations see other processes' command lines")
            }
            Self::Off { reason: SandboxOff::Requested } => "--no-sandbox".to_owned(),
            Self::Off { reason: SandboxOff::NoLandlock } => {
                "the kernel has no Landlock, or it is turned off".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_that_was_not_confined_counts_for_all() {
        let on = |landlock, own_process_ids| SandboxState::On { landlock, own_process_ids };
        let off = SandboxState::Off { reason: SandboxOff::NoLandlock };
        assert_eq!(on(7, false).weaker(on(4, true)), on(4, false));
        assert_eq!(on(7, true).weaker(off), off);
        assert_eq!(off.weaker(on(7, true)), off);
    }
}
