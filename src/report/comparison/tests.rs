//! A report with every verdict in it, as people, pull requests and programs read it.

use super::*;
use crate::{
    code::{ChangedFunction, Name, SizedFunction},
    failure::Failure,
    machine::disturbance::Disturbance,
    model::{self, Metric},
    report::style,
    stats::{Judged, Judgement, Measurements, Pairing, Verdict},
};

fn version(revision: &str, digit: char) -> Version {
    Version {
        revision: revision.to_owned(),
        commit: Some(digit.to_string().repeat(40)),
        tree: digit.to_string().repeat(40),
        dirty: false,
        summary: "Parse faster".to_owned(),
        time: Some(1_700_000_000),
    }
}

fn benchmark(id: &str) -> Benchmark {
    Benchmark {
        package: "parser".to_owned(),
        target: "work".to_owned(),
        name: model::Name::plain(id),
    }
}

/// One version of ten builds of two executions: about `value`, builds apart by `layout` and executions by
/// `noise`, both shares of the value, in an order that `phase` moves.
fn measurements(value: f64, layout: f64, noise: f64, phase: usize) -> Measurements {
    let wave = |at: usize| [0.3, -1.0, 0.8, -0.4, 1.2, -0.9, 0.1, 0.6, -0.7, 0.0][at % 10];
    let builds = (0..10).map(|build| {
        let of_build = value * (1.0 + layout * wave(build));
        let execution = |at: usize| {
            let of_execution = of_build * (1.0 + noise * wave(3 * build + 7 * at + phase));
            [0.998, 1.001, 1.001].map(|step| of_execution * step)
        };
        (build as u64, [execution(0), execution(1)])
    });
    Measurements::new(Metric::wall(), builds).unwrap()
}

/// What `factor` times the base is, in each of the stages, by default criteria.
fn judged(value: f64, factors: &[f64], layout: f64, noise: f64) -> ComparisonRow {
    let criteria = Criteria::default();
    let stages: Vec<Judged> = factors
        .iter()
        .map(|factor| {
            let base = measurements(value, layout, noise, 0);
            let head = measurements(value * factor, layout, noise, 4);
            Judged::of([&base, &head], Pairing::BySeed, &criteria)
        })
        .collect();
    let judgement = Judgement::by_stages(&stages[0], stages.get(1), 5, &criteria);
    ComparisonRow::of_stages(&judgement, &stages[0], &criteria)
}

fn without_numbers(verdict: Verdict) -> ComparisonRow {
    ComparisonRow::judged(&Judgement::of(verdict))
}

fn diff() -> FunctionDiff {
    let sized = |name: &str| SizedFunction { name: Name::of(name), size: 10 };
    FunctionDiff {
        added: vec![sized("new")],
        removed: vec![],
        changed: ["a", "b"]
            .map(|name| ChangedFunction { name: Name::of(name), base_size: 8, head_size: 9 })
            .into(),
        unchanged: 4309,
    }
}

/// Every verdict, and everything that is told beside them.
fn report() -> ComparisonReport {
    let (base, head) = (version("main", 'a'), version("HEAD", 'b'));
    let mut report = ComparisonReport::new(&base, &head);
    report.judged_by(&Criteria::default());
    let machine = Machine {
        cpu: "Example 9000".to_owned(),
        cores: 2,
        memory: 1 << 33,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: "0123".to_owned(),
    };
    report.measured_on(machine, Dimensions { builds: 10, executions: 2, measurements: 3 });
    report.warn("work: only 9 of 10 builds differ".to_owned());
    report.warn_of(&[
        Disturbance::Others { share: 0.23 },
        Disturbance::Governor { name: "powersave".to_owned() },
    ]);
    report.functions(
        &BenchTarget { package: "parser".to_owned(), target: "work".to_owned() },
        &diff(),
    );
    report.add(&benchmark("numbers/decimal"), judged(240.8, &[1.0], 0.02, 0.003));
    for id in ["same/1", "same/2", "same/3"] {
        report.add(&benchmark(id), without_numbers(Verdict::Identical));
    }
    report.add(&benchmark("split"), judged(4384.0, &[1.004], 0.05, 0.02));
    report.add(
        &benchmark("tokens/of_a_whole_file_with_comments/1024"),
        judged(7.352e6, &[1.02, 1.031], 0.04, 0.008),
    );
    report.add(&benchmark("tokens/small"), judged(812.0, &[1.4, 1.38], 0.01, 0.01));
    report.add(&benchmark("escape"), judged(96.4, &[0.91, 0.93], 0.01, 0.004));
    let failure = Failure::new(Exit::Benchmark, "cannot execute `broken`")
        .because("it ended with exit status: 101; the end of its output:\nthe table | is <missing>")
        .hint("reproduce with: cd /tmp && ./work --bench broken");
    report.add(
        &benchmark("broken"),
        without_numbers(Verdict::Failed { reason: failure.to_string() }),
    );
    let reason = "base and head have other metrics: wall [ns] and cycles [cycles]".to_owned();
    report.add(&benchmark("odd"), without_numbers(Verdict::NotComparable { reason }));
    report.only_in(&head, vec![benchmark("new")]);
    report.only_in(&base, vec![benchmark("old")]);
    let target = BenchTarget { package: "parser".to_owned(), target: "other".to_owned() };
    let failure = Failure::new(Exit::Benchmark, "cannot list the benchmarks of `other`");
    report.target_failed(&target, &failure.because("it printed nothing"));
    report
}

