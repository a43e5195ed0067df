//! How much is spent on measuring a benchmark.
//!
//! Precedence, for each number on its own: a flag, else `--quick`, else the first `[[benchmark]]` of
//! `bench.toml` that names the benchmark, else `[experiment]` (and `builds` of `[build]`), else the
//! default.

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{BenchToml, names};
use crate::{
    cli::MeasureArgs,
    model::{BenchTarget, Benchmark, Dimensions},
};

/// What is spent on one benchmark, of each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// l: builds.
    pub builds: u32,
    /// m: executions of each build.
    pub executions: u32,
    /// n: measurements in an execution.
    pub measurements: u32,
    /// How long to run before the first measurement, in milliseconds.
    pub warm_up_ms: u64,
    /// How long one measurement lasts at least, in milliseconds.
    pub floor_ms: u64,
}

impl Effort {
    /// The three numbers that the statistics know it by.
    pub const fn dimensions(&self) -> Dimensions {
        let Self { builds, executions, measurements, .. } = *self;
        Dimensions {
            builds: builds as usize,
            executions: executions as usize,
            measurements: measurements as usize,
        }
    }
}

/// How an execution measures: what of an effort decides the values that it gives. How many builds and
/// executions there are only decides how well they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Manner {
    measurements: u32,
    warm_up_ms: u64,
    floor_ms: u64,
}

impl From<Effort> for Manner {
    fn from(effort: Effort) -> Self {
        let Effort { measurements, warm_up_ms, floor_ms, .. } = effort;
        Self { measurements, warm_up_ms, floor_ms }
    }
}

/// How executions measure, of all benchmarks: equal where they are measured equally, whatever said so.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Manners<'a> {
    #[serde(flatten)]
    common: Manner,
    own: Vec<OwnManner<'a>>,
}

/// How executions of the benchmarks of one `[[benchmark]]` measure.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct OwnManner<'a> {
    filter: &'a str,
    package: Option<&'a str>,
    bench: Option<&'a str>,
    #[serde(flatten)]
    manner: Manner,
}

impl Default for Effort {
    fn default() -> Self {
        Self { builds: 10, executions: 2, measurements: 10, warm_up_ms: 10, floor_ms: 5 }
    }
}

/// The numbers that one place says; those that it leaves open are left to the next place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    builds: Option<u32>,
    executions: Option<u32>,
    measurements: Option<u32>,
    warm_up_ms: Option<u64>,
    floor_ms: Option<u64>,
}

/// A first look: wide intervals after a quarter of the time.
const QUICK: Said = Said {
    builds: Some(5),
    executions: Some(1),
    measurements: Some(5),
    warm_up_ms: Some(10),
    floor_ms: Some(5),
};

impl Said {
    fn by_flags(flags: &MeasureArgs) -> Self {
        let said = Self {
            builds: flags.builds,
            executions: flags.executions,
            measurements: flags.measurements,
            warm_up_ms: flags.warm_up,
            floor_ms: flags.floor,
        };
        if flags.quick { said.or(QUICK) } else { said }
    }

    fn or(self, next: Self) -> Self {
        Self {
            builds: self.builds.or(next.builds),
            executions: self.executions.or(next.executions),
            measurements: self.measurements.or(next.measurements),
            warm_up_ms: self.warm_up_ms.or(next.warm_up_ms),
            floor_ms: self.floor_ms.or(next.floor_ms),
        }
    }

    fn or_default(self) -> Effort {
        let default = Effort::default();
        Effort {
            builds: self.builds.unwrap_or(default.builds),
            executions: self.executions.unwrap_or(default.executions),
            measurements: self.measurements.unwrap_or(default.measurements),
            warm_up_ms: self.warm_up_ms.unwrap_or(default.warm_up_ms),
            floor_ms: self.floor_ms.unwrap_or(default.floor_ms),
        }
    }

