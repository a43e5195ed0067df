//! The report of `plan`: the sources of a project's variance, the costs of repetition, and the
//! sample sizes that follow. Pure. For people, it is three tables with their explanations, and the
//! lines for `bench.toml`.

use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report, distinct,
    document::{Block, Document, Item, Medium, Text, Verbatim},
    json,
    names::Names,
    quantity::{self, count, duration, exact, size},
    show::{ImpactFactors, ShownValue},
    table::{Cell, Column, Table},
};
use crate::{
    error::Result,
    model::{Benchmark, FailedTarget, Mode, SampleSizes, Unit, Version},
    stats::{
        ABOVE_MIN_EFFECT, Components, Criteria, Levels, Measurements, Power, Summary,
        impact::ImpactFactor,
        plan::{
            Cost, Optimum, best_executions, best_measurements, best_measurements_by_subsampling,
            builds_by_stein,
        },
    },
    verdict::Interleaving,
};

/// The numbers of builds for which the report shows the smallest detectable change.
const BUILDS: [usize; 4] = [5, 10, 20, 40];

/// The maximum number of builds ever suggested: beyond it, the benchmark itself should be changed.
const MOST_BUILDS: usize = 100;

/// The maximum number of executions of a build ever suggested, even if builds seem not to vary:
/// that is never certain.
const MOST_EXECUTIONS: usize = 4;

/// The share of the benchmarks for which the common number of builds must be enough.
const MOST_BENCHMARKS: f64 = 0.75;

/// The variance of the benchmarks of a version, and the sample sizes that follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanReport {
    version: Version,
    criteria: Criteria,
    /// The requested half-width of the relative interval of a change: 0.005 is half a percent. Null
    /// if the plan is for detecting changes of the min-effect.
    half_width: Option<f64>,
    /// In the order of definition.
    benchmarks: Vec<PlannedBenchmark>,
    suggestion: Suggestion,
    /// Benchmarks without usable results.
    failures: Vec<UnknownBenchmark>,
    failed_targets: Vec<FailedTarget>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnknownBenchmark {
    #[serde(flatten)]
    pub benchmark: Benchmark,
    pub reason: String,
}

/// The stored measurements of a benchmark, which a plan starts from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelsFound {
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The experiment that measured it, by its identity, which is the same in every store.
    pub experiment: String,
    /// The start of that experiment, in UTC.
    #[serde(rename = "started_at", serialize_with = "quantity::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: SystemTime,
    /// The impact of starting and of building the program on the measurements.
    pub impact: ImpactFactors,
    #[serde(skip)]
    pub interleaving: Option<Interleaving>,
    #[serde(skip)]
    pub data: Measurements,
    #[serde(skip)]
    pub summary: Summary,
}

/// The cost of one more repetition at each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Costs {
    /// One build of the whole bench target.
    #[serde(rename = "link_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub link: Duration,
    /// The number of benchmarks that share the build.
    #[serde(rename = "link_shared_by")]
    #[schemars(range(min = 1))]
    pub sharing: u32,
    /// Starting an execution, warming it up and ending it.
    #[serde(rename = "start_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub start: Duration,
    #[serde(rename = "measurement_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub measurement: Duration,
}

/// The expected power of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The contribution of a build to the variance of a change.
    pub power: Power,
    pub basis: PlanBasis,
}

