//! Benchmarks of Divan, read from the table it prints.
//!
//! Divan prints no raw measurements, which it calls samples. In interleaved executions, they are derived from the clock
//! readings. Otherwise, when it takes three, its columns *fastest*, *median* and *slowest* are those three, to four
//! digits, in unknown order. With threads it takes more; then their mean counts as one measurement. Of more than three
//! samples, with or without threads, the median counts as one measurement. Divan has no warm-up: long or many samples
//! replace it.
//!
//! rbench always makes it read the clock of the operating system, its default, and never the counter of the CPU, which
//! a variable in cargo's configuration could select: both versions must be timed alike, and the preloaded clock cannot
//! replace the counter. The clock counts nanoseconds and takes tens of them to read, which is negligible in samples of
//! a millisecond.
//!
//! A benchmark with several thread counts is one benchmark for each, `ID/t=2`.

mod samples;
mod table;

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    iter, slice,
    time::Duration,
};

use cargo_metadata::semver::Version;

use self::{
    samples::{bounds, readings_per_sample},
    table::{Leaf, Row, ignored, leaves, row, unregistered},
};
use super::{
    Conditions, Executable, Harness, HarnessFacts,
    counted::{counted_by, counts_from_pairs},
    executable::{Process, measured, observed},
};
use crate::{
    error::{Error, Exit, Result},
    model::{ExecutionRequest, HarnessKind, Incident, Name, Outcome},
    process::{Output, counting::STEP, interleaving::InterleavedProcess},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divan {
    /// Its version, which determines the way it lists benchmarks.
    pub version: Version,
    /// True for CodSpeed's fork of this version, which may also read the clock before and after each sample.
    pub is_fork: bool,
}

/// Most samples whose values the table shows.
const MOST: usize = 3;

/// The reason why an interleaved execution has no more measurements than the table of Divan shows.
const UNREAD: &str =
    "the samples of Divan cannot be identified from clock readings, so only its table is used";

impl Harness for Divan {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Divan
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            takes_iterations: true,
            // It tries numbers by measuring with each. So the other costs of all measurements, for instance for inputs,
            // are seen before every execution spends them.
            tuning_measurements: None,
            can_be_profiled: |name| !has_threads(name),
            counting_allocations: (3, Some(3)),
            ..HarnessFacts::DEFAULT
        }
    }

    fn measurement_limit(&self, measurements: usize, is_interleaved: bool) -> Option<&'static str> {
        (measurements > MOST && !is_interleaved)
            .then_some("the table of Divan shows at most 3; of more samples it gives their median")
    }

    /// Covers only the measurements: Divan has no warm-up.
    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        let measurements = samples(request);
        ExecutionRequest { measurements, warm_up: Duration::ZERO, ..request.clone() }.least_time()
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        if self.version < Version::new(0, 1, 18) {
            // Its list omits arguments.
            let tree = trial(executable, None, conditions).whole_output(conditions)?;
            return Ok(names(leaves(&tree)));
        }
        let arguments = ["--list", "--format", "terse"];
        let mut invocation = executable.invocation(arguments, None, conditions);
        // It prints a list in this format only for cargo-nextest.
        invocation.variables.push(("NEXTEST".into(), "1".into()));
        let output = Process::listing(executable, invocation).whole_output(conditions)?;
        let ids = ids(&output.to_string(), &executable.target);
        let Tried { threads, without } = try_all(executable, &ids, conditions)?;
        let leaf = |id| Leaf { threads: threads.get(&id).cloned().unwrap_or_default(), id };
        let measured = ids.into_iter().filter(|id| !without.contains(id));
        Ok(names(measured.map(leaf).collect()))
    }

    fn ignored(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        Ok(ignored(&trial(executable, None, conditions).whole_output(conditions)?))
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        // The first counted sample is the warm-up.
        let is_timed = conditions.counting.is_none() && conditions.allocations.is_none();
        let samples = samples(request) + usize::from(!is_timed);
        let run = |size: Option<u64>| {
            let (arguments, work) = (arguments(benchmark, samples, size), self.least_time(request));
            let benchmarks = slice::from_ref(benchmark);
            let mut process =
                executable.execution(benchmarks, arguments, work, (request, conditions));
            if let Some(counting) = &mut process.invocation.counting {
                // It first reads the clock 21,000 times to measure the cost of a reading.
                counting.is_frugal = true;
            }
            let ended = process.run_to_success(conditions)?;
            let row = row(&ended.output, in_divan(benchmark).0)
                .map_err(|reason| process.error(&reason, &ended))?;
            Ok::<_, Error>((process, ended, row))
        };
        let (mut process, mut ended, mut row) = run(request.iterations)?;
        if request.iterations.is_none() && is_timed {
            let first = ended.resources.user + ended.resources.system;
            let mut cost = first;
            while let Some(size) = larger(request, &row, cost, first) {
                (process, ended, row) = run(Some(size))?;
                cost = ended.resources.user + ended.resources.system;
                // A program can set the size after it has parsed the flags; then no other size is possible.
                if row.iterations != size {
                    break;
                }
            }
        }
        if !is_timed && has_threads(benchmark) {
            let reason = "code that several threads execute at a time cannot be counted";
            return Ok(Outcome::Skipped(reason.to_owned()));
        }
        if let Some(counting) = conditions.counting {
            let iterations = row.iterations;
            let series = counted_by(counting, |readings| {
                let each = readings_per_sample(readings, samples, self.is_fork, STEP);
                let pairs = bounds(readings, samples, each).unwrap_or_default();
                counts_from_pairs(&pairs, iterations)
            })?;
            return Ok(Outcome::Measured(measured(request, vec![series], &ended)));
        }
        if let Some(counting) = conditions.allocations {
            let series = samples::counted(&counting.times()?, samples, &row, self.is_fork);
            let unseen =
                || process.error("its samples cannot be identified from clock readings", &ended);
            let series = series.ok_or_else(unseen)?;
            return Ok(Outcome::Measured(measured(request, vec![series], &ended)));
        }
        let readings =
            conditions.member.map(InterleavedProcess::readings).transpose()?.unwrap_or_default();
        let of_readings = samples::samples(&readings, samples, &row);
        let is_unread = conditions.member.is_some() && of_readings.is_none();
        let series = of_readings.unwrap_or_else(|| row.series(samples));
        if let Some(defect) = series.defect() {
            return Err(process.error(&defect, &ended));
        }
        let mut execution = measured(request, vec![series], &ended);
        if is_unread && execution.measurements() < samples {
            execution.incidents.push(Incident::FewerMeasurements {
                measurements: execution.measurements(),
                planned: samples,
                reason: UNREAD.to_owned(),
            });
        }
        Ok(Outcome::Measured(execution))
    }

    fn observe_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        // A test executes each once, with every number of threads.
        let mut arguments =
            ["--test", "--color", "never", "--exact", "--"].map(OsString::from).to_vec();
        arguments.extend(benchmarks.iter().map(|one| OsString::from(in_divan(one).0)));
        let process =
            executable.execution(benchmarks, arguments, Duration::ZERO, (request, conditions));
        let ended = process.run_for_list(conditions)?;
        let tested = names(leaves(&ended.output));
        let has_all = benchmarks.iter().all(|one| tested.iter().any(|other| other.id == one.id));
        Ok(observed(has_all, request, &ended))
    }
}

