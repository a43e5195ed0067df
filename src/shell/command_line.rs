//! Commands that are suggested.

use std::fmt;

/// Writes commands that can be typed, with those options of the present command that hold for them too.
pub trait CommandLine: fmt::Debug {
    /// The subcommand with these arguments and options; a switch has no value.
    fn suggest(
        &self,
        subcommand: &str,
        arguments: &[&str],
        options: &[(&str, Option<&str>)],
    ) -> String;
}
