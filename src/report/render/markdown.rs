//! Renders a document for pull requests: never longer than a comment may be, and cut only between
//! rows and entries. Untrusted text is never markup.

use super::super::{
    document::{Block, Document, Item, Span, Step, Text, Verbatim},
    escape::{escape_untrusted, escape_untrusted_lines},
    style::{Kind, Role},
    table::{Cell, Table},
};

/// The maximum length of a comment on GitHub, in characters. Texts are limited to as many bytes,
/// which is never more characters.
pub const COMMENT_ROOM: usize = 65_536;

/// The maximum size of a document, in bytes: publishing it adds a few lines.
const ROOM: usize = COMMENT_ROOM - 2_536;

/// The maximum length of a name, a quote or a message, in characters.
const LONGEST_NAME: usize = 100;
const LONGEST_QUOTE: usize = 400;
const LONGEST_MESSAGE: usize = 1_500;

/// The maximum size of a command, in bytes. A longer one is left out: nobody types it.
const LARGEST_STEP: usize = 2_000;

/// Renders the document with a third-level heading as its title.
pub fn markdown(document: &Document) -> String {
    markdown_within(document, ROOM)
}

/// Renders the document in at most `room` bytes.
pub fn markdown_within(document: &Document, room: usize) -> String {
    let mut pieces = Pieces::default();
    if !document.title.is_empty() {
        pieces.fixed(format!("### {}\n", inline(&document.title)));
    }
    if !document.lead.is_empty() {
        pieces.fixed(format!("\n{}\n", inline(&document.lead)));
    }
    pieces.blocks(&document.blocks);
    pieces.within(room)
}

/// The pieces of a document: text that is always there, and runs of rows or entries that can be
/// cut.
#[derive(Default)]
struct Pieces(Vec<Piece>);

enum Piece {
    Fixed(String),
    /// Rows or entries, and their name.
    Run(Vec<String>, &'static str),
}

impl Pieces {
    fn fixed(&mut self, text: String) {
        self.0.push(Piece::Fixed(text));
    }

    fn blocks(&mut self, blocks: &[Block]) {
        let is_warning = |block: &Block| matches!(block, Block::Warning(..));
        // Consecutive warnings are one run.
        for blocks in blocks.chunk_by(|one, other| is_warning(one) && is_warning(other)) {
            if blocks.iter().all(is_warning) {
                self.0.push(Piece::Run(blocks.iter().filter_map(warning).collect(), "warnings"));
            } else {
                for block in blocks {
                    self.block(block);
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => {
                self.fixed(format!("\n#### {}\n", inline(&text.clone().capitalised())));
            }
            Block::Paragraph(texts) => {
                self.fixed("\n".to_owned());
                let sentences = texts.iter().enumerate().map(|(index, text)| {
                    let gap = if index == 0 { "" } else { " " };
                    format!("{gap}{}", sentence(text))
                });
                self.0.push(Piece::Run(sentences.collect(), "sentences"));
                self.fixed("\n".to_owned());
            }
            Block::List(items) => {
                self.fixed("\n".to_owned());
                let entries = items.iter().map(|item| entry(item, ""));
                self.0.push(Piece::Run(entries.collect(), "entries"));
            }
            Block::Warning(..) => self.blocks(std::slice::from_ref(block)),
            Block::Table(table) => {
                let columns = table.shown();
                self.fixed(head(table, &columns));
                let rows = table.rows.iter().map(|cells| row(table, &columns, cells));
                self.0.push(Piece::Run(rows.collect(), "rows"));
            }
            Block::Verbatim(Verbatim { language, text }) => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                self.fixed(fenced_as(language, &format!("{text}{end}")));
            }
            Block::Drawings(_) | Block::Figure(..) => {}
            Block::Steps(steps) => {
                let steps = steps.iter().map(step);
                let steps: Vec<String> = steps.filter(|step| step.len() <= LARGEST_STEP).collect();
                let fence = fence(&steps.concat());
                self.fixed(format!("\n<details><summary>next steps</summary>\n\n{fence}sh\n"));
                self.0.push(Piece::Run(steps, "commands"));
                self.fixed(format!("{fence}\n\n</details>\n"));
            }
            Block::Details(summary, inner) => {
                let summary = escaped(&summary.plain());
                self.fixed(format!("\n<details><summary>{summary}</summary>\n"));
                self.blocks(inner);
                self.fixed("\n</details>\n".to_owned());
            }
        }
    }

    /// Everything, if it fits; otherwise runs are cut after whole rows, all at the same length, so
    /// that a short one stays whole beside a long one.
    fn within(self, room: usize) -> String {
        let fixed: usize = self.0.iter().map(Piece::fixed_bytes).sum();
        let mut runs: Vec<usize> = self.0.iter().filter_map(Piece::run_bytes).collect();
        runs.sort_unstable();
        let mut left = room.saturating_sub(fixed);
        let mut length = usize::MAX;
        for (index, bytes) in runs.iter().enumerate() {
            let share = left / (runs.len() - index);
            if *bytes > share {
                length = share.saturating_sub(NOTE);
                break;
            }
            left -= bytes;
        }
        self.0.into_iter().map(|piece| piece.cut(length)).collect()
    }
}

/// The maximum size of the line that counts the omitted rows, in bytes.
const NOTE: usize = 40;

impl Piece {
    const fn fixed_bytes(&self) -> usize {
        match self {
            Self::Fixed(text) => text.len(),
            Self::Run(..) => 0,
        }
    }

