//! Groups of flags that several subcommands share, so that they have the same names and help everywhere.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{
    config::{BuildOptions, CriteriaOptions, Once, SamplingOptions},
    model::{Format, Layout, Metric, Mode, Partition},
};

/// Filters of benchmarks, for commands that take filters as their last positional arguments.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterArgs {
    /// Only benchmarks whose id matches one of these regular expressions, like --filter.
    #[arg(value_name = "FILTER")]
    pub(super) positional: Vec<String>,
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long, value_name = "REGEX")]
    filter: Vec<String>,
    /// Match filters against whole benchmark ids, not as regular expressions.
    #[arg(long)]
    pub exact: bool,
}

impl FilterArgs {
    /// The filters with and without `--filter`.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.filter).cloned().collect()
    }
}

/// Options that select the project and its settings.
#[derive(Clone, Debug, Default, Args)]
pub struct ProjectArgs {
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Set a key of bench.toml for this command only, for example --config verdict.rule=overlap; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

/// Filters of bench targets.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct TargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// Run this program of the workspace as a benchmark instead of bench targets, for example 'tool --quick'; may be
    /// repeated. rbench builds the program of each version with --profile, and runs it in the workspace's directory.
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "bench")]
    pub commands: Vec<Once>,
    /// The file that programs of --command read as their standard input, relative to the workspace's directory.
    #[arg(long, value_name = "FILE", requires = "commands")]
    pub stdin: Option<PathBuf>,
    /// Exit statuses besides 0 with which programs of --command have done their work, for example 1.
    #[arg(long, value_name = "STATUS", value_delimiter = ',', requires = "commands")]
    pub statuses: Vec<i32>,
    /// Use the bench targets of all packages of the workspace. Without it, cargo's selection: the package of the current
    /// directory or of --manifest-path, or the workspace's default members.
    #[arg(long, conflicts_with = "package")]
    pub workspace: bool,
    /// Exclude bench targets of this package; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// The code layout of builds.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Layouts")]
pub struct LayoutArgs {
    /// Placement of functions in each build [default: same-address]
    #[arg(long)]
    pub layout: Option<Layout>,
}

/// Sample sizes, and the CPU.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Experiment")]
pub struct MeasureArgs {
    /// Measure quickly, with wide intervals: 5 builds, 1 execution, and 20 measurements if interleaved, otherwise 5.
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub sampling: SamplingOptions,
    /// Pin benchmarks to this CPU.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
}

impl MeasureArgs {
    /// Returns the given sample sizes; with `--quick`, absent ones are those of a quick run in this mode.
    pub fn options(&self, mode: Mode) -> SamplingOptions {
        let quick = self.quick.then(|| SamplingOptions::quick(mode));
        self.sampling.or_else(quick.unwrap_or_default())
    }
}

/// The options of commands that measure.
#[derive(Clone, Debug, Default, Args)]
pub struct ExperimentArgs {
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long = "filter", value_name = "REGEX")]
    pub patterns: Vec<String>,
    /// Match filters against whole benchmark ids, not as regular expressions.
    #[arg(long)]
    pub exact: bool,
    /// Only the benchmarks of one of several parts, for example hash:1/3. Each benchmark is in the same part in every
    /// version and on every machine.
    #[arg(long, value_name = "PART")]
    pub partition: Option<Partition>,
    /// Print the plan with its minimum duration, without measuring; compiles to list benchmarks.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
}

/// A release that the head is also compared with.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Verdict")]
pub struct GateArgs {
    /// Also compare HEAD with this release: a tag or any other revision, `last-release` for the newest release before
    /// HEAD, or `none` [default: none, or `base` of the table `gate` in bench.toml]
    #[arg(long, value_name = "REV")]
    pub also_base: Option<String>,
}

/// The criteria of verdicts, and their effect on the exit code.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Verdicts that make the command fail; a failed benchmark always does [default: regression, and never with
    /// --variants]
    #[arg(long, value_name = "WHAT")]
    pub fail_on: Option<FailOn>,
}

/// Verdicts that make the command fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// No verdict: regressions are reported, but only a failed benchmark makes the command fail.
    Never,
    /// A regression (exit code 1).
    #[default]
    Regression,
    /// A regression (exit code 1), or a verdict that is inconclusive or not comparable, or nothing compared
    /// at all (exit code 5).
    Inconclusive,
    /// A regression (exit code 1), or a benchmark that only the base has, or that is skipped only in the head (exit
    /// code 4).
    Missing,
    /// A regression in time or in instructions, if both are compared (exit code 1).
    Instructions,
    /// A regression in time or in allocations, if both are compared (exit code 1).
    Allocations,
    /// A regression in time or in allocated bytes, if both are compared (exit code 1).
    AllocatedBytes,
    /// A regression in time or in the peak memory of a program, if both are compared (exit code 1).
    PeakMemory,
}

impl FailOn {
    /// True if a CI job that compares nothing fails like one with missing benchmarks. `inconclusive` has another exit code
    /// for it.
    pub fn fails_without_comparison(self) -> bool {
        !matches!(self, Self::Never | Self::Inconclusive)
    }

    /// The metric that affects the exit code in addition to time.
    pub fn metric(self) -> Option<Metric> {
        match self {
            Self::Never | Self::Regression | Self::Inconclusive | Self::Missing => None,
            Self::Instructions => Some(Metric::instructions()),
            Self::Allocations => Some(Metric::allocations()),
            Self::AllocatedBytes => Some(Metric::allocated_bytes()),
            Self::PeakMemory => Some(Metric::peak_memory()),
        }
    }
}

/// The format of a result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The format of the result on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// The format and the files of a report.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    #[command(flatten)]
    pub output: OutputFileArgs,
}

impl ReportArgs {
    /// True if the report is also a web page.
    pub fn has_page(&self) -> bool {
        let is_page = |file: &OutputFile| file.format == Format::Html;
        self.format == Format::Html || self.output.files.iter().any(is_page)
    }
}

/// The files that a report is written to.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputFileArgs {
    /// Also write the report to this file, in the format of its extension: .html, .json, .md or .txt; may
    /// be repeated.
    #[arg(long = "output", id = "output", value_name = "FILE", value_parser = OutputFile::parse)]
    pub files: Vec<OutputFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    pub path: PathBuf,
    /// The format that its extension selects.
    pub format: Format,
}

impl OutputFile {
    /// Parses a path, whose extension must be that of a format.
    pub fn parse(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let known = Format::EXTENSIONS.iter().find(|(known, _)| ending == Some(known));
        let (_, format) = *known.ok_or_else(|| {
            let known = Format::EXTENSIONS.map(|(ending, _)| format!(".{ending}")).join(", ");
            format!("the file extension selects the format: use one of {known}")
        })?;
        Ok(Self { path, format })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_sets_only_sample_sizes_that_were_not_typed() {
        let sampling = SamplingOptions { measurements: Some(9), ..SamplingOptions::default() };
        let typed = MeasureArgs { quick: true, sampling, ..MeasureArgs::default() };
        let options = typed.options(Mode::Interleaved);
        let quick = SamplingOptions::quick(Mode::Interleaved);
        assert_eq!(options, SamplingOptions { builds: quick.builds, ..sampling });
        assert!(options.requests_measurements() && !quick.requests_measurements());
        let plain = MeasureArgs { quick: false, ..typed };
        assert_eq!(plain.options(Mode::Interleaved), sampling);
    }
}
