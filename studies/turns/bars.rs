//! What turns have to give, and what they gave.

use std::time::Duration;

use cargo_rbench::{model::Interleave, stats::median};

use crate::{
    comparisons::{Compared, Kind, Row},
    pairs::{Pairs, Way},
};

/// One requirement.
pub struct Bar {
    what: &'static str,
    required: &'static str,
    measured: String,
    is_reached: bool,
}

impl Bar {
    /// Prints a line, and whether it is reached.
    pub fn line(&self) -> String {
        let Self { what, required, measured, is_reached } = self;
        let reached = if *is_reached { "reached" } else { "MISSED" };
        format!("{what:<76} {required:>22} {measured:>26} {reached}")
    }

    /// Whether the requirement is met.
    pub const fn is_reached(&self) -> bool {
        self.is_reached
    }
}

/// The requirements on pairs of executions.
pub fn of_pairs(pairs: &[Pairs], best: Way) -> Vec<Bar> {
    let mut gains: Vec<f64> = pairs.iter().map(|pairs| gain(pairs, best)).collect();
    let below = gains.iter().filter(|gain| **gain < 1.0).count();
    let (median, count) = (median(&mut gains), gains.len());
    vec![
        Bar {
            what: "sd of a pair's log ratio, best one after the other / turns: median",
            required: "at least 4",
            measured: format!("{median:.1}"),
            is_reached: median >= 4.0,
        },
        Bar {
            what: "the same: benchmarks below 1",
            required: "none",
            measured: format!("{below} of {count}"),
            is_reached: below == 0,
        },
    ]
}

/// How much smaller the standard deviation is in turns, by neighbours, as comparisons take it.
pub fn gain(pairs: &Pairs, best: Way) -> f64 {
    pairs.alone(best) / pairs.of_neighbours()
}

/// The requirements on whole comparisons.
pub fn of_comparisons(all: &[Compared]) -> Vec<Bar> {
    let of = |kind: Kind, interleave| {
        all.iter().filter(move |one| one.kind == kind && one.interleave == interleave)
    };
    let in_turns = |kind| of(kind, Interleave::Turns).flat_map(|compared| &compared.rows);
    let unrelated: Vec<&Row> = in_turns(Kind::Unrelated).collect();
    let judged: Vec<&Row> =
        unrelated.iter().copied().filter(|row| !row.stages.is_empty()).collect();
    let flagged = judged.iter().filter(|row| row.stages[0].flagged.is_some()).count();
    let rate = flagged as f64 / judged.len() as f64;
    let unchanged = judged.iter().filter(|row| row.verdict == "unchanged").count();
    let mut bars = vec![
        standard_errors(all),
        Bar {
            what: "unchanged rows that the first stage flags",
            required: "3 to 6.5 %",
            measured: format!("{flagged} of {} ({:.1} %)", judged.len(), 1e2 * rate),
            is_reached: (0.03..=0.065).contains(&rate),
        },
        Bar {
            what: "rows of unrelated code that end `unchanged` at 1 %",
            required: "at least 80 %",
            measured: format!("{unchanged} of {}", judged.len()),
            is_reached: 5 * unchanged >= 4 * judged.len(),
        },
        times(of(Kind::Unrelated, Interleave::Turns)),
    ];
    for (percent, what, required, least) in [
        (5, "rows with 5 % more work that are named at once", "at least 9 of 10", 9),
        (2, "rows with 2 % more work that are named at once", "at least 6 of 10", 6),
    ] {
        let rows: Vec<&Row> = in_turns(Kind::More(percent)).collect();
        let named = rows.iter().filter(|row| row.verdict == "regressed").count();
        bars.push(Bar {
            what,
            required,
            measured: format!("{named} of {}", rows.len()),
            is_reached: 10 * named >= least * rows.len(),
        });
    }
    bars.push(inside(of(Kind::Unrelated, Interleave::Turns)));
    bars
}

/// The standard errors of the same rows in both ways.
fn standard_errors(all: &[Compared]) -> Bar {
    let mut ratios = Vec::new();
    let mut one_after_the_other = None;
    for compared in all {
        match compared.interleave {
            Interleave::Executions => one_after_the_other = Some(compared),
            Interleave::Turns => {
                let Some(alone) = one_after_the_other.take() else { continue };
                for row in &compared.rows {
                    let same = |other: &&Row| (&other.target, &other.id) == (&row.target, &row.id);
                    let other = alone.rows.iter().find(same).and_then(|row| row.stages.first());
                    let both = other.zip(row.stages.first());
                    ratios.extend(both.map(|(a, t)| a.log_standard_error / t.log_standard_error));
                }
            }
        }
    }
    let (median, count) = (median(&mut ratios), ratios.len());
    Bar {
        what: "standard error of a whole comparison, one after the other / turns: median",
        required: "at least 3",
        measured: format!("{median:.1} ({count} rows)"),
        is_reached: median >= 3.0,
    }
}

fn times<'c>(all: impl Iterator<Item = &'c Compared>) -> Bar {
    let mut seconds: Vec<f64> =
        all.flat_map(|compared| &compared.measuring).map(Duration::as_secs_f64).collect();
    let median = median(&mut seconds);
    Bar {
        what: "how long measuring such a row takes: median",
        required: "at most 3 s",
        measured: format!("{median:.2} s"),
        is_reached: median <= 3.0,
    }
}

fn inside<'c>(all: impl Iterator<Item = &'c Compared>) -> Bar {
    let (mut inside, mut wall) = (Duration::ZERO, Duration::ZERO);
    for compared in all {
        inside += compared.inside;
        wall += compared.measuring.iter().sum::<Duration>();
    }
    let share = inside.as_secs_f64() / wall.as_secs_f64();
    Bar {
        what: "of the time of measuring, inside warm-ups and measurements",
        required: "at least 80 %",
        measured: format!("{:.0} %", 1e2 * share),
        is_reached: share >= 0.8,
    }
}
