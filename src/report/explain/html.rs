//! The report of `diff --explain` as a web page, and as a part of the page of a comparison: a table of
//! functions.

use askama::Template;

use super::words::{behaviour, calls, code, signed};
use crate::{
    callgrind::FunctionDifference,
    compare::ExplainedBenchmark,
    error::Result,
    report::{
        Report as _,
        document::Text,
        escape::escape_untrusted,
        html::{page, rendered},
        prose::capitalised,
        quantity::count,
        render::header,
    },
};

/// The table of functions, with its notes.
#[derive(Template)]
#[template(path = "functions.html")]
struct Functions {
    /// The name of the benchmark, for readers of the table who use a screen reader.
    name: String,
    remarks: Vec<String>,
    functions: Vec<Row>,
    others: Option<(String, String)>,
    all: String,
    also: Vec<String>,
}

/// One function.
struct Row {
    /// The direction of the difference that it explains.
    class: &'static str,
    name: String,
    caused: String,
    own: String,
    inclusive: String,
    calls: String,
    what: String,
}

impl ExplainedBenchmark {
    pub(super) fn write_html(&self) -> Result<String> {
        let Self { base, head, benchmark, .. } = self;
        let id = benchmark.name.id.as_str();
        let title = Text::from(id).then(format!(" in {head} against {base}"));
        let body = header("diff", &title, &Text::from(self.totals() + "."))
            + &format!(
                "<section aria-labelledby=h0>\n<h2 id=h0>Where the instructions went</h2>\n{}\n</section>",
                self.functions_html()?
            );
        let title = format!("{id}: where its instructions went");
        let file = format!("explain-{}-{}", base.short(), head.short());
        page(&title, &body, &file, Some(&self.json()?))
    }

    /// The table of functions, as a part of a page.
    pub(in crate::report) fn functions_html(&self) -> Result<String> {
        let sentence = |text: &String| escape_untrusted(&capitalised(text)).into_owned();
        let (others, own) = self.others();
        let part = Functions {
            name: escape_untrusted(&self.benchmark.name.id).into_owned(),
            remarks: self.remarks().iter().map(sentence).collect(),
            functions: self.shown().map(Row::new).collect(),
            others: (others > 0).then(|| (count(others, "other function"), signed(own))),
            all: signed(self.explanation.difference()),
            also: self.also().iter().map(|text| sentence(&text.plain())).collect(),
        };
        rendered(&part)
    }
}

impl Row {
    fn new(function: &FunctionDifference) -> Self {
        let is_reason = function.code.differs();
        let mut what = vec![code(function)];
        what.extend(behaviour(function));
        Self {
            class: match function.attributed() {
                more if is_reason && more > 0.0 => "slower",
                less if is_reason && less < 0.0 => "faster",
                _ => "none",
            },
            name: escape_untrusted(function.name.as_str()).into_owned(),
            caused: if is_reason { signed(function.attributed()) } else { String::new() },
            own: signed(function.own()),
            inclusive: signed(function.inclusive()),
            calls: calls(function),
            what: escape_untrusted(&what.join("; ")).into_owned(),
        }
    }
}
