//! The measurements of a comparison, read from rbench's store as rbench itself reads it.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    path::Path,
    time::{Duration, SystemTime},
};

use cargo_rbench::{
    model::{
        Benchmark, Execution, HarnessKind, LayoutSeed, MANY_SWITCHES, Metric, Resources, Stage,
    },
    store::{Store, StoredExperiment},
    verdict::{BenchmarkResults, Results, VersionRef},
};

use crate::answer::Report;

#[derive(Debug)]
pub struct Subject {
    /// The duration of its executions, from the start of each pair of executions to its end.
    pub measuring: Duration,
    /// The part of that spent in warm-ups and measurements, summed over both versions.
    pub inside: Duration,
    /// The number of builds of each version in the first stage.
    pub first_builds: usize,
    /// The number of builds in the second stage, all fresh.
    pub fresh_builds: usize,
    pub executions: usize,
    /// The number of executions that other processes preempted often.
    pub preempted: usize,
}

pub fn subjects(store: &Path, report: &Report, seed: u64) -> Result<Vec<Subject>, Box<dyn Error>> {
    let store = Store::open(store, &|| ())?;
    let experiment = experiment(&store, report, seed)?;
    let planned: Vec<Benchmark> =
        experiment.plan.benchmarks.iter().map(|planned| planned.benchmark.clone()).collect();
    let results = Results::new(&store, vec![experiment]);
    let subject = |benchmark| Ok(counted(&results.benchmark(benchmark, [0])?));
    planned.iter().map(subject).collect()
}

/// The last finished experiment over the report's versions with this seed.
fn experiment(
    store: &Store<'_>,
    report: &Report,
    seed: u64,
) -> Result<StoredExperiment, Box<dyn Error>> {
    let versions = [&report.base.commit, &report.head.commit];
    let is_wanted = |experiment: &StoredExperiment| {
        let planned = || experiment.plan.versions.iter().map(|planned| &planned.version);
        experiment.finished.is_some()
            && experiment.plan.seed == seed
            && planned().map(|version| &version.commit).eq(versions)
    };
    let mut experiments = store.experiments()?.into_iter().rev();
    experiments.find(is_wanted).ok_or_else(|| format!("seed {seed} is not in the store").into())
}

/// Base and head.
const VERSIONS: [VersionRef; 2] =
    [VersionRef { experiment: 0, version: 0 }, VersionRef { experiment: 0, version: 1 }];

fn counted(of_benchmark: &BenchmarkResults<'_>) -> Subject {
    let mut subject = Subject {
        measuring: Duration::ZERO,
        inside: Duration::ZERO,
        first_builds: 0,
        fresh_builds: 0,
        executions: 0,
        preempted: 0,
    };
    let mut pairs: BTreeMap<(Stage, u32, LayoutSeed), Vec<&Resources>> = BTreeMap::new();
    let mut builds: BTreeMap<Stage, BTreeSet<LayoutSeed>> = BTreeMap::new();
    for row in VERSIONS.iter().flat_map(|version| of_benchmark.rows(*version)) {
        let Ok(execution) = &row.outcome else { continue };
        let slot = row.slot;
        pairs.entry((slot.stage, slot.round, slot.seed)).or_default().push(&execution.resources);
        builds.entry(slot.stage).or_default().insert(slot.seed);
        subject.inside += inside(&of_benchmark.benchmark, execution);
        subject.executions += 1;
        subject.preempted += usize::from(is_preempted(&execution.resources));
    }
    subject.measuring = pairs.values().map(|pair| duration(pair)).sum();
    let count = |stage| builds.get(&stage).map_or(0, BTreeSet::len);
    (subject.first_builds, subject.fresh_builds) = (count(Stage::First), count(Stage::Second));
    subject
}

/// The duration of a pair of executions. If they overlap, it lasts from the first start to the last
/// end; otherwise it is the sum of both, without any time between them.
fn duration(pair: &[&Resources]) -> Duration {
    let begin = pair.iter().map(|one| one.start).min();
    let end = pair.iter().map(|one| one.start + one.wall).max();
    let (begin, end) = begin.zip(end).unwrap_or((SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH));
    let span = end.duration_since(begin).unwrap_or_default();
    span.min(pair.iter().map(|one| one.wall).sum())
}

/// The time of warm-up and measurements in an execution.
fn inside(benchmark: &Benchmark, execution: &Execution) -> Duration {
    let is_by = |kind: HarnessKind| benchmark.target == format!("by_{}", kind.name());
    let Execution { asked, warm_up, .. } = execution;
    let measured = execution.measured_time();
    // Divan gives one median for all of its samples unless it is interleaved, and has no warm-up.
    if is_by(HarnessKind::Divan) {
        let of_each = asked.measurements as f64 / execution.measurements().max(1) as f64;
        return measured.mul_f64(of_each);
    }
    let warm_up = warm_up.unwrap_or(asked.warm_up);
    measured + if is_by(HarnessKind::Criterion) { doubled(warm_up, execution) } else { warm_up }
}

/// The duration of a Criterion.rs warm-up, which doubles the number of iterations until this time
/// is over.
fn doubled(warm_up: Duration, execution: &Execution) -> Duration {
    let wall = execution.series_of(&Metric::wall());
    let iterations: u64 = wall.into_iter().flat_map(|wall| &wall.iterations).sum();
    let of_one = execution.measured_time().div_f64(iterations.max(1) as f64);
    let mut times =
        (1..u64::BITS).map(|doublings| of_one.mul_f64(((1_u64 << doublings) - 1) as f64));
    times.find(|time| *time > warm_up).unwrap_or(warm_up)
}

/// True if an execution was preempted more often than on a quiet machine, by the limit of rbench's
/// warning.
fn is_preempted(resources: &Resources) -> bool {
    let allowed = f64::from(MANY_SWITCHES) * resources.wall.as_secs_f64().max(0.1);
    resources.involuntary_switches as f64 > allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(start: u64, wall: u64, involuntary_switches: u64) -> Resources {
        Resources {
            start: SystemTime::UNIX_EPOCH + Duration::from_secs(start),
            wall: Duration::from_secs(wall),
            user: Duration::ZERO,
            system: Duration::ZERO,
            peak_memory: None,
            voluntary_switches: 0,
            involuntary_switches,
            at_end: None,
        }
    }

    #[test]
    fn overlapping_executions_take_their_span_others_their_sum() {
        let (first, beside, later) = (ran(10, 4, 0), ran(11, 4, 0), ran(50, 4, 0));
        assert_eq!(duration(&[&first, &beside]), Duration::from_secs(5));
        assert_eq!(duration(&[&first, &later]), Duration::from_secs(8));
        assert_eq!(duration(&[]), Duration::ZERO);
    }

    #[test]
    fn preempted_execution_has_many_switches_in_its_time() {
        assert!(is_preempted(&ran(0, 1, 51)) && !is_preempted(&ran(0, 1, 50)));
    }
}
