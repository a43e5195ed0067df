//! A comparison as a value: what `compare` writes for programs, and what `ci` reads back; and the
//! table of its rows, in reports and in comments on pull requests.

use std::collections::HashMap;

use rbench_code::impact::{EnteredFunction, Impact};
use rbench_stats::{Criteria, Direction, Interval, Method, or_infinite};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CompareReport, ComparisonReport, GeometricMean, WarningFields};
use crate::report::{
    ExportedValue, SCHEMA_VERSION,
    document::Step,
    explain::time::TimeLines,
    impact::own_first,
    json::{self, Change, Estimate, Measured, Reason, Shares},
    names::{Names, metric_name},
    quantity::{self, changed, exact, range},
    sentence::UnusedAcceptance,
    table::{Cell, Column, Table},
};
use crate::{
    compare::{Audited, ComparedExperiment, TargetSizes, UnlistedTarget},
    error::Result,
    model::{
        BenchTarget, Benchmark, DependencyChange, Machine, Metric, Partition, RemovedBenchmark,
        SampleSizes, SandboxState, Unit, Version, VersionChanges,
    },
    verdict::{Advice, ByMean, Counts, DecidedRow, DecidedStage, VerdictKind},
};

/// What `compare` writes: the comparison of a head with its base, and with a release if that was requested.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparisons {
    #[serde(flatten)]
    pub(crate) with_base: Comparison,
    /// The comparison of the same head with a release; null if there is none.
    pub(crate) also_base: Option<Comparison>,
}

/// A comparison of two versions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(crate) schema_version: u32,
    /// The version of rbench.
    pub(crate) rbench: String,
    /// The most important verdict of all rows, where a failed bench target counts as a failed benchmark; null: the versions
    /// have no benchmark in common.
    pub(crate) verdict: Option<VerdictKind>,
    pub(crate) counts: Counts,
    /// One for each metric with a change.
    pub(crate) geometric_means: Vec<GeometricMean>,
    /// Reasons why the results are less certain.
    pub(crate) warnings: Vec<WarningFields>,
    pub(crate) base: Version,
    pub(crate) head: Version,
    /// Benchmarks of both versions, one for each metric, in the order of definition.
    pub(crate) benchmarks: Vec<Row>,
    /// The functions that differ and that benchmarks execute, each once: the impact of a row names them by index. Without
    /// `--reasons`, only those that rows name, and without callees.
    pub(crate) executed: Vec<EnteredFunction>,
    #[serde(flatten)]
    pub(crate) changes: VersionChanges,
    /// The compilers of base and head, if they differ.
    pub(crate) compilers: Option<[String; 2]>,
    pub(crate) criteria: Criteria,
    /// For benchmarks without their own settings; null if nothing was measured, and for stored
    /// results.
    pub(crate) sample_sizes: Option<SampleSizes>,
    pub(crate) machine: Option<Machine>,
    /// The state of the machine before measuring, if it matters to measurements, for people: see
    /// `cargo rbench doctor`.
    pub(crate) environment: Option<String>,
    /// Whether the sandbox confined the code of the commits. Present in CI, beside secrets, and if it was requested;
    /// absent for stored results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<SandboxState>,
    /// The experiments that stored results are from, oldest first; empty if the results were just
    /// measured.
    pub(crate) stored: Vec<Stored>,
    /// One for each bench target that was measured.
    pub(crate) functions: Vec<Functions>,
    /// The external packages whose version differs between base and head; empty for stored results.
    pub(crate) dependencies: Vec<DependencyChange>,
    /// The compared part of all benchmarks; absent if all were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition: Option<Partition>,
    /// The bench targets that were not compiled, since their names and sources lack words of the filter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<BenchTarget>,
    /// Where the time of changed benchmarks went, if that was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) times: Vec<TimeLines>,
    /// With the metric `size`: one for each bench target of both versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<TargetSizes>,
    /// Benchmarks that only the head has.
    pub(crate) added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub(crate) removed: Vec<RemovedBenchmark>,
    pub(crate) failed_targets: Vec<UnlistedTarget>,
    pub(crate) unused_acceptances: Vec<UnusedAcceptance>,
    pub(crate) next_steps: Vec<Step>,
    /// The check of skipped benchmarks by measurements, if there was time for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<Audited>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    identity: String,
    /// The start of the experiment, in UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    sample_sizes: SampleSizes,
}

