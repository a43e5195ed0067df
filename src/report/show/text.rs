//! A stored version for people at a terminal.

use super::{ImpactFactors, ShowReport, ShownBenchmark, ShownBuild, ShownExperiment};
use crate::{
    diagnosis::Hint,
    model::{Metric, Sameness, Stage, Unit, Version, settings_words},
    report::{
        date,
        names::{Names, metric_name},
        prose::first_line_filled,
        quantity::{self, p_value, value},
        shares::{self, Shares},
        style::{self, paint},
        table::{Cell, Column, Table},
        verdict::VerdictKind,
        visible::{visible, visible_lines},
    },
    stats::{Components, Summary, impact::Impact},
};

impl ShowReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let version = paint(style::HEAD, &self.version.to_string());
        let summary = visible(&self.version.summary);
        let mut text = format!("{version}  {summary}").trim_end().to_owned() + "\n";
        let time = self.version.time.filter(|_| !self.version.dirty);
        if let Some(day) = time.map(date::day).filter(|day| !day.is_empty()) {
            text += &format!("committed on {day}\n");
        }
        text += &format!("\n{}\n", self.experiments_table().fit(columns));
        text += &self.circumstances();
        for (number, experiment) in (1..).zip(&self.experiments) {
            if let Some(reason) = &experiment.failure {
                let failed = paint(style::BAD, "could not be built");
                let reason = visible_lines(reason);
                text += &format!("\nexperiment {number}: {failed}: {reason}\n");
            }
        }
        if self.benchmarks.is_empty() {
            return text;
        }
        text + "\n" + &if self.detailed { self.details(columns) } else { self.overview(columns) }
    }

    fn experiments_table(&self) -> Table {
        let mut table = Table::new([
            Column::right("experiment"),
            Column::left("begun"),
            Column::left("state"),
            Column::left("builds × executions × measurements").dropped(1),
            Column::left("together with").shortened(),
            Column::left("rbench").dropped(0),
        ]);
        for (number, experiment) in (1..).zip(&self.experiments) {
            let others = experiment.others.iter().map(Version::short);
            table.row([
                Cell::from(format!("{number}")),
                Cell::from(date::minute(experiment.begun)),
                experiment.state(),
                Cell::from(experiment.dimensions.to_string()),
                Cell::from(others.collect::<Vec<_>>().join(", ")),
                Cell::from(&experiment.rbench),
            ]);
        }
        table
    }

    /// Machines, toolchains and settings, once where all experiments agree.
    fn circumstances(&self) -> String {
        type PartOf = fn(&ShownExperiment) -> String;
        let parts: [(&str, PartOf); 3] = [
            ("machine", |experiment| experiment.machine.to_string()),
            ("toolchain", |experiment| {
                experiment.toolchain.lines().next().unwrap_or_default().to_owned()
            }),
            ("settings", |experiment| settings_words(&experiment.settings.to_string()).join(", ")),
        ];
        let mut text = String::new();
        for (name, part) in parts {
            let mut found: Vec<(String, Vec<String>)> = Vec::new();
            for (number, experiment) in (1..).zip(&self.experiments) {
                let (part, number) = (part(experiment), format!("{number}"));
                match found.iter_mut().find(|(other, _)| *other == part) {
                    Some((_, numbers)) => numbers.push(number),
                    None if part.is_empty() => {}
                    None => found.push((part, vec![number])),
                }
            }
            let is_same = found.len() == 1;
            for (part, numbers) in found {
                let of =
                    if is_same { String::new() } else { format!(" of {}", numbers.join(", ")) };
                text += &format!("{name}{of}: {}\n", visible(&part));
            }
        }
        text
    }

    /// One line for each benchmark.
    fn overview(&self, columns: usize) -> String {
        let names = Names::of(self.benchmarks.iter().map(|shown| &shown.benchmark));
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("metric"),
            Column::right("value"),
            Column::left("throughput").dropped(1),
            Column::right(shares::HEAD),
            Column::right("layout effect").dropped(2),
            Column::right("peak memory").dropped(0),
            Column::right("experiment").dropped(3),
        ]);
        for shown in &self.benchmarks {
            let name = Cell::from(names.name(&shown.benchmark));
            let number = Cell::from((shown.experiment + 1).to_string());
            let Some(summary) = &shown.summary else {
                let kind = match (&shown.skipped, shown.unmeasured) {
                    (Some(_), _) => VerdictKind::Skipped,
                    (None, Some(sameness)) => VerdictKind::of(&sameness.into()),
                    (None, None) => VerdictKind::Failed,
                };
                let mut cells =
                    vec![name, Cell::default(), Cell::styled(kind.style(), kind.name())];
                cells.resize_with(7, Cell::default);
                cells.push(number);
                table.row(cells);
                continue;
            };
            let components = Components::of(summary);
            let p = components.layout.map_or(String::new(), |test| p_value(test.p));
            table.row([
                name,
                Cell::from(metric_name(Some(summary.metric()))),
                Cell::from(quantity::estimate(summary, self.criteria.confidence)),
                Cell::from(shown.throughput_text(summary)),
                Cell::from(shares::text(Shares::of_version(summary))),
                Cell::from(p),
                Cell::from(shown.peak_memory.map_or(String::new(), quantity::bytes)),
                number,
            ]);
        }
        let mut text = table.fit(columns);
        for shown in &self.benchmarks {
            text += &shown.reasons_text(&names.name(&shown.benchmark), columns);
        }
        text += &self.worth_examining(&names);
        let each = self.suggest_show(("filter", Some("BENCH")));
        text + &format!("\nevery build and execution: {each}\n")
    }

    /// That cheap checks see something, in a line about the first benchmark of which they do.
    fn worth_examining(&self, names: &Names<'_>) -> String {
        let found = self.benchmarks.iter().find_map(|shown| Some((shown, shown.hints.first()?)));
        let Some((shown, hint)) = found else { return String::new() };
        let what = match hint {
            Hint::Trend { effect } if *effect > 0.0 => "begins slower than it goes on",
            Hint::Trend { .. } => "begins faster than it goes on",
            Hint::TwoGroups { .. } => "has builds that fall into two groups",
        };
        let (Hint::Trend { effect: size } | Hint::TwoGroups { distance: size }) = hint;
        let revision = self.version.to_type();
        let options = [("exact", None), ("filter", Some(&*shown.benchmark.name.id))];
        let command = self.command_line.suggest("diagnose", &[&revision], &options);
        let name = names.name(&shown.benchmark);
        let size = quantity::size(size.abs());
        format!("{} {what} ({size}): {}\n", visible(&name), visible(&command))
    }

    /// A table of builds for each benchmark.
    fn details(&self, columns: usize) -> String {
        let texts = self.benchmarks.iter().map(|shown| self.detail(shown, columns));
        let texts: Vec<String> = texts.collect();
        let names = Names::of(self.benchmarks.iter().map(|shown| &shown.benchmark));
        let examine = self.worth_examining(&names);
        texts.join("\n")
            + &examine
            + &format!("\nall measurements: {}\n", self.suggest_show(("raw", None)))
    }

    /// The command that shows this version with another option.
    fn suggest_show(&self, option: (&str, Option<&str>)) -> String {
        let revision = self.version.to_type();
        visible(&self.command_line.suggest("show", &[&revision], &[option])).into_owned()
    }

    fn detail(&self, shown: &ShownBenchmark, columns: usize) -> String {
        let place = &shown.benchmark;
        let mut text = format!(
            "{}  {}, experiment {}\n",
            paint(style::HEAD, &place.name.id),
            visible(&format!("{} {}", place.package, place.target)),
            shown.experiment + 1
        );
        text += &shown.reasons_text(&place.name.id, columns);
        let Some(summary) = &shown.summary else { return text };
        let Metric { name, unit } = summary.metric();
        let l = summary.builds().len() as f64;
        let executions: usize = summary.builds().iter().map(|build| build.executions).sum();
        let (m, n) = (executions as f64 / l, summary.measurements_per_execution());
        // As many everywhere, unless executions failed or the harness took other numbers.
        let (digits, average) =
            if m.fract() + n.fract() == 0.0 { (0, "") } else { (1, " on average") };
        let executions =
            if executions == summary.builds().len() { "execution" } else { "executions" };
        let stage = match shown.stage {
            _ if !shown.has_second_stage() => "",
            Stage::First => "the first stage: ",
            Stage::Second => "the second stage: ",
        };
        text += &format!(
            "{}, {} by {stage}{l:.0} builds × {m:.digits$} {executions} × {n:.digits$} \
             measurements{average}\n",
            visible(name),
            quantity::estimate(summary, self.criteria.confidence)
        );
        let throughput = shown.throughput_text(summary);
        if !throughput.is_empty() {
            text += &format!("throughput: {throughput}\n");
        }
        let components = Components::of(summary);
        let shares = shares::text(Shares::of_version(summary));
        text += &format!("variance of builds/executions: {shares}\n");
        if let Some(test) = components.layout {
            let f =
                if test.f.is_finite() { format!("{:.2}", test.f) } else { "infinite".to_owned() };
            text += &format!("layout effect: F {f}, {}\n", p_value(test.p));
        }
        text += &shown.impact.text();
        if !shown.builds.is_empty() {
            text += &format!("\n{}", shown.builds_table(*unit).fit(columns));
        }
        if shown.builds.iter().any(|build| build.slow) {
            text += "slow: above the median by more than 3.5 robust standard deviations and the \
                     min-effect\n";
        }
        text
    }
}

