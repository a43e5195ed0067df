//! A version that is checked out, compiled and listed, once for each command; and those of its
//! files that benchmarks may read: its checkout, and the output of its compilation.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, btree_map::Entry},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Observer, Runner,
    listing::{CompiledVersion, ListedTarget, Listing, unsupported},
};
use rbench_code::{
    elf::{Digest, FunctionSet},
    impact::FileState,
};
use tracing::info_span;

use crate::{
    builds::{
        BuildEnv, Compilation, Compiled, SlowTargets, Source, Uncompiled, Workspace, crate_text,
        files,
    },
    error::{Error, Exit, Result},
    git::Checkout,
    harness::{Conditions, Filter, Harness, Renamed},
    model::{
        Absence, BenchTarget, Benchmark, CommandLineReader, FailedTarget, HarnessKind,
        Implementation, Name, PlannedVersion, Version,
    },
    project::{Project, source_of},
};

/// A version with its files, its compilation and its benchmarks. Keeps its checkout alive.
pub struct ListedVersion {
    /// The version, under which results are stored and reported.
    pub version: Version,
    /// The version as which it is built: the same, unless this is one of its implementations.
    built: Version,
    checkout: Checkout,
    pub compilation: Compilation,
    /// The variables that cargo's configuration sets for its processes.
    configured: Vec<(OsString, OsString)>,
    pub locked: String,
    pub listing: Listing,
    /// The crates of its workspace, by their names in code.
    pub(super) crates: BTreeSet<String>,
    /// All bench targets of its workspace, selected or not, with true where required features are off.
    bench_targets: Vec<(BenchTarget, bool)>,
    /// The error of a command that needs benchmarks, if none is selected.
    nothing: Option<Error>,
}

impl ListedVersion {
    /// Checks a version out, compiles its bench targets, and lists their benchmarks. None is no error: see
    /// [`with_benchmarks`](Self::with_benchmarks).
    pub fn new(
        project: &Project,
        build_env: &BuildEnv<'_>,
        version: Version,
        filter: &Filter,
        (conditions, observer): (&Conditions<'_>, &dyn Observer),
    ) -> Result<Self> {
        let _phase = info_span!("version", "{version}").entered();
        let checkout =
            info_span!("checkout").in_scope(|| project.checkout(&version, build_env.observer))?;
        let source = source_of(&version, &checkout);
        let compilation =
            info_span!("compile").in_scope(|| build_env.compile_any(source, filter.targets()))?;
        let locked = build_env.locked(source, &compilation);
        let workspace = build_env.workspace(source, &compilation, filter.targets())?;
        let configured = build_env.configured_variables(source, &compilation.record);
        let compiled = CompiledVersion {
            version: &version,
            compilation: &compilation,
            workspace: &workspace,
            configured: &configured,
            settings: &build_env.settings,
            project,
        };
        let listed = |done, of| observer.listed(&version, done, of);
        let mut listing =
            info_span!("list").in_scope(|| compiled.list(filter.targets(), conditions, &listed))?;
        let chosen = listing.choose(filter);
        let nothing = match compilation.record.targets[..] {
            [] => Some(workspace.nothing_to_build(filter.targets(), &version.to_string())),
            _ => chosen.err(),
        };
        let (crates, bench_targets) = (workspace.crates(), workspace.all_bench_targets());
        Ok(Self {
            built: version.clone(),
            version,
            checkout,
            compilation,
            configured,
            locked,
            listing,
            crates,
            bench_targets,
            nothing,
        })
    }

    /// The same version, for a command that needs benchmarks of it.
    pub fn with_benchmarks(self) -> Result<Self> {
        self.has_benchmarks().map(|()| self)
    }

    /// Fails with the reason if none of its benchmarks is selected.
    pub fn has_benchmarks(&self) -> Result<()> {
        self.nothing.clone().map_or(Ok(()), Err)
    }

    /// Its compiler in a line: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub fn compiler(&self) -> &str {
        self.compilation.record.rustc.lines().next().unwrap_or_default()
    }

    pub(super) fn planned(&self) -> PlannedVersion {
        let toolchain = self.compilation.record.rustc.clone();
        PlannedVersion { version: self.version.clone(), toolchain }
    }

    /// Digest of the values that this version's files give to the environment variables of a bench
    /// target's processes; `None` if its files decide none.
    pub(super) fn variables_digest(&self, target: &BenchTarget) -> Option<Digest> {
        let Compilation { record, home, .. } = &self.compilation;
        let compiled = record.targets.iter().find(|compiled| compiled.target == *target)?;
        record.variables_digest(compiled, &self.configured, &[self.source().checkout, home])
    }

