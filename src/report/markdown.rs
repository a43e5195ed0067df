//! Writes pieces of Markdown in which untrusted text is never markup.

use super::escape::{escape_untrusted, escape_untrusted_lines};

/// A fenced block with this text, whatever backticks it contains.
pub fn fenced(text: &str) -> String {
    fenced_as("text", text)
}

/// A fenced block in a language.
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
