//! The sample sizes and times of each benchmark.
//!
//! Precedence, for each number separately: flags > `--quick` > the first `[[benchmark]]` that matches the
//! benchmark > `[experiment]` > the defaults.

use std::time::Duration;

use rbench_stats::outlook::MOST_REPEATS;
use serde::Serialize;

use super::{
    SamplingOptions,
    bench_toml::{BenchToml, BenchmarkTable},
};
use crate::model::{Benchmark, ExecutionRequest, InterimAnalyses, Mode, SampleSizes, nanoseconds};

/// The sample sizes and times of one benchmark, for each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingConfig {
    /// l: the numbers of builds after which an interim analysis decides or continues.
    pub interim_analyses: InterimAnalyses,
    /// m: executions of each build.
    pub executions: u32,
    /// The most times as many executions of each build after the first analysis: 1 if the user chose their number.
    pub most_repeats: u32,
    /// n: measurements in an execution.
    pub measurements: u32,
    /// The duration of the warm-up before the first measurement.
    pub warm_up: Duration,
    pub min_time: Duration,
    /// The maximum duration of one execution; derived from the expected duration if absent.
    pub deadline: Option<Duration>,
}

/// The purpose of measuring, which decides the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Estimates one version, with its variance at every level.
    OneVersion,
    /// Compares two versions.
    Comparison {
        /// Interleaved or sequential.
        mode: Mode,
        /// The limit for undecided benchmarks.
        stopping: StoppingRule,
    },
}

/// When to stop measuring a benchmark that is not decided yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoppingRule {
    /// Stops when more builds are unlikely to decide soon.
    #[default]
    Usual,
    /// Stops at the end of a time budget, which goes first to the benchmarks that it most likely decides.
    Budget,
    /// Stops only at a number of builds that hardly any benchmark needs.
    UntilDecided,
    /// Stops after the only analysis, so that all verdicts are based on equally many builds.
    SingleAnalysis,
}

impl Purpose {
    /// True if there is only one analysis, after all builds.
    const fn has_one_analysis(self) -> bool {
        matches!(
            self,
            Self::OneVersion | Self::Comparison { stopping: StoppingRule::SingleAnalysis, .. }
        )
    }

    /// The mode; one version alone always runs sequentially.
    pub const fn mode(self) -> Mode {
        match self {
            Self::OneVersion => Mode::Sequential,
            Self::Comparison { mode, .. } => mode,
        }
    }
}

impl StoppingRule {
    /// The number of builds at the last interim analysis.
    const fn most_builds(self) -> u32 {
        match self {
            Self::Usual => 20,
            Self::Budget => 40,
            Self::UntilDecided => 160,
            Self::SingleAnalysis => 10,
        }
    }
}

/// The number of builds at the first interim analysis of a comparison. Fewer estimate the variance between builds too
/// poorly.
const FIRST_ANALYSIS: u32 = 5;

/// The least number of measurements of an execution whose iterations are long.
const FEWEST_REDUCED: u32 = 10;

/// The numbers of executions of each build of a program that is short, and of one that takes milliseconds and is not prepared
/// by other commands: the latter vary most, and cost least.
const OF_PROGRAM: u32 = 4;
const MOST_OF_PROGRAM: u32 = 32;

impl SamplingConfig {
    /// The defaults for a purpose.
    ///
    /// Interleaved, both versions meet the same noise in many short measurements. A version that runs alone has few
    /// longer measurements, of which one is more likely to be quiet. Interleaved, more measurements detect the same
    /// change in less time than more builds, since most of the variance is within an execution.
    ///
    /// A comparison executes each build once: the same number of executions of more builds detects a smaller change.
    /// One version alone executes each build twice, to separate the variance between builds from the variance between
    /// executions.
    pub const fn default_for(purpose: Purpose) -> Self {
        let (measurements, min_time) = match purpose.mode() {
            Mode::Interleaved => (80, Duration::from_micros(300)),
            Mode::Sequential => (10, Duration::from_millis(5)),
        };
        let (analyses, executions) = match purpose {
            Purpose::OneVersion => (InterimAnalyses::fixed(10), 2),
            Purpose::Comparison { stopping, .. } => {
                (InterimAnalyses { first: FIRST_ANALYSIS, most: stopping.most_builds() }, 1)
            }
        };
        let warm_up = Duration::from_millis(10);
        Self {
            interim_analyses: analyses,
            executions,
            most_repeats: MOST_REPEATS,
            measurements,
            warm_up,
            min_time,
            deadline: None,
        }
    }

