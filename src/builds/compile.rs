//! Finds the compilation of a checkout in the cache, or makes it with cargo.
//!
//! Dependencies compiled for another version are reused: a new compilation starts with a copy of the newest target dir
//! of its family (same toolchain, settings, flags and path), without the artifacts of path packages. This leaves
//! dependencies that cargo identifies by version and checksum or commit. Path packages of another version are compiled
//! from scratch: cargo would decide by modification times, and a file that git wrote before the reused compilation was
//! made would look unchanged. What the same files were compiled to, for other bench targets or until an interruption,
//! is reused whole.
//!
//! The files that a compilation writes into its checkout are recorded: benchmarks may read them when they run, but the
//! checkout is restored without them before something else is compiled there.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use cargo_metadata::camino::Utf8Path;
use rbench_code::elf::Digest;
use tracing::{debug, info};

use super::{
    build_env::{BuildEnv, Event, Source},
    cargo::{self, CargoContext, Chosen, Discovered},
    clean,
    compilation::{
        BuildScript, Compilation, CompilationRecord, CompiledTarget, DISCARDED, Instance, RECORD,
    },
    conditions::{Conditions, Places, Script, Tools},
    discovery::{self, Workspace},
    environment::Environment,
    files,
    inputs::{self, InputFile},
    key::KeyMaker,
    lock_file::{self, LockFile},
    optimization,
    read_files::ReadFiles,
    recipe::Recipe,
    run_cargo::{self, Messages},
    supervisor, tool,
    version_builds::Compiled,
    wrapper,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{BenchTarget, CompileSettings, Members, TargetFilter, relative_to},
    process::{
        Permission, explained_by_refused, may_be_refused,
        sandbox::{self, Task},
    },
    secrets, shell,
};

/// The words of cargo about a build script that failed: before its output, and in it.
const OF_BUILD_SCRIPT: [&str; 2] = ["failed to run custom build command", "--- stderr"];

