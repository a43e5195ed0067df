//! The report of `diagnose` for people: first the warnings, then each question.

use std::time::Duration;

use super::{Conditions, DiagnosisReport, Examination, ExaminationOutcome, ExaminedBenchmark};
use crate::{
    error::Result,
    model::Benchmark,
    report::{
        Report,
        document::{Block, Document, Medium, Text},
        json,
        quantity::{self, duration, size},
        style::Role,
    },
};

impl Report for DiagnosisReport {
    fn document(&self, medium: Medium) -> Document {
        let mut document = Document::new("diagnose").titled(self.version.to_string());
        document.lead = Text::from(&*self.version.summary);
        let machine = self.machine.as_ref().map(|machine| format!("machine: {machine}"));
        document.add(Block::paragraph(machine));
        for ExaminedBenchmark { benchmark, outcome } in &self.benchmarks {
            let head = Text::new().styled_name(Role::Head, &*benchmark.name.id);
            let of = format!("  {} {}", benchmark.package, benchmark.target);
            document.add([Block::Heading(head.then(of))]);
            let last = match outcome {
                ExaminationOutcome::Diagnosis(examination) => {
                    document.add(examination.blocks(medium));
                    Text::from("this report again: ").command(self.again(benchmark))
                }
                ExaminationOutcome::Failure(reason) => Text::from("failed: ").message(reason),
                ExaminationOutcome::Skipped(reason) => Text::from("skipped: ").message(reason),
            };
            document.add(Block::paragraph([last]));
        }
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

impl DiagnosisReport {
    /// The command that reports on a benchmark again.
    fn again(&self, benchmark: &Benchmark) -> String {
        let filter = ("filter", Some(benchmark.name.id.as_str()));
        let options = [filter, ("exact", None), ("from-stored", None)];
        self.command_line.suggest("diagnose", &[&self.version.revision_arg()], &options)
    }
}

impl Examination {
    fn blocks(&self, medium: Medium) -> Vec<Block> {
        let notes = self.conditions.disturbances().into_iter().chain(self.notes.iter().cloned());
        let notes = notes.map(|note| format!("note: {note}"));
        let measured = std::iter::once(self.measured_words());
        let mut blocks: Vec<Block> = Block::list(measured.chain(notes)).into_iter().collect();
        blocks.extend(self.warnings.iter().map(|warning| {
            let finding = Text::new().styled(Role::Doubtful, &*warning.finding);
            Block::Warning(finding.then(format!(": {}", warning.advice)), None)
        }));
        if self.warnings.is_empty() {
            blocks.extend(Block::paragraph(["nothing was found that needs a warning"]));
        }
        blocks.extend(Block::list(self.machine_warnings.iter().map(|warning| {
            format!(
                "no warning: {}; but the control, a steady loop in registers, ran interleaved with \
                 it and shows the same, so the machine may be the cause",
                warning.finding
            )
        })));
        if medium == Medium::Page {
            blocks.push(Block::Drawings(self.plots()));
        }
        if matches!(medium, Medium::Terminal { .. }) {
            blocks.extend(self.questions());
        } else {
            blocks.push(Block::Details("every question, with figures".into(), self.questions()));
        }
        blocks
    }

    /// The sample sizes: `10 builds × 10 executions × 200 measurements of 1 ms, 1.050 µs for an
    /// iteration`.
    fn measured_words(&self) -> String {
        let conditions = &self.conditions;
        let each = conditions
            .measurement_seconds
            .map_or(String::new(), |time| format!(" of {}", short(time)));
        let iterations = conditions
            .iterations
            .map_or(String::new(), |number| format!(", {} each", quantity::iterations(number)));
        let load = match conditions.beside() {
            beside if beside.is_empty() => beside,
            beside => format!(",{beside}"),
        };
        let unit = self.data.metric().unit;
        let mean = self.findings.variance.as_ref().map_or(String::new(), |found| {
            format!(", {} for an iteration on average", quantity::value(found.mean, unit))
        });
        format!("{}{each}{iterations}{load}{mean}", quantity::sample_sizes(conditions.sample_sizes))
    }
}

impl Conditions {
    /// The disturbances of the measurements, as sentences.
    fn disturbances(&self) -> Vec<String> {
        /// The share below which a disturbance is not mentioned.
        const LITTLE: f64 = 0.1;
        let alone = |share: Option<f64>| share.filter(|share| *share > LITTLE && self.load == 0);
        let warm_up = (self.warm_up_seconds > 0.0).then(|| {
            let time = duration(Duration::from_secs_f64(self.warm_up_seconds));
            format!("a warm-up of {time} came before the first measurement")
        });
        let others = alone(self.others).map(|share| {
            format!(
                "other processes used {} of the CPU time meanwhile, and may have caused some of the findings",
                size(share)
            )
        });
        let preempted = alone(self.preempted).map(|share| {
            format!("{} of the executions were often interrupted by others", size(share))
        });
        [warm_up, others, preempted].into_iter().flatten().collect()
    }

    /// The busy processes at the same time, to append to a phrase; empty without any.
    pub(super) fn beside(&self) -> String {
        match self.load {
            0 => String::new(),
            1 => " beside 1 busy process".to_owned(),
            load => format!(" beside {load} busy processes"),
        }
    }
}

/// A time in two or three digits, also below a millisecond.
fn short(seconds: f64) -> String {
    match 1e3 * seconds {
        short if short < 0.0995 => format!("{:.0} µs", 1e3 * short),
        short if short < 9.95 => format!("{short:.2} ms"),
        _ => duration(Duration::from_secs_f64(seconds)),
    }
}
