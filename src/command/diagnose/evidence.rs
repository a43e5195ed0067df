//! Turns the stored results of a benchmark into findings: those of a diagnosis that was just measured, or the ones that
//! are stored (`--from-stored`).

use std::{collections::BTreeMap, time::Duration};

use rbench_stats::{
    Criteria, Measurements, Scratch,
    diagnosis::{AfterOne, Control, Length, Options, OrderEffect, OrderEffects, Warning, diagnose},
    median,
    plan::Cost,
};

use crate::{
    error::{Context, Exit, Result},
    machine::state,
    model::{
        Benchmark, DiagnosisPart, DiagnosisSettings, Disturbance, Execution, LayoutSeed, Metric,
        Mode, SampleSizes, Series, Slot, Stage, Threads, Unit, Unmeasured, Version,
    },
    report::diagnose::{Conditions, Examination, NoiseSource, WordedWarning},
    store::{ExperimentId, Store, StoredExecution, StoredExperiment},
};

/// The assumed duration of a build if it was not measured: about that of a link.
const BUILD: Duration = Duration::from_millis(100);

/// An experiment, and the index of the version in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub id: ExperimentId,
    pub identity: String,
    /// The version's index in the experiment.
    pub version: usize,
}

#[derive(Clone, Debug)]
pub struct Sources {
    pub executions: Source,
    /// The control, a benchmark that is known to be steady, interleaved with them.
    pub control: Option<Source>,
    /// Measurements with increasing numbers of iterations, or the reason why there are none.
    pub lengths: Result<Source, String>,
    /// Executions after other benchmarks, or the reason why there are none.
    pub order_effect: Result<OrderEffectSources, String>,
}

/// The experiments for an order effect: the influence of benchmarks that ran before in the same process.
#[derive(Clone, Debug)]
pub struct OrderEffectSources {
    pub fresh: Source,
    /// Executions after all of these.
    pub after_all: (Vec<String>, Source),
    /// Executions after each of these alone.
    pub after_each: Vec<(String, Source)>,
}

/// The conditions of the measurements that no stored result has.
#[derive(Clone, Debug, Default)]
pub struct MeasuredConditions {
    pub build: Option<Duration>,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// The share of CPU time that other processes used.
    pub others: Option<f64>,
    pub notes: Vec<String>,
}

/// The stored results of one benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'e> {
    pub store: &'e Store<'e>,
    pub benchmark: &'e Benchmark,
    pub criteria: &'e Criteria,
}

