//! The store as its callers use it.

mod damage;
mod document;
mod files;
mod killed;
mod results;
mod unmeasured;
mod unwritable;

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rusqlite::Connection;
use tempfile::TempDir;

use super::{open::SILENT_WAIT, *};
use crate::{
    error::Result,
    model::{
        Benchmark, Execution, ExecutionRequest, ExperimentPlan, LayoutSeed, Machine, Metric, Name,
        PlannedBenchmark, PlannedVersion, Resources, SampleSizes, Schedule, Series, Slot, Stage,
        Version,
    },
};

/// A store in a new directory.
fn store() -> (TempDir, Store<'static>) {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    (directory, store)
}

fn open(directory: &TempDir) -> Store<'static> {
    Store::open(&path(directory), &|| {}).unwrap()
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join(".rbench/results.sqlite")
}

fn version(tree: &str) -> Version {
    Version {
        revision: "HEAD".to_owned(),
        commit: Some(format!("c{tree}")),
        tree: tree.to_owned(),
        dirty: false,
        summary: "Parse faster".to_owned(),
        time: Some(1_700_000_000),
        variant: None,
    }
}

fn plan() -> ExperimentPlan {
    let planned = |tree| PlannedVersion { version: version(tree), toolchain: "rustc 1".to_owned() };
    ExperimentPlan {
        versions: vec![planned("aa"), planned("bb")],
        benchmarks: ["parse", "print"].map(planned_benchmark).to_vec(),
        machine: machine().into(),
        rbench: "0.1.0".to_owned(),
        settings: "{}".into(),
        settings_key: "k".into(),
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 2,
            executions: 2,
            measurements: 3,
        },
        seed: u64::MAX,
    }
}

fn planned_benchmark(id: &str) -> PlannedBenchmark {
    let dimensions =
        SampleSizes { first_analysis: None, builds: 2, executions: 2, measurements: 3 };
    PlannedBenchmark { benchmark: benchmark(id), sample_sizes: dimensions }
}

fn machine() -> Machine {
    Machine {
        cpu: "Example 9000".to_owned(),
        cores: 8,
        memory: 1 << 34,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: "0123".to_owned(),
        class: String::new(),
    }
}

fn benchmark(id: &str) -> Benchmark {
    let name = Name { group: Some("g".to_owned()), ..Name::plain(id) };
    Benchmark { package: "p".to_owned(), target: "t".to_owned(), name }
}

fn slot(version: usize, round: u32, seed: u32) -> Slot {
    Slot { version, stage: Stage::First, round, seed: LayoutSeed::new(seed).unwrap() }
}

/// An execution that measured wall times from `first` on, and instructions.
fn execution(first: f64) -> Execution {
    let wall = Series {
        metric: Metric::wall(),
        values: vec![first, first + 0.1, first + 0.2],
        iterations: vec![3, 3, 4],
        resolution: 0.0,
    };
    let instructions = Series {
        metric: Metric::instructions(),
        values: vec![12.0],
        iterations: vec![1],
        resolution: 0.0,
    };
    Execution {
        asked: ExecutionRequest {
            measurements: 3,
            warm_up: Duration::from_millis(100),
            min_time: Duration::from_millis(1),
            iterations: None,
            seed: u64::MAX,
        },
        series: vec![wall, instructions],
        throughput: vec![],
        warm_up: None,
        resources: Resources {
            start: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(1e9 + first),
            wall: Duration::from_nanos(100_000_001),
            user: Duration::from_micros(99_999),
            system: Duration::ZERO,
            peak_memory: Some(1 << 20),
            voluntary_switches: 1,
            involuntary_switches: 0,
            at_end: None,
        },
        schedule: Schedule::NotRequested,
        alone: None,
        incidents: Vec::new(),
    }
}

/// Records executions of both versions: two rounds over the seeds 5 and 9.
fn record_all(store: &Store<'_>, experiment: ExperimentId, benchmark: &Benchmark) {
    for round in 0..2 {
        for seed in [9, 5] {
            for version in 0..2 {
                let execution = execution(value(version, round, seed));
                let slot = slot(version, round, seed);
                store.record_execution(experiment, benchmark, slot, Ok(&execution)).unwrap();
            }
        }
    }
}

/// The first value of a slot's execution.
fn value(version: usize, round: u32, seed: u32) -> f64 {
    version as f64 * 100.0 + f64::from(seed) * 10.0 + f64::from(round)
}
