//! The lines for `bench.toml`.

use super::{PlanReport, Suggestion};
use crate::model::Interleave;

impl PlanReport {
    /// The tables to paste; empty where nothing is known.
    pub(super) fn toml(&self) -> String {
        let Suggestion { builds, executions, measurements, own, .. } = &self.suggestion;
        let Some(builds) = builds else { return String::new() };
        let mut text = format!("[experiment]\nbuilds = {builds}\n");
        if let Some(executions) = executions {
            text += &format!("executions = {executions}\n");
        }
        match (measurements, self.compared) {
            (Some(number), Interleave::Executions) => text += &format!("measurements = {number}\n"),
            // In turns, measurements are shorter and disturbed alike: this says nothing of them.
            (Some(number), Interleave::Turns) => {
                text +=
                    &format!("# measurements = {number}  # only for interleave = \"executions\"\n");
            }
            (None, _) => {}
        }
        for (index, builds) in own {
            let place = &self.benchmarks[*index].benchmark;
            let filter = format!("^{}$", regex::escape(&place.name.id));
            text += &format!(
                "\n[[benchmark]]\nfilter = {}\npackage = {}\nbench = {}\nbuilds = {builds}\n",
                string(&filter),
                string(&place.package),
                string(&place.target),
            );
        }
        text
    }
}

/// A string of TOML, on one line.
fn string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            hidden if crate::report::visible::is_hidden(hidden) => {
                out += &format!("\\u{:04X}", u32::from(hidden));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
