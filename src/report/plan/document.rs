//! The report of `plan` for people: three tables with their explanations, and the lines for
//! `bench.toml`.

use std::time::Duration;

use super::{
    BUILDS, MOST_BUILDS, MOST_EXECUTIONS, PlanBasis, PlanReport, PlannedBenchmark, UnknownBenchmark,
};
use crate::{
    error::Result,
    model::{FailedTarget, Unit},
    report::{
        Report,
        document::{Block, Document, Item, Medium, Text, Verbatim},
        json,
        names::Names,
        quantity::{self, count, duration, exact, size},
        table::{Cell, Column, Table},
    },
    stats::{ABOVE_MIN_EFFECT, Levels, impact::ImpactFactor, plan::Optimum},
};

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
        let mut measured: Vec<String> = Vec::new();
        for one in &self.benchmarks {
            let sizes = quantity::sample_sizes(one.sample_sizes);
            if !measured.contains(&sizes) {
                measured.push(sizes);
            }
        }
        self.section(
            format!("Variance of means, by {}", measured.join("; ")),
            ["value", "builds", "executions", "measurements", "impact b", "impact e"],
            |one| {
                let Levels { version, build, execution } = one.shares;
                let percent = |share: f64| format!("{:.0} %", 100.0 * share);
                let of_measurements = one.components.execution.map(|_| percent(execution));
                vec![
                    quantity::estimate(&one.found.summary, self.criteria.confidence),
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
