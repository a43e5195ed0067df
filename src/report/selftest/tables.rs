//! The tables of a self-test.

use super::{CONFIDENCE, SelftestReport, Way, name_of};
use crate::{
    judge::fitness::{BUILDS, Fitness, Floor},
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
};

/// The number of builds, among all for which it is told what they show, that is told of every way.
const MIDDLE: usize = 1;

impl SelftestReport {
    /// What is said of each way: a line for each question, a column for each way.
    pub fn of_ways(&self) -> Table {
        let mut heads = vec![String::new()];
        heads.extend(self.ways.iter().map(|way| name_of(way.interleave).to_owned()));
        let mut rows = Vec::new();
        let mut add = |head: String, cell: &dyn Fn(&Way) -> String| {
            rows.push(std::iter::once(head).chain(self.ways.iter().map(cell)).collect::<Vec<_>>());
        };
        let fitness = |cell: fn(&Fitness) -> String| move |way: &Way| cell(&way.fitness);
        let promised = self.ways.first().map_or(0.0, |way| way.fitness.promised);
        add(
            format!("flagged by a test at {} on the first builds", size(promised)),
            &fitness(|all| of_all(all.flagged)),
        );
        add(
            "  the true rate, with 95 % confidence".to_owned(),
            &fitness(|all| between(all.flagged)),
        );
        add(
            "reported as regressed, as improved".to_owned(),
            &fitness(|all| format!("{}, {}", all.regressed, all.improved)),
        );
        add("shown to be unchanged".to_owned(), &fitness(|all| of_all(all.unchanged)));
        if self.ways.iter().any(|way| way.fitness.unjudged > 0) {
            add("failed or skipped".to_owned(), &fitness(|all| all.unjudged.to_string()));
        }
        add(
            format!("p values: \u{221a}N\u{b7}D (usual: below {})", Uniformity::USUAL),
            &fitness(p_values),
        );
        add("what is executed second takes longer by".to_owned(), &fitness(order));
        add("correlation of neighbours in time".to_owned(), &fitness(serial));
        add(format!("pairs beyond {FAR} MAD (normal: 0.07 %)"), &fitness(far));
        add("time".to_owned(), &|way| duration(way.took));
        table(heads, rows)
    }

    /// The noise floor of each benchmark in the first way, and less of it in the others.
    pub fn of_floors(&self) -> Table {
        let names = Names::of(&self.benchmarks);
        let mut heads = vec!["benchmark".to_owned(), "sd".to_owned()];
        heads.extend(BUILDS.map(|builds| format!("-l {builds}")));
        let others = || self.ways.iter().skip(1);
        for way in others() {
            heads.push(format!("{}: sd", name_of(way.interleave)));
            heads.push(format!("-l {}", BUILDS[MIDDLE]));
        }
        let floor = |way: &Way, benchmark: &Benchmark| {
            way.fitness.floors.iter().find(|floor| floor.benchmark == *benchmark).cloned()
        };
        let row = |benchmark: &Benchmark| {
            let mut cells = vec![names.name(benchmark)];
            let first = self.ways.first().and_then(|way| floor(way, benchmark));
            match first {
                Some(Floor { deviation, detectable, .. }) => {
                    cells.push(size(deviation));
                    cells.extend(detectable.map(size));
                }
                None => cells.extend([const { String::new() }; 1 + BUILDS.len()]),
            }
            for way in others() {
                let known = floor(way, benchmark);
                let known =
                    known.map(|known| [known.deviation, known.detectable[MIDDLE]].map(size));
                cells.extend(known.unwrap_or_default());
            }
            cells
        };
        table(heads, self.benchmarks.iter().map(row).collect())
    }

    /// How often each tool calls unchanged code changed.
    pub fn of_tools(&self) -> Option<Table> {
        let criterion = self.criterion.as_ref()?;
        let heads = ["tool", "calls unchanged code changed", "the true rate, 95 %", "time"];
        let line = |tool: String, changed: Proportion, took| {
            vec![tool, of_all(changed), between(changed), duration(took)]
        };
        let mut rows: Vec<_> = self
            .ways
            .iter()
            .map(|way| {
                let tool = format!("rbench, {}", name_of(way.interleave));
                line(tool, way.reported(), way.took)
            })
            .collect();
        rows.push(line("criterion".to_owned(), criterion.changed, criterion.took));
        Some(table(heads.map(str::to_owned).to_vec(), rows))
    }
}

/// A table of these heads and rows. The first column has names, all others numbers.
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
pub fn of_all(proportion: Proportion) -> String {
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
    let known = fitness.serial.map(|serial| {
        format!("{:+.2} (chance: \u{b1}{:.2})", serial.correlation, serial.by_chance())
    });
    known.unwrap_or_else(|| "unknown".to_owned())
}

fn far(fitness: &Fitness) -> String {
    fitness.far.share().map_or_else(|| "unknown".to_owned(), tenths)
}
