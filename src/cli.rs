//! The command line: the clap structs, and nothing that touches files or processes.

mod given;
mod groups;
mod options;
mod results;
mod revisions;
pub(crate) mod values;

use std::{ffi::OsString, path::PathBuf, rc::Rc, time::Duration};

use clap::{Args, ColorChoice, Parser, Subcommand};
pub use given::GivenOptions;
pub use groups::{
    CompileArgs, ExperimentArgs, FailOn, FilterArgs, Format, LayoutArgs, MeasureArgs, OutputArgs,
    OutputFile, ReportArgs, ReportFormat, TargetArgs, VerdictArgs,
};
pub use options::{CriteriaOptions, EffortOptions};
pub use results::{ExportArgs, HistoryArgs, ImportArgs, ShowArgs, StoredTargetArgs};
pub use revisions::RevisionPair;

use crate::report::compare::CommandLine;

/// Regression benchmarking across builds.
///
/// rbench builds each commit several times with different code layouts, the same layouts for both
/// commits, and reports a regression only when it is larger than what layouts, process starts and
/// noise explain.
#[derive(Debug, Parser)]
#[command(name = "cargo-rbench", bin_name = "cargo rbench", version, max_term_width = 100)]
#[command(after_help = "Defaults can be set in bench.toml, beside the workspace's Cargo.toml.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output",
        display_order = 100,
        env = "CARGO_TERM_COLOR",
        hide_env_values = true
    )]
    pub color: ColorChoice,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build versions, each several times with different code layouts.
    Build(BuildArgs),
    /// Measure two versions against each other and judge every benchmark.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Measure versions and store the results.
    Run(RunArgs),
    /// Show how benchmarks changed over the stored commits: an overview, or with a filter each commit.
    History(HistoryArgs),
    /// Show the stored results of a version: an overview, or with a filter each build and execution.
    Show(ShowArgs),
    /// Write all stored results as lines of JSON.
    Export(ExportArgs),
    /// Add results that `export` wrote, here or on another machine, to the stored ones.
    Import(ImportArgs),
    /// List the functions whose machine code differs between two versions.
    Diff(DiffArgs),
    /// List the benchmarks of a version.
    List(ListArgs),
    /// Run one execution of one benchmark, or of a whole target, and print its measurements.
    Exec(ExecArgs),
    /// Prune the cache of checkouts, compilations and builds.
    Gc(GcArgs),
    /// Show what comparisons look like, in a small project made for it; takes one to three minutes.
    Demo(DemoArgs),
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  cargo rbench compare                          the last commit with the one before it
  cargo rbench compare main .                   the uncommitted tree with main
  cargo rbench compare main..topic --quick      a first look, with wide intervals
  cargo rbench compare --filter '^parse/' -l 30 some benchmarks, with more builds";

/// `cargo rbench build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Versions to build: anything git understands (`HEAD~1`, a tag, a hash, `A..B`), or `.` for
    /// the uncommitted tree.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revisions: Vec<String>,
    /// How many builds of each bench target [default: 10]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::count)]
    pub builds: Option<u32>,
    /// How builds are laid out.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The two versions.
    #[command(flatten)]
    pub versions: RevisionPair,
    /// Judge the stored results of both versions instead of measuring.
    #[arg(long, help_heading = "Stored results", conflicts_with_all = [
        "dry_run", "quick", "builds", "executions", "measurements", "warm_up", "floor", "cpu",
        "deadline", "layout", "strategy", "seed",
    ])]
    pub stored: bool,
    /// With --stored: also compare results of different machines or settings.
    #[arg(long, help_heading = "Stored results", requires = "stored")]
    pub allow_different: bool,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How benchmarks are judged.
    #[command(flatten)]
    pub verdict: VerdictArgs,
    /// How results are printed.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// `cargo rbench run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// Versions to measure: anything git understands, `.` for the uncommitted tree, or a range `A..B`,
    /// newest first. Of several versions, those that were measured before are left out.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revisions: Vec<String>,
    /// Of a range, measure at most this many versions, evenly spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// Report only this metric, for instance wall, user, system or peak-memory; may be repeated
    /// [default: all]
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The two versions.
    #[command(flatten)]
    pub versions: RevisionPair,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(default_value = ".", value_name = "REV")]
    pub revision: String,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(default_value = ".", value_name = "REV")]
    pub revision: String,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Run all benchmarks that match, of one bench target, in one process: for those that share an
    /// expensive set-up.
    #[arg(long)]
    pub whole_target: bool,
    /// How many measurements to take.
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = values::count)]
    pub measurements: u32,
    /// How long to run before the first measurement.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = values::time)]
    pub warm_up: Duration,
    /// How long each measurement lasts at least.
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = values::time)]
    pub floor: Duration,
    /// Iterations of every measurement [default: as many as reach the floor]
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// The seed of the initial state: environment, stack, heap.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// The CPU to run on.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// How long the process may take [default: 5min and ten times what it should take]
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    pub deadline: Option<Duration>,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Remove what has not been used for this long.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = values::duration)]
    pub max_age: Duration,
    /// Then remove what has not been used for longest, until at most this much is left: a number
    /// of bytes with an optional K, M or G.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = values::size)]
    pub max_size: u64,
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The format of the result on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// List every entry.
    #[arg(short, long)]
    pub verbose: bool,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// `cargo rbench demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the project instead of removing it at the end.
    #[arg(long)]
    pub keep: bool,
    /// Show the exact commands of cargo and the linker.
    #[arg(short, long)]
    pub verbose: bool,
}

impl CompareArgs {
    /// What writes commands with the options of this one, but for those that forbid to measure.
    pub fn command_line(&self) -> Rc<dyn CommandLine> {
        Rc::new(self.given.without(&["stored", "allow-different"]))
    }
}

impl Cli {
    /// Parses the words after `cargo rbench`.
    pub fn of_words(words: &[String]) -> Result<Self, clap::Error> {
        Self::try_parse_from(["cargo-rbench"].into_iter().chain(words.iter().map(String::as_str)))
    }

    /// Parses the arguments of this process; prints help or usage errors and exits if asked to.
    pub fn from_process() -> Self {
        Self::parse_from(without_cargo(std::env::args_os()))
    }
}

/// Cargo runs `cargo rbench build` as `cargo-rbench rbench build`: the second word is dropped.
fn without_cargo(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|word| word == "rbench") {
        args.remove(1);
    }
    args
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_word_that_cargo_inserts_is_dropped_once() {
        let dropped = without_cargo(["cargo-rbench", "rbench", "build"].map(OsString::from));
        assert_eq!(dropped, ["cargo-rbench", "build"]);
    }
}
