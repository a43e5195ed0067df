//! The history as people see it, at two widths.

use std::time::{Duration, SystemTime};

use super::*;
use crate::{
    model::{Name, Part},
    report::style,
    stats::{Criteria, Estimator, Judged, Judgement, Measurements, Pairing, Verdict},
};

fn version(commit: &str, summary: &str, dirty: bool) -> Version {
    Version {
        revision: commit.to_owned(),
        commit: Some(commit.repeat(6)),
        tree: format!("{commit}tree"),
        dirty,
        summary: summary.to_owned(),
        time: Some(1_700_000_000),
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "Example 9000".to_owned(),
        cores: 2,
        memory: 1 << 33,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: "0123".to_owned(),
    }
}

/// Six builds about a value.
fn data(value: f64) -> Measurements {
    let noise = [0.0, 0.002, -0.001, 0.001, -0.002, 0.0005];
    let builds = (0..).zip(noise.map(|noise| [[value * (1.0 + noise)]]));
    Measurements::new(Metric::wall(), builds).unwrap()
}

fn parts() -> [Part; 2] {
    [Part { experiment: 0, version: 0 }, Part { experiment: 1, version: 0 }]
}

/// Five versions: one that is gone, a slower one, an uncommitted one, one that failed, and one that
/// cannot be compared.
fn history(id: &str) -> BenchmarkHistory {
    let criteria = Criteria { confirm: false, ..Criteria::default() };
    let judged = |base: f64, head: f64| {
        let stage = Judged::of([&data(base), &data(head)], Pairing::BySeed, &criteria);
        Judgement::by_stages(&stage, None, 1, &criteria)
    };
    let failed = Verdict::Failed { reason: "it ended with exit code 101".to_owned() };
    let refused = Verdict::NotComparable { reason: "measured in two experiments".to_owned() };
    let together = Relation::Together(parts());
    let rows = [
        (version("gone111", "Begin", false), Some(4000.0), None, &together),
        (
            version("aaaa222", "Parse every word of a line twice, for good measure", false),
            Some(4400.0),
            Some(judged(4000.0, 4400.0)),
            &together,
        ),
        (
            version("aaaa222", "Parse every word of a line twice, for good measure", true),
            Some(4401.0),
            Some(judged(4400.0, 4401.0)),
            &Relation::Apart(parts()),
        ),
        (version("bbbb333", "Break it", false), None, Some(Judgement::of(failed)), &together),
        (
            version("cccc444", "Repair it", false),
            Some(4000.0),
            Some(Judgement::of(refused)),
            &Relation::Apart(parts()),
        ),
    ];
    let benchmark = Benchmark {
        package: "json-tools".to_owned(),
        target: "parse".to_owned(),
        name: Name::plain(id),
    };
    let mut history = BenchmarkHistory::new(&benchmark, &Metric::wall());
    let machine = machine();
    for (index, (version, value, judgement, relation)) in rows.iter().enumerate() {
        let base = match index {
            0 => None,
            1 => Some(0),
            _ => Some(1),
        };
        history.add(&HistoryRow {
            version,
            known: index > 0,
            measured: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            machine: &machine,
            toolchain: "rustc 1.90.0\nhost: x86_64",
            summary: value.map(|value| Summary::of(&data(value), Estimator::Mean)),
            failure: None,
            confidence: 0.95,
            alike: true,
            against: base.map(|base: usize| &rows[base].0),
            relation: Some(relation),
            judgement: judgement.as_ref(),
        });
    }
    let variance = SessionVariance { mean_square: 3e-5, noise: 5e-6, freedom: 3.2, repeats: 4 };
    history.sessions(Some(variance));
    history
}

fn report(overview: bool) -> HistoryReport {
    let mut report = HistoryReport::new(overview, 3, 1);
    report.add(history("words/1024"));
    if overview {
        report.add(history("lines/1024"));
    }
    report
}

#[test]
fn every_version_of_a_benchmark_is_a_row() {
    insta::assert_snapshot!("table_140", style::plain(&report(false).text(140)));
    insta::assert_snapshot!("table_80", style::plain(&report(false).text(80)));
}

#[test]
fn an_overview_has_a_row_for_each_benchmark() {
    insta::assert_snapshot!("overview_80", style::plain(&report(true).text(80)));
}

#[test]
fn markdown_is_a_table_for_each_benchmark() {
    insta::assert_snapshot!("markdown", report(false).markdown());
}

#[test]
fn verdicts_have_their_colours() {
    let text = report(false).text(140);
    assert!(text.contains(&style::paint(style::BAD, "regressed")), "{text}");
}

#[test]
fn benchmarks_of_one_name_are_told_apart_by_their_place() {
    let mut report = report(true);
    report.add(BenchmarkHistory { package: "other".to_owned(), ..history("words/1024") });
    let text = style::plain(&report.text(140));
    assert!(text.contains("other parse words/1024"), "{text}");
    assert!(text.contains("json-tools parse words/1024"), "{text}");
}
