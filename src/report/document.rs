//! A report as a tree of blocks, which says what is shown and in which order, and nothing of how.
//!
//! Three renderers show it: for a [terminal](super::render::text), as [Markdown](super::render::markdown) and as a
//! [web page](super::render::html). Texts are data: every renderer escapes all of them, whoever wrote them, so no
//! report has to remember which of its words come from a commit, a benchmark or a machine.

use schemars::JsonSchema;
use serde::Serialize;

use super::{prose::capitalised, style::Role, table::Table};

/// Where a document will be shown. The tree is the same everywhere, except that a report may leave out of a pull
/// request what only a terminal or a page has room for, and draws plots as wide as the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A terminal, or a file of plain text.
    Terminal {
        /// How many columns it has.
        columns: usize,
    },
    /// A pull request, or any other page written in Markdown.
    Markdown,
    /// A web page of its own.
    Page,
}

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The command whose report it is.
    pub command: &'static str,
    /// What it is about; empty where the blocks say so themselves.
    pub title: Text,
    /// What belongs to the title, such as the subject of the commit; may be empty.
    pub lead: Text,
    /// All else, in the order in which it is read.
    pub blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug)]
pub enum Block {
    /// The title of what follows.
    Heading(Text),
    /// Statements that belong together: each begins a line of a terminal, elsewhere they are one paragraph. They end
    /// without a full stop.
    Paragraph(Vec<Text>),
    /// A list.
    List(Vec<Item>),
    /// Something that makes the results less sure, and the command that helps, if one does.
    Warning(Text, Option<String>),
    /// A table.
    Table(Table),
    /// Text with lines of its own: a drawing, a file, the output of a program.
    Verbatim(Verbatim),
    /// Drawings in SVG, which only a page shows: elsewhere, plots are [verbatim](Self::Verbatim). What draws them
    /// escapes the texts in them.
    Drawings(Vec<String>),
    /// Commands to type next.
    Steps(Vec<Step>),
    /// What only some readers want to see: folded where something can be folded.
    Details(Text, Vec<Self>),
}

/// An entry of a list.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// What it says.
    pub text: Text,
    /// What belongs to it.
    pub blocks: Vec<Block>,
}

/// Text with lines of its own.
#[derive(Clone, Debug)]
pub struct Verbatim {
    /// Its language, such as `toml`; `text` if it has none.
    pub language: &'static str,
    /// The lines.
    pub text: String,
}

/// A command and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// To be typed in the project.
    pub command: String,
    /// What it shows.
    pub purpose: String,
}

/// A text on one line, of pieces in roles; what several lines of a message follow it, if they do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pub(super) spans: Vec<Span>,
    /// The further lines of a message, each indented as its writer did.
    pub(super) message: Option<String>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub text: String,
    pub role: Role,
    pub kind: Kind,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words of a sentence.
    #[default]
    Words,
    /// The name of a benchmark, a function, a version or a file.
    Name,
    /// A command, which a terminal shows on one line, to be copied.
    Command,
    /// What somebody else wrote.
    Quote,
}

impl Document {
    /// A document of a command, with nothing in it yet.
    pub fn new(command: &'static str) -> Self {
        Self { command, ..Self::default() }
    }

    /// The document with this title.
    #[must_use]
    pub fn titled(self, title: impl Into<Text>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Adds blocks.
    pub fn add(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }
}

impl Block {
    /// A heading in plain words.
    pub fn heading(text: impl Into<Text>) -> Self {
        Self::Heading(text.into())
    }

    /// A paragraph of one or several statements; none if there are none.
    pub fn paragraph(texts: impl IntoIterator<Item = impl Into<Text>>) -> Option<Self> {
        let texts: Vec<Text> = texts.into_iter().map(Into::into).collect();
        (!texts.is_empty()).then_some(Self::Paragraph(texts))
    }

    /// A list; none if it is empty.
    pub fn list(items: impl IntoIterator<Item = impl Into<Item>>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        (!items.is_empty()).then_some(Self::List(items))
    }

    /// Commands to type next; none if there are none.
    pub fn steps(steps: Vec<Step>) -> Option<Self> {
        (!steps.is_empty()).then_some(Self::Steps(steps))
    }

    /// A table; none if it has no rows.
    pub fn table(table: Table) -> Option<Self> {
        (!table.is_empty()).then_some(Self::Table(table))
    }
}

impl Text {
    /// A text without anything in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name, and nothing else.
    pub fn from_name(name: impl Into<String>) -> Self {
        Self::new().name(name)
    }

    /// A message, possibly of several lines, as a failure has them.
    pub fn from_message(message: impl AsRef<str>) -> Self {
        Self::new().message(message)
    }

    /// These words follow.
    #[must_use]
    pub fn then(self, text: impl Into<String>) -> Self {
        self.span(text.into(), Role::Plain, Kind::Words)
    }

    /// These words follow in a role.
    #[must_use]
    pub fn styled(self, role: Role, text: impl Into<String>) -> Self {
        self.span(text.into(), role, Kind::Words)
    }

    /// The name of something follows.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.span(name.into(), Role::Plain, Kind::Name)
    }

    /// The name of something follows in a role.
    #[must_use]
    pub fn styled_name(self, role: Role, name: impl Into<String>) -> Self {
        self.span(name.into(), role, Kind::Name)
    }

    /// A command follows.
    #[must_use]
    pub fn command(self, command: impl Into<String>) -> Self {
        self.span(command.into(), Role::Plain, Kind::Command)
    }

    /// What somebody else wrote follows, as it is.
    #[must_use]
    pub fn quote(self, text: impl Into<String>) -> Self {
        self.span(text.into(), Role::Plain, Kind::Quote)
    }

    /// A message follows, whose further lines stand below.
    #[must_use]
    pub fn message(self, message: impl AsRef<str>) -> Self {
        let (first, rest) = match message.as_ref().split_once('\n') {
            None => (message.as_ref(), None),
            Some((first, rest)) => (first, Some(rest.to_owned())),
        };
        Self { message: rest, ..self.then(first) }
    }

    /// Another text follows.
    #[must_use]
    pub fn append(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        Self { message: other.message.or(self.message), ..self }
    }

    /// Texts with this between them.
    pub fn joined(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut all = Self::new();
        for (index, text) in texts.into_iter().enumerate() {
            all = if index == 0 { text } else { all.then(between).append(text) };
        }
        all
    }

    /// The text as the beginning of a sentence: a name stays as it is.
    #[must_use]
    pub(super) fn capitalised(mut self) -> Self {
        if let Some(first) = self.spans.first_mut().filter(|span| span.kind == Kind::Words) {
            first.text = capitalised(&first.text);
        }
        self
    }

    /// The words alone, not escaped and without the further lines of a message.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty()) && self.message.is_none()
    }

    fn span(mut self, text: String, role: Role, kind: Kind) -> Self {
        self.spans.push(Span { text, role, kind });
        self
    }
}

impl Item {
    /// An entry with what belongs to it.
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
