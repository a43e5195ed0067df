//! The report of `selftest`: whether verdicts of this machine can be trusted, and the kind of its
//! noise. Its conclusions never claim more than was measured.

use std::time::Duration;

use rbench_stats::{
    Criteria, Proportion,
    noise::{FAR, Uniformity},
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Report,
    compare::{WarningFields, warning_cause},
    document::{Block, Document, Item, Medium, Text},
    json as of_json,
    names::Names,
    quantity::{self, count, duration, exact, percent, probability, sample_sizes, size},
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    compare::Warning,
    error::{Exit, Result},
    model::{BenchTarget, Benchmark, FailedTarget, Machine, Mode, SampleSizes, Version},
    verdict::fitness::{BUILDS, Finding, Fitness, Floor, MISLEADING},
};

/// The evaluation of a machine by comparisons of a version with itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SelftestReport {
    /// The version that was compared with itself.
    pub version: Version,
    pub machine: Machine,
    pub criteria: Criteria,
    /// The number of comparisons in each mode.
    pub repetitions: usize,
    pub benchmarks: Vec<Benchmark>,
    /// Benchmarks that were not measured, because the compiler generates different code for
    /// something that they execute in the two versions.
    pub left_out: Vec<Benchmark>,
    /// Bench targets that are the same programs in both versions, because the linker removes the
    /// function in which they differ.
    pub same_programs: Vec<BenchTarget>,
    /// Reasons why the results are less certain.
    #[serde(serialize_with = "as_fields")]
    #[schemars(with = "Vec<WarningFields>")]
    pub warnings: Vec<Warning>,
    /// The results by mode; the first is the mode that `compare` uses.
    pub modes: Vec<ModeResult>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeResult {
    pub mode: Mode,
    /// The sample sizes of each comparison, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The duration, linking included.
    #[serde(rename = "duration_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub duration: Duration,
    #[serde(flatten)]
    pub fitness: Fitness,
}

/// Comparisons of a version with itself.
#[derive(Serialize, JsonSchema)]
pub(super) struct View<'r> {
    /// The version of rbench.
    rbench: &'static str,
    /// True if the first mode is fit. The exit code is 1 if not.
    fit: bool,
    #[serde(flatten)]
    report: &'r SelftestReport,
}

fn as_fields<S: Serializer>(warnings: &[Warning], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(warnings.iter().map(WarningFields::from))
}

impl SelftestReport {
    fn is_fit(&self) -> bool {
        self.modes.first().is_some_and(|first| first.fitness.fit)
    }

    /// The exit code: a regression if the first mode is not fit.
    pub fn exit(&self) -> Exit {
        if self.is_fit() { Exit::Success } else { Exit::Regression }
    }
}

pub const fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Interleaved => "interleaved",
        Mode::Sequential => "sequential",
    }
}

impl Report for SelftestReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("selftest").titled("Self-test: is this machine reliable?");
        let modes = self.modes.iter();
        let sizes = modes.map(|result| {
            format!("{}: {}", name_of(result.mode), sample_sizes(result.sample_sizes))
        });
        document.add(Block::paragraph(std::iter::once(self.subject()).chain(sizes)));
        let warnings = self.warnings.iter();
        document.add(warnings.map(|one| Block::Warning(warning_cause(one).into(), None)));
        document.add(Block::list(self.failed_targets.iter().map(
            |FailedTarget { target, error: failure }| {
                let target = Text::new().styled_name(Role::Doubtful, target.to_string());
                target.then(": failed: ").message(failure.to_string())
            },
        )));
        for result in &self.modes {
            let role = if result.fitness.fit { Role::Good } else { Role::Bad };
            let head = format!("{}: {}.", name_of(result.mode), fit_words(&result.fitness));
            let reasons = self.reasons(&result.fitness).join(" ");
            let text = Text::new().styled(role, head).then(format!(" {reasons}"));
            document.add(Block::paragraph([text]));
        }
        document.add(Block::paragraph(self.advice()));
        let of_mode = match self.modes.as_slice() {
            [first, _, ..] => format!(", {}", name_of(first.mode)),
            _ => String::new(),
        };
        document.add([
            Block::Table(self.modes_table()),
            Block::Paragraph(vec![format!("noise floor{of_mode}: {FLOORS}").into()]),
            Block::Table(self.floors_table()),
        ]);
        document.add(Block::list(self.limits().into_iter().map(Item::from)));
        document
    }

    fn json(&self) -> Result<String> {
        let (rbench, fit) = (env!("CARGO_PKG_VERSION"), self.is_fit());
        of_json::document(&View { rbench, fit, report: self })
    }
}

const FLOORS: &str = "standard deviation of the difference of a pair of builds (sd), and the smallest change that \
                      this number of builds flags with 80 % power";

/// The index of the number of builds in [`BUILDS`] that is shown for every mode.
const MIDDLE: usize = 1;

