//! How much is spent on measuring a benchmark.
//!
//! Precedence, for each number on its own: flags > `--quick` > the first `[[benchmark]]` that names the
//! benchmark > `[experiment]` > the defaults.

use std::time::Duration;

use serde::Serialize;

use super::{
    SamplingOptions,
    bench_toml::{BenchToml, BenchmarkTable},
};
use crate::model::{Benchmark, ExecutionRequest, InterimAnalyses, Mode, SampleSizes};

/// What is spent on one benchmark, of each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingConfig {
    /// l: after how many builds it is judged.
    pub interim_analyses: InterimAnalyses,
    /// m: executions of each build.
    pub executions: u32,
    /// n: measurements in an execution.
    pub measurements: u32,
    /// How long to run before the first measurement.
    pub warm_up: Duration,
    /// How long one measurement lasts at least.
    pub min_time: Duration,
    /// How long one execution may take; derived from what it is to do if absent.
    pub deadline: Option<Duration>,
}

/// What benchmarks are measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To know one version, with its variance at every level.
    OneVersion,
    /// To compare two versions.
    Comparison {
        /// How their executions are interleaved.
        mode: Mode,
        /// How long a benchmark is measured that is not decided yet.
        patience: StoppingRule,
    },
}

/// How long a benchmark is measured that is not decided yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoppingRule {
    /// As long as it is likely to be decided soon.
    #[default]
    Usual,
    /// As long as there is time, that with the best chances first.
    Budget,
    /// Up to a number of builds that hardly any benchmark needs.
    UntilDecided,
    /// Not at all: it is judged once, so that all are judged by equally many builds.
    OneLook,
}

impl Purpose {
    /// Whether benchmarks are judged only once, after all builds.
    const fn has_one_analysis(self) -> bool {
        matches!(self, Self::OneVersion | Self::Comparison { patience: StoppingRule::OneLook, .. })
    }

    /// How executions are interleaved: those of one version alone run one after the other.
    pub const fn mode(self) -> Mode {
        match self {
            Self::OneVersion => Mode::Sequential,
            Self::Comparison { mode, .. } => mode,
        }
    }
}

impl StoppingRule {
    /// The builds at the last look.
    const fn most_builds(self) -> u32 {
        match self {
            Self::Usual => 20,
            Self::Budget => 40,
            Self::UntilDecided => 160,
            Self::OneLook => 10,
        }
    }
}

/// The builds at the first look at a comparison: fewer tell too little about how much builds vary.
const FIRST_LOOK: u32 = 5;

impl SamplingConfig {
    /// The effort where nobody says another.
    ///
    /// In turns, many short measurements make both versions meet the same disturbances; alone, few longer
    /// ones are more likely to have a quiet one among them. In turns, more measurements take less time than more
    /// builds to show the same change, since most of what varies varies within an execution.
    ///
    /// A comparison executes each build once: as many executions of more builds show a smaller change. One
    /// version alone has each build executed twice, so that what varies between builds can be told from what
    /// varies between executions.
    pub const fn default_for(purpose: Purpose) -> Self {
        let (measurements, floor) = match purpose.mode() {
            Mode::Interleaved => (80, Duration::from_millis(1)),
            Mode::Sequential => (10, Duration::from_millis(5)),
        };
        let (looks, executions) = match purpose {
            Purpose::OneVersion => (InterimAnalyses::fixed(10), 2),
            Purpose::Comparison { patience, .. } => {
                (InterimAnalyses { first: FIRST_LOOK, most: patience.most_builds() }, 1)
            }
        };
        let warm_up = Duration::from_millis(10);
        Self {
            interim_analyses: looks,
            executions,
            measurements,
            warm_up,
            min_time: floor,
            deadline: None,
        }
    }

    fn resolve(options: SamplingOptions, purpose: Purpose) -> Self {
        let default = Self::default_for(purpose);
        let looks = options.builds.unwrap_or(default.interim_analyses);
        Self {
            interim_analyses: if purpose.has_one_analysis() {
                InterimAnalyses::fixed(looks.most)
            } else {
                looks
            },
            executions: options.executions.unwrap_or(default.executions),
            measurements: options.measurements.unwrap_or(default.measurements),
            warm_up: options.warm_up.unwrap_or(default.warm_up),
            min_time: options.min_time.unwrap_or(default.min_time),
            deadline: options.deadline.or(default.deadline),
        }
    }

