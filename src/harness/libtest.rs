//! `#[bench]` functions, which only nightly toolchains have.
//!
//! libtest tells the median of what it measured, so one execution is one measurement; how many
//! iterations it took, it does not tell.

use std::{ffi::OsString, time::Duration};

use super::{Conditions, Executable, Harness, executable::Process, text::listed};
use crate::{
    failure::Result,
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Series},
    process::Output,
};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Libtest;

impl Harness for Libtest {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Libtest
    }

    fn objection(&self, measurements: usize) -> Option<&'static str> {
        (measurements != 1).then_some("libtest tells one median of all it measured")
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let invocation =
            executable.invocation(["--bench", "--list", "--format", "terse"], None, conditions);
        let purpose = format!("list the benchmarks of {}", executable.target);
        let process = Process::new(purpose, invocation, Duration::ZERO);
        Ok(listed(&process.whole_output(conditions)?))
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let process = Process::new(
            executable.purpose_of(benchmark),
            executable.invocation(arguments(benchmark), Some(asked.seed), conditions),
            asked.least_time(),
        );
        let ended = process.run_to_success(conditions)?;
        let failure = |reason: &str| process.failure(reason, &ended.output);
        let median = median(&ended.output, &benchmark.id).ok_or_else(|| {
            failure("it printed no measurement; is there a benchmark of this id?")
        })?;
        let series =
            Series { metric: Metric::wall(), values: vec![median], iterations: Vec::new() };
        if let Some(defect) = series.defect() {
            return Err(failure(&defect));
        }
        Ok(Execution {
            asked: asked.clone(),
            series: vec![series],
            throughput: Vec::new(),
            warm_up: None,
            resources: ended.resources,
        })
    }
}

fn arguments(benchmark: &Name) -> Vec<OsString> {
    let words = ["--bench", "--exact", "-Z", "unstable-options", "--format", "json", "--"];
    words.into_iter().chain([benchmark.id.as_str()]).map(OsString::from).collect()
}

/// The median that libtest tells of `id`, in nanoseconds per iteration.
fn median(output: &Output, id: &str) -> Option<f64> {
    output
        .to_string()
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find(|event| event["type"] == "bench" && event["name"] == id)
        .and_then(|event| event["median"].as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_found_among_other_events_and_other_output() {
        let text = "{ \"type\": \"suite\", \"event\": \"started\" }\nuser says {\n\
                    { \"type\": \"bench\", \"name\": \"a\", \"median\": 9, \"deviation\": 1 }\n\
                    { \"type\": \"bench\", \"name\": \"b::\\\"c\\\"\", \"median\": 1.5 }\n";
        let output = Output { head: text.into(), ..Output::default() };
        assert_eq!(median(&output, "b::\"c\""), Some(1.5));
        assert_eq!(median(&output, "a"), Some(9.0));
        assert_eq!(median(&output, "c"), None);
    }
}
