//! Notes on many benchmarks at once.

use rbench_stats::{Change, Evidence, InconclusiveReason};

use super::*;

/// A benchmark of which only the slower measurements changed.
pub fn slower_changed(name: &str, value: f64) -> DecidedRow {
    let mut row = decided_row(name, value, &[1.0], 0.01, 0.002);
    let change = row.stages[0].assessment.change;
    let by_mean = Change { estimate: 0.14, low: 0.12, high: 0.16 };
    let reason = InconclusiveReason::MeanChanged { by_mean };
    row.verdict = Verdict::Inconclusive { change, detectable: None, reason };
    row
}

#[test]
fn ground_notes_group_benchmarks_by_evidence() {
    let shown_by = |id: &str, change: f64, basis: Evidence| {
        let mut row = decided_row(id, 812.0, &[change, change], 0.01, 0.01);
        let (Verdict::Regressed { evidence: own, .. } | Verdict::Improved { evidence: own, .. }) =
            &mut row.verdict
        else {
            panic!("{row:?}")
        };
        *own = basis;
        row
    };
    let confirmed = |p| Evidence::Confirmed { p, needed: 0.05 };
    let rows = vec![
        shown_by("a", 1.4, confirmed(1e-6)),
        shown_by("b", 0.5, confirmed(1e-3)),
        shown_by("c", 1.3, Evidence::Confirmed { p: 1e-6, needed: 0.04 }),
        shown_by("d", 1.2, Evidence::OneStage),
        shown_by("e", 1.2, Evidence::OneStage),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    let notes = [
        "confirmed by 10 fresh builds: a, b (largest p 0.001, threshold 0.050)\n",
        "confirmed by 10 fresh builds: c (p 1e-6, threshold 0.040)\n",
        "not checked by fresh builds: d, e\n",
    ];
    for text in [style::plain(&report.text(120)), report.markdown()] {
        for note in notes {
            assert!(text.contains(note), "{text}");
        }
        assert!(!text.contains(": regressed:") && !text.contains(": improved:"), "{text}");
    }
}

#[test]
fn deciding_estimate_is_named_in_every_format() {
    let with_mean = |id: &str, estimate: f64, decides: bool| {
        let change = Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
        let by_mean = Some(ByMean { change, primary: decides });
        DecidedRow { by_mean, ..decided_row(id, 812.0, &[1.2, 1.2], 0.01, 0.01) }
    };
    let rows = vec![
        with_mean("decided", 0.2, true),
        with_mean("differs", 0.26, false),
        with_mean("same", 0.2, false),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    let notes = [
        "not all measurements changed alike, so the change is that of their mean: decided\n",
        "change by the mean of all measurements: differs (+26.00 % ",
    ];
    let detailed = report.clone().explaining_all(true).text(120);
    for text in [style::plain(&detailed), report.markdown()] {
        for note in notes {
            assert!(text.contains(note), "{text}");
        }
    }
    let page = report.html().unwrap();
    let sentences = [
        "; not all measurements changed alike, so the change is that of their mean",
        "; by the mean of all measurements +26.00 % ",
    ];
    for sentence in sentences {
        assert_eq!(page.matches(sentence).count(), 1, "{sentence}");
    }
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let decides = [0, 1, 2].map(|row| json["benchmarks"][row]["by_mean"]["primary"].as_bool());
    assert_eq!(decides, [Some(true), Some(false), Some(false)]);
    assert_eq!(json["benchmarks"][1]["by_mean"]["estimate"], 0.26);
}

#[test]
fn words_after_a_long_name_are_whole() {
    let id = "map/get_with_a_guard_for_every_iteration/of_two_threads_that_share_a_pool/2";
    let change = Change { estimate: -0.26, low: -0.27, high: -0.25 };
    let by_mean = Some(ByMean { change, primary: false });
    let row = DecidedRow { by_mean, ..decided_row(id, 812.0, &[1.2, 1.2], 0.01, 0.01) };
    let report = shown(Outcome { rows: vec![row], ..nothing() });
    let text = style::plain(&report.explaining_all(true).text(200));
    assert!(
        text.contains("…wo_threads_that_share_a_pool/2 (-26.00 % (-27.00 % to -25.00 %))"),
        "{text}"
    );
}

#[test]
fn different_work_is_named_in_every_format() {
    let worked = |id: &str, work: [Throughput; 2]| DecidedRow {
        work: Some(work),
        ..decided_row(id, 812.0, &[1.4, 1.38], 0.01, 0.01)
    };
    let bytes = [16_274, 17_671].map(Throughput::Bytes);
    // The same benchmark in another metric.
    let rows = vec![worked("parse", bytes), worked("parse", bytes)];
    let report = shown(Outcome { rows, ..nothing() });
    let words = "parse processes 17671 instead of 16274 bytes per iteration (+8.58 %): not the \
                 same work";
    let text = style::plain(&report.text(200));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
    assert!(at(&format!("warning: {words}\n")) < at("\nbenchmark"), "{text}");
    assert!(text.contains("regressed") && !text.contains("rbench accept"), "{text}");
    assert!(report.markdown().contains(&format!("> **Warning:** {words}\n")));
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let work = serde_json::json!([{ "bytes": 16_274 }, { "bytes": 17_671 }]);
    let benchmarks = serde_json::json!([{ "name": "parse", "work": work }]);
    let expected = serde_json::json!([
        { "kind": "different_work", "benchmarks": benchmarks, "text": words },
    ]);
    assert_eq!(json["warnings"], expected);

    let rows = (0..5).map(|index| worked(&format!("b{index}"), bytes)).collect();
    let text = style::plain(&shown(Outcome { rows, ..nothing() }).text(1000));
    assert!(text.contains("warning: 5 benchmarks do not do the same work: b0 processes"), "{text}");
    assert!(
        text.contains("b2 processes 17671 instead of 16274 bytes per iteration (+8.58 %) and 2")
    );
}

#[test]
fn too_small_change_has_a_note() {
    let row = decided_row("numbers/float", 240.8, &[1.004], 0.02, 0.003);
    assert!(matches!(row.verdict, Verdict::Unchanged { .. }));
    let report = shown(Outcome { rows: vec![row], ..nothing() });
    let line = "- unchanged: changed by less than the min-effect: numbers/float (+0.40 %)\n";
    assert!(report.markdown().contains(line), "{}", report.markdown());
    assert!(report.json().unwrap().contains("\"kind\": \"one_stage\""));
    let confirmed = decided_row("numbers/float", 240.8, &[1.02, 1.004], 0.02, 0.003);
    let report = shown(Outcome { rows: vec![confirmed], ..nothing() });
    assert!(report.markdown().contains("numbers/float (+0.40 %, confirmed)"));
}

#[test]
fn power_note_needs_the_power_of_every_benchmark() {
    let open = |id| inconclusive(id, Repetition::Builds, 30, 0.0099);
    let mut unknown = open("b");
    let Verdict::Inconclusive { detectable, .. } = &mut unknown.verdict else { panic!("decided") };
    *detectable = None;
    let note = |rows: Vec<DecidedRow>| shown(Outcome { rows, ..nothing() }).inconclusive_note();
    assert!(note(vec![open("a")]).unwrap().contains("; only changes above "));
    assert_eq!(note(vec![open("a"), unknown]).unwrap(), "2 are too noisy to decide");
}

#[test]
fn times_that_decide_whole_programs_are_named_with_the_reason() {
    let row = |id: &str, metric: Metric, mode, unavailable| DecidedRow {
        metric: Some(metric),
        ..interleaved(id, mode, unavailable)
    };
    let (at_once, alone) = (Mode::Interleaved, Mode::Sequential);
    let [threads, waits] =
        [InterleavingUnavailable::Parallel, InterleavingUnavailable::Waits].map(Some);
    let memory = || "peak-memory".parse::<Metric>().unwrap();
    let rows = vec![
        row("tool", Metric::cpu(), at_once, None),
        row("tool", memory(), at_once, None),
        row("other tool", Metric::cpu(), at_once, None),
        row("sleeper", Metric::wall(), alone, waits.clone()),
        row("sleeper", memory(), alone, waits.clone()),
        row("parallel", Metric::wall(), alone, threads.clone()),
        row("parallel", Metric::cpu(), alone, threads.clone()),
        row("loop", Metric::wall(), alone, threads.clone()),
        // The user asked for nothing else.
        row("large", memory(), alone, waits.clone()),
        row("as requested", Metric::cpu(), alone, None),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    insta::assert_snapshot!(report.interleaving_notes().join("\n"), @r"
    compared by CPU time, both versions at once on one CPU, because it computes alone; its waiting, at most 5 % of the time, is not compared: tool, other tool
    measured sequentially and decided by wall time, because it waits for more than 5 % of its run time: sleeper
    measured sequentially, because it waits for more than 5 % of its run time: large
    measured sequentially and decided by wall time and CPU time, because its threads compute at the same time: parallel
    measured sequentially, because its threads compute at the same time: loop
    ");
}

#[test]
fn sequential_benchmarks_are_grouped_by_reason() {
    let alone = |id: &str, reason| interleaved(id, Mode::Sequential, reason);
    let (children, program) = (
        Some(InterleavingUnavailable::ChildProcesses),
        Some(InterleavingUnavailable::UnknownProgram),
    );
    let rows = vec![
        interleaved("in/turns", Mode::Interleaved, None),
        alone("pool", children.clone()),
        alone("not asked", None),
        alone("a|b", children.clone()),
        // The same benchmark in another metric.
        alone("pool", children.clone()),
        alone("tool", program.clone()),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    let text = style::plain(&report.text(200));
    let head = "measured sequentially, because";
    let of_program = format!("{head} it is unknown what the program does: tool\n");
    let of_children = format!("{head} it has child processes that work: pool, a|b\n");
    assert!(text.contains(&(of_program + &of_children)), "{text}");
    let markdown = report.markdown();
    let entry =
        "\n- measured sequentially, because it has child processes that work: pool, a\\|b\n";
    assert!(markdown.contains(entry), "{markdown}");
    assert_eq!(markdown.matches("measured sequentially").count(), 2);

    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let measured = |index: usize| {
        ["mode", "interleaving_unavailable"].map(|key| json["benchmarks"][index][key].clone())
    };
    assert_eq!(measured(1), ["sequential", "child_processes"]);
    assert_eq!(measured(0), ["interleaved".into(), serde_json::Value::Null]);
}

#[test]
fn interleaving_note_needs_a_failed_request() {
    for mode in [Mode::Interleaved, Mode::Sequential] {
        let rows = ["a", "b"].map(|id| interleaved(id, mode, None));
        let report = shown(Outcome { rows: rows.into(), ..nothing() });
        assert!(!plain(&report).contains("interleaved"), "{}", plain(&report));
        assert!(!report.markdown().contains("interleaved"));
    }
}

#[test]
fn benchmarks_slower_interleaved_than_alone_are_named() {
    let with = |id: &str, times_alone| {
        let row = interleaved(id, Mode::Interleaved, None);
        let interleaving = row.interleaving.map(|all| Interleaving { times_alone, ..all });
        DecidedRow { interleaving, ..row }
    };
    let rows = vec![with("pool", Some(1.5)), with("loop", None)];
    let report = shown(Outcome { rows, ..nothing() });
    let notes = report.interleaving_notes();
    assert_eq!(
        notes,
        ["slower interleaved than alone, in the mean of both versions: pool (1.5 times)"]
    );
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let times = [0, 1].map(|index| json["benchmarks"][index]["times_alone"].clone());
    assert_eq!(times, [1.5.into(), serde_json::Value::Null]);
}

#[test]
fn verdicts_are_all_explained_on_request() {
    let mut report = report();
    assert!(!plain(&report).contains("numbers/decimal: unchanged"));
    report.explains_all = true;
    let text = plain(&report);
    for part in ["numbers/decimal: unchanged: +0.00 %", "split: inconclusive: +0.40 %"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn unconfirmed_differs_from_missing_fresh_builds() {
    let rows = vec![
        decided_row("open", 812.0, &[1.04], 0.01, 0.002),
        decided_row("weak", 812.0, &[1.04, 1.02], 0.01, 0.04),
        slower_changed("slower", 812.0),
    ];
    let text = style::plain(&shown(Outcome { rows, ..nothing() }).text(400));
    for note in [
        "seems changed, but no fresh builds checked it: open",
        "seemed changed, but fresh builds do not confirm it: weak",
        "changed only in the mean of all measurements; more builds may confirm it: slower",
    ] {
        assert!(text.contains(note), "{text}");
    }
}

#[test]
fn report_says_whether_code_ran_in_the_sandbox() {
    let with = |sandbox| {
        let rows = vec![decided_row("a", 812.0, &[1.0], 0.01, 0.002)];
        let report = shown(Outcome { sandbox, rows, ..nothing() });
        (style::plain(&report.text(400)), report)
    };
    let on = SandboxState::On { landlock: 7, own_process_ids: true };
    let off = SandboxState::Off { reason: SandboxOff::Requested };
    for (state, line) in [
        (
            on,
            "ran in the sandbox, which closes secrets of the environment and of the home directory: \
             Landlock 7, own process ids for compilations and set-ups",
        ),
        (off, "ran outside of the sandbox: --no-sandbox"),
    ] {
        let (text, report) = with(Some(state));
        for report in [&text, &report.markdown(), &report.html().unwrap()] {
            assert!(report.contains(&format!("code of the commits {line}")), "{report}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&with(Some(on)).1.json().unwrap()).unwrap();
    let expected = serde_json::json!({ "state": "on", "landlock": 7, "own_process_ids": true });
    assert_eq!(json["sandbox"], expected);
    let (text, report) = with(None);
    assert!(!text.contains("sandbox") && !report.json().unwrap().contains("sandbox"), "{text}");
}

#[test]
fn failure_has_its_versions() {
    use UnmeasuredIn::{Base, Both, Head};
    let said = |place| {
        let row = DecidedRow { unmeasured_in: place, ..failed("broken", "cannot\n  it crashed") };
        let report = shown(Outcome { rows: vec![row], ..nothing() });
        let lines = |text: String| {
            let is_meant = |line: &&str| line.contains("it crashed");
            text.lines().find(is_meant).unwrap_or_default().to_owned()
        };
        let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
        let version = json["benchmarks"][0]["reason"]["version"].clone();
        (lines(plain(&report)), report.markdown().contains("failed in both"), version)
    };
    assert_eq!(
        said(Some(Base)),
        ("broken: failed in base: it crashed".to_owned(), false, "base".into())
    );
    assert_eq!(
        said(Some(Head)),
        ("broken: failed in head: it crashed".to_owned(), false, "head".into())
    );
    assert_eq!(
        said(Some(Both)),
        ("broken: failed in both: it crashed".to_owned(), true, "both".into())
    );
}