    /// What one execution is asked to do, but for iterations and initial state.
    pub const fn request(&self) -> ExecutionRequest {
        ExecutionRequest {
            measurements: self.measurements as usize,
            warm_up: self.warm_up,
            min_time: self.min_time,
            iterations: None,
            seed: 0,
        }
    }

    /// The three numbers that the statistics use.
    pub const fn sample_sizes(&self) -> SampleSizes {
        let Self { interim_analyses: looks, executions, measurements, .. } = *self;
        SampleSizes {
            first_analysis: if looks.is_fixed() { None } else { Some(looks.first as usize) },
            builds: looks.most as usize,
            executions: executions as usize,
            measurements: measurements as usize,
        }
    }
}

/// How executions measure: the part of an effort that decides the values they give. How many builds and
/// executions there are only decides how well the values are known.
///
/// Serialised, it is part of what is stored with an experiment; times are whole nanoseconds.
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
    /// The benchmarks that are measured in another way, by the tables that name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    benchmarks: Vec<Self>,
}

impl MeasurementSettings<'_> {
    fn from_effort(effort: &SamplingConfig) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            filter: None,
            package: None,
            bench: None,
            measurements: effort.measurements,
            warm_up_ns: nanoseconds(effort.warm_up),
            min_time_ns: nanoseconds(effort.min_time),
            benchmarks: Vec::new(),
        }
    }
}

/// What is spent on each benchmark.
#[derive(Clone, Debug)]
pub struct SamplingConfigs {
    flags: SamplingOptions,
    tables: Vec<BenchmarkTable>,
    file: SamplingOptions,
    purpose: Purpose,
}

impl SamplingConfigs {
    /// The efforts by flags, file and defaults, for this purpose.
    pub fn resolve(file: &BenchToml, flags: SamplingOptions, purpose: Purpose) -> Self {
        Self { flags, tables: file.benchmarks(), file: file.sampling(), purpose }
    }

    /// The same for all benchmarks, whatever the file says of any.
    pub fn uniform(options: SamplingOptions, purpose: Purpose) -> Self {
        Self { flags: options, tables: Vec::new(), file: SamplingOptions::default(), purpose }
    }

    /// What is spent on benchmarks that no `[[benchmark]]` names.
    pub fn common(&self) -> SamplingConfig {
        SamplingConfig::resolve(self.flags.or_else(self.file), self.purpose)
    }

    /// What is spent on this benchmark.
    pub fn for_benchmark(&self, benchmark: &Benchmark) -> SamplingConfig {
        let table = self.tables.iter().find(|table| table.names(benchmark));
        table.map_or_else(|| self.common(), |table| self.for_table(table))
    }

    /// How all executions measure: equal where all benchmarks are measured equally.
    pub fn measurement_settings(&self) -> MeasurementSettings<'_> {
        let common = self.common();
        let of_table = |table| MeasurementSettings::from_effort(&self.for_table(table));
        // The first table that names a benchmark counts, so only those at the end change nothing.
        let differs = |table| of_table(table) != MeasurementSettings::from_effort(&common);
        let count = self.tables.iter().rposition(differs).map_or(0, |last| last + 1);
        let benchmarks = self.tables[..count].iter().map(|table| MeasurementSettings {
            filter: Some(table.filter.as_str()),
            package: table.package.as_deref(),
            bench: table.bench.as_deref(),
            ..of_table(table)
        });
        MeasurementSettings {
            benchmarks: benchmarks.collect(),
            ..MeasurementSettings::from_effort(&common)
        }
    }

    fn for_table(&self, table: &BenchmarkTable) -> SamplingConfig {
        SamplingConfig::resolve(
            self.flags.or_else(table.sampling()).or_else(self.file),
            self.purpose,
        )
    }
}

#[cfg(test)]
mod tests;
