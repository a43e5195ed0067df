//! The commands that a comparison suggests.

use rbench_code::impact::EnteredFunction;

use super::*;
use crate::{
    model::{Mode, Threads},
    report::document::Step,
    verdict::{Advice, Interleaving},
};

#[test]
fn warning_suggests_a_comparison_with_the_given_options() {
    let words = "compare main HEAD --stored --filter parse --manifest-path x";
    let warnings = vec![Warning::NotComparableAcrossExperiments { benchmarks: 1 }];
    let outcome = Outcome { warnings, ..nothing() };
    let report = ComparisonReport { command_line: given(words), ..shown(outcome) };
    let text = plain(&report);
    let command = "together: cargo rbench compare main HEAD --filter parse --manifest-path x\n";
    assert!(text.replace("\n  ", " ").contains(command), "{text}");
}

#[test]
fn command_in_a_warning_is_never_wrapped() {
    let warnings = vec![
        Warning::NotComparableAcrossExperiments { benchmarks: 1 },
        Warning::AcrossExperiments { benchmarks: 2 },
    ];
    let command_line = given(
        "compare main HEAD --stored --filter tokens/of_a_whole_file_with_comments \
         --manifest-path a/long/path/to/Cargo.toml",
    );
    let report = ComparisonReport { command_line, ..shown(Outcome { warnings, ..nothing() }) };
    let text = style::plain(&report.text(80));
    let command = "\n  cargo rbench compare main HEAD --filter \
                   tokens/of_a_whole_file_with_comments --manifest-path a/long/path/to/Cargo.toml\n";
    assert_eq!(text.matches(command).count(), 2, "{text}");
    assert!(report.json().unwrap().contains(command.trim()), "{text}");
}

#[test]
fn advice_depends_on_the_min_effect_of_each_benchmark() {
    let mut own = inconclusive("a", Repetition::Builds, 20, 0.029);
    own.stages[0].assessment.min_effect = 0.03;
    let common = inconclusive("b", Repetition::Executions, 30, 0.0099);
    let mut report = shown(Outcome { rows: vec![own, common], ..nothing() });
    let purposes = report.next_steps().into_iter().take(2).map(|step| step.purpose);
    let purpose = |size, id| format!("detect a change of {size} in {id}, with 80 % probability");
    assert_eq!(purposes.collect::<Vec<_>>(), [purpose("2.9 %", "a"), purpose("0.99 %", "b")]);
    let said = "in-effect 1 % (some benchmarks have their own)";
    assert!(plain(&report).replace("\n  ", " ").contains(said), "{}", plain(&report));
    assert!(report.markdown().contains(said), "{}", report.markdown());
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["benchmarks"][0]["min_effect"], 0.03);
    report.outcome.rows.remove(0);
    assert!(!plain(&report).contains("their own"), "{}", plain(&report));
}

#[test]
fn diff_is_not_suggested_for_equal_functions() {
    let same = FunctionDiff { unchanged: 3608, ..FunctionDiff::default() };
    let text = |same| {
        let functions = vec![(target("work"), same)];
        style::plain(&shown(Outcome { functions, ..everything() }).text(160))
    };
    let unread = FunctionDiff { incomplete: true, ..same.clone() };
    let words = "machine code: all 3608 functions that could be read are the same\n";
    assert!(text(unread.clone()).contains(words), "{}", text(unread));
    let text = text(same);
    let words = "machine code: all 3608 functions have the same instructions; their addresses, \
                 constants or shared libraries differ\n";
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("cargo rbench diff"), "{text}");
}

