//! Writes texts for the runner of GitHub Actions: annotations, outputs of a step, and a stop command
//! that keeps the output of benchmarks from being read as commands.
//!
//! An annotation points to the line that defines a function, which a text search finds in the changed
//! source files. It prefers no line to a wrong one.

use std::{fmt, path::Path};

use crate::{
    compare::UnlistedTarget,
    error::{Error, Exit},
    escape::escape_untrusted,
    report::{
        compare::{Comparison, Comparisons, Row},
        impact::function,
        quantity::{changed_within, value},
    },
    verdict::VerdictKind,
};

/// The number of annotations that GitHub shows for a step.
pub const MOST_ANNOTATIONS: usize = 10;

/// The maximum length of a message, in characters.
const LONGEST: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Error,
    /// Does not make the job fail.
    Warning,
}

/// A message for the runner. Its text is exactly one command, whatever its parts contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub level: Level,
    /// The source line where it is shown.
    pub place: Option<Definition>,
    pub title: String,
    pub message: String,
}

/// Annotations of regressions and failures, the worst first. `sources` are the paths and texts of the
/// changed files.
pub fn annotations(
    comparison: &Comparisons,
    advisory: bool,
    sources: &[(String, String)],
) -> Vec<Annotation> {
    let mut all = Vec::new();
    for (number, one) in comparison.both().enumerate() {
        let names = one.names();
        let against =
            if number == 0 { String::new() } else { format!(" since {}", one.base.short()) };
        let is_annotated =
            |row: &&Row| matches!(row.verdict, VerdictKind::Regressed | VerdictKind::Failed);
        let mut rows: Vec<&Row> = one.benchmarks.iter().filter(is_annotated).collect();
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
        let failed = |target: &UnlistedTarget| Annotation {
            level: Level::Error,
            place: None,
            title: "bench target failed".to_owned(),
            message: format!("{}: {}", target.failed.target, target.reason()),
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

/// The results that later steps need, as lines for the file at `GITHUB_OUTPUT`: the comparison or the error that prevented
/// it, the exit code, and the directory of the reports. No value contains a line break.
pub fn outputs(result: Result<&Comparisons, &Error>, exit: Exit, report: &Path) -> String {
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
        ("exit-code", (exit as u8).to_string()),
        ("report", report.display().to_string().replace(['\n', '\r'], " ")),
    ];
    lines.map(|(name, value)| format!("{name}={value}\n")).concat()
}

/// A line of the source, by its path in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// The definition of a function in these files (paths and texts); `None` unless there is exactly
/// one candidate.
pub fn definition(sources: &[(String, String)], name: &str) -> Option<Definition> {
    let segments = segments(name);
    let word = segments.last()?;
    let mut places = Vec::new();
    for (path, text) in sources {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| defines(line, word));
        places.extend(lines.map(|(line, _)| Definition { path: path.clone(), line }));
    }
    if let [_] = &places[..] {
        return places.pop();
    }
    // Several functions have the name: the module may decide.
    let module = segments.iter().rev().nth(1)?;
    places.retain(|place| {
        let path = place.path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.rsplit('/').next() == Some(module)
    });
    if let [_] = &places[..] { places.pop() } else { None }
}

/// The identifiers in a path: `ryu::d2s::<impl A for B>::f::{closure#0}` has `ryu`, `d2s` and `f`.
fn segments(name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut segments = Vec::new();
    let bytes = name.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'{' | b'(' | b'[' => depth += 1,
            // The `>` of an arrow in a function type closes no bracket.
            b'>' if index > 0 && bytes[index - 1] == b'-' => {}
            b'>' | b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => {
                segments.push(&name[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    segments.push(&name[start..]);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = segments.into_iter().map(|segment| {
        let end = segment.find(|c: char| !is_word(c)).unwrap_or(segment.len());
        &segment[..end]
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// True if the line contains `fn word`.
fn defines(line: &str, word: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    let Some((before, after)) = line.split_once("fn ") else { return false };
    let is_keyword = before.is_empty() || before.ends_with(' ');
    let rest = after.trim_start().strip_prefix(word);
    is_keyword && rest.is_some_and(|rest| rest.starts_with(['(', '<', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Option<(String, u32)> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let sources = [
            file(
                "src/d2s.rs",
                "// fn decimal_length(\n\n    pub(crate) fn decimal_length(v: u64) {}\n",
            ),
            file("src/lib.rs", "pub fn fold<T>(x: T) {}\nfn both() {}\n"),
            file("src/pretty/mod.rs", "pub unsafe fn both() {}\n"),
        ];
        definition(&sources, name).map(|place| (place.path, place.line))
    }

    #[test]
    fn definition_is_found_by_the_name_of_a_function() {
        assert_eq!(place("ryu::d2s::decimal_length"), Some(("src/d2s.rs".to_owned(), 3)));
        for name in
            ["a::fold", "a::fold::<u32>", "<a::B as c::D<e::F>>::fold", "a::fold::{closure#0}"]
        {
            assert_eq!(place(name), Some(("src/lib.rs".to_owned(), 1)), "{name}");
        }
    }

    #[test]
    fn definition_of_an_ambiguous_name_needs_its_module() {
        assert_eq!(place("ryu::pretty::both"), Some(("src/pretty/mod.rs".to_owned(), 1)));
        assert_eq!(place("ryu::other::both"), None);
    }

    #[test]
    fn unknown_function_has_no_definition() {
        for name in ["", "::", "core::fmt::write", "fold_all", "<", "a::{closure#0}", "größe::ß"]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
