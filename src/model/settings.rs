//! Settings of the compiler and of an experiment, stored as JSON: their display, and what they make an experiment measure:
//! times, counts, or the details of one benchmark for a diagnosis.

use std::{collections::BTreeMap, time::Duration};

use jiff::fmt::friendly::SpanPrinter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExperimentPlan, Metric};

/// The settings that are not `null`, `false` or empty, in the words of flags: `layout same-address`, `min-time
/// 5ms`.
pub fn settings_words(json: &str) -> Vec<String> {
    let mut words = Vec::new();
    match serde_json::from_str(json) {
        Ok(value) => collect("", &value, &mut words),
        Err(_) => words.push(json.to_owned()),
    }
    words
}

fn collect(name: &str, value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => words.push(as_flag(name)),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => words.push(format!("{} {text}", as_flag(name))),
        Value::Number(number) => words.push(match (name.strip_suffix("_ns"), number.as_u64()) {
            (Some(name), Some(time)) => format!("{} {}", as_flag(name), duration(time)),
            _ => format!("{} {number}", as_flag(name)),
        }),
        Value::Array(values) => values.iter().for_each(|value| collect(name, value, words)),
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field } else { &format!("{name} {field}") };
                collect(name, value, words);
            }
        }
    }
}

fn as_flag(name: &str) -> String {
    name.replace('_', "-")
}

fn duration(nanoseconds: u64) -> String {
    SpanPrinter::new().unsigned_duration_to_string(&Duration::from_nanos(nanoseconds))
}

/// The differences between two settings, for users: `settings: min-time 2ms, not min-time 1ms`.
pub(super) fn settings_difference(one: &str, other: &str) -> String {
    let [one, other] = [one, other].map(settings_words);
    let only = |words: &[String], others: &[String]| -> String {
        let only = words.iter().filter(|word| !others.contains(word));
        only.map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    match [only(&one, &other), only(&other, &one)].each_ref().map(String::as_str) {
        ["", ""] => "settings".to_owned(),
        [one, ""] => format!("settings: {one}"),
        ["", other] => format!("settings: not {other}"),
        [one, other] => format!("settings: {one}, not {other}"),
    }
}

/// Compiler options that rbench passes to cargo unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompileSettings {
    /// The cargo profile.
    pub profile: String,
    /// Features to turn on.
    pub features: Vec<String>,
    /// Turn all features on.
    pub all_features: bool,
    /// Turn the default feature off.
    pub no_default_features: bool,
    /// Refuse to change Cargo.lock.
    pub locked: bool,
    /// Do not use the network.
    pub offline: bool,
    /// Further arguments for the cargo that compiles, unchanged.
    pub cargo_args: Vec<String>,
    /// The toolchain: a name of rustup, or a directory with `bin/cargo` and `bin/rustc`; that of the project if absent.
    pub toolchain: Option<String>,
    /// Flags for rustc, in addition to those of the environment and of cargo's configuration.
    pub rustflags: Vec<String>,
    /// Environment variables, for compiling and for running.
    pub environment: BTreeMap<String, String>,
    /// The number of jobs that cargo and linking may run at a time; `None` means one per core.
    pub jobs: Option<u32>,
}

impl CompileSettings {
    /// The same with these features too.
    #[must_use]
    pub fn with_features(&self, added: &[String]) -> Self {
        Self { features: [&self.features[..], added].concat(), ..self.clone() }
    }
}

impl Default for CompileSettings {
    fn default() -> Self {
        Self {
            profile: "bench".to_owned(),
            features: Vec::new(),
            all_features: false,
            no_default_features: false,
            locked: false,
            offline: false,
            cargo_args: Vec::new(),
            toolchain: None,
            rustflags: Vec::new(),
            environment: BTreeMap::new(),
            jobs: None,
        }
    }
}

/// The key that marks an experiment's settings as counting. It keeps counts apart from timed results. The value is the
/// version of the counting rules: counts by different rules are not comparable.
pub const COUNTING_KEY: &str = "counting";

/// The current version of the counting rules.
pub const COUNTING_RULES: u32 = 1;

/// The key of the counted quantity, if that is not instructions.
pub const COUNTED_KEY: &str = "counted";

/// The key of the settings of a diagnosis.
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

    /// True if the experiment counts and times nothing.
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
                let allocates = *counted != Metric::instructions();
                self.is_counting() && self.setting(COUNTED_KEY).is_some() == allocates
            }
        }
    }

    /// The diagnosis settings of the experiment, if it belongs to a diagnosis and its part is known here.
    pub fn diagnosis(&self) -> Option<DiagnosisSettings> {
        serde_json::from_value(self.setting(DIAGNOSIS_KEY)?).ok()
    }

    /// True if the experiment belongs to a diagnosis.
    pub fn is_diagnosis(&self) -> bool {
        self.setting(DIAGNOSIS_KEY).is_some()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SampleSizes, testing::machine};

    #[test]
    fn settings_words_omit_unset_settings() {
        let json = r#"{"features":["a_b"],"cpu":null,"own":[{"warm_up_ns":4500000}],"all_x":true,"no":false}"#;
        assert_eq!(settings_words(json), ["all-x", "features a_b", "own warm-up 4ms 500µs"]);
        assert_eq!(settings_words("as written by hand"), ["as written by hand"]);
    }

    #[test]
    fn settings_difference_names_only_the_differences() {
        let plain = r#"{"min_time_ns":1000000,"cpu":null}"#;
        for (other, words) in [
            (r#"{"min_time_ns":2000000,"cpu":null}"#, "settings: min-time 2ms, not min-time 1ms"),
            (r#"{"min_time_ns":1000000,"cpu":3}"#, "settings: cpu 3"),
            (r#"{"cpu":null}"#, "settings: not min-time 1ms"),
        ] {
            assert_eq!(settings_difference(other, plain), words);
        }
    }

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
