//! A report with every verdict, for people, pull requests and programs.

mod accepted;
mod advice;
mod comment;
mod counts;
mod impact;
mod line;
mod notes;
mod overall;
mod page;
mod release;

use std::time::{Duration, SystemTime};

use accepted::{accepted, idle};
use rbench_code::{
    elf::{Cause, ChangedFunction, FunctionDiff, Name, SizedFunction},
    impact::Impact,
};
use rbench_stats::{Criteria, Estimator, Measurements, Method, Rule, Summary, Unpaired};

use super::*;
use crate::{
    compare::{ChangedWork, ComparedExperiment, UnlistedTarget, Warning},
    error::{Error, Exit},
    model::{
        Benchmark, CommitTitle, Disturbance, FailedTarget, InterleavingUnavailable, Metric, Mode,
        SampleSizes, SandboxOff, SandboxState, Threads, Throughput, Version, VersionChanges,
    },
    report::{
        PLAIN_COLUMNS, style,
        testing::{
            HOSTILE, assert_harmless, assert_keeps, benchmark, counted, decided_row,
            decided_row_in, explained_time, given, inconclusive, machine, memory, removed, target,
            version,
        },
    },
    verdict::{ByMean, DecidedRow, Interleaving, Repetition, UnmeasuredIn, Verdict},
};

fn diff() -> FunctionDiff {
    let sized = |name: &str| SizedFunction {
        name: Name::demangle(name),
        instance: 1,
        size: 10,
        stack: None,
    };
    FunctionDiff {
        added: vec![sized("new")],
        removed: vec![],
        changed: ["a", "b"]
            .map(|name| ChangedFunction {
                name: Name::demangle(name),
                instance: 1,
                base_instance: 1,
                base_size: 8,
                head_size: 9,
                base_stack: None,
                head_stack: None,
                cause: Cause::Code,
                callees_gained: vec![],
                callees_lost: vec![],
            })
            .into(),
        unchanged: 4309,
        elsewhere: vec![],
        incomplete: false,
    }
}

fn nothing() -> Outcome {
    Outcome::new([version("main", 'a'), version("HEAD", 'b')], Criteria::default())
}

fn shown(outcome: Outcome) -> ComparisonReport {
    ComparisonReport::new(outcome, ExitPolicy::default(), given("compare main HEAD"))
}

fn identical(id: &str) -> DecidedRow {
    DecidedRow::without_metric(&benchmark(id), Verdict::Identical)
}

fn failed(id: &str, reason: impl Into<String>) -> DecidedRow {
    DecidedRow::without_metric(&benchmark(id), Verdict::Failed { reason: reason.into() })
}

/// An unchanged benchmark measured in this mode, although interleaving was requested.
fn interleaved(id: &str, mode: Mode, reason: Option<InterleavingUnavailable>) -> DecidedRow {
    let interleaving = Some(Interleaving {
        mode,
        threads: Threads::Together,
        unavailable: reason,
        times_alone: None,
    });
    DecidedRow { interleaving, ..decided_row(id, 240.8, &[1.0], 0.02, 0.003) }
}

/// A report with every verdict and every note.
fn report() -> ComparisonReport {
    shown(everything())
}

