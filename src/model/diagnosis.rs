//! What an experiment measures for a diagnosis: a long look at one benchmark, which belongs to no history.

use serde::{Deserialize, Serialize};

use super::ExperimentPlan;

/// What an experiment of a diagnosis measures. As a part of the settings it keeps these results apart from all
/// that is measured to be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosisSettings {
    /// Which part of the diagnosis it is.
    #[serde(flatten)]
    pub part: DiagnosisPart,
    /// How many busy processes run beside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub load: u32,
    /// Whether what interrupts a process is left out of its time.
    #[serde(default)]
    pub uninterrupted: bool,
}

/// The parts of a diagnosis, each an experiment of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
pub enum DiagnosisPart {
    /// Many executions of many measurements, from the first measurement of each process on.
    Executions,
    /// What is known to be steady, in turns with those executions.
    Control,
    /// Measurements of more and more iterations: round i has executions of 2^i.
    Lengths,
    /// The benchmark in a process of its own, to be set against what it is after others.
    OwnProcess,
    /// The benchmark in one process after these others of its bench target, by their ids.
    After {
        /// The ids.
        others: Vec<String>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(load: &u32) -> bool {
    *load == 0
}

impl ExperimentPlan {
    /// What it measures for a diagnosis, if it is of one.
    pub fn diagnosis(&self) -> Option<DiagnosisSettings> {
        #[derive(Deserialize)]
        struct Settings {
            diagnosis: DiagnosisSettings,
        }
        // Most are not, and are told apart without being parsed.
        if !self.settings.contains("\"diagnosis\"") {
            return None;
        }
        serde_json::from_str(&self.settings).ok().map(|Settings { diagnosis }| diagnosis)
    }

    /// Whether it was made for a diagnosis, by this or a later version of rbench.
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
                first_look: None,
                builds: 2,
                executions: 1,
                measurements: 1,
            },
            seed: 1,
        }
    }

    #[test]
    fn an_experiment_of_a_diagnosis_is_told_by_its_settings() {
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
    fn an_experiment_with_that_word_in_another_place_is_none() {
        for settings in [r#"{"profile":"diagnosis"}"#, "{}", r#"{"features":["\"diagnosis\""]}"#] {
            assert_eq!(plan(settings).diagnosis(), None);
            assert!(!plan(settings).is_diagnosis(), "{settings}");
        }
    }

    #[test]
    fn a_part_that_only_a_later_version_knows_is_of_a_diagnosis_all_the_same() {
        let plan = plan(r#"{"diagnosis":{"part":"dreams"}}"#);
        assert!(plan.is_diagnosis());
        assert_eq!(plan.diagnosis(), None);
    }
}
