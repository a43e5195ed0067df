//! Benchmarks of `rbench-harness`: they get their settings as arguments, and write results to a file.

mod protocol;

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    slice,
    time::Duration,
};

use self::protocol::{Answer, Measured};
use super::{
    Conditions, Executable, Harness, HarnessFacts,
    counted::Clock,
    executable::{
        NO_SUCH_ID, Process, measured, observed, printable_lines, several_have_this_id,
        unsuccessful,
    },
};
use crate::{
    error::Result,
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Outcome, Series},
    process::{Ended, Invocation, Scratch},
    secrets,
};

/// The harness for `rbench-harness`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Harness for Native {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Native
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            takes_iterations: true,
            tuning_measurements: Some(1),
            executes_together: true,
            counting_allocations: (3, Some(3)),
            ..HarnessFacts::DEFAULT
        }
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let invocation = executable.invocation(["--list"], None, conditions);
        let query = Query::new(Process::listing(executable, invocation))?;
        let (answer, ended) = query.run(conditions)?;
        match answer.refused {
            // The harness rejects a duplicate id but lists it all the same: executing it gives the reason.
            None => Ok(answer.records.into_iter().map(|record| Name::plain(record.id)).collect()),
            Some(reason) => Err(query.process.error(&printable_lines(&reason), &ended)),
        }
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        let query = Query::execution(executable, slice::from_ref(benchmark), request, conditions)?;
        let (answer, ended) = query.run(conditions)?;
        outcome(&answer, benchmark, request, (&ended, Clock::new(conditions)))
            .map_err(|reason| query.process.error(&reason, &ended))
    }

    /// The answer is written once, after measuring: if the process dies, the results of all benchmarks are lost.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let query = Query::execution(executable, benchmarks, request, conditions)?;
        let (answer, ended) = query.run(conditions)?;
        let result = |benchmark| {
            outcome(&answer, benchmark, request, (&ended, Clock::new(conditions)))
                .map_err(|reason| query.process.error_of(benchmark, &reason, &ended))
        };
        Ok(benchmarks.iter().map(result).collect())
    }

    fn observe_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        let once = ExecutionRequest { measurements: 1, iterations: Some(1), ..request.clone() };
        let query = Query::execution(executable, benchmarks, &once, conditions)?;
        let (answer, ended) = query.run(conditions)?;
        let is_executed = |one: &Name| {
            let outcome = outcome(&answer, one, &once, (&ended, Clock::new(conditions)));
            matches!(outcome, Ok(Outcome::Measured(_)))
        };
        Ok(observed(benchmarks.iter().all(is_executed), &once, &ended))
    }
}

/// A process that writes its answer to a file in its own directory.
struct Query<'e> {
    process: Process<'e>,
    scratch: Scratch,
}

impl<'e> Query<'e> {
    fn execution(
        executable: &'e Executable,
        benchmarks: &'e [Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Self> {
        let arguments = arguments(benchmarks, request);
        let work = request.least_time();
        Self::new(executable.execution(benchmarks, arguments, work, (request, conditions)))
    }

    /// Adds the answer's path to the arguments of `process`.
    fn new(mut process: Process<'e>) -> Result<Self> {
        let scratch = Scratch::new()?;
        add_answer_file(&mut process.invocation, &answer_file(&scratch));
        // A user who types the command reads the answer.
        add_answer_file(&mut process.typed, Path::new("/dev/stdout"));
        Ok(Self { process, scratch })
    }

    fn run(&self, conditions: &Conditions<'_>) -> Result<(Answer, Ended)> {
        let ended = self.process.run(conditions)?;
        let error = |reason: &str| self.process.error(reason, &ended);
        let answer = read_bounded(&answer_file(&self.scratch));
        let Some(bytes) = answer.map_err(|reason| error(&reason))? else {
            self.scratch.check()?;
            let reason = unsuccessful(ended.ending);
            return Err(error(
                &reason.unwrap_or_else(|| "it exited with success but wrote no result".to_owned()),
            ));
        };
        let answer = protocol::parse(&bytes).map_err(|defect| error(&defect.to_string()))?;
        Ok((answer, ended))
    }
}

