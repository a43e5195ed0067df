//! A report as a tree of blocks, which fixes the content and its order but no formatting.
//!
//! Three renderers show it: for a [terminal](super::render::text), as
//! [Markdown](super::render::markdown) and as a [web page](super::render::html). Texts are data:
//! every renderer escapes all of them, whoever wrote them, so no report has to remember which of
//! its words come from a commit, a benchmark or a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use textwrap::{Options, WordSeparator, WordSplitter};

use super::{
    quantity::and_more,
    style::{Kind, Role},
    table::Table,
};

/// The medium that shows a document. The tree is the same everywhere, with two exceptions: a report
/// may leave out of a pull request what only a terminal or a page has room for, and it draws plots
/// as wide as the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A terminal, or a plain text file.
    Terminal { columns: usize },
    /// A pull request, or any other page written in Markdown.
    Markdown,
    /// A stand-alone web page.
    Page,
}

#[derive(Clone, Debug, Default)]
pub struct Document {
    pub command: &'static str,
    /// The title; empty if the blocks name their subject themselves.
    pub title: Text,
    /// Text below the title, such as the subject of the commit; may be empty.
    pub lead: Text,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub enum Block {
    Heading(Text),
    /// Related statements: each begins a line on a terminal, elsewhere they are one paragraph. They
    /// end without a full stop.
    Paragraph(Vec<Text>),
    List(Vec<Item>),
    /// A reason why the results are less certain, and a command that helps, if there is one.
    Warning(Text, Option<String>),
    Table(Table),
    /// Text with fixed lines: a drawing, a file, the output of a program.
    Verbatim(Verbatim),
    /// Drawings in SVG, shown only on a page: elsewhere, plots are [verbatim](Self::Verbatim). The
    /// code that draws them escapes their texts.
    Drawings(Vec<String>),
    /// A wide drawing in SVG with its caption, shown only on a page. The code that draws it escapes its texts.
    Figure(Text, String),
    Steps(Vec<Step>),
    /// Details for some readers: folded if the medium can fold.
    Details(Text, Vec<Self>),
}

#[derive(Clone, Debug, Default)]
pub struct Item {
    pub text: Text,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub struct Verbatim {
    /// The language, such as `toml`; `text` if it has none.
    pub language: &'static str,
    pub text: String,
}

/// A command and its purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The command, to run in the project.
    pub command: String,
    /// The purpose of the command.
    pub purpose: String,
}

/// A text on one line, made of spans; the further lines of a multi-line message follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text {
    pub(super) spans: Vec<Span>,
    /// The further lines of a message, indented as written.
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub text: String,
    pub role: Role,
    pub kind: Kind,
}

impl Document {
    pub fn new(command: &'static str) -> Self {
        Self { command, ..Self::default() }
    }

    #[must_use]
    pub fn titled(self, title: impl Into<Text>) -> Self {
        Self { title: title.into(), ..self }
    }

    pub fn add(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }
}

impl Block {
    pub fn heading(text: impl Into<Text>) -> Self {
        Self::Heading(text.into())
    }

    /// A paragraph of statements; `None` without statements.
    pub fn paragraph(texts: impl IntoIterator<Item = impl Into<Text>>) -> Option<Self> {
        let texts: Vec<Text> = texts.into_iter().map(Into::into).collect();
        (!texts.is_empty()).then_some(Self::Paragraph(texts))
    }

    /// A list; `None` without items.
    pub fn list(items: impl IntoIterator<Item = impl Into<Item>>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        (!items.is_empty()).then_some(Self::List(items))
    }

    /// A list below a summary; `None` without items.
    pub fn folded(
        summary: impl Into<Text>,
        items: impl IntoIterator<Item = impl Into<Item>>,
    ) -> Option<Self> {
        Self::list(items).map(|list| Self::Details(summary.into(), vec![list]))
    }

    /// Commands to run next; `None` without commands.
    pub fn steps(steps: Vec<Step>) -> Option<Self> {
        (!steps.is_empty()).then_some(Self::Steps(steps))
    }