    /// Cargo's sentences about settings of the version that it ignores.
    pub fn ignored_settings(&self) -> &[String] {
        &self.compilation.record.ignored
    }

    /// Its compilation, with its files.
    fn compiled(&self) -> Compiled<'_> {
        (self.source(), &self.compilation)
    }

    pub(super) fn source(&self) -> Source<'_> {
        source_of(&self.built, &self.checkout)
    }

    /// The same version with only the benchmarks of one implementation, under the names that all implementations share.
    /// It counts as a variant, so that two implementations are measured and decided as two versions are.
    #[must_use]
    pub fn as_implementation(mut self, implementation: &Implementation) -> Self {
        let mut targets = Vec::new();
        for target in self.listing.targets {
            let ListedTarget { executable, harness, benchmarks, command_line, start } = target;
            let mut own = implementation.benchmarks.clone();
            own.retain(|(_, benchmark)| benchmarks.contains(benchmark));
            if own.is_empty() {
                continue;
            }
            let names = own.iter().map(|(common, own)| (common.name.clone(), own.name.clone()));
            let harness: Box<dyn Harness> = Box::new(Renamed::new(harness, names.collect()));
            let benchmarks = own.into_iter().map(|(common, _)| common).collect();
            targets.push(ListedTarget { executable, harness, benchmarks, command_line, start });
        }
        self.listing.targets = targets;
        self.version = implementation.as_variant_of(&self.built);
        self
    }

    /// True for one of several implementations in the same program.
    pub(super) fn is_implementation(&self) -> bool {
        self.version != self.built
    }

    /// All its benchmarks, each once, even if an id is listed twice.
    pub fn benchmarks(&self) -> Vec<Benchmark> {
        let mut seen = HashSet::new();
        let listed = self.listing.targets.iter().flat_map(|target| &target.benchmarks);
        listed.filter(|benchmark| seen.insert(*benchmark)).cloned().collect()
    }

    /// The environment variables of a bench target's processes.
    pub(super) fn variables(&self, target: &BenchTarget) -> &[(OsString, OsString)] {
        self.listed(target).map_or(&[], |listed| &listed.executable.variables)
    }

    /// The functions by which the harness of a bench target reads its command line, each with its package.
    pub(super) fn command_line(&self, target: &BenchTarget) -> &[(CommandLineReader, String)] {
        self.listed(target).map_or(&[], |listed| &listed.command_line)
    }

    /// True if a variant or cargo's configuration sets this variable.
    pub(super) fn configures(&self, variable: &str) -> bool {
        self.configured.iter().any(|(name, _)| name == variable)
    }

    fn listed(&self, target: &BenchTarget) -> Option<&ListedTarget> {
        self.listing.targets.iter().find(|listed| listed.executable.target() == *target)
    }

    /// True if the instructions of a benchmark can be counted per function. Whole programs and
    /// benchmarks with several threads cannot be profiled.
    pub fn can_be_profiled(&self, benchmark: &Benchmark) -> bool {
        let target = self.target_of(benchmark);
        target.is_some_and(|target| (target.harness.facts().can_be_profiled)(&benchmark.name))
    }

    /// The bench targets with selected benchmarks, and those that could not be listed.
    pub fn in_use(&self) -> impl Iterator<Item = BenchTarget> {
        let Listing { targets, failures, .. } = &self.listing;
        let listed = targets.iter().map(|listed| listed.executable.target());
        listed.chain(failures.iter().map(|failed| failed.target.clone()))
    }

    /// True if all its bench targets are compiled, apart from those whose features are off.
    pub fn has_all_targets(&self) -> bool {
        let compiled = &self.compilation.record.targets;
        let is_compiled = |target: &BenchTarget| compiled.iter().any(|one| one.target == *target);
        self.bench_targets.iter().all(|(target, is_off)| *is_off || is_compiled(target))
    }

    /// Why this version lacks a benchmark of another one. `ignored` has the ignored benchmarks of the targets that were
    /// asked for them.
    fn absence(
        &self,
        benchmark: &Benchmark,
        ignored: &mut BTreeMap<BenchTarget, Vec<Name>>,
        conditions: &Conditions<'_>,
    ) -> Result<Absence> {
        let target = benchmark.bench_target();
        let Listing { empty, .. } = &self.listing;
        if self.listing.failure(&target).is_some() {
            return Ok(Absence::Unlisted);
        }
        if let Some(listed) = self.listed(&target) {
            let ignored = match ignored.entry(target) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(listed.harness.ignored(&listed.executable, conditions)?)
                }
            };
            // A function with arguments is ignored as a whole.
            let is_ignored = ignored.iter().any(|one| {
                let rest = benchmark.name.id.strip_prefix(&one.id);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            });
            return Ok(if is_ignored { Absence::Ignored } else { Absence::Undefined });
        }
        let known = self.bench_targets.iter().find(|(known, _)| *known == target);
        let compiled = &self.compilation.record.targets;
        Ok(match (empty.iter().find(|(empty, _)| *empty == target), known) {
            (Some((_, HarnessKind::Libtest)), _) => Absence::NoHarness,
            (Some(_), _) => Absence::EmptyTarget,
            (None, None) => Absence::NoTarget,
            // Its other benchmarks are not selected.
            (None, Some(_)) if compiled.iter().any(|one| one.target == target) => {
                Absence::Undefined
            }
            (None, Some((_, true))) => Absence::Features,
            (None, Some((_, false))) => Absence::Unselected,
        })
    }

    /// The target that lists a benchmark, which must be in this version.
    pub(super) fn listed_target(&self, benchmark: &Benchmark) -> Result<&ListedTarget> {
        self.target_of(benchmark).ok_or_else(|| {
            Error::new(Exit::Internal, format!("{benchmark} is not in {}", self.version))
        })
    }

    pub(super) fn target_of(&self, benchmark: &Benchmark) -> Option<&ListedTarget> {
        self.listing.targets.iter().find(|target| target.benchmarks.contains(benchmark))
    }
}

