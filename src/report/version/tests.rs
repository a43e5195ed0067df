//! The report on a version for people and for programs.

use rbench_stats::Estimator;

use super::*;
use crate::{
    model::{InterleavingUnavailable, Metric, Mode, Threads},
    report::{
        Report, style,
        testing::{
            HOSTILE, assert_harmless, assert_keeps, benchmark, decided_row, given, inconclusive,
            machine, memory, summary, version,
        },
    },
    verdict::{DecidedRow, Repetition},
};

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

fn experiment(identity: &str) -> ShownExperiment {
    ShownExperiment {
        identity: identity.to_owned(),
        started: time(0),
        finished: Some(time(60)),
        rbench: "0.1.0".to_owned(),
        machine: machine(),
        toolchain: "rustc 1.90.0\nhost: x86_64".to_owned(),
        settings: serde_json::json!({"layout": "same-order", "cpu": null}),
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 10,
            executions: 2,
            measurements: 3,
        },
        seed: 1,
        others: vec![version("main", 'a')],
        failure: None,
    }
}

fn shown(id: &str, metric: Metric, value: f64) -> ShownBenchmark {
    let reason = Some(InterleavingUnavailable::NoClock);
    let interleaving = Interleaving {
        mode: Mode::Sequential,
        threads: Threads::Together,
        unavailable: reason,
        times_alone: None,
    };
    let summary = summary(metric, value, 0.05, 0.01, 0);
    let shown = ShownBenchmark::new(&benchmark(id), 0, Stage::First);
    ShownBenchmark {
        throughput: vec![Throughput::Bytes(4096)],
        peak_memory: Some(3 << 20),
        ..shown.with_value(summary, Some(interleaving), &Criteria::default())
    }
}

fn build(seed: u32, stage: Stage, value: f64) -> ShownBuild {
    ShownBuild {
        seed: LayoutSeed::new(seed).unwrap(),
        stage,
        layout: Some(Layout::SameOrder),
        digest: Some(Digest::compute(&seed.to_le_bytes())),
        value,
        executions: vec![value, 1.01 * value],
        slow: seed == 2,
        peak_memory: Some(3 << 20),
        cpu_time: Duration::from_millis(250),
    }
}

/// One benchmark in two metrics, one that failed, and one that chose not to run.
fn report(detailed: bool) -> VersionReport {
    let failed = ShownBenchmark {
        experiment: 1,
        value: ShownValue::default(),
        summary: None,
        failures: vec!["cannot execute `broken`\n  it ended with exit status: 101".to_owned()],
        throughput: Vec::new(),
        peak_memory: None,
        ..shown("broken", Metric::wall(), 1.0)
    };
    let skipped = ShownBenchmark {
        skipped: Some("there is no GPU here".to_owned()),
        failures: Vec::new(),
        ..failed.clone()
    };
    let skipped = ShownBenchmark { benchmark: benchmark("on a GPU"), ..skipped };
    let unaffected = ShownBenchmark {
        benchmark: benchmark("elsewhere"),
        skipped: None,
        unmeasured: Some(SkipReason::Unaffected),
        ..skipped.clone()
    };
    let mut wall = shown("words/1024", Metric::wall(), 4384.0);
    if detailed {
        wall.builds = vec![
            build(1, Stage::First, 4300.0),
            build(2, Stage::First, 5300.0),
            build(3, Stage::Second, 4310.0),
        ];
    }
    let failure = Some("cannot build bench target `work`".to_owned());
    VersionReport {
        version: version("HEAD", 'b'),
        criteria: Criteria { estimator: Some(Estimator::Mean), ..Criteria::default() },
        experiments: vec![
            experiment("1a2b"),
            ShownExperiment {
                failure,
                finished: None,
                settings: serde_json::json!({"layout": "shuffled"}),
                ..experiment("3c4d")
            },
        ],
        benchmarks: vec![wall, shown("words/1024", memory(), 3.2e6), failed, skipped, unaffected],
        detailed,
        command_line: given("history HEAD words -p parser"),
    }
}

fn range(versions: Vec<VersionReport>) -> RangeReport {
    RangeReport {
        criteria: Criteria::default(),
        versions,
        comparisons: Vec::new(),
        command_line: given("run A..B --bench work -l 3"),
    }
}