/// The data from which the variance of a change is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlanBasis {
    /// The differences of a stored comparison, of this version or of others.
    Compared,
    /// One version alone: the sum of the variances of two versions, as if pairing gained nothing.
    /// Paired comparisons have at least this power.
    OneVersion,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedBenchmark {
    #[serde(flatten)]
    found: LevelsFound,
    #[serde(flatten)]
    value: ShownValue,
    /// The average numbers of each build and execution.
    sample_sizes: SampleSizes,
    /// The unbiased components `T_V²`, `T_B²` and `T_E²` of the variance of means, in the squared
    /// unit. They may be negative; null if they are unknown.
    components: Levels<Option<f64>>,
    /// The shares of the sum of the components; those below 0 count as 0, and all are 0 if nothing
    /// varies.
    shares: Levels<f64>,
    costs: Costs,
    /// m0 and n0 by (23) of Kalibera et al. 2006, before rounding; null if a component is unknown.
    best_for_means: Repetitions<Optimum>,
    /// For the estimator in use; null if it is unknown, and for measurements that were interleaved.
    best: Repetitions<usize>,
    /// The basis of `detectable`; null if nothing varies.
    basis: Option<PlanBasis>,
    /// With the suggested number of executions.
    detectable: Vec<Detectable>,
    /// The number of builds that is needed; null if it is above the maximum ever suggested.
    #[schemars(range(min = 2))]
    builds: Option<usize>,
    #[serde(skip)]
    power: Option<Power>,
    #[serde(skip)]
    criteria: Criteria,
}

/// The best numbers of repetitions.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Repetitions<T> {
    executions: Option<T>,
    measurements: Option<T>,
}

/// The power of a number of builds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Detectable {
    #[schemars(range(min = 2))]
    builds: usize,
    /// The smallest relative change that a fixed plan with this many builds in each stage reports
    /// with a power of 80 %.
    change: Option<f64>,
}

/// The sample sizes to write into `bench.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suggestion {
    /// The builds of every benchmark not in `individual`; null without data.
    #[schemars(range(min = 2))]
    builds: Option<usize>,
    /// The executions of each build.
    #[schemars(range(min = 1))]
    executions: Option<usize>,
    /// The measurements of each execution that runs alone.
    #[schemars(range(min = 1))]
    measurements: Option<usize>,
    /// Benchmarks that need more builds than most.
    individual: Vec<IndividualBuilds>,
    /// Benchmarks that need more builds than the maximum ever suggested.
    excess: Vec<Benchmark>,
    /// The approximate duration of linking and measuring one version.
    #[serde(rename = "seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    time: Duration,
    /// The lines for bench.toml; empty without data.
    toml: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct IndividualBuilds {
    #[serde(flatten)]
    benchmark: Benchmark,
    #[schemars(range(min = 2))]
    builds: usize,
}

impl PlanReport {
    /// Plans comparisons of these benchmarks in a mode, for intervals of a half-width if there is
    /// one.
    pub fn new(
        version: Version,
        criteria: Criteria,
        (half_width, compared): (Option<f64>, Mode),
        mut benchmarks: Vec<PlannedBenchmark>,
        failures: Vec<UnknownBenchmark>,
        failed_targets: Vec<FailedTarget>,
    ) -> Self {
        let suggestion = Suggestion::new(&mut benchmarks, half_width, compared);
        Self { version, criteria, half_width, benchmarks, suggestion, failures, failed_targets }
    }

    /// True if something is missing because it failed.
    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty() || !self.failed_targets.is_empty()
    }
}

impl Costs {
    /// The costs in units of one measurement. The benchmark bears its share of the cost of a build.
    fn in_measurements(&self) -> Cost {
        // A measurement too short for the clock still takes some time: avoids 0 / 0.
        let unit = self.measurement.as_secs_f64().max(1e-9);
        let link = self.link.as_secs_f64() / f64::from(self.sharing.max(1));
        Cost {
            build: (link / unit).max(1e-3),
            execution: (self.start.as_secs_f64() / unit).max(1e-3),
            repeat: 1.0,
        }
    }

