//! An experiment: its plan, and the position of an execution in it.

use std::sync::Arc;

use rbench_stats::SampleSizes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Benchmark, LayoutSeed, Machine, Version, first_stage_seed, settings::settings_difference,
};

/// One of the two stages in which a benchmark gets its verdict.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Measures every benchmark.
    #[default]
    First,
    /// Confirms the benchmarks that the first stage flagged, on fresh builds.
    Second,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedVersion {
    pub version: Version,
    /// The complete output of `rustc -vV`.
    pub toolchain: String,
}

impl PlannedVersion {
    /// The compiler in a line: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub fn compiler(&self) -> &str {
        self.toolchain.lines().next().unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedBenchmark {
    pub benchmark: Benchmark,
    /// The benchmark's own l, m and n.
    pub sample_sizes: SampleSizes,
}

/// The definition of an experiment: one experiment can continue another with an equal plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentPlan {
    /// The versions, measured interleaved; everything else refers to them by index.
    pub versions: Vec<PlannedVersion>,
    /// The benchmarks, in the order of lists and reports.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// The machine that measures. Shared, like the settings, because a history has thousands of experiments.
    pub machine: Arc<Machine>,
    pub rbench: String,
    /// All settings as JSON, for users and reports.
    pub settings: Arc<str>,
    /// A hash of the settings that affect measurements: results with different hashes are not comparable.
    pub settings_key: Arc<str>,
    /// l, m and n for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The seed from the settings, unchanged: other seeds are derived from it.
    pub seed: u64,
}

impl ExperimentPlan {
    /// The seed from which the first stage derives its layouts and the order of its executions.
    pub fn first_stage_seed(&self) -> u64 {
        let versions: Vec<String> =
            self.versions.iter().map(|planned| planned.version.identity()).collect();
        first_stage_seed(self.seed, &versions)
    }

    /// The reasons, for users, why this experiment cannot continue `other`; empty if it can. Versions are compared by
    /// their files and settings, not by revision: two revisions of one tree are the same.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = self.version_differences(other);
        let machine = self.machine.differences(&other.machine);
        differences.extend(machine.into_iter().map(|difference| format!("machine: {difference}")));
        let dimensions = |plan: &Self| plan.sample_sizes.to_string();
        let parts = [
            ("version of rbench", self.rbench.clone(), other.rbench.clone()),
            ("builds × executions × measurements", dimensions(self), dimensions(other)),
            ("seed", self.seed.to_string(), other.seed.to_string()),
        ];
        let differing = parts.into_iter().filter(|(_, one, two)| one != two);
        differences.extend(differing.map(|(part, one, two)| format!("{part}: {one}, not {two}")));
        if self.settings_key != other.settings_key {
            differences.push(settings_difference(&self.settings, &other.settings));
        }
        differences.extend(self.benchmark_difference(other));
        differences
    }

    /// The reasons, for users, why results of the two experiments are not comparable: machine and settings.
    pub fn incompatibilities(&self, other: &Self) -> Vec<String> {
        let machine = self.machine.differences(&other.machine);
        let mut reasons: Vec<String> =
            machine.into_iter().map(|difference| format!("machine: {difference}")).collect();
        if self.settings_key != other.settings_key {
            reasons.push(settings_difference(&self.settings, &other.settings));
        }
        reasons
    }

    /// True if results of both belong to one history: they have the same settings, and the same machine or machines of
    /// one class.
    pub fn shares_history(&self, other: &Self) -> bool {
        self.machine.shares_history(&other.machine) && self.settings_key == other.settings_key
    }

    /// The first difference between the planned benchmarks.
    fn benchmark_difference(&self, other: &Self) -> Option<String> {
        let (one, two) = (self.benchmarks.len(), other.benchmarks.len());
        if one != two {
            return Some(format!("number of benchmarks: {one}, not {two}"));
        }
        let (one, two) =
            self.benchmarks.iter().zip(&other.benchmarks).find(|(one, two)| one != two)?;
        Some(if one.benchmark == two.benchmark {
            let (name, one, two) = (&one.benchmark, one.sample_sizes, two.sample_sizes);
            format!("builds × executions × measurements of {name}: {one}, not {two}")
        } else {
            format!("benchmark: {}, not {}", one.benchmark, two.benchmark)
        })
    }

    fn version_differences(&self, other: &Self) -> Vec<String> {
        if self.versions.len() != other.versions.len() {
            let (one, two) = (self.versions.len(), other.versions.len());
            return vec![format!("number of versions: {one}, not {two}")];
        }
        let mut differences = Vec::new();
        for (one, two) in self.versions.iter().zip(&other.versions) {
            if one.version.key() != two.version.key() {
                differences.push(format!("version: {}, not {}", one.version, two.version));
            } else if one.toolchain != two.toolchain {
                differences.push(format!("toolchain of {}", one.version));
            }
        }
        differences
    }
}

