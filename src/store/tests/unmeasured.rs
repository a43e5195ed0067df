//! Benchmarks that were not measured, and stores that know nothing of them yet.

use super::*;
use crate::model::Sameness;

#[test]
fn what_was_not_measured_is_kept_with_its_reason_and_the_last_one_counts() {
    let (_directory, store) = store();
    let [one, other] = [1, 2].map(|seed| store.begin(&ExperimentPlan { seed, ..plan() }).unwrap());
    for verdict in [Sameness::Identical, Sameness::Unaffected] {
        store.record_unmeasured(one, &benchmark("print"), verdict).unwrap();
    }
    store.record_unmeasured(one, &benchmark("only here"), Sameness::Identical).unwrap();
    let expected =
        [(benchmark("print"), Sameness::Unaffected), (benchmark("only here"), Sameness::Identical)];
    assert_eq!(store.unmeasured(one).unwrap(), expected);
    assert_eq!(store.unmeasured(other).unwrap(), []);
    assert!(store.benchmarks().unwrap().contains(&benchmark("only here")));
    assert_eq!(store.check().unwrap(), [""; 0]);

    store.finish(one).unwrap();
    let failure = store.record_unmeasured(one, &benchmark("print"), Sameness::Identical);
    assert!(failure.unwrap_err().to_string().contains("is finished"));
}

/// Makes a store what an rbench with schema 2 wrote.
pub(super) fn make_older(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "DROP INDEX planned_benchmark_of_benchmark;
             DROP TABLE unmeasured_benchmark;
             ALTER TABLE experiment DROP COLUMN first_look;
             ALTER TABLE planned_benchmark DROP COLUMN first_look;
             ALTER TABLE experiment DROP COLUMN machine_state;",
        )
        .unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
}

#[test]
fn a_store_of_schema_2_is_brought_up_to_date_with_all_its_results() {
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    record_all(&store, experiment, &benchmark("parse"));
    let rows = store.rows(&benchmark("parse"), &[experiment]).unwrap();
    drop(store);
    make_older(&path(&directory));

    for _ in 0..2 {
        let store = open(&directory);
        assert_eq!(store.rows(&benchmark("parse"), &[experiment]).unwrap(), rows);
        let unmeasured = [(benchmark("print"), Sameness::Unaffected)];
        store.record_unmeasured(experiment, &unmeasured[0].0, unmeasured[0].1).unwrap();
        assert_eq!(store.unmeasured(experiment).unwrap(), unmeasured);
        assert_eq!(schema::version(&store.connection).unwrap(), schema::VERSION);
        assert_eq!(store.check().unwrap(), [""; 0]);
    }
}

#[test]
fn a_store_that_is_brought_up_to_date_is_like_a_new_one() {
    let tables = |store: &Store<'_>| {
        let mut statement = store
            .connection
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap();
        let tables = statement.query_map((), |row| row.get::<_, String>(0)).unwrap();
        tables.map(Result::unwrap).collect::<Vec<_>>()
    };
    let (directory, new) = store();
    let expected = tables(&new);
    drop(new);
    make_older(&path(&directory));
    assert_eq!(tables(&open(&directory)), expected);
}
