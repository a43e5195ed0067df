//! Reads the CI environment from the variables of its service: the commits to compare, the pull
//! request, and the files for results. Checks every value that git or the API receive. Pure:
//! variables and the event come from the caller.

use std::path::PathBuf;

use serde_json::Value;

use super::{comparison::is_hash, page::Links};
use crate::error::{Context as _, Error, Exit, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    Github,
    Gitlab,
    #[default]
    None,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Base {
    Commit(String),
    /// The commit where the head left a branch; if the branch is missing, where it left this
    /// commit.
    MergeBase {
        branch: String,
        tip: Option<String>,
    },
    Parent,
    /// Unknown: the event names none.
    #[default]
    Unknown,
}

/// The environment of a CI job, and the change it is about.
#[derive(Clone, Debug, Default)]
pub struct CiEnvironment {
    /// The service that runs the job.
    pub provider: Provider,
    /// The commit to compare; `None` if only flags can name it.
    pub head: Option<String>,
    pub base: Base,
    /// The repository: OWNER/NAME, or the number of the project.
    pub project: Option<String>,
    /// The number of the pull request.
    pub request: Option<u64>,
    pub api: Option<String>,
    /// The file of the step's summary.
    pub summary: Option<PathBuf>,
    /// The file of the step's outputs.
    pub outputs: Option<PathBuf>,
    pub links: Links,
    /// The commit of the run that this job follows.
    followed: Option<String>,
    /// The owner and the name of the branch of that run, which may be in a fork.
    branch: Option<(String, String)>,
    /// The name of the event, if its jobs have a token with write access whoever wrote the code.
    privileged: Option<String>,
    /// True if the project runs the code of a fork.
    is_of_fork: bool,
}

/// The event of GitHub Actions that started a job. Each kind of event has other fields.
#[derive(Clone, Debug, Default)]
pub struct Event(Value);

impl Event {
    /// Parses the content of the file at `GITHUB_EVENT_PATH`.
    pub fn parse(text: &str) -> Result<Self> {
        let event = serde_json::from_str(text).map(Self);
        event.context(Exit::Usage, || "cannot read the event that GITHUB_EVENT_PATH names")
    }

    fn text(&self, pointer: &str) -> Option<String> {
        self.0.pointer(pointer)?.as_str().map(str::to_owned)
    }
}

/// GitHub events that start jobs for forks with the rights of the repository.
const PRIVILEGED: [&str; 2] = ["pull_request_target", "workflow_run"];

/// True in a job, of any service: all of them set this variable.
pub fn is_job(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = variable("CI").is_some_and(|value| !matches!(&*value, "" | "0" | "false"));
    is_set || Provider::detect(variable) != Provider::None
}

impl Provider {
    pub const ALL: [Self; 3] = [Self::Github, Self::Gitlab, Self::None];

    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| variable(name).is_some_and(|value| value == "true");
        if is_set("GITHUB_ACTIONS") {
            Self::Github
        } else if is_set("GITLAB_CI") {
            Self::Gitlab
        } else {
            Self::None
        }
    }

    /// The variables that may hold the token for comments, by priority.
    pub const fn token_variables(self) -> &'static [&'static str] {
        match self {
            Self::Github => &["RBENCH_TOKEN", "GITHUB_TOKEN"],
            Self::Gitlab => &["RBENCH_TOKEN", "GITLAB_TOKEN"],
            Self::None => &[],
        }
    }

    /// Advice on how to fetch the full history.
    pub const fn whole_history(self) -> &'static str {
        match self {
            Self::Github => {
                "set `fetch-depth: 0` under `with:` of the step that uses actions/checkout"
            }
            Self::Gitlab => "set `GIT_DEPTH: \"0\"` under `variables:` of the job",
            Self::None => "fetch the whole history: git fetch --unshallow",
        }
    }

    /// Advice on how to permit comments.
    pub const fn permission(self) -> &'static str {
        match self {
            Self::Github => {
                "the job needs `permissions: pull-requests: write`, and a run for a fork never has it: \
                             see `ci comment`"
            }
            Self::Gitlab => "the token needs the scope `api` and the role Reporter",
            Self::None => "see docs/ci.md",
        }
    }
}

