//! Comparisons that are stored already, so that a search that is typed again goes on from them.

use std::collections::HashSet;

use crate::{
    experiment::{ListedVersion, Runner},
    failure::Result,
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef},
    model::Benchmark,
    settings::VerdictSettings,
    stats::{Doubt, Verdict},
};

/// What finished experiments on exactly these versions, measured as this runner measures, say of benchmarks: by the
/// newest of those that say something of each.
///
/// What a budget left without fresh builds is not taken: it is measured again.
pub fn rows(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    benchmarks: &[&Benchmark],
    verdicts: &VerdictSettings,
) -> Result<Vec<JudgedRow>> {
    let results = Results::finished(&runner.store)?;
    let places = places(&results, runner, versions);
    let options = JudgeOptions { metrics: verdicts.metrics.clone(), allow_different: false };
    let judge = Judge::new(&results, options);
    let mut found = Vec::new();
    for benchmark in benchmarks {
        for versions in &places {
            let of_benchmark = results.of_benchmark(benchmark, [versions[0].experiment])?;
            if versions.iter().any(|place| of_benchmark.rows(*place).is_empty()) {
                continue;
            }
            let relation = Relation::SameExperiment(*versions);
            let rows = judge.rows(&of_benchmark, &relation, &verdicts.of(benchmark))?;
            if rows.iter().all(is_complete) {
                found.extend(rows);
                break;
            }
        }
    }
    Ok(found)
}

/// The benchmarks that finished experiments on exactly these versions did not measure, as both do the same.
pub fn unmeasured(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
) -> Result<HashSet<Benchmark>> {
    let results = Results::finished(&runner.store)?;
    let mut unmeasured = HashSet::new();
    for [base, _] in places(&results, runner, versions) {
        let id = results.experiments[base.experiment].id;
        unmeasured.extend(runner.store.unmeasured(id)?.into_iter().map(|(benchmark, _)| benchmark));
    }
    Ok(unmeasured)
}

/// Where exactly these versions were compared, measured as this runner measures: the newest first.
fn places(
    results: &Results<'_>,
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
) -> Vec<[VersionRef; 2]> {
    let wanted = runner.plan(std::iter::empty(), &[]);
    let place_of = |experiment: usize, listed: &ListedVersion| {
        let plan = &results.experiments[experiment].plan;
        let version = plan.versions.iter().position(|planned| {
            planned.version.tree == listed.version.tree
                && planned.toolchain == listed.compilation.record.rustc
        });
        version.map(|version| VersionRef { experiment, version })
    };
    let both = |experiment: usize| {
        let [base, head] = versions.each_ref().map(|version| place_of(experiment, version));
        Some([base?, head?])
    };
    let is_alike =
        |experiment: &usize| results.experiments[*experiment].plan.obstacles(&wanted).is_empty();
    let places = (0..results.experiments.len()).rev().filter(is_alike).filter_map(both);
    places.collect()
}

/// Whether nothing more would be measured for this row.
const fn is_complete(row: &JudgedRow) -> bool {
    !matches!(row.verdict, Verdict::Inconclusive { doubt: Doubt::Unconfirmed, .. })
}
