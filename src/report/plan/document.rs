//! The report of `plan` for people: three tables with their explanations, and the lines for
//! `bench.toml`.

use std::time::Duration;

use super::{BUILDS, PlanBasis, PlanReport, PlannedBenchmark};
use crate::{
    model::{FailedTarget, SampleSizes, Unit},
    report::{
        document::{Block, Document, Item, Text, Verbatim},
        names::Names,
        quantity::{self, count, duration, exact, size},
        table::{Cell, Column, Table},
    },
    stats::{ABOVE_MIN_EFFECT, Levels, impact::ImpactFactor, plan::Optimum},
};

impl PlanReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("plan").titled(self.version.to_string());
        document.lead = Text::from(&*self.version.summary);
        if !self.benchmarks.is_empty() {
            document.add(self.variance());
            document.add(self.costs());
            document.add(self.detectable());
        }
        document.add(Block::list(self.unknown()));
        let toml = self.toml();
        if toml.is_empty() {
            return document;
        }
        let took = duration(self.suggestion.time);
        let head = format!("For bench.toml (measuring a version takes about {took})");
        document.add([
            Block::heading(head),
            Block::Verbatim(Verbatim { language: "toml", text: toml }),
        ]);
        document.add(self.beyond().and_then(|line| Block::paragraph([line])));
        document
    }

    /// The benchmarks without data, and the reasons.
    fn unknown(&self) -> Vec<Text> {
        let names = Names::new(self.unknown.benchmarks.iter().map(|(benchmark, _)| benchmark));
        let benchmarks = self.unknown.benchmarks.iter().map(|(benchmark, reason)| {
            let name = Text::from_name(names.name(benchmark));
            name.then(": nothing is known: ").message(reason)
        });
        let targets = self.unknown.targets.iter().map(|FailedTarget { target, error: failure }| {
            Text::from_name(target.to_string()).then(": ").message(failure.to_string())
        });
        benchmarks.chain(targets).collect()
    }

    /// The benchmarks whose smallest change of interest no number of builds detects.
    fn beyond(&self) -> Option<Text> {
        let beyond = &self.suggestion.excess;
        let names = Names::new(self.benchmarks.iter().map(|one| &one.benchmark));
        let all = beyond.iter().map(|index| names.name(&self.benchmarks[*index].benchmark));
        let all: Vec<Text> = all.map(Text::from_name).collect();
        (!all.is_empty()).then(|| {
            let text = format!(
                "{} {} more than {} builds, which is not suggested: ",
                count(all.len(), "benchmark"),
                if all.len() == 1 { "needs" } else { "need" },
                super::MOST_BUILDS,
            );
            Text::from(text).append(Text::joined(all, ", "))
        })
    }

    /// The sample sizes behind the estimates: `5 builds × 4 executions × 20 measurements`.
    fn measured(&self) -> String {
        let mut sizes: Vec<String> = Vec::new();
        for one in &self.benchmarks {
            let size = quantity::sample_sizes(one.sample_sizes());
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        sizes.join("; ")
    }

    fn variance(&self) -> [Block; 3] {
        let row = |one: &PlannedBenchmark| {
            let shares = shares(one).map(|share| format!("{:.0} %", 100.0 * share));
            let [builds, executions, measurements] = if one.components.t.execution.is_some() {
                shares
            } else {
                let [builds, executions, _] = shares;
                [builds, executions, "?".to_owned()]
            };
            let value = quantity::estimate(&one.summary, self.criteria.confidence);
            let impact = [one.impact.builds, one.impact.executions].map(factor);
            let [of_builds, of_executions] = impact;
            vec![value, builds, executions, measurements, of_builds, of_executions]
        };
        self.section(
            format!("Variance of means, by {}", self.measured()),
            &["value", "builds", "executions", "measurements", "impact b", "impact e"],
            row,
            vec![
                "Shares of the unbiased components T_V², T_B² and T_E² ((14)-(16) of Kalibera et al. 2006); those \
                 below 0 count as 0."
                    .to_owned(),
                "Impact factors of building (b) and of starting (e) again: by how much that spreads results \
                 (Kalibera et al. 2005, figure 2); 1 is not at all."
                    .to_owned(),
            ],
        )
    }

    fn costs(&self) -> [Block; 3] {
        let row = |one: &PlannedBenchmark| {
            let costs = one.costs;
            vec![
                time(costs.link / costs.sharing.max(1)),
                time(costs.start),
                time(costs.measurement),
                optimum(one.best_executions),
                optimum(one.best_measurements),
                one.executions.map_or("?".to_owned(), |number| number.to_string()),
                one.measurements.map_or("?".to_owned(), |number| number.to_string()),
            ]
        };
        self.section(
            "Costs, and the repetitions that give the smallest variance for them".to_owned(),
            &["build", "start", "measurement", "m0", "n0", "m", "n"],
            row,
            vec![
                "A link is shared by the benchmarks of its bench target; a start includes the warm-up.".to_owned(),
                "m0 = sqrt(b/w · T_B²/T_V²) executions of a build and n0 = sqrt(w · T_E²/T_B²) measurements of an \
                 execution, with a build's cost b and a start's cost w in measurements: (23) of Kalibera et al. \
                 2006, of means. Where m0 is 1 or less, n0 = sqrt((b + w) · T_E²/(T_V² + T_B²))."
                    .to_owned(),
                format!(
                    "m and n are for the estimator in use, whose variance need not fall like 1/n: m by the variance \
                     of a change, {} at most; n by how estimates of fewer measurements vary, where executions ran \
                     alone.",
                    super::MOST_EXECUTIONS
                ),
            ],
        )
    }

    fn detectable(&self) -> [Block; 3] {
        let executions = self.suggestion.executions.unwrap_or(1);
        let row = |one: &PlannedBenchmark| {
            let power = one.expected_with(executions);
            let cell =
                |builds: usize| power.map_or("?".to_owned(), |of| size(of.with_builds(builds)));
            let mut cells: Vec<String> = BUILDS.iter().map(|builds| cell(*builds)).collect();
            cells.push(one.expected.map_or("?", |expected| expected.basis.name()).to_owned());
            let needed = one.builds_for(self.half_width, executions);
            cells.push(
                needed.map_or(format!("> {}", super::MOST_BUILDS), |needed| needed.to_string()),
            );
            cells
        };
        let heads = BUILDS.map(|builds| format!("{builds} builds"));
        let wanted = match self.half_width {
            Some(width) => format!("for ±{}", exact(width)),
            None => "needed".to_owned(),
        };
        let head: Vec<&str> = heads.iter().map(String::as_str).chain(["by", &wanted]).collect();
        let each = count(executions, "execution");
        self.section(
            format!("The smallest change that a comparison reports with a power of 80 %, {each} of each build"),
            &head,
            row,
            self.notes_on_detectable(),
        )
    }

    fn notes_on_detectable(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let has = |basis: PlanBasis| {
            let mut known = self.benchmarks.iter().filter_map(|one| one.expected);
            known.any(|expected| expected.basis == basis)
        };
        if has(PlanBasis::OneVersion) {
            notes.push(
                "one-version: how pairs of builds differ is not known of one version. This is a bound, as if \
                 pairing gained nothing; comparisons in turns usually see much smaller changes, and after one, \
                 of any two versions, the plan is by its pairs."
                    .to_owned(),
            );
        }
        if has(PlanBasis::Compared) {
            notes.push(
                "compared: by the pairs of builds in the newest stored comparison of the benchmark, of this \
                 version if there is one."
                    .to_owned(),
            );
        }
        notes.push(match self.half_width {
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
        });
        notes
    }

    fn section(
        &self,
        title: String,
        head: &[&str],
        row: impl Fn(&PlannedBenchmark) -> Vec<String>,
        notes: Vec<String>,
    ) -> [Block; 3] {
        let names = Names::new(self.benchmarks.iter().map(|one| &one.benchmark));
        let columns = head.iter().map(|head| Column::right((*head).to_owned()));
        let mut table =
            Table::new(std::iter::once(Column::left("benchmark").names()).chain(columns));
        for one in &self.benchmarks {
            let name = Cell::name(names.name(&one.benchmark));
            table.row(std::iter::once(name).chain(row(one).iter().map(Cell::from)));
        }
        let notes = notes.into_iter().map(Item::from).collect();
        [Block::heading(title), Block::Table(table), Block::List(notes)]
    }
}

