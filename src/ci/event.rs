//! The fields of GitHub Actions events that name the commits to compare.

use serde::Deserialize;

use crate::error::{Context, Exit, Result};

/// An event of any kind. Each kind has different fields.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Event {
    #[serde(default)]
    pub(super) pull_request: Option<PullRequest>,
    #[serde(default)]
    pub(super) before: Option<String>,
    #[serde(default)]
    pub(super) after: Option<String>,
    #[serde(default)]
    pub(super) merge_group: Option<MergeGroup>,
    #[serde(default)]
    pub(super) repository: Option<Repository>,
    /// The run that ended, for a workflow that follows another.
    #[serde(default)]
    pub workflow_run: Option<WorkflowRun>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct PullRequest {
    pub number: u64,
    pub head: Tip,
    pub base: Tip,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Tip {
    pub sha: String,
    #[serde(rename = "ref")]
    pub branch: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct MergeGroup {
    pub base_sha: String,
    pub head_sha: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Repository {
    pub default_branch: Option<String>,
}

/// A run that ended.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkflowRun {
    /// The commit that it ran on.
    pub head_sha: String,
    /// The branch of that commit.
    pub head_branch: Option<String>,
    /// The repository of that branch, which may be a fork.
    pub head_repository: Option<HeadRepository>,
}

/// The repository of a branch.
#[derive(Clone, Debug, Deserialize)]
pub struct HeadRepository {
    /// The owner of the repository.
    pub owner: Owner,
}

/// The owner of a repository.
#[derive(Clone, Debug, Deserialize)]
pub struct Owner {
    /// The name of the account.
    pub login: String,
}

impl Event {
    /// Parses the content of the file at `GITHUB_EVENT_PATH`.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .context(Exit::Usage, || "cannot read the event that GITHUB_EVENT_PATH names")
    }
}
