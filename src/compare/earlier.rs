//! What earlier experiments with the settings of a runner show, so that a repeated search continues from them: stored
//! comparisons, and versions that could not be built.

use std::collections::HashSet;

use rbench_stats::InconclusiveReason;

use crate::{
    config::VerdictSettings,
    error::Result,
    measure::{ListedVersion, Runner},
    model::{Benchmark, ExperimentPlan, Version},
    shell::CommandLine,
    store::StoredExperiment,
    verdict::{DecidedRow, Relation, Results, Verdict, Verdicts, VersionRef},
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
        let decider = Verdicts::new(&self.results, verdicts.into());
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

/// The comparisons of exactly these versions with the settings of this runner by machines of its class, newest first.
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
    // Both versions were measured on one machine, whichever of its class that was.
    let is_alike =
        |experiment: &usize| results.experiments[*experiment].plan.shares_history(wanted);
    let places = (0..results.experiments.len()).rev().filter(is_alike).filter_map(both);
    places.collect()
}

/// True if a new run would measure nothing more for this row.
const fn is_complete(row: &DecidedRow) -> bool {
    !matches!(row.verdict, Verdict::Inconclusive { reason: InconclusiveReason::Unconfirmed, .. })
}

/// Finished experiments on this machine with these settings, which show the versions that could not
/// be built.
pub struct KnownBroken {
    experiments: Vec<StoredExperiment>,
}

impl KnownBroken {
    pub fn read(runner: &Runner<'_>) -> Result<Self> {
        let wanted = runner.plan(Vec::new(), &[]);
        let mut experiments = runner.store.experiments()?;
        experiments.retain(|stored| {
            stored.finished.is_some() && stored.plan.incompatibilities(&wanted).is_empty()
        });
        Ok(Self { experiments })
    }

    /// The reason why a version could not be built by its compiler, if every attempt failed.
    pub fn why_unbuildable(
        &self,
        version: &Version,
        compiler: impl FnOnce() -> String,
    ) -> Option<&str> {
        let mut tries: Vec<_> = self.builds(version).collect();
        let has_failed =
            |(stored, index): &(&'_ StoredExperiment, usize)| stored.unbuildable[*index].is_some();
        if tries.iter().any(has_failed) {
            let compiler = compiler();
            tries.retain(|(stored, index)| stored.plan.versions[*index].toolchain == compiler);
        }
        let newest = tries.last().filter(|_| tries.iter().all(has_failed));
        newest.and_then(|(stored, index)| stored.unbuildable[*index].as_deref())
    }

    /// The experiments on the files of a version, with its index in each.
    fn builds(&self, version: &Version) -> impl Iterator<Item = (&StoredExperiment, usize)> {
        self.experiments.iter().filter_map(|stored| {
            let mut versions = stored.plan.versions.iter();
            let index = versions.position(|planned| planned.version.key() == version.key())?;
            Some((stored, index))
        })
    }
}

/// The message that a version is skipped for that reason, with the command that tries it again. That
/// command measures with the settings of other comparisons, so they find the version buildable afterwards.
pub fn passed_over(version: &Version, given: &dyn CommandLine) -> String {
    let head = version.current_revision_arg();
    let base = if version.dirty { "HEAD".to_owned() } else { format!("{head}~1") };
    let again = given.suggest("compare", &[&base, &head], &[]);
    format!("{version} is skipped: it could not be built before; try again with: {again}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, Exit},
        store::Store,
        verdict::testing::{plan, version},
    };

    #[test]
    fn unbuildable_version_is_tried_with_another_compiler() {
        let store = Store::in_memory().unwrap();
        let id = store.begin(&plan(&["head"], "key")).unwrap();
        let error = Error::new(Exit::Build, "cannot compile");
        store.record_unbuildable(id, 0, &error).unwrap();
        let before = KnownBroken { experiments: store.experiments().unwrap() };
        let compiler = &before.experiments[0].plan.versions[0].toolchain;
        let why =
            |name, compiler: &str| before.why_unbuildable(&version(name), || compiler.to_owned());
        assert_eq!(why("head", compiler), Some("cannot compile"));
        assert_eq!(why("head", "rustc 1.91.0"), None);
        assert_eq!(why("base", compiler), None);

        store.begin(&plan(&["head"], "key")).unwrap();
        let before = KnownBroken { experiments: store.experiments().unwrap() };
        assert_eq!(before.why_unbuildable(&version("head"), || compiler.clone()), None);
    }
}
