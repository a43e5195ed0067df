//! Turns the stored results of a benchmark into findings.

use std::{collections::HashMap, time::Duration};

use crate::{
    diagnosis::{Control, Length, Options, OrderEffect, SIGNIFICANT, Warning, diagnose},
    error::{Context, Exit, Result},
    machine::state,
    model::{
        Benchmark, Execution, LayoutSeed, Metric, SampleSizes, Schedule, Slot, Stage, Unit,
        Unmeasured,
    },
    report::diagnose::{Conditions, Examination, ExaminedLength, ExaminedPrologue, NotExamined},
    stats::{
        Criteria, Estimator, Measurements, Scratch, median,
        plan::{Cost, oracle},
    },
    store::{ExperimentId, Store, StoredExecution},
};

/// The assumed duration of a build if it was not measured: about that of a link.
const BUILD: Duration = Duration::from_millis(100);

/// An experiment, and the index of the version in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The id in this store.
    pub id: ExperimentId,
    /// The identity in every store.
    pub identity: String,
    /// The version's index in the experiment.
    pub version: usize,
}

/// The experiments of a diagnosis.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Executions in separate processes.
    pub executions: Source,
    /// The control, a benchmark that is known to be steady, interleaved with them.
    pub control: Option<Source>,
    /// Measurements with increasing numbers of iterations, or the reason why there are none.
    pub lengths: Result<Source, String>,
    /// Executions after other benchmarks, or the reason why there are none.
    pub prologue: Result<PrologueSources, String>,
}

/// The experiments for an order effect: the influence of benchmarks that ran before in the same process.
#[derive(Clone, Debug)]
pub struct PrologueSources {
    /// Executions in fresh processes.
    pub fresh: Source,
    /// Executions after all of these.
    pub after_all: (Vec<String>, Source),
    /// Executions after each of these alone.
    pub after_each: Vec<(String, Source)>,
}

/// The conditions of the measurements.
#[derive(Clone, Debug, Default)]
pub struct MeasuredConditions {
    /// The duration of a build.
    pub build: Option<Duration>,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// The share of CPU time that other processes used.
    pub others: Option<f64>,
    /// Notes for the report.
    pub notes: Vec<String>,
}

/// Examines one benchmark.
pub fn examine(
    store: &Store<'_>,
    benchmark: &Benchmark,
    sources: &Sources,
    criteria: &Criteria,
    circumstances: MeasuredConditions,
) -> Result<Result<Box<Examination>, NotExamined>> {
    let rows = rows(store, benchmark, &sources.executions)?;
    if let Some(not) = not_examined(&rows) {
        return Ok(Err(not));
    }
    let executions: Vec<&Execution> = executions(&rows).map(|(_, execution)| execution).collect();
    let Some(metric) = metric(&executions) else {
        let reason = "its executions have no metric in common".to_owned();
        return Ok(Err(NotExamined::Failed(reason)));
    };
    let data = measurements(&rows, &metric)?;
    let mut conditions = conditions(&executions, &metric, &data, criteria);
    conditions.load = circumstances.load;
    conditions.others = circumstances.others;
    conditions.experiments.push(sources.executions.identity.clone());
    let options = options(criteria, &conditions, &executions, circumstances.build);
    let findings = diagnose(&data, &options);
    let findings = findings.context(Exit::Usage, || format!("cannot diagnose {benchmark}"))?;
    let control = match &sources.control {
        Some(source) => control(store, benchmark, source, &options)?,
        None => None,
    };
    let (machine, mut warnings): (Vec<Warning>, Vec<_>) =
        findings.warnings.iter().partition(|warning| {
            let shows =
                |control: &Control| control.shows(warning, &data, &findings, options.estimator);
            control.as_ref().is_some_and(shows)
        });
    if have_unequal_iterations(&executions, &metric) {
        // Later measurements of Criterion.rs are longer, so a disturbance is more likely in them: a trend would be an
        // artifact.
        warnings.retain(|warning| !matches!(warning, Warning::SlowDown { .. }));
    }
    let prologue = match &sources.prologue {
        Ok(sources) => prologue(store, benchmark, sources, &metric, &options)?,
        Err(reason) => Err(reason.clone()),
    };
    if let Ok(found) = &prologue {
        warnings.extend(warning_of(&found.after_all, &options));
    }
    let length = match &sources.lengths {
        Ok(source) => length(store, benchmark, source, &metric, &executions)?,
        Err(reason) => Err(reason.clone()),
    };
    let mut notes = circumstances.notes;
    notes.extend(own_notes(&executions, &metric));
    Ok(Ok(Box::new(Examination {
        data,
        conditions,
        findings,
        control: control.map(|control| control.findings),
        warnings,
        machine,
        prologue,
        length,
        notes,
    })))
}

