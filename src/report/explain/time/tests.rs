//! Explanations of a change in time as text, Markdown, JSON, page and pictures.

use rbench_code::callgrind::{self, Executed, FunctionDifference};
use rbench_stats::Change as RelativeChange;

use super::*;
use crate::model::Variant;
use crate::report::{
    style,
    testing::{HOSTILE, assert_harmless, assert_keeps, explained_time},
};

#[test]
fn text_names_functions_with_their_shares_and_reasons() {
    insta::assert_snapshot!(style::plain(&explained_time("parser::peek").text(100)));
}

#[test]
fn markdown_also_has_a_table() {
    insta::assert_snapshot!(explained_time("parser::peek").markdown());
}

#[test]
fn change_of_another_size_does_not_explain_the_verdict() {
    let mut report = explained_time("parser::peek");
    report.verdict = Some(RelativeChange { estimate: 0.2, low: 0.15, high: 0.25 });
    report.explanation.cut = 0.1;
    report.explanation.dropped = 0.03;
    let lines = report.lines();
    let words = "measured without sampling: +20.00 % (+15.00 .. +25.00): this explains only the change in sampled \
                 executions";
    assert_eq!(lines[0].plain(), words);
    let brief = report.brief()[0].plain();
    assert!(brief.starts_with("in sampled executions: +") && brief.ends_with(words), "{brief}");
    let limits = lines.last().unwrap().plain();
    assert!(
        limits.ends_with(
            "the callers of 10 % of the samples are not all known; 3 % of the samples were lost"
        ),
        "{limits}"
    );
}

#[test]
fn change_that_another_session_may_shift_explains_the_verdict() {
    let mut report = explained_time("parser::peek");
    let sampled = report.sampled_change();
    // The intervals do not meet.
    let mut is_about = |factor: f64| {
        let estimate = sampled.estimate * factor;
        let high = sampled.low - 0.001;
        report.verdict = Some(RelativeChange { estimate, low: high - 0.001, high });
        report.is_about_the_verdict()
    };
    assert_eq!([0.97, 0.9].map(&mut is_about), [true, false]);
}

#[test]
fn lines_are_at_most_eight_with_the_total_and_three_in_a_comment() {
    let mut report = explained_time("parser::peek");
    for function in &mut report.explanation.functions {
        function.is_beyond_noise = true;
        function.attributed.mean = 7.0;
    }
    report.verdict = Some(RelativeChange { estimate: 0.2, low: 0.15, high: 0.25 });
    assert_eq!([report.lines().len(), report.brief().len()], [7, 3]);
    report.verdict = None;
    assert_eq!([report.lines().len(), report.brief().len()], [7, 2]);
}

#[test]
fn counts_tell_more_calls_from_slower_ones() {
    let mut report = explained_time("parser::peek");
    let first = report.explanation.selection(MOST_LINES).functions[0].clone();
    let executed = |calls: f64, own| Some(Executed { calls, own, ..Executed::default() });
    for (base, head, words) in [
        (executed(100.0, 900.0), executed(112.0, 1_008.0), "called 100 -> 112 times an iteration"),
        (executed(100.0, 900.0), executed(100.0, 1_008.0), "900 -> 1,008 instructions"),
        (executed(100.0, 900.0), executed(100.0, 901.0), "instructions are the same: slower for"),
        (
            executed(112.0, 1_008.0),
            executed(100.0, 900.0),
            "is the same: called 112 -> 100 times an iteration, and slower for caches",
        ),
        (
            executed(100.0, 900.0),
            executed(50.0, 1_008.0),
            "called 100 -> 50 times an iteration, and 900 -> 1,008 instructions an iteration, for other",
        ),
    ] {
        let function = FunctionDifference {
            name: first.name.clone(),
            place: first.place.clone(),
            code: Code::Same,
            base,
            head,
            callees_gained: Vec::new(),
            callees_lost: Vec::new(),
            inlined_into: None,
        };
        let functions = vec![function];
        report.counted = Some(callgrind::Explanation { functions, ..Default::default() });
        assert!(report.needs_counts());
        let line = report.lines()[0].plain();
        assert!(line.contains(words) && !line.contains("or slower"), "{line}");
    }
}

