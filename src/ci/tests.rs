//! Texts about comparisons.

mod hostile;
mod merge;
mod providers;

use std::path::Path;

use rbench_stats::Criteria;
use serde_json::{Value, json};

use super::{
    Comment, Comparisons, Links, MOST_ANNOTATIONS, SUMMARY_ROOM, annotations, junit, marker,
    outputs, page,
    testing::{comparison, document, row},
};
use crate::{
    compare::Outcome,
    error::{Error, Exit},
    model::Metric,
    report::{
        Report as _,
        compare::ComparisonReport,
        render::COMMENT_ROOM,
        testing::{benchmark, counted, decided_row, given, inconclusive, version},
    },
    verdict::{DecidedRow, ExitPolicy, Repetition, Verdict},
};

fn comment(comparison: &Comparisons) -> Comment {
    Comment::compose(comparison, Exit::Success, "default", &Links::default())
}

/// A thousand benchmarks that regressed, the last one most.
fn thousand() -> Comparisons {
    let rows: Vec<Value> = (0..1_000)
        .map(|number| row(&format!("group/{number}"), "regressed", 0.01 + f64::from(number) / 1e4))
        .collect();
    comparison(&rows)
}

#[test]
fn page_lists_the_largest_regression_first() {
    let rows = [
        row("calm", "unchanged", 0.001),
        row("better", "improved", -0.3),
        row("worse", "regressed", 0.02),
        row("worst", "regressed", 0.2),
        row("open", "inconclusive", 0.05),
        row("same", "unaffected", 0.0),
    ];
    insta::assert_snapshot!(page(&comparison(&rows), &Links::default(), COMMENT_ROOM));
}

#[test]
fn page_says_whether_code_ran_in_the_sandbox() {
    let shown = |sandbox: Value| {
        let mut document = document(&[row("a", "regressed", 0.1)]);
        document["sandbox"] = sandbox;
        let comparison = Comparisons::parse(&document.to_string()).unwrap();
        page(&comparison, &Links::default(), COMMENT_ROOM)
    };
    let on = json!({ "state": "on", "landlock": 7, "own_process_ids": true });
    assert!(shown(on).contains("code of the commits ran in the sandbox"));
    let off = json!({ "state": "off", "reason": "requested" });
    assert!(shown(off).contains("code of the commits ran outside of the sandbox: --no-sandbox"));
    assert!(!shown(Value::Null).contains("sandbox"));
}

#[test]
fn page_has_the_different_work_warning_above_the_table() {
    let mut document = document(&[row("a", "regressed", 0.1)]);
    document["warnings"] = json!([
        { "kind": "load", "per_core": 2.0, "text": "because of load" },
        { "kind": "different_work", "benchmarks": [], "text": "because of different_work" },
    ]);
    let comparison = Comparisons::parse(&document.to_string()).unwrap();
    let text = page(&comparison, &Links::default(), COMMENT_ROOM);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
    assert!(at("because of different_work") < at("| benchmark"), "{text}");
    assert!(at("| benchmark") < at("<summary>1 warning: all verdicts hold</summary>"), "{text}");
    assert!(
        at("<summary>1 warning: all verdicts hold</summary>") < at("because of load"),
        "{text}"
    );
}

#[test]
fn release_has_a_section_and_counts_as_much() {
    let mut both = document(&[row("a", "unchanged", 0.001)]);
    both["also_base"] = document(&[row("a", "regressed", 0.1)]);
    both["also_base"]["base"] = super::testing::version('c');
    let both = Comparisons::parse(&both.to_string()).unwrap();
    let text = page(&both, &Links::default(), COMMENT_ROOM);
    assert!(text.starts_with("### Benchmarks: regressed\n"), "{text}");
    assert!(text.contains("#### Also against ccccccc\n"), "{text}");
    assert_eq!(both.exit(&ExitPolicy::default()), Exit::Regression);
}

#[test]
fn comment_has_whole_rows_and_counts_the_others() {
    let Comment { body, short, is_news } = comment(&thousand());
    assert!(is_news && body.len() <= COMMENT_ROOM, "{}", body.len());
    let rows: Vec<&str> = body.lines().filter(|line| line.contains("**regressed**")).collect();
    assert!(rows.len() > 200 && rows[0].contains("`group/999`"), "{} rows", rows.len());
    assert!(rows.iter().all(|row| row.matches('|').count() == 7));
    let more = format!("… and {} more rows", 1_000 - rows.len());
    assert!(body.contains(&more), "{body}");
    assert!(short.contains("1000 regressed") && short.len() < 300, "{short}");
}

#[test]
fn summary_has_room_for_all_rows() {
    let text = page(&thousand(), &Links::default(), SUMMARY_ROOM);
    assert_eq!(text.matches("**regressed**").count(), 1_000);
    assert!(text.len() <= SUMMARY_ROOM);
}