impl Evidence<'_> {
    pub fn examine(
        &self,
        sources: &Sources,
        measured: MeasuredConditions,
    ) -> Result<Result<Box<Examination>, Unmeasured>> {
        let rows = self.rows(&sources.executions)?;
        if let Some(unmeasured) = unmeasured(&rows) {
            return Ok(Err(unmeasured));
        }
        let Some(metric) = metric(&rows) else {
            let reason = "its executions have no metric in common".to_owned();
            return Ok(Err(Unmeasured::Failed(reason)));
        };
        let data = measurements(&rows, &metric)?;
        let conditions = Conditions {
            experiments: vec![sources.executions.identity.clone()],
            load: measured.load,
            others: measured.others,
            ..self.conditions(&rows, &data)
        };
        let cost = cost(&conditions, &rows, measured.build);
        let options = Options { cost, ..self.options() };
        let findings = diagnose(&data, &options);
        let findings =
            findings.context(Exit::Usage, || format!("cannot diagnose {}", self.benchmark))?;
        let control = match &sources.control {
            Some(source) => self.control(source, &options)?,
            None => None,
        };
        let order_effect = match &sources.order_effect {
            Ok(sources) => self.order_effects(sources, &metric)?,
            Err(reason) => Err(reason.clone()),
        };
        let length = match &sources.lengths {
            Ok(source) => self.length(source, &metric, &rows)?,
            Err(reason) => Err(reason.clone()),
        };
        let (machine, mut own): (Vec<Warning>, Vec<Warning>) =
            findings.warnings.iter().partition(|warning| {
                let shows =
                    |control: &Control| control.shows(warning, &data, &findings, options.estimator);
                control.as_ref().is_some_and(shows)
            });
        let mut notes = measured.notes;
        if has_unequal_iterations(&rows, &metric) {
            // Later measurements of Criterion.rs are longer, so a disturbance is more likely in them: a trend would be
            // an artifact.
            own.retain(|warning| !matches!(warning, Warning::SlowDown { .. }));
            notes.push(
                "the harness gives measurements different numbers of iterations: short ones are less precise, \
                 long ones meet more disturbances, and a slowdown over time cannot be detected"
                    .to_owned(),
            );
        }
        let is_interleaved = |one: &Execution| one.schedule.mode() == Mode::Interleaved;
        if executions(&rows).any(|(_, execution)| is_interleaved(execution)) {
            notes.push(
                "it ran interleaved with another version, whose memory and caches it shared: a separate \
                 diagnosis finds more"
                    .to_owned(),
            );
        }
        let effects = order_effect.as_ref().ok();
        own.extend(effects.and_then(|found| found.after_all.warning(&options)));
        let source = NoiseSource::new(&own, machine.len(), control.is_some(), &conditions);
        let [warnings, machine_warnings] = [own, machine].map(|warnings| {
            let word = |warning| WordedWarning::new(warning, &conditions, effects);
            warnings.into_iter().map(word).collect()
        });
        Ok(Ok(Box::new(Examination {
            data,
            conditions,
            warnings,
            machine_warnings,
            has_control: control.is_some(),
            source,
            notes,
            findings,
            order_effect,
            length,
        })))
    }

    /// True if what ran before matters so much that it needs a warning.
    pub fn has_order_effect(&self, fresh: &Source, after: &Source) -> Result<bool> {
        let (fresh, after) = (self.rows(fresh)?, self.rows(after)?);
        let Some(metric) = metric(&fresh) else { return Ok(false) };
        let effect = self.order_effect(&pairs([&fresh, &after], &metric));
        Ok(effect.is_some_and(|effect| effect.warning(&self.options()).is_some()))
    }

    /// The options that do not depend on results.
    fn options(&self) -> Options {
        Options {
            min_effect: self.criteria.min_effect,
            estimator: self.criteria.estimator.unwrap_or_default(),
            confidence: self.criteria.confidence,
            seed: self.criteria.seed,
            ..Options::default()
        }
    }

    /// The version's executions of the first stage. Those of a second stage are from other builds, which were chosen by
    /// results.
    fn rows(&self, source: &Source) -> Result<Vec<StoredExecution>> {
        let mut rows = self.store.rows(self.benchmark, &[source.id])?;
        rows.retain(|row| row.slot.version == source.version && row.slot.stage == Stage::First);
        Ok(rows)
    }

    /// The findings in the control at the same time; `None` if too few of its results are stored.
    fn control(&self, source: &Source, options: &Options) -> Result<Option<Control>> {
        /// The control needs no impact factors, so one repetition is enough.
        const REPETITIONS: usize = 1;
        let rows = self.rows(source)?;
        let Some(metric) = metric(&rows) else { return Ok(None) };
        let data = measurements(&rows, &metric)?;
        let options = Options { repetitions: REPETITIONS, cost: None, ..*options };
        let findings = diagnose(&data, &options);
        Ok(findings.ok().map(|findings| Control { data, findings }))
    }

    fn conditions(&self, rows: &[StoredExecution], data: &Measurements) -> Conditions {
        let metric = data.metric();
        let pairs = || {
            series(rows, metric)
                .flat_map(|(_, series)| series.values.iter().zip(&series.iterations))
        };
        let mut times: Vec<f64> = pairs().map(|(value, number)| value * *number as f64).collect();
        let mut iterations: Vec<f64> = pairs().map(|(_, number)| *number as f64).collect();
        let is_time = metric.unit == Unit::Nanoseconds && !times.is_empty();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates"
        )]
        let iterations = (!iterations.is_empty()).then(|| median(&mut iterations).round() as u64);
        let all = || executions(rows).map(|(_, execution)| execution);
        let resources: Vec<_> = all().map(|one| one.resources.clone()).collect();
        let preempted = match state::preempted(&resources) {
            Some(Disturbance::Preempted { share }) => Some(share),
            _ => None,
        };
        let warm_up = all().map(|one| one.asked.warm_up).max().unwrap_or_default();
        Conditions {
            experiments: Vec::new(),
            sample_sizes: SampleSizes {
                first_analysis: None,
                builds: data.builds().len(),
                executions: data.builds().map(|build| build.executions().len()).max().unwrap_or(0),
                measurements: all().map(Execution::measurements).max().unwrap_or(0),
            },
            min_effect: self.criteria.min_effect,
            estimator: self.criteria.estimator.unwrap_or_default(),
            confidence: self.criteria.confidence,
            measurement_seconds: is_time.then(|| median(&mut times) / 1e9),
            iterations,
            warm_up_seconds: warm_up.as_secs_f64(),
            load: 0,
            others: None,
            preempted,
        }
    }

    /// The order effect of pairs of executions, if there are enough.
    fn order_effect(&self, pairs: &[[&[f64]; 2]]) -> Option<OrderEffect> {
        let (mut scratch, options) = (Scratch::default(), self.options());
        let mut estimate = |values: &[f64]| options.estimator.estimate(values, &mut scratch);
        let values: Vec<[f64; 2]> =
            pairs.iter().map(|[fresh, after]| [estimate(fresh), estimate(after)]).collect();
        OrderEffect::estimate(&values, &options).ok()
    }

    fn order_effects(
        &self,
        sources: &OrderEffectSources,
        metric: &Metric,
    ) -> Result<Result<OrderEffects, String>> {
        let (others, source) = &sources.after_all;
        let (fresh, after) = (self.rows(&sources.fresh)?, self.rows(source)?);
        if let Some(reason) = unmeasured(&fresh).or_else(|| unmeasured(&after)) {
            return Ok(Err(not_after_others(&reason)));
        }
        let all = pairs([&fresh, &after], metric);
        let Some(after_all) = self.order_effect(&all) else {
            return Ok(Err("fewer than two pairs of executions are stored".to_owned()));
        };
        let length = all.iter().flatten().map(|values| values.len()).min().unwrap_or_default();
        let by_index = (0..length).map(|index| {
            let ratios = all.iter().map(|[fresh, after]| after[index] / fresh[index] - 1.0);
            median(&mut ratios.collect::<Vec<f64>>())
        });
        let mut after_each = Vec::new();
        for (other, source) in &sources.after_each {
            let effect = self.order_effect(&pairs([&fresh, &self.rows(source)?], metric));
            after_each.extend(effect.map(|effect| AfterOne { other: other.clone(), effect }));
        }
        let (others, by_index) = (others.clone(), by_index.collect());
        Ok(Ok(OrderEffects { others, after_all, by_index, after_each }))
    }

    /// The error by the length of a measurement. `in_use` has the executions whose length is in use.
    fn length(
        &self,
        source: &Source,
        metric: &Metric,
        in_use: &[StoredExecution],
    ) -> Result<Result<Length, String>> {
        let in_use = series(in_use, metric).filter_map(|(_, series)| series.same_iterations());
        let rows = self.rows(source)?;
        let all: Vec<(u64, f64)> = series(&rows, metric)
            .flat_map(|(_, series)| {
                series.iterations.iter().copied().zip(series.values.iter().copied())
            })
            .collect();
        let length = Length::from_measurements(&all, in_use.max().unwrap_or(1));
        Ok(length.ok_or_else(|| "no measurements of other lengths are stored".to_owned()))
    }
}

