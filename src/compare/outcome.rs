//! What came of a comparison, as a plain value: whoever reports it only reads it.

use std::time::{Duration, SystemTime};

use super::{explanations::ExplainedBenchmark, warning::Warning};
use crate::{
    elf::FunctionDiff,
    error::{Error, Exit},
    model::{
        BenchTarget, Benchmark, DependencyChange, Disturbance, IdleAcceptance, Machine, Partition,
        SampleSizes, Version,
    },
    stats::Criteria,
    verdict::{Counts, DecidedRow, ExitPolicy, VerdictKind},
};

/// The comparison of two versions.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The version that the other is compared with.
    pub base: Version,
    /// The version that is judged.
    pub head: Version,
    /// How benchmarks were judged.
    pub criteria: Criteria,
    /// What was requested of the experiment, as far as no benchmark has its own; absent where nothing was
    /// measured, and for stored results, which have their own in [`stored`](Self::stored).
    pub sample_sizes: Option<SampleSizes>,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// What of the machine mattered to measurements before they began, for people.
    pub environment: Option<String>,
    /// For stored results, the experiments that they are from, oldest first; empty where the results were
    /// just measured.
    pub stored: Vec<ComparedExperiment>,
    /// How long measuring took, without compiling and the first links; absent where nothing was measured.
    pub spent: Option<Duration>,
    /// What makes the numbers less sure, as far as the rows do not tell it.
    pub warnings: Vec<Warning>,
    /// How the functions of each bench target differ that was measured because its programs differ.
    pub functions: Vec<(BenchTarget, FunctionDiff)>,
    /// The packages from elsewhere of which the versions use other versions, in the order of names; empty for
    /// stored results, of which that is not known.
    pub dependencies: Vec<DependencyChange>,
    /// Which part of all benchmarks this is about; absent where it is about all.
    pub partition: Option<Partition>,
    /// The benchmarks of both versions, a row for each metric, in the order of definition.
    pub rows: Vec<DecidedRow>,
    /// Where the instructions of benchmarks went that execute more or fewer, if that was to be found out.
    pub explanations: Vec<ExplainedBenchmark>,
    /// The benchmarks that can be explained on this machine.
    pub explainable: Vec<Benchmark>,
    /// Benchmarks that only the head has.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub removed: Vec<Benchmark>,
    /// Slowdowns that were accepted, where that changes no verdict any more.
    pub idle: Vec<IdleAcceptance>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<(BenchTarget, Error)>,
    /// The comparison of the same head with a release, if it was judged against one as well.
    pub also: Option<Box<Self>>,
}

/// An experiment whose stored results are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedExperiment {
    /// By which it is known in every store: [`StoredExperiment::identity`](crate::store::StoredExperiment::identity).
    pub identity: String,
    /// When it began.
    pub started: SystemTime,
    /// What was requested of it.
    pub sample_sizes: SampleSizes,
}

impl Outcome {
    /// A comparison of base and head without benchmarks yet.
    pub fn new([base, head]: [Version; 2], criteria: Criteria) -> Self {
        Self {
            base,
            head,
            criteria,
            sample_sizes: None,
            machine: None,
            environment: None,
            stored: Vec::new(),
            spent: None,
            warnings: Vec::new(),
            functions: Vec::new(),
            dependencies: Vec::new(),
            partition: None,
            rows: Vec::new(),
            explanations: Vec::new(),
            explainable: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            idle: Vec::new(),
            failed_targets: Vec::new(),
            also: None,
        }
    }

    /// Adds what was counted of the same versions: its rows stand behind those of the same benchmark.
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