#[test]
fn page_fits_every_size_above_its_sentences() {
    for room in [3_000, 5_000, 20_000] {
        let text = page(&thousand(), &Links::default(), room);
        assert!(text.len() <= room, "{} of {room}", text.len());
    }
}

#[test]
fn comment_is_news_after_a_change_or_a_failed_job() {
    let calm = comparison(&[row("a", "unchanged", 0.001), row("b", "inconclusive", 0.01)]);
    assert!(!comment(&calm).is_news);
    let failing = Comment::compose(&calm, Exit::Inconclusive, "default", &Links::default());
    assert!(failing.is_news);
    assert!(comment(&comparison(&[row("a", "improved", -0.1)])).is_news);
}

#[test]
fn comment_links_the_run_and_the_pages() {
    let text = |links: &Links| page(&thousand(), links, COMMENT_ROOM);
    let run = Links::new(Some("https://github.com/o/r/actions/runs/1"));
    let site = run.clone().with_site(Some("https://o.github.io/r/"));
    let both =
        "([run](<https://github.com/o/r/actions/runs/1>), [history](<https://o.github.io/r/>))";
    assert!(text(&site).contains(both));
    assert!(text(&run).contains("([run](<https://github.com/o/r/actions/runs/1>))"));
    assert!(!text(&Links::default()).contains("](<"));
}

#[test]
fn stale_comment_has_one_notice_and_keeps_its_text() {
    let links = Links::new(Some("https://github.com/o/r/actions/runs/1"));
    let body = comment(&thousand()).body;
    let once = Comment::stale(&body, &"b".repeat(40), &links);
    let twice = Comment::stale(&once, &"c".repeat(40), &links);
    assert!(once.starts_with(&marker("default")) && twice.starts_with(&marker("default")));
    assert_eq!(twice.matches("**Stale:**").count(), 1);
    assert!(twice.contains("the benchmarks of ccccccc are being compared"), "{twice}");
    assert!(twice.ends_with(body.split_once('\n').unwrap().1));
    assert!(twice.len() <= COMMENT_ROOM);
}

#[test]
fn failure_comment_shows_the_error() {
    let error = Error::new(Exit::Build, "cannot compile").cause("```\n@everyone ".repeat(99_999));
    let Comment { body, is_news, .. } =
        Comment::compose_failure(&error, "default", &Links::default());
    assert!(body.starts_with(&marker("default")) && !is_news);
    assert!(body.chars().count() <= COMMENT_ROOM, "{}", body.len());
}

#[test]
fn regression_is_annotated_at_the_changed_function() {
    let text = "\n\n\n\n\n\nfn fold() {}\n".to_owned();
    let sources = [("src/a,b:c.rs".to_owned(), text)];
    let rows = [row("a", "improved", -0.1), row("b: 100%", "regressed", 0.05)];
    let of = |advisory| annotations(&comparison(&rows), advisory, &sources);
    let texts: Vec<String> = of(false).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["::error file=src/a%2Cb%3Ac.rs,line=7,title=benchmark regressed::b: 100%25: +5.00 %25 \
          (+4.00 .. +6.00), 100.0 ns -> 105.0 ns; it executes parser::fold (90 -> 100 bytes)"]
    );
    assert!(of(true)[0].to_string().starts_with("::warning file="));
}

#[test]
fn annotations_are_limited_to_ten_and_count_the_rest() {
    let all = annotations(&thousand(), false, &[]);
    assert_eq!(all.len(), MOST_ANNOTATIONS);
    assert!(all[0].message.starts_with("group/999"));
    assert!(all[9].message.ends_with("(and 990 more: see the summary)"), "{}", all[9].message);
}

#[test]
fn junit_has_a_test_case_for_each_benchmark() {
    let mut failed = row("broken", "failed", 0.0);
    failed["reason"]["text"] = json!("exited with code 101");
    let rows = [
        row("worse", "regressed", 0.05),
        row("better", "improved", -0.05),
        row("open", "inconclusive", 0.01),
        failed,
    ];
    let mut document = document(&rows);
    document["failed_targets"] =
        json!([{ "package": "parser", "target": "read", "error": "cannot list\n- it hangs" }]);
    let comparison = Comparisons::parse(&document.to_string()).unwrap();
    insta::assert_snapshot!(junit(&comparison).unwrap());
}

#[test]
fn outputs_have_counts_and_the_exit_code() {
    let rows = [row("a", "regressed", 0.05), row("b", "improved", -0.1)];
    let comparison = comparison(&rows);
    let report = Path::new("target/rbench\nreport");
    assert_eq!(
        outputs(Ok(&comparison), Exit::Regression, report),
        "verdict=regressed\nregressed=1\nimproved=1\ninconclusive=0\nexit-code=1\n\
         report=target/rbench report\n"
    );
    let error = Error::new(Exit::Build, "cannot compile");
    let lines = outputs(Err(&error), Exit::Build, report);
    assert!(lines.starts_with("verdict=error\nregressed=0\n"));
}

