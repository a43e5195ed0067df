//! A report with every verdict in it, as people, pull requests and programs read it.

use std::time::Duration;

use super::*;
use crate::{
    code::{ChangedFunction, Name, SizedFunction},
    failure::Exit,
    judge::Repetition,
    model::Metric,
    report::{
        PLAIN_COLUMNS, style,
        testing::{
            HOSTILE, assert_harmless, assert_keeps, benchmark, given, inconclusive, judged,
            judged_in, machine, memory, target, version,
        },
    },
    stats::Verdict,
};

const SCHEMA: &str = include_str!("../../../schemas/compare.json");

fn diff() -> FunctionDiff {
    let sized = |name: &str| SizedFunction { name: Name::of(name), size: 10 };
    FunctionDiff {
        added: vec![sized("new")],
        removed: vec![],
        changed: ["a", "b"]
            .map(|name| ChangedFunction { name: Name::of(name), base_size: 8, head_size: 9 })
            .into(),
        unchanged: 4309,
    }
}

fn nothing() -> ComparisonReport {
    let (base, head) = (version("main", 'a'), version("HEAD", 'b'));
    ComparisonReport::new(base, head, Criteria::default(), given("compare main HEAD"))
}

fn identical(id: &str) -> JudgedRow {
    JudgedRow::of_benchmark(&benchmark(id), Verdict::Identical)
}

fn failed(id: &str, reason: impl Into<String>) -> JudgedRow {
    JudgedRow::of_benchmark(&benchmark(id), Verdict::Failed { reason: reason.into() })
}

/// Every verdict, and everything that is told beside them.
fn report() -> ComparisonReport {
    let failure = Failure::new(Exit::Benchmark, "cannot execute `broken`")
        .because("it ended with exit status: 101; the end of its output:\nthe table | is <missing>")
        .hint("reproduce with: cargo rbench exec HEAD --exact broken");
    let odd = Verdict::NotComparable {
        reason: "base and head have other metrics: wall [ns] and cycles [cycles]".to_owned(),
    };
    let skipped = Verdict::Skipped { reason: "no GPU here".to_owned() };
    let mut report = ComparisonReport {
        dimensions: Some(Dimensions { builds: 10, executions: 2, measurements: 3 }),
        machine: Some(machine()),
        warnings: vec![Warning::EqualBuilds { target: target("work"), distinct: 9, requested: 10 }],
        functions: vec![(target("work"), diff())],
        rows: vec![
            judged("numbers/decimal", 240.8, &[1.0], 0.02, 0.003),
            judged("numbers/float", 240.8, &[1.004], 0.02, 0.003),
            identical("same/1"),
            identical("same/2"),
            identical("same/3"),
            inconclusive("split", Repetition::Builds, 30, 0.0099),
            judged(
                "tokens/of_a_whole_file_with_comments/1024",
                7.352e6,
                &[1.02, 1.031],
                0.04,
                0.008,
            ),
            judged("tokens/small", 812.0, &[1.4, 1.38], 0.01, 0.01),
            judged_in(&memory(), "tokens/small", 3.2e6, &[1.0], 0.0, 0.001),
            judged("escape", 96.4, &[0.91, 0.93], 0.01, 0.004),
            failed("broken", failure.to_string()),
            JudgedRow::of_benchmark(&benchmark("odd"), odd),
            JudgedRow::of_benchmark(&benchmark("gpu"), skipped),
        ],
        added: vec![benchmark("new")],
        removed: vec![benchmark("old")],
        failed_targets: vec![(
            target("other"),
            Failure::new(Exit::Benchmark, "cannot list the benchmarks of `other`")
                .because("it printed nothing"),
        )],
        ..nothing()
    };
    let disturbances = [
        Disturbance::Others { share: 0.23 },
        Disturbance::Others { share: 0.5 },
        Disturbance::Governor { name: "powersave".to_owned() },
    ];
    report.add_disturbances(disturbances);
    report
}

fn plain(report: &ComparisonReport) -> String {
    style::plain(&report.text(PLAIN_COLUMNS))
}

#[test]
fn a_report_fits_terminals_of_many_widths() {
    for columns in [60, 80, 120, 160] {
        let text = style::plain(&report().text(columns));
        insta::assert_snapshot!(format!("at_{columns}_columns"), text);
    }
}

