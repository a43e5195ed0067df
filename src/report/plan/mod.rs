//! The report of `plan`: the sources of a project's variance, the costs of repetition, and the
//! sample sizes that follow. Pure.

mod document;

use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    date,
    escape::is_hidden,
    show::{ImpactFactors, ShownValue},
};
use crate::{
    model::{Benchmark, FailedTarget, Mode, SampleSizes, Version},
    stats::{
        ABOVE_MIN_EFFECT, Components, Criteria, Levels, Measurements, Power, Summary,
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
    /// The version whose results were analysed.
    version: Version,
    /// The criteria of the verdicts.
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

/// A benchmark without usable results, and the reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnknownBenchmark {
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The reason, with its causes.
    pub reason: String,
}

/// The stored measurements of a benchmark, which a plan starts from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelsFound {
    /// The benchmark measured.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The experiment that measured it, by its identity, which is the same in every store.
    pub experiment: String,
    /// The start of that experiment, in UTC.
    #[serde(rename = "started_at", serialize_with = "date::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: SystemTime,
    /// The impact of starting and of building the program on the measurements.
    pub impact: ImpactFactors,
    /// The interleaving of its executions.
    #[serde(skip)]
    pub interleaving: Option<Interleaving>,
    /// Every measurement.
    #[serde(skip)]
    pub data: Measurements,
    /// The summary of its builds.
    #[serde(skip)]
    pub summary: Summary,
}

/// The cost of one more repetition at each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Costs {
    /// One build of the whole bench target.
    #[serde(rename = "link_seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub link: Duration,
    /// The number of benchmarks that share the build.
    #[serde(rename = "link_shared_by")]
    #[schemars(range(min = 1))]
    pub sharing: u32,
    /// Starting an execution, warming it up and ending it.
    #[serde(rename = "start_seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub start: Duration,
    /// One measurement.
    #[serde(rename = "measurement_seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub measurement: Duration,
}

/// The expected power of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The contribution of a build to the variance of a change.
    pub power: Power,
    /// The data that it is estimated from.
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

/// One benchmark of a plan.
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
    #[serde(rename = "seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    time: Duration,
    /// The lines for bench.toml; empty without data.
    toml: String,
}

/// A benchmark with an individual number of builds.
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

    /// The duration of an experiment on one version.
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
        expected: Option<Expected>,
        criteria: Criteria,
    ) -> Self {
        let LevelsFound { interleaving, data, summary, .. } = &found;
        let components = Components::estimate(summary).t;
        let cost = costs.in_measurements();
        let of_means = known(components);
        let alone = interleaving.is_some_and(|all| all.mode == Mode::Sequential);
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
            value: ShownValue::new(summary, *interleaving, criteria.confidence),
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

/// The average sample sizes.
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
fn known(t: Levels<Option<f64>>) -> Option<Levels<f64>> {
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

/// A TOML string, on one line.
fn string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            hidden if is_hidden(hidden) => out += &format!("\\u{:04X}", u32::from(hidden)),
            other => out.push(other),
        }
    }
    out + "\""
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

#[cfg(test)]
mod tests;