/// Number of samples, each as long as a measurement.
fn samples(request: &ExecutionRequest) -> usize {
    request.measurements.max(1)
}

/// A process that shows the tree of benchmarks, or one of them, with the thread counts, which are only shown by a trial
/// of each benchmark. It sets benchmarks up, but has no time for an iteration.
fn trial<'e>(
    executable: &'e Executable,
    id: Option<&str>,
    conditions: &Conditions<'_>,
) -> Process<'e> {
    let mut arguments = vec!["--test", "--max-time", "0", "--color", "never"];
    arguments.extend(id.into_iter().flat_map(|id| ["--exact", "--", id]));
    Process::listing(executable, executable.invocation(arguments, None, conditions))
}

/// Parses the list that Divan prints for cargo-nextest: `ID: benchmark`. An id begins with the name of a crate, mostly
/// that of the bench target, and the name of an argument at its end can have several lines.
fn ids(list: &str, target: &str) -> Vec<String> {
    const END: &str = ": benchmark";
    let root = |line: &str| line.split_once("::").map(|(root, _)| root.to_owned());
    let lines: Vec<&str> = list.split('\n').collect();
    let whole = lines.windows(2).filter(|pair| pair.iter().all(|line| line.ends_with(END)));
    let mut roots: HashSet<String> = whole.filter_map(|pair| root(pair[1])).collect();
    roots.insert(target.replace('-', "_"));
    let begins = |text: &str| root(text).is_some_and(|root| roots.contains(&root));
    let mut ids = Vec::new();
    let mut begun: Option<String> = None;
    for line in lines {
        let text = match begun.take() {
            Some(begun) if !begins(line) => format!("{begun}\n{line}"),
            _ => line.to_owned(),
        };
        match text.strip_suffix(END) {
            Some(id) => ids.push(id.to_owned()),
            None => begun = begins(&text).then_some(text),
        }
    }
    ids
}

