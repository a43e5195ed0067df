//! The report of `diagnose`: the sources of noise in the measurements of a few benchmarks. It gives
//! no verdict on a change. People read first whether the machine or the benchmark is the cause, then what to do about it.

mod bench_toml;
pub(super) mod chart;
mod sections;

pub use bench_toml::recommended_lines;
pub(super) use sections::between;

use std::{rc::Rc, time::Duration};

use rbench_stats::{
    Change, Estimator, Interval, Measurements,
    diagnosis::{
        AfterOne, Answer, Diagnosis, Length, Level, OrderEffects, Warning, serialize_answer,
    },
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Report,
    document::{Block, Document, Item, Medium, Text, Verbatim},
    json::{self, MetricFields},
    quantity::{self, changed_within, duration, p_value, size},
    sentence::by_reasons,
    style::Role,
};
use crate::{
    error::Result,
    model::{Benchmark, Machine, SampleSizes, Unmeasured, Version},
    shell::CommandLine,
};

/// The noise of some benchmarks of a version. Shares and changes are relative: 0.01 is 1 %. A number is null if it is
/// unknown or infinite. A question without an answer has the reason under `unanswered`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiagnosisReport {
    /// The version measured.
    pub version: Version,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<ExaminedBenchmark>,
    /// The lines for `bench.toml` with the recommended sample sizes; null without `--plan`.
    pub plan: Option<String>,
    /// True to show every answer on a terminal, and not only the most important causes.
    #[serde(skip)]
    pub explains_all: bool,
    /// Writes the suggested commands.
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

/// An examined benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExaminedBenchmark {
    /// The benchmark examined.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The findings, or the reason why nothing was measured.
    #[serde(flatten)]
    pub outcome: ExaminationOutcome,
}

/// The findings on a benchmark, or the reason why it was not examined.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExaminationOutcome {
    /// The findings.
    Diagnosis(Box<Examination>),
    /// The reason why it failed.
    Failure(String),
    /// The reason why it chose not to run.
    Skipped(String),
}

/// The findings on one benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Examination {
    /// All measurements, each execution in the order of time.
    #[serde(flatten, serialize_with = "serialize_metric")]
    #[schemars(with = "MetricFields<'static>")]
    pub data: Measurements,
    /// The conditions of the measurements.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// All warnings, including those of additional measurements, without those of the machine.
    pub warnings: Vec<WordedWarning>,
    /// Warnings that a control which is known to be steady shows as well: they are about the machine, and not about the
    /// benchmark.
    pub machine_warnings: Vec<WordedWarning>,
    /// True if a control was measured at the same time.
    pub has_control: bool,
    /// What causes the noise.
    pub source: NoiseSource,
    /// Limits of the findings, as sentences.
    pub notes: Vec<String>,
    /// The findings from the measurements.
    #[serde(flatten)]
    pub findings: Diagnosis,
    /// The effect of benchmarks that ran before.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<OrderEffects>")]
    pub order_effect: Result<OrderEffects, String>,
    /// The dependence of errors on the length of a measurement.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Length>")]
    pub length: Result<Length, String>,
}

/// What causes the noise of a benchmark, as far as the control and the load of the machine show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoiseSource {
    /// No phenomenon is large enough to matter.
    Nothing,
    /// The control shows everything that the benchmark shows.
    Machine,
    /// The control shows nothing of it.
    Benchmark,
    /// The control shows some of it.
    Both,
    /// There was no control, or other programs disturbed the measurements.
    Unclear,
}

/// A phenomenon that is large enough to matter, its values, and both as sentences.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WordedWarning {
    /// The phenomenon with its values.
    #[serde(flatten)]
    pub warning: Warning,
    /// The phenomenon and its size.
    #[serde(skip)]
    pub brief: String,
    /// The phenomenon, its size and the evidence.
    #[schemars(length(min = 1))]
    pub finding: String,
    /// The advice.
    #[schemars(length(min = 1))]
    pub advice: String,
}

