//! A version of a repository: the commit or uncommitted tree that a revision names, and how the packages that two of them
//! depend on differ.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One state of a repository's files, together with the revision that named it.
///
/// Two versions with equal [`tree`](Self::tree) have the same files, whatever their commits are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Version {
    /// What was typed: `HEAD~1`, a tag, `.` for the uncommitted tree.
    pub revision: String,
    /// The commit, in hex; the commit that the uncommitted tree is based on if [`dirty`](Self::dirty).
    /// `None` only for the uncommitted tree of a repository that has no commit yet.
    pub commit: Option<String>,
    /// The tree, in hex.
    pub tree: String,
    /// Whether the tree is no commit's: it has uncommitted changes.
    pub dirty: bool,
    /// The first line of the commit's message, empty without a commit.
    pub summary: String,
    /// When the commit was made, in seconds since 1970-01-01 UTC.
    pub time: Option<i64>,
}

impl Version {
    /// Seven digits that a reader recognises: of the commit, or of the tree where there is none.
    /// The uncommitted tree is told apart by `+` and the digits of its tree.
    pub fn short(&self) -> String {
        let digits = |id: &str| id.chars().take(7).collect::<String>();
        match &self.commit {
            Some(commit) if self.dirty => format!("{}+{}", digits(commit), digits(&self.tree)),
            Some(commit) => digits(commit),
            None => format!("+{}", digits(&self.tree)),
        }
    }

    /// The revision for a command to type whenever the version was named: `.` for the uncommitted tree, or
    /// seven digits. What was typed then may mean another version now.
    pub fn current_revision_arg(&self) -> String {
        if self.dirty { ".".to_owned() } else { self.short() }
    }

    /// The revision for a command to type: as it was typed, or seven digits of a whole hash.
    pub fn revision_arg(&self) -> String {
        if self.commit.as_ref() == Some(&self.revision) {
            self.short()
        } else {
            self.revision.clone()
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.short();
        if short.starts_with(&self.revision) || self.revision.starts_with(&short) {
            f.write_str(&short)
        } else {
            write!(f, "{} ({short})", self.revision)
        }
    }
}

/// A package from elsewhere of which two versions use other versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyChange {
    /// Its name.
    pub name: String,
    /// The versions of it that only the base uses, in their order; of a package from git with its commit.
    pub base: Vec<String>,
    /// The same of the head.
    pub head: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(revision: &str, dirty: bool) -> Version {
        Version {
            revision: revision.to_owned(),
            commit: Some("1a2b3c4d5e".to_owned()),
            tree: "feedbeef00".to_owned(),
            dirty,
            summary: "Parse faster".to_owned(),
            time: Some(0),
        }
    }

    #[test]
    fn a_version_shows_what_was_typed_and_what_it_means() {
        assert_eq!(version("HEAD~1", false).to_string(), "HEAD~1 (1a2b3c4)");
        assert_eq!(version(".", true).to_string(), ". (1a2b3c4+feedbee)");
    }

    #[test]
    fn a_typed_hash_is_not_repeated() {
        assert_eq!(version("1a2b3c4d5e", false).to_string(), "1a2b3c4");
        assert_eq!(version("1a2b", false).to_string(), "1a2b3c4");
    }

    #[test]
    fn a_command_has_what_was_typed_and_no_whole_hash() {
        assert_eq!(version("HEAD~1", false).revision_arg(), "HEAD~1");
        assert_eq!(version("1a2b3c4d5e", false).revision_arg(), "1a2b3c4");
    }

    #[test]
    fn a_command_about_a_stored_version_has_its_hash_or_the_uncommitted_tree() {
        assert_eq!(version("HEAD~1", false).current_revision_arg(), "1a2b3c4");
        assert_eq!(version(".", true).current_revision_arg(), ".");
    }

    #[test]
    fn the_uncommitted_tree_of_an_empty_repository_is_named_by_its_tree() {
        assert_eq!(Version { commit: None, ..version(".", true) }.short(), "+feedbee");
    }
}
