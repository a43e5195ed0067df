//! The command line: clap structs only. Doc comments of fields are the help texts. Nothing here touches files or
//! processes.

mod ci;
mod compare;
mod given;
mod groups;
mod help;
mod noise;
mod results;
mod setup;
mod suggestion;
mod versus;

use std::{ffi::OsString, iter, path::PathBuf, time::Duration};

pub use ci::{CiArgs, CiCommand, CiCommentArgs, CiMergeArgs, CiPlaceArgs, CiProvider, CiRunArgs};
use clap::{
    ArgMatches, Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    ValueEnum,
};
pub use compare::{BisectArgs, CompareArgs, ExplainRows, RevisionPair, StoppingArgs};
pub use given::GivenOptions;
pub use groups::{
    ExperimentArgs, FailOn, FilterArgs, GateArgs, LayoutArgs, MeasureArgs, OutputArgs, OutputFile,
    OutputFileArgs, ProjectArgs, ReportArgs, TargetArgs, VerdictArgs,
};
pub use noise::{DiagnoseArgs, DiagnosisSampling, SelftestArgs};
pub use results::{AcceptArgs, HistoryArgs, PullArgs, PushArgs, SiteArgs, StoredTargetArgs};
pub use setup::{CleanArgs, CompletionsArgs, DemoArgs, DoctorArgs, InitArgs, Service};
pub use versus::VersusArgs;

use crate::{
    config::{BuildOptions, metrics_help, values},
    model::{
        Metric, Partition,
        secret::{shown_cargo_args, without_password},
    },
    shell,
};