impl ShownExperiment {
    fn state(&self) -> Cell {
        match (&self.failure, self.finished) {
            (Some(_), _) => Cell::styled(style::BAD, "not built"),
            (None, Some(_)) => Cell::from("finished"),
            (None, None) => Cell::styled(style::DOUBTFUL, "not finished"),
        }
    }
}

impl ShownBenchmark {
    fn reasons_text(&self, name: &str, columns: usize) -> String {
        let failure = |reason: &String| {
            let line = format!("{}: failed: {}", visible(name), visible_lines(reason));
            first_line_filled(&line, columns)
        };
        let skipped = |reason: &String| {
            let line = format!("{}: skipped: {}", visible(name), visible_lines(reason));
            first_line_filled(&line, columns)
        };
        let unmeasured = |sameness: &Sameness| {
            let reason = match sameness {
                Sameness::Identical => "it has the same machine code",
                Sameness::Unaffected => "it executes and reads nothing that differs",
            };
            let head = format!("{}: {sameness}: not measured", visible(name));
            let versions = "in the versions of this experiment";
            first_line_filled(&format!("{head}, because {reason} {versions}"), columns)
        };
        let reasons = self.failures.iter().map(failure).chain(self.skipped.iter().map(skipped));
        reasons.chain(self.unmeasured.iter().map(unmeasured)).collect()
    }

    fn has_second_stage(&self) -> bool {
        self.builds.iter().any(|build| build.stage == Stage::Second)
    }

    /// How much is processed in a second.
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
            Cell::styled(style::DOUBTFUL, if self.slow { "slow" } else { "" }),
            Cell::from(executions.join(", ")),
            Cell::from(self.peak_memory.map_or(String::new(), quantity::bytes)),
            Cell::from(quantity::duration(self.cpu_time)),
        ]
    }
}

impl ImpactFactors {
    fn text(&self) -> String {
        let factor = |f: f64| if f.is_finite() { format!("{f:.2}") } else { "infinite".to_owned() };
        let levels = [("executions", self.executions), ("builds", self.builds)];
        let levels = levels.iter().filter_map(|(level, impact)| Some((level, impact.as_ref()?)));
        let line = |(level, Impact { factor: with, without_shift, .. }): (&&str, &Impact)| {
            let (with, without) = (factor(*with), factor(*without_shift));
            format!("impact factor of {level}: {with} ({without} without shift)\n")
        };
        levels.map(line).collect()
    }
}
