//! What the study must reach.

use std::time::Duration;

use cargo_rbench::stats::median;

use crate::{
    All,
    answer::Row,
    markdown::Table,
    proportion::{Proportion, Shown as _},
    stored::Subject,
    study::{Cost, Kind, Tried},
};

/// Something to reach.
#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    target: &'static str,
    obtained: String,
    reached: bool,
}

impl Bar {
    /// All bars. What was not tried is not reached.
    pub fn all(all: &All) -> Vec<Self> {
        let All { unrelated, five, two, one, fixed, alone } = all;
        vec![
            Self::share(
                "unrelated code: rows that end `unchanged`",
                "at least 95 %",
                unrelated.with_verdict("unchanged"),
                0.95,
            ),
            Self::no_regression(unrelated.with_verdict("regressed")),
            Self::share("5 % more work: named", "all", five.with_verdict("regressed"), 1.0),
            Self::share(
                "2 % more work: named",
                "at least 9 of 10",
                two.with_verdict("regressed"),
                0.9,
            ),
            Self::share(
                "1 % more work, with `--min-effect 0.5% --budget 5min`: named",
                "at least 8 of 10",
                one.with_verdict("regressed"),
                0.8,
            ),
            Self::time(unrelated),
            Self::against_alone(unrelated, alone),
            Self::standard_errors(&fixed.trials, &alone.trials),
            Self::inside(unrelated),
        ]
    }

    /// Whether all are reached.
    pub fn are_reached(bars: &[Self]) -> bool {
        bars.iter().all(|bar| bar.reached)
    }

    /// The bars for people.
    pub fn table(bars: &[Self]) -> Table<4> {
        let mut table = Table::new(["what", "target", "obtained", ""]);
        for bar in bars {
            let word = if bar.reached { "ok" } else { "missed" };
            table.add_row([bar.what, bar.target, &bar.obtained, word].map(str::to_owned));
        }
        table
    }

    fn share(what: &'static str, target: &'static str, obtained: Proportion, least: f64) -> Self {
        let percent = 1e2 * obtained.rate();
        Self {
            what,
            target,
            obtained: format!("{obtained} ({percent:.1} %)"),
            reached: obtained.is_at_least(least),
        }
    }

    fn no_regression(regressed: Proportion) -> Self {
        let [low, high] = regressed.at_95().map(|end| 1e2 * end);
        Self {
            what: "unrelated code: regressions reported (95 % interval of the share)",
            target: "none",
            obtained: format!("{regressed} ({low:.2} to {high:.2} %)"),
            reached: regressed.of > 0 && regressed.count == 0,
        }
    }

    fn time(unrelated: &Kind) -> Self {
        let mut seconds: Vec<f64> =
            unrelated.subjects().map(|subject| subject.measuring.as_secs_f64()).collect();
        let middle = if seconds.is_empty() { f64::INFINITY } else { median(&mut seconds) };
        Self {
            what: "unrelated code: measuring a row, both stages: median",
            target: "at most 2 s",
            obtained: format!("{middle:.2} s"),
            reached: middle <= 2.0,
        }
    }

    /// The same comparisons by the default and by the plan that was the default before versions took turns.
    fn against_alone(unrelated: &Kind, alone: &Kind) -> Self {
        let number = alone.trials.len().min(unrelated.trials.len());
        let [usual, alone] =
            [unrelated, alone].map(|kind| Cost::from_trials(&kind.trials[..number]));
        let usual = usual.per_decided();
        // Where it decides nothing, a decided row would take longer than all did.
        let (least, of_one) = if alone.decided == 0 {
            ("more than ", alone.seconds)
        } else {
            ("", alone.per_decided())
        };
        let ratio = of_one / usual;
        Self {
            what: "measuring per decided row, fixed plan, one after the other / default",
            target: "at least 5",
            obtained: if number == 0 {
                "nothing compared".to_owned()
            } else {
                format!("{least}{ratio:.1} ({least}{of_one:.1} s, {usual:.1} s)")
            },
            reached: number > 0 && ratio >= 5.0,
        }
    }

    /// The standard errors of the same rows in both ways.
    fn standard_errors(turns: &[Tried], alone: &[Tried]) -> Self {
        let mut ratios = Vec::new();
        for (turns, alone) in turns.iter().zip(alone) {
            for row in &turns.report.benchmarks {
                let is_same = |other: &&_| is_same_benchmark(other, row);
                let other = alone.report.benchmarks.iter().find(is_same);
                let both = other.and_then(|other| other.stages.first()).zip(row.stages.first());
                ratios.extend(both.map(|(a, t)| a.log_standard_error / t.log_standard_error));
            }
        }
        let (rows, middle) =
            (ratios.len(), if ratios.is_empty() { 0.0 } else { median(&mut ratios) });
        Self {
            what: "standard error by the fixed plan, one after the other / in turns: median",
            target: "at least 3",
            obtained: format!("{middle:.1} ({rows} rows)"),
            reached: middle >= 3.0,
        }
    }

    fn inside(unrelated: &Kind) -> Self {
        let sum = |time: fn(&Subject) -> Duration| {
            unrelated.subjects().map(time).sum::<Duration>().as_secs_f64()
        };
        let share = sum(|subject| subject.inside) / sum(|subject| subject.measuring);
        Self {
            what: "of the time of measuring, inside warm-ups and measurements",
            target: "at least 80 %",
            obtained: format!("{:.0} %", 1e2 * share),
            reached: share >= 0.8,
        }
    }
}

fn is_same_benchmark(one: &Row, other: &Row) -> bool {
    (&one.target, &one.id) == (&other.target, &other.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Change, Way};

    fn nothing(change: Change, way: Way) -> Kind {
        Kind { change, way, trials: Vec::new() }
    }

    #[test]
    fn what_was_not_tried_is_not_reached() {
        let more = |percent| nothing(Change::More(percent), Way::Usual);
        let unrelated = |way| nothing(Change::Unrelated, way);
        let all = All {
            unrelated: unrelated(Way::Usual),
            five: more(5),
            two: more(2),
            one: more(1),
            fixed: unrelated(Way::Fixed),
            alone: unrelated(Way::Alone),
        };
        assert!(Bar::all(&all).iter().all(|bar| !bar.reached));
    }

    #[test]
    fn one_false_regression_misses_the_bar() {
        let bar = |with| Bar::no_regression(Proportion { count: with, of: 420 });
        assert!(bar(0).reached && !bar(1).reached);
        assert_eq!(bar(0).obtained, "0 of 420 (0.00 to 0.87 %)");
    }
}
