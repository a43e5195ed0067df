//! The report of `diagnose` for people: first the warnings, then each question.

use super::{
    Conditions, DiagnosisReport, Examination, ExaminedBenchmark, NotExamined, line::Line,
    sections::Section,
};
use crate::{
    diagnosis::Warning,
    model::Benchmark,
    report::{
        PLAIN_COLUMNS,
        document::{Block, Document, Item, Medium, Text, Verbatim},
        prose::capitalised,
        quantity::{self, count, duration, size},
        style::Role,
    },
};

impl DiagnosisReport {
    pub(super) fn write_document(&self, medium: Medium) -> Document {
        let mut document = Document::new("diagnose").titled(self.version.to_string());
        document.lead = Text::from(&*self.version.summary);
        let machine = self.machine.as_ref().map(|machine| format!("machine: {machine}"));
        document.add(Block::paragraph(machine));
        for ExaminedBenchmark { benchmark, outcome } in &self.benchmarks {
            let head = Text::new().styled_name(Role::Head, &*benchmark.name.id);
            let of = format!("  {} {}", benchmark.package, benchmark.target);
            document.add([Block::Heading(head.then(of))]);
            match outcome {
                Ok(examination) => {
                    document.add(examination.blocks(medium));
                    let again = Text::from("this report again: ").command(self.again(benchmark));
                    document.add(Block::paragraph([again]));
                }
                Err(not) => document.add(Block::paragraph([not.text()])),
            }
        }
        document
    }

    /// The command that reports on a benchmark again.
    fn again(&self, benchmark: &Benchmark) -> String {
        let filter = ("filter", Some(benchmark.name.id.as_str()));
        let options = [filter, ("exact", None), ("from-stored", None)];
        self.command_line.suggest("diagnose", &[&self.version.revision_arg()], &options)
    }
}

impl NotExamined {
    fn text(&self) -> Text {
        match self {
            Self::Failed(reason) => Text::from("failed: ").message(reason),
            Self::Skipped(reason) => Text::from("skipped: ").message(reason),
        }
    }
}

impl Examination {
    fn blocks(&self, medium: Medium) -> Vec<Block> {
        let notes = self.conditions.disturbances().into_iter().chain(self.notes.iter().cloned());
        let notes = notes.map(|note| format!("note: {note}"));
        let measured = std::iter::once(self.measured_words());
        let mut blocks: Vec<Block> = Block::list(measured.chain(notes)).into_iter().collect();
        blocks.extend(self.warnings.iter().map(|warning| {
            let words = self.words(warning);
            let finding = Text::new().styled(Role::Doubtful, words.finding);
            Block::Warning(finding.then(format!(": {}", words.advice)), None)
        }));
        if self.warnings.is_empty() {
            blocks.extend(Block::paragraph([NOTHING]));
        }
        let machine = self.machine.iter();
        let machine = machine.map(|one| format!("no warning: {}", self.machine_warning(one)));
        blocks.extend(Block::list(machine));
        let columns = match medium {
            Medium::Terminal { columns } => columns.min(LONGEST),
            Medium::Markdown | Medium::Page => PLAIN_COLUMNS,
        };
        let sections: Vec<Block> = self.sections(columns).into_iter().flat_map(section).collect();
        if medium == Medium::Page {
            blocks.push(Block::Drawings(self.drawn(capitalised).map(|(_, svg)| svg).collect()));
        }
        if matches!(medium, Medium::Terminal { .. }) {
            blocks.extend(sections);
        } else {
            blocks.push(Block::Details("every question, with figures".into(), sections));
        }
        blocks
    }

    /// A warning that the control shares, in a sentence.
    fn machine_warning(&self, warning: &Warning) -> String {
        format!(
            "{}; but the control, a loop in registers that is steady, was interleaved with it and shows the \
             same, so this may well be the machine",
            self.words(warning).finding
        )
    }

    /// The sample sizes: `10 builds × 10 executions × 200 measurements of 1 ms, 1.050 µs for an
    /// iteration`.
    fn measured_words(&self) -> String {
        let Conditions { dimensions, measurement, iterations, load, .. } = &self.conditions;
        let each = measurement.map_or(String::new(), |time| format!(" of {}", short(time)));
        let iterations = iterations.map_or(String::new(), |number| {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            format!(", {} each", count(number, "iteration"))
        });
        let load = match load {
            0 => String::new(),
            1 => ", beside 1 busy process".to_owned(),
            load => format!(", beside {load} busy processes"),
        };
        let unit = self.data.metric().unit;
        let mean = self.findings.variance.as_ref().ok().map(|found| found.mean);
        let mean = mean.map_or(String::new(), |mean| {
            format!(", {} for an iteration on average", quantity::value(mean, unit))
        });
        format!("{}{each}{iterations}{load}{mean}", quantity::sample_sizes(*dimensions))
    }
}

/// The sentence in place of warnings.
const NOTHING: &str = "nothing was found that needs a warning";

/// The maximum width of plots in columns, on however wide a terminal.
const LONGEST: usize = 100;

impl Conditions {
    /// The disturbances of the measurements, as sentences.
    fn disturbances(&self) -> Vec<String> {
        /// The share below which a disturbance is not mentioned.
        const LITTLE: f64 = 0.1;
        let mut lines = Vec::new();
        if self.warm_up > std::time::Duration::ZERO {
            lines.push(format!(
                "a warm-up of {} came before the first measurement",
                duration(self.warm_up)
            ));
        }
        if let Some(share) = self.others.filter(|share| *share > LITTLE && self.load == 0) {
            lines.push(format!(
                "other processes used {} of the CPU time meanwhile, and some of what is found may be theirs",
                size(share)
            ));
        }
        if let Some(share) = self.preempted.filter(|share| *share > LITTLE && self.load == 0) {
            lines.push(format!(
                "{} of the executions were often interrupted by others",
                size(share)
            ));
        }
        lines
    }
}

/// A time in two or three digits, also below a millisecond.
fn short(time: std::time::Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        short if short < 0.0995 => format!("{:.0} µs", 1e3 * short),
        short if short < 9.95 => format!("{short:.2} ms"),
        _ => duration(time),
    }
}

/// A question with its answer. Consecutive block lines are one block.
fn section(Section { question, paper, lines }: Section) -> Vec<Block> {
    let mut items: Vec<Item> = vec![Text::new().styled(Role::Quiet, paper).into()];
    let mut block = String::new();
    let mut last = Item::default();
    for line in lines {
        match line {
            Line::Block(drawn) => block += &format!("{drawn}\n"),
            Line::Prose(prose) => {
                items.extend(finished(&mut last, &mut block));
                last.text = prose.into();
            }
        }
    }
    items.extend(finished(&mut last, &mut block));
    vec![Block::heading(question), Block::List(items)]
}

/// Takes the entry collected so far, unless it is empty.
fn finished(item: &mut Item, block: &mut String) -> Option<Item> {
    let mut item = std::mem::take(item);
    let text = std::mem::take(block);
    if !text.is_empty() {
        item.blocks.push(Block::Verbatim(Verbatim { language: "text", text }));
    }
    (!item.text.is_empty() || !item.blocks.is_empty()).then_some(item)
}
