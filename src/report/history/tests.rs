//! The history for people, web pages and programs.

use std::time::Duration;

use rbench_stats::{Assessment, Estimator, Measurements, Pairing, Summary};
use serde_json::{Value, json};

use super::*;
use crate::{
    model::{CommitTitle, InterleavingUnavailable, Mode, SkipReason, Threads, Unit},
    report::{
        Report as _, style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, given, machine, memory},
    },
    verdict::{DecidedStage, Interleaving, MIXED},
};

const CRITERIA: Criteria = Criteria {
    estimator: Some(Estimator::Mean),
    rule: rbench_stats::Rule::Paired,
    false_alarm_rate: 0.05,
    comparisons: 1,
    confidence: 0.95,
    min_effect: 0.01,
    limits: rbench_stats::MetricLimits::DEFAULT,
    confirm: false,
    seed: 1,
};

fn version(commit: &str, summary: &str, dirty: bool) -> Version {
    Version {
        revision: commit.to_owned(),
        commit: Some(format!("{commit:0<40}").replace(|c: char| !c.is_ascii_hexdigit(), "e")),
        tree: format!("{commit:f<40}").replace(|c: char| !c.is_ascii_hexdigit(), "e"),
        dirty,
        summary: summary.to_owned(),
        time: Some(1_700_000_000),
        variant: None,
    }
}

/// Six builds of about a value, in a different order for each value.
fn summary(value: f64) -> Summary {
    let mut noise = [0.0, 0.002, -0.001, 0.001, -0.002, 0.0005];
    noise.rotate_left([4000.0, 4400.0, 4401.0].into_iter().take_while(|&v| v < value).count());
    let builds = (0..).zip(noise.map(|noise| [[value * (1.0 + noise)]]));
    Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
}

fn decided(id: &str, base: f64, head: f64) -> DecidedRow {
    let summaries = [summary(base), summary(head)];
    let [base, head] = &summaries;
    let assessment = Assessment::new(base, head, Pairing::BySeed, &CRITERIA).unwrap();
    DecidedRow {
        progress: crate::verdict::Progress::Ended,
        by_mean: None,
        benchmark: benchmark(id),
        metric: Some(Metric::wall()),
        verdict: rbench_stats::Verdict::decide(&assessment, None, 1, &CRITERIA).into(),
        stages: vec![DecidedStage { summaries, assessment }],
        advice: None,
        work: None,
        interleaving: None,
        unmeasured_in: None,
        impact: None,
    }
}

fn row(
    version: Version,
    value: Option<f64>,
    against: Option<(&Version, Relation, DecidedRow)>,
) -> HistoryRow {
    let summary = value.map(summary);
    let interleaving = Interleaving {
        mode: Mode::Sequential,
        threads: Threads::Together,
        unavailable: None,
        times_alone: None,
    };
    HistoryRow {
        in_repository: version.summary != "Begin",
        version,
        measured: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        machine: machine(),
        toolchain: "rustc 1.90.0".to_owned(),
        conditions: Measured::new(Some(interleaving), summary.as_ref()),
        result: summary.as_ref().map(|one| Estimate::new(one, CRITERIA.confidence)),
        unmeasured: None,
        like_newest: true,
        against: against.map(|(version, relation, row)| {
            let version = version.clone();
            ReferenceVersion { version, relation, row }
        }),
    }
}

fn sessions(freedom: f64, repeats: usize) -> SessionVariation {
    SessionVariance { mean_square: 3e-5, noise: 5e-6, freedom, repeats }.into()
}

/// One event with the change of each benchmark.
fn event(benchmarks: &[BenchmarkHistory]) -> Event {
    let change = |history: &BenchmarkHistory| EventChange {
        benchmark: history.benchmark.clone(),
        metric: history.metric.clone(),
        change: history.series.changes()[0].clone(),
    };
    let changes: Vec<EventChange> = benchmarks.iter().map(change).collect();
    Event { place: changes[0].change.place.clone(), changes }
}

