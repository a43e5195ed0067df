//! Words the impact of the differences between two versions on a benchmark: the changed functions
//! it executes, and the changed files and variables it reads.

use std::collections::HashSet;

use rbench_code::{
    elf::Cause,
    impact::{EnteredFunction, Impact},
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    document::Text,
    escape::escape_untrusted,
    grouped,
    names::{LONGEST, Names, short},
    quantity::{MOST_NAMES, change_of_stack},
    table::shorten,
};
use crate::{model::Benchmark, verdict::VerdictKind};

/// The maximum number of functions, files or variables named for a benchmark.
pub const MOST: usize = 3;

/// The starts of the names of functions in which harnesses measure. Their own code is always the same.
const LOOPS: [&str; 4] =
    ["criterion::bencher::", "divan::bench", "rbench_harness::bencher::", "test::bench::"];

/// The difference of a function that refers to other data.
const CONSTANTS: &str = " (same instructions, different constants";

/// The maximum width of an untrusted reason, in columns.
const LONGEST_REASON: usize = 200;

/// The common impact on `number` benchmarks: `a, b: each executes fold (new, 90 bytes)`.
pub fn benchmarks_text(whom: Text, number: usize, words: Text) -> Text {
    let plain = words.plain();
    let is_verb = ["executes ", "reads ", "may "].iter().any(|verb| plain.starts_with(verb));
    let each = if number > 1 && is_verb { "each " } else { "" };
    whom.then(format!(": {each}")).append(words)
}

/// An untrusted name, shortened and escaped.
pub fn name(name: &str) -> Text {
    Text::from_name(short(name))
}

/// A function's untrusted name. One that is too long loses first the modules within angle brackets:
/// `<Split<P> as Iterator>::next`.
fn function_name(name: &str) -> Text {
    let full = escape_untrusted(name);
    let fits = full.width() <= LONGEST;
    Text::from_name(if fits { full } else { short(&without_inner_modules(&full)).into() })
}

/// A path without the modules of the types within its angle brackets.
fn without_inner_modules(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let (mut depth, mut start) = (0_usize, 0);
    let mut before = ' ';
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let continues = character.is_alphanumeric() || character == '_';
        short.push(character);
        if character == ':' && before == ':' && depth > 0 && short[start..].len() > 2 {
            short.truncate(start);
        } else if !continues && character != ':' {
            start = short.len();
        }
        before = character;
    }
    short
}

/// The impact on a benchmark, with at most `most` functions, files or variables:
/// `executes fold (new, 90 bytes)`. Uncertainties follow `because`, such as `measured because`.
pub fn words(impact: &Impact, because: &str, most: usize) -> Text {
    let Impact { functions, files, variables, uncertainties, .. } = impact;
    let (measured, set_up): (Vec<&EnteredFunction>, Vec<&EnteredFunction>) =
        functions.iter().partition(|function| function.while_measuring);
    let functions =
        |functions: &[&EnteredFunction], more| listed(functions, |one| function(one), more, most);
    let mut parts = Vec::new();
    if !measured.is_empty() {
        parts.push(Text::from("executes ").append(functions(&measured, "")));
    }
    if !set_up.is_empty() {
        parts.push(Text::from("set-up differs: ").append(functions(&set_up, "")));
    }
    let differ = |number| if number == 1 { ", which differs" } else { ", which differ" };
    if !files.is_empty() {
        let names = listed(files, |file| name(file), "", most);
        parts.push(Text::from("reads ").append(names).then(differ(files.len())));
    }
    if !variables.is_empty() {
        let names = listed(variables, |variable| name(variable), "", most);
        let plural = if variables.len() == 1 { "" } else { "s" };
        let verb = format!("reads the variable{plural} ");
        parts.push(Text::from(verb).append(names).then(differ(variables.len())));
    }
    if !uncertainties.is_empty() {
        let uncertainty = |uncertainty: &String| {
            Text::from(shorten(&escape_untrusted(uncertainty), LONGEST_REASON))
        };
        let uncertainties = listed(uncertainties, uncertainty, "", most);
        parts.push(Text::from(format!("{because} ")).append(uncertainties));
    }
    Text::joined(parts, "; ")
}

/// A function and its sizes: `fold (624 -> 524 bytes, stack 24 -> 88 bytes)`.
pub fn function(function: &EnteredFunction) -> Text {
    let named = function_name(function.name.as_str());
    if let Cause::Data(data) = &function.cause {
        return match data {
            Some(data) => named.then(CONSTANTS).then(": ").append(name(data.as_str())).then(")"),
            None => named.then(CONSTANTS).then(")"),
        };
    }
    let stack = change_of_stack(function.base_stack, function.head_stack);
    let sizes = match (function.base_size, function.head_size) {
        (Some(base), Some(head)) if base == head => format!(" ({head} bytes, changed{stack})"),
        (Some(base), Some(head)) => format!(" ({base} -> {head} bytes{stack})"),
        (None, Some(head)) => format!(" (new, {head} bytes)"),
        (Some(base), None) => format!(" (removed, {base} bytes)"),
        (None, None) => return named,
    };
    let is_loop = LOOPS.iter().any(|start| function.name.as_str().starts_with(start));
    named.then(sizes).then(if is_loop { ", with the code inlined there" } else { "" })
}

