//! Encoding is lossless and compact.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::model::{InterleavingUnavailable, Metric, Throughput, Unit, Unmeasured};

fn metric() -> impl Strategy<Value = Metric> {
    let unit = prop::sample::select(vec![
        Unit::Nanoseconds,
        Unit::Instructions,
        Unit::Cycles,
        Unit::Bytes,
    ]);
    (prop::sample::select(vec!["wall", "µ", ""]), unit)
        .prop_map(|(name, unit)| Metric { name: name.to_owned(), unit })
}

/// Measurements as arbitrary bits or as a clock's whole totals, with all their iterations or none.
fn series() -> impl Strategy<Value = Series> {
    let value = any::<f64>().prop_filter("no measurement is NaN", |value| !value.is_nan());
    let clocked = (1_i64..1 << 54, any::<u64>())
        .prop_map(|(total, iterations)| measurement(total, iterations.max(1)));
    let measurements = (prop_oneof![value, clocked], prop_oneof![Just(3), any::<u64>()]);
    (metric(), prop::collection::vec(measurements, 1..5), any::<bool>()).prop_map(
        |(metric, measurements, known)| {
            let (values, iterations) = measurements.into_iter().unzip();
            let iterations = if known { iterations } else { Vec::new() };
            let resolution = if known { 0.5 } else { 0.0 };
            Series { metric, values, iterations, resolution }
        },
    )
}

fn asked() -> impl Strategy<Value = ExecutionRequest> {
    (any::<usize>(), any::<u64>(), any::<u64>(), option(), any::<u64>()).prop_map(
        |(measurements, warm_up, floor, iterations, seed)| ExecutionRequest {
            measurements,
            warm_up: Duration::from_nanos(warm_up),
            min_time: Duration::from_nanos(floor),
            iterations,
            seed,
        },
    )
}

fn resources() -> impl Strategy<Value = Resources> {
    (0..i64::MAX, any::<[u64; 5]>(), option()).prop_map(
        |(start, [wall, user, system, voluntary, involuntary], memory)| Resources {
            start: SystemTime::UNIX_EPOCH + Duration::from_nanos(start.cast_unsigned()),
            wall: Duration::from_nanos(wall),
            user: Duration::from_nanos(user),
            system: Duration::from_nanos(system),
            peak_memory: memory,
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            at_end: None,
        },
    )
}

/// Without the largest number, as optional values are stored plus one.
fn option() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0..u64::MAX)
}

fn throughput() -> impl Strategy<Value = Throughput> {
    prop_oneof![
        any::<u64>().prop_map(Throughput::Bytes),
        any::<u64>().prop_map(Throughput::BytesDecimal),
        any::<u64>().prop_map(Throughput::Bits),
        any::<u64>().prop_map(Throughput::Elements),
    ]
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let reasons = prop::sample::select(vec![
        InterleavingUnavailable::UnknownProgram,
        InterleavingUnavailable::OtherClock,
    ]);
    prop_oneof![
        Just(Schedule::NotRequested),
        reasons.prop_map(Schedule::Unavailable),
        any::<u64>().prop_map(Schedule::Interleaved),
    ]
}

fn execution() -> impl Strategy<Value = Execution> {
    (
        prop::collection::vec(series(), 0..3),
        asked(),
        prop::collection::vec(throughput(), 0..3),
        prop::option::of((0..u64::MAX).prop_map(Duration::from_nanos)),
        resources(),
        schedule(),
        prop::option::of(any::<f64>().prop_map(f64::abs)),
    )
        .prop_map(|(series, asked, throughput, warm_up, resources, schedule, alone)| {
            Execution {
                asked,
                series,
                throughput,
                warm_up,
                resources,
                schedule,
                alone,
                incidents: Vec::new(),
            }
        })
}

fn entry() -> impl Strategy<Value = Entry> {
    (
        any::<u32>(),
        1..u32::MAX,
        prop_oneof![
            execution().prop_map(Ok),
            any::<String>().prop_map(|reason| Err(Unmeasured::Failed(reason))),
            any::<String>().prop_map(|reason| Err(Unmeasured::Skipped(reason)))
        ],
    )
        .prop_map(|(round, seed, outcome)| Entry {
            round,
            seed: LayoutSeed::new(seed).unwrap(),
            outcome,
        })
}

proptest! {
    #[test]
    fn encoding_round_trips_any_executions(entries in prop::collection::vec(entry(), 0..4)) {
        let parts = encode(&entries).unwrap();
        let back: Vec<Entry> = parts.iter().flat_map(|part| decode(part).unwrap()).collect();
        prop_assert_eq!(back, entries);
    }

    #[test]
    fn head_has_all_metrics_and_counts_failures(entries in prop::collection::vec(entry(), 0..4)) {
        let heads: Vec<Head> =
            encode(&entries).unwrap().iter().map(|part| head(part).unwrap()).collect();
        let failures: usize = heads.iter().map(|head| head.failures).sum();
        let failed = entries.iter().filter(|entry| entry.outcome.is_err());
        prop_assert_eq!(failures, failed.count());
        let known: Vec<Metric> = heads.into_iter().flat_map(|head| head.metrics).collect();
        for series in entries.iter().filter_map(|entry| entry.outcome.as_ref().ok()) {
            prop_assert!(series.series.iter().all(|series| known.contains(&series.metric)));
        }
    }

    #[test]
    fn decoding_notices_any_changed_byte(
        entry in entry(),
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let mut part = encode(&[entry]).unwrap().remove(0);
        let place = place.index(part.len());
        part[place] ^= change;
        prop_assert_eq!(decode(&part), Err("its checksum is wrong".into()));
        prop_assert_eq!(head(&part), Err("its checksum is wrong".into()));
    }

    #[test]
    fn decoding_never_panics_with_a_valid_checksum(
        mut bytes in prop::collection::vec(0_u8..4, 0..200),
    ) {
        bytes.extend(checksum(&bytes));
        // There is no expected result; decoding must only not panic.
        let _ = decode(&bytes);
        let _ = head(&bytes);
    }
}