#[test]
fn only_commands_and_output_of_others_are_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    for columns in [60, 80, 100, 120] {
        let text = style::plain(&report().text(columns));
        let mut wide = text.lines().filter(|line| line.width() > columns);
        assert!(wide.all(|line| line.starts_with("  ")), "{text}");
    }
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let coloured = report().text(100);
    assert!(coloured.contains(&style::paint(style::BAD, "regressed")), "{coloured}");
    assert!(coloured.contains(&style::paint(style::GOOD, "improved")));
    assert!(coloured.contains(&style::paint(style::DOUBTFUL, "failed")));
    assert!(!style::plain(&coloured).contains('\u{1b}'));
}

#[test]
fn a_pull_request_reads_what_matters_first() {
    insta::assert_snapshot!("markdown", report().markdown());
}

#[test]
fn a_program_reads_everything() {
    insta::assert_snapshot!("json", report().json().unwrap());
}

#[test]
fn every_verdict_and_every_warning_keeps_the_schema() {
    let mut all = report();
    all.rows.extend([
        judged("contradicted", 812.0, &[1.04, 0.97], 0.01, 0.002),
        judged("shrunk", 812.0, &[1.04, 1.008], 0.01, 0.002),
        judged("weak", 812.0, &[1.04, 1.02], 0.01, 0.04),
        judged("unconfirmed", 812.0, &[1.04], 0.01, 0.002),
        failed(HOSTILE, HOSTILE),
    ]);
    all.add_disturbances([
        Disturbance::Load { per_core: 1.5 },
        Disturbance::Stolen { share: 0.02 },
        Disturbance::Battery,
        Disturbance::Quota { cpus: 0.5 },
        Disturbance::Throttled { seconds: 0.2 },
        Disturbance::Preempted { share: 0.4 },
        Disturbance::ClockSet { seconds: -60.0 },
    ]);
    all.warnings.extend([
        Warning::ChangingIds { ids: vec!["parse 12:00".to_owned()] },
        Warning::FunctionsUnknown { reason: "no archive".to_owned() },
        Warning::AcrossExperiments { benchmarks: 2 },
        Warning::NotComparableAcrossExperiments { benchmarks: 1 },
        Warning::DifferentConditions { reasons: vec!["settings: floor 2ms".to_owned()] },
        Warning::Experiment("anything".to_owned()),
    ]);
    all.stored = vec![stored_experiment()];
    for report in [all, nothing()] {
        assert_keeps(SCHEMA, &report);
    }
}

fn stored_experiment() -> StoredExperiment {
    StoredExperiment {
        identity: "1a2b3c4d".to_owned(),
        begun: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        dimensions: Dimensions { builds: 10, executions: 1, measurements: 20 },
    }
}

#[test]
fn a_warning_suggests_a_comparison_with_the_given_options() {
    let words = "compare main HEAD --stored --filter parse --manifest-path x";
    let report = ComparisonReport {
        warnings: vec![Warning::NotComparableAcrossExperiments { benchmarks: 1 }],
        command_line: given(words),
        ..nothing()
    };
    let text = report.text(200);
    let command = "together: cargo rbench compare main HEAD --filter parse --manifest-path x\n";
    assert!(text.contains(command), "{text}");
}

#[test]
fn stored_results_are_reported_with_their_experiment_and_its_dimensions() {
    let report = ComparisonReport { stored: vec![stored_experiment()], ..nothing() };
    let text = plain(&report);
    let line = "stored results of experiment 1a2b3c4d, 2023-11-14 22:13 UTC: 10 builds × 1 \
                execution × 20\n  measurements\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_report_about_nothing_is_short_and_says_so() {
    assert_eq!(
        plain(&nothing()),
        "HEAD (bbbbbbb) against main (aaaaaaa)\nestimator minimum, rule overlap at 5 %, min-effect \
         1 %, confirmed on fresh builds\n\nno benchmark in both versions\n"
    );
    assert!(nothing().markdown().starts_with("### Benchmarks: nothing to compare\n"));
}

#[test]
fn identical_versions_need_no_table_and_no_next_step() {
    let rows = (0..12).map(|index| identical(&format!("bench{index}"))).collect();
    let text = plain(&ComparisonReport { rows, ..nothing() });
    let (_, results) = text.split_once("\n\n").unwrap();
    assert_eq!(
        results,
        "12 identical\n\nidentical machine code, not measured: bench0, bench1, bench2, bench3, \
         bench4, bench5, bench6, bench7\n  and 4 more\n"
    );
}

