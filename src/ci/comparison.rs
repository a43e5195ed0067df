//! A comparison as `compare --format json` writes it, read back: perhaps of somebody who is not trusted.

use serde::Deserialize;

use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Metric, Partition, Unit},
    report::{
        SCHEMA_VERSION,
        compare::GeometricMean,
        names::{Names, with_metric},
    },
    verdict::{Counts, ExitPolicy, VerdictKind},
};

/// The largest document, in bytes.
pub const LARGEST: usize = 64 << 20;

/// The most rows, and the most of anything else that there is a list of.
const MOST: usize = 100_000;

/// No number is further from zero.
const FURTHEST: f64 = 1e30;

/// Two versions with their verdicts. Counts are counted here: nothing needs to be believed.
#[derive(Clone, Debug, Deserialize)]
pub struct Comparison {
    schema_version: u32,
    pub(super) base: Version,
    pub(super) head: Version,
    pub(super) criteria: Criteria,
    pub(super) warnings: Vec<Warning>,
    pub(super) partition: Option<Partition>,
    pub(super) geometric_means: Vec<GeometricMean>,
    pub(super) benchmarks: Vec<Row>,
    pub(super) added: Vec<Benchmark>,
    pub(super) removed: Vec<Benchmark>,
    pub(super) failed_targets: Vec<FailedTarget>,
    pub(super) also_base: Option<Box<Self>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Version {
    commit: Option<String>,
    dirty: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Criteria {
    pub min_effect: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Warning {
    pub kind: String,
    pub text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct FailedTarget {
    pub package: String,
    pub target: String,
    pub error: String,
}

/// One benchmark in one metric.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub(super) benchmark: Benchmark,
    metric: Option<String>,
    unit: Option<Unit>,
    pub(super) verdict: VerdictKind,
    pub(super) reason: Reason,
    pub(super) base: Option<Value>,
    pub(super) head: Option<Value>,
    pub(super) change: Option<Change>,
    /// Whether it affects the exit code: counts beside times may not.
    #[serde(default = "yes")]
    pub(super) decides: bool,
    impact: Option<Impact>,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reason {
    pub text: String,
}

/// The value of a version; a bound that is infinite is absent.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Value {
    pub value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// A relative change: 0.05 is 5 % more than the base.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Change {
    /// Absent if the base is 0.
    estimate: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Change {
    /// The change; infinite from nothing, which has no percentage.
    pub fn estimate(self) -> f64 {
        self.estimate.unwrap_or(f64::INFINITY)
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Impact {
    functions: Vec<Function>,
}

/// A function that differs and that the benchmark executes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Function {
    pub name: String,
    pub base_size_bytes: Option<u64>,
    pub head_size_bytes: Option<u64>,
    while_measuring: bool,
}

/// Where JSON is wrong. What stands there is not told: a runner could take it for a command.
fn without_its_text(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "it ends too early" } else { "it has another form" };
    format!("{what}, at line {}, column {}", error.line(), error.column())
}

impl Comparison {
    /// Reads a document, and refuses what `compare` does not write.
    pub fn parse(text: &str) -> Result<Self> {
        let refused =
            |reason: &str| Error::new(Exit::Usage, "this is no comparison of rbench").cause(reason);
        if text.len() > LARGEST {
            return Err(refused("it is larger than 64 MiB"));
        }
        let comparison: Self =
            serde_json::from_str(text).map_err(|error| refused(&without_its_text(&error)))?;
        let nested = comparison.also_base.iter().any(|also| also.also_base.is_some());
        if nested {
            return Err(refused("there are more than two comparisons in it"));
        }
        comparison.both().try_for_each(Self::check).map_err(|reason| refused(&reason))?;
        Ok(comparison)
    }

    fn check(&self) -> Result<(), String> {
        if self.partition.is_some_and(|partition| !partition.is_possible()) {
            return Err("its part is none of up to 1000".to_owned());
        }
        if self.schema_version != SCHEMA_VERSION {
            let version = self.schema_version;
            return Err(format!("its schema version is {version}, and not {SCHEMA_VERSION}"));
        }
        let lists = [
            self.benchmarks.len(),
            self.added.len(),
            self.removed.len(),
            self.warnings.len(),
            self.failed_targets.len(),
        ];
        if lists.iter().any(|length| *length > MOST) {
            return Err(format!("it has more than {MOST} entries"));
        }
        let is_commit = |version: &Version| version.commit.as_deref().is_none_or(is_hash);
        if !is_commit(&self.base) || !is_commit(&self.head) {
            return Err("a commit is not 40 or 64 hexadecimal digits".to_owned());
        }
        let of_row = |row: &Row| {
            let values = [row.base, row.head].into_iter().flatten();
            let values = values.flat_map(|value| [Some(value.value), value.low, value.high]);
            let change = row.change.map(|change| [change.estimate, change.low, change.high]);
            values.chain(change.into_iter().flatten()).flatten().collect::<Vec<f64>>()
        };
        let numbers = self.benchmarks.iter().flat_map(of_row).chain([self.criteria.min_effect]);
        if numbers.into_iter().any(|number| number.abs() > FURTHEST) {
            return Err("a number is too large".to_owned());
        }
        Ok(())
    }

    /// This comparison, and that with a release.
    pub(super) fn both(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.also_base.as_deref())
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    /// How many there are of each kind of those that affect the exit code.
    fn deciding_counts(&self) -> Counts {
        self.counts_of(|row| row.decides)
    }

    fn counts_of(&self, is_meant: impl Fn(&Row) -> bool) -> Counts {
        let rows = self.benchmarks.iter().filter(|row| is_meant(row));
        let kinds: Vec<VerdictKind> = rows.map(|row| row.verdict).collect();
        Counts {
            added: self.added.len(),
            removed: self.removed.len(),
            failed_targets: self.failed_targets.len(),
            ..Counts::count(&kinds)
        }
    }

    /// The exit code of `compare`. Each row says itself whether it matters.
    pub fn exit(&self, policy: &ExitPolicy) -> Exit {
        policy.exit(self.both().map(Self::deciding_counts))
    }

    /// The verdict that matters most; none if nothing is in both versions.
    pub fn worst(&self) -> Option<VerdictKind> {
        let kinds = self.both().flat_map(|one| {
            let failed = (!one.failed_targets.is_empty()).then_some(VerdictKind::Failed);
            one.benchmarks.iter().map(|row| row.verdict).chain(failed)
        });
        kinds.min()
    }

    /// Whether any benchmark changed or failed.
    pub fn has_news(&self) -> bool {
        self.worst().is_some_and(|kind| kind.is_change() || kind == VerdictKind::Failed)
    }

    /// The commit that was judged, unless there were uncommitted changes.
    pub fn head_commit(&self) -> Option<&str> {
        self.head.commit.as_deref().filter(|_| !self.head.dirty)
    }

    /// The names of all benchmarks.
    pub(super) fn names(&self) -> Names<'_> {
        let compared = self.benchmarks.iter().map(|row| &row.benchmark);
        Names::new(compared.chain(&self.added).chain(&self.removed))
    }
}

impl Version {
    /// Seven digits of the commit. They are digits, whoever wrote them.
    pub(super) fn short(&self) -> String {
        let digits = self.commit.as_deref().map(|commit| commit.chars().take(7).collect());
        let digits = digits.unwrap_or_else(|| "no commit".to_owned());
        if self.dirty { format!("{digits} with uncommitted changes") } else { digits }
    }
}

impl Row {
    /// Its name, and the metric where that is not wall time: not escaped yet.
    pub(super) fn name(&self, names: &Names<'_>) -> String {
        let metric = |name: &String| Metric { name: name.clone(), unit: Unit::Nanoseconds };
        with_metric(names.name(&self.benchmark), self.metric.as_ref().map(metric).as_ref())
    }

    /// Base and head with their unit.
    pub(super) fn values(&self) -> Option<([f64; 2], Unit)> {
        Some(([self.base?.value, self.head?.value], self.unit?))
    }

    /// What of the differences it executes: while it is measured first.
    pub(super) fn functions(&self) -> Vec<&Function> {
        let all = self.impact.iter().flat_map(|impact| &impact.functions);
        let mut functions: Vec<&Function> = all.collect();
        functions.sort_by_key(|function| !function.while_measuring);
        functions
    }
}

impl Function {
    /// Its sizes: `2316 -> 2065 bytes`.
    pub(super) fn sizes(&self) -> String {
        match (self.base_size_bytes, self.head_size_bytes) {
            (Some(base), Some(head)) if base == head => format!("changed, {head} bytes"),
            (Some(base), Some(head)) => format!("{base} -> {head} bytes"),
            (None, Some(head)) => format!("new, {head} bytes"),
            (Some(base), None) => format!("removed, {base} bytes"),
            (None, None) => "changed".to_owned(),
        }
    }
}

/// Whether these are the digits of a commit or a tree.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
