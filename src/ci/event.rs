//! The event that started a workflow of GitHub Actions, as far as it matters here.

use serde::Deserialize;

use crate::error::{Context, Exit, Result};

/// An event of any kind: each has other parts.
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
    /// The commit that it was about.
    pub head_sha: String,
    /// Its branch.
    pub head_branch: Option<String>,
    /// The repository of that branch, which may be a fork.
    pub head_repository: Option<HeadRepository>,
}

/// The repository of a branch.
#[derive(Clone, Debug, Deserialize)]
pub struct HeadRepository {
    /// Whose it is.
    pub owner: Owner,
}

/// The owner of a repository.
#[derive(Clone, Debug, Deserialize)]
pub struct Owner {
    /// The name of the account.
    pub login: String,
}

impl Event {
    /// Reads the file that `GITHUB_EVENT_PATH` names.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .context(Exit::Usage, || "cannot read the event that GITHUB_EVENT_PATH names")
    }
}
