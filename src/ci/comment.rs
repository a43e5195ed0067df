//! Words the comment on a pull request: the marker by which it is found again, the notice that it
//! is stale while a new run works, and whether it is worth posting at all.

use super::page::{Links, page, short_page};
use crate::{
    error::{Error, Exit},
    report::{
        compare::Comparison,
        render::{COMMENT_ROOM, fenced},
    },
};

/// The bytes reserved for the notice that a comment is stale.
const NOTICE_ROOM: usize = 1_000;

/// The markers around that notice.
const STALE: [&str; 2] = ["<!-- stale -->\n", "<!-- /stale -->\n"];

/// The invisible first line of the comment with this name, by which it is found again.
pub fn marker(name: &str) -> String {
    format!("<!-- cargo-rbench comment: {name} -->\n")
}

/// The comment to post or to update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The full text.
    pub body: String,
    /// The text to post if the full one is refused.
    pub short: String,
    /// True if it is worth a new comment; an old one is updated in any case.
    pub is_news: bool,
}

impl Comment {
    /// The comment on a comparison.
    pub fn compose(comparison: &Comparison, exit: Exit, name: &str, links: &Links) -> Self {
        let marker = marker(name);
        let title = if name == "default" { String::new() } else { format!("**{name}**\n\n") };
        let room = COMMENT_ROOM - NOTICE_ROOM - marker.len() - title.len();
        Self {
            body: format!("{marker}{title}{}", page(comparison, links, room)),
            short: format!("{marker}{title}{}", short_page(comparison, links)),
            is_news: exit != Exit::Success || comparison.has_news(),
        }
    }

    /// The comment on a run that failed before it had a comparison.
    pub fn compose_failure(error: &Error, name: &str, links: &Links) -> Self {
        let head = format!("{}### Benchmarks: not compared{}\n", marker(name), links.text());
        let what: String = error.to_string().chars().take(COMMENT_ROOM / 8).collect();
        Self { body: head.clone() + &fenced(&(what + "\n")), short: head, is_news: false }
    }

    /// The text of an old comment, marked as stale while a comparison of this commit runs.
    pub fn stale(old: &str, commit: &str, links: &Links) -> String {
        let (marker, rest) = old.split_once('\n').unwrap_or((old, ""));
        let rest = match rest.split_once(STALE[0]).and_then(|(_, rest)| rest.split_once(STALE[1])) {
            Some((_, rest)) => rest,
            None => rest,
        };
        let commit: String = commit.chars().filter(char::is_ascii_alphanumeric).take(7).collect();
        let [begin, end] = STALE;
        let notice = format!(
            "> [!NOTE]\n> **Stale:** the benchmarks of {commit} are being compared{}.\n\n",
            links.text()
        );
        format!("{}\n{begin}{notice}{end}{rest}", marker.trim_end())
    }
}
