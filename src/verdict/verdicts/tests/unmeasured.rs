//! Benchmarks that failed in one or both versions.

use super::*;

#[test]
fn failure_in_either_stage_is_the_verdict() {
    for stage in [Stage::First, Stage::Second] {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        measure(&filling, Stage::First, 0.05);
        measure(&filling, Stage::Second, 0.05);
        filling.fail("a", 1, stage);
        let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
        let Verdict::Failed { reason } = &row.verdict else { panic!("{stage:?}") };
        assert!(reason.contains("it crashed"), "{reason}");
        assert!(row.stages.is_empty(), "{stage:?}");
    }
}

const TWICE: &str = "2 benchmarks have this id; give each a name of its own";

#[test]
fn id_of_several_in_the_base_hides_no_failure_of_the_head() {
    for reasons in
        [[TWICE, "it crashed"], ["it crashed", "two benchmarks of this target have this id"]]
    {
        let unmeasured = reasons.map(|reason| Some(Unmeasured::Failed(reason.to_owned())));
        assert_eq!(
            first_to_report(&unmeasured),
            reasons.iter().position(|one| one == &"it crashed")
        );
    }
}

#[test]
fn failed_version_is_named() {
    for (fails, unmeasured_in) in
        [(&[0][..], UnmeasuredIn::Base), (&[1], UnmeasuredIn::Head), (&[0, 1], UnmeasuredIn::Both)]
    {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        for version in 0..2 {
            if fails.contains(&version) {
                filling.fail("a", version, Stage::First);
            } else {
                filling.measure("a", version, Stage::First, &[(WALL, 100.0)]);
            }
        }
        let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
        assert!(matches!(row.verdict, Verdict::Failed { .. }), "{fails:?}");
        assert_eq!(row.unmeasured_in, Some(unmeasured_in));
    }
}
