//! Renders a document as a web page that needs no network: the shell, style and script of every
//! page, and a body of ordinary elements, in which every text is escaped.

use super::super::{
    document::{Block, Document, Item, Span, Step, Text, Verbatim, capitalised},
    escape::{escape_untrusted, escape_untrusted_lines},
    html::{breakable, escape_html, page},
    style::{Kind, Role},
    table::{Cell, Table},
};
use crate::error::Result;

/// The page of a document, with the JSON that its reader can save.
pub fn html(document: &Document, json: &str) -> Result<String> {
    let command = document.command;
    let title = document.title.plain();
    let title = if title.is_empty() { format!("cargo rbench {command}") } else { title };
    let head = header(command, &Text::from(title.as_str()), &document.lead);
    let blocks: String = document.blocks.iter().map(|one| block(one, "h2")).collect();
    page(&title, &(head + &blocks), command, json)
}

/// The head of a page. In its title, what follows the first span is less prominent.
pub fn header(command: &str, title: &Text, lead: &Text) -> String {
    let (first, rest) = title.spans.split_first().map_or_else(Default::default, |(first, rest)| {
        let rest: String = rest.iter().map(|span| escaped(&span.text)).collect();
        (escaped(&first.text), rest)
    });
    let rest = if rest.is_empty() { rest } else { format!("<span>{rest}</span>") };
    let lead =
        if lead.is_empty() { String::new() } else { format!("<p class=lead>{}\n", inline(lead)) };
    let command = escaped(command);
    format!(
        "<header>\n<p class=eyebrow>cargo rbench {command}\n<h1>{first}{rest}</h1>\n{lead}</header>\n"
    )
}

/// The blocks of a section of a page, which has a title already.
pub fn section_blocks(blocks: impl IntoIterator<Item = Block>) -> String {
    blocks.into_iter().map(|one| block(&one, "h3")).collect()
}

/// A block. `heading` is the element of headings.
fn block(block: &Block, heading: &str) -> String {
    match block {
        Block::Heading(text) => {
            format!("<{heading}>{}</{heading}>\n", inline(&text.clone().capitalised()))
        }
        Block::Paragraph(texts) => {
            let sentences: Vec<String> = texts.iter().map(sentence).collect();
            format!("<p>{}\n", sentences.join(" "))
        }
        Block::List(items) => list(items),
        Block::Warning(text, command) => {
            let command = command.as_ref();
            let command = command.map(|command| format!(": <code>{}</code>", escaped(command)));
            let text = inline(text) + &command.unwrap_or_default();
            format!("<p class=warning><b>Warning:</b> {text}\n")
        }
        Block::Table(table) => render_table(table),
        Block::Verbatim(Verbatim { text, .. }) => {
            format!("<pre tabindex=0>{}</pre>\n", escaped_lines(text))
        }
        Block::Drawings(drawings) => format!("<div class=charts>{}</div>\n", drawings.concat()),
        Block::Figure(caption, drawing) => {
            let caption = sentence(caption);
            format!(
                "<figure><figcaption>{caption}</figcaption><div class=scroll tabindex=0>{drawing}</div></figure>\n"
            )
        }
        Block::Steps(steps) => {
            let steps: String = steps.iter().map(step).collect();
            format!("<h3>Next steps</h3>\n<dl class=steps>{steps}</dl>\n")
        }
        Block::Details(summary, inner) => {
            let inner: String = inner.iter().map(|inner| self::block(inner, "h3")).collect();
            format!("<details><summary>{}</summary>\n{inner}</details>\n", inline(summary))
        }
    }
}

fn list(items: &[Item]) -> String {
    let entry = |Item { text, blocks }: &Item| {
        let below: String = blocks.iter().map(|below| block(below, "h3")).collect();
        format!("<li>{}{}{below}", inline(text), message(text))
    };
    format!("<ul class=notes>{}</ul>\n", items.iter().map(entry).collect::<String>())
}

fn render_table(table: &Table) -> String {
    let columns = table.shown();
    let class = |at: usize| if table.columns[at].right { " class=n" } else { "" };
    let head =
        |&at: &usize| format!("<th scope=col{}>{}", class(at), escaped(&table.columns[at].head));
    let heads = columns.iter().map(head);
    // The name of a row may stand behind its numbers.
    let name = columns.iter().position(|&at| !table.columns[at].right).unwrap_or(0);
    let row = |cells: &Vec<Cell>| {
        let shown = columns.iter().enumerate().map(|(place, &at)| {
            let joined = table.joined_to(at).map(|joined| &cells[joined]);
            let joined: Vec<String> =
                joined.filter(|cell| !cell.is_empty()).map(render_cell).collect();
            let text = [vec![render_cell(&cells[at])], joined].concat().join(" ");
            let element = if place == name { "th scope=row" } else { "td" };
            format!("<{element}{}>{text}", class(at))
        });
        format!("<tr>{}\n", shown.collect::<String>())
    };
    format!(
        "<div class=scroll tabindex=0>\n<table><thead><tr>{}</thead>\n<tbody>{}</tbody></table>\n</div>\n",
        heads.collect::<String>(),
        table.rows.iter().map(row).collect::<String>()
    )
}

fn render_cell(cell: &Cell) -> String {
    let text = match cell.kind {
        Kind::Words => escaped(&cell.text),
        Kind::Name | Kind::Command | Kind::Quote => breakable(&cell.text),
    };
    let text = match &cell.link {
        Some(file) => format!("<a href=\"{}\">{text}</a>", escaped(file)),
        None => text,
    };
    in_role(cell.role, text)
}

fn step(Step { purpose, command }: &Step) -> String {
    format!("<dt>{}<dd><code>{}</code>", escaped(&capitalised(purpose)), escaped(command))
}

fn sentence(text: &Text) -> String {
    let mut shown = inline(&text.clone().capitalised());
    if !text.plain().ends_with(['.', '?', '!', ':']) {
        shown.push('.');
    }
    shown + &message(text)
}

fn inline(text: &Text) -> String {
    text.spans.iter().map(span).collect()
}

fn span(Span { text, role, kind }: &Span) -> String {
    let shown = match kind {
        Kind::Words => escaped(text),
        Kind::Name | Kind::Command | Kind::Quote => {
            format!("<code>{}</code>", breakable(&escape_untrusted(text)))
        }
    };
    in_role(*role, shown)
}

fn in_role(role: Role, text: String) -> String {
    let class = match role {
        _ if text.is_empty() => return text,
        Role::Plain => return text,
        Role::Head => return format!("<b>{text}</b>"),
        Role::Bad => "bad",
        Role::Good => "good",
        Role::Doubtful => "doubtful",
        Role::Quiet => "soft",
    };
    format!("<span class={class}>{text}</span>")
}

/// The further lines of a message.
fn message(text: &Text) -> String {
    let lines = text.message.as_ref();
    lines
        .map_or_else(String::new, |lines| format!("<pre tabindex=0>{}</pre>", escaped_lines(lines)))
}

fn escaped(text: &str) -> String {
    escape_html(&escape_untrusted(text))
}

fn escaped_lines(text: &str) -> String {
    escape_html(&escape_untrusted_lines(text))
}
