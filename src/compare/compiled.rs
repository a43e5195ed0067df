//! Compares the compilations of two versions without running anything: the sizes of executables, exactly, and times.
//!
//! The versions are compiled alternately, so that slow changes of the machine meet both, and a pair of compilations
//! counts as a pair of builds: the same interim analyses, and fresh pairs that confirm a change.

use rbench_code::elf::SectionSizes;
use rbench_stats::{
    AlphaSpending, Assessment, Criteria, Estimator, Measurements, Pairing, Summary, decide_counts,
};

use super::{
    outcome::Outcome,
    sizes::{Sizes, TargetSizes},
};
use crate::{
    builds::{
        BuildEnv, Compilation, CompileTime, Event, Source, TimedCompilation, changed_dependencies,
    },
    config::VerdictSettings,
    error::Result,
    model::{BenchTarget, Benchmark, InterimAnalyses, Metric, Name, TargetFilter, Version},
    process::sandbox,
    project::{Project, source_of},
    verdict::{DecidedRow, DecidedStage, Verdict},
};

/// Compares compilations of base and head: the sizes of the executables, and the times of making them. `analyses` are
/// the numbers of pairs of compilations after which times are analysed. Nothing is stored.
pub fn compare_compilations(
    project: &Project,
    build_env: &BuildEnv<'_>,
    [base, head]: [Version; 2],
    filter: &TargetFilter,
    verdicts: &VerdictSettings,
    analyses: InterimAnalyses,
) -> Result<Outcome> {
    let checkout = |version: &Version| project.checkout(version, build_env.observer);
    let checkouts = [checkout(&base)?, checkout(&head)?];
    let sources = [source_of(&base, &checkouts[0]), source_of(&head, &checkouts[1])];
    let [of_base, of_head] = build_env.compile_both(sources, filter)?;
    let versions = [
        CompiledVersion { source: sources[0], compilation: of_base },
        CompiledVersion { source: sources[1], compilation: of_head },
    ];
    let timed = verdicts.metrics.iter().find(|metric| metric.is_compile_time());
    let criteria = timed.map_or(verdicts.criteria, |metric| verdicts.criteria.for_metric(metric));
    let mut outcome = Outcome::new([base.clone(), head.clone()], criteria);
    let with_sizes = verdicts.metrics.contains(&Metric::size());
    let read_sizes = |version: &CompiledVersion<'_>| -> Result<Vec<Sizes>> {
        let CompiledVersion { compilation, .. } = version;
        let targets = compilation.record.targets.iter().filter(|_| with_sizes);
        targets.map(|target| Sizes::read(build_env, compilation, target)).collect()
    };
    let in_base = read_sizes(&versions[0])?;
    let in_head = read_sizes(&versions[1])?;
    let [targets, of_head] = versions.each_ref().map(|version| {
        version.compilation.record.targets.iter().map(|one| &one.target).collect::<Vec<_>>()
    });
    let added = of_head.into_iter().filter(|target| !targets.contains(target));
    outcome.added.extend(added.map(executable));
    outcome.changes = project.repository.changes(&outcome.base, &outcome.head)?;
    let compilers = versions.each_ref().map(|CompiledVersion { compilation, .. }| {
        compilation.record.rustc.lines().next().unwrap_or_default().to_owned()
    });
    outcome.sandbox = sandbox::state();
    outcome.compilers = Some(compilers).filter(|[base, head]| base != head);
    let [in_base_lock, in_head_lock] = versions.each_ref().map(|one| build_env.locked(one.source));
    outcome.dependencies = changed_dependencies(&in_base_lock, &in_head_lock);
    for head in in_head {
        if let Some(base) = in_base.iter().find(|base| base.target == head.target) {
            let sizes = TargetSizes::new(&head.target, [base, &head]);
            outcome.rows.push(size_row(&sizes, verdicts));
            outcome.sizes.push(sizes);
        }
    }
    outcome.rows.extend(time_rows(build_env, &versions, filter, verdicts, analyses)?);
    Ok(outcome)
}

/// An executable as what a row is about.
fn executable(BenchTarget { package, target }: &BenchTarget) -> Benchmark {
    Benchmark { package: package.clone(), target: target.clone(), name: Name::plain(target) }
}

fn size_row(sizes: &TargetSizes, verdicts: &VerdictSettings) -> DecidedRow {
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
        Some((verdict.into(), vec![DecidedStage { summaries: [base, head], assessment }]))
    });
    let empty =
        || (Verdict::Failed { reason: "it has no code and no data".to_owned() }, Vec::new());
    let (verdict, stages) = decided.unwrap_or_else(empty);
    let row = DecidedRow::without_metric(&executable(&sizes.target), verdict);
    DecidedRow { metric: Some(metric), stages, ..row }
}

