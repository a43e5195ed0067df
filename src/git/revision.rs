//! Resolves a revision, as typed, to its version, and a range, `A..B`, to its versions; suggests similar names for a
//! revision that does not exist. A revision may end with the name of a variant: `HEAD+lto`.

use std::collections::{HashMap, HashSet};

use git2::{Commit, ErrorCode, Object, ObjectType, Oid, Sort};

use super::Repository;
use crate::{
    error::{Context, Error, Exit, Result},
    model::{Variant, Version},
};

pub const UNCOMMITTED: &str = ".";

/// Most objects listed for an ambiguous hash.
const LISTED: usize = 5;

impl Repository {
    /// Resolves `revision`: anything that git accepts as a commit (`HEAD~1`, a tag, a branch, a hash, `@{-1}`,
    /// `:/text`), or `.` for the uncommitted tree; as a variant, if `+` and its name follow.
    ///
    /// The uncommitted tree has all modified and untracked files, but no ignored ones. If that is exactly HEAD's tree,
    /// `.` is HEAD and not dirty.
    pub fn resolve(&self, revision: &str) -> Result<Version> {
        let (revision, variant) = self.split_variant(revision)?;
        if revision == UNCOMMITTED {
            return Ok(Version { variant, ..self.uncommitted()? });
        }
        if is_range(revision) {
            return Err(Error::new(Exit::Usage, format!("`{revision}` names a range of versions"))
                .cause("one version is needed here")
                .hint("name a single commit, a branch, a tag, or `.` for the uncommitted tree"));
        }
        let commit = self.commit_named(revision)?;
        Ok(Version { variant, ..version_of(revision, &commit) })
    }

    /// Splits the name of a variant off a revision. Names of branches and tags may contain `+` too.
    fn split_variant<'r>(&self, revision: &'r str) -> Result<(&'r str, Option<Variant>)> {
        let is_known = |revision| revision == UNCOMMITTED || self.commit_named(revision).is_ok();
        let Some((before, name)) = revision.rsplit_once('+') else { return Ok((revision, None)) };
        let variant = self.variants().iter().find(|variant| variant.name == name);
        let is_revision = is_known(revision);
        if let Some(variant) = variant {
            if is_revision {
                let what = format!("`{revision}` is ambiguous");
                return Err(Error::new(Exit::Usage, what)
                    .cause(format!("it is a revision, and the variant `{name}` of `{before}`"))
                    .hint(format!("give [variant.{name}] in bench.toml another name")));
            }
            return Ok((before, Some(variant.clone())));
        }
        if !is_revision && Variant::is_name(name) && is_known(before) {
            let names = self.variants().iter().map(|variant| format!("`{}`", variant.name));
            let names: Vec<String> = names.collect();
            let what = format!("there is no variant `{name}` of `{before}`");
            return Err(Error::new(Exit::Usage, what).hint(match &names[..] {
                [] => format!("define it as [variant.{name}] in bench.toml"),
                names => format!("bench.toml has {}", names.join(", ")),
            }));
        }
        Ok((revision, None))
    }

    /// The ends of a range, and the variant of all its versions: that of its last one.
    pub(super) fn split_range<'r>(
        &self,
        range: &'r str,
    ) -> Result<([&'r str; 2], Option<Variant>)> {
        let (start, end) = range_ends(range)?;
        let (start, of_start) = self.split_variant(start)?;
        let (end, variant) = self.split_variant(end)?;
        if of_start.is_some() && of_start != variant {
            return Err(Error::new(Exit::Usage, format!("cannot use `{range}` as a range"))
                .cause("all its versions are the same variant")
                .hint("name the variant at the end of the range: v1.0..HEAD+NAME"));
        }
        Ok(([start, end], variant))
    }

    /// The commit of a revision; `.` has none.
    pub(super) fn commit_named(&self, revision: &str) -> Result<Commit<'_>> {
        let object = self
            .git()
            .revparse_single(revision)
            .map_err(|error| self.unknown_revision(revision, &error))?;
        object.peel_to_commit().map_err(|_| not_a_commit(revision, &object))
    }

    fn unknown_revision(&self, revision: &str, error: &git2::Error) -> Error {
        let root = self.root().display();
        let unknown =
            Error::new(Exit::Usage, format!("cannot find revision `{revision}` in {root}"));
        if let Ok(None) = self.head_commit() {
            return unknown
                .cause("the current branch has no commit yet")
                .hint("commit something first, or use `.` for the uncommitted tree");
        }
        match error.code() {
            ErrorCode::Ambiguous => self.ambiguous(revision, unknown),
            ErrorCode::NotFound => with_suggestions(self.git(), revision, unknown),
            _ => with_suggestions(self.git(), revision, unknown.cause(error.message())),
        }
    }

    fn ambiguous(&self, revision: &str, error: Error) -> Error {
        let candidates = self.candidates(revision).unwrap_or_default();
        if candidates.len() < 2 {
            // libgit2 reports every prefix of fewer than four digits as ambiguous.
            return with_suggestions(self.git(), revision, error);
        }
        error
            .cause("several objects have a hash with this prefix:")
            .listing(&candidates, LISTED)
            .hint("use more digits of the hash")
    }

    /// Descriptions of the objects whose hash starts with `prefix`, commits first.
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
            .context(Exit::Usage, || format!("cannot read HEAD of {}", self.root().display()))?;
        let Some(head) = head else {
            return Ok(Version {
                revision: UNCOMMITTED.to_owned(),
                commit: None,
                tree: tree.to_string(),
                dirty: true,
                summary: String::new(),
                time: None,
                variant: None,
            });
        };
        let dirty = head.tree_id() != tree;
        Ok(Version { tree: tree.to_string(), dirty, ..version_of(UNCOMMITTED, &head) })
    }
}