impl SelftestReport {
    fn subject(&self) -> String {
        format!(
            "{} of {}, {} in two versions that differ only in an unused function: every \
             reported change is a false alarm",
            count(self.benchmarks.len(), "benchmark"),
            self.version,
            match self.repetitions {
                1 => "compared once".to_owned(),
                times => format!("compared {times} times, each time with different layouts,"),
            }
        )
    }

    fn reasons(&self, fitness: &Fitness) -> Vec<String> {
        let findings = &fitness.findings;
        let kept = fitness.fit.then(|| kept(fitness));
        let sharp = fitness.fit && !findings.contains(&Finding::Noisy);
        let sentences = findings.iter().map(|finding| self.sentence(fitness, *finding));
        kept.into_iter().chain(sentences).chain(sharp.then(|| sharp_words(fitness))).collect()
    }

    fn sentence(&self, fitness: &Fitness, finding: Finding) -> String {
        match finding {
            Finding::Nothing => "No benchmark could be decided.".to_owned(),
            Finding::TooManyFlagged => format!(
                "A test at {} on the first builds flagged {} rows that did not change: \
                 chance alone would flag as many with probability {}.",
                size(fitness.target_error_rate),
                fitness.flagged,
                probability(fitness.flagged.at_least(fitness.target_error_rate)),
            ),
            Finding::TooManyReported => format!(
                "Of {} comparisons, {} reported a regression and {} an improvement, although nothing \
                 changed; the limit is {} of each.",
                fitness.repetitions,
                fitness.with_regressions,
                fitness.with_improvements,
                exact(MISLEADING),
            ),
            Finding::SmallP => {
                "There are more small p values than unchanged code would give.".to_owned()
            }
            Finding::Noisy => format!(
                "It is noisy: only {} rows were shown to be unchanged at {}. {}",
                fitness.unchanged,
                size(self.criteria.min_effect),
                sharp_words(fitness),
            ),
            Finding::Order => format!(
                "The second run is {} slower. Run order is randomized, so verdicts are unaffected.",
                percent(fitness.order.map_or(0.0, |order| order.mean.exp_m1()))
            ),
            Finding::Autocorrelation => {
                "Consecutive executions are correlated: disturbances last longer \
                                than one. Run order is randomized, so verdicts are unaffected."
                    .to_owned()
            }
        }
    }

    /// Advice on problems that can be solved.
    fn advice(&self) -> Vec<String> {
        let first = self.modes.first().map(|result| &result.fitness);
        let is_noisy = first.is_some_and(|first| first.findings.contains(&Finding::Noisy));
        let is_unfit = first.is_some_and(|first| !first.fit);
        if !is_unfit && !is_noisy {
            return Vec::new();
        }
        let seen = if self.warnings.is_empty() {
            "No cause was found on this machine."
        } else {
            "The warnings above list possible causes on this machine."
        };
        let mut advice = vec![format!(
            "{seen} End other programs, or measure where nothing else runs; then run the self-test again."
        )];
        if self.machine.cores < 2 {
            advice.push(
                "There is only one CPU: everything else on the machine interrupts benchmarks."
                    .to_owned(),
            );
        }
        if is_unfit {
            advice.push(
                "Until it is reliable, do not act on comparisons on this machine.".to_owned(),
            );
        }
        advice
    }

    /// The results of all modes: a line for each question, a column for each mode.
    fn modes_table(&self) -> Table {
        let heads = self.modes.iter().map(|result| name_of(result.mode).to_owned());
        let mut table = table(std::iter::once(String::new()).chain(heads));
        let mut add = |head: &str, cell: &dyn Fn(&Fitness) -> String| {
            let cells = self.modes.iter().map(|result| Cell::from(cell(&result.fitness)));
            table.row(std::iter::once(Cell::from(head)).chain(cells));
        };
        let unknown = || "unknown".to_owned();
        let target_rate = self.modes.first().map_or(0.0, |result| result.fitness.target_error_rate);
        let flagged = format!("flagged by a test at {} on the first builds", size(target_rate));
        add(&flagged, &|all| proportion_text(all.flagged));
        add("  the true rate, with 95 % confidence", &|all| between(all.flagged));
        add("reported as regressed, as improved", &|all| {
            format!("{}, {}", all.regressed, all.improved)
        });
        add("shown to be unchanged", &|all| proportion_text(all.unchanged));
        if self.modes.iter().any(|result| result.fitness.undecided > 0) {
            add("failed or skipped", &|all| all.undecided.to_string());
        }
        let usual = format!("p values: \u{221a}N\u{b7}D (usual: below {})", Uniformity::USUAL);
        add(&usual, &|all| all.uniformity.map_or_else(unknown, p_values));
        add("the second run is slower by", &|all| {
            let order = all.order;
            order.map_or_else(unknown, |one| {
                format!("{} (t {:.1})", percent(one.mean.exp_m1()), one.t)
            })
        });
        add("correlation of consecutive executions", &|all| {
            let serial = all.autocorrelation;
            serial.map_or_else(unknown, |one| {
                format!("{:+.2} (chance: \u{b1}{:.2})", one.correlation, one.by_chance)
            })
        });
        let far = format!("pairs beyond {FAR} MAD (normal: 0.07 %)");
        add(&far, &|all| all.far.share().map_or_else(unknown, tenths));
        let times = self.modes.iter().map(|result| Cell::from(duration(result.duration)));
        table.row(std::iter::once(Cell::from("time")).chain(times));
        table
    }

