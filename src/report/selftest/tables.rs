//! The tables of the `selftest` report.

use super::{CONFIDENCE, ModeResult, SelftestReport, name_of};
use crate::{
    model::Benchmark,
    report::{
        names::Names,
        quantity::{duration, percent, size},
        table::{Cell, Column, Table},
    },
    stats::{
        Proportion,
        noise::{FAR, Uniformity},
    },
    verdict::fitness::{BUILDS, Fitness, Floor},
};

/// The index of the number of builds in [`BUILDS`] that is shown for every mode.
const MIDDLE: usize = 1;

impl SelftestReport {
    /// The results of all modes: a line for each question, a column for each mode.
    pub fn modes_table(&self) -> Table {
        let mut heads = vec![String::new()];
        heads.extend(self.modes.iter().map(|result| name_of(result.mode).to_owned()));
        let mut rows = Vec::new();
        let mut add = |head: String, cell: &dyn Fn(&ModeResult) -> String| {
            rows.push(std::iter::once(head).chain(self.modes.iter().map(cell)).collect::<Vec<_>>());
        };
        let fitness =
            |cell: fn(&Fitness) -> String| move |result: &ModeResult| cell(&result.fitness);
        let target_rate = self.modes.first().map_or(0.0, |result| result.fitness.target_error_rate);
        add(
            format!("flagged by a test at {} on the first builds", size(target_rate)),
            &fitness(|all| proportion_text(all.flagged)),
        );
        add(
            "  the true rate, with 95 % confidence".to_owned(),
            &fitness(|all| between(all.flagged)),
        );
        add(
            "reported as regressed, as improved".to_owned(),
            &fitness(|all| format!("{}, {}", all.regressed, all.improved)),
        );
        add("shown to be unchanged".to_owned(), &fitness(|all| proportion_text(all.unchanged)));
        if self.modes.iter().any(|result| result.fitness.unjudged > 0) {
            add("failed or skipped".to_owned(), &fitness(|all| all.unjudged.to_string()));
        }
        add(
            format!("p values: \u{221a}N\u{b7}D (usual: below {})", Uniformity::USUAL),
            &fitness(p_values),
        );
        add("what is executed second takes longer by".to_owned(), &fitness(order));
        add("correlation of neighbours in time".to_owned(), &fitness(serial));
        add(format!("pairs beyond {FAR} MAD (normal: 0.07 %)"), &fitness(far));
        add("time".to_owned(), &|result| duration(result.duration));
        table(heads, rows)
    }

    /// The noise floor of each benchmark in the first mode, and a part of it in the others.
    pub fn floors_table(&self) -> Table {
        let names = Names::new(&self.benchmarks);
        let mut heads = vec!["benchmark".to_owned(), "sd".to_owned()];
        heads.extend(BUILDS.map(|builds| format!("-l {builds}")));
        let others = || self.modes.iter().skip(1);
        for result in others() {
            heads.push(format!("{}: sd", name_of(result.mode)));
            heads.push(format!("-l {}", BUILDS[MIDDLE]));
        }
        let floor = |result: &ModeResult, benchmark: &Benchmark| {
            result.fitness.floors.iter().find(|floor| floor.benchmark == *benchmark).cloned()
        };
        let row = |benchmark: &Benchmark| {
            let mut cells = vec![names.name(benchmark)];
            let first = self.modes.first().and_then(|result| floor(result, benchmark));
            match first {
                Some(Floor { deviation, detectable, .. }) => {
                    cells.push(size(deviation));
                    cells.extend(detectable.map(size));
                }
                None => cells.extend([const { String::new() }; 1 + BUILDS.len()]),
            }
            for result in others() {
                let known = floor(result, benchmark);
                let known =
                    known.map(|known| [known.deviation, known.detectable[MIDDLE]].map(size));
                cells.extend(known.unwrap_or_default());
            }
            cells
        };
        table(heads, self.benchmarks.iter().map(row).collect())
    }

    /// The false-positive rate of each tool.
    pub fn tools_table(&self) -> Option<Table> {
        let criterion = self.criterion.as_ref()?;
        let heads = ["tool", "calls unchanged code changed", "the true rate, 95 %", "time"];
        let line = |tool: String, changed: Proportion, took| {
            vec![tool, proportion_text(changed), between(changed), duration(took)]
        };
        let mut rows: Vec<_> = self
            .modes
            .iter()
            .map(|result| {
                let tool = format!("rbench, {}", name_of(result.mode));
                line(tool, result.reported(), result.duration)
            })
            .collect();
        rows.push(line("criterion".to_owned(), criterion.changed, criterion.duration));
        Some(table(heads.map(str::to_owned).to_vec(), rows))
    }
}

/// A table with these heads and rows. The first column has names, all others numbers.
fn table(heads: Vec<String>, rows: Vec<Vec<String>>) -> Table {
    let column = |(at, head): (usize, String)| match at {
        0 => Column::left(head).names(),
        _ => Column::right(head),
    };
    let mut table = Table::new(heads.into_iter().enumerate().map(column));
    for row in rows {
        table.row(row.into_iter().map(Cell::from));
    }
    table
}

/// `5 of 96 (5.2 %)`.
pub fn proportion_text(proportion: Proportion) -> String {
    let Proportion { count, of } = proportion;
    let share = proportion.share().map_or(String::new(), |share| format!(" ({})", tenths(share)));
    format!("{count} of {of}{share}")
}

/// `1.7 to 11.7 %`.
pub fn between(proportion: Proportion) -> String {
    let [low, high] = proportion.interval(CONFIDENCE);
    format!("{:.1} to {}", 100.0 * low, tenths(high))
}

fn tenths(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn p_values(fitness: &Fitness) -> String {
    let Some(uniformity) = fitness.uniformity else { return "unknown".to_owned() };
    let statistic = uniformity.statistic();
    let remark = match (statistic < Uniformity::USUAL, uniformity.has_small_ones()) {
        (true, _) => "",
        (false, true) => ", more small ones than usual",
        (false, false) => ", more large ones than usual",
    };
    format!("{statistic:.2}{remark}")
}

fn order(fitness: &Fitness) -> String {
    let known =
        fitness.order.map(|order| format!("{} (t {:.1})", percent(order.mean.exp_m1()), order.t));
    known.unwrap_or_else(|| "unknown".to_owned())
}

fn serial(fitness: &Fitness) -> String {
    let known = fitness.autocorrelation.map(|serial| {
        format!("{:+.2} (chance: \u{b1}{:.2})", serial.correlation, serial.by_chance())
    });
    known.unwrap_or_else(|| "unknown".to_owned())
}

fn far(fitness: &Fitness) -> String {
    fitness.far.share().map_or_else(|| "unknown".to_owned(), tenths)
}
