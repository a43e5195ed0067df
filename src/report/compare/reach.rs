//! What of the differences between the versions benchmarks execute and read, in words.

use super::{ComparisonReport, notes::MOST_NAMES};
use crate::{
    code::Cause,
    judge::JudgedRow,
    model::Benchmark,
    reach::{Reach, ReachedFunction},
    report::{
        markdown::{code, escaped},
        table::shorten,
        verdict::VerdictKind,
        visible::visible,
    },
};

/// Up to so many functions, files or variables of a benchmark are named, each in so many columns at most.
const MOST: usize = 3;
const LONGEST: usize = 60;

/// A reason from elsewhere has so many columns at most.
const LONGEST_DOUBT: usize = 200;

/// How text from elsewhere is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// For a terminal.
    Text,
    /// For a pull request.
    Markdown,
}

/// What is said of benchmarks that execute and read the same of what differs.
pub(super) struct ReachNote {
    /// Whether they got faster or slower, or are only not known to cost the same.
    pub(super) is_changed: bool,
    /// The names of the benchmarks, the first of them, and what they execute and read.
    pub(super) text: String,
}

impl ComparisonReport {
    /// What the measured benchmarks execute and read that differs, unless they are shown to cost the same: those
    /// of which the same is to be said together.
    pub(super) fn reach_notes(&self, form: Form) -> Vec<ReachNote> {
        let names = self.names();
        let rows: Vec<&JudgedRow> = self.ordered().into_iter().filter(|row| is_told(row)).collect();
        let mut notes: Vec<(bool, String, Vec<&Benchmark>)> = Vec::new();
        for row in &rows {
            let Some(reach) = &row.reach else { continue };
            // Each metric has a row.
            let mut own = rows.iter().filter(|other| other.benchmark == row.benchmark);
            let is_changed = own.any(|row| has_changed(row));
            let text = form.words(reach, is_changed);
            match notes.iter_mut().find(|(changed, of, _)| (*changed, of) == (is_changed, &text)) {
                Some((.., benchmarks)) if benchmarks.contains(&&row.benchmark) => {}
                Some((.., benchmarks)) => benchmarks.push(&row.benchmark),
                None => notes.push((is_changed, text, vec![&row.benchmark])),
            }
        }
        let note = |(is_changed, text, benchmarks): (bool, String, Vec<&Benchmark>)| {
            let is_verb = text.starts_with("executes ") || text.starts_with("reads ");
            let each = if benchmarks.len() > 1 && is_verb { "each " } else { "" };
            let more = benchmarks.len().saturating_sub(MOST_NAMES);
            let shown = benchmarks.iter().take(MOST_NAMES);
            let shown: Vec<String> = shown.map(|one| form.name(&names.name(one))).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            ReachNote { is_changed, text: format!("{}{more}: {each}{text}", shown.join(", ")) }
        };
        notes.into_iter().map(note).collect()
    }
}

impl Form {
    /// A name from elsewhere.
    fn name(self, name: &str) -> String {
        match self {
            Self::Text => shorten(&visible(name), LONGEST),
            Self::Markdown => code(&shorten(&visible(name), LONGEST)),
        }
    }

    /// What a benchmark executes and reads of what differs: `executes fold (new, 90 bytes)`.
    fn words(self, reach: &Reach, is_changed: bool) -> String {
        if reach.is_nothing() {
            let nothing = "executes nothing that changed";
            return if is_changed {
                format!(
                    "{nothing}, so memory, input or environment must be the reason, not machine code"
                )
            } else {
                nothing.to_owned()
            };
        }
        let Reach { functions, files, variables, doubts } = reach;
        let (measured, set_up): (Vec<&ReachedFunction>, Vec<&ReachedFunction>) =
            functions.iter().partition(|function| function.while_measuring);
        let functions = |functions: &[&ReachedFunction], more| {
            listed(functions, |function| self.function(function), more)
        };
        let mut parts = Vec::new();
        if !measured.is_empty() {
            parts.push(format!("executes {}", functions(&measured, " that changed")));
        }
        if !set_up.is_empty() {
            parts.push(format!("set-up differs: {}", functions(&set_up, "")));
        }
        let differ = |number| if number == 1 { "differs" } else { "differ" };
        if !files.is_empty() {
            let names = listed(files, |name| self.name(name), "");
            parts.push(format!("reads {names}, which {}", differ(files.len())));
        }
        if !variables.is_empty() {
            let names = listed(variables, |name| self.name(name), "");
            let plural = if variables.len() == 1 { "" } else { "s" };
            let differ = differ(variables.len());
            parts.push(format!("reads the variable{plural} {names}, which {differ}"));
        }
        if !doubts.is_empty() {
            let doubts = listed(doubts, |doubt| self.doubt(doubt), "");
            parts.push(format!("measured because {doubts}"));
        }
        parts.join("; ")
    }

    /// A function and its sizes: `fold (624 -> 524 bytes)`.
    fn function(self, function: &ReachedFunction) -> String {
        let name = self.name(function.name.as_str());
        if let Cause::Data(data) = &function.cause {
            return match data {
                Some(data) => format!("{name} (its data differs: {})", self.name(data.as_str())),
                None => format!("{name} (its data differs)"),
            };
        }
        match (function.base_size, function.head_size) {
            (Some(base), Some(head)) if base == head => format!("{name} (changed, {head} bytes)"),
            (Some(base), Some(head)) => format!("{name} ({base} -> {head} bytes)"),
            (None, Some(head)) => format!("{name} (new, {head} bytes)"),
            (Some(base), None) => format!("{name} (removed, {base} bytes)"),
            (None, None) => name,
        }
    }

    /// Why there may be more.
    fn doubt(self, doubt: &str) -> String {
        let doubt = shorten(&visible(doubt), LONGEST_DOUBT);
        match self {
            Self::Text => doubt,
            Self::Markdown => escaped(&doubt),
        }
    }
}

/// Whether a reader asks what of the differences a benchmark reaches.
fn is_told(row: &JudgedRow) -> bool {
    has_changed(row) || VerdictKind::of(&row.verdict) == VerdictKind::Inconclusive
}

fn has_changed(row: &JudgedRow) -> bool {
    matches!(VerdictKind::of(&row.verdict), VerdictKind::Regressed | VerdictKind::Improved)
}

/// The first of some things, and how many more there are: `a, b, c and 3 more that changed`.
fn listed<T>(things: &[T], text: impl Fn(&T) -> String, of_more: &str) -> String {
    let mut shown: Vec<String> = things.iter().take(MOST).map(text).collect();
    let last = match things.len().saturating_sub(MOST) {
        0 => shown.pop().unwrap_or_default(),
        more => format!("{more} more{of_more}"),
    };
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}
