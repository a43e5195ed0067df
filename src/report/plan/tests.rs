//! The report of `plan` for people and for programs.

use std::time::{Duration, SystemTime};

use super::*;
use crate::{
    error::{Error, Exit},
    model::{Metric, Threads},
    report::{
        Report,
        show::ImpactFactors,
        style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, target, version},
    },
    stats::{Assessment, Estimator, Measurements, Pairing, Power, Summary, impact::ImpactFactor},
    verdict::Interleaving,
};

/// A benchmark with five builds of four executions of twenty measurements. Builds differ by
/// `layout`, executions by `start` and measurements by `noise`, as shares of the value.
fn planned(id: &str, layout: f64, start: f64, noise: f64) -> PlannedBenchmark {
    let wave = |at: usize| [0.3, -1.0, 0.8, -0.4, 1.2, -0.9, 0.1, 0.6, -0.7, 0.0][at % 10];
    let builds = (0..5).map(|build| {
        let execution = |at: usize| {
            let value = |index: usize| {
                let of_build = layout * wave(build);
                let of_execution = start * wave(3 * build + 7 * at + 2);
                let own = noise * (1.0 + wave(index + 3 * at + build)).powi(2);
                4000.0 * (1.0 + of_build + of_execution + own)
            };
            (0..20).map(value).collect::<Vec<f64>>()
        };
        (build as u64 + 1, (0..4).map(execution).collect::<Vec<_>>())
    });
    let data = Measurements::new(Metric::wall(), builds).unwrap();
    let summary = Summary::compute(&data, Estimator::Minimum);
    let criteria = Criteria::default();
    let both = [summary.clone(), summary.clone()];
    let expected = Assessment::new(&both[0], &both[1], Pairing::Unpaired, &criteria).ok();
    let expected = expected.map(|assessment| Expected {
        power: Power::estimate(&assessment, 1, &criteria)
            .unwrap()
            .with_executions_of(&assessment, &both),
        basis: PlanBasis::OneVersion,
    });
    let impact = ImpactFactor { factor: 4.7, without_shift: 1.0 };
    let impact = ImpactFactors { executions: None, builds: Some(impact) };
    let found = LevelsFound {
        benchmark: benchmark(id),
        experiment: "1a2b".to_owned(),
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        interleaving: Some(Interleaving {
            mode: Mode::Sequential,
            threads: Threads::Together,
            unavailable: None,
            times_alone: None,
        }),
        impact,
        data,
        summary,
    };
    let costs = Costs {
        link: Duration::from_millis(120),
        sharing: 3,
        start: Duration::from_millis(20),
        measurement: Duration::from_millis(5),
    };
    PlannedBenchmark::new(found, costs, expected.as_ref(), criteria)
}

fn report(id: &str, half_width: Option<f64>) -> PlanReport {
    let benchmarks = vec![
        planned("words/1024", 0.004, 0.001, 0.01),
        planned("words/2048", 0.0, 0.01, 0.01),
        planned(id, 0.03, 0.001, 0.001),
    ];
    let failed = Error::new(Exit::Benchmark, "cannot list `other`");
    PlanReport::new(
        version("HEAD", 'b'),
        Criteria::default(),
        (half_width, Mode::Interleaved),
        benchmarks,
        vec![UnknownBenchmark { benchmark: benchmark("broken"), reason: "it crashed".to_owned() }],
        vec![FailedTarget { target: target("other"), error: failed }],
    )
}

#[test]
fn plan_has_variances_costs_and_detectable_changes() {
    insta::assert_snapshot!(style::plain(&report("sort", None).text(110)));
}

#[test]
fn markdown_has_the_tables_of_the_plan() {
    let markdown = report("sort", Some(0.02)).markdown();
    for part in [
        "| benchmark | value |",
        "| `words/1024` |",
        "```toml\n[experiment]\nbuilds = ",
        "for ±2 %",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
}

#[test]
fn plan_report_is_harmless_and_keeps_its_schema() {
    for half_width in [None, Some(0.005)] {
        assert_keeps("plan", &report(HOSTILE, half_width));
        assert_harmless(&report(HOSTILE, half_width));
    }
}

#[test]
fn toml_has_a_table_for_individual_builds() {
    let suggestion = Suggestion {
        builds: Some(10),
        executions: Some(1),
        individual: vec![IndividualBuilds { benchmark: benchmark("a.b\"c"), builds: 40 }],
        ..Suggestion::default()
    };
    let expected = "[experiment]\nbuilds = 10\nexecutions = 1\n\n[[benchmark]]\n\
                    filter = \"^a\\\\.b\\\"c$\"\npackage = \"parser\"\nbench = \"work\"\nbuilds = 40\n";
    assert_eq!(suggestion.lines(Mode::Interleaved), expected);
    let parsed: ::toml::Table = ::toml::from_str(expected).unwrap();
    assert_eq!(parsed["benchmark"][0]["filter"].as_str(), Some("^a\\.b\"c$"));
}

#[test]
fn measurements_are_suggested_for_sequential_mode_only() {
    let suggestion = Suggestion { measurements: Some(7), ..report("sort", None).suggestion };
    let lines = suggestion.lines(Mode::Interleaved);
    assert!(lines.contains("\n# measurements = 7  # only for mode"), "{lines}");
    assert!(suggestion.lines(Mode::Sequential).contains("\nmeasurements = 7\n"));
}

#[test]
fn costs_of_builds_fall_with_sharing() {
    let costs = |sharing| Costs { sharing, ..planned("a", 0.01, 0.01, 0.01).costs };
    let [alone, shared] = [1, 3].map(|sharing| costs(sharing).in_measurements());
    assert!((alone.build - 24.0).abs() < 1e-9 && (shared.build - 8.0).abs() < 1e-9);
    assert!((alone.execution - 4.0).abs() < 1e-9);
}

#[test]
fn builds_grow_with_the_square_of_the_precision() {
    let one = planned("a", 0.01, 0.0, 0.0);
    let power = one.power.unwrap().at_executions(1).unwrap();
    let builds = |width| one.builds_for(&power, Some(width));
    let (wide, narrow) = (builds(0.01).unwrap(), builds(0.005).unwrap());
    assert!(narrow > 3 * wide && narrow < 5 * wide, "{wide} {narrow}");
    assert_eq!(builds(1e-6), None);
}

#[test]
fn quantile_is_one_of_the_numbers() {
    let of = |numbers: &[usize], share| quantile(numbers.iter().copied(), share);
    assert_eq!(of(&[7, 1, 3], 0.5), Some(3));
    assert_eq!(of(&[4, 1], 0.5), Some(1));
    assert_eq!(of(&[], 0.5), None);
    assert_eq!(of(&[5, 6, 20, 80], MOST_BENCHMARKS), Some(20));
    assert_eq!(of(&[5], MOST_BENCHMARKS), Some(5));
}
