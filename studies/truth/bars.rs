//! What the study must reach.

use crate::{
    gain::Gain,
    markdown::Table,
    study::{Study, Tried},
};

/// From this spread between builds on, a benchmark counts as layout-sensitive.
const SENSITIVE: f64 = 0.05;

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
    pub fn all(study: &Study, gains: &[Gain]) -> Vec<Self> {
        vec![
            Self::false_regressions(&study.layout),
            Self::power("10 % more work: reported", "all", &study.ten, 1.0),
            Self::nothing_else(&study.ten),
            Self::power("5 % more work: reported", "8 of 10", &study.five, 0.8),
            Self::exit_codes(study),
            Self::pairing(gains),
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

    /// Where the machine code of what is timed really changed, a regression may be true.
    fn false_regressions<'a>(trials: &'a [Tried]) -> Self {
        let (mut rows, mut alarms, mut touched_rows, mut touched_alarms) = (0, 0, 0, 0);
        let of_trial =
            |tried: &'a Tried| tried.report.benchmarks.iter().map(move |row| (tried, row));
        for (tried, row) in trials.iter().flat_map(of_trial) {
            let regressed = usize::from(row.verdict == "regressed");
            if tried.touched.contains(&row.id.as_str()) {
                touched_rows += 1;
                touched_alarms += regressed;
            } else {
                rows += 1;
                alarms += regressed;
            }
        }
        Self {
            what: "unrelated code: regressions reported",
            target: "at most 1",
            obtained: format!(
                "{alarms} of {rows}; and {touched_alarms} of {touched_rows} whose code changed"
            ),
            reached: rows > 0 && alarms <= 1,
        }
    }

    /// Reported with default settings, or with as many builds or executions as the report suggests.
    fn power(what: &'static str, target: &'static str, trials: &[Tried], share: f64) -> Self {
        let at_once: usize = trials.iter().map(Tried::named).sum();
        let named: usize = trials.iter().map(Tried::named_as_planned).sum();
        let reached = !trials.is_empty() && named as f64 >= share * trials.len() as f64;
        let obtained = format!(
            "{named} of {}: {at_once} at once, {} with as much as the report suggested",
            trials.len(),
            named - at_once
        );
        Self { what, target, obtained, reached }
    }

    fn nothing_else(trials: &[Tried]) -> Self {
        let others = trials.iter().flat_map(|tried| tried.others_with(&["regressed", "improved"]));
        let others = others.count();
        Self {
            what: "10 % more work: anything else reported",
            target: "nothing",
            obtained: others.to_string(),
            reached: !trials.is_empty() && others == 0,
        }
    }

    fn exit_codes(study: &Study) -> Self {
        let agree = study.all().filter(|tried| tried.exit_agrees()).count();
        let count = study.all().count();
        Self {
            what: "exit code 1 exactly if a regression is reported",
            target: "all",
            obtained: format!("{agree} of {count}"),
            reached: count > 0 && agree == count,
        }
    }

    fn pairing(gains: &[Gain]) -> Self {
        let sensitive = gains.iter().filter(|gain| gain.spread >= SENSITIVE);
        let worst = sensitive.max_by(|one, other| one.ratio.total_cmp(&other.ratio));
        Self {
            what: "layout-sensitive (sd 5 % or more): paired interval / unpaired, the worst",
            target: "at most 0.50",
            obtained: worst.map_or("none is that sensitive".to_owned(), |gain| {
                format!("{:.2} ({})", gain.ratio, gain.benchmark)
            }),
            reached: worst.is_some_and(|gain| gain.ratio <= 0.5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(spread: f64, ratio: f64) -> Gain {
        Gain { benchmark: "b", spread, half_widths: [ratio, 1.0], ratio, correlation: 0.9 }
    }

    #[test]
    fn only_layout_sensitive_benchmarks_must_gain_by_pairing_and_the_worst_counts() {
        assert!(Bar::pairing(&[gain(0.05, 0.4), gain(0.01, 0.9)]).reached);
        assert!(!Bar::pairing(&[gain(0.05, 0.4), gain(0.06, 0.6)]).reached);
    }

    #[test]
    fn what_was_not_tried_is_not_reached() {
        let study = Study { layout: vec![], ten: vec![], five: vec![], every: vec![] };
        assert!(Bar::all(&study, &[]).iter().all(|bar| !bar.reached));
    }
}
