//! The report of `history`: benchmarks over the stored versions, each version judged against the one
//! before it.

mod markdown;
mod text;

use std::time::SystemTime;

use serde::Serialize;

use crate::{
    model::{Benchmark, Machine, Metric, Relation, Unit, Version},
    stats::{Change, Interval, Judgement, SessionVariance, Summary},
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// Benchmarks over the stored versions.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryReport {
    schema_version: u32,
    warnings: Vec<String>,
    /// How many stored versions are not shown.
    hidden: usize,
    benchmarks: Vec<BenchmarkHistory>,
    /// Whether people get one line for each benchmark.
    #[serde(skip)]
    overview: bool,
}

/// One benchmark over the stored versions, oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct BenchmarkHistory {
    package: String,
    target: String,
    id: String,
    metric: String,
    unit: &'static str,
    /// How much the benchmark varies between sessions; absent where nothing needs it or tells it.
    sessions: Option<SessionReport>,
    versions: Vec<VersionReport>,
    #[serde(skip)]
    in_unit: Unit,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct SessionReport {
    /// Relative: 0.005 is 0.5 %.
    standard_deviation: f64,
    degrees_of_freedom: f64,
    repeats: usize,
}

#[derive(Clone, Debug, Serialize)]
struct VersionReport {
    commit: Option<String>,
    tree: String,
    dirty: bool,
    summary: String,
    /// Of the commit, in seconds since 1970.
    time: Option<i64>,
    in_repository: bool,
    /// When its experiment began, in seconds since 1970.
    measured: u64,
    machine: Machine,
    toolchain: String,
    builds: usize,
    value: Option<f64>,
    /// The three-level interval; absent with less than two builds.
    interval: Option<[f64; 2]>,
    failure: Option<String>,
    /// How it differs from the version before it; absent where there is none.
    against: Option<AgainstReport>,
    #[serde(skip)]
    version: Version,
    #[serde(skip)]
    shown: Option<Shown>,
    /// Whether it was measured as the newest was.
    #[serde(skip)]
    alike: bool,
}

/// A value for people.
#[derive(Clone, Copy, Debug)]
struct Shown {
    value: f64,
    interval: Option<Interval>,
}

#[derive(Clone, Debug, Serialize)]
struct AgainstReport {
    commit: Option<String>,
    tree: String,
    /// `together` in one experiment, `apart` in two, `unlike` on other machines or with other settings.
    measured: &'static str,
    verdict: &'static str,
    reason: String,
    change: Option<ChangeReport>,
    #[serde(skip)]
    version: Version,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct ChangeReport {
    estimate: f64,
    low: f64,
    high: f64,
    p: f64,
    paired: bool,
}

/// A version of a benchmark's history.
pub struct HistoryRow<'r> {
    /// The version.
    pub version: &'r Version,
    /// Whether the repository still has it.
    pub known: bool,
    /// When it was measured.
    pub measured: SystemTime,
    /// On which machine.
    pub machine: &'r Machine,
    /// Compiled with what.
    pub toolchain: &'r str,
    /// What was measured, if it was.
    pub summary: Option<Summary>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The confidence of its interval.
    pub confidence: f64,
    /// Whether it was measured as the newest was.
    pub alike: bool,
    /// The version that it is set against.
    pub against: Option<&'r Version>,
    /// How the two were measured.
    pub relation: Option<&'r Relation>,
    /// How they differ.
    pub judgement: Option<&'r Judgement>,
}

impl HistoryReport {
    /// A report without benchmarks yet; for people it is an `overview`, or all versions of each.
    pub fn new(overview: bool, hidden: usize, unfinished: usize) -> Self {
        let mut warnings = Vec::new();
        if unfinished > 0 {
            warnings.push(format!(
                "{} not finished and left out; the command that began one goes on with it",
                match unfinished {
                    1 => "1 experiment is".to_owned(),
                    count => format!("{count} experiments are"),
                }
            ));
        }
        Self { schema_version: SCHEMA_VERSION, warnings, hidden, benchmarks: Vec::new(), overview }
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    /// Adds a benchmark.
    pub fn add(&mut self, benchmark: BenchmarkHistory) {
        let against = || benchmark.versions.iter().filter_map(|version| version.against.as_ref());
        let warning = "results of other machines or settings are compared, as asked for";
        if against().any(|against| against.measured == "unlike" && against.change.is_some())
            && !self.warnings.iter().any(|other| other == warning)
        {
            self.warnings.insert(0, warning.to_owned());
        }
        self.benchmarks.push(benchmark);
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl BenchmarkHistory {
    /// A benchmark without versions yet.
    pub fn new(benchmark: &Benchmark, metric: &Metric) -> Self {
        Self {
            package: benchmark.package.clone(),
            target: benchmark.target.clone(),
            id: benchmark.name.id.clone(),
            metric: metric.name.clone(),
            unit: metric.unit.symbol(),
            in_unit: metric.unit,
            sessions: None,
            versions: Vec::new(),
        }
    }

    /// Adds a version: they come oldest first.
    pub fn add(&mut self, row: &HistoryRow<'_>) {
        let shown = row.summary.as_ref().map(|summary| Shown {
            value: summary.values().mean,
            interval: Interval::three_level(summary, row.confidence).ok(),
        });
        let Version { commit, tree, dirty, summary, time, .. } = row.version.clone();
        let interval = shown.and_then(|shown| shown.interval);
        self.versions.push(VersionReport {
            commit,
            tree,
            dirty,
            summary,
            time,
            in_repository: row.known,
            measured: seconds(row.measured),
            machine: row.machine.clone(),
            toolchain: row.toolchain.lines().next().unwrap_or_default().to_owned(),
            builds: row.summary.as_ref().map_or(0, |summary| summary.builds().len()),
            value: shown.map(|shown| shown.value),
            interval: interval.map(|interval| [interval.low, interval.high]),
            failure: row.failure.clone(),
            against: AgainstReport::of(row),
            version: row.version.clone(),
            shown,
            alike: row.alike,
        });
    }

    /// Whether versions were set against each other that were measured in different experiments.
    pub fn has_sessions(&self) -> bool {
        let mut against = self.versions.iter().filter_map(|version| version.against.as_ref());
        against.any(|against| against.measured == "apart")
    }

    /// Says how much the benchmark varies between sessions.
    pub fn sessions(&mut self, variance: Option<SessionVariance>) {
        self.sessions = variance.map(|variance| SessionReport {
            standard_deviation: variance.standard_deviation().exp_m1(),
            degrees_of_freedom: variance.freedom,
            repeats: variance.repeats,
        });
    }
}

impl AgainstReport {
    fn of(row: &HistoryRow<'_>) -> Option<Self> {
        let (version, judgement) = (row.against?, row.judgement?);
        let change = judgement.decisive.as_ref().map(|(stage, _)| {
            let comparison = &stage.comparison;
            let Change { estimate, low, high } = comparison.change;
            let paired = matches!(comparison.method, crate::stats::Method::Paired { .. });
            ChangeReport { estimate, low, high, p: comparison.p, paired }
        });
        Some(Self {
            commit: version.commit.clone(),
            tree: version.tree.clone(),
            measured: match row.relation? {
                Relation::Together(_) => "together",
                Relation::Apart(_) => "apart",
                Relation::Unlike { .. } => "unlike",
            },
            verdict: judgement.verdict.name(),
            reason: judgement.verdict.to_string(),
            change,
            version: version.clone(),
        })
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
