//! The report of `diff --explain` for people: a table of functions, then notes on each.

use super::words::{behaviour, calls, code, signed};
use crate::{
    callgrind::{FunctionDifference, Place},
    compare::ExplainedBenchmark,
    impact::ReachedFunction,
    report::{
        compare::dependencies_note,
        document::{Block, Document, Medium, Text},
        impact,
        quantity::count,
        style::Role,
        table::{Cell, Column, Table},
    },
};

/// The meaning of the columns, for a page: a terminal shows them beside the notes on each function.
const COLUMNS: &str = "head against base, in instructions of one iteration: a function executed “self” itself and \
                       “inclusive” together with its callees, and is the reason of “caused”, which only functions \
                       have whose machine code differs";

impl ExplainedBenchmark {
    pub(super) fn write_document(&self, medium: Medium) -> Document {
        let Self { base, head, benchmark, .. } = self;
        let title = Text::from_name(benchmark.to_string()).then(format!(" in {base} and {head}"));
        let mut document = Document::new("diff").titled(title);
        let totals = Text::new().styled(Role::Head, self.totals());
        let remarks = self.remarks().into_iter().map(Text::from);
        document.add(Block::paragraph(std::iter::once(totals).chain(remarks)));
        document.add(self.functions(medium));
        document
    }

    /// The blocks below the totals, which a page of a comparison unfolds.
    pub(in crate::report) fn details(&self) -> Vec<Block> {
        Block::paragraph(self.remarks()).into_iter().chain(self.functions(Medium::Page)).collect()
    }

    /// The table of functions, and notes on each.
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
        let mut reach = self.reach.clone();
        // A function entered after the clock was first read may have run in set-up.
        reach.functions.retain(|function| !self.is_counted(function));
        for function in &mut reach.functions {
            function.while_measuring = false;
        }
        let mut lines = Vec::new();
        if !reach.is_nothing() {
            let words = impact::words(&reach, "may have more impact, because", impact::MOST);
            lines.push(Text::from("also: ").append(words));
        }
        if let Some(note) = dependencies_note(&self.dependencies) {
            lines.push(Text::from(format!("dependencies: {note}")));
        }
        lines
    }

    /// True if the function was executed during the measurement.
    fn is_counted(&self, reached: &ReachedFunction) -> bool {
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
