//! What was found, for people at a terminal.

use super::{
    Commit, FindReport, Merged, Outcome, Place, SearchedBenchmark, SearchedLine,
    words::{self, change, day},
};
use crate::report::{
    compare::warning_sentence,
    prose::filled,
    quantity::count,
    reach::Form,
    style::{self, paint},
    visible::visible,
};

impl FindReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let head = format!("{}: {}", self.range, self.line.subject());
        let mut text = format!("{}\n", paint(style::HEAD, &head));
        for warning in &self.warnings {
            text += &filled(&visible(&format!("warning: {}", warning_sentence(warning))), columns);
        }
        text += &self.line_text(&self.line, "", columns);
        text += &format!("\n{}; {}\n", self.line.counts(), self.effort());
        for remark in self.remarks() {
            text += &filled(&remark, columns);
        }
        text
    }

    fn line_text(&self, line: &SearchedLine, indent: &str, columns: usize) -> String {
        let names = line.names();
        let mut text = String::new();
        for one in &line.benchmarks {
            let name = one.name(&names);
            let changed = matches!(one.outcome, Outcome::Changed { .. });
            let gap = if changed && indent.is_empty() { "\n" } else { "" };
            let name =
                if changed { paint(style::HEAD, &name) } else { visible(&name).into_owned() };
            text += &format!("{gap}{indent}{name}: {}\n", visible(&one.outcome()));
            if let Outcome::Changed { places, .. } = &one.outcome {
                for place in places {
                    text += &self.text_of_place(place, one, &format!("{indent}  "), columns);
                }
            }
            for remark in one.remarks(self.criteria.min_effect) {
                text += &format!("{indent}  {}\n", visible(&remark));
            }
        }
        let notes = line.notes();
        if !notes.is_empty() {
            text += if indent.is_empty() { "\n" } else { "" };
        }
        for note in notes {
            text += &format!("{indent}{}\n", visible(&note));
        }
        text
    }

    fn text_of_place(
        &self,
        place: &Place,
        one: &SearchedBenchmark,
        indent: &str,
        columns: usize,
    ) -> String {
        let mut text = String::new();
        if let Some(doubt) = place.doubt() {
            text += &format!("{indent}{}\n", paint(style::DOUBTFUL, &doubt));
        }
        let (first, between, last) = words::shown(&place.commits);
        for commit in first {
            text += &commit_line(commit, indent);
        }
        if between > 0 {
            text += &format!("{indent}… {} …\n", count(between, "commit"));
        }
        for commit in last {
            text += &commit_line(commit, indent);
        }
        let style = if place.change.estimate > 0.0 { style::BAD } else { style::GOOD };
        text += &format!("{indent}  {}", paint(style, &change(&place.change)));
        if let Some(reach) = &place.reach {
            text += &format!(": {}", visible(&Form::Text.words(reach, "measured because")));
        }
        text.push('\n');
        if let Some(command) = place.check(self, &one.benchmark) {
            text += &format!("{indent}  check it with: {}\n", visible(&command));
        }
        match &place.merged {
            None => {}
            Some(Merged::NotSearched(reason)) => {
                text +=
                    &format!("{indent}  what it merged was not searched: {}\n", visible(reason));
            }
            Some(Merged::Searched(line)) => {
                text += &format!("{indent}  of what it merged, {}:\n", visible(&line.subject()));
                text += &self.line_text(line, &format!("{indent}    "), columns);
            }
        }
        text
    }
}

/// `1a2b3c4 2026-11-02 Parse names without a table`.
fn commit_line(commit: &Commit, indent: &str) -> String {
    let (hash, summary) = (commit.version.short(), &commit.version.summary);
    format!("{indent}{} {} {}\n", paint(style::HEAD, &hash), day(commit), visible(summary))
}