/// The reason why an order effect is unknown.
pub fn not_after_others(unmeasured: &Unmeasured) -> String {
    let reason = unmeasured.to_string();
    let lines: Vec<&str> = reason.lines().map(str::trim).collect();
    format!("it could not be measured after other benchmarks: {}", lines.join(": "))
}

fn executions(rows: &[StoredExecution]) -> impl Iterator<Item = (Slot, &Execution)> {
    rows.iter().filter_map(|row| Some((row.slot, row.outcome.as_ref().ok()?)))
}

fn series<'r>(
    rows: &'r [StoredExecution],
    metric: &Metric,
) -> impl Iterator<Item = (Slot, &'r Series)> {
    executions(rows).filter_map(|(slot, execution)| Some((slot, execution.series_of(metric)?)))
}

fn unmeasured(rows: &[StoredExecution]) -> Option<Unmeasured> {
    let unmeasured = rows.iter().find_map(|row| row.outcome.as_ref().err().cloned());
    let nothing = || Unmeasured::Failed("none of its executions is stored".to_owned());
    unmeasured.or_else(|| rows.is_empty().then(nothing))
}

/// The first metric that all executions have, in the order of the harness.
fn metric(rows: &[StoredExecution]) -> Option<Metric> {
    let all = || executions(rows).map(|(_, execution)| execution);
    let is_common = |metric: &&Metric| all().all(|one| one.series_of(metric).is_some());
    all().next()?.series.iter().map(|series| &series.metric).find(is_common).cloned()
}