fn add_answer_file(invocation: &mut Invocation, file: &Path) {
    let words = ["--bench", "--rbench-protocol", protocol::VERSION, "--rbench-output"];
    let arguments = words.into_iter().map(OsString::from).chain([file.into()]);
    invocation.arguments.splice(..0, arguments);
}

fn answer_file(scratch: &Scratch) -> PathBuf {
    scratch.path().join("answer")
}

/// The content of the answer's file, if it exists; else the reason why it cannot be read. A benchmark may have put
/// anything there: opening a pipe would wait for its writer for ever.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, String> {
    /// Enough for three million measurements, in bytes.
    const MOST: u64 = 64 << 20;
    let unreadable = |error: std::io::Error| format!("its answer cannot be read: {error}");
    let careful = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = match OpenOptions::new().read(true).custom_flags(careful).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("its answer is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST {
        return Err("its answer is larger than 64 MiB".to_owned());
    }
    Ok(Some(secrets::redactor().redact(&bytes)))
}

/// The request as arguments of rbench-harness, which its `arguments.rs` parses.
fn arguments(benchmarks: &[Name], request: &ExecutionRequest) -> Vec<OsString> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    for benchmark in benchmarks {
        add("--rbench-id", benchmark.id.clone());
        if let Some(iterations) = request.iterations {
            add("--rbench-iterations", iterations.to_string());
        }
    }
    add("--rbench-measurements", request.measurements.to_string());
    add("--rbench-warm-up", request.warm_up.as_nanos().to_string());
    add("--rbench-floor", request.min_time.as_nanos().to_string());
    add("--rbench-seed", request.seed.to_string());
    arguments.into_iter().map(OsString::from).collect()
}

