//! The stored results of one version: all builds and executions for `history REV`, one line for each benchmark for `run`.

pub(super) mod range;

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

pub use range::{RangeComparison, RangeReport};
use rbench_code::elf::Digest;
use rbench_stats::{Components, Criteria, FTest, Summary, diagnosis::Hint};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    ExportedValue, Report,
    document::{Block, Document, Medium, Text},
    grouped,
    json::{self, Estimate, Measured, Shares},
    names::{Names, metric_name},
    quantity::{self, p_value, value},
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    error::Result,
    model::{
        Benchmark, Layout, LayoutSeed, Machine, Metric, SampleSizes, SkipReason, Stage, Throughput,
        Unit, Version, settings_words,
    },
    shell::CommandLine,
    verdict::{Interleaving, VerdictKind},
};

/// One version and its stored results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VersionReport {
    pub version: Version,
    pub criteria: Criteria,
    /// The experiments that it was part of, oldest first.
    pub experiments: Vec<ShownExperiment>,
    /// The newest results of each benchmark, one for each metric.
    pub benchmarks: Vec<ShownBenchmark>,
    /// True to show every build instead of one line for each benchmark.
    #[serde(skip)]
    pub detailed: bool,
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownExperiment {
    /// Its identity, which is the same in every store.
    pub identity: String,
    /// The start of the experiment, in UTC.
    #[serde(rename = "started_at", serialize_with = "quantity::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: SystemTime,
    /// The end of the experiment, in UTC; null if it is unfinished.
    #[serde(rename = "finished_at", serialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished: Option<SystemTime>,
    /// The version of rbench that made it.
    pub rbench: String,
    pub machine: Machine,
    /// The compiler, from `rustc -vV`.
    pub toolchain: String,
    pub settings: serde_json::Value,
    /// The requested sample sizes, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The seed from which all others are drawn.
    pub seed: u64,
    /// The other versions of the experiment.
    pub others: Vec<Version>,
    /// The reason why the version could not be built; null if it could.
    pub failure: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownBenchmark {
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The index of its experiment in `experiments`.
    pub experiment: usize,
    /// The deciding stage: `result`, `variance` and `layout_test` are of its builds.
    pub stage: Stage,
    #[serde(flatten)]
    value: ShownValue,
    /// The values of the builds of that stage; `None` if every execution failed.
    #[serde(skip)]
    pub summary: Option<Summary>,
    /// The errors of failed executions, as reported.
    pub failures: Vec<String>,
    /// The reason why the benchmark chose not to run; null if it did run.
    pub skipped: Option<String>,
    /// The reason why it was not measured, if it behaves the same in all versions of the
    /// experiment.
    pub unmeasured: Option<SkipReason>,
    /// The amount of work of one iteration.
    #[serde(serialize_with = "amounts")]
    #[schemars(with = "Vec<json::Throughput>")]
    pub throughput: Vec<Throughput>,
    /// The peak resident memory over all executions.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Option<u64>,
    /// Reasons to examine it.
    #[serde(skip)]
    pub hints: Vec<Hint>,
    /// Every build, of the first stage and then of the second, if requested.
    pub builds: Vec<ShownBuild>,
}

/// The value of a benchmark in one metric. Everything is null if every execution failed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct ShownValue {
    /// The name, such as `wall`; null if the entry is about the benchmark as a whole.
    metric: Option<String>,
    unit: Option<Unit>,
    #[serde(flatten)]
    measured: Measured,
    result: Option<Estimate>,
    /// The shares of builds and executions in the variance of `result`.
    variance: Option<Shares>,
    layout_test: Option<FTest>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownBuild {
    #[schemars(with = "u32", range(min = 1))]
    pub seed: LayoutSeed,
    pub stage: Stage,
    /// The layout, if it is stored.
    pub layout: Option<Layout>,
    /// The digest of its loadable sections, if it is stored.
    pub digest: Option<Digest>,
    /// The mean of the estimates of its executions, in the metric's unit.
    pub value: f64,
    /// The estimate of each execution, in the order of rounds.
    pub executions: Vec<f64>,
    /// True if it is slow, beyond the spread of the other builds.
    pub slow: bool,
    /// The peak resident memory over its executions.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Option<u64>,
    /// The CPU time of its executions.
    #[serde(rename = "cpu_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64")]
    pub cpu_time: Duration,
}

fn amounts<S: Serializer>(throughput: &[Throughput], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(throughput.iter().map(|one| json::Throughput::from(*one)))
}

impl ShownValue {
    /// The value of this summary. `interleaving` is that of its executions, if all share one.
    fn new(summary: &Summary, interleaving: Option<Interleaving>, confidence: f64) -> Self {
        Self {
            metric: Some(summary.metric().name.clone()),
            unit: Some(summary.metric().unit),
            measured: Measured::new(interleaving, Some(summary)),
            result: Some(Estimate::new(summary, confidence)),
            variance: Shares::version_shares(summary),
            layout_test: Components::estimate(summary).layout,
        }
    }

    /// The value and its interval, for people.
    fn text(&self) -> String {
        let value = self.result.as_ref().zip(self.unit);
        value.map_or_else(String::new, |(result, unit)| result.text(unit))
    }
}

impl ShownBenchmark {
    /// A benchmark of the experiment with this index, without a value.
    pub fn new(benchmark: &Benchmark, experiment: usize, stage: Stage) -> Self {
        Self {
            benchmark: benchmark.clone(),
            experiment,
            stage,
            value: ShownValue::default(),
            summary: None,
            failures: Vec::new(),
            skipped: None,
            unmeasured: None,
            throughput: Vec::new(),
            peak_memory: None,
            hints: Vec::new(),
            builds: Vec::new(),
        }
    }

    /// Sets the value. `interleaving` is that of its executions, if all share one.
    #[must_use]
    pub fn with_value(
        self,
        summary: Summary,
        interleaving: Option<Interleaving>,
        criteria: &Criteria,
    ) -> Self {
        let value = ShownValue::new(&summary, interleaving, criteria.confidence);
        Self { value, summary: Some(summary), ..self }
    }

    fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

impl VersionReport {
    /// Adds a report of the same version in another kind of metrics. The rows of a benchmark stand
    /// together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        let known = self.experiments.len();
        self.experiments.extend(other.experiments);
        for mut row in other.benchmarks {
            row.experiment += known;
            let of_it = |one: &ShownBenchmark| one.benchmark == row.benchmark;
            let place = self.benchmarks.iter().rposition(of_it);
            if row.unmeasured.is_none() || place.is_none() {
                let place = place.map_or(self.benchmarks.len(), |place| place + 1);
                self.benchmarks.insert(place, row);
            }
        }
        self
    }

    /// True if the newest results of any benchmark are failures.
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(ShownBenchmark::has_failed)
    }
}