    fn resolve(options: SamplingOptions, purpose: Purpose) -> Self {
        let default = Self::default_for(purpose);
        let analyses = options.builds.unwrap_or(default.interim_analyses);
        Self {
            interim_analyses: if purpose.has_one_analysis() {
                InterimAnalyses::fixed(analyses.most)
            } else {
                analyses
            },
            executions: options.executions.unwrap_or(default.executions),
            most_repeats: options.executions.map_or(default.most_repeats, |_| 1),
            measurements: options.measurements.unwrap_or(default.measurements),
            warm_up: options.warm_up.unwrap_or(default.warm_up),
            min_time: options.min_time.unwrap_or(default.min_time),
            deadline: options.deadline.or(default.deadline),
        }
    }

    /// The request for one execution, without iterations and initial state.
    pub const fn request(&self) -> ExecutionRequest {
        ExecutionRequest {
            measurements: self.measurements as usize,
            warm_up: self.warm_up,
            min_time: self.min_time,
            iterations: None,
            seed: 0,
        }
    }

    pub const fn sample_sizes(&self) -> SampleSizes {
        let Self { interim_analyses: analyses, executions, measurements, .. } = *self;
        SampleSizes {
            first_analysis: if analyses.is_fixed() { None } else { Some(analyses.first as usize) },
            builds: analyses.most as usize,
            executions: executions as usize,
            measurements: measurements as usize,
        }
    }
}

/// The settings that affect measured values. Results are comparable only if these are equal; the numbers of builds and
/// executions only affect the precision.
///
/// Its JSON is stored with each experiment, with times in nanoseconds.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct MeasurementSettings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bench: Option<&'a str>,
    measurements: u32,
    warm_up_ns: u64,
    min_time_ns: u64,
    /// The tables of benchmarks that are measured with other settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    benchmarks: Vec<Self>,
}

impl MeasurementSettings<'_> {
    fn from_sampling(sampling: &SamplingConfig) -> Self {
        Self {
            filter: None,
            package: None,
            bench: None,
            measurements: sampling.measurements,
            warm_up_ns: nanoseconds::from_duration(sampling.warm_up),
            min_time_ns: nanoseconds::from_duration(sampling.min_time),
            benchmarks: Vec::new(),
        }
    }
}

/// The sampling of each benchmark, resolved from flags, tables, file and defaults.
#[derive(Clone, Debug)]
pub struct SamplingConfigs {
    flags: SamplingOptions,
    tables: Vec<BenchmarkTable>,
    file: SamplingOptions,
    purpose: Purpose,
}

impl SamplingConfigs {
    /// Resolves flags, file and defaults for this purpose.
    pub fn resolve(file: &BenchToml, flags: SamplingOptions, purpose: Purpose) -> Self {
        Self { flags, tables: file.tables.benchmarks(), file: file.tables.experiment, purpose }
    }

    /// The same sampling for all benchmarks, regardless of the file.
    pub fn uniform(options: SamplingOptions, purpose: Purpose) -> Self {
        Self { flags: options, tables: Vec::new(), file: SamplingOptions::default(), purpose }
    }

    /// The sampling of benchmarks that no `[[benchmark]]` matches.
    pub fn common(&self) -> SamplingConfig {
        SamplingConfig::resolve(self.options(None), self.purpose)
    }

    pub fn for_benchmark(&self, benchmark: &Benchmark) -> SamplingConfig {
        self.for_iterations(benchmark, None)
    }

