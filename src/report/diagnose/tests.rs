//! The report of `diagnose` for people and for programs, on simulated benchmarks.

use rbench_stats::{
    Interval, Random,
    diagnosis::{AfterOne, Options, OrderEffect, diagnose},
    plan::Cost,
};

use super::*;
use crate::{
    model::{Metric, Mode},
    report::{
        Report, style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, given, machine, version},
    },
};

/// Four builds of four executions of 200 measurements: normal, with this factor for measurement `i`
/// of an execution.
fn data(factor: impl Fn(usize) -> f64) -> Measurements {
    let mut random = Random::new(7);
    let mut execution =
        || (0..200).map(|at| 1000.0 * factor(at) * (1.0 + 0.002 * random.normal())).collect();
    let builds: Vec<(u64, Vec<Vec<f64>>)> =
        (1..5).map(|seed| (seed, (0..4).map(|_| execution()).collect())).collect();
    Measurements::new(Metric::wall(), builds).unwrap()
}

fn paired(change: f64) -> OrderEffect {
    OrderEffect { pairs: 20, change: Interval::around(change, 0.004), p: 1e-9 }
}

fn examined(id: &str, factor: impl Fn(usize) -> f64, others: &[&str]) -> ExaminedBenchmark {
    let data = data(factor);
    let cost = Some(Cost { build: 100.0, execution: 5.0, repeat: 1.0 });
    let options = Options { cost, repetitions: 100, ..Options::default() };
    let findings = diagnose(&data, &options).unwrap();
    let order_effect = if others.is_empty() {
        Err("it comes first".to_owned())
    } else {
        let each = others.iter().map(|&id| AfterOne { other: id.to_owned(), effect: paired(0.29) });
        Ok(OrderEffects {
            others: others.iter().map(|&id| id.to_owned()).collect(),
            after_all: paired(0.3),
            by_index: (0..20).map(|at| 0.3 / f64::from(1 + at)).collect(),
            after_each: each.collect(),
        })
    };
    let lengths: Vec<(u64, f64)> =
        (0..8).flat_map(|power| [(1 << power, 1000.0 + 40.0 / f64::from(1 << power)); 3]).collect();
    let conditions = Conditions {
        experiments: vec!["0123".to_owned()],
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 4,
            executions: 4,
            measurements: 200,
        },
        min_effect: 0.01,
        estimator: Estimator::Minimum,
        confidence: 0.95,
        measurement_seconds: Some(0.001_024),
        iterations: Some(1024),
        warm_up_seconds: 0.0,
        load: 0,
        others: Some(0.02),
        preempted: None,
    };
    let effects = order_effect.as_ref().ok();
    let warnings = findings.warnings.iter().copied();
    let warnings = warnings.chain(effects.and_then(|found| found.after_all.warning(&options)));
    let warnings: Vec<Warning> = warnings.collect();
    let source = NoiseSource::new(&warnings, 0, true, &conditions);
    let word = |warning| WordedWarning::new(warning, &conditions, effects);
    let warnings = warnings.into_iter().map(word).collect();
    let outcome = ExaminationOutcome::Diagnosis(Box::new(Examination {
        data,
        conditions,
        warnings,
        machine_warnings: Vec::new(),
        has_control: true,
        source,
        notes: Vec::new(),
        findings,
        order_effect,
        length: Length::from_measurements(&lengths, 32).ok_or_else(String::new),
    }));
    ExaminedBenchmark { benchmark: benchmark(id), outcome }
}

/// The findings on the first benchmark.
fn first(report: &mut DiagnosisReport) -> &mut Examination {
    let ExaminationOutcome::Diagnosis(found) = &mut report.benchmarks[0].outcome else { panic!() };
    found
}