    /// Warns of what disturbs, or disturbed, the measurements: of each kind once.
    pub fn add_disturbances(&mut self, disturbances: impl IntoIterator<Item = Disturbance>) {
        for disturbance in disturbances {
            Warning::Disturbance(disturbance).add_to(&mut self.warnings);
        }
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    fn counts_of(&self, is_meant: impl Fn(&DecidedRow) -> bool) -> Counts {
        let rows = self.rows.iter().filter(|row| is_meant(row));
        let kinds: Vec<_> = rows.map(|row| VerdictKind::new(&row.verdict)).collect();
        Counts {
            added: self.added.len(),
            removed: self.removed.len(),
            failed_targets: self.failed_targets.len(),
            ..Counts::count(&kinds)
        }
    }

    /// The exit code of a command that compares. A comparison with a release counts as much as that with the base.
    pub fn exit(&self, policy: &ExitPolicy) -> Exit {
        let both = std::iter::once(self).chain(self.also.as_deref());
        policy.exit(both.map(|one| one.counts_of(|row| policy.decides(row, &one.rows))))
    }

    /// Whether there is nothing to report of any benchmark.
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
        report::testing::{benchmark, decided_row, inconclusive, target, version},
        stats::Verdict,
        verdict::Repetition,
    };

    fn outcome(rows: Vec<DecidedRow>) -> Outcome {
        let versions = [version("main", 'a'), version("HEAD", 'b')];
        Outcome { rows, ..Outcome::new(versions, Criteria::default()) }
    }

    fn policy(advisory: bool, inconclusive: bool) -> ExitPolicy {
        ExitPolicy { ignores_regressions: advisory, inconclusive, ..ExitPolicy::default() }
    }

    #[test]
    fn failed_benchmarks_and_targets_fail_the_command_and_skipped_ones_do_not() {
        let row = |verdict| DecidedRow::without_metric(&benchmark("a"), verdict);
        let failed = || row(Verdict::Failed { reason: "x".to_owned() });
        let strict = |rows| outcome(rows).exit(&policy(false, true));
        let skipped = Verdict::Skipped { reason: String::new() };
        let regressed = decided_row("a", 812.0, &[1.4, 1.38], 0.01, 0.01);
        let inconclusive = inconclusive("a", Repetition::Builds, 30, 0.01);
        assert_eq!(strict(vec![row(skipped.clone()), row(Verdict::Identical)]), Exit::Success);
        for nothing_compared in [vec![], vec![row(skipped)]] {
            assert_eq!(strict(nothing_compared.clone()), Exit::Inconclusive);
            assert_eq!(outcome(nothing_compared).exit(&policy(false, false)), Exit::Success);
        }
        assert_eq!(strict(vec![inconclusive.clone()]), Exit::Inconclusive);
        let not_comparable = Verdict::NotComparable { reason: "no common metric".to_owned() };
        assert_eq!(strict(vec![row(not_comparable)]), Exit::Inconclusive);
        assert_eq!(strict(vec![inconclusive, failed()]), Exit::Benchmark);
        assert_eq!(strict(vec![regressed.clone(), failed()]), Exit::Regression);
        assert_eq!(outcome(vec![regressed]).exit(&policy(true, true)), Exit::Success);
        let failure = Error::new(Exit::Benchmark, "cannot list it");
        let targets =
            Outcome { failed_targets: vec![(target("other"), failure)], ..outcome(vec![]) };
        assert_eq!(targets.exit(&policy(false, false)), Exit::Benchmark);
    }

    #[test]
    fn a_comparison_with_a_release_counts_as_much_as_that_with_the_base() {
        let row = |factors: &[f64]| decided_row("parse/1", 812.0, factors, 0.01, 0.002);
        let also = Some(Box::new(outcome(vec![row(&[1.083, 1.081])])));
        let drifted = Outcome { also, ..outcome(vec![row(&[1.004])]) };
        assert_eq!(drifted.exit(&policy(false, false)), Exit::Regression);
        assert_eq!(drifted.exit(&policy(true, false)), Exit::Success);
        assert_eq!(Outcome { also: None, ..drifted }.exit(&policy(false, true)), Exit::Success);
    }
}