/// The findings in the control at the same time; `None` if too few of its results are stored.
fn control(
    store: &Store<'_>,
    benchmark: &Benchmark,
    source: &Source,
    options: &Options,
) -> Result<Option<Control>> {
    /// The control needs no impact factors, so one repetition is enough.
    const REPETITIONS: usize = 1;
    let rows = rows(store, benchmark, source)?;
    let executions: Vec<&Execution> = executions(&rows).map(|(_, execution)| execution).collect();
    let Some(metric) = metric(&executions) else { return Ok(None) };
    let data = measurements(&rows, &metric)?;
    let options = Options { repetitions: REPETITIONS, cost: None, ..*options };
    let findings = diagnose(&data, &options);
    Ok(findings.ok().map(|findings| Control { data, findings }))
}

/// The order effect, from all stored pairs.
pub fn paired(
    store: &Store<'_>,
    benchmark: &Benchmark,
    [fresh, after]: [&Source; 2],
    criteria: &Criteria,
) -> Result<Option<OrderEffect>> {
    let options = plain_options(criteria);
    let all = [rows(store, benchmark, fresh)?, rows(store, benchmark, after)?];
    let first: Vec<&Execution> = executions(&all[0]).map(|(_, execution)| execution).collect();
    let Some(metric) = metric(&first) else { return Ok(None) };
    let pairs = pairs(&all, &metric);
    Ok(change_of(&pairs, &options))
}

/// The warning about an order effect, if it is large enough.
pub fn warning_of(found: &OrderEffect, options: &Options) -> Option<Warning> {
    let (change, p) = (found.change.center, found.p);
    let is_there = p < SIGNIFICANT && change.abs() >= options.min_effect;
    is_there.then_some(Warning::OrderEffect { change, p })
}

/// The options that do not depend on results.
pub fn plain_options(criteria: &Criteria) -> Options {
    Options {
        min_effect: criteria.min_effect,
        estimator: criteria.estimator.unwrap_or_default(),
        confidence: criteria.confidence,
        seed: criteria.seed,
        ..Options::default()
    }
}

/// The version's executions of the first stage. Those of a second stage are from other builds, which were chosen by
/// results.
fn rows(store: &Store<'_>, benchmark: &Benchmark, source: &Source) -> Result<Vec<StoredExecution>> {
    let mut rows = store.rows(benchmark, &[source.id])?;
    rows.retain(|row| row.slot.version == source.version && row.slot.stage == Stage::First);
    Ok(rows)
}

fn executions(rows: &[StoredExecution]) -> impl Iterator<Item = (Slot, &Execution)> {
    rows.iter().filter_map(|row| Some((row.slot, row.outcome.as_ref().ok()?)))
}

fn not_examined(rows: &[StoredExecution]) -> Option<NotExamined> {
    let unmeasured = rows.iter().find_map(|row| row.outcome.as_ref().err());
    match unmeasured {
        Some(Unmeasured::Failed(reason)) => Some(NotExamined::Failed(reason.clone())),
        Some(Unmeasured::Skipped(reason)) => Some(NotExamined::Skipped(reason.clone())),
        None if rows.is_empty() => {
            Some(NotExamined::Failed("none of its executions is stored".to_owned()))
        }
        None => None,
    }
}

/// The first metric that all executions have, in the order of the harness.
fn metric(executions: &[&Execution]) -> Option<Metric> {
    let first = executions.first()?;
    let is_common = |metric: &&Metric| executions.iter().all(|one| one.series_of(metric).is_some());
    first.series.iter().map(|series| &series.metric).find(is_common).cloned()
}

