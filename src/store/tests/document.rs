//! Moving finished experiments from one store to another.

use std::io::Read as _;

use flate2::{Compression, read::ZlibEncoder};
use rbench_code::elf::Digest;

use super::*;
use crate::{
    error::{Error, Exit},
    model::{BenchTarget, InterleavingUnavailable, Layout, SkipReason, Throughput, Unmeasured},
};

/// A store with every kind of content.
fn full() -> (TempDir, Store<'static>) {
    let (directory, store) = store();
    let finished = store.begin(&plan()).unwrap();
    record_all(&store, finished, &benchmark("parse"));
    let target = BenchTarget { package: "p".to_owned(), target: "t".to_owned() };
    let (seed, digest) = (LayoutSeed::new(5).unwrap(), Digest::compute(b"code"));
    let build = RecordedBuild { version: 1, target, seed, layout: Layout::Padded, digest };
    store.record_builds(finished, [build]).unwrap();
    store.record_unmeasured(finished, &benchmark("print"), SkipReason::Unaffected).unwrap();
    store.finish(finished).unwrap();

    let second = store.begin(&ExperimentPlan { seed: 2, ..plan() }).unwrap();
    store.record_machine_state(second, "load: 1.51 per core").unwrap();
    let mut odd = execution(0.1 + 0.2);
    odd.throughput = vec![Throughput::BytesDecimal(3), Throughput::Elements(u64::MAX)];
    odd.asked.iterations = Some(7);
    let record = |slot, outcome| {
        store.record_execution(second, &benchmark("ünïcode \""), slot, outcome).unwrap();
    };
    let with = |schedule| Execution { schedule, ..odd.clone() };
    let (sequential, interleaved) = (
        with(Schedule::Unavailable(InterleavingUnavailable::NoClock)),
        with(Schedule::Interleaved(98)),
    );
    let confirming = |version| Slot { stage: Stage::Second, ..slot(version, 0, 5) };
    record(slot(0, 0, 5), Ok(&odd));
    record(confirming(0), Ok(&sequential));
    record(confirming(1), Ok(&interleaved));
    record(slot(1, 0, 5), Err(&Unmeasured::Failed("it crashed".to_owned())));
    store.record_unbuildable(second, 1, &Error::new(Exit::Build, "no")).unwrap();
    store.finish(second).unwrap();
    store.begin(&ExperimentPlan { seed: 3, ..plan() }).unwrap();
    (directory, store)
}

