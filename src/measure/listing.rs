//! Lists the benchmarks of a compiled version: detects the harness of each bench target and asks
//! it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cargo_metadata::{Package, camino::Utf8Path};

use super::missing_files::explain_files;
use crate::{
    builds::{Compilation, CompiledTarget, Uncompiled, Workspace, files},
    config::CommandTable,
    error::{Error, Exit, Result},
    harness::{self, Conditions, Executable, Filter, Harness, Renamed},
    model::{
        BenchTarget, Benchmark, CommandLineReader, CompileSettings, FailedTarget, HarnessKind,
        Name, TargetFilter, Version, secret::shown_cargo_args,
    },
    process::launcher_beside,
    project::Project,
    shell::{option, quoted},
};

/// A bench target that is ready to run, with its benchmarks.
pub struct ListedTarget {
    pub executable: Executable,
    pub harness: Box<dyn Harness>,
    pub benchmarks: Vec<Benchmark>,
    /// The functions by which only the harness reads its command line, each with its package.
    pub command_line: Vec<(CommandLineReader, String)>,
    /// The time that it took to list the benchmarks: what an execution takes at least before it measures.
    pub start: Duration,
}

impl ListedTarget {
    /// True if one process can execute several of its benchmarks to see what they execute and read.
    pub fn can_observe_together(&self) -> bool {
        !self.harness.kind().is_program()
    }
}

/// The benchmarks of a version that a filter selects.
pub struct Listing {
    /// Bench targets, with at least one benchmark each.
    pub targets: Vec<ListedTarget>,
    /// Bench targets that could not be listed, with their errors.
    pub failures: Vec<FailedTarget>,
    /// Bench targets that rbench cannot run, with the reasons. The user did not ask for them, so that they are no
    /// failures.
    pub unsupported: Vec<FailedTarget>,
    /// Bench targets that list no benchmark, with their harnesses.
    pub empty: Vec<(BenchTarget, HarnessKind)>,
}

/// A compiled version whose executables run as cargo made them.
#[derive(Clone, Copy)]
pub struct CompiledVersion<'a> {
    pub version: &'a Version,
    pub compilation: &'a Compilation,
    /// The packages that cargo knows.
    pub workspace: &'a Workspace,
    /// The variables that cargo's configuration sets.
    pub configured: &'a [(OsString, OsString)],
    pub settings: &'a CompileSettings,
    pub project: &'a Project,
}

impl ListedTarget {
    /// Lists once more, and returns the benchmarks that are missing then. An id that contains the
    /// time or a random number is a different one in every version, and cannot be compared with
    /// any.
    pub fn with_changing_ids(&self, conditions: &Conditions<'_>) -> Result<Vec<&Benchmark>> {
        let again = self.harness.list(&self.executable, conditions)?;
        let is_gone = |benchmark: &&Benchmark| again.iter().all(|n| n.id != benchmark.name.id);
        Ok(self.benchmarks.iter().filter(is_gone).collect())
    }
}