/// The outcome of one benchmark in an answer, or the reason why it is not an execution.
fn outcome(
    answer: &Answer,
    benchmark: &Name,
    request: &ExecutionRequest,
    (ended, clock): (&Ended, Clock),
) -> Result<Outcome, String> {
    let records = || answer.records.iter().filter(|record| record.id == benchmark.id);
    let failed = records().find_map(|record| match &record.outcome {
        protocol::Outcome::Failed(reason) => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = failed.or_else(|| answer.refused.clone()) {
        return Err(printable_lines(&reason));
    }
    let record = match &records().collect::<Vec<_>>()[..] {
        [only] => *only,
        [] => return Err(NO_SUCH_ID.to_owned()),
        several => return Err(several_have_this_id(several.len())),
    };
    match &record.outcome {
        protocol::Outcome::Measured(times) => Ok(Outcome::Measured(Execution {
            throughput: record.throughput.into_iter().collect(),
            // The nanoseconds of a warm-up are useless, and would be stored for ever.
            warm_up: Some(Duration::from_micros(times.warm_up / 1000)),
            ..measured(request, vec![series(times, request, (ended, clock))?], ended)
        })),
        protocol::Outcome::Skipped(reason) => Ok(Outcome::Skipped(printable_lines(reason))),
        _ => Err("it gave no measurement".to_owned()),
    }
}

/// The measurements, or the reason why the process cannot have taken them.
fn series(
    measured: &Measured,
    request: &ExecutionRequest,
    (ended, clock): (&Ended, Clock),
) -> Result<Series, String> {
    let Measured { iterations, times, .. } = measured;
    let (came, requested) = (times.len(), request.measurements);
    if came != requested {
        return Err(format!("it gave {came} measurements instead of {requested}"));
    }
    if let Some(requested) = request.iterations.filter(|requested| requested != iterations) {
        return Err(format!("it ran {iterations} iterations instead of {requested}"));
    }
    let value = |time: &u64| *time as f64 / *iterations as f64;
    let series = Series {
        metric: Metric::wall(),
        values: times.iter().map(value).collect(),
        iterations: vec![*iterations; came],
        // The clock counts nanoseconds, and its resolution over thousands of iterations is far below any value.
        resolution: 1.0 / *iterations as f64,
    };
    if !clock.is_real() {
        return Ok(clock.counted(series));
    }
    match series.defect().or_else(|| implausible(&series, ended.resources.wall)) {
        Some(defect) => Err(defect),
        None => Ok(series),
    }
}

/// The reason why a process that took `wall` cannot have taken these measurements one after the other.
fn implausible(series: &Series, wall: Duration) -> Option<String> {
    /// In ns per iteration; no CPU does a thousand iterations in a nanosecond.
    const FASTEST: f64 = 0.001;
    /// The process's time is stored in whole microseconds.
    const ERROR: Duration = Duration::from_micros(1);
    if let Some(value) = series.values.iter().find(|value| **value < FASTEST) {
        return Some(format!("it gave {value:e} ns for an iteration, which no CPU can do"));
    }
    let totals = series.values.iter().zip(&series.iterations);
    let measured = totals.map(|(value, iterations)| value * *iterations as f64).sum::<f64>() / 1e9;
    let wall = wall.saturating_add(ERROR).as_secs_f64();
    (measured > wall)
        .then(|| format!("it gave measurements of {measured:.1} s in all, but ran for {wall:.1} s"))
}

#[cfg(test)]
mod tests {
    use super::{protocol::Record, *};
    use crate::{
        model::testing,
        process::{Ending, Output},
    };

    fn series_from(values: &[f64], iterations: u64) -> Series {
        Series {
            metric: Metric::wall(),
            values: values.to_vec(),
            iterations: vec![iterations; values.len()],
            resolution: 0.0,
        }
    }

    #[test]
    fn answer_is_a_regular_file_of_bounded_size() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        assert_eq!(read_bounded(&at("none")), Ok(None));
        std::fs::write(at("answer"), "text").unwrap();
        assert_eq!(read_bounded(&at("answer")), Ok(Some(b"text".to_vec())));
        std::fs::File::create(at("large")).unwrap().set_len((64 << 20) + 1).unwrap();
        assert_eq!(read_bounded(&at("large")).unwrap_err(), "its answer is larger than 64 MiB");
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        for name in ["pipe", "directory"] {
            assert_eq!(read_bounded(&at(name)).unwrap_err(), "its answer is no regular file");
        }
        std::os::unix::fs::symlink(at("answer"), at("link")).unwrap();
        assert!(read_bounded(&at("link")).unwrap_err().starts_with("its answer cannot be read"));
    }

    #[test]
    fn reason_is_cut_in_length() {
        let long = || "what a loop printed\n".repeat(100_000);
        let of = |found: Option<protocol::Outcome>, refused: Option<String>| {
            let record = |outcome| Record { id: "a".to_owned(), throughput: None, outcome };
            let records = found.into_iter().map(record).collect();
            let answer = Answer { records, refused };
            let ended = Ended {
                ending: Ending::Exited(0),
                resources: testing::resources(),
                output: Output::default(),
                left_behind: Vec::new(),
            };
            outcome(&answer, &Name::plain("a"), &testing::request(), (&ended, Clock::Real))
        };
        let failed = of(Some(protocol::Outcome::Failed(long())), None).unwrap_err();
        let refused = of(None, Some(long())).unwrap_err();
        let skipped = of(Some(protocol::Outcome::Skipped(long())), None);
        let Ok(Outcome::Skipped(skipped)) = skipped else { panic!("it is skipped") };
        for reason in [failed, refused, skipped] {
            assert_eq!(reason.lines().count(), 21);
            assert!(reason.starts_with("what a loop printed\n") && reason.ends_with("\n…"));
        }
    }

    #[test]
    fn measurements_longer_than_the_process_are_implausible() {
        let wall = Duration::from_secs(4);
        assert_eq!(implausible(&series_from(&[1e9, 2.9e9], 1), wall), None);
        let reason = implausible(&series_from(&[18_446_744_073.7e9], 1), wall).unwrap();
        assert_eq!(reason, "it gave measurements of 18446744073.7 s in all, but ran for 4.0 s");
        assert!(implausible(&series_from(&[1e9; 5], 1), wall).unwrap().contains("of 5.0 s in all"));
    }

    #[test]
    fn iterations_faster_than_any_cpu_are_implausible() {
        let value = 4e9 / 2_f64.powi(64);
        let reason = implausible(&series_from(&[value], u64::MAX), Duration::from_secs(4)).unwrap();
        assert!(reason.contains("which no CPU can do"), "{reason}");
        assert_eq!(implausible(&series_from(&[0.2], 1 << 40), Duration::from_secs(4000)), None);
    }
}