impl BuildEnv<'_> {
    /// Compiles the bench targets of a version, or finds them in the cache. The compilation is then the active one. A
    /// version in which the filter selects none is an error.
    ///
    /// The result is for [`link`](Self::link) and [`functions`](Self::functions).
    pub fn compile(&self, source: Source<'_>, filter: &TargetFilter) -> Result<Compilation> {
        let compilation = self.compile_any(source, filter)?;
        if compilation.record.targets.is_empty() {
            let workspace = self.workspace(source, &compilation, filter)?;
            return Err(workspace.nothing_to_build(filter, &source.version.to_string()));
        }
        Ok(compilation)
    }

    /// The same; of a version in which the filter selects none, nothing is compiled.
    pub fn compile_any(&self, source: Source<'_>, filter: &TargetFilter) -> Result<Compilation> {
        self.compile_instance(source, filter, Instance::First, "")
    }

    /// Compiles two versions that are compared with each other, under the same conditions.
    pub fn compile_both(
        &self,
        sources: [Source<'_>; 2],
        filter: &TargetFilter,
    ) -> Result<[Compilation; 2]> {
        let compile = || Ok([self.compile(sources[0], filter)?, self.compile(sources[1], filter)?]);
        let compiled = compile()?;
        let is_stale = self.discard_older(&[0, 1].map(|at| (sources[at], &compiled[at])))?;
        if is_stale { compile() } else { Ok(compiled) }
    }

    /// The selected bench targets of a version, if each takes long to compile and they are not compiled yet.
    pub fn slow_targets(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
    ) -> Result<Option<SlowTargets>> {
        let can_be_several = filter.programs.is_empty() && filter.benches.len() != 1;
        let Some(lto) = self.whole_program_optimization(source).filter(|_| can_be_several) else {
            return Ok(None);
        };
        self.before_compiling(source, filter, |Uncompiled { targets, .. }| SlowTargets {
            lto,
            targets: targets.into_iter().map(|(target, _)| target).collect(),
        })
    }

    pub fn has_compiled_nothing(&self) -> bool {
        homes(&self.cache_dirs.compilations(), "").next().is_none()
    }

    /// Calls `using` with what cargo says about a version before it is compiled, whose files are below the build path
    /// meanwhile; `None` if it is compiled.
    pub fn before_compiling<T>(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        using: impl FnOnce(Uncompiled) -> T,
    ) -> Result<Option<T>> {
        if self.packed.is_some() {
            return Ok(None);
        }
        let wanted = self.wanted(source, filter, Instance::First)?;
        let home = self.cache_dirs.compilation(&wanted.key);
        if Compilation::made_at(&home).is_some() {
            return Ok(None);
        }
        // Only to ask cargo: the compilations have directories of their own.
        let home = home.with_extension("asked");
        self.begin(&home, source, None)?;
        self.fetch(source, &wanted.context);
        let workspace = self.discover(source, filter, &wanted)?;
        let chosen = workspace.bench_targets(filter, &source.version.to_string())?;
        let targets = chosen.targets.into_iter().map(|found| (found.target, found.package_id));
        let used = using(Uncompiled { targets: targets.collect(), workspace });
        files::remove_directory(&home)?;
        Ok(Some(used))
    }

    /// Cargo's data about a version whose directory of compilation is the active one.
    fn discover(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        WantedTarget { context, compiler, same_files, .. }: &WantedTarget,
    ) -> Result<Workspace> {
        let settings = self.settings_of(source.version);
        let version = source.version.to_string();
        let metadata = |settings: &CompileSettings| {
            let key = format!("{same_files} {:?}", settings.features);
            self.metadata.get(key, || discovery::metadata(context, settings, &version))
        };
        Workspace::discover(context, settings, filter, compiler, &metadata)
    }

    /// The value of `lto` in the profile, if each bench target is optimized together with its dependencies.
    fn whole_program_optimization(&self, source: Source<'_>) -> Option<&'static str> {
        if self.packed.is_some() {
            return None;
        }
        let profile = &self.settings_of(source.version).profile;
        let environment = self.users_environment(source);
        optimization::of_workspace(&source.checkout.join(&self.workspace), profile, &environment)
    }

    /// The compiler of a version, as the complete output of `rustc -vV`.
    pub fn compiler(&self, source: Source<'_>) -> Result<String> {
        if let Some(packed) = &self.packed {
            return Ok(self.packed_compilation(packed, source, Instance::First)?.record.rustc);
        }
        tool::compiler(&self.cargo_context(source, None)?)
    }

    /// Cargo's data about the packages of a version; `compilation` must be the active one.
    pub fn workspace(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        filter: &TargetFilter,
    ) -> Result<Workspace> {
        if let Some(kept) = Workspace::kept(&compilation.home) {
            return Ok(kept);
        }
        let wanted = self.wanted(source, filter, Instance::First)?;
        self.activate(&compilation.home)?;
        self.discover(source, filter, &wanted)
    }

    /// Makes the build path lead to the compilation in this directory. Only the last activated compilation can be
    /// linked or executed.
    pub fn activate(&self, home: &Path) -> Result<()> {
        files::point(&self.cache_dirs.build_path(), home)
    }

    /// `purpose` is the reason for a further compilation; empty for the first.
    pub(super) fn compile_instance(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        instance: Instance,
        purpose: &str,
    ) -> Result<Compilation> {
        if let Some(packed) = &self.packed {
            return self.packed_compilation(packed, source, instance);
        }
        let mut wanted = self.wanted(source, filter, instance)?;
        clean::mark_used(source.checkout);
        if let Some(found) = self.compiled_before(source, &wanted, instance)? {
            return Ok(found);
        }
        if self.restore(source)? {
            wanted = self.wanted(source, filter, instance)?;
        }
        if instance == Instance::First
            && let Some(same) = self.compiled_as_another(source, &wanted)?
        {
            return Ok(same);
        }
        self.compile_wanted(source, filter, purpose, wanted)
    }

    /// Collects everything that a compilation depends on, and computes its key.
    pub(super) fn wanted(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        instance: Instance,
    ) -> Result<WantedTarget> {
        let context = self.cargo_context(source, instance.salt())?;
        let compiler = tool::compiler(&context)?;
        debug!("compiler: {compiler}");
        let lock = self.provide_lock(source, &context)?;
        let family = self.family(source, &compiler);
        // Compilations to reuse are found by their names, which begin with what must be equal.
        let same_files = format!("{family}-{}", files_key(source, &lock, instance));
        let filter = KeyMaker::new("filter").add("filter", format!("{filter:?}").as_bytes()).key();
        let key = format!("{same_files}-{filter}");
        Ok(WantedTarget { context, compiler, lock: lock.path, family, same_files, filter, key })
    }

    fn compiled_before(
        &self,
        source: Source<'_>,
        wanted: &WantedTarget,
        instance: Instance,
    ) -> Result<Option<Compilation>> {
        let Some(found) = Compilation::open(&self.cache_dirs.compilation(&wanted.key)) else {
            return Ok(None);
        };
        // The checkout may have been restored for another compilation.
        if !has_generated(&found.home, source.checkout) {
            return Ok(None);
        }
        let environment = self.users_environment(source);
        if let Some(difference) = found.record.conditions.difference(&environment) {
            self.note(&format!("{} is compiled again: {difference}", source.version));
            return Ok(None);
        }
        self.activate(&found.home)?;
        clean::mark_used(&found.home);
        if instance == Instance::First {
            let version = &source.version.to_string();
            self.observer.build_event(&Event::Compiled { version, purpose: "", took: None });
        }
        Ok(Some(found))
    }

    /// The compilation of another version that read no file in which this one differs, as that of this version.
    fn compiled_as_another(
        &self,
        source: Source<'_>,
        wanted: &WantedTarget,
    ) -> Result<Option<Compilation>> {
        let environment = self.users_environment(source);
        let compilations = self.cache_dirs.compilations();
        let Some(other) = newest_of(&compilations, &wanted.family, &environment)
            .and_then(|home| Compilation::open(&home))
        else {
            return Ok(None);
        };
        let Compilation { home: from, record, .. } = &other;
        let has_same_filter = from.extension().is_none() && wanted.filter == filter_of(from);
        let is_same = || {
            let lock = reproducibility_key(&wanted.family, &wanted.lock, &record.conditions);
            lock == record.reproducibility
                && record.conditions.difference(&environment).is_none()
                && files::read_json(&from.join(READ))
                    .is_some_and(|read: ReadFiles| read.are_in(source.checkout))
        };
        if !has_same_filter || !source.absent_submodules.is_empty() || !is_same() {
            return Ok(None);
        }
        let home = self.cache_dirs.compilation(&wanted.key);
        files::remove_directory(&home)?;
        self.begin(&home, source, None)?;
        let what = || format!("cannot copy {} to {}", from.display(), home.display());
        copy_compilation(from, &home).context(Exit::Build, what)?;
        let record = record.clone().moved([from, &home], source.version.short());
        self.note(&format!(
            "{} is not compiled: it differs from {} in no file that compiling reads",
            source.version, other.record.version
        ));
        Compilation::complete(&home, record).map(Some)
    }

    /// Makes sure that the files of the version are compiled: its benchmarks run in the checkout and may have written
    /// there. Returns true if that was necessary.
    pub(super) fn restore(&self, source: Source<'_>) -> Result<bool> {
        let Some(changed) = self.files.restore(source.version)? else { return Ok(false) };
        // Cargo updates lock files.
        let mut changed = changed.iter().filter(|path| !path.ends_with("Cargo.lock"));
        if let Some(first) = changed.next() {
            let more = match changed.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            self.warn(&format!(
                "a benchmark or build script has changed {first}{more} in the sources of {}: they are \
                 checked out again before they are compiled",
                source.version
            ));
        }
        Ok(true)
    }

    /// Makes the directory of a compilation, for which cargo is started next; `reused` is one that knows what rustc
    /// answered, if there is one.
    pub(super) fn begin(
        &self,
        home: &Path,
        source: Source<'_>,
        reused: Option<&Path>,
    ) -> Result<()> {
        // The sandbox opens what exists.
        for part in PARTS {
            files::create_directory(&home.join(part))?;
        }
        files::point(&home.join("src"), source.checkout)?;
        if let Some(reused) = reused {
            pass_answers(reused, home);
        }
        self.activate(home)
    }

    fn compile_wanted(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        purpose: &str,
        wanted: WantedTarget,
    ) -> Result<Compilation> {
        let version = source.version.to_string();
        let WantedTarget { context, family, same_files, key, .. } = &wanted;
        let sysroot = tool::sysroot(context)?;
        let home = self.cache_dirs.compilation(key);
        let interrupted = set_interrupted_aside(&home)?;
        files::remove_directory(&home)?;
        let environment = self.users_environment(source);
        let newest = |of: &str| newest_of(&self.cache_dirs.compilations(), of, &environment);
        let continued = newest(same_files).filter(|home| can_be_continued(home));
        let reused = continued.clone().or_else(|| newest(family));
        self.begin(&home, source, reused.as_deref())?;
        let tools = Tools::find(&environment);
        tools.keep(&home)?;
        self.refuse_other_platform(source, &wanted.compiler)?;
        self.fetch(source, context);
        let workspace = self.discover(source, filter, &wanted)?;
        let chosen = workspace.bench_targets(filter, &version)?;
        let names: Vec<&str> =
            chosen.targets.iter().map(|found| found.target.target.as_str()).collect();
        let what = match &names[..] {
            _ if filter.benches.is_empty() && filter.left_out.is_empty() => version.clone(),
            [bench] => format!("bench target {bench} of {version}"),
            benches => format!("bench targets {} of {version}", benches.join(", ")),
        };
        if !chosen.targets.is_empty() {
            if purpose.is_empty() {
                self.note_choices(source, filter, &workspace, &chosen);
            }
            self.observer.build_event(&Event::Compiling { version: &what, purpose });
        }
        let mut session = this_session();
        if let Some(continued) = continued {
            // Its build scripts do not run again.
            session = Compilation::record(&continued)
                .map_or_else(|| format!("interrupted {key}"), |record| record.session);
            seed_dependencies(&continued, &home, &BTreeSet::new())?;
            let what = || format!("cannot copy link recipes from {}", continued.display());
            let [from, to] = [&continued, &home].map(|home| home.join(RECIPES));
            copy_directory(&from, &to, &|_| true).context(Exit::Build, what)?;
        } else if let Some(reused) = &reused {
            let packages = workspace.path_packages(&self.cache_dirs.source_path());
            seed_dependencies(reused, &home, &packages)?;
        }
        files::remove_directory(&interrupted)?;
        let before = files_in(source.checkout);
        workspace.keep(&home)?;
        let log = self.cache_dirs.log(key);
        let WantedTarget { context, compiler, lock, family, .. } = wanted;
        let job = Job { source, context, sysroot, home, log };
        self.refuse_ignored(&job, &chosen)?;
        let start = Instant::now();
        // Without names of targets, cargo would compile all.
        let messages = match chosen.targets[..] {
            [] => Messages::default(),
            _ => self.run_cargo(&job, &chosen)?,
        };
        let took = start.elapsed();
        fs::copy(&lock, job.home.join(lock_file::NAME))
            .context(Exit::Build, || format!("cannot keep {}", lock.display()))?;
        self.note_read(&job, &chosen)?;
        note_generated(&job.home, source.checkout, &before)?;
        if !chosen.targets.is_empty() {
            let took = Some(took);
            let event = Event::Compiled { version: &what, purpose, took };
            self.observer.build_event(&event);
        }
        let Chosen { targets, programs, .. } = chosen;
        let targets = targets
            .into_iter()
            .map(|found| self.compiled_target(&job, found, programs, &messages))
            .collect::<Result<_>>()?;
        let conditions = self.conditions(&job, &workspace, &messages, &environment, tools)?;
        let namesakes = workspace.namesakes(&self.cache_dirs.source_path());
        let of_namesakes = messages.files.iter().filter(|(id, _)| namesakes.contains(&**id));
        let namesakes = of_namesakes.filter_map(|(_, file)| hash_in(file)).collect();
        let record = CompilationRecord {
            version: source.version.short(),
            reproducibility: reproducibility_key(&family, &lock, &conditions),
            rustc: compiler,
            sysroot: job.sysroot,
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            targets,
            scripts: messages.scripts.into_iter().map(BuildScript::with_what_it_made).collect(),
            ignored: self.without_own_paths(source, &messages.ignored),
            namesakes,
            conditions,
            session,
        };
        Compilation::complete(&job.home, record)
    }

    /// Says which choices were made for the user, and what makes the compilation long.
    fn note_choices(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        workspace: &Workspace,
        chosen: &Chosen,
    ) {
        if filter.members == Members::Default && workspace.only_others_have_benches() {
            self.note(
                "the default members of the workspace have no bench target, so all members are used; \
                 select packages with -p",
            );
        }
        if let added @ [_, ..] = workspace.added_features() {
            self.note(&format!(
                "{} is compiled with --features {}, which its bench targets need",
                source.version,
                added.join(",")
            ));
        }
        if chosen.targets.len() > 1
            && filter.benches.is_empty()
            && filter.left_out.is_empty()
            && let Some(lto) = self.whole_program_optimization(source)
        {
            self.note(&format!(
                "with lto = {lto}, each of the {} bench targets is optimized as a whole when it is linked, \
                 which can take minutes; --bench NAME compiles one",
                chosen.targets.len()
            ));
        }
    }

    /// Records which files of its checkout a compilation has read, where that can be known.
    fn note_read(&self, job: &Job<'_>, chosen: &Chosen) -> Result<()> {
        let place = self.cache_dirs.source_path();
        let sources = chosen.targets.iter().map(|found| &found.source_path);
        let sources: Vec<PathBuf> =
            sources.filter_map(|path| Some(path.strip_prefix(&place).ok()?.to_owned())).collect();
        match ReadFiles::find(job.source.checkout, &sources) {
            Some(read) => files::write_json_line(&job.home.join(READ), &read),
            None => Ok(()),
        }
    }

    /// The conditions of the compilation that cargo just made.
    fn conditions(
        &self,
        job: &Job<'_>,
        workspace: &Workspace,
        messages: &Messages,
        environment: &Environment,
        tools: Tools,
    ) -> Result<Conditions> {
        let script = |script: &BuildScript| {
            let package = workspace.package_directory(&script.package_id)?;
            // The variable with the directory of its output is the first.
            let (_, out_dir) = script.variables.first()?;
            Some(Script { package, out_dir: out_dir.into() })
        };
        let scripts: Vec<Script> = messages.scripts.iter().filter_map(script).collect();
        let cargo_home = environment.get("CARGO_HOME").map(PathBuf::from);
        let default_home = || Some(Path::new(environment.get("HOME")?).join(".cargo"));
        let cargo_home = cargo_home.or_else(default_home);
        let mut known = vec![job.source.checkout.into(), job.home.clone(), job.sysroot.clone()];
        // Their contents are determined by the lock file.
        known
            .extend(cargo_home.iter().flat_map(|home| ["registry", "git"].map(|it| home.join(it))));
        let places = Places {
            target: &job.home.join("target"),
            workspace: &job.source.checkout.join(&self.workspace),
            known,
        };
        Conditions::read(&places, &scripts, environment, tools)
    }

    /// Discards compilations of versions that are compared with each other, and returns true if there were some: they have
    /// to be made again. A build script may read more than it declares, such as headers. So where two processes have run the
    /// build scripts of the repository, these must have made the same.
    pub fn discard_older<'v>(&self, versions: &[Compiled<'v>]) -> Result<bool> {
        if self.packed.is_some() {
            return Ok(false);
        }
        let made = |compilation: &'v Compilation| {
            let generated: Option<GeneratedFiles> =
                files::read_json(&compilation.home.join(GENERATED));
            compilation.record.made_by_scripts().map(|made| (made, generated))
        };
        let are_equal = versions.windows(2).all(|pair| {
            let [one, other] = [pair[0].1, pair[1].1];
            one.record.session == other.record.session
                || made(one).is_some_and(|made_by_one| Some(made_by_one) == made(other))
        });
        if are_equal {
            return Ok(false);
        }
        let is_older = |(_, one): &&Compiled<'_>| one.record.session != this_session();
        for (source, compilation) in versions.iter().filter(is_older) {
            self.note(&format!(
                "{} is compiled again: it was compiled at another time, and its build script may depend on \
                 more than cargo knows",
                source.version
            ));
            // Nor may what the same files were compiled to for other bench targets be reused.
            let name = compilation.home.file_name().unwrap_or_default().to_string_lossy();
            let same_files = name.rsplit_once('-').map_or(&*name, |(same_files, _)| same_files);
            for home in homes(&self.cache_dirs.compilations(), same_files) {
                if Compilation::record(&home).is_none_or(|one| one.session != this_session()) {
                    Compilation::discard(&home)?;
                }
            }
        }
        Ok(true)
    }

    /// Warns if what a version depends on was changed after it was compiled or found.
    pub fn check_conditions(&self, (source, compilation): Compiled<'_>) {
        let conditions = &compilation.record.conditions;
        if let Some(difference) = conditions.difference(&self.users_environment(source)) {
            self.warn(&format!(
                "{difference} since {} was compiled, so the verdicts may not hold",
                source.version
            ));
        }
    }

    pub(super) fn run_cargo(&self, job: &Job<'_>, chosen: &Chosen) -> Result<Messages> {
        let version = job.source.version;
        let settings = self.settings_of(version);
        let kind = if chosen.programs { "programs" } else { "bench targets" };
        let what = |failed: &[String]| match failed {
            [] => format!("cannot compile the {kind} of {version}"),
            failed => format!("cannot compile {} of {version}", failed.join(", ")),
        };
        let commit = version.commit.as_deref().filter(|_| !version.dirty);
        let hints = match commit {
            Some(commit) => {
                let commit = &commit[..commit.len().min(12)];
                let source = self.cache_dirs.source_path();
                let workspace = &self.workspace;
                let [command, removal] =
                    cargo::reproduction(commit, &source, workspace, settings, chosen);
                vec![format!("reproduce with: {command}"), format!("and afterwards: {removal}")]
            }
            None => vec![format!(
                "reproduce with `{} bench --no-run` in the working tree",
                shell::cargo()
            )],
        };
        let mut command = job.context.command(&cargo::compile(&job.context, settings, chosen));
        if self.progress_columns.is_none() {
            // Its bar says which crates are being compiled.
            command.envs([
                ("CARGO_TERM_PROGRESS_WHEN", "always"),
                ("CARGO_TERM_PROGRESS_WIDTH", "80"),
            ]);
        }
        info!("running: {}", tool::shown(&command));
        let supervised = supervisor::supervised(&command, &self.lock)?;
        let version = version.to_string();
        let compiled =
            run_cargo::compile(supervised, &version, &job.log, self.observer, what, &hints);
        compiled.map_err(|error| self.explain_refused(error, &command))
    }

    /// Sentences of cargo without the paths of a version's checkout, which would make them differ between versions.
    fn without_own_paths(&self, source: Source<'_>, sentences: &[String]) -> Vec<String> {
        let roots = [source.checkout, &self.cache_dirs.source_path()]
            .map(|root| root.display().to_string());
        sentences.iter().map(|sentence| relative_to(sentence, &roots)).collect()
    }

    /// Refuses settings of a variant or of the command line that cargo ignores, before it compiles for minutes: the same
    /// program as without them would be the answer to another question.
    fn refuse_ignored(&self, job: &Job<'_>, chosen: &Chosen) -> Result<()> {
        let version = job.source.version;
        let CompileSettings { cargo_args, .. } = self.settings_of(version);
        let Some(first) = chosen.targets.first().filter(|_| !cargo_args.is_empty()) else {
            return Ok(());
        };
        let arguments = cargo::settings_check(&job.context, self.settings_of(version), first);
        let what = || format!("cannot check the settings of {version}");
        let checked = tool::run(&mut job.context.command(&arguments), Task::Run, what);
        // What cargo cannot read, it says better when it compiles.
        let Ok(output) = checked else { return Ok(()) };
        let mut ignored = run_cargo::ignored(&secrets::text(&output.stderr));
        // How programs of the profile `bench` panic does take effect, although cargo says this of them, too.
        ignored.retain(|sentence| {
            !(chosen.programs && sentence.contains(run_cargo::IGNORED_FOR_PROFILE))
        });
        let [key, ..] = run_cargo::ignored_of(&ignored, cargo_args)[..] else { return Ok(()) };
        let error = Error::new(Exit::Usage, format!("cargo ignores `{key}`"));
        let said = ignored.iter().filter(|sentence| sentence.contains(key));
        let error = said.fold(error, |error, one| error.cause(format!("it says: {one}")));
        Err(error.hint(match &version.variant {
            Some(variant) => format!("correct or remove it in [variant.{}] of bench.toml", variant.name),
            None => "correct or remove it where cargo's arguments are given: `cargo-args` of bench.toml, \
                     or --cargo-arg"
                .to_owned(),
        }))
    }

    /// Adds to the error of a compilation what the sandbox refused, if that may be the reason: cargo is run again under
    /// the tracer, and compiles what has failed.
    fn explain_refused(&self, error: Error, command: &Command) -> Error {
        let output = error.to_string();
        // A script may only say what it did not find.
        let is_of_script = || OF_BUILD_SCRIPT.iter().any(|words| output.contains(words));
        if !sandbox::is_confined() || !(may_be_refused(&output) || is_of_script()) {
            return error;
        }
        self.note("looking for what the sandbox has refused: compiling again under the tracer");
        explained_by_refused(error, command, Permission::InFile)
    }

    fn compiled_target(
        &self,
        job: &Job<'_>,
        found: Discovered,
        is_program: bool,
        messages: &Messages,
    ) -> Result<CompiledTarget> {
        let version = job.source.version;
        let kind = if is_program { "program" } else { "bench target" };
        let what = || format!("cannot use {kind} `{}` of {version}", found.target);
        let made = messages
            .executables
            .iter()
            .find(|made| {
                made.is_program == is_program
                    && made.package == found.package_id
                    && made.target == found.target.target
            })
            .ok_or_else(|| {
                Error::new(Exit::Build, what())
                    .cause("cargo reported success, but made no executable for it")
                    .hint("check that its required-features are enabled")
            })?;
        let recipes = job.home.join(RECIPES);
        let recipe_name = if is_program {
            Recipe::find_program(&recipes, &made.target).unwrap_or_default()
        } else {
            made.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        let recipe_home = recipes.join(&recipe_name);
        let recipe = Recipe::load(&recipe_home).map_err(|error| {
            Error::new(Exit::Build, what())
                .cause("rustc did not use the linker that rbench passed to it")
                .cause(error.to_string())
        })?;
        let build_path = self.cache_dirs.build_path();
        let sysroot = &job.sysroot;
        let recorded = files::modified(&Recipe::path(&recipe_home))?;
        let (inputs, files) = inputs::digest(&recipe, recorded, &build_path, &job.home, sysroot)?;
        // For a program, cargo's file is a link with a shorter name to the linker's output.
        let linked = if is_program { &recipe.output } else { &made.path };
        let executable = inputs::path_in_home(linked, &build_path, &job.home);
        let made_files = [Recipe::path(&recipe_home), executable];
        let read = |path: &PathBuf| InputFile::read(path, sysroot);
        Ok(CompiledTarget {
            target: found.target,
            package_id: found.package_id,
            package_root: found.package_root,
            executable: linked.clone(),
            recipe: recipe_name,
            inputs,
            files,
            made: made_files.iter().map(read).collect::<Result<_>>()?,
        })
    }

    /// The hash of everything except the version and its lock file. Compilations of one family can share dependencies.
    fn family(&self, source: Source<'_>, compiler: &str) -> String {
        // Neither setting changes the output.
        let settings = self.settings_of(source.version).clone();
        let settings = CompileSettings { jobs: None, offline: false, ..settings };
        let mut maker = KeyMaker::new("compilation v5");
        maker.add("rustc", compiler.as_bytes());
        maker.add("settings", format!("{settings:?}").as_bytes());
        maker.add_path("workspace", &self.workspace);
        maker.add_path("at", &self.cache_dirs.build_path());
        for (name, value) in self.users_environment(source).identifying() {
            maker.add(&name.to_string_lossy(), value.as_encoded_bytes());
        }
        if let Some(configs) = self.configs.compilation_text() {
            maker.add("configs", configs.as_bytes());
        }
        maker.key()
    }
}

