//! The command line of `plan`.

use clap::Args;

use super::{ExperimentArgs, LayoutArgs, MeasureArgs, ReportArgs, TargetArgs};
use crate::{
    config::{BuildOptions, SamplingOptions, values},
    model::InterimAnalyses,
};

/// `cargo rbench plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The version: any git revision, or `.` for the uncommitted tree.
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub revision: String,
    /// Plan for intervals of at most this half-width, instead of for detecting changes of the min-effect.
    #[arg(long, value_name = "SHARE", value_parser = values::half_width)]
    pub half_width: Option<f64>,
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long = "filter", value_name = "REGEX")]
    patterns: Vec<String>,
    /// Match filters against whole benchmark ids, not as regular expressions.
    #[arg(long)]
    exact: bool,
    /// Sample sizes of the pilot.
    #[command(flatten)]
    pilot: PilotOptions,
    /// Pin benchmarks to this CPU.
    #[arg(long, value_name = "CPU", help_heading = "Pilot")]
    cpu: Option<usize>,
    /// The code layout of builds.
    #[command(flatten)]
    layout: LayoutArgs,
    /// The bench targets to use.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Options for cargo.
    #[command(flatten)]
    compile: BuildOptions,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The sample sizes of the pilot.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Pilot")]
struct PilotOptions {
    /// Number of builds in the pilot
    #[arg(short = 'l', long, value_name = "L", default_value = "5", value_parser = values::builds)]
    builds: InterimAnalyses,
    /// Number of executions of each build in the pilot
    #[arg(short = 'm', long, value_name = "M", default_value = "4", value_parser = values::repeated)]
    executions: u32,
    /// Number of measurements in each execution of the pilot
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = values::count)]
    measurements: u32,
}

impl PlanArgs {
    /// Returns the options of the pilot experiment.
    pub fn pilot(&self) -> ExperimentArgs {
        let PilotOptions { builds, executions, measurements } = self.pilot;
        let sampling = SamplingOptions {
            builds: Some(builds),
            executions: Some(executions),
            measurements: Some(measurements),
            ..SamplingOptions::default()
        };
        ExperimentArgs {
            patterns: self.patterns.clone(),
            exact: self.exact,
            measure: MeasureArgs { quick: false, sampling, cpu: self.cpu },
            layout: self.layout.clone(),
            target: self.target.clone(),
            compile: self.compile.clone(),
            ..ExperimentArgs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Cli, Command},
        InterimAnalyses,
    };

    #[test]
    fn pilot_repeats_every_level() {
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let Some(Command::Plan(args)) = Cli::parse_words(&words("plan main -l 3")).unwrap().command
        else {
            panic!("another command")
        };
        let sampling = args.pilot().measure.sampling;
        assert_eq!(
            (sampling.builds, sampling.executions, sampling.measurements),
            (Some(InterimAnalyses::fixed(3)), Some(4), Some(20))
        );
        let refusal = Cli::parse_words(&words("plan -m 1")).unwrap_err().to_string();
        assert!(refusal.contains("at least 2 executions"), "{refusal}");
        let refusal = Cli::parse_words(&words("plan --half-width 0%")).unwrap_err().to_string();
        assert!(refusal.contains("above 0 %"), "{refusal}");
    }
}