    fn duration(&self, sample_sizes: SampleSizes) -> Duration {
        let seconds = self.in_measurements().total(sample_sizes) * self.measurement.as_secs_f64();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl PlannedBenchmark {
    /// Plans a benchmark from its measurements, their costs, and the expected power.
    pub fn new(
        found: LevelsFound,
        costs: Costs,
        expected: Option<&Expected>,
        criteria: Criteria,
    ) -> Self {
        let LevelsFound { interleaving, data, summary, .. } = &found;
        let components = Components::estimate(summary).t;
        let cost = costs.in_measurements();
        let of_means = known_components(components);
        let alone = interleaving.as_ref().is_some_and(|all| all.mode == Mode::Sequential);
        let subsampled = || {
            let estimator = summary.estimator();
            best_measurements_by_subsampling(data, estimator, &cost, MOST_EXECUTIONS)
        };
        let measurements = if alone { subsampled() } else { None };
        let taken = summary.measurements_per_execution();
        let taken = measurements.map_or(taken, |number| number as f64);
        let of_execution = Cost { execution: cost.execution + taken, ..cost };
        let levels = expected.and_then(|expected| expected.power.levels());
        let executions =
            levels.map(|levels| best_executions(&levels, &of_execution).at_most(MOST_EXECUTIONS));
        Self {
            value: ShownValue::new(summary, interleaving.clone(), criteria.confidence),
            sample_sizes: sample_sizes(summary),
            components,
            shares: shares(components),
            costs,
            best_for_means: Repetitions {
                executions: of_means.map(|levels| best_executions(&levels, &cost)),
                measurements: of_means
                    .filter(|_| components.execution.is_some())
                    .map(|levels| best_measurements(&levels, &cost)),
            },
            best: Repetitions { executions, measurements },
            basis: expected.map(|expected| expected.basis),
            detectable: Vec::new(),
            builds: None,
            power: expected.map(|expected| expected.power),
            criteria,
            found,
        }
    }

    /// Determines the detectable changes and the builds that are needed with this many executions
    /// of each build.
    fn decide(&mut self, executions: usize, half_width: Option<f64>) {
        // With the measured number, if the contribution of executions is unknown.
        let power = self.power.map(|power| power.at_executions(executions).unwrap_or(power));
        let change = |builds| power.map(|power| power.with_builds(builds));
        self.detectable =
            BUILDS.map(|builds| Detectable { builds, change: change(builds) }).to_vec();
        self.builds = power.map_or(Some(BUILDS[0]), |power| self.builds_for(&power, half_width));
    }

    /// The number of builds, from 5 on, that report one and a half times the min-effect with a
    /// power of 80 %, or have an interval of this half-width; `None` if the maximum is not enough.
    fn builds_for(&self, power: &Power, half_width: Option<f64>) -> Option<usize> {
        let Some(half_width) = half_width else {
            let wanted = ABOVE_MIN_EFFECT * self.criteria.min_effect;
            return power.builds_for(wanted, BUILDS[0], MOST_BUILDS);
        };
        // Changes are relative, and variances are of logarithms.
        let (width, confidence) = (half_width.ln_1p(), 1.0 - self.criteria.false_alarm_rate);
        let builds = builds_by_stein(power.builds(), power.deviation(), width, confidence);
        Some(builds.max(BUILDS[0])).filter(|builds| *builds <= MOST_BUILDS)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "averages of small numbers, rounded"
)]
fn sample_sizes(summary: &Summary) -> SampleSizes {
    let builds = summary.builds();
    let executions: usize = builds.iter().map(|build| build.executions).sum();
    let executions = (executions as f64 / builds.len().max(1) as f64).round() as usize;
    let measurements = summary.measurements_per_execution().round() as usize;
    SampleSizes { first_analysis: None, builds: builds.len(), executions, measurements }
}

fn shares(components: Levels<Option<f64>>) -> Levels<f64> {
    let Levels { execution, build, version } = components;
    let parts = [version, build, execution].map(|part| part.unwrap_or(0.0).max(0.0));
    let whole: f64 = parts.iter().sum();
    let [version, build, execution] =
        parts.map(|part| if whole > 0.0 { part / whole } else { 0.0 });
    Levels { execution, build, version }
}

/// The components, if those that (23) needs are known. Measurements that cannot be separated from
/// executions count as part of these.
fn known_components(t: Levels<Option<f64>>) -> Option<Levels<f64>> {
    Some(Levels { execution: t.execution.unwrap_or(0.0), build: t.build?, version: t.version? })
}

impl Suggestion {
    /// Takes the median of the best sample sizes, and determines the builds that each benchmark
    /// then needs.
    fn new(benchmarks: &mut [PlannedBenchmark], half_width: Option<f64>, compared: Mode) -> Self {
        let executions = quantile(benchmarks.iter().filter_map(|one| one.best.executions), 0.5);
        let measurements = quantile(benchmarks.iter().filter_map(|one| one.best.measurements), 0.5);
        let each = executions.unwrap_or(1);
        for one in &mut *benchmarks {
            one.decide(each, half_width);
        }
        let builds = quantile(benchmarks.iter().filter_map(|one| one.builds), MOST_BENCHMARKS);
        let common = builds.unwrap_or_default();
        let individual = benchmarks.iter().filter_map(|one| {
            let builds = one.builds.filter(|needed| *needed > common)?;
            Some(IndividualBuilds { benchmark: one.found.benchmark.clone(), builds })
        });
        let excess = benchmarks.iter().filter(|one| one.builds.is_none());
        let time = benchmarks.iter().map(|one| {
            let builds = one.builds.unwrap_or_default().max(common);
            let measurements = measurements.unwrap_or(one.sample_sizes.measurements);
            let sizes =
                SampleSizes { first_analysis: None, builds, executions: each, measurements };
            one.costs.duration(sizes)
        });
        let mut suggestion = Self {
            builds,
            executions,
            measurements,
            individual: individual.collect(),
            excess: excess.map(|one| one.found.benchmark.clone()).collect(),
            time: time.fold(Duration::ZERO, Duration::saturating_add),
            toml: String::new(),
        };
        suggestion.toml = suggestion.lines(compared);
        suggestion
    }

    /// The tables to paste, for comparisons in this mode.
    fn lines(&self, compared: Mode) -> String {
        let Some(builds) = self.builds else { return String::new() };
        let mut text = format!("[experiment]\nbuilds = {builds}\n");
        if let Some(executions) = self.executions {
            text += &format!("executions = {executions}\n");
        }
        match (self.measurements, compared) {
            (Some(number), Mode::Sequential) => text += &format!("measurements = {number}\n"),
            // Interleaved measurements are shorter and disturbed alike, so this number does not
            // apply to them.
            (Some(number), Mode::Interleaved) => {
                text += &format!("# measurements = {number}  # only for mode = \"sequential\"\n");
            }
            (None, _) => {}
        }
        for IndividualBuilds { benchmark, builds } in &self.individual {
            text += &format!(
                "\n[[benchmark]]\nfilter = {}\npackage = {}\nbench = {}\nbuilds = {builds}\n",
                string(&format!("^{}$", regex::escape(&benchmark.name.id))),
                string(&benchmark.package),
                string(&benchmark.target),
            );
        }
        text
    }
}

/// A TOML string, on one line: a JSON string is one.
fn string(text: &str) -> String {
    json::escaped(&serde_json::Value::from(text).to_string())
}

/// The smallest of the numbers that this share of them does not exceed: at 0.5, the lower median.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a short list"
)]
fn quantile(numbers: impl Iterator<Item = usize>, share: f64) -> Option<usize> {
    let mut sorted: Vec<usize> = numbers.collect();
    sorted.sort_unstable();
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(index.max(1) - 1).copied()
}

