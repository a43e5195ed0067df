//! Addresses of web pages that somebody else wrote.

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