    fn run_bytes(&self) -> Option<usize> {
        match self {
            Self::Fixed(_) => None,
            Self::Run(parts, _) => Some(parts.iter().map(String::len).sum()),
        }
    }

    fn cut(self, length: usize) -> String {
        match self {
            Self::Fixed(text) => text,
            Self::Run(parts, things) => {
                let mut used = 0;
                let shown = parts.iter().take_while(|part| {
                    used += part.len();
                    used <= length
                });
                let shown = shown.count();
                let mut text = parts[..shown].concat();
                if shown < parts.len() {
                    text += &format!("\n… and {} more {things}\n", parts.len() - shown);
                }
                text
            }
        }
    }
}

fn warning(block: &Block) -> Option<String> {
    let Block::Warning(text, command) = block else { return None };
    let command = command.as_ref().map(|command| format!(": {}", code(command)));
    Some(format!("\n> **Warning:** {}{}\n", inline(text), command.unwrap_or_default()))
}

/// A text on one line, without the further lines of a message.
fn inline(text: &Text) -> String {
    text.spans.iter().map(span).collect()
}

fn span(Span { text, role, kind }: &Span) -> String {
    let shown = match kind {
        Kind::Words => escaped(&shortened(&escape_untrusted(text), LONGEST_MESSAGE)),
        Kind::Name => code(&shortened(&escape_untrusted(text), LONGEST_NAME)),
        Kind::Quote => code(&shortened(&escape_untrusted(text), LONGEST_QUOTE)),
        Kind::Command => code(text),
    };
    match role {
        Role::Bad if !text.trim().is_empty() => format!("**{shown}**"),
        _ => shown,
    }
}

fn sentence(text: &Text) -> String {
    let shown = inline(&text.clone().capitalised());
    let end = if shown.ends_with(['.', '?', '!', ':']) { "" } else { "." };
    shown + end + &message(text, "")
}

fn entry(Item { text, blocks }: &Item, indent: &str) -> String {
    let mut out = format!("{indent}- {}{}\n", inline(text), message(text, &format!("{indent}  ")));
    for block in blocks {
        match block {
            Block::List(items) => {
                out.extend(items.iter().map(|item| entry(item, &format!("{indent}  "))));
            }
            other => {
                let mut pieces = Pieces::default();
                pieces.block(other);
                for line in pieces.within(LONGEST_MESSAGE).lines() {
                    let line =
                        if line.is_empty() { String::new() } else { format!("{indent}  {line}") };
                    out += &format!("{line}\n");
                }
            }
        }
    }
    out
}

/// The further lines of a message as a block.
fn message(text: &Text, indent: &str) -> String {
    text.message.as_ref().map_or_else(String::new, |message| {
        let short = shortened(message.trim_end_matches('\n'), LONGEST_MESSAGE);
        let block = fenced_as("text", &format!("{short}\n"));
        format!("\n{}", block.trim_end().replace('\n', &format!("\n{indent}")))
    })
}

/// Shortens a text in the middle to at most `most` characters. Its width would be no limit, because
/// characters can have width 0.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let end = text.char_indices().nth(most / 2).map_or(text.len(), |(at, _)| at);
    let begin = text.char_indices().nth_back(most / 2).map_or(0, |(at, _)| at);
    format!("{}…{}", &text[..end], &text[begin..])
}

/// The first two lines of a table.
fn head(table: &Table, columns: &[usize]) -> String {
    let heads = columns.iter().map(|&at| escaped(&table.columns[at].head));
    let aligned = columns.iter().map(|&at| if table.columns[at].right { "--:" } else { ":--" });
    let (heads, aligned): (Vec<_>, Vec<_>) = (heads.collect(), aligned.collect());
    format!("\n| {} |\n|{}|\n", heads.join(" | "), aligned.join("|"))
}

/// A row. A joined column stands in the cell of the other.
fn row(table: &Table, columns: &[usize], cells: &[Cell]) -> String {
    let shown = columns.iter().map(|&at| {
        let mut cell = render_cell(&cells[at]);
        for joined in table.joined_to(at).filter(|&joined| !cells[joined].is_empty()) {
            cell += &format!(" {}", render_cell(&cells[joined]));
        }
        cell.trim().to_owned()
    });
    format!("| {} |\n", shown.collect::<Vec<_>>().join(" | "))
}

fn render_cell(cell: &Cell) -> String {
    let text = &cell.text;
    let shown = match cell.kind {
        _ if text.is_empty() => return String::new(),
        Kind::Words => escaped(text),
        Kind::Name | Kind::Command | Kind::Quote => code_in_table(&shortened(text, LONGEST_NAME)),
    };
    if cell.role == Role::Bad { format!("**{shown}**") } else { shown }
}

/// A command below its purpose, each on a separate line: a line break in an id must not begin
/// another command.
fn step(Step { purpose, command }: &Step) -> String {
    format!("# {}\n{}\n", escape_untrusted(purpose), escape_untrusted(command))
}

/// A fenced block with this text, whatever backticks it contains.
pub fn fenced(text: &str) -> String {
    fenced_as("text", text)
}

pub fn fenced_as(language: &str, text: &str) -> String {
    let text = escape_untrusted_lines(text);
    let fence = fence(&text);
    format!("\n{fence}{language}\n{text}{fence}\n")
}

/// A fence for a block with this text: longer than any run of backticks in it.
pub fn fence(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

/// A code span with this text, in which HTML and markup have no meaning. The fence is longer than
/// any run of backticks in it.
pub fn code(text: &str) -> String {
    let text = escape_untrusted(text);
    match longest_run(&text) {
        // An empty span would be no span.
        _ if text.is_empty() => "` `".to_owned(),
        0 => format!("`{text}`"),
        run => {
            let fence = "`".repeat(run + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// A code span in a cell of a table, where a bar would end the cell even in a span.
pub fn code_in_table(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Prose on one line, with all markup escaped.
pub fn escaped(text: &str) -> String {
    let text = escape_untrusted(text);
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(character);
            }
            // GitHub looks for mentions and references after rendering, when the backslash is gone.
            '#' | '@' => {
                out.push('\\');
                out.push(character);
                out.push(WORD_JOINER);
            }
            character => out.push(character),
        }
    }
    out
}

/// Invisible, and part of no name or number.
const WORD_JOINER: char = '\u{2060}';

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_span_holds_any_text() {
        assert_eq!(code("a|b<i>"), "`a|b<i>`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("a\nb\u{1b}"), r"`a\nb\u{1b}`");
        assert_eq!(code_in_table("a|b"), r"`a\|b`");
    }

    #[test]
    fn escaped_prose_has_no_markup_and_no_line_breaks() {
        assert_eq!(
            escaped("<b> *x* @me\n# y"),
            "&lt;b&gt; \\*x\\* \\@\u{2060}me\\\\n\\#\u{2060} y"
        );
    }
}
