//! Compares the sizes of the executables of two versions, exactly, and without running them.

use super::{
    outcome::Outcome,
    sizes::{Sizes, TargetSizes},
};
use crate::{
    builds::{BuildEnv, changed_dependencies},
    config::VerdictSettings,
    elf::SectionSizes,
    error::Result,
    model::{BenchTarget, Benchmark, Metric, Name, TargetFilter, Version},
    project::{Project, source_of},
    stats::{Estimator, Measurements, Summary, Verdict, decide_counts},
    verdict::{DecidedRow, DecidedStage},
};

/// Compares the sizes of the executables of two versions. Nothing is stored, because a compilation gives them again.
pub fn compare_sizes(
    project: &Project,
    build_env: &BuildEnv<'_>,
    [base, head]: [Version; 2],
    filter: &TargetFilter,
    verdicts: &VerdictSettings,
) -> Result<Outcome> {
    let read = |version: &Version| {
        let checkout = project.checkout(version, build_env.observer)?;
        let source = source_of(version, &checkout);
        let compilation = build_env.compile(source, filter)?;
        let targets = compilation.record.targets.iter();
        let sizes = targets.map(|target| Sizes::read(build_env, &compilation, target));
        Ok((sizes.collect::<Result<Vec<_>>>()?, compilation.record.rustc, build_env.locked(source)))
    };
    let versions = [read(&base)?, read(&head)?];
    let mut outcome = Outcome::new([base, head], verdicts.criteria);
    outcome.changes = project.repository.changes(&outcome.base, &outcome.head)?;
    let compilers = versions
        .each_ref()
        .map(|(_, rustc, _)| rustc.lines().next().unwrap_or_default().to_owned());
    outcome.compilers = Some(compilers).filter(|[base, head]| base != head);
    outcome.dependencies = changed_dependencies(&versions[0].2, &versions[1].2);
    for head in &versions[1].0 {
        let Some(base) = versions[0].0.iter().find(|base| base.target == head.target) else {
            outcome.added.push(executable(&head.target));
            continue;
        };
        let sizes = TargetSizes::new(&head.target, [base, head]);
        outcome.rows.push(row(&sizes, verdicts));
        outcome.sizes.push(sizes);
    }
    Ok(outcome)
}

/// An executable as what a row is about.
fn executable(BenchTarget { package, target }: &BenchTarget) -> Benchmark {
    Benchmark { package: package.clone(), target: target.clone(), name: Name::plain(target) }
}

fn row(sizes: &TargetSizes, verdicts: &VerdictSettings) -> DecidedRow {
    let metric = Metric::size();
    let criteria = verdicts.criteria.for_metric(&metric);
    let summary = |sections: SectionSizes| {
        let value = sections.loaded() as f64;
        let data = Measurements::new(metric.clone(), [(0, [[value]])]).ok()?;
        Some(Summary::compute(&data, Estimator::Mean))
    };
    let [base, head] = [sizes.base, sizes.head].map(summary);
    let decided = base.zip(head).and_then(|(base, head)| {
        let (assessment, verdict) = decide_counts(&base, &head, &criteria)?;
        Some((verdict, vec![DecidedStage { summaries: [base, head], assessment }]))
    });
    let empty =
        || (Verdict::Failed { reason: "it has no code and no data".to_owned() }, Vec::new());
    let (verdict, stages) = decided.unwrap_or_else(empty);
    let row = DecidedRow::without_metric(&executable(&sizes.target), verdict);
    DecidedRow { metric: Some(metric), stages, ..row }
}
