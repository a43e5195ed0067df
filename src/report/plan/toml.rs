//! Writes the lines for `bench.toml`.

use super::{PlanReport, Suggestion};
use crate::model::Mode;

impl PlanReport {
    /// The tables to paste; empty without data.
    pub(super) fn toml(&self) -> String {
        let Suggestion { builds, executions, measurements, individual: own, .. } = &self.suggestion;
        let Some(builds) = builds else { return String::new() };
        let mut text = format!("[experiment]\nbuilds = {builds}\n");
        if let Some(executions) = executions {
            text += &format!("executions = {executions}\n");
        }
        match (measurements, self.compared) {
            (Some(number), Mode::Sequential) => text += &format!("measurements = {number}\n"),
            // Interleaved measurements are shorter and disturbed alike, so this number does not
            // apply to them.
            (Some(number), Mode::Interleaved) => {
                text += &format!("# measurements = {number}  # only for mode = \"sequential\"\n");
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

/// A TOML string, on one line.
fn string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            hidden if crate::report::escape::is_hidden(hidden) => {
                out += &format!("\\u{:04X}", u32::from(hidden));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
