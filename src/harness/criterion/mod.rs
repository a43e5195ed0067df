//! Benchmarks of Criterion.rs 0.3.3 and later, over the protocol for cargo-criterion: raw measurements, without the
//! plots, bootstraps and files of Criterion.rs.
//!
//! 0.3.3, 0.3.4, 0.3.5, 0.3.6, 0.4.0, 0.5.1 and 0.8.2 were tried and connect. Versions that do not connect (0.3.0 to
//! 0.3.2) fail with that reason; Criterion.rs's files are not read instead.

mod message;
mod runner;

use std::{
    ffi::OsString,
    fmt, slice,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cargo_metadata::semver::Version;

use self::{
    message::Complete,
    runner::{Ends, Groups, Received, Runner},
};
use super::{
    Conditions, Executable, Harness, HarnessFacts,
    counted::Clock,
    executable::{
        NO_SUCH_ID, Process, incidents, measured, observed, several_have_this_id, unsuccessful,
    },
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{
        Execution, ExecutionRequest, HarnessKind, Incident, Metric, Name, Outcome, Series, Unit,
    },
    process::{Ended, Ending, Output, Scratch, counting::STEP, is_from_child, trace::RUNNER_PORT},
};

pub struct Criterion {
    /// Its version, which determines the supported command line.
    version: Version,
    groups: Mutex<KnownGroups>,
}

#[derive(Default)]
enum KnownGroups {
    #[default]
    Unknown,
    Known(Groups),
    /// They differ between executions.
    Varying,
}

impl Criterion {
    /// Creates the harness of a bench target.
    pub fn new(version: Version) -> Self {
        Self { version, groups: Mutex::default() }
    }
}

impl fmt::Debug for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Criterion").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Matches no id, as an id is never empty.
const NOTHING: &str = "^$";

/// The request of an execution whose measurements do not matter.
const SHORTEST: ExecutionRequest = ExecutionRequest {
    measurements: FEWEST,
    warm_up: Duration::from_millis(1),
    min_time: Duration::from_millis(1),
    iterations: None,
    seed: 0,
};

/// Criterion.rs rejects fewer measurements.
const FEWEST: usize = 10;

impl Harness for Criterion {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Criterion
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            executes_together: true,
            may_ask_for_time: true,
            sets_up_each_measurement: true,
            // Ten samples of 1, 2, … 10 iterations: the clock advances by one to three steps while it warms up, and up
            // to 3.6 steps give linear sampling.
            counting_instructions: (FEWEST, Duration::from_nanos(10 * STEP.unsigned_abs())),
            counting_allocations: (FEWEST, None),
            ..HarnessFacts::DEFAULT
        }
    }

    fn measurement_limit(&self, measurements: usize, _: bool) -> Option<&'static str> {
        (measurements < FEWEST).then_some("Criterion.rs takes at least 10")
    }

    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        let [warm_up, measuring] = self.times(request);
        warm_up.saturating_add(measuring) / self.speed(request)
    }

    /// Runs benchmarks with a filter that matches none, and collects the excluded ones: unlike with `--list`, names
    /// come in their parts and are not cut at 100 bytes.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let (names, rest) = self.list_partly(executable, conditions)?;
        rest.map_or(Ok(names), Err)
    }

    fn list_partly(
        &self,
        executable: &Executable,
        conditions: &Conditions<'_>,
    ) -> Result<(Vec<Name>, Option<Error>)> {
        let arguments = ["--bench", NOTHING].map(OsString::from).to_vec();
        let invocation = executable.invocation(arguments, None, conditions);
        let mut run = Run::start(Process::listing(executable, invocation), conditions, true, None)?;
        self.learn_groups(&run);
        let Some(mut reason) = self.problem(&run) else { return Ok((run.received.skipped, None)) };
        if run.received.begun {
            reason = run.received.problem.unwrap_or(reason);
            // It panics because rbench does not answer.
            run.ended.output = Output::default();
            return Err(run.process.error(&reason, &run.ended).hint(
                "add .configure_from_args() to Criterion::default(), or use criterion_main!",
            ));
        }
        let error = run.process.error(&reason, &run.ended);
        let names = run.received.skipped;
        let Some(first) = names.first() else { return Err(error) };
        // Its own code may need the results of a benchmark, and works when one is executed.
        let again = self.run(executable, slice::from_ref(first), &SHORTEST, conditions)?;
        let is_whole = self.problem(&again).is_none()
            && again.received.skipped.len() + again.received.completed.len() == names.len();
        Ok((names, (!is_whole).then_some(error)))
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        let benchmarks = slice::from_ref(benchmark);
        let run = self.run(executable, benchmarks, request, conditions)?;
        self.outcome(&run, benchmark, request)
            .map_err(|reason| run.process.error(&reason, &run.ended))
    }

    /// If the process dies, its remaining benchmarks are not measured.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let run = self.run(executable, benchmarks, request, conditions)?;
        let result = |benchmark| {
            self.outcome(&run, benchmark, request)
                .map_err(|reason| run.process.error_of(benchmark, &reason, &run.ended))
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
        // A test executes each once, whatever times its group sets.
        let mut arguments = vec!["--test".into()];
        arguments.extend(self.arguments(benchmarks, request));
        let mut process =
            executable.execution(benchmarks, arguments, Duration::ZERO, (request, conditions));
        let scratch = Scratch::new()?;
        process.invocation.variables.push(("CRITERION_HOME".into(), scratch.path().into()));
        let ended = process.run_for_list(conditions)?;
        let output = ended.output.to_string();
        let tested = output.lines().filter(|line| line.starts_with("Testing ")).count();
        Ok(observed(tested == benchmarks.len(), request, &ended))
    }
}

