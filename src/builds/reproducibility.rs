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

/// A filter that selects only these of the compiled targets.
fn only_these(
    filter: &TargetFilter,
    compiled: &[CompiledTarget],
    targets: &BTreeSet<BenchTarget>,
) -> TargetFilter {
    let others = compiled.iter().map(|one| &one.target).filter(|one| !targets.contains(one));
    let mut filter = filter.clone();
    filter.left_out.extend(others.cloned());
    filter
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
