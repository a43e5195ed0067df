//! Provides one lock file for all versions that have none, so that they are compiled with the same dependencies. Also
//! compares the packages in the lock files of two versions.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    build_env::{BuildEnv, Source},
    cargo::CargoContext,
    clean,
    compilation::Compilation,
    discovery, files,
    key::KeyMaker,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::DependencyChange,
};

pub(super) const NAME: &str = "Cargo.lock";

pub struct LockFile {
    pub path: PathBuf,
    /// True if rbench added it because the version has none.
    pub is_added: bool,
}

impl BuildEnv<'_> {
    /// Makes sure that a checkout has a lock file. A version without one gets the user's own file, which git ignores,
    /// or else the one that was resolved here first.
    pub(super) fn provide_lock(
        &self,
        source: Source<'_>,
        context: &CargoContext,
    ) -> Result<LockFile> {
        let lock = source.checkout.join(&self.workspace).join(NAME);
        let added = Added::find(source.checkout);
        if lock.exists() && !added.has(&self.workspace) {
            return Ok(LockFile { path: lock, is_added: false });
        }
        if self.settings.locked {
            let what = format!("cannot compile {} with --locked", source.version);
            return Err(Error::new(Exit::Build, what)
                .cause(format!("it has no {}", self.workspace.join(NAME).display()))
                .hint(format!("commit {NAME}, or omit --locked")));
        }
        let what = || format!("cannot give {} a {NAME}", source.version);
        added.note(&self.workspace)?;
        // A link would lead the copy out of the checkout.
        if lock.is_symlink() {
            fs::remove_file(&lock).context(Exit::Build, what)?;
        }
        let resolved = self.cache_dirs.resolved_lock(&self.workspace);
        let known = [self.users_workspace.join(NAME), resolved.clone()];
        let is_whole = |path: &&PathBuf| {
            fs::read_to_string(path).is_ok_and(|text| text.parse::<toml::Table>().is_ok())
        };
        if let Some(known) = known.iter().find(is_whole) {
            if *known == resolved {
                clean::mark_used(known);
            }
            fs::copy(known, &lock).context(Exit::Build, what)?;
            return Ok(LockFile { path: lock, is_added: true });
        }
        if lock.exists() {
            fs::remove_file(&lock).context(Exit::Build, what)?;
        }
        self.fetch(source, context);
        // Cargo writes the lock file. This directory stands in for a compilation's, whose key depends on the lock.
        files::point(&self.cache_dirs.resolved().join("src"), source.checkout)?;
        self.activate(&self.cache_dirs.resolved())?;
        discovery::metadata(
            context,
            self.settings_of(source.version),
            &source.version.to_string(),
        )?;
        let contents = fs::read(&lock).context(Exit::Build, what)?;
        files::write_whole(&resolved, &contents)?;
        Ok(LockFile { path: lock, is_added: true })
    }

    /// The lock file that a version was compiled with, as text; empty if it cannot be read. That in the checkout may have
    /// been added again since then, before cargo updates it.
    pub fn locked(&self, source: Source<'_>, compilation: &Compilation) -> String {
        let in_checkout = source.checkout.join(&self.workspace).join(NAME);
        // Of a packed version, only the checkout has it.
        fs::read_to_string(compilation.home.join(NAME))
            .or_else(|_| fs::read_to_string(in_checkout))
            .unwrap_or_default()
    }
}

/// The workspaces of a checkout whose lock file rbench added: a file beside the checkout with the hashes of their
/// paths, one per line.
struct Added(PathBuf);

impl Added {
    fn find(checkout: &Path) -> Self {
        Self(checkout.with_extension("lock-added"))
    }

    fn known(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }

    fn has(&self, workspace: &Path) -> bool {
        self.known().lines().any(|known| known == line(workspace))
    }

    fn note(&self, workspace: &Path) -> Result<()> {
        if self.has(workspace) {
            return Ok(());
        }
        files::write_whole(&self.0, (self.known() + &line(workspace) + "\n").as_bytes())
    }
}

/// The path of a workspace on one line, whatever its characters.
fn line(workspace: &Path) -> String {
    KeyMaker::new("place v1").add_path("workspace", workspace).key()
}

/// The number of digits shown of a commit.
const DIGITS: usize = 7;

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// `None` for packages of the repository itself.
    source: Option<String>,
}

/// The external packages whose versions differ between two lock files, given as text, in the order of names. Empty if
/// either is no lock file, since it is up to cargo to refuse it.
pub fn changed_dependencies(base: &str, head: &str) -> Vec<DependencyChange> {
    let (Some(base), Some(head)) = (versions(base), versions(head)) else { return Vec::new() };
    let mut names: Vec<&String> = base.keys().chain(head.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let [base, head] = [&base, &head].map(|all| all.get(name).map_or(&[][..], Vec::as_slice));
        let only = |own: &[String], other: &[String]| -> Vec<String> {
            own.iter().filter(|version| !other.contains(version)).cloned().collect()
        };
        let (base, head) = (only(base, head), only(head, base));
        let is_other = !base.is_empty() || !head.is_empty();
        is_other.then(|| DependencyChange { name: name.clone(), base, head })
    };
    names.into_iter().filter_map(change).collect()
}

