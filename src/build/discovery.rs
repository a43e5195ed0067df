//! Which bench targets a version has.

use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand, Package, Target, TargetKind};

use super::{
    cargo::{self, Place},
    compilation::CompiledTarget,
    tool,
};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::{BenchTarget, CompileSettings, TargetFilter},
};

/// What cargo knows of a version's workspace.
#[derive(Debug)]
pub struct Workspace {
    metadata: Metadata,
}

/// A bench target and the package it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The target.
    pub target: BenchTarget,
    /// The id of its package, as cargo's messages have it.
    pub package_id: String,
    /// The directory of its package, where its benchmarks run.
    pub package_root: PathBuf,
    /// The features of its package that it cannot be built without.
    pub required_features: Vec<String>,
}

impl Workspace {
    /// Asks cargo; `version` is for the error.
    pub fn at(place: &Place, settings: &CompileSettings, version: &str) -> Result<Self> {
        let what = || format!("cannot read the workspace of {version}");
        let mut command = place.command(&cargo::metadata(place, settings));
        let output = tool::run(&mut command, what)?;
        let metadata = MetadataCommand::parse(String::from_utf8_lossy(&output.stdout))
            .or_fail(Exit::Build, what)?;
        Ok(Self { metadata })
    }

    /// The bench targets of the workspace that the filter admits, in the order of their names.
    /// Those whose required features are off are left out, as cargo does, unless they are asked for
    /// by name: then cargo says what is missing.
    pub fn bench_targets(&self, filter: &TargetFilter, version: &str) -> Result<Vec<Discovered>> {
        let mut all: Vec<Discovered> =
            self.metadata.workspace_packages().into_iter().flat_map(of_package).collect();
        all.sort_by(|a, b| a.target.cmp(&b.target));
        let wanted = |found: &&Discovered| {
            filter.admits(&found.target)
                && (self.missing_features(found).is_empty()
                    || filter.benches.contains(&found.target.target))
        };
        let chosen: Vec<Discovered> = all.iter().filter(wanted).cloned().collect();
        if chosen.is_empty() {
            return Err(self.nothing_to_build(&all, filter, version));
        }
        Ok(chosen)
    }

    fn nothing_to_build(
        &self,
        all: &[Discovered],
        filter: &TargetFilter,
        version: &str,
    ) -> Failure {
        if all.is_empty() {
            let what = format!("no package of {version} has a bench target");
            let mut failure = Failure::new(Exit::Usage, what)
                .because("benchmarks are looked for in [[bench]] targets and benches/*.rs")
                .hint("add a bench target, or name a version that has one");
            for manifest in self.manifests_apart() {
                failure = failure.hint(format!(
                    "{manifest} is apart from this workspace: use it with --manifest-path {manifest}"
                ));
            }
            return failure;
        }
        let mut failure =
            Failure::new(Exit::Usage, format!("no bench target of {version} is asked for"))
                .because("the workspace has:");
        for found in all {
            let BenchTarget { package, target } = &found.target;
            let needed = needed(&self.missing_features(found));
            failure = failure.because(format!("  -p {package} --bench {target}{needed}"));
        }
        let asked = [&filter.packages, &filter.benches, &filter.excluded].into_iter().flatten();
        let asked: Vec<&str> = asked.map(String::as_str).collect();
        if asked.is_empty() {
            return failure.hint("turn on the features that they need, with --features");
        }
        failure.hint(format!("correct -p, --bench or --exclude (asked: {})", asked.join(", ")))
    }

    /// Manifests just below the workspace that are not of it and whose directories are named for benchmarks:
    /// so are those kept whose dependencies users of the crate shall not have to compile.
    fn manifests_apart(&self) -> Vec<String> {
        let root = &self.metadata.workspace_root;
        let members: Vec<_> = self.metadata.workspace_packages();
        let mut apart: Vec<String> = root
            .read_dir_utf8()
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().contains("bench"))
            .map(|entry| entry.path().join("Cargo.toml"))
            .filter(|path| path.is_file() && members.iter().all(|of| of.manifest_path != *path))
            .filter_map(|path| Some(path.strip_prefix(root).ok()?.to_string()))
            .collect();
        apart.sort();
        apart
    }

    /// The features that a bench target requires and that are off.
    fn missing_features(&self, found: &Discovered) -> Vec<String> {
        let nodes = self.metadata.resolve.as_ref().map_or(&[][..], |resolve| &resolve.nodes);
        let node = nodes.iter().find(|node| node.id.repr == found.package_id);
        let on = |name: &String| {
            node.is_none_or(|node| node.features.iter().any(|feature| feature.as_str() == name))
        };
        found.required_features.iter().filter(|name| !on(name)).cloned().collect()
    }

    /// All that cargo said.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What cargo knows of a compiled bench target.
    pub fn package_and_target(&self, compiled: &CompiledTarget) -> Result<(&Package, &Target)> {
        let package = self.metadata.packages.iter().find(|p| p.id.repr == compiled.package_id);
        let is_target = |target: &&Target| {
            target.kind.contains(&TargetKind::Bench) && target.name == compiled.target.target
        };
        package
            .and_then(|package| Some((package, package.targets.iter().find(is_target)?)))
            .ok_or_else(|| {
                Failure::new(Exit::Build, format!("cannot find bench target {}", compiled.target))
                    .because("it was compiled, but is not in the workspace any more")
            })
    }

    /// The ids of all packages whose source may differ between versions: those of the workspace, all
    /// others that are given by a path, and those that lie in the repository, at `at_source`.
    pub fn path_packages(&self, at_source: &Path) -> Vec<String> {
        let of_repository = |package: &&Package| {
            package.source.is_none() || package.manifest_path.starts_with(at_source)
        };
        self.metadata.packages.iter().filter(of_repository).map(|p| p.id.repr.clone()).collect()
    }
}

fn needed(features: &[String]) -> String {
    if features.is_empty() {
        String::new()
    } else {
        format!(" (needs --features {})", features.join(","))
    }
}

fn of_package(package: &Package) -> Vec<Discovered> {
    let root = package.manifest_path.parent().map(PathBuf::from).unwrap_or_default();
    package
        .targets
        .iter()
        .filter(|target| target.kind.contains(&TargetKind::Bench))
        .map(|target| Discovered {
            target: BenchTarget { package: package.name.to_string(), target: target.name.clone() },
            package_id: package.id.repr.clone(),
            package_root: root.clone(),
            required_features: target.required_features.clone(),
        })
        .collect()
}
