//! Benchmarks of Criterion.rs 0.3.3 and later, over the protocol it has for cargo-criterion: raw
//! measurements, and none of its plots, bootstraps and files.

mod message;
mod runner;

use std::{ffi::OsString, time::Duration};

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
    measure::process::Ended,
    model::{Asked, Execution, HarnessKind, Metric, Name, Series, Unit},
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

    /// Asks for benchmarks that match nothing, and listens to what is left out: unlike with
    /// `--list`, names come in their parts and are not cut at 100 bytes.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let arguments = ["--bench", NOTHING].map(OsString::from).to_vec();
        let purpose = format!("list the benchmarks of {}", executable.target);
        let invocation = executable.invocation(arguments, None, conditions);
        let process = Process { purpose, invocation, work: Duration::ZERO };
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
        asked: &Asked,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let arguments = self.arguments(benchmark, asked);
        let process = Process {
            purpose: executable.purpose_of(benchmark),
            invocation: executable.invocation(arguments, Some(asked.seed), conditions),
            work: asked.least_time(),
        };
        let (process, ended, mut heard) = converse(process, conditions)?;
        let failure = |reason: &str| process.failure(reason, &ended.output);
        let count = heard.completed.len();
        if let Some(reason) = self.trouble(&ended, &heard) {
            return Err(failure(&reason));
        }
        let (complete, unit, one) = match (heard.completed.pop(), count) {
            (Some(completed), 1) => completed,
            (None, _) if heard.begun => return Err(failure("it ended without a measurement")),
            (None, _) => return Err(failure("the executable has no benchmark of this id")),
            _ => return Err(failure(&format!("{count} benchmarks have this id"))),
        };
        let series = series(&complete, &unit, one).map_err(|reason| failure(&reason))?;
        Ok(Execution {
            asked: asked.clone(),
            series: vec![series],
            throughput: complete.throughput,
            warm_up: Some(complete.warm_up),
            resources: ended.resources,
        })
    }
}

impl Criterion {
    /// The arguments that run `benchmark` alone, with `asked` as the defaults that a group's own
    /// settings override.
    fn arguments(&self, benchmark: &Name, asked: &Asked) -> Vec<OsString> {
        /// Criterion.rs refuses fewer.
        const FEWEST: usize = 10;
        let measuring =
            asked.floor.saturating_mul(u32::try_from(asked.measurements).unwrap_or(u32::MAX));
        let mut arguments = vec![
            "--bench".to_owned(),
            "--sample-size".to_owned(),
            asked.measurements.max(FEWEST).to_string(),
            "--warm-up-time".to_owned(),
            self.seconds(asked.warm_up),
            "--measurement-time".to_owned(),
            self.seconds(measuring),
        ];
        if self.version >= Version::new(0, 5, 0) {
            arguments.extend(["--exact".to_owned(), "--".to_owned(), benchmark.id.clone()]);
        } else {
            arguments.extend(["--".to_owned(), format!("^{}$", regex::escape(&benchmark.id))]);
        }
        arguments.into_iter().map(OsString::from).collect()
    }

    /// A time as the command line takes it: more than zero, and in whole seconds before 0.5.
    fn seconds(&self, time: Duration) -> String {
        let time = time.max(Duration::from_millis(1)).as_secs_f64();
        if self.version >= Version::new(0, 5, 0) {
            time.to_string()
        } else {
            time.ceil().to_string()
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
    process.invocation.variables.extend([
        ("CARGO_CRITERION_PORT".into(), runner.port().to_string().into()),
        // Whatever it may still write is not to land in the user's target directory.
        ("CRITERION_HOME".into(), scratch.path().into()),
    ]);
    let ended = process.run(conditions);
    let heard = runner.finish();
    // Whoever retypes the command has no runner that listens.
    process.invocation.variables.retain(|(name, _)| name != "CARGO_CRITERION_PORT");
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

    fn asked(measurements: usize) -> Asked {
        Asked {
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
            version(5).arguments(&benchmark, &asked(30)),
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
            version(3).arguments(&benchmark, &asked(3)),
            [
                "--bench",
                "--sample-size",
                "10",
                "--warm-up-time",
                "2",
                "--measurement-time",
                "1",
                "--",
                r"^\-a\.b/\(1\)$",
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