/// Wall times of whole nanoseconds, as a clock reports them.
fn usual(round: u32) -> Entry {
    let totals =
        (0..10_i64).map(|index| 1_000_000 + (i64::from(round) * 7_919 + index * 104_729) % 20_000);
    let series = Series {
        metric: Metric::wall(),
        values: totals.map(|total| measurement(total, 4_567)).collect(),
        iterations: vec![4_567; 10],
        resolution: 0.0,
    };
    let execution = Execution {
        asked: ExecutionRequest {
            measurements: 10,
            warm_up: Duration::from_millis(100),
            min_time: Duration::from_millis(1),
            iterations: Some(4_567),
            seed: u64::from(round) * 40_503 % 65_536,
        },
        series: vec![series],
        throughput: vec![Throughput::Bytes(1 << 20)],
        warm_up: Some(Duration::from_micros(100_123)),
        resources: Resources {
            start: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + u64::from(round)),
            wall: Duration::from_micros(112_345),
            user: Duration::from_micros(109_876),
            system: Duration::from_micros(1_234),
            peak_memory: Some(1100 << 12),
            voluntary_switches: 3,
            involuntary_switches: 9,
            at_end: None,
        },
        schedule: Schedule::Interleaved(98),
        alone: Some(22.4),
        incidents: Vec::new(),
    };
    let seed = LayoutSeed::derive(1, round % 10);
    Entry { round: round / 10, seed, outcome: Ok(execution) }
}

#[test]
fn encoding_is_smaller_than_the_measurements_as_doubles() {
    let entries: Vec<Entry> = (0..20).map(usual).collect();
    let [part] = &encode(&entries).unwrap()[..] else { panic!("one part") };
    assert!(part.len() < 20 * 10 * size_of::<f64>(), "{} bytes", part.len());
}

#[test]
fn encoding_starts_a_new_part_after_a_full_one() {
    let entries: Vec<Entry> = (0..200).map(usual).collect();
    let parts = encode(&entries).unwrap();
    assert!(parts.len() > 2);
    let (last, full) = parts.split_last().unwrap();
    assert!(full.iter().all(|part| (FULL..FULL + 200).contains(&part.len())));
    assert!(last.len() < FULL + 200);
    let back: Vec<Entry> = parts.iter().flat_map(|part| decode(part).unwrap()).collect();
    assert_eq!(back, entries);
}

fn failed(round: u32) -> Entry {
    Entry { outcome: Err(Unmeasured::Failed("it crashed".to_owned())), ..usual(round) }
}

fn with_schedule(schedule: Schedule, entry: Entry) -> Entry {
    Entry { outcome: entry.outcome.map(|execution| Execution { schedule, ..execution }), ..entry }
}

fn hex(part: &[u8]) -> String {
    let digits: Vec<String> = part.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

#[test]
fn encoding_keeps_the_format_of_stored_bytes() {
    let interleaved = with_schedule(Schedule::Interleaved(98), usual(2));
    let sequential =
        with_schedule(Schedule::Unavailable(InterleavingUnavailable::NoClock), usual(3));
    let entries = [usual(0), failed(1), interleaved, sequential];
    let [part] = &encode(&entries).unwrap()[..] else { panic!("one part") };
    assert_eq!(decode(part).unwrap(), entries);
    insta::assert_snapshot!(hex(part));
}

#[test]
fn decoding_refuses_bytes_after_the_executions() {
    let [part] = &encode(&[usual(0)]).unwrap()[..] else { panic!("one part") };
    let mut part = [content(part).unwrap(), &[0]].concat();
    part.extend(checksum(&part));
    assert_eq!(decode(&part), Err("there is more than its executions".into()));
}

#[test]
fn decoding_refuses_truncated_and_inconsistent_parts() {
    assert_eq!(decode(&[1]), Err("it is cut off".into()));
    let of = |iterations, totals, values| {
        Values { iterations, totals, values, resolution: None }.series(Metric::wall())
    };
    let unfit = Err("totals and iterations do not fit together".into());
    assert_eq!(of(vec![1, 2], vec![1], vec![]), unfit);
    assert_eq!(of(vec![], vec![1], vec![]), unfit);
    assert_eq!(of(vec![1], vec![1], vec![1.0]), unfit);

    let part = encode(&[usual(0)]).unwrap().remove(0);
    let (head, rest) = postcard::take_from_bytes::<Head>(content(&part).unwrap()).unwrap();
    let head = postcard::to_stdvec(&Head { metrics: Vec::new(), ..head }).unwrap();
    let mut part = [&head, rest].concat();
    part.extend(checksum(&part));
    assert_eq!(decode(&part), Err("a metric is unknown".into()));
}

#[test]
fn totals_restore_the_measurements_of_a_clock() {
    assert_eq!(
        totals(&[1_003_412.0 / 384.0, 1.0 / 3.0], &[384, 3]),
        Some(vec![1_003_412, -1_003_411])
    );
    assert_eq!(totals(&[0.3], &[1]), None);
    assert_eq!(totals(&[2.0], &[]), None, "iterations are unknown");
    assert_eq!(totals(&[-0.0], &[1]), None, "0 would come back");
    assert_eq!(totals(&[f64::INFINITY], &[1]), None);
}
