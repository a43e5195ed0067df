//! Words an explanation for people. Names are not escaped yet.

use super::NOTHING;
use crate::{
    callgrind::{Callee, Code, FunctionDifference, Place},
    compare::ExplainedBenchmark,
    report::{
        diff::{data_text, sizes},
        quantity::{and_more, percent},
    },
};

/// The maximum number of callees named for a function.
const MOST_CALLEES: usize = 3;

impl ExplainedBenchmark {
    /// The totals: `12,345 -> 13,000 instructions per iteration: +655 (+5.31 %)`.
    pub(in crate::report) fn totals(&self) -> String {
        let (base, head) = (self.explanation.base, self.explanation.head);
        let share =
            if base > 0.0 { format!(" ({})", percent(head / base - 1.0)) } else { String::new() };
        let difference = signed(self.explanation.difference());
        format!(
            "{} -> {} instructions per iteration: {difference}{share}",
            number(base),
            number(head)
        )
    }

    /// Remarks on all functions together: sentences without a full stop.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let (all, unknown) = (self.explanation.difference(), self.without_reason());
        let are_reasons = self.explanation.reasons().next().is_some();
        if all.abs() < NOTHING {
            remarks.push("both versions execute the same number of instructions".to_owned());
        }
        if !are_reasons && all.abs() >= NOTHING {
            remarks.push(
                "no function that is executed while it is measured has other machine code: \
                 it has other input, or another environment"
                    .to_owned(),
            );
        } else if !are_reasons {
            remarks.push(
                "no function that is executed while it is measured has other machine code: where \
                 times differ, that is memory, input or environment"
                    .to_owned(),
            );
        } else if unknown.abs() >= NOTHING.max(0.05 * all.abs()) {
            remarks.push(format!(
                "{} instructions are not due to a function with other machine code: other \
                 input, or another environment",
                signed(unknown)
            ));
        }
        remarks
    }
}

/// The difference in a function's machine code: `changed, 212 -> 280 bytes`.
pub(super) fn code(function: &FunctionDifference) -> String {
    match &function.code {
        Code::Same => "same code".to_owned(),
        Code::Changed(changed) => {
            data_text(&changed.cause).unwrap_or_else(|| format!("changed, {}", sizes(changed)))
        }
        Code::OnlyBase(sized) => format!("only in the base, {} bytes", sized.size),
        Code::OnlyHead(sized) => format!("only in the head, {} bytes", sized.size),
        Code::Unknown => match &function.place {
            Place::Library(file) if !file.is_empty() => format!("in {file}"),
            _ => "not compared".to_owned(),
        },
    }
}

/// The differences in a function's behaviour, as phrases; empty if the numbers show everything.
pub(super) fn behaviour(function: &FunctionDifference) -> Vec<String> {
    let mut phrases = Vec::new();
    if function.code.differs() {
        phrases.extend(presence(function));
        phrases.extend(callees("now calls", &function.callees_gained));
        phrases.extend(callees("no longer calls", &function.callees_lost));
    } else if function.base.is_some() && function.head.is_some() {
        phrases.extend(other_work(function));
    }
    phrases
}

/// The likely fate of a function that only one version calls.
fn presence(function: &FunctionDifference) -> Option<String> {
    let (when, otherwise) = match (&function.base, &function.head) {
        (Some(_), None) => ("no longer called", "removed"),
        (None, Some(_)) => ("not called before", "absent"),
        _ => return None,
    };
    let is_of_one = matches!(function.code, Code::OnlyBase(_) | Code::OnlyHead(_));
    Some(match &function.inlined_into {
        Some(caller) if is_of_one => format!("{when}: probably inlined into {caller}"),
        _ if is_of_one => format!("{when}: inlined or {otherwise}"),
        _ => when.to_owned(),
    })
}

/// The likely reason why unchanged code executes a different number of instructions in as many
/// calls.
fn other_work(function: &FunctionDifference) -> Option<String> {
    let [base, head] = function.calls();
    let own = function.own();
    let is_shown = own.abs() >= NOTHING && (head - base).abs() < NOTHING;
    let more = if own > 0.0 { "more" } else { "less" };
    is_shown.then(|| format!("executes {more} for other arguments or data"))
}

fn callees(verb: &str, callees: &[Callee]) -> Option<String> {
    let one = |callee: &Callee| {
        let Callee { name, calls, inclusive } = callee;
        let times = number(*calls);
        let times = if times == "1" { "once".to_owned() } else { format!("{times} times") };
        let instructions = number(*inclusive);
        let plural = if instructions == "1" { "" } else { "s" };
        format!("{name} ({times}, {instructions} instruction{plural})")
    };
    let named: Vec<String> = callees.iter().take(MOST_CALLEES).map(one).collect();
    let more = and_more(callees.len(), MOST_CALLEES);
    (!named.is_empty()).then(|| format!("{verb} {}{more}", named.join(", ")))
}

/// The number of calls of a function in both versions: `64`, or `64 -> 128`.
pub(super) fn calls(function: &FunctionDifference) -> String {
    let [base, head] = function.calls().map(number);
    if base == head { head } else { format!("{base} -> {head}") }
}

/// A signed difference: `+1,234`, `-0.25`, `0`.
pub(super) fn signed(difference: f64) -> String {
    let text = number(difference.abs());
    match text.as_str() {
        "0" => text,
        _ if difference < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// A number of instructions or calls of one iteration, with two decimals unless it is an integer:
/// `1,234`, `0.25`.
pub(super) fn number(value: f64) -> String {
    let rounded = format!("{value:.2}");
    let (whole, decimals) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    match decimals.trim_end_matches('0') {
        "" => text,
        decimals => format!("{text}.{decimals}"),
    }
}
