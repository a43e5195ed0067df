//! The history for people at a terminal.

use super::{AgainstReport, BenchmarkHistory, ChangeReport, HistoryReport, Shown, VersionReport};
use crate::report::{
    date, quantity, style,
    table::{Cell, Column, Table},
    value,
};

/// Behind a verdict on versions that were measured in different experiments.
const APART: &str = "~";

impl HistoryReport {
    /// For people, on a terminal of so many columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for warning in &self.warnings {
            text += &format!("{} {warning}\n", style::paint(style::DOUBTFUL, "warning:"));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        if self.benchmarks.iter().all(|benchmark| benchmark.versions.is_empty()) {
            return text + "no version is stored that these benchmarks were measured in\n";
        }
        text += &if self.overview { self.overview(width) } else { self.tables(width) };
        if self.hidden > 0 {
            let versions = quantity::count(self.hidden, "other stored version");
            text += &format!("{versions} not shown: see --last and --since\n");
        }
        text
    }

    /// One line for each benchmark.
    fn overview(&self, width: usize) -> String {
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("history").dropped(2),
            Column::right("newest").dropped(3),
            Column::left("version").dropped(0),
            Column::right("change"),
            Column::left("").dropped(1).joined(),
            Column::left("verdict"),
            Column::left("").joined(),
        ]);
        for benchmark in &self.benchmarks {
            let Some(newest) = benchmark.versions.last() else { continue };
            let mut cells = vec![
                Cell::from(benchmark.name(&self.benchmarks)),
                Cell::from(benchmark.sparkline()),
                newest.value(benchmark),
                newest.commit(),
            ];
            cells.extend(newest.verdict());
            table.row(cells);
        }
        let mut text = format!("{}\n", table.fit(width));
        for benchmark in &self.benchmarks {
            let Some(newest) = benchmark.versions.last() else { continue };
            if let Some(sentence) = newest.sentence() {
                text += &format!("{}: {sentence}\n", benchmark.name(&self.benchmarks));
            }
        }
        text += &self.explanations();
        text + "every version of a benchmark: cargo rbench history BENCH\n"
    }

    /// One table for each benchmark.
    fn tables(&self, width: usize) -> String {
        let mut text = String::new();
        for benchmark in &self.benchmarks {
            let BenchmarkHistory { package, target, id, metric, .. } = benchmark;
            text += &format!(
                "{}  {package} {target}, {metric}\n{}\n\n{}\n",
                style::paint(style::HEAD, id),
                benchmark.sparkline(),
                benchmark.table(width)
            );
            for version in &benchmark.versions {
                if let Some(sentence) = version.sentence() {
                    text += &format!("{}: {sentence}\n", version.version.short());
                }
            }
            text += &benchmark.sessions_told();
            text += "\n";
        }
        text + &self.explanations()
    }

    /// What the signs mean, as far as they occur, and what to do about what cannot be compared.
    fn explanations(&self) -> String {
        let versions = || self.benchmarks.iter().flat_map(|benchmark| &benchmark.versions);
        let against = || versions().filter_map(|version| version.against.as_ref());
        let mut text = String::new();
        if against().any(AgainstReport::is_apart) {
            text += &format!(
                "{APART} measured in another experiment than the version before: the verdict allows for \
                 what varies between them\n"
            );
        }
        if versions().any(|version| !version.in_repository) {
            text += "( ) not in this repository any more\n";
        }
        let mut reasons: Vec<&str> = against()
            .filter(|against| against.verdict == "not-comparable")
            .map(|against| against.reason.as_str())
            .collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            text += &format!("{reason}\n");
        }
        let refused = versions().rev().find_map(|version| {
            let against = version.against.as_ref()?;
            let refused = against.measured == "apart" && against.verdict == "not-comparable";
            refused.then_some((version, against))
        });
        if let Some((version, against)) = refused {
            let (base, head) = (against.version.short(), version.version.short());
            text += &format!(
                "hint: measure one of them a second time: cargo rbench run {head}\n\
                 hint: or both together: cargo rbench compare {base} {head}\n"
            );
        }
        if against().any(|against| against.measured == "unlike" && against.change.is_none()) {
            text += "hint: results of other machines or settings are compared only with \
                     --allow-different\n";
        }
        text
    }
}

