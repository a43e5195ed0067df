//! Since when benchmarks are suspected to have changed: change points over the versions that can be compared.

use std::collections::{BTreeMap, HashMap};

use super::History;
use crate::{
    error::Result,
    model::{Mode, Stage, Version},
    report::history::{BenchmarkHistory, CommitPlace, Event, Series, SuspectedChange},
    stats::{
        Change, Summary, Verdict,
        changes::{self, FEWEST, LARGEST_P, Observation, Span},
        decide_counts, discoveries,
    },
    verdict::{TimelineEntry, VersionRef, obstacles},
};

/// The course of a benchmark's values in one metric, not yet judged.
pub struct BenchmarkSeries {
    /// What can be judged, or why nothing can.
    series: Result<changes::Series, String>,
    /// The steps of what was counted, which needs no statistics, and over how many versions.
    steps: Option<(usize, Vec<Step>)>,
    /// The entries of the timeline that follow each other up to the newest, oldest first.
    chain: Vec<usize>,
    /// For each entry, the one whose measurements are its value.
    sources: Vec<Option<usize>>,
    /// Where the newest value was measured that is judged.
    pub(super) newest: Option<VersionRef>,
}

/// A value of the benchmark that may be part of the course.
struct Candidate {
    entry: usize,
    place: VersionRef,
    mode: Mode,
}

/// A change of counts between two entries of the timeline that follow each other.
struct Step {
    between: [usize; 2],
    /// The change of the level, which is that behind the last step.
    change: Change,
}

impl History<'_> {
    /// The steps of what was counted: wherever the ranges of a version and of the first one behind the last step lie
    /// apart, by at least the smallest change of interest. So many small changes become a step, too.
    fn steps(&self, candidates: &[Candidate]) -> Result<(usize, Vec<Step>)> {
        let criteria = self.criteria.for_metric(&self.metric);
        let mut newest: BTreeMap<usize, VersionRef> = BTreeMap::new();
        newest.extend(candidates.iter().map(|one| (one.entry, one.place)));
        let mut level: Option<Summary> = None;
        let (mut before, mut steps) = (0, Vec::new());
        for (entry, place) in &newest {
            let (_, summary) =
                self.all.judge.value(self.benchmark, *place, &self.metric, &criteria)?;
            let Some(summary) = summary else { continue };
            let judged = level.as_ref().and_then(|level| decide_counts(level, &summary, &criteria));
            let step = match judged {
                Some((_, Verdict::Regressed { change, .. } | Verdict::Improved { change, .. })) => {
                    Some(Step { between: [before, *entry], change })
                }
                _ => None,
            };
            if step.is_some() || level.is_none() {
                level = Some(summary);
            }
            steps.extend(step);
            before = *entry;
        }
        Ok((newest.len(), steps))
    }

    /// The values of the newest version and of its ancestors that can be compared with it.
    pub(super) fn series(&self) -> Result<BenchmarkSeries> {
        let chain = chain(self.all.entries);
        let sources = self.sources_along(&chain);
        // Commits with the same files have the same measurements, which count once.
        let measured = chain.iter().copied().filter(|index| sources[*index] == Some(*index));
        let (candidates, others) = self.candidates(measured);
        let newest = candidates.last().map(|one| one.place);
        if self.metric.is_counted() && self.all.results.is_counting(self.newest.experiment) {
            let (series, steps) = (Err(String::new()), Some(self.steps(&candidates)?));
            return Ok(BenchmarkSeries { series, steps, chain, sources, newest });
        }
        let mut observations = Vec::new();
        for Candidate { entry, place, .. } in &candidates {
            let (_, summary) =
                self.all.judge.value(self.benchmark, *place, &self.metric, self.criteria)?;
            let of = |summary| Observation::new(*entry, place.experiment, summary);
            observations.extend(summary.as_ref().and_then(of));
        }
        let repeats = match candidates.last() {
            Some(Candidate { place, mode, .. }) => self.benchmark.session_variance(
                place.experiment,
                &self.metric,
                *mode,
                self.criteria,
            )?,
            None => None,
        };
        let series = changes::Series::new(&observations, repeats.as_ref());
        let series = series.ok_or_else(|| {
            let mut versions: Vec<usize> = observations.iter().map(|one| one.place).collect();
            versions.dedup();
            too_few(versions.len(), others)
        });
        Ok(BenchmarkSeries { series, steps: None, chain, sources, newest })
    }

    /// For each entry, the one whose measurements are its value, where those of the same files are the value of the
    /// first of them.
    fn sources_along(&self, chain: &[usize]) -> Vec<Option<usize>> {
        let mut sources = self.sources.to_vec();
        let mut first: HashMap<VersionRef, usize> = HashMap::new();
        for index in chain {
            if let Some(place) = self.places[*index].last() {
                sources[*index] = Some(*first.entry(*place).or_insert(*index));
            }
        }
        sources
    }

    /// Where the benchmark was measured under the same conditions: those of the newest version of the chain, unless
    /// only some were measured so, and interleaved like most; and how many versions were measured otherwise.
    fn candidates(&self, entries: impl Iterator<Item = usize>) -> (Vec<Candidate>, usize) {
        let measured = |entry: usize| -> Vec<Candidate> {
            let usable = self.places[entry].iter().filter_map(|place| {
                let interleaving = self.benchmark.interleaving(&[*place], Stage::First).ok()??;
                let is_measured = self.benchmark.unmeasured(*place).is_none()
                    && self.benchmark.metrics(&[*place]).contains(&self.metric);
                let mode = interleaving.mode;
                is_measured.then_some(Candidate { entry, place: *place, mode })
            });
            usable.collect()
        };
        let mut rest: Vec<Candidate> = entries.flat_map(measured).collect();
        let count = versions(&rest);
        let mut of_newest = None;
        while let Some(newest) = rest.last().map(|one| one.place) {
            let (alike, others) =
                rest.into_iter().partition(|one| self.are_comparable(one.place, newest));
            let alike = interleaved_like_most(alike);
            if versions(&alike) >= FEWEST {
                of_newest = Some(alike);
                break;
            }
            of_newest.get_or_insert(alike);
            rest = others;
        }
        let chosen = of_newest.unwrap_or_default();
        let others = count - versions(&chosen);
        (chosen, others)
    }

    fn are_comparable(&self, one: VersionRef, other: VersionRef) -> bool {
        self.all.ignore_environment
            || one.experiment == other.experiment
            || obstacles(&self.all.results.experiments, [one, other]).is_empty()
    }
}