fn measurements(rows: &[StoredExecution], metric: &Metric) -> Result<Measurements> {
    let mut builds: Vec<(u64, Vec<Vec<f64>>)> = Vec::new();
    let mut resolution = 0.0_f64;
    for (slot, execution) in executions(rows) {
        let Some(series) = execution.series_of(metric) else { continue };
        resolution = resolution.max(series.resolution);
        let seed = u64::from(slot.seed.get());
        let round = slot.round as usize;
        if !builds.iter().any(|(known, _)| *known == seed) {
            builds.push((seed, Vec::new()));
        }
        let Some((_, of_build)) = builds.iter_mut().find(|(known, _)| *known == seed) else {
            continue;
        };
        if of_build.len() <= round {
            of_build.resize(round + 1, Vec::new());
        }
        of_build[round].clone_from(&series.values);
    }
    let data = Measurements::new(metric.clone(), builds);
    let data = data.context(Exit::Internal, || "cannot use what is stored")?;
    Ok(data.with_resolution(resolution))
}

fn conditions(
    executions: &[&Execution],
    metric: &Metric,
    data: &Measurements,
    criteria: &Criteria,
) -> Conditions {
    let series = || executions.iter().filter_map(|one| one.series_of(metric));
    let pairs = || series().flat_map(|series| series.values.iter().zip(&series.iterations));
    let mut times: Vec<f64> = pairs().map(|(value, number)| value * *number as f64).collect();
    let mut iterations: Vec<f64> = pairs().map(|(_, number)| *number as f64).collect();
    let is_time = metric.unit == Unit::Nanoseconds && !times.is_empty();
    let measurement = is_time.then(|| seconds(median(&mut times) / 1e9));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    let iterations = (!iterations.is_empty()).then(|| median(&mut iterations).round() as u64);
    let resources: Vec<_> = executions.iter().map(|one| one.resources.clone()).collect();
    let preempted = match state::preempted(&resources) {
        Some(crate::model::Disturbance::Preempted { share }) => Some(share),
        _ => None,
    };
    Conditions {
        experiments: Vec::new(),
        dimensions: SampleSizes {
            first_analysis: None,
            builds: data.builds().len(),
            executions: data.builds().map(|build| build.executions().len()).max().unwrap_or(0),
            measurements: executions.iter().map(|one| one.measurements()).max().unwrap_or(0),
        },
        min_effect: criteria.min_effect,
        estimator: criteria.estimator.unwrap_or_default(),
        confidence: criteria.confidence,
        measurement,
        iterations,
        warm_up: executions.iter().map(|one| one.asked.warm_up).max().unwrap_or_default(),
        load: 0,
        others: None,
        preempted,
    }
}

fn options(
    criteria: &Criteria,
    conditions: &Conditions,
    executions: &[&Execution],
    build: Option<Duration>,
) -> Options {
    let cost = conditions.measurement.filter(|each| *each > Duration::ZERO).map(|each| {
        let beyond = |one: &&Execution| one.resources.wall.saturating_sub(one.measured_time());
        let mut beyond: Vec<f64> = executions.iter().map(|one| beyond(one).as_secs_f64()).collect();
        let each = each.as_secs_f64();
        Cost {
            build: build.unwrap_or(BUILD).as_secs_f64() / each,
            // Starting a process always takes some time, even if the clock did not resolve it.
            execution: (median(&mut beyond) / each).max(0.01),
            repeat: 1.0,
        }
    });
    Options { cost, ..plain_options(criteria) }
}

/// Pairs the executions of two experiments by build and round.
fn pairs<'r>(
    [fresh, after]: &'r [Vec<StoredExecution>; 2],
    metric: &Metric,
) -> Vec<[&'r [f64]; 2]> {
    type Place = (LayoutSeed, u32);
    let values = |rows: &'r [StoredExecution]| -> HashMap<Place, &'r [f64]> {
        let of_one = |(slot, execution): (Slot, &'r Execution)| {
            Some(((slot.seed, slot.round), &*execution.series_of(metric)?.values))
        };
        executions(rows).filter_map(of_one).collect()
    };
    let (fresh, after) = (values(fresh), values(after));
    let mut places: Vec<&Place> = fresh.keys().filter(|place| after.contains_key(place)).collect();
    places.sort_unstable();
    places.into_iter().map(|place| [fresh[place], after[place]]).collect()
}