impl CompiledVersion<'_> {
    /// Lists all benchmarks. A target that cannot be listed is recorded in the listing. Calls `listed` with the numbers of
    /// listed and of all targets before the first and after each.
    pub fn list(
        &self,
        filter: &TargetFilter,
        conditions: &Conditions<'_>,
        listed: &dyn Fn(usize, usize),
    ) -> Result<Listing> {
        let mut listing = Listing {
            targets: Vec::new(),
            failures: Vec::new(),
            unsupported: unstable_targets(self.workspace, filter),
            empty: Vec::new(),
        };
        let all = &self.compilation.record.targets;
        for (done, compiled) in all.iter().enumerate() {
            listed(done, all.len());
            match self.list_target(compiled, conditions) {
                Ok((targets, rest)) => {
                    let target = compiled.target.clone();
                    listing.failures.extend(rest.map(|error| FailedTarget { target, error }));
                    let empty = targets.iter().filter(|listed| listed.benchmarks.is_empty());
                    let empty = empty.map(|one| (compiled.target.clone(), one.harness.kind()));
                    listing.empty.extend(empty);
                    listing.targets.extend(targets);
                }
                Err(error) if matches!(error.exit(), Exit::Interrupted | Exit::Internal) => {
                    return Err(error);
                }
                Err(error) => {
                    let target = compiled.target.clone();
                    let is_configured = self.project.file.harness_of(&target).is_some();
                    let is_meant = is_configured || filter.benches.contains(&target.target);
                    let is_unsupported = error.exit() == Exit::Usage && !is_meant;
                    let failed = FailedTarget { target, error };
                    if is_unsupported {
                        listing.unsupported.push(failed);
                    } else {
                        listing.failures.push(failed);
                    }
                }
            }
        }
        listed(all.len(), all.len());
        Ok(listing)
    }

    /// Lists a bench target: once, or once for each of its commands in `bench.toml`. If it fails after
    /// some benchmarks, these are returned with its error.
    fn list_target(
        &self,
        compiled: &CompiledTarget,
        conditions: &Conditions<'_>,
    ) -> Result<(Vec<ListedTarget>, Option<Error>)> {
        let executable = self.executable(compiled)?;
        let mut failure = None;
        let list = |harness: Box<dyn Harness>| {
            let explained = |error: Error| {
                let Some(checkout) = self.checkout().filter(|_| error.exit() == Exit::Benchmark)
                else {
                    return error;
                };
                let list =
                    |conditions: &Conditions<'_>| drop(harness.list(&executable, conditions));
                let version = (&self.project.repository, checkout.as_path());
                explain_files(error, version, &executable, conditions, list)
            };
            let begin = Instant::now();
            let (names, rest) = harness.list_partly(&executable, conditions).map_err(explained)?;
            let start = begin.elapsed();
            if let Some(error) = rest {
                let before = names.len();
                let error = error
                    .cause(format!("benchmarks that it lists before it fails are used: {before}"));
                failure = Some(explained(error));
            }
            let mut harness = harness;
            let mut names = names;
            if !harness.kind().is_program()
                && let Some(shown) = self.without_own_paths(&names)
            {
                let pairs = shown.iter().cloned().zip(names).collect();
                harness = Box::new(Renamed::new(harness, pairs));
                names = shown;
            }
            let names = names.into_iter();
            let benchmark = |name| Benchmark {
                package: executable.package.clone(),
                target: executable.target.clone(),
                name,
            };
            let benchmarks = names.map(benchmark).collect();
            let command_line = match self.checkout() {
                Some(checkout) if !harness.kind().is_program() => self
                    .facts(compiled, |facts| {
                        Ok(facts.command_line_readers(harness.kind(), &checkout))
                    })?,
                _ => Vec::new(),
            };
            let executable = executable.clone();
            Ok(ListedTarget { executable, harness, benchmarks, command_line, start })
        };
        let harnesses = self.harnesses(compiled, &executable.directory)?.into_iter();
        let listed = harnesses.map(list).collect::<Result<_>>()?;
        Ok((listed, failure))
    }

    /// The root of the version's checkout.
    fn checkout(&self) -> Option<PathBuf> {
        let root = files::real(self.workspace.metadata().workspace_root.as_std_path());
        root.ancestors().nth(self.depth()).map(Path::to_owned)
    }

    /// The number of directories between the root of a checkout and the workspace.
    fn depth(&self) -> usize {
        let Project { repository, workspace, .. } = self.project;
        workspace.strip_prefix(repository.root()).map_or(0, |below| below.components().count())
    }

    /// The names of benchmarks with paths relative to the checkout, if any of them contains an absolute one: that of
    /// each version is another, and that of each user. `None` if none does, or if names would become equal.
    fn without_own_paths(&self, names: &[Name]) -> Option<Vec<Name>> {
        let at = self.workspace.metadata().workspace_root.as_std_path();
        let roots = [self.checkout(), at.ancestors().nth(self.depth()).map(Path::to_owned)];
        let roots: Vec<String> =
            roots.iter().flatten().filter_map(|root| root.to_str().map(str::to_owned)).collect();
        let relative: Vec<Name> = names.iter().map(|name| name.relative_to(&roots)).collect();
        let (mut before, mut after) = (names.to_vec(), relative.clone());
        for names in [&mut before, &mut after] {
            names.sort();
            names.dedup();
        }
        (before != after && before.len() == after.len()).then_some(relative)
    }

    /// The harness of a bench target, or the commands that `bench.toml` runs in `directory` for it.
    fn harnesses(
        &self,
        compiled: &CompiledTarget,
        directory: &Path,
    ) -> Result<Vec<Box<dyn Harness>>> {
        let commands: Vec<&CommandTable> =
            self.project.file.commands_of(&compiled.target).collect();
        if commands.is_empty() {
            return Ok(vec![
                self.harness(compiled, self.project.file.harness_of(&compiled.target))?,
            ]);
        }
        let launcher = std::env::current_exe().ok().and_then(|rbench| launcher_beside(&rbench));
        let command = |table: &CommandTable| -> Box<dyn Harness> {
            let command = harness::Command {
                id: table.id.clone(),
                program: table.program.as_ref().map(|program| directory.join(program)),
                arguments: table.arguments.iter().map(OsString::from).collect(),
                input: table.stdin.clone(),
                statuses: table.statuses.clone(),
                // Its peak memory is no part of what a clock shows.
                launcher: launcher.clone().filter(|_| table.clock.is_none()),
            };
            match table.clock {
                Some(readings) => Box::new(harness::Custom { command, readings }),
                None => Box::new(command),
            }
        };
        Ok(commands.into_iter().map(command).collect())
    }

    /// Detects the harness of a target from its manifest and its resolved dependencies.
    fn harness(
        &self,
        compiled: &CompiledTarget,
        configured: Option<HarnessKind>,
    ) -> Result<Box<dyn Harness>> {
        self.facts(compiled, |facts| harness::detect(facts, configured))
    }

    fn facts<T>(
        &self,
        CompiledTarget { target, package_id, .. }: &CompiledTarget,
        using: impl FnOnce(&harness::TargetFacts<'_>) -> Result<T>,
    ) -> Result<T> {
        facts(self.workspace, target, package_id, using)
    }

    fn executable(&self, compiled: &CompiledTarget) -> Result<Executable> {
        let (package, _) =
            self.workspace.package_and_target(&compiled.target, &compiled.package_id)?;
        let is_namesake = |other: &CompiledTarget| {
            other.target != compiled.target && other.target.target == compiled.target.target
        };
        let needs_package = !self.workspace.selects(&self.project.members, package)
            || self.compilation.record.targets.iter().any(is_namesake);
        let directory = if self.project.file.runs_typed_commands() {
            self.workspace.metadata().workspace_root.clone().into()
        } else {
            compiled.package_root.clone()
        };
        let commands = self.project.file.commands_of(&compiled.target);
        let commands: Vec<_> =
            commands.filter(|_| self.project.file.runs_typed_commands()).collect();
        Ok(Executable {
            package: compiled.target.package.clone(),
            target: compiled.target.target.clone(),
            path: compiled.executable.clone(),
            directory,
            variables: self.variables(compiled, package),
            selection: Some(selection(
                self.version,
                (&compiled.target, needs_package),
                &commands,
                (
                    &self.settings.with_features(self.workspace.added_features()),
                    self.project.manifest.as_deref(),
                ),
            )),
        })
    }

    /// The environment variables that cargo sets for a process of a bench target. As with cargo,
    /// values from the package take precedence over those of its build script, and the
    /// configuration overrides neither.
    fn variables(&self, compiled: &CompiledTarget, package: &Package) -> Vec<(OsString, OsString)> {
        let record = &self.compilation.record;
        let scripts = record.script_variables(compiled);
        let mut variables: BTreeMap<OsString, OsString> =
            scripts.map(|(name, value)| (name.into(), value.into())).collect();
        variables.extend(harness::package_variables(package));
        let is_path = |(name, _): &&(OsString, OsString)| name == "LD_LIBRARY_PATH";
        let configured = self.configured.iter().find(is_path).map(|(_, value)| value.clone());
        let inherited = configured.or_else(|| std::env::var_os("LD_LIBRARY_PATH"));
        let libraries = record.library_directories(compiled);
        variables.extend([harness::library_path(&libraries, inherited.as_deref())]);
        for (name, value) in self.configured {
            variables.entry(name.clone()).or_insert_with(|| value.clone());
        }
        variables.into_iter().collect()
    }
}