impl PlannedBenchmark {
    /// The average sample sizes.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "averages of small numbers, rounded"
    )]
    pub(super) fn sample_sizes(&self) -> SampleSizes {
        let builds = self.summary.builds();
        let executions: usize = builds.iter().map(|build| build.executions).sum();
        let executions = (executions as f64 / builds.len().max(1) as f64).round() as usize;
        let measurements = self.summary.measurements_per_execution().round() as usize;
        SampleSizes { first_analysis: None, builds: builds.len(), executions, measurements }
    }
}

/// The shares of builds, executions and measurements in the variance of one measurement; all 0 if
/// nothing varies.
pub(super) fn shares(planned: &PlannedBenchmark) -> [f64; 3] {
    let Levels { execution, build, version } = planned.components.t;
    let parts = [version, build, execution].map(|part| part.unwrap_or(0.0).max(0.0));
    let whole: f64 = parts.iter().sum();
    parts.map(|part| if whole > 0.0 { part / whole } else { 0.0 })
}

fn factor(impact: Option<ImpactFactor>) -> String {
    match impact {
        None => "?".to_owned(),
        Some(impact) if impact.factor.is_finite() => format!("{:.2}", impact.factor),
        Some(_) => "infinite".to_owned(),
    }
}

fn time(time: Duration) -> String {
    quantity::value(time.as_secs_f64() * 1e9, Unit::Nanoseconds)
}

fn optimum(optimum: Option<Optimum>) -> String {
    match optimum {
        None => "?".to_owned(),
        Some(Optimum::About(number)) if number < 99.5 => format!("{number:.1}"),
        Some(Optimum::About(number)) => format!("{number:.0}"),
        Some(Optimum::Unlimited) => "many".to_owned(),
        Some(Optimum::Indifferent) => "any".to_owned(),
    }
}
