//! A version of a repository: the commit or uncommitted tree that a revision names, plain or as a variant: the same
//! files, built and run with other settings. Also the commits, uncommitted files and dependencies by which two versions
//! differ.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Benchmark;

/// One state of a repository's files, together with the revision that named it and the settings to build it with.
///
/// Two versions with equal [`tree`](Self::tree) have the same files, whatever their commits are; they are the same
/// programs if their [`variant`](Self::variant) is equal too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// The revision that the user typed, without the name of a variant: `HEAD~1`, a tag, `.` for the uncommitted tree.
    #[schemars(length(min = 1))]
    pub revision: String,
    /// The commit, in hex; the commit that the uncommitted tree is based on if [`dirty`](Self::dirty).
    /// `None` only for the uncommitted tree of a repository that has no commit yet.
    #[schemars(regex(pattern = OBJECT_ID))]
    pub commit: Option<String>,
    /// The tree, in hex.
    #[schemars(regex(pattern = OBJECT_ID))]
    pub tree: String,
    /// True if the tree has uncommitted changes and so belongs to no commit.
    pub dirty: bool,
    /// The first line of the commit's message, empty without a commit.
    pub summary: String,
    /// The time of the commit, in UTC.
    ///
    /// In seconds since 1970-01-01; in JSON, in RFC 3339.
    #[serde(rename = "committed_at", with = "rfc3339")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub time: Option<i64>,
    /// The variant as which it is built; absent for the plain version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
}

impl Version {
    /// Everything that its results depend on: versions with equal keys are measured once.
    pub fn key(&self) -> (&str, Option<&Variant>) {
        (&self.tree, self.variant.as_ref())
    }

    /// The key as text, to derive seeds and names of files from: the tree of a plain version.
    pub fn identity(&self) -> String {
        match &self.variant {
            None => self.tree.clone(),
            Some(Variant { name, settings }) => format!("{}+{name} {settings}", self.tree),
        }
    }

    /// Seven digits for display: of the commit, or of the tree if there is none. For the uncommitted tree, `+` and the
    /// digits of its tree follow; the name of a variant comes last.
    pub fn short(&self) -> String {
        self.with_variant(self.digits())
    }

    fn with_variant(&self, revision: String) -> String {
        match &self.variant {
            None => revision,
            Some(Variant { name, .. }) => format!("{revision}+{name}"),
        }
    }

    fn digits(&self) -> String {
        let digits = |id: &str| id.chars().take(7).collect::<String>();
        match &self.commit {
            Some(commit) if self.dirty => format!("{}+{}", digits(commit), digits(&self.tree)),
            Some(commit) => digits(commit),
            None => format!("+{}", digits(&self.tree)),
        }
    }

    /// A revision for commands to type that is still valid later: `.` for the uncommitted tree, or seven digits. The
    /// revision that was typed may name another version by now.
    pub fn current_revision_arg(&self) -> String {
        if self.dirty { self.with_variant(".".to_owned()) } else { self.short() }
    }

    /// A revision for commands to type now: as it was typed, or seven digits of a complete hash.
    pub fn revision_arg(&self) -> String {
        if self.commit.as_ref() == Some(&self.revision) {
            self.short()
        } else {
            self.with_variant(self.revision.clone())
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits();
        if digits.starts_with(&self.revision) || self.revision.starts_with(&digits) {
            f.write_str(&self.short())
        } else {
            write!(f, "{} ({digits})", self.with_variant(self.revision.clone()))
        }
    }
}

/// The commits after one version, up to another: `A..B` of git.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct CommitRange {
    /// The version before the first commit.
    pub after: Version,
    /// The last commit.
    pub until: Version,
}

impl fmt::Display for CommitRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.after.short(), self.until.short())
    }
}

/// The schema of a git hash, which has 40 digits, or 64 in a repository with SHA-256.
pub const OBJECT_ID: &str = "^([0-9a-f]{40}|[0-9a-f]{64})$";

/// A Unix time in seconds as RFC 3339; `None` if no calendar has that time.
pub fn rfc3339_of_seconds(seconds: i64) -> Option<String> {
    Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}

/// Writes a Unix time in seconds in RFC 3339. A time that no calendar has becomes null.
mod rfc3339 {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Timestamp, rfc3339_of_seconds};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub fn serialize<S: Serializer>(seconds: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        seconds.and_then(rfc3339_of_seconds).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        let text: Option<String> = Option::deserialize(from)?;
        let time = text.map(|text| text.parse::<Timestamp>()).transpose();
        Ok(time.map_err(serde::de::Error::custom)?.map(Timestamp::as_second))
    }
}

/// The commits and uncommitted files by which a head differs from its base.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionChanges {
    /// The commits that the head contains and the base lacks, newest first, at most 100. Merges are left out unless
    /// there are only merges, because their titles rarely say what changed.
    #[schemars(length(max = MOST_LISTED))]
    pub commits: Vec<CommitTitle>,
    /// The number of these commits, including those beyond the 100.
    pub commit_count: usize,
    /// The number of commits that the base contains and the head lacks: not 0 if the versions diverged.
    pub base_only_commits: usize,
    /// The files of the head that differ from its commit, at most 100; empty unless the head is uncommitted.
    #[schemars(length(max = MOST_LISTED))]
    pub uncommitted_files: Vec<String>,
    /// The number of these files, including those beyond the 100.
    pub uncommitted_file_count: usize,
}

/// The maximum number of commits and files of [`VersionChanges`]: a release may be thousands of commits ago.
pub const MOST_LISTED: usize = 100;

