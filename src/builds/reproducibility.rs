//! Checks that compiling is reproducible, by compiling the packages of the repository twice, and caches the result.
//! All versions share their dependencies, compiled once, so dependencies cannot differ between them.

use std::collections::BTreeSet;

use rbench_code::elf::Digest;
use serde::{Deserialize, Serialize};

use super::{
    build_env::{BuildEnv, Source},
    clean,
    compilation::{Compilation, CompiledTarget, Instance},
    files, inputs,
    version_builds::{BuildRequest, TargetBuilds},
};
use crate::{
    error::Result,
    model::{BenchTarget, Layout, LayoutSeed, TargetFilter},
};

/// The result for a toolchain, lock file and settings.
pub struct Reproducibility {
    /// True if compiling twice gives the same program.
    pub is_reproducible: bool,
    /// The result in words, and its source.
    pub reason: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CachedResult {
    targets: BTreeSet<BenchTarget>,
    /// The link inputs that differed, by file name; empty if nothing that is loaded did.
    differing: BTreeSet<String>,
}

impl BuildEnv<'_> {
    /// Checks that compiling the requested bench targets of a version again gives the same programs. `compilation` is
    /// then the active one.
    pub(super) fn reproducibility(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        request: &BuildRequest,
    ) -> Result<Reproducibility> {
        let memory = self.cache_dirs.reproducibility(&compilation.record.reproducibility);
        let targets = compilation.record.targets.iter().map(|one| one.target.clone());
        let is_requested =
            |target: &BenchTarget| request.only.as_ref().is_none_or(|only| only.contains(target));
        let requested: BTreeSet<BenchTarget> = targets.filter(is_requested).collect();
        let mut found: CachedResult = files::read_json(&memory).unwrap_or_default();
        let open: BTreeSet<BenchTarget> = requested.difference(&found.targets).cloned().collect();
        if open.is_empty() || !found.differing.is_empty() {
            clean::mark_used(&memory);
            return Ok(found.answer("known from an earlier run"));
        }
        found.differing = self.compile_again_and_compare(source, compilation, request, &open)?;
        found.targets.extend(open);
        self.activate(&compilation.home)?;
        files::write_json(&memory, &found)?;
        let answer = found.answer("determined just now");
        if !answer.is_reproducible {
            let builds = request.seeds.len();
            self.note(&format!(
                "{}: {}, so each of the {builds} builds is compiled separately",
                source.version, answer.reason
            ));
        }
        Ok(answer)
    }

    fn compile_again_and_compare(
        &self,
        source: Source<'_>,
        first: &Compilation,
        request: &BuildRequest,
        targets: &BTreeSet<BenchTarget>,
    ) -> Result<BTreeSet<String>> {
        // If compiling is not reproducible, this compilation serves the first build.
        let seed = request.seeds.first().copied().unwrap_or_else(|| LayoutSeed::derive(0, 0));
        let purpose = "again, to check that compiling is reproducible (once per lock file, toolchain and settings)";
        let filter = only_these(&request.filter, &first.record.targets, targets);
        let second = self.compile_instance(source, &filter, Instance::Again(seed), purpose)?;
        let mut differing: BTreeSet<String> = BTreeSet::new();
        for other in &second.record.targets {
            let one = first.record.targets.iter().find(|one| one.target == other.target);
            if let Some(one) = one.filter(|one| one.inputs != other.inputs) {
                differing.extend(inputs::differing(&one.files, &other.files));
                if differing.is_empty() {
                    differing.insert(format!("the linker's arguments for {}", one.target));
                }
            }
        }
        // Differences may be harmless: debug information, for one, contains the working directory of a C compiler.
        if !differing.is_empty() {
            let programs = self.default_link_digests(source, first, targets)?;
            if programs.is_some()
                && programs == self.default_link_digests(source, &second, targets)?
            {
                differing.clear();
            }
        }
        if differing.is_empty() {
            self.note(&format!("compiling {} is reproducible", source.version));
            files::remove_directory(&second.home)?;
        }
        Ok(differing)
    }

    /// The digest of everything that each of these targets of a compilation loads, linked in the default order.
    fn default_link_digests(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        targets: &BTreeSet<BenchTarget>,
    ) -> Result<Option<Vec<Digest>>> {
        let (version, layout) = ([(source, compilation)], Layout::Default);
        let Some(linkables) = self.linkables(&version, layout, Some(targets))? else {
            return Ok(None);
        };
        let seed = LayoutSeed::list(0, 1);
        let linked = self.link_together(&version, layout, linkables, &seed)?;
        Ok(Some(linked.iter().flatten().map(TargetBuilds::digest).collect()))
    }
}

/// A filter that selects these of the compiled targets, and all targets of packages that have none of them: with other
/// packages, cargo could turn on other features.
fn only_these(
    filter: &TargetFilter,
    compiled: &[CompiledTarget],
    targets: &BTreeSet<BenchTarget>,
) -> TargetFilter {
    let has_chosen = |package: &str| targets.iter().any(|target| target.package == package);
    let is_chosen =
        |target: &&BenchTarget| targets.contains(target) || !has_chosen(&target.package);
    let all = compiled.iter().map(|one| &one.target);
    let names: BTreeSet<String> =
        all.clone().filter(is_chosen).map(|one| one.target.clone()).collect();
    // Programs are named already.
    if !filter.programs.is_empty() || all.clone().all(|one| names.contains(&one.target)) {
        return filter.clone();
    }
    TargetFilter { benches: names.into_iter().collect(), ..filter.clone() }
}

impl CachedResult {
    fn answer(&self, when: &str) -> Reproducibility {
        let differing: Vec<&String> = self.differing.iter().collect();
        let reason = match &differing[..] {
            [] => "compiling is reproducible with this toolchain and lock file".to_owned(),
            [one] => format!("two compilations of the same files differ in {one}"),
            [one, rest @ ..] => format!(
                "two compilations of the same files differ in {one} and {} more link inputs",
                rest.len()
            ),
        };
        let is_reproducible = self.differing.is_empty();
        Reproducibility { is_reproducible, reason: format!("{reason} ({when})") }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn other_targets_of_the_same_package_are_not_compiled_again() {
        let target = |package: &str, target: &str| BenchTarget {
            package: package.to_owned(),
            target: target.to_owned(),
        };
        let compiled = |target: BenchTarget| CompiledTarget {
            target,
            package_id: String::new(),
            package_root: PathBuf::new(),
            executable: PathBuf::new(),
            recipe: String::new(),
            inputs: Digest::compute(b""),
            files: Vec::new(),
            made: Vec::new(),
        };
        let all = [target("json", "parse"), target("json", "print"), target("xml", "read")];
        let benches = |chosen: &[BenchTarget]| {
            let chosen = chosen.iter().cloned().collect();
            let compiled = all.clone().map(compiled);
            only_these(&TargetFilter::default(), &compiled, &chosen).benches
        };
        assert_eq!(benches(&all[..1]), ["parse", "read"], "with the features of both packages");
        assert_eq!(benches(&all[1..]), ["print", "read"]);
        assert!(benches(&all).is_empty(), "the filter stays as it is");
    }
}
