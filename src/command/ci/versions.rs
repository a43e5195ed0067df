//! Finds the two versions of a job, and fetches what its clone lacks of their history.

use std::path::Path;

use crate::{
    builds::run_tool_or,
    ci::{Base, CiEnvironment, Provider},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    git::Repository,
    model::Version,
    secrets,
};

/// The arguments of `git fetch` that deepen a shallow clone, tried in this order.
const DEEPER: [&str; 3] = ["--deepen=50", "--deepen=500", "--unshallow"];

const OTHER_BASE: &str = "name the version to compare with: --base REV";

/// Returns the revisions of base and head: the given ones, or those from the variables of the service.
pub fn find(
    environment: &CiEnvironment,
    [base, head]: [Option<&str>; 2],
    manifest: Option<&Path>,
    console: &Console,
) -> Result<[String; 2]> {
    let here =
        std::env::current_dir().context(Exit::Usage, || "cannot find the current directory")?;
    let directory =
        manifest.and_then(Path::parent).map_or(here.clone(), |parent| here.join(parent));
    let clone = LocalClone { environment, directory: &directory, console };
    let head = match (head, &environment.head) {
        (Some(typed), _) => typed.to_owned(),
        (None, Some(commit)) => commit.clone(),
        (None, None) => "HEAD".to_owned(),
    };
    clone.ensure(&head)?;
    let base = match (base, &environment.base) {
        (Some(typed), _) => typed.to_owned(),
        (None, Base::Commit(commit)) => {
            clone.ensure(commit)?;
            commit.clone()
        }
        (None, Base::MergeBase { branch, tip }) => {
            clone.merge_base(&head, branch, tip.as_deref())?
        }
        (None, Base::Parent) => {
            let parent = format!("{head}~1");
            clone.ensure(&parent)?;
            parent
        }
        (None, Base::Unknown) => {
            return Err(Error::new(Exit::Usage, "the version to compare with is unknown")
                .cause("the event of this job names no earlier commit")
                .hint("name it: --base REV, for example --base HEAD~1"));
        }
    };
    console.line(&format!("comparing {head} with {base}"));
    let repository = clone.repository()?;
    let [of_base, of_head] = [repository.resolve(&base)?, repository.resolve(&head)?];
    if (&of_base.commit, &of_base.tree) == (&of_head.commit, &of_head.tree) {
        console.line("warning: they are the same commit: nothing can have changed");
    }
    Ok([base, head])
}

/// The clone of the job, which may lack commits.
struct LocalClone<'c> {
    environment: &'c CiEnvironment,
    directory: &'c Path,
    console: &'c Console,
}

impl LocalClone<'_> {
    /// Opens the repository anew each time: fetched objects are only visible afterwards.
    fn repository(&self) -> Result<Repository> {
        Repository::discover(self.directory)
    }

    /// Fetches a revision unless it is there.
    fn ensure(&self, revision: &str) -> Result<()> {
        let known = || self.repository()?.resolve(revision).map(drop);
        let Err(error) = known() else { return Ok(()) };
        if self.environment.provider == Provider::None {
            return Err(error);
        }
        let commit = revision.trim_end_matches("~1");
        let deeper = if commit == revision { "--depth=1" } else { "--deepen=1" };
        if self.repository()?.is_shallow() {
            self.fetch(&[deeper], &[commit], None)?;
        } else {
            self.fetch(&[], &[commit], None)?;
        }
        known().map_err(|error| error.hint(self.remedy()))
    }

    fn remedy(&self) -> &'static str {
        let is_shallow = self.repository().is_ok_and(|repository| repository.is_shallow());
        if is_shallow { self.environment.provider.whole_history() } else { OTHER_BASE }
    }

    /// The commit where the head left a branch, deepening a shallow clone until it is found.
    fn merge_base(&self, head: &str, branch: &str, tip: Option<&str>) -> Result<String> {
        let tracked = format!("refs/remotes/origin/{branch}");
        let refspec = format!("+refs/heads/{branch}:{tracked}");
        let candidates: Vec<&str> = [tracked.as_str()].into_iter().chain(tip).collect();
        let mut steps = DEEPER.iter();
        loop {
            let repository = self.repository()?;
            let head_version = repository.resolve(head)?;
            let target = candidates.iter().find_map(|name| repository.resolve(name).ok());
            let base = |target: &Version| repository.merge_base(&head_version, target);
            if let Some(base) = target.as_ref().map(base).transpose()?.flatten() {
                return Ok(base);
            }
            if target.is_none() && !repository.is_shallow() {
                self.fetch(&[], &[&refspec], Some(&tracked))?;
                if self.repository()?.resolve(&tracked).is_ok() {
                    continue;
                }
            }
            let what = format!("cannot find where {head} left the branch {branch}");
            let error = Error::new(Exit::Usage, what);
            if !repository.is_shallow() {
                return Err(error.cause("they have no commit in common").hint(OTHER_BASE));
            }
            let error =
                error.cause("the clone is shallow").hint(self.environment.provider.whole_history());
            let Some(step) = steps.next() else { return Err(error) };
            self.fetch(&[step], &[&refspec, head], Some(&tracked)).map_err(|_| error)?;
        }
    }

    /// Runs `git fetch` for the clone, and keeps this reference if it is among what was fetched.
    fn fetch(&self, options: &[&str], names: &[&str], reference: Option<&str>) -> Result<()> {
        let words = [options, &["origin"], names].concat().join(" ");
        self.console.line(&format!("fetching: git fetch --no-tags {words}"));
        let what = || "cannot fetch the history that is needed".to_owned();
        let fetch = || {
            let repository = self.repository()?;
            let git = repository.git_program()?;
            // The user's own git may need a secret to reach the remote.
            let mut command = git.fetch(&[], options, "origin", names);
            run_tool_or(command.envs(secrets::withheld()), Exit::Usage, what)?;
            git.keep(reference)
        };
        fetch().map_err(|error: Error| error.hint(self.remedy()))
    }
}
