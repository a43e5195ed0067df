//! Writes the commands that reports and errors suggest. A suggestion repeats the options that it shares with the current
//! command, such as `--features`.

use clap::{ArgMatches, Command, CommandFactory as _, parser::ValueSource};

use super::Cli;
use crate::{
    model::secret::shown_cargo_args,
    shell::{CommandLine, cargo, option, quoted},
};

/// Options of one report or of stored results, which no suggestion repeats.
const OWN: [&str; 10] = [
    "reasons",
    "quiet",
    "format",
    "output",
    "color",
    "dry-run",
    "stored",
    "ignore-environment",
    "also-base",
    "partition",
];

impl CommandLine for GivenOptions {
    /// Writes a command line for a shell: the subcommand with these arguments and `options`, and with
    /// the given options that it has, too, and that `options` does not replace.
    fn suggest(
        &self,
        subcommand: &str,
        arguments: &[&str],
        options: &[(&str, Option<&str>)],
    ) -> String {
        let cli = Cli::command();
        let mut words = subcommand.split(' ');
        let suggested = words.try_fold(&cli, |command, word| command.find_subcommand(word));
        let has = |name: &str| {
            let mut known = suggested.into_iter().flat_map(Command::get_arguments);
            known.any(|argument| argument.get_long() == Some(name))
        };
        // A key of bench.toml matters to a command that has an option of the key's table.
        let matters = |name: &str, value: Option<&str>| {
            let key = value.filter(|_| name == "config").and_then(|key| key.split_once('.'));
            match key.map(|(table, _)| table) {
                Some("experiment") => has("builds") && has("measurements"),
                Some("verdict" | "metric") => has("min-effect"),
                Some("gate") => has("also-base"),
                _ => true,
            }
        };
        let given = self.0.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
        let carried = given.filter(|(name, value)| {
            let replaced = options.iter().any(|(other, _)| {
                // A suggested number of builds may take longer than the given budget.
                let is_number = matches!(*other, "builds" | "executions");
                other == name || *name == "budget" && is_number
            });
            !replaced && !OWN.contains(name) && has(name) && matters(name, *value)
        });
        let options = options.iter().copied().chain(carried);
        let options = options.map(|(name, value)| option(name, value));
        let quoted_arguments = arguments.iter().map(quoted);
        // An argument that begins with `-` must be after `--`, and no option can follow there.
        let words: Vec<String> = if arguments.iter().any(|word| word.starts_with('-')) {
            options.chain(["--".to_owned()]).chain(quoted_arguments).collect()
        } else {
            quoted_arguments.chain(options).collect()
        };
        let subcommand = [cargo(), "rbench", subcommand].map(str::to_owned);
        subcommand.into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }
}

impl GivenOptions {
    /// Suggests the same command with `word`, which is not a revision, as a filter of the benchmarks
    /// of these revisions; `None` if the word cannot be a filter.
    pub fn as_filter(&self, subcommand: &str, revisions: &[&str], word: &str) -> Option<String> {
        let is_revision =
            word.is_empty() || word.contains(['~', '^', ':', '@']) || revisions.contains(&word);
        let others = self.0.iter().filter(|(name, _)| name == "filter");
        let others = others.map(|(name, filter)| (name.as_str(), filter.as_deref()));
        let filters: Vec<_> = std::iter::once(("filter", Some(word))).chain(others).collect();
        let command = || self.suggest(subcommand, revisions, &filters);
        (!is_revision).then(|| format!("did you mean `{}`?", command()))
    }
}

/// The clap id of filters without a flag.
const FILTERS: &str = "positional";

/// The option for arguments of cargo, which may hold secrets.
const CARGO_ARGUMENTS: &str = "cargo-arg";

/// The options on the command line, by their long names; a switch has no value. Secrets in values are
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenOptions(pub(super) Vec<(String, Option<String>)>);

impl GivenOptions {
    /// Returns these options without some.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let options = self.0.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        Self(options.cloned().collect())
    }

    /// Reads the options of the subcommand that was typed. `all` is the definition of the whole command line.
    pub(super) fn read(all: &Command, matches: &ArgMatches) -> Self {
        let (mut command, mut matches) = (all, matches);
        while let Some((name, below)) = matches.subcommand()
            && let Some(subcommand) = command.find_subcommand(name)
        {
            (command, matches) = (subcommand, below);
        }
        let mut options = Vec::new();
        for id in matches.ids().map(clap::Id::as_str) {
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let option = command.get_arguments().find(|argument| argument.get_id() == id);
            let name = |option: &clap::Arg| {
                option.get_long().or((id == FILTERS).then_some("filter")).map(str::to_owned)
            };
            let Some((option, name)) = option.and_then(|option| Some((option, name(option)?)))
            else {
                continue;
            };
            let takes_none = option.get_num_args().is_some_and(|number| !number.takes_values());
            if takes_none || !option.get_action().takes_values() {
                options.push((name, None));
            } else {
                let values = matches.get_raw(id).into_iter().flatten();
                let mut values: Vec<String> =
                    values.map(|value| value.to_string_lossy().into()).collect();
                if name == CARGO_ARGUMENTS {
                    values = shown_cargo_args(&values);
                }
                options.extend(values.into_iter().map(|value| (name.clone(), Some(value))));
            }
        }
        Self(options)
    }
}

#[cfg(test)]
mod tests;