/// Regression benchmarking across builds.
///
/// rbench builds each commit several times with different code layouts, uses the same layouts for
/// both commits, and reports a regression only if layouts, process starts and noise cannot explain
/// it.
#[derive(Debug, Parser)]
#[command(name = "cargo-rbench", bin_name = "cargo rbench", version, max_term_width = 100)]
pub struct Cli {
    /// The subcommand; without one, rbench offers a comparison.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// When to use colors.
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
    /// Print only the report and errors, without progress, notes and warnings.
    #[arg(short, long, global = true, help_heading = "Output", display_order = 101)]
    pub quiet: bool,
    /// Print each step with its reason, and the exact commands of cargo and the linker; -vv prints every process and
    /// decision.
    #[arg(
        short,
        long,
        global = true,
        action = clap::ArgAction::Count,
        conflicts_with = "quiet",
        help_heading = "Output",
        display_order = 102
    )]
    pub verbose: u8,
    /// Confine what is compiled and executed: it reads and writes only what compilers and benchmarks need. On in `ci`,
    /// and where a token or the place of shared results is in the environment.
    #[arg(
        long,
        global = true,
        overrides_with = "no_sandbox",
        help_heading = "Sandbox",
        display_order = 103
    )]
    pub sandbox: bool,
    /// Do not confine what is compiled and executed.
    #[arg(long, global = true, help_heading = "Sandbox", display_order = 104)]
    pub no_sandbox: bool,
    /// The name of the subcommand.
    #[arg(skip)]
    pub name: String,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build versions, each several times with different code layouts.
    Build(BuildArgs),
    /// Compare two versions: measure both and give a verdict on every benchmark.
    Compare(CompareArgs),
    /// Rank implementations of one task: benchmarks of one version, compared with each other.
    Versus(VersusArgs),
    /// Run `compare` in CI and publish the result: job summary, annotations, comment, reports.
    Ci(Box<CiArgs>),
    /// Find the commits of a range that changed benchmarks, by comparing pairs of commits.
    Bisect(BisectArgs),
    /// Measure versions and store the results.
    Run(RunArgs),
    /// Accept the slowdown of a benchmark by a commit: `compare` then passes it, up to a ceiling.
    Accept(AcceptArgs),
    /// Investigate a benchmark's noise: warm-up, level shifts, multimodality, order effects; recommend sample sizes.
    Diagnose(DiagnoseArgs),
    /// Show when benchmarks changed over the stored commits: an overview, or every commit with a filter; or every build
    /// and execution of one version.
    History(HistoryArgs),
    /// Write all stored results as static web pages, to publish or to read without a server.
    Site(SiteArgs),
    /// Send finished experiments to a place that several machines share: a directory, a file or a database.
    Push(PushArgs),
    /// Fetch the experiments of other machines from such a place into the store.
    Pull(PullArgs),
    /// List the functions whose machine code differs between two versions, or attribute a benchmark's change to them.
    Diff(DiffArgs),
    /// List the benchmarks of a version.
    List(ListArgs),
    /// Run one benchmark, or all benchmarks of one bench target, once and print the measurements.
    Exec(ExecArgs),
    /// Measure the false-positive rate on this machine, by comparing a version with itself repeatedly.
    Selftest(SelftestArgs),
    /// Inspect the project, report the findings, and write a bench.toml and a CI workflow.
    Init(InitArgs),
    /// Check this machine for sources of noise and suggest fixes; changes nothing.
    Doctor(DoctorArgs),
    /// Remove old checkouts, compilations and builds from the cache.
    Clean(CleanArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Run example comparisons in a small temporary project; takes about a minute.
    Demo(DemoArgs),
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Versions to build: any git revision (`HEAD~1`, a tag, a hash) or range `A..B`, or `.` for the
    /// uncommitted tree.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revisions: Vec<String>,
    /// Number of builds of each bench target [default: 10]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::count)]
    pub builds: Option<u32>,
    /// Write to FILE all that `compare --pack FILE` needs on a machine without cargo, to link and to measure the two
    /// versions there.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["builds", "commands", "format"])]
    pub pack: Option<PathBuf>,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// Versions to measure: any git revision, `.` for the uncommitted tree, or a range `A..B`, including A. With
    /// several versions, rbench compares each with the one before it, the newest first, and skips stored comparisons.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revisions: Vec<String>,
    /// Measure at most N of the versions, evenly spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// With several versions, compare the most informative pairs until the time is over: the ends, then halves, changed
    /// ones first.
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    pub budget: Option<Duration>,
    /// Make only the comparisons of one of N parts, on one of several machines. A comparison is in the same part on
    /// every machine and in every range. With --push, skip those that machines of this class have sent, and send each
    /// one when it is done.
    #[arg(long, value_name = "K/N", value_parser = Partition::from_fraction, conflicts_with = "budget")]
    pub part: Option<Partition>,
    /// Then send all finished experiments to the place of `RBENCH_SHARED`, as `push` does.
    #[arg(long, help_heading = "Stored results")]
    pub push: bool,
    /// The metrics to measure and report; empty for the default ones.
    #[arg(long = "metric", help = metrics_help(), value_name = "NAME", value_delimiter = ',')]
    pub metrics: Vec<Metric>,
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    #[command(flatten)]
    pub versions: RevisionPair,
    /// Trace the benchmarks of both versions, and show which ones execute each changed function.
    #[arg(long)]
    pub by_benchmark: bool,
    /// Show which functions make this benchmark slower or faster: its id, or a regular expression that only its id
    /// matches. With --output FILE.svg, also draws a differential flame graph.
    #[arg(long, value_name = "BENCH", conflicts_with = "by_benchmark")]
    pub explain: Option<String>,
    /// Explain the change in time, by sampling both versions interleaved, or in instructions, by counting them exactly
    /// with valgrind
    #[arg(long, value_name = "WHAT", requires = "explain", default_value = "time")]
    pub by: ExplainBy,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// What `diff --explain` explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainBy {
    /// The change in time.
    Time,
    /// The change in executed instructions.
    Instructions,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The version: any git revision, or `.` for the uncommitted tree.
    #[arg(default_value = ".", value_name = "REV")]
    pub revision: String,
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct ExecArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The version: any git revision, or `.` for the uncommitted tree.
    #[arg(default_value = ".", value_name = "REV")]
    pub revision: String,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Run all matching benchmarks of one bench target in one process, for benchmarks that share an
    /// expensive setup.
    #[arg(long)]
    pub whole_target: bool,
    /// Number of measurements.
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = values::count)]
    pub measurements: u32,
    /// Duration of the warm-up before the first measurement.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = values::time)]
    pub warm_up: Duration,
    /// Minimum duration of each measurement.
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = values::time)]
    pub min_time: Duration,
    /// Iterations of every measurement [default: as many as the minimum duration needs]
    #[arg(long, value_name = "I", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// Seed of the initial state: environment, stack and heap.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Pin the benchmark to this CPU.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// Maximum duration of the process [default: 5min plus ten times the expected duration]
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    pub deadline: Option<Duration>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
}

impl Command {
    /// The options that the commands it suggests repeat, if it suggests any.
    const fn given(&mut self) -> Option<&mut GivenOptions> {
        match self {
            Self::Compare(args) => Some(&mut args.given),
            Self::Versus(args) => Some(&mut args.given),
            Self::Ci(args) => Some(&mut args.run.compare.given),
            Self::Bisect(args) => Some(&mut args.given),
            Self::Run(args) => Some(&mut args.given),
            Self::Accept(args) => Some(&mut args.given),
            Self::Diagnose(args) => Some(&mut args.given),
            Self::History(args) => Some(&mut args.given),
            Self::Push(args) => Some(&mut args.given),
            Self::Site(args) => Some(&mut args.given),
            Self::Diff(args) => Some(&mut args.given),
            Self::List(args) => Some(&mut args.given),
            Self::Exec(args) => Some(&mut args.given),
            Self::Selftest(args) => Some(&mut args.given),
            _ => None,
        }
    }
}

impl Cli {
    /// The complete definition, with styles, examples and short help.
    pub fn definition() -> clap::Command {
        help::decorated(Self::command())
    }

    /// Parses the words after `cargo rbench`.
    pub fn parse_words(words: &[String]) -> Result<Self, clap::Error> {
        let words = iter::once("cargo-rbench").chain(words.iter().map(String::as_str));
        Self::from_matches(&Self::definition().try_get_matches_from(words)?)
    }