/// A report on a time and on two counts, of which only the time affects the exit code.
fn counted_beside_times() -> ComparisonReport {
    let [instructions, allocations] = [Metric::instructions(), Metric::allocations()];
    let rows = vec![
        decided_row("a", 240.8, &[1.0], 0.02, 0.003),
        counted(&instructions, "a", 100.0, 120.0),
        counted(&allocations, "a", 0.0, 3.0),
        inconclusive("b", Repetition::Builds, 30, 0.0099),
        DecidedRow::without_metric(&benchmark("c"), Verdict::Identical),
    ];
    let versions = [version("main", 'a'), version("HEAD", 'b')];
    let outcome = Outcome { rows, ..Outcome::new(versions, Criteria::default()) };
    ComparisonReport::new(outcome, ExitPolicy::default(), given("compare main HEAD"))
}

#[test]
fn written_comparison_is_read_back_with_primary_rows() {
    let report = counted_beside_times();
    let written = report.json().unwrap();
    let read = Comparisons::parse(&written).unwrap();
    let primary: Vec<bool> = read.with_base.benchmarks.iter().map(|row| row.primary).collect();
    assert_eq!(primary, [true, false, false, true, true]);
    assert_eq!(read.to_json().unwrap(), written);
    assert_eq!(read.with_base.benchmarks[2].estimate(), Some(f64::INFINITY));
}

#[test]
fn comment_has_at_most_three_lines_for_a_benchmark_and_quotes_them() {
    let mut document = document(&[row("a", "regressed", 0.1)]);
    let lines = json!(["slower because of @someone", "two", "three", "four"]);
    let benchmark = json!(benchmark("a"));
    let mut times = json!({ "base_ns": 441.0, "head_ns": 482.0, "lines": lines });
    times.as_object_mut().unwrap().extend(benchmark.as_object().unwrap().clone());
    document["times"] = json!([times]);
    let comparison = Comparisons::parse(&document.to_string()).unwrap();
    let text = page(&comparison, &Links::default(), COMMENT_ROOM);
    assert!(text.contains("`slower because of @someone`") && text.contains("`three`"), "{text}");
    assert!(!text.contains("four"), "{text}");
}

#[test]
fn row_that_is_not_primary_does_not_fail_the_job() {
    let report = counted_beside_times();
    let policy = ExitPolicy::default();
    let mut read = Comparisons::parse(&report.json().unwrap()).unwrap();
    assert_eq!(read.exit(&policy), Exit::Success);
    assert_eq!(read.exit(&policy), Outcome::exit(&[report.outcome], &policy));
    let exit_code = |comparison: &Comparisons| {
        let exit = comparison.exit(&policy);
        outputs(Ok(comparison), exit, Path::new("r"))
    };
    assert!(exit_code(&read).contains("regressed=2\nimproved=0\n"), "{}", exit_code(&read));
    assert!(exit_code(&read).contains("exit-code=0\n"));
    read.with_base.partition = Some("hash:1/1".parse().unwrap());
    let merged = super::merge(&[read.clone()]).unwrap();
    assert_eq!(merged.exit(&policy), Exit::Success);
    read.with_base.benchmarks[1].primary = true;
    assert!(exit_code(&read).contains("exit-code=1\n"));
    assert_eq!(super::merge(&[read]).unwrap().exit(&policy), Exit::Regression);
}

#[test]
fn parse_rejects_what_compare_does_not_write() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut document = document(&[row("a", "regressed", 0.05)]);
        change(&mut document);
        Comparisons::parse(&document.to_string()).unwrap_err().to_string()
    };
    for (change, reason) in [
        (
            &(|it: &mut Value| it["schema_version"] = json!(2)) as &dyn Fn(&mut Value),
            "schema version",
        ),
        (&|it| it["head"]["commit"] = json!("main"), "hexadecimal"),
        (&|it| it["head"]["tree"] = json!("x"), "hexadecimal"),
        (&|it| it["base"]["commit"] = json!("<b>".repeat(40)), "hexadecimal"),
        (&|it| it["benchmarks"][0]["verdict"] = json!("lovely"), "a different structure"),
        (&|it| it["benchmarks"][0]["base"]["value"] = json!(1e40), "too large"),
        (&|it| it["benchmarks"][0]["id"] = json!(7), "a different structure"),
        (&|it| it["benchmarks"] = json!({}), "a different structure"),
        (&|it| it["also_base"] = json!({}), "a different structure"),
    ] {
        let text = refused(change);
        assert!(text.contains(reason) && !text.contains("lovely"), "{text}");
    }
    assert!(Comparisons::parse("[").is_err() && Comparisons::parse(&"[".repeat(100_000)).is_err());
}
