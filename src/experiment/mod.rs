//! Experiments: versions are compiled and listed, built with the same layouts, and their benchmarks
//! measured interleaved, stage by stage. Every execution is stored before the next one starts.

mod allocations;
mod alone;
mod builds;
mod by_turns;
mod counting;
mod diagnosis;
mod listing;
mod measure;
mod observer;
mod order;
mod ordinary;
mod outcome;
mod plan;
mod probe;
mod profile;
mod reach;
mod resume;
pub mod schedule;
mod seeds;
mod settings;
mod subject;
mod trace;
mod tune;
mod turns;
mod unused;
mod version;
mod version_files;

use std::time::SystemTime;

pub use allocations::allocator_of;
pub use builds::Builds;
pub use counting::{COUNTED_LAYOUTS, Counter};
pub use diagnosis::{ControlRun, Probe, ProloguePair, control_program};
pub use listing::{ListedTarget, Listing};
pub use observer::Observer;
pub use order::WentFirst;
pub use plan::Outline;
pub use probe::Trial;
pub use resume::Begun;
pub use settings::ExperimentSettings;
pub use version::ListedVersion;

use tracing::info_span;

use crate::{
    build::Workshop,
    failure::{Exit, Failure, Result},
    harness::Conditions,
    machine::doctor,
    process::{Interrupt, Kept},
    project::Project,
    store::Store,
};

/// All that a command needs to measure: the project with its lock, a workshop that builds, the store, and
/// the settings. The project is locked as long as the value lives.
pub struct Runner<'a> {
    project: &'a Project,
    workshop: Workshop<'a>,
    /// Where every execution is kept.
    pub store: Store<'a>,
    settings: ExperimentSettings,
    conditions: Conditions<'a>,
    /// What it takes to leave out of the time of executions alone what interrupts them, where that is wanted.
    uninterrupted: Option<by_turns::Ability>,
    observer: &'a dyn Observer,
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
        let workshop = project.workshop(settings.builds.compile.clone(), observer)?;
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

    /// Prunes the cache by the default limits; what was used after `since` stays.
    pub fn prune(&self, since: SystemTime) {
        self.workshop.prune(since);
    }

    /// The failure with what is kept after an interrupt, and how to go on.
    pub fn with_what_is_kept(&self, failure: Failure) -> Failure {
        if failure.exit() != Exit::Interrupted {
            return failure;
        }
        let store = self.project.store();
        match self.conditions.interrupt.kept() {
            Kept::Nothing => failure,
            Kept::Compilations => failure.because("every finished compilation is kept"),
            Kept::Executions => failure
                .because(format!("every finished execution is kept in {}", store.display()))
                .hint("run the same command again to resume"),
        }
    }
}
