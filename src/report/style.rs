//! The colours of reports: few, and never the only way to convey something.
//!
//! Texts for a terminal contain escape sequences. The console removes them for `NO_COLOR`, pipes
//! and terminals without colours, and [`plain`] removes them for files.

use anstyle::{AnsiColor, Style};

use super::escape::escape_untrusted;

/// The role of a piece of text, which decides its colour on a terminal and its emphasis elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    #[default]
    Plain,
    /// Heads of tables and sections.
    Head,
    /// Regressions, and failures of the whole command.
    Bad,
    Good,
    /// Worth a check: failed, inconclusive, a warning.
    Doubtful,
    /// Shown for completeness.
    Quiet,
}

/// The kind of a span, which decides its markup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    #[default]
    Words,
    /// The name of a benchmark, a function, a version or a file.
    Name,
    /// A command. A terminal keeps it on one line, to be copied.
    Command,
    /// Quoted, possibly untrusted text.
    Quote,
}

impl Role {
    const fn ansi(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Head => Style::new().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}

/// `text` in the colour of this role, escaped.
pub fn paint(role: Role, text: &str) -> String {
    let style = role.ansi();
    format!("{style}{}{style:#}", escape_untrusted(text))
}

/// `text` without any colour.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted_text_is_unchanged_without_its_style() {
        let painted = paint(Role::Bad, "regressed");
        assert_ne!(painted, "regressed");
        assert_eq!(plain(&painted), "regressed");
    }
}