fn everything() -> Outcome {
    let failure = Error::new(Exit::Benchmark, "cannot execute `broken`")
        .cause("it ended with exit status: 101; the end of its output:\nthe table | is <missing>")
        .hint("reproduce with: cargo rbench exec HEAD --exact broken");
    let odd = Verdict::NotComparable {
        reason: "base and head have other metrics: wall [ns] and cycles [cycles]".to_owned(),
    };
    let skipped = Verdict::Skipped { reason: "no GPU here".to_owned() };
    let mut outcome = Outcome {
        sample_sizes: Some(SampleSizes {
            first_analysis: None,
            builds: 10,
            executions: 2,
            measurements: 3,
        }),
        changes: changes(),
        machine: Some(machine()),
        environment: Some("load: 1.51 per core; swap: 512 MiB in use".to_owned()),
        warnings: vec![Warning::EqualBuilds { target: target("work"), distinct: 9, requested: 10 }],
        functions: vec![(target("work"), diff())],
        rows: vec![
            decided_row("numbers/decimal", 240.8, &[1.0], 0.02, 0.003),
            decided_row("numbers/float", 240.8, &[1.004], 0.02, 0.003),
            identical("same/1"),
            identical("same/2"),
            identical("same/3"),
            inconclusive("split", Repetition::Builds, 30, 0.0099),
            decided_row(
                "tokens/of_a_whole_file_with_comments/1024",
                7.352e6,
                &[1.02, 1.031],
                0.04,
                0.008,
            ),
            decided_row("tokens/small", 812.0, &[1.4, 1.38], 0.01, 0.01),
            decided_row_in(&memory(), "tokens/small", 3.2e6, &[1.0], 0.0, 0.001),
            decided_row("escape", 96.4, &[0.91, 0.93], 0.01, 0.004),
            failed("broken", failure.to_string()),
            DecidedRow::without_metric(&benchmark("odd"), odd),
            DecidedRow::without_metric(&benchmark("gpu"), skipped),
        ],
        added: vec![benchmark("new")],
        removed: vec![removed(benchmark("old"))],
        failed_targets: vec![unlisted(
            "other",
            Error::new(Exit::Benchmark, "cannot list the benchmarks of `other`")
                .cause("it printed nothing"),
        )],
        ..nothing()
    };
    let disturbances = [
        Disturbance::Others { share: 0.23 },
        Disturbance::Others { share: 0.5 },
        Disturbance::Governor { name: "powersave".to_owned() },
    ];
    outcome.add_disturbances(disturbances);
    outcome
}

/// A bench target that only the head cannot list.
fn unlisted(name: &str, error: Error) -> UnlistedTarget {
    UnlistedTarget::new(FailedTarget { target: target(name), error }, UnmeasuredIn::Head)
}

/// The exit code of a command with this outcome.
fn exit(outcome: &Outcome, advisory: bool, inconclusive: bool) -> Exit {
    Outcome::exit(
        std::slice::from_ref(outcome),
        &ExitPolicy { ignores_regressions: advisory, inconclusive, ..ExitPolicy::default() },
    )
}

fn plain(report: &ComparisonReport) -> String {
    style::plain(&report.text(PLAIN_COLUMNS))
}

/// The text with the reasons for all verdicts.
fn detailed(report: &ComparisonReport) -> String {
    plain(&report.clone().explaining_all(true))
}

/// Seven commits and two files.
fn changes() -> VersionChanges {
    let titles = ["Parse numbers without copying", "Read tokens by a table", "Test the table", "x"];
    let commit = |title: &&str| CommitTitle { id: "c".repeat(40), title: (*title).to_owned() };
    VersionChanges {
        commits: titles.iter().map(commit).collect(),
        commit_count: 7,
        base_only_commits: 2,
        uncommitted_files: ["src/lib.rs", "src/table.rs"].map(str::to_owned).into(),
        uncommitted_file_count: 2,
    }
}

#[test]
fn text_fits_terminals_of_many_widths() {
    for columns in [60, 80, 120, 160] {
        let text = style::plain(&report().text(columns));
        insta::assert_snapshot!(format!("at_{columns}_columns"), text);
    }
}

/// A comparison of twenty benchmarks with every verdict that is common, and a warning.
fn twenty() -> ComparisonReport {
    let mut rows: Vec<DecidedRow> = [("parse/small", 1.12), ("parse/large", 1.03), ("emit", 0.9)]
        .map(|(id, factor)| decided_row(id, 812.0, &[factor, factor], 0.01, 0.001))
        .into();
    for (row, name) in rows.iter_mut().zip(["parser::number", "parser::table", "emitter::line"]) {
        let function = impact::function(name, [Some(624), Some(524)], true);
        row.impact = Some(Impact { functions: vec![function], ..Impact::default() });
    }
    rows.extend([
        accepted("checksum", 0.5, "checks more input"),
        failed("broken", "cannot execute `broken`\n  it ended with exit status: 101; the end of its \
                          output:\n    thread 'main' panicked at benches/work.rs:12:9:\n    no table\n\
                          hint: reproduce with: cargo rbench exec HEAD --exact broken"),
        inconclusive("split/1", Repetition::Builds, 30, 0.0099),
        inconclusive("split/2", Repetition::Builds, 20, 0.0099),
        decided_row("float", 240.8, &[1.004], 0.02, 0.003),
    ]);
    let unaffected = |id: String| DecidedRow::without_metric(&benchmark(&id), Verdict::Unaffected);
    rows.extend((0..4).map(|index| unaffected(format!("other/{index}"))));
    let calm = |index| decided_row(&format!("calm/{index}"), 240.8, &[1.0], 0.02, 0.003);
    rows.extend((0..8).map(calm));
    assert_eq!(rows.len(), 20);
    let changes = VersionChanges { uncommitted_file_count: 0, ..changes() };
    let changes = VersionChanges { uncommitted_files: vec![], base_only_commits: 0, ..changes };
    let mut outcome = Outcome { changes, rows, ..everything() };
    outcome.warnings.truncate(1);
    outcome.added.clear();
    outcome.removed.clear();
    outcome.failed_targets.clear();
    shown(outcome)
}