fn measurements(rows: &[StoredExecution], metric: &Metric) -> Result<Measurements> {
    let mut builds: Vec<(u64, Vec<Vec<f64>>)> = Vec::new();
    let mut resolution = 0.0_f64;
    for (slot, series) in series(rows, metric) {
        resolution = resolution.max(series.resolution);
        let (seed, round) = (u64::from(slot.seed.get()), slot.round as usize);
        let at = builds.iter().position(|(known, _)| *known == seed).unwrap_or(builds.len());
        if at == builds.len() {
            builds.push((seed, Vec::new()));
        }
        let rounds = &mut builds[at].1;
        rounds.resize(rounds.len().max(round + 1), Vec::new());
        rounds[round].clone_from(&series.values);
    }
    let data = Measurements::new(metric.clone(), builds);
    let data = data.context(Exit::Internal, || "cannot use the stored results")?;
    Ok(data.with_resolution(resolution))
}

/// The costs of a build and an execution, in the time of one measurement; `None` if that is unknown.
fn cost(
    conditions: &Conditions,
    rows: &[StoredExecution],
    build: Option<Duration>,
) -> Option<Cost> {
    let each = conditions.measurement_seconds.filter(|each| *each > 0.0)?;
    let beyond = |one: &Execution| {
        let whole = match one.schedule.interleaved() {
            // Interleaved, the process also waited for the other version.
            Some((Threads::Together, _)) => one.resources.cpu(),
            // The CPU time of the others may be that of several threads.
            _ => one.own_wall(),
        };
        whole.saturating_sub(one.measured_time())
    };
    let beyond = executions(rows).map(|(_, execution)| beyond(execution).as_secs_f64());
    Some(Cost {
        build: build.unwrap_or(BUILD).as_secs_f64() / each,
        // Starting a process always takes some time, even if the clock did not resolve it.
        execution: (median(&mut beyond.collect::<Vec<f64>>()) / each).max(0.01),
        repeat: 1.0,
    })
}

