//! `cargo rbench compare --stored`: two versions judged by what is stored of them, without measuring.

use crate::{
    cli::CompareArgs,
    console::Console,
    failure::{Exit, Failure, Result},
    harness::Filter,
    judge::{Judging, Past},
    model::{Benchmark, Relation, Version},
    project::Project,
    report::{ComparisonReport, ComparisonRow},
    settings,
    stats::Verdict,
};

/// The comparison of what is stored.
pub fn report(
    project: &Project,
    args: &CompareArgs,
    console: &Console,
) -> Result<ComparisonReport> {
    let target = &args.experiment.target;
    let criteria = settings::criteria(&project.file, &args.verdict.criteria)?;
    let experiment = &args.experiment;
    let filter =
        Filter::new(&experiment.patterns, experiment.exact, &target.package, &target.bench)?;
    let versions =
        [project.repository.resolve(&args.base)?, project.repository.resolve(&args.head)?];
    project.with_stored(console, |store| {
        let past = Past::read(store, &project.store())?;
        let judging = Judging { criteria: &criteria, allow_different: args.allow_different };
        let benchmarks = filter.choose(store.benchmarks()?)?;
        let excluded = |benchmark: &Benchmark| target.exclude.contains(&benchmark.package);
        let benchmarks: Vec<Benchmark> =
            benchmarks.into_iter().filter(|benchmark| !excluded(benchmark)).collect();
        compare(&past, &versions, &benchmarks, &judging)
    })
}

fn compare(
    past: &Past<'_>,
    versions: &[Version; 2],
    benchmarks: &[Benchmark],
    judging: &Judging<'_>,
) -> Result<ComparisonReport> {
    let parts = versions.each_ref().map(|version| past.parts_of(version));
    for (version, parts) in versions.iter().zip(&parts) {
        if parts.is_empty() {
            return Err(not_stored(version));
        }
    }
    let mut report = ComparisonReport::new(&versions[0], &versions[1]);
    report.judged_by(judging.criteria);
    if let Some(newest) = parts[1].last().map(|part| &past.plans[part.experiment]) {
        report.measured_on(newest.machine.clone(), newest.dimensions);
    }
    let experiments: Vec<usize> = parts.iter().flatten().map(|part| part.experiment).collect();
    let (mut apart, mut refused, mut unlike) = (0, 0, None);
    for benchmark in benchmarks {
        let Some(of_benchmark) = past.of_benchmark(benchmark, experiments.iter().copied())? else {
            continue;
        };
        let measured = parts.each_ref().map(|parts| of_benchmark.among(parts));
        let [base, head] = measured;
        let (base, head) = (base?, head?);
        match (base.is_empty(), head.is_empty()) {
            (true, true) => {}
            (true, false) => report.only_in(&versions[1], vec![benchmark.clone()]),
            (false, true) => report.only_in(&versions[0], vec![benchmark.clone()]),
            (false, false) => {
                let Some(relation) = Relation::of(&base, &head, &past.plans) else { continue };
                let (judgement, first) = of_benchmark.judge(&relation, judging)?;
                match (relation, &judgement.verdict) {
                    (Relation::Together(_), _)
                    | (_, Verdict::Identical | Verdict::Failed { .. }) => {}
                    (Relation::Apart(_), Verdict::NotComparable { .. }) => refused += 1,
                    (Relation::Apart(_), _) => apart += 1,
                    (Relation::Unlike { reasons, .. }, _) => unlike = Some(reasons),
                }
                report.add(
                    benchmark,
                    match first {
                        Some(first) => {
                            ComparisonRow::of_stages(&judgement, &first, judging.criteria)
                        }
                        // More builds would not make a difference of two sessions surer: no advice.
                        None => ComparisonRow::judged(&judgement),
                    },
                );
            }
        }
    }
    let together = format!("cargo rbench compare {} {}", versions[0].short(), versions[1].short());
    if let Some(reasons) = unlike.filter(|_| judging.allow_different) {
        let reasons = reasons.join("; ");
        report.warn(format!("measured differently, and compared as asked for: {reasons}"));
    }
    if apart > 0 {
        report.warn(format!(
            "{apart} of these were measured in two experiments: their changes allow for what varies \
             between experiments; measured together, they would be surer: {together}"
        ));
    }
    if refused > 0 {
        report.warn(format!(
            "{refused} of these cannot be compared across experiments: measure them together with {together}"
        ));
    }
    Ok(report)
}

/// The failure of finding results of a version.
pub fn not_stored(version: &Version) -> Failure {
    Failure::new(Exit::Usage, format!("nothing is stored of {version}"))
        .hint(format!("measure it with: cargo rbench run {}", version.revision))
        .hint("what is stored: cargo rbench history")
}