fn export(store: &Store<'_>) -> String {
    let mut out = Vec::new();
    store.export(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// An export without its checksum, as other programs may write it.
fn unchecked(text: &str) -> String {
    let (lines, _) = text.rsplit_once(",\"checksum\":").unwrap();
    format!("{lines}}}}}\n")
}

fn import(store: &Store<'_>, text: &str) -> Result<Imported> {
    store.import(&mut text.as_bytes(), "results.jsonl", Selection::default())
}

#[test]
fn exporting_an_imported_store_gives_the_same_text() {
    let (_from, from) = full();
    let (_to, to) = store();
    let text = export(&from);
    let imported = import(&to, &text).unwrap();
    assert_eq!(imported, Imported { experiments: 2, known: 0, executions: 12 });
    for expected in [r#""not_requested""#, r#"{"interleaved":98}"#, r#"{"unavailable":"no_clock"}"#]
    {
        assert!(text.contains(&format!(r#""schedule":{expected}"#)), "no {expected} in {text}");
    }
    assert_eq!(export(&to), text);
    assert_eq!(to.check().unwrap(), [""; 0]);
    let states: Vec<_> =
        to.experiments().unwrap().into_iter().map(|experiment| experiment.machine_state).collect();
    assert_eq!(states, [None, Some("load: 1.51 per core".to_owned())]);
}

#[test]
fn benchmark_names_of_any_characters_survive_exchange() {
    let (_from, from) = store();
    let (_to, to) = store();
    let experiment = from.begin(&plan()).unwrap();
    let odd = benchmark("line one\nline two\r\0\u{1b}[31m");
    record_all(&from, experiment, &odd);
    from.finish(experiment).unwrap();
    import(&to, &export(&from)).unwrap();
    let id = to.experiments().unwrap()[0].id;
    assert_eq!(to.rows(&odd, &[id]).unwrap().len(), 8);
    assert_eq!(export(&to), export(&from));
}

#[test]
fn importing_again_changes_nothing_in_the_store() {
    let (_from, from) = full();
    let text = export(&from);
    let imported = import(&from, &text).unwrap();
    assert_eq!(imported, Imported { experiments: 0, known: 2, executions: 0 });
    assert_eq!(export(&from), text);
}

#[test]
fn import_adds_nothing_to_an_unfinished_experiment() {
    let (_from, from) = store();
    let (_to, to) = store();
    for store in [&from, &to] {
        let experiment = store.begin(&plan()).unwrap();
        store
            .connection
            .execute("UPDATE experiment SET identity = lower(hex('an experiment of'))", ())
            .unwrap();
        let slot = slot(0, 0, 5);
        store.record_execution(experiment, &benchmark("b"), slot, Ok(&execution(1.0))).unwrap();
    }
    let experiment = from.experiments().unwrap()[0].id;
    let slot = slot(1, 0, 5);
    from.record_execution(experiment, &benchmark("b"), slot, Ok(&execution(1.0))).unwrap();
    from.finish(experiment).unwrap();
    let before = to.experiments().unwrap();
    let imported = import(&to, &export(&from)).unwrap();
    assert_eq!(imported, Imported { experiments: 0, known: 1, executions: 0 });
    assert_eq!(to.experiments().unwrap(), before);
    assert_eq!(to.rows(&benchmark("b"), &[before[0].id]).unwrap().len(), 1);
}

#[test]
fn import_changes_no_names_of_what_is_stored() {
    let (_from, from) = full();
    let (_to, to) = store();
    let own = to.begin(&plan()).unwrap();
    record_all(&to, own, &benchmark("parse"));
    to.finish(own).unwrap();
    let before = export(&to);
    let forged = export(&from)
        .replace(r#""group":"g""#, r#""group":"forged""#)
        .replace("Parse faster", "forged")
        .replace("1700000000", "1");
    assert!(forged.contains(r#""group":"forged""#) && forged.contains(r#""summary":"forged""#));
    import(&to, &unchecked(&forged)).unwrap();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let after = lines(&export(&to));
    let own: Vec<String> =
        lines(&before).into_iter().filter(|line| !line.contains("\"end\"")).collect();
    assert!(own.iter().all(|line| after.contains(line)), "{before}\n{after:?}");

    // Names that came first are replaced by those that this machine finds.
    let (_later, later) = store();
    import(&later, &unchecked(&forged)).unwrap();
    let own = later.begin(&plan()).unwrap();
    let found = later.experiment(own).unwrap().unwrap();
    assert_eq!(found.plan.versions, plan().versions);
    assert_eq!(found.plan.benchmarks, plan().benchmarks);
}

#[test]
fn document_has_one_experiment_and_is_checked_for_it() {
    let (_from, from) = full();
    let (_to, to) = store();
    let mut all = from.experiments().unwrap();
    all.retain(|experiment| experiment.finished.is_some());
    let documents = all.iter().map(|experiment| from.document(experiment).unwrap());
    let documents: Vec<_> = all.iter().map(|one| one.identity.as_str()).zip(documents).collect();
    let [(first, document), (second, other)] = &documents[..] else { panic!("{documents:?}") };
    let import = |document: &[u8], since, identity| {
        to.import_document(document, "a document", Selection { since, identity })
    };
    let error = import(document, None, Some(second)).unwrap_err().to_string();
    assert!(error.contains(&format!("the experiment is {first}, not {second}")), "{error}");
    let later = all[0].finished.map(|time| time + Duration::from_nanos(1));
    assert_eq!(import(document, later, Some(first)).unwrap(), Imported::default());
    assert_eq!(import(document, all[0].finished, Some(first)).unwrap().experiments, 1);
    import(other, None, Some(second)).unwrap();
    assert_eq!(export(&to), export(&from));
}

#[test]
fn document_of_others_is_refused_within_limits() {
    let (_directory, store) = store();
    let (_from, from) = full();
    let sound = from.document(&from.experiments().unwrap()[0]).unwrap();
    let mut zeros = Vec::new();
    let spaces = std::io::repeat(b' ').take(300 << 20);
    ZlibEncoder::new(spaces, Compression::fast()).read_to_end(&mut zeros).unwrap();
    let random: Vec<u8> =
        (0_u32..4096).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (document, words) in [
        (&zeros[..], "expands to more than 256 MiB"),
        (&sound[..sound.len() - 1], "no zlib data, or damaged"),
        (&[sound[..20].to_vec(), vec![255; 20], sound[40..].to_vec()].concat(), "a document"),
        (&random, "no zlib data, or damaged"),
        (b"", "no zlib data, or damaged"),
        (b"{\"header\":{}}", "no zlib data, or damaged"),
    ] {
        let error = store.import_document(document, "a document", Selection::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(store.experiments().unwrap(), []);
}

#[test]
fn import_merges_results_of_two_machines() {
    let (_from, from) = full();
    let (_to, to) = store();
    let other = Machine { id: "other".to_owned(), ..machine() };
    let here = to.begin(&ExperimentPlan { machine: other.clone().into(), ..plan() }).unwrap();
    record_all(&to, here, &benchmark("parse"));
    to.finish(here).unwrap();
    import(&to, &export(&from)).unwrap();
    let experiments = to.experiments().unwrap();
    let ids: Vec<_> = experiments.iter().map(|experiment| experiment.id).collect();
    assert_eq!(to.rows(&benchmark("parse"), &ids).unwrap().len(), 16);
    assert_eq!(experiments.iter().filter(|one| *one.plan.machine == other).count(), 1);
}

/// Imports text with one changed line; the import must fail with these words and change nothing.
#[track_caller]
fn assert_refused(text: &str, words: &str) {
    let (_directory, store) = store();
    let error = import(&store, text).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let text = error.to_string();
    assert!(text.contains(words) && text.contains("import results.jsonl into"), "{text}: {words}");
    assert_eq!(store.experiments().unwrap(), []);
    assert_eq!(store.benchmarks().unwrap(), []);
}

#[test]
fn import_refuses_other_files_and_names_the_line() {
    let (_from, from) = full();
    let text = export(&from);
    let lines: Vec<&str> = text.lines().collect();
    assert_refused("", "line 1: the file ends before its end line");
    assert_refused("hello\n", "line 1: expected");
    assert_refused("\u{0}\n", "line 1: expected");
    assert_refused(&lines[1..].join("\n"), "line 1: it is not a header");
    assert_refused(&lines[..5].join("\n"), "line 6: the file ends before its end line");
    assert_refused(&[lines[0], lines[0]].join("\n"), "line 2: there is another header");
    assert_refused(&[lines[0], lines[3]].join("\n"), "line 2: it comes before any experiment");
    assert_refused(&(text.clone() + lines[1]), "something after the end line");
    let without_one = [&lines[..4], &lines[5..]].concat().join("\n");
    assert_refused(&without_one, "lines were exported, but");
}

#[test]
fn import_refuses_values_that_were_never_recorded() {
    let (_from, from) = full();
    let text = export(&from);
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in\n{text}");
        text.replacen(from, to, 1)
    };
    assert_refused(&changed("\"schema_version\":1", "\"schema_version\":2"), "reads schema 1");
    assert_refused(&changed("\"schema_version\":1", "\"schema_version\":0"), "reads schema 1");
    assert_refused(&changed("\"unaffected\"", "\"unchanged\""), "unknown variant `unchanged`");
    assert_refused(&changed("rbench-results", "other"), "the format is `other`");
    assert_refused(&changed("rbench-results", "\\u001b[2J"), "the format is `\\u{1b}[2J`");
    assert_refused(&changed("\"measurements\":[50.0,", "\"measurements\":[-50.0,"), "is -50 ns");
    assert_refused(&changed("\"measurements\":[50.0,", "\"measurements\":[null,"), "line 5: ");
    assert_refused(
        &changed("\"measurements\":[50.0,", "\"measurements\":["),
        "2 measurements but 3",
    );
    assert_refused(&changed("\"unit\":\"ns\"", "\"unit\":\"ms\""), "unknown variant `ms`");
    assert_refused(
        &changed("\"round\":0,\"seed\":5", "\"round\":0,\"seed\":0"),
        "0 is not a layout seed",
    );
    assert_refused(&changed("\"slot\":{\"version\":0", "\"slot\":{\"version\":2"), "version 2 of");
    assert_refused(&changed("\"digest\":\"", "\"digest\":\"x"), "64 hexadecimal digits");
    assert_refused(&changed("\"reason\":", "\"reasons\":"), "unknown field `reasons`");
    assert_refused(&changed("\"identity\":\"", "\"identity\":\"x"), "no identity of 32");
    let unchecked = unchecked(&text);
    let many = unchecked.replace("\"lines\":17}", "\"lines\":18446744073709551615}");
    assert_refused(&many, "lines were exported, but");
    assert_refused(&changed("[50.0,50.1,", "[50.0,50.2,"), "its checksum is wrong");
    let (_to, to) = store();
    assert!(import(&to, &unchecked.replacen("[50.0,50.1,", "[50.0,50.2,", 1)).is_ok());
    for builds in ["18446744073709551615", "1000001"] {
        let builds = format!("{{\"builds\":{builds}");
        assert_refused(&changed("{\"builds\":2", &builds), "line 2: ");
        let planned =
            text.replace("\"sample_sizes\":{\"builds\":2", &format!("\"sample_sizes\":{builds}"));
        assert_refused(&planned, "are no builds, executions and measurements");
    }
}

#[test]
fn import_bounds_the_memory_for_a_line_of_any_length() {
    struct Endless(usize);

    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len();
            assert!(self.0 < 80 << 20, "it reads on and on");
            buffer.fill(b' ');
            Ok(buffer.len())
        }
    }

    let store = Store::in_memory().unwrap();
    let mut endless = std::io::BufReader::new(Endless(0));
    let error = store.import(&mut endless, "endless", Selection::default()).unwrap_err();
    assert!(error.to_string().contains("line 1: it is longer than 64 MiB"), "{error}");
}

#[test]
fn export_keeps_its_format() {
    let (_directory, store) = full();
    let changing =
        "UPDATE experiment SET identity = 'identity ' || id, started_ns = 1795306029754621386,
                        finished_ns = iif(finished_ns IS NULL, NULL, 1795306029850487543)";
    store.connection.execute(changing, ()).unwrap();
    let header = format!("\"rbench\":\"{}\"", env!("CARGO_PKG_VERSION"));
    insta::assert_snapshot!(export(&store).replacen(&header, "\"rbench\":\"VERSION\"", 1));
}