/// An identity of this process among all processes.
fn this_session() -> String {
    static SESSION: OnceLock<String> = OnceLock::new();
    let new = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}", now.as_nanos(), std::process::id())
    };
    SESSION.get_or_init(new).clone()
}

/// The bench targets of a version that each take long to compile.
pub struct SlowTargets {
    /// The value of `lto` in the profile.
    pub lto: &'static str,
    pub targets: BTreeSet<BenchTarget>,
}

pub struct Uncompiled {
    pub workspace: Workspace,
    /// The bench targets that would be compiled, with the ids of their packages.
    pub targets: Vec<(BenchTarget, String)>,
}

/// A compilation to find or to make.
pub(super) struct WantedTarget {
    pub(super) context: CargoContext,
    compiler: String,
    lock: PathBuf,
    family: String,
    /// The beginning of the keys of all compilations of the same files, whatever their bench targets.
    same_files: String,
    /// The end of the keys of all compilations with these bench targets.
    filter: String,
    pub(super) key: String,
}

/// The directories of a compilation that cargo, rustc and the wrapper write to.
pub const PARTS: [&str; 3] = ["target", RECIPES, wrapper::SHIMS];

/// The file with what a compilation has read of its checkout, in its directory.
const READ: &str = "read.json";

const RECIPES: &str = "recipes";