#[derive(Default)]
struct Tried {
    /// The thread counts of each benchmark, empty for those with one.
    threads: HashMap<String, Vec<u32>>,
    /// The benchmarks that measure nothing.
    without: HashSet<String>,
}

/// Tries the benchmarks `ids`. One whose set-up fails ends the trial of all, so benchmarks missing from it are tried
/// one by one.
fn try_all(executable: &Executable, ids: &[String], conditions: &Conditions<'_>) -> Result<Tried> {
    let mut tried = Tried::default();
    let all = iter::once(None).chain(ids.iter().map(|id| Some(id.as_str())));
    for id in all {
        if id.is_some_and(|id| tried.threads.contains_key(id) || tried.without.contains(id)) {
            continue;
        }
        let output = match trial(executable, id, conditions).run_for_list(conditions) {
            Ok(ended) => ended.output,
            Err(error) if error.exit() != Exit::Benchmark => return Err(error),
            Err(_) => Output::default(),
        };
        tried.threads.extend(leaves(&output).into_iter().map(|leaf| (leaf.id, leaf.threads)));
        tried.without.extend(unregistered(&output));
    }
    Ok(tried)
}

/// A name for each benchmark and thread count, in a fixed order: Divan lists benchmarks in link order.
fn names(mut leaves: Vec<Leaf>) -> Vec<Name> {
    leaves.sort();
    let names = |Leaf { id, threads }: Leaf| match &threads[..] {
        [] => vec![Name::plain(id)],
        several => several.iter().map(|count| with_threads(&id, *count)).collect(),
    };
    leaves.into_iter().flat_map(names).collect()
}

fn with_threads(id: &str, count: u32) -> Name {
    Name {
        id: format!("{id}/t={count}"),
        group: None,
        function: Some(id.to_owned()),
        parameter: Some(format!("t={count}")),
    }
}

pub fn has_threads(name: &Name) -> bool {
    in_divan(name).1.is_some_and(|threads| threads != "1")
}

/// Divan's name of a benchmark, and its thread count if it has several.
fn in_divan(name: &Name) -> (&str, Option<&str>) {
    let parts = name.function.as_deref().zip(name.parameter.as_deref());
    match parts.map(|(id, parameter)| (id, parameter.strip_prefix("t="))) {
        Some((id, Some(count))) => (id, Some(count)),
        _ => (&name.id, None),
    }
}

/// The iterations to try next, so that every measurement lasts as long as requested; none when it does, or when more
/// would cost too much. The process for `row` used `cost` of CPU time, the first one `first`.
///
/// Divan creates all inputs of a measurement before it, and they may cost far more time and memory than the measured
/// code. So iterations grow step by step, and stop growing once the cost shows.
fn larger(request: &ExecutionRequest, row: &Row, cost: Duration, first: Duration) -> Option<u64> {
    const STEP: u32 = 4;
    let (wanted, has) = (row.iterations_for(request.min_time), row.iterations);
    // Nearly enough suffices: the next trial would again give a number that is nearly enough.
    let is_enough = has.saturating_mul(5) >= wanted.saturating_mul(4);
    let affordable = request.least_time().saturating_mul(10).saturating_add(Duration::from_secs(1));
    let next_costs = cost.saturating_sub(first).saturating_mul(STEP);
    let too_long = first > affordable || next_costs > affordable;
    (!is_enough && !too_long).then(|| wanted.min(has.saturating_mul(STEP.into())))
}