/// The number of functions of a bench target that differ in their machine code.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Functions {
    #[serde(flatten)]
    target: BenchTarget,
    changed: usize,
    added: usize,
    removed: usize,
    unchanged: usize,
}

/// One benchmark in one metric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    #[serde(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The name of the metric, such as `wall`; null if the entry is about the benchmark as a whole.
    pub(crate) metric: Option<String>,
    pub(crate) unit: Option<Unit>,
    pub(crate) verdict: VerdictKind,
    pub(crate) change: Option<Change>,
    pub(crate) reason: Reason,
    #[serde(flatten)]
    measured: Measured,
    /// The smallest change of interest in this benchmark; null without a verdict on values.
    #[schemars(range(min = 0))]
    min_effect: Option<f64>,
    pub(crate) base: Option<Estimate>,
    pub(crate) head: Option<Estimate>,
    /// In the deciding stage; null if the estimator does not ignore changes of the slower measurements.
    by_mean: Option<ByMean>,
    /// Present if the row does not affect the exit code: counts beside times, unless that was
    /// requested.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("const" = false))]
    pub(crate) primary: bool,
    /// null: not known, or not measured because of it.
    #[serde(rename = "impact")]
    reached: Option<Reached>,
    /// The same with its functions.
    #[serde(skip)]
    pub(crate) impact: Option<Impact>,
    /// If the verdict is inconclusive.
    advice: Option<Advice>,
    /// The number of builds of the first stage, and of the second on fresh builds if there was one. The last one decides:
    /// base, head and change are its own.
    #[schemars(length(max = 2))]
    pub(crate) builds: Vec<usize>,
    /// These stages in full; only with `--reasons`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    stages: Vec<Stage>,
}

/// The differences between two versions that a benchmark executes or reads.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Reached {
    /// The indices in `executed` of the functions: those of the benchmark's package first, then those with the largest
    /// change of their size. Without `--reasons`, at most ten.
    functions: Vec<usize>,
    /// The number of those that were left out.
    more_functions: usize,
    /// The files that differ and that it reads, below the root of the repository.
    files: Vec<String>,
    /// The environment variables that differ and that it reads.
    variables: Vec<String>,
    /// The reasons why it may execute or read more than is known, each as a phrase.
    uncertainties: Vec<String>,
}

impl Reached {
    /// The most functions of a row without `--reasons`.
    const MOST: usize = 10;

    /// This impact without most of its functions, unless `all` are wanted.
    fn new(mut impact: Impact, all: bool) -> (Self, Impact) {
        let most = if all { impact.functions.len() } else { Self::MOST };
        let more_functions = impact.functions.len().saturating_sub(most);
        impact.functions.truncate(most);
        if !all {
            for function in &mut impact.functions {
                (function.callees_gained, function.callees_lost) = (Vec::new(), Vec::new());
            }
        }
        let Impact { files, variables, uncertainties, .. } = impact.clone();
        (Self { functions: Vec::new(), more_functions, files, variables, uncertainties }, impact)
    }

    /// The impact with these functions; `None` if it has the index of another one.
    fn resolved(&self, executed: &[EnteredFunction]) -> Option<Impact> {
        let functions = self.functions.iter().map(|&index| executed.get(index).cloned());
        Some(Impact {
            functions: functions.collect::<Option<_>>()?,
            files: self.files.clone(),
            variables: self.variables.clone(),
            uncertainties: self.uncertainties.clone(),
            by_harness: Vec::new(),
        })
    }
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// A comparison interval in the metric's unit: those of base and head fail to overlap exactly if
/// the test at the false-positive rate rejects. It is narrower than the interval of the value
/// itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonInterval {
    low: f64,
    /// null if unbounded.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    high: f64,
}

