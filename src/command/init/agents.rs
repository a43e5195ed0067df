//! The section about rbench in a project's `AGENTS.md`, which coding agents read.

/// The lines around the section, by which it is found again.
const MARKS: [&str; 2] = ["<!-- cargo-rbench: begin -->", "<!-- cargo-rbench: end -->"];

/// The text of `AGENTS.md` with the section, in place of an older one or at the end. `None` if only one of the lines around
/// the section is there, or they are in the wrong order.
pub fn with_section(text: &str) -> Option<String> {
    let [begin, end] = MARKS;
    let section = format!("{begin}\n{}{end}\n", include_str!("agents.md"));
    match (text.find(begin), text.find(end)) {
        (None, None) => {
            let gap = match text {
                "" => "",
                _ if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            Some(format!("{text}{gap}{section}"))
        }
        (Some(start), Some(last)) if start < last => {
            let rest = &text[last + end.len()..];
            let rest = rest.strip_prefix('\n').unwrap_or(rest);
            Some(format!("{}{section}{rest}", &text[..start]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_is_added_once_and_replaced() {
        let new = with_section("").unwrap();
        assert_eq!(with_section(&new).as_ref(), Some(&new));
        let own = "# Rules\n\nTest all.";
        let added = with_section(own).unwrap();
        assert!(added.starts_with(&format!("{own}\n\n{}", MARKS[0])), "{added}");
        let older = format!("before\n{}\nold\n{}\nafter\n", MARKS[0], MARKS[1]);
        assert_eq!(with_section(&older).unwrap(), format!("before\n{new}after\n"));
    }

    #[test]
    fn half_a_section_is_refused() {
        for text in [MARKS[0].to_owned(), MARKS[1].to_owned(), format!("{}{}", MARKS[1], MARKS[0])]
        {
            assert_eq!(with_section(&text), None, "{text}");
        }
    }
}
