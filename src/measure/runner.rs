//! The context of every command that measures: the locked project, its store and the settings.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rbench_code::impact::Needs;
use tracing::info_span;

use super::{
    guard::Guard, outside::KnownOutside, preloaded::PreloadedLibrary, settings::ExperimentSettings,
};
use crate::{
    builds::{self, BuildEnv},
    config::SamplingConfig,
    error::{Error, Exit, Result},
    harness::Conditions,
    machine::doctor,
    model::{BenchTarget, Benchmark, Incident, Mode, Partition, Version},
    process::{self, Interrupt, SavedHandler},
    project::Project,
    store::{self, ExperimentId, Store},
};

/// Everything that a command needs to measure: the project with its lock, the environment that
/// builds, the store, and the settings. The project is locked while this value lives.
pub struct Runner<'a> {
    pub(super) project: &'a Project,
    pub(super) build_env: BuildEnv<'a>,
    pub store: Store<'a>,
    pub(super) settings: ExperimentSettings,
    pub(super) conditions: Conditions<'a>,
    /// The support to exclude interruptions from the time of executions that run alone, where that
    /// is enabled.
    pub(super) uninterrupted: Option<PreloadedLibrary>,
    pub(super) observer: &'a dyn Observer,
    /// The state of the machine before rbench kept it busy, as a text for people.
    pub machine_state: Option<String>,
    /// The selected packages, if the working tree has others by default: a part of the settings.
    pub(super) packages: Option<String>,
    /// What each benchmark that was traced needs, in each version.
    needs: RefCell<BTreeMap<Benchmark, [Needs; 2]>>,
    /// What the versions of each traced benchmark use outside of their checkouts.
    pub(super) outside: RefCell<BTreeMap<Benchmark, KnownOutside>>,
    /// The files outside that could not be restored.
    pub(super) not_restored: RefCell<BTreeSet<PathBuf>>,
    /// What is known of each benchmark that was interleaved in an experiment about its time alone.
    pub(super) guards: RefCell<BTreeMap<(ExperimentId, Benchmark), Guard>>,
    /// The programs whose clock readings were found to be measurements of the same work in each of these versions.
    pub(super) checked: RefCell<BTreeSet<Benchmark>>,
}

impl<'a> Runner<'a> {
    /// Locks the project and opens its store.
    pub fn open(
        project: &'a Project,
        settings: ExperimentSettings,
        interrupt: &'a Interrupt,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let open = || Store::open(&project.store(), observer);
        Self::with_store(project, settings, interrupt, observer, open)
    }

    /// The same with a store in memory: results are gone with the value.
    pub fn in_memory(
        project: &'a Project,
        settings: ExperimentSettings,
        interrupt: &'a Interrupt,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let open = || -> Result<Store<'a>> { Store::in_memory() };
        Self::with_store(project, settings, interrupt, observer, open)
    }

    fn with_store(
        project: &'a Project,
        settings: ExperimentSettings,
        interrupt: &'a Interrupt,
        observer: &'a dyn Observer,
        open: impl FnOnce() -> Result<Store<'a>>,
    ) -> Result<Self> {
        let conditions = Conditions {
            deadline: settings.deadline,
            cpu: settings.cpu,
            setups: Some(project.file.setups()),
            ..Conditions::new(interrupt)
        };
        conditions.check()?;
        let machine_state = doctor::summary_now();
        let packages = project.selected_packages(settings.filter.targets())?;
        let build_env = project.build_env(settings.builds.compile.clone(), observer)?;
        build_env.share_lock_with_setups()?;
        let store = info_span!("store").in_scope(open)?;
        Ok(Self {
            project,
            build_env,
            store,
            settings,
            conditions,
            uninterrupted: None,
            observer,
            machine_state,
            packages,
            needs: RefCell::default(),
            outside: RefCell::default(),
            not_restored: RefCell::default(),
            guards: RefCell::default(),
            checked: RefCell::default(),
        })
    }

    /// The sampling of a benchmark, by what is known about the time of its iterations.
    pub(super) fn sampling(&self, benchmark: &Benchmark) -> SamplingConfig {
        let iteration = self.iteration(benchmark);
        let target = benchmark.bench_target();
        let programs: Vec<_> = self.project.file.commands_of(&target).collect();
        // Implementations have a common name, and all are programs if one is.
        let own = programs.iter().find(|one| one.id == benchmark.name.id).or(programs.first());
        if own.is_some_and(|one| one.clock.is_none()) {
            let setup = self.project.file.setups().of_benchmark(benchmark);
            let is_prepared =
                setup.is_some_and(|one| one.prepare.is_some() || one.conclude.is_some());
            self.settings.efforts.for_program(benchmark, iteration, is_prepared)
        } else {
            self.settings.efforts.for_iterations(benchmark, iteration)
        }
    }

    /// What an execution of a benchmark in each version needs, if it was traced.
    pub(super) fn needs(&self, benchmark: &Benchmark) -> [Needs; 2] {
        self.needs.borrow().get(benchmark).cloned().unwrap_or_default()
    }