impl From<Interval> for ComparisonInterval {
    fn from(Interval { low, high, .. }: Interval) -> Self {
        Self { low, high }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    pub(super) base: Estimate,
    pub(super) head: Estimate,
    change: Change,
    base_comparison_interval: ComparisonInterval,
    head_comparison_interval: ComparisonInterval,
    /// The difference of the mean logarithms.
    log_change: f64,
    /// The standard error of that.
    log_standard_error: f64,
    degrees_of_freedom: f64,
    /// The direction in which the rule flags the change.
    flagged: Option<Direction>,
    /// True if the change is shown to be smaller than the smallest of interest.
    equivalent: bool,
    /// The number of builds whose layout seed the other version does not have.
    pub(super) builds_left_out: usize,
    /// The share of the variance that pairing removed; negative if it added some.
    pairing_gain: Option<f64>,
    /// The correlation of the versions over layout seeds.
    correlation: Option<f64>,
    /// The shares of the variance; null if no build was executed twice, or nothing varies.
    pub(super) variance: Option<Shares>,
    /// The smallest relative increase that builds with this variance flag with a power of 80 %;
    /// null for rules of unknown power.
    smallest_flagged: Option<f64>,
}

impl Comparisons {
    pub fn to_json(&self) -> Result<String> {
        json::text(self)
    }
}

impl Comparison {
    /// Lists the functions of all rows once, and gives each row their indices.
    pub(crate) fn list_executed(&mut self) {
        let mut known: HashMap<EnteredFunction, usize> = HashMap::new();
        self.executed.clear();
        for row in &mut self.benchmarks {
            let (Some(impact), Some(reached)) = (&row.impact, &mut row.reached) else { continue };
            let index = |function: &EnteredFunction| {
                *known.entry(function.clone()).or_insert_with(|| {
                    self.executed.push(function.clone());
                    self.executed.len() - 1
                })
            };
            reached.functions = impact.functions.iter().map(index).collect();
        }
    }

    /// Gives each row that was read the functions of its indices. Returns false if there is no function with one of them.
    pub(crate) fn find_executed(&mut self) -> bool {
        for row in &mut self.benchmarks {
            row.impact = row.reached.as_ref().and_then(|reached| reached.resolved(&self.executed));
        }
        self.benchmarks.iter().all(|row| row.reached.is_some() == row.impact.is_some())
    }
}

impl Row {
    /// The metric and its unit; `None` if the verdict is about the benchmark as a whole.
    pub(crate) fn metric(&self) -> Option<Metric> {
        Some(Metric { name: self.metric.clone()?, unit: self.unit? })
    }
}

impl CompareReport<'_> {
    pub fn comparisons(&self) -> Comparisons {
        Comparisons {
            with_base: self.with_base.comparison(),
            also_base: self.also_base.map(ComparisonReport::comparison),
        }
    }
}

impl ComparisonReport {
    pub fn comparison(&self) -> Comparison {
        let outcome = &self.outcome;
        let warnings = self
            .all_warnings()
            .into_iter()
            .map(|warning| WarningFields { text: self.warning_text(&warning), warning });
        let counts = outcome.counts();
        let mut comparison = Comparison {
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
            verdict: counts.worst(),
            base: outcome.base.clone(),
            head: outcome.head.clone(),
            changes: outcome.changes.clone(),
            criteria: outcome.criteria,
            sample_sizes: outcome.sample_sizes,
            machine: outcome.machine.clone(),
            compilers: outcome.compilers.clone(),
            environment: outcome.environment.clone(),
            sandbox: outcome.sandbox,
            stored: outcome.stored.iter().map(Stored::from).collect(),
            warnings: warnings.collect(),
            counts,
            geometric_means: self.geometric_means(),
            functions: self.function_counts(),
            dependencies: outcome.dependencies.clone(),
            partition: outcome.partition,
            left_out: outcome.left_out.clone(),
            benchmarks: outcome.rows.iter().map(|row| self.listed_row(row)).collect(),
            executed: Vec::new(),
            times: outcome.time_explanations.iter().map(TimeLines::from).collect(),
            sizes: outcome.sizes.clone(),
            added: outcome.added.clone(),
            removed: outcome.removed.clone(),
            failed_targets: outcome.failed_targets.clone(),
            unused_acceptances: outcome.idle.iter().map(UnusedAcceptance::from).collect(),
            next_steps: self.next_steps(),
            audit: outcome.audit.clone(),
        };
        comparison.list_executed();
        comparison
    }

