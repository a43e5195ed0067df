//! The options of the present command, for the commands that it suggests: what was measured with a
//! feature turned on is looked into with it, too.

#[cfg(test)]
mod tests;

use clap::{
    Arg, ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches, parser::ValueSource,
};

use super::Cli;
use crate::{
    report::compare::CommandLine,
    shell::{option, quoted},
};

/// Options about one report, or about results that are stored already, which no suggestion carries.
const OWN: [&str; 7] =
    ["format", "output", "verbose", "color", "dry-run", "stored", "allow-different"];

/// The options that were given on the command line, by their long names; a switch has no value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenOptions(Vec<(String, Option<String>)>);

impl GivenOptions {
    /// These options but for some.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let options = self.0.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        Self(options.cloned().collect())
    }

    /// The same command with `word`, which names no revision, as a filter of `revision`'s benchmarks;
    /// none if the word can be no filter.
    pub fn as_filter(&self, subcommand: &str, revision: &str, word: &str) -> Option<String> {
        let is_revision =
            word.is_empty() || word.contains(['~', '^', ':', '@']) || word == revision;
        let command = || self.suggest(subcommand, &[revision], &[("filter", Some(word))]);
        (!is_revision).then(|| format!("did you mean `{}`?", command()))
    }
}

impl CommandLine for GivenOptions {
    /// A command line for a shell: the subcommand with these arguments and `options`, and with those
    /// given options that it has as well and that `options` does not replace.
    fn suggest(
        &self,
        subcommand: &str,
        arguments: &[&str],
        options: &[(&str, Option<&str>)],
    ) -> String {
        let cli = Cli::command();
        let has = |name: &str| {
            let mut known =
                cli.find_subcommand(subcommand).into_iter().flat_map(Command::get_arguments);
            known.any(|argument| argument.get_long() == Some(name))
        };
        let given = self.0.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
        let carried = given.filter(|(name, _)| {
            let replaced = options.iter().any(|(other, _)| other == name);
            !replaced && !OWN.contains(name) && has(name)
        });
        let options = options.iter().copied().chain(carried);
        let words = ["cargo", "rbench", subcommand].into_iter().chain(arguments.iter().copied());
        let words = words.map(quoted).chain(options.map(|(name, value)| option(name, value)));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let cli = Cli::command();
        let known: Vec<&Arg> = cli.get_subcommands().flat_map(Command::get_arguments).collect();
        let mut options = Vec::new();
        for id in matches.ids().map(clap::Id::as_str) {
            let option =
                known.iter().find(|known| known.get_id() == id && known.get_long().is_some());
            let given = matches.value_source(id) == Some(ValueSource::CommandLine);
            let Some(option) = option.filter(|_| given) else { continue };
            let name = option.get_long().unwrap_or_default().to_owned();
            let takes_none = option.get_num_args().is_some_and(|number| !number.takes_values());
            if takes_none || !option.get_action().takes_values() {
                options.push((name, None));
            } else {
                let values = matches.get_raw(id).into_iter().flatten();
                options.extend(
                    values.map(|value| (name.clone(), Some(value.to_string_lossy().into()))),
                );
            }
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Has no options of its own: it sees those of the command that it is flattened into.
impl Args for GivenOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
