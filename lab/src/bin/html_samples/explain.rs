//! A page with an explanation that has every kind of function, and names that would break a page.

use cargo_rbench::{compare::ExplainedBenchmark, model::DependencyChange, report::Format};
use rbench_code::{
    callgrind::{Callee, Code, Executed, Explanation, FunctionDifference, Place},
    elf::{Cause, ChangedFunction, Name, SizedFunction},
    impact::Impact,
};

use crate::made_up::{HOSTILE, benchmark, version};

const LONG: &str = "<parser::value::Map<K, V, S> as core::iter::traits::collect::FromIterator<(K, V)>>::from_iter::{{closure}}";

/// The work of a function itself, the work including its callees, its number of calls, and the part
/// of the change that it causes.
#[expect(clippy::unnecessary_wraps, reason = "that is what a function has")]
const fn executed(own: f64, inclusive: f64, calls: f64, attributed: f64) -> Option<Executed> {
    Some(Executed { own, inclusive, calls, attributed })
}

fn same(name: &str, base: Option<Executed>, head: Option<Executed>) -> FunctionDifference {
    FunctionDifference {
        name: Name::demangle(name),
        place: Place::Program(7),
        code: Code::Same,
        base,
        head,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
        inlined_into: None,
    }
}

fn changed(name: &str) -> Code {
    Code::Changed(Box::new(ChangedFunction {
        name: Name::demangle(name),
        instance: 7,
        base_instance: 7,
        base_size: 2316,
        head_size: 2065,
        base_stack: Some(24),
        head_stack: Some(88),
        cause: Cause::Code,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
    }))
}

fn functions() -> Vec<FunctionDifference> {
    let callee =
        |name: &str, calls, inclusive| Callee { name: Name::demangle(name), calls, inclusive };
    let sized = SizedFunction { name: Name::demangle(HOSTILE), instance: 7, size: 96, stack: None };
    vec![
        FunctionDifference {
            code: changed("parser::lexer::Lexer<R>::next_token"),
            callees_gained: vec![callee(HOSTILE, 64.0, 5_200.0), callee(LONG, 1.0, 12.5)],
            callees_lost: vec![callee("parser::lexer::skip", 64.0, 1_280.0)],
            ..same(
                "parser::lexer::Lexer<R>::next_token",
                executed(90_000.0, 120_000.0, 64.0, 120_000.0),
                executed(88_500.0, 123_100.0, 64.0, 123_100.0),
            )
        },
        FunctionDifference {
            code: changed(LONG),
            ..same(LONG, executed(900.0, 900.0, 1.0, 900.0), executed(400.5, 400.5, 1.0, 400.5))
        },
        FunctionDifference {
            code: Code::OnlyHead(sized),
            inlined_into: Some(Name::demangle("parser::lexer::Lexer<R>::next_token")),
            ..same(HOSTILE, None, executed(5_200.0, 5_200.0, 64.0, 0.0))
        },
        same("hash", executed(1_000.0, 1_000.0, 8.0, 0.0), executed(1_250.0, 1_250.0, 10.0, 0.0)),
        FunctionDifference {
            code: Code::Unknown,
            place: Place::Library("libc.so.6".to_owned()),
            ..same("memcpy", executed(10.0, 10.0, 2.0, 0.0), executed(60.0, 60.0, 4.0, 0.0))
        },
    ]
}

pub fn report(id: &str) -> ExplainedBenchmark {
    let functions = functions();
    let total = |of: fn(&FunctionDifference) -> Option<Executed>| -> f64 {
        functions.iter().filter_map(of).map(|executed| executed.own).sum()
    };
    let (base, head) = (total(|one| one.base), total(|one| one.head));
    ExplainedBenchmark {
        base: version("main", 1, "Release 1.4.0"),
        head: version("topic/faster-lexer", 2, "Read tokens without copying <them>"),
        benchmark: benchmark(id),
        explanation: Explanation { base, head, functions },
        impact: Impact { files: vec!["benches/<input>.json".to_owned()], ..Impact::default() },
        dependencies: vec![DependencyChange {
            name: "memchr".to_owned(),
            base: vec!["2.7.0".to_owned()],
            head: vec!["2.7.4".to_owned()],
        }],
    }
}

pub fn page() -> String {
    Format::Html.render(&report("parse/json/16"), 0).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanation_is_a_small_page_without_markup_in_names() {
        let page = page();
        assert!(page.len() <= 40_000, "{} bytes", page.len());
        assert_eq!(page.matches("<script").count(), 2);
        assert!(!page.contains("<img") && !page.contains("\u{202e}") && !page.contains('\u{2028}'));
    }
}
