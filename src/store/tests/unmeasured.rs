//! Skipped benchmarks.

use super::*;
use crate::model::{Absence, AbsentBenchmark, SkipReason};

#[test]
fn absent_benchmarks_are_kept_with_their_reasons() {
    let (_directory, store) = store();
    let one = store.begin(&plan()).unwrap();
    let absent =
        |id: &str, version, absence| AbsentBenchmark { benchmark: benchmark(id), version, absence };
    let all = [absent("old", 1, Absence::NoHarness), absent("new", 0, Absence::Undefined)];
    store.record_absent(one, &all).unwrap();
    assert_eq!(store.absent(one).unwrap(), all);
    assert!(store.benchmarks().unwrap().contains(&benchmark("old")));
    store.finish(one).unwrap();
    assert!(store.record_absent(one, &all[..1]).unwrap_err().to_string().contains("is finished"));
}

#[test]
fn unmeasured_benchmark_keeps_its_last_reason() {
    let (_directory, store) = store();
    let [one, other] = [1, 2].map(|seed| store.begin(&ExperimentPlan { seed, ..plan() }).unwrap());
    for verdict in [SkipReason::Identical, SkipReason::Unaffected] {
        store.record_unmeasured(one, &benchmark("print"), verdict).unwrap();
    }
    store.record_unmeasured(one, &benchmark("only here"), SkipReason::Identical).unwrap();
    let expected = [
        (benchmark("print"), SkipReason::Unaffected),
        (benchmark("only here"), SkipReason::Identical),
    ];
    assert_eq!(store.unmeasured(one).unwrap(), expected);
    assert_eq!(store.unmeasured(other).unwrap(), []);
    assert!(store.benchmarks().unwrap().contains(&benchmark("only here")));
    assert_eq!(store.check().unwrap(), [""; 0]);

    store.finish(one).unwrap();
    let error = store.record_unmeasured(one, &benchmark("print"), SkipReason::Identical);
    assert!(error.unwrap_err().to_string().contains("is finished"));
}