    /// The mean time of an iteration in the slower version, if the benchmark was traced.
    pub(super) fn iteration(&self, benchmark: &Benchmark) -> Option<Duration> {
        self.needs(benchmark).into_iter().filter_map(|needs| needs.iteration).max()
    }

    /// Forgets these, which other versions may not have.
    pub(super) fn forget_needs(&self) {
        self.needs.borrow_mut().clear();
        self.outside.borrow_mut().clear();
        self.checked.borrow_mut().clear();
    }

    /// Notes what an execution of a benchmark in each version needed.
    pub(super) fn note_needs(&self, benchmark: &Benchmark, needs: [Needs; 2]) {
        self.needs.borrow_mut().insert(benchmark.clone(), needs);
    }

    /// The number of interleaved benchmarks that are executed at once.
    pub const fn parallel(&self) -> u32 {
        self.settings.parallel
    }

    /// True if executions leave a CPU to rbench itself.
    pub fn leaves_a_cpu(&self) -> bool {
        let at_once = match self.settings.mode {
            Mode::Interleaved => self.settings.parallel as usize,
            Mode::Sequential => 1,
        };
        process::cpus().is_ok_and(|cpus| cpus.len() > at_once)
    }

    /// Uses these settings from now on. They must not build differently from the earlier ones.
    pub fn measure_by(&mut self, settings: ExperimentSettings) {
        self.conditions.deadline = settings.deadline;
        self.conditions.cpu = settings.cpu;
        self.settings = settings;
    }

    /// Leaves out these bench targets from now on, and no others, of those that the user selects.
    pub fn leave_out(&mut self, targets: BTreeSet<BenchTarget>) {
        self.settings.filter.leave_out(targets);
    }

    /// True if the user named benchmarks, but not where they are.
    pub const fn names_only_benchmarks(&self) -> bool {
        self.settings.filter.names_only_benchmarks()
    }

    /// The number of bench targets that cargo compiles at the same time.
    pub fn compiled_at_once(&self) -> usize {
        let jobs = self.settings.builds.compile.jobs.map(|jobs| jobs as usize);
        let all = || std::thread::available_parallelism().map_or(1, NonZero::get);
        jobs.unwrap_or_else(all).max(1)
    }

    /// True if all benchmarks are measured, not only some of them.
    pub const fn means_all(&self) -> bool {
        self.settings.filter.means_all()
    }

    /// True if all benchmarks of the selected bench targets are measured.
    pub const fn means_whole_targets(&self) -> bool {
        self.settings.filter.means_whole_targets()
    }

    /// The partition of all benchmarks that is measured, if only one is.
    pub const fn partition(&self) -> Option<Partition> {
        self.settings.filter.partition()
    }

    /// Ends what was set up for benchmarks. A failure is only a note, because all measurements are done.
    pub fn end_setups(&self) {
        for failure in process::end_setups() {
            self.observer.note(&failure.to_string());
        }
    }

    /// Prunes the cache by the default limits; entries used after `since` stay.
    pub fn prune(&self, since: SystemTime) {
        self.build_env.prune(since);
    }

    /// Ends a command: prunes the cache, where entries used after `since` stay, and adds to an interrupt what is kept.
    pub fn end<T>(&self, since: SystemTime, done: Result<T>) -> Result<T> {
        self.end_setups();
        self.prune(since);
        done.map_err(|error| self.with_what_is_kept(error))
    }

    /// Adds to an interrupt what is kept and how to resume. Returns other errors unchanged.
    fn with_what_is_kept(&self, error: Error) -> Error {
        if error.exit() != Exit::Interrupted {
            return error;
        }
        let store = self.project.store();
        match self.conditions.interrupt.kept() {
            SavedHandler::Nothing => error,
            SavedHandler::Compilations => error.cause("every finished compilation is kept"),
            SavedHandler::Executions => error
                .cause(format!("every finished execution is kept in {}", store.display()))
                .hint("run the same command again to resume"),
        }
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.end_setups();
        // Another runner of this process takes the lock again.
        process::share_lock_with_setups(None);
    }
}

/// Receives the progress of an experiment: its builds, its waiting for other processes, and its
/// executions.
pub trait Observer: builds::Observer + store::Observer {
    /// `done` executions of `of` are done. Called before the first and after each, never during
    /// one.
    fn executed(&self, done: usize, of: usize);

    /// At the pace of the first executions, all of them take this long, which is much longer than planned.
    fn takes_longer(&self, expected: Duration);

    /// The benchmarks of `done` bench targets of `of` are listed in a version. Called before the first and after each.
    fn listed(&self, version: &Version, done: usize, of: usize);

    /// `done` benchmarks of `of` are traced in a version. Called before the first and after each.
    fn traced(&self, version: &Version, done: usize, of: usize);

    /// An execution of a benchmark had an incident that its numbers do not show.
    fn incident(&self, benchmark: &Benchmark, incident: &Incident);

    /// A benchmark's own harness cannot do all that is requested, for the reason in `note`.
    fn note(&self, note: &str);
}
