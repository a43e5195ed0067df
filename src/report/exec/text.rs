//! The measurements of one process for people.

use super::ExecReport;
use crate::{
    model::{Resources, Series},
    report::{quantity, visible::visible},
};

impl ExecReport {
    pub(super) fn write_text(&self) -> String {
        let mut text = String::new();
        for (benchmark, execution) in self.measured() {
            let head = format!("{benchmark} ({}) of {}", self.harness, self.version);
            text += &format!("{}\n", visible(&head));
            for series in &execution.series {
                text += &series_text(series);
            }
            if let Some(reason) = self.difference(execution) {
                text += &format!(
                    "{} measurements instead of {}: {reason}\n",
                    execution.measurements(),
                    self.request.measurements
                );
            }
        }
        text + &self.resources().map_or(String::new(), resources_text)
    }
}

fn series_text(Series { metric, values, iterations, .. }: &Series) -> String {
    let head = format!("{} in {} per iteration", metric.name, metric.unit);
    let mut text = format!("{}\n", visible(&head));
    for (index, value) in values.iter().enumerate() {
        text += &format!("  {value:>18.3}");
        if let Some(iterations) = iterations.get(index) {
            text += &format!("  ({iterations} iterations)");
        }
        text.push('\n');
    }
    text
}

fn resources_text(resources: &Resources) -> String {
    let [wall, user, system] =
        [resources.wall, resources.user, resources.system].map(quantity::duration);
    let mut text = format!("process: {wall} wall, {user} user, {system} system");
    if let Some(bytes) = resources.peak_memory {
        text += &format!(", {} peak memory", quantity::bytes(bytes));
    }
    let Resources { voluntary_switches, involuntary_switches, .. } = resources;
    text + &format!(
        ", {voluntary_switches} voluntary and {involuntary_switches} involuntary context switches\n"
    )
}
