//! The geometric mean of all changes, and its interval.

use rbench_stats::{AlphaSpending, Assessment, Pairing};

use super::*;

fn means(rows: Vec<DecidedRow>) -> Vec<GeometricMean> {
    shown(Outcome { rows, ..nothing() }).geometric_means()
}

fn only_mean(rows: Vec<DecidedRow>) -> GeometricMean {
    let [mean] = <[_; 1]>::try_from(means(rows)).unwrap();
    mean
}

fn lines(rows: Vec<DecidedRow>) -> Vec<String> {
    shown(Outcome { rows, ..nothing() }).mean_texts().collect()
}

fn unaffected(id: &str) -> DecidedRow {
    DecidedRow::without_metric(&benchmark(id), Verdict::Unaffected)
}

fn slower(id: &str) -> DecidedRow {
    decided_row(id, 812.0, &[1.4, 1.38], 0.01, 0.01)
}

#[track_caller]
fn assert_near(values: [f64; 3], expected: [f64; 3]) {
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12, "{values:?} {expected:?}");
    }
}

fn logs(mean: &GeometricMean) -> [f64; 3] {
    [mean.change, mean.low, mean.high].map(f64::ln_1p)
}

#[test]
fn interval_of_correlated_benchmarks_is_that_of_each() {
    let row = slower("a");
    let change = row.decisive().unwrap().assessment.change;
    let mean = only_mean(vec![row, slower("b"), slower("c")]);
    assert_near([mean.change, mean.low, mean.high], [change.estimate, change.low, change.high]);
    assert_eq!(mean.benchmarks, 3);
}

#[test]
fn unchanged_benchmark_counts_with_zero() {
    let one = only_mean(vec![slower("a")]);
    let all = only_mean(vec![identical("x"), slower("a"), unaffected("y"), identical("z")]);
    assert_near(logs(&all), logs(&one).map(|log| log / 4.0));
    assert_eq!((one.benchmarks, all.benchmarks), (1, 4));
    let line = &lines(vec![identical("x"), slower("a"), unaffected("y"), identical("z")])[0];
    let said = "overall (geometric mean of 4 benchmarks, 1 unaffected, 2 identical): +";
    assert!(line.starts_with(said), "{line}");
}

#[test]
fn unchanged_benchmark_counts_in_every_metric() {
    let rows = vec![
        identical("x"),
        slower("a"),
        decided_row_in(&memory(), "a", 3.2e6, &[1.02], 0.0, 0.001),
        counted(&Metric::instructions(), "a", 100.0, 121.0),
    ];
    let means = means(rows);
    let of: Vec<_> = means.iter().map(|mean| (&*mean.metric, mean.benchmarks)).collect();
    assert_eq!(of, [("instructions", 2), ("peak-memory", 2), ("wall", 2)]);
    assert!((means[0].change - 0.1).abs() < 1e-12, "{means:?}");
}

#[test]
fn interval_is_at_95_percent_for_every_interim_analysis() {
    let mut row = slower("a");
    let expected = logs(&only_mean(vec![row.clone()]));
    let criteria = Criteria::default();
    let stage = row.stages.last_mut().unwrap();
    let [base, head] = &stage.summaries;
    // The second of five interim analyses has a wider interval than fresh builds.
    let rates = AlphaSpending::at_analysis(&criteria, 1, 5);
    let before = stage.assessment.change;
    stage.assessment =
        Assessment::from_summaries(rates, base, head, Pairing::BySeed, &criteria).unwrap();
    assert!(stage.assessment.change.high > before.high);
    assert_near(logs(&only_mean(vec![row])), expected);
}

#[test]
fn mean_of_counts_has_a_range() {
    let metric = Metric::allocations();
    let summary = |counts: [f64; 2]| {
        let builds = (1..).zip(counts).map(|(seed, count)| (seed, [[count]]));
        Summary::compute(&Measurements::new(metric.clone(), builds).unwrap(), Estimator::Mean)
    };
    let varying = |id: &str, head: [f64; 2]| {
        let summaries = [[100.0; 2], head].map(summary);
        let criteria = Criteria::default().for_metric(&metric);
        let (assessment, verdict) =
            rbench_stats::decide_counts(&summaries[0], &summaries[1], &criteria).unwrap();
        DecidedRow {
            metric: Some(metric.clone()),
            stages: vec![crate::verdict::DecidedStage { summaries, assessment }],
            ..DecidedRow::without_metric(&benchmark(id), verdict.into())
        }
    };
    let mean = only_mean(vec![varying("a", [110.0, 121.0]), identical("b")]);
    assert_near(logs(&mean), [1.155_f64, 1.1, 1.21].map(|factor| factor.ln() / 2.0));
    let line = "overall in allocations (geometric mean of 2 benchmarks, 1 identical): +7.47 % (range +4.88 to +10.00)";
    assert_eq!(lines(vec![varying("a", [110.0, 121.0]), identical("b")]), [line]);
    let line = "overall in allocations (geometric mean of 2 benchmarks, 1 identical): +4.88 %";
    assert_eq!(lines(vec![varying("a", [110.0; 2]), identical("b")]), [line]);
}

#[test]
fn mean_needs_values_and_two_benchmarks() {
    assert_eq!(lines(vec![identical("a"), unaffected("b")]), [""; 0]);
    assert_eq!(lines(vec![slower("a")]), [""; 0]);
    let from_nothing = counted(&Metric::allocations(), "a", 0.0, 3.0);
    assert_eq!(lines(vec![from_nothing, identical("b"), identical("c")]), [""; 0]);
    assert_eq!(lines(vec![slower("a"), unaffected("b")]).len(), 1);
}

#[test]
fn mean_excludes_rows_without_a_final_verdict() {
    let reason = || "fresh builds took other numbers of measurements".to_owned();
    let refused = Verdict::NotComparable { reason: reason() };
    let skipped = Verdict::Skipped { reason: reason() };
    for verdict in [refused, skipped, Verdict::Failed { reason: reason() }] {
        let left_out = DecidedRow { verdict, ..slower("print") };
        assert_eq!(lines(vec![slower("parse"), left_out]), [""; 0]);
    }
}

#[test]
fn mean_is_a_sentence_in_every_format() {
    let report = report();
    let markdown = report.markdown();
    let wall = "verall (geometric mean of 9 benchmarks, 3 identical): +3.25 % (95 % CI ";
    assert!(markdown.contains(&format!(" missing in the head. O{wall}")), "{markdown}");
    assert!(markdown.contains(
        "). Overall in peak-memory (geometric mean of 4 benchmarks, 3 identical): +0.00 % (95 % CI"
    ));
    assert!(style::plain(&report.text(100)).contains(&format!("\no{wall}")));
    assert!(report.html().unwrap().contains(&format!("<p>O{wall}")));
}
