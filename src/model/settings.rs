//! Settings of the compiler and of an experiment, stored as JSON, and their display.

use std::{collections::BTreeMap, time::Duration};

use jiff::fmt::friendly::SpanPrinter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub profile: String,
    pub features: Vec<String>,
    pub all_features: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
