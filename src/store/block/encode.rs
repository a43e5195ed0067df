//! From executions to bytes.

use std::time::{Duration, SystemTime};

use super::{CHECKSUM, Entry, FORMAT, checksum, column, totals};
use crate::model::{Execution, Metric, Resources, Series, Throughput};

/// The executions as bytes, in the order given.
///
/// Times beyond 584 years are stored as 584 years, and a start before 1970 as 1970.
pub(in crate::store) fn encode(entries: &[Entry]) -> Vec<u8> {
    let metrics = metrics(entries);
    let mut out = vec![FORMAT];
    column::put_number(&mut out, entries.len() as u64);
    column::put_number(&mut out, metrics.len() as u64);
    for metric in &metrics {
        put_text(&mut out, &metric.name);
        put_text(&mut out, metric.unit.symbol());
    }
    put(&mut out, entries, |entry| u64::from(entry.seed.get()));
    put(&mut out, entries, |entry| u64::from(entry.round));
    put_series(&mut out, entries, &metrics);
    put_asked(&mut out, entries);
    put_throughput(&mut out, entries);
    put_resources(&mut out, entries);
    let checksum: [u8; CHECKSUM] = checksum(&out);
    out.extend(checksum);
    out
}

/// Every metric that occurs, in the order of its first time.
fn metrics(entries: &[Entry]) -> Vec<&Metric> {
    let mut metrics: Vec<&Metric> = Vec::new();
    for series in entries.iter().flat_map(|entry| &entry.execution.series) {
        if !metrics.contains(&&series.metric) {
            metrics.push(&series.metric);
        }
    }
    metrics
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    column::put_number(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// A column with one number for each item.
fn put<'a, T: 'a>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = &'a T>,
    number: impl Fn(&'a T) -> u64,
) {
    column::put(out, &items.into_iter().map(number).collect::<Vec<_>>());
}

fn put_series(out: &mut Vec<u8>, entries: &[Entry], metrics: &[&Metric]) {
    put(out, entries, |entry| entry.execution.series.len() as u64);
    let all: Vec<&Series> = entries.iter().flat_map(|entry| &entry.execution.series).collect();
    put(out, &all, |series| {
        metrics.iter().position(|metric| **metric == series.metric).unwrap_or_default() as u64
    });
    put(out, &all, |series| series.values.len() as u64);
    put(out, &all, |series| series.iterations.len() as u64);
    for metric in metrics {
        let of_metric = || all.iter().filter(|series| series.metric == **metric);
        put(out, of_metric().flat_map(|series| &series.iterations), |iterations| *iterations);
        let totals: Option<Vec<Vec<u64>>> = of_metric().map(|series| totals(series)).collect();
        column::put_number(out, u64::from(totals.is_some()));
        match totals {
            Some(totals) => column::put(out, &totals.concat()),
            None => put(out, of_metric().flat_map(|series| &series.values), |v| v.to_bits()),
        }
    }
}

fn put_asked(out: &mut Vec<u8>, entries: &[Entry]) {
    put(out, entries, |entry| entry.execution.asked.measurements as u64);
    put(out, entries, |entry| nanoseconds(entry.execution.asked.warm_up));
    put(out, entries, |entry| nanoseconds(entry.execution.asked.floor));
    put(out, entries, |entry| optional(entry.execution.asked.iterations));
    put(out, entries, |entry| entry.execution.asked.seed);
    put(out, entries, |entry| optional(entry.execution.warm_up.map(nanoseconds)));
}

fn put_throughput(out: &mut Vec<u8>, entries: &[Entry]) {
    let throughput = |execution: &Execution| execution.throughput.len() as u64;
    put(out, entries, |entry| throughput(&entry.execution));
    let all: Vec<Throughput> =
        entries.iter().flat_map(|entry| entry.execution.throughput.iter().copied()).collect();
    let parts = |throughput: &Throughput| match *throughput {
        Throughput::Bytes(amount) => (0, amount),
        Throughput::BytesDecimal(amount) => (1, amount),
        Throughput::Bits(amount) => (2, amount),
        Throughput::Elements(amount) => (3, amount),
    };
    put(out, &all, |throughput| parts(throughput).0);
    put(out, &all, |throughput| parts(throughput).1);
}

fn put_resources(out: &mut Vec<u8>, entries: &[Entry]) {
    let columns: [fn(&Resources) -> u64; 9] = [
        |resources| {
            let since = resources.start.duration_since(SystemTime::UNIX_EPOCH);
            nanoseconds(since.unwrap_or_default())
        },
        |resources| nanoseconds(resources.wall),
        |resources| nanoseconds(resources.user),
        |resources| nanoseconds(resources.system),
        |resources| optional(resources.peak_memory),
        |resources| resources.voluntary_switches,
        |resources| resources.involuntary_switches,
        |resources| optional(resources.instructions),
        |resources| optional(resources.cycles),
    ];
    for column in columns {
        put(out, entries, |entry| column(&entry.execution.resources));
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// 0 for nothing, else one more than the number; the largest number becomes the one before it.
fn optional(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number.saturating_add(1))
}