#[test]
fn overview_has_a_row_for_each_benchmark_and_metric() {
    insta::assert_snapshot!("overview", style::plain(&report(false).text(120)));
}

#[test]
fn details_table_has_a_row_for_each_build() {
    insta::assert_snapshot!("details", style::plain(&report(true).text(120)));
}

#[test]
fn json_keeps_its_schema() {
    for detailed in [false, true] {
        assert_keeps("history-version", &report(detailed));
        let range = range(vec![report(detailed), report(false)]);
        assert_keeps("run-range", &range);
    }
    let json = report(true).json().unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["experiments"][0]["settings"]["layout"], "same-order");
    assert_eq!(json["benchmarks"][1]["metric"], "peak-memory");
    let measured = |index: usize| {
        ["mode", "interleaving_unavailable", "estimator"]
            .map(|key| json["benchmarks"][index][key].clone())
    };
    assert_eq!(measured(0), ["sequential", "no_clock", "minimum"]);
    assert_eq!(measured(2), [(); 3].map(|()| serde_json::Value::Null), "it failed");
}

#[test]
fn range_has_a_line_for_each_version() {
    let mut other = report(false);
    other.version = version("HEAD~1", 'c');
    other.benchmarks.truncate(2);
    let both = range(vec![report(false), other]);
    assert_eq!(
        style::plain(&both.text(80)),
        "version  measured  failed  subject\n\
         bbbbbbb         1       1  Parse faster\n\
         ccccccc         1          Parse faster\n\n\
         how benchmarks changed: cargo rbench history --bench work\n"
    );
    assert_eq!(range(Vec::new()).text(80), "no version was measured\n");
}

#[test]
fn range_lists_changes_by_pair_of_versions() {
    let compared =
        |rows| RangeComparison::new([version("HEAD~1", 'c'), version("HEAD", 'b')], rows);
    let slower = decided_row("parse", 100.0, &[1.05, 1.05], 0.001, 0.001);
    let same = decided_row("write", 100.0, &[1.0, 1.0], 0.001, 0.001);
    let unclear = inconclusive("read", Repetition::Builds, 20, 0.05);
    let mut report = range(vec![report(false)]);
    report.comparisons = vec![compared(vec![same.clone()])];
    assert!(report.text(80).contains("\n\nno change was found in 1 comparison\n\n"));
    report.comparisons.push(compared(vec![slower.clone(), same, unclear]));
    let text = style::plain(&report.text(80));
    assert!(text.contains("\n\nccccccc..bbbbbbb: parse regressed +5.00 % ("), "{text}");
    assert!(text.contains("\ninconclusive: 1 verdict\n"), "{text}");
    assert_keeps("run-range", &report);
    let hostile = DecidedRow { benchmark: benchmark(HOSTILE), ..slower };
    report.comparisons.push(compared(vec![hostile]));
    assert_harmless(&report);
}

#[test]
fn skipped_benchmark_has_not_failed() {
    let mut report = report(false);
    assert!(report.has_failures());
    report.benchmarks.retain(|shown| shown.skipped.is_some());
    assert!(!report.has_failures() && report.benchmarks.len() == 1);
}

#[test]
fn untrusted_texts_are_harmless() {
    let hostile = || HOSTILE.to_owned();
    for detailed in [false, true] {
        let mut report = report(detailed);
        report.version.summary = hostile();
        report.version.revision = hostile();
        for experiment in &mut report.experiments {
            experiment.rbench = hostile();
            experiment.toolchain = hostile();
            experiment.machine.cpu = hostile();
            experiment.settings = serde_json::json!({ HOSTILE: HOSTILE });
            experiment.failure = Some(hostile());
        }
        let metric = Metric { name: hostile(), ..memory() };
        report.benchmarks.push(shown(HOSTILE, metric, 1.0));
        report.benchmarks.push(ShownBenchmark {
            value: ShownValue::default(),
            summary: None,
            failures: vec![hostile()],
            ..shown(HOSTILE, Metric::wall(), 1.0)
        });
        assert_harmless(&report);
        assert_harmless(&range(vec![report]));
    }
}

#[test]
fn impossible_day_is_not_shown() {
    let mut report = report(false);
    assert!(report.text(80).contains("committed on 20"));
    report.version.time = Some(i64::MAX);
    assert!(!report.text(80).contains("committed on"));
}
