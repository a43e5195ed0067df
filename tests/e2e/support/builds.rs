//! The report of `cargo rbench build --format json`, and the output of the executables it made.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::rbench::Outcome;

/// A report of `build`, checked against its schema.
pub struct Builds {
    pub outcome: Outcome,
    pub report: Value,
}

impl Builds {
    #[track_caller]
    pub fn of(outcome: Outcome) -> Self {
        Self { report: outcome.json("build"), outcome }
    }

    pub fn version(&self, index: usize) -> &Value {
        &self.report["versions"][index]
    }

    /// The first bench target of the version.
    pub fn target(&self, version: usize) -> &Value {
        &self.version(version)["targets"][0]
    }

    /// The bench target of this name.
    #[track_caller]
    pub fn named(&self, version: usize, name: &str) -> &Value {
        let targets = self.version(version)["targets"].as_array().unwrap();
        targets
            .iter()
            .find(|target| target["target"] == name)
            .unwrap_or_else(|| panic!("no target {name}\n{}", self.outcome.printed()))
    }

    /// The digest of each build of the version's first target.
    pub fn digests(&self, version: usize) -> Vec<String> {
        each(self.target(version), "digest")
    }

    /// The number of different digests, and the number that rbench reports.
    pub fn distinct(&self, version: usize) -> (usize, u64) {
        let digests: BTreeSet<_> = self.digests(version).into_iter().collect();
        (digests.len(), self.target(version)["distinct"].as_u64().unwrap())
    }

    pub fn executables(&self, version: usize) -> Vec<PathBuf> {
        executables(self.target(version))
    }

    /// The output of the executables of the version's first target, which must all print the same.
    #[track_caller]
    pub fn printed(&self, version: usize) -> String {
        printed(self.target(version))
    }

    /// True if nothing was compiled or linked.
    pub fn nothing_was_made(&self, version: usize) -> bool {
        let builds = self.target(version)["builds"].as_array().unwrap();
        self.version(version)["compiled"] == false
            && builds.iter().all(|build| build["fresh"] == false)
    }

    /// The agreement of the versions `index` and `index + 1`.
    pub fn agreement(&self, index: usize) -> Agreement {
        let agreement = &self.report["agreements"][index];
        Agreement {
            identical: agreement["identical"].as_bool().unwrap(),
            common: agreement["common"].as_u64().unwrap(),
            same_address: agreement["same_address"].as_f64().unwrap(),
            same_phase: agreement["same_phase"].as_f64().unwrap(),
            same_order: agreement["same_order"].as_f64().unwrap(),
            between_seeds: agreement["same_phase_between_seeds"].as_f64(),
        }
    }
}

/// The agreement of two versions' layouts, the worst over the builds.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    pub identical: bool,
    pub common: u64,
    pub same_address: f64,
    pub same_phase: f64,
    pub same_order: f64,
    pub between_seeds: Option<f64>,
}

pub fn executables(target: &Value) -> Vec<PathBuf> {
    each(target, "executable").into_iter().map(PathBuf::from).collect()
}

fn each(target: &Value, key: &str) -> Vec<String> {
    let builds = target["builds"].as_array().unwrap();
    builds.iter().map(|build| build[key].as_str().unwrap().to_owned()).collect()
}

/// The output of a target's executables, which must all print the same.
#[track_caller]
pub fn printed(target: &Value) -> String {
    let mut all = executables(target).into_iter().map(|executable| run(&executable));
    let first = all.next().expect("there is a build");
    for other in all {
        assert_eq!(other, first);
    }
    first
}

/// The output of an executable.
#[track_caller]
pub fn run(executable: &Path) -> String {
    let output = Command::new(executable)
        .current_dir("/")
        .env_clear()
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", executable.display()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} failed: {error}", executable.display());
    String::from_utf8(output.stdout).unwrap()
}