impl BenchmarkHistory {
    /// The benchmark's id, with its place where the id alone is not unique.
    fn name(&self, all: &[Self]) -> String {
        if all.iter().filter(|other| other.id == self.id).count() > 1 {
            format!("{} {} {}", self.package, self.target, self.id)
        } else {
            self.id.clone()
        }
    }

    fn sparkline(&self) -> String {
        let value = |version: &VersionReport| {
            version.shown.filter(|_| version.alike).map(|shown| shown.value)
        };
        value::sparkline(&self.versions.iter().map(value).collect::<Vec<_>>())
    }

    fn table(&self, width: usize) -> String {
        let mut table = Table::new([
            Column::left("version"),
            Column::left("date").dropped(1),
            Column::right("value"),
            Column::right("change"),
            Column::left("").dropped(2).joined(),
            Column::left("verdict"),
            Column::left("").joined(),
            Column::left("against").dropped(3),
            Column::left("subject").shortened().dropped(0),
        ]);
        let mut above = None;
        for version in &self.versions {
            let against = version.against.as_ref().map(|against| against.version.short());
            let mut cells = vec![
                version.commit(),
                Cell::from(version.time.map_or(String::new(), date::day)),
                version.value(self),
            ];
            cells.extend(version.verdict());
            cells.push(Cell::from(against.filter(|_| above != version.base()).unwrap_or_default()));
            cells.push(Cell::from(version.summary.clone()));
            table.row(cells);
            above = Some(&version.version);
        }
        table.fit(width)
    }

    fn sessions_told(&self) -> String {
        let Some(sessions) = self.sessions else { return String::new() };
        format!(
            "between experiments it varies by {:.2} % (standard deviation; {}, {:.1} degrees of freedom)\n",
            100.0 * sessions.standard_deviation,
            quantity::count(sessions.repeats, "version") + " measured again",
            sessions.degrees_of_freedom
        )
    }
}

impl VersionReport {
    fn base(&self) -> Option<&crate::model::Version> {
        self.against.as_ref().map(|against| &against.version)
    }

    fn commit(&self) -> Cell {
        let short = self.version.short();
        if self.in_repository {
            Cell::from(short)
        } else {
            Cell::styled(style::QUIET, format!("({short})"))
        }
    }

    fn value(&self, benchmark: &BenchmarkHistory) -> Cell {
        let unit = benchmark.in_unit;
        match self.shown {
            Some(Shown { interval: Some(interval), .. }) => {
                Cell::from(value::with_interval(&interval, unit))
            }
            Some(Shown { value, .. }) => Cell::from(value::value(value, unit)),
            None => Cell::styled(style::DOUBTFUL, "failed"),
        }
    }

    /// The cells for the change, its interval, the verdict and its sign.
    fn verdict(&self) -> [Cell; 4] {
        let Some(against) = &self.against else { return Default::default() };
        let change = |change: &ChangeReport| value::percent(change.estimate);
        let range = |change: &ChangeReport| {
            let [low, high] = [change.low, change.high].map(value::bare_percent);
            format!("({low} .. {high})")
        };
        let of = |text: &dyn Fn(&ChangeReport) -> String| {
            Cell::from(against.change.as_ref().map_or(String::new(), text))
        };
        let sign = if against.is_apart() { APART } else { "" };
        let verdict = Cell::styled(against.style(), against.verdict);
        [of(&change), of(&range), verdict, Cell::from(sign)]
    }

    /// Why, where a reader will ask.
    fn sentence(&self) -> Option<&str> {
        let against = self.against.as_ref();
        match against.map(|against| against.verdict) {
            Some("regressed" | "improved" | "failed") => {
                against.map(|against| against.reason.as_str())
            }
            Some(_) => None,
            None => self.failure.as_deref(),
        }
    }
}

impl AgainstReport {
    fn is_apart(&self) -> bool {
        self.measured != "together" && self.verdict != "identical"
    }

    fn style(&self) -> anstyle::Style {
        match self.verdict {
            "regressed" => style::BAD,
            "improved" => style::GOOD,
            "failed" | "not-comparable" | "inconclusive" => style::DOUBTFUL,
            _ => style::QUIET,
        }
    }
}
