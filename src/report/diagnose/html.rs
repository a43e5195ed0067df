//! A diagnosis as a web page: the warnings, the plots, and each question.

use askama::Template;

use super::{
    DiagnosisReport, Examination, ExaminedBenchmark, NotExamined,
    sections::{Line, Section},
    text::NOTHING,
};
use crate::{
    failure::Result,
    report::{
        PLAIN_COLUMNS,
        html::page,
        prose::capitalised,
        visible::{visible, visible_lines},
    },
};

#[derive(Template)]
#[template(path = "diagnose.html")]
struct Page {
    version: String,
    lead: String,
    nothing: &'static str,
    benchmarks: Vec<Benchmark>,
}

struct Benchmark {
    name: String,
    place: String,
    failure: Option<String>,
    found: Option<Found>,
    /// The command that writes this page again.
    again: String,
}

struct Found {
    measured: String,
    /// What was found, and what to do.
    warnings: Vec<(String, String)>,
    notes: Vec<String>,
    /// Drawings.
    plots: Vec<String>,
    sections: Vec<SectionFields>,
}

struct SectionFields {
    question: &'static str,
    paper: &'static str,
    /// Whether it is a block, and the text.
    lines: Vec<(bool, String)>,
}

impl DiagnosisReport {
    pub(super) fn write_html(&self) -> Result<String> {
        let version = visible(&self.version.to_string()).into_owned();
        let machine = self.machine.as_ref().map(|machine| format!("Measured on {machine}"));
        let body = Page {
            lead: [visible(&self.version.summary).into_owned()]
                .into_iter()
                .chain(machine.map(|machine| visible(&machine).into_owned()))
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(". "),
            nothing: NOTHING,
            benchmarks: self.benchmarks.iter().map(|one| self.benchmark_html(one)).collect(),
            version,
        };
        let file = format!("diagnose-{}", self.version.short());
        let title = format!("Diagnosis of {}", self.version);
        page(&title, &body, &file, Some(&crate::report::Report::json(self)?))
    }

    fn benchmark_html(&self, examined: &ExaminedBenchmark) -> Benchmark {
        let place = &examined.benchmark;
        let (failure, found) = match &examined.outcome {
            Ok(examination) => (None, Some(examination.html())),
            Err(NotExamined::Failed(reason)) => (Some(format!("failed: {reason}")), None),
            Err(NotExamined::Skipped(reason)) => (Some(format!("skipped: {reason}")), None),
        };
        Benchmark {
            name: visible(&place.name.id).into_owned(),
            place: visible(&format!("{} {}", place.package, place.target)).into_owned(),
            failure: failure.map(|text| visible_lines(&text).into_owned()),
            found,
            again: visible(&self.again(place)).into_owned(),
        }
    }
}

impl Examination {
    fn html(&self) -> Found {
        let warnings = self.warnings.iter().map(|warning| {
            let words = self.words(warning);
            (visible(&words.finding).into_owned(), visible(&words.advice).into_owned())
        });
        let machine = self.machine.iter().map(|warning| self.of_machine(warning));
        let notes = machine.chain(self.conditions.disturbances()).chain(self.notes.iter().cloned());
        Found {
            measured: visible(&self.measured_words()).into_owned(),
            warnings: warnings.collect(),
            notes: notes.map(|note| visible(&note).into_owned()).collect(),
            plots: self.drawn(capitalised).map(|(_, svg)| svg).collect(),
            sections: self.sections(PLAIN_COLUMNS).into_iter().map(section).collect(),
        }
    }
}

/// Lines of one block are one, so that they stand below each other.
fn section(Section { question, paper, lines }: Section) -> SectionFields {
    let mut merged: Vec<(bool, String)> = Vec::new();
    for line in lines {
        let (is_block, text) = match line {
            Line::Prose(text) => (false, visible(&text).into_owned()),
            Line::Block(text) => (true, visible_lines(&text).into_owned()),
        };
        match merged.last_mut() {
            Some((true, block)) if is_block => *block += &format!("\n{text}"),
            _ => merged.push((is_block, text)),
        }
    }
    SectionFields { question, paper, lines: merged }
}
