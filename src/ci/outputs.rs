//! Writes the outputs of a step, which later steps read.

use std::path::Path;

use crate::{
    error::{Error, Exit},
    report::compare::Comparison,
};

/// The results that later steps need.
#[derive(Clone, Copy, Debug)]
pub struct Outputs<'o> {
    /// The comparison, or the error that prevented it.
    pub result: Result<&'o Comparison, &'o Error>,
    /// The exit code.
    pub exit: Exit,
    /// The directory of the reports.
    pub report: &'o Path,
}

/// Lines for the file at `GITHUB_OUTPUT`. No value contains a line break.
pub fn outputs(outputs: &Outputs<'_>) -> String {
    let Outputs { result, exit, report } = outputs;
    let verdict = match result {
        Ok(comparison) => {
            let worst = comparison.worst().map_or("nothing_compared", |kind| kind.name());
            worst.replace(' ', "_")
        }
        Err(_) => "error".to_owned(),
    };
    let total = |of: fn(&Comparison) -> usize| {
        result.map_or(0, |comparison| comparison.both().map(of).sum::<usize>())
    };
    let lines = [
        ("verdict", verdict),
        ("regressed", total(|one| one.counts.regressed).to_string()),
        ("improved", total(|one| one.counts.improved).to_string()),
        ("inconclusive", total(|one| one.counts.inconclusive).to_string()),
        ("exit-code", (*exit as u8).to_string()),
        ("report", report.display().to_string().replace(['\n', '\r'], " ")),
    ];
    lines.map(|(name, value)| format!("{name}={value}\n")).concat()
}
