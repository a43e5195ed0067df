//! Encodes executions of one benchmark, version and stage as bytes: lossless, in about the size that the measurements
//! alone have as doubles.
//!
//! A part is a [`Head`], then one [`Record`] for each execution, in the
//! [postcard](https://postcard.jamesmunns.com/wire-format) format, where small numbers take few bytes, and
//! the CRC-32 of all this, since SQLite does not notice when a disk returns other bytes than were written. The numbers
//! of an execution are stored as differences to those of the previous one. Measurements are stored as the clock's
//! totals wherever these restore the measurements exactly.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Damage;
use crate::model::{
    Execution, ExecutionRequest, LayoutSeed, Metric, Resources, Schedule, Series, Throughput,
    Unmeasured, nanoseconds,
};

/// The size in bytes from which a part accepts no more executions. Storing an execution rewrites its part, and SQLite
/// keeps rows of up to 8 kB together.
pub(super) const FULL: usize = 4096;

/// The size of the checksum in bytes.
const CHECKSUM: usize = 4;

/// The outcome of one execution and its position within its benchmark, version and stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) round: u32,
    pub(super) seed: LayoutSeed,
    pub(super) outcome: Result<Execution, Unmeasured>,
}

/// The summary of a part, readable without decoding its executions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The measured metrics, in the order of their first appearance.
    pub(super) metrics: Vec<Metric>,
    executions: usize,
    /// The number of executions without measurements.
    pub(super) failures: usize,
}

#[derive(Serialize, Deserialize)]
struct Record {
    round: u32,
    seed: LayoutSeed,
    outcome: Result<Measured, Unmeasured>,
}

#[derive(Serialize, Deserialize)]
struct Measured {
    /// [`numbers`] minus those of the last successful execution.
    differences: [i64; NUMBERS],
    /// Each with the index of its metric in the head.
    series: Vec<(usize, Values)>,
    throughput: Vec<Throughput>,
    schedule: Schedule,
}

/// The measurements of a series. Also their form in documents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Values {
    /// One number if all measurements have equal iterations.
    iterations: Vec<u64>,
    /// The differences of successive totals, if the clock gave whole numbers ...
    #[serde(default)]
    totals: Vec<i64>,
    /// ... else the measurements themselves.
    #[serde(default, rename = "measurements")]
    values: Vec<f64>,
    /// `None` stands for 0.
    resolution: Option<f64>,
}

/// The number of fields of fixed meaning in an execution.
const NUMBERS: usize = 14;

/// The fields of fixed meaning in an execution. Times are in nanoseconds; an optional value is stored plus one, and 0
/// stands for `None`.
fn numbers(execution: &Execution) -> [u64; NUMBERS] {
    let Execution { asked, warm_up, resources, .. } = execution;
    let optional = |number: Option<u64>| number.map_or(0, |number| number.saturating_add(1));
    [
        asked.measurements as u64,
        nanoseconds::from_duration(asked.warm_up),
        nanoseconds::from_duration(asked.min_time),
        optional(asked.iterations),
        asked.seed,
        optional(warm_up.map(nanoseconds::from_duration)),
        nanoseconds::from_time(resources.start).cast_unsigned(),
        nanoseconds::from_duration(resources.wall),
        nanoseconds::from_duration(resources.user),
        nanoseconds::from_duration(resources.system),
        optional(resources.peak_memory),
        resources.voluntary_switches,
        resources.involuntary_switches,
        optional(execution.alone.map(f64::to_bits)),
    ]
}

/// Rebuilds an execution from its [`numbers`].
fn execution(
    numbers: [u64; NUMBERS],
    series: Vec<Series>,
    throughput: Vec<Throughput>,
    schedule: Schedule,
) -> Execution {
    let [
        measurements,
        warm_up,
        floor,
        iterations,
        seed,
        spent,
        start,
        wall,
        user,
        system,
        peak_memory,
        voluntary_switches,
        involuntary_switches,
        alone,
    ] = numbers;
    let optional = |number: u64| number.checked_sub(1);
    Execution {
        asked: ExecutionRequest {
            measurements: usize::try_from(measurements).unwrap_or(usize::MAX),
            warm_up: Duration::from_nanos(warm_up),
            min_time: Duration::from_nanos(floor),
            iterations: optional(iterations),
            seed,
        },
        series,
        throughput,
        warm_up: optional(spent).map(Duration::from_nanos),
        resources: Resources {
            start: nanoseconds::system_time(start.cast_signed()),
            wall: Duration::from_nanos(wall),
            user: Duration::from_nanos(user),
            system: Duration::from_nanos(system),
            peak_memory: optional(peak_memory),
            voluntary_switches,
            involuntary_switches,
            at_end: None,
        },
        schedule,
        alone: optional(alone).map(f64::from_bits),
        incidents: Vec::new(),
    }
}

