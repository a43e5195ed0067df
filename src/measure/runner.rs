//! What measures: a project with its lock, its store and the settings, and who observes its progress.

use std::time::SystemTime;

use tracing::info_span;

use super::{interleaving_support::InterleavingSupport, settings::ExperimentSettings};
use crate::{
    builds::{self, BuildEnv},
    error::{Error, Exit, Result},
    harness::Conditions,
    machine::doctor,
    model::{Benchmark, Incident, Partition, Version},
    process::{Interrupt, SavedHandler},
    project::Project,
    store::{self, Store},
};

/// All that a command needs to measure: the project with its lock, a workshop that builds, the store, and
/// the settings. The project is locked as long as the value lives.
pub struct Runner<'a> {
    pub(super) project: &'a Project,
    pub(super) workshop: BuildEnv<'a>,
    /// Where every execution is kept.
    pub store: Store<'a>,
    pub(super) settings: ExperimentSettings,
    pub(super) conditions: Conditions<'a>,
    /// What it takes to leave out of the time of executions alone what interrupts them, where that is wanted.
    pub(super) uninterrupted: Option<InterleavingSupport>,
    pub(super) observer: &'a dyn Observer,
    /// What of the machine mattered to measurements before rbench itself kept it busy, for people.
    pub machine_state: Option<String>,
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

    /// The same with a store in memory: what is measured is gone with the value.
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
            ..Conditions::new(interrupt)
        };
        conditions.check()?;
        let machine_state = doctor::summary_now();
        let workshop = project.build_env(settings.builds.compile.clone(), observer)?;
        let store = info_span!("store").in_scope(open)?;
        Ok(Self {
            project,
            workshop,
            store,
            settings,
            conditions,
            uninterrupted: None,
            observer,
            machine_state,
        })
    }

    /// Measures by these settings from now on. They must not build in another way than those before.
    pub fn measure_by(&mut self, settings: ExperimentSettings) {
        self.conditions.deadline = settings.deadline;
        self.conditions.cpu = settings.cpu;
        self.settings = settings;
    }

    /// Whether all benchmarks are measured, not only some of them.
    pub const fn means_all(&self) -> bool {
        self.settings.filter.means_all() && self.settings.targets.means_all()
    }

    /// The part of all benchmarks that is measured, if only one is.
    pub const fn partition(&self) -> Option<Partition> {
        self.settings.filter.partition()
    }

    /// Prunes the cache by the default limits; what was used after `since` stays.
    pub fn prune(&self, since: SystemTime) {
        self.workshop.prune(since);
    }

    /// The failure with what is kept after an interrupt, and how to go on.
    pub fn with_what_is_kept(&self, failure: Error) -> Error {
        if failure.exit() != Exit::Interrupted {
            return failure;
        }
        let store = self.project.store();
        match self.conditions.interrupt.kept() {
            SavedHandler::Nothing => failure,
            SavedHandler::Compilations => failure.cause("every finished compilation is kept"),
            SavedHandler::Executions => failure
                .cause(format!("every finished execution is kept in {}", store.display()))
                .hint("run the same command again to resume"),
        }
    }
}

/// Observes an experiment: its builds, its waiting for other processes, and its progress.
pub trait Observer: builds::Observer + store::Observer {
    /// So many executions are done, of so many. Called before the first and after each, never during one.
    fn executed(&self, done: usize, of: usize);

    /// So many benchmarks of a version are traced, of so many. Called before the first and after each.
    fn traced(&self, version: &Version, done: usize, of: usize);

    /// Something happened in an execution of a benchmark that its numbers do not show.
    fn incident(&self, benchmark: &Benchmark, incident: &Incident);

    /// A benchmark's own harness cannot do all that is requested, as this explains.
    fn note(&self, note: &str);
}
