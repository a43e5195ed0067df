//! Finds suspected changes: change points over the versions whose results are comparable.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use rbench_stats::{
    Change, Summary, Verdict,
    changes::{self, FEWEST, LARGEST_P, Observation, Span},
    decide_counts, discoveries,
};

use super::rows::History;
use crate::{
    error::Result,
    model::{CommitRange, Machine, Mode, Stage, Version},
    report::{
        history::{BenchmarkHistory, CommitPlace, Event, EventChange, Series, SuspectedChange},
        quantity::count,
    },
    verdict::{TimelineEntry, VersionRef, share_history},
};

/// A benchmark's values in one metric along the history, before change points are detected.
pub struct BenchmarkSeries {
    values: Values,
    /// The entries of the timeline on one line of history up to the newest, oldest first.
    chain: Vec<usize>,
    /// For each entry, the entry whose measurements are its value.
    sources: Vec<Option<usize>>,
    /// The place of the newest value in the series.
    pub(super) newest: Option<VersionRef>,
}

enum Values {
    Timed(changes::Series),
    /// Of a counted metric: the number of versions, and the steps, which need no statistics.
    Counted(usize, Vec<Step>),
    TooFew(String),
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
                self.all.decider.value(self.benchmark, *place, &self.metric, &criteria)?;
            let Some(summary) = summary else { continue };
            let decided =
                level.as_ref().and_then(|level| decide_counts(level, &summary, &criteria));
            let step = match decided {
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
            let (versions, steps) = self.steps(&candidates)?;
            let values = Values::Counted(versions, steps);
            return Ok(BenchmarkSeries { values, chain, sources, newest });
        }
        let mut machines: Vec<&Arc<Machine>> = Vec::new();
        let mut observations = Vec::new();
        for Candidate { entry, place, .. } in &candidates {
            let (_, summary) =
                self.all.decider.value(self.benchmark, *place, &self.metric, self.criteria)?;
            let machine = &self.all.results.experiments[place.experiment].plan.machine;
            let known = machines.iter().position(|known| known.differences(machine).is_empty());
            let number = known.unwrap_or(machines.len());
            if known.is_none() {
                machines.push(machine);
            }
            let of = |summary| Observation::new(*entry, [place.experiment, number], summary);
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
        let refused = || {
            let mut versions: Vec<usize> = observations.iter().map(|one| one.place).collect();
            versions.dedup();
            let is_carried = |index: &&usize| sources[**index].is_some_and(|one| one != **index);
            let carried = chain.iter().filter(is_carried).count();
            Values::TooFew(too_few(versions.len(), carried, others))
        };
        let series = changes::Series::new(&observations, repeats.as_ref());
        let values = series.map_or_else(refused, Values::Timed);
        Ok(BenchmarkSeries { values, chain, sources, newest })
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
            || share_history(&self.all.results.experiments, [one, other])
    }
}

fn versions(candidates: &[Candidate]) -> usize {
    let mut entries: Vec<usize> = candidates.iter().map(|one| one.entry).collect();
    entries.dedup();
    entries.len()
}