/// An ended process, with the messages from its connection.
struct Run<'e> {
    process: Process<'e>,
    ended: Ended,
    received: Received,
    incidents: Vec<Incident>,
    /// The quantity that its clock showed.
    clock: Clock<'e>,
    /// True if its clock could run faster during the warm-up.
    is_hurried: bool,
}

impl<'e> Run<'e> {
    /// Runs a process with its own runner to the end.
    fn start(
        mut process: Process<'e>,
        conditions: &Conditions<'e>,
        only_lists: bool,
        expected: Option<Ends>,
    ) -> Result<Self> {
        let scratch = Scratch::new()?;
        let runner = Runner::start(is_from_child, only_lists, expected)
            .context(Exit::Internal, || "cannot listen for messages of Criterion.rs")?;
        // Files that it may still write must not appear in the user's target directory.
        let home = || ("CRITERION_HOME".into(), scratch.path().into());
        // A typed command has no runner that listens.
        process.typed.variables.push(home());
        let port = runner.port().to_string();
        process.invocation.variables.extend([home(), (RUNNER_PORT.into(), port.into())]);
        let ended = process.run(conditions);
        let received = runner.finish();
        let ended = ended?;
        let clock = Clock::new(conditions);
        let is_hurried = conditions.member.is_some();
        Ok(Self { incidents: incidents(&ended), process, ended, received, clock, is_hurried })
    }

    /// True if Criterion.rs printed its results instead of sending them: it does so when its connection is lost before
    /// it has started.
    fn fell_back(&self) -> bool {
        self.ended.ending == Ending::Exited(0)
            && !self.received.connected
            && self.ended.output.to_string().contains("time:   [")
    }
}

