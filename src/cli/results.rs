//! The command lines of commands that read or write stored results.

use std::path::PathBuf;

use clap::Args;

use super::{FilterArgs, GivenOptions, OutputFileArgs, ProjectArgs};
use crate::{
    config::{CriteriaOptions, values},
    model::{Format, TargetFilter},
};

/// Filters of bench targets, for commands that compile nothing.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct StoredTargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

impl From<&StoredTargetArgs> for TargetFilter {
    fn from(flags: &StoredTargetArgs) -> Self {
        let (packages, benches) = (flags.package.clone(), flags.bench.clone());
        Self { packages, benches, ..Self::default() }
    }
}

/// The options of `history` that are about several versions.
pub(super) const OF_SEVERAL: [&str; 7] =
    ["since", "variant", "path", "last", "changes-only", "top", "ignore-environment"];

#[derive(Clone, Debug, Default, Args)]
pub struct HistoryArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// Show every build and execution of this version: any git revision, or `.` for the uncommitted tree. A word that
    /// names no version is a filter.
    #[arg(value_name = "REV")]
    pub revision: Option<String>,
    /// Filters of benchmarks to show commit by commit; without a filter, an overview of all.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Show only this revision and later ones.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Show this variant of the versions instead of the plain ones: each has its own course.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Show only changes at commits that changed this file, or a file below this directory; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub path: Vec<PathBuf>,
    /// Show only the newest N stored versions [default: 20, 200 with --changes-only, --top or --path, or all with
    /// --since]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Show only suspected changes, and their first commits.
    #[arg(long)]
    pub changes_only: bool,
    /// Show only the N benchmarks with the largest suspected slowdowns, the worst first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Also compare results from different machines, compilers or settings.
    #[arg(long)]
    pub ignore_environment: bool,
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    #[command(flatten)]
    pub output: OutputFileArgs,
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

impl HistoryArgs {
    /// Takes a word that names no version as the first filter.
    pub fn add_filter(&mut self, word: String) {
        self.given.0.insert(0, ("filter".to_owned(), Some(word.clone())));
        self.filter.positional.insert(0, word);
    }

    /// The first option that one version has no use for.
    pub fn option_of_several(&self) -> Option<&str> {
        let mut given = self.given.0.iter().map(|(name, _)| name.as_str());
        given.find(|name| OF_SEVERAL.contains(name))
    }

    /// The values of `--path`.
    pub fn paths(&self) -> Vec<String> {
        self.path.iter().map(|path| path.display().to_string()).collect()
    }
}

#[derive(Debug, Args)]
pub struct SiteArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The directory to write: a new or empty one, or one that this command wrote before.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Show only this revision and later ones.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct AcceptArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The commit that made the benchmark slower: the head of a stored comparison.
    #[arg(value_name = "REV")]
    pub revision: String,
    /// The benchmark: its id, or a part or regular expression that only its id matches.
    #[arg(value_name = "BENCH")]
    pub benchmark: String,
    /// The reason for accepting the slowdown, in a few words; reports repeat it.
    #[arg(long, value_name = "TEXT", value_parser = values::reason)]
    pub reason: String,
    /// The largest change to accept, for example 8% [default: the upper end of the measured interval]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub ceiling: Option<f64>,
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

#[derive(Debug, Args)]
pub struct PushArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The place: a directory, a file `*.jsonl`, `-` for standard output, or `postgres://HOST/DATABASE` [default: that of
    /// `RBENCH_SHARED`]
    #[arg(value_name = "WHERE")]
    pub place: Option<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

#[derive(Debug, Args)]
pub struct PullArgs {
    /// The place: a directory, a file `*.jsonl`, `-` for standard input, or `postgres://HOST/DATABASE` [default: that of
    /// `RBENCH_SHARED`]
    #[arg(value_name = "WHERE")]
    pub place: Option<String>,
    /// Only experiments that were finished later: since a date (2026-01-31), for a duration (90d), or since the commit of
    /// a revision.
    #[arg(long, value_name = "TIME|REV")]
    pub since: Option<String>,
    /// Only experiments that this login sent to a database. Can be repeated.
    #[arg(long, value_name = "LOGIN")]
    pub from: Vec<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}