/// The conditions of the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// The identities of their experiments, which are the same in every store.
    pub experiments: Vec<String>,
    /// The numbers of builds, of executions of each and of measurements of each; the largest, if they vary.
    pub sample_sizes: SampleSizes,
    /// The smallest change of interest.
    pub min_effect: f64,
    /// The estimator of the value of an execution.
    pub estimator: Estimator,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The median duration of a measurement.
    pub measurement_seconds: Option<f64>,
    /// The median number of iterations of a measurement.
    pub iterations: Option<u64>,
    /// The warm-up before the first measurement.
    pub warm_up_seconds: f64,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// The share of the time of all CPUs that other processes used meanwhile, including the busy ones; null for stored
    /// results.
    pub others: Option<f64>,
    /// The share of executions that were often interrupted, if that is more than 10 %.
    pub preempted: Option<f64>,
}

impl DiagnosisReport {
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(|one| matches!(one.outcome, ExaminationOutcome::Failure(_)))
    }
}

impl From<Result<Box<Examination>, Unmeasured>> for ExaminationOutcome {
    fn from(outcome: Result<Box<Examination>, Unmeasured>) -> Self {
        match outcome {
            Ok(examination) => Self::Diagnosis(examination),
            Err(Unmeasured::Failed(reason)) => Self::Failure(reason),
            Err(Unmeasured::Skipped(reason)) => Self::Skipped(reason),
        }
    }
}

fn serialize_metric<S: Serializer>(data: &Measurements, serializer: S) -> Result<S::Ok, S::Error> {
    MetricFields::from(Some(data.metric())).serialize(serializer)
}