/// Bench targets, each with the numbers of words of the filter that its name and its source lack, for each way in which an id
/// can match; `None` if the source does not show all its benchmarks.
type TargetsWithWords = Vec<(BenchTarget, Option<Vec<usize>>)>;

/// The benchmarks of one version that the other lacks.
pub fn benchmarks_only_in(one: &ListedVersion, other: &ListedVersion) -> Vec<Benchmark> {
    let others = other.benchmarks();
    one.benchmarks().into_iter().filter(|benchmark| !others.contains(benchmark)).collect()
}

impl Runner<'_> {
    /// Checks a version out, compiles it, and lists its benchmarks, which it must have.
    pub fn list(&self, version: Version) -> Result<ListedVersion> {
        self.list_any(version)?.with_benchmarks()
    }

    /// The same for a version that may have no benchmark.
    pub fn list_any(&self, version: Version) -> Result<ListedVersion> {
        let filter = &self.settings.filter;
        let (project, build_env) = (self.project, &self.build_env);
        let watched = (&self.conditions, self.observer);
        let listed = ListedVersion::new(project, build_env, version, filter, watched)?;
        for FailedTarget { target, error } in &listed.listing.unsupported {
            let more = if error.hints().is_empty() { "" } else { "; see `cargo rbench list`" };
            let reason = error.reason();
            self.observer.note(&format!("bench target {target} is left out: {reason}{more}"));
        }
        Ok(listed)
    }

    /// True if nothing of the project was compiled yet.
    pub fn has_compiled_nothing(&self) -> bool {
        self.build_env.has_compiled_nothing()
    }

    /// Fails if rbench can run the bench targets of none of these versions and this shows before they are compiled. It takes
    /// a second, and listing says the same.
    pub fn refuse_unsupported<'v>(
        &self,
        versions: impl IntoIterator<Item = &'v Version>,
    ) -> Result<()> {
        let targets = self.settings.filter.targets();
        let mut last = Ok(());
        for version in versions {
            let checkout = self.project.checkout(version, self.build_env.observer)?;
            let source = source_of(version, &checkout);
            let unsupported = |uncompiled| unsupported(self.project, &uncompiled, targets);
            match self.build_env.before_compiling(source, targets, unsupported)?.flatten() {
                Some(error) => last = Err(error),
                None => return Ok(()),
            }
        }
        last
    }

    /// The selected bench targets of both versions, if each takes long to compile and there are several.
    pub fn slow_targets(&self, [base, head]: &[Version; 2]) -> Result<Option<SlowTargets>> {
        let slow = |version: &Version| {
            let checkout = self.project.checkout(version, self.build_env.observer)?;
            let source = source_of(version, &checkout);
            self.build_env.slow_targets(source, self.settings.filter.targets())
        };
        let Some(mut found) = slow(base)? else { return Ok(None) };
        let Some(of_head) = slow(head)? else { return Ok(None) };
        found.targets.extend(of_head.targets);
        Ok(Some(found).filter(|found| found.targets.len() > 1))
    }

    /// The selected bench targets of a version, if it is not compiled yet.
    pub fn uncompiled_targets(&self, version: &Version) -> Result<Option<TargetsWithWords>> {
        let filter = &self.settings.filter;
        let checkout = self.project.checkout(version, self.build_env.observer)?;
        let lacking = |workspace: &Workspace, target: &BenchTarget, package_id: &str| {
            let (_, found) = workspace.package_and_target(target, package_id)?;
            let (text, is_whole) = crate_text(&found.src_path);
            let shows_all = is_whole && self.project.file.commands_of(target).next().is_none();
            Ok(shows_all.then(|| filter.lacking_words(&format!("{} {text}", found.name))))
        };
        let targets = |Uncompiled { workspace, targets }: Uncompiled| {
            let targets = targets.into_iter();
            targets
                .map(|(target, id)| lacking(&workspace, &target, &id).map(|words| (target, words)))
                .collect::<Result<TargetsWithWords>>()
        };
        let source = source_of(version, &checkout);
        self.build_env.before_compiling(source, filter.targets(), targets)?.transpose()
    }

    /// Discards compilations that were made under other conditions than those of the other versions, and returns true
    /// if there were some: these versions have to be listed again. Warns if conditions have changed meanwhile.
    pub fn discard_older_compilations(&self, versions: &[ListedVersion]) -> Result<bool> {
        let compiled: Vec<Compiled<'_>> = versions.iter().map(ListedVersion::compiled).collect();
        let are_discarded = self.build_env.discard_older(&compiled)?;
        if !are_discarded {
            for one in compiled {
                self.build_env.check_conditions(one);
            }
        }
        Ok(are_discarded)
    }

    /// The output of `rustc -vV` for the compiler of a version; empty if it cannot be run.
    pub fn compiler(&self, version: &Version) -> String {
        let compiler = || {
            let checkout = self.project.checkout(version, self.build_env.observer)?;
            self.build_env.compiler(source_of(version, &checkout))
        };
        compiler().unwrap_or_default()
    }

    /// The benchmarks of one version that the other lacks, and the reasons.
    pub fn absent(&self, [one, other]: [&ListedVersion; 2]) -> Result<Vec<(Benchmark, Absence)>> {
        let mut ignored = BTreeMap::new();
        benchmarks_only_in(one, other)
            .into_iter()
            .map(|benchmark| {
                let absence = other.absence(&benchmark, &mut ignored, &self.conditions)?;
                Ok((benchmark, absence))
            })
            .collect()
    }

    /// Those of a version's benchmarks whose id changes each time their target is listed.
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

    pub fn functions(&self, version: &ListedVersion) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        let _phase = info_span!("machine code", version = %version.version).entered();
        self.build_env.functions(&version.compilation)
    }
}