    /// The noise floor of each benchmark in the first mode, and a part of it in the others.
    fn floors_table(&self) -> Table {
        let names = Names::new(&self.benchmarks);
        let mut heads = vec!["benchmark".to_owned(), "sd".to_owned()];
        heads.extend(BUILDS.map(|builds| format!("-l {builds}")));
        for result in self.modes.iter().skip(1) {
            heads.push(format!("{}: sd", name_of(result.mode)));
            heads.push(format!("-l {}", BUILDS[MIDDLE]));
        }
        let mut table = table(heads);
        for benchmark in &self.benchmarks {
            let floors = self.modes.iter().enumerate().flat_map(|(index, result)| {
                let (first, shown) = if index == 0 { (0, BUILDS.len()) } else { (MIDDLE, 1) };
                let mut floors = result.fitness.floors.iter();
                let cells = match floors.find(|floor| floor.benchmark == *benchmark) {
                    Some(Floor { deviation, detectable, .. }) => {
                        let changes =
                            detectable.iter().skip(first).take(shown).map(|one| one.change);
                        std::iter::once(*deviation).chain(changes).map(size).collect()
                    }
                    None => vec![String::new(); 1 + shown],
                };
                cells.into_iter().map(Cell::from)
            });
            table.row(std::iter::once(Cell::from(names.name(benchmark))).chain(floors));
        }
        table
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if !self.left_out.is_empty() {
            let names = Names::new(self.benchmarks.iter().chain(&self.left_out));
            let left_out: Vec<String> = self.left_out.iter().map(|one| names.name(one)).collect();
            limits.push(format!(
                "left out, because the compiler generates different code for something that they execute: {}",
                left_out.join(", ")
            ));
        }
        if !self.same_programs.is_empty() {
            let targets: Vec<String> = self.same_programs.iter().map(ToString::to_string).collect();
            limits.push(format!(
                "identical programs in both versions, because the linker removes the function, so \
                 layouts are not tested: {}",
                targets.join(", ")
            ));
        }
        limits
    }
}

/// A table with these heads. The first column has names, all others numbers.
fn table(heads: impl IntoIterator<Item = String>) -> Table {
    Table::new(heads.into_iter().enumerate().map(|(at, head)| match at {
        0 => Column::left(head).names(),
        _ => Column::right(head),
    }))
}

fn fit_words(fitness: &Fitness) -> String {
    match (fitness.fit, has_few_rows(fitness)) {
        (false, _) => "not reliable".to_owned(),
        (true, true) => format!("reliable, based on only {} rows", fitness.rows),
        (true, false) => "reliable".to_owned(),
    }
}

/// The sentence that the error rates were kept, within the precision of the test.
fn kept(fitness: &Fitness) -> String {
    let few = if has_few_rows(fitness) {
        " There are too few rows to exclude twice the limit: --repeat measures more."
    } else {
        ""
    };
    format!(
        "A test on the first builds flagged {} rows, none of which changed; it may flag {}, and with {} \
         confidence the rate is {}.{few}",
        fitness.flagged,
        size(fitness.target_error_rate),
        exact(Proportion::CONFIDENCE),
        between(fitness.flagged),
    )
}

/// True if the rows are too few to exclude twice the target rate.
fn has_few_rows(fitness: &Fitness) -> bool {
    let [_, high] = fitness.flagged.interval(Proportion::CONFIDENCE);
    high > 2.0 * fitness.target_error_rate
}

/// The number of benchmarks that show the smallest change of interest, in words.
fn sharp_words(fitness: &Fitness) -> String {
    let [few, some, many] = BUILDS;
    format!(
        "A change as large as min-effect would be flagged, with 80 % power, in {} of {} with {few} builds \
         (-l {few}), in {} with {some} and in {} with {many}.",
        fitness.sharp_with(few),
        count(fitness.floors.len(), "benchmark"),
        fitness.sharp_with(some),
        fitness.sharp_with(many),
    )
}

/// `5 of 96 (5.2 %)`.
fn proportion_text(proportion: Proportion) -> String {
    let share = proportion.share().map_or(String::new(), |share| format!(" ({})", tenths(share)));
    format!("{proportion}{share}")
}

/// `1.7 to 11.7 %`.
fn between(proportion: Proportion) -> String {
    let [low, high] = proportion.interval(Proportion::CONFIDENCE);
    format!("{:.1} to {}", 100.0 * low, tenths(high))
}

fn tenths(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn p_values(uniformity: Uniformity) -> String {
    let statistic = uniformity.statistic;
    let remark = match (statistic < Uniformity::USUAL, uniformity.has_small_ones()) {
        (true, _) => "",
        (false, true) => ", more small ones than usual",
        (false, false) => ", more large ones than usual",
    };
    format!("{statistic:.2}{remark}")
}

#[cfg(test)]
mod tests;
