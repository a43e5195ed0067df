//! One execution of one benchmark: the request to a process, and its results.

use std::{
    cmp::Ordering,
    fmt,
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Metric, Mode, Schedule, Throughput, nanoseconds};

/// Ends the reason why a program failed that may need arguments.
pub const WITHOUT_ARGUMENTS: &str = "; it was started without arguments";

/// A request for one execution.
///
/// A harness honours as much of it as the benchmark's own harness supports; the [`Execution`] holds the actual
/// results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRequest {
    /// The number of measurements, n.
    pub measurements: usize,
    /// The time to run before the first measurement.
    #[serde(rename = "warm_up_ns", with = "nanoseconds::duration")]
    pub warm_up: Duration,
    /// The shortest time that one measurement may last when iterations are tuned.
    #[serde(rename = "min_time_ns", with = "nanoseconds::duration")]
    pub min_time: Duration,
    /// Iterations of every measurement; the harness tunes them if absent.
    pub iterations: Option<u64>,
    /// The seed of the initial state: environment, stack, heap.
    pub seed: u64,
}

impl ExecutionRequest {
    /// The shortest time that the requested measurements can take together.
    pub fn measuring_time(&self) -> Duration {
        let measurements = u32::try_from(self.measurements).unwrap_or(u32::MAX);
        self.min_time.saturating_mul(measurements)
    }

    /// The shortest time that the requested measurements and warm-up can take.
    pub fn least_time(&self) -> Duration {
        self.warm_up.saturating_add(self.measuring_time())
    }
}

/// The measurements of one metric in one execution, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub metric: Metric,
    /// The measurements: the metric's value *per iteration*.
    pub values: Vec<f64>,
    /// The iterations of each measurement; as long as `values`, or empty if unknown.
    pub iterations: Vec<u64>,
    /// The smallest step between two values, in the metric's unit per iteration: differences below it are lost to
    /// rounding or a coarse clock. 0 if it is unknown or far below the values.
    pub resolution: f64,
}

impl Series {
    /// The iterations of every measurement, if all are equal.
    pub fn same_iterations(&self) -> Option<u64> {
        let first = *self.iterations.first()?;
        self.iterations.iter().all(|iterations| *iterations == first).then_some(first)
    }

    /// The reason why no statistics are possible on this series, if there is one.
    pub fn defect(&self) -> Option<String> {
        if self.values.is_empty() {
            return Some("it gave no measurement".to_owned());
        }
        if !self.iterations.is_empty() && self.iterations.len() != self.values.len() {
            let (values, iterations) = (self.values.len(), self.iterations.len());
            return Some(format!("it gave {values} measurements but {iterations} iterations"));
        }
        if let Some(index) = self.iterations.iter().position(|iterations| *iterations == 0) {
            return Some(format!("measurement {} has no iteration", index + 1));
        }
        let is_sound = |value: f64| {
            value.is_finite() && (value > 0.0 || value == 0.0 && self.metric.may_be_zero())
        };
        let index = self.values.iter().position(|value| !is_sound(*value))?;
        let number = index + 1;
        let unit = self.metric.unit;
        Some(if self.values[index] == 0.0 {
            format!("measurement {number} is 0 {unit}: the timed code may be optimised away")
        } else {
            format!("measurement {number} is {} {unit}", self.values[index])
        })
    }
}

/// Resources of one process, from the kernel's account of exactly that process and the children it waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    #[serde(rename = "start_ns", with = "nanoseconds::time")]
    pub start: SystemTime,
    /// The time from the start until rbench noticed the end.
    #[serde(rename = "wall_ns", with = "nanoseconds::duration")]
    pub wall: Duration,
    /// CPU time in user mode.
    #[serde(rename = "user_ns", with = "nanoseconds::duration")]
    pub user: Duration,
    /// CPU time in the kernel.
    #[serde(rename = "system_ns", with = "nanoseconds::duration")]
    pub system: Duration,
    /// Peak resident memory, in bytes. Absent where it cannot be separated from the memory of rbench itself, which a
    /// child's account starts with. A process that a launcher started always has it; it is then at least the
    /// launcher's own memory.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Option<u64>,
    /// The number of times that it gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// The number of times that the kernel preempted it.
    pub involuntary_switches: u64,
    /// What else the kernel showed when it had ended. Not stored.
    #[serde(skip)]
    pub at_end: Option<AtEnd>,
}

impl Resources {
    /// CPU time of the process and of the children it waited for. Exact, unlike its two parts, which many kernels only
    /// estimate by samples at each tick.
    pub const fn cpu(&self) -> Duration {
        self.user.saturating_add(self.system)
    }
}

/// What the kernel shows of a process that has ended and was not reaped yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtEnd {
    /// CPU time of its first thread.
    pub first_thread: Duration,
    /// The time in which its first thread was ready to run, or the launcher to notice its end, but others used the CPU.
    pub queued: Duration,
    pub had_children: bool,
}

