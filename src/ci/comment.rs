//! The comment on a pull request: how it is found again, that it is stale while a new run works, and that there is none
//! as long as there is nothing to tell.

use super::{Comparison, Links, page, short_page};
use crate::{
    error::{Error, Exit},
    report::markdown::fenced,
};

/// The room of a comment, in characters; a text of so many bytes has no more.
pub const COMMENT_ROOM: usize = 65_536;

/// What is kept free for the notice that a comment is stale.
const NOTICE_ROOM: usize = 1_000;

/// What surrounds that notice.
const STALE: [&str; 2] = ["<!-- stale -->\n", "<!-- /stale -->\n"];

/// The first line of the comment of this name. No person sees it.
pub fn marker(name: &str) -> String {
    format!("<!-- cargo-rbench comment: {name} -->\n")
}

/// What becomes of the comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The whole text.
    pub body: String,
    /// What it is if that is refused.
    pub short: String,
    /// Whether it is worth a new comment; an old one is updated in any case.
    pub is_news: bool,
}

impl Comment {
    /// A comparison.
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

    /// That there is no comparison.
    pub fn compose_failure(failure: &Error, name: &str, links: &Links) -> Self {
        let head = format!("{}### Benchmarks: not compared{}\n", marker(name), links.text());
        let what: String = failure.to_string().chars().take(COMMENT_ROOM / 8).collect();
        Self { body: head.clone() + &fenced(&(what + "\n")), short: head, is_news: false }
    }

    /// The text of an old comment, marked as stale while a comparison of this commit works.
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
