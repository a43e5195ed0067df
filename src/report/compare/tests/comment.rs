//! Comments on pull requests have room for everything, and contain nothing else.

use super::*;

#[test]
fn comment_fits_a_thousand_benchmarks_of_any_name() {
    let unchanged = decided_row("", 240.8, &[1.0], 0.02, 0.003);
    let regressed = decided_row("", 812.0, &[1.4, 1.38], 0.01, 0.01);
    for (part, decided) in [("`|<b>\n", &regressed), ("plain", &regressed), ("a`b``c", &unchanged)]
    {
        let mut report = report();
        for index in 0..1000 {
            let benchmark = benchmark(&format!("{}{index}", part.repeat(60)));
            report
                .outcome
                .rows
                .push(DecidedRow { benchmark: benchmark.clone(), ..decided.clone() });
            let reason = format!("{}\n{}", part.repeat(90), "````\n".repeat(90));
            report.outcome.rows.push(failed(&format!("bad{index}"), reason));
            report.outcome.added.push(benchmark);
            let reason = part.repeat(90);
            report.outcome.warnings.push(Warning::FunctionsUnknown { reason });
        }
        let markdown = report.markdown();
        assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
        assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
        assert!(markdown.contains("more rows") && markdown.contains("more entries"));
    }
}

#[test]
fn comment_fits_every_part_at_its_longest() {
    let id = |index: usize| format!("{}{index}", "long".repeat(25));
    let [unchanged, regressed] = [
        decided_row("", 240.8, &[1.0], 0.02, 0.003),
        decided_row("", 812.0, &[1.4, 1.38], 0.01, 0.01),
    ];
    let skipped = Verdict::Skipped { reason: "no GPU".to_owned() };
    let obstacles = [
        InterleavingUnavailable::NoLibrary,
        InterleavingUnavailable::ChildProcesses,
        InterleavingUnavailable::OtherClock,
    ];
    let mut report = report();
    for index in 0..1000 {
        let benchmark = benchmark(&id(index));
        let interleaving = Some(Interleaving {
            mode: Mode::Sequential,
            threads: Threads::Together,
            unavailable: obstacles.get(index % obstacles.len()).cloned(),
            alone: None,
        });
        report.outcome.rows.extend([
            DecidedRow { benchmark: benchmark.clone(), interleaving, ..unchanged.clone() },
            DecidedRow { benchmark: benchmark.clone(), ..regressed.clone() },
            DecidedRow::without_metric(&benchmark, skipped.clone()),
            identical(&id(index)),
            DecidedRow::without_metric(&benchmark, Verdict::Unaffected),
            failed(&id(index), "`".repeat(1000)),
        ]);
        report.outcome.added.push(benchmark.clone());
        report.outcome.removed.push(removed(benchmark));
        report.outcome.warnings.push(Warning::FunctionsUnknown { reason: id(index) });
    }
    report.outcome.functions[0].1.changed[0].name = Name::demangle(&"<&>".repeat(500));
    for (what, detectable) in [
        (Repetition::Builds, 0.0099),
        (Repetition::Builds, 0.2),
        (Repetition::Executions, 0.0099),
        (Repetition::Executions, 0.2),
    ] {
        report.outcome.rows.push(inconclusive(&id(2000), what, 30, detectable));
    }
    report.command_line =
        given(&format!("compare main HEAD --manifest-path {}", "path/".repeat(240)));
    report.outcome.idle = vec![idle(&id(0)).remove(0); 20];
    assert_eq!(report.next_steps().len(), 8);
    let markdown = report.markdown();
    assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
    for (kind, least) in [("next steps", 1), ("more rows", 2), ("more entries", 1)] {
        assert!(markdown.matches(kind).count() >= least, "{kind}");
    }
}

#[test]
fn line_break_in_an_id_adds_no_command_line() {
    let rows = vec![decided_row("a\nb", 812.0, &[1.4, 1.38], 0.01, 0.01)];
    let markdown = shown(Outcome { rows, ..nothing() }).markdown();
    let (_, steps) = markdown.split_once("```sh\n").unwrap();
    let (steps, _) = steps.split_once("```").unwrap();
    assert!(steps.contains("a\\nb"), "{steps}");
    for line in steps.lines() {
        assert!(line.starts_with("# ") || line.starts_with("cargo rbench "), "{steps}");
    }
}
