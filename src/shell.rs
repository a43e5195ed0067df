//! Quotes words for a shell, so that users can copy the commands that rbench prints and suggests.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    fmt,
    sync::OnceLock,
};

/// The result of [`cargo`] in this process.
static CARGO: OnceLock<String> = OnceLock::new();

/// `cargo`, with the toolchain that the user named in the present command, as words of a shell: a project that needs
/// nightly once needs it again. Just `cargo` until [`adopt_toolchain`] was called.
pub fn cargo() -> &'static str {
    CARGO.get().map_or("cargo", String::as_str)
}

/// Makes all printed commands name the toolchain of `cargo +TOOLCHAIN rbench`, which rustup passes in variables. A
/// toolchain from another source applies to the next command anyway.
pub fn adopt_toolchain(variable: impl Fn(&str) -> Option<OsString>) {
    CARGO.get_or_init(|| cargo_with_toolchain(variable));
}

fn cargo_with_toolchain(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let is_typed = variable("RUSTUP_TOOLCHAIN_SOURCE").is_some_and(|source| source == "cli");
    let toolchain = variable("RUSTUP_TOOLCHAIN").filter(|_| is_typed);
    toolchain.map_or_else(
        || "cargo".to_owned(),
        |name| format!("cargo {}", quoted(format!("+{}", name.display()))),
    )
}

/// Quotes `word` as one word of a POSIX shell. Replaces invalid UTF-8, and NUL, which no argument can contain.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy().replace('\0', "\u{fffd}");
    // Within a word these have no special meaning, and `HEAD~1` and `-Clink-arg=x` are easier to read without quotes.
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_+./:,@%=~".contains(c);
    if word.starts_with(|c: char| inside(c) && !"=~".contains(c)) && word.chars().all(inside) {
        return word;
    }
    shlex::try_quote(&word).map_or_else(|_| word.clone(), Cow::into_owned)
}

/// Splits a command into words like a POSIX shell, without expanding variables and patterns; none if a quote is open.
pub fn words(command: &str) -> Option<Vec<String>> {
    shlex::split(command)
}

/// The option `--name` for a shell, with its value if it has one. A value that starts with `-` is joined with `=`,
/// since it would be taken for an option otherwise.
pub fn option(name: &str, value: Option<&str>) -> String {
    match value {
        None => format!("--{name}"),
        Some(value) if value.starts_with('-') => format!("--{name}={}", quoted(value)),
        Some(value) => format!("--{name} {}", quoted(value)),
    }
}

/// Builds commands for suggestions, with those options of the present command that apply to them too.
pub trait CommandLine: fmt::Debug {
    /// The subcommand with these arguments and options; a switch has no value.
    fn suggest(
        &self,
        subcommand: &str,
        arguments: &[&str],
        options: &[(&str, Option<&str>)],
    ) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_survive_splitting() {
        for plain in ["-Clink-arg=-fuse-ld=lld", "HEAD~1", "/a/b-c.d_e:f,g@h+i%j", "v1.0", "."] {
            assert_eq!(quoted(plain), plain);
        }
        for word in ["it's here", "", "~", "=ls", "^(a|b)$", "größe", "a\nb"] {
            assert_eq!(shlex::split(&quoted(word)).unwrap(), [word]);
        }
    }

    #[test]
    fn cargo_names_only_a_typed_toolchain() {
        let cargo = |source: &str, name: &str| {
            let variables = [("RUSTUP_TOOLCHAIN", name), ("RUSTUP_TOOLCHAIN_SOURCE", source)];
            cargo_with_toolchain(|wanted| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(cargo("cli", "nightly-x"), "cargo +nightly-x");
        assert_eq!(cargo("cli", "my own"), "cargo '+my own'");
        for source in ["default", "env", "toolchain-file", "path-override"] {
            assert_eq!(cargo(source, "nightly-x"), "cargo");
        }
        assert_eq!(cargo_with_toolchain(|_| None), "cargo");
    }

    #[test]
    fn quoted_replaces_nul() {
        assert_eq!(shlex::split(&quoted("a\0b")).unwrap(), ["a\u{fffd}b"]);
    }

    #[test]
    fn value_like_an_option_is_joined_with_its_option() {
        assert_eq!(option("exact", None), "--exact");
        assert_eq!(option("filter", Some("a b")), "--filter 'a b'");
        assert_eq!(option("filter", Some("-v")), "--filter=-v");
        assert_eq!(shlex::split(&option("filter", Some("-'v"))).unwrap(), ["--filter=-'v"]);
    }
}
