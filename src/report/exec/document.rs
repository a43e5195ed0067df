//! The measurements of one process for people.

use super::ExecReport;
use crate::{
    model::{Resources, Series},
    report::{
        document::{Block, Document, Item, Text, Verbatim},
        quantity,
    },
};

impl ExecReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("exec");
        let items = self.measured().map(|(benchmark, execution)| {
            let mut blocks = Vec::new();
            for series in &execution.series {
                let head =
                    format!("{} in {} per iteration", series.metric.name, series.metric.unit);
                blocks.push(Block::Paragraph(vec![head.into()]));
                blocks.push(Block::Verbatim(Verbatim { language: "text", text: values(series) }));
            }
            blocks.extend(self.difference(execution).and_then(|reason| {
                let (taken, requested) = (execution.measurements(), self.request.measurements);
                Block::paragraph([format!("{taken} measurements instead of {requested}: {reason}")])
            }));
            let name = Text::of_name(benchmark.to_string());
            Item::new(name.then(format!(" ({}) of {}", self.harness, self.version)), blocks)
        });
        document.add(Block::list(items));
        document.add(self.resources().map(|all| Block::Paragraph(vec![of_resources(all).into()])));
        document
    }
}

/// A measurement a line.
fn values(Series { values, iterations, .. }: &Series) -> String {
    let line = |(index, value): (usize, &f64)| {
        let iterations = iterations.get(index);
        let iterations = iterations.map(|number| format!("  ({number} iterations)"));
        format!("{value:>18.3}{}\n", iterations.unwrap_or_default())
    };
    values.iter().enumerate().map(line).collect()
}

fn of_resources(resources: &Resources) -> String {
    let [wall, user, system] =
        [resources.wall, resources.user, resources.system].map(quantity::duration);
    let memory = resources.peak_memory;
    let memory = memory.map(|bytes| format!(", {} peak memory", quantity::bytes(bytes)));
    let Resources { voluntary_switches, involuntary_switches, .. } = resources;
    format!(
        "process: {wall} wall, {user} user, {system} system{}, {voluntary_switches} voluntary and \
         {involuntary_switches} involuntary context switches",
        memory.unwrap_or_default()
    )
}