#[test]
fn what_regressed_comes_first_and_all_else_in_the_order_of_definition() {
    let text = style::plain(&report().text(160));
    let (_, table) = text.split_once("benchmark  ").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let ids: Vec<&str> =
        table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        ids,
        [
            "tokens/of_a_whole_file_with_comments/1024",
            "tokens/small",
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
fn a_change_that_is_too_small_to_be_of_interest_is_not_passed_over_in_silence() {
    let row = judged("numbers/float", 240.8, &[1.004], 0.02, 0.003);
    assert!(matches!(row.verdict, Verdict::Unchanged { .. }));
    let report = ComparisonReport { rows: vec![row], ..nothing() };
    let line = "unchanged: differences below the min-effect: numbers/float (+0.40 %)\n";
    assert!(plain(&report).contains(line), "{}", plain(&report));
    assert!(report.json().unwrap().contains("\"kind\": \"one_stage\""));
    let confirmed = judged("numbers/float", 240.8, &[1.02, 1.004], 0.02, 0.003);
    let report = ComparisonReport { rows: vec![confirmed], ..nothing() };
    assert!(plain(&report).contains("numbers/float (+0.40 %, confirmed)"), "{}", plain(&report));
}

#[test]
fn an_estimate_near_the_smallest_detectable_change_is_said_to_tend_to_be_too_large() {
    let words = "tends to be too large";
    let text = |factors: &[f64]| {
        let row = judged("a", 812.0, factors, 0.01, 0.02);
        plain(&ComparisonReport { rows: vec![row], ..nothing() })
    };
    assert!(text(&[1.022, 1.02]).contains(words), "{}", text(&[1.022, 1.02]));
    assert!(!text(&[1.5, 1.4]).contains(words), "{}", text(&[1.5, 1.4]));
}

#[test]
fn a_thousand_benchmarks_of_any_name_fit_into_a_comment() {
    let unchanged = judged("", 240.8, &[1.0], 0.02, 0.003);
    let regressed = judged("", 812.0, &[1.4, 1.38], 0.01, 0.01);
    for (part, judged) in [("`|<b>\n", &regressed), ("plain", &regressed), ("a`b``c", &unchanged)] {
        let mut report = report();
        for index in 0..1000 {
            let benchmark = benchmark(&format!("{}{index}", part.repeat(60)));
            report.rows.push(JudgedRow { benchmark: benchmark.clone(), ..judged.clone() });
            let reason = format!("{}\n{}", part.repeat(90), "````\n".repeat(90));
            report.rows.push(failed(&format!("bad{index}"), reason));
            report.added.push(benchmark);
            report.warnings.push(Warning::Experiment(part.repeat(90)));
        }
        let markdown = report.markdown();
        assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
        assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
        assert!(markdown.contains("more rows") && markdown.contains("more reasons"));
    }
}

#[test]
fn nothing_from_elsewhere_steers_the_terminal() {
    let hostile = || HOSTILE.to_owned();
    let named = |id: &str| Version { revision: hostile(), ..version(id, 'c') };
    let failure = Failure::new(Exit::Benchmark, HOSTILE).because(HOSTILE).hint(HOSTILE);
    let mut report = ComparisonReport {
        base: named("a"),
        head: named("b"),
        stored: vec![StoredExperiment { identity: hostile(), ..stored_experiment() }],
        added: vec![benchmark(HOSTILE)],
        failed_targets: vec![(target(HOSTILE), failure)],
        warnings: vec![
            Warning::Experiment(hostile()),
            Warning::DifferentConditions { reasons: vec![hostile()] },
        ],
        ..report()
    };
    let metric = Metric { name: hostile(), ..memory() };
    report.functions[0].1.changed[0].name = Name::of(HOSTILE);
    report.rows.extend([
        inconclusive(HOSTILE, Repetition::Builds, 30, 0.0099),
        judged(HOSTILE, 812.0, &[1.4, 1.38], 0.01, 0.01),
        judged_in(&metric, HOSTILE, 812.0, &[1.0], 0.01, 0.001),
        identical(HOSTILE),
        failed(HOSTILE, HOSTILE),
        JudgedRow::of_benchmark(&benchmark(HOSTILE), Verdict::Skipped { reason: hostile() }),
    ]);
    assert_harmless(&report);
}

#[test]
fn benchmarks_of_one_id_are_told_apart_by_their_targets() {
    let mut report = report();
    let other = Benchmark { target: "other".to_owned(), ..benchmark("split") };
    let row = judged("split", 4384.0, &[1.0], 0.01, 0.001);
    report.rows.push(JudgedRow { benchmark: other, ..row });
    let text = plain(&report);
    assert!(text.contains("parser/work split") && text.contains("parser/other split"), "{text}");
}

#[test]
fn failed_benchmarks_and_targets_fail_the_command_and_skipped_ones_do_not() {
    let row = |verdict| JudgedRow::of_benchmark(&benchmark("a"), verdict);
    let exit = |rows| ComparisonReport { rows, ..nothing() }.exit(false, true);
    let skipped = Verdict::Skipped { reason: String::new() };
    let regressed = judged("a", 812.0, &[1.4, 1.38], 0.01, 0.01);
    let inconclusive = inconclusive("a", Repetition::Builds, 30, 0.01);
    assert_eq!(exit(vec![row(skipped), row(Verdict::Identical)]), Exit::Success);
    assert_eq!(exit(vec![inconclusive.clone()]), Exit::Inconclusive);
    assert_eq!(exit(vec![inconclusive, failed("b", "x")]), Exit::Benchmark);
    assert_eq!(exit(vec![regressed.clone(), failed("b", "x")]), Exit::Regression);
    let advisory = ComparisonReport { rows: vec![regressed], ..nothing() };
    assert_eq!(advisory.exit(true, true), Exit::Success);
    let targets = ComparisonReport { failed_targets: report().failed_targets, ..nothing() };
    assert_eq!(targets.exit(false, false), Exit::Benchmark);
}

#[test]
fn equal_functions_are_no_reason_to_look_at_their_differences() {
    let same = FunctionDiff { unchanged: 3608, ..FunctionDiff::default() };
    let report = ComparisonReport { functions: vec![(target("work"), same)], ..report() };
    let text = plain(&report);
    assert!(text.contains("machine code: all 3608 functions are the same\n"), "{text}");
    assert!(!text.contains("cargo rbench diff"), "{text}");
}

#[test]
fn what_is_advised_for_several_benchmarks_is_enough_for_each_or_halves_what_each_shows() {
    let mut report = ComparisonReport {
        rows: vec![
            inconclusive("a", Repetition::Builds, 17, 0.0098),
            inconclusive("-b", Repetition::Builds, 30, 0.0099),
            inconclusive("c", Repetition::Executions, 30, 0.2),
            inconclusive("d", Repetition::Executions, 25, 0.1),
        ],
        ..nothing()
    };
    let advised = |report: &ComparisonReport| -> Vec<[String; 2]> {
        let steps = report.next_steps();
        steps.into_iter().skip(2).map(|step| [step.purpose, step.command]).collect()
    };
    assert_eq!(
        advised(&report),
        [
            [
                "would flag a change of 1 % in 2 inconclusive benchmarks with 80 % power",
                "cargo rbench compare main HEAD --exact --filter a --filter=-b --builds 30"
            ],
            [
                "would halve the smallest change that is flagged with 80 % power in 2 inconclusive \
                 benchmarks",
                "cargo rbench compare main HEAD --exact --filter c --filter d --executions 30"
            ],
        ]
    );
    let more = ["e", "f", "g"].map(|id| inconclusive(id, Repetition::Executions, 20, 0.1));
    report.rows.extend(more);
    report.command_line = given(
        "compare main HEAD --features simd --filter . -l 10 -m 4 --manifest-path x --format json",
    );
    let advised: Vec<String> = report.next_steps().into_iter().map(|step| step.command).collect();
    assert_eq!(
        advised,
        [
            "cargo rbench diff main HEAD --features simd --manifest-path x",
            "cargo rbench show HEAD --exact --filter a --manifest-path x",
            "cargo rbench compare main HEAD --exact --filter a --filter=-b --builds 30 --features simd \
             --executions 4 --manifest-path x",
            "cargo rbench compare main HEAD --executions 30 --features simd --filter . --builds 10 \
             --manifest-path x",
        ]
    );
}
