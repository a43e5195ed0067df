//! Escapes foreign text (ids, paths, commit messages, output of benchmarks), so that it cannot control the
//! terminal or reorder the text around it.

use std::borrow::Cow;

/// Returns the text on one line, and escapes each character that controls or reorders the display
/// as in Rust: `\u{1b}`, `\n`, `\u{202e}`.
pub fn escape_untrusted(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Like [`escape_untrusted`], but keeps line breaks and tabs: for messages of several lines.
pub fn escape_untrusted_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| is_hidden(character) && !matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if hidden(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// True if a character controls a terminal (C0, DEL, C1), breaks a line, changes the direction of writing, or must not be
/// in an XML document.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{fffe}'..='\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped() {
        assert_eq!(escape_untrusted("a\u{1b}[31mb"), r"a\u{1b}[31mb");
        assert_eq!(
            escape_untrusted("a\r\n\tb\u{7}\0\u{7f}\u{9b}"),
            r"a\r\n\tb\u{7}\u{0}\u{7f}\u{9b}"
        );
    }

    #[test]
    fn direction_controls_are_escaped() {
        let all = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain(['\u{200f}']);
        for character in all {
            let code = u32::from(character);
            assert_eq!(escape_untrusted(&format!("a{character}b")), format!("a\\u{{{code:x}}}b"));
        }
    }

    #[test]
    fn characters_that_xml_forbids_are_escaped() {
        assert_eq!(escape_untrusted("a\u{fffe}b\u{ffff}"), r"a\u{fffe}b\u{ffff}");
    }

    #[test]
    fn escape_untrusted_lines_keeps_line_breaks_and_tabs() {
        assert_eq!(escape_untrusted_lines("a\n\tb\r\u{1b}c"), "a\n\tb\\r\\u{1b}c");
    }

    #[test]
    fn other_characters_are_not_escaped() {
        for text in ["parse/1024", r"f(\n)", "größe 排序 👩\u{200d}🔬", ""] {
            assert_eq!(escape_untrusted(text), text);
        }
    }
}