impl Report for VersionReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("history").titled(self.version.to_string());
        document.lead = Text::from(&*self.version.summary);
        let time = self.version.time.filter(|_| !self.version.dirty);
        if let Some(day) = time.map(quantity::day).filter(|day| !day.is_empty()) {
            document.add(Block::paragraph([format!("committed on {day}")]));
        }
        document.add([Block::Table(self.experiments_table())]);
        let failed = (1..).zip(&self.experiments).filter_map(|(number, experiment)| {
            let text = Text::from(format!("experiment {number}: "));
            let text = text.styled(Role::Bad, "could not be built").then(": ");
            Some(text.message(experiment.failure.as_ref()?))
        });
        document.add(Block::list(self.circumstances().into_iter().chain(failed)));
        if self.benchmarks.is_empty() {
            return document;
        }
        document.add(if self.detailed { self.details() } else { self.overview() });
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }

    fn values(&self) -> Option<Vec<ExportedValue>> {
        let value = |one: &ShownBenchmark| {
            let ShownValue { metric, unit, result, .. } = one.value.clone();
            let metric = Metric { name: metric?, unit: unit? };
            Some(ExportedValue { benchmark: one.benchmark.clone(), metric, estimate: result? })
        };
        Some(self.benchmarks.iter().filter_map(value).collect())
    }
}

