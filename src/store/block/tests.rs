//! What goes into a block comes out of it, and takes little room.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::model::{ExecutionRequest, Metric, Resources, Throughput, Unit};

fn metric() -> impl Strategy<Value = Metric> {
    let unit = prop::sample::select(Unit::ALL.to_vec());
    (prop::sample::select(vec!["wall", "µ", ""]), unit)
        .prop_map(|(name, unit)| Metric { name: name.to_owned(), unit })
}

fn series() -> impl Strategy<Value = Series> {
    let value = any::<f64>().prop_filter("no measurement is NaN", |value| !value.is_nan());
    let clocked = (1_u64..1 << 54, any::<u64>())
        .prop_map(|(total, iterations)| measurement(total, iterations.max(1)));
    (
        metric(),
        prop::collection::vec(prop_oneof![value, clocked], 0..5),
        prop::collection::vec(any::<u64>(), 0..5),
    )
        .prop_map(|(metric, values, iterations)| Series { metric, values, iterations })
}

fn asked() -> impl Strategy<Value = ExecutionRequest> {
    (any::<usize>(), any::<u64>(), any::<u64>(), option(), any::<u64>()).prop_map(
        |(measurements, warm_up, floor, iterations, seed)| ExecutionRequest {
            measurements,
            warm_up: Duration::from_nanos(warm_up),
            floor: Duration::from_nanos(floor),
            iterations,
            seed,
        },
    )
}

fn resources() -> impl Strategy<Value = Resources> {
    (any::<[u64; 6]>(), [option(), option(), option()]).prop_map(
        |([start, wall, user, system, voluntary, involuntary], [memory, instructions, cycles])| {
            Resources {
                start: SystemTime::UNIX_EPOCH + Duration::from_nanos(start),
                wall: Duration::from_nanos(wall),
                user: Duration::from_nanos(user),
                system: Duration::from_nanos(system),
                peak_memory: memory,
                voluntary_switches: voluntary,
                involuntary_switches: involuntary,
                instructions,
                cycles,
            }
        },
    )
}

/// The largest number stands for itself less one.
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

fn entry() -> impl Strategy<Value = Entry> {
    (
        any::<u32>(),
        1..u32::MAX,
        prop::collection::vec(series(), 0..3),
        asked(),
        prop::collection::vec(throughput(), 0..3),
        prop::option::of((0..u64::MAX).prop_map(Duration::from_nanos)),
        resources(),
    )
        .prop_map(|(round, seed, series, asked, throughput, warm_up, resources)| Entry {
            round,
            seed: LayoutSeed::new(seed).unwrap(),
            execution: Execution { asked, series, throughput, warm_up, resources },
        })
}

proptest! {
    #[test]
    fn any_executions_come_back(entries in prop::collection::vec(entry(), 0..4)) {
        let bytes = encode(&entries);
        prop_assert_eq!(decode(&bytes).unwrap(), entries);
    }

    #[test]
    fn values_alone_are_those_of_the_executions(entries in prop::collection::vec(entry(), 0..4)) {
        let wall = Metric { name: "wall".to_owned(), unit: Unit::Nanoseconds };
        let expected: Vec<_> = entries
            .iter()
            .filter_map(|entry| {
                let mut series = entry.execution.series.iter();
                let series = series.find(|series| series.metric == wall)?;
                Some((entry.seed, entry.round, series.values.clone()))
            })
            .collect();
        prop_assert_eq!(values(&encode(&entries), &wall).unwrap(), expected);
    }

    #[test]
    fn one_changed_byte_is_noticed(
        entries in prop::collection::vec(entry(), 1..3),
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let mut bytes = encode(&entries);
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert_eq!(decode(&bytes), Err(Damage("its checksum is wrong")));
    }

    #[test]
    fn anything_with_a_right_checksum_is_read_or_refused(
        mut bytes in prop::collection::vec(0_u8..4, 0..200),
    ) {
        bytes.insert(0, FORMAT);
        bytes.extend(checksum(&bytes));
        // There is nothing to compare with; it must end without a panic.
        let _ = decode(&bytes);
    }
}

#[test]
fn what_is_cut_off_or_of_another_format_is_refused() {
    assert_eq!(decode(&[]), Err(Damage("it is cut off")));
    let mut other = vec![FORMAT + 1];
    other.extend(checksum(&other));
    assert_eq!(decode(&other), Err(Damage("its format is unknown")));
}

#[test]
fn measurements_of_a_clock_are_kept_as_the_totals_it_gave() {
    let series = |values: Vec<f64>, iterations: Vec<u64>| Series {
        metric: Metric::wall(),
        values,
        iterations,
    };
    let clocked = series(vec![1_003_412.0 / 384.0, 1.0 / 3.0], vec![384, 3]);
    assert_eq!(totals(&clocked), Some(vec![1_003_412, 1]));
    assert_eq!(totals(&series(vec![0.3], vec![1])), None);
    assert_eq!(totals(&series(vec![2.0], vec![])), None, "iterations are unknown");
    assert_eq!(totals(&series(vec![-0.0], vec![1])), None, "0 would come back");
    assert_eq!(totals(&series(vec![f64::INFINITY], vec![1])), None);
}