fn facts<T>(
    workspace: &Workspace,
    target: &BenchTarget,
    package_id: &str,
    using: impl FnOnce(&harness::TargetFacts<'_>) -> Result<T>,
) -> Result<T> {
    let (package, target) = workspace.package_and_target(target, package_id)?;
    let text = |path: &Utf8Path| fs::read_to_string(path).unwrap_or_default();
    using(&harness::TargetFacts {
        metadata: workspace.metadata(),
        package,
        target,
        manifest: &text(&package.manifest_path),
        source: &text(&target.src_path),
    })
}

/// The bench targets that were not compiled, because the compiler does not accept them.
fn unstable_targets(workspace: &Workspace, filter: &TargetFilter) -> Vec<FailedTarget> {
    let failed = |target: BenchTarget| {
        let error = Error::new(Exit::Usage, format!("cannot compile bench target {target}"))
            .cause("its #![feature(…)], or that of a package, needs a nightly toolchain: cargo +nightly rbench");
        FailedTarget { target, error }
    };
    workspace.unstable_targets(filter).into_iter().map(failed).collect()
}

/// The error of a version if rbench can run none of its bench targets, and the user names none of them.
pub(super) fn unsupported(
    project: &Project,
    Uncompiled { workspace, targets }: &Uncompiled,
    filter: &TargetFilter,
) -> Option<Error> {
    let file = &project.file;
    let mut unsupported = unstable_targets(workspace, filter);
    for (target, package_id) in targets {
        let is_meant = filter.benches.contains(&target.target)
            || file.harness_of(target).is_some()
            || file.commands_of(target).next().is_some();
        let detected = facts(workspace, target, package_id, |facts| harness::detect(facts, None));
        match detected.err().filter(|error| error.exit() == Exit::Usage && !is_meant) {
            Some(error) => unsupported.push(FailedTarget { target: target.clone(), error }),
            None => return None,
        }
    }
    nothing_supported(&unsupported)
}

/// The words that select a bench target of a version, or a program given by `commands`, after
/// `cargo rbench exec`. The package is included only where it is needed, and options only where they
/// differ from cargo's defaults.
fn selection(
    version: &Version,
    (target, needs_package): (&BenchTarget, bool),
    commands: &[&CommandTable],
    (settings, manifest): (&CompileSettings, Option<&Path>),
) -> String {
    let mut words = vec![version.current_revision_arg()];
    if needs_package {
        words.extend(["-p".to_owned(), target.package.clone()]);
    }
    if commands.is_empty() {
        words.extend(["--bench".to_owned(), target.target.clone()]);
    }
    for command in commands {
        let program = std::iter::once(&command.bench).chain(&command.arguments);
        let program = program.map(quoted).collect::<Vec<_>>().join(" ");
        words.extend(["--command".to_owned(), program]);
    }
    // All programs have the same.
    if let Some(command) = commands.first() {
        let input = command.stdin.iter().map(|input| input.display().to_string());
        words.extend(input.flat_map(|input| ["--stdin".to_owned(), input]));
        let statuses = command.statuses.iter().map(ToString::to_string);
        words.extend(statuses.flat_map(|status| ["--statuses".to_owned(), status]));
    }
    if settings.profile != CompileSettings::default().profile {
        words.extend(["--profile".to_owned(), settings.profile.clone()]);
    }
    if !settings.features.is_empty() {
        words.extend(["--features".to_owned(), settings.features.join(",")]);
    }
    let switches = [
        ("--all-features", settings.all_features),
        ("--no-default-features", settings.no_default_features),
    ];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()));
    let cargo_args = shown_cargo_args(&settings.cargo_args);
    words.extend(cargo_args.iter().map(|word| format!("--cargo-arg={word}")));
    let words = words.iter().map(quoted);
    let manifest = manifest.map(|path| option("manifest-path", Some(&path.to_string_lossy())));
    words.chain(manifest).collect::<Vec<_>>().join(" ")
}