#[derive(Clone, Debug)]
pub(super) struct VersionFiles {
    /// Each directory, without symbolic links, with its name below the build path.
    places: [(PathBuf, &'static str); 2],
    build_path: PathBuf,
}

impl ListedVersion {
    pub(super) fn files(&self, build_path: PathBuf) -> VersionFiles {
        let source = (files::real(self.source().checkout), "src");
        VersionFiles { places: [source, (files::real(&self.compilation.home), "")], build_path }
    }
}

impl VersionFiles {
    /// A file by its path below the build path, and its state. Returned both for the requested path
    /// and for the `real` path that it resolves to, because a symbolic link may lead elsewhere in another
    /// version. Empty if it is no file of the version.
    pub(super) fn find(
        &self,
        path: &Path,
        real: PathBuf,
        is_opened: bool,
    ) -> Vec<(PathBuf, FileState)> {
        let mut paths = vec![real];
        if let Ok(below) = path.strip_prefix(&self.build_path) {
            paths.push(self.place(below));
        } else if path != paths[0] {
            paths.push(path.to_owned());
        }
        let found = paths.iter().filter_map(|path| {
            let below = self.places.iter().find_map(|(place, name)| {
                Some(Path::new(name).join(path.strip_prefix(place).ok()?))
            });
            Some((below?, state(path, is_opened)))
        });
        found.collect()
    }

    /// The paths whose states differ between the versions, or are not known to be equal, among the
    /// files read in either. A file that was read in one version only is looked up in the other.
    pub(super) fn that_differ(
        versions: [&Self; 2],
        [base, head]: [&BTreeMap<PathBuf, FileState>; 2],
    ) -> BTreeSet<PathBuf> {
        let mut differ = BTreeSet::new();
        for (path, found) in base.iter().chain(head) {
            let is_opened = found.has_contents();
            let states = [(base, versions[0]), (head, versions[1])].map(|(own, version)| {
                own.get(path).copied().unwrap_or_else(|| version.state(path, is_opened))
            });
            if states[0] != states[1] || states.contains(&FileState::Other) {
                differ.insert(path.clone());
            }
        }
        differ
    }

    /// The present states of the same paths, each examined in the same way as before.
    pub(super) fn states(&self, of: &BTreeMap<PathBuf, FileState>) -> BTreeMap<PathBuf, FileState> {
        let now = |(path, state): (&PathBuf, &FileState)| {
            (path.clone(), self.state(path, state.has_contents()))
        };
        of.iter().map(now).collect()
    }

    /// The state of a path below the build path.
    fn state(&self, path: &Path, is_opened: bool) -> FileState {
        state(&self.place(path), is_opened)
    }

    /// Resolves a path below the build path.
    fn place(&self, path: &Path) -> PathBuf {
        let [(source, name), (home, _)] = &self.places;
        match path.strip_prefix(name) {
            Ok(below) => source.join(below),
            Err(_) => home.join(path),
        }
    }
}

fn state(path: &Path, is_opened: bool) -> FileState {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return FileState::Absent;
        }
        Err(_) => return FileState::Other,
    };
    if found.is_dir() {
        return FileState::Directory(is_opened.then(|| names(path)).flatten());
    }
    if !found.is_file() {
        return FileState::Other;
    }
    files::digest_of_file(path, &found).map_or(FileState::Other, FileState::File)
}

