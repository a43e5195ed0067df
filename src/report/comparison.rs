//! The report of `compare`: every benchmark with both versions' intervals, the change, the verdict,
//! and where the variance lies.

mod markdown;
mod text;

use std::time::Duration;

use serde::Serialize;

use super::quantity;
use crate::{
    build::VersionBuilds,
    cli::{FailOn, VerdictArgs},
    failure::{Exit, Failure},
    model::{BenchTarget, Benchmark, Unit, Version},
    stats::{Change, Components, Interval, Judgement, Method, Stage, Summary},
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// The comparison of two versions.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    schema_version: u32,
    base: Version,
    head: Version,
    warnings: Vec<String>,
    benchmarks: Vec<NamedRow>,
    /// Benchmarks that one version has and the other has not.
    unmatched: Vec<Unmatched>,
    /// Bench targets whose benchmarks could not be listed.
    failed_targets: Vec<FailedTarget>,
}

#[derive(Clone, Debug, Serialize)]
struct NamedRow {
    package: String,
    target: String,
    id: String,
    #[serde(flatten)]
    row: ComparisonRow,
}

/// What is said of one benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonRow {
    verdict: &'static str,
    /// The verdict as a sentence, with its reason.
    reason: String,
    /// Absent where nothing was judged.
    measured: Option<Measured>,
}

