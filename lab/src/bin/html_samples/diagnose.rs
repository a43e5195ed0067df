//! A diagnosis of one benchmark that warms up, and of one that failed.

use std::rc::Rc;

use cargo_rbench::{
    cli::GivenOptions,
    model::{Metric, SampleSizes},
    report::{
        Format,
        diagnose::{
            Conditions, DiagnosisReport, Examination, ExaminationOutcome, ExaminedBenchmark,
            NoiseSource, WordedWarning,
        },
    },
};
use rbench_stats::{
    Estimator, Measurements, Random,
    diagnosis::{Length, Options, Warning, diagnose},
    plan::Cost,
};

use crate::made_up::{HOSTILE, benchmark, machine, version};

/// Four builds of four executions of 200 measurements, the first of which are slower.
fn data() -> Measurements {
    let mut random = Random::new(7);
    let mut execution = || {
        let value = |at: i32| {
            1000.0 * (1.0 + 0.2 * (-f64::from(at) / 15.0).exp()) * (1.0 + 0.002 * random.normal())
        };
        (0..200).map(value).collect::<Vec<f64>>()
    };
    let builds: Vec<(u64, Vec<Vec<f64>>)> =
        (1..5).map(|seed| (seed, (0..4).map(|_| execution()).collect())).collect();
    Measurements::new(Metric::wall(), builds).unwrap()
}

fn examination() -> Examination {
    let data = data();
    let cost = Some(Cost { build: 100.0, execution: 5.0, repeat: 1.0 });
    let findings =
        diagnose(&data, &Options { cost, repetitions: 100, ..Options::default() }).unwrap();
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
        others: Some(0.2),
        preempted: None,
    };
    let word = |warning: &Warning| WordedWarning::new(*warning, &conditions, None);
    Examination {
        data,
        warnings: findings.warnings.iter().map(word).collect(),
        machine_warnings: Vec::new(),
        has_control: false,
        source: NoiseSource::new(&findings.warnings, 0, false, &conditions),
        notes: vec!["the stored results come from a <comparison>".to_owned()],
        conditions,
        findings,
        order_effect: Err("it comes first".to_owned()),
        length: Length::from_measurements(&lengths, 32).ok_or_else(String::new),
    }
}

pub fn page() -> String {
    let report = DiagnosisReport {
        version: version("HEAD", 3, "Read tokens without copying them"),
        machine: Some(machine()),
        benchmarks: vec![
            ExaminedBenchmark {
                benchmark: benchmark("parse/json"),
                outcome: ExaminationOutcome::Diagnosis(Box::new(examination())),
            },
            ExaminedBenchmark {
                benchmark: benchmark(HOSTILE),
                outcome: ExaminationOutcome::Failure("it panicked\n  no <such> file".to_owned()),
            },
        ],
        plan: None,
        explains_all: false,
        command_line: Rc::new(GivenOptions::default()),
    };
    Format::Html.render(&report, 0).unwrap()
}