impl Listing {
    /// Keeps only the benchmarks that the filter selects; fails if it selects none.
    pub fn choose(&mut self, filter: &Filter) -> Result<()> {
        let all: Vec<Benchmark> =
            self.targets.iter().flat_map(|target| target.benchmarks.clone()).collect();
        let unsupported = if all.is_empty() { nothing_supported(&self.unsupported) } else { None };
        // Where targets failed, the missing benchmarks may be theirs: their errors explain it.
        let is_explained = !self.failures.is_empty();
        let nothing = unsupported.or_else(|| filter.choose(all).err()).filter(|_| !is_explained);
        for target in &mut self.targets {
            let is_meant = |one: &Benchmark| filter.matches(one) && filter.has_in_part(one);
            target.benchmarks.retain(is_meant);
        }
        self.targets.retain(|target| !target.benchmarks.is_empty());
        nothing.map_or(Ok(()), Err)
    }

    pub const fn has_all_targets(&self) -> bool {
        self.failures.is_empty() && self.unsupported.is_empty()
    }

    /// The reason why the benchmarks of a target are not known, if they are not.
    pub fn failure(&self, target: &BenchTarget) -> Option<&Error> {
        let mut all = self.failures.iter().chain(&self.unsupported);
        all.find(|failed| failed.target == *target).map(|failed| &failed.error)
    }
}

