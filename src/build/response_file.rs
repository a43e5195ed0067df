//! Response files (`@file`), which rustc uses when a command line would be too long.

use std::fs;

use crate::failure::{Exit, OrFail, Result};

/// The arguments with every response file replaced by its words.
pub fn expand(arguments: &[String]) -> Result<Vec<String>> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.strip_prefix('@') {
            Some(path) => {
                let text = fs::read_to_string(path)
                    .or_fail(Exit::Build, || format!("cannot read the response file {path}"))?;
                expanded.extend(words(&text));
            }
            None => expanded.push(argument.clone()),
        }
    }
    Ok(expanded)
}

/// The words of a response file as GCC, Clang and LLD read them: separated by white space, which
/// quotes protect, and so does a backslash (except inside single quotes).
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, ' ' | '\t' | '\n' | '\r') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if character == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_linkers_split_them() {
        let text = "-pie\n/a\\ b/c.o \"with \\\"quote\\\"\"\n'single \\ quoted' \"\"\n";
        assert_eq!(words(text), ["-pie", "/a b/c.o", "with \"quote\"", "single \\ quoted", ""]);
    }

    #[test]
    fn a_response_file_takes_the_place_of_its_argument() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("linker-arguments");
        fs::write(&path, "-m64\n/deps/a.o\n").unwrap();
        let arguments = [format!("@{}", path.display()), "-pie".to_owned()];
        assert_eq!(expand(&arguments).unwrap(), ["-m64", "/deps/a.o", "-pie"]);
    }
}
