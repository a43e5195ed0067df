//! Comparisons that are already stored, so that a repeated search continues from them.

use std::collections::HashSet;

use crate::{
    config::VerdictSettings,
    error::Result,
    measure::{ListedVersion, Runner},
    model::{Benchmark, ExperimentPlan},
    stats::{InconclusiveReason, Verdict},
    verdict::{DecidedRow, DecisionOptions, Relation, Results, Verdicts, VersionRef},
};

/// The finished experiments on exactly two versions, with the settings of a runner.
pub struct EarlierResults<'r> {
    runner: &'r Runner<'r>,
    results: Results<'r>,
    /// The versions' places in the results, newest first.
    places: Vec<[VersionRef; 2]>,
}

impl<'r> EarlierResults<'r> {
    /// Loads the experiments that timed, or those that counted.
    pub fn load(
        runner: &'r Runner<'r>,
        versions: &[ListedVersion; 2],
        verdicts: &VerdictSettings,
    ) -> Result<Self> {
        let results = Results::finished_of(&runner.store, verdicts.counts_only())?;
        let wanted = if verdicts.counts_only() {
            runner.counting_plan(&verdicts.metrics, Vec::new(), &[])
        } else {
            runner.plan(Vec::new(), &[])
        };
        let places = places(&results, &wanted, versions);
        Ok(Self { runner, results, places })
    }

    /// The stored rows of benchmarks: for each one those of the newest experiment that has results
    /// of it.
    ///
    /// Rows that a budget left without confirmation on fresh builds are excluded, so that they are
    /// measured again.
    pub fn rows(
        &self,
        benchmarks: &[Benchmark],
        verdicts: &VerdictSettings,
    ) -> Result<Vec<DecidedRow>> {
        let options =
            DecisionOptions { metrics: verdicts.metrics.clone(), ..DecisionOptions::default() };
        let decider = Verdicts::new(&self.results, options);
        let mut found = Vec::new();
        for benchmark in benchmarks {
            for versions in &self.places {
                let of_benchmark = self.results.benchmark(benchmark, [versions[0].experiment])?;
                if versions.iter().any(|place| of_benchmark.rows(*place).is_empty()) {
                    continue;
                }
                let relation = Relation::SameExperiment(*versions);
                let rows = decider.rows(&of_benchmark, &relation, &verdicts.criteria(benchmark))?;
                if rows.iter().all(is_complete) {
                    found.extend(rows);
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The benchmarks that were skipped because both versions do the same.
    pub fn unmeasured(&self) -> Result<HashSet<Benchmark>> {
        let mut unmeasured = HashSet::new();
        for [base, _] in &self.places {
            let id = self.results.experiments[base.experiment].id;
            let of_experiment = self.runner.store.unmeasured(id)?;
            unmeasured.extend(of_experiment.into_iter().map(|(benchmark, _)| benchmark));
        }
        Ok(unmeasured)
    }
}

/// The comparisons of exactly these versions with the settings of this runner, newest first.
fn places(
    results: &Results<'_>,
    wanted: &ExperimentPlan,
    versions: &[ListedVersion; 2],
) -> Vec<[VersionRef; 2]> {
    // Two commits with the same tree are two versions of an experiment.
    let place_of = |experiment: usize, listed: &ListedVersion, other: Option<VersionRef>| {
        let planned = results.experiments[experiment].plan.versions.iter().enumerate();
        let mut same = planned.filter(|(_, planned)| {
            planned.version.key() == listed.version.key()
                && planned.toolchain == listed.compilation.record.rustc
        });
        let place = |(version, _)| VersionRef { experiment, version };
        same.find_map(|found| Some(place(found)).filter(|found| Some(*found) != other))
    };
    let both = |experiment: usize| {
        let base = place_of(experiment, &versions[0], None)?;
        let head = place_of(experiment, &versions[1], Some(base))?;
        Some([base, head])
    };
    let is_alike = |experiment: &usize| {
        results.experiments[*experiment].plan.incompatibilities(wanted).is_empty()
    };
    let places = (0..results.experiments.len()).rev().filter(is_alike).filter_map(both);
    places.collect()
}

/// True if a new run would measure nothing more for this row.
const fn is_complete(row: &DecidedRow) -> bool {
    !matches!(row.verdict, Verdict::Inconclusive { reason: InconclusiveReason::Unconfirmed, .. })
}