/// The reason why an execution has no measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unmeasured {
    /// The benchmark or its process failed: the error message shown to the user.
    Failed(String),
    /// The benchmark cannot run here: the reason that it gave.
    Skipped(String),
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => f.write_str(reason),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// A noteworthy event of an execution that its numbers do not show.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Incident {
    /// The processes that it left running; rbench killed them.
    LeftBehind(Vec<String>),
    /// rbench repeated the execution: the first try failed for this reason, which is not the benchmark's fault.
    Repeated(String),
    FewerMeasurements {
        measurements: usize,
        planned: usize,
        reason: String,
    },
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftBehind(processes) => {
                write!(f, "it left processes running, which were killed: {}", processes.join(", "))
            }
            Self::Repeated(reason) => write!(f, "it was executed a second time: {reason}"),
            Self::FewerMeasurements { measurements, planned, reason } => {
                write!(f, "an execution gives {measurements} of {planned} measurements: {reason}")
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub asked: ExecutionRequest,
    /// One series per metric; never empty, and no series is empty.
    pub series: Vec<Series>,
    /// The amount that one iteration processes, if the benchmark declares it.
    pub throughput: Vec<Throughput>,
    /// The actual warm-up time, if the harness reports it.
    pub warm_up: Option<Duration>,
    pub resources: Resources,
    /// How it shared the machine with the execution of the other version.
    pub schedule: Schedule,
    /// The time of an iteration of the same build and version executed alone, in ns: the median of an execution between this
    /// interleaved one and the one before. Of a whole program, the CPU time. Only where interleaving was checked.
    pub alone: Option<f64>,
    /// Noteworthy events; usually none. Not stored.
    pub incidents: Vec<Incident>,
}

impl Execution {
    /// The series of a metric, if it was measured.
    pub fn series_of(&self, metric: &Metric) -> Option<&Series> {
        self.series.iter().find(|series| series.metric == *metric)
    }

