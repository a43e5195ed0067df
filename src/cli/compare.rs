//! The command line of `compare`.

use std::{rc::Rc, time::Duration};

use clap::Args;

use super::{ExperimentArgs, GateArgs, GivenOptions, ReportArgs, RevisionPair, VerdictArgs};
use crate::{config::values, model::Mode, shell::CommandLine};

/// `cargo rbench compare`.
#[derive(Clone, Debug, Default, Args)]
pub struct CompareArgs {
    /// The options that were given, for suggested commands.
    #[arg(skip)]
    pub given: GivenOptions,
    /// The two versions.
    #[command(flatten)]
    pub versions: RevisionPair,
    /// Compare BASE [default: HEAD] with these variants of it, separated by commas, and rank them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Experiment")]
    pub variants: Vec<String>,
    /// Only benchmarks whose id matches one of these regular expressions, like --filter.
    #[arg(value_name = "FILTER")]
    pub positional: Vec<String>,
    /// Compare stored results of both versions instead of measuring.
    #[arg(long, help_heading = "Stored results", conflicts_with_all = [
        "no_skip", "budget", "until_decided", "dry_run", "quick", "builds", "executions", "measurements", "cpu",
        "mode", "layout", "profile", "features", "all_features", "no_default_features", "cargo_args", "commands",
    ])]
    pub stored: bool,
    /// With --stored: also compare results from different machines, compilers or settings.
    #[arg(long, help_heading = "Stored results", requires = "stored")]
    pub ignore_environment: bool,
    /// Also measure benchmarks that are unaffected: they execute no changed code and read no changed data.
    #[arg(long, help_heading = "Experiment")]
    pub no_skip: bool,
    /// Measure for at most about this long, preferring the benchmarks that it most likely decides, with up to 40 builds
    /// of each. Compiling and linking do not count, and the first interim analysis is not limited.
    #[arg(long, value_name = "TIME", value_parser = values::deadline, help_heading = "Experiment")]
    pub budget: Option<Duration>,
    /// Measure benchmarks until they are decided, with up to 160 builds of each.
    #[arg(long, help_heading = "Experiment")]
    pub until_decided: bool,
    /// Mode of both versions: interleaved on one CPU, or sequential [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    /// Settings of the experiment.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// The criteria of verdicts.
    #[command(flatten)]
    pub verdict: VerdictArgs,
    /// A release to compare the head with, too.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Explain every verdict, not only those that need attention.
    #[arg(long, help_heading = "Output")]
    pub reasons: bool,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl CompareArgs {
    /// Moves the filters without `--filter` to those with it: the words after both versions, or after a range.
    pub(super) fn take_positional_filters(&mut self) {
        if let Some(filter) = self.versions.take_word_after_range() {
            self.given.0.push(("filter".to_owned(), Some(filter.clone())));
            self.positional.insert(0, filter);
        }
        self.experiment.patterns.splice(0..0, self.positional.drain(..));
    }

    /// The writer of suggested commands, which repeat the options of this one that they share.
    pub fn command_line(&self) -> Rc<dyn CommandLine> {
        Rc::new(self.given.clone())
    }

    /// The options of the comparison with one of the variants.
    #[must_use]
    pub fn with_variant(&self, base: &str, name: &str) -> Self {
        let versions = [base.to_owned(), format!("{base}+{name}")];
        Self {
            versions: RevisionPair::from_revisions(versions),
            given: self.given.without(&["variants"]),
            variants: Vec::new(),
            ..self.clone()
        }
    }

    /// The command line of these versions and programs, as a user would type it.
    pub fn suggest_itself(&self) -> String {
        let versions: Vec<&str> = self.versions.typed().into_iter().flatten().collect();
        let commands = self.experiment.target.commands.iter();
        let mut options: Vec<_> =
            commands.map(|command| ("command", Some(command.id.as_str()))).collect();
        if self.experiment.measure.quick {
            options.push(("quick", None));
        }
        self.given.suggest("compare", &versions, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Cli, Command},
        *,
    };

    #[test]
    fn words_after_the_versions_are_filters() {
        for (line, versions, filters) in [
            ("compare HEAD . a 'b c'", ["HEAD", "."], &["a", "b c"][..]),
            ("compare HEAD . a --filter b", ["HEAD", "."], &["a", "b"]),
            ("compare main.. a b", ["main", "HEAD"], &["a", "b"]),
            ("compare main..topic", ["main", "topic"], &[]),
            ("ci --base main --head topic -- a", ["main", "topic"], &["a"]),
        ] {
            let args = match Cli::parse_words(&shlex::split(line).unwrap()).unwrap().command {
                Some(Command::Compare(args)) => args,
                Some(Command::Ci(args)) => args.run.compare,
                _ => panic!("another command: {line}"),
            };
            assert_eq!(args.versions.names().unwrap(), versions, "{line}");
            assert_eq!(args.experiment.patterns, filters, "{line}");
            let again = args.given.suggest("compare", &[], &[]);
            let repeated = again.matches("--filter").count();
            assert_eq!(repeated, filters.len(), "{again}");
        }
        assert!(Cli::parse_words(&["ci".into(), "mrege".into()]).is_err(), "no filter");
    }

    #[test]
    fn default_is_the_command_without_options() {
        let Some(Command::Compare(typed)) = Cli::parse_words(&["compare".into()]).unwrap().command
        else {
            panic!("another command")
        };
        assert_eq!(format!("{typed:?}"), format!("{:?}", CompareArgs::default()));
    }
}