#[test]
fn a_report_fits_terminals_of_many_widths() {
    insta::assert_snapshot!("at_160_columns", style::plain(&report().terminal(160)));
    insta::assert_snapshot!("at_120_columns", style::plain(&report().terminal(120)));
    insta::assert_snapshot!("at_80_columns", style::plain(&report().terminal(80)));
    insta::assert_snapshot!("at_60_columns", style::plain(&report().terminal(60)));
}

#[test]
fn only_commands_and_output_of_others_are_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    for columns in [60, 80, 100, 120] {
        let text = style::plain(&report().terminal(columns));
        let mut wide = text.lines().filter(|line| line.width() > columns);
        assert!(wide.all(|line| line.starts_with("  ")), "{text}");
    }
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let coloured = report().terminal(100);
    assert!(coloured.contains(&style::paint(style::BAD, "regressed")), "{coloured}");
    assert!(coloured.contains(&style::paint(style::GOOD, "improved")));
    assert!(coloured.contains(&style::paint(style::DOUBTFUL, "failed")));
    assert_eq!(style::plain(&coloured), report().text());
    assert!(!report().text().contains('\u{1b}'));
}

#[test]
fn a_pull_request_reads_what_matters_first() {
    insta::assert_snapshot!("markdown", report().markdown());
}

#[test]
fn a_program_reads_everything() {
    insta::assert_snapshot!("json", report().json().unwrap());
}