/// Pairs the executions of two experiments by build and round.
fn pairs<'r>([fresh, after]: [&'r [StoredExecution]; 2], metric: &Metric) -> Vec<[&'r [f64]; 2]> {
    let values = |rows: &'r [StoredExecution]| -> BTreeMap<(LayoutSeed, u32), &'r [f64]> {
        let place = |(slot, series): (Slot, &'r Series)| ((slot.seed, slot.round), &*series.values);
        series(rows, metric).map(place).collect()
    };
    let after = values(after);
    let paired = values(fresh).into_iter();
    paired.filter_map(|(place, fresh)| Some([fresh, *after.get(&place)?])).collect()
}

/// True if an execution has measurements with different numbers of iterations.
fn has_unequal_iterations(rows: &[StoredExecution], metric: &Metric) -> bool {
    series(rows, metric)
        .any(|(_, series)| !series.iterations.is_empty() && series.same_iterations().is_none())
}

pub struct Stored {
    pub sources: Sources,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    pub notes: Vec<String>,
    pub newest: StoredExperiment,
}

/// Returns the newest diagnosis of a benchmark in a version, or else the newest experiment that measured it.
pub fn find(
    store: &Store<'_>,
    experiments: &[StoredExperiment],
    version: &Version,
    benchmark: &Benchmark,
) -> Result<Option<Stored>> {
    let executed = store.experiments_with(benchmark)?;
    let mut all: Vec<(&StoredExperiment, usize)> = Vec::new();
    for stored in experiments.iter().rev().filter(|stored| executed.contains(&stored.id)) {
        let mut versions = stored.plan.versions.iter();
        let place = versions.position(|planned| planned.version.key() == version.key());
        all.extend(place.map(|place| (stored, place)));
    }
    Ok(diagnosis(&all).or_else(|| comparison(&all)))
}

/// The experiments of the newest diagnosis, all with the same load. `all` has the newest first.
fn diagnosis(all: &[(&StoredExperiment, usize)]) -> Option<Stored> {
    let part_of = |stored: &StoredExperiment| stored.plan.diagnosis();
    let (newest, place) = newest(all, |stored| {
        matches!(part_of(stored), Some(DiagnosisSettings { part: DiagnosisPart::Executions, .. }))
    })?;
    let load = part_of(newest)?.load;
    let of_load = |stored: &StoredExperiment| {
        part_of(stored).filter(|diagnosis| diagnosis.load == load).map(|diagnosis| diagnosis.part)
    };
    let (mut lengths, mut control, mut fresh) = (None, None, None);
    let (mut after_all, mut after_each) = (None::<(Vec<String>, Source)>, Vec::new());
    for (stored, place) in all.iter().filter(|(stored, _)| stored.begun >= newest.begun) {
        let found = source(stored, *place);
        match of_load(stored) {
            Some(DiagnosisPart::Control) => control = Some(found),
            Some(DiagnosisPart::Lengths) => lengths = Some(found),
            Some(DiagnosisPart::OwnProcess) => fresh = Some(found),
            Some(DiagnosisPart::After { others }) => {
                if let [other] = &others[..] {
                    after_each.push((other.clone(), found.clone()));
                }
                if after_all.as_ref().is_none_or(|(ids, _)| ids.len() < others.len()) {
                    after_all = Some((others, found));
                }
            }
            Some(DiagnosisPart::Executions) | None => {}
        }
    }
    let order_effect = match fresh.zip(after_all) {
        Some((fresh, after_all)) => {
            after_each.retain(|(_, source)| *source != after_all.1);
            after_each.reverse();
            Ok(OrderEffectSources { fresh, after_all, after_each })
        }
        None => Err("that was not measured: nothing comes before it in its bench target, or its harness cannot \
                     execute several benchmarks in one process"
            .to_owned()),
    };
    let lengths = lengths.ok_or_else(|| "that was not measured".to_owned());
    let mut notes = Vec::new();
    if newest.finished.is_none() {
        notes.push(
            "the diagnosis was interrupted, so there are fewer executions than planned".to_owned(),
        );
    }
    let sources = Sources { executions: source(newest, place), control, lengths, order_effect };
    Some(Stored { sources, load, notes, newest: newest.clone() })
}

/// The newest experiment that is not a diagnosis.
fn comparison(all: &[(&StoredExperiment, usize)]) -> Option<Stored> {
    let is_comparison =
        |stored: &StoredExperiment| !stored.plan.is_diagnosis() && !stored.plan.is_counting();
    let (newest, place) = newest(all, is_comparison)?;
    let cannot = "the stored results come from a comparison, and cannot answer this";
    let sources = Sources {
        executions: source(newest, place),
        control: None,
        lengths: Err(cannot.to_owned()),
        order_effect: Err(cannot.to_owned()),
    };
    let notes = vec![
        "the stored results come from a comparison: without --from-stored, more can be answered"
            .to_owned(),
    ];
    Some(Stored { sources, load: 0, notes, newest: newest.clone() })
}

/// The newest finished experiment of this kind, or else the newest.
fn newest<'s>(
    all: &'s [(&'s StoredExperiment, usize)],
    is_one: impl Fn(&StoredExperiment) -> bool,
) -> Option<(&'s StoredExperiment, usize)> {
    let of_kind = || all.iter().copied().filter(|(stored, _)| is_one(stored));
    of_kind().find(|(stored, _)| stored.finished.is_some()).or_else(|| of_kind().next())
}

fn source(stored: &StoredExperiment, version: usize) -> Source {
    Source { id: stored.id, identity: stored.identity.clone(), version }
}