impl Report for DiagnosisReport {
    fn document(&self, medium: Medium) -> Document {
        let mut document = Document::new("diagnose");
        if let Some(text) = self.plan.clone() {
            document.add([Block::Verbatim(Verbatim { language: "toml", text })]);
            if !self.explains_all {
                // All of it can be appended to a bench.toml.
                return document;
            }
        }
        if self.plan.is_none() {
            document = document.titled(self.version.to_string());
            document.lead = Text::from(&*self.version.summary);
        }
        let is_brief = matches!(medium, Medium::Terminal { .. }) && !self.explains_all;
        let machine = self.machine.as_ref().filter(|_| !is_brief);
        document.add(Block::paragraph(machine.map(|machine| format!("machine: {machine}"))));
        for ExaminedBenchmark { benchmark, outcome } in &self.benchmarks {
            let head = Text::new().styled_name(Role::Head, &*benchmark.name.id);
            let of = format!("  {} {}", benchmark.package, benchmark.target);
            document.add([Block::Heading(head.then(of))]);
            let last = match outcome {
                ExaminationOutcome::Diagnosis(examination) if is_brief => {
                    document.add(examination.brief());
                    Text::from("every cause and figure: ").command(self.again(benchmark, true))
                }
                ExaminationOutcome::Diagnosis(examination) => {
                    document.add(examination.blocks(medium));
                    Text::from("this report again: ").command(self.again(benchmark, false))
                }
                ExaminationOutcome::Failure(reason) => Text::from("failed: ").message(reason),
                ExaminationOutcome::Skipped(reason) => Text::from("skipped: ").message(reason),
            };
            document.add(Block::paragraph([last]));
        }
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

impl DiagnosisReport {
    /// The command that shows what is stored of a benchmark, with every reason if that is asked for.
    fn again(&self, benchmark: &Benchmark, explains: bool) -> String {
        let filter = ("filter", Some(benchmark.name.id.as_str()));
        let mut options = vec![filter, ("exact", None), ("from-stored", None)];
        options.extend(explains.then_some(("reasons", None)));
        self.command_line.suggest("diagnose", &[&self.version.revision_arg()], &options)
    }
}

/// The number of causes in a brief report.
const MOST_CAUSES: usize = 3;

/// The advice on what the control shows too.
const QUIET_MACHINE: &str = "end other programs, and see `cargo rbench doctor`";

impl Examination {
    /// What causes the noise, and what to do about the most important causes.
    fn brief(&self) -> Vec<Block> {
        let mut causes: Vec<(&WordedWarning, &str)> =
            self.warnings.iter().map(|own| (own, &*own.advice)).collect();
        causes.extend(self.machine_warnings.iter().map(|shared| (shared, QUIET_MACHINE)));
        causes.sort_by(|(one, _), (other, _)| other.size().total_cmp(&one.size()));
        let more = causes.len().saturating_sub(MOST_CAUSES);
        let items = (1..).zip(&causes).take(MOST_CAUSES).map(|(number, (worded, advice))| {
            let is_doubtful = self.source == NoiseSource::Unclear && worded.needs_control();
            let advice = if is_doubtful {
                format!("if it is still there then, {advice}")
            } else {
                (*advice).to_owned()
            };
            let number = Text::from(format!("{number}. "));
            let finding = number.styled(Role::Doubtful, &*worded.brief);
            Item::new(finding, Block::paragraph([advice]))
        });
        let more =
            (more > 0).then(|| Item::from(format!("and {}", by_reasons(more, "more cause"))));
        let verdict = Block::paragraph([self.source_text()]);
        verdict.into_iter().chain(Block::list(items.chain(more))).collect()
    }

    /// The answer to the question of whether the machine or the benchmark causes the noise.
    fn source_text(&self) -> Text {
        let loop_shows = |what: &str| format!("a steady loop that ran beside it shows {what}");
        let (answer, why) = match self.source {
            NoiseSource::Nothing => ("neither", "nothing was found that matters".to_owned()),
            NoiseSource::Machine => {
                ("the machine", loop_shows("the same, so this is probably not the benchmark's"))
            }
            NoiseSource::Benchmark => ("the benchmark", self.because_of_benchmark()),
            NoiseSource::Both => ("both", loop_shows("a part of this, too")),
            NoiseSource::Unclear => ("unclear", self.unclear_because()),
        };
        Text::from("machine or benchmark? ").styled(Role::Head, answer).then(format!(": {why}"))
    }

    fn because_of_benchmark(&self) -> String {
        if !self.warnings.iter().any(WordedWarning::needs_control) {
            return "in random order, its processes differ by what ran in them before".to_owned();
        }
        "a steady loop that ran beside it shows nothing of this".to_owned()
    }

    fn unclear_because(&self) -> String {
        match self.conditions.disturbance() {
            Some(disturbance) => format!(
                "{disturbance}, which the benchmark may notice more than a steady loop beside it: end other programs, \
                 and diagnose it again"
            ),
            None => "no steady loop ran beside it, which would show what the machine causes: diagnose it without \
                     --from-stored"
                .to_owned(),
        }
    }

    fn blocks(&self, medium: Medium) -> Vec<Block> {
        let notes = self.conditions.disturbances().into_iter().chain(self.notes.iter().cloned());
        let notes = notes.map(|note| format!("note: {note}"));
        let measured = std::iter::once(self.measured_words());
        let mut blocks: Vec<Block> = Block::paragraph([self.source_text()]).into_iter().collect();
        blocks.extend(self.warnings.iter().map(|warning| {
            let finding = Text::new().styled(Role::Doubtful, &*warning.finding);
            Block::Warning(finding.then(format!(": {}", warning.advice)), None)
        }));
        blocks.extend(Block::list(self.machine_warnings.iter().map(|warning| {
            format!(
                "no warning: {}; but a control, a steady loop in registers, ran interleaved with it and shows the \
                 same, so the machine may be the cause: {QUIET_MACHINE}",
                warning.finding
            )
        })));
        blocks.extend(Block::list(measured.chain(notes)));
        if medium == Medium::Page {
            blocks.push(Block::Drawings(self.plots()));
        }
        if matches!(medium, Medium::Terminal { .. }) {
            blocks.extend(self.questions());
        } else {
            blocks.push(Block::Details("every question, with figures".into(), self.questions()));
        }
        blocks
    }

    /// The sample sizes: `10 builds × 10 executions × 200 measurements of 1 ms, 1.050 µs for an
    /// iteration`.
    fn measured_words(&self) -> String {
        let conditions = &self.conditions;
        let each = conditions
            .measurement_seconds
            .map_or(String::new(), |time| format!(" of {}", short(time)));
        let iterations = conditions
            .iterations
            .map_or(String::new(), |number| format!(", {} each", quantity::iterations(number)));
        let load = match conditions.beside() {
            beside if beside.is_empty() => beside,
            beside => format!(",{beside}"),
        };
        let unit = self.data.metric().unit;
        let mean = self.findings.variance.as_ref().map_or(String::new(), |found| {
            format!(", {} for an iteration on average", quantity::value(found.mean, unit))
        });
        format!("{}{each}{iterations}{load}{mean}", quantity::sample_sizes(conditions.sample_sizes))
    }
}

impl Conditions {
    fn disturbances(&self) -> Vec<String> {
        let warm_up = (self.warm_up_seconds > 0.0).then(|| {
            let time = duration(Duration::from_secs_f64(self.warm_up_seconds));
            format!("a warm-up of {time} came before the first measurement")
        });
        let others = self
            .others_text()
            .map(|others| format!("{others}, and may have caused some of the findings"));
        [warm_up, others, self.preempted_text()].into_iter().flatten().collect()
    }

    /// What other programs did that may have caused any finding; `None` if that was little.
    fn disturbance(&self) -> Option<String> {
        self.others_text().or_else(|| self.preempted_text())
    }

    fn others_text(&self) -> Option<String> {
        let share = self.alone(self.others)?;
        Some(format!("other programs used {} of the CPU time meanwhile", size(share)))
    }

    fn preempted_text(&self) -> Option<String> {
        let share = self.alone(self.preempted)?;
        Some(format!("other programs often interrupted {} of the executions", size(share)))
    }

    /// A share of a disturbance that is worth a word: one that the user did not ask for.
    fn alone(&self, share: Option<f64>) -> Option<f64> {
        /// The share below which a disturbance is not mentioned.
        const LITTLE: f64 = 0.1;
        share.filter(|share| *share > LITTLE && self.load == 0)
    }

    /// The busy processes at the same time, to append to a phrase; empty without any.
    fn beside(&self) -> String {
        match self.load {
            0 => String::new(),
            1 => " beside 1 busy process".to_owned(),
            load => format!(" beside {load} busy processes"),
        }
    }
}

/// A time in two or three digits, also below a millisecond.
fn short(seconds: f64) -> String {
    match 1e3 * seconds {
        short if short < 0.0995 => format!("{:.0} µs", 1e3 * short),
        short if short < 9.95 => format!("{short:.2} ms"),
        _ => duration(Duration::from_secs_f64(seconds)),
    }
}

impl NoiseSource {
    /// The source, by the warnings of the benchmark and the number of those that the control shows, too.
    pub fn new(own: &[Warning], shared: usize, has_control: bool, conditions: &Conditions) -> Self {
        let is_clear = has_control && conditions.disturbance().is_none();
        match (own.len(), shared) {
            (0, 0) => Self::Nothing,
            (0, _) => Self::Machine,
            _ if !is_clear && own.iter().any(needs_control) => Self::Unclear,
            (_, 0) => Self::Benchmark,
            _ => Self::Both,
        }
    }
}

impl WordedWarning {
    /// Words a warning. `effects` are those of the benchmarks that ran before, if they were measured.
    pub fn new(warning: Warning, conditions: &Conditions, effects: Option<&OrderEffects>) -> Self {
        let [brief, evidence] = finding(&warning, conditions, effects);
        let finding = format!("{brief} ({evidence})");
        Self { warning, brief, finding, advice: advice(&warning, conditions) }
    }

    /// True if the machine may cause the phenomenon.
    const fn needs_control(&self) -> bool {
        needs_control(&self.warning)
    }

    /// How much the phenomenon changes a value, relatively.
    const fn size(&self) -> f64 {
        match self.warning {
            Warning::Influence { relative_sd, .. } => relative_sd,
            Warning::WarmUp { effect, .. } | Warning::SlowDown { effect, .. } => effect.abs(),
            Warning::SeveralSteadyStates { spread, .. } => spread,
            Warning::LevelShifts { distance, .. }
            | Warning::SimultaneousStates { distance, .. } => distance,
            Warning::Autocorrelation { error, .. } => error,
            Warning::OrderEffect { change, .. } => change.abs(),
        }
    }
}

/// False for the effect of what ran before: its processes were measured in random order, and the machine disturbed all alike.
const fn needs_control(warning: &Warning) -> bool {
    !matches!(warning, Warning::OrderEffect { .. })
}

/// The phenomenon with its size, and the evidence.
fn finding(
    warning: &Warning,
    conditions: &Conditions,
    effects: Option<&OrderEffects>,
) -> [String; 2] {
    match *warning {
        Warning::Influence { level, factor, relative_sd, compared, p } => {
            let (what, things) = match level {
                Level::Executions => ("starting the program again", "executions"),
                Level::Builds => ("the layout of the code", "builds"),
            };
            [
                format!("{what} changes its speed: {things} differ by {}", size(relative_sd)),
                format!(
                    "standard deviation; impact factor {}, {}, {compared} {things}",
                    quantity::factor(factor),
                    p_value(p),
                ),
            ]
        }
        Warning::WarmUp { effect, measurements, executions, p } => {
            let time = conditions.time_of(measurements);
            let long = time.map_or_else(|| format!("{measurements} measurements"), duration);
            [
                format!(
                    "it warms up: the first tenth of an execution is {} slower than its second half, for about {long}",
                    size(effect)
                ),
                format!("{measurements} measurements; {}, {executions} executions", p_value(p)),
            ]
        }
        Warning::SlowDown { effect, executions, p } => [
            format!(
                "it slows down: the first tenth of an execution is {} faster than its second half",
                size(effect)
            ),
            format!("{}, {executions} executions", p_value(p)),
        ],
        Warning::SeveralSteadyStates { spread, range, executions, p } => [
            format!("executions of one build settle at different speeds, {} apart", size(spread)),
            format!(
                "10 % to 90 % of them; the extremes are {} apart; {}, {executions} executions",
                size(range),
                p_value(p)
            ),
        ],
        Warning::LevelShifts {
            leaping,
            executions,
            warm_up,
            slow_down,
            no_steady_state,
            distance,
            p,
        } => {
            let kinds = kinds([
                (warm_up, "end in their fastest state"),
                (slow_down, "end in one that is not their fastest"),
                (no_steady_state, "have no steady state"),
            ]);
            [
                format!(
                    "its speed shifts while it runs: {leaping} of {executions} executions change by {} from one \
                     measurement to the next, and stay there",
                    size(distance)
                ),
                format!("{}; {kinds}", at_most(p)),
            ]
        }
        Warning::SimultaneousStates { executions, of: all, distance, slower, p } => [
            format!(
                "it has two speeds at the same time: in {executions} of {all} executions, {} of the measurements \
                 are {} slower than the others",
                size(slower),
                size(distance)
            ),
            at_most(p),
        ],
        Warning::Autocorrelation { correlation, error, error_if_independent, executions, p } => [
            format!(
                "measurements depend on the one before: the value of an execution is known to {}, not to {}",
                size(error),
                size(error_if_independent)
            ),
            format!(
                "standard errors; correlation {correlation:.2}, {}, {executions} executions",
                p_value(p)
            ),
        ],
        Warning::OrderEffect { change, pairs, p } => {
            let after = effects.map_or_else(|| "others".to_owned(), culprits);
            let slower = if change < 0.0 { "faster" } else { "slower" };
            [
                format!(
                    "benchmarks that ran before in its process change its speed: after {after} it is {} {slower} \
                     than in a fresh process",
                    size(change.abs())
                ),
                format!("{}, {pairs} pairs", p_value(p)),
            ]
        }
    }
}

fn advice(warning: &Warning, conditions: &Conditions) -> String {
    match *warning {
        Warning::Influence { level: Level::Executions, .. } => {
            "run each build several times (-m); a single run is not representative".to_owned()
        }
        Warning::Influence { level: Level::Builds, .. } => format!(
            "use many builds (-l {} or more); a comparison of two single builds is not reliable",
            conditions.sample_sizes.builds
        ),
        Warning::WarmUp { measurements, .. } => {
            let flag = conditions.time_of(measurements).map_or("--warm-up".to_owned(), |time| {
                format!("--warm-up {}ms", time.as_millis().max(1))
            });
            format!("measure it with {flag}, or prepare its data before it is timed")
        }
        Warning::SlowDown { .. } => {
            "look for state that grows from call to call; until it is fixed, \
             results depend on the duration of the measurement"
                .to_owned()
        }
        Warning::SeveralSteadyStates { .. } => {
            "use more executions (-m) rather than more measurements; one execution is not \
             representative"
                .to_owned()
        }
        Warning::LevelShifts { warm_up, leaping, .. } if 2 * warm_up > leaping => {
            "measure it with a longer --warm-up, past the last level shift".to_owned()
        }
        Warning::LevelShifts { .. } => {
            "look for rare events, such as memory that grows; give each call its own input, \
             or make the event part of every call"
                .to_owned()
        }
        Warning::SimultaneousStates { .. } => {
            "the minimum sees only the faster state: use --estimator mean, or a benchmark for each state"
                .to_owned()
        }
        Warning::Autocorrelation { correlation, .. } if correlation < 0.0 => {
            "slow and fast measurements alternate: make one call do both".to_owned()
        }
        Warning::Autocorrelation { .. } => {
            "more measurements of one execution add little precision: use more executions (-m)".to_owned()
        }
        Warning::OrderEffect { .. } => {
            "execute it in a separate process, as rbench does; with `cargo bench` alone, change the \
             state that the others leave behind"
                .to_owned()
        }
    }
}

impl Conditions {
    fn time_of(&self, measurements: usize) -> Option<Duration> {
        Duration::try_from_secs_f64(self.measurement_seconds? * measurements as f64).ok()
    }
}

/// The benchmarks whose earlier run matters: those that matter alone, or all.
fn culprits(effects: &OrderEffects) -> String {
    let limit = effects.after_all.change.center.abs() / 2.0;
    let matters = |one: &&AfterOne| one.effect.change.center.abs() > limit;
    let found = effects.after_each.iter().filter(matters).map(|one| format!("`{}`", one.other));
    match (&found.collect::<Vec<String>>()[..], &effects.others[..]) {
        ([], [only]) => format!("`{only}`"),
        ([], all) => format!("the {} benchmarks that come before it", all.len()),
        (some, _) if some.len() <= 3 => some.join(" or "),
        (some, _) => format!("any of {} others", some.len()),
    }
}

/// The numbers of several kinds, without those that are 0.
fn kinds<const N: usize>(kinds: [(usize, &str); N]) -> String {
    let there = kinds.into_iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// The largest of several p values.
fn at_most(p: f64) -> String {
    p_value(p).replacen("p ", "p ≤ ", 1).replace("p ≤ < ", "p < ")
}

/// A relative interval: `+4.20 % (+3.90 .. +4.50)`.
fn relative(interval: &Interval) -> String {
    let Interval { center: estimate, low, high } = *interval;
    changed_within(&Change { estimate, low, high })
}

#[cfg(test)]
mod tests;
