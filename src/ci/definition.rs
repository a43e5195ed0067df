//! Finds the line that defines a function, from its name and the changed source files. Text search
//! only: it prefers no line to a wrong one.

/// A line of the source, by its path in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The path of the file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// The definition of a function in these files (paths and texts); `None` unless there is exactly
/// one candidate.
pub fn definition(sources: &[(String, String)], name: &str) -> Option<Definition> {
    let segments = segments(name);
    let word = segments.last()?;
    let mut places = Vec::new();
    for (path, text) in sources {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| defines(line, word));
        places.extend(lines.map(|(line, _)| Definition { path: path.clone(), line }));
    }
    if let [_] = &places[..] {
        return places.pop();
    }
    // Several functions have the name: the module may decide.
    let module = segments.iter().rev().nth(1)?;
    places.retain(|place| {
        let path = place.path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.rsplit('/').next() == Some(module)
    });
    if let [_] = &places[..] { places.pop() } else { None }
}

/// The identifiers in a path: `ryu::d2s::<impl A for B>::f::{closure#0}` has `ryu`, `d2s` and `f`.
fn segments(name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut segments = Vec::new();
    let bytes = name.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'{' | b'(' | b'[' => depth += 1,
            // The `>` of an arrow in a function type closes no bracket.
            b'>' if index > 0 && bytes[index - 1] == b'-' => {}
            b'>' | b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => {
                segments.push(&name[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    segments.push(&name[start..]);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = segments.into_iter().map(|segment| {
        let end = segment.find(|c: char| !is_word(c)).unwrap_or(segment.len());
        &segment[..end]
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// True if the line contains `fn word`.
fn defines(line: &str, word: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    let Some((before, after)) = line.split_once("fn ") else { return false };
    let is_keyword = before.is_empty() || before.ends_with(' ');
    let rest = after.trim_start().strip_prefix(word);
    is_keyword && rest.is_some_and(|rest| rest.starts_with(['(', '<', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Option<(String, u32)> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let sources = [
            file(
                "src/d2s.rs",
                "// fn decimal_length(\n\n    pub(crate) fn decimal_length(v: u64) {}\n",
            ),
            file("src/lib.rs", "pub fn fold<T>(x: T) {}\nfn both() {}\n"),
            file("src/pretty/mod.rs", "pub unsafe fn both() {}\n"),
        ];
        definition(&sources, name).map(|place| (place.path, place.line))
    }

    #[test]
    fn definition_is_found_by_the_name_of_a_function() {
        assert_eq!(place("ryu::d2s::decimal_length"), Some(("src/d2s.rs".to_owned(), 3)));
        for name in
            ["a::fold", "a::fold::<u32>", "<a::B as c::D<e::F>>::fold", "a::fold::{closure#0}"]
        {
            assert_eq!(place(name), Some(("src/lib.rs".to_owned(), 1)), "{name}");
        }
    }

    #[test]
    fn definition_of_an_ambiguous_name_needs_its_module() {
        assert_eq!(place("ryu::pretty::both"), Some(("src/pretty/mod.rs".to_owned(), 1)));
        assert_eq!(place("ryu::other::both"), None);
    }

    #[test]
    fn unknown_function_has_no_definition() {
        for name in ["", "::", "core::fmt::write", "fold_all", "<", "a::{closure#0}", "größe::ß"]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