    /// The sampling of one benchmark, of which an iteration takes this time, if known: unless a number was requested,
    /// fewer measurements if each takes long. Most of the variance is then between executions, and an execution of 80
    /// iterations of a second would decide nothing before the user gives up.
    pub fn for_iterations(
        &self,
        benchmark: &Benchmark,
        iteration: Option<Duration>,
    ) -> SamplingConfig {
        let mut options = self.options_of(benchmark);
        let most = SamplingConfig::default_for(self.purpose).measurements;
        options.measurements =
            options.measurements.or_else(|| Some(in_a_second(iteration?, most, FEWEST_REDUCED)));
        SamplingConfig::resolve(options, self.purpose)
    }

    /// The sampling of a whole program, of which a run takes this time, if known. Unless other numbers are requested, an
    /// execution has its only measurement, and a comparison more executions of each build if they are short: most of the
    /// variance is between them. A program that is prepared before each execution, or concluded after it, takes longer than its run.
    pub fn for_program(
        &self,
        benchmark: &Benchmark,
        run: Option<Duration>,
        is_prepared: bool,
    ) -> SamplingConfig {
        let mut options = self.options_of(benchmark);
        if !options.requests_measurements() {
            options.measurements = Some(1);
        }
        let mut sampling = SamplingConfig::resolve(options, self.purpose);
        if let (Purpose::Comparison { .. }, None, Some(run)) =
            (self.purpose, options.executions, run)
        {
            let most = if is_prepared { OF_PROGRAM } else { MOST_OF_PROGRAM };
            let of_shortest = repetitions(run, most, OF_PROGRAM, Duration::from_millis(250));
            sampling.executions = in_a_second(run, of_shortest, 1);
        }
        sampling
    }

    /// True if the user chose the number of measurements of a benchmark.
    pub fn requests_measurements(&self, benchmark: &Benchmark) -> bool {
        self.options_of(benchmark).requests_measurements()
    }

    fn options_of(&self, benchmark: &Benchmark) -> SamplingOptions {
        self.options(self.tables.iter().find(|table| table.names(benchmark)))
    }

    /// What flags, this table and the file request.
    fn options(&self, table: Option<&BenchmarkTable>) -> SamplingOptions {
        let table = table.map(BenchmarkTable::sampling).unwrap_or_default();
        self.flags.or_else(table).or_else(self.file)
    }

    /// The settings that affect measured values. Equal if every benchmark is measured with equal settings, whichever
    /// tables say so.
    pub fn measurement_settings(&self) -> MeasurementSettings<'_> {
        let common = self.common();
        let of_table = |table| {
            let sampling = SamplingConfig::resolve(self.options(Some(table)), self.purpose);
            MeasurementSettings::from_sampling(&sampling)
        };
        // The first matching table wins, so a table without a difference still hides later tables: only those at the
        // end can be dropped.
        let differs = |table| of_table(table) != MeasurementSettings::from_sampling(&common);
        let count = self.tables.iter().rposition(differs).map_or(0, |last| last + 1);
        let benchmarks = self.tables[..count].iter().map(|table| MeasurementSettings {
            filter: Some(table.filter.as_str()),
            package: table.package.as_deref(),
            bench: table.bench.as_deref(),
            ..of_table(table)
        });
        MeasurementSettings {
            benchmarks: benchmarks.collect(),
            ..MeasurementSettings::from_sampling(&common)
        }
    }
}

/// The number of repetitions that take `each` so long: halved from `most` until they take at most a second together, but
/// at least `fewest`. Coarse, so that an interrupted comparison finds the same number again.
fn in_a_second(each: Duration, most: u32, fewest: u32) -> u32 {
    repetitions(each, most, fewest, Duration::from_secs(1))
}

/// The same for another time than a second.
fn repetitions(each: Duration, most: u32, fewest: u32, longest: Duration) -> u32 {
    let mut number = most;
    while number / 2 >= fewest && each.saturating_mul(number) > longest {
        number /= 2;
    }
    number
}

#[cfg(test)]
mod tests;
