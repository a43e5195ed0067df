//! Suggested commands.

use std::fmt;

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