/// Five versions: one that is gone, a slower one, an uncommitted one, one that failed, and one that
/// cannot be compared.
fn history(id: &str) -> BenchmarkHistory {
    use Relation::{AcrossExperiments, SameExperiment};
    let without = |verdict| DecidedRow::without_metric(&benchmark(id), verdict);
    let failed = Verdict::Failed { reason: "it ended with exit code 101".to_owned() };
    let refused = Verdict::NotComparable { reason: "measured in two experiments".to_owned() };
    let subject = "Parse every word of a line twice, for good measure";
    let [begin, slower] = [version("abc1111", "Begin", false), version("aaaa222", subject, false)];
    let against_slower = |relation, row| Some((&slower, relation, row));
    BenchmarkHistory {
        benchmark: benchmark(id),
        metric: Metric::wall(),
        sessions: Some(sessions(3.2, 4)),
        series: Series::Decided {
            versions: 7,
            p: 0.0002,
            changes: vec![SuspectedChange {
                place: CommitPlace {
                    best: CommitRange { after: begin.clone(), until: slower.clone() },
                    possible: CommitRange {
                        after: begin.clone(),
                        until: version("bbbb333", "Break it", false),
                    },
                },
                change: Change { estimate: 0.0491, low: 0.0384, high: 0.0611 },
            }],
        },
        versions: vec![
            row(begin.clone(), Some(4000.0), None),
            row(
                slower.clone(),
                Some(4400.0),
                Some((&begin, SameExperiment, decided(id, 4000.0, 4400.0))),
            ),
            row(
                version("aaaa222", subject, true),
                Some(4401.0),
                against_slower(AcrossExperiments, decided(id, 4400.0, 4401.0)),
            ),
            row(
                version("bbbb333", "Break it", false),
                None,
                against_slower(SameExperiment, without(failed)),
            ),
            row(
                version("cccc444", "Repair it", false),
                Some(4000.0),
                against_slower(AcrossExperiments, without(refused)),
            ),
        ],
    }
}

fn unmeasured(id: &str) -> UnmeasuredBenchmark {
    UnmeasuredBenchmark { benchmark: benchmark(id), reason: Some(SkipReason::Unaffected) }
}

fn report(overview: bool) -> HistoryReport {
    let mut benchmarks = vec![history("words/1024")];
    if overview {
        benchmarks.push(history("lines/1024"));
    }
    let mut report = HistoryReport {
        subject: None,
        changes_only: false,
        worst_only: false,
        paths: Vec::new(),
        events: vec![event(&benchmarks)],
        criteria: CRITERIA,
        overview,
        variant: None,
        other_variants: Vec::new(),
        hidden: 3,
        unfinished: 1,
        shallow: false,
        unmeasured: if overview { vec![unmeasured("roman")] } else { Vec::new() },
        benchmarks,
        commits: Vec::new(),
        command_line: given("history --package parser"),
    };
    let titles = [("aaaa222", "Parse every word of a line twice"), ("abc9999", "Mention it")];
    let title = |(id, title): (&str, &str)| CommitTitle {
        id: format!("{id:0<40}"),
        title: title.to_owned(),
    };
    let commits = titles.map(title).to_vec();
    let changes = VersionChanges { commit_count: commits.len(), commits, ..Default::default() };
    let ranges = report.changed_ranges().into_iter();
    report.commits = ranges.map(|range| (range, changes.clone())).collect();
    report
}

#[test]
fn table_has_a_row_for_each_version() {
    insta::assert_snapshot!("table_140", style::plain(&report(false).text(140)));
    insta::assert_snapshot!("table_80", style::plain(&report(false).text(80)));
}

#[test]
fn overview_has_a_row_for_each_benchmark() {
    insta::assert_snapshot!("overview_80", style::plain(&report(true).text(80)));
}

#[test]
fn markdown_has_a_table_for_each_benchmark() {
    insta::assert_snapshot!("markdown", report(false).markdown());
}

#[test]
fn json_keeps_its_schema() {
    assert_keeps("history", &report(true));
    assert_keeps(
        "history",
        &HistoryReport { benchmarks: Vec::new(), events: Vec::new(), ..report(true) },
    );
    let json = report(false).json().unwrap();
    assert!(json.contains("\"relation\": \"across_experiments\""), "{json}");
}

