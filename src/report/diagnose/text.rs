//! A diagnosis for people at a terminal: first the warnings, then each question.

use super::{
    Conditions, DiagnosisReport, Examination, ExaminedBenchmark, NotExamined,
    sections::{Line, Section},
};
use crate::{
    diagnosis::Warning,
    model::Benchmark,
    report::{
        prose::{filled, first_line_filled},
        quantity::{self, count, duration, size},
        style::{self, paint},
        visible::{visible, visible_lines},
    },
};

/// Lines of prose are not longer than this, on however wide a terminal.
const LONGEST: usize = 100;

impl DiagnosisReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let columns = columns.min(LONGEST);
        let version = paint(style::HEAD, &self.version.to_string());
        let summary = visible(&self.version.summary);
        let mut text = format!("{version}  {summary}").trim_end().to_owned() + "\n";
        if let Some(machine) = &self.machine {
            text += &format!("machine: {}\n", visible(&machine.to_string()));
        }
        for examined in &self.benchmarks {
            text += &format!("\n{}", self.benchmark(examined, columns));
        }
        text
    }

    fn benchmark(&self, examined: &ExaminedBenchmark, columns: usize) -> String {
        let place = &examined.benchmark;
        let mut text = format!(
            "{}  {}\n",
            paint(style::HEAD, &place.name.id),
            visible(&format!("{} {}", place.package, place.target))
        );
        match &examined.outcome {
            Ok(examination) => {
                text += &examination.text(columns);
                text += &format!("\nthis report again: {}\n", visible(&self.again(place)));
            }
            Err(not) => text += &not.text(columns),
        }
        text
    }
}

impl DiagnosisReport {
    /// The command that reports on a benchmark again.
    pub(super) fn again(&self, benchmark: &Benchmark) -> String {
        let filter = ("filter", Some(benchmark.name.id.as_str()));
        let options = [filter, ("exact", None), ("from-stored", None)];
        self.command_line.suggest("diagnose", &[&self.version.to_type()], &options)
    }
}

impl NotExamined {
    fn text(&self, columns: usize) -> String {
        let line = match self {
            Self::Failed(reason) => format!("failed: {}", visible_lines(reason)),
            Self::Skipped(reason) => format!("skipped: {}", visible_lines(reason)),
        };
        first_line_filled(&line, columns)
    }
}

impl Examination {
    fn text(&self, columns: usize) -> String {
        let mut text = filled(&self.measured_words(), columns);
        for line in self.conditions.disturbances() {
            text += &filled(&format!("note: {line}"), columns);
        }
        for note in &self.notes {
            text += &filled(&format!("note: {}", visible(note)), columns);
        }
        text += "\n";
        for warning in &self.warnings {
            let words = self.words(warning);
            let line = format!("{}: {}", visible(&words.finding), visible(&words.advice));
            let line = filled(&format!("warning: {line}"), columns);
            let (head, rest) = line.split_at("warning:".len());
            text += &format!("{}{rest}", paint(style::DOUBTFUL, head));
        }
        if self.warnings.is_empty() {
            text += NOTHING;
        }
        for warning in &self.machine {
            text +=
                &filled(&format!("no warning: {}", visible(&self.of_machine(warning))), columns);
        }
        for Section { question, paper, lines } in self.sections(columns) {
            let fits = question.chars().count() + 2 + paper.chars().count() <= columns;
            let gap = if fits { "  " } else { "\n  " };
            let (question, paper) = (paint(style::HEAD, question), paint(style::QUIET, paper));
            text += &format!("\n{question}{gap}{paper}\n");
            for line in lines {
                text += &indented(&match line {
                    Line::Prose(prose) => filled(&visible(&prose), columns.saturating_sub(2)),
                    Line::Block(block) => visible_lines(&block).into_owned() + "\n",
                });
            }
        }
        text
    }

    /// What the machine may have done as well, in a sentence.
    pub(super) fn of_machine(&self, warning: &Warning) -> String {
        format!(
            "{}; but the control, a loop in registers that is steady, was measured in turns with it and shows the \
             same, so this may well be the machine",
            self.words(warning).finding
        )
    }

    /// How much was measured: `10 builds × 10 executions × 200 measurements of 1 ms, 1.050 µs for an iteration`.
    pub(super) fn measured_words(&self) -> String {
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
        format!("{}{each}{iterations}{load}{mean}", quantity::dimensions(*dimensions))
    }
}

/// What is said where there is no warning.
pub(super) const NOTHING: &str = "nothing was found that needs a warning\n";

impl Conditions {
    /// What disturbed the measurements, as sentences.
    pub(super) fn disturbances(&self) -> Vec<String> {
        /// Below these shares nothing is said.
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

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "  " + line + "\n")
}
