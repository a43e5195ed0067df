//! What was tried, as tables in Markdown.

use cargo_rbench::stats::{Estimator, Refusal, median};

use crate::{
    answer::Word,
    count::{Count, Which},
    gain::Gain,
    markdown::Table,
    study::{Study, Tried},
};

/// What every comparison said.
pub fn trials(study: &Study) -> Table<7> {
    let mut table = Table::new([
        "trial",
        "named",
        "reported change %",
        "others reported",
        "code changed in",
        "exit",
        "s",
    ]);
    for tried in study.all() {
        let planted = tried.trial.planted();
        let named = match planted {
            [] => "-".to_owned(),
            [only] => format!("{only}: {}", spoken(tried)),
            all => format!("{} of {}", tried.named(), all.len()),
        };
        let change = match planted {
            [only] => tried.reported_change(only).map(|change| format!("{:+.2}", 100.0 * change)),
            _ => None,
        };
        table.add_row([
            tried.trial.name(),
            named,
            change.unwrap_or("-".to_owned()),
            list(&tried.others_with(&["regressed", "improved"])),
            // What was planted changes code where it should.
            list(if planted.is_empty() { &tried.touched } else { &[] }),
            tried.answer.exit.to_string(),
            format!("{:.0}", tried.answer.seconds),
        ]);
    }
    table
}

/// Whether the one benchmark with more work was named.
fn spoken(tried: &Tried) -> &'static str {
    match (tried.named(), &tried.larger) {
        (0, None) => "no",
        (0, Some(_)) if tried.named_as_planned() == 0 => "no, nor with more",
        (0, Some(_)) => "with more",
        _ => "yes",
    }
}

fn list(words: &[&str]) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// What each estimator makes of the same measurements.
pub fn estimators(study: &Study) -> Result<Table<10>, Refusal> {
    let mut table = Table::new([
        "estimator",
        "same work: flagged",
        "%",
        "regressed",
        "improved",
        "10 %: flagged",
        "regressed",
        "5 %: flagged",
        "regressed",
        "median SE %",
    ]);
    for estimator in Estimator::ALL {
        let mut same = Count::over(study.all(), Which::Same, estimator)?;
        let ten = Count::over(&study.ten, Which::Planted, estimator)?;
        let fives = study.five.iter().chain(&study.every);
        let five = Count::over(fives, Which::Planted, estimator)?;
        table.add_row([
            estimator.to_string(),
            format!("{} of {}", same.flagged, same.of),
            format!("{:.1}", 100.0 * same.flagged as f64 / same.of.max(1) as f64),
            same.regressed.to_string(),
            same.improved.to_string(),
            format!("{} of {}", ten.flagged, ten.of),
            ten.regressed.to_string(),
            format!("{} of {}", five.flagged, five.of),
            five.regressed.to_string(),
            format!("{:.2}", 100.0 * median(&mut same.standard_errors)),
        ]);
    }
    Ok(table)
}

/// What criterion said.
pub fn criterion(study: &Study) -> Table<6> {
    let mut table =
        Table::new(["versions", "regressed", "improved", "within noise", "no change", "of"]);
    for (versions, words) in [
        ("the same executable again", words(&study.layout, true)),
        ("unrelated code", words(&study.layout, false)),
        ("10 % more work, the benchmark that has it", words(&study.ten, false)),
        ("5 % more work, the benchmark that has it", words(&study.five, false)),
    ] {
        let count = |wanted| words.iter().filter(|word| **word == wanted).count().to_string();
        table.add_row([
            versions.to_owned(),
            count(Word::Regressed),
            count(Word::Improved),
            count(Word::Noise),
            count(Word::NoChange),
            words.len().to_string(),
        ]);
    }
    table
}

/// All that criterion said of the heads, or of the base run again.
fn words(trials: &[Tried], rerun: bool) -> Vec<Word> {
    let said = trials.iter().filter_map(|tried| tried.criterion.as_ref());
    said.flat_map(|said| if rerun { said.rerun.values() } else { said.head.values() })
        .copied()
        .collect()
}

/// What pairing is worth.
pub fn pairing(gains: &[Gain]) -> Table<6> {
    let mut table = Table::new([
        "benchmark",
        "sd between layouts %",
        "correlation",
        "paired ± %",
        "unpaired ± %",
        "ratio",
    ]);
    for gain in gains {
        table.add_row([
            gain.benchmark.to_owned(),
            format!("{:.2}", 100.0 * gain.spread),
            format!("{:.2}", gain.correlation),
            format!("{:.2}", 100.0 * gain.half_widths[0]),
            format!("{:.2}", 100.0 * gain.half_widths[1]),
            format!("{:.2}", gain.ratio),
        ]);
    }
    table
}
