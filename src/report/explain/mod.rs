//! The report of `diff --explain --by instructions`: the functions that account for a change in a benchmark's
//! instructions.

pub(crate) mod time;

use rbench_code::{
    callgrind::{Callee, Code, FunctionDifference, Place},
    impact::{EnteredFunction, Impact},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    diff::{data_text, sizes},
    document::{Block, Document, Medium, Text},
    impact, json,
    quantity::{and_more, count, percent},
    sentence::dependencies_note,
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    compare::ExplainedBenchmark,
    error::Result,
    model::{Benchmark, DependencyChange, Version},
};

/// The maximum number of functions shown to people.
const MOST: usize = 20;

/// The difference below which it is rounding: nothing executes a thousandth of an instruction.
const NOTHING: f64 = 1e-3;

/// The sources of the difference in a benchmark's instructions, for programs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Explained<'r> {
    base: &'r Version,
    head: &'r Version,
    #[serde(flatten)]
    benchmark: &'r Benchmark,
    /// The instructions of one iteration in the base.
    #[schemars(range(min = 0))]
    base_instructions: f64,
    /// The instructions of one iteration in the head.
    #[schemars(range(min = 0))]
    head_instructions: f64,
    /// The additional instructions that no function with different machine code accounts for: other
    /// input, or another environment.
    unattributed: f64,
    /// The functions that either version executed during the measurement, those that explain most
    /// first. All numbers are of one iteration.
    functions: Vec<FunctionFields<'r>>,
    /// The impact, including set-up.
    impact: &'r Impact,
    /// The external packages whose version differs between base and head.
    dependencies: &'r [DependencyChange],
}

/// A function in both versions, with its differences. Over all functions, the sums of `caused` and
/// of `self` are the difference of the totals.
#[derive(Serialize, JsonSchema)]
struct FunctionFields<'r> {
    #[serde(flatten)]
    function: &'r FunctionDifference,
    /// The additional instructions that it accounts for: if its code differs, its own and those of
    /// the functions that it calls and whose code does not differ.
    caused: f64,
    /// The additional instructions that it executes itself.
    #[serde(rename = "self")]
    own: f64,
    /// The additional instructions that it executes together with its callees.
    inclusive: f64,
}

impl ExplainedBenchmark {
    /// The most important functions whose executed instructions differ.
    fn shown(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.different().take(MOST)
    }

    /// The functions that executed a different number of instructions themselves, account for a
    /// difference, or were called more or less often.
    fn different(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.explanation.functions.iter().filter(|function| {
            let [base, head] = function.calls();
            let is_reason = function.code.differs() && function.attributed().abs() >= NOTHING;
            is_reason || [function.own(), head - base].iter().any(|one| one.abs() >= NOTHING)
        })
    }

    /// The number of functions not shown, and the additional instructions that they executed
    /// themselves.
    fn others(&self) -> (usize, f64) {
        let others: Vec<f64> = self.different().skip(MOST).map(FunctionDifference::own).collect();
        (others.len(), others.iter().sum())
    }

    /// The additional instructions that no function with different machine code accounts for.
    fn without_reason(&self) -> f64 {
        let functions = self.explanation.functions.iter();
        functions
            .filter(|function| !function.code.differs())
            .map(FunctionDifference::attributed)
            .sum()
    }
}

impl Report for ExplainedBenchmark {
    fn document(&self, medium: Medium) -> Document {
        let Self { base, head, benchmark, .. } = self;
        let title = Text::from_name(benchmark.to_string()).then(format!(" in {base} and {head}"));
        let mut document = Document::new("diff").titled(title);
        let totals = Text::new().styled(Role::Head, self.totals());
        let remarks = self.remarks().into_iter().map(Text::from);
        document.add(Block::paragraph(std::iter::once(totals).chain(remarks)));
        document.add(self.functions(medium));
        document
    }

    fn json(&self) -> Result<String> {
        let functions = self.explanation.functions.iter().map(|function| FunctionFields {
            function,
            caused: function.attributed(),
            own: function.own(),
            inclusive: function.inclusive(),
        });
        json::document(&Explained {
            base: &self.base,
            head: &self.head,
            benchmark: &self.benchmark,
            base_instructions: self.explanation.base,
            head_instructions: self.explanation.head,
            unattributed: self.without_reason(),
            functions: functions.collect(),
            impact: &self.impact,
            dependencies: &self.dependencies,
        })
    }
}

