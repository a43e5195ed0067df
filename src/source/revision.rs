//! Resolves a revision, as typed, to the version that it names.

use git2::{Commit, ErrorCode, Object, ObjectType, Oid};

use super::{Repository, is_range, suggestion};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::Version,
};

/// The revision that means the uncommitted tree.
pub const UNCOMMITTED: &str = ".";

/// How many objects an ambiguous hash lists.
const LISTED: usize = 5;

impl Repository {
    /// The version that `revision` names: anything that git takes for a commit (`HEAD~1`, a tag, a
    /// branch, a hash, `@{-1}`, `:/text`), or `.` for the uncommitted tree.
    ///
    /// The uncommitted tree has all modified and untracked files, without the ignored ones. If that
    /// is exactly HEAD's tree, `.` is HEAD and not dirty.
    pub fn resolve(&self, revision: &str) -> Result<Version> {
        if revision == UNCOMMITTED {
            return self.uncommitted();
        }
        if is_range(revision) {
            return Err(Failure::new(
                Exit::Usage,
                format!("`{revision}` names a range of versions"),
            )
            .because("one version is needed here")
            .hint("name a single commit, a branch, a tag, or `.` for the uncommitted tree"));
        }
        self.commit_named(revision).map(|commit| version_of(revision, &commit))
    }

    /// The commit that a revision names; `.` names none.
    pub(super) fn commit_named(&self, revision: &str) -> Result<Commit<'_>> {
        let object = self
            .git()
            .revparse_single(revision)
            .map_err(|error| self.unknown_revision(revision, &error))?;
        object.peel_to_commit().map_err(|_| not_a_commit(revision, &object))
    }

    fn unknown_revision(&self, revision: &str, error: &git2::Error) -> Failure {
        let root = self.root().display();
        let failure =
            Failure::new(Exit::Usage, format!("cannot find revision `{revision}` in {root}"));
        if let Ok(None) = self.head_commit() {
            return failure
                .because("the current branch has no commit yet")
                .hint("commit something first, or use `.` for the uncommitted tree");
        }
        match error.code() {
            ErrorCode::Ambiguous => self.ambiguous(revision, failure),
            ErrorCode::NotFound => suggestion::for_unknown(self.git(), revision, failure),
            _ => suggestion::for_unknown(self.git(), revision, failure.because(error.message())),
        }
    }

    fn ambiguous(&self, revision: &str, failure: Failure) -> Failure {
        let candidates = self.candidates(revision).unwrap_or_default();
        if candidates.len() < 2 {
            // To libgit2 all prefixes of fewer than four digits are ambiguous.
            return suggestion::for_unknown(self.git(), revision, failure);
        }
        let mut failure = failure.because("several objects have a hash with this prefix:");
        for candidate in candidates.iter().take(LISTED) {
            failure = failure.because(format!("  {candidate}"));
        }
        if candidates.len() > LISTED {
            failure = failure.because(format!("  and {} more", candidates.len() - LISTED));
        }
        failure.hint("use more digits of the hash")
    }

    /// The objects whose hash begins with `prefix`, described, commits first.
    fn candidates(&self, prefix: &str) -> Result<Vec<String>, git2::Error> {
        let prefix = prefix.to_ascii_lowercase();
        let mut found: Vec<Oid> = Vec::new();
        // libgit2 cannot enumerate the objects in memory, so this uses a handle that has none.
        git2::Repository::open_bare(self.git().path())?.odb()?.foreach(|id| {
            if id.to_string().starts_with(&prefix) {
                found.push(*id);
            }
            true
        })?;
        found.sort_unstable();
        found.dedup();
        let mut described: Vec<(bool, String)> = found
            .into_iter()
            .filter_map(|id| self.git().find_object(id, None).ok())
            .map(|object| match object.as_commit() {
                Some(commit) => (false, format!("{} commit {}", object.id(), summary(commit))),
                None => (true, format!("{} {}", object.id(), kind(&object))),
            })
            .collect();
        described.sort();
        Ok(described.into_iter().map(|(_, text)| text).collect())
    }

    fn uncommitted(&self) -> Result<Version> {
        let tree = self.uncommitted_tree()?;
        let head = self
            .head_commit()
            .or_fail(Exit::Usage, || format!("cannot read HEAD of {}", self.root().display()))?;
        let Some(head) = head else {
            return Ok(Version {
                revision: UNCOMMITTED.to_owned(),
                commit: None,
                tree: tree.to_string(),
                dirty: true,
                summary: String::new(),
                time: None,
            });
        };
        let dirty = head.tree_id() != tree;
        Ok(Version { tree: tree.to_string(), dirty, ..version_of(UNCOMMITTED, &head) })
    }
}

/// The version of a commit.
pub(super) fn version_of(revision: &str, commit: &Commit<'_>) -> Version {
    Version {
        revision: revision.to_owned(),
        commit: Some(commit.id().to_string()),
        tree: commit.tree_id().to_string(),
        dirty: false,
        summary: summary(commit),
        time: Some(commit.time().seconds()),
    }
}

fn summary(commit: &Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}

fn not_a_commit(revision: &str, object: &Object<'_>) -> Failure {
    // An annotated tag may point to anything.
    let target = object.peel(ObjectType::Any).unwrap_or_else(|_| object.clone());
    Failure::new(Exit::Usage, format!("`{revision}` is a {}, not a commit", kind(&target)))
        .because(format!("it names the object {}", target.id()))
        .hint("name a commit, a branch, a tag of a commit, or `.` for the uncommitted tree")
}

fn kind(object: &Object<'_>) -> &'static str {
    match object.kind() {
        Some(ObjectType::Blob) => "file (blob)",
        Some(ObjectType::Tree) => "directory (tree)",
        Some(ObjectType::Tag) => "tag",
        Some(ObjectType::Commit) => "commit",
        _ => "object",
    }
}
