//! The flags of a comparison as they were typed, for the commands that its report advises: what was
//! compared with a feature turned on is looked into with it, too.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};

use super::CompareArgs;
use crate::shell::quoted;

/// Flags that say how one report is printed, and nothing of what it is about.
const PRINTING: [&str; 3] = ["format", "output", "verbose"];

/// The flags of `cargo rbench compare` that were typed.
#[derive(Clone, Debug, Default)]
pub struct TypedFlags {
    /// Each with its long name and, unless it is a switch, a value.
    flags: Vec<(String, Option<String>)>,
}

impl TypedFlags {
    /// The flags of a comparison that was typed so.
    #[cfg(test)]
    pub(crate) fn of_words(words: &str) -> Self {
        use clap::Parser;

        let words = shlex::split(&format!("cargo-rbench compare {words}")).unwrap_or_default();
        match super::Cli::parse_from(words).command {
            super::Command::Compare(args) => args.typed,
            _ => Self::default(),
        }
    }

    /// Those that another command has as well, as words of a shell, each with a space before.
    pub fn of_command<T: Args>(&self) -> String {
        let known = T::augment_args(Command::new(""));
        self.words(|flag| known.get_arguments().any(|argument| argument.get_long() == Some(flag)))
    }

    /// Some of them, as words of a shell, each with a space before.
    pub fn only(&self, flags: &[&str]) -> String {
        self.words(|flag| flags.contains(&flag))
    }

    /// All but some, as words of a shell, each with a space before.
    pub fn without(&self, flags: &[&str]) -> String {
        self.words(|flag| !flags.contains(&flag))
    }

    fn words(&self, wanted: impl Fn(&str) -> bool) -> String {
        let word = |(flag, value): &(String, Option<String>)| match value {
            Some(value) => format!(" --{flag} {}", quoted(value)),
            None => format!(" --{flag}"),
        };
        let wanted = |(flag, _): &&(String, _)| wanted(flag) && !PRINTING.contains(&&flag[..]);
        self.flags.iter().filter(wanted).map(word).collect()
    }
}

impl FromArgMatches for TypedFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Vec::new();
        for argument in CompareArgs::augment_args(Command::new("")).get_arguments() {
            let id = argument.get_id().as_str();
            let Some(long) = argument.get_long() else { continue };
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if argument.get_action().takes_values() {
                let values = matches.get_raw(id).into_iter().flatten();
                flags.extend(
                    values.map(|value| (long.to_owned(), Some(value.to_string_lossy().into()))),
                );
            } else {
                flags.push((long.to_owned(), None));
            }
        }
        Ok(Self { flags })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Takes no flags of its own: it sees those of the command that it is flattened into.
impl Args for TypedFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::DiffArgs;

    #[test]
    fn what_was_typed_can_be_typed_again_and_what_was_not_is_left_out() {
        let typed = TypedFlags::of_words(
            "A B -l 5 --filter 'a|b' --filter c -F x,y --locked --format json -v",
        );
        assert_eq!(
            typed.without(&["executions"]),
            " --filter 'a|b' --filter c --builds 5 --features x --features y --locked"
        );
        assert_eq!(typed.without(&["builds", "filter"]), " --features x --features y --locked");
    }

    #[test]
    fn another_command_gets_the_flags_that_it_has() {
        let typed = TypedFlags::of_words(
            "-p parser --manifest-path 'a b/Cargo.toml' -m 3 --profile release",
        );
        assert_eq!(
            typed.of_command::<DiffArgs>(),
            " --package parser --manifest-path 'a b/Cargo.toml' --profile release"
        );
        let nothing = TypedFlags::default();
        assert_eq!(nothing.of_command::<DiffArgs>() + &nothing.without(&[]), "");
    }
}
