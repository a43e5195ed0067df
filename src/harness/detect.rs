//! Determines the harness of a bench target from its manifest and its resolved dependencies, never
//! from its executable's output.

use cargo_metadata::{
    DependencyKind, Metadata, Node, NodeDep, Package, PackageId, Target, semver::Version,
};
use serde::Deserialize;

use super::{Criterion, Divan, Harness, Libtest, Native};
use crate::{
    error::{Context, Error, Exit, Result},
    model::HarnessKind,
};

/// A bench target with all facts that determine its harness.
#[derive(Clone, Copy, Debug)]
pub struct TargetFacts<'t> {
    /// The workspace's metadata, with resolved dependencies.
    pub metadata: &'t Metadata,
    pub package: &'t Package,
    pub target: &'t Target,
    /// The text of the package's `Cargo.toml`.
    pub manifest: &'t str,
    /// The text of the target's source file, which decides between several harnesses; may be empty.
    pub source: &'t str,
}

/// The harness of a bench target, or the one that `bench.toml` gives it (`configured`).
///
/// Fails if the target has its own `main` and no harness, an unknown one, or several, among its
/// dependencies, and if a [`Command`](super::Command) is configured: that needs a program.
pub fn detect(
    bench: &TargetFacts<'_>,
    configured: Option<HarnessKind>,
) -> Result<Box<dyn Harness>> {
    match configured {
        None if bench.has_libtest()? => Ok(Box::new(Libtest)),
        None => Ok(bench.only_candidate()?.harness()),
        Some(HarnessKind::Native) => Ok(Box::new(Native)),
        Some(HarnessKind::Libtest) => Ok(Box::new(Libtest)),
        Some(kind) if kind.is_program() => {
            let reason = format!("bench.toml names `{kind}`, which is not a harness");
            Err(bench.error(&reason).hint(bench.as_command()))
        }
        Some(kind) => {
            let candidates = bench.candidates();
            let found = candidates.iter().find(|found| found.crate_.kind == kind);
            found.map(Candidate::harness).ok_or_else(|| {
                bench
                    .error(&format!(
                        "bench.toml names the harness {kind}, but the package does not depend on it"
                    ))
                    .hint(format!("add {kind} to the dependencies, or correct bench.toml"))
            })
        }
    }
}

/// The needed part of a `Cargo.toml`: Cargo's metadata omit `harness`.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    bench: Vec<ManifestTarget>,
}

#[derive(Deserialize)]
struct ManifestTarget {
    name: Option<String>,
    harness: Option<bool>,
}

/// A crate whose benchmarks rbench can run.
#[derive(Debug)]
pub(super) struct HarnessCrate {
    pub(super) package: &'static str,
    pub(super) kind: HarnessKind,
    /// For a fork, the version it was forked from: its own version number is meaningless here.
    fork_of: Option<Version>,
    /// Makes its harness, of this version, which may be a fork.
    new: fn(Version, bool) -> Box<dyn Harness>,
}

/// The supported harnesses. libtest belongs to no crate, and programs have none.
pub(super) static HARNESS_CRATES: [HarnessCrate; 5] = [
    HarnessCrate {
        package: "rbench-harness",
        kind: HarnessKind::Native,
        fork_of: None,
        new: |_, _| Box::new(Native),
    },
    HarnessCrate {
        package: "criterion",
        kind: HarnessKind::Criterion,
        fork_of: None,
        new: |version, _| Box::new(Criterion::new(version)),
    },
    HarnessCrate {
        package: "codspeed-criterion-compat",
        kind: HarnessKind::Criterion,
        fork_of: Some(Version::new(0, 5, 1)),
        new: |version, _| Box::new(Criterion::new(version)),
    },
    HarnessCrate {
        package: "divan",
        kind: HarnessKind::Divan,
        fork_of: None,
        new: |version, is_fork| Box::new(Divan { version, is_fork }),
    },
    HarnessCrate {
        package: "codspeed-divan-compat",
        kind: HarnessKind::Divan,
        fork_of: Some(Version::new(0, 1, 17)),
        new: |version, is_fork| Box::new(Divan { version, is_fork }),
    },
];

/// Harnesses that rbench cannot run, but can name in an error.
const UNSUPPORTED: [&str; 6] =
    ["bencher", "gungraun", "iai", "iai-callgrind", "tango-bench", "brunch"];

/// Those of them that do as much as fits into a time: how long a run takes, or is between two readings of its clock, depends
/// on noise and not on the speed of its code.
const ADAPTING: [&str; 1] = ["bencher"];

