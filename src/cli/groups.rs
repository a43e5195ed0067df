//! Groups of flags that several subcommands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CriteriaOptions, Once, SamplingOptions, values};
use crate::{
    config::BuildOptions,
    model::{Layout, Metric, Mode, Partition, Strategy, TargetFilter},
};

/// Which benchmarks are meant, for commands that take filters as their last positional arguments.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Only benchmarks whose id matches one of these regular expressions, as with --filter.
    #[arg(value_name = "FILTER")]
    positional: Vec<String>,
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long, value_name = "REGEX")]
    filter: Vec<String>,
    /// Match filters against whole benchmark ids, not as regular expressions.
    #[arg(long)]
    pub exact: bool,
}

impl FilterArgs {
    /// All filters.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.filter).cloned().collect()
    }
}

/// Which bench targets are meant.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct TargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// Run this program of the workspace instead, as a benchmark that needs no bench target: 'tool --quick'; may be
    /// repeated. Each version has its own, built by rbench with --profile. It runs in the workspace's directory.
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "bench")]
    pub commands: Vec<Once>,
    /// Exclude bench targets of this package; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

impl From<&TargetArgs> for TargetFilter {
    fn from(flags: &TargetArgs) -> Self {
        Self {
            packages: flags.package.clone(),
            excluded: flags.exclude.clone(),
            benches: flags.bench.clone(),
            programs: flags.commands.iter().map(|command| command.program.clone()).collect(),
        }
    }
}

/// How cargo compiles.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Compilation")]
pub struct CompileArgs {
    /// The cargo profile [default: bench]
    #[arg(long, value_name = "NAME", value_parser = values::profile)]
    pub profile: Option<String>,
    /// Features to enable, separated by commas.
    #[arg(short = 'F', long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Enable all features.
    #[arg(long)]
    pub all_features: bool,
    /// Do not enable the default features.
    #[arg(long)]
    pub no_default_features: bool,
    /// Require that Cargo.lock does not change.
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network.
    #[arg(long)]
    pub offline: bool,
    /// Number of parallel jobs for cargo and for linking [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = values::jobs)]
    pub jobs: Option<u32>,
    /// Pass this argument to cargo, for example --cargo-arg=--ignore-rust-version; may be repeated.
    #[arg(long = "cargo-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub cargo_args: Vec<String>,
}

impl CompileArgs {
    /// The flags as options of a build, together with those of its layout.
    pub fn options(&self, layout: &LayoutArgs) -> BuildOptions {
        BuildOptions {
            layout: layout.layout,
            strategy: layout.strategy,
            seed: layout.seed,
            profile: self.profile.clone(),
            features: self.features.clone(),
            all_features: self.all_features,
            no_default_features: self.no_default_features,
            locked: self.locked,
            offline: self.offline,
            jobs: self.jobs,
            cargo_args: self.cargo_args.clone(),
        }
    }
}

/// How builds are laid out.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Layouts")]
pub struct LayoutArgs {
    /// How functions are arranged [default: same-address]
    #[arg(long)]
    pub layout: Option<Layout>,
    /// How builds are made [default: auto]
    #[arg(long)]
    pub strategy: Option<Strategy>,
    /// Seed for layouts, the order of executions and initial states [default: 1]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

/// How versions are measured.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Experiment")]
pub struct MeasureArgs {
    /// A quick first look: 5 builds, 1 execution, and 20 measurements in turns, otherwise 5.
    #[arg(long)]
    pub quick: bool,
    /// How much is measured.
    #[command(flatten)]
    pub sampling: SamplingOptions,
    /// Pin benchmarks to this CPU.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
}

impl MeasureArgs {
    /// The sample sizes that were typed; else, with `--quick`, those of a quick run in this mode.
    pub fn options(&self, mode: Mode) -> SamplingOptions {
        let quick = self.quick.then(|| SamplingOptions::quick(mode));
        self.sampling.or_else(quick.unwrap_or_default())
    }
}

/// What an experiment measures, and how.
#[derive(Clone, Debug, Args)]
pub struct ExperimentArgs {
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long = "filter", value_name = "REGEX")]
    pub patterns: Vec<String>,
    /// Match filters against whole benchmark ids, not as regular expressions.
    #[arg(long)]
    pub exact: bool,
    /// Only the benchmarks of one of several parts, such as hash:1/3: each is in one part, in every version and on
    /// every machine.
    #[arg(long, value_name = "PART")]
    pub partition: Option<Partition>,
    /// Print the plan with its minimum duration, without measuring (compiles to list benchmarks).
    #[arg(long)]
    pub dry_run: bool,
    /// How versions are measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// How builds are laid out.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
}

