//! The results of the study as tables in Markdown.

use std::collections::BTreeSet;

use lab::criterion::Word;
use rbench_stats::median;

use crate::{
    All,
    answer::Row,
    markdown::Table,
    proportion::Proportion,
    study::{Cost, Kind, Tried},
    tools::CRITERIONS,
    trial::{Change, Way},
};

fn name(kind: &Kind) -> String {
    let change = match kind.change {
        Change::Unrelated => "unrelated code".to_owned(),
        Change::More(percent) => format!("{percent} % more work"),
    };
    match kind.way {
        Way::Usual => change,
        Way::Fixed => format!("{change}, fixed plan"),
        Way::Alone => format!("{change}, fixed plan, sequential"),
    }
}

pub fn verdicts(all: &All) -> Table<10> {
    let mut table = Table::new([
        "what the head has",
        "comparisons",
        "rows",
        "unchanged",
        "inconclusive",
        "regressed",
        "improved",
        "other",
        "flagged by the first stage",
        "measured on fresh builds",
    ]);
    for kind in all.kinds() {
        let words = ["unchanged", "inconclusive", "regressed", "improved"];
        let counts = words.map(|word| kind.with_verdict(word).count);
        let rows = kind.rows().count();
        let other = rows - counts.iter().sum::<usize>();
        let [unchanged, inconclusive, regressed, improved] = counts.map(|count| count.to_string());
        table.add_row([
            name(kind),
            kind.trials.len().to_string(),
            rows.to_string(),
            unchanged,
            inconclusive,
            regressed,
            improved,
            other.to_string(),
            kind.rows().filter(|row| row.is_flagged()).count().to_string(),
            kind.subjects().filter(|subject| subject.fresh_builds > 0).count().to_string(),
        ]);
    }
    table
}

/// The rows with a wrong verdict.
pub fn missed(all: &All) -> Table<5> {
    let mut table =
        Table::new(["comparison", "row", "verdict", "change %", "its own machine code changed"]);
    for kind in [&all.unrelated, &all.five, &all.two, &all.one] {
        let truth = if kind.change == Change::Unrelated { "unchanged" } else { "regressed" };
        for tried in &kind.trials {
            let wrong = tried.report.benchmarks.iter().filter(|row| row.verdict != truth);
            for row in wrong {
                let change = row.change.map(|change| format!("{:+.2}", 1e2 * change.estimate));
                table.add_row([
                    tried.trial.name(),
                    format!("{}: {}", row.target, row.id),
                    row.verdict.clone(),
                    change.unwrap_or("-".to_owned()),
                    if row.is_touched { "yes" } else { "no" }.to_owned(),
                ]);
            }
        }
    }
    table
}

/// A remark on the rows of unrelated code whose machine code changed nevertheless.
pub fn touched(unrelated: &Kind) -> String {
    let unchanged = |is_touched| {
        let rows = unrelated.rows().filter(|row| row.is_touched == is_touched);
        Proportion::count(rows, |row| row.verdict == "unchanged")
    };
    format!(
        "Rows of unrelated code that end `unchanged`: {} whose own machine code changed, {} others.",
        unchanged(true),
        unchanged(false)
    )
}

pub fn times(all: &All) -> Table<6> {
    let mut table =
        Table::new(["what", "rows", "s each, median", "s in all", "decided", "s per decided row"]);
    let mut add = |what: String, trials: &[Tried]| {
        let subjects = trials.iter().flat_map(|tried| &tried.subjects);
        let mut each: Vec<f64> = subjects.map(|subject| subject.measuring.as_secs_f64()).collect();
        if each.is_empty() {
            return;
        }
        let cost = Cost::from_trials(trials);
        table.add_row([
            what,
            each.len().to_string(),
            format!("{:.2}", median(&mut each)),
            format!("{:.0}", cost.seconds),
            cost.decided.to_string(),
            format!("{:.1}", cost.per_decided()),
        ]);
    };
    // The comparisons that were repeated by another plan.
    let as_well = BTreeSet::from([&all.fixed, &all.alone].map(|kind| kind.trials.len()));
    for kind in all.kinds() {
        add(name(kind), &kind.trials);
        if kind.change == Change::Unrelated && kind.way == Way::Usual {
            for first in as_well.iter().filter_map(|count| kind.trials.get(..*count)) {
                add(format!("{}, the first {}", name(kind), first.len()), first);
            }
        }
    }
    table
}

/// The number of builds of each version per row.
pub fn builds(all: &All) -> Table<8> {
    const LOOKS: [usize; 4] = [5, 10, 20, 40];
    let mut table = Table::new([
        "what",
        "5 builds",
        "10",
        "20",
        "40",
        "other",
        "with fresh ones",
        "fresh ones, median",
    ]);
    for kind in [&all.unrelated, &all.five, &all.two, &all.one] {
        let count = |builds| kind.subjects().filter(|one| one.first_builds == builds).count();
        let counts = LOOKS.map(count);
        let other = kind.subjects().count() - counts.iter().sum::<usize>();
        let [five, ten, twenty, forty] = counts.map(|count| count.to_string());
        let fresh = kind.subjects().map(|one| one.fresh_builds).filter(|builds| *builds > 0);
        let mut fresh: Vec<f64> = fresh.map(|builds| builds as f64).collect();
        let with_fresh = fresh.len().to_string();
        let middle = if fresh.is_empty() { "-".to_owned() } else { median(&mut fresh).to_string() };
        table.add_row([
            name(kind),
            five,
            ten,
            twenty,
            forty,
            other.to_string(),
            with_fresh,
            middle,
        ]);
    }
    table
}

/// The verdicts of criterion and rbench on the same rows.
pub fn peers(all: &All) -> Table<7> {
    let mut table =
        Table::new(["versions", "by", "rows", "regressed", "improved", "unchanged", "undecided"]);
    let rerun = said(&all.unrelated, true);
    add_words(&mut table, "the same executable again".to_owned(), &rerun);
    for kind in [&all.unrelated, &all.five, &all.two] {
        add_words(&mut table, name(kind), &said(kind, false));
        let asked = kind.trials.iter().filter(|tried| tried.criterion.is_some());
        let rows: Vec<&Row> = asked
            .flat_map(|tried| &tried.report.benchmarks)
            .filter(|row| row.target == CRITERIONS)
            .collect();
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count().to_string();
        let undecided = rows.iter().filter(|row| !row.is_decided()).count().to_string();
        let [regressed, improved, unchanged] = ["regressed", "improved", "unchanged"].map(count);
        let (versions, of) = (name(kind), rows.len().to_string());
        let by = "rbench".to_owned();
        table.add_row([versions, by, of, regressed, improved, unchanged, undecided]);
    }
    table
}

/// All verdicts of criterion on the heads, or on the base run again.
fn said(kind: &Kind, rerun: bool) -> Vec<Word> {
    let said = kind.trials.iter().filter_map(|tried| tried.criterion.as_ref());
    said.flat_map(|said| if rerun { said.rerun.values() } else { said.head.values() })
        .copied()
        .collect()
}

/// "Within the noise threshold" and "no change detected" both name nothing; neither shows that
/// there is no change.
fn add_words(table: &mut Table<7>, versions: String, words: &[Word]) {
    let [regressed, improved] = [Word::Regressed, Word::Improved]
        .map(|wanted| words.iter().filter(|word| **word == wanted).count());
    let quiet = words.len() - regressed - improved;
    table.add_row([
        versions,
        "criterion".to_owned(),
        words.len().to_string(),
        regressed.to_string(),
        improved.to_string(),
        "-".to_owned(),
        quiet.to_string(),
    ]);
}
