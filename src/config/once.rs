//! The value of `--command 'tool --quick'`: a program of the workspace as a benchmark that needs no `bench.toml`.

use std::{ffi::OsStr, path::Path, str::FromStr};

use crate::shell;

/// A program of the workspace, with its arguments, that is a benchmark for this command only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// The benchmark's id: the command, quoted for a shell, without the directory of the program.
    pub id: String,
    pub program: String,
    pub arguments: Vec<String>,
}

/// The way to give a program its standard input.
const STDIN: &str = "write the program with its arguments, and --stdin FILE for what it reads";

/// The first character of a command, outside of quotes, that only a shell understands.
fn shell_only(command: &str) -> Option<char> {
    let (mut quote, mut characters) = (None, command.chars());
    while let Some(one) = characters.next() {
        match (quote, one) {
            (None | Some('"'), '\\') => drop(characters.next()),
            (None, '\'' | '"') => quote = Some(one),
            (Some(open), _) if open == one => quote = None,
            (None, '<' | '>' | '|' | '&' | ';') => return Some(one),
            _ => {}
        }
    }
    None
}

impl FromStr for Once {
    type Err = String;

    /// Parses a command like a shell. rbench builds the program for each version, so it ignores a directory before the
    /// program's name.
    fn from_str(command: &str) -> Result<Self, String> {
        let words = shell::words(command).ok_or("a quote is not closed")?;
        // Only unquoted ones are written so; a quoted one is an argument of the program.
        match shell_only(command) {
            Some('<') => {
                return Err(format!("rbench runs it without a shell, which `<` is for: {STDIN}"));
            }
            Some(other) => {
                return Err(format!(
                    "rbench runs it without a shell, which `{other}` is for: {STDIN}; its output is discarded; \
                     quote `{other}` if it is an argument"
                ));
            }
            None => {}
        }
        let (program, arguments) =
            words.split_first().ok_or("name a program of the workspace: 'tool --quick'")?;
        let name = Path::new(program).file_name().and_then(OsStr::to_str);
        let program = name.ok_or_else(|| format!("`{program}` names no program"))?;
        let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
        let id = words.map(shell::quoted).collect::<Vec<_>>().join(" ");
        if id.contains(char::is_control) {
            return Err("it has a line break or another control character".to_owned());
        }
        Ok(Self { id, program: program.to_owned(), arguments: arguments.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_split_like_a_shell_and_is_its_own_id() {
        let command: Once = "./target/release/tool --quick 'a b'".parse().unwrap();
        assert_eq!(command.program, "tool");
        assert_eq!(command.arguments, ["--quick", "a b"]);
        assert_eq!(command.id, "tool --quick 'a b'");
        assert_eq!(command.id.parse::<Once>().unwrap(), command);
        let quoted: Once = r#"tool '<' "a\"|" \> it"#.parse().unwrap();
        assert_eq!(quoted.arguments, ["<", "a\"|", ">", "it"]);
    }

    #[test]
    fn invalid_command_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "name a program"),
            ("  ", "name a program"),
            ("tool 'a", "quote is not closed"),
            ("..", "names no program"),
            ("tool 'a\nb'", "line break"),
            ("tool < a", "--stdin FILE"),
            ("cat a|tool", "quote `|` if"),
            ("tool \"a\"'b' >c", "`>` is for"),
        ] {
            let error = text.parse::<Once>().unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