impl Criterion {
    /// Runs `benchmarks` in one process. Retries once in another process if the first one sent no results, although
    /// this version of Criterion.rs should.
    fn run<'e>(
        &self,
        executable: &'e Executable,
        benchmarks: &'e [Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'e>,
    ) -> Result<Run<'e>> {
        if let Some(process) = conditions.member {
            process.hurry_warm_ups(self.speed(request))?;
        }
        let process = || {
            let (arguments, work) = (self.arguments(benchmarks, request), self.least_time(request));
            executable.execution(benchmarks, arguments, work, (request, conditions))
        };
        let expected = match benchmarks {
            [only] => self.expected_ends(&only.id),
            _ => None,
        };
        let run = Run::start(process(), conditions, false, expected)?;
        let reason = if run.received.is_unexpected {
            *self.known_groups() = KnownGroups::Varying;
            "the groups of its benchmarks were not those of its earlier executions"
        } else if run.fell_back() && self.version >= Version::new(0, 3, 3) {
            "Criterion.rs printed its results instead of sending them"
        } else {
            self.learn_groups(&run);
            return Ok(run);
        };
        let mut again = Run::start(process(), conditions, false, None)?;
        again.incidents.push(Incident::Repeated(reason.to_owned()));
        Ok(again)
    }

    fn known_groups(&self) -> MutexGuard<'_, KnownGroups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the groups of a process that came to its end, unless they are known.
    fn learn_groups(&self, run: &Run<'_>) {
        let mut known = self.known_groups();
        if matches!(*known, KnownGroups::Unknown) && self.problem(run).is_none() {
            *known = KnownGroups::Known(run.received.groups.clone());
        }
    }

    /// The ends of groups at which a process that executes only this benchmark will wait.
    fn expected_ends(&self, id: &str) -> Option<Ends> {
        match &*self.known_groups() {
            KnownGroups::Known(groups) => groups.around(id),
            KnownGroups::Unknown | KnownGroups::Varying => None,
        }
    }

    /// The outcome of one benchmark, or the reason why it is not an execution. A complete measurement counts, even if
    /// the process fails afterwards.
    fn outcome(
        &self,
        run: &Run<'_>,
        benchmark: &Name,
        request: &ExecutionRequest,
    ) -> Result<Outcome, String> {
        let completed =
            run.received.completed.iter().filter(|(complete, ..)| complete.name.id == benchmark.id);
        let (complete, unit, one) = match &completed.collect::<Vec<_>>()[..] {
            [only] => *only,
            [] => return Err(self.why_unmeasured(run)),
            several => return Err(several_have_this_id(several.len())),
        };
        let series = series(complete, unit, *one)?;
        let series = run.clock.counted(series);
        if let Some(reason) = series.defect() {
            return Err(reason);
        }
        if let Some(reason) = too_many_iterations(&series, run.ended.resources.wall) {
            return Err(reason);
        }
        if let Some(reason) = constant_time(&series).filter(|_| run.clock.is_real()) {
            return Err(reason);
        }
        let speed = if run.is_hurried { self.speed(request) } else { 1 };
        Ok(Outcome::Measured(Execution {
            throughput: complete.throughput.clone(),
            warm_up: Some(complete.warm_up / speed),
            incidents: run.incidents.clone(),
            ..measured(request, vec![series], &run.ended)
        }))
    }

    fn why_unmeasured(&self, run: &Run<'_>) -> String {
        self.problem(run).unwrap_or_else(|| {
            let reason =
                if run.received.begun { "it ended without a measurement" } else { NO_SUCH_ID };
            reason.to_owned()
        })
    }

    fn problem(&self, run: &Run<'_>) -> Option<String> {
        let Run { ended, received, .. } = run;
        unsuccessful(ended.ending).or_else(|| received.problem.clone()).or_else(|| {
            (!received.connected).then(|| {
                let version = &self.version;
                let refused = match received.refused {
                    0 => String::new(),
                    count => format!(" ({count} connections of other processes were refused)"),
                };
                format!(
                    "Criterion.rs {version} did not connect to rbench{refused}; 0.3.3 and later do, where \
                     the name localhost is known"
                )
            })
        })
    }

    /// True for versions that take times in whole seconds and have no `--exact`.
    const fn is_before_0_5(&self) -> bool {
        self.version.major == 0 && self.version.minor < 5
    }

    /// Warm-up time, and the time of all measurements together, as the command line has them.
    fn times(&self, request: &ExecutionRequest) -> [Duration; 2] {
        [request.warm_up, request.measuring_time()].map(|time| self.possible(time))
    }

    /// The factor between the time on the command line, which versions with whole seconds round up, and the requested
    /// one: the process shall be as many times faster. See [`hurry_warm_ups`](crate::process::interleaving::InterleavedProcess::hurry_warm_ups).
    fn speed(&self, request: &ExecutionRequest) -> u32 {
        let [_, given] = self.times(request).map(|time| time.as_nanos());
        let requested = request.measuring_time().as_nanos();
        u32::try_from(given / requested.max(1_000_000)).unwrap_or(u32::MAX).max(1)
    }

    /// The arguments that run exactly `benchmarks`. The request sets the defaults, which a group's own settings
    /// override.
    fn arguments(&self, benchmarks: &[Name], request: &ExecutionRequest) -> Vec<OsString> {
        let [warm_up, measuring] = self.times(request).map(|time| time.as_secs_f64().to_string());
        let mut arguments = vec![
            "--bench".to_owned(),
            "--sample-size".to_owned(),
            request.measurements.max(FEWEST).to_string(),
            "--warm-up-time".to_owned(),
            warm_up,
            "--measurement-time".to_owned(),
            measuring,
        ];
        match benchmarks {
            [only] if !self.is_before_0_5() => {
                arguments.extend(["--exact".to_owned(), "--".to_owned(), only.id.clone()]);
            }
            several => {
                let ids: Vec<_> = several.iter().map(|name| regex::escape(&name.id)).collect();
                arguments.extend(["--".to_owned(), format!("^({})$", ids.join("|"))]);
            }
        }
        arguments.into_iter().map(OsString::from).collect()
    }

    /// Rounds a time to one that the command line accepts: more than zero, and in whole seconds before 0.5.
    fn possible(&self, time: Duration) -> Duration {
        let time = time.max(Duration::from_millis(1));
        if self.is_before_0_5() {
            Duration::from_secs(time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)))
        } else {
            time
        }
    }
}

