//! The order of commits in the repository: ancestors first, descent, and the commits between two versions.
//! Bisecting and history need a line of commits that directly follow each other: those of a range, oldest first, with the
//! commit before them.

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    path::Path,
};

use git2::{Commit, ErrorCode, Oid, Sort};

use super::{
    Repository,
    revision::{commit_of, summary, version_of},
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{CommitTitle, MOST_LISTED, PlacedCommit, Version, VersionChanges},
};

/// Greatest number of seconds by which a commit's date may precede that of its parent.
const SLACK: i64 = 24 * 3600;

type Parents = HashMap<Oid, Vec<Oid>>;

impl Repository {
    /// Orders those of `commits` that this repository has, each after its ancestors: first the ancestors of HEAD, then
    /// other branches.
    ///
    /// It reads only the part of the history that is at most a day older than the oldest of them, by the dates of
    /// commits. A descent through a commit whose date is wrong by more than that is missed.
    pub fn in_order<'c>(
        &self,
        commits: impl IntoIterator<Item = &'c str>,
    ) -> Result<Vec<PlacedCommit>> {
        let wanted = self.known(commits);
        self.place(&wanted).context(Exit::Usage, || self.cannot_read_history())
    }

    /// The subset of `commits` that `revision` does not contain, plus the commit that it names.
    pub fn since<'c>(
        &self,
        revision: &str,
        commits: impl IntoIterator<Item = &'c str>,
    ) -> Result<HashSet<String>> {
        let start = self.commit_named(revision)?.id();
        let wanted = self.known(commits);
        let new = || {
            let mut walk = self.git().revwalk()?;
            for commit in &wanted {
                walk.push(*commit)?;
            }
            walk.hide(start)?;
            walk.collect::<Result<HashSet<Oid>, git2::Error>>()
        };
        let mut new: HashSet<Oid> =
            new().context(Exit::Usage, || format!("cannot list the commits since `{revision}`"))?;
        new.insert(start);
        Ok(wanted.iter().filter(|id| new.contains(id)).map(ToString::to_string).collect())
    }

    fn known<'c>(&self, commits: impl IntoIterator<Item = &'c str>) -> HashSet<Oid> {
        let ids = commits.into_iter().filter_map(|commit| Oid::from_str(commit).ok());
        ids.filter(|id| self.git().find_commit(*id).is_ok()).collect()
    }

    fn place(&self, wanted: &HashSet<Oid>) -> Result<Vec<PlacedCommit>, git2::Error> {
        let head = self.head_commit()?.map(|commit| commit.id());
        let (parents, newest_first) = self.parents(wanted, head)?;
        let mut placing =
            Placing { wanted, parents: &parents, nearest: HashMap::new(), placed: vec![] };
        if let Some(head) = head {
            placing.descend(head);
        }
        let in_head = placing.placed.len();
        for root in newest_first.into_iter().rev() {
            placing.descend(root);
        }
        let place = |(index, (commit, ancestor)): (usize, (Oid, Option<Oid>))| PlacedCommit {
            commit: commit.to_string(),
            ancestor: ancestor.map(|ancestor| ancestor.to_string()),
            in_head: index < in_head,
        };
        Ok(placing.placed.into_iter().enumerate().map(place).collect())
    }

    /// The parents of every commit down to the oldest wanted one; and the wanted ones, newest first.
    fn parents(
        &self,
        wanted: &HashSet<Oid>,
        head: Option<Oid>,
    ) -> Result<(Parents, Vec<Oid>), git2::Error> {
        // A sorted walk of libgit2 reads the whole history before it returns the first commit.
        let dated = |id: Oid| Ok((self.git().find_commit(id)?.time().seconds(), id));
        let mut open =
            wanted.iter().map(|id| dated(*id)).collect::<Result<BinaryHeap<_>, git2::Error>>()?;
        let Some(oldest) = open.iter().map(|(date, _)| *date).min() else {
            return Ok(Default::default());
        };
        open.extend(head.map(dated).transpose()?);
        let mut parents = Parents::new();
        let mut found = Vec::new();
        while let Some((date, id)) = open.pop() {
            if parents.contains_key(&id) {
                continue;
            }
            if date < oldest.saturating_sub(SLACK) && found.len() == wanted.len() {
                break;
            }
            let of_commit: Vec<Oid> = self.git().find_commit(id)?.parent_ids().collect();
            for parent in of_commit.iter().filter(|parent| !parents.contains_key(parent)) {
                match dated(*parent) {
                    Ok(parent) => open.push(parent),
                    // A commit at the boundary of a shallow clone names parents that are missing.
                    Err(missing) if missing.code() == ErrorCode::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            parents.insert(id, of_commit);
            if wanted.contains(&id) {
                found.push(id);
            }
        }
        Ok((parents, found))
    }
}

/// A walk that visits ancestors before their descendants.
struct Placing<'p> {
    wanted: &'p HashSet<Oid>,
    parents: &'p Parents,
    /// For each visited commit, the commit itself if it is wanted, else its nearest wanted ancestor.
    nearest: HashMap<Oid, Option<Oid>>,
    placed: Vec<(Oid, Option<Oid>)>,
}