/// A benchmark that warms up and is slower after another one, a steady one, one that failed and one
/// that chose not to run.
fn report(id: &str) -> DiagnosisReport {
    let warming = |at: usize| 1.0 + 0.2 * (-(at as f64) / 15.0).exp();
    DiagnosisReport {
        version: version("HEAD", 'b'),
        machine: Some(machine()),
        benchmarks: vec![
            examined(id, warming, &["other"]),
            examined("steady", |_| 1.0, &[]),
            ExaminedBenchmark {
                benchmark: benchmark("broken"),
                outcome: ExaminationOutcome::Failure("it panicked\n  no such file".to_owned()),
            },
            ExaminedBenchmark {
                benchmark: benchmark("gpu"),
                outcome: ExaminationOutcome::Skipped("there is no GPU".to_owned()),
            },
        ],
        plan: None,
        explains_all: true,
        command_line: given("run --bench work"),
    }
}

#[test]
fn text() {
    insta::assert_snapshot!(style::plain(&report("parse").text(80)));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(report("parse").markdown());
}

#[test]
fn json() {
    let text = report("parse").json().unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    // Lists with one entry for each execution are long and uninteresting.
    for benchmark in json["benchmarks"].as_array_mut().unwrap() {
        for list in [
            "/diagnosis/states/executions",
            "/diagnosis/level_shifts/executions",
            "/diagnosis/multimodality/executions",
            "/diagnosis/estimators/estimators",
        ] {
            if let Some(all) = benchmark.pointer_mut(list).and_then(|list| list.as_array_mut()) {
                all.truncate(1);
            }
        }
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
}

/// The plots of each examined benchmark.
fn plots(report: &DiagnosisReport) -> Vec<Vec<String>> {
    let plots = report.benchmarks.iter().filter_map(|one| match &one.outcome {
        ExaminationOutcome::Diagnosis(examination) => Some(examination.plots()),
        _ => None,
    });
    plots.collect()
}

#[test]
fn plots_are_drawn_of_every_finding() {
    let plots = plots(&report("parse/<a>"));
    let numbers: Vec<usize> = plots.iter().map(Vec::len).collect();
    assert_eq!(numbers, [7, 6], "the steady one has no order effect, and the others nothing");
    insta::assert_snapshot!(plots[0][3]);
    insta::assert_snapshot!(plots[0][5]);
    insta::assert_snapshot!(plots[0][6]);
}

#[test]
fn hostile_names_are_harmless_in_any_form() {
    let mut report = report(HOSTILE);
    report.benchmarks.push(examined("second", |_| 1.0, &[HOSTILE, HOSTILE]));
    assert_harmless(&report);
    for plot in plots(&report).concat() {
        assert!(!plot.contains("<i>") && !plot.contains('\u{1b}'), "{plot}");
        assert!(!plot.contains("NaN") && !plot.contains("inf"), "{plot}");
    }
}

#[test]
fn plan_has_a_table_or_a_reason_for_each_benchmark() {
    let mut report = report("a.b\"c");
    report.explains_all = false;
    report.plan = Some(recommended_lines(&report.benchmarks, Mode::Interleaved));
    let text = style::plain(&report.text(80));
    insta::assert_snapshot!(text);
    let parsed: ::toml::Table = ::toml::from_str(&text).unwrap();
    assert_eq!(parsed["benchmark"][0]["filter"].as_str(), Some("^a\\.b\"c$"));
    assert_eq!(parsed["benchmark"].as_array().unwrap().len(), 2);
    assert_eq!(report.markdown().trim(), format!("```toml\n{text}```"));
    assert_keeps("diagnose", &report);
}

#[test]
fn plan_has_measurements_for_sequential_mode_only() {
    let benchmarks = report("parse").benchmarks;
    let keys = |mode| {
        let parsed: ::toml::Table =
            ::toml::from_str(&recommended_lines(&benchmarks, mode)).unwrap();
        parsed["benchmark"][0].as_table().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let common = ["filter", "package", "bench", "builds", "executions"];
    assert_eq!(keys(Mode::Interleaved).len(), common.len());
    let sequential = keys(Mode::Sequential);
    assert!(sequential.iter().any(|key| key == "measurements"), "{sequential:?}");
    assert!(sequential.iter().any(|key| key == "min-time"), "{sequential:?}");
}

#[test]
fn plan_of_untrusted_names_has_only_its_own_settings() {
    let mut report = report(HOSTILE);
    let reason = format!("{HOSTILE}\n[setup]\nsetup = \"x\"");
    report.benchmarks[2].outcome = ExaminationOutcome::Failure(reason);
    let text = recommended_lines(&report.benchmarks, Mode::Interleaved);
    let parsed: ::toml::Table = ::toml::from_str(&text).unwrap();
    assert_eq!(parsed.keys().collect::<Vec<_>>(), ["benchmark"]);
    report.plan = Some(text);
    assert_harmless(&report);
}

#[test]
fn json_keeps_its_schema() {
    assert_keeps("diagnose", &report(HOSTILE));
    let mut few = report("few");
    let data = Measurements::new(Metric::wall(), [(1, [[1.0, 2.0]])]).unwrap();
    let findings = diagnose(&data, &Options::default()).unwrap();
    let examination = first(&mut few);
    (examination.data, examination.findings) = (data, findings);
    examination.warnings.clear();
    examination.order_effect = Err("no".to_owned());
    assert_keeps("diagnose", &few);
    assert!(style::plain(&few.text(80)).contains("not answered: this needs"));
}

#[test]
fn steady_benchmark_has_no_warning_and_lines_fit() {
    let text = style::plain(&report("parse").text(80));
    let (_, steady) = text.split_once("\nsteady ").unwrap();
    let (steady, _) = steady.split_once("\nbroken").unwrap();
    assert!(steady.contains("machine or benchmark? neither: nothing was found"), "{steady}");
    assert!(!steady.contains("warning:"), "{steady}");
    // A command stays on one line, to be copied.
    let text = text.replace("this report again: ", "\n");
    let long: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 80 && !line.starts_with("cargo "))
        .collect();
    assert_eq!(long, [""; 0]);
}

#[test]
fn brief_text_is_the_source_and_its_causes() {
    let mut report = report("parse");
    report.explains_all = false;
    insta::assert_snapshot!(style::plain(&report.text(80)));
    let examination = first(&mut report);
    examination.machine_warnings.clone_from(&examination.warnings);
    examination.source = NoiseSource::Both;
    let text = style::plain(&report.text(80));
    assert!(text.contains("and 1 more cause, which the option --reasons shows\n"), "{text}");
    let quiet = text.matches("`cargo rbench doctor`").count();
    assert!((1..=2).contains(&quiet), "the machine's causes have the machine's remedy: {text}");
}

#[test]
fn noise_has_a_source_only_if_a_control_can_show_it() {
    let mut report = report("parse");
    let found = first(&mut report);
    let (own, mut conditions) = (&found.findings.warnings, found.conditions.clone());
    let of = |own: &[Warning], shared, has_control, conditions: &Conditions| {
        NoiseSource::new(own, shared, has_control, conditions)
    };
    assert_eq!(of(own, 0, true, &conditions), NoiseSource::Benchmark);
    assert_eq!(of(own, 1, true, &conditions), NoiseSource::Both);
    assert_eq!(of(&[], 1, true, &conditions), NoiseSource::Machine);
    assert_eq!(of(&[], 0, true, &conditions), NoiseSource::Nothing);
    assert_eq!(of(own, 0, false, &conditions), NoiseSource::Unclear);
    conditions.others = Some(0.3);
    assert_eq!(of(own, 0, true, &conditions), NoiseSource::Unclear);
    let order = [Warning::OrderEffect { change: 0.3, pairs: 20, p: 1e-9 }];
    assert_eq!(of(&order, 0, true, &conditions), NoiseSource::Benchmark);
}

#[test]
fn warning_shared_by_the_control_is_about_the_machine() {
    let mut report = report("parse");
    let examination = first(&mut report);
    examination.machine_warnings = std::mem::take(&mut examination.warnings);
    let text = style::plain(&report.text(80));
    assert!(!text.contains("\nwarning: it warms up"), "{text}");
    assert!(text.contains("no warning: it warms up"), "{text}");
}
