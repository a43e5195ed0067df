//! The experiments of `diagnose`: detailed measurements of one benchmark, which belong to no history.

use serde::{Deserialize, Serialize};

use super::ExperimentPlan;

/// The measurements that one experiment of a diagnosis makes. As part of the settings, this keeps its results apart
/// from results for comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosisSettings {
    /// The part of the diagnosis.
    #[serde(flatten)]
    pub part: DiagnosisPart,
    /// The number of busy processes that run at the same time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub load: u32,
    /// True if the time excludes interruptions of the process.
    #[serde(default)]
    pub uninterrupted: bool,
}

/// The parts of a diagnosis; each is a separate experiment.
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

impl ExperimentPlan {
    /// The diagnosis settings of the experiment, if it belongs to a diagnosis and its part is known here.
    pub fn diagnosis(&self) -> Option<DiagnosisSettings> {
        #[derive(Deserialize)]
        struct Settings {
            diagnosis: DiagnosisSettings,
        }
        // Most experiments belong to none; the text search spares parsing their settings.
        if !self.settings.contains("\"diagnosis\"") {
            return None;
        }
        serde_json::from_str(&self.settings).ok().map(|Settings { diagnosis }| diagnosis)
    }

    /// True if the experiment belongs to a diagnosis, also if a later version of rbench planned it.
    pub fn is_diagnosis(&self) -> bool {
        let is_there = |settings: serde_json::Value| settings.get("diagnosis").is_some();
        self.settings.contains("\"diagnosis\"")
            && serde_json::from_str(&self.settings).is_ok_and(is_there)
    }
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
