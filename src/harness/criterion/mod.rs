//! Benchmarks of Criterion.rs 0.3.3 and later, over the protocol it has for cargo-criterion: raw
//! measurements, and none of its plots, bootstraps and files.
//!
//! Its files are not read as a second way: 0.3.3, 0.3.4, 0.3.5, 0.3.6, 0.4.0, 0.5.1 and 0.8.2 were
//! all seen to connect, and what does not (0.3.0 to 0.3.2) is told so.

mod message;
mod runner;

use std::{ffi::OsString, slice, time::Duration};

use cargo_metadata::semver::Version;

use self::{
    message::Complete,
    runner::{Heard, Runner},
};
use super::{
    Conditions, Executable, Harness,
    executable::{Process, ending_in_words, scratch},
};
use crate::{
    failure::{Exit, OrFail, Result},
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Series, Unit},
    process::Ended,
};

/// Criterion.rs of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// Its version, which decides what its command line understands.
    pub version: Version,
}

/// Matches no id, as every id has a character.
const NOTHING: &str = "^$";

impl Harness for Criterion {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Criterion
    }

    fn objection(&self, measurements: usize) -> Option<&'static str> {
        (measurements < FEWEST).then_some("Criterion.rs takes at least 10")
    }

    fn least_time(&self, asked: &ExecutionRequest) -> Duration {
        let [warm_up, measuring] = self.times(asked);
        warm_up.saturating_add(measuring)
    }

    /// Asks for benchmarks that match nothing, and listens to what is left out: unlike with
    /// `--list`, names come in their parts and are not cut at 100 bytes.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let arguments = ["--bench", NOTHING].map(OsString::from).to_vec();
        let purpose = format!("list the benchmarks of {}", executable.target);
        let invocation = executable.invocation(arguments, None, conditions);
        let process = Process::new(purpose, invocation, Duration::ZERO);
        let (process, ended, heard) = converse(process, conditions)?;
        match self.trouble(&ended, &heard) {
            None => Ok(heard.skipped),
            Some(reason) => Err(process.failure(&reason, &ended.output)),
        }
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let benchmarks = slice::from_ref(benchmark);
        let (process, ended, heard) = self.run(executable, benchmarks, asked, conditions)?;
        self.execution(&heard, benchmark, asked, &ended)
            .map_err(|reason| process.failure(&reason, &ended.output))
    }

    /// A process that dies takes those with it that it had not measured.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Result<Execution>>> {
        let (mut process, ended, heard) = self.run(executable, benchmarks, asked, conditions)?;
        let result = |benchmark| {
            self.execution(&heard, benchmark, asked, &ended).map_err(|reason| {
                process.purpose = executable.purpose_of(benchmark);
                process.failure(&reason, &ended.output)
            })
        };
        Ok(benchmarks.iter().map(result).collect())
    }
}

/// Criterion.rs refuses fewer measurements.
const FEWEST: usize = 10;