/// The arguments for one benchmark. Flags override the benchmark's attributes and variables.
fn arguments(benchmark: &Name, samples: usize, size: Option<u64>) -> Vec<OsString> {
    let (id, threads) = in_divan(benchmark);
    let mut arguments =
        ["--bench", "--color", "never", "--timer", "os"].map(str::to_owned).to_vec();
    arguments.extend(["--sample-count".to_owned(), samples.to_string()]);
    if let Some(size) = size {
        // The number may have been tuned for another harness, which accepts more than 32 bits.
        let size = size.min(u32::MAX.into());
        arguments.extend(["--sample-size".to_owned(), size.to_string()]);
    }
    if let Some(threads) = threads {
        arguments.extend(["--threads".to_owned(), threads.to_owned()]);
    }
    // Otherwise Divan takes more samples to fill a time, or fewer to stay within one.
    arguments
        .extend(["--min-time", "0", "--max-time", "1000000", "--exact", "--"].map(str::to_owned));
    arguments.push(id.to_owned());
    arguments.into_iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::{table::row_of, *};
    use crate::model::testing::request;

    #[test]
    fn least_time_is_that_of_the_requested_samples() {
        let divan = Divan { version: Version::new(0, 1, 21), is_fork: false };
        let least = |measurements| {
            divan.least_time(&ExecutionRequest { measurements, ..request() }).as_millis()
        };
        assert_eq!([0, 1, 3, 10].map(least), [5, 5, 15, 50]);
    }

    #[test]
    fn measurement_limit_is_three_unless_interleaved() {
        let divan = Divan { version: Version::new(0, 1, 21), is_fork: false };
        assert_eq!(divan.measurement_limit(3, false), None);
        assert_eq!(divan.measurement_limit(4, true), None);
        assert!(
            divan
                .measurement_limit(4, false)
                .unwrap()
                .ends_with("of more samples it gives their median")
        );
    }

    #[test]
    fn arguments_select_the_os_clock_and_32_bit_numbers() {
        let arguments = arguments(&Name::plain("a"), 50, Some(u64::MAX));
        assert_eq!(
            arguments.join(" ".as_ref()),
            "--bench --color never --timer os --sample-count 50 --sample-size 4294967295 \
             --min-time 0 --max-time 1000000 --exact -- a"
        );
    }

    fn after(iterations: u64, cost: Duration) -> Option<u64> {
        let request = ExecutionRequest {
            measurements: 3,
            warm_up: Duration::ZERO,
            min_time: Duration::from_micros(100),
            iterations: None,
            seed: 0,
        };
        larger(&request, &row_of(100.0, iterations), cost, Duration::from_millis(300))
    }

    #[test]
    fn iterations_grow_by_steps_up_to_the_requested_time() {
        let quick = Duration::from_millis(301);
        assert_eq!(after(20, quick), Some(80));
        assert_eq!(after(320, quick), Some(1000));
        assert_eq!(after(800, quick), None);
    }

    #[test]
    fn iterations_with_expensive_inputs_do_not_grow() {
        assert_eq!(after(20, Duration::from_millis(500)), Some(80));
        assert_eq!(after(20, Duration::from_millis(600)), None);
    }

    #[test]
    fn each_thread_count_is_a_benchmark_with_a_flag() {
        let leaf = |id: &str, threads: &[u32]| Leaf { id: id.into(), threads: threads.to_vec() };
        let names = names(vec![leaf("b", &[1, 2, 16]), leaf("a", &[])]);
        let ids: Vec<_> = names.iter().map(|name| name.id.as_str()).collect();
        assert_eq!(ids, ["a", "b/t=1", "b/t=2", "b/t=16"]);
        let line = |name| arguments(name, 3, None).join(" ".as_ref()).into_string().unwrap();
        assert!(
            line(&names[3]).ends_with(" --threads 16 --min-time 0 --max-time 1000000 --exact -- b")
        );
        assert!(!line(&names[0]).contains("--threads"));
    }

    #[test]
    fn listed_ids_can_have_several_lines() {
        let list = "starting\nodd_one::arg::a\nb: benchmark\nodd_one::arg::c::d: benchmark\n\
                    other::x: benchmark\nother::y::1\n\n 2: benchmark\nodd_one::arg::: benchmark\n\
                    odd_one::arg::x: benchmark: benchmark\ndone\n";
        let expected = [
            "odd_one::arg::a\nb",
            "odd_one::arg::c::d",
            "other::x",
            "other::y::1\n\n 2",
            "odd_one::arg::",
            "odd_one::arg::x: benchmark",
        ];
        assert_eq!(ids(list, "odd-one"), expected);
    }

    #[test]
    fn plain_id_that_looks_like_threads_is_unchanged() {
        assert_eq!(in_divan(&Name::plain("b/t=2")), ("b/t=2", None));
    }
}
