//! The outcome of a comparison as a plain value. Reports only read it.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rbench_code::elf::FunctionDiff;
use rbench_stats::Criteria;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    explained_time::ExplainedTime, explanations::ExplainedBenchmark, sizes::TargetSizes,
    warning::Warning,
};
use crate::{
    error::Exit,
    model::{
        AbsentBenchmark, BenchTarget, Benchmark, DependencyChange, Disturbance, FailedTarget,
        IdleAcceptance, Machine, Partition, RemovedBenchmark, SampleSizes, SandboxState, Version,
        VersionChanges,
    },
    verdict::{Counts, DecidedRow, ExitPolicy, UnmeasuredIn, VerdictKind},
};

/// The comparison of two versions.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The version that the other is compared with.
    pub base: Version,
    pub head: Version,
    /// The commits and uncommitted files by which they differ.
    pub changes: VersionChanges,
    /// The compilers of base and head, if they differ.
    pub compilers: Option<[String; 2]>,
    pub criteria: Criteria,
    /// True in a job, where the base decides what a change must not decide about itself.
    pub base_decides: bool,
    /// A warning if the base decides, and the head has other settings.
    pub base_warning: Option<Warning>,
    /// The requested sample sizes, where no benchmark has its own; absent where nothing was
    /// measured, and for stored results, whose sample sizes are in [`stored`](Self::stored).
    pub sample_sizes: Option<SampleSizes>,
    pub machine: Option<Machine>,
    /// The state of the machine before the measurements, as a text for people.
    pub environment: Option<String>,
    /// Whether the sandbox confined the code, where that is worth a line; absent for stored results.
    pub sandbox: Option<SandboxState>,
    /// The experiments of stored results, oldest first; empty for new measurements.
    pub stored: Vec<ComparedExperiment>,
    /// The time of measuring, without compiling and the first links; absent where nothing was
    /// measured.
    pub spent: Option<Duration>,
    /// The average time to make one build of a bench target in both versions, where builds were made.
    pub build_times: Vec<(BenchTarget, Duration)>,
    /// The number of interleaved benchmarks that were executed at once, where any was measured.
    pub parallel: Option<u32>,
    /// Reasons to trust the numbers less that the rows do not show.
    pub warnings: Vec<Warning>,
    /// The differences of functions, for each bench target that was measured because its programs
    /// differ.
    pub functions: Vec<(BenchTarget, FunctionDiff)>,
    /// The external packages whose versions differ, in the order of names; empty for stored
    /// results, where they are unknown.
    pub dependencies: Vec<DependencyChange>,
    /// The partition of all benchmarks that was compared; absent if all were.
    pub partition: Option<Partition>,
    /// The bench targets that were not compiled, since their names and sources lack words of the filter.
    pub left_out: Vec<BenchTarget>,
    /// The benchmarks of both versions, a row for each metric, in the order of definition.
    pub rows: Vec<DecidedRow>,
    /// The check of skipped benchmarks, if there was time for one.
    pub audit: Option<Audited>,
    /// Explanations of changed instruction counts, if they were requested.
    pub explanations: Vec<ExplainedBenchmark>,
    /// Explanations of changed times, if they were requested.
    pub time_explanations: Vec<ExplainedTime>,
    /// The benchmarks whose instruction counts can be explained on this machine.
    pub explainable: Vec<Benchmark>,
    /// The sizes of executables, if these are compared.
    pub sizes: Vec<TargetSizes>,
    /// True if only compilations were compared: nothing was run, and nothing is stored.
    pub only_compilations: bool,
    /// Benchmarks that only the head has.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub removed: Vec<RemovedBenchmark>,
    /// Accepted slowdowns that no longer change a verdict.
    pub idle: Vec<IdleAcceptance>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<UnlistedTarget>,
}

/// A bench target whose benchmarks could not be listed, and the versions in which that failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnlistedTarget {
    #[serde(flatten)]
    pub failed: FailedTarget,
    /// Where it failed; unknown in earlier documents.
    #[serde(rename = "version", default, skip_serializing_if = "Option::is_none")]
    pub unlisted_in: Option<UnmeasuredIn>,
}

impl UnlistedTarget {
    pub const fn new(failed: FailedTarget, unlisted_in: UnmeasuredIn) -> Self {
        Self { failed, unlisted_in: Some(unlisted_in) }
    }

    /// The error after the versions, as for a row: `in both: …`.
    pub fn reason(&self) -> String {
        let place = self.unlisted_in.map(|place| format!("in {}: ", place.name()));
        format!("{}{}", place.unwrap_or_default(), self.failed.error)
    }
}

/// The result of an audit: skipped benchmarks were measured all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// The number of skipped benchmarks, of which some were drawn.
    pub skipped: usize,
    /// The benchmarks that were measured.
    pub measured: Vec<Benchmark>,
    /// The measured benchmarks that differ, confirmed by fresh builds, although they were skipped.
    pub differing: Vec<Benchmark>,
    /// If any differ: the directories with the traces of base and head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<PathBuf>,
}

