//! The values of one version for tools that keep a history of values: Bencher and github-action-benchmark.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::{self, Estimate};
use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Metric},
};

#[derive(Clone, Debug)]
pub struct ExportedValue {
    pub benchmark: Benchmark,
    pub metric: Metric,
    pub estimate: Estimate,
}

/// A metric of Bencher's format. Bencher adds no unit: a measure has one.
#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// An entry of github-action-benchmark's `customSmallerIsBetter`.
#[derive(Serialize)]
struct ActionEntry {
    name: String,
    unit: &'static str,
    value: f64,
    /// The half-width of the interval: `± 0.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// The error of a report that is not about the values of one version.
pub fn no_values() -> Error {
    Error::new(Exit::Usage, "cannot write this report as values")
        .cause("`bmf` and `gab` have the values of one version")
        .hint("use compare BASE HEAD, run REV or history REV; compare and history also read stored results")
}

/// The values in the Bencher Metric Format: the metrics of each benchmark by the slug of their measure.
pub fn bencher(values: &[ExportedValue]) -> Result<String> {
    /// The longest name of a benchmark that Bencher takes, in bytes.
    const LONGEST: usize = 1024;
    let mut all: BTreeMap<String, BTreeMap<&str, BencherMetric>> = BTreeMap::new();
    for ExportedValue { benchmark, metric, estimate } in values {
        let name = benchmark.to_string();
        if name.len() > LONGEST {
            let what = "cannot write the values in the Bencher Metric Format";
            let reason = format!("Bencher takes names of at most {LONGEST} bytes, not {name}");
            return Err(Error::new(Exit::Usage, what)
                .cause(reason)
                .hint("leave the benchmark out: --filter; its results are stored"));
        }
        // Bencher knows these measures, and their units.
        let (measure, unit) = match &*metric.name {
            "wall" => ("latency", 1.0),
            "compile-time" => ("build-time", 1e9),
            other => (other, 1.0),
        };
        let metric = BencherMetric {
            value: estimate.value / unit,
            lower_value: estimate.low.map(|low| low / unit),
            upper_value: estimate.high.map(|high| high / unit),
        };
        all.entry(name).or_default().insert(measure, metric);
    }
    json::text(&all)
}

/// The values as `customSmallerIsBetter` of github-action-benchmark.
pub fn action(values: &[ExportedValue]) -> Result<String> {
    let entry = |ExportedValue { benchmark, metric, estimate }: &ExportedValue| {
        let Estimate { value, low, high, builds, .. } = *estimate;
        let half = low.zip(high).map(|(low, high)| (high - low) / 2.0);
        let name = benchmark.to_string();
        ActionEntry {
            name: if metric.name == "wall" { name } else { format!("{name} ({})", metric.name) },
            unit: metric.unit.name(),
            value,
            range: half.filter(|half| half.is_finite()).map(|half| format!("± {half}")),
            extra: format!("builds: {builds}"),
        }
    };
    json::text(&values.iter().map(entry).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::verdict::testing::benchmark;

    fn values() -> Vec<ExportedValue> {
        let estimate = |value: f64, low: Option<f64>, high: Option<f64>| -> Estimate {
            serde_json::from_value(json!({
                "value": value, "low": low, "high": high, "builds": 5, "executions": 5,
                "measurements": 50,
            }))
            .unwrap()
        };
        let value =
            |metric, estimate| ExportedValue { benchmark: benchmark("parse"), metric, estimate };
        vec![
            value(Metric::wall(), estimate(20.0, Some(19.5), Some(20.5))),
            value(Metric::instructions(), estimate(300.0, None, None)),
            value(Metric::compile_time(), estimate(2.5e9, None, None)),
        ]
    }

    #[test]
    fn bencher_has_the_measures_that_it_knows() {
        let written: Value = serde_json::from_str(&bencher(&values()).unwrap()).unwrap();
        let expected = json!({ "p t parse": {
            "latency": { "value": 20.0, "lower_value": 19.5, "upper_value": 20.5 },
            "instructions": { "value": 300.0 },
            "build-time": { "value": 2.5 },
        }});
        assert_eq!(written, expected);
    }

    #[test]
    fn bencher_gets_no_name_that_it_refuses() {
        let mut values = values();
        values[0].benchmark = benchmark(&"x".repeat(1024));
        assert!(bencher(&values).unwrap_err().to_string().contains("at most 1024 bytes"));
    }

    #[test]
    fn action_has_one_entry_for_each_metric() {
        let written: Value = serde_json::from_str(&action(&values()).unwrap()).unwrap();
        let entry = |name: &str, unit: &str, value: f64| json!({ "name": name, "unit": unit, "value": value, "extra": "builds: 5" });
        let mut first = entry("p t parse", "ns", 20.0);
        first["range"] = json!("± 0.5");
        let counted = entry("p t parse (instructions)", "instructions", 300.0);
        let compiled = entry("p t parse (compile-time)", "ns", 2.5e9);
        assert_eq!(written, json!([first, counted, compiled]));
    }
}