#[test]
fn sides_are_named_by_variants_or_implementations() {
    let mut report = explained_time("parser::peek");
    let variant = |name: &str| Some(Variant { name: name.to_owned(), settings: String::new() });
    (report.base.variant, report.head.variant) = (variant("serde"), variant("simd"));
    let first = &mut report.explanation.functions[0];
    (first.base, first.changed_caller) = (None, None);
    let lines = report.lines();
    assert!(lines[0].plain().ends_with(": sampled only in simd"), "{lines:?}");
    assert!(lines[1].plain().ends_with(": new in simd"), "{lines:?}");
}

#[test]
fn functions_of_one_name_are_numbered() {
    let mut report = explained_time("parser::peek");
    let mut other = report.explanation.selection(MOST_LINES).functions[1].clone();
    other.name = report.explanation.functions[0].name.clone();
    report.explanation.functions.push(other);
    let lines = report.lines();
    let line = lines[0].plain();
    assert!(
        line.starts_with("slower because of lexer::next_token (1 of 2 of this name) +"),
        "{line}"
    );
    assert!(report.markdown().contains("`lexer::next_token (2 of 2 of this name)`"));
}

#[test]
fn nothing_beyond_noise_is_said() {
    let mut report = explained_time("parser::peek");
    report.explanation.functions.iter_mut().for_each(|one| one.is_beyond_noise = false);
    report.explanation.others_are_unchanged = false;
    let first = report.lines()[0].plain();
    let rest = "differs beyond noise; within noise: 7 functions, +41";
    assert!(first.starts_with(&format!("no function of the measuring thread {rest}")), "{first}");
    report.explanation.threads = None;
    let first = report.lines()[0].plain();
    assert!(first.starts_with(&format!("no function {rest}")), "{first}");
}

#[test]
fn times_have_three_digits_and_one_unit() {
    let change = |mean: f64, low, high| within(&Change { mean, low, high, p: 0.5 });
    assert_eq!(change(38.12, -2.5, 143.2), "+38.1 ns (-2.50 .. +143)");
    assert_eq!(change(-900.0, -1200.0, 5.0), "-0.90 µs (-1.20 .. +0.01)");
    assert_eq!([0.0, 999.96, 12.4e6].map(time), ["0.00 ns", "1.00 µs", "12.4 ms"]);
}

#[test]
fn json_keeps_its_schema() {
    assert_keeps("explain-time", &explained_time("parser::peek"));
}

#[test]
fn untrusted_texts_are_harmless() {
    let report = explained_time(HOSTILE);
    assert_harmless(&report);
    for (_, picture) in report.pictures().unwrap() {
        let document = roxmltree::Document::parse_with_options(
            &picture,
            roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
        );
        let scripts =
            document.unwrap().descendants().filter(|one| one.has_tag_name("script")).count();
        assert!(scripts <= 1 && !picture.contains("<i>*c*"), "{picture}");
    }
}

#[test]
fn pictures_are_the_difference_the_base_and_the_head() {
    let pictures = explained_time("parser::peek").pictures().unwrap();
    let [(_, difference), (_, base), (_, head)] = &pictures[..] else { panic!("{pictures:?}") };
    assert_eq!([pictures[0].0, pictures[1].0, pictures[2].0], ["", "-base", "-head"]);
    assert!(difference.contains("red: slower in the head, blue: faster"));
    // The head alone has what is new there, and only the difference has two percentages.
    assert!(!base.contains("grow_one") && head.contains("grow_one"));
    assert!(
        difference.contains("lexer::next_token (228,") && difference.contains("%; +"),
        "{difference}"
    );
    for picture in [difference, base, head] {
        assert!(picture.contains("function search("), "search and zoom");
    }
}

#[test]
fn page_has_a_drawing_without_script_or_style() {
    let page = explained_time("parser::peek").html().unwrap();
    let drawing = page.split("<svg class=flame").nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(drawing.contains("lexer::next_token"), "{drawing}");
    for forbidden in ["<script", "<style", "onload", "style=", "url("] {
        assert!(!drawing.contains(forbidden), "{forbidden}: {drawing}");
    }
    assert!(page.contains("Red: slower in the head, blue: faster"), "{page}");
}
