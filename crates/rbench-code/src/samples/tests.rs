//! Tests of explanations of profiles whose reasons are known.

use proptest::prelude::*;

use super::*;
use crate::{
    callgrind::{
        Code, Function, Place,
        testing::{code_of, function},
    },
    elf::Name,
};

/// The pairs of builds of a profile.
const PAIRS: usize = 6;

/// A profile of executions of `time` ns with one sample a nanosecond, which vary a little from pair to pair. A stack is
/// `main;parse;peek`, where `|` is a semicolon of a name, `+` before it marks an inlined function, `@` a function of a library, and `!` or `~` at
/// the end the kernel or waiting; a stack that begins with `other;` is another thread's.
fn profile(stacks: &[(&str, u64)]) -> TimeProfile {
    let mut functions: Vec<Function> = Vec::new();
    let mut stack_of = |line: &str, samples: u64| {
        let (line, state) = match line.strip_suffix('!').map(|line| (line, SampledState::InKernel))
        {
            Some(found) => found,
            None => match line.strip_suffix('~') {
                Some(line) => (line, SampledState::Waiting),
                None => (line, SampledState::Working),
            },
        };
        let thread = if line.starts_with("other;") {
            SampledThread::Other
        } else {
            SampledThread::Measuring
        };
        let frames = line.trim_start_matches("other;").split(';').map(|name| {
            let is_inlined = name.starts_with('+');
            let name = &name.trim_start_matches('+').replace('|', ";");
            let function = match name.strip_prefix('@') {
                Some(name) => Function {
                    name: Name::demangle(name),
                    place: Place::Library("libc.so.6".to_owned()),
                },
                None => function(name),
            };
            let known = functions.iter().position(|other| *other == function);
            let function = known.unwrap_or_else(|| {
                functions.push(function);
                functions.len() - 1
            });
            Frame { function, is_inlined }
        });
        SampledStack { frames: frames.collect(), thread, state, samples }
    };
    let executions = (0..PAIRS as u64).map(|pair| {
        // Every second pair has a sample more of each stack.
        let stacks = stacks.iter().map(|(line, samples)| stack_of(line, samples + pair % 2));
        let stacks: Vec<SampledStack> = stacks.collect();
        let measuring = stacks.iter().filter(|one| one.thread == SampledThread::Measuring);
        let time = measuring.map(|stack| stack.samples).sum::<u64>() as f64;
        SampledExecution { time, stacks, dropped: 0, cut: 0 }
    });
    let executions = executions.collect();
    TimeProfile { functions, executions }
}

/// A change with a rough p value: small if the mean is at least five times its standard error.
fn estimate(differences: &[f64]) -> Change {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
    let error = (squares / (count * (count - 1.0))).sqrt();
    let is_clear = mean.abs() > 5.0 * error + 1e-9;
    let p = if is_clear { 1e-6 } else { 0.5 };
    Change { mean, low: mean - 2.571 * error, high: mean + 2.571 * error, p }
}

/// Explains two profiles; each function has the byte that represents its code in base and head.
fn explained(base: &[(&str, u64)], head: &[(&str, u64)], codes: [&[(&str, u8)]; 2]) -> Explanation {
    let (base, head) = (profile(base), profile(head));
    let [of_base, of_head] = codes.map(code_of);
    let sides = [
        Side { profile: &base, functions: &of_base },
        Side { profile: &head, functions: &of_head },
    ];
    let explanation = explain(sides, &estimate).unwrap();
    assert_sums(&explanation);
    explanation
}

#[track_caller]
fn assert_sums(explanation: &Explanation) {
    let own = |spent: Option<Spent>| spent.unwrap_or_default().own;
    let measuring = || explanation.of_thread(SampledThread::Measuring);
    for (sum, total) in [
        (measuring().map(|one| own(one.base)).sum::<f64>(), explanation.base),
        (measuring().map(|one| own(one.head)).sum(), explanation.head),
        (measuring().map(|one| one.own.mean).sum(), explanation.change.mean),
    ] {
        assert!((sum - total).abs() <= 1e-9 * explanation.base.max(1.0), "{sum} {total}");
    }
    for spent in explanation.functions.iter().flat_map(|one| [one.base, one.head]).flatten() {
        assert!(spent.own >= 0.0 && spent.inclusive >= 0.0);
    }
}

fn find<'e>(explanation: &'e Explanation, name: &str, state: SampledState) -> &'e FunctionTime {
    let is_it = |one: &&FunctionTime| one.name.as_str() == name && one.state == state;
    explanation.functions.iter().find(is_it).unwrap()
}

