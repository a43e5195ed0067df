//! The lines for `bench.toml` that `diagnose --plan` prints: the recommended sample sizes of each benchmark.

use std::time::Duration;

use rbench_stats::{
    diagnosis::{Advice, MOST_BUILDS},
    plan::Cost,
};

use super::{
    super::{
        escape::escape_untrusted,
        json,
        quantity::{duration, size},
    },
    Examination, ExaminationOutcome, ExaminedBenchmark,
};
use crate::model::{Benchmark, Mode, SampleSizes};

/// The lines for comparisons in this mode. A benchmark without a recommendation has a comment with the reason.
pub fn recommended_lines(benchmarks: &[ExaminedBenchmark], mode: Mode) -> String {
    let about = "Each interval is of the value of one version: interleaved comparisons usually need fewer builds.";
    let tables = benchmarks.iter().map(|ExaminedBenchmark { benchmark, outcome }| {
        let table = match outcome {
            ExaminationOutcome::Diagnosis(examination) => examination.table(benchmark, mode),
            ExaminationOutcome::Failure(reason) => Err(format!("failed: {reason}")),
            ExaminationOutcome::Skipped(reason) => Err(format!("skipped: {reason}")),
        };
        table.unwrap_or_else(|reason| comment(&format!("{}: {reason}", benchmark.name.id)))
    });
    tables.chain([comment(about)]).collect::<Vec<_>>().join("\n")
}

impl Examination {
    /// The table of this benchmark, or the reason why there is none.
    fn table(&self, benchmark: &Benchmark, mode: Mode) -> Result<String, String> {
        let advice = self.findings.advice.as_ref().map_err(ToString::to_string)?;
        let width = size(advice.half_width);
        let sizes = advice.dimensions.ok_or_else(|| {
            format!("more than {MOST_BUILDS} builds would be needed for an interval of ± {width}")
        })?;
        let SampleSizes { builds, executions, measurements, .. } = sizes;
        let each = self.conditions.measurement_seconds.unwrap_or_default();
        let Advice { build_cost: build, execution_cost: execution, .. } = *advice;
        let cost = Cost { build, execution, repeat: 1.0 };
        let took = duration(seconds(cost.total(sizes) * each));
        let mut text = format!(
            "[[benchmark]]\nfilter = {}\npackage = {}\nbench = {}\n\
             builds = {builds}  # an interval of ± {width}, in about {took}\nexecutions = {executions}\n",
            string(&format!("^{}$", regex::escape(&benchmark.name.id))),
            string(&benchmark.package),
            string(&benchmark.target),
        );
        let least = seconds(each).as_micros();
        let of_execution = format!("measurements = {measurements}\nmin-time = \"{least}us\"\n");
        text += &match mode {
            Mode::Sequential => of_execution,
            // Interleaved measurements are shorter and disturbed alike, so these numbers do not apply to them.
            Mode::Interleaved => comment(&format!("with mode = \"sequential\":\n{of_execution}")),
        };
        Ok(text)
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// A comment for each line of the text, so that no line of a message becomes a setting.
fn comment(text: &str) -> String {
    text.lines()
        .fold(String::new(), |comment, line| comment + "# " + &escape_untrusted(line) + "\n")
}

/// A TOML string, on one line: a JSON string is one.
fn string(text: &str) -> String {
    json::escaped(&serde_json::Value::from(text).to_string())
}
