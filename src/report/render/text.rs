//! Renders a document for a terminal, with escape sequences for
//! [roles](crate::report::style::Role).

use unicode_width::UnicodeWidthStr;

use super::super::{
    document::{Block, Document, Item, Step, Text, Verbatim, filled},
    escape::escape_untrusted_lines,
    style::{Kind, Role, paint, plain},
};

/// The indent of blocks that belong to an entry of a list, in columns.
const INDENT: usize = 2;

pub fn text(document: &Document, columns: usize) -> String {
    let mut out = String::new();
    if !document.title.is_empty() {
        let title = painted(&document.title, Role::Head);
        let lead = painted(&document.lead, Role::Plain);
        let gap = if lead.is_empty() { "" } else { "  " };
        out += &format!("{}\n", format!("{title}{gap}{lead}").trim_end());
    }
    blocks(&mut out, &document.blocks, columns);
    out
}

fn blocks(out: &mut String, all: &[Block], columns: usize) {
    let mut previous = None;
    for block in all.iter().filter(|block| !matches!(block, Block::Drawings(_) | Block::Figure(..)))
    {
        if !out.is_empty() && !joins(previous, block) {
            out.push('\n');
        }
        *out += &match (previous, block) {
            // Blocks below a heading are indented.
            (Some(Block::Heading(_)), Block::List(_)) => {
                indented(&render_block(block, columns.saturating_sub(INDENT)))
            }
            _ => render_block(block, columns),
        };
        previous = Some(block);
    }
}

/// True if no empty line separates a block from the previous one.
const fn joins(previous: Option<&Block>, next: &Block) -> bool {
    use Block::{Heading, Paragraph, Warning};
    match (previous, next) {
        // Directly below the title.
        (None, Paragraph(_) | Warning(..))
        | (Some(Paragraph(_) | Warning(..)), Warning(..))
        | (Some(Heading(_)), _) => true,
        _ => false,
    }
}

fn render_block(block: &Block, columns: usize) -> String {
    match block {
        Block::Heading(text) => painted(text, Role::Head) + "\n",
        Block::Paragraph(texts) => texts.iter().map(|text| line(text, columns)).collect(),
        Block::List(items) => items.iter().map(|item| render_item(item, columns)).collect(),
        Block::Warning(text, command) => {
            let text = Text::warning(text.clone());
            match command {
                None => line(&text, columns),
                Some(command) => {
                    line(&text.then(":"), columns) + &indented(&paint(Role::Plain, command))
                }
            }
        }
        Block::Table(table) => table.fit(columns),
        Block::Verbatim(Verbatim { text, .. }) => lines(&escape_untrusted_lines(text)),
        Block::Drawings(_) | Block::Figure(..) => String::new(),
        Block::Steps(steps) => {
            let head = paint(Role::Head, "next steps");
            let step = |Step { purpose, command }: &Step| {
                let text = Text::from(format!("{purpose}: ")).command(command);
                line(&text, columns.saturating_sub(INDENT))
            };
            let steps: String = steps.iter().map(step).collect();
            head + "\n" + &indented(&steps)
        }
        Block::Details(summary, inner) => {
            let mut text = painted(summary, Role::Head) + "\n";
            let mut below = String::new();
            blocks(&mut below, inner, columns);
            text += &below;
            text
        }
    }
}

fn render_item(Item { text, blocks }: &Item, columns: usize) -> String {
    let below: String =
        blocks.iter().map(|block| render_block(block, columns.saturating_sub(INDENT))).collect();
    line(text, columns) + &indented(&below)
}

fn indented(text: &str) -> String {
    let indent = " ".repeat(INDENT);
    text.lines().fold(String::new(), |text, line| text + &indent + line + "\n")
}

/// Wraps a text into lines. A command at its end is never wrapped, and the further lines of a
/// message stay as they are, indented.
fn line(text: &Text, columns: usize) -> String {
    let indent = " ".repeat(INDENT);
    let (words, command) = match text.spans.split_last() {
        Some((last, words)) if last.kind == Kind::Command => (words, Some(last)),
        _ => (&text.spans[..], None),
    };
    let words: String = words.iter().map(|span| paint(span.role, &span.text)).collect();
    let mut out = filled(&words, columns);
    if let Some(command) = command {
        let words = out.trim_end();
        let last = words.lines().last().unwrap_or_default();
        let has_room = plain(last).width() + 1 + command.text.width() <= columns;
        let gap = match (words.is_empty(), has_room) {
            (true, _) => String::new(),
            (false, true) => " ".to_owned(),
            (false, false) => format!("\n{indent}"),
        };
        out = format!("{words}{gap}{}\n", paint(command.role, &command.text));
    }
    for line in text.message.iter().flat_map(|message| message.lines()) {
        out += &format!("{indent}{}\n", escape_untrusted_lines(line));
    }
    out
}

/// Paints the spans of a text; spans without a role get this one.
fn painted(text: &Text, role: Role) -> String {
    let role = |own: Role| if own == Role::Plain { role } else { own };
    text.spans.iter().map(|span| paint(role(span.role), &span.text)).collect()
}

/// Terminates the last line as well.
fn lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
