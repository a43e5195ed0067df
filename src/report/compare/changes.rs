//! Words the commits and uncommitted files by which two versions differ.

use crate::{
    model::{CommitTitle, Version, VersionChanges},
    report::{
        document::Text,
        escape::escape_untrusted,
        names::short,
        quantity::{and_more, count},
        table::shorten,
    },
};

/// The maximum number of commits, and of files, that are named.
const MOST: usize = 3;

/// The maximum width of a title, in columns: the usual limit for the first line of a message.
const LONGEST_TITLE: usize = 72;

/// The commits and files: `1 commit: 1a2b3c4 Parse faster`. Several commits share a line, so that none seems to be the
/// cause: `7 commits, newest first: 1a2b3c4 Parse faster; 5d6e7f8 Read tokens by a table; and 5 more`.
pub fn changes_texts(changes: &VersionChanges, [base, head]: [&Version; 2]) -> Vec<Text> {
    let VersionChanges { commits, commit_count, base_only_commits, uncommitted_files, .. } =
        changes;
    let commit = |CommitTitle { id, title }: &CommitTitle| {
        let digits: String = id.chars().take(7).collect();
        let title = shorten(&escape_untrusted(title), LONGEST_TITLE);
        Text::new().name(digits).then(" ").quote(title)
    };
    let mut texts = Vec::new();
    if *commit_count > 0 {
        let order = if *commit_count > 1 { ", newest first" } else { "" };
        // One more is named rather than counted.
        let most = if *commit_count == MOST + 1 { MOST + 1 } else { MOST };
        let more = commit_count.saturating_sub(commits.len().min(most));
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let head = Text::from(format!("{}{order}: ", count(*commit_count, "commit")));
        let named = Text::joined(commits.iter().take(most).map(commit), "; ");
        texts.push(head.append(named).then(more));
    }
    if *base_only_commits > 0 {
        let lacked = count(*base_only_commits, "commit");
        let name = Text::from_name(base.to_string()).then(format!(" has {lacked} that "));
        texts.push(name.name(head.to_string()).then(" lacks"));
    }
    if !uncommitted_files.is_empty() {
        let number = changes.uncommitted_file_count;
        let names = uncommitted_files.iter().take(MOST).map(|file| Text::from_name(short(file)));
        let head = Text::from(format!("uncommitted changes in {}: ", count(number, "file")));
        texts.push(head.append(Text::joined(names, ", ")).then(and_more(number, MOST)));
    }
    texts
}
