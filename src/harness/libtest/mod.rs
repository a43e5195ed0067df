//! `#[bench]` functions, which only nightly toolchains have.
//!
//! libtest prints the median of its samples, but neither these nor their number of iterations. Where rbench's library is
//! preloaded, they are derived from its clock readings. Otherwise one execution is one measurement.

mod samples;

use std::{ffi::OsString, slice, time::Duration};

use serde_json::Value;

use self::samples::{LONGER, MEASUREMENTS, measured_time, measurements};
use super::{
    Conditions, Executable, Harness, HarnessFacts,
    counted::{counted_by, counts_from_libtest},
    executable::{Process, measured, observed},
};
use crate::{
    error::Result,
    model::{ExecutionRequest, HarnessKind, Metric, Name, Outcome, Series},
    process::Output,
};

/// The harness for `#[bench]` functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Libtest;

impl Harness for Libtest {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Libtest
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            // It measures for .3 to 3 s whatever is requested: for 15 to 150 ms then. Interleaved, where its clock is
            // faster as well, it measures for 65 ms.
            traced_slowness: 20,
            may_fail_interleaved: true,
            ..HarnessFacts::DEFAULT
        }
    }

    fn measurements(&self, requested: u32) -> u32 {
        requested.min(MEASUREMENTS)
    }

    fn measurement_limit(&self, measurements: usize, is_interleaved: bool) -> Option<&'static str> {
        if is_interleaved {
            (measurements > MEASUREMENTS as usize).then_some("libtest takes 50 samples")
        } else {
            (measurements != 1).then_some("libtest prints one median of all its samples")
        }
    }

    /// By the usual clock, libtest measures for this long before it checks the stability of its median, whatever is requested.
    fn least_time(&self, _: &ExecutionRequest) -> Duration {
        Duration::from_millis(100)
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let invocation =
            executable.invocation(["--bench", "--list", "--format", "terse"], None, conditions);
        Ok(listed(&Process::listing(executable, invocation).whole_output(conditions)?))
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        let speed = speed(request);
        if let Some(member) = conditions.member {
            member.hurry(speed, measured_time(request))?;
        }
        let benchmarks = slice::from_ref(benchmark);
        let (arguments, work) = (arguments(benchmarks), self.least_time(request));
        let process = executable.execution(benchmarks, arguments, work, (request, conditions));
        let ended = process.run_to_success(conditions)?;
        if events(&ended.output, &benchmark.id).any(|event| event["event"] == "ignored") {
            return Ok(Outcome::Skipped("it is marked #[ignore]".to_owned()));
        }
        let error = |reason: &str| process.error(reason, &ended);
        let median = median(&ended.output, &benchmark.id).ok_or_else(|| {
            let has_begun = events(&ended.output, &benchmark.id).next().is_some();
            error(if has_begun {
                "it closes its standard output, so libtest shows nothing"
            } else {
                "it printed no measurement; does a benchmark with this id exist?"
            })
        })?;
        let series = match (conditions.counting, conditions.member) {
            (Some(counting), _) => {
                counted_by(counting, |readings| counts_from_libtest(readings, median))?
            }
            (None, Some(member)) => {
                // The median is no substitute: a benchmark that reads the clock itself meets one that runs and jumps ahead.
                let readings = member.readings()?;
                let found = measurements(&readings, speed, median, request);
                found
                    .ok_or_else(|| error("its samples cannot be identified from clock readings"))?
            }
            (None, None) => {
                // The first samples of one and of five iterations last three seconds already.
                let iterations = conditions.allocations.map(|_| LONGER);
                summary(median, iterations.into_iter().collect())
            }
        };
        if let Some(defect) = series.defect() {
            return Err(error(&defect));
        }
        Ok(Outcome::Measured(measured(request, vec![series], &ended)))
    }

    fn observe_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        // Without `--bench`, each is a test that executes it once.
        let mut arguments = arguments(benchmarks);
        arguments.retain(|argument| argument != "--bench");
        arguments.insert(0, "--test-threads=1".into());
        let process =
            executable.execution(benchmarks, arguments, Duration::ZERO, (request, conditions));
        let ended = process.run_for_list(conditions)?;
        let is_success = |event: &Value| event["type"] == "test" && event["event"] == "ok";
        let executed = all_events(&ended.output).into_iter().filter(is_success).count();
        Ok(observed(executed == benchmarks.len(), request, &ended))
    }
}