const SHARES: &str = "Shares of the unbiased components T_V², T_B² and T_E² ((14)-(16) of Kalibera et al. 2006); those \
                      below 0 count as 0.";

const IMPACT: &str = "Impact factors of building (b) and of starting (e) again: by how much that spreads results \
                      (Kalibera et al. 2005, figure 2); 1 is not at all.";

const COSTS: &str =
    "A link is shared by the benchmarks of its bench target; a start includes the warm-up.";

const OF_MEANS: &str = "m0 = sqrt(b/w · T_B²/T_V²) executions of a build and n0 = sqrt(w · T_E²/T_B²) measurements of an \
                        execution, with a build's cost b and a start's cost w in measurements: (23) of Kalibera et al. \
                        2006, of means. Where m0 is 1 or less, n0 = sqrt((b + w) · T_E²/(T_V² + T_B²)).";

const ONE_VERSION: &str = "one-version: one version does not show how pairs of builds differ. This is a bound that \
                           assumes no gain from pairing; interleaved comparisons usually detect much smaller \
                           changes, and after a comparison of any two versions, the plan uses its pairs.";

const COMPARED: &str = "compared: by the pairs of builds in the newest stored comparison of the benchmark, of this \
                        version if there is one.";

impl Report for PlanReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("plan").titled(self.version.to_string());
        document.lead = Text::from(&*self.version.summary);
        if !self.benchmarks.is_empty() {
            document.add(self.variance());
            document.add(self.costs());
            document.add(self.detectable());
        }
        document.add(Block::list(self.unknown()));
        if !self.suggestion.toml.is_empty() {
            let took = duration(self.suggestion.time);
            let text = self.suggestion.toml.clone();
            document.add([
                Block::heading(format!("For bench.toml (measuring a version takes about {took})")),
                Block::Verbatim(Verbatim { language: "toml", text }),
            ]);
            document.add(self.excess().and_then(|line| Block::paragraph([line])));
        }
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

