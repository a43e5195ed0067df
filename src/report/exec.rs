//! The report of `exec`: the measurements of one process.

use super::{
    document::{Block, Document, Item, Text, Verbatim},
    quantity::{self, count},
};
use crate::{
    error::Result,
    model::{
        Benchmark, Execution, ExecutionRequest, HarnessKind, Outcome, Resources, Series, Version,
    },
};

/// One execution: a process that runs one benchmark or, on request, several of one bench target.
#[derive(Clone, Debug)]
pub struct ExecReport {
    pub version: Version,
    pub harness: HarnessKind,
    /// The requested measurements and their durations.
    pub request: ExecutionRequest,
    /// The reason why the harness never takes as many measurements as requested, if it does not.
    pub limit: Option<&'static str>,
    pub benchmarks: Vec<(Benchmark, Result<Outcome>)>,
}

impl ExecReport {
    pub fn document(&self) -> Document {
        let mut document = Document::new("exec");
        let items = self.measured().map(|(benchmark, execution)| {
            let mut blocks = Vec::new();
            for series in &execution.series {
                let head =
                    format!("{} in {} per iteration", series.metric.name, series.metric.unit);
                blocks.push(Block::Paragraph(vec![head.into()]));
                blocks.push(Block::Verbatim(Verbatim { language: "text", text: values(series) }));
            }
            blocks.extend(self.difference(execution).and_then(|reason| {
                let taken = count(execution.measurements(), "measurement");
                let requested = self.request.measurements;
                Block::paragraph([format!("{taken} instead of {requested}: {reason}")])
            }));
            let name = Text::from_name(benchmark.to_string());
            Item::new(name.then(format!(" ({}) of {}", self.harness, self.version)), blocks)
        });
        document.add(Block::list(items));
        document
            .add(self.resources().map(|all| Block::Paragraph(vec![resources_text(all).into()])));
        document
    }

    fn measured(&self) -> impl Iterator<Item = (&Benchmark, &Execution)> {
        self.benchmarks.iter().filter_map(|(benchmark, result)| match result {
            Ok(Outcome::Measured(execution)) => Some((benchmark, execution)),
            _ => None,
        })
    }

    /// The resources that the process used; `None` if nothing was measured.
    fn resources(&self) -> Option<&Resources> {
        self.measured().next().map(|(_, execution)| &execution.resources)
    }

    /// The reason why the number of measurements differs from the request, if it does.
    fn difference(&self, execution: &Execution) -> Option<&'static str> {
        let own = || self.limit.unwrap_or("the benchmark has its own settings");
        (execution.measurements() != self.request.measurements).then(own)
    }
}

/// Formats one measurement a line.
fn values(Series { values, iterations, .. }: &Series) -> String {
    let line = |(index, value): (usize, &f64)| {
        let iterations = iterations.get(index);
        let iterations = iterations.map(|number| format!("  ({number} iterations)"));
        format!("{value:>18.3}{}\n", iterations.unwrap_or_default())
    };
    values.iter().enumerate().map(line).collect()
}

fn resources_text(resources: &Resources) -> String {
    let [wall, user, system] =
        [resources.wall, resources.user, resources.system].map(quantity::duration);
    let memory = resources.peak_memory;
    let memory = memory.map(|bytes| format!(", {} peak memory", quantity::bytes(bytes)));
    let Resources { voluntary_switches, involuntary_switches, .. } = resources;
    format!(
        "process: {wall} wall, {user} user, {system} system{}, {voluntary_switches} voluntary and \
         {involuntary_switches} involuntary context switches",
        memory.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{
        error::{Error, Exit},
        model::{Incident, Metric, Schedule, Throughput},
        report::{
            render, style,
            testing::{benchmark, memory, version},
        },
    };

    fn report(id: &str) -> ExecReport {
        let request = ExecutionRequest {
            measurements: 3,
            warm_up: Duration::from_millis(100),
            min_time: Duration::from_millis(5),
            iterations: None,
            seed: 7,
        };
        let series = |metric, values: &[f64], iterations: &[u64]| Series {
            metric,
            values: values.to_vec(),
            iterations: iterations.to_vec(),
            resolution: 0.0,
        };
        let execution = Execution {
            asked: request.clone(),
            series: vec![
                series(Metric::wall(), &[4384.0, 4399.5], &[1000, 1000]),
                series(memory(), &[3.2e6, 3.2e6], &[]),
            ],
            throughput: vec![Throughput::Bytes(4096)],
            warm_up: Some(Duration::from_millis(101)),
            schedule: Schedule::NotRequested,
            alone: None,
            incidents: vec![Incident::LeftBehind(vec!["sleep".to_owned()])],
            resources: Resources {
                start: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
                wall: Duration::from_millis(250),
                user: Duration::from_millis(200),
                system: Duration::from_millis(10),
                peak_memory: Some(3 << 20),
                voluntary_switches: 4,
                involuntary_switches: 1,
                at_end: None,
            },
        };
        let failed = Error::new(Exit::Benchmark, format!("cannot execute `{id}`"));
        ExecReport {
            version: version("HEAD", 'a'),
            harness: HarnessKind::Native,
            request,
            limit: None,
            benchmarks: vec![
                (benchmark(id), Ok(Outcome::Measured(execution))),
                (benchmark("gpu"), Ok(Outcome::Skipped("no GPU here".to_owned()))),
                (benchmark("broken"), Err(failed)),
            ],
        }
    }

    #[test]
    fn exec_shows_each_measurement_on_a_line() {
        insta::assert_snapshot!(style::plain(&render::text(&report("parse/1").document(), 80)));
    }
}