fn names(directory: &Path) -> Option<Digest> {
    let mut names: Vec<Vec<u8>> = fs::read_dir(directory)
        .ok()?
        .map(|entry| Some(entry.ok()?.file_name().into_encoded_bytes()))
        .collect::<Option<_>>()?;
    names.sort();
    Some(Digest::compute(&names.join(&0)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A version with two files, and a link to one of them.
    fn version(place: &Path, leads_to: &str) -> VersionFiles {
        let (source, home) = (place.join("checkout"), place.join("home"));
        fs::create_dir_all(&source).unwrap();
        fs::create_dir_all(&home).unwrap();
        for name in ["small", "large"] {
            fs::write(source.join(name), name).unwrap();
        }
        symlink(leads_to, source.join("current")).unwrap();
        symlink(&source, home.join("src")).unwrap();
        let build_path = place.join("at");
        symlink(&home, &build_path).unwrap();
        VersionFiles { places: [(source, "src"), (home, "")], build_path }
    }

    #[test]
    fn symbolic_link_with_another_target_differs() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let versions = ["small", "large"].map(|to| version(&place.join(to), to));
        for name in ["checkout/current", "at/src/current"] {
            let read = ["small", "large"].map(|to| place.join(to).join(name));
            let [base, head] = [0, 1].map(|index| {
                let real = files::real(&read[index]);
                BTreeMap::from_iter(versions[index].find(&read[index], real, true))
            });
            assert_eq!(base.len(), 2, "{base:?}");
            assert_eq!(base, versions[0].states(&base));
            let differ = VersionFiles::that_differ([&versions[0], &versions[1]], [&base, &head]);
            assert_eq!(differ, BTreeSet::from(["src/current".into()]), "{name}");
        }
    }

    #[test]
    fn file_that_becomes_executable_differs() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let file = version(&place, "small").places[0].0.join("small");
        let before = state(&file, false);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(state(&file, false), before);
    }

    #[test]
    fn files_elsewhere_are_not_of_the_version() {
        let place = tempfile::tempdir().unwrap();
        let version = version(&place.path().canonicalize().unwrap(), "small");
        let found = |path: &Path, is_opened| version.find(path, files::real(path), is_opened);
        assert_eq!(found(Path::new("/etc/passwd"), true), []);
        let missing = found(&version.places[0].0.join("missing"), false);
        assert_eq!(missing, [("src/missing".into(), FileState::Absent)]);
    }
}