    /// A table; `None` without rows.
    pub fn table(table: Table) -> Option<Self> {
        (!table.is_empty()).then_some(Self::Table(table))
    }
}

impl Text {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn from_name(name: impl Into<String>) -> Self {
        Self::new().name(name)
    }

    #[must_use]
    pub fn then(self, text: impl Into<String>) -> Self {
        self.span(text.into(), Role::Plain, Kind::Words)
    }

    pub fn warning(text: impl Into<Self>) -> Self {
        Self::new().styled(Role::Doubtful, "warning:").then(" ").append(text.into())
    }

    /// A note that the verdicts hold although something happened.
    pub fn note(text: impl Into<Self>) -> Self {
        Self::new().styled(Role::Quiet, "note:").then(" ").append(text.into())
    }

    #[must_use]
    pub fn styled(self, role: Role, text: impl Into<String>) -> Self {
        self.span(text.into(), role, Kind::Words)
    }

    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.span(name.into(), Role::Plain, Kind::Name)
    }

    #[must_use]
    pub fn styled_name(self, role: Role, name: impl Into<String>) -> Self {
        self.span(name.into(), role, Kind::Name)
    }

    #[must_use]
    pub fn command(self, command: impl Into<String>) -> Self {
        self.span(command.into(), Role::Plain, Kind::Command)
    }

    #[must_use]
    pub fn quote(self, text: impl Into<String>) -> Self {
        self.span(text.into(), Role::Plain, Kind::Quote)
    }

    /// Appends a message; its further lines follow below.
    #[must_use]
    pub fn message(self, message: impl AsRef<str>) -> Self {
        let (first, rest) = match message.as_ref().split_once('\n') {
            None => (message.as_ref(), None),
            Some((first, rest)) => (first, Some(rest.to_owned())),
        };
        Self { message: rest, ..self.then(first) }
    }

    #[must_use]
    pub fn append(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        Self { message: other.message.or(self.message), ..self }
    }

    pub fn joined(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut all = Self::new();
        for (index, text) in texts.into_iter().enumerate() {
            all = if index == 0 { text } else { all.then(between).append(text) };
        }
        all
    }

    /// The first of these texts and the number of the others: `a, b and 3 more`.
    pub fn few(texts: Vec<Self>, most: usize) -> Self {
        let more = and_more(texts.len(), most);
        Self::joined(texts.into_iter().take(most), ", ").then(more)
    }

    /// Capitalises the beginning of a sentence. A name stays as it is.
    #[must_use]
    pub(super) fn capitalised(mut self) -> Self {
        if let Some(first) = self.spans.first_mut().filter(|span| span.kind == Kind::Words) {
            first.text = capitalised(&first.text);
        }
        self
    }

    /// The text without roles and without the further lines of a message. Not escaped.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty()) && self.message.is_none()
    }

    fn span(mut self, text: String, role: Role, kind: Kind) -> Self {
        self.spans.push(Span { text, role, kind });
        self
    }
}

impl Item {
    pub fn new(text: impl Into<Text>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { text: text.into(), blocks: blocks.into_iter().collect() }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self::new().then(text)
    }
}

impl<T: Into<Text>> From<T> for Item {
    fn from(text: T) -> Self {
        Self { text: text.into(), blocks: Vec::new() }
    }
}

/// The minimum width of wrapped lines, in columns.
const NARROWEST: usize = 40;

/// The indent of all lines but the first.
const INDENT: &str = "  ";

/// Wraps `text` into lines of at most `columns`, all but the first indented. A number stays with
/// its unit or flag.
pub fn filled(text: &str, columns: usize) -> String {
    const BOUND: [(&str, &str); 3] =
        [(" %", "\u{a0}%"), (" -l ", " -l\u{a0}"), (" -m ", " -m\u{a0}")];
    let bound = BOUND.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let options = Options::new(columns.max(NARROWEST))
        .subsequent_indent(INDENT)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(&bound, options).replace('\u{a0}', " ") + "\n"
}

pub fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