fn selected(explanation: &Explanation) -> Vec<&str> {
    explanation.selection(usize::MAX).functions.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn slower_function_is_selected_with_its_changed_caller() {
    let codes = |peek| [("main", 0), ("parse", 1), ("peek", peek), ("next", 3)];
    let explanation = explained(
        &[("main;parse", 100), ("main;parse;peek", 100), ("main;parse;peek;next", 300)],
        &[("main;parse", 100), ("main;parse;peek", 105), ("main;parse;peek;next", 340)],
        [&codes(2), &codes(9)],
    );
    assert_eq!(explanation.change.mean, 45.0);
    assert_eq!(selected(&explanation), ["next"]);
    let next = find(&explanation, "next", SampledState::Working);
    assert_eq!((next.own.mean, &next.code), (40.0, &Code::Same));
    assert_eq!(next.changed_caller.as_ref().unwrap().name.as_str(), "peek");
    let peek = find(&explanation, "peek", SampledState::Working);
    assert_eq!(
        (peek.own.mean, peek.inclusive.mean, peek.changed_caller.as_ref()),
        (5.0, 45.0, None)
    );
    let selection = explanation.selection(usize::MAX);
    assert_eq!(
        (selection.sum, selection.others, selection.within_noise),
        (40.0, (1, 5.0), (1, 0.0))
    );
    let main = find(&explanation, "main", SampledState::Working);
    assert_eq!((main.own.mean, main.inclusive.mean), (0.0, 45.0));
}

#[test]
fn recursive_function_counts_once_a_stack() {
    let stacks = [("main;walk;walk;walk", 60), ("main;walk", 40)];
    let explanation = explained(&stacks, &stacks, [&[], &[]]);
    let walk = find(&explanation, "walk", SampledState::Working);
    assert_eq!(walk.base.unwrap().inclusive, explanation.base);
    assert_eq!(selected(&explanation), [""; 0]);
}

#[test]
fn outlined_function_is_joined_with_its_caller() {
    let explanation = explained(
        &[("main;parse", 100), ("main;other", 100)],
        &[("main;parse", 70), ("main;parse;digit", 45), ("main;other", 100)],
        [&[("main", 0), ("parse", 1)], &[("main", 0), ("parse", 2), ("digit", 3)]],
    );
    let parse = find(&explanation, "parse", SampledState::Working);
    // The head has one stack more, each of which has a sample more in every second pair.
    assert_eq!(parse.own.mean, 15.5);
    assert_eq!(parse.inlined, [Inlined { name: Name::demangle("digit"), in_head: false }]);
    assert_eq!(selected(&explanation), ["parse"]);
    let digit = find(&explanation, "digit", SampledState::Working);
    assert_eq!((digit.own.mean, digit.head.unwrap().own), (0.0, 0.0));
}

#[test]
fn new_function_is_not_joined_with_a_caller_that_keeps_its_time() {
    let explanation = explained(
        &[("main;parse", 100)],
        &[("main;parse", 99), ("main;parse;grow", 45)],
        [&[("main", 0), ("parse", 1)], &[("main", 0), ("parse", 2), ("grow", 3)]],
    );
    let grow = find(&explanation, "grow", SampledState::Working);
    assert!(matches!(grow.code, Code::OnlyHead(_)) && grow.is_beyond_noise && grow.base.is_none());
    assert_eq!(selected(&explanation), ["grow"]);
}

#[test]
fn kernel_and_waiting_are_rows_of_their_own() {
    let codes = |write| [("main", 0), ("write_all", write)];
    let explanation = explained(
        &[("main;write_all;@write", 10), ("main;write_all;@write!", 100), ("main;@futex~", 40)],
        &[("main;write_all;@write", 10), ("main;write_all;@write!", 160), ("main;@futex~", 40)],
        [&codes(1), &codes(2)],
    );
    let kernel = find(&explanation, "write", SampledState::InKernel);
    assert_eq!((kernel.own.mean, kernel.inclusive.mean), (60.0, 60.0));
    assert_eq!(kernel.changed_caller.as_ref().unwrap().name.as_str(), "write_all");
    let user = find(&explanation, "write", SampledState::Working);
    assert_eq!((user.own.mean, user.inclusive.mean), (0.0, 60.0));
    let waiting = find(&explanation, "futex", SampledState::Waiting);
    assert!(!waiting.is_beyond_noise && waiting.base.unwrap().own > 40.0);
}

#[test]
fn other_threads_are_apart_and_do_not_wait() {
    let explanation = explained(
        &[("main;work", 100), ("other;start;hash", 50), ("other;start;@futex~", 1000)],
        &[("main;work", 100), ("other;start;hash", 90), ("other;start;@futex~", 900)],
        [&[], &[]],
    );
    assert_eq!((explanation.change.mean, explanation.threads.unwrap().change.mean), (0.0, 40.0));
    let others: Vec<_> = explanation.of_thread(SampledThread::Other).collect();
    assert!(others.len() == 1 && others[0].is_beyond_noise);
    assert_eq!(selected(&explanation), [""; 0]);
}

#[test]
fn selection_goes_on_after_more_than_the_change() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let stacks = |times: [u64; 8]| -> Vec<(&str, u64)> { names.into_iter().zip(times).collect() };
    let base = stacks([100; 8]);
    let head = stacks([160, 81, 100, 100, 100, 100, 100, 100]);
    let explanation = explained(&base, &head, [&[], &[]]);
    assert_eq!(selected(&explanation), ["a", "b"]);
    assert_eq!(explanation.selection(usize::MAX).sum, 41.0);
    let many = explained(&base, &stacks([110; 8]), [&[], &[]]);
    let selection = many.selection(usize::MAX);
    assert_eq!((selection.functions.len(), selection.sum, selection.others), (6, 60.0, (2, 20.0)));
}

