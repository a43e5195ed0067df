//! What the study must reach.

use comfy_table::{Table, presets};

use crate::tables::{Gain, Study};

/// From this spread between builds on, a benchmark counts as layout-sensitive.
const SENSITIVE: f64 = 0.05;

/// Something to reach.
#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    target: String,
    obtained: String,
    reached: bool,
}

/// All bars. What was not tried is not reached.
pub fn bars(study: &Study, gains: &[Gain]) -> Vec<Bar> {
    let rows = study.layout.iter().map(|tried| tried.report.benchmarks.len()).sum::<usize>();
    let alarms: usize =
        study.layout.iter().map(|tried| tried.others_with(&["regressed"]).len()).sum();
    let named = |trials: &[crate::study::Tried]| trials.iter().filter(|t| t.is_named()).count();
    let (ten, five) = (named(&study.ten), named(&study.five));
    let others: usize =
        study.ten.iter().map(|tried| tried.others_with(&["regressed", "improved"]).len()).sum();
    let agree = study.all().filter(|tried| tried.exit_agrees()).count();
    let count = study.all().count();
    let sensitive: Vec<&Gain> = gains.iter().filter(|gain| gain.spread >= SENSITIVE).collect();
    let worst = sensitive.iter().map(|gain| gain.ratio).fold(f64::NAN, f64::max);
    vec![
        Bar {
            what: "unrelated code: regressions reported",
            target: "at most 1".to_owned(),
            obtained: format!("{alarms} of {rows}"),
            reached: rows > 0 && alarms <= 1,
        },
        Bar {
            what: "10 % more work: named",
            target: "all".to_owned(),
            obtained: format!("{ten} of {}", study.ten.len()),
            reached: ten > 0 && ten == study.ten.len(),
        },
        Bar {
            what: "10 % more work: anything else reported",
            target: "none".to_owned(),
            obtained: others.to_string(),
            reached: others == 0,
        },
        Bar {
            what: "5 % more work: named",
            target: "8 of 10".to_owned(),
            obtained: format!("{five} of {}", study.five.len()),
            reached: five > 0 && 10 * five >= 8 * study.five.len(),
        },
        Bar {
            what: "exit code 1 exactly where a regression is named",
            target: "all".to_owned(),
            obtained: format!("{agree} of {count}"),
            reached: agree == count,
        },
        Bar {
            what: "layout-sensitive benchmarks: paired interval / unpaired, the worst",
            target: "at most 0.50".to_owned(),
            obtained: format!("{worst:.2} ({} benchmarks)", sensitive.len()),
            reached: worst <= 0.5,
        },
    ]
}

/// Whether all are reached.
pub fn all_reached(bars: &[Bar]) -> bool {
    bars.iter().all(|bar| bar.reached)
}

/// The bars for people.
pub fn table(bars: &[Bar]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["what", "target", "obtained", ""]);
    for bar in bars {
        let word = if bar.reached { "ok" } else { "missed" };
        table.add_row([bar.what, &bar.target, &bar.obtained, word]);
    }
    table
}