struct CompiledVersion<'a> {
    source: Source<'a>,
    compilation: Compilation,
}

/// The command whose time is measured, as the name of its row.
const COMMANDS: [&str; 2] = ["cargo bench --no-run", "cargo build"];

/// The smallest step of a time, in nanoseconds: the kernel gives the CPU time of processes in microseconds.
const RESOLUTION: f64 = 1000.0;

/// The times of pairs of compilations, base and head.
type Pairs = Vec<[CompileTime; 2]>;

/// Compiles two versions repeatedly, and decides on each chosen metric.
fn time_rows(
    build_env: &BuildEnv<'_>,
    versions: &[CompiledVersion<'_>; 2],
    filter: &TargetFilter,
    verdicts: &VerdictSettings,
    analyses: InterimAnalyses,
) -> Result<Vec<DecidedRow>> {
    let mut undecided: Vec<Undecided> = verdicts
        .metrics
        .iter()
        .filter(|metric| metric.is_compile_time())
        .map(|metric| Undecided {
            metric: metric.clone(),
            criteria: verdicts.criteria.for_metric(metric),
            first: None,
        })
        .collect();
    if undecided.is_empty() {
        return Ok(Vec::new());
    }
    let timed = |version: usize| {
        let CompiledVersion { source, compilation } = &versions[version];
        TimedCompilation::new(build_env, *source, filter, compilation)
    };
    let timed = [timed(0)?, timed(1)?];
    let measure = |pairs: &mut Pairs, count: usize| -> Result<()> {
        while pairs.len() < count {
            build_env.observer.build_event(&Event::CompiledAgain { done: pairs.len(), of: count });
            pairs.push(pair(&timed, pairs.len())?);
        }
        build_env.observer.build_event(&Event::CompiledAgain { done: count, of: count });
        Ok(())
    };
    let mut pairs = Vec::new();
    for (index, count) in analyses.builds().enumerate() {
        measure(&mut pairs, count as usize)?;
        for one in &mut undecided {
            one.analyse(&pairs, index, analyses.count());
        }
        if undecided.iter().all(|one| one.ends(index, analyses.count())) {
            break;
        }
    }
    let decided = undecided.len();
    let fresh = undecided.iter().map(|one| one.confirmation_pairs(decided)).max().unwrap_or(0);
    let mut confirming = Vec::new();
    measure(&mut confirming, fresh)?;
    let benchmark = subject(versions, filter);
    let rows = undecided.into_iter().map(|one| one.row(&benchmark, &confirming, decided, analyses));
    Ok(rows.collect())
}

/// Compiles both versions once. Every second pair is in the other order.
fn pair([base, head]: &[TimedCompilation<'_>; 2], index: usize) -> Result<[CompileTime; 2]> {
    if index.is_multiple_of(2) {
        Ok([base.run()?, head.run()?])
    } else {
        let head = head.run()?;
        Ok([base.run()?, head])
    }
}

/// The command that compiles all chosen bench targets, as what a row is about.
fn subject([_, head]: &[CompiledVersion<'_>; 2], filter: &TargetFilter) -> Benchmark {
    let targets = &head.compilation.record.targets;
    let only = |name: fn(&BenchTarget) -> &String| {
        let first = targets.first().map(|first| name(&first.target))?;
        targets.iter().all(|other| name(&other.target) == first).then(|| first.clone())
    };
    let command = COMMANDS[usize::from(!filter.programs.is_empty())];
    let package = only(|target| &target.package).unwrap_or_else(|| "workspace".to_owned());
    let target = only(|target| &target.target).unwrap_or_else(|| "all".to_owned());
    Benchmark { package, target, name: Name::plain(command) }
}

struct Undecided {
    metric: Metric,
    criteria: Criteria,
    /// The last analysis of the first stage, with its index.
    first: Option<(usize, DecidedStage)>,
}

impl Undecided {
    /// Analyses these pairs, unless an earlier analysis was the last one.
    fn analyse(&mut self, pairs: &Pairs, index: usize, analyses: usize) {
        if index == 0 || !self.ends(index - 1, analyses) {
            let rates = AlphaSpending::at_analysis(&self.criteria, index, analyses);
            self.first = self.stage(pairs, rates).map(|stage| (index, stage));
        }
    }

    /// True if no analysis follows that of this index.
    fn ends(&self, index: usize, analyses: usize) -> bool {
        index + 1 == analyses
            || self
                .first
                .as_ref()
                .is_some_and(|(_, stage)| stage.assessment.ends_first_stage(&self.criteria))
    }

    /// The number of fresh pairs to confirm a change by; 0 if there is none to confirm.
    fn confirmation_pairs(&self, decided: usize) -> usize {
        let flagged = self.first.as_ref().map(|(_, stage)| &stage.assessment);
        let flagged = flagged.filter(|first| first.needs_confirmation(&self.criteria));
        flagged.map_or(0, |first| first.confirmation_builds(decided, &self.criteria))
    }

    fn row(
        self,
        benchmark: &Benchmark,
        confirming: &Pairs,
        decided: usize,
        analyses: InterimAnalyses,
    ) -> DecidedRow {
        let criteria = &self.criteria;
        let second = (self.confirmation_pairs(decided) > 0).then(|| {
            self.stage(confirming, AlphaSpending::second_stage(criteria, analyses.count()))
        });
        let Some((_, first)) = &self.first else {
            let reason = "its times cannot be compared".to_owned();
            return DecidedRow::without_metric(benchmark, Verdict::Failed { reason });
        };
        let second = second.flatten();
        let of_second = second.as_ref().map(|stage| &stage.assessment);
        let verdict =
            rbench_stats::Verdict::decide(&first.assessment, of_second, decided, criteria);
        let row = DecidedRow::without_metric(benchmark, verdict.into());
        let stages = std::iter::once(first.clone()).chain(second).collect();
        DecidedRow { metric: Some(self.metric), stages, ..row }
    }

    fn stage(&self, pairs: &Pairs, rates: AlphaSpending) -> Option<DecidedStage> {
        let is_cpu = self.metric == Metric::compile_cpu();
        let summary = |version: usize| {
            let builds = (0..).zip(pairs).map(|(seed, pair)| {
                let CompileTime { wall, cpu } = pair[version];
                let time = if is_cpu { cpu } else { wall };
                (seed, [[time.as_secs_f64() * 1e9]])
            });
            let data = Measurements::new(self.metric.clone(), builds).ok()?;
            Some(Summary::compute(&data.with_resolution(RESOLUTION), Estimator::Mean))
        };
        let summaries = [summary(0)?, summary(1)?];
        let [base, head] = &summaries;
        let assessment =
            Assessment::from_summaries(rates, base, head, Pairing::BySeed, &self.criteria).ok()?;
        Some(DecidedStage { summaries, assessment })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Pairs whose head takes `factor` times the base, with some noise that both share and some that they do not.
    fn pairs(count: u64, factor: f64) -> Pairs {
        let time = |seconds: f64| CompileTime {
            wall: Duration::from_secs_f64(seconds),
            cpu: Duration::from_secs_f64(2.0 * seconds),
        };
        let of_index = |index: u64| {
            let shared = 1.0 + 0.05 * (index * 7 % 5) as f64;
            let own = |offset: u64| 1.0 + 0.001 * ((index * 3 + offset) % 4) as f64;
            [time(shared * own(0)), time(factor * shared * own(1))]
        };
        (0..count).map(of_index).collect()
    }

    fn undecided(metric: Metric) -> Undecided {
        let criteria = Criteria::default().for_metric(&metric);
        Undecided { metric, criteria, first: None }
    }

    fn verdict(factor: f64, of_fresh: f64) -> Verdict {
        let analyses = InterimAnalyses { first: 5, most: 20 };
        let mut one = undecided(Metric::compile_cpu());
        one.analyse(&pairs(5, factor), 0, analyses.count());
        let fresh = one.confirmation_pairs(1);
        let benchmark =
            Benchmark { package: "json".into(), target: "all".into(), name: Name::plain("x") };
        one.row(&benchmark, &pairs(fresh as u64, of_fresh), 1, analyses).verdict
    }

    #[test]
    fn change_is_reported_if_fresh_compilations_confirm_it() {
        assert_eq!(verdict(1.06, 1.06).name(), "regressed");
        assert_eq!(verdict(0.94, 0.94).name(), "improved");
        assert_eq!(verdict(1.06, 1.0).name(), "unchanged");
        assert_eq!(verdict(1.0, 1.0).name(), "unchanged");
    }

    #[test]
    fn ended_metric_is_not_analysed_again() {
        let mut one = undecided(Metric::compile_time());
        one.analyse(&pairs(5, 1.0), 0, 3);
        assert!(one.ends(0, 3));
        one.analyse(&pairs(10, 1.5), 1, 3);
        assert_eq!(one.first.unwrap().0, 0);
    }
}
