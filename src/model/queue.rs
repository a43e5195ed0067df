//! Comparisons that wait for a machine of a class, and the workers that make them. Times are ages in seconds by the clock
//! of the database: the clocks of machines differ.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order in which workers take jobs.
#[derive(Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// When nothing else waits; released for a gate, and continued later.
    BackFill,
    /// Before back-fill.
    #[default]
    Normal,
    /// Before everything else: somebody waits for it.
    Gate,
}

names!(Priority { BackFill = "back-fill", Normal = "normal", Gate = "gate", });

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// It has a result.
    Done,
    /// It has no result, and nobody tries again.
    Failed,
    /// It is not needed any more.
    Cancelled,
}

impl JobState {
    /// True if it does not change any more.
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

names!(JobState {
    Queued = "queued",
    Running = "running",
    Done = "done",
    Failed = "failed",
    Cancelled = "cancelled",
});

/// A comparison in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// The class of machines that may make it.
    pub class: String,
    /// When it is taken.
    pub priority: Priority,
    /// Where it stands.
    pub state: JobState,
    /// The commit to compare with.
    pub base: String,
    /// The new commit.
    pub head: String,
    /// Options of `compare`.
    pub options: Vec<String>,
    /// The pull request that it is for; empty if there is none.
    pub request: String,
    /// The format that a worker must understand.
    pub format: i32,
    /// The worker that has it, or had it last.
    pub worker: Option<String>,
    /// The number of times that a worker took it.
    pub attempt: i32,
    /// The last line that the running comparison printed.
    pub progress: Option<String>,
    /// The seconds since it was queued.
    pub queued_s: f64,
    /// The account of the database that queued it.
    pub queued_by: String,
    /// The seconds from its first start to its end, or until now; null before it started.
    pub run_s: Option<f64>,
    /// The reason why an attempt had no result.
    pub failure: Option<String>,
    /// The exit code of the comparison, once it ended.
    pub exit: Option<i16>,
}

impl Job {
    /// Both versions for display.
    pub fn versions(&self) -> String {
        short_versions(&self.base, &self.head)
    }
}

/// Two versions of a job for display: seven digits of each commit, and the name of its variant.
pub fn short_versions(base: &str, head: &str) -> String {
    let short = |version: &str| {
        let (commit, variant) = version.split_at(version.find('+').unwrap_or(version.len()));
        commit.chars().take(7).collect::<String>() + variant
    };
    format!("{}..{}", short(base), short(head))
}

/// A worker that the database knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// The name of its host, and a few digits that distinguish hosts of one name.
    pub name: String,
    /// Its class of machines.
    pub class: String,
    /// Its hardware.
    pub machine: String,
    /// Its version of rbench.
    pub rbench: String,
    /// The newest format of jobs that it understands.
    pub format: i32,
    /// The job that it has.
    pub job: Option<i64>,
    /// The seconds since it was seen.
    pub seen_s: f64,
    /// False if it was not seen for so long that its job is given to others.
    pub is_alive: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_short() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(short_versions(commit, &format!("{commit}+lto")), "0123456..0123456+lto");
        assert_eq!(short_versions("", "ä+"), "..ä+");
    }

    #[test]
    fn gates_come_before_all_others() {
        assert!(Priority::Gate > Priority::Normal && Priority::Normal > Priority::BackFill);
        let text = serde_json::to_string(&Priority::BackFill).unwrap();
        assert_eq!(text, format!("\"{}\"", Priority::BackFill));
    }
}
