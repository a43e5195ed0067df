//! What was found, for pull requests and web pages.

use super::{
    FindReport, Merged, Outcome, Place, SearchedBenchmark, SearchedLine,
    words::{self, change, day},
};
use crate::report::{
    compare::warning_sentence,
    markdown::{code, cut, escaped},
    quantity::count,
    reach::Form,
};

/// Comments on GitHub hold 65,536 characters.
const ROOM: usize = 50_000;

impl FindReport {
    pub(super) fn write_markdown(&self) -> String {
        let mut text = format!(
            "### What changed in {}\n\n{}: {}; {}.\n",
            code(&self.range),
            escaped(&self.line.subject()),
            escaped(&self.line.counts()),
            escaped(&self.effort())
        );
        for warning in &self.warnings {
            text += &format!("\n> **Warning:** {}\n", escaped(&warning_sentence(warning)));
        }
        for remark in self.remarks() {
            text += &format!("\n{}.\n", escaped(&remark));
        }
        text.push('\n');
        text + &cut(self.items(&self.line, "").into_iter(), ROOM, "entries")
    }

    /// A list, in which each item is one benchmark or one note.
    fn items(&self, line: &SearchedLine, indent: &str) -> Vec<String> {
        let names = line.names();
        let mut items = Vec::new();
        for one in &line.benchmarks {
            let name = code(&one.name(&names));
            let mut item = format!("{indent}- {name}: {}\n", escaped(&one.outcome()));
            let below = format!("{indent}  ");
            if let Outcome::Changed { places, .. } = &one.outcome {
                for place in places {
                    item += &self.item_of_place(place, one, &below);
                }
            }
            for remark in one.remarks(self.criteria.min_effect) {
                item += &format!("{below}- {}\n", escaped(&remark));
            }
            items.push(item);
        }
        items.extend(line.notes().iter().map(|note| format!("{indent}- {}\n", escaped(note))));
        items
    }

    fn item_of_place(&self, place: &Place, one: &SearchedBenchmark, indent: &str) -> String {
        let (first, between, last) = words::shown(&place.commits);
        let mut commits: Vec<String> = Vec::new();
        for commit in first.iter().chain(last) {
            let (hash, summary) = (commit.version.short(), escaped(&commit.version.summary));
            commits.push(format!("{} {} {summary}", code(&hash), escaped(&day(commit))));
        }
        if between > 0 {
            commits.insert(first.len(), format!("… {} …", count(between, "commit")));
        }
        let mut text = format!("{indent}- **{}**", escaped(&change(&place.change)));
        if let Some(doubt) = place.doubt() {
            text += &format!(", {}", escaped(&doubt));
        }
        text += &format!(": {}", commits.join("; "));
        if let Some(reach) = &place.reach {
            text += &format!("; {}", Form::Markdown.words(reach, "measured because"));
        }
        text.push('\n');
        let below = format!("{indent}  ");
        if let Some(command) = place.check(self, &one.benchmark) {
            text += &format!("{below}- check it with {}\n", code(&command));
        }
        match &place.merged {
            None => {}
            Some(Merged::NotSearched(reason)) => {
                text += &format!("{below}- what it merged was not searched: {}\n", escaped(reason));
            }
            Some(Merged::Searched(line)) => {
                text += &format!("{below}- of what it merged, {}:\n", escaped(&line.subject()));
                text += &self.items(line, &format!("{below}  ")).concat();
            }
        }
        text
    }
}
