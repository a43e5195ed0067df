//! The two versions of a comparison, as revisions or as a range.

use clap::Args;

use crate::{
    error::{Error, Exit, Result},
    git::{is_range, range_ends},
};

/// The base and the head of a comparison.
#[derive(Clone, Debug, Default, Args)]
pub struct RevisionPair {
    /// The version to compare with, or a range BASE..HEAD [default: HEAD~1]
    #[arg(value_name = "BASE")]
    base: Option<String>,
    /// The new version; `.` for the uncommitted tree [default: HEAD]
    #[arg(value_name = "HEAD")]
    head: Option<String>,
}

impl RevisionPair {
    /// Makes the pair from two revisions, as if they were typed.
    pub fn from_revisions([base, head]: [String; 2]) -> Self {
        Self { base: Some(base), head: Some(head) }
    }

    /// The given arguments for base and head.
    pub fn typed(&self) -> [Option<&str>; 2] {
        [self.base.as_deref(), self.head.as_deref()]
    }

    /// Takes the word after a range, which already names both versions.
    pub(super) fn take_word_after_range(&mut self) -> Option<String> {
        self.head.take_if(|_| self.base.as_deref().is_some_and(is_range))
    }

    /// The revisions of base and head, with defaults. Fails if there is a range and another revision.
    pub fn names(&self) -> Result<[&str; 2]> {
        match (self.base.as_deref(), self.head.as_deref()) {
            (Some(range), None) if is_range(range) => range_ends(range).map(<[&str; 2]>::from),
            (Some(one), other) if is_range(one) || other.is_some_and(is_range) => {
                let other = other.unwrap_or_default();
                let what = format!("cannot compare `{one}` with `{other}`");
                Err(Error::new(Exit::Usage, what)
                    .cause("a range already names both versions")
                    .hint("use either a range A..B or two revisions"))
            }
            (base, head) => Ok([base.unwrap_or("HEAD~1"), head.unwrap_or("HEAD")]),
        }
    }

    /// Resolves base and head with `resolve`. `uncommitted` writes the suggested command that compares the only commit
    /// of a repository with the uncommitted tree.
    pub fn resolve<T>(
        &self,
        resolve: impl Fn(&str) -> Result<T>,
        uncommitted: impl FnOnce(&[&str]) -> String,
    ) -> Result<[T; 2]> {
        let [base, head] = self.names()?;
        let base = resolve(base).map_err(|error| match self.base {
            // A repository without any commit has nothing to compare with, so there is no hint.
            None if resolve("HEAD").is_ok() => error.hint(format!(
                "if the repository has only one commit, compare it with the uncommitted tree: {}",
                uncommitted(&["HEAD", "."])
            )),
            _ => error,
        })?;
        Ok([base, resolve(head)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<[String; 2]> {
        let word = |index: usize| words.get(index).map(|word| (*word).to_owned());
        let pair = RevisionPair { base: word(0), head: word(1) };
        pair.resolve(|name| Ok(name.to_owned()), |_| String::new())
    }

    #[test]
    fn pair_defaults_to_the_last_commit_and_its_parent() {
        for (words, versions) in [
            (&[][..], ["HEAD~1", "HEAD"]),
            (&["main"], ["main", "HEAD"]),
            (&["main", "."], ["main", "."]),
            (&["main..topic"], ["main", "topic"]),
            (&["v1.."], ["v1", "HEAD"]),
            (&["..topic"], ["HEAD", "topic"]),
        ] {
            assert_eq!(names(words).unwrap(), versions);
        }
    }

    #[test]
    fn range_with_another_revision_is_refused() {
        for words in [["a..b", "c"], ["c", "a..b"]] {
            let text = names(&words).unwrap_err().to_string();
            assert!(text.contains("use either a range A..B"), "{text}");
        }
        assert_eq!(names(&["a...b"]).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn only_commit_gets_a_hint_for_the_uncommitted_tree() {
        let failed = |base: Option<&str>, known: &str| {
            let resolve = |revision: &str| match revision {
                _ if revision == known => Ok(()),
                _ => Err(Error::new(Exit::Usage, "unknown")),
            };
            let pair = RevisionPair { base: base.map(str::to_owned), head: None };
            pair.resolve(resolve, |words| format!("compare {}", words.join(" ")))
                .unwrap_err()
                .to_string()
        };
        let hint = "compare it with the uncommitted tree: compare HEAD .";
        assert!(failed(None, "HEAD").contains(hint));
        assert!(!failed(Some("main"), "HEAD").contains(hint));
        assert_eq!(failed(None, "no commit at all"), "unknown");
    }
}