#[test]
fn twenty_rows_fit_forty_lines_and_nothing_is_lost() {
    let report = twenty();
    let text = style::plain(&report.text(100));
    insta::assert_snapshot!("twenty_rows", text);
    assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
    let complete = [
        style::plain(&report.clone().explaining_all(true).text(100)),
        report.json().unwrap(),
        report.html().unwrap(),
        report.markdown(),
    ];
    for text in complete {
        for detail in
            ["no table", "4309", "checks more input", "cargo rbench history HEAD", "other/3"]
        {
            assert!(text.contains(detail), "no {detail}: {text}");
        }
    }
}

#[test]
fn commits_and_files_are_named_in_every_format() {
    let report = shown(Outcome { changes: changes(), rows: vec![identical("a")], ..nothing() });
    let text = plain(&report);
    let expected = "HEAD (bbbbbbb) compared with main (aaaaaaa)\n\
                    7 commits, newest first: ccccccc Parse numbers without copying; ccccccc Read \
                    tokens by a table;\n  ccccccc Test the table; and 4 more\n\
                    main (aaaaaaa) has 2 commits that HEAD (bbbbbbb) lacks\n\
                    uncommitted changes in 2 files: src/lib.rs, src/table.rs\n\
                    1 identical\n";
    assert!(text.starts_with(expected), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains("; `ccccccc` `Test the table`; and 4 more\n"));
    let page = report.html().unwrap();
    assert!(page.contains("; <code>ccccccc</code> <code>Test the table</code>; and"), "{page}");
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["commits"][3], serde_json::json!({ "id": "c".repeat(40), "title": "x" }));
    assert_eq!([&json["commit_count"], &json["base_only_commits"]], [7, 2]);
    assert_eq!(json["uncommitted_files"][1], "src/table.rs");
}

#[test]
fn only_commands_and_quotes_exceed_the_width() {
    use unicode_width::UnicodeWidthStr;
    for columns in [60, 80, 100, 120] {
        let text = style::plain(&report().text(columns));
        let mut wide = text.lines().filter(|line| line.width() > columns);
        assert!(wide.all(|line| line.starts_with("  ")), "{text}");
    }
}

#[test]
fn colours_add_no_information() {
    let coloured = report().text(100);
    assert!(coloured.contains(&style::paint(style::Role::Bad, "regressed")), "{coloured}");
    assert!(coloured.contains(&style::paint(style::Role::Good, "improved")));
    assert!(coloured.contains(&style::paint(style::Role::Doubtful, "failed")));
    assert!(!style::plain(&coloured).contains('\u{1b}'));
}

#[test]
fn markdown_has_what_matters_first() {
    insta::assert_snapshot!("markdown", report().markdown());
}

#[test]
fn json_has_everything() {
    insta::assert_snapshot!("json", report().json().unwrap());
}

