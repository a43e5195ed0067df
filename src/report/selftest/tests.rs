//! The report of `selftest` in each form.

use std::time::SystemTime;

use super::*;
use crate::{
    error::Error,
    model::{Disturbance, FailedTarget},
    report::{
        PLAIN_COLUMNS, style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, machine, target, version},
    },
    verdict::{
        VerdictKind,
        fitness::{FirstStage, Fitness, Observed, Pair},
    },
};

/// The result of a mode whose rows have these p values.
fn mode_result(mode: Mode, ids: &[&str], p_values: &[f64], reported: VerdictKind) -> ModeResult {
    let row = |(repetition, p): (usize, &f64), id: &str| {
        let pair = |at: u32| {
            let noise = [0.4, -1.0, 0.9, -0.3][at as usize % 4];
            Pair {
                started: SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(at)),
                is_head_second: at.is_multiple_of(3),
                log_ratio: 0.004 * noise,
            }
        };
        let first = FirstStage {
            p: *p,
            is_flagged: *p < 0.05,
            deviation: 0.004,
            min_effect: 0.01,
            mode,
            pairs: (0..20).map(pair).collect(),
        };
        Observed { benchmark: benchmark(id), repetition, reported, first: Some(first) }
    };
    let rows: Vec<Observed> =
        ids.iter().flat_map(|id| p_values.iter().enumerate().map(move |p| row(p, id))).collect();
    ModeResult {
        mode,
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 10,
            executions: 2,
            measurements: 50,
        },
        duration: Duration::from_secs(75),
        fitness: Fitness::evaluate(&rows, p_values.len(), 0.05),
    }
}

const USUAL: [f64; 8] = [0.03, 0.2, 0.35, 0.41, 0.55, 0.68, 0.82, 0.97];
const SMALL: [f64; 8] = [0.001, 0.002, 0.01, 0.02, 0.03, 0.04, 0.04, 0.3];

fn report(ids: &[&str], p_values: &[f64], reported: VerdictKind) -> SelftestReport {
    let modes = [Mode::Interleaved, Mode::Sequential];
    SelftestReport {
        version: version("HEAD", 'a'),
        machine: machine(),
        criteria: Criteria::default(),
        repetitions: p_values.len(),
        benchmarks: ids.iter().map(|id| benchmark(id)).collect(),
        left_out: Vec::new(),
        same_programs: Vec::new(),
        modes: modes.map(|one| mode_result(one, ids, p_values, reported)).to_vec(),
        warnings: Vec::new(),
        failed_targets: Vec::new(),
    }
}

fn text(report: &SelftestReport) -> String {
    style::plain(&report.text(PLAIN_COLUMNS))
}

#[test]
fn fit_machine_is_reported_with_its_rate() {
    let report = report(&["parse", "print"], &USUAL, VerdictKind::Unchanged);
    insta::assert_snapshot!(text(&report));
    assert_eq!(report.exit(), Exit::Success);
}

#[test]
fn unfit_machine_is_reported_with_reasons_and_advice() {
    let mut report = report(&["parse", "print"], &SMALL, VerdictKind::Regressed);
    report.warnings = vec![Warning::Disturbance(Disturbance::Others { share: 0.4 })];
    report.machine.cores = 1;
    report.left_out = vec![benchmark("moved")];
    report.same_programs = vec![target("other")];
    insta::assert_snapshot!(text(&report));
    assert_eq!(report.exit(), Exit::Regression);
}

#[test]
fn markdown_has_both_modes_side_by_side() {
    let report = report(&["parse", "print"], &USUAL, VerdictKind::Unchanged);
    insta::assert_snapshot!(report.markdown());
    assert_keeps("selftest", &report);
}

#[test]
fn noisy_machine_gets_advice() {
    let report = report(&["parse"], &USUAL, VerdictKind::Inconclusive);
    let text = text(&report);
    for part in [
        "interleaved: reliable, based on only 8 rows.",
        "It is noisy: only 0 of 8 rows were shown to be unchanged at 1 %",
    ] {
        assert!(text.replace("\n  ", " ").contains(part), "{text}");
    }
}

#[test]
fn selftest_report_is_harmless_and_keeps_its_schema() {
    let mut report = report(&[HOSTILE], &SMALL, VerdictKind::Inconclusive);
    report.left_out = vec![benchmark(HOSTILE)];
    report.failed_targets =
        vec![FailedTarget { target: target("other"), error: Error::new(Exit::Benchmark, HOSTILE) }];
    assert_harmless(&report);
    assert_keeps("selftest", &report);
}
