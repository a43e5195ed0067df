//! The options of the current command, for the commands that it suggests.

use clap::{ArgMatches, Command, parser::ValueSource};

use crate::model::secret::shown_cargo_args;

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
            let mut known = command.get_arguments().chain(all.get_arguments());
            let option = known.find(|argument| argument.get_id() == id);
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