#[test]
fn verdicts_and_warnings_all_keep_the_schema() {
    let mut all = report();
    all.outcome.rows.extend([
        decided_row("contradicted", 812.0, &[1.04, 0.97], 0.01, 0.002),
        decided_row("shrunk", 812.0, &[1.04, 1.008], 0.01, 0.002),
        decided_row("weak", 812.0, &[1.04, 1.02], 0.01, 0.04),
        decided_row("unconfirmed", 812.0, &[1.04], 0.01, 0.002),
        notes::slower_changed("slower", 812.0),
        failed(HOSTILE, HOSTILE),
    ]);
    all.outcome.add_disturbances([
        Disturbance::Load { per_core: 1.5 },
        Disturbance::Stolen { share: 0.02 },
        Disturbance::Battery,
        Disturbance::Quota { cpus: 0.5 },
        Disturbance::Throttled { seconds: 0.2 },
        Disturbance::Preempted { share: 0.4 },
        Disturbance::ClockSet { seconds: -60.0 },
    ]);
    all.outcome.warnings.extend([
        Warning::ChangingIds { ids: vec!["parse 12:00".to_owned()] },
        Warning::FunctionsUnknown { reason: "no archive".to_owned() },
        Warning::DifferentWork {
            benchmarks: vec![ChangedWork {
                name: "a".to_owned(),
                work: [0, 1].map(Throughput::Bits),
            }],
        },
        Warning::AcrossExperiments { benchmarks: 2 },
        Warning::NotComparableAcrossExperiments { benchmarks: 1 },
        Warning::DifferentConditions { reasons: vec!["settings: floor 2ms".to_owned()] },
    ]);
    all.outcome.stored = vec![stored_experiment()];
    all.outcome.rows.extend([accepted("accepted", 0.5, "why"), accepted("beyond", 0.02, "why")]);
    all.outcome.idle = idle("gone");
    for report in [all, shown(nothing())] {
        assert_keeps("compare", &report);
        let written = report.json().unwrap();
        assert_eq!(Comparisons::parse(&written).unwrap().to_json().unwrap(), written);
    }
}

fn stored_experiment() -> ComparedExperiment {
    ComparedExperiment {
        identity: "1a2b3c4d".to_owned(),
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 10,
            executions: 1,
            measurements: 20,
        },
    }
}

#[test]
fn clock_ahead_warning_mentions_a_suspended_machine() {
    let text = |seconds| {
        let mut report = shown(nothing());
        report.outcome.add_disturbances([Disturbance::ClockSet { seconds }]);
        style::plain(&report.text(200))
    };
    let ahead = "the clock was set by +3600 s while measuring, or the machine was suspended;";
    assert!(text(3600.0).contains(ahead), "{}", text(3600.0));
    assert!(!text(-60.0).contains("suspended"), "{}", text(-60.0));
}

#[test]
fn causes_of_noise_are_one_line_unless_all_is_explained() {
    let text = "note: only 9 of 10 builds of parser/work differ; other processes used 23 % of all CPU time while \
                measuring; the CPU frequency governor is `powersave`, so clock rates change while measuring \
                (`performance` is steadier); verdicts hold, with wider intervals\n";
    let mut report = report();
    assert!(plain(&report).replace("\n  ", " ").contains(text), "{}", plain(&report));
    report.outcome.add_disturbances([Disturbance::Battery]);
    let more = "steadier); and 1 more cause, which the option --reasons shows; verdicts hold";
    assert!(plain(&report).replace("\n  ", " ").contains(more), "{}", plain(&report));
    report.outcome.warnings.pop();
    let all = detailed(&report);
    assert_eq!(all.replace("\n  ", " ").matches("; verdicts hold, with wider").count(), 3, "{all}");
}

#[test]
fn stored_results_have_their_experiment_and_sample_sizes() {
    let report = shown(Outcome { stored: vec![stored_experiment()], ..nothing() });
    let text = plain(&report);
    let line = "stored results of experiment 1a2b3c4d, 2023-11-14 22:13 UTC; requested: 10 builds × 1 \
                execution × 20 measurements\n";
    assert!(text.replace("\n  ", " ").contains(line), "{text}");
}

#[test]
fn measurements_other_than_requested_are_reported() {
    let line = "taken in each execution: 3 measurements of 2 benchmarks\n";
    let rows = ["a", "b", "a"]
        .map(|id| decided_row(id, 240.8, &[1.0, 1.0], 0.02, 0.003))
        .into_iter()
        .collect();
    let requested = |measurements| SampleSizes {
        first_analysis: None,
        builds: 10,
        executions: 2,
        measurements,
    };
    let mut report = shown(Outcome { sample_sizes: Some(requested(5)), rows, ..nothing() });
    assert!(detailed(&report).contains(line), "{}", detailed(&report));
    let sizes = "each version: 20 builds × 2 executions × 3 measurements; false-alarm-rate 5 %";
    assert!(plain(&report).contains(sizes), "{}", plain(&report));
    report.outcome.sample_sizes = Some(requested(3));
    assert!(!detailed(&report).contains("taken in each execution"), "{}", detailed(&report));
    report.outcome.sample_sizes = None;
    report.outcome.stored = vec![stored_experiment()];
    assert!(detailed(&report).contains(line), "{}", detailed(&report));
}