pub(super) struct Job<'a> {
    pub(super) source: Source<'a>,
    pub(super) context: CargoContext,
    pub(super) sysroot: PathBuf,
    pub(super) home: PathBuf,
    pub(super) log: PathBuf,
}

fn files_key(source: Source<'_>, lock: &LockFile, instance: Instance) -> String {
    let mut maker = KeyMaker::new("version v6");
    // Also with equal settings, since each variant has its own checkout.
    maker.add("tree", source.version.identity().as_bytes());
    if lock.is_added {
        // An added lock file is not part of the tree.
        maker.add_file("lock", &lock.path);
    }
    for submodule in source.absent_submodules {
        // Its files are those of a commit that the tree names, or missing.
        maker.add_path("absent", submodule);
    }
    maker.add("instance", format!("{instance:?}").as_bytes());
    maker.key()
}

fn reproducibility_key(family: &str, lock: &Path, conditions: &Conditions) -> String {
    let mut maker = KeyMaker::new("reproducibility v2");
    maker.add("conditions", conditions.identity().as_bytes());
    maker.add("family", family.as_bytes());
    maker.add_file("lock", lock);
    maker.key()
}

/// The file in a target dir with the answers of rustc to cargo. Cargo asks again if they are of another toolchain.
const ANSWERS: &str = ".rustc_info.json";

