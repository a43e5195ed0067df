//! The two versions of a comparison, as revisions or as a range.

use clap::Args;

use crate::{
    error::{Error, Exit, Result},
    git::{is_range, range_ends},
};

/// The base and the head of a comparison.
#[derive(Clone, Debug, Args)]
pub struct RevisionPair {
    /// The version to compare with, or a range BASE..HEAD [default: HEAD~1]
    #[arg(value_name = "BASE")]
    base: Option<String>,
    /// The new version; `.` for the uncommitted tree [default: HEAD]
    #[arg(value_name = "HEAD")]
    head: Option<String>,
}

impl RevisionPair {
    /// Base and head, as if they had been typed.
    pub fn from_revisions([base, head]: [String; 2]) -> Self {
        Self { base: Some(base), head: Some(head) }
    }

    /// As if these words had been typed, of which there are two at most.
    pub fn parse_words(words: &[String]) -> Self {
        Self { base: words.first().cloned(), head: words.get(1).cloned() }
    }

    /// What was typed for base and head.
    pub fn typed(&self) -> [Option<&str>; 2] {
        [self.base.as_deref(), self.head.as_deref()]
    }

    /// The revisions of base and head.
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

    /// What `resolve` makes of base and head. `uncommitted` is the command for the uncommitted tree, which
    /// the only commit of a repository can be compared with.
    pub fn resolve<T>(
        &self,
        resolve: impl Fn(&str) -> Result<T>,
        uncommitted: impl FnOnce(&[&str]) -> String,
    ) -> Result<[T; 2]> {
        let [base, head] = self.names()?;
        let base = resolve(base).map_err(|failure| match self.base {
            // Without any commit there is nothing to compare with.
            None if resolve("HEAD").is_ok() => failure.hint(format!(
                "if the repository has only one commit, compare it with the uncommitted tree: {}",
                uncommitted(&["HEAD", "."])
            )),
            _ => failure,
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
    fn a_comparison_is_of_the_last_commit_unless_revisions_or_a_range_say_otherwise() {
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
    fn a_range_and_another_revision_are_one_too_many() {
        for words in [["a..b", "c"], ["c", "a..b"]] {
            let text = names(&words).unwrap_err().to_string();
            assert!(text.contains("use either a range A..B"), "{text}");
        }
        assert_eq!(names(&["a...b"]).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn the_first_commit_of_a_repository_is_compared_with_the_uncommitted_tree() {
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
