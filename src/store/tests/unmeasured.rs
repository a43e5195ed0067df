//! Benchmarks that were not measured.

use super::*;
use crate::model::SkipReason;

#[test]
fn what_was_not_measured_is_kept_with_its_reason_and_the_last_one_counts() {
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
    let failure = store.record_unmeasured(one, &benchmark("print"), SkipReason::Identical);
    assert!(failure.unwrap_err().to_string().contains("is finished"));
}