/// Those of them that count instructions, with the arguments by which they execute one benchmark for valgrind: its number; or
/// the name or number of its group, and the numbers of the function and of its input.
const COUNTERS: [(&str, &[&str]); 3] = [
    ("gungraun", &["--gungraun-run", "0", "0", "0"]),
    ("iai", &["--iai-run", "0"]),
    ("iai-callgrind", &["--iai-run", "GROUP", "0", "0"]),
];

/// A harness among the dependencies of a package.
#[derive(Clone, Copy, Debug)]
struct Candidate<'t> {
    crate_: &'static HarnessCrate,
    version: &'t Version,
    /// Its name in the package's code.
    alias: &'t str,
}

impl Candidate<'_> {
    /// True if a program that is not of this harness would measure when it is asked for a list. One that speaks the
    /// protocol of rbench-harness itself need not name it.
    fn measures(&self) -> bool {
        self.crate_.kind != HarnessKind::Native
    }

    fn harness(&self) -> Box<dyn Harness> {
        let HarnessCrate { fork_of, new, .. } = self.crate_;
        new(fork_of.as_ref().unwrap_or(self.version).clone(), fork_of.is_some())
    }
}

impl<'t> TargetFacts<'t> {
    /// True if the manifest leaves the target its default harness.
    fn has_libtest(&self) -> Result<bool> {
        let manifest: Manifest = toml::from_str(self.manifest)
            .context(Exit::Usage, || format!("cannot read {}", self.package.manifest_path))?;
        let mut targets = manifest.bench.into_iter();
        let entry = targets.find(|entry| entry.name.as_deref() == Some(self.target.name.as_str()));
        Ok(entry.and_then(|entry| entry.harness).unwrap_or(true))
    }

