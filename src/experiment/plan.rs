//! What an experiment is going to do: for the user, as a line; for the store, as a value.

use std::time::Duration;

use serde::Serialize;

use super::{Experiment, Side};
use crate::{
    machine::this_machine,
    model::{
        Benchmark, CompileSettings, ExecutionRequest, ExperimentPlan, Layout, PlannedVersion,
        Version,
    },
    report::quantity,
    settings::{Effort, Manners},
};

/// What an execution takes beyond the time that is asked of it: starting, tuning, storing.
const BEYOND_ASKED: Duration = Duration::from_millis(5);

/// All settings that decide what is measured, and nothing else: where they are equal, results may be
/// compared. How often something is built or executed, and how fast cargo compiles, are not among them.
#[derive(Serialize)]
struct Settings<'a> {
    layout: Layout,
    profile: &'a str,
    features: &'a [String],
    all_features: bool,
    no_default_features: bool,
    /// Variables that cargo and rustc heed.
    environment: Vec<String>,
    cpu: Option<usize>,
    #[serde(flatten)]
    manners: Manners<'a>,
}

impl Experiment<'_> {
    /// The line that is shown before anything is measured.
    pub fn announcement(&self, sides: &[Side], benchmarks: &[Benchmark], confirm: bool) -> String {
        let Effort { builds, executions, measurements, .. } = self.efforts.common();
        let own = benchmarks
            .iter()
            .filter(|benchmark| self.efforts.of(benchmark) != self.efforts.common())
            .count();
        let times = sides.iter().map(|side| self.least_time(side, benchmarks));
        let time = times.fold(Duration::ZERO, Duration::saturating_add);
        format!(
            "plan: {} of {}, {builds} builds x {executions} executions x {measurements} \
             measurements{}, layout {}; measuring takes at least {}{}",
            quantity::count(benchmarks.len(), "benchmark"),
            quantity::count(sides.len(), "version"),
            if own > 0 { format!(" ({own} with numbers of their own)") } else { String::new() },
            self.builds.layout,
            quantity::duration(time),
            if confirm { ", and again for what is flagged" } else { "" },
        )
    }

    /// How long the executions of these benchmarks of a version take at least.
    fn least_time(&self, side: &Side, benchmarks: &[Benchmark]) -> Duration {
        let of_one = |benchmark: &Benchmark| {
            let effort = self.efforts.of(benchmark);
            let harness = &side.listed(benchmark)?.harness;
            let each = harness.least_time(&asked(effort)).saturating_add(BEYOND_ASKED);
            Some(each.saturating_mul(effort.builds.saturating_mul(effort.executions)))
        };
        benchmarks.iter().filter_map(of_one).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The experiment as the store knows it, over these versions and their toolchains.
    pub fn plan(&self, versions: impl Iterator<Item = (Version, String)>) -> ExperimentPlan {
        let settings = self.settings();
        ExperimentPlan {
            versions: versions
                .map(|(version, toolchain)| PlannedVersion { version, toolchain })
                .collect(),
            machine: this_machine(),
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
            settings_key: blake3::hash(settings.as_bytes()).to_hex()[..32].to_owned(),
            settings,
            dimensions: self.efforts.common().dimensions(),
            seed: self.builds.seed,
        }
    }

    fn settings(&self) -> String {
        let CompileSettings { profile, features, all_features, no_default_features, .. } =
            &self.builds.compile;
        let settings = Settings {
            layout: self.builds.layout,
            profile,
            features,
            all_features: *all_features,
            no_default_features: *no_default_features,
            environment: self.workshop.identifying_environment(),
            cpu: self.conditions.cpu,
            manners: self.efforts.manners(),
        };
        serde_json::json!(settings).to_string()
    }
}

/// What one execution is asked to do, but for iterations and initial state.
pub(super) fn asked(effort: Effort) -> ExecutionRequest {
    ExecutionRequest {
        measurements: effort.measurements as usize,
        warm_up: Duration::from_millis(effort.warm_up_ms),
        floor: Duration::from_millis(effort.floor_ms),
        iterations: None,
        seed: 0,
    }
}
