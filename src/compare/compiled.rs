//! Compares the compilations of two versions without running anything: the sizes of executables, exactly, and times.
//!
//! The versions are compiled alternately, so that slow changes of the machine meet both, and a pair of compilations
//! counts as a pair of builds: the same interim analyses, and fresh pairs that confirm a change.

use std::time::Duration;

use rbench_code::elf::SectionSizes;
use rbench_stats::{
    AlphaSpending, Assessment, Criteria, Estimator, Measurements, Pairing, Power, Summary,
    decide_counts, outlook::WORTHWHILE,
};

use super::{
    Event, Observer,
    outcome::Outcome,
    sizes::{Sizes, TargetSizes},
};
use crate::{
    builds::{
        self, BuildEnv, Compilation, CompileTime, Source, TimedCompilation, changed_dependencies,
    },
    config::{StoppingRule, VerdictSettings},
    error::Result,
    model::{BenchTarget, Benchmark, InterimAnalyses, Metric, Name, TargetFilter, Version},
    process::sandbox,
    project::{Project, source_of},
    verdict::{Advice, DecidedRow, DecidedStage, Verdict},
};

/// A request to compare the compilations of two versions.
#[derive(Clone, Copy, Debug)]
pub struct CompiledRequest<'r> {
    /// Base and head.
    pub versions: [&'r Version; 2],
    pub filter: &'r TargetFilter,
    pub verdicts: &'r VerdictSettings,
    /// The numbers of pairs of compilations after which times are analysed.
    pub analyses: InterimAnalyses,
    /// The rule that ends the compilations while the time is undecided.
    pub stopping: StoppingRule,
    /// The limit for the time of compiling again, if any. It does not limit the first analysis.
    pub budget: Option<Duration>,
    /// True to compile nothing again and report only the plan.
    pub only_plan: bool,
}