    fn only_candidate(&self) -> Result<Candidate<'t>> {
        let candidates = self.candidates();
        let named: Vec<_> = candidates
            .iter()
            .copied()
            .filter(|candidate| names_crate(self.source, candidate.alias))
            .collect();
        if let [only] = named[..] {
            return Ok(only);
        }
        let mut unsupported = self.packages_among_dependencies(&UNSUPPORTED);
        let in_source: Vec<_> = unsupported
            .iter()
            .copied()
            .filter(|package| names_crate(self.source, &package.replace('-', "_")))
            .collect();
        let is_other = named.is_empty() && !in_source.is_empty();
        let packages: Vec<_> = candidates.iter().map(|found| found.crate_.package).collect();
        if is_other {
            unsupported = in_source;
        } else if named.is_empty() && self.is_alone() && candidates.iter().any(Candidate::measures)
        {
            let reason = format!("its source does not use {}", packages.join(" or "));
            return Err(self.error(&reason).hint(self.as_command()).hint(self.one_of(&candidates)));
        } else if let [only] = candidates[..] {
            return Ok(only);
        }
        let packages = if is_other { &[][..] } else { &packages[..] };
        Err(match (packages, &unsupported[..]) {
            ([], []) => self
                .error("it has its own `main`, and the package depends on no supported harness")
                .hint(self.as_command()),
            ([], names) => {
                let reason = format!("rbench does not run benchmarks of {}", names.join(" or "));
                let (error, target) = (self.error(&reason), &self.target.name);
                if names.iter().all(|name| ADAPTING.contains(name)) {
                    return Err(error.hint(
                        "use criterion or divan: as a program, it would take as long with slower code, because it does \
                         as much as fits into a time",
                    ));
                }
                match COUNTERS.iter().find(|counter| names.contains(&counter.0)) {
                    Some((_, arguments)) => error.hint(format!(
                        "measure one of `{target}` as a program, also with --metric instructions, in bench.toml:\n{}",
                        self.command_table(arguments)
                    )),
                    None => error.hint(self.as_command()),
                }
            }
            (packages, _) => self
                .error(&format!("it depends on {}", packages.join(" and ")))
                .hint(self.one_of(&candidates)),
        })
    }

    /// True if the source has its own `main`, and names neither another file nor a crate with a harness.
    fn is_alone(&self) -> bool {
        let Some(node) = self.node(&self.package.id) else { return false };
        let leads_to_harness = |dependency: &&NodeDep| {
            let below = || self.node(&dependency.pkg).map(|node| self.indirect_candidates(node));
            self.candidate(dependency).is_some() || below().is_some_and(|found| !found.is_empty())
        };
        let is_of_library = |dependency: &&NodeDep| {
            dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        };
        let mut crates: Vec<String> =
            linked(node).filter(leads_to_harness).map(|one| one.name.clone()).collect();
        if linked(node).filter(is_of_library).any(|one| leads_to_harness(&one)) {
            crates.push(self.package.name.replace('-', "_"));
        }
        names_crate(self.source, "fn main")
            && !["mod", "include"].iter().any(|word| names_crate(self.source, word))
            && !crates.iter().any(|name| names_crate(self.source, name))
    }

    fn error(&self, reason: &str) -> Error {
        let (target, package) = (&self.target.name, &self.package.name);
        Error::new(
            Exit::Usage,
            format!("cannot determine the harness of bench target `{target}` of `{package}`"),
        )
        .cause(reason)
    }

    /// The lines that choose one of several harnesses.
    fn one_of(&self, candidates: &[Candidate<'_>]) -> String {
        let mut kinds: Vec<_> =
            candidates.iter().map(|found| format!("{:?}", found.crate_.kind.name())).collect();
        kinds.dedup();
        let (package, target) = (&self.package.name, &self.target.name);
        format!(
            "name it in bench.toml:\n[[harness]]\npackage = \"{package}\"\nbench = {target:?}\n\
             harness = {}",
            kinds.join(" # or ")
        )
    }

    /// The hint that makes the whole target a benchmark.
    fn as_command(&self) -> String {
        let table = self.command_table(&["--bench"]);
        let target = &self.target.name;
        format!(
            "measure `{target}` as a whole program, in bench.toml:\n{table}\n# clock = \"pairs\" # only what it times itself"
        )
    }

    /// The lines of `bench.toml` that make the target with these arguments a benchmark.
    fn command_table(&self, arguments: &[&str]) -> String {
        let (package, target) = (self.package.name.as_str(), &self.target.name);
        format!(
            "[[command]]\nid = {target:?}\npackage = {package:?}\nbench = {target:?}\n\
             arguments = {arguments:?}"
        )
    }

    /// The harnesses among the direct dependencies or, if there is none, among all of them: a
    /// helper crate may re-export one.
    fn candidates(&self) -> Vec<Candidate<'t>> {
        let Some(node) = self.node(&self.package.id) else { return Vec::new() };
        let direct: Vec<_> =
            linked(node).filter_map(|dependency| self.candidate(dependency)).collect();
        if direct.is_empty() { self.indirect_candidates(node) } else { direct }
    }

    fn indirect_candidates(&self, node: &'t Node) -> Vec<Candidate<'t>> {
        let mut found: Vec<Candidate<'t>> = Vec::new();
        let mut seen = vec![&node.id];
        let mut left: Vec<&NodeDep> = linked(node).collect();
        while let Some(dependency) = left.pop() {
            if seen.contains(&&dependency.pkg) {
                continue;
            }
            seen.push(&dependency.pkg);
            found.extend(self.candidate(dependency));
            left.extend(self.node(&dependency.pkg).into_iter().flat_map(linked));
        }
        found
    }

    fn candidate(&self, dependency: &'t NodeDep) -> Option<Candidate<'t>> {
        let package = self.metadata.packages.iter().find(|package| package.id == dependency.pkg)?;
        let crate_ = HARNESS_CRATES.iter().find(|known| package.name == known.package)?;
        Some(Candidate { crate_, version: &package.version, alias: &dependency.name })
    }

    fn packages_among_dependencies(&self, names: &[&'static str]) -> Vec<&'static str> {
        let is_dependency = |name: &str| {
            let named = self.package.dependencies.iter().find(|dependency| dependency.name == name);
            named.is_some_and(|dependency| dependency.kind != DependencyKind::Build)
        };
        names.iter().copied().filter(|name| is_dependency(name)).collect()
    }

    pub(super) fn node(&self, id: &PackageId) -> Option<&'t Node> {
        self.metadata.resolve.as_ref()?.nodes.iter().find(|node| node.id == *id)
    }
}

/// The dependencies that a package links into its benches, without those of its build script.
pub(super) fn linked(node: &Node) -> impl Iterator<Item = &NodeDep> {
    node.deps.iter().filter(|dependency| {
        let kinds = &dependency.dep_kinds;
        kinds.is_empty() || kinds.iter().any(|kind| kind.kind != DependencyKind::Build)
    })
}

/// True if `source` contains the name of a crate as a whole word.
fn names_crate(source: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(name).any(|(at, _)| {
        !source[..at].ends_with(is_word) && !source[at + name.len()..].starts_with(is_word)
    })
}

#[cfg(test)]
mod tests;