/// The commit of a version; none for an uncommitted tree without one.
pub(super) fn commit_of(version: &Version) -> Option<Oid> {
    Oid::from_str(version.commit.as_deref()?).ok()
}

pub(super) fn version_of(revision: &str, commit: &Commit<'_>) -> Version {
    Version {
        revision: revision.to_owned(),
        commit: Some(commit.id().to_string()),
        tree: commit.tree_id().to_string(),
        dirty: false,
        summary: summary(commit),
        time: Some(commit.time().seconds()),
        variant: None,
    }
}

/// The first line of a commit's message.
pub(super) fn summary(commit: &Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}

fn not_a_commit(revision: &str, object: &Object<'_>) -> Error {
    // An annotated tag may point to anything.
    let target = object.peel(ObjectType::Any).unwrap_or_else(|_| object.clone());
    Error::new(Exit::Usage, format!("`{revision}` is a {}, not a commit", kind(&target)))
        .cause(format!("it names the object {}", target.id()))
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

/// Replaces a missing end of a range.
const HEAD: &str = "HEAD";

/// True if `text` is a range of versions: it contains `..` outside of a text search.
pub fn is_range(text: &str) -> bool {
    text.contains("..") && !text.starts_with(":/") && !text.contains("^{/")
}

impl Repository {
    /// The versions of the range `A..B`, newest first; `A..` ends at HEAD and `..B` starts after it. With `A..B+NAME`,
    /// all are this variant.
    ///
    /// These are the commits that `git rev-list --first-parent A..B` lists: those on B's line of first parents that A
    /// does not contain. So each is the direct predecessor of the one before it, and a difference between neighbours is
    /// the work of one commit or one merge.
    pub fn resolve_range(&self, range: &str) -> Result<Vec<Version>> {
        let ([start, end], variant) = self.split_range(range)?;
        let commits = [self.commit_named(start)?, self.commit_named(end)?];
        let [start_commit, end_commit] = &commits;
        let versions = self
            .first_parents(start_commit.id(), end_commit, variant.as_ref())
            .context(Exit::Usage, || format!("cannot list the commits of `{range}`"))?;
        if versions.is_empty() {
            return Err(self.empty_range(range, [start, end], [start_commit, end_commit]));
        }
        Ok(versions)
    }

    /// The version before the first one of a range.
    pub fn resolve_range_start(&self, range: &str) -> Result<Version> {
        let ([start, _], variant) = self.split_range(range)?;
        Ok(Version { variant, ..self.resolve(start)? })
    }

    /// The versions of revisions and ranges, in the given order.
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
        variant: Option<&Variant>,
    ) -> Result<Vec<Version>, git2::Error> {
        let mut walk = self.git().revwalk()?;
        walk.push(end.id())?;
        walk.hide(start)?;
        let inside = walk.collect::<Result<HashSet<Oid>, _>>()?;
        let mut versions = Vec::new();
        let mut next = Some(end.clone());
        while let Some(commit) = next.filter(|commit| inside.contains(&commit.id())) {
            let version = version_of(&commit.id().to_string(), &commit);
            versions.push(Version { variant: variant.cloned(), ..version });
            // A commit at the boundary of a shallow clone names parents that are missing.
            next = commit.parent(0).ok();
        }
        Ok(versions)
    }

    fn empty_range(&self, range: &str, names: [&str; 2], commits: [&Commit<'_>; 2]) -> Error {
        let [start, end] = names;
        let error = Error::new(Exit::Usage, format!("the range `{range}` has no commits"))
            .cause(format!("`{start}` contains every commit of `{end}`"));
        let [start_commit, end_commit] = commits.map(Commit::id);
        match self.git().graph_descendant_of(start_commit, end_commit) {
            Ok(true) => error.hint(format!("the older one comes first: {end}..{start}")),
            _ => error.hint("the older one comes first, the newer one last"),
        }
    }
}

/// The two ends of a range `A..B`; a missing end is HEAD.
pub fn range_ends(range: &str) -> Result<(&str, &str)> {
    let Some((start, end)) = range.split_once("..") else {
        return Err(Error::new(Exit::Usage, format!("`{range}` is not a range of versions"))
            .hint("write two revisions with `..` between them: v1.0..HEAD"));
    };
    let or_head = |name| if str::is_empty(name) { HEAD } else { name };
    if let Some(end) = end.strip_prefix('.') {
        let (start, end) = (or_head(start), or_head(end));
        return Err(Error::new(Exit::Usage, format!("cannot use `{range}` as a range"))
            .cause(
                "`A...B` means the commits of both sides, which are not a sequence of \
                      versions",
            )
            .hint(format!("for the commits of {end} that are not in {start}: {start}..{end}")));
    }
    Ok((or_head(start), or_head(end)))
}

/// Most similar names in a suggestion.
const PROPOSED: usize = 3;

/// Adds cause and hints to the error for the unknown `revision`.
fn with_suggestions(git: &git2::Repository, revision: &str, error: Error) -> Error {
    let base = base_of(revision);
    let shallow = git.is_shallow();
    let error = if base != revision && git.revparse_single(base).is_ok() {
        let error = error.cause(format!("`{base}` exists, but `{revision}` does not"));
        let newest = git.head().and_then(|head| head.peel_to_commit());
        if newest.is_ok_and(|commit| commit.parent_count() == 0) && !shallow {
            error.cause("HEAD is the first commit")
        } else {
            error
        }
    } else {
        let near = near(base, &names(git));
        let error = error.cause("no branch, tag or commit has that name");
        match near.as_slice() {
            [] => error.hint("list what exists with: git branch --all; git tag; git log"),
            near => error.hint(format!("did you mean {}?", near.join(" or "))),
        }
    };
    if shallow {
        error.hint("this clone is shallow; fetch the whole history with: git fetch --unshallow")
    } else {
        error
    }
}

/// The name at the start of a revision: `main` of `main~3^2`.
fn base_of(revision: &str) -> &str {
    let end = revision.find(['~', '^', ':']).or_else(|| revision.find("@{"));
    end.map_or(revision, |end| &revision[..end])
}

/// Branches, tags and remote branches as a user types them.
fn names(git: &git2::Repository) -> Vec<String> {
    let Ok(references) = git.references() else { return Vec::new() };
    let mut names: Vec<String> = references
        .flatten()
        .filter_map(|reference| reference.shorthand().ok().map(str::to_owned))
        .collect();
    names.push("HEAD".to_owned());
    names.sort();
    names.dedup();
    names
}

/// The names that differ from `wanted` by a typo, nearest first: at most one edit in three characters, ignoring case;
/// or the same name on a remote.
fn near(wanted: &str, names: &[String]) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let distance = strsim::damerau_levenshtein(&wanted, &lower)
                .min(strsim::damerau_levenshtein(&wanted, last));
            (distance <= allowed && distance < wanted.chars().count()).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(PROPOSED).map(|(_, name)| format!("`{name}`")).collect()
}

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

    fn near_among(wanted: &str, names: &[&str]) -> Vec<String> {
        near(wanted, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["main", "maintain", "v1.2.3", "v1.2.4"];
        assert_eq!(near_among("mian", &names), ["`main`"]);
        assert_eq!(near_among("v1.2.44", &names), ["`v1.2.4`", "`v1.2.3`"]);
        assert_eq!(near_among("head", &["HEAD"]), ["`HEAD`"]);
    }

    #[test]
    fn remote_branch_is_suggested_by_its_last_part() {
        assert_eq!(near_among("develop", &["origin/develop", "main"]), ["`origin/develop`"]);
    }

    #[test]
    fn dissimilar_name_is_not_suggested() {
        assert!(near_among("x", &["main", "y"]).is_empty());
        assert!(near_among("release", &["main"]).is_empty());
    }

    #[test]
    fn base_of_a_revision_ends_before_its_first_operator() {
        assert_eq!(base_of("main~3^2"), "main");
        assert_eq!(base_of("main@{upstream}"), "main");
        assert_eq!(base_of("v1.0"), "v1.0");
    }
}

#[cfg(test)]
mod release_tests {
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