#[test]
fn json_separates_skips_from_failures() {
    let mut report = report(false);
    let rows = &mut report.benchmarks[0].versions;
    rows[3].unmeasured = Some(Unmeasured::Failed("it crashed".to_owned()));
    rows[4].unmeasured = Some(Unmeasured::Skipped("no GPU".to_owned()));
    assert_keeps("history", &report);
    let json: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let reason = |row: usize| json["benchmarks"][0]["versions"][row]["unmeasured"].clone();
    assert_eq!(reason(2), Value::Null);
    assert_eq!(reason(3), json!({"failed": "it crashed"}));
    assert_eq!(reason(4), json!({"skipped": "no GPU"}));
}

#[test]
fn json_has_the_mode_of_each_version() {
    let mut report = report(false);
    let reason = Some(InterleavingUnavailable::NotLoaded);
    report.benchmarks[0].versions[1].conditions.interleaving_unavailable = reason;
    assert_keeps("history", &report);
    let json: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let measured = |row: usize| {
        let row = &json["benchmarks"][0]["versions"][row];
        ["mode", "interleaving_unavailable", "estimator"].map(|name| row[name].clone())
    };
    assert_eq!(measured(0), ["sequential".into(), Value::Null, "mean".into()]);
    assert_eq!(measured(1), ["sequential", "not_loaded", "mean"]);
    assert_eq!(measured(3), [Value::Null, Value::Null, Value::Null], "it failed");
}

#[test]
fn run_is_not_advised_to_repeat_interleaved_results() {
    for (mode, reason) in
        [(Mode::Interleaved, None), (Mode::Sequential, Some(InterleavingUnavailable::NoClock))]
    {
        let mut report = report(false);
        let refused = report.benchmarks[0].versions.last_mut().unwrap();
        (refused.conditions.mode, refused.conditions.interleaving_unavailable) =
            (Some(mode), reason);
        let text = style::plain(&report.text(140));
        assert!(text.contains("hint: measure both together: cargo rbench compare "), "{text}");
        assert!(!text.contains("cargo rbench run "), "{text}");
    }
}

#[test]
fn text_has_colours_for_verdicts() {
    let text = report(false).text(140);
    assert!(text.contains(&style::paint(style::Role::Bad, "regressed")), "{text}");
}

#[test]
fn headings_distinguish_equal_names_and_metrics() {
    let mut report = report(true);
    let other = Benchmark { package: "other".to_owned(), ..benchmark("words/1024") };
    report.benchmarks.push(BenchmarkHistory { benchmark: other, ..history("words/1024") });
    report.benchmarks.push(BenchmarkHistory { metric: memory(), ..history("lines/1024") });
    let text = style::plain(&report.text(140));
    for name in ["other/work words/1024", "parser/work words/1024"] {
        assert!(text.contains(name), "{text}");
    }
    let is_of_memory =
        |line: &str| line.starts_with("lines/1024   ") && line.contains(" peak-memory ");
    assert_eq!(text.lines().filter(|line| is_of_memory(line)).count(), 2, "{text}");
}

#[test]
fn two_experiments_give_a_warning_about_their_variance() {
    let history = BenchmarkHistory { sessions: Some(sessions(1.0, 1)), ..history("a") };
    let report = HistoryReport { benchmarks: vec![history], ..report(false) };
    let text = style::plain(&report.text(140));
    let line = "the variation between experiments is poorly known: only 1 version was measured \
                again\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn different_conditions_are_reported_or_get_advice() {
    let with = |relation, row| {
        let mut report = report(false);
        let against = report.benchmarks[0].versions[1].against.as_mut().unwrap();
        (against.relation, against.row) = (relation, row);
        style::plain(&report.text(140))
    };
    let refused = Verdict::NotComparable { reason: "machine: number of CPUs: 2, not 4".to_owned() };
    let refused = DecidedRow::without_metric(&benchmark("a"), refused);
    let text = with(Relation::DifferentConditions, refused);
    assert!(text.contains("not comparable: machine: number of CPUs: 2, not 4\n"), "{text}");
    assert!(text.contains("compared only with --ignore-environment\n"), "{text}");
    let mixed = Verdict::NotComparable { reason: MIXED.to_owned() };
    let text =
        with(Relation::DifferentConditions, DecidedRow::without_metric(&benchmark("a"), mixed));
    assert!(!text.contains("--ignore-environment"), "it would not help: {text}");
    let text = with(Relation::DifferentConditions, decided("a", 4000.0, 4400.0));
    assert!(text.contains("are compared, because of --ignore-environment\n"), "{text}");
}

