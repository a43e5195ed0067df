//! What of the differences between two versions a benchmark executes and reads: in words, and for programs.

mod json;

pub use json::{Difference, ReachFields};

use super::{
    markdown::{code, escaped},
    quantity::change_of_stack,
    table::shorten,
    visible::visible,
};
use crate::{
    code::Cause,
    reach::{Reach, ReachedFunction},
};

/// Up to so many functions, files or variables of a benchmark are named, each in so many columns at most.
const MOST: usize = 3;
const LONGEST: usize = 60;

/// A reason from elsewhere has so many columns at most.
const LONGEST_DOUBT: usize = 200;

/// How text from elsewhere is written.
#[derive(Clone, Copy)]
pub enum Form {
    /// For a terminal.
    Text,
    /// For a pull request.
    Markdown,
}

/// What so many benchmarks execute and read, all the same: `a, b: each executes fold (new, 90 bytes)`.
pub fn of_benchmarks(whom: &str, number: usize, words: &str) -> String {
    let is_verb = ["executes ", "reads ", "may "].iter().any(|verb| words.starts_with(verb));
    let each = if number > 1 && is_verb { "each " } else { "" };
    format!("{whom}: {each}{words}")
}

impl Form {
    /// A name from elsewhere.
    pub fn name(self, name: &str) -> String {
        match self {
            Self::Text => shorten(&visible(name), LONGEST),
            Self::Markdown => code(&shorten(&visible(name), LONGEST)),
        }
    }

    /// What a benchmark executes and reads of what differs: `executes fold (new, 90 bytes)`. Doubts are told as the
    /// reason for `because_of_doubts`, such as `measured because`.
    pub fn words(self, reach: &Reach, because_of_doubts: &str) -> String {
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
            parts.push(format!("{because_of_doubts} {doubts}"));
        }
        parts.join("; ")
    }

    /// A function and its sizes: `fold (624 -> 524 bytes, stack 24 -> 88 bytes)`.
    pub fn function(self, function: &ReachedFunction) -> String {
        let name = self.name(function.name.as_str());
        if let Cause::Data(data) = &function.cause {
            return match data {
                Some(data) => format!("{name} (its data differs: {})", self.name(data.as_str())),
                None => format!("{name} (its data differs)"),
            };
        }
        let stack = change_of_stack(function.base_stack, function.head_stack);
        match (function.base_size, function.head_size) {
            (Some(base), Some(head)) if base == head => {
                format!("{name} (changed, {head} bytes{stack})")
            }
            (Some(base), Some(head)) => format!("{name} ({base} -> {head} bytes{stack})"),
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

/// The first of some things, and how many more there are: `a, b, c and 3 more that changed`.
pub fn listed<T>(things: &[T], text: impl Fn(&T) -> String, of_more: &str) -> String {
    let mut shown: Vec<String> = things.iter().take(MOST).map(text).collect();
    let last = match things.len().saturating_sub(MOST) {
        0 => shown.pop().unwrap_or_default(),
        more => format!("{more} more{of_more}"),
    };
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}