    /// Compares the duration of its measurements with the requested minimum time: `Less` if one lasted less than half
    /// of it, `Greater` if all lasted more than four times as long and have more than one iteration. Otherwise the
    /// number of iterations is right.
    ///
    /// The shortest measurement of the first metric decides: interference only makes a measurement longer and says
    /// nothing about its iterations. Without a minimum time the result is `Equal`.
    pub fn compared_with_floor(&self) -> Ordering {
        let floor = self.asked.min_time.as_nanos() as f64;
        let Some(series) = self.series.first() else { return Ordering::Equal };
        let totals = series.values.iter().zip(&series.iterations);
        let shortest = totals.min_by(|a, b| total(*a).total_cmp(&total(*b)));
        match shortest.filter(|_| floor > 0.0) {
            Some(shortest) if total(shortest) < floor / 2.0 => Ordering::Less,
            Some(shortest) if total(shortest) > 4.0 * floor && *shortest.1 > 1 => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// The total duration of its wall time measurements, where their iterations are known.
    pub fn measured_time(&self) -> Duration {
        of_nanoseconds(self.totals().sum())
    }

    /// The median duration of its wall time measurements, where their iterations are known.
    pub fn median_measurement(&self) -> Duration {
        of_nanoseconds(middle(self.totals().collect()).unwrap_or_default())
    }

    /// The durations of its wall time measurements in ns, where their iterations are known.
    fn totals(&self) -> impl Iterator<Item = f64> {
        let wall = self.series_of(&Metric::wall());
        wall.into_iter().flat_map(|wall| wall.values.iter().zip(&wall.iterations)).map(total)
    }

    /// The wall time that it took: of two interleaved executions, which alternate, each takes half.
    pub fn own_wall(&self) -> Duration {
        match self.schedule.mode() {
            Mode::Interleaved => self.resources.wall / 2,
            Mode::Sequential => self.resources.wall,
        }
    }

    pub fn iteration_time(&self) -> Option<Duration> {
        let iterations: u64 = self.series_of(&Metric::wall())?.iterations.iter().sum();
        let seconds = self.measured_time().as_secs_f64() / iterations as f64;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// The median of its measurements of wall time, in ns per iteration.
    pub fn median_iteration(&self) -> Option<f64> {
        self.median_of(&Metric::wall())
    }

    pub fn median_of(&self, metric: &Metric) -> Option<f64> {
        middle(self.series_of(metric)?.values.clone())
    }

    /// The logarithm of the time of an interleaved execution over that of one [`alone`](Self::alone), if it is known.
    pub fn slow_down(&self) -> Option<f64> {
        // A program that ran at once with the other version has no wall time.
        let interleaved = self.median_iteration().or_else(|| self.median_of(&Metric::cpu()))?;
        Some((interleaved / self.alone?).ln())
    }

    /// The number of measurements in the shortest series.
    pub fn measurements(&self) -> usize {
        self.series.iter().map(|series| series.values.len()).min().unwrap_or(0)
    }

    /// The reason why no statistics are possible on the results, if there is one.
    pub fn defect(&self) -> Option<String> {
        if self.series.is_empty() {
            return Some("nothing was measured".to_owned());
        }
        if let Some(alone) = self.alone.filter(|alone| !alone.is_finite() || *alone <= 0.0) {
            return Some(format!("its time alone is {alone} ns"));
        }
        self.series.iter().find_map(|series| {
            series.defect().map(|defect| format!("{}: {defect}", series.metric.name))
        })
    }
}

/// The median: the upper one of two.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn of_nanoseconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time / 1e9).unwrap_or(Duration::MAX)
}

/// The duration of a measurement, over all its iterations.
fn total((value, iterations): (&f64, &u64)) -> f64 {
    value * *iterations as f64
}

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Outcome {
    Measured(Execution),
    /// The benchmark cannot run here, for the reason that it gave, such as a missing GPU.
    Skipped(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::execution;

    fn series(values: &[f64], iterations: &[u64]) -> Series {
        Series {
            metric: Metric::wall(),
            values: values.to_vec(),
            iterations: iterations.to_vec(),
            resolution: 0.0,
        }
    }

    /// Compares measurements of these durations with a floor; all times in milliseconds.
    fn compared(milliseconds: &[f64], iterations: u64, floor: u64) -> Ordering {
        let value = |time: &f64| time * 1e6 / iterations as f64;
        let values: Vec<_> = milliseconds.iter().map(value).collect();
        let asked = ExecutionRequest {
            measurements: values.len(),
            warm_up: Duration::ZERO,
            min_time: Duration::from_millis(floor),
            iterations: Some(iterations),
            seed: 0,
        };
        let series = vec![series(&values, &vec![iterations; values.len()])];
        execution(asked, series).compared_with_floor()
    }

    #[test]
    fn compared_with_floor_finds_too_short_and_too_long() {
        for in_tune in [&[5.0, 5.2, 5.1][..], &[2.6], &[19.9]] {
            assert_eq!(compared(in_tune, 100, 5), Ordering::Equal);
        }
        assert_eq!(compared(&[2.4, 5.0], 100, 5), Ordering::Less);
        assert_eq!(compared(&[20.1, 25.0], 100, 5), Ordering::Greater);
    }

    #[test]
    fn compared_with_floor_tolerates_noise_and_single_iterations() {
        let in_tune =
            [(&[5.0, 500.0][..], 100, 5), (&[5000.0], 1, 5), (&[1.0], 100, 0), (&[], 1, 5)];
        for (milliseconds, iterations, floor) in in_tune {
            assert_eq!(compared(milliseconds, iterations, floor), Ordering::Equal);
        }
    }

    #[test]
    fn incident_displays_as_a_sentence_about_the_benchmark() {
        let left = Incident::LeftBehind(["sleep", "redis"].map(str::to_owned).to_vec());
        assert_eq!(left.to_string(), "it left processes running, which were killed: sleep, redis");
    }

    #[test]
    fn same_iterations_is_none_if_any_differ() {
        assert_eq!(series(&[1.0, 2.0], &[5, 5]).same_iterations(), Some(5));
        assert_eq!(series(&[1.0, 2.0], &[5, 6]).same_iterations(), None);
        assert_eq!(series(&[], &[]).same_iterations(), None);
    }

    #[test]
    fn least_time_saturates_for_absurd_requests() {
        let asked = ExecutionRequest {
            measurements: usize::MAX,
            warm_up: Duration::MAX,
            min_time: Duration::MAX,
            iterations: None,
            seed: 0,
        };
        assert_eq!(asked.least_time(), Duration::MAX);
    }

    fn defect_of(values: &[f64], iterations: &[u64]) -> String {
        series(values, iterations).defect().unwrap_or_default()
    }

    #[test]
    fn series_of_positive_finite_values_has_no_defect() {
        assert_eq!(defect_of(&[1.0, 0.001], &[1, 2]), "");
        assert_eq!(defect_of(&[1.0], &[]), "", "a harness need not tell its iterations");
    }

    #[test]
    fn series_defect_names_the_measurement() {
        for (values, iterations, words) in [
            (&[][..], &[][..], "no measurement"),
            (&[1.0, 2.0], &[1], "2 measurements but 1 iterations"),
            (&[1.0, 2.0], &[1, 0], "measurement 2 has no iteration"),
            (&[1.0, 0.0], &[1, 1], "measurement 2 is 0 ns"),
            (&[f64::NAN], &[1], "measurement 1 is NaN ns"),
            (&[f64::INFINITY], &[1], "measurement 1 is inf ns"),
            (&[-1.0], &[1], "measurement 1 is -1 ns"),
        ] {
            let defect = defect_of(values, iterations);
            assert!(defect.contains(words), "{defect:?} lacks {words:?}");
        }
    }
}
