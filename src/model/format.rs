//! The formats of a report.

use clap::ValueEnum;

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; may change at any time.
    #[default]
    Text,
    /// For programs; has a schema.
    Json,
    /// For pull requests.
    Markdown,
    /// For browsers: one file that needs no network.
    Html,
}

impl Format {
    /// The file extensions of each format.
    pub const EXTENSIONS: [(&str, Self); 4] =
        [("html", Self::Html), ("json", Self::Json), ("md", Self::Markdown), ("txt", Self::Text)];
}