#[test]
fn hints_about_uncommitted_files_are_valid_commands() {
    let mut report = report(false);
    let uncommitted = report.benchmarks[0].versions.last_mut().unwrap();
    uncommitted.version = version("cccc444", "Repair it", true);
    let text = style::plain(&report.text(140));
    let hints: Vec<&str> = text.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert!(hints[0].contains(" run aaaa222 "), "{text}");
    assert!(hints[1].contains(" compare aaaa222 . "), "{text}");
    assert!(!hints.concat().contains('+'), "{text}");
}

#[test]
fn across_sign_needs_a_verdict() {
    let words = "includes the variation between experiments";
    let mut report = report(false);
    assert!(style::plain(&report.text(140)).contains(words));
    report.benchmarks[0].versions.remove(2);
    let text = style::plain(&report.text(140));
    assert!(
        text.contains("~ measured in a different experiment than the version before\n"),
        "{text}"
    );
    assert!(!text.contains(words), "{text}");
}

#[test]
fn change_that_fresh_builds_showed_needs_no_other_comparison() {
    let mut report = report(true);
    assert!(report.text(80).contains("confirm the newest"));
    let rows = report.benchmarks.iter_mut().flat_map(|history| &mut history.versions);
    for against in rows.filter_map(|row| row.against.as_mut()) {
        let fresh = against.row.stages.clone();
        against.row.stages.extend(fresh);
    }
    assert!(!report.text(80).contains("confirm the newest"));
}

#[test]
fn changes_only_shows_only_events() {
    let report = HistoryReport { changes_only: true, ..report(true) };
    insta::assert_snapshot!("events_80", style::plain(&report.text(80)));
    let markdown = report.markdown();
    assert!(
        markdown.contains("`lines/1024` | **+4.91 %**") && !markdown.contains("###"),
        "{markdown}"
    );
    assert_keeps("history", &report);
}

#[test]
fn undecided_series_are_listed_once_for_each_reason() {
    let mut report = report(true);
    let few = |reason: &str| Series::Undecided { reason: reason.to_owned() };
    report.benchmarks[1].series = few("only 3 comparable versions (needs 5)");
    report.benchmarks.push(BenchmarkHistory { series: few("no value"), ..history("a") });
    report.benchmarks.push(BenchmarkHistory { series: few("no value"), ..history("b") });
    assert_eq!(
        report.decided_text(),
        "decided 1 of 4 benchmarks over up to 7 versions; not decided: 1 has only 3 comparable \
         versions (needs 5); 2 have no value"
    );
    report.events.clear();
    assert!(report.decided_text().starts_with("no change is suspected: decided 1 of 4"));
}

#[test]
fn untrusted_texts_are_harmless() {
    let hostile = || HOSTILE.to_owned();
    for overview in [false, true] {
        let mut history = history(HOSTILE);
        history.metric = Metric { name: hostile(), unit: Unit::Bytes };
        for row in &mut history.versions {
            row.version.summary = hostile();
            row.unmeasured = Some(Unmeasured::Failed(hostile()));
        }
        let failed =
            DecidedRow::without_metric(&benchmark(HOSTILE), Verdict::Failed { reason: hostile() });
        let refused = Verdict::NotComparable { reason: hostile() };
        history.versions[1].against.as_mut().unwrap().row = failed;
        history.versions[4].against.as_mut().unwrap().row.verdict = refused;
        let mut report = report(overview);
        report.benchmarks = vec![history];
        report.events = vec![event(&report.benchmarks)];
        report.events[0].place.best.until.summary = hostile();
        assert_harmless(&report);
        let undecided = Series::Undecided { reason: hostile() };
        report.benchmarks[0].series = undecided;
        report.events.clear();
        assert_harmless(&report);
    }
}
