//! The report of `bisect` for people and for programs.

use super::*;
use crate::report::{
    style,
    testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, given, machine, version},
};

fn change(percent: f64) -> Change {
    let share = percent / 100.0;
    Change { estimate: share, low: share - 0.002, high: share + 0.002 }
}

fn commit(digit: char, is_merge: bool) -> Commit {
    let named = version(&digit.to_string().repeat(40), digit);
    Commit { version: named, authored: 1_700_000_000, is_merge }
}

fn place(after: char, commits: &[char], percent: f64, ending: Ending) -> CommitPlace {
    CommitPlace {
        after: version("HEAD~9", after),
        commits: commits.iter().map(|digit| commit(*digit, false)).collect(),
        ending,
        change: change(percent),
        impact: Some(Impact {
            uncertainties: vec!["it cannot be traced".to_owned()],
            ..Impact::default()
        }),
        merged: None,
    }
}

fn searched(id: &str, outcome: Outcome) -> SearchedBenchmark {
    let same = Vec::new();
    SearchedBenchmark {
        benchmark: benchmark(id),
        metric: Some(Metric::wall()),
        comparisons: 9,
        same,
        outcome,
    }
}

fn line(benchmarks: Vec<SearchedBenchmark>) -> SearchedLine {
    SearchedLine {
        base: version("v1.0", '0'),
        head: version(&"9".repeat(40), '9'),
        commits: 9,
        forks: false,
        benchmarks,
        added: Vec::new(),
        removed: Vec::new(),
        skipped: Vec::new(),
        failed_targets: Vec::new(),
    }
}

fn report(line: SearchedLine) -> BisectReport {
    BisectReport {
        range: "v1.0..HEAD".to_owned(),
        line,
        criteria: Criteria::default(),
        machine: machine(),
        measured: 9,
        stored: 0,
        stopped: false,
        warnings: Vec::new(),
        command_line: given("compare A B --all-features"),
    }
}

/// Two places, of which the second is a merge whose commits were searched; and every other outcome.
fn full(id: &str) -> BisectReport {
    let mut merge = place('5', &['6'], -3.0, Ending::Named);
    merge.commits[0].is_merge = true;
    let inside = Outcome::Changed {
        change: change(-3.0),
        places: vec![place('a', &['b', 'c'], -3.0, Ending::Spread)],
        unexplained: change(0.0),
    };
    merge.merged = Some(Merged::Searched(Box::new(line(vec![searched(id, inside)]))));
    let changed = Outcome::Changed {
        change: change(2.0),
        places: vec![place('1', &['2'], 5.0, Ending::Named), merge],
        unexplained: change(1.5),
    };
    let mut same = searched("f", Outcome::Unaffected);
    same.same.push(CommitRange { after: version("x", '1'), until: version("y", '3') });
    let mut all = line(vec![
        searched(id, changed),
        searched("b", Outcome::Unchanged { change: change(0.1) }),
        searched("c", Outcome::Inconclusive { change: change(1.1) }),
        searched(
            "d",
            Outcome::NotComparable { version: version("v1.0", '0'), reason: "no\nGPU".to_owned() },
        ),
        searched("e", Outcome::NotCompared),
        same,
    ]);
    all.forks = true;
    all.added.push(benchmark("new"));
    let reason = "cannot compile".to_owned();
    all.skipped.push(Skipped {
        version: version("4444444", '4'),
        benchmarks: vec![benchmark(id)],
        reason,
    });
    BisectReport { stopped: true, stored: 2, ..report(all) }
}

#[test]
fn named_commit_has_its_change_and_a_check_command() {
    let places = vec![place('1', &['2'], 5.0, Ending::Named)];
    let outcome = Outcome::Changed { change: change(5.1), places, unexplained: change(0.1) };
    let text = style::plain(&report(line(vec![searched("parse/1", outcome)])).text(100));
    assert_eq!(
        text,
        "v1.0..HEAD: 9 commits from v1.0 (0000000) to 9999999\n\
         \n\
         parse/1: +5.10 % (+4.90 .. +5.30), by 1 commit; 9 comparisons\n  \
         2222222 2023-11-14 Parse faster\n    \
         +5.00 % (+4.80 .. +5.20): measured because it cannot be traced\n    \
         check it with: cargo rbench compare 2222222~1 2222222 --filter parse/1 --exact --all-features\n\
         \n\
         1 changed; 9 comparisons measured\n"
    );
}

#[test]
fn unnarrowed_place_lists_its_commits_and_the_reason() {
    let shown = |commits: &[char], ending| {
        let places = vec![place('1', commits, 5.0, ending)];
        let outcome = Outcome::Changed { change: change(5.0), places, unexplained: change(0.0) };
        style::plain(&report(line(vec![searched("a", outcome)])).text(100))
    };
    let text = shown(&['2', '3'], Ending::NotComparable);
    assert!(text.contains("one of 2 commits: those between cannot be compared"), "{text}");
    assert!(text.contains("1 place not narrowed to one"), "{text}");
    assert!(text.contains("compare 1111111 3333333 "), "{text}");
    assert!(shown(&['2', '3'], Ending::Spread).contains("neither half alone"));
    assert!(shown(&['2'], Ending::NotShown).contains("perhaps in 1 commit"));
    let many: Vec<char> = "23456789abcdef".chars().collect();
    let text = shown(&many, Ending::Stopped);
    assert!(
        text.contains("the search was stopped here") && text.contains("… 8 commits …"),
        "{text}"
    );
}

#[test]
fn report_lists_all_outcomes_and_skips() {
    let text = style::plain(&full("parse/1").text(300));
    for part in [
        "the start of the range is not on this line",
        "only in 9999999, not searched: new",
        "4444444 was skipped for parse/1: cannot compile",
        "left unexplained: +1.50 %",
        "d: cannot be compared in v1.0 (0000000): no\n",
        "from 1111111 to 3333333 it executes and reads nothing that differs",
        "6666666 2023-11-14 (merge) Parse faster",
        "of the commits that it merged, 9 commits from",
        "9 comparisons measured, 2 taken from the store",
        "the same command continues from here",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let markdown = full("parse/1").markdown();
    assert!(markdown.contains("- **+5.00 % (+4.80 .. +5.20)**: measured because"), "{markdown}");
}

#[test]
fn bisect_report_is_harmless_and_keeps_its_schema() {
    assert_harmless(&full(HOSTILE));
    assert_keeps("bisect", &full(HOSTILE));
    assert_eq!(full("a").exit(), Exit::Benchmark);
    assert_eq!(report(line(Vec::new())).exit(), Exit::Success);
}