impl CiEnvironment {
    pub fn read(
        provider: Provider,
        variable: impl Fn(&str) -> Option<String>,
        event: Option<Event>,
    ) -> Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let environment = match provider {
            Provider::Github => Self::from_github(&variable, &event.unwrap_or_default()),
            Provider::Gitlab => Self::from_gitlab(&variable),
            Provider::None => Self::default(),
        };
        environment.checked()
    }

    /// Fails if the job must not build and run the code it is about, because a fork may have
    /// written it and the job has write access.
    /// `has_token` is true if the job has a token.
    pub fn may_run(&self, has_token: bool) -> Result<()> {
        if self.is_of_fork && has_token {
            let what = "a job with a token runs no benchmarks of a fork";
            return Err(Error::new(Exit::Usage, what)
                .cause("the merge request is that of a fork, whose code could use the token")
                .hint("run the pipeline in the fork, or set no token in this one: docs/ci.md"));
        }
        let Some(event) = &self.privileged else { return Ok(()) };
        let what = format!("a job for `{event}` runs no benchmarks");
        Err(Error::new(Exit::Usage, what)
            .cause("it would run the code of a fork with the rights of this repository")
            .hint("compare in a job for `pull_request`, and let this one run `ci comment`: docs/ci.md has both"))
    }

    /// The commit that was compared, according to the event: for a job that follows another run,
    /// the commit of that run.
    pub fn head_sha(&self) -> Option<&str> {
        self.followed.as_deref().or(self.head.as_deref())
    }

    /// The branch of the followed run, with its owner.
    pub fn branch(&self) -> Option<(&str, &str)> {
        self.branch.as_ref().map(|(owner, branch)| (owner.as_str(), branch.as_str()))
    }

    fn from_github(variable: &dyn Fn(&str) -> Option<String>, event: &Event) -> Self {
        let text = |pointer: &str| event.text(pointer);
        let (head, base) = if let Some(branch) = text("/pull_request/base/ref") {
            let tip = text("/pull_request/base/sha");
            (text("/pull_request/head/sha"), Base::MergeBase { branch, tip })
        } else if let Some(base) = text("/merge_group/base_sha") {
            (text("/merge_group/head_sha"), Base::Commit(base))
        } else if let Some(before) = text("/before") {
            let branch = variable("GITHUB_REF_NAME");
            let default = text("/repository/default_branch");
            let is_forced = event.0.pointer("/forced").and_then(Value::as_bool) == Some(true);
            let before = (!is_forced || branch == default).then_some(&*before);
            (text("/after"), Base::for_push(before, branch.as_deref(), default))
        } else {
            (None, Base::Unknown)
        };
        let run = || {
            let [server, repository, run] =
                ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"].map(variable);
            Some(format!("{}/{}/actions/runs/{}", server?, repository?, run?))
        };
        Self {
            provider: Provider::Github,
            head: head.or_else(|| variable("GITHUB_SHA")),
            base,
            project: variable("GITHUB_REPOSITORY"),
            request: event.0.pointer("/pull_request/number").and_then(Value::as_u64),
            api: variable("GITHUB_API_URL"),
            summary: variable("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            outputs: variable("GITHUB_OUTPUT").map(PathBuf::from),
            links: Links::new(run().as_deref()),
            followed: text("/workflow_run/head_sha"),
            branch: text("/workflow_run/head_repository/owner/login")
                .zip(text("/workflow_run/head_branch")),
            privileged: variable("GITHUB_EVENT_NAME")
                .filter(|event| PRIVILEGED.contains(&event.as_str())),
            is_of_fork: false,
        }
    }

    fn from_gitlab(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let merge_base = || {
            let branch = variable("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")?;
            Some(Base::MergeBase { branch, tip: None })
        };
        let of_push = || {
            // Other pipelines, such as scheduled ones, have no commit before them.
            variable("CI_PIPELINE_SOURCE").is_none_or(|source| source == "push").then_some(())?;
            let before = variable("CI_COMMIT_BEFORE_SHA")?;
            let branch = variable("CI_COMMIT_BRANCH");
            Some(Base::for_push(Some(&before), branch.as_deref(), variable("CI_DEFAULT_BRANCH")))
        };
        let of_request = || {
            let base = variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").map(Base::Commit);
            base.or_else(merge_base)
        };
        Self {
            provider: Provider::Gitlab,
            head: variable("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
                .or_else(|| variable("CI_COMMIT_SHA")),
            base: of_request().or_else(of_push).unwrap_or(Base::Unknown),
            // The pipeline of a fork runs in the fork.
            project: variable("CI_MERGE_REQUEST_PROJECT_ID").or_else(|| variable("CI_PROJECT_ID")),
            request: variable("CI_MERGE_REQUEST_IID").and_then(|number| number.parse().ok()),
            api: variable("CI_API_V4_URL"),
            links: Links::new(variable("CI_JOB_URL").as_deref()),
            is_of_fork: variable("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
                .is_some_and(|source| variable("CI_PROJECT_ID") != Some(source)),
            ..Self::default()
        }
    }

    /// Checks the values that git and the API receive.
    fn checked(self) -> Result<Self> {
        let wrong = |what: &str, value: &str| {
            Err(Error::new(Exit::Usage, format!("{what} of this job is `{value}`")))
        };
        let tip = match &self.base {
            Base::Commit(commit) => Some(commit),
            Base::MergeBase { tip, .. } => tip.as_ref(),
            Base::Parent | Base::Unknown => None,
        };
        if let Some(commit) =
            self.head.iter().chain(&self.followed).chain(tip).find(|commit| !is_hash(commit))
        {
            return wrong("a commit", commit);
        }
        let is_branch = |name: &str| {
            !name.is_empty()
                && !name.starts_with(['-', '/'])
                && !name.contains("..")
                && !name.contains("@{")
                && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c))
        };
        if let Base::MergeBase { branch, .. } = &self.base
            && !is_branch(branch)
        {
            return wrong("the target branch", branch);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if let Some(project) = &self.project
            && (!project.chars().all(is_plain) || project.contains(".."))
        {
            return wrong("the repository", project);
        }
        Ok(self)
    }
}

impl Base {
    /// The base of a push: the commit before it, or for a new branch, where it left the default
    /// branch. `before` is absent if the branch does not continue it any more: a rebased branch
    /// also has the changes of the default branch since then.
    fn for_push(before: Option<&str>, branch: Option<&str>, default: Option<String>) -> Self {
        if let Some(before) = before
            && before.bytes().any(|byte| byte != b'0')
        {
            return Self::Commit(before.to_owned());
        }
        match default {
            Some(default) if branch != Some(&default) => {
                Self::MergeBase { branch: default, tip: None }
            }
            _ => Self::Parent,
        }
    }
}
