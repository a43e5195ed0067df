//! A version that is checked out, compiled and listed: once for each command.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsString,
};

use super::{
    Runner,
    listing::{CompiledVersion, ListedTarget, Listing},
};
use tracing::info_span;

use crate::{
    build::{Compilation, Source, Workshop},
    code::{Digest, FunctionSet},
    failure::Result,
    harness::{Conditions, Executable, Filter, has_threads},
    model::{BenchTarget, Benchmark, HarnessKind, TargetFilter, Version},
    project::{Project, source_of},
    source::Checkout,
};

/// A version with its files, its compilation and its benchmarks.
pub struct ListedVersion {
    /// The version.
    pub version: Version,
    checkout: Checkout,
    /// Its compilation, which its builds are linked from.
    pub compilation: Compilation,
    /// The variables that cargo's configuration sets for its processes.
    configured: Vec<(OsString, OsString)>,
    /// The lock file that it was compiled with, as text.
    pub locked: String,
    /// Its benchmarks.
    pub listing: Listing,
    /// The crates of its workspace, as they are called in code.
    pub(super) crates: BTreeSet<String>,
}

impl ListedVersion {
    /// Checks a version out, compiles its bench targets, and lists their benchmarks.
    pub fn new(
        project: &Project,
        workshop: &Workshop<'_>,
        version: Version,
        (targets, filter): (&TargetFilter, &Filter),
        conditions: &Conditions<'_>,
    ) -> Result<Self> {
        let _phase = info_span!("version", "{version}").entered();
        let checkout =
            info_span!("checkout").in_scope(|| project.checkout(&version, workshop.observer))?;
        let source = source_of(&version, &checkout);
        let compilation = info_span!("compile").in_scope(|| workshop.compile(source, targets))?;
        let locked = workshop.locked(source);
        let workspace = workshop.workspace(source, &compilation)?;
        let configured = workshop.configured_variables(source, &compilation.record);
        let compiled = CompiledVersion {
            version: &version,
            compilation: &compilation,
            workspace: &workspace,
            configured: &configured,
            settings: &workshop.settings,
            file: &project.file,
            manifest: project.manifest.as_deref(),
        };
        let listing = info_span!("list").in_scope(|| compiled.list(filter, conditions))?;
        let crates = workspace.crates();
        Ok(Self { version, checkout, compilation, configured, locked, listing, crates })
    }

    /// A digest of what its files decide of the variables that processes of a bench target get; none if
    /// that is nothing.
    pub(super) fn variables_digest(&self, target: &BenchTarget) -> Option<Digest> {
        let Compilation { record, home, .. } = &self.compilation;
        let compiled = record.targets.iter().find(|compiled| compiled.target == *target)?;
        record.variables_digest(compiled, &self.configured, &[self.source().checkout, home])
    }

    pub(super) fn source(&self) -> Source<'_> {
        source_of(&self.version, &self.checkout)
    }

    /// All its benchmarks, each once, even one whose id is listed twice.
    pub fn benchmarks(&self) -> Vec<Benchmark> {
        let mut seen = HashSet::new();
        let listed = self.listing.targets.iter().flat_map(|target| &target.benchmarks);
        listed.filter(|benchmark| seen.insert(*benchmark)).cloned().collect()
    }

    /// The variables that processes of a bench target get.
    pub(super) fn variables(&self, target: &BenchTarget) -> &[(OsString, OsString)] {
        let is_it = |listed: &&ListedTarget| {
            let Executable { package, target: name, .. } = &listed.executable;
            *package == target.package && *name == target.target
        };
        let listed = self.listing.targets.iter().find(is_it);
        listed.map_or(&[], |listed| &listed.executable.variables)
    }

    /// Whether the instructions of a benchmark can be counted function by function: not those of whole programs, nor of
    /// several threads.
    pub fn can_be_profiled(&self, benchmark: &Benchmark) -> bool {
        let kind = self.target_of(benchmark).map(|target| target.harness.kind());
        match kind {
            None | Some(HarnessKind::Command) => false,
            Some(HarnessKind::Divan) => !has_threads(&benchmark.name),
            Some(_) => true,
        }
    }

    /// The target that a benchmark is listed in.
    pub(super) fn target_of(&self, benchmark: &Benchmark) -> Option<&ListedTarget> {
        self.listing.targets.iter().find(|target| target.benchmarks.contains(benchmark))
    }
}

impl Runner<'_> {
    /// Checks a version out, compiles it, and lists its benchmarks.
    pub fn list(&self, version: Version) -> Result<ListedVersion> {
        let wanted = (&self.settings.targets, &self.settings.filter);
        ListedVersion::new(self.project, &self.workshop, version, wanted, &self.conditions)
    }

    /// The compiler that a version is compiled by: all of `rustc -vV`; nothing if it cannot be run.
    pub fn compiler(&self, version: &Version) -> String {
        let compiler = || {
            let checkout = self.project.checkout(version, self.workshop.observer)?;
            self.workshop.compiler(source_of(version, &checkout))
        };
        compiler().unwrap_or_default()
    }

    /// Those of a version's benchmarks that have another id each time that their target is listed.
    pub fn with_changing_ids(
        &self,
        version: &ListedVersion,
        benchmarks: &[Benchmark],
    ) -> Result<Vec<Benchmark>> {
        let mut changing = Vec::new();
        for target in &version.listing.targets {
            if target.benchmarks.iter().any(|benchmark| benchmarks.contains(benchmark)) {
                changing.extend(target.with_changing_ids(&self.conditions)?.into_iter().cloned());
            }
        }
        Ok(changing)
    }

    /// The machine code of every bench target of a version, function by function.
    pub fn functions(&self, version: &ListedVersion) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        let _phase = info_span!("machine code", version = %version.version).entered();
        self.workshop.functions(&version.compilation)
    }
}
