//! What was typed: the clap structs, and nothing that needs the world.

mod groups;
mod results;
mod typed;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand};
pub use groups::{
    CompileArgs, CriteriaArgs, ExperimentArgs, FailOn, FilterArgs, Format, LayoutArgs, MeasureArgs,
    OutputArgs, ReportArgs, ReportFormat, TargetArgs, VerdictArgs,
};
pub use results::{ExportArgs, HistoryArgs, ImportArgs, ShowArgs, StoredTargetArgs};
pub use typed::TypedFlags;

/// Regression benchmarking across builds.
///
/// rbench builds each commit several times with different code layouts, the same layouts for both
/// commits, and reports a regression only when it is larger than what layouts, process starts and
/// noise explain.
#[derive(Debug, Parser)]
#[command(name = "cargo-rbench", bin_name = "cargo rbench", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build versions, each several times with different code layouts.
    Build(BuildArgs),
    /// Measure two versions against each other and judge every benchmark.
    Compare(CompareArgs),
    /// Measure one version, or the versions of a range, and keep what was measured.
    Run(RunArgs),
    /// Show how benchmarks changed over the stored commits.
    History(HistoryArgs),
    /// Show everything that is stored of a version.
    Show(ShowArgs),
    /// Write everything that is stored as lines of JSON.
    Export(ExportArgs),
    /// Take in what `export` wrote, here or on another machine.
    Import(ImportArgs),
    /// List the functions whose machine code differs between two versions.
    Diff(DiffArgs),
    /// List the benchmarks of a version.
    List(ListArgs),
    /// Run one execution of one benchmark, or of a whole target, and print its measurements.
    Exec(ExecArgs),
    /// Prune the cache of checkouts, compilations and builds.
    Gc(GcArgs),
    /// Show what comparisons look like, in a small project made for it: one to three minutes.
    Demo(DemoArgs),
}

/// `cargo rbench build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Versions to build: anything git understands (`HEAD~1`, a tag, a hash, `A..B`), or `.` for
    /// the uncommitted tree.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revisions: Vec<String>,
    /// How many builds of each bench target.
    #[arg(short = 'l', long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub builds: Option<u32>,
    /// How builds are laid out.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What cargo is told.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    // First: those that come after take what they find.
    /// The flags among all these that were typed.
    #[command(flatten)]
    pub typed: TypedFlags,
    /// The version to compare with.
    #[arg(default_value = "HEAD~1")]
    pub base: String,
    /// The version that is new.
    #[arg(default_value = "HEAD")]
    pub head: String,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Judge what is stored of both versions instead of measuring.
    #[arg(long, conflicts_with_all = [
        "dry_run", "quick", "builds", "executions", "measurements", "warm_up", "floor", "cpu",
        "deadline", "layout", "strategy", "seed",
    ])]
    pub stored: bool,
    /// With --stored: compare results of other machines and other settings too.
    #[arg(long, requires = "stored")]
    pub allow_different: bool,
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
    /// The version: anything git understands, `.` for the uncommitted tree, or a range `A..B`, whose
    /// versions are measured newest first; those that were measured before are left out.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revision: String,
    /// Of a range, at most so many versions, evenly spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
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
    /// The version to compare with.
    pub base: String,
    /// The version that is new.
    #[arg(default_value = "HEAD")]
    pub head: String,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What cargo is told.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(default_value = ".", value_name = "REV")]
    pub revision: String,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What cargo is told.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
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
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub measurements: u32,
    /// How long to run before the first measurement, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub warm_up: u64,
    /// How long one measurement lasts at least, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub floor: u64,
    /// Iterations of every measurement; tuned if absent.
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// The seed of the initial state: environment, stack, heap.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// The CPU to run on.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// How long the process may take, in seconds; derived from what is asked if absent.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub deadline: Option<u64>,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What cargo is told.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo rbench gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Remove what has not been used for this many days.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub max_age: u32,
    /// Then remove what has not been used for longest, until at most this much is left: a number
    /// of bytes with an optional K, M or G.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = size)]
    pub max_size: u64,
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// The manifest of the workspace.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// `cargo rbench demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the project, to go on with it by hand.
    #[arg(long)]
    pub keep: bool,
    /// Show the exact commands of cargo and the linker.
    #[arg(short, long)]
    pub verbose: bool,
}

impl Cli {
    /// What these words after `cargo rbench` mean.
    pub fn of_words(words: &[String]) -> Result<Self, clap::Error> {
        Self::try_parse_from(["cargo-rbench"].into_iter().chain(words.iter().map(String::as_str)))
    }

    /// Parses the arguments of this process; prints help or usage errors and exits if asked to.
    pub fn from_process() -> Self {
        Self::parse_from(without_cargo(std::env::args_os()))
    }
}

/// Cargo runs `cargo rbench build` as `cargo-rbench rbench build`: the second word says nothing new.
fn without_cargo(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|word| word == "rbench") {
        args.remove(1);
    }
    args
}

/// A number of bytes: `500M`, `10G`, `123456`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        unit => return Err(format!("`{unit}` is not a unit: use K, M or G")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("`{digits}` is not a number"))?;
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
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

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("7"), Ok(7));
        assert!(size("7 parsecs").is_err());
        assert!(size("99999999999G").is_err());
    }
}