/// Compares compilations of base and head: the sizes of the executables, and the times of making them. Nothing is stored.
pub fn compare_compilations(
    project: &Project,
    build_env: &BuildEnv<'_>,
    request: &CompiledRequest<'_>,
    observer: &dyn Observer,
) -> Result<Outcome> {
    let CompiledRequest { versions: [base, head], filter, verdicts, .. } = *request;
    let checkout = |version: &Version| project.checkout(version, build_env.observer);
    let checkouts = [checkout(base)?, checkout(head)?];
    let sources = [source_of(base, &checkouts[0]), source_of(head, &checkouts[1])];
    let [of_base, of_head] = build_env.compile_both(sources, filter)?;
    let versions = [
        CompiledVersion { source: sources[0], compilation: of_base },
        CompiledVersion { source: sources[1], compilation: of_head },
    ];
    let timed = verdicts.metrics.iter().find(|metric| metric.is_compile_time());
    let criteria = timed.map_or(verdicts.criteria, |metric| verdicts.criteria.for_metric(metric));
    let mut outcome = Outcome::new([base.clone(), head.clone()], criteria);
    outcome.only_compilations = true;
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
    let [in_base_lock, in_head_lock] =
        versions.each_ref().map(|one| build_env.locked(one.source, &one.compilation));
    outcome.dependencies = changed_dependencies(&in_base_lock, &in_head_lock);
    for head in in_head {
        if let Some(base) = in_base.iter().find(|base| base.target == head.target) {
            let sizes = TargetSizes::new(&head.target, [base, &head]);
            outcome.rows.push(size_row(&sizes, verdicts));
            outcome.sizes.push(sizes);
        }
    }
    if let Some(times) = Times::new(build_env, &versions, request, observer)? {
        observer.compare_event(Event::SizesDecided(&outcome.rows));
        outcome.rows.extend(times.rows()?);
    }
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

/// The time of compiling two versions, which is measured and decided.
struct Times<'t> {
    request: &'t CompiledRequest<'t>,
    timed: [TimedCompilation<'t>; 2],
    benchmark: Benchmark,
    undecided: Vec<Undecided>,
    /// The time of the first compilation of both versions, with that of their dependencies.
    first: Duration,
    build_observer: &'t dyn builds::Observer,
    observer: &'t dyn Observer,
    pairs: Pairs,
    spent: Duration,
}

impl<'t> Times<'t> {
    /// `None` if no chosen metric is a time of compiling.
    fn new(
        build_env: &'t BuildEnv<'t>,
        versions: &'t [CompiledVersion<'t>; 2],
        request: &'t CompiledRequest<'t>,
        observer: &'t dyn Observer,
    ) -> Result<Option<Self>> {
        let verdicts = request.verdicts;
        let undecided: Vec<Undecided> = verdicts
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
            return Ok(None);
        }
        let timed = |version: usize| {
            let CompiledVersion { source, compilation } = &versions[version];
            TimedCompilation::new(build_env, *source, request.filter, compilation)
        };
        Ok(Some(Self {
            request,
            timed: [timed(0)?, timed(1)?],
            benchmark: subject(versions, request.filter),
            undecided,
            first: versions.iter().map(|one| one.compilation.record.took()).sum(),
            build_observer: build_env.observer,
            observer,
            pairs: Vec::new(),
            spent: Duration::ZERO,
        }))
    }

    /// Compiles both versions repeatedly, and decides on each chosen metric.
    fn rows(mut self) -> Result<Vec<DecidedRow>> {
        let analyses = self.request.analyses;
        self.announce(self.first);
        if self.request.only_plan {
            return Ok(Vec::new());
        }
        for (index, count) in analyses.builds().enumerate() {
            if index == 0 {
                self.first_pair()?;
            }
            let pairs = std::mem::take(&mut self.pairs);
            self.pairs = self.measure(pairs, count as usize)?;
            for one in &mut self.undecided {
                one.analyse(&self.pairs, index, analyses.count());
            }
            if self.undecided.iter().all(|one| one.ends(index, analyses.count()))
                || self.stops(index)
            {
                break;
            }
        }
        let decided = self.undecided.len();
        let fresh = self.undecided.iter().map(|one| one.confirmation_pairs(decided)).max();
        let mut confirming = Vec::new();
        if let Some(fresh @ 1..) = fresh {
            if self.fits(fresh) {
                let time = self.time_of(fresh);
                let event = Event::ConfirmingCompilations { count: fresh, time };
                self.observer.compare_event(event);
                confirming = self.measure(confirming, fresh)?;
            } else {
                self.note("the budget is spent before a change could be confirmed");
            }
        }
        let Self { undecided, benchmark, .. } = self;
        let rows =
            undecided.into_iter().map(|one| one.row(&benchmark, &confirming, decided, analyses));
        Ok(rows.collect())
    }

    /// Measures the first pair, and corrects the plan if it was wrong: dependencies are not compiled again.
    fn first_pair(&mut self) -> Result<()> {
        /// Less is not worth a line.
        const NEWS: Duration = Duration::from_secs(20);
        self.pairs = self.measure(Vec::new(), 1)?;
        let all = |pair: Duration| pair.saturating_mul(self.request.analyses.most);
        let (planned, known) = (all(self.first), all(self.time_of(1)));
        let is_half = planned.min(known) < planned.max(known) / 2;
        if is_half && planned.abs_diff(known) > NEWS {
            self.announce(self.time_of(1));
        }
        Ok(())
    }

    /// Adds pairs of compilations until there are `count`.
    fn measure(&mut self, mut pairs: Pairs, count: usize) -> Result<Pairs> {
        let show = |done| {
            self.build_observer.build_event(&builds::Event::CompiledAgain { done, of: count });
        };
        while pairs.len() < count {
            show(pairs.len());
            let compiled = pair(&self.timed, pairs.len())?;
            self.spent += compiled.iter().map(|one| one.wall).sum::<Duration>();
            pairs.push(compiled);
        }
        // The first pair alone is part of the first analysis.
        if count > 1 {
            show(count);
        }
        Ok(pairs)
    }

    fn announce(&self, pair: Duration) {
        let CompiledRequest { analyses, budget, .. } = *self.request;
        let confirms = self.undecided.iter().any(|one| one.criteria.confirm);
        let metrics = self.metrics();
        let event =
            Event::CompilationsPlanned { metrics: &metrics, analyses, pair, budget, confirms };
        self.observer.compare_event(event);
    }

    /// True if the next analysis is unlikely to decide, or is not reached in time. Says so.
    fn stops(&self, index: usize) -> bool {
        let CompiledRequest { analyses, stopping, .. } = *self.request;
        let Some(next) = analyses.builds().nth(index + 1) else { return true };
        let more = (next as usize).saturating_sub(self.pairs.len());
        let open = self.undecided.iter().filter(|one| !one.ends(index, analyses.count()));
        let chance = open.filter_map(|one| one.chance(index, analyses)).reduce(f64::max);
        if stopping == StoppingRule::Usual && chance.is_none_or(|chance| chance < WORTHWHILE) {
            self.note(&format!(
                "{} varies so much that {} compilations of each version would hardly decide it: stopped after {}",
                self.metrics(),
                analyses.most,
                self.pairs.len()
            ));
            return true;
        }
        let is_late = !self.fits(more);
        if is_late {
            self.note(&format!(
                "the budget is too short for {more} more compilations of each version"
            ));
        }
        is_late
    }

    /// True if the budget has time for more pairs.
    fn fits(&self, more: usize) -> bool {
        let end = self.spent.saturating_add(self.time_of(more));
        self.request.budget.is_none_or(|budget| end <= budget)
    }

    /// The time of this number of pairs, by the mean of those that were compiled.
    fn time_of(&self, pairs: usize) -> Duration {
        let all: Duration = self.pairs.iter().flatten().map(|one| one.wall).sum();
        let each = all.as_secs_f64() / self.pairs.len().max(1) as f64;
        Duration::try_from_secs_f64(each * pairs as f64).unwrap_or(Duration::MAX)
    }

    fn metrics(&self) -> String {
        Metric::names(&self.undecided.iter().map(|one| one.metric.clone()).collect::<Vec<_>>())
    }

    fn note(&self, text: &str) {
        self.observer.compare_event(Event::Note(text));
    }
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

    /// The probability that a later analysis decides it, the highest of all; `None` if none follows.
    fn chance(&self, index: usize, analyses: InterimAnalyses) -> Option<f64> {
        let (_, stage) = self.first.as_ref()?;
        let later = analyses.builds().enumerate().skip(index + 1);
        let chances = later.map(|(later, pairs)| {
            let rates = AlphaSpending::at_analysis(&self.criteria, later, analyses.count());
            stage.assessment.chance_to_be_decided(pairs as usize, rates)
        });
        chances.reduce(f64::max)
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
            let row = DecidedRow::without_metric(benchmark, Verdict::Failed { reason });
            return DecidedRow { metric: Some(self.metric), ..row };
        };
        let second = second.flatten();
        let of_second = second.as_ref().map(|stage| &stage.assessment);
        let verdict =
            rbench_stats::Verdict::decide(&first.assessment, of_second, decided, criteria);
        let stages: Vec<DecidedStage> = std::iter::once(first.clone()).chain(second).collect();
        let is_open = matches!(verdict, rbench_stats::Verdict::Inconclusive { .. });
        let last = stages.last().filter(|_| is_open);
        let power = last.and_then(|last| Power::estimate(&last.assessment, decided, criteria));
        let advice = power.and_then(|power| Advice::from_power(&power, criteria.min_effect));
        let verdict = verdict.with_power(power.as_ref());
        let row = DecidedRow::without_metric(benchmark, verdict.into());
        DecidedRow { metric: Some(self.metric), stages, advice, ..row }
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
    fn noisy_time_is_not_compiled_further_and_has_advice() {
        let analyses = InterimAnalyses { first: 5, most: 20 };
        let time = |seconds: f64| {
            let time = Duration::from_secs_f64(seconds);
            CompileTime { wall: time, cpu: time }
        };
        let (base, head) = ([1.0, 1.9, 1.2, 2.5, 0.8], [2.1, 0.9, 2.2, 1.0, 1.6]);
        let pairs: Pairs = base.into_iter().zip(head).map(|(b, h)| [time(b), time(h)]).collect();
        let mut one = undecided(Metric::compile_time());
        one.analyse(&pairs, 0, analyses.count());
        assert!(!one.ends(0, analyses.count()));
        assert!(one.chance(0, analyses).unwrap() < WORTHWHILE);
        let benchmark =
            Benchmark { package: "json".into(), target: "all".into(), name: Name::plain("x") };
        let row = one.row(&benchmark, &Vec::new(), 1, analyses);
        assert_eq!(row.verdict.name(), "inconclusive");
        assert!(row.advice.is_some());
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