impl VersionReport {
    fn experiments_table(&self) -> Table {
        let mut table = Table::new([
            Column::right("experiment"),
            Column::left("started"),
            Column::left("state"),
            Column::left("requested builds × executions × measurements").dropped(1),
            Column::left("together with").shortened(),
            Column::left("rbench").dropped(0),
        ]);
        for (number, experiment) in (1..).zip(&self.experiments) {
            let others = experiment.others.iter().map(Version::short);
            table.row([
                Cell::from(format!("{number}")),
                Cell::from(quantity::minute(experiment.started)),
                experiment.state(),
                Cell::from(experiment.sample_sizes.to_string()),
                Cell::from(others.collect::<Vec<_>>().join(", ")),
                Cell::from(&experiment.rbench),
            ]);
        }
        table
    }

    /// The machines, toolchains and settings; once if all experiments agree.
    fn circumstances(&self) -> Vec<Text> {
        type PartOf = fn(&ShownExperiment) -> String;
        let parts: [(&str, PartOf); 3] = [
            ("machine", |experiment| experiment.machine.to_string()),
            ("toolchain", |experiment| {
                experiment.toolchain.lines().next().unwrap_or_default().to_owned()
            }),
            ("settings", |experiment| settings_words(&experiment.settings.to_string()).join(", ")),
        ];
        let variant = self.version.variant.as_ref();
        let mut texts: Vec<Text> = variant
            .map(|variant| Text::from("variant: ").name(&variant.settings))
            .into_iter()
            .collect();
        for (name, part) in parts {
            let numbered = (1..).zip(&self.experiments);
            let parts = numbered.map(|(number, one)| (part(one), format!("{number}")));
            let found = grouped(parts.filter(|(part, _)| !part.is_empty()));
            let is_same = found.len() == 1;
            for (part, numbers) in found {
                let of =
                    if is_same { String::new() } else { format!(" of {}", numbers.join(", ")) };
                texts.push(Text::from(format!("{name}{of}: {part}")));
            }
        }
        texts
    }