#[test]
fn empty_comparison_is_short() {
    assert_eq!(
        plain(&shown(nothing())),
        "HEAD (bbbbbbb) compared with main (aaaaaaa)\nno benchmark in both versions\nwarning: nothing was \
         compared, so a regression would not have been found\n"
    );
    assert!(shown(nothing()).markdown().starts_with("### Benchmarks: nothing to compare\n"));
}

#[test]
fn header_names_the_rule_and_its_level() {
    let criteria = |rule| Criteria { rule, false_alarm_rate: 0.001, ..Criteria::default() };
    let line = |report: &ComparisonReport| {
        let text = detailed(report);
        let (_, text) = text.split_once("rule ").unwrap();
        let end = text.find("\nthe change comes from").unwrap_or(text.len());
        format!("rule {}", text[..end].trim_end().replace("\n  ", " "))
    };
    let confirmed = "false-alarm-rate 0.1 %, min-effect 1 %, confirmed on fresh builds";
    for (rule, words) in [
        (Rule::Paired, "paired (t test)"),
        (Rule::Overlap, "overlap (Kalibera et al. 2006, at 95 %)"),
    ] {
        let rows = vec![identical("a")];
        let report = shown(Outcome { criteria: criteria(rule), rows, ..nothing() });
        assert_eq!(line(&report), format!("rule {words}, {confirmed}"));
    }
    let mut across = decided_row("a", 240.8, &[1.0], 0.02, 0.003);
    across.stages[0].assessment.is_across = true;
    let mut report =
        shown(Outcome { criteria: criteria(Rule::Overlap), rows: vec![across], ..nothing() });
    assert_eq!(line(&report), "rule paired (t test), false-alarm-rate 0.1 %, min-effect 1 %");
    let mut within = decided_row("b", 240.8, &[1.0], 0.02, 0.003);
    within.stages[0].assessment.rule = Rule::Overlap;
    report.outcome.rows.push(within);
    let between = "between experiments: rule paired (t test), not confirmed on fresh builds";
    let within = "rule overlap (Kalibera et al. 2006, at 95 %)";
    assert_eq!(line(&report), format!("{within}, {confirmed}\n{between}"));
    report.outcome.rows[0].stages[0].assessment.comparison.method =
        Method::Welch(Unpaired::ByDesign);
    let welch = "rule paired (t test, Welch's where layouts are not matched)";
    let between = format!("between experiments: {welch}, not confirmed on fresh builds");
    assert_eq!(line(&report), format!("{within}, {confirmed}\n{between}"));
}

#[test]
fn header_names_the_estimators() {
    let line = |report: &ComparisonReport| {
        let text = detailed(report);
        text.lines().find(|line| line.contains("rule ")).unwrap().to_owned()
    };
    let alone = decided_row("a", 240.8, &[1.0], 0.02, 0.003);
    let mut paired = interleaved("b", Mode::Interleaved, None);
    for summary in paired.stages.iter_mut().flat_map(|stage| &mut stage.summaries) {
        let builds = (1..3).map(|seed| (seed, [[100.0, 101.0]]));
        let measurements = Measurements::new(Metric::wall(), builds).unwrap();
        *summary = Summary::compute(&measurements, Estimator::Pairwise);
    }
    let of = |rows: Vec<DecidedRow>| line(&shown(Outcome { rows, ..nothing() }));
    assert!(of(vec![alone.clone()]).starts_with("estimator minimum, rule "));
    assert!(of(vec![paired.clone()]).starts_with("estimator pairwise, rule "));
    let both = "estimator pairwise where interleaved, minimum otherwise, rule ";
    assert!(of(vec![alone, paired]).starts_with(both));
    assert!(of(vec![identical("a")]).starts_with("rule "));
    let criteria = Criteria { estimator: Some(Estimator::Median), ..Criteria::default() };
    assert!(line(&shown(Outcome { criteria, ..nothing() })).starts_with("estimator median, "));
}

#[test]
fn identical_versions_have_no_table_and_no_next_step() {
    let rows = (0..12).map(|index| identical(&format!("bench{index}"))).collect();
    let text = plain(&shown(Outcome { rows, ..nothing() }));
    let expected = "12 identical\n\nidentical (same machine code; not measured): bench0, bench1, \
                    bench2, bench3, bench4, bench5 and 6\n  more\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn rows_start_with_regressions() {
    let text = style::plain(&report().text(160));
    let (_, table) = text.split_once("benchmark  ").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let ids: Vec<&str> =
        table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        ids,
        [
            "tokens/small",
            "tokens/of_a_whole_file_with_comments/1024",
            "numbers/decimal",
            "numbers/float",
            "split",
            "tokens/small",
            "escape",
            "broken",
            "odd",
        ]
    );
}