#[test]
fn advice_for_several_benchmarks_suffices_for_each() {
    let mut report = shown(Outcome {
        rows: vec![
            inconclusive("a", Repetition::Builds, 17, 0.0098),
            inconclusive("-b", Repetition::Builds, 30, 0.0099),
            inconclusive("c", Repetition::Executions, 30, 0.2),
            inconclusive("d", Repetition::Executions, 25, 0.1),
        ],
        ..nothing()
    });
    let advised = |report: &ComparisonReport| -> Vec<[String; 2]> {
        let steps = report.next_steps();
        steps.into_iter().take(2).map(|step| [step.purpose, step.command]).collect()
    };
    assert_eq!(
        advised(&report),
        [
            [
                "detect a change of 0.99 % in 2 inconclusive benchmarks, with 80 % probability",
                "cargo rbench compare main HEAD --exact --filter a --filter=-b --builds 30"
            ],
            [
                "detect changes half as small in 2 inconclusive benchmarks",
                "cargo rbench compare main HEAD --exact --filter c --filter d --executions 30 --builds 10"
            ],
        ]
    );
    let more = ["e", "f", "g"].map(|id| inconclusive(id, Repetition::Executions, 20, 0.1));
    report.outcome.rows.extend(more);
    report.command_line = given(
        "compare main HEAD --features simd --filter . -l 10 -m 4 --budget 1min --manifest-path x --format json",
    );
    let advised: Vec<String> = report.next_steps().into_iter().map(|step| step.command).collect();
    assert_eq!(
        advised,
        [
            "cargo rbench compare main HEAD --exact --filter a --filter=-b --builds 30 --features simd \
             --executions 4 --manifest-path x",
            "cargo rbench compare main HEAD --executions 30 --builds 10 --features simd --filter . --manifest-path x",
            "cargo rbench history HEAD --exact --filter a --manifest-path x",
        ]
    );
}

#[test]
fn advice_has_the_time_that_it_takes() {
    let open = |id, what, number| {
        let row = inconclusive(id, what, number, 0.0099);
        let pair_time = Some(Duration::from_secs(2));
        let how = Interleaving {
            mode: Mode::Interleaved,
            threads: Threads::default(),
            unavailable: None,
            times_alone: None,
        };
        let advice = row.advice.map(|advice| Advice { pair_time, ..advice });
        DecidedRow { advice, interleaving: Some(how), ..row }
    };
    // They have ten builds with two executions each.
    let mut outcome = Outcome {
        rows: vec![open("a", Repetition::Builds, 75), open("b", Repetition::Builds, 20)],
        build_times: vec![
            (target("work"), Duration::from_secs(1)),
            (target("other"), Duration::MAX),
        ],
        parallel: Some(1),
        ..nothing()
    };
    let time = |outcome: &Outcome| {
        let purpose = shown(outcome.clone()).next_steps().swap_remove(0).purpose;
        purpose.split_once("; takes ").map(|(_, time)| time.to_owned())
    };
    let twice = |first, second| {
        Some(format!("{first}, and {second} more if fresh builds have to confirm a change"))
    };
    let ten = "about 10 min";
    assert_eq!(time(&outcome), twice(ten, ten), "65 and 75 s for builds, and 600 s");
    outcome.parallel = Some(8);
    assert_eq!(time(&outcome), twice("about 6 min", "about 6 min"), "both at once");
    outcome.rows[0].interleaving = None;
    assert_eq!(time(&outcome), twice(ten, ten), "sequential ones run alone");
    outcome.rows = vec![open("a", Repetition::Executions, 30)];
    outcome.build_times[0].1 = Duration::from_secs(60);
    assert_eq!(time(&outcome), twice(ten, "about 20 min"), "ten builds are linked anew");
    outcome.parallel = None;
    assert_eq!(time(&outcome), None, "it is not known for stored results");
}

#[test]
fn noise_that_builds_do_not_overcome_is_examined_instead() {
    let rows = vec![inconclusive("a", Repetition::Builds, 12, 1.5)];
    let mut report = shown(Outcome { rows, ..nothing() });
    let first = |report: &ComparisonReport| report.next_steps().swap_remove(0).command;
    assert_eq!(first(&report), "cargo rbench diagnose HEAD --exact --filter a");
    report.outcome.add_disturbances([Disturbance::Battery]);
    assert_eq!(first(&report), "cargo rbench doctor");
    assert!(!plain(&report).contains("--builds 12"), "{}", plain(&report));
}

