//! Checks that compiling is reproducible, by compiling the packages of the repository twice, and caches the result.
//! All versions share their dependencies, compiled once, so dependencies cannot differ between them.

use std::collections::BTreeSet;

use rbench_code::elf::Digest;
use serde::{Deserialize, Serialize};

use super::{
    build_env::{BuildEnv, Source},
    clean,
    compilation::{Compilation, Instance},
    files, inputs,
    version_builds::{BuildRequest, TargetBuilds},
};
use crate::{
    error::Result,
    model::{Layout, LayoutSeed},
};

/// The result for a toolchain, lock file and settings.
pub struct Reproducibility {
    /// True if compiling twice gives the same program.
    pub is_reproducible: bool,
    /// The result in words, and its source.
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedResult {
    /// The link inputs that differed, by file name; empty if nothing that is loaded did.
    differing: Vec<String>,
}

impl BuildEnv<'_> {
    /// Checks that compiling a version again gives the same program. `compilation` is then the active one.
    pub(super) fn reproducibility(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        request: &BuildRequest,
    ) -> Result<Reproducibility> {
        let memory = self.cache_dirs.reproducibility(&compilation.record.reproducibility);
        if let Some(remembered) = files::read_json::<CachedResult>(&memory) {
            clean::mark_used(&memory);
            return Ok(remembered.answer("known from an earlier run"));
        }
        let found = self.compile_again_and_compare(source, compilation, request)?;
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
    ) -> Result<CachedResult> {
        // If compiling is not reproducible, this compilation serves the first build.
        let seed = request.seeds.first().copied().unwrap_or_else(|| LayoutSeed::derive(0, 0));
        let purpose = "again, to check that compiling is reproducible (once per toolchain, \
                       settings and lock file)";
        let second =
            self.compile_instance(source, &request.filter, Instance::Again(seed), purpose)?;
        let pairs = first.record.targets.iter().zip(&second.record.targets);
        let mut differing: BTreeSet<String> = BTreeSet::new();
        for (one, other) in pairs {
            if one.inputs != other.inputs {
                differing.extend(inputs::differing(&one.files, &other.files));
                if differing.is_empty() {
                    differing.insert(format!("the linker's arguments for {}", one.target));
                }
            }
        }
        // Differences may be harmless: debug information, for one, contains the working directory of a C compiler.
        if !differing.is_empty() {
            let programs = self.default_link_digests(source, first)?;
            if programs.is_some() && programs == self.default_link_digests(source, &second)? {
                differing.clear();
            }
        }
        if differing.is_empty() {
            files::remove_directory(&second.home)?;
        }
        Ok(CachedResult { differing: differing.into_iter().collect() })
    }

    /// The digest of everything that each target of a compilation loads, linked in the default order.
    fn default_link_digests(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
    ) -> Result<Option<Vec<Digest>>> {
        let (version, layout) = ([(source, compilation)], Layout::Default);
        let Some(linkables) = self.linkables(&version, layout, None)? else { return Ok(None) };
        let seed = LayoutSeed::list(0, 1);
        let linked = self.link_together(&version, layout, linkables, &seed)?;
        Ok(Some(linked.iter().flatten().map(TargetBuilds::digest).collect()))
    }
}

impl CachedResult {
    fn answer(&self, when: &str) -> Reproducibility {
        let reason = match self.differing.as_slice() {
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