/// The position of an execution within a benchmark's part of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// The index of the version in the experiment.
    pub version: usize,
    pub stage: Stage,
    /// The round, from 0: within a stage, each round executes every version and seed once.
    pub round: u32,
    pub seed: LayoutSeed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Name, Variant, testing::machine};

    const DIMENSIONS: SampleSizes =
        SampleSizes { first_analysis: None, builds: 10, executions: 2, measurements: 10 };

    fn planned(id: &str) -> PlannedBenchmark {
        let (package, target) = ("p".to_owned(), "t".to_owned());
        let benchmark = Benchmark { package, target, name: Name::plain(id) };
        PlannedBenchmark { benchmark, sample_sizes: DIMENSIONS }
    }

    fn plan() -> ExperimentPlan {
        let version = Version {
            revision: "HEAD".to_owned(),
            commit: Some("1a2b3c4d".to_owned()),
            tree: "feedbeef".to_owned(),
            dirty: false,
            summary: String::new(),
            time: None,
            variant: None,
        };
        ExperimentPlan {
            versions: vec![PlannedVersion { version, toolchain: "rustc 1".to_owned() }],
            benchmarks: ["parse", "print"].map(planned).to_vec(),
            machine: machine("").into(),
            rbench: "0.1.0".to_owned(),
            settings: "{}".into(),
            settings_key: "k".into(),
            sample_sizes: DIMENSIONS,
            seed: 1,
        }
    }

    #[test]
    fn plan_ignores_the_names_of_equal_trees() {
        let mut other = plan();
        other.versions[0].version.revision = "main".to_owned();
        other.versions[0].version.commit = None;
        assert_eq!(plan().differences(&other), [""; 0]);
    }

    #[test]
    fn incompatibilities_name_every_reason() {
        let differing = |change: &dyn Fn(&mut ExperimentPlan)| {
            let mut other = plan();
            change(&mut other);
            plan().differences(&other).join("; ")
        };
        assert_eq!(
            differing(&|plan| plan.versions[0].version.tree = "beeffeed".to_owned()),
            "version: HEAD (1a2b3c4), not HEAD (1a2b3c4)"
        );
        let variant = Variant { name: "lto".to_owned(), settings: String::new() };
        assert_eq!(
            differing(&|plan| plan.versions[0].version.variant = Some(variant.clone())),
            "version: HEAD (1a2b3c4), not HEAD+lto (1a2b3c4)"
        );
        assert_eq!(
            differing(&|plan| plan.versions[0].toolchain.clear()),
            "toolchain of HEAD (1a2b3c4)"
        );
        assert_eq!(differing(&|plan| plan.versions.clear()), "number of versions: 1, not 0");
        assert_eq!(
            differing(&|plan| Arc::make_mut(&mut plan.machine).cores = 4),
            "machine: number of CPUs: 2, not 4"
        );
        assert_eq!(
            differing(&|plan| plan.sample_sizes.builds = 3),
            "builds × executions × measurements: 10 × 2 × 10, not 3 × 2 × 10"
        );
        assert_eq!(
            differing(&|plan| plan.benchmarks.truncate(1)),
            "number of benchmarks: 2, not 1"
        );
        assert_eq!(
            differing(&|plan| plan.benchmarks[1] = planned("sort")),
            "benchmark: p t print, not p t sort"
        );
        assert_eq!(
            differing(&|plan| plan.benchmarks[1].sample_sizes.builds = 3),
            "builds × executions × measurements of p t print: 10 × 2 × 10, not 3 × 2 × 10"
        );
        assert_eq!(differing(&|plan| plan.seed = 2), "seed: 1, not 2");
        assert_eq!(
            differing(&|plan| {
                plan.settings_key = "".into();
                plan.settings = r#"{"cpu":3}"#.into();
            }),
            "settings: not cpu 3"
        );
        assert_eq!(
            differing(&|plan| plan.rbench = "0.2.0".to_owned()),
            "version of rbench: 0.1.0, not 0.2.0"
        );
    }
}