/// How many versions there are.
fn versions(candidates: &[Candidate]) -> usize {
    let mut entries: Vec<usize> = candidates.iter().map(|one| one.entry).collect();
    entries.dedup();
    entries.len()
}

/// Times of executions that took turns are not like times of those that ran alone.
fn interleaved_like_most(mut all: Vec<Candidate>) -> Vec<Candidate> {
    let mut kinds: BTreeMap<String, (usize, Mode)> = BTreeMap::new();
    for one in &all {
        let (count, _) = kinds.entry(format!("{:?}", one.mode)).or_insert((0, one.mode));
        *count += 1;
    }
    let usual = kinds.values().max_by_key(|(count, _)| *count).map(|(_, kind)| *kind);
    all.retain(|one| Some(one.mode) == usual);
    all
}

/// The newest entry that leads to HEAD, else that the repository has, and those before it that it follows, oldest first:
/// a course has no branches.
fn chain(entries: &[TimelineEntry]) -> Vec<usize> {
    let newest = entries.iter().rposition(|entry| entry.in_head);
    let newest = newest.or_else(|| entries.iter().rposition(|entry| entry.in_repository));
    let mut chain: Vec<usize> =
        std::iter::successors(newest, |index| entries[*index].follows).collect();
    chain.reverse();
    chain
}

fn too_few(versions: usize, others: usize) -> String {
    let verb = |count: usize| if count == 1 { "version" } else { "versions" };
    let mut text = match versions {
        0 => "without two builds of any comparable version".to_owned(),
        _ => format!("with {versions} comparable {} of at least {FEWEST}", verb(versions)),
    };
    if others > 0 {
        text += &format!(" ({others} more measured in another way)");
    }
    text
}