/// A commit and its title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitTitle {
    /// The commit, in hex.
    #[schemars(regex(pattern = OBJECT_ID))]
    pub id: String,
    /// The first line of its message.
    pub title: String,
}

/// An external package that two versions use in different versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyChange {
    /// The name of the package.
    pub name: String,
    /// The versions that only the base uses, sorted; a package from git with its commit.
    pub base: Vec<String>,
    /// The versions that only the head uses, likewise.
    pub head: Vec<String>,
}

/// The settings that distinguish a variant of a version from the plain version.
///
/// Two variants are the same if their names and their settings are: results from before a change of `bench.toml` are
/// those of another variant.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Variant {
    /// Its name in `bench.toml`.
    pub name: String,
    /// Its settings in words, such as `lto = "fat", codegen-units = 1`; with hashes instead of values that may be
    /// secrets.
    pub settings: String,
}

impl Variant {
    /// The beginning of the settings that select the benchmarks of an implementation.
    const IMPLEMENTATION: &str = "benchmark ";

    /// True if it is one of several [implementations](Implementation), which share no history with versions.
    pub fn is_implementation(&self) -> bool {
        let mut settings = self.settings.split(", ");
        settings.any(|one| one.starts_with(Self::IMPLEMENTATION))
    }

    /// True if `name` can be the name of a variant: letters, digits, `_` and `-`, so that it can stand in a revision
    /// and in the name of a directory.
    pub fn is_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !name.is_empty() && name.len() <= 50 && !name.starts_with('-') && name.chars().all(is_plain)
    }
}

/// Two or more implementations, and the benchmarks of each, which belong together by their parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementations {
    /// The common name of all: `parse/{serde,simd}`.
    pub name: String,
    /// Each implementation, in the order in which they were given.
    pub all: Vec<Implementation>,
    /// The parameters that all of them have, in the order of the first one; a single empty one if there are none.
    pub parameters: Vec<String>,
    /// The benchmarks without a partner in another implementation, which are left out.
    pub left_out: Vec<Benchmark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// The part of the id that distinguishes it: `serde`.
    pub name: String,
    /// The pattern that selects its benchmarks: `parse/serde`.
    pub pattern: String,
    /// Its benchmark for each parameter: the common name, and the benchmark.
    pub benchmarks: Vec<(Benchmark, Benchmark)>,
}

impl Implementation {
    /// This version with the benchmarks of this implementation alone: a variant of it.
    pub fn as_variant_of(&self, version: &Version) -> Version {
        let settings = version.variant.iter().map(|variant| variant.settings.clone());
        let own = format!("{}{}", Variant::IMPLEMENTATION, self.pattern);
        let settings = settings.chain([own]);
        let settings = settings.collect::<Vec<_>>().join(", ");
        let variant = Variant { name: self.name.clone(), settings };
        Version { variant: Some(variant), ..version.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCommit {
    /// The commit, in hex.
    pub commit: String,
    /// The nearest commit of the list that it descends from; along first parents where there is a choice.
    pub ancestor: Option<String>,
    /// True if HEAD is this commit or descends from it.
    pub in_head: bool,
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
            variant: None,
        }
    }

    #[test]
    fn version_display_has_the_revision_and_its_commit() {
        assert_eq!(version("HEAD~1", false).to_string(), "HEAD~1 (1a2b3c4)");
        assert_eq!(version(".", true).to_string(), ". (1a2b3c4+feedbee)");
    }

    #[test]
    fn version_display_does_not_repeat_a_typed_hash() {
        assert_eq!(version("1a2b3c4d5e", false).to_string(), "1a2b3c4");
        assert_eq!(version("1a2b", false).to_string(), "1a2b3c4");
    }

    #[test]
    fn revision_arg_is_as_typed_but_no_complete_hash() {
        assert_eq!(version("HEAD~1", false).revision_arg(), "HEAD~1");
        assert_eq!(version("1a2b3c4d5e", false).revision_arg(), "1a2b3c4");
    }

    #[test]
    fn current_revision_arg_is_a_hash_or_a_dot() {
        assert_eq!(version("HEAD~1", false).current_revision_arg(), "1a2b3c4");
        assert_eq!(version(".", true).current_revision_arg(), ".");
    }

    #[test]
    fn variant_follows_every_name_of_its_version() {
        let variant = Variant { name: "lto".to_owned(), settings: "lto = \"fat\"".to_owned() };
        let of = |revision, dirty| Version {
            variant: Some(variant.clone()),
            ..version(revision, dirty)
        };
        assert_eq!(of("HEAD~1", false).to_string(), "HEAD~1+lto (1a2b3c4)");
        assert_eq!(of("1a2b", false).to_string(), "1a2b3c4+lto");
        assert_eq!(of(".", true).to_string(), ".+lto (1a2b3c4+feedbee)");
        assert_eq!(of("HEAD~1", false).revision_arg(), "HEAD~1+lto");
        assert_eq!(of("HEAD~1", false).current_revision_arg(), "1a2b3c4+lto");
        assert_eq!(of(".", true).current_revision_arg(), ".+lto");
        let plain = version("HEAD", false);
        assert_eq!(plain.identity(), plain.tree);
        let other = Variant { settings: "lto = \"thin\"".to_owned(), ..variant.clone() };
        let other = Version { variant: Some(other), ..plain.clone() };
        assert!(of("HEAD", false).key() != plain.key() && of("HEAD", false).key() != other.key());
    }

    #[test]
    fn uncommitted_tree_without_a_commit_is_named_by_its_tree() {
        assert_eq!(Version { commit: None, ..version(".", true) }.short(), "+feedbee");
    }
}