/// An experiment whose stored results are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedExperiment {
    /// Its identity in every store:
    /// [`StoredExperiment::identity`](crate::store::StoredExperiment::identity).
    pub identity: String,
    pub started: SystemTime,
    pub sample_sizes: SampleSizes,
}

impl Outcome {
    /// A comparison of base and head without benchmarks yet.
    pub fn new([base, head]: [Version; 2], criteria: Criteria) -> Self {
        Self { base, head, criteria, ..Self::default() }
    }

    /// Sets the benchmarks that only one version has: the base is version 0, the head is version 1.
    pub fn set_absent(&mut self, absent: Vec<AbsentBenchmark>) {
        let (of_base, of_head): (Vec<_>, Vec<_>) =
            absent.into_iter().partition(|one| one.version == 0);
        self.added = of_base.into_iter().map(|one| one.benchmark).collect();
        let removed = of_head.into_iter().map(|one| (one.benchmark, one.absence)).collect();
        self.removed = RemovedBenchmark::with_renames(removed, &self.added);
    }

    /// Adds counted results of the same versions: their rows come behind those of the same
    /// benchmark.
    pub fn add_counts(&mut self, counted: Self) {
        let place = |rows: &[DecidedRow], one: &DecidedRow| {
            rows.iter().rposition(|row| row.benchmark == one.benchmark)
        };
        for row in counted.rows.into_iter().filter(|row| row.metric.is_some()) {
            let place = place(&self.rows, &row).map_or(self.rows.len(), |place| place + 1);
            self.rows.insert(place, row);
        }
        self.stored.extend(counted.stored);
    }

    /// Adds the comparison of the compilations of the same versions. Its rows come last.
    pub fn add_compilations(&mut self, compiled: Self) {
        self.rows.extend(compiled.rows);
        self.sizes.extend(compiled.sizes);
    }

    /// Adds the results of other bench targets of the same versions.
    pub fn add_targets(&mut self, other: Self) {
        self.sample_sizes = self.sample_sizes.or(other.sample_sizes);
        self.machine = self.machine.take().or(other.machine);
        self.environment = self.environment.take().or(other.environment);
        self.spent = match (self.spent, other.spent) {
            (Some(one), Some(another)) => Some(one + another),
            (one, another) => one.or(another),
        };
        self.build_times.extend(other.build_times);
        self.parallel = self.parallel.or(other.parallel);
        Warning::add_all(other.warnings, &mut self.warnings);
        self.functions.extend(other.functions);
        self.rows.extend(other.rows);
        self.explanations.extend(other.explanations);
        self.time_explanations.extend(other.time_explanations);
        self.explainable.extend(other.explainable);
        self.added.extend(other.added);
        self.removed.extend(other.removed);
        for idle in other.idle {
            if !self.idle.contains(&idle) {
                self.idle.push(idle);
            }
        }
        self.failed_targets.extend(other.failed_targets);
    }

    /// Adds a warning for each kind of disturbance that is not among the warnings yet.
    pub fn add_disturbances(&mut self, disturbances: impl IntoIterator<Item = Disturbance>) {
        let disturbances = disturbances.into_iter().map(Warning::Disturbance);
        Warning::add_all(disturbances, &mut self.warnings);
    }

