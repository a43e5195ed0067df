//! The requirements of the study, with the obtained values.

use std::time::Duration;

use rbench_stats::median;

use crate::{
    All,
    answer::Row,
    markdown::Table,
    proportion::{Proportion, Shown as _},
    stored::Subject,
    study::{Cost, Kind, Tried},
};

#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    target: &'static str,
    obtained: String,
    is_met: bool,
}

impl Bar {
    /// All requirements. A requirement is missed if its comparisons were not made.
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

    pub fn are_met(bars: &[Self]) -> bool {
        bars.iter().all(|bar| bar.is_met)
    }

    pub fn table(bars: &[Self]) -> Table<4> {
        let mut table = Table::new(["what", "target", "obtained", ""]);
        for bar in bars {
            let word = if bar.is_met { "ok" } else { "missed" };
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
            is_met: obtained.is_at_least(least),
        }
    }

    fn no_regression(regressed: Proportion) -> Self {
        let [low, high] = regressed.at_95().map(|end| 1e2 * end);
        Self {
            what: "unrelated code: regressions reported (95 % interval of the share)",
            target: "none",
            obtained: format!("{regressed} ({low:.2} to {high:.2} %)"),
            is_met: regressed.of > 0 && regressed.count == 0,
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
            is_met: middle <= 2.0,
        }
    }

    /// The same comparisons by the default and by the plan that was the default before interleaving
    /// existed.
    fn against_alone(unrelated: &Kind, alone: &Kind) -> Self {
        let number = alone.trials.len().min(unrelated.trials.len());
        let [usual, alone] =
            [unrelated, alone].map(|kind| Cost::from_trials(&kind.trials[..number]));
        let usual = usual.per_decided();
        // If the fixed plan decides nothing, a decided row would take longer than all of its rows
        // together.
        let (least, of_one) = if alone.decided == 0 {
            ("more than ", alone.seconds)
        } else {
            ("", alone.per_decided())
        };
        let ratio = of_one / usual;
        Self {
            what: "measuring per decided row, fixed plan, sequential / default",
            target: "at least 5",
            obtained: if number == 0 {
                "nothing compared".to_owned()
            } else {
                format!("{least}{ratio:.1} ({least}{of_one:.1} s, {usual:.1} s)")
            },
            is_met: number > 0 && ratio >= 5.0,
        }
    }

    /// The ratio of the standard errors of the same rows, sequential to interleaved.
    fn standard_errors(interleaved: &[Tried], alone: &[Tried]) -> Self {
        let mut ratios = Vec::new();
        for (interleaved, alone) in interleaved.iter().zip(alone) {
            for row in &interleaved.report.benchmarks {
                let is_same = |other: &&_| is_same_benchmark(other, row);
                let other = alone.report.benchmarks.iter().find(is_same);
                let both = other.and_then(|other| other.stages.first()).zip(row.stages.first());
                ratios.extend(both.map(|(a, t)| a.log_standard_error / t.log_standard_error));
            }
        }
        let (rows, middle) =
            (ratios.len(), if ratios.is_empty() { 0.0 } else { median(&mut ratios) });
        Self {
            what: "standard error by the fixed plan, sequential / interleaved: median",
            target: "at least 3",
            obtained: format!("{middle:.1} ({rows} rows)"),
            is_met: middle >= 3.0,
        }
    }

    fn inside(unrelated: &Kind) -> Self {
        let sum = |time: fn(&Subject) -> Duration| {
            unrelated.subjects().map(time).sum::<Duration>().as_secs_f64()
        };
        let share = sum(|subject| subject.inside) / sum(|subject| subject.measuring);
        Self {
            what: "of the time of measuring, inside warm-ups and measurements",
            target: "at least 60 %",
            obtained: format!("{:.0} %", 1e2 * share),
            is_met: share >= 0.6,
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
    fn requirement_is_missed_without_comparisons() {
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
        assert!(Bar::all(&all).iter().all(|bar| !bar.is_met));
    }

    #[test]
    fn single_false_regression_misses_the_requirement() {
        let bar = |with| Bar::no_regression(Proportion { count: with, of: 420 });
        assert!(bar(0).is_met && !bar(1).is_met);
        assert_eq!(bar(0).obtained, "0 of 420 (0.00 to 0.87 %)");
    }
}
