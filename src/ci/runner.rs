//! Writes texts for the runner of GitHub Actions: annotations, outputs of a step, and a stop command
//! that keeps the output of benchmarks from being read as commands.

use std::{fmt, path::Path};

use super::definition::{Definition, definition};
use crate::{
    error::{Error, Exit},
    escape::escape_untrusted,
    model::FailedTarget,
    report::{
        compare::{Comparison, Row},
        impact::function,
        quantity::{changed_within, value},
    },
    verdict::VerdictKind,
};

/// The number of annotations that GitHub shows for a step.
pub const MOST_ANNOTATIONS: usize = 10;

/// The maximum length of a message, in characters.
const LONGEST: usize = 1_000;

/// The severity of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Makes the job fail.
    Error,
    /// Does not make the job fail.
    Warning,
}

/// A message for the runner. Its text is exactly one command, whatever its parts contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The severity.
    pub level: Level,
    /// The source line where it is shown.
    pub place: Option<Definition>,
    /// The heading.
    pub title: String,
    /// The text.
    pub message: String,
}

/// Annotations of regressions and failures, the worst first. `sources` are the paths and texts of the
/// changed files.
pub fn annotations(
    comparison: &Comparison,
    advisory: bool,
    sources: &[(String, String)],
) -> Vec<Annotation> {
    let mut all = Vec::new();
    for one in comparison.both() {
        let names = one.names();
        let against = if std::ptr::eq(one, comparison) {
            String::new()
        } else {
            format!(" since {}", one.base.short())
        };
        let is_told =
            |row: &&Row| matches!(row.verdict, VerdictKind::Regressed | VerdictKind::Failed);
        let mut rows: Vec<&Row> = one.benchmarks.iter().filter(is_told).collect();
        let size = |row: &Row| row.estimate().unwrap_or(0.0);
        rows.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(size(b).total_cmp(&size(a))));
        for row in rows {
            let name = row.name(&names);
            let has_failed = row.verdict == VerdictKind::Failed;
            let mut functions = row.impact.iter().flat_map(|impact| &impact.functions);
            let place = functions.find_map(|function| definition(sources, function.name.as_str()));
            let level = if advisory && !has_failed { Level::Warning } else { Level::Error };
            let title = format!("benchmark {}{against}", row.verdict.name());
            let reason = if has_failed { row.reason.text.clone() } else { message(row) };
            let message = format!("{name}: {reason}");
            all.push(Annotation { level, place, title, message });
        }
        let failed = |FailedTarget { target, error }: &FailedTarget| Annotation {
            level: Level::Error,
            place: None,
            title: "bench target failed".to_owned(),
            message: format!("{target}: {error}"),
        };
        all.extend(one.failed_targets.iter().map(failed));
    }
    let more = all.len().saturating_sub(MOST_ANNOTATIONS);
    all.truncate(MOST_ANNOTATIONS);
    if let Some(last) = all.last_mut().filter(|_| more > 0) {
        let beginning: String = last.message.chars().take(LONGEST / 2).collect();
        last.message = format!("{beginning} (and {more} more: see the summary)");
    }
    all
}

/// `+5.00 % (+4.10 .. +5.90), 10.00 ns -> 10.50 ns; it executes fold (new, 90 bytes)`.
fn message(row: &Row) -> String {
    let mut text = String::new();
    if let Some(change) = &row.change {
        text += &changed_within(&change.change);
    }
    if let Some(([base, head], unit)) = row.values() {
        text += &format!(", {} -> {}", value(base, unit), value(head, unit));
    }
    if let Some(first) = row.impact.iter().flat_map(|impact| &impact.functions).next() {
        text += &format!("; it executes {}", function(first).plain());
    }
    text
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let place = self
            .place
            .as_ref()
            .map(|Definition { path, line }| format!("file={},line={line},", property(path)));
        let message: String = self.message.chars().take(LONGEST).collect();
        write!(
            f,
            "::{level} {}title={}::{}",
            place.unwrap_or_default(),
            property(&self.title),
            data(&escape_untrusted(&message))
        )
    }
}

/// The command after which the runner executes no commands until it reads the token again.
pub fn stop(token: &str) -> String {
    format!("::stop-commands::{token}")
}

/// The command that ends [`stop`].
pub fn resume(token: &str) -> String {
    format!("::{token}::")
}

/// Escapes the message of a command, on one line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

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