#[test]
fn explain_is_suggested_for_a_slowdown_with_changed_functions() {
    let slower = |id: &str, functions: Vec<EnteredFunction>| {
        let impact = Impact { functions, ..Impact::default() };
        DecidedRow { impact: Some(impact), ..decided_row(id, 100.0, &[1.2, 1.2], 0.01, 0.001) }
    };
    let row = slower("a b", vec![impact::function("f", [Some(8), Some(9)], true)]);
    let step = |report: &ComparisonReport| {
        let mut steps = report.next_steps().into_iter().map(|step| step.command);
        steps.find(|command| command.contains("--explain"))
    };
    let (explainable, rows) = (vec![benchmark("a b")], vec![row.clone()]);
    let report = ComparisonReport {
        command_line: given("compare main HEAD --filter a --features x --metric wall"),
        ..shown(Outcome { rows, explainable, ..nothing() })
    };
    let command = "cargo rbench diff main HEAD --explain 'a b'";
    assert_eq!(step(&report).unwrap(), format!("{command} --features x"));
    let mut namesake = slower("a b", Vec::new());
    namesake.benchmark.target = "other".to_owned();
    let rows = vec![row.clone(), namesake];
    let report = ComparisonReport {
        command_line: given("compare"),
        ..shown(Outcome { rows, ..report.outcome })
    };
    assert_eq!(step(&report).unwrap(), format!("{command} --package parser --bench work"));

    let impact = row.impact.clone();
    let more = DecidedRow { impact, ..counted(&Metric::instructions(), "a b", 100.0, 120.0) };
    let more = |outcome| shown(Outcome { rows: vec![more.clone()], ..outcome });
    let counted = format!("{command} --by instructions");
    assert_eq!(step(&more(report.outcome.clone())), Some(counted));
    let explained = vec![explained_time("a b")];
    for report in [
        more(Outcome { explainable: Vec::new(), ..report.outcome.clone() }),
        shown(Outcome { rows: vec![slower("a b", Vec::new())], ..report.outcome.clone() }),
        shown(Outcome { rows: vec![row], time_explanations: explained, ..report.outcome.clone() }),
    ] {
        assert_eq!(step(&report), None);
    }
}

#[test]
fn next_steps_are_about_the_largest_slowdown_and_accept_it_last() {
    let slower = |id: &str, factor: f64| decided_row(id, 812.0, &[factor, factor], 0.01, 0.001);
    let rows = vec![
        failed("broken", "no table"),
        slower("small", 1.05),
        inconclusive("split", Repetition::Builds, 30, 0.0099),
        slower("large", 1.4),
        decided_row("calm", 240.8, &[1.0], 0.02, 0.003),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    let commands =
        |steps: Vec<Step>| steps.into_iter().map(|step| step.command).collect::<Vec<_>>();
    let all = [
        "cargo rbench exec HEAD broken --exact",
        "cargo rbench diff main HEAD",
        "cargo rbench compare main HEAD --exact --filter split --builds 30",
        "cargo rbench history HEAD --exact --filter large",
        "cargo rbench accept HEAD large --reason WHY",
    ];
    assert_eq!(commands(report.next_steps()), all);
    assert_eq!(commands(report.few_steps()), [all[0], all[1], all[4]]);
    let calm = vec![decided_row("calm", 240.8, &[1.0], 0.02, 0.003)];
    assert_eq!(shown(Outcome { rows: calm, ..nothing() }).next_steps(), []);
}

#[test]
fn accepting_in_a_job_needs_the_entry_in_the_base() {
    let purpose = |base_decides| {
        let rows = vec![decided_row("slower", 812.0, &[1.4, 1.4], 0.01, 0.001)];
        let report = shown(Outcome { base_decides, rows, ..nothing() });
        report.next_steps().pop().unwrap().purpose
    };
    assert_eq!(purpose(false), "accept an intended slowdown of slower");
    assert_eq!(
        purpose(true),
        "accept an intended slowdown of slower; it counts once the base has it: commit it to the target branch, and \
         merge that"
    );
}
