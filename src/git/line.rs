//! A line of commits: those of a range, oldest first, with the commit before them. Bisecting and history need commits
//! that directly follow each other.

use git2::{Commit, Oid};

use super::{Repository, revision::version_of};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Version,
};

/// Commits of which each is a parent of the next, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The version before the first commit: its first parent.
    pub base: Version,
    /// The commits, oldest first.
    pub commits: Vec<LineCommit>,
    /// True if `base` differs from the start of the range, which then is not on the line.
    pub forks: bool,
}

/// A commit of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCommit {
    /// The commit.
    pub version: Version,
    /// The author's date, in seconds since 1970-01-01 UTC.
    pub authored: i64,
    /// Number of parents: a merge has more than one.
    pub parents: usize,
}

impl Line {
    /// A version of the line by its index: 0 is the base.
    pub fn version(&self, number: usize) -> &Version {
        match number.checked_sub(1) {
            None => &self.base,
            Some(index) => &self.commits[index].version,
        }
    }
}

impl Repository {
    /// The line of the range `A..B`: the commits of [`resolve_range`](Self::resolve_range), and the commit before them.
    pub fn line(&self, range: &str) -> Result<Line> {
        let ([start, _], _) = self.split_range(range)?;
        let mut versions = self.resolve_range(range)?;
        versions.reverse();
        let id = self.commit_named(start)?.id();
        self.line_of(&versions, Some((start, id)))?.ok_or_else(|| {
            let what = format!("the commit before the first one of `{range}` is not there");
            Error::new(Exit::Usage, what)
                .cause("the first one has no parent, or the clone is shallow")
                .hint("fetch older commits with: git fetch --unshallow")
        })
    }

    /// The line that a merge merged: from its fork off the merge's first parent to the second parent. None if the
    /// commit is no merge of two parents, or if none of the merged commits is available.
    pub fn merged_line(&self, merge: &Version) -> Result<Option<Line>> {
        let Some(commit) = merge.commit.as_deref() else { return Ok(None) };
        let variant = merge.variant.as_ref();
        let what = || format!("cannot read the commits that {merge} merged");
        let merge = self.commit_named(commit)?;
        if merge.parent_count() != 2 {
            return Ok(None);
        }
        let parents = [merge.parent_id(0), merge.parent_id(1)];
        let [Ok(first), Ok(second)] = parents else { return Ok(None) };
        let Ok(fork) = self.git().merge_base(first, second) else { return Ok(None) };
        let end = self.git().find_commit(second).context(Exit::Usage, what)?;
        let mut versions = self.first_parents(fork, &end, variant).context(Exit::Usage, what)?;
        versions.reverse();
        self.line_of(&versions, None)
    }

    /// The line of some versions; `start` is the start of the range as typed, and its commit, if the line may fork off
    /// elsewhere.
    fn line_of(&self, versions: &[Version], start: Option<(&str, Oid)>) -> Result<Option<Line>> {
        let mut commits = Vec::with_capacity(versions.len());
        let mut base = None;
        for version in versions {
            let name = version.commit.as_deref().unwrap_or_default();
            let commit = self.commit_named(name)?;
            if base.is_none() {
                let Ok(parent) = commit.parent(0) else { return Ok(None) };
                base = Some(parent);
            }
            let (authored, parents) = (commit.author().when().seconds(), commit.parent_count());
            commits.push(LineCommit { version: version.clone(), authored, parents });
        }
        let variant = versions.first().and_then(|version| version.variant.clone());
        let named = |base: Commit<'_>| {
            let typed = start.filter(|(_, start)| *start == base.id());
            let forks = start.is_some() && typed.is_none();
            let name = typed.map_or_else(|| base.id().to_string(), |(name, _)| name.to_owned());
            Line { base: Version { variant, ..version_of(&name, &base) }, commits, forks }
        };
        Ok(base.map(named))
    }
}