    /// The numbers of benchmarks of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    fn counts_of(&self, is_meant: impl Fn(&DecidedRow) -> bool) -> Counts {
        let rows = self.rows.iter().filter(|row| is_meant(row));
        let skipped_in_head = self.rows.iter().filter(|row| row.is_skipped_in_head()).count();
        let (added, removed) = (self.added.len(), self.removed.len());
        let others = [added, removed, skipped_in_head, self.failed_targets.len()];
        Counts::count(rows.map(|row| VerdictKind::new(&row.verdict)), others)
    }

    /// The exit code of a command that makes these comparisons.
    pub fn exit(outcomes: &[Self], policy: &ExitPolicy) -> Exit {
        let has_defect =
            |one: &Self| one.audit.as_ref().is_some_and(|one| !one.differing.is_empty());
        // The verdicts of this and of other comparisons are then in doubt.
        if outcomes.iter().any(has_defect) {
            return Exit::Internal;
        }
        let counts = |one: &Self| one.counts_of(|row| policy.decides(row, &one.rows));
        policy.exit(outcomes.iter().map(counts))
    }

    /// True if there is nothing to report about any benchmark.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.failed_targets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::Error,
        report::testing::{benchmark, decided_row, inconclusive, removed, target, version},
        verdict::{Repetition, UnmeasuredIn, Verdict},
    };

    fn outcome(rows: Vec<DecidedRow>) -> Outcome {
        let versions = [version("main", 'a'), version("HEAD", 'b')];
        Outcome { rows, ..Outcome::new(versions, Criteria::default()) }
    }

    fn policy(ignores_regressions: bool, inconclusive: bool) -> ExitPolicy {
        ExitPolicy { ignores_regressions, inconclusive, ..ExitPolicy::default() }
    }

    #[test]
    fn exit_fails_for_failed_but_not_skipped_benchmarks() {
        let row = |verdict| DecidedRow::without_metric(&benchmark("a"), verdict);
        let failed = || row(Verdict::Failed { reason: "x".to_owned() });
        let exit = |outcome: Outcome, policy| Outcome::exit(&[outcome], &policy);
        let strict = |rows| exit(outcome(rows), policy(false, true));
        let skipped = Verdict::Skipped { reason: String::new() };
        let regressed = decided_row("a", 812.0, &[1.4, 1.38], 0.01, 0.01);
        let inconclusive = inconclusive("a", Repetition::Builds, 30, 0.01);
        let reason = "cannot execute it\n  2 benchmarks have this id; give each a name of its own"
            .to_owned();
        let twice = row(Verdict::Failed { reason });
        let [twice, in_head] = [UnmeasuredIn::Both, UnmeasuredIn::Head]
            .map(|place| DecidedRow { unmeasured_in: Some(place), ..twice.clone() });
        assert_eq!(strict(vec![twice.clone(), row(Verdict::Identical)]), Exit::Success);
        assert_eq!(strict(vec![twice, failed()]), Exit::Benchmark);
        assert_eq!(strict(vec![in_head]), Exit::Benchmark);
        assert_eq!(strict(vec![row(skipped.clone()), row(Verdict::Identical)]), Exit::Success);
        for nothing_compared in [vec![], vec![row(skipped)]] {
            assert_eq!(strict(nothing_compared.clone()), Exit::Inconclusive);
            assert_eq!(exit(outcome(nothing_compared), policy(false, false)), Exit::Success);
        }
        assert_eq!(strict(vec![inconclusive.clone()]), Exit::Inconclusive);
        let not_comparable = Verdict::NotComparable { reason: "no common metric".to_owned() };
        assert_eq!(strict(vec![row(not_comparable)]), Exit::Inconclusive);
        assert_eq!(strict(vec![inconclusive, failed()]), Exit::Benchmark);
        assert_eq!(strict(vec![regressed.clone(), failed()]), Exit::Regression);
        assert_eq!(exit(outcome(vec![regressed]), policy(true, true)), Exit::Success);
        let error = Error::new(Exit::Benchmark, "cannot list it");
        let targets = Outcome {
            failed_targets: vec![UnlistedTarget::new(
                FailedTarget { target: target("other"), error },
                UnmeasuredIn::Head,
            )],
            ..outcome(vec![])
        };
        assert_eq!(exit(targets, policy(false, false)), Exit::Benchmark);
    }

    #[test]
    fn benchmark_that_only_the_head_skips_is_missing() {
        let skipped = |unmeasured_in| {
            let verdict = Verdict::Skipped { reason: "no AVX".to_owned() };
            let row = DecidedRow::without_metric(&benchmark("a"), verdict);
            outcome(vec![DecidedRow { unmeasured_in: Some(unmeasured_in), ..row }])
        };
        let missing = ExitPolicy { missing: true, ..ExitPolicy::default() };
        for (unmeasured_in, exit) in [
            (UnmeasuredIn::Head, Exit::Benchmark),
            (UnmeasuredIn::Base, Exit::Success),
            (UnmeasuredIn::Both, Exit::Success),
        ] {
            let outcomes = [skipped(unmeasured_in)];
            assert_eq!(Outcome::exit(&outcomes, &missing), exit);
            assert_eq!(Outcome::exit(&outcomes, &ExitPolicy::default()), Exit::Success);
        }
        assert_eq!(
            skipped(UnmeasuredIn::Head).counts().all_words(),
            "1 skipped, 1 missing in the head"
        );
    }

    #[test]
    fn ci_fails_if_it_compared_nothing_that_was_there() {
        let policy = ExitPolicy { nothing_compared: true, ..ExitPolicy::default() };
        let exit = |outcomes: &[Outcome]| Outcome::exit(outcomes, &policy);
        let row = |verdict| DecidedRow::without_metric(&benchmark("a"), verdict);
        let compared = outcome(vec![row(Verdict::Identical)]);
        let renamed = Outcome {
            added: vec![benchmark("new")],
            removed: vec![removed(benchmark("old"))],
            ..outcome(vec![])
        };
        let skipped = outcome(vec![row(Verdict::Skipped { reason: String::new() })]);
        for nothing in [renamed.clone(), skipped, outcome(vec![])] {
            assert_eq!(exit(&[nothing]), Exit::Benchmark);
        }
        assert_eq!(exit(&[renamed.clone(), compared]), Exit::Success);
        let first = Outcome { removed: vec![], ..renamed };
        assert_eq!(exit(&[first]), Exit::Success, "there was nothing to compare it with");
    }

    #[test]
    fn exit_includes_every_comparison() {
        let row = |factors: &[f64]| decided_row("parse/1", 812.0, factors, 0.01, 0.002);
        let drifted = [outcome(vec![row(&[1.004])]), outcome(vec![row(&[1.083, 1.081])])];
        assert_eq!(Outcome::exit(&drifted, &policy(false, false)), Exit::Regression);
        assert_eq!(Outcome::exit(&drifted, &policy(true, false)), Exit::Success);
        assert_eq!(Outcome::exit(&drifted[..1], &policy(false, true)), Exit::Success);
    }
}
