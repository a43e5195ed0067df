//! What an experiment measures, by its settings: times, counts, or the details of one benchmark for a diagnosis.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExperimentPlan, Metric, MetricSource, Variant};

/// The key that marks an experiment's settings as counting. It keeps counts apart from timed results. The value is the
/// version of the counting rules: counts by different rules are not comparable.
pub const COUNTING_KEY: &str = "counting";

/// The current version of the counting rules.
pub const COUNTING_RULES: u32 = 1;

/// The key of the counted quantity, if that is not instructions.
pub const COUNTED_KEY: &str = "counted";

const DIAGNOSIS_KEY: &str = "diagnosis";

impl ExperimentPlan {
    /// One of the settings, if it is there, also if a later version of rbench wrote it.
    fn setting(&self, key: &str) -> Option<Value> {
        // Most experiments have none of the keys in question; the text search spares parsing their settings.
        if !self.settings.contains(&format!("\"{key}\"")) {
            return None;
        }
        let settings: Value = serde_json::from_str(&self.settings).ok()?;
        settings.get(key).cloned()
    }

    pub fn is_of_implementations(&self) -> bool {
        let mut variants = self.versions.iter().filter_map(|one| one.version.variant.as_ref());
        variants.any(Variant::is_implementation)
    }

    pub fn is_counting(&self) -> bool {
        self.setting(COUNTING_KEY).is_some()
    }

    /// True if both plans time, or both count the same quantity.
    pub fn counts_like(&self, other: &Self) -> bool {
        let counted = |plan: &Self| plan.is_counting().then(|| plan.setting(COUNTED_KEY));
        counted(self) == counted(other)
    }

    /// True if the plan measures `metric`: it counts instructions, counts allocations, or times. `None` stands for a
    /// timed metric.
    pub fn is_for(&self, metric: Option<&Metric>) -> bool {
        match metric.filter(|metric| metric.is_counted()) {
            None => !self.is_counting(),
            Some(counted) => {
                let allocates = counted.source() == MetricSource::AllocationCount;
                self.is_counting() && self.setting(COUNTED_KEY).is_some() == allocates
            }
        }
    }

    /// The diagnosis settings of the experiment, if it belongs to a diagnosis and its part is known here.
    pub fn diagnosis(&self) -> Option<DiagnosisSettings> {
        serde_json::from_value(self.setting(DIAGNOSIS_KEY)?).ok()
    }

    pub fn is_diagnosis(&self) -> bool {
        self.setting(DIAGNOSIS_KEY).is_some()
    }
}

/// The measurements that one experiment of a diagnosis makes. As part of the settings, this keeps its results apart
/// from results for comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosisSettings {
    #[serde(flatten)]
    pub part: DiagnosisPart,
    /// The number of busy processes that run at the same time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub load: u32,
    /// True if the time excludes interruptions of the process.
    #[serde(default)]
    pub uninterrupted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
pub enum DiagnosisPart {
    /// Many executions with many measurements, starting with the first measurement of each process.
    Executions,
    /// A control that is known to be steady, interleaved with those executions.
    Control,
    /// Measurements with growing iteration counts: the executions of round i have 2^i iterations.
    Lengths,
    /// The benchmark alone in its process, to compare with a run after other benchmarks.
    OwnProcess,
    /// The benchmark in one process after these other benchmarks of its target.
    After {
        /// The ids of the other benchmarks.
        others: Vec<String>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(load: &u32) -> bool {
    *load == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SampleSizes, testing::machine};

    fn plan(settings: &str) -> ExperimentPlan {
        ExperimentPlan {
            versions: Vec::new(),
            benchmarks: Vec::new(),
            machine: machine("").into(),
            rbench: String::new(),
            settings: settings.into(),
            settings_key: "".into(),
            sample_sizes: SampleSizes {
                first_analysis: None,
                builds: 2,
                executions: 1,
                measurements: 1,
            },
            seed: 1,
        }
    }

    #[test]
    fn diagnosis_is_recognised_by_its_settings() {
        let others = vec!["a \"quoted\" one".to_owned()];
        for part in [DiagnosisPart::Executions, DiagnosisPart::After { others }] {
            for load in [0, 3] {
                let diagnosis =
                    DiagnosisSettings { part: part.clone(), load, uninterrupted: load == 0 };
                let settings = serde_json::json!({ "diagnosis": diagnosis, "profile": "bench" });
                let plan = plan(&settings.to_string());
                assert_eq!(plan.diagnosis(), Some(diagnosis));
                assert!(plan.is_diagnosis());
            }
        }
    }

    #[test]
    fn diagnosis_needs_the_word_as_a_settings_key() {
        for settings in [r#"{"profile":"diagnosis"}"#, "{}", r#"{"features":["\"diagnosis\""]}"#] {
            assert_eq!(plan(settings).diagnosis(), None);
            assert!(!plan(settings).is_diagnosis(), "{settings}");
        }
    }

    #[test]
    fn diagnosis_with_an_unknown_part_still_counts_as_one() {
        let plan = plan(r#"{"diagnosis":{"part":"dreams"}}"#);
        assert!(plan.is_diagnosis());
        assert_eq!(plan.diagnosis(), None);
    }
}
