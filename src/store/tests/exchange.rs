//! Results that move from one store to another.

use super::*;
use crate::{
    code::Digest,
    failure::{Exit, Failure},
    model::{BenchTarget, Layout, Throughput},
};

/// A store with something of everything.
fn full() -> (TempDir, Store<'static>) {
    let (directory, store) = store();
    let finished = store.begin(&plan()).unwrap();
    record_all(&store, finished, &benchmark("parse"));
    let target = BenchTarget { package: "p".to_owned(), target: "t".to_owned() };
    let (seed, digest) = (LayoutSeed::new(5).unwrap(), Digest::of(b"code"));
    store.record_builds(finished, [(1, &target, seed, Layout::Pad, digest)]).unwrap();
    store.finish(finished).unwrap();

    let unfinished = store.begin(&ExperimentPlan { seed: 2, ..plan() }).unwrap();
    let mut odd = execution(0.1 + 0.2);
    odd.throughput = vec![Throughput::BytesDecimal(3), Throughput::Elements(u64::MAX)];
    odd.asked.iterations = Some(7);
    let record = |turn, outcome| {
        store.record_execution(unfinished, &benchmark("ünïcode\n\""), turn, outcome).unwrap();
    };
    record(turn(0, 0, 5), Ok(&odd));
    record(Turn { stage: Stage::Second, ..turn(1, 0, 5) }, Ok(&odd));
    record(turn(1, 0, 5), Err(&Failure::new(Exit::Benchmark, "it crashed")));
    store.record_unbuildable(unfinished, 1, &Failure::new(Exit::Build, "no")).unwrap();
    store.record_tuned(&benchmark("parse"), &machine(), u64::MAX).unwrap();
    (directory, store)
}

fn export(store: &Store<'_>) -> String {
    let mut out = Vec::new();
    store.export(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn import(store: &Store<'_>, text: &str) -> Result<Imported> {
    store.import(&mut text.as_bytes())
}

#[test]
fn what_is_exported_and_imported_is_exported_the_same() {
    let (_from, from) = full();
    let (_to, to) = store();
    let text = export(&from);
    let imported = import(&to, &text).unwrap();
    assert_eq!(imported, Imported { experiments: 2, known: 0, executions: 11 });
    assert_eq!(export(&to), text);
    assert_eq!(to.check().unwrap(), [""; 0]);
    assert_eq!(to.unfinished().unwrap().len(), 1, "it can be continued there");
}

#[test]
fn importing_again_changes_nothing() {
    let (_from, from) = full();
    let text = export(&from);
    let imported = import(&from, &text).unwrap();
    assert_eq!(imported, Imported { experiments: 0, known: 2, executions: 0 });
    assert_eq!(export(&from), text);
}

#[test]
fn an_experiment_that_went_on_elsewhere_is_completed() {
    let (_from, from) = store();
    let (_to, to) = store();
    let experiment = from.begin(&plan()).unwrap();
    let record = |turn| {
        from.record_execution(experiment, &benchmark("b"), turn, Ok(&execution(1.0))).unwrap();
    };
    record(turn(0, 0, 5));
    import(&to, &export(&from)).unwrap();
    record(turn(1, 0, 5));
    from.finish(experiment).unwrap();
    let imported = import(&to, &export(&from)).unwrap();
    assert_eq!(imported, Imported { experiments: 0, known: 1, executions: 1 });
    assert_eq!(export(&to), export(&from));
}

#[test]
fn results_of_two_machines_come_together() {
    let (_from, from) = full();
    let (_to, to) = store();
    let other = Machine { id: "other".to_owned(), ..machine() };
    let here = to.begin(&ExperimentPlan { machine: other.clone(), ..plan() }).unwrap();
    record_all(&to, here, &benchmark("parse"));
    to.finish(here).unwrap();
    import(&to, &export(&from)).unwrap();
    let history = to.history(&benchmark("parse"), &Metric::wall()).unwrap();
    assert_eq!(history.len(), 4);
    assert_eq!(to.experiments().unwrap().iter().filter(|e| e.plan.machine == other).count(), 1);
}

/// Imports the lines with one changed; it must be refused with these words, and change nothing.
#[track_caller]
fn assert_refused(text: &str, words: &str) {
    let (_directory, store) = store();
    let failure = import(&store, text).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
    assert!(failure.to_string().contains(words), "{failure}\nlacks {words}");
    assert_eq!(store.experiments().unwrap(), []);
    assert_eq!(store.benchmarks().unwrap(), []);
}

#[test]
fn what_is_not_an_export_is_refused_with_its_line() {
    let (_from, from) = full();
    let text = export(&from);
    let lines: Vec<&str> = text.lines().collect();
    assert_refused("", "line 1: the file ends before its end line");
    assert_refused("hello\n", "line 1: expected");
    assert_refused(&lines[1..].join("\n"), "line 1: it is no header");
    assert_refused(&lines[..5].join("\n"), "line 6: the file ends before its end line");
    assert_refused(&[lines[0], lines[0]].join("\n"), "line 2: there is another header");
    assert_refused(&[lines[0], lines[3]].join("\n"), "line 2: it comes before any experiment");
    assert_refused(&(text.clone() + lines[1]), "something after the end line");
    let without_one = [&lines[..4], &lines[5..]].concat().join("\n");
    assert_refused(&without_one, "lines were exported, and");
}

#[test]
fn values_that_could_not_have_been_recorded_are_refused() {
    let (_from, from) = full();
    let text = export(&from);
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in\n{text}");
        text.replacen(from, to, 1)
    };
    assert_refused(&changed("\"schema_version\":1", "\"schema_version\":2"), "reads up to 1");
    assert_refused(&changed("rbench-results", "other"), "the format is `other`");
    assert_refused(&changed("\"measurements\":[50.0,", "\"measurements\":[-50.0,"), "is -50 ns");
    assert_refused(&changed("\"measurements\":[50.0,", "\"measurements\":[null,"), "line 4: ");
    assert_refused(
        &changed("\"measurements\":[50.0,", "\"measurements\":["),
        "2 measurements but 3",
    );
    assert_refused(&changed("\"unit\":\"ns\"", "\"unit\":\"ms\""), "no unit `ms`");
    assert_refused(&changed("\"round\":0,\"seed\":5", "\"round\":0,\"seed\":0"), "no layout seed");
    assert_refused(&changed("\"turn\":{\"version\":0", "\"turn\":{\"version\":2"), "version 2 of");
    assert_refused(&changed("\"digest\":\"", "\"digest\":\"x"), "64 hexadecimal digits");
    assert_refused(&changed("\"reason\":", "\"reasons\":"), "unknown field `reasons`");
}