/// A release that the head is judged against as well.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Verdict")]
pub struct GateArgs {
    /// Judge HEAD against this release as well: a tag or any other revision, `last-release` for the newest release
    /// before HEAD, or `none` [default: none, or `against` of the table `gate` in bench.toml]
    #[arg(long, value_name = "REV")]
    pub also_base: Option<String>,
    /// Smallest change since that release to report [default: as for BASE]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub also_min_effect: Option<f64>,
}

/// How benchmarks are judged, and how verdicts affect the exit code.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    /// The criteria.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Verdicts that make the command fail; a failed benchmark always does.
    #[arg(long, value_name = "WHAT", default_value = "regression")]
    pub fail_on: FailOn,
}

/// Verdicts that make the command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// None: regressions are reported, and only a failed benchmark makes the command fail.
    Never,
    /// A regression (exit code 1).
    Regression,
    /// A regression (exit code 1), or a verdict that is inconclusive or not comparable, or nothing compared
    /// at all (exit code 5).
    Inconclusive,
    /// A regression in time or in instructions, if both are judged (exit code 1).
    Instructions,
    /// A regression in time or in allocations, if both are judged (exit code 1).
    Allocations,
    /// A regression in time or in allocated bytes, if both are judged (exit code 1).
    AllocatedBytes,
}

impl FailOn {
    /// The metric that is counted and decides beside time.
    pub fn metric(self) -> Option<Metric> {
        match self {
            Self::Never | Self::Regression | Self::Inconclusive => None,
            Self::Instructions => Some(Metric::instructions()),
            Self::Allocations => Some(Metric::allocations()),
            Self::AllocatedBytes => Some(Metric::allocated_bytes()),
        }
    }
}

/// How results are printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The format of the result on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// How comparisons are reported.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// Where the report is also written.
    #[command(flatten)]
    pub output: OutputFileArgs,
}

impl ReportArgs {
    /// Whether the report is also a web page.
    pub fn has_page(&self) -> bool {
        let is_page = |file: &OutputFile| file.format == ReportFormat::Html;
        self.format == ReportFormat::Html || self.output.files.iter().any(is_page)
    }
}

/// The files that a report is written to.
#[derive(Clone, Debug, Args)]
pub struct OutputFileArgs {
    /// Write the report to this file too, in the format of its ending: .html, .json, .md or .txt; may
    /// be repeated.
    #[arg(long = "output", id = "output", value_name = "FILE", value_parser = OutputFile::parse)]
    pub files: Vec<OutputFile>,
}

/// The formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; may change at any time.
    Text,
    /// For programs; has a schema.
    Json,
}

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people; may change at any time.
    Text,
    /// For programs; has a schema.
    Json,
    /// For pull requests.
    Markdown,
    /// For a browser: one file that needs no network.
    Html,
}

impl ReportFormat {
    /// The file extensions of each format.
    const ENDINGS: [(&str, Self); 4] =
        [("html", Self::Html), ("json", Self::Json), ("md", Self::Markdown), ("txt", Self::Text)];
}

/// A file that a report is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where it is.
    pub path: PathBuf,
    /// The format that its extension selects.
    pub format: ReportFormat,
}

impl OutputFile {
    /// The file at this path, if its extension is known.
    pub fn parse(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let known = ReportFormat::ENDINGS.iter().find(|(known, _)| ending == Some(known));
        let (_, format) = *known.ok_or_else(|| {
            let known = ReportFormat::ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ");
            format!("the file extension selects the format: use one of {known}")
        })?;
        Ok(Self { path, format })
    }
}