impl Placing<'_> {
    /// Visits `root` and its ancestors, except for visited ones. Not recursive, as histories are too long for that.
    fn descend(&mut self, root: Oid) {
        let mut open = vec![root];
        while let Some(&commit) = open.last() {
            if self.nearest.contains_key(&commit) {
                open.pop();
                continue;
            }
            let parents = self.parents.get(&commit).map(Vec::as_slice).unwrap_or_default();
            let before = open.len();
            // The last one pushed is visited first.
            open.extend(parents.iter().rev().filter(|parent| self.is_new(parent)));
            if open.len() > before {
                continue;
            }
            open.pop();
            let ancestor =
                parents.iter().find_map(|parent| self.nearest.get(parent).copied().flatten());
            let wanted = self.wanted.contains(&commit);
            if wanted {
                self.placed.push((commit, ancestor));
            }
            self.nearest.insert(commit, if wanted { Some(commit) } else { ancestor });
        }
    }

    fn is_new(&self, commit: &Oid) -> bool {
        self.parents.contains_key(commit) && !self.nearest.contains_key(commit)
    }
}

impl Repository {
    /// True if a commit, in hex, is that of a version or one of its ancestors; false for a commit that this repository
    /// lacks.
    pub fn has_in_history(&self, version: &Version, commit: &str) -> Result<bool> {
        let known = |id: &Oid| self.git().find_commit(*id).is_ok();
        let tip = commit_of(version).filter(known);
        let Some((tip, commit)) = tip.zip(Oid::from_str(commit).ok().filter(known)) else {
            return Ok(false);
        };
        if tip == commit {
            return Ok(true);
        }
        self.git()
            .graph_descendant_of(tip, commit)
            .context(Exit::Usage, || self.cannot_read_history())
    }

    pub(super) fn cannot_read_history(&self) -> String {
        format!("cannot read the history of {}", self.root().display())
    }

    /// The commits and uncommitted files by which the head differs from the base. A commit that this repository lacks
    /// has no known difference.
    pub fn changes(&self, base: &Version, head: &Version) -> Result<VersionChanges> {
        self.read_changes(base, head)
            .context(Exit::Usage, || format!("cannot list the commits between {base} and {head}"))
    }

    fn read_changes(&self, base: &Version, head: &Version) -> Result<VersionChanges, git2::Error> {
        let known = |version: &Version| commit_of(version).filter(|commit| self.has(*commit));
        let mut changes = VersionChanges::default();
        let head_commit = known(head);
        if let (Some(base), Some(head)) = (known(base), head_commit) {
            (changes.commits, changes.commit_count) = self.commits_only_in(head, base)?;
            changes.base_only_commits = self.commits_only_in(base, head)?.1;
        }
        let tree = Oid::from_str(&head.tree).ok().filter(|tree| head.dirty && self.has(*tree));
        if let Some(tree) = tree {
            let committed = head_commit.map(|commit| self.git().find_commit(commit)?.tree());
            let tree = self.git().find_tree(tree)?;
            let diff =
                self.git().diff_tree_to_tree(committed.transpose()?.as_ref(), Some(&tree), None)?;
            let files = diff.deltas().filter_map(|delta| {
                let path = delta.new_file().path().or_else(|| delta.old_file().path())?;
                Some(path.to_string_lossy().into_owned())
            });
            changes.uncommitted_files = files.take(MOST_LISTED).collect();
            changes.uncommitted_file_count = diff.deltas().len();
        }
        Ok(changes)
    }

    /// The first commits of those that `tip` contains and `other` lacks, newest first, and their number: without merges
    /// unless all are.
    fn commits_only_in(
        &self,
        tip: Oid,
        other: Oid,
    ) -> Result<(Vec<CommitTitle>, usize), git2::Error> {
        let mut walk = self.git().revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push(tip)?;
        walk.hide(other)?;
        let commits = walk.map(|id| self.git().find_commit(id?)).collect::<Result<Vec<_>, _>>()?;
        let (merges, single): (Vec<Commit<'_>>, Vec<_>) =
            commits.into_iter().partition(|commit| commit.parent_count() > 1);
        let commits = if single.is_empty() { merges } else { single };
        let title = |commit: &Commit<'_>| CommitTitle {
            id: commit.id().to_string(),
            title: summary(commit),
        };
        Ok((commits.iter().take(MOST_LISTED).map(title).collect(), commits.len()))
    }

    /// True if a commit, in hex, is in the history of the head and not in that of the base.
    pub fn is_between(&self, [base, head]: [&Version; 2], commit: &str) -> Result<bool> {
        Ok(self.has_in_history(head, commit)? && !self.has_in_history(base, commit)?)
    }

    /// True if git ignores a file of the working tree and does not track it.
    pub fn ignores(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(self.root()) else { return false };
        let is_tracked = self.git().index().is_ok_and(|index| index.get_path(inside, 0).is_some());
        // Git does not search an ignored directory, whatever rules are in it.
        let mut paths = inside.ancestors().filter(|path| !path.as_os_str().is_empty());
        !is_tracked && paths.any(|path| self.git().is_path_ignored(path).unwrap_or(false))
    }
}

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCommit {
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
