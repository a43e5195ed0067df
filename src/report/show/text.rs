//! A stored version for people at a terminal.

use super::{
    ExperimentReport, Factors, Measured, Shares, StoredBenchmark, StoredBuild, StoredVersionReport,
};
use crate::{
    model::{Stage, Unit, settings_words},
    report::{
        date, quantity, style,
        table::{Cell, Column, Table},
        value,
    },
};

impl StoredVersionReport {
    /// For people, on a terminal of so many columns.
    pub fn text(&self, width: usize) -> String {
        let version = style::paint(style::HEAD, &self.version.to_string());
        let mut text =
            format!("{version}  {}\n", self.version.summary).trim_end().to_owned() + "\n";
        if let Some(time) = self.version.time.filter(|_| !self.version.dirty) {
            text += &format!("committed on {}\n", date::day(time));
        }
        text += &format!("\n{}", self.experiments_table(width));
        text += &self.circumstances();
        for (number, experiment) in self.experiments.iter().enumerate() {
            if let Some(reason) = &experiment.failure {
                let failed = style::paint(style::BAD, "could not be built");
                text += &format!("\nexperiment {}: {failed}: {reason}\n", number + 1);
            }
        }
        if self.benchmarks.is_empty() {
            return text;
        }
        text += "\n";
        text += &if self.detailed { self.details(width) } else { self.overview(width) };
        text
    }

    fn experiments_table(&self, width: usize) -> String {
        let mut table = Table::new([
            Column::right("experiment"),
            Column::left("begun"),
            Column::left("state"),
            Column::left("builds × executions × measurements").dropped(1),
            Column::left("together with").shortened(),
            Column::left("rbench").dropped(0),
        ]);
        for (number, experiment) in self.experiments.iter().enumerate() {
            let d = experiment.dimensions;
            table.row([
                Cell::from((number + 1).to_string()),
                Cell::from(experiment.when.map_or(String::new(), date::minute)),
                experiment.state(),
                Cell::from(format!("{} × {} × {}", d.builds, d.executions, d.measurements)),
                Cell::from(experiment.others.join(", ")),
                Cell::from(experiment.rbench.clone()),
            ]);
        }
        table.fit(width)
    }

    /// Machines, toolchains and settings, once where all experiments agree.
    fn circumstances(&self) -> String {
        type PartOf = fn(&ExperimentReport) -> String;
        let parts: [(&str, PartOf); 3] = [
            ("machine", |experiment| experiment.machine.to_string()),
            ("toolchain", |experiment| {
                experiment.toolchain.lines().next().unwrap_or_default().to_owned()
            }),
            ("settings", |experiment| settings_words(&experiment.settings).join(", ")),
        ];
        let mut text = String::from("\n");
        for (name, part) in parts {
            let mut told: Vec<(String, Vec<String>)> = Vec::new();
            for (number, experiment) in self.experiments.iter().enumerate() {
                let (part, number) = (part(experiment), (number + 1).to_string());
                match told.iter_mut().find(|(other, _)| *other == part) {
                    Some((_, numbers)) => numbers.push(number),
                    None if part.is_empty() => {}
                    None => told.push((part, vec![number])),
                }
            }
            let alone = told.len() == 1;
            for (part, numbers) in told {
                let of = if alone { String::new() } else { format!(" of {}", numbers.join(", ")) };
                text += &format!("{name}{of}: {part}\n");
            }
        }
        text
    }

    /// One line for each benchmark.
    fn overview(&self, width: usize) -> String {
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("value"),
            Column::left("throughput").dropped(1),
            Column::right("variance b/e/m"),
            Column::right("layout effect").dropped(2),
            Column::right("peak memory").dropped(0),
            Column::right("experiment").dropped(3),
        ]);
        for benchmark in &self.benchmarks {
            let number = Cell::from((benchmark.experiment + 1).to_string());
            let Some(measured) = &benchmark.measured else {
                let failed = Cell::styled(style::DOUBTFUL, "failed");
                let none = Cell::default;
                let name = Cell::from(benchmark.id.clone());
                table.row([name, failed, none(), none(), none(), none(), number]);
                continue;
            };
            table.row([
                Cell::from(benchmark.id.clone()),
                Cell::from(measured.text()),
                Cell::from(measured.throughput_text()),
                Cell::from(measured.variance.map_or(String::new(), Shares::text)),
                Cell::from(measured.layout_text()),
                Cell::from(measured.peak_memory_bytes.map_or(String::new(), quantity::bytes)),
                number,
            ]);
        }
        let mut text = table.fit(width);
        for benchmark in &self.benchmarks {
            text += &benchmark.failures_text();
        }
        let revision = self.version.to_type();
        text + &format!("\nevery build and execution: cargo rbench show {revision} BENCH\n")
    }

    /// A table of builds for each benchmark.
    fn details(&self, width: usize) -> String {
        let texts: Vec<String> =
            self.benchmarks.iter().map(|benchmark| benchmark.detail(width)).collect();
        let revision = self.version.to_type();
        texts.join("\n")
            + &format!("\nall measurements: cargo rbench show {revision} BENCH --raw\n")
    }
}