/// Keeps the candidates of the most frequent mode: times of interleaved and of sequential executions are not
/// comparable.
fn interleaved_like_most(mut all: Vec<Candidate>) -> Vec<Candidate> {
    let interleaved = all.iter().filter(|one| one.mode == Mode::Interleaved).count();
    let usual = if 2 * interleaved > all.len() { Mode::Interleaved } else { Mode::Sequential };
    all.retain(|one| one.mode == usual);
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

fn too_few(versions: usize, carried: usize, others: usize) -> String {
    let same = match carried {
        0 => String::new(),
        _ => format!("; {carried} more execute the same as the one before"),
    };
    let mut text = match versions {
        0 => "no comparable version with two builds".to_owned(),
        _ => format!(
            "comparable values of only {} (needs {FEWEST}{same})",
            count(versions, "version")
        ),
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
    let p_value = |course: &BenchmarkSeries| match &course.values {
        Values::Timed(series) => Some(series.p()),
        Values::Counted(..) | Values::TooFew(_) => None,
    };
    let p_values: Vec<Option<f64>> = courses.iter().map(p_value).collect();
    let level = discoveries(p_values.iter().flatten().copied(), false_alarm_rate.min(LARGEST_P));
    for ((benchmark, course), p) in benchmarks.iter_mut().zip(courses).zip(p_values) {
        benchmark.series = match &course.values {
            Values::TooFew(reason) => Series::Undecided { reason: reason.clone() },
            Values::Counted(versions, steps) => {
                let change = |Step { between, change }: &Step| SuspectedChange {
                    place: place(&course.span(*between, [*between; 2]), entries),
                    change: *change,
                };
                let changes: Vec<SuspectedChange> = steps.iter().map(change).collect();
                let p = if changes.is_empty() { 1.0 } else { 0.0 };
                Series::Decided { versions: *versions, p, changes }
            }
            Values::Timed(series) => {
                let p = p.unwrap_or(1.0);
                let found = if p <= level { series.changes(level) } else { Vec::new() };
                let change = |found: &changes::ChangePoint| {
                    let span = course.span(found.at, [found.earliest, found.latest]);
                    let [estimate, low, high] =
                        [found.estimate, found.low, found.high].map(f64::exp_m1);
                    let change = Change { estimate, low, high };
                    SuspectedChange { place: place(&span, entries), change }
                };
                let changes = found.iter().map(change).collect();
                Series::Decided { versions: series.versions(), p, changes }
            }
        };
    }
}

/// Groups the changes of all benchmarks that may have the same cause.
pub(super) fn events(benchmarks: &[BenchmarkHistory], entries: &[TimelineEntry]) -> Vec<Event> {
    let index = |version: &Version| entries.iter().position(|entry| entry.version == *version);
    let indices = |range: &CommitRange| Some([index(&range.after)?, index(&range.until)?]);
    let (mut spans, mut members) = (Vec::new(), Vec::new());
    for BenchmarkHistory { benchmark, metric, series, .. } in benchmarks {
        for change in series.changes() {
            let CommitPlace { best, possible } = &change.place;
            if let (Some(best), Some(possible)) = (indices(best), indices(possible)) {
                spans.push(Span { best, possible });
                members.push(EventChange {
                    benchmark: benchmark.clone(),
                    metric: metric.clone(),
                    change: change.clone(),
                });
            }
        }
    }
    let event = |group: changes::Group| {
        let changes = group.members.into_iter().map(|member| members[member].clone());
        let mut changes: Vec<EventChange> = changes.collect();
        let size = |one: &EventChange| one.change.change.estimate.abs();
        changes.sort_by(|one, other| size(other).total_cmp(&size(one)));
        Event { place: place(&group.span, entries), changes }
    };
    changes::groups(&spans).into_iter().map(event).collect()
}

fn place(span: &Span, entries: &[TimelineEntry]) -> CommitPlace {
    let range = |range: [usize; 2]| {
        let [after, until] = range.map(|index| entries[index].version.clone());
        CommitRange { after, until }
    };
    CommitPlace { best: range(span.best), possible: range(span.possible) }
}

impl BenchmarkSeries {
    /// The most likely place of a change, and all its places between the `earliest` and the `latest`, without versions
    /// in which the benchmark is known to be unaffected.
    fn span(&self, at: [usize; 2], [earliest, latest]: [[usize; 2]; 2]) -> Span {
        let narrowed = |[after, until]: [usize; 2]| {
            let between = self.chain.iter().filter(|index| (after..until).contains(index));
            let mut same = between.filter(|index| self.sources[**index] == Some(after));
            same.next_back().copied().unwrap_or(after)
        };
        Span { best: [narrowed(at), at[1]], possible: [narrowed(earliest), latest[1]] }
    }
}