fn change_of(pairs: &[[&[f64]; 2]], options: &Options) -> Option<OrderEffect> {
    let mut scratch = Scratch::default();
    let estimator: Estimator = options.estimator;
    let mut estimate = |values: &[f64]| estimator.estimate(values, &mut scratch);
    let values: Vec<[f64; 2]> =
        pairs.iter().map(|[fresh, after]| [estimate(fresh), estimate(after)]).collect();
    OrderEffect::estimate(&values, options).ok()
}

fn prologue(
    store: &Store<'_>,
    benchmark: &Benchmark,
    sources: &PrologueSources,
    metric: &Metric,
    options: &Options,
) -> Result<Result<ExaminedPrologue, String>> {
    let fresh = rows(store, benchmark, &sources.fresh)?;
    let (others, source) = &sources.after_all;
    let after = rows(store, benchmark, source)?;
    for rows in [&fresh, &after] {
        if let Some(NotExamined::Failed(reason) | NotExamined::Skipped(reason)) = not_examined(rows)
        {
            let first = reason.lines().map(str::trim).collect::<Vec<_>>().join(": ");
            return Ok(Err(format!("it could not be measured after other benchmarks: {first}")));
        }
    }
    let both = [fresh, after];
    let all = pairs(&both, metric);
    let Some(after_all) = change_of(&all, options) else {
        return Ok(Err("fewer than two pairs of executions are stored".to_owned()));
    };
    let length = all.iter().flatten().map(|values| values.len()).min().unwrap_or_default();
    let by_index = (0..length).map(|index| {
        let ratios = all.iter().map(|[fresh, after]| after[index] / fresh[index] - 1.0);
        median(&mut ratios.collect::<Vec<f64>>())
    });
    let by_index = by_index.collect();
    let [fresh, _] = both;
    let mut after_each = Vec::new();
    for (other, source) in &sources.after_each {
        let both = [fresh.clone(), rows(store, benchmark, source)?];
        if let Some(change) = change_of(&pairs(&both, metric), options) {
            after_each.push((other.clone(), change));
        }
    }
    Ok(Ok(ExaminedPrologue { others: others.clone(), after_all, by_index, after_each }))
}

fn length(
    store: &Store<'_>,
    benchmark: &Benchmark,
    source: &Source,
    metric: &Metric,
    executions_in_use: &[&Execution],
) -> Result<Result<ExaminedLength, String>> {
    let rows = rows(store, benchmark, source)?;
    let mut all: Vec<(u64, f64)> = Vec::new();
    for (_, execution) in executions(&rows) {
        if let Some(series) = execution.series_of(metric) {
            all.extend(series.iterations.iter().copied().zip(series.values.iter().copied()));
        }
    }
    let Some(curve) = Length::from_measurements(&all) else {
        return Ok(Err("no measurements of other lengths are stored".to_owned()));
    };
    let least = all.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    let in_use =
        executions_in_use.iter().filter_map(|one| one.series_of(metric)?.same_iterations());
    Ok(Ok(ExaminedLength { curve, oracle: oracle(least), in_use: in_use.max().unwrap_or(1) }))
}

/// True if an execution has measurements with different numbers of iterations.
fn have_unequal_iterations(executions: &[&Execution], metric: &Metric) -> bool {
    executions
        .iter()
        .filter_map(|one| one.series_of(metric))
        .any(|series| !series.iterations.is_empty() && series.same_iterations().is_none())
}

/// Notes about the executions that limit the findings.
fn own_notes(executions: &[&Execution], metric: &Metric) -> Vec<String> {
    let mut notes = Vec::new();
    if have_unequal_iterations(executions, metric) {
        notes.push(
            "the harness gives measurements different numbers of iterations: short ones are less sure, long ones \
             meet more disturbances, and that it slows down cannot be told"
                .to_owned(),
        );
    }
    if executions.iter().any(|one| matches!(one.schedule, Schedule::Interleaved(_))) {
        notes.push(
            "it ran interleaved with another version, whose memory and caches it shared: a diagnosis of its own tells \
             more"
                .to_owned(),
        );
    }
    notes
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