    /// Parses the arguments of this process. Prints help or a usage error, if any, and exits. Commands that are
    /// suggested later use the toolchain that was typed.
    pub fn from_process() -> Self {
        shell::adopt_toolchain(|name| std::env::var_os(name));
        let matches = Self::definition().get_matches_from(without_cargo(std::env::args_os()));
        Self::from_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut cli = Self::from_arg_matches(matches)
            .map_err(|error| error.format(&mut Self::definition()))?;
        matches.subcommand_name().unwrap_or("start").clone_into(&mut cli.name);
        if let Some(given) = cli.command.as_mut().and_then(Command::given) {
            *given = GivenOptions::read(&Self::command(), matches);
        }
        match &mut cli.command {
            Some(Command::Compare(args)) => args.take_positional_filters(),
            Some(Command::Ci(args)) => args.run.compare.take_positional_filters(),
            _ => {}
        }
        Ok(cli)
    }

    /// True if the command compares in a CI job, where code gets listed variables only.
    pub const fn runs_in_ci(&self) -> bool {
        matches!(&self.command, Some(Command::Ci(args)) if args.command.is_none())
    }

    /// The command line of this process, quoted for a shell, without possible secrets in arguments for cargo.
    pub fn typed() -> String {
        let words = without_cargo(std::env::args_os()).into_iter().skip(1);
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let words: Vec<String> = shown_words(&words).iter().map(shell::quoted).collect();
        format!("cargo rbench {}", words.join(" "))
    }
}

/// Drops the second word: cargo runs `cargo rbench build` as `cargo-rbench rbench build`.
fn without_cargo(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|word| word == "rbench") {
        args.remove(1);
    }
    args
}

/// Replaces possible secrets in arguments for cargo, and passwords in addresses.
fn shown_words(words: &[String]) -> Vec<String> {
    const OPTION: &str = "--cargo-arg";
    const JOINED: &str = "--cargo-arg=";
    let value = |(index, word): (usize, &String)| match word.strip_prefix(JOINED) {
        Some(value) => Some(value.to_owned()),
        None => (index > 0 && words[index - 1] == OPTION).then(|| word.clone()),
    };
    let values: Vec<String> = words.iter().enumerate().filter_map(value).collect();
    let mut shown = shown_cargo_args(&values).into_iter();
    let show = |(index, word): (usize, &String)| match value((index, word)) {
        Some(value) => word.replace(&value, &shown.next().unwrap_or_default()),
        None => without_password(word),
    };
    words.iter().enumerate().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;

    #[test]
    fn clap_definition_is_consistent() {
        Cli::definition().debug_assert();
    }

    #[test]
    fn word_inserted_by_cargo_is_dropped_once() {
        let dropped = without_cargo(["cargo-rbench", "rbench", "build"].map(OsString::from));
        assert_eq!(dropped, ["cargo-rbench", "build"]);
    }

    #[test]
    fn shown_command_line_has_no_secrets() {
        let words = |line: &str| shlex::split(line).unwrap();
        let typed = "list --cargo-arg --config --cargo-arg=env.TOKEN='s' x --cargo-arg -v env.A=b";
        let shown =
            "list --cargo-arg --config --cargo-arg=env.TOKEN=VALUE x --cargo-arg -v env.A=b";
        assert_eq!(shown_words(&words(typed)), words(shown));
        let typed = "push postgres://me:a:b@c@host/x?sslmode=disable --config store.path=x:y@z";
        let shown = "push postgres://me:VALUE@host/x?VALUE --config store.path=x:y@z";
        assert_eq!(shown_words(&words(typed)), words(shown));
    }

    #[test]
    fn verbose_flag_is_counted_in_every_command() {
        let parse = |words: &str| Cli::parse_words(&shlex::split(words).unwrap());
        for words in ["clean -vv", "-vv compare", "list --verbose --verbose"] {
            assert_eq!(parse(words).unwrap().verbose, 2, "{words}");
        }
        assert_eq!(parse("-v clean").unwrap().name, "clean");
        assert!(parse("clean -q -v").is_err());
    }

    #[test]
    fn stored_conflicts_with_measuring_and_compiling() {
        for option in [
            "--builds=3",
            "--features=simd",
            "--profile=dev",
            "--locked",
            "--cargo-arg=-v",
            "--mode=interleaved",
        ] {
            let words = ["cargo-rbench", "compare", "--stored", option].map(OsString::from);
            let refusal = Cli::try_parse_from(words).unwrap_err().to_string();
            let name = option.split('=').next().unwrap();
            assert!(refusal.contains(name) && refusal.contains("--stored"), "{refusal}");
        }
    }

    #[test]
    fn mode_flag_belongs_only_to_comparisons() {
        let parse = |command| Cli::try_parse_from(["cargo-rbench", command, "--mode=interleaved"]);
        let Some(Command::Compare(args)) = parse("compare").unwrap().command else {
            panic!("another")
        };
        assert_eq!(args.mode, Some(Mode::Interleaved));
        let refusal = parse("run").unwrap_err().to_string();
        assert!(refusal.contains("unexpected argument '--mode'"), "{refusal}");
    }
}