#[derive(Clone, Debug, Serialize)]
struct Measured {
    unit: &'static str,
    base: IntervalReport,
    head: IntervalReport,
    change: ChangeReport,
    p: f64,
    /// Builds of base and head that take part.
    builds: [usize; 2],
    paired: bool,
    /// How much of the variance pairing took away.
    pairing_gain: Option<f64>,
    /// The smallest increase that would have been seen with a power of 80 %.
    smallest_detectable: f64,
    /// Shares of the head's variance.
    variance: Option<Shares>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct IntervalReport {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct ChangeReport {
    estimate: f64,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Shares {
    builds: f64,
    executions: f64,
    measurements: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Unmatched {
    package: String,
    target: String,
    id: String,
    only_in: String,
}

#[derive(Clone, Debug, Serialize)]
struct FailedTarget {
    package: String,
    target: String,
    error: String,
}

impl ComparisonRow {
    /// The row of what was judged.
    pub fn judged(Judgement { verdict, decisive }: &Judgement) -> Self {
        let decisive = decisive.as_ref();
        Self {
            verdict: verdict.name(),
            reason: verdict.to_string(),
            measured: decisive.map(|(stage, summaries)| Measured::of(stage, summaries)),
        }
    }
}

impl Measured {
    fn of(stage: &Stage, summaries: &[Summary; 2]) -> Self {
        let comparison = &stage.comparison;
        let shares = Components::of(&summaries[1]).shares();
        Self {
            unit: summaries[1].metric().unit.symbol(),
            base: comparison.base.into(),
            head: comparison.head.into(),
            change: comparison.change.into(),
            p: comparison.p,
            builds: comparison.builds,
            paired: matches!(comparison.method, Method::Paired { .. }),
            pairing_gain: comparison.gain,
            smallest_detectable: stage.smallest_detectable(),
            variance: shares.map(|shares| Shares {
                builds: shares.version,
                executions: shares.build,
                measurements: shares.execution,
            }),
        }
    }
}

impl From<Interval> for IntervalReport {
    fn from(interval: Interval) -> Self {
        Self { value: interval.center, low: interval.low, high: interval.high }
    }
}

impl From<Change> for ChangeReport {
    fn from(change: Change) -> Self {
        Self { estimate: change.estimate, low: change.low, high: change.high }
    }
}

impl ComparisonReport {
    /// A report about two versions, without benchmarks yet.
    pub fn new(base: &Version, head: &Version) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            base: base.clone(),
            head: head.clone(),
            warnings: Vec::new(),
            benchmarks: Vec::new(),
            unmatched: Vec::new(),
            failed_targets: Vec::new(),
        }
    }

    /// Adds a warning for the top of the report.
    pub fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    /// Warns where fewer builds differ than were asked for.
    pub fn warn_about_builds(&mut self, builds: &[VersionBuilds], asked: usize) {
        for target in builds.iter().flat_map(|builds| &builds.targets) {
            let distinct = target.distinct();
            if distinct < asked {
                self.warn(format!("{}: only {distinct} of {asked} builds differ", target.target));
            }
        }
    }

    /// Adds a benchmark.
    pub fn add(&mut self, benchmark: &Benchmark, row: ComparisonRow) {
        self.benchmarks.push(NamedRow {
            package: benchmark.package.clone(),
            target: benchmark.target.clone(),
            id: benchmark.name.id.clone(),
            row,
        });
    }

    /// Adds benchmarks that only this version has.
    pub fn only_in(&mut self, version: &Version, benchmarks: Vec<Benchmark>) {
        self.unmatched.extend(benchmarks.into_iter().map(|benchmark| Unmatched {
            package: benchmark.package,
            target: benchmark.target,
            id: benchmark.name.id,
            only_in: version.to_string(),
        }));
    }

    /// Adds a bench target that could not be listed.
    pub fn target_failed(&mut self, target: &BenchTarget, failure: &Failure) {
        self.failed_targets.push(FailedTarget {
            package: target.package.clone(),
            target: target.target.clone(),
            error: failure.to_string(),
        });
    }

    /// The exit code: a regression counts more than a failed benchmark, and that more than an
    /// inconclusive verdict.
    pub fn exit(&self, wanted: &VerdictArgs) -> Exit {
        let has = |verdict: &str| self.benchmarks.iter().any(|named| named.row.verdict == verdict);
        if has("regressed") && !wanted.advisory {
            Exit::Regression
        } else if has("failed") || !self.failed_targets.is_empty() {
            Exit::Benchmark
        } else if has("inconclusive") && wanted.fail_on == FailOn::Inconclusive {
            Exit::Inconclusive
        } else {
            Exit::Success
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// How many benchmarks have each verdict: `2 regressed, 7 unchanged`.
    fn counts(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for named in &self.benchmarks {
            match counts.iter_mut().find(|(verdict, _)| *verdict == named.row.verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((named.row.verdict, 1)),
            }
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        counts.join(", ")
    }
}

impl NamedRow {
    /// The row of a table: name, base, head, change, variance, pairing, verdict.
    fn cells(&self) -> Vec<String> {
        let Some(measured) = &self.row.measured else {
            let nothing = || "-".to_owned();
            let mut cells = vec![self.id.clone()];
            cells.extend(std::iter::repeat_with(nothing).take(5));
            cells.push(self.row.verdict.to_owned());
            return cells;
        };
        let percent = |value: f64| format!("{:+.2}", 100.0 * value);
        let change = &measured.change;
        vec![
            self.id.clone(),
            measured.base.text(measured.unit),
            measured.head.text(measured.unit),
            format!(
                "{} % ({} .. {})",
                percent(change.estimate),
                percent(change.low),
                percent(change.high)
            ),
            measured.variance.map_or("-".to_owned(), |shares| {
                format!(
                    "{:.0}/{:.0}/{:.0} %",
                    100.0 * shares.builds,
                    100.0 * shares.executions,
                    100.0 * shares.measurements
                )
            }),
            measured.pairing_gain.map_or("-".to_owned(), |gain| format!("{:+.0} %", -100.0 * gain)),
            self.row.verdict.to_owned(),
        ]
    }
}

impl IntervalReport {
    fn text(&self, unit: &str) -> String {
        let half = (self.high - self.low) / 2.0;
        let relative = 100.0 * half / self.value;
        if unit == Unit::Nanoseconds.symbol() {
            let value = Duration::from_secs_f64(self.value.max(0.0) * 1e-9);
            if self.value < 1e9 {
                return format!("{} ± {relative:.1} %", quantity::nanoseconds(self.value));
            }
            return format!("{} ± {relative:.1} %", quantity::duration(value));
        }
        format!("{:.1} {unit} ± {relative:.1} %", self.value)
    }
}