/// The measurements of a benchmark, in the unit that Criterion.rs reports.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn series(complete: &Complete, unit: &str, one: f64) -> Result<Series, String> {
    let metric = match unit {
        "ns" => Metric::wall(),
        "cycles" => Metric::cycles(),
        "instructions" => Metric::instructions(),
        "bytes" => Metric::bytes(),
        other => return Err(format!("it measures in `{other}`, which rbench does not support")),
    };
    let values = complete.values.iter().zip(&complete.iterations);
    let fewest = complete.iterations.iter().copied().fold(f64::INFINITY, f64::min);
    let series = Series {
        // Times are measured in whole nanoseconds.
        resolution: if metric.unit == Unit::Nanoseconds { fewest.recip() } else { 0.0 },
        metric,
        values: values.map(|(value, iterations)| value * one / iterations).collect(),
        iterations: complete.iterations.iter().map(|iterations| *iterations as u64).collect(),
    };
    let came = series.values.len() as u64;
    if came != complete.sample_size || came != series.iterations.len() as u64 {
        return Err(format!("it gave {came} measurements instead of {}", complete.sample_size));
    }
    series.defect().map_or(Ok(series), Err)
}

/// The reason why times cannot be those of their iterations: they are the same for few and for many. The time of one
/// iteration would only depend on how many iterations Criterion.rs chooses.
fn constant_time(series: &Series) -> Option<String> {
    /// Iterations differ by at least this factor where it can be seen.
    const MORE: f64 = 4.0;
    /// Times that differ by less do not depend on the iterations, however noisy they are.
    const SAME: f64 = 2.0;
    if series.metric != Metric::wall() {
        return None;
    }
    let all = || series.values.iter().zip(&series.iterations);
    let iterations = || all().map(|(_, iterations)| *iterations as f64);
    let times = || all().map(|(value, iterations)| value * *iterations as f64);
    let least = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::INFINITY, f64::min);
    let most = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
    let [fewest, shortest] = [least(&mut iterations()), least(&mut times())];
    let [many, longest] = [most(&mut iterations()), most(&mut times())];
    (many >= MORE * fewest && longest < SAME * shortest).then(|| {
        format!(
            "its time does not grow with its iterations: {many} iterations take {longest:.0} ns, and \
             {fewest} take {shortest:.0} ns; `iter_custom` must return the time of all iterations"
        )
    })
}