#[test]
fn folded_stacks_have_names_of_the_head_and_no_harness() {
    let explanation = explained(
        &[("start;main;iter;parse", 80), ("start;main;iter;parse;+[u8| 4]", 20)],
        &[("start;main;iter;parse", 90), ("start;main;iter;@write!", 30)],
        [&[], &[]],
    );
    let line = |one: &FoldedStack| format!("{} {} {}", one.frames, one.base, one.head);
    let lines: Vec<String> = explanation.stacks.iter().map(line).collect();
    assert_eq!(
        lines,
        ["iter;parse 80.5 90.5", "iter;parse;[u8, 4] (inlined) 20.5 0", "iter;write;kernel 0 30.5"]
    );
}

#[test]
fn folded_stacks_begin_at_the_innermost_common_function_however_it_is_called() {
    let explanation = explained(
        &[("start;main;iter;walk;walk;leaf", 60), ("frame;frame;main;iter;other", 40)],
        &[("main;iter;walk;walk;leaf", 60), ("start;main;iter;other", 40)],
        [&[], &[]],
    );
    let frames: Vec<&str> = explanation.stacks.iter().map(|one| one.frames.as_str()).collect();
    assert_eq!(frames, ["iter;other", "iter;walk;walk;leaf"]);
}

#[test]
fn executions_without_samples_are_left_out() {
    let whole = profile(&[("main;work", 100)]);
    let mut part = whole.clone();
    part.executions[0].stacks.clear();
    let none = code_of(&[]);
    let explain = |base, head| {
        let side = |profile| Side { profile, functions: &none };
        explain([side(base), side(head)], &estimate)
    };
    assert_eq!(explain(&whole, &part).unwrap().pairs, PAIRS - 1);
    let short = TimeProfile { executions: part.executions[..2].to_vec(), ..part.clone() };
    assert_eq!(explain(&whole, &short), None);
}

#[test]
fn folded_stacks_keep_the_calls_of_the_kernel() {
    let stacks = [("main;iter;@read!", 80), ("main;iter;@write!", 60)];
    let explanation = explained(&stacks, &stacks, [&[], &[]]);
    let frames: Vec<&str> = explanation.stacks.iter().map(|one| one.frames.as_str()).collect();
    assert_eq!(frames, ["iter;read;kernel", "iter;write;kernel"]);
}

prop_compose! {
    fn any_stacks()(stacks in prop::collection::vec(
        (prop::collection::vec(0..5_usize, 1..6), 0..40_u64, 0..3_usize), 1..12,
    )) -> Vec<(String, u64)> {
        let named = |(frames, samples, end): (Vec<usize>, u64, usize)| {
            let names: Vec<&str> = frames.into_iter().map(|at| ["a", "b", "c", "+d", "@e"][at]).collect();
            (names.join(";") + ["", "!", "~"][end], samples)
        };
        stacks.into_iter().map(named).collect()
    }
}

proptest! {
    #[test]
    fn self_times_sum_up_to_the_whole(
        base in any_stacks(), head in any_stacks(), codes in prop::collection::vec(0..3_u8, 8),
    ) {
        let [of_base, of_head] = [&base, &head].map(|stacks| {
            stacks.iter().map(|(line, samples)| (line.as_str(), *samples)).collect::<Vec<_>>()
        });
        let (base, head) = (profile(&of_base), profile(&of_head));
        let code = |at: usize| ["a", "b", "c", "d"].into_iter().zip(codes[at..].iter().copied());
        let [base_code, head_code] =
            [0, 4].map(|at| code_of(&code(at).filter(|(_, code)| *code > 0).collect::<Vec<_>>()));
        let sides = [
            Side { profile: &base, functions: &base_code },
            Side { profile: &head, functions: &head_code },
        ];
        // Executions with a sample in every second pair only are used there.
        if let Some(explanation) = explain(sides, &estimate) {
            assert_sums(&explanation);
            for one in explanation.functions.iter().filter(|one| one.inlined.is_empty()) {
                for spent in [one.base, one.head].into_iter().flatten() {
                    prop_assert!(spent.inclusive >= spent.own - 1e-9);
                }
            }
            let of = |version: fn(&FoldedStack) -> f64| -> f64 {
                explanation.stacks.iter().map(version).sum()
            };
            prop_assert!((of(|one| one.base) - explanation.base).abs() < 1e-6);
            prop_assert!((of(|one| one.head) - explanation.head).abs() < 1e-6);
        }
    }
}