fn arguments(benchmarks: &[Name]) -> Vec<OsString> {
    let words = ["--bench", "--exact", "-Z", "unstable-options", "--format", "json", "--"];
    let ids = benchmarks.iter().map(|name| name.id.as_str());
    words.into_iter().chain(ids).map(OsString::from).collect()
}

/// How many times as long the first iteration seems, so that the longer samples take the requested time instead of five
/// milliseconds.
fn speed(request: &ExecutionRequest) -> u32 {
    let usual = Duration::from_millis(LONGER).as_nanos();
    let requested = request.min_time.as_nanos().max(1);
    u32::try_from(usual / requested).unwrap_or(u32::MAX).max(1)
}

/// The median as the only measurement.
fn summary(median: f64, iterations: Vec<u64>) -> Series {
    let (values, resolution) = (vec![median], resolution(median));
    Series { metric: Metric::wall(), values, iterations, resolution }
}

/// The smallest difference between medians like this one, in nanoseconds: toolchains before 2024 round them to whole
/// nanoseconds.
fn resolution(median: f64) -> f64 {
    if median.fract() == 0.0 { 1.0 } else { 0.0 }
}

/// The median that libtest prints for `id`, in nanoseconds per iteration.
fn median(output: &Output, id: &str) -> Option<f64> {
    events(output, id).find_map(|event| median_of(&event))
}

/// The median of an event that has one, in nanoseconds per iteration.
fn median_of(event: &Value) -> Option<f64> {
    event["median"].as_f64().filter(|_| event["type"] == "bench")
}

fn events(output: &Output, id: &str) -> impl Iterator<Item = Value> {
    all_events(output).into_iter().filter(move |event| event["name"] == id)
}

fn all_events(output: &Output) -> Vec<Value> {
    output.to_string().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Parses a list as `cargo test -- --list` prints it: `NAME: benchmark`.
pub(super) fn listed(output: &Output) -> Vec<Name> {
    output
        .to_string()
        .lines()
        .filter_map(|line| line.strip_suffix(": benchmark"))
        .map(Name::plain)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::request;

    #[test]
    fn median_is_found_among_other_output() {
        let text = "{ \"type\": \"suite\", \"event\": \"started\" }\nuser says {\n\
                    { \"type\": \"bench\", \"name\": \"a\", \"median\": 9, \"deviation\": 1 }\n\
                    { \"type\": \"bench\", \"name\": \"b::\\\"c\\\"\", \"median\": 1.5 }\n";
        let output = Output { head: text.into(), ..Output::default() };
        assert_eq!(median(&output, "b::\"c\""), Some(1.5));
        assert_eq!(median(&output, "a"), Some(9.0));
        assert_eq!(median(&output, "c"), None);
    }

    #[test]
    fn least_time_does_not_depend_on_the_request() {
        let least = |floor| Libtest.least_time(&ExecutionRequest { min_time: floor, ..request() });
        assert_eq!(least(Duration::ZERO), least(Duration::from_secs(9)));
    }

    #[test]
    fn resolution_of_a_whole_median_is_a_nanosecond() {
        assert_eq!([3.0, 448.579].map(|value| resolution(value).to_string()), ["1", "0"]);
    }

    #[test]
    fn listed_returns_only_benchmarks() {
        let head = b"a: test\nb c: benchmark\n\n1 test, 1 benchmark\nd: benchmark: benchmark\n";
        let names = listed(&Output { head: head.to_vec(), ..Output::default() });
        assert_eq!(names, ["b c", "d: benchmark"].map(Name::plain));
    }
}