    fn overview(&self) -> Vec<Block> {
        let names = Names::new(self.benchmarks.iter().map(|shown| &shown.benchmark));
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("metric"),
            Column::right("value"),
            Column::left("throughput").dropped(1),
            Column::right(Shares::HEAD),
            Column::right("layout effect").dropped(2),
            Column::right("peak memory").dropped(0),
            Column::right("experiment").dropped(3),
        ]);
        for shown in &self.benchmarks {
            let name = Cell::name(names.name(&shown.benchmark));
            let number = Cell::from((shown.experiment + 1).to_string());
            let Some(summary) = &shown.summary else {
                let kind = match (&shown.skipped, shown.unmeasured) {
                    (Some(_), _) => VerdictKind::Skipped,
                    (None, Some(skip_reason)) => VerdictKind::new(&skip_reason.into()),
                    (None, None) => VerdictKind::Failed,
                };
                let mut cells = vec![name, Cell::default(), Cell::styled(kind.role(), kind.name())];
                cells.resize_with(7, Cell::default);
                cells.push(number);
                table.row(cells);
                continue;
            };
            let p = shown.value.layout_test.map_or(String::new(), |test| p_value(test.p));
            table.row([
                name,
                Cell::from(metric_name(Some(summary.metric()))),
                Cell::from(shown.value.text()),
                Cell::from(shown.throughput_text(summary)),
                Cell::from(Shares::text(shown.value.variance)),
                Cell::from(p),
                Cell::from(shown.peak_memory.map_or(String::new(), quantity::bytes)),
                number,
            ]);
        }
        let unmeasured = [SkipReason::Identical, SkipReason::Unaffected].map(|reason| {
            let shown = self.benchmarks.iter().filter(|one| one.unmeasured == Some(reason));
            let shown: Vec<Text> =
                shown.map(|one| Text::from_name(names.name(&one.benchmark))).collect();
            (!shown.is_empty()).then(|| Text::joined(shown, ", ").then(unmeasured_text(reason)))
        });
        let shown = self.benchmarks.iter();
        let reasons = shown.flat_map(|shown| shown.failures(&names.name(&shown.benchmark)));
        let reasons = reasons.chain(unmeasured.into_iter().flatten());
        let revision = self.version.revision_arg();
        let filter = [("filter", Some("BENCH"))];
        let each = self.command_line.suggest("history", &[&revision], &filter);
        let each = Text::from("every build and execution: ").command(each);
        let reasons = std::iter::once(Text::from(quantity::VALUES)).chain(reasons);
        let notes = reasons.chain(self.worth_examining(&names)).chain([each]);
        std::iter::once(Block::Table(table)).chain(Block::list(notes)).collect()
    }

    /// A hint that cheap checks found something, with the command to examine the first such
    /// benchmark.
    fn worth_examining(&self, names: &Names<'_>) -> Option<Text> {
        let mut found = self.benchmarks.iter();
        let (shown, hint) = found.find_map(|shown| Some((shown, shown.hints.first()?)))?;
        let what = match hint {
            Hint::Trend { effect } if *effect > 0.0 => "starts slower than it continues",
            Hint::Trend { .. } => "starts faster than it continues",
            Hint::TwoGroups { .. } => "has builds that fall into two groups",
        };
        let (Hint::Trend { effect: size } | Hint::TwoGroups { distance: size }) = hint;
        let revision = self.version.revision_arg();
        let options = [("exact", None), ("filter", Some(&*shown.benchmark.name.id))];
        let command = self.command_line.suggest("diagnose", &[&revision], &options);
        let name = names.name(&shown.benchmark);
        let size = quantity::size(size.abs());
        Some(Text::from_name(name).then(format!(" {what} ({size}): ")).command(command))
    }

    /// A table of builds for each benchmark.
    fn details(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.benchmarks.iter().flat_map(Self::detail).collect();
        let names = Names::new(self.benchmarks.iter().map(|shown| &shown.benchmark));
        let export = self.command_line.suggest("push", &["results.jsonl"], &[]);
        let export = Text::from("all measurements: ").command(export);
        let values = std::iter::once(Text::from(quantity::VALUES));
        let notes = values.chain(self.worth_examining(&names)).chain([export]);
        blocks.extend(Block::list(notes));
        blocks
    }

    fn detail(shown: &ShownBenchmark) -> Vec<Block> {
        let place = &shown.benchmark;
        let head = Text::new().styled_name(Role::Head, &*place.name.id);
        let of =
            format!("  {} {}, experiment {}", place.package, place.target, shown.experiment + 1);
        let mut blocks = vec![Block::Heading(head.then(of))];
        let mut lines = shown.reasons(&place.name.id);
        let Some(summary) = &shown.summary else {
            blocks.extend(Block::list(lines));
            return blocks;
        };
        let Metric { name, unit } = summary.metric();
        let l = summary.builds().len() as f64;
        let executions: usize = summary.builds().iter().map(|build| build.executions).sum();
        let (m, n) = (executions as f64 / l, summary.measurements_per_execution());
        // The numbers are equal, unless executions failed or the harness took other numbers.
        let (digits, average) =
            if m.fract() + n.fract() == 0.0 { (0, "") } else { (1, " on average") };
        let executions =
            if executions == summary.builds().len() { "execution" } else { "executions" };
        let stage = match shown.stage {
            _ if !shown.has_second_stage() => "",
            Stage::First => "the first stage: ",
            Stage::Second => "the second stage: ",
        };
        lines.push(Text::from(format!(
            "{name}, {} by {stage}{l:.0} builds × {m:.digits$} {executions} × {n:.digits$} measurements{average}",
            shown.value.text()
        )));
        let throughput = shown.throughput_text(summary);
        if !throughput.is_empty() {
            lines.push(Text::from(format!("throughput: {throughput}")));
        }
        let shares = Shares::text(shown.value.variance);
        if !shares.is_empty() {
            lines.push(Text::from(format!("variance of builds/executions: {shares}")));
        }
        if let Some(test) = shown.value.layout_test {
            let f = quantity::factor(test.f);
            lines.push(Text::from(format!("layout effect: F {f}, {}", p_value(test.p))));
        }
        blocks.extend(Block::list(lines));
        if !shown.builds.is_empty() {
            blocks.push(Block::Table(shown.builds_table(*unit)));
        }
        if shown.builds.iter().any(|build| build.slow) {
            let slow = "slow: above the median by more than 3.5 robust standard deviations and the min-effect";
            blocks.push(Block::Paragraph(vec![slow.into()]));
        }
        blocks
    }
}

