//! Begins an experiment in the store or resumes an unfinished one, and finishes it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Builds, ListedVersion, Runner};
use crate::{
    builds::Event,
    error::{Error, Result},
    model::{BenchTarget, Benchmark, ExperimentPlan, PlannedVersion, Slot, Stage, Version},
    store::{ExperimentId, RecordedBuild, Store, UnfinishedExperiment},
};

/// An experiment in the store, and the executions that earlier runs of it finished.
pub struct StartedExperiment {
    pub id: ExperimentId,
    /// Its name in every store that has it, also after an import.
    pub identity: String,
    /// The executions that gave measurements in an earlier run.
    pub(super) done: HashSet<(Benchmark, Slot)>,
    /// The differences, as texts for people, to the newest experiment on the same files, where that
    /// was interrupted and cannot be resumed by this one.
    pub not_resumed: Vec<String>,
}

impl StartedExperiment {
    /// The number of executions that an earlier run left.
    pub fn resumed(&self) -> usize {
        self.done.len()
    }
}

impl Runner<'_> {
    pub fn plan_of(&self, versions: &[ListedVersion], benchmarks: &[Benchmark]) -> ExperimentPlan {
        self.plan(versions.iter().map(ListedVersion::planned).collect(), benchmarks)
    }

    /// Begins an experiment on these benchmarks in the store, or resumes it if it is there
    /// unfinished.
    pub fn begin(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
        builds: &Builds,
    ) -> Result<StartedExperiment> {
        let experiment = self.begin_planned(&self.plan_of(versions, benchmarks), builds)?;
        if let Some(state) = &self.machine_state {
            self.store.record_machine_state(experiment.id, state)?;
        }
        Ok(experiment)
    }

    pub(super) fn begin_planned(
        &self,
        plan: &ExperimentPlan,
        builds: &Builds,
    ) -> Result<StartedExperiment> {
        let builds = builds.records();
        let experiment = begin_or_resume(&self.store, plan, &builds)?;
        self.store.record_builds(experiment.id, builds)?;
        self.conditions.interrupt.keep_executions();
        Ok(experiment)
    }

    /// Records as a separate experiment that a version cannot be built.
    pub fn record_unbuildable(&self, version: &Version, error: &Error) -> Result<()> {
        let toolchain = self.compiler(version);
        let plan = self.plan(vec![PlannedVersion { version: version.clone(), toolchain }], &[]);
        let id = self.store.begin(&plan)?;
        self.store.record_unbuildable(id, 0, error)?;
        self.store.finish(id)
    }

    /// Records the builds of a later stage. Executions of an earlier run are measured again where
    /// these builds are other programs.
    pub fn record_builds(
        &self,
        experiment: &mut StartedExperiment,
        stage: Stage,
        builds: &Builds,
    ) -> Result<()> {
        for target in record_stage(&self.store, experiment, stage, builds.records())? {
            self.observer.build_event(&Event::Note(&format!(
                "the builds of {target} differ from those of the interrupted run, \
                 and are measured again"
            )));
        }
        Ok(())
    }

    pub fn finish(&self, experiment: &StartedExperiment) -> Result<()> {
        self.store.finish(experiment.id)
    }
}

/// Begins an experiment with this plan and these builds in the store, or resumes it if it is there
/// unfinished.
fn begin_or_resume(
    store: &Store<'_>,
    plan: &ExperimentPlan,
    builds: &[RecordedBuild],
) -> Result<StartedExperiment> {
    let not_resumed =
        if let Some(UnfinishedExperiment { id, done, .. }) = store.find_unfinished(plan)? {
            let others = with_other_programs(&store.builds(id)?, builds);
            if others.is_empty() {
                let identity = store.identity(id)?;
                return Ok(StartedExperiment { id, identity, done, not_resumed: Vec::new() });
            }
            others.iter().map(|target| format!("programs of {target}")).collect()
        } else {
            let experiments = store.experiments()?;
            let all = experiments.iter().map(|stored| (&stored.plan, stored.finished.is_some()));
            what_differs(all, plan)
        };
    let id = store.begin(plan)?;
    Ok(StartedExperiment { id, identity: store.identity(id)?, done: HashSet::new(), not_resumed })
}

