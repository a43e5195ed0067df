//! Finds suspected changes: change points over the versions whose results are comparable.

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

/// A benchmark's values in one metric along the history, before change points are detected.
pub struct BenchmarkSeries {
    /// The values for change-point detection, or the reason why there are too few.
    series: Result<changes::Series, String>,
    /// For counted metrics: the number of versions, and the steps, which need no statistics.
    steps: Option<(usize, Vec<Step>)>,
    /// The entries of the timeline on one line of history up to the newest, oldest first.
    chain: Vec<usize>,
    /// For each entry, the entry whose measurements are its value.
    sources: Vec<Option<usize>>,
    /// The place of the newest value in the series.
    pub(super) newest: Option<VersionRef>,
}

/// A value of the benchmark that may be part of the series.
struct Candidate {
    entry: usize,
    place: VersionRef,
    mode: Mode,
}

/// A change of counts between two consecutive entries of the timeline.
struct Step {
    between: [usize; 2],
    /// The change of the level since the previous step.
    change: Change,
}

impl History<'_> {
    /// The number of versions and the steps of a counted metric. A step is a version whose range differs from the range
    /// of the first version after the previous step, by at least the min-effect. Comparing with that one, not with the
    /// neighbor, also finds a sum of many small changes.
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

    /// The series of the newest version and its ancestors with comparable results.
    pub(super) fn series(&self) -> Result<BenchmarkSeries> {
        let chain = chain(self.all.entries);
        let sources = self.sources_along(&chain);
        // Commits with the same files share measurements, which must count only once.
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

    /// For each entry, the entry whose measurements are its value. Entries with the same files use those of the first.
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

    /// The measurements under the same conditions and in the same mode, and the number of versions without any. The
    /// conditions are those of the newest version of the chain, unless few versions were measured under them; the mode
    /// is the most frequent one.
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

/// The number of distinct versions.
fn versions(candidates: &[Candidate]) -> usize {
    let mut entries: Vec<usize> = candidates.iter().map(|one| one.entry).collect();
    entries.dedup();
    entries.len()
}

/// Keeps the candidates of the most frequent mode: times of interleaved and of sequential executions are not
/// comparable.
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

/// The newest entry that is an ancestor of HEAD, or else in the repository, and the entries that it follows, oldest
/// first. A series has no branches.
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

/// Detects the changes of all series together, since they share the false-alarm rate, and adds them to the benchmarks.
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

/// Groups the changes of all benchmarks that may have the same cause.
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
    /// Converts a step into a suspected change.
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

    /// The possible positions of a change, without versions in which the benchmark is known to be unaffected.
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
