//! Ranges of versions: `A..B`.

use std::collections::HashSet;

use git2::{Commit, Oid};

use super::{Repository, revision::version_of};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::Version,
};

/// The end of a range that is left out.
const HEAD: &str = "HEAD";

/// Whether `text` is a range of versions, and not one: it has `..`, outside of a search for text.
pub fn is_range(text: &str) -> bool {
    text.contains("..") && !text.starts_with(":/") && !text.contains("^{/")
}

impl Repository {
    /// The versions of the range `A..B`, newest first; `A..` ends at HEAD and `..B` starts after it.
    ///
    /// These are the commits that git lists with `git rev-list --first-parent A..B`: those on B's own
    /// line of first parents that A does not have. Each is thus the direct predecessor of the one
    /// before it, and a difference between neighbours is the work of one commit or one merge.
    pub fn resolve_range(&self, range: &str) -> Result<Vec<Version>> {
        let (start, end) = range_ends(range)?;
        let commits = [self.commit_named(start)?, self.commit_named(end)?];
        let [start_commit, end_commit] = &commits;
        let versions = self
            .first_parents(start_commit.id(), end_commit)
            .or_fail(Exit::Usage, || format!("cannot list the commits of `{range}`"))?;
        if versions.is_empty() {
            return Err(self.empty_range(range, [start, end], [start_commit, end_commit]));
        }
        Ok(versions)
    }

    /// The versions that revisions and ranges name, in their order.
    pub fn resolve_all(&self, revisions: &[String]) -> Result<Vec<Version>> {
        let mut versions = Vec::new();
        for revision in revisions {
            if is_range(revision) {
                versions.extend(self.resolve_range(revision)?);
            } else {
                versions.push(self.resolve(revision)?);
            }
        }
        Ok(versions)
    }

    pub(super) fn first_parents(
        &self,
        start: Oid,
        end: &Commit<'_>,
    ) -> Result<Vec<Version>, git2::Error> {
        let mut walk = self.git().revwalk()?;
        walk.push(end.id())?;
        walk.hide(start)?;
        let inside = walk.collect::<Result<HashSet<Oid>, _>>()?;
        let mut versions = Vec::new();
        let mut next = Some(end.clone());
        while let Some(commit) = next.filter(|commit| inside.contains(&commit.id())) {
            versions.push(version_of(&commit.id().to_string(), &commit));
            // A commit at the boundary of a shallow clone names parents that are not there.
            next = commit.parent(0).ok();
        }
        Ok(versions)
    }

    fn empty_range(&self, range: &str, names: [&str; 2], commits: [&Commit<'_>; 2]) -> Failure {
        let [start, end] = names;
        let failure = Failure::new(Exit::Usage, format!("the range `{range}` has no commits"))
            .because(format!("`{start}` contains every commit of `{end}`"));
        let [start_commit, end_commit] = commits.map(Commit::id);
        match self.git().graph_descendant_of(start_commit, end_commit) {
            Ok(true) => failure.hint(format!("the older one comes first: {end}..{start}")),
            _ => failure.hint("the older one comes first, the newer one last"),
        }
    }
}

/// The two ends of a range `A..B`; a missing one is HEAD.
pub fn range_ends(range: &str) -> Result<(&str, &str)> {
    let Some((start, end)) = range.split_once("..") else {
        return Err(Failure::new(Exit::Usage, format!("`{range}` is not a range of versions"))
            .hint("write two revisions with `..` between them: v1.0..HEAD"));
    };
    let or_head = |name| if str::is_empty(name) { HEAD } else { name };
    if let Some(end) = end.strip_prefix('.') {
        let (start, end) = (or_head(start), or_head(end));
        return Err(Failure::new(Exit::Usage, format!("cannot use `{range}` as a range"))
            .because(
                "`A...B` means the commits of both sides, which are not a sequence of \
                      versions",
            )
            .hint(format!("for the commits of {end} that are not in {start}: {start}..{end}")));
    }
    Ok((or_head(start), or_head(end)))
}
