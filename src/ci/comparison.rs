//! Reads back a comparison that `compare --format json` wrote. It may come from an untrusted job,
//! so sizes and values are checked, and counts are computed again.

use serde::Deserialize;

use crate::{
    error::{Error, Exit, Result},
    model::{Unit, Version},
    report::{
        SCHEMA_VERSION,
        compare::{Comparison, Comparisons, GeometricMean, Row},
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

/// The position of an error in the JSON. Leaves out the text there: a runner could take it for a
/// command.
fn without_its_text(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "it ends too early" } else { "it has a different structure" };
    format!("{what}, at line {}, column {}", error.line(), error.column())
}

/// The comparison with a release. It is read apart from the flattened one, because an error in a flattened value has no
/// position.
#[derive(Deserialize)]
struct AlsoBase {
    also_base: Option<Comparison>,
}

impl Comparisons {
    /// Parses and checks a document; rejects anything that `compare` does not write.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |reason: &str| {
            Error::new(Exit::Usage, "this is not a comparison by rbench").cause(reason)
        };
        if text.len() > LARGEST {
            return Err(refused("it is larger than 64 MiB"));
        }
        let with_base = serde_json::from_str(text);
        let also = serde_json::from_str(text).map(|AlsoBase { also_base }| also_base);
        let read = with_base.and_then(|with_base| Ok(Self { with_base, also_base: also? }));
        let mut comparisons = read.map_err(|error| refused(&without_its_text(&error)))?;
        comparisons.both().try_for_each(Comparison::check).map_err(|reason| refused(&reason))?;
        comparisons.recount();
        let mut both =
            std::iter::once(&mut comparisons.with_base).chain(&mut comparisons.also_base);
        if !both.all(Comparison::find_executed) {
            return Err(refused("a benchmark executes a function that it does not list"));
        }
        Ok(comparisons)
    }

    /// Counts the rows of each kind, so that nothing has to be trusted.
    pub(super) fn recount(&mut self) {
        for one in std::iter::once(&mut self.with_base).chain(&mut self.also_base) {
            one.counts = one.count(|_| true);
            one.verdict = one.counts.worst();
        }
    }

    pub(super) fn both(&self) -> impl Iterator<Item = &Comparison> {
        std::iter::once(&self.with_base).chain(&self.also_base)
    }

    /// The exit code of `compare`. Each row knows whether it affects it.
    pub fn exit(&self, policy: &ExitPolicy) -> Exit {
        let has_defect =
            |one: &Comparison| one.audit.as_ref().is_some_and(|one| !one.differing.is_empty());
        if self.both().any(has_defect) {
            return Exit::Internal;
        }
        policy.exit(self.both().map(|one| one.count(|row| row.primary)))
    }

    /// The most important verdict; `None` if the versions have no benchmark in common.
    pub fn worst(&self) -> Option<VerdictKind> {
        self.both().filter_map(|one| one.counts.worst()).min()
    }

    /// True if any benchmark changed or failed.
    pub fn has_news(&self) -> bool {
        self.worst().is_some_and(|kind| kind.is_change() || kind == VerdictKind::Failed)
    }

    /// The compared commit, unless there were uncommitted changes.
    pub fn head_commit(&self) -> Option<&str> {
        let head = &self.with_base.head;
        head.commit.as_deref().filter(|_| !head.dirty)
    }
}

impl Comparison {
    fn check(&self) -> Result<(), String> {
        if self.partition.is_some_and(|partition| !partition.is_possible()) {
            return Err("its part is not one of at most 1000".to_owned());
        }
        if self.schema_version != SCHEMA_VERSION {
            let version = self.schema_version;
            return Err(format!("its schema version is {version}, and not {SCHEMA_VERSION}"));
        }
        let lists = [
            self.stored.len(),
            self.warnings.len(),
            self.geometric_means.len(),
            self.functions.len(),
            self.dependencies.len(),
            self.benchmarks.len(),
            self.executed.len(),
            self.added.len(),
            self.removed.len(),
            self.failed_targets.len(),
            self.unused_acceptances.len(),
            self.next_steps.len(),
            self.times.len(),
            self.changes.commits.len(),
            self.changes.commit_count,
            self.changes.base_only_commits,
            self.changes.uncommitted_files.len(),
            self.changes.uncommitted_file_count,
        ];
        let numbers = self.geometric_means.iter().map(|mean| mean.benchmarks);
        if lists.into_iter().chain(numbers).any(|length| length > MOST) {
            return Err(format!("it has more than {MOST} entries"));
        }
        let is_hashed = |Version { commit, tree, .. }: &Version| {
            commit.as_deref().is_none_or(is_hash) && is_hash(tree)
        };
        if !is_hashed(&self.base) || !is_hashed(&self.head) {
            return Err("a commit or a tree is not 40 or 64 hexadecimal digits".to_owned());
        }
        let of_row = |row: &Row| {
            let values = [&row.base, &row.head].into_iter().flatten();
            let values = values.flat_map(|value| [Some(value.value), value.low, value.high]);
            let change = row.change.iter().map(|change| change.change);
            let change = change.flat_map(|change| [change.estimate, change.low, change.high]);
            values.flatten().chain(change).collect::<Vec<f64>>()
        };
        let means = self.geometric_means.iter();
        let means = means.flat_map(|mean| [mean.change, mean.low, mean.high]);
        let criteria = [self.criteria.min_effect, self.criteria.confidence];
        let numbers = self.benchmarks.iter().flat_map(of_row).chain(criteria);
        // An infinite number is null in JSON.
        let is_mean = |mean: &GeometricMean| {
            let changes = [mean.change, mean.low, mean.high];
            mean.benchmarks > 0 && changes.into_iter().all(|change| change > -1.0)
        };
        if !self.geometric_means.iter().all(is_mean) {
            return Err("a geometric mean is impossible".to_owned());
        }
        if numbers.chain(means).any(|number| number.is_finite() && number.abs() > FURTHEST) {
            return Err("a number is too large".to_owned());
        }
        Ok(())
    }

    fn count(&self, is_meant: impl Fn(&Row) -> bool) -> Counts {
        let rows = self.benchmarks.iter().filter(|row| is_meant(row));
        let skipped_in_head = self.benchmarks.iter().filter(|row| row.reason.is_skipped_in_head());
        let (added, removed) = (self.added.len(), self.removed.len());
        let others = [added, removed, skipped_in_head.count(), self.failed_targets.len()];
        Counts::count(rows.map(|row| row.verdict), others)
    }

    pub(super) fn names(&self) -> Names<'_> {
        let compared = self.benchmarks.iter().map(|row| &row.benchmark);
        let removed = self.removed.iter().map(|one| &one.benchmark);
        Names::new(compared.chain(&self.added).chain(removed))
    }
}

impl Row {
    /// The name, and the metric unless it is wall time; not escaped yet.
    pub(super) fn name(&self, names: &Names<'_>) -> String {
        with_metric(names.name(&self.benchmark), self.metric().as_ref())
    }

    /// The values of base and head with their unit.
    pub(super) fn values(&self) -> Option<([f64; 2], Unit)> {
        Some(([self.base.as_ref()?.value, self.head.as_ref()?.value], self.unit?))
    }

    /// The relative change; infinite from 0, which has no percentage.
    pub(super) fn estimate(&self) -> Option<f64> {
        self.change.as_ref().map(|change| change.change.estimate)
    }
}

/// True if the text can be the hash of a commit or a tree.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