/// The versions of each external package, in the order of the lock file.
fn versions(lock: &str) -> Option<BTreeMap<String, Vec<String>>> {
    let lock: Lock = toml::from_str(lock).ok()?;
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Package { name, version, source } in lock.package {
        let Some(source) = source else { continue };
        let commit = source.strip_prefix("git+").and_then(|source| source.rsplit_once('#'));
        let version = match commit {
            Some((_, commit)) => {
                format!("{version} ({})", commit.chars().take(DIGITS).collect::<String>())
            }
            None => version,
        };
        let known = versions.entry(name).or_default();
        if !known.contains(&version) {
            known.push(version);
        }
    }
    Some(versions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REGISTRY: &str = "registry+https://example.org/index";

    fn lock(packages: &[(&str, &str, Option<&str>)]) -> String {
        let package = |(name, version, source): &(&str, &str, Option<&str>)| {
            let source = source.map_or(String::new(), |source| format!("source = \"{source}\"\n"));
            format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}")
        };
        "version = 4\n".to_owned() + &packages.iter().map(package).collect::<String>()
    }

    fn change(name: &str, base: &[&str], head: &[&str]) -> DependencyChange {
        let owned = |versions: &[&str]| versions.iter().map(|&one| one.to_owned()).collect();
        DependencyChange { name: name.to_owned(), base: owned(base), head: owned(head) }
    }

    #[test]
    fn changed_dependencies_finds_added_removed_and_updated() {
        let registry = Some(REGISTRY);
        let base = [
            ("gone", "1.0.0", registry),
            ("rand", "0.8.5", registry),
            ("rand", "0.9.0", registry),
            ("same", "1.0.0", registry),
            ("serde", "1.0.1", registry),
        ];
        let head = [
            ("new", "0.3.0", registry),
            ("rand", "0.8.5", registry),
            ("rand", "0.9.1", registry),
            ("same", "1.0.0", registry),
            ("serde", "1.0.2", registry),
        ];
        let expected = [
            change("gone", &["1.0.0"], &[]),
            change("new", &[], &["0.3.0"]),
            change("rand", &["0.9.0"], &["0.9.1"]),
            change("serde", &["1.0.1"], &["1.0.2"]),
        ];
        assert_eq!(changed_dependencies(&lock(&base), &lock(&head)), expected);
    }

    #[test]
    fn git_package_changes_with_its_commit() {
        let at = |commit: &str| format!("git+https://example.org/x?branch=main#{commit}");
        let (old, new) = (at("0123456789abcdef"), at("fedcba9876543210"));
        let of = |source: &str| lock(&[("x", "0.3.0", Some(source))]);
        let expected = [change("x", &["0.3.0 (0123456)"], &["0.3.0 (fedcba9)"])];
        assert_eq!(changed_dependencies(&of(&old), &of(&new)), expected);
    }

    #[test]
    fn packages_of_the_repository_are_no_dependencies() {
        let of = |version| lock(&[("own", version, None)]);
        assert_eq!(changed_dependencies(&of("1.0.0"), &of("1.1.0")), []);
    }

    #[test]
    fn changed_dependencies_is_empty_for_other_text() {
        let one = lock(&[("a", "1.0.0", Some(REGISTRY))]);
        for other in ["", "[[package]]", "<<<<<<< HEAD", "package = 7"] {
            let expected: &[_] =
                if other.is_empty() { &[change("a", &["1.0.0"], &[])] } else { &[] };
            assert_eq!(changed_dependencies(&one, other), expected, "{other}");
        }
    }

    proptest! {
        #[test]
        fn changed_dependencies_is_antisymmetric(
            [base, head] in prop::array::uniform2(prop::collection::vec(("[a-c]", "[1-3]\\.0\\.0"), 0..8)),
        ) {
            let text = |packages: &[(String, String)]| {
                let packages: Vec<_> =
                    packages.iter().map(|(name, one)| (&**name, &**one, Some(REGISTRY))).collect();
                lock(&packages)
            };
            let (base, head) = (text(&base), text(&head));
            prop_assert_eq!(changed_dependencies(&base, &base), []);
            let turned = changed_dependencies(&head, &base).into_iter().map(|change| {
                let DependencyChange { name, base, head } = change;
                DependencyChange { name, base: head, head: base }
            });
            prop_assert_eq!(changed_dependencies(&base, &head), turned.collect::<Vec<_>>());
        }
    }
}