/// Judges all courses together, and tells each benchmark's; the events are those of all.
pub(super) fn detect_changes(
    benchmarks: &mut [BenchmarkHistory],
    courses: &[BenchmarkSeries],
    entries: &[TimelineEntry],
    false_alarm_rate: f64,
) {
    let p_values: Vec<Option<f64>> =
        courses.iter().map(|course| course.series.as_ref().ok().map(changes::Series::p)).collect();
    let level = discoveries(p_values.iter().flatten().copied(), false_alarm_rate.min(LARGEST_P));
    for ((benchmark, course), p) in benchmarks.iter_mut().zip(courses).zip(p_values) {
        if let Some((versions, steps)) = &course.steps {
            let changes: Vec<SuspectedChange> =
                steps.iter().map(|step| course.suspected(step, entries)).collect();
            let p = if changes.is_empty() { 1.0 } else { 0.0 };
            benchmark.series = Series::Decided { versions: *versions, p, changes };
            continue;
        }
        benchmark.series = match (&course.series, p) {
            (Ok(series), Some(p)) => {
                let found = if p <= level { series.changes(level) } else { Vec::new() };
                let change = |change: &changes::ChangePoint| SuspectedChange {
                    place: place(&course.span(change), entries),
                    estimate: change.estimate.exp_m1(),
                    low: change.low.exp_m1(),
                    high: change.high.exp_m1(),
                };
                let changes = found.iter().map(change).collect();
                Series::Decided { versions: series.versions(), p, changes }
            }
            (Ok(_), None) => Series::NotJudged { reason: String::new() },
            (Err(reason), _) => Series::NotJudged { reason: reason.clone() },
        };
    }
}

/// The changes of all benchmarks, those that may have one cause together.
pub(super) fn events(benchmarks: &[BenchmarkHistory], entries: &[TimelineEntry]) -> Vec<Event> {
    let index = |version: &Version| entries.iter().position(|entry| entry.version == *version);
    let indices = |[after, until]: &[Version; 2]| Some([index(after)?, index(until)?]);
    let mut spans = Vec::new();
    let mut members = Vec::new();
    for (number, benchmark) in benchmarks.iter().enumerate() {
        for (change, SuspectedChange { place, .. }) in benchmark.series.changes().iter().enumerate()
        {
            if let (Some(best), Some(possible)) = (indices(&place.best), indices(&place.possible)) {
                spans.push(Span { best, possible });
                members.push([number, change]);
            }
        }
    }
    let event = |group: changes::Group| Event {
        place: place(&group.span, entries),
        members: group.members.into_iter().map(|member| members[member]).collect(),
    };
    changes::groups(&spans).into_iter().map(event).collect()
}

fn place(span: &Span, entries: &[TimelineEntry]) -> CommitPlace {
    let versions = |range: [usize; 2]| range.map(|index| entries[index].version.clone());
    CommitPlace { best: versions(span.best), possible: versions(span.possible) }
}

impl BenchmarkSeries {
    /// A step as a change that is told.
    fn suspected(&self, step: &Step, entries: &[TimelineEntry]) -> SuspectedChange {
        let at = step.between;
        let change = changes::ChangePoint {
            at,
            earliest: at,
            latest: at,
            estimate: 0.0,
            low: 0.0,
            high: 0.0,
        };
        let Change { estimate, low, high } = step.change;
        SuspectedChange { place: place(&self.span(&change), entries), estimate, low, high }
    }

    /// Where a change may be, without versions in which the benchmark is known to do the same as before.
    fn span(&self, change: &changes::ChangePoint) -> Span {
        let narrowed = |[after, until]: [usize; 2]| {
            let between = self.chain.iter().filter(|index| (after..until).contains(index));
            let mut same = between.filter(|index| self.sources[**index] == Some(after));
            [same.next_back().copied().unwrap_or(after), until]
        };
        let best = narrowed(change.at);
        let earliest = narrowed(change.earliest);
        Span { best, possible: [earliest[0], change.latest[1]] }
    }
}
