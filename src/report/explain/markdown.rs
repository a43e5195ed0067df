//! The explanation for pull requests and web pages.

use super::{
    ExplainReport,
    words::{behaviour, calls, code as code_of, signed},
};
use crate::report::{
    markdown::{code, code_in_table, cut, escaped},
    quantity::count,
    reach::Form,
};

/// Comments on GitHub hold 65,536 characters.
const ROOM: usize = 50_000;

impl ExplainReport {
    pub(super) fn write_markdown(&self) -> String {
        let Self { base, head, benchmark, .. } = self;
        let mut text = format!(
            "### Where the instructions of {} went\n\n{} and {}: {}.\n",
            code(&benchmark.name.id),
            escaped(&base.to_string()),
            escaped(&head.to_string()),
            escaped(&self.totals())
        );
        for remark in self.remarks() {
            text += &format!("\n{}.\n", escaped(&remark));
        }
        if self.shown().next().is_some() {
            text += "\n| caused | self | inclusive | calls | function | what of it |\n\
                     | ---: | ---: | ---: | ---: | --- | --- |\n";
            text += &cut(self.rows().into_iter(), ROOM, "functions");
        }
        for also in self.also(Form::Markdown) {
            text += &format!("\n{also}\n");
        }
        text
    }

    fn rows(&self) -> Vec<String> {
        let row = |cells: [&str; 6]| format!("| {} |\n", cells.join(" | "));
        let mut rows: Vec<String> = Vec::new();
        for function in self.shown() {
            let caused = function.code.differs().then(|| signed(function.attributed()));
            let mut what = vec![code_of(function)];
            what.extend(behaviour(function));
            rows.push(row([
                &caused.unwrap_or_default(),
                &signed(function.own()),
                &signed(function.inclusive()),
                &escaped(&calls(function)),
                &code_in_table(function.name.as_str()),
                &escaped(&what.join("; ")),
            ]));
        }
        let (others, own) = self.others();
        if others > 0 {
            rows.push(row(["", &signed(own), "", "", &count(others, "other function"), ""]));
        }
        let all = signed(self.explanation.difference());
        rows.push(row(["", &all, "", "", "all functions", ""]));
        rows
    }
}