/// Copies rustc's answers to cargo from the reused compilation into the target dir of the compilation in `home`, so
/// that cargo reads the workspace without running rustc.
fn pass_answers(reused: &Path, home: &Path) {
    let [from, to] = [reused, home].map(|home| home.join("target").join(ANSWERS));
    // Without the file, cargo asks.
    let _ = fs::copy(from, to);
}

/// Fills the target dir of the compilation in `home` from the reused one, without what cargo made of the packages with
/// these names. Their namesakes from elsewhere are dependencies like all others.
pub(super) fn seed_dependencies(
    reused: &Path,
    home: &Path,
    packages: &BTreeSet<&str>,
) -> Result<()> {
    let [from, to] = [reused, home].map(|home| home.join("target"));
    let what = || format!("cannot copy compiled dependencies from {}", reused.display());
    let namesakes = Compilation::record(reused).map(|record| record.namesakes);
    let is_own = |package: &str, hash: &str| {
        packages.contains(package) && !namesakes.as_ref().is_some_and(|all| all.contains(hash))
    };
    copy_dependencies(&from, &to, &is_own).context(Exit::Build, what)
}

/// Copies what cargo made of dependencies from one target dir to another, for every platform and profile. `cargo clean`
/// would leave packages of the platform that `[build] target` configures.
///
/// Each package has directories `.fingerprint/NAME-HASH`, and other files with the same hash. Nothing else is copied:
/// files without a hash may be of any package, and benchmarks write to directories such as `tmp`. From a target dir with
/// another layout nothing is copied, since compiling from scratch is slower, never wrong.
fn copy_dependencies(
    from: &Path,
    to: &Path,
    is_own: &dyn Fn(&str, &str) -> bool,
) -> io::Result<()> {
    for profile in profiles(from)? {
        let to = to.join(profile.strip_prefix(from).unwrap_or(&profile));
        let mut left_out = BTreeSet::new();
        for fingerprint in directories(&profile.join(".fingerprint"))? {
            let name = fingerprint.file_name().unwrap_or_default().to_string_lossy();
            if let Some((package, hash)) = name.rsplit_once('-')
                && is_own(package, hash)
            {
                left_out.insert(hash.to_owned());
            }
        }
        // Cargo believes in fingerprints: they come last, so that none is of a file whose copy was interrupted.
        for part in ["build", "deps", "examples", ".fingerprint"] {
            let from = profile.join(part);
            if from.is_dir() {
                let is_meant =
                    |name: &str| hash_of(name).is_some_and(|hash| !left_out.contains(hash));
                copy_directory(&from, &to.join(part), &is_meant)?;
            }
        }
    }
    Ok(())
}