/// The meaning of the columns, for a page: a terminal shows them beside the notes on each function.
const COLUMNS: &str = "head against base, in instructions of one iteration: a function executed “self” itself and \
                       “inclusive” together with its callees, and is the reason of “caused”, which only functions \
                       have whose machine code differs";

impl ExplainedBenchmark {
    /// The blocks below the totals, which a page of a comparison unfolds.
    pub(in crate::report) fn details(&self) -> Vec<Block> {
        Block::paragraph(self.remarks()).into_iter().chain(self.functions(Medium::Page)).collect()
    }

    fn functions(&self, medium: Medium) -> impl Iterator<Item = Block> {
        let is_shown = self.shown().next().is_some();
        let columns = (is_shown && medium == Medium::Page).then_some(COLUMNS);
        let table = is_shown.then(|| Block::Table(self.table()));
        let notes = Block::list(self.shown().filter_map(note).chain(self.also()));
        Block::paragraph(columns).into_iter().chain(table).chain(notes)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("caused"),
            Column::right("self"),
            Column::right("inclusive").optional(1),
            Column::right("calls").optional(2),
            Column::left("function").names(),
        ]);
        for function in self.shown() {
            let caused = if function.code.differs() {
                coloured(function.attributed())
            } else {
                Cell::default()
            };
            let numbers = [function.own(), function.inclusive()].map(signed);
            let [own, inclusive] = numbers.map(Cell::from);
            let (calls, name) = (calls(function).into(), Cell::name(function.name.as_str()));
            table.row([caused, own, inclusive, calls, name]);
        }
        let sum = |role: Role, own: f64, words: String| {
            let [own, words] = [signed(own), words].map(|text| Cell::styled(role, text));
            [Cell::default(), own, Cell::default(), Cell::default(), words]
        };
        let (others, own) = self.others();
        if others > 0 {
            table.row(sum(Role::Quiet, own, count(others, "other function")));
        }
        let all = self.explanation.difference();
        table.row(sum(Role::Plain, all, "all functions".to_owned()));
        table
    }

    /// Differences besides those in the functions executed during the measurement.
    fn also(&self) -> Vec<Text> {
        let mut impact = self.impact.clone();
        // A function entered after the clock was first read may have run in set-up.
        impact.functions.retain(|function| !self.is_counted(function));
        for function in &mut impact.functions {
            function.while_measuring = false;
        }
        let mut lines = Vec::new();
        if !impact.is_nothing() {
            let words = impact::words(&impact, "may have more impact, because", impact::MOST);
            lines.push(Text::from("also: ").append(words));
        }
        if let Some(note) = dependencies_note(&self.dependencies) {
            lines.push(Text::from(format!("dependencies: {note}")));
        }
        lines
    }

    /// True if the function was executed during the measurement.
    fn is_counted(&self, reached: &EnteredFunction) -> bool {
        self.explanation.functions.iter().any(|function| {
            let of_program = matches!(function.place, Place::Program(_));
            of_program && function.code.differs() && function.name == reached.name
        })
    }
}

fn coloured(difference: f64) -> Cell {
    let role = if difference > 0.0 { Role::Bad } else { Role::Good };
    Cell::styled(role, signed(difference))
}

/// The difference in a function's code, and in its behaviour.
fn note(function: &FunctionDifference) -> Option<Text> {
    let behaviour = behaviour(function);
    if !function.code.differs() && behaviour.is_empty() {
        return None;
    }
    let mut parts = vec![code(function)];
    parts.extend(behaviour);
    Some(Text::from_name(function.name.as_str()).then(format!(": {}", parts.join("; "))))
}

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
fn code(function: &FunctionDifference) -> String {
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
fn behaviour(function: &FunctionDifference) -> Vec<String> {
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
fn calls(function: &FunctionDifference) -> String {
    let [base, head] = function.calls().map(number);
    if base == head { head } else { format!("{base} -> {head}") }
}

/// A signed difference: `+1,234`, `-0.25`, `0`.
fn signed(difference: f64) -> String {
    let text = number(difference.abs());
    match text.as_str() {
        "0" => text,
        _ if difference < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

/// A number of instructions or calls of one iteration, with two decimals unless it is an integer:
/// `1,234`, `0.25`.
fn number(value: f64) -> String {
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

#[cfg(test)]
mod tests;
