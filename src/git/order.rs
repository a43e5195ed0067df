//! The order of commits in the repository: ancestors first, descent, and the commits between two versions.

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    path::Path,
};

use git2::{ErrorCode, Oid};

use super::Repository;
use crate::{
    error::{Context, Exit, Result},
    model::Version,
};

/// Greatest number of seconds by which a commit's date may precede that of its parent.
const SLACK: i64 = 24 * 3600;

type Parents = HashMap<Oid, Vec<Oid>>;

/// A commit in an ordered list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The commit, in hex.
    pub commit: String,
    /// The nearest commit of the list that it descends from; along first parents where there is a choice.
    pub ancestor: Option<String>,
    /// True if HEAD is this commit or descends from it.
    pub in_head: bool,
}

impl Repository {
    /// Orders those of `commits` that this repository has, each after its ancestors: first the ancestors of HEAD, then
    /// other branches.
    ///
    /// It reads only the part of the history that is at most a day older than the oldest of them, by the dates of
    /// commits. A descent through a commit whose date is wrong by more than that is missed.
    pub fn in_order<'c>(&self, commits: impl IntoIterator<Item = &'c str>) -> Result<Vec<Placed>> {
        let wanted = self.known(commits);
        self.place(&wanted).context(Exit::Usage, || {
            format!("cannot read the history of {}", self.root().display())
        })
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

    fn place(&self, wanted: &HashSet<Oid>) -> Result<Vec<Placed>, git2::Error> {
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
        let place = |(index, (commit, ancestor)): (usize, (Oid, Option<Oid>))| Placed {
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
        let known = |id: &str| {
            let id = Oid::from_str(id).ok()?;
            self.git().find_commit(id).is_ok().then_some(id)
        };
        let Some((tip, commit)) = version.commit.as_deref().and_then(known).zip(known(commit))
        else {
            return Ok(false);
        };
        if tip == commit {
            return Ok(true);
        }
        self.git().graph_descendant_of(tip, commit).context(Exit::Usage, || {
            format!("cannot read the history of {}", self.root().display())
        })
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