    /// A row for programs, with its impact, and with its stages if all is explained.
    fn listed_row(&self, row: &DecidedRow) -> Row {
        let mut listed = self.row(row);
        if !self.explains_all {
            listed.stages.clear();
        }
        let impact = row.impact.as_ref().map(|impact| own_first(impact, &row.benchmark));
        (listed.reached, listed.impact) =
            impact.map(|impact| Reached::new(impact, self.explains_all)).unzip();
        listed
    }

    fn function_counts(&self) -> Vec<Functions> {
        let counts = self.outcome.functions.iter().map(|(target, diff)| Functions {
            target: target.clone(),
            changed: diff.changed.len(),
            added: diff.added.len(),
            removed: diff.removed.len(),
            unchanged: diff.unchanged,
        });
        counts.collect()
    }

    pub(super) fn head_values(&self) -> Vec<ExportedValue> {
        let value = |row: &DecidedRow| {
            let row = self.row(row);
            let metric = row.metric()?;
            Some(ExportedValue { metric, benchmark: row.benchmark, estimate: row.head? })
        };
        self.outcome.rows.iter().filter_map(value).collect()
    }

    pub(super) fn row(&self, row: &DecidedRow) -> Row {
        let stages: Vec<Stage> = row.stages.iter().map(|stage| self.stage(stage)).collect();
        let last = stages.last();
        Row {
            benchmark: row.benchmark.clone(),
            metric: row.metric.as_ref().map(|metric| metric.name.clone()),
            unit: row.metric.as_ref().map(|metric| metric.unit),
            verdict: VerdictKind::new(&row.verdict),
            reason: Reason::for_row(row),
            measured: Measured::new(
                row.interleaving.clone(),
                row.decisive().map(|stage| &stage.summaries[1]),
            ),
            min_effect: row.decisive().map(|stage| stage.assessment.min_effect),
            base: last.map(|stage| stage.base.clone()),
            head: last.map(|stage| stage.head.clone()),
            change: last.map(|stage| stage.change.clone()),
            by_mean: row.by_mean,
            primary: self.policy.decides(row, &self.outcome.rows),
            reached: None,
            impact: None,
            advice: row.advice,
            builds: stages.iter().map(builds).collect(),
            stages,
        }
    }

    fn stage(&self, stage: &DecidedStage) -> Stage {
        let DecidedStage { summaries, assessment } = stage;
        let comparison = &assessment.comparison;
        let [base, head] = summaries
            .each_ref()
            .map(|summary| Estimate::new(summary, self.outcome.criteria.confidence));
        Stage {
            base,
            head,
            change: assessment.into(),
            base_comparison_interval: comparison.base.into(),
            head_comparison_interval: comparison.head.into(),
            log_change: comparison.log_change,
            log_standard_error: comparison.standard_error,
            degrees_of_freedom: comparison.freedom,
            flagged: assessment.flag,
            equivalent: assessment.equivalent,
            builds_left_out: match comparison.method {
                Method::Paired { left_out } => left_out,
                Method::Welch(_) => 0,
            },
            pairing_gain: comparison.gain,
            correlation: comparison.correlation,
            variance: Shares::change_shares(stage),
            smallest_flagged: assessment.smallest_flagged(),
        }
    }
}

impl From<&ComparedExperiment> for Stored {
    fn from(ComparedExperiment { identity, started, sample_sizes }: &ComparedExperiment) -> Self {
        let (identity, started_at) = (identity.clone(), quantity::rfc3339(*started));
        Self { identity, started_at, sample_sizes: *sample_sizes }
    }
}

/// The confidence of the CI of a change by fresh builds, or by the first interim analysis. Later
/// analyses have a higher one; docs/research/validation.md has their joint coverage.
const INTERVAL: f64 = 0.95;