/// The reason why a process that took `wall` cannot have run the iterations of its measurements. Only iterations are
/// checked: a benchmark may time itself, and report other times than those that passed.
fn too_many_iterations(series: &Series, wall: Duration) -> Option<String> {
    /// More than any CPU can do.
    const MOST_IN_A_NANOSECOND: f64 = 1000.0;
    let all: f64 = series.iterations.iter().map(|iterations| *iterations as f64).sum();
    let wall = wall.as_secs_f64();
    (all > wall * 1e9 * MOST_IN_A_NANOSECOND)
        .then(|| format!("it gave {all:e} iterations in {wall:.1} s, which no CPU can do"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(minor: u64) -> Criterion {
        Criterion::new(Version::new(0, minor, 3))
    }

    fn request(measurements: usize) -> ExecutionRequest {
        ExecutionRequest {
            measurements,
            warm_up: Duration::from_millis(1200),
            min_time: Duration::from_millis(5),
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
    fn command_line_fits_each_version() {
        let benchmark = Name::plain("-a.b/(1)");
        assert_eq!(
            version(5).arguments(slice::from_ref(&benchmark), &request(30)),
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
            version(3).arguments(slice::from_ref(&benchmark), &request(3)),
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
    fn versions_with_whole_seconds_take_no_longer_than_requested() {
        let usual = ExecutionRequest {
            measurements: 80,
            warm_up: Duration::from_millis(10),
            min_time: Duration::from_millis(1),
            ..request(3)
        };
        // A second of each, twelve times faster.
        assert_eq!((version(4).speed(&usual), version(5).speed(&usual)), (12, 1));
        assert_eq!(version(4).least_time(&usual), Duration::from_secs(2) / 12);
        assert_eq!(version(5).least_time(&usual), Duration::from_millis(90));
        let long = ExecutionRequest { min_time: Duration::from_millis(20), ..usual };
        assert_eq!((version(4).speed(&long), version(4).times(&long)[1].as_secs()), (1, 2));
    }

    #[test]
    fn series_has_values_per_iteration() {
        let series = series(&complete(&[10.0, 30.0], &[1.0, 2.0]), "ns", 1.0).unwrap();
        assert_eq!(series.values, [10.0, 15.0]);
        assert_eq!(series.iterations, [1, 2]);
        assert_eq!(series.resolution.to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn constant_time_of_growing_iterations_is_refused() {
        let of = |values: &[f64], iterations: &[f64]| {
            constant_time(&series(&complete(values, iterations), "ns", 1.0).unwrap())
        };
        let reason = of(&[1000.0, 1010.0], &[1.0, 10.0]).unwrap();
        assert!(reason.contains("10 iterations take 1010 ns, and 1 take 1000 ns"), "{reason}");
        assert_eq!(of(&[1000.0, 10_000.0], &[1.0, 10.0]), None);
        assert_eq!(of(&[5000.0, 10_000.0], &[1.0, 10.0]), None, "an interruption");
        assert_eq!(of(&[1000.0, 1010.0], &[7.0, 7.0]), None, "flat sampling");
        let cycles = series(&complete(&[7.0, 7.0], &[1.0, 10.0]), "cycles", 1.0).unwrap();
        assert_eq!(constant_time(&cycles), None);
    }

    #[test]
    fn impossible_iterations_are_refused_but_not_custom_times() {
        let reason = |values: [f64; 2], iterations: [f64; 2]| {
            let series = series(&complete(&values, &iterations), "ns", 1.0).unwrap();
            too_many_iterations(&series, Duration::from_millis(200))
        };
        let refused = reason([1.8e25, 3.6e25], [3e18, 3e18]).unwrap();
        assert_eq!(refused, "it gave 6e18 iterations in 0.2 s, which no CPU can do");
        assert_eq!(reason([1e18, 2e18], [1e6, 2e6]), None);
        assert_eq!(reason([1e3, 2e3], [5e10, 1e11]), None);
    }

    #[test]
    fn unusable_measurements_are_refused_with_the_reason() {
        for (values, iterations, unit, words) in [
            (&[1.0, 2.0][..], &[1.0, 1.0][..], "parsecs", "`parsecs`"),
            (&[1.0], &[1.0], "ns", "1 measurements instead of 2"),
            (&[1.0, 2.0], &[1.0], "ns", "1 measurements instead of 2"),
            (&[1.0, 0.0], &[1.0, 1.0], "ns", "measurement 2 is 0 ns"),
            (&[1.0, 2.0], &[1.0, 0.0], "ns", "measurement 2 has no iteration"),
            (&[1.0, 2.0], &[f64::NAN, 1.0], "ns", "measurement 1 has no iteration"),
        ] {
            let reason = series(&complete(values, iterations), unit, 1.0).unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }
}