/// The hash in a name `NAME-HASH.EXTENSION`, if it has one.
fn hash_of(name: &str) -> Option<&str> {
    let hash = name.rsplit_once('-')?.1.split('.').next()?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(hash)
}

/// The hash in the name of a file, or of a directory that it is in.
fn hash_in(file: &Utf8Path) -> Option<String> {
    file.iter().rev().find_map(hash_of).map(str::to_owned)
}

fn directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Renames the directory of a compilation that did not end, so that the next one can reuse the dependencies that cargo
/// finished in it. Returns the new path, whether there is such a directory or not.
fn set_interrupted_aside(home: &Path) -> Result<PathBuf> {
    let aside = home.with_extension("interrupted");
    if home.is_dir() && Compilation::made_at(home).is_none() {
        files::remove_directory(&aside)?;
        let what = || format!("cannot rename {}", home.display());
        fs::rename(home, &aside).context(Exit::Build, what)?;
    }
    Ok(aside)
}

/// The compilation to reuse among those whose names begin with this: the newest complete one, or else the newest that
/// failed or was interrupted. Cargo does not notice another C compiler, so nothing is reused that other tools may have
/// made.
fn newest_of(compilations: &Path, begins: &str, environment: &Environment) -> Option<PathBuf> {
    homes(compilations, begins)
        .filter_map(|home| {
            let made = Compilation::made_at(&home);
            let begun = || fs::metadata(home.join("target")).ok()?.modified().ok();
            Some((made.is_some(), made.or_else(begun)?, home))
        })
        .filter(|(.., home)| {
            Tools::kept(home).is_none_or(|tools| tools.difference(environment).is_none())
        })
        .max()
        .map(|(.., home)| home)
}