/// Encodes executions as parts, in the given order: all parts but the last are full. The executions must be
/// [sound](Execution::defect).
pub(super) fn encode(entries: &[Entry]) -> Result<Vec<Vec<u8>>, Damage> {
    let mut parts = Vec::new();
    let mut rest = entries;
    while !rest.is_empty() {
        let mut head = Head::default();
        let mut last = [0; NUMBERS];
        let mut records = Vec::new();
        while let [entry, more @ ..] = rest
            && records.len() < FULL
        {
            head.executions += 1;
            head.failures += usize::from(entry.outcome.is_err());
            let outcome = entry.outcome.as_ref().map_err(Clone::clone).map(|execution| {
                let numbers = numbers(execution);
                let differences = std::array::from_fn(|index| {
                    numbers[index].wrapping_sub(last[index]).cast_signed()
                });
                last = numbers;
                let values = |series| (head.index(series), Values::from(series));
                let series = execution.series.iter().map(values).collect();
                let throughput = execution.throughput.clone();
                let schedule = execution.schedule.clone();
                Measured { differences, series, throughput, schedule }
            });
            let record = Record { round: entry.round, seed: entry.seed, outcome };
            records = postcard::to_extend(&record, records)?;
            rest = more;
        }
        let mut part = postcard::to_stdvec(&head)?;
        part.extend(records);
        part.extend(checksum(&part));
        parts.push(part);
    }
    Ok(parts)
}

pub(super) fn decode(part: &[u8]) -> Result<Vec<Entry>, Damage> {
    let (head, mut rest): (Head, _) = postcard::take_from_bytes(content(part)?)?;
    let mut last = [0_u64; NUMBERS];
    let mut entries = Vec::new();
    for _ in 0..head.executions {
        let (Record { round, seed, outcome }, after) = postcard::take_from_bytes(rest)?;
        rest = after;
        let outcome = match outcome {
            Err(unmeasured) => Err(unmeasured),
            Ok(Measured { differences, series, throughput, schedule }) => {
                for (number, difference) in last.iter_mut().zip(differences) {
                    *number = number.wrapping_add(difference.cast_unsigned());
                }
                let series = series.into_iter().map(|(metric, values): (usize, Values)| {
                    values.series(head.metrics.get(metric).ok_or("a metric is unknown")?.clone())
                });
                Ok(execution(last, series.collect::<Result<_, _>>()?, throughput, schedule))
            }
        };
        entries.push(Entry { round, seed, outcome });
    }
    if !rest.is_empty() {
        return Err("there is more than its executions".into());
    }
    Ok(entries)
}

pub(super) fn head(part: &[u8]) -> Result<Head, Damage> {
    Ok(postcard::take_from_bytes(content(part)?)?.0)
}

/// Checks the checksum and returns the bytes before it.
fn content(part: &[u8]) -> Result<&[u8], Damage> {
    let (content, sum) = part.split_last_chunk().ok_or("it is cut off")?;
    if checksum(content) == *sum { Ok(content) } else { Err("its checksum is wrong".into()) }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    crc32fast::hash(bytes).to_le_bytes()
}

impl Head {
    /// The index of a series' metric, which is added if it is new.
    fn index(&mut self, Series { metric, .. }: &Series) -> usize {
        let known = self.metrics.iter().position(|known| known == metric);
        known.unwrap_or_else(|| {
            self.metrics.push(metric.clone());
            self.metrics.len() - 1
        })
    }
}

impl From<&Series> for Values {
    fn from(Series { values, iterations, resolution, .. }: &Series) -> Self {
        let (totals, values) = match totals(values, iterations) {
            Some(totals) => (totals, Vec::new()),
            None => (Vec::new(), values.clone()),
        };
        let resolution = Some(*resolution).filter(|resolution| *resolution != 0.0);
        let same = iterations.windows(2).all(|pair| pair[0] == pair[1]);
        let iterations =
            &iterations[..if same { iterations.len().min(1) } else { iterations.len() }];
        Self { iterations: iterations.to_vec(), totals, values, resolution }
    }
}

impl Values {
    /// The series in a metric. It may still have a [defect](Series::defect).
    pub(super) fn series(self, metric: Metric) -> Result<Series, Damage> {
        let Self { mut iterations, totals, mut values, resolution } = self;
        let count = totals.len().max(values.len());
        if let [all] = *iterations {
            iterations.resize(count, all);
        }
        if !totals.is_empty() {
            if iterations.len() != count || !values.is_empty() {
                return Err("totals and iterations do not fit together".into());
            }
            let mut total = 0_i64;
            let next = |(difference, iterations): (&i64, &u64)| {
                total = total.wrapping_add(*difference);
                measurement(total, *iterations)
            };
            values = totals.iter().zip(&iterations).map(next).collect();
        }
        let resolution = resolution.unwrap_or_default();
        Ok(Series { metric, values, iterations, resolution })
    }
}

/// The total of each measurement minus the previous total, if all totals are whole numbers that restore the
/// measurements exactly.
fn totals(values: &[f64], iterations: &[u64]) -> Option<Vec<i64>> {
    if iterations.len() != values.len() {
        return None;
    }
    let mut last = 0;
    let difference = |(value, iterations): (&f64, &u64)| {
        let total = (value * *iterations as f64).round();
        // Doubles hold exactly the whole numbers below 2^53.
        let total = (0.0..9_007_199_254_740_992.0).contains(&total).then(|| whole(total))?;
        let exact = measurement(total, *iterations).to_bits() == value.to_bits();
        let difference = exact.then_some(total - last);
        last = total;
        difference
    };
    values.iter().zip(iterations).map(difference).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "it is a whole number between 0 and 2^53")]
fn whole(total: f64) -> i64 {
    total as i64
}

fn measurement(total: i64, iterations: u64) -> f64 {
    total as f64 / iterations as f64
}

#[cfg(test)]
mod tests;