#[test]
fn every_verdict_keeps_the_schema() {
    let schema = include_str!("../../../schemas/compare.json");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    let mut weak = report();
    weak.add(&benchmark("contradicted"), judged(812.0, &[1.04, 0.97], 0.01, 0.002));
    weak.add(&benchmark("shrunk"), judged(812.0, &[1.04, 1.008], 0.01, 0.002));
    weak.add(&benchmark("weak"), judged(812.0, &[1.04, 1.02], 0.01, 0.04));
    weak.add(&benchmark("unconfirmed"), judged(812.0, &[1.04], 0.01, 0.002));
    weak.warn_of(&[
        Disturbance::Load { per_core: 1.5 },
        Disturbance::Stolen { share: 0.02 },
        Disturbance::Battery,
        Disturbance::Quota { cpus: 0.5 },
        Disturbance::Throttled { seconds: 0.2 },
        Disturbance::Preempted { share: 0.4 },
        Disturbance::ClockSet { seconds: -60.0 },
    ]);
    for report in [weak, ComparisonReport::new(&version("main", 'a'), &version("HEAD", 'b'))] {
        let json = serde_json::from_str(&report.json().unwrap()).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn a_report_about_nothing_is_short_and_says_so() {
    let nothing = ComparisonReport::new(&version("main", 'a'), &version("HEAD", 'b'));
    assert_eq!(
        nothing.text(),
        "HEAD (bbbbbbb) against main (aaaaaaa)\n\nno benchmark in both versions\n"
    );
    assert!(nothing.markdown().starts_with("### Benchmarks: nothing to compare\n"));
}

#[test]
fn identical_versions_need_no_table_and_no_next_step() {
    let mut report = ComparisonReport::new(&version("main", 'a'), &version("HEAD", 'b'));
    for index in 0..12 {
        let id = format!("bench{index}");
        report.add(&benchmark(&id), without_numbers(Verdict::Identical));
    }
    assert_eq!(
        report.text(),
        "HEAD (bbbbbbb) against main (aaaaaaa)\n\n12 identical\nidentical machine code, not measured: \
         bench0, bench1, bench2, bench3, bench4, bench5, bench6, bench7\n  and 4 more\n"
    );
}

#[test]
fn a_thousand_benchmarks_of_any_name_fit_into_a_comment() {
    for (head, verdict) in [("`|<b>\n", 0), ("plain", 0), ("a`b``c", 1)] {
        let mut report = report();
        let regressed = judged(812.0, &[1.4, 1.38], 0.01, 0.01);
        let unchanged = judged(240.8, &[1.0], 0.02, 0.003);
        for index in 0..1000 {
            let id = format!("{}{index}", head.repeat(60));
            let row = if verdict == 0 { regressed.clone() } else { unchanged.clone() };
            report.add(&benchmark(&id), row);
            let reason = format!("{}\n{}", head.repeat(900), "````\n".repeat(900));
            report.add(
                &benchmark(&format!("bad{index}")),
                without_numbers(Verdict::Failed { reason }),
            );
            report.only_in(&version("HEAD", 'b'), vec![benchmark(&id)]);
            report.warn(head.repeat(900));
        }
        let markdown = report.markdown();
        assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
        assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
        assert!(markdown.contains("more rows") && markdown.contains("more reasons"));
    }
}

#[test]
fn benchmarks_of_one_id_are_told_apart_by_their_targets() {
    let mut report = report();
    let other = Benchmark { target: "other".to_owned(), ..benchmark("split") };
    report.add(&other, judged(4384.0, &[1.0], 0.01, 0.001));
    let text = report.text();
    assert!(text.contains("parser/work split") && text.contains("parser/other split"), "{text}");
}

#[test]
fn advice_aims_at_what_is_in_reach_and_is_left_out_where_nothing_is_lacking() {
    let detectable = |row: &ComparisonRow| {
        let measured = row.measured.as_ref().unwrap();
        let now = measured.decisive().unwrap().smallest_detectable;
        (now, measured.advice.map(|advice| advice.smallest_detectable))
    };
    // Noise of 20 %: not even a hundred builds would show 1 %.
    let (now, advised) = detectable(&judged(100.0, &[1.0], 0.0, 0.2));
    assert!(now > 0.1 && advised.is_some_and(|advised| advised <= now / 2.0), "{now} {advised:?}");
    // Flagged, with nothing to confirm it by: the experiment was large enough.
    let (now, advised) = detectable(&judged(100.0, &[1.1], 0.0, 0.001));
    assert!(now < 0.01 && advised.is_none(), "{now} {advised:?}");
}

#[test]
fn what_is_advised_for_several_benchmarks_is_enough_for_each_or_halves_what_each_shows() {
    let mut report = ComparisonReport::new(&version("main", 'a'), &version("HEAD", 'b'));
    report.judged_by(&Criteria::default());
    for (id, layout, noise) in
        [("a", 0.03, 0.01), ("b", 0.05, 0.02), ("c", 0.3, 0.4), ("d", 0.3, 0.3)]
    {
        report.add(&benchmark(id), judged(100.0, &[1.004], layout, noise));
    }
    let advised = |report: &ComparisonReport| -> Vec<[String; 2]> {
        let steps = report.next_steps();
        steps.into_iter().skip(2).map(|step| [step.purpose, step.command]).collect()
    };
    assert_eq!(
        advised(&report),
        [
            [
                "would flag a change of 1 % in b with 80 % power",
                "cargo rbench compare main HEAD --exact --filter b -l 30"
            ],
            [
                "would halve the smallest change that shows with 80 % power in 2 inconclusive benchmarks",
                "cargo rbench compare main HEAD --exact --filter c --filter d -l 30"
            ],
        ]
    );
    for id in ["e", "f", "g"] {
        report.add(&benchmark(id), judged(100.0, &[1.004], 0.3, 0.3));
    }
    report.typed_with(&TypedFlags::of_words("-F simd --filter . -l 10"));
    assert_eq!(
        advised(&report)[1][1],
        "cargo rbench compare main HEAD --filter . --features simd -l 30"
    );
    assert_eq!(report.next_steps()[0].command, "cargo rbench diff main HEAD --features simd");
}