impl PlanReport {
    /// The benchmarks without data, and the reasons.
    fn unknown(&self) -> Vec<Text> {
        let names = Names::new(self.failures.iter().map(|failure| &failure.benchmark));
        let benchmarks = self.failures.iter().map(|UnknownBenchmark { benchmark, reason }| {
            let name = Text::from_name(names.name(benchmark));
            name.then(": nothing is known: ").message(reason)
        });
        let targets = self.failed_targets.iter().map(|FailedTarget { target, error }| {
            Text::from_name(target.to_string()).then(": ").message(error.to_string())
        });
        benchmarks.chain(targets).collect()
    }

    /// The benchmarks whose smallest change of interest no number of builds detects.
    fn excess(&self) -> Option<Text> {
        let excess = &self.suggestion.excess;
        let names = Names::new(self.benchmarks.iter().map(|one| &one.found.benchmark));
        let all = excess.iter().map(|benchmark| Text::from_name(names.name(benchmark)));
        (!excess.is_empty()).then(|| {
            let text = format!(
                "{} {} more than {MOST_BUILDS} builds, which is not suggested: ",
                count(excess.len(), "benchmark"),
                if excess.len() == 1 { "needs" } else { "need" },
            );
            Text::from(text).append(Text::joined(all, ", "))
        })
    }

    fn variance(&self) -> [Block; 3] {
        // Such as `5 builds × 4 executions × 20 measurements`.
        let sizes = self.benchmarks.iter().map(|one| quantity::sample_sizes(one.sample_sizes));
        let measured = distinct(sizes);
        self.section(
            format!("Variance of means, by {}", measured.join("; ")),
            ["value", "builds", "executions", "measurements", "impact b", "impact e"],
            |one| {
                let Levels { version, build, execution } = one.shares;
                let percent = |share: f64| format!("{:.0} %", 100.0 * share);
                let of_measurements = one.components.execution.map(|_| percent(execution));
                vec![
                    one.value.text(),
                    percent(version),
                    percent(build),
                    known(of_measurements),
                    factor(one.found.impact.builds),
                    factor(one.found.impact.executions),
                ]
            },
            vec![SHARES.to_owned(), IMPACT.to_owned()],
        )
    }

    fn costs(&self) -> [Block; 3] {
        self.section(
            "Costs, and the repetitions that give the smallest variance for them".to_owned(),
            ["build", "start", "measurement", "m0", "n0", "m", "n"],
            |PlannedBenchmark { costs, best_for_means, best, .. }| {
                vec![
                    time(costs.link / costs.sharing.max(1)),
                    time(costs.start),
                    time(costs.measurement),
                    known(best_for_means.executions.map(optimum)),
                    known(best_for_means.measurements.map(optimum)),
                    known(best.executions),
                    known(best.measurements),
                ]
            },
            vec![
                COSTS.to_owned(),
                OF_MEANS.to_owned(),
                format!(
                    "m and n are for the estimator in use, whose variance need not fall like 1/n: m by the variance \
                     of a change, {MOST_EXECUTIONS} at most; n by how estimates of fewer measurements vary, where \
                     executions ran alone."
                ),
            ],
        )
    }

