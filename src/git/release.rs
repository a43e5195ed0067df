//! Finds the last release before a version, by the tags of the repository.

use std::collections::HashMap;

use git2::{Oid, Sort};

use super::{Repository, revision::version_of};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Version,
};

/// A version number: major, minor, patch.
type Number = [u64; 3];

impl Repository {
    /// The newest release that a version descends from, excluding the version itself: a commit with a tag such as
    /// `v1.2.3`, `1.2.3` or `package-v1.2.3`. Tags with text after the number, such as pre-releases, do not count. Of
    /// several tags at one commit, the one with the highest number names the release.
    pub fn last_release(&self, head: &Version) -> Result<Version> {
        let what = || format!("cannot list the tags of {}", self.root().display());
        let tagged = self.releases().context(Exit::Usage, what)?;
        let newest = self.newest_before(head, &tagged).context(Exit::Usage, what)?;
        let (name, commit) = newest.ok_or_else(|| self.no_release(head))?;
        let commit = self.git().find_commit(commit).context(Exit::Usage, what)?;
        Ok(version_of(name, &commit))
    }

    /// The commits with release tags, each with the highest of its tags.
    fn releases(&self) -> Result<HashMap<Oid, (Number, String)>, git2::Error> {
        let mut tagged: HashMap<Oid, (Number, String)> = HashMap::new();
        for reference in self.git().references_glob("refs/tags/*")? {
            let reference = reference?;
            let Some(name) = reference.name().ok().and_then(|name| name.strip_prefix("refs/tags/"))
            else {
                continue;
            };
            // A tag may point to a file.
            let (Some(number), Ok(commit)) = (release_number(name), reference.peel_to_commit())
            else {
                continue;
            };
            let new = (number, name.to_owned());
            let known = tagged.entry(commit.id()).or_insert_with(|| new.clone());
            *known = known.clone().max(new);
        }
        Ok(tagged)
    }

    fn newest_before<'t>(
        &self,
        head: &Version,
        tagged: &'t HashMap<Oid, (Number, String)>,
    ) -> Result<Option<(&'t str, Oid)>, git2::Error> {
        let Some(commit) = head.commit.as_deref() else { return Ok(None) };
        let start = Oid::from_str(commit)?;
        let mut walk = self.git().revwalk()?;
        // Dates alone do not order two commits of the same second.
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(start)?;
        for commit in walk {
            let commit = commit?;
            // With uncommitted changes, the head differs from the commit that it is based on.
            if commit == start && !head.dirty {
                continue;
            }
            if let Some((_, name)) = tagged.get(&commit) {
                return Ok(Some((name, commit)));
            }
        }
        Ok(None)
    }

    fn no_release(&self, head: &Version) -> Error {
        let error = Error::new(Exit::Usage, format!("there is no release before {head}"))
            .cause("none of its ancestors has a tag such as v1.2.3, 1.2.3 or package-v1.2.3")
            .hint("name a revision to compare with instead: --also-base REV")
            .hint("or compare with none: --also-base none");
        if self.is_shallow() {
            error.hint("this clone is shallow; fetch all of it with: git fetch --unshallow --tags")
        } else {
            error.hint("if tags were not fetched: git fetch --tags")
        }
    }
}

/// The version number in a release tag; none for other tags.
fn release_number(tag: &str) -> Option<Number> {
    let number = tag.rsplit_once('-').map_or(tag, |(_, number)| number);
    let number = number.strip_prefix('v').unwrap_or(number);
    let mut parts = number.split('.').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| is_number)
    });
    let number = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_tag_ends_with_three_numbers() {
        for (tag, number) in [
            ("v1.2.3", Some([1, 2, 3])),
            ("1.20.0", Some([1, 20, 0])),
            ("json-tools-v0.1.2", Some([0, 1, 2])),
            ("json-tools-0.1.2", Some([0, 1, 2])),
            ("v1.2", None),
            ("v1.2.3.4", None),
            ("v1.2.3-rc.1", None),
            ("v1.2.x", None),
            ("v1..3", None),
            ("v+1.2.3", None),
            ("v1.2.99999999999999999999999", None),
            ("nightly-2026-11-02", None),
            ("", None),
        ] {
            assert_eq!(release_number(tag), number, "{tag}");
        }
    }
}
