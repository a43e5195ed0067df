//! A diagnosis for pull requests and web pages.

use super::{
    DiagnosisReport, Examination, ExaminedBenchmark, NotExamined,
    sections::{Line, Section},
    text::NOTHING,
};
use crate::report::{
    PLAIN_COLUMNS,
    markdown::{code, escaped, fenced, folded, message},
};

impl DiagnosisReport {
    pub(super) fn write_markdown(&self) -> String {
        let mut text = format!("## Diagnosis of {}\n", escaped(&self.version.to_string()));
        if let Some(machine) = &self.machine {
            text += &format!("\nMeasured on {}.\n", escaped(&machine.to_string()));
        }
        for ExaminedBenchmark { benchmark, outcome } in &self.benchmarks {
            let place = format!("{} {}", benchmark.package, benchmark.target);
            text += &format!("\n### {} ({})\n\n", code(&benchmark.name.id), escaped(&place));
            text += &match outcome {
                Ok(examination) => examination.markdown(),
                Err(NotExamined::Failed(reason)) => message(&format!("failed: {reason}")),
                Err(NotExamined::Skipped(reason)) => message(&format!("skipped: {reason}")),
            };
        }
        text
    }
}

impl Examination {
    fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", escaped(&self.measured_words()));
        for warning in &self.warnings {
            let words = self.words(warning);
            text += &format!("- ⚠️ **{}**: {}\n", escaped(&words.finding), escaped(&words.advice));
        }
        if self.warnings.is_empty() {
            text += NOTHING;
        }
        let machine = self.machine.iter().map(|warning| self.of_machine(warning));
        let notes = machine.chain(self.conditions.disturbances());
        let notes = notes.chain(self.notes.iter().cloned());
        let notes: Vec<String> = notes.map(|note| format!("- {}\n", escaped(&note))).collect();
        if !notes.is_empty() {
            text += &format!("\nTo know:\n\n{}", notes.concat());
        }
        let sections = self.sections(PLAIN_COLUMNS);
        let sections: String = sections.iter().map(section).collect();
        text + &folded("Every question, with figures", &sections)
    }
}

fn section(Section { question, paper, lines }: &Section) -> String {
    let mut text = format!("\n#### {question}\n\n{}\n", escaped(paper));
    let mut block = String::new();
    for line in lines {
        match line {
            Line::Block(drawn) => block += &format!("{drawn}\n"),
            Line::Prose(prose) => {
                text += &taken(&mut block);
                text += &format!("\n{}\n", escaped(prose));
            }
        }
    }
    text + &taken(&mut block)
}

/// The lines that were gathered, as one block.
fn taken(block: &mut String) -> String {
    if block.is_empty() { String::new() } else { fenced(&std::mem::take(block)) }
}