#[test]
fn exaggerated_estimate_has_a_note() {
    let words = "tends to be too large";
    let text = |factors: &[f64]| {
        let row = decided_row("a", 812.0, factors, 0.01, 0.02);
        plain(&shown(Outcome { rows: vec![row], ..nothing() }))
    };
    assert!(text(&[1.022, 1.02]).contains(words), "{}", text(&[1.022, 1.02]));
    assert!(!text(&[1.5, 1.4]).contains(words), "{}", text(&[1.5, 1.4]));
}

#[test]
fn untrusted_texts_are_harmless() {
    let hostile = || HOSTILE.to_owned();
    let named = |id: &str| Version { revision: hostile(), ..version(id, 'c') };
    let failure = Error::new(Exit::Benchmark, HOSTILE).cause(HOSTILE).hint(HOSTILE);
    let mut report = shown(Outcome {
        base: named("a"),
        head: named("b"),
        stored: vec![ComparedExperiment { identity: hostile(), ..stored_experiment() }],
        added: vec![benchmark(HOSTILE)],
        idle: idle(HOSTILE),
        failed_targets: vec![unlisted(HOSTILE, failure)],
        warnings: vec![
            Warning::FunctionsUnknown { reason: hostile() },
            Warning::DifferentWork {
                benchmarks: vec![ChangedWork {
                    name: hostile(),
                    work: [1, 2].map(Throughput::Elements),
                }],
            },
            Warning::DifferentConditions { reasons: vec![hostile()] },
        ],
        ..everything()
    });
    let commit = CommitTitle { id: hostile(), title: hostile() };
    report.outcome.changes =
        VersionChanges { commits: vec![commit], uncommitted_files: vec![hostile()], ..changes() };
    let metric = Metric { name: hostile(), ..memory() };
    report.outcome.functions[0].1.changed[0].name = Name::demangle(HOSTILE);
    report.outcome.rows.extend([
        inconclusive(HOSTILE, Repetition::Builds, 30, 0.0099),
        decided_row(HOSTILE, 812.0, &[1.4, 1.38], 0.01, 0.01),
        decided_row_in(&metric, HOSTILE, 812.0, &[1.0], 0.01, 0.001),
        identical(HOSTILE),
        accepted(HOSTILE, 0.5, HOSTILE),
        accepted(HOSTILE, 0.02, HOSTILE),
        failed(HOSTILE, HOSTILE),
        DecidedRow::without_metric(&benchmark(HOSTILE), Verdict::Skipped { reason: hostile() }),
    ]);
    assert_harmless(&report);
    assert_harmless(&report.explaining_all(true));
}

#[test]
fn equal_ids_are_distinguished_by_their_targets() {
    let mut report = report();
    let other = Benchmark { target: "other".to_owned(), ..benchmark("split") };
    let row = decided_row("split", 4384.0, &[1.0], 0.01, 0.001);
    report.outcome.rows.push(DecidedRow { benchmark: other, ..row });
    let text = plain(&report);
    assert!(text.contains("parser/work split") && text.contains("parser/other split"), "{text}");
}

#[test]
fn nothing_compared_gives_a_warning() {
    let skipped = Verdict::Skipped { reason: String::new() };
    for rows in [vec![], vec![DecidedRow::without_metric(&benchmark("a"), skipped)]] {
        let report = shown(Outcome { rows, ..nothing() });
        assert!(report.markdown().contains("> **Warning:** nothing was compared, so a regression"));
        assert!(report.json().unwrap().contains("\"kind\": \"nothing_compared\""));
    }
}

#[test]
fn other_criteria_of_the_head_are_the_first_warning() {
    let differing = vec!["verdict.min-effect".to_owned(), HOSTILE.to_owned()];
    let warning = Warning::SettingsOfBase { differing, unusable: Vec::new() };
    let report = shown(Outcome { base_warning: Some(warning), ..nothing() });
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["warnings"][0]["kind"], "settings_of_base");
    assert!(report.markdown().contains("> **Warning:** settings of the base decide; those of"));
    assert!(plain(&report).contains("warning: settings of the base decide; those of"));
    assert_harmless(&report);
}