/// The error of a command that needs benchmarks, if rbench cannot run the bench targets.
fn nothing_supported(unsupported: &[FailedTarget]) -> Option<Error> {
    let error = match unsupported {
        [] => return None,
        [FailedTarget { error, .. }] => return Some(error.clone()),
        several => several.iter().fold(
            Error::new(Exit::Usage, "rbench cannot run the bench targets"),
            |error, FailedTarget { target, error: why }| {
                error.cause(format!("{target}: {}", why.reason()))
            },
        ),
    };
    // Those about programs end with the lines for their target. What another toolchain can compile has none.
    let (mut tables, mut others) = (Vec::new(), BTreeSet::new());
    for hint in unsupported.iter().flat_map(|one| one.error.hints()) {
        match hint.find("[[command]]") {
            Some(at) => tables.push(&hint[at..]),
            None => drop(others.insert(hint)),
        }
    }
    let programs = (!tables.is_empty())
        .then(|| format!("measure them as programs, in bench.toml:\n{}", tables.join("\n\n")));
    let hints = others.into_iter().cloned().chain(programs);
    Some(hints.fold(error, Error::hint))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::{
        model::{ExecutionRequest, Name, Outcome},
        process::Interrupt,
    };

    /// Lists one id that stays, and one that counts the lists.
    #[derive(Debug, Default)]
    struct Counting(AtomicU32);

    impl Harness for Counting {
        fn kind(&self) -> HarnessKind {
            HarnessKind::Native
        }

        fn list(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
            let count = self.0.fetch_add(1, Ordering::SeqCst);
            Ok(vec![Name::plain("stays"), Name::plain(format!("at {count}"))])
        }

        fn execute(
            &self,
            _: &Executable,
            _: &Name,
            _: &ExecutionRequest,
            _: &Conditions<'_>,
        ) -> Result<Outcome> {
            Ok(Outcome::Skipped("it only lists".to_owned()))
        }
    }

    #[test]
    fn changing_id_is_found() {
        let interrupt = Interrupt::new().unwrap();
        let conditions = Conditions::new(&interrupt);
        let executable = Executable::default();
        let harness = Counting::default();
        let benchmark = |name| Benchmark { package: "p".into(), target: "t".into(), name };
        let names = harness.list(&executable, &conditions).unwrap();
        let benchmarks = names.into_iter().map(benchmark).collect();
        let listed = ListedTarget {
            executable,
            harness: Box::new(harness),
            benchmarks,
            command_line: Vec::new(),
            start: Duration::ZERO,
        };
        let changing = listed.with_changing_ids(&conditions).unwrap();
        let ids: Vec<_> = changing.iter().map(|benchmark| benchmark.name.id.as_str()).collect();
        assert_eq!(ids, ["at 0"]);
    }

    #[test]
    fn selection_is_as_short_as_possible() {
        let version = |dirty| Version {
            revision: "HEAD~1".to_owned(),
            commit: Some("1a2b3c4d5e".to_owned()),
            tree: "feedbeef".to_owned(),
            dirty,
            summary: String::new(),
            time: None,
            variant: None,
        };
        let target = BenchTarget { package: "json".into(), target: "a b".into() };
        let plain = CompileSettings::default();
        let words = selection(&version(false), (&target, false), &[], (&plain, None));
        assert_eq!(words, "1a2b3c4 --bench 'a b'");
        let table =
            "id = 'x'\nbench = 'tool'\narguments = ['--quick']\nstdin = 'a b'\nstatuses = [1, 2]";
        let command: CommandTable = toml::from_str(table).unwrap();
        let words = selection(&version(false), (&target, false), &[&command], (&plain, None));
        let expected = "1a2b3c4 --command 'tool --quick' --stdin 'a b' --statuses 1 --statuses 2";
        assert_eq!(words, expected);
        let settings = CompileSettings {
            profile: "fast".to_owned(),
            features: ["x", "y"].map(str::to_owned).to_vec(),
            no_default_features: true,
            cargo_args: ["-Zx", "--config=env.A='s3cret'"].map(str::to_owned).to_vec(),
            ..plain
        };
        let manifest = Some(Path::new("b/Cargo.toml"));
        let words = selection(&version(true), (&target, true), &[], (&settings, manifest));
        let expected = ". -p json --bench 'a b' --profile fast --features x,y \
                        --no-default-features --cargo-arg=-Zx --cargo-arg=--config=env.A=VALUE \
                        --manifest-path b/Cargo.toml";
        assert_eq!(words, expected);
    }
}
