//! The command line of `versus`.

use clap::Args;

use super::{ExperimentArgs, GivenOptions, ReportArgs, StoppingArgs};
use crate::{config::CriteriaOptions, model::Mode};

#[derive(Clone, Debug, Args)]
pub struct VersusArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The implementations: ids of benchmarks, their beginnings, or what only one id matches, such as
    /// parse/serde parse/simd or 'parse/{serde,simd}'. Benchmarks whose ids end alike are compared with each other; * stands for a parameter within
    /// an id. All are compared with the first. The last word is the version, if it is a revision [default: .]
    #[arg(value_name = "BENCHMARK", required = true)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub stopping: StoppingArgs,
    /// Mode of both benchmarks: interleaved on one CPU, or sequential [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Also show which functions make an implementation faster or slower than the first, by sampling both interleaved
    /// after the verdicts.
    #[arg(long, help_heading = "Output")]
    pub explain: bool,
    #[command(flatten)]
    pub report: ReportArgs,
}
