//! Wraps sentences at the width of the terminal.

use textwrap::{Options, WordSeparator, WordSplitter};

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

/// Capitalises the first word.
pub fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