    /// The first number that is too small to measure anything: its key, and the least it may be.
    fn defect(self) -> Option<(&'static str, u32)> {
        let least = [
            ("builds", self.builds, 2),
            ("executions", self.executions, 1),
            ("measurements", self.measurements, 1),
        ];
        least
            .into_iter()
            .find(|(_, said, least)| said.is_some_and(|said| said < *least))
            .map(|(key, _, least)| (key, least))
    }
}

/// `[experiment]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ExperimentTable {
    executions: Option<u32>,
    measurements: Option<u32>,
    warm_up_ms: Option<u64>,
    floor_ms: Option<u64>,
}

/// `[[benchmark]]`: some benchmarks that get other numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BenchmarkTable {
    /// A regular expression for their ids.
    filter: String,
    package: Option<String>,
    bench: Option<String>,
    builds: Option<u32>,
    executions: Option<u32>,
    measurements: Option<u32>,
    warm_up_ms: Option<u64>,
    floor_ms: Option<u64>,
}

impl ExperimentTable {
    /// The reason why the table cannot be used, if there is one.
    pub(super) fn defect(&self) -> Option<String> {
        let (key, least) = self.said(None).defect()?;
        Some(format!("`{key}` in [experiment] is less than {least}"))
    }

    const fn said(&self, builds: Option<u32>) -> Said {
        let Self { executions, measurements, warm_up_ms, floor_ms } = *self;
        Said { builds, executions, measurements, warm_up_ms, floor_ms }
    }
}

impl BenchmarkTable {
    /// The reason why the table cannot be used, if there is one.
    pub(super) fn defect(&self) -> Option<String> {
        if let Err(error) = Regex::new(&self.filter) {
            return Some(format!("`filter` in [[benchmark]]: {error}"));
        }
        let (key, least) = self.said().defect()?;
        Some(format!("`{key}` in [[benchmark]] of `{}` is less than {least}", self.filter))
    }

    const fn said(&self) -> Said {
        let Self { builds, executions, measurements, warm_up_ms, floor_ms, .. } = *self;
        Said { builds, executions, measurements, warm_up_ms, floor_ms }
    }

    fn names(&self, benchmark: &Benchmark) -> bool {
        let Benchmark { package, target, name } = benchmark;
        let target = BenchTarget { package: package.clone(), target: target.clone() };
        let bench = self.bench.as_ref().unwrap_or(&target.target);
        names(self.package.as_ref(), bench, &target)
            && Regex::new(&self.filter).is_ok_and(|filter| filter.is_match(&name.id))
    }
}

/// What is spent on each benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Efforts {
    flags: Said,
    own: Vec<BenchmarkTable>,
    file: Said,
}

impl Efforts {
    /// What flags, file and defaults say together.
    pub fn resolve(file: &BenchToml, flags: &MeasureArgs) -> Self {
        Self {
            flags: Said::by_flags(flags),
            own: file.benchmark.clone(),
            file: file.experiment.said(file.build.builds),
        }
    }

    /// What is spent on benchmarks that the file does not name.
    pub fn common(&self) -> Effort {
        self.flags.or(self.file).or_default()
    }

    /// What is spent on this one.
    pub fn of(&self, benchmark: &Benchmark) -> Effort {
        let own = self.own.iter().find(|table| table.names(benchmark));
        own.map_or_else(|| self.common(), |table| self.of_table(table))
    }

    /// How all executions measure.
    pub fn manners(&self) -> Manners<'_> {
        let common = Manner::from(self.common());
        let own = self.own.iter().map(|table| OwnManner {
            filter: &table.filter,
            package: table.package.as_deref(),
            bench: table.bench.as_deref(),
            manner: self.of_table(table).into(),
        });
        let mut own: Vec<OwnManner<'_>> = own.collect();
        // The first table that names a benchmark counts, so only those at the end say nothing.
        while own.last().is_some_and(|last| last.manner == common) {
            own.pop();
        }
        Manners { common, own }
    }

    fn of_table(&self, table: &BenchmarkTable) -> Effort {
        self.flags.or(table.said()).or(self.file).or_default()
    }
}

#[cfg(test)]
mod tests;
