//! The explanation for a terminal: a table of functions, then what is to be said of each.

use super::{
    ExplainReport,
    words::{behaviour, calls, code, signed},
};
use crate::{
    profile::{FunctionDifference, Place},
    reach::ReachedFunction,
    report::{
        compare::dependencies_note,
        quantity::count,
        reach::Form,
        style::{BAD, GOOD, HEAD, QUIET, paint},
        table::{Cell, Column, Table},
        visible::visible,
    },
};

impl ExplainReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let Self { base, head, benchmark, .. } = self;
        let subject = format!("{benchmark} in {base} and {head}");
        let mut text = format!("{}\n{}\n", visible(&subject), paint(HEAD, &self.totals()));
        for remark in self.remarks() {
            text += &format!("{}\n", visible(&remark));
        }
        if self.shown().next().is_some() {
            text += &format!("\n{}", self.table().fit(columns));
        }
        let notes: Vec<String> = self.shown().filter_map(note).collect();
        if !notes.is_empty() {
            text.push('\n');
        }
        for note in notes {
            text += &format!("{}\n", visible(&note));
        }
        for also in self.also(Form::Text) {
            text += &format!("{also}\n");
        }
        text
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
            let (calls, name) = (calls(function).into(), function.name.as_str().into());
            table.row([caused, own, inclusive, calls, name]);
        }
        let quiet = |text: String| Cell::styled(QUIET, text);
        let (others, own) = self.others();
        if others > 0 {
            let words = count(others, "other function");
            table.row([
                Cell::default(),
                quiet(signed(own)),
                Cell::default(),
                Cell::default(),
                quiet(words),
            ]);
        }
        let all = signed(self.explanation.difference());
        table.row([
            Cell::default(),
            all.into(),
            Cell::default(),
            Cell::default(),
            "all functions".into(),
        ]);
        table
    }

    /// What differs besides the functions that are executed while it is measured, as lines.
    pub(super) fn also(&self, form: Form) -> Vec<String> {
        let mut reach = self.reach.clone();
        // What was entered after the clock was first read may have been so to prepare.
        reach.functions.retain(|function| !self.is_counted(function));
        for function in &mut reach.functions {
            function.while_measuring = false;
        }
        let mut lines = Vec::new();
        if !reach.is_nothing() {
            lines.push(format!("also: {}", form.words(&reach, "may reach more, because")));
        }
        if let Some(note) = dependencies_note(&self.dependencies) {
            let note = match form {
                Form::Text => visible(&note).into_owned(),
                Form::Markdown => crate::report::markdown::escaped(&note),
            };
            lines.push(format!("dependencies: {note}"));
        }
        lines
    }
}

impl ExplainReport {
    /// Whether a function was executed while it was measured.
    fn is_counted(&self, reached: &ReachedFunction) -> bool {
        self.explanation.functions.iter().any(|function| {
            let of_program = matches!(function.place, Place::Program(_));
            of_program && function.code.differs() && function.name == reached.name
        })
    }
}

fn coloured(difference: f64) -> Cell {
    let style = if difference > 0.0 { BAD } else { GOOD };
    Cell::styled(style, signed(difference))
}

/// A line about a function: how its code differs, and what it does otherwise.
fn note(function: &FunctionDifference) -> Option<String> {
    let behaviour = behaviour(function);
    if !function.code.differs() && behaviour.is_empty() {
        return None;
    }
    let mut parts = vec![code(function)];
    parts.extend(behaviour);
    Some(format!("{}: {}", function.name, parts.join("; ")))
}