impl ExperimentReport {
    fn state(&self) -> Cell {
        match (&self.failure, self.finished) {
            (Some(_), _) => Cell::styled(style::BAD, "not built"),
            (None, Some(_)) => Cell::from("finished"),
            (None, None) => Cell::styled(style::DOUBTFUL, "not finished"),
        }
    }
}

impl StoredBenchmark {
    fn failures_text(&self) -> String {
        let failure = |reason: &String| format!("{}: failed: {reason}\n", self.id);
        self.failures.iter().map(failure).collect()
    }

    fn detail(&self, width: usize) -> String {
        let Self { package, target, id, experiment, .. } = self;
        let head = style::paint(style::HEAD, id);
        let mut text = format!("{head}  {package} {target}, experiment {}\n", experiment + 1);
        text += &self.failures_text();
        let Some(measured) = &self.measured else { return text };
        let [l, m, n] = measured.dimensions;
        // As many everywhere, unless executions failed or the harness took other numbers.
        let (digits, average) =
            if m.fract() + n.fract() == 0.0 { (0, "") } else { (1, " on average") };
        text += &format!(
            "{}, {} by {l:.0} builds x {m:.digits$} executions x {n:.digits$} measurements{average}\n",
            measured.metric,
            measured.text()
        );
        let throughput = measured.throughput_text();
        if !throughput.is_empty() {
            text += &format!("throughput: {throughput}\n");
        }
        if let Some(shares) = measured.variance {
            text +=
                &format!("variance between builds/executions/measurements: {}\n", shares.text());
        }
        if let Some(test) = measured.layout_test {
            let f = test.f.map_or("infinite".to_owned(), |f| format!("{f:.2}"));
            text += &format!("layout effect: F {f}, p {}\n", probability(test.p));
        }
        text += &self.impact_text();
        text += &format!("\n{}", self.builds_table(measured, width));
        if self.builds.iter().any(|build| build.slow) {
            text += "slow: above the median by more than 3.5 robust standard deviations and the \
                     smallest change of interest\n";
        }
        text
    }

    fn impact_text(&self) -> String {
        let Some(impact) = self.impact else { return String::new() };
        let mut text = String::new();
        for (level, factors) in
            [("starting the program", impact.executions), ("building it", impact.builds)]
        {
            if let Some(factors) = factors {
                text += &format!("impact of {level} again: {}\n", factors.text());
            }
        }
        text
    }

    fn builds_table(&self, measured: &Measured, width: usize) -> String {
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
        let second = self.builds.iter().any(|build| build.stage == Stage::Second);
        for build in &self.builds {
            let stage = match build.stage {
                _ if !second => "",
                Stage::First => "first",
                Stage::Second => "second",
            };
            table.row(build.cells(stage, measured.in_unit));
        }
        table.fit(width)
    }
}

impl StoredBuild {
    fn cells(&self, stage: &str, unit: Unit) -> [Cell; 9] {
        let executions: Vec<String> =
            self.executions.iter().map(|one| value::value(*one, unit)).collect();
        let slow = if self.slow { "slow" } else { "" };
        let cpu = std::time::Duration::try_from_secs_f64(self.cpu_seconds).unwrap_or_default();
        [
            Cell::from(self.seed.to_string()),
            Cell::from(stage),
            Cell::from(self.layout.map_or(String::new(), |layout| layout.to_string())),
            Cell::from(self.digest.map_or(String::new(), |digest| digest.short())),
            Cell::from(value::value(self.value, unit)),
            Cell::styled(style::DOUBTFUL, slow),
            Cell::from(executions.join(", ")),
            Cell::from(self.peak_memory_bytes.map_or(String::new(), quantity::bytes)),
            Cell::from(quantity::duration(cpu)),
        ]
    }
}

impl Measured {
    fn text(&self) -> String {
        let alone = || value::value(self.value, self.in_unit);
        self.shown.map_or_else(alone, |interval| value::with_interval(&interval, self.in_unit))
    }

    /// How much is processed in a second.
    fn throughput_text(&self) -> String {
        if self.in_unit != Unit::Nanoseconds {
            return String::new();
        }
        let rate = |amount: u64| amount as f64 / (self.value * 1e-9);
        let texts = self.throughput.iter().map(|throughput| match throughput.unit {
            "bytes" => format!("{}/s", quantity::measured_bytes(rate(throughput.amount))),
            unit => format!("{:.4e} {unit}/s", rate(throughput.amount)),
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn layout_text(&self) -> String {
        self.layout_test.map_or(String::new(), |test| format!("p {}", probability(test.p)))
    }
}

impl Shares {
    fn text(self) -> String {
        let [b, e, m] =
            [self.builds, self.executions, self.measurements].map(|share| 100.0 * share);
        format!("{b:.0}/{e:.0}/{m:.0} %")
    }
}

impl Factors {
    fn text(self) -> String {
        let number = |factor: Option<f64>| {
            factor.map_or("infinite".to_owned(), |factor| format!("{factor:.2}"))
        };
        format!("{} ({} without shift)", number(self.factor), number(self.without_shift))
    }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { format!("{p:.3}") }
}
