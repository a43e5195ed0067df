//! Compares the compilations of two versions without running anything: the sizes of executables, exactly, and times.

use super::{
    compile_times::{self, CompiledVersion},
    outcome::Outcome,
    sizes::{Sizes, TargetSizes},
};
use crate::{
    builds::{BuildEnv, changed_dependencies},
    config::VerdictSettings,
    elf::SectionSizes,
    error::Result,
    model::{BenchTarget, Benchmark, InterimAnalyses, Metric, Name, TargetFilter, Version},
    project::{Project, source_of},
    stats::{Estimator, Measurements, Summary, Verdict, decide_counts},
    verdict::{DecidedRow, DecidedStage},
};

/// What to compare of the compilations of two versions.
pub struct CompilationsRequest {
    /// Base and head.
    pub versions: [Version; 2],
    /// The bench targets to compile.
    pub filter: TargetFilter,
    /// The criteria, and the metrics, all of which are of compilations.
    pub verdicts: VerdictSettings,
    /// The numbers of pairs of compilations after which times are analysed.
    pub analyses: InterimAnalyses,
}

/// Compares compilations of two versions: the sizes of the executables, and the times of making them. Nothing is stored.
pub fn compare_compilations(
    project: &Project,
    build_env: &BuildEnv<'_>,
    request: CompilationsRequest,
) -> Result<Outcome> {
    let CompilationsRequest { versions: [base, head], filter, verdicts, analyses } = request;
    let checkout = |version: &Version| project.checkout(version, build_env.observer);
    let checkouts = [checkout(&base)?, checkout(&head)?];
    let compiled = |version, checkout| {
        let source = source_of(version, checkout);
        let compilation = build_env.compile(source, &filter)?;
        Ok(CompiledVersion { source, compilation })
    };
    let timed = verdicts.metrics.iter().find(|metric| metric.is_compile_time());
    let criteria = timed.map_or(verdicts.criteria, |metric| verdicts.criteria.for_metric(metric));
    let mut outcome = Outcome::new([base.clone(), head.clone()], criteria);
    let with_sizes = verdicts.metrics.contains(&Metric::size());
    let read_sizes = |version: &CompiledVersion<'_>| -> Result<Vec<Sizes>> {
        let CompiledVersion { compilation, .. } = version;
        let targets = compilation.record.targets.iter().filter(|_| with_sizes);
        targets.map(|target| Sizes::read(build_env, compilation, target)).collect()
    };
    let base = compiled(&base, &checkouts[0])?;
    let in_base = read_sizes(&base)?;
    let head = compiled(&head, &checkouts[1])?;
    let in_head = read_sizes(&head)?;
    let versions = [base, head];
    let [targets, of_head] = versions.each_ref().map(|version| {
        version.compilation.record.targets.iter().map(|one| &one.target).collect::<Vec<_>>()
    });
    let added = of_head.into_iter().filter(|target| !targets.contains(target));
    outcome.added.extend(added.map(executable));
    outcome.changes = project.repository.changes(&outcome.base, &outcome.head)?;
    let compilers = versions.each_ref().map(|CompiledVersion { compilation, .. }| {
        compilation.record.rustc.lines().next().unwrap_or_default().to_owned()
    });
    outcome.compilers = Some(compilers).filter(|[base, head]| base != head);
    let [in_base_lock, in_head_lock] = versions.each_ref().map(|one| build_env.locked(one.source));
    outcome.dependencies = changed_dependencies(&in_base_lock, &in_head_lock);
    for head in in_head {
        if let Some(base) = in_base.iter().find(|base| base.target == head.target) {
            let sizes = TargetSizes::new(&head.target, [base, &head]);
            outcome.rows.push(row(&sizes, &verdicts));
            outcome.sizes.push(sizes);
        }
    }
    outcome.rows.extend(compile_times::rows(build_env, &versions, &filter, &verdicts, analyses)?);
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