/// The metrics that have their names in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NamedMetrics {
    None,
    /// Readers expect wall time, if it is the only one.
    AllButWall,
    All,
}

impl NamedMetrics {
    pub(crate) fn of<'m>(mut all: impl Iterator<Item = &'m Metric>) -> Self {
        let first = all.next();
        if all.any(|metric| Some(metric) != first) { Self::All } else { Self::AllButWall }
    }
}

/// The table of these rows. Without a confidence, it has no details of the values: their intervals
/// are wider than that of the change, in which layouts and noise that both versions share cancel.
pub fn table(
    rows: &[&Row],
    names: &Names<'_>,
    confidence: Option<f64>,
    named: NamedMetrics,
) -> Table {
    let is_timed = |row: &&Row| row.metric().is_some_and(|metric| !metric.is_counted());
    // Counts have no confidence interval.
    let is_counted = !rows.is_empty() && !rows.iter().any(is_timed);
    let is_wider =
        |row: &&Row| row.change.as_ref().is_some_and(|change| change.confidence > INTERVAL + 1e-9);
    let at_least = if rows.iter().any(is_wider) { "≥ " } else { "" };
    let interval = if is_counted {
        Column::right("range").optional(3)
    } else {
        Column::right(format!("{at_least}{} interval", exact(INTERVAL))).dropped(0)
    };
    let of_value = confidence.map_or_else(String::new, |one| format!("± ({})", exact(one)));
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::left("metric"),
        Column::right("base").dropped(1),
        Column::right(of_value.clone()).joined().optional(1),
        Column::right("head").dropped(1),
        Column::right(of_value).joined().optional(1),
        Column::right("change"),
        interval,
        Column::left("verdict"),
        Column::right("builds").optional(2),
        Column::right(Shares::HEAD).optional(0),
    ]);
    for row in rows {
        table.row(cells(row, names, named, confidence.is_some()));
    }
    table
}

fn cells(row: &Row, names: &Names<'_>, named: NamedMetrics, has_details: bool) -> Vec<Cell> {
    let metric = row.metric();
    let metric_name = match named {
        NamedMetrics::None => "",
        NamedMetrics::AllButWall => metric_name(metric.as_ref()),
        NamedMetrics::All => metric.as_ref().map_or("", |metric| &metric.name),
    };
    let mut cells = vec![Cell::name(names.name(&row.benchmark)), Cell::name(metric_name)];
    let values = metric.as_ref().map(|Metric { unit, .. }| {
        [&row.base, &row.head].map(|value| value.as_ref().map(|value| value.texts(*unit)))
    });
    for (value, interval) in values.into_iter().flatten().map(Option::unwrap_or_default) {
        let interval = if has_details { interval } else { String::new() };
        cells.extend([Cell::from(value), Cell::from(interval)]);
    }
    cells.resize_with(6, Cell::default);
    let variance = row.stages.last().filter(|_| has_details);
    let role = row.verdict.role();
    let change = row.change.as_ref().map(|change| change.change);
    cells.extend([
        Cell::styled(role, change.map_or_else(String::new, |change| changed(change.estimate))),
        Cell::from(change.map_or_else(String::new, |change| range(change.low, change.high))),
        Cell::styled(role, row.verdict.name()),
        Cell::from(builds_text(&row.builds)),
        Cell::from(Shares::text(variance.and_then(|one| one.variance))),
    ]);
    cells
}

/// The numbers of builds of the stages: `10`, or `5 + 7 fresh`.
fn builds_text(builds: &[usize]) -> String {
    match builds {
        [first, fresh, ..] => format!("{first} + {fresh} fresh"),
        [first] => first.to_string(),
        [] => String::new(),
    }
}

/// The number of deciding builds of a stage: `10`.
fn builds(stage: &Stage) -> usize {
    let [base, head] = [stage.base.builds, stage.head.builds];
    let paired = (base + head).saturating_sub(stage.builds_left_out) / 2;
    if stage.builds_left_out > 0 { paired } else { base.min(head) }
}
