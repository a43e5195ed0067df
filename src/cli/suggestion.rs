//! Writes the commands that reports and errors suggest. A suggestion repeats the options that it shares with the current
//! command, such as `--features`.

#[cfg(test)]
mod tests;

use clap::{Command, CommandFactory as _};

use super::{Cli, GivenOptions, results::OF_SEVERAL};

use crate::{
    error::{Error, Result},
    model::{Variant, Version},
    shell::{CommandLine, cargo, option, quoted},
};

/// Options of one report or of stored results, which no suggestion repeats.
const OWN: [&str; 15] = [
    "reasons",
    "explain",
    "quiet",
    "format",
    "output",
    "color",
    "dry-run",
    "stored",
    "ignore-environment",
    "also-base",
    "partition",
    "part",
    "push",
    "watch",
    "verbose",
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
        let compiles = has("features");
        // A key of bench.toml matters to a command that has an option of the key's table.
        let matters = |name: &str, value: Option<&str>| {
            let key = value.filter(|_| name == "config").and_then(|key| key.split_once('.'));
            match key.map(|(table, _)| table) {
                Some("experiment") => has("builds") && has("measurements"),
                Some("verdict" | "metric") => has("min-effect"),
                Some("gate") => has("also-base"),
                Some("sandbox") => compiles,
                _ => true,
            }
        };
        // With a revision, `history` is about one version.
        let is_of_one = subcommand == "history" && !arguments.is_empty();
        let given = self.0.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
        let carried = given.filter(|(name, value)| {
            let replaced = options.iter().any(|(other, _)| {
                // A suggested number of builds may take longer than the given budget.
                let is_number = matches!(*other, "builds" | "executions");
                other == name || *name == "budget" && is_number
            });
            // `exec` has the name of its benchmark as an argument.
            let replaced = replaced || subcommand == "exec" && *name == "filter";
            let fits = !(is_of_one && OF_SEVERAL.contains(name)) && matters(name, *value);
            // All commands have these.
            let is_of_sandbox = compiles && matches!(*name, "sandbox" | "no-sandbox");
            !replaced && !OWN.contains(name) && (is_of_sandbox || has(name)) && fits
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
    /// The revision `word` of a subcommand, or the error with a suggestion: the same command with the word as a filter of
    /// the benchmarks of these revisions.
    pub fn revision_or_filter(
        &self,
        resolved: Result<Version>,
        subcommand: &str,
        revisions: &[&str],
        word: &str,
    ) -> Result<Version> {
        let hint = || self.as_filter(subcommand, revisions, word);
        resolved.map_err(|error| hint().into_iter().fold(error, Error::hint))
    }

    /// Suggests the same command with `word`, which is not a revision, as a filter of the benchmarks
    /// of these revisions; `None` if the word cannot be a filter.
    pub fn as_filter(&self, subcommand: &str, revisions: &[&str], word: &str) -> Option<String> {
        let has_variant = word.rsplit_once('+').is_some_and(|(_, name)| Variant::is_name(name));
        let is_revision = word.is_empty()
            || word.contains(['~', '^', ':', '@'])
            || has_variant
            || revisions.contains(&word);
        let others = self.0.iter().filter(|(name, _)| name == "filter");
        let others = others.map(|(name, filter)| (name.as_str(), filter.as_deref()));
        let filters: Vec<_> = std::iter::once(("filter", Some(word))).chain(others).collect();
        let command = || self.suggest(subcommand, revisions, &filters);
        (!is_revision).then(|| format!("did you mean `{}`?", command()))
    }
}
