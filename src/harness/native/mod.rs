//! Benchmarks of `rbench-harness`: told by arguments what to do, they answer by a file.

mod protocol;

use std::{
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    slice,
    time::Duration,
};

use tempfile::TempDir;

use self::protocol::{Answer, Measured, Outcome};
use super::{
    Conditions, Executable, Harness,
    executable::{Process, ending_in_words, scratch},
};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Series, Throughput},
    process::{Ended, Invocation},
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
        let question = Question::new(Process::new(purpose, invocation, Duration::ZERO))?;
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
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let benchmarks = slice::from_ref(benchmark);
        let (question, answer, ended) = run(executable, benchmarks, asked, conditions)?;
        execution(&answer, benchmark, asked, &ended)
            .map_err(|reason| question.process.failure(&reason, &ended.output))
    }

    /// The answer is written once, after measuring: a process that dies takes all with it.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Result<Execution>>> {
        let (mut question, answer, ended) = run(executable, benchmarks, asked, conditions)?;
        let result = |benchmark| {
            execution(&answer, benchmark, asked, &ended).map_err(|reason| {
                question.process.purpose = executable.purpose_of(benchmark);
                question.process.failure(&reason, &ended.output)
            })
        };
        Ok(benchmarks.iter().map(result).collect())
    }
}

/// Runs `benchmarks` in one process.
fn run(
    executable: &Executable,
    benchmarks: &[Name],
    asked: &ExecutionRequest,
    conditions: &Conditions<'_>,
) -> Result<(Question, Answer, Ended)> {
    let count = u32::try_from(benchmarks.len()).unwrap_or(u32::MAX);
    let question = Question::new(Process::new(
        executable.purpose_of_all(benchmarks),
        executable.invocation(arguments(benchmarks, asked), Some(asked.seed), conditions),
        asked.least_time().saturating_mul(count),
    ))?;
    let (answer, ended) = question.ask(conditions)?;
    Ok((question, answer, ended))
}

/// What an answer says about one benchmark, or why that is no execution.
fn execution(
    answer: &Answer,
    benchmark: &Name,
    asked: &ExecutionRequest,
    ended: &Ended,
) -> Result<Execution, String> {
    let (throughput, measured) = only(answer, benchmark, asked)?;
    let series = Series {
        metric: Metric::wall(),
        values: per_iteration(measured),
        iterations: vec![measured.iterations; measured.times.len()],
    };
    series.defect().map_or(Ok(()), Err)?;
    Ok(Execution {
        asked: asked.clone(),
        series: vec![series],
        throughput: throughput.into_iter().collect(),
        // Nobody asks for the nanoseconds of a warm-up, and each would be kept for ever.
        warm_up: Some(Duration::from_micros(measured.warm_up / 1000)),
        resources: ended.resources.clone(),
    })
}

/// What rbench-harness calls what is asked; its `arguments.rs` reads it.
fn arguments(benchmarks: &[Name], asked: &ExecutionRequest) -> Vec<OsString> {
    let mut arguments: Vec<String> = Vec::new();
    let mut say = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    for benchmark in benchmarks {
        say("--rbench-id", benchmark.id.clone());
        if let Some(iterations) = asked.iterations {
            say("--rbench-iterations", iterations.to_string());
        }
    }
    say("--rbench-measurements", asked.measurements.to_string());
    say("--rbench-warm-up", asked.warm_up.as_nanos().to_string());
    say("--rbench-floor", asked.floor.as_nanos().to_string());
    say("--rbench-seed", asked.seed.to_string());
    arguments.into_iter().map(OsString::from).collect()
}

/// The one measured benchmark of this id, or why there is none.
fn only<'a>(
    answer: &'a Answer,
    benchmark: &Name,
    asked: &ExecutionRequest,
) -> Result<(Option<Throughput>, &'a Measured), String> {
    let records = || answer.records.iter().filter(|record| record.id == benchmark.id);
    let failed = records().find_map(|record| match &record.outcome {
        Outcome::Failed(reason) => Some(reason.clone()),
        Outcome::Skipped(reason) => Some(format!("it cannot run here: {reason}")),
        Outcome::Listed | Outcome::Measured(_) => None,
    });
    if let Some(reason) = failed {
        return Err(reason);
    }
    let record = match (&records().collect::<Vec<_>>()[..], &answer.refused) {
        ([only], None) => *only,
        (_, Some(reason)) => return Err(reason.clone()),
        ([], None) => return Err("the executable has no benchmark of this id".to_owned()),
        (several, None) => return Err(format!("{} benchmarks have this id", several.len())),
    };
    match &record.outcome {
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
        tell_where_to_answer(&mut process.invocation, &answer_file(&scratch));
        // Whoever repeats the command reads the answer.
        tell_where_to_answer(&mut process.repeated, Path::new("/dev/stdout"));
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

fn tell_where_to_answer(invocation: &mut Invocation, file: &Path) {
    let words = ["--bench", "--rbench-protocol", protocol::VERSION, "--rbench-output"];
    let told = words.into_iter().map(OsString::from).chain([file.into()]);
    invocation.arguments.splice(..0, told);
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