/// Stores the builds of a later stage, and returns the bench targets whose builds are other
/// programs now. Executions of these in the stage are forgotten: otherwise, executions of two
/// programs would be compared as if they were of one.
fn record_stage(
    store: &Store<'_>,
    experiment: &mut StartedExperiment,
    stage: Stage,
    builds: Vec<RecordedBuild>,
) -> Result<BTreeSet<BenchTarget>> {
    let others = with_other_programs(&store.builds(experiment.id)?, &builds);
    for target in &others {
        store.forget_executions(experiment.id, stage, target)?;
    }
    experiment.done.retain(|(benchmark, slot)| {
        slot.stage != stage || !others.contains(&benchmark.bench_target())
    });
    store.record_builds(experiment.id, builds)?;
    Ok(others)
}

/// The bench targets whose builds are other programs than those that an earlier run executed. The
/// same files can be compiled to another program: with other dependencies, where the lock file is
/// not part of a version, with another configuration of cargo, or by a build script that reads
/// other things.
fn with_other_programs(earlier: &[RecordedBuild], now: &[RecordedBuild]) -> BTreeSet<BenchTarget> {
    let key = |build: &RecordedBuild| (build.version, build.target.clone(), build.seed);
    let now: BTreeMap<_, _> = now.iter().map(|build| (key(build), build)).collect();
    let is_other = |build: &&RecordedBuild| now.get(&key(build)).is_some_and(|now| now != build);
    earlier.iter().filter(is_other).map(|build| build.target.clone()).collect()
}

