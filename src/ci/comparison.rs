//! Reads back a comparison that `compare --format json` wrote. It may come from an untrusted job,
//! so sizes and values are checked, and counts are computed again.

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

/// The maximum size of the document, in bytes.
pub const LARGEST: usize = 64 << 20;

/// The maximum number of rows, and of the entries of every other list.
const MOST: usize = 100_000;

/// The maximum absolute value of a number.
const FURTHEST: f64 = 1e30;

/// Two versions with their verdicts. Counts are computed here and not read, so that nothing has to
/// be trusted.
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
    /// True if it affects the exit code: a count beside times may not.
    #[serde(default = "yes")]
    pub(super) primary: bool,
    impact: Option<Impact>,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reason {
    pub text: String,
}

/// The value of a version; an infinite bound is absent.
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
    /// The change; infinite if the base is 0, which has no percentage.
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

/// The position of an error in the JSON. Leaves out the text there: a runner could take it for a
/// command.
fn without_its_text(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "it ends too early" } else { "it has another form" };
    format!("{what}, at line {}, column {}", error.line(), error.column())
}

impl Comparison {
    /// Parses and checks a document; rejects anything that `compare` does not write.
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

    /// The number of rows of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    /// The number of rows of each kind that affect the exit code.
    fn deciding_counts(&self) -> Counts {
        self.counts_of(|row| row.primary)
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

    /// The exit code of `compare`. Each row knows whether it affects it.
    pub fn exit(&self, policy: &ExitPolicy) -> Exit {
        policy.exit(self.both().map(Self::deciding_counts))
    }

    /// The most important verdict; `None` if the versions have no benchmark in common.
    pub fn worst(&self) -> Option<VerdictKind> {
        let kinds = self.both().flat_map(|one| {
            let failed = (!one.failed_targets.is_empty()).then_some(VerdictKind::Failed);
            one.benchmarks.iter().map(|row| row.verdict).chain(failed)
        });
        kinds.min()
    }

    /// True if any benchmark changed or failed.
    pub fn has_news(&self) -> bool {
        self.worst().is_some_and(|kind| kind.is_change() || kind == VerdictKind::Failed)
    }

    /// The compared commit, unless there were uncommitted changes.
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
    /// The first seven digits of the commit. They are checked to be digits.
    pub(super) fn short(&self) -> String {
        let digits = self.commit.as_deref().map(|commit| commit.chars().take(7).collect());
        let digits = digits.unwrap_or_else(|| "no commit".to_owned());
        if self.dirty { format!("{digits} with uncommitted changes") } else { digits }
    }
}

impl Row {
    /// The name, and the metric unless it is wall time; not escaped yet.
    pub(super) fn name(&self, names: &Names<'_>) -> String {
        let metric = |name: &String| Metric { name: name.clone(), unit: Unit::Nanoseconds };
        with_metric(names.name(&self.benchmark), self.metric.as_ref().map(metric).as_ref())
    }

    /// The values of base and head with their unit.
    pub(super) fn values(&self) -> Option<([f64; 2], Unit)> {
        Some(([self.base?.value, self.head?.value], self.unit?))
    }

    /// The changed functions that it executes, during the measurement first.
    pub(super) fn functions(&self) -> Vec<&Function> {
        let all = self.impact.iter().flat_map(|impact| &impact.functions);
        let mut functions: Vec<&Function> = all.collect();
        functions.sort_by_key(|function| !function.while_measuring);
        functions
    }
}

impl Function {
    /// The sizes of the function: `2316 -> 2065 bytes`.
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

/// True if the text can be the hash of a commit or a tree.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
