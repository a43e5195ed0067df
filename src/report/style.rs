//! The colours of reports: few, and never the only way to convey something.
//!
//! Texts contain escape sequences. The console removes them for `NO_COLOR`, pipes and terminals without
//! colours, and [`plain`] removes them for files.

use anstyle::{AnsiColor, Style};

use super::visible::visible;

/// The heads of tables and sections.
pub const HEAD: Style = Style::new().bold();
/// What is worse, and failures of the whole.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What is better.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What needs a look: failed, not shown either way, a warning.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// What is there for completeness.
pub const QUIET: Style = Style::new().dimmed();

/// `text` in this style. Nothing in it steers the terminal.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{}{style:#}", visible(text))
}

/// `text` without any style.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_painted_is_the_same_text_without_its_style() {
        let painted = paint(BAD, "regressed");
        assert_ne!(painted, "regressed");
        assert_eq!(plain(&painted), "regressed");
    }
}
