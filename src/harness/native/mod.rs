//! Benchmarks of `rbench-harness`: told by arguments what to do, they answer by a file.

mod protocol;

use std::{
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use self::protocol::{Answer, Measured, Outcome, Record};
use super::{
    Conditions, Executable, Harness,
    executable::{Process, ending_in_words, scratch},
};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    measure::process::Ended,
    model::{Asked, Execution, HarnessKind, Metric, Name, Series, Throughput},
};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Harness for Native {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Native
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let purpose = format!("list the benchmarks of {}", executable.target);
        let arguments = ["--list"];
        let invocation = executable.invocation(arguments, None, conditions);
        let question = Question::new(Process { purpose, invocation, work: Duration::ZERO })?;
        let (answer, ended) = question.ask(conditions)?;
        match answer.refused {
            // An id that is registered twice is failed by the harness and listed all the same:
            // executing it says why.
            None => Ok(answer.records.into_iter().map(|record| Name::plain(record.id)).collect()),
            Some(reason) => Err(question.process.failure(&reason, &ended.output)),
        }
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &Asked,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let arguments = arguments(benchmark, asked);
        let question = Question::new(Process {
            purpose: executable.purpose_of(benchmark),
            invocation: executable.invocation(arguments, Some(asked.seed), conditions),
            work: asked.least_time(),
        })?;
        let (answer, ended) = question.ask(conditions)?;
        let failure = |reason: &str| question.process.failure(reason, &ended.output);
        let (throughput, measured) = only(answer, asked).map_err(|reason| failure(&reason))?;
        let series = Series {
            metric: Metric::wall(),
            values: per_iteration(&measured),
            iterations: vec![measured.iterations; measured.times.len()],
        };
        if let Some(defect) = series.defect() {
            return Err(failure(&defect));
        }
        Ok(Execution {
            asked: asked.clone(),
            series: vec![series],
            throughput: throughput.into_iter().collect(),
            warm_up: Some(Duration::from_nanos(measured.warm_up)),
            resources: ended.resources,
        })
    }
}

/// What rbench-harness calls what is asked; its `arguments.rs` reads it.
fn arguments(benchmark: &Name, asked: &Asked) -> Vec<OsString> {
    let mut arguments = vec!["--rbench-id".into(), benchmark.id.clone()];
    let mut number = |name: &str, number: u128| {
        arguments.extend([name.to_owned(), number.to_string()]);
    };
    if let Some(iterations) = asked.iterations {
        number("--rbench-iterations", iterations.into());
    }
    number("--rbench-measurements", asked.measurements as u128);
    number("--rbench-warm-up", asked.warm_up.as_nanos());
    number("--rbench-floor", asked.floor.as_nanos());
    number("--rbench-seed", asked.seed.into());
    arguments.into_iter().map(OsString::from).collect()
}

/// The one measured benchmark of an answer, or why there is none.
fn only(answer: Answer, asked: &Asked) -> Result<(Option<Throughput>, Measured), String> {
    let failed = answer.records.iter().find_map(|record| match &record.outcome {
        Outcome::Failed(reason) => Some(reason.clone()),
        Outcome::Skipped(reason) => Some(format!("it cannot run here: {reason}")),
        Outcome::Listed | Outcome::Measured(_) => None,
    });
    if let Some(reason) = failed.or(answer.refused) {
        return Err(reason);
    }
    let record = match <[Record; 1]>::try_from(answer.records) {
        Ok([record]) => record,
        Err(none) if none.is_empty() => {
            return Err("the executable has no benchmark of this id".to_owned());
        }
        Err(several) => return Err(format!("{} benchmarks have this id", several.len())),
    };
    match record.outcome {
        Outcome::Measured(measured) if measured.times.len() == asked.measurements => {
            Ok((record.throughput, measured))
        }
        Outcome::Measured(measured) => Err(format!(
            "it gave {} measurements where {} were asked",
            measured.times.len(),
            asked.measurements
        )),
        _ => Err("it gave no measurement".to_owned()),
    }
}

fn per_iteration(measured: &Measured) -> Vec<f64> {
    measured.times.iter().map(|time| *time as f64 / measured.iterations as f64).collect()
}

/// A process that answers by a file in a directory of its own.
struct Question {
    process: Process,
    scratch: TempDir,
}

impl Question {
    /// Adds to what `process` is told where to answer.
    fn new(mut process: Process) -> Result<Self> {
        let scratch = scratch()?;
        let words = ["--bench", "--rbench-protocol", protocol::VERSION, "--rbench-output"];
        let mut arguments: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        arguments.push(answer_file(&scratch).into());
        arguments.append(&mut process.invocation.arguments);
        process.invocation.arguments = arguments;
        Ok(Self { process, scratch })
    }

    /// Runs the process and reads its answer.
    fn ask(&self, conditions: &Conditions<'_>) -> Result<(Answer, Ended)> {
        let ended = self.process.run(conditions)?;
        let failure = |reason: &str| self.process.failure(reason, &ended.output);
        let Some(bytes) = read_bounded(&answer_file(&self.scratch))? else {
            let reason = ending_in_words(ended.ending);
            return Err(failure(
                &reason.unwrap_or_else(|| "it exited with success but wrote no result".to_owned()),
            ));
        };
        let answer = protocol::parse(&bytes).map_err(|defect| failure(&defect.to_string()))?;
        Ok((answer, ended))
    }
}

fn answer_file(scratch: &TempDir) -> PathBuf {
    scratch.path().join("answer")
}

/// What is in a file, if there is one.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>> {
    /// Room for three million measurements.
    const MOST: u64 = 64 << 20;
    let what = || format!("cannot read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).or_fail(Exit::Benchmark, what),
    };
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).or_fail(Exit::Benchmark, what)?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::new(Exit::Benchmark, what()).because("it is larger than 64 MiB"));
    }
    Ok(Some(bytes))
}
