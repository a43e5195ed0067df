//! Made-up versions, values and benchmarks.

use std::collections::BTreeMap;

use cargo_rbench::{
    model::{Benchmark, Machine, Metric, Name, Version},
    verdict::{DecidedRow, DecidedStage, Progress, Verdict},
};
use rbench_stats::{
    Assessment, Criteria, Estimator, Measurements, Pairing, Power, Random, Summary, decide_counts,
};

/// A name with everything that can break pages, scripts or the direction of writing.
pub const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)>\"'&<b>\u{202e}\u{2028}{{7*7}}\u{1b}[2J";

pub fn version(revision: &str, number: usize, summary: &str) -> Version {
    let hash =
        format!("{:016x}{:016x}{:08x}", mixed(number as u64), mixed(number as u64 + 7), number);
    Version {
        revision: revision.to_owned(),
        commit: Some(hash.clone()),
        tree: hash,
        dirty: false,
        summary: summary.to_owned(),
        time: Some(1_700_000_000 + 40_000 * i64::try_from(number).unwrap_or(0)),
        variant: None,
    }
}

pub fn machine() -> Machine {
    Machine {
        cpu: "Example 9000".to_owned(),
        cores: 8,
        memory: 1 << 35,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: "0123".to_owned(),
        class: String::new(),
    }
}

pub fn benchmark(id: &str) -> Benchmark {
    Benchmark { package: "parser".to_owned(), target: "work".to_owned(), name: Name::plain(id) }
}

/// A benchmark with this spread between layouts and between executions, as shares of the value.
#[derive(Clone, Copy)]
pub struct Kind {
    pub value: f64,
    pub layout: f64,
    pub noise: f64,
    /// The relative increase in the head.
    pub change: f64,
}

/// Builds of both versions, measured from this second on.
fn summaries(
    random: &mut Random,
    kind: Kind,
    builds: u64,
    first_seed: u64,
    begin: f64,
) -> [Summary; 2] {
    let mut order: Vec<u64> = (0..builds).collect();
    random.shuffle(&mut order);
    let starts: BTreeMap<u64, f64> =
        order.iter().enumerate().map(|(at, seed)| (first_seed + seed, begin + at as f64)).collect();
    let layouts: Vec<f64> = (0..builds).map(|_| kind.layout * random.normal()).collect();
    [1.0, 1.0 + kind.change].map(|factor| {
        let builds = layouts.iter().zip(first_seed..).map(|(layout, seed)| {
            let executions = (0..2).map(|_| {
                let value =
                    kind.value * factor * (1.0 + layout) * (1.0 + kind.noise * random.normal());
                [0.999, 1.0, 1.001].map(|step| value * step)
            });
            (seed, executions.collect::<Vec<_>>())
        });
        let data = Measurements::new(Metric::wall(), builds.collect::<Vec<_>>()).unwrap();
        Summary::compute(&data.with_starts(starts.clone()), Estimator::Mean)
    })
}

/// A benchmark with its verdict, as `compare` decides it among `among` benchmarks.
pub fn decided(random: &mut Random, id: &str, kind: Kind, among: usize) -> DecidedRow {
    let criteria = Criteria::default();
    let mut stage = |builds, seed, begin| {
        let summaries = summaries(random, kind, builds, seed, begin);
        let [base, head] = &summaries;
        let assessment = Assessment::new(base, head, Pairing::BySeed, &criteria).unwrap();
        DecidedStage { summaries, assessment }
    };
    let mut stages = vec![stage(10, 1, 1.7e9)];
    if stages[0].assessment.needs_confirmation(&criteria) {
        stages.push(stage(6, 101, 1.7e9 + 60.0));
    }
    let second = stages.get(1).map(|stage| &stage.assessment);
    let outlook = Power::estimate(second.unwrap_or(&stages[0].assessment), among, &criteria);
    let verdict = rbench_stats::Verdict::decide(&stages[0].assessment, second, among, &criteria);
    DecidedRow {
        metric: Some(Metric::wall()),
        verdict: verdict.with_power(outlook.as_ref()).into(),
        stages,
        progress: Progress::Ended,
        by_mean: None,
        ..DecidedRow::without_metric(&benchmark(id), Verdict::Identical)
    }
}

/// The instructions of a benchmark, counted in three layouts, with this increase in the head.
pub fn counted(id: &str, base: f64, change: f64) -> DecidedRow {
    let summary = |value: f64| {
        let builds = (1..4).map(|seed| (seed, [[value]]));
        let data = Measurements::new(Metric::instructions(), builds).unwrap();
        Summary::compute(&data, Estimator::Mean)
    };
    let summaries = [summary(base), summary((base * (1.0 + change)).round())];
    let criteria = Criteria::default().for_metric(&Metric::instructions());
    let decided = decide_counts(&summaries[0], &summaries[1], &criteria);
    let (assessment, verdict) = decided.unwrap();
    DecidedRow {
        metric: Some(Metric::instructions()),
        stages: vec![DecidedStage { summaries, assessment }],
        progress: Progress::Ended,
        by_mean: None,
        ..DecidedRow::without_metric(&benchmark(id), verdict.into())
    }
}

/// Digits that look like those of a hash.
const fn mixed(number: u64) -> u64 {
    (number + 77)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(31)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