/// The first things and the number of the others: `a, b, c and 3 more that changed`.
pub fn listed<T>(things: &[T], text: impl Fn(&T) -> Text, of_more: &str, most: usize) -> Text {
    let mut shown: Vec<Text> = things.iter().take(most).map(text).collect();
    let last = match things.len().saturating_sub(most) {
        0 => shown.pop().unwrap_or_default(),
        more => Text::from(format!("{more} more{of_more}")),
    };
    if shown.is_empty() { last } else { Text::joined(shown, ", ").then(" and ").append(last) }
}

/// A note on benchmarks with the same impact.
pub struct ImpactNote {
    /// True if they changed; false if they are only not shown to cost the same.
    pub is_changed: bool,
    /// The names of the benchmarks, and the impact on them.
    pub text: Text,
}

pub type ImpactRow<'r> = (&'r Benchmark, VerdictKind, &'r Impact);

/// The notes on the impact on measured benchmarks, unless they are shown to cost the same.
/// Benchmarks with the same impact share a note, which names at most `most` functions, files or
/// variables.
pub fn impact_notes(names: &Names<'_>, rows: &[ImpactRow<'_>], most: usize) -> Vec<ImpactNote> {
    let changed = rows.iter().filter(|(_, kind, _)| kind.is_change());
    let changed: HashSet<&Benchmark> = changed.map(|(benchmark, ..)| *benchmark).collect();
    // A benchmark has one row for each metric.
    let mut met = HashSet::new();
    let shown = rows.iter().filter(|(one, kind, _)| is_shown(*kind) && met.insert(*one));
    let impacts = shown.map(|(benchmark, _, impact)| {
        let is_changed = changed.contains(benchmark);
        let text = measured_words(&own_first(impact, benchmark), is_changed, most);
        ((is_changed, text), *benchmark)
    });
    let note = |((is_changed, text), benchmarks): ((bool, Text), Vec<&Benchmark>)| {
        let shown = benchmarks.iter().map(|one| name(&names.name(one))).collect();
        let whom = Text::few(shown, MOST_NAMES);
        ImpactNote { is_changed, text: benchmarks_text(whom, benchmarks.len(), text) }
    };
    grouped(impacts).into_iter().map(note).collect()
}

/// The impact with the functions of the benchmark's package first: a reader knows them.
pub fn own_first(impact: &Impact, benchmark: &Benchmark) -> Impact {
    let own = benchmark.package.replace('-', "_");
    let mut impact = impact.clone();
    impact.functions.sort_by_key(|function| !function.name.as_str().contains(&own));
    impact
}

/// The impact on a measured benchmark, with at most this many functions, files or variables.
pub fn measured_words(impact: &Impact, is_changed: bool, most: usize) -> Text {
    let nothing = "executes nothing that changed";
    match (impact.is_nothing(), is_changed) {
        (true, true) => Text::from(format!(
            "{nothing}, so memory, input, environment or a path not taken when it was traced must be the reason"
        )),
        (true, false) => nothing.into(),
        (false, _) => words(impact, "measured because", most),
    }
}

/// True if a reader will ask for the impact on a benchmark with this verdict.
pub const fn is_shown(kind: VerdictKind) -> bool {
    kind.is_change() || matches!(kind, VerdictKind::Inconclusive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_function_name_loses_modules_of_types_first() {
        let shown = |name: &str| function_name(name).plain();
        assert_eq!(shown("toolbox::text::long_words"), "toolbox::text::long_words");
        let next = "<core::str::iter::Split<P> as core::iter::traits::iterator::Iterator>::next";
        assert_eq!(shown(next), "<Split<P> as Iterator>::next");
        let entry = "hashbrown::rustc_entry::<impl hashbrown::map::HashMap<K,V,S,A>>::rustc_entry";
        let short = "hashbrown::rustc_entry::<impl HashMap<K,V,S,A>>::rustc_entry";
        assert_eq!(shown(entry), short);
        let arrow =
            "core::ops::function::FnOnce::call_once<fn(a::b::C) -> d::e::F, (g::h::I,), j::K>";
        assert_eq!(shown(arrow), "core::ops::function::FnOnce::call_once<fn(C) -> F, (I,), K>");
        assert_eq!(shown(&format!("a::{}", "b".repeat(70))).chars().count(), LONGEST);
    }
}