/// The directories of compilations whose names begin with this.
fn homes(compilations: &Path, begins: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(compilations).into_iter().flatten().filter_map(io::Result::ok);
    entries
        .filter(move |entry| entry.file_name().as_encoded_bytes().starts_with(begins.as_bytes()))
        .map(|entry| entry.path())
}

/// True if all that a compilation of the same files has made can be reused. What has written files into its checkout has
/// to do so again.
fn can_be_continued(home: &Path) -> bool {
    let is_damaged = || Compilation::made_at(home).is_some() && Compilation::open(home).is_none();
    !home.join(GENERATED).exists() && !home.join(DISCARDED).exists() && !is_damaged()
}

/// The end of the name of a compilation's directory.
fn filter_of(home: &Path) -> String {
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit('-').next().unwrap_or_default().to_owned()
}

/// Copies all that a compilation made to the directory of another one, but not what benchmarks wrote beside it.
fn copy_compilation(from: &Path, to: &Path) -> io::Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() && file.file_name() != RECORD {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    for part in [RECIPES, wrapper::SHIMS] {
        copy_directory(&from.join(part), &to.join(part), &|_| true)?;
    }
    let (from, to) = (from.join("target"), to.join("target"));
    // Cargo makes this directory for benchmarks.
    if from.join("tmp").is_dir() {
        fs::create_dir_all(to.join("tmp"))?;
    }
    for profile in profiles(&from)? {
        let place = to.join(profile.strip_prefix(&from).unwrap_or(&profile));
        copy_directory(&profile, &place, &|_| true)?;
    }
    Ok(())
}

/// The directories of every platform and profile in a target dir.
fn profiles(target: &Path) -> io::Result<Vec<PathBuf>> {
    let top = directories(target)?;
    let below: Vec<_> = top.iter().map(|one| directories(one)).collect::<io::Result<_>>()?;
    let is_profile = |directory: &PathBuf| directory.join(".fingerprint").is_dir();
    Ok(top.into_iter().chain(below.concat()).filter(is_profile).collect())
}

/// True for what rustc and linkers make: they replace a file instead of writing into it. Copies of these, the largest
/// files, may be links to the same one.
fn is_replaced_whole(file: &Path) -> bool {
    file.parent().is_some_and(|directory| directory.ends_with("deps"))
        && file.extension().is_none_or(|extension| extension != "d")
}

/// Copies the entries of a directory whose names `is_meant` accepts, each with all below it and with the times of files,
/// which cargo compares to find outdated ones.
fn copy_directory(from: &Path, to: &Path, is_meant: &dyn Fn(&str) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !is_meant(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_directory(&from, &to, &|_| true)?;
        } else if kind.is_file() {
            if is_replaced_whole(&from) && fs::hard_link(&from, &to).is_ok() {
                continue;
            }
            fs::copy(&from, &to)?;
            let modified = entry.metadata()?.modified()?;
            // Also of a file that nobody may write.
            fs::File::open(&to)?.set_modified(modified)?;
        }
    }
    Ok(())
}

/// Files that a compilation added to its checkout, with digests of their contents.
type GeneratedFiles = Vec<(String, Digest)>;

/// The list of generated files, in the directory of a compilation that wrote some.
pub(super) const GENERATED: &str = "generated.json";

/// The paths of all files below a checkout, except lock files and target dirs, which cargo makes itself, those of git,
/// and paths that are not Unicode.
fn files_in(checkout: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        // No benchmark can read unreadable directories either.
        let entries = fs::read_dir(checkout.join(&directory)).into_iter().flatten();
        for entry in entries.filter_map(io::Result::ok) {
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            if is_directory && name != "target" && name != ".git" {
                open.push(path);
            } else if !is_directory && name != "Cargo.lock" {
                found.extend(path.to_str().map(str::to_owned));
            }
        }
    }
    found
}

/// Records the files that the compilation in `home` added to its checkout; `before` are the files from before.
fn note_generated(home: &Path, checkout: &Path, before: &BTreeSet<String>) -> Result<()> {
    let added: GeneratedFiles = files_in(checkout)
        .into_iter()
        .filter(|path| !before.contains(path))
        .filter_map(|path| {
            files::content_digest(&checkout.join(&path)).map(|digest| (path, digest))
        })
        .collect();
    if added.is_empty() { Ok(()) } else { files::write_json(&home.join(GENERATED), &added) }
}