/// The reason why benchmarks were not measured, after their names.
fn unmeasured_text(reason: SkipReason) -> String {
    let why = match reason {
        SkipReason::Identical => "the versions of this experiment have the same machine code",
        SkipReason::Unaffected => "no changed code or data in the versions of this experiment",
    };
    format!(": {reason}: not measured ({why})")
}

impl ShownExperiment {
    fn state(&self) -> Cell {
        match (&self.failure, self.finished) {
            (Some(_), _) => Cell::styled(Role::Bad, "not built"),
            (None, Some(_)) => Cell::from("finished"),
            (None, None) => Cell::styled(Role::Doubtful, "not finished"),
        }
    }
}

impl ShownBenchmark {
    /// The reasons why results are missing or incomplete.
    fn reasons(&self, name: &str) -> Vec<Text> {
        let unmeasured = |reason: SkipReason| Text::from_name(name).then(unmeasured_text(reason));
        self.failures(name).into_iter().chain(self.unmeasured.map(unmeasured)).collect()
    }

    /// The failures, and the reason why it chose not to run.
    fn failures(&self, name: &str) -> Vec<Text> {
        let reason = |what: &str, reason: &String| {
            Text::from_name(name).then(format!(": {what}: ")).message(reason)
        };
        let failures = self.failures.iter().map(|failure| reason("failed", failure));
        let skipped = self.skipped.iter().map(|skipped| reason("skipped", skipped));
        failures.chain(skipped).collect()
    }

    fn has_second_stage(&self) -> bool {
        self.builds.iter().any(|build| build.stage == Stage::Second)
    }

    fn throughput_text(&self, summary: &Summary) -> String {
        if *summary.metric() != Metric::wall() {
            return String::new();
        }
        let time = summary.values().mean;
        let rates = self.throughput.iter().map(|throughput| quantity::rate(*throughput, time));
        rates.collect::<Vec<_>>().join(", ")
    }

    fn builds_table(&self, unit: Unit) -> Table {
        let mut table = Table::new([
            Column::right("seed"),
            Column::left("stage"),
            Column::left("layout").dropped(2),
            Column::left("program").dropped(1),
            Column::right("value"),
            Column::left(""),
            Column::left("executions").dropped(4),
            Column::right("peak memory").dropped(3),
            Column::right("CPU time").dropped(0),
        ]);
        let has_second = self.has_second_stage();
        for build in &self.builds {
            let stage = match build.stage {
                _ if !has_second => "",
                Stage::First => "first",
                Stage::Second => "second",
            };
            table.row(build.cells(stage, unit));
        }
        table
    }
}

impl ShownBuild {
    fn cells(&self, stage: &str, unit: Unit) -> [Cell; 9] {
        let executions = self.executions.iter().map(|one| value(*one, unit));
        let executions: Vec<String> = executions.collect();
        [
            Cell::from(self.seed.to_string()),
            Cell::from(stage),
            Cell::from(self.layout.map_or(String::new(), |layout| layout.to_string())),
            Cell::from(self.digest.map_or(String::new(), |digest| digest.short())),
            Cell::from(value(self.value, unit)),
            Cell::styled(Role::Doubtful, if self.slow { "slow" } else { "" }),
            Cell::from(executions.join(", ")),
            Cell::from(self.peak_memory.map_or(String::new(), quantity::bytes)),
            Cell::from(quantity::duration(self.cpu_time)),
        ]
    }
}

#[cfg(test)]
mod tests;