impl Criterion {
    /// Runs `benchmarks` in one process.
    fn run(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<(Process, Ended, Heard)> {
        let count = u32::try_from(benchmarks.len()).unwrap_or(u32::MAX);
        let arguments = self.arguments(benchmarks, asked);
        let process = Process::new(
            executable.purpose_of_all(benchmarks),
            executable.invocation(arguments, Some(asked.seed), conditions),
            self.least_time(asked).saturating_mul(count),
        );
        converse(process, conditions)
    }

    /// What was heard of one benchmark, or why that is no execution. What was measured to its end
    /// counts, whatever came over the process after that.
    fn execution(
        &self,
        heard: &Heard,
        benchmark: &Name,
        asked: &ExecutionRequest,
        ended: &Ended,
    ) -> Result<Execution, String> {
        let completed =
            heard.completed.iter().filter(|(complete, ..)| complete.name.id == benchmark.id);
        let (complete, unit, one) = match &completed.collect::<Vec<_>>()[..] {
            [only] => *only,
            [] => return Err(self.silence(heard, ended)),
            several => return Err(format!("{} benchmarks have this id", several.len())),
        };
        Ok(Execution {
            asked: asked.clone(),
            series: vec![series(complete, unit, *one)?],
            throughput: complete.throughput.clone(),
            warm_up: Some(complete.warm_up),
            resources: ended.resources.clone(),
        })
    }

    /// Why nothing was heard of a benchmark.
    fn silence(&self, heard: &Heard, ended: &Ended) -> String {
        self.trouble(ended, heard).unwrap_or_else(|| {
            let reason = if heard.begun {
                "it ended without a measurement"
            } else {
                "the executable has no benchmark of this id"
            };
            reason.to_owned()
        })
    }

    /// The time for warming up, and that for all measurements.
    fn times(&self, asked: &ExecutionRequest) -> [Duration; 2] {
        let measurements = u32::try_from(asked.measurements).unwrap_or(u32::MAX);
        [asked.warm_up, asked.floor.saturating_mul(measurements)].map(|time| self.possible(time))
    }

    /// The arguments that run `benchmarks` and no others, with `asked` as the defaults that a group's
    /// own settings override.
    fn arguments(&self, benchmarks: &[Name], asked: &ExecutionRequest) -> Vec<OsString> {
        let [warm_up, measuring] = self.times(asked).map(|time| time.as_secs_f64().to_string());
        let mut arguments = vec![
            "--bench".to_owned(),
            "--sample-size".to_owned(),
            asked.measurements.max(FEWEST).to_string(),
            "--warm-up-time".to_owned(),
            warm_up,
            "--measurement-time".to_owned(),
            measuring,
        ];
        match benchmarks {
            [only] if self.version >= Version::new(0, 5, 0) => {
                arguments.extend(["--exact".to_owned(), "--".to_owned(), only.id.clone()]);
            }
            several => {
                let ids: Vec<_> = several.iter().map(|name| regex::escape(&name.id)).collect();
                arguments.extend(["--".to_owned(), format!("^({})$", ids.join("|"))]);
            }
        }
        arguments.into_iter().map(OsString::from).collect()
    }

    /// A time that the command line takes: more than zero, and in whole seconds before 0.5.
    fn possible(&self, time: Duration) -> Duration {
        let time = time.max(Duration::from_millis(1));
        if self.version >= Version::new(0, 5, 0) {
            time
        } else {
            Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
        }
    }

    /// What went wrong, if something did, apart from what was measured.
    fn trouble(&self, ended: &Ended, heard: &Heard) -> Option<String> {
        ending_in_words(ended.ending).or_else(|| heard.trouble.clone()).or_else(|| {
            (!heard.connected).then(|| {
                format!(
                    "Criterion.rs {} did not report to its runner; 0.3.3 and later do",
                    self.version
                )
            })
        })
    }
}

/// Runs a process that reports to a runner of its own.
fn converse(mut process: Process, conditions: &Conditions<'_>) -> Result<(Process, Ended, Heard)> {
    let scratch = scratch()?;
    let runner = Runner::start()
        .or_fail(Exit::Internal, || "cannot listen for what Criterion.rs reports")?;
    // Whatever it may still write is not to land in the user's target directory.
    let home = || ("CRITERION_HOME".into(), scratch.path().into());
    // Whoever repeats the command has no runner that listens.
    process.repeated.variables.push(home());
    let port = runner.port().to_string();
    process.invocation.variables.extend([home(), ("CARGO_CRITERION_PORT".into(), port.into())]);
    let ended = process.run(conditions);
    let heard = runner.finish();
    Ok((process, ended?, heard))
}

/// The measurements of a benchmark, in the unit that its measurement says.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn series(complete: &Complete, unit: &str, one: f64) -> Result<Series, String> {
    let metric = match unit {
        "ns" => Metric::wall(),
        "cycles" => Metric { name: "cycles".to_owned(), unit: Unit::Cycles },
        "instructions" => Metric { name: "instructions".to_owned(), unit: Unit::Instructions },
        "bytes" => Metric { name: "bytes".to_owned(), unit: Unit::Bytes },
        other => return Err(format!("it measures in `{other}`, which rbench does not know")),
    };
    let values = complete.values.iter().zip(&complete.iterations);
    let series = Series {
        metric,
        values: values.map(|(value, iterations)| value * one / iterations).collect(),
        iterations: complete.iterations.iter().map(|iterations| *iterations as u64).collect(),
    };
    let came = series.values.len() as u64;
    if came != complete.sample_size || came != series.iterations.len() as u64 {
        return Err(format!(
            "it gave {came} measurements where it meant to take {}",
            complete.sample_size
        ));
    }
    series.defect().map_or(Ok(series), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(minor: u64) -> Criterion {
        Criterion { version: Version::new(0, minor, 3) }
    }

    fn asked(measurements: usize) -> ExecutionRequest {
        ExecutionRequest {
            measurements,
            warm_up: Duration::from_millis(1200),
            floor: Duration::from_millis(5),
            iterations: None,
            seed: 1,
        }
    }

    fn complete(values: &[f64], iterations: &[f64]) -> Complete {
        Complete {
            name: Name::plain("a"),
            throughput: Vec::new(),
            iterations: iterations.to_vec(),
            values: values.to_vec(),
            sample_size: 2,
            warm_up: Duration::ZERO,
        }
    }

    #[test]
    fn the_command_line_is_what_each_version_understands() {
        let benchmark = Name::plain("-a.b/(1)");
        assert_eq!(
            version(5).arguments(slice::from_ref(&benchmark), &asked(30)),
            [
                "--bench",
                "--sample-size",
                "30",
                "--warm-up-time",
                "1.2",
                "--measurement-time",
                "0.15",
                "--exact",
                "--",
                "-a.b/(1)",
            ]
        );
        assert_eq!(
            version(3).arguments(slice::from_ref(&benchmark), &asked(3)),
            [
                "--bench",
                "--sample-size",
                "10",
                "--warm-up-time",
                "2",
                "--measurement-time",
                "1",
                "--",
                r"^(\-a\.b/\(1\))$",
            ]
        );
    }

    #[test]
    fn a_measurement_is_its_value_per_iteration() {
        let series = series(&complete(&[10.0, 30.0], &[1.0, 2.0]), "ns", 1.0).unwrap();
        assert_eq!(series.values, [10.0, 15.0]);
        assert_eq!(series.iterations, [1, 2]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_the_reason() {
        for (values, iterations, unit, words) in [
            (&[1.0, 2.0][..], &[1.0, 1.0][..], "parsecs", "`parsecs`"),
            (&[1.0], &[1.0], "ns", "1 measurements where it meant to take 2"),
            (&[1.0, 2.0], &[1.0], "ns", "1 measurements where it meant to take 2"),
            (&[1.0, 0.0], &[1.0, 1.0], "ns", "measurement 2 is 0 ns"),
            (&[1.0, 2.0], &[1.0, 0.0], "ns", "measurement 2 has no iteration"),
            (&[1.0, 2.0], &[f64::NAN, 1.0], "ns", "measurement 1 has no iteration"),
        ] {
            let reason = series(&complete(values, iterations), unit, 1.0).unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }
}