/// True if all files that the compilation in `home` added to its checkout still exist with the same contents.
fn has_generated(home: &Path, checkout: &Path) -> bool {
    let added: GeneratedFiles = files::read_json(&home.join(GENERATED)).unwrap_or_default();
    added.iter().all(|(path, known)| files::content_digest(&checkout.join(path)) == Some(*known))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn newest_compilation_is_found_without_reading_records() {
        let directory = tempfile::tempdir().unwrap();
        let compiled = |name: &str, seconds_ago| {
            let home = directory.path().join(name);
            let record = home.join("compilation.json");
            files::write_whole(&record, b"nobody parses this").unwrap();
            let made = SystemTime::now() - Duration::from_secs(seconds_ago);
            fs::File::options().append(true).open(record).unwrap().set_modified(made).unwrap();
            home
        };
        let newest = compiled("own-b", 10);
        compiled("own-a", 30);
        compiled("own-c", 20);
        compiled("other-d", 0);
        fs::create_dir_all(directory.path().join("own-unfinished/target")).unwrap();
        fs::create_dir(directory.path().join("rare-without-target")).unwrap();
        assert_eq!(newest_of(directory.path(), "own", &Environment::default()), Some(newest));
        assert_eq!(newest_of(directory.path(), "rare", &Environment::default()), None);
        assert_eq!(newest_of(directory.path(), "unknown", &Environment::default()), None);
    }

    #[test]
    fn dependencies_of_an_interrupted_compilation_are_reused() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("own-a");
        fs::create_dir_all(home.join("target")).unwrap();
        let aside = set_interrupted_aside(&home).unwrap();
        assert!(!home.exists());
        assert_eq!(
            newest_of(directory.path(), "own", &Environment::default()),
            Some(aside.clone())
        );
        files::write_whole(&home.join("compilation.json"), b"nobody parses this").unwrap();
        assert_eq!(set_interrupted_aside(&home).unwrap(), aside);
        assert_eq!(newest_of(directory.path(), "own", &Environment::default()), Some(home));
    }

    #[test]
    fn copy_dependencies_leaves_out_packages_of_every_platform() {
        let (target, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files = [
            ".fingerprint/own-lib-0123456789abcdef/dep-lib-own_lib",
            ".fingerprint/own-0123456789abcdee/dep-bench-b",
            ".fingerprint/serde-0123456789abcded/dep-lib-serde",
            ".fingerprint/own-0123456789abcdec/dep-lib-own",
            "deps/libown-0123456789abcdec.rlib",
            "deps/libown_lib-0123456789abcdef.rlib",
            "deps/b-0123456789abcdee",
            "deps/b-0123456789abcdee.d",
            "deps/libserde-0123456789abcded.rlib",
            "build/own-0123456789abcdee/out/generated.rs",
            "build/serde-0123456789abcded/out/generated.rs",
            "deps/libplugin.so",
            "libplugin.so",
        ];
        files::create_directory(&target.path().join("tmp")).unwrap();
        fs::write(target.path().join("tmp/index"), "of another version").unwrap();
        for profile in ["release", "x86_64-unknown-linux-gnu/release"] {
            for file in files {
                let path = target.path().join(profile).join(file);
                files::create_directory(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let released = hash_in("target/release/deps/libown-0123456789abcdec.rlib".into());
        let is_own = |package: &str, hash: &str| {
            ["own", "own-lib"].contains(&package) && released.as_deref() != Some(hash)
        };
        copy_dependencies(target.path(), to.path(), &is_own).unwrap();
        let copied: Vec<String> = files_in(to.path()).into_iter().collect();
        let kept = [
            ".fingerprint/own-0123456789abcdec/dep-lib-own",
            ".fingerprint/serde-0123456789abcded/dep-lib-serde",
            "build/serde-0123456789abcded/out/generated.rs",
            "deps/libown-0123456789abcdec.rlib",
            "deps/libserde-0123456789abcded.rlib",
        ];
        let of = |profile: &str| kept.map(|file| format!("{profile}/{file}"));
        assert_eq!(copied, [of("release"), of("x86_64-unknown-linux-gnu/release")].concat());
        let (other, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        files::write_whole(&other.path().join("release/build/own/0123/fingerprint/x"), b"")
            .unwrap();
        copy_dependencies(other.path(), to.path(), &is_own).unwrap();
        assert!(files_in(to.path()).is_empty());
    }

    #[test]
    fn generated_files_must_exist_with_the_same_contents() {
        let (home, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, checkout) = (home.path(), checkout.path());
        let write = |path: &str, contents: &str| {
            fs::create_dir_all(checkout.join(path).parent().unwrap()).unwrap();
            fs::write(checkout.join(path), contents).unwrap();
        };
        write("src/lib.rs", "");
        let before = files_in(checkout);
        write("assets/data.bin", "one");
        write("target/x", "");
        write("Cargo.lock", "");
        std::os::unix::fs::symlink("nowhere", checkout.join("link")).unwrap();
        note_generated(home, checkout, &before).unwrap();

        write("src/lib.rs", "changed by a benchmark");
        write("results.csv", "added by a benchmark");
        fs::remove_file(checkout.join("Cargo.lock")).unwrap();
        fs::remove_dir_all(checkout.join("target")).unwrap();
        assert!(has_generated(home, checkout));
        write("assets/data.bin", "two");
        assert!(!has_generated(home, checkout), "of another compilation");
        write("assets/data.bin", "one");
        assert!(has_generated(home, checkout), "generated again");
        fs::remove_dir_all(checkout.join("assets")).unwrap();
        assert!(!has_generated(home, checkout), "gone");
    }

    #[test]
    fn compilation_without_generated_files_has_no_list() {
        let (home, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(checkout.path().join("file"), "").unwrap();
        note_generated(home.path(), checkout.path(), &files_in(checkout.path())).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(has_generated(home.path(), checkout.path()));
    }
}