/// The differences to the newest experiment on the same files, if that was interrupted on this
/// machine. `earlier` has the plans oldest first, with true for finished ones. Imported experiments
/// are ignored.
fn what_differs<'p>(
    earlier: impl DoubleEndedIterator<Item = (&'p ExperimentPlan, bool)>,
    plan: &ExperimentPlan,
) -> Vec<String> {
    let versions = |plan: &ExperimentPlan| -> Vec<String> {
        plan.versions.iter().map(|planned| planned.version.identity()).collect()
    };
    let targets = |plan: &ExperimentPlan| -> BTreeSet<BenchTarget> {
        plan.benchmarks.iter().map(|planned| planned.benchmark.bench_target()).collect()
    };
    let is_like = |other: &ExperimentPlan| {
        let is_here = other.machine.id == plan.machine.id && versions(other) == versions(plan);
        // Where targets are compared one after the other, another experiment has their benchmarks.
        let [own, others] = [plan, other].map(targets);
        let is_of_others = !own.is_empty() && !others.is_empty() && own.is_disjoint(&others);
        is_here
            && !is_of_others
            && other.is_diagnosis() == plan.is_diagnosis()
            && other.counts_like(plan)
    };
    let mut newest_first = earlier.rev();
    match newest_first.find(|(other, _)| is_like(other)) {
        Some((interrupted, false)) => interrupted.differences(plan),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use rbench_code::elf::Digest;

    use super::*;
    use crate::model::{
        Layout, LayoutSeed, Metric, Name, PlannedVersion, SampleSizes, Series, testing,
    };

    fn plan(tree: &str, seed: u64, machine: &str) -> ExperimentPlan {
        let version = Version {
            revision: "HEAD".to_owned(),
            commit: None,
            tree: tree.to_owned(),
            dirty: false,
            summary: String::new(),
            time: None,
            variant: None,
        };
        ExperimentPlan {
            versions: vec![PlannedVersion { version, toolchain: "rustc 1".to_owned() }],
            benchmarks: Vec::new(),
            machine: testing::machine(machine).into(),
            rbench: "0.1.0".to_owned(),
            settings: "{}".into(),
            settings_key: "k".into(),
            sample_sizes: SampleSizes {
                first_analysis: None,
                builds: 10,
                executions: 2,
                measurements: 10,
            },
            seed,
        }
    }

    #[test]
    fn earlier_run_measures_the_same_metrics() {
        let of = |settings: &str| ExperimentPlan {
            settings: settings.into(),
            settings_key: settings.into(),
            ..plan("t", 1, "m")
        };
        let allocations = of(r#"{"counting":1,"counted":"allocations"}"#);
        let instructions = of(r#"{"counting":1}"#);
        let times = of("{}");
        let differs = |other, plan| !what_differs([(other, false)].into_iter(), plan).is_empty();
        assert!(!differs(&allocations, &instructions));
        assert!(!differs(&instructions, &times));
        let elsewhere = of(r#"{"counting":1,"profile":"bench"}"#);
        assert!(differs(&elsewhere, &instructions));
    }

    #[test]
    fn differences_are_of_newest_run_on_same_files_and_machine() {
        let new = plan("a", 2, "here");
        let differs = |earlier: &[(ExperimentPlan, bool)]| {
            what_differs(earlier.iter().map(|(plan, finished)| (plan, *finished)), &new)
        };
        let interrupted = || (plan("a", 1, "here"), false);
        assert_eq!(differs(&[interrupted()]), ["seed: 1, not 2"]);
        assert_eq!(differs(&[interrupted(), (plan("b", 1, "here"), true)]), ["seed: 1, not 2"]);
        assert_eq!(differs(&[interrupted(), (plan("a", 1, "here"), true)]), [""; 0]);
        assert_eq!(differs(&[(plan("b", 1, "here"), false)]), [""; 0]);
        assert_eq!(differs(&[(plan("a", 1, "elsewhere"), false)]), [""; 0]);
    }

    /// A build of the only version.
    fn build(seed: u32, program: &str) -> RecordedBuild {
        RecordedBuild {
            version: 0,
            target: BenchTarget { package: "p".to_owned(), target: "t".to_owned() },
            seed: LayoutSeed::new(seed).unwrap(),
            layout: Layout::SameOrder,
            digest: Digest::compute(program.as_bytes()),
        }
    }

    #[test]
    fn experiment_is_resumed_only_with_the_same_programs() {
        let store = Store::in_memory().unwrap();
        let plan = plan("a", 1, "here");
        let begin = |builds: &[RecordedBuild]| {
            let experiment = begin_or_resume(&store, &plan, builds).unwrap();
            store.record_builds(experiment.id, builds.to_vec()).unwrap();
            experiment
        };
        let first = begin(&[build(1, "a"), build(2, "b")]);
        // Of another stage.
        store.record_builds(first.id, [build(9, "c")]).unwrap();
        let same = begin(&[build(1, "a"), build(2, "b")]);
        assert_eq!((same.id, same.not_resumed), (first.id, Vec::new()));
        let other = begin(&[build(1, "a"), build(2, "with another dependency")]);
        assert_ne!(other.id, first.id);
        assert_eq!(other.not_resumed, ["programs of p/t"]);
        let layout = Layout::Default;
        let arranged = begin(&[RecordedBuild { layout, ..build(1, "a") }]);
        assert_ne!(arranged.id, other.id);
        let before = store.builds(first.id).unwrap();
        assert_eq!(before, [build(1, "a"), build(2, "b"), build(9, "c")]);
    }

    #[test]
    fn later_stage_of_other_programs_is_measured_again() {
        let store = Store::in_memory().unwrap();
        let plan = plan("a", 1, "here");
        let resume = || begin_or_resume(&store, &plan, &[build(1, "a")]).unwrap();
        let (package, target) = ("p".to_owned(), "t".to_owned());
        let benchmark = Benchmark { package, target, name: Name::plain("one") };
        let first = resume();
        store.record_builds(first.id, [build(1, "a"), build(9, "b")]).unwrap();
        for (stage, seed) in [(Stage::First, 1), (Stage::Second, 9)] {
            let slot = Slot { version: 0, stage, round: 0, seed: LayoutSeed::new(seed).unwrap() };
            let series = Series {
                metric: Metric::wall(),
                values: vec![1.0],
                iterations: vec![1],
                resolution: 0.0,
            };
            let execution = testing::execution(testing::request(), vec![series]);
            store.record_execution(first.id, &benchmark, slot, Ok(&execution)).unwrap();
        }
        let done_with = |program: &str| {
            let mut experiment = resume();
            assert_eq!(experiment.id, first.id);
            let builds = vec![build(9, program)];
            let others = record_stage(&store, &mut experiment, Stage::Second, builds).unwrap();
            let stored = store.rows(&benchmark, &[first.id]).unwrap().len();
            assert_eq!(experiment.resumed(), stored);
            (others.len(), stored)
        };
        assert_eq!(done_with("b"), (0, 2));
        assert_eq!(done_with("with another dependency"), (1, 1));
        assert_eq!(done_with("with another dependency"), (0, 1));
    }
}