    fn detectable(&self) -> [Block; 3] {
        let executions = count(self.suggestion.executions.unwrap_or(1), "execution");
        let needed = match self.half_width {
            Some(width) => format!("for ±{}", exact(width)),
            None => "needed".to_owned(),
        };
        let heads = BUILDS.map(|builds| format!("{builds} builds")).into_iter();
        self.section(
            format!("The smallest change that a comparison reports with a power of 80 %, {executions} of each build"),
            heads.chain(["by".to_owned(), needed]),
            |one| {
                let mut cells: Vec<String> =
                    one.detectable.iter().map(|of| known(of.change.map(size))).collect();
                cells.push(known(one.basis.map(|basis| match basis {
                    PlanBasis::Compared => "compared",
                    PlanBasis::OneVersion => "one-version",
                })));
                let most = || format!("> {MOST_BUILDS}");
                cells.push(one.builds.map_or_else(most, |needed| needed.to_string()));
                cells
            },
            self.notes_on_detectable(),
        )
    }

    fn notes_on_detectable(&self) -> Vec<String> {
        let notes = [(PlanBasis::OneVersion, ONE_VERSION), (PlanBasis::Compared, COMPARED)];
        let has = |basis| self.benchmarks.iter().any(|one| one.basis == Some(basis));
        let notes = notes.into_iter().filter(|(basis, _)| has(*basis));
        let needed = match self.half_width {
            None => format!(
                "needed: builds with which a change of {}, one and a half times the min-effect, is reported with a \
                 power of 80 %. All numbers are of fixed plans with as many fresh builds as first ones.",
                exact(ABOVE_MIN_EFFECT * self.criteria.min_effect)
            ),
            Some(width) => format!(
                "for ±{}: by the two-stage rule of Stein (1945), l = max(l0, (t · s0 / h)²) rounded up, with the s0 \
                 of the l0 builds that were measured: the change lies within h of the estimate with a \
                 confidence of {}.",
                exact(width),
                exact(1.0 - self.criteria.false_alarm_rate)
            ),
        };
        notes.map(|(_, note)| note.to_owned()).chain([needed]).collect()
    }

    /// A table with a row for each benchmark, and notes.
    fn section<'r>(
        &'r self,
        title: String,
        heads: impl IntoIterator<Item = impl Into<String>>,
        row: impl Fn(&'r PlannedBenchmark) -> Vec<String>,
        notes: Vec<String>,
    ) -> [Block; 3] {
        let names = Names::new(self.benchmarks.iter().map(|one| &one.found.benchmark));
        let columns = heads.into_iter().map(|head| Column::right(head.into()));
        let mut table =
            Table::new(std::iter::once(Column::left("benchmark").names()).chain(columns));
        for one in &self.benchmarks {
            let name = Cell::name(names.name(&one.found.benchmark));
            table.row(std::iter::once(name).chain(row(one).into_iter().map(Cell::from)));
        }
        let notes = notes.into_iter().map(Item::from).collect();
        [Block::heading(title), Block::Table(table), Block::List(notes)]
    }
}

/// A cell that may be unknown.
fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn factor(impact: Option<ImpactFactor>) -> String {
    known(impact.map(|impact| quantity::factor(impact.factor)))
}

fn time(time: Duration) -> String {
    quantity::value(time.as_secs_f64() * 1e9, Unit::Nanoseconds)
}

fn optimum(optimum: Optimum) -> String {
    match optimum {
        Optimum::About(number) if number < 99.5 => format!("{number:.1}"),
        Optimum::About(number) => format!("{number:.0}"),
        Optimum::Unlimited => "many".to_owned(),
        Optimum::Indifferent => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests;
