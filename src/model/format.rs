//! The formats of a report, and the addresses that it may link to.

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
    /// For Bencher: the values of a version in the Bencher Metric Format; only `compare`, `run REV` and `history REV`.
    Bmf,
    /// For github-action-benchmark: the same values as its `customSmallerIsBetter`.
    Gab,
    /// Pictures, of reports that have some.
    #[value(skip)]
    Svg,
}

impl Format {
    /// True if it has only the values of one version, which few reports have.
    pub const fn is_of_values(self) -> bool {
        matches!(self, Self::Bmf | Self::Gab)
    }

    pub const EXTENSIONS: [(&str, Self); 5] = [
        ("html", Self::Html),
        ("json", Self::Json),
        ("md", Self::Markdown),
        ("txt", Self::Text),
        ("svg", Self::Svg),
    ];
}

/// True for the address of a page that can stand in a link of Markdown or HTML without quoting, whoever wrote it.
pub fn is_plain_web_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-~".contains(c);
    let has_scheme = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    has_scheme && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_address_cannot_end_a_link() {
        for wrong in
            ["", "example.org", "javascript:alert(1)", "https://a>b", "https://a)b", "https://a b"]
        {
            assert!(!is_plain_web_address(wrong), "{wrong}");
        }
        assert!(is_plain_web_address("https://o.github.io/r/~me/index.html"));
    }
}
