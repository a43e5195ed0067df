//! Estimates the cost of one more build, execution and measurement of a benchmark on this machine.

use std::{collections::HashMap, time::Duration};

use super::levels::StoredLevels;
use crate::{
    measure::Builds,
    model::{BenchTarget, Benchmark, Execution, Schedule, Strategy},
    report::plan::Costs,
};

/// The build times of bench targets.
pub struct Links {
    /// For each bench target: the time of one build, and the number of benchmarks that share it.
    targets: HashMap<BenchTarget, (Duration, u32)>,
}

impl Links {
    /// The mean times of these builds of one version, linked now or in an earlier run.
    pub fn from_builds(builds: &Builds, benchmarks: &[Benchmark]) -> Self {
        let mut targets = HashMap::new();
        for version in &builds.versions {
            let compiled = match version.strategy {
                // One compilation builds all bench targets.
                Strategy::Rebuild => {
                    let took = version.compilations.iter().map(|one| one.record.took());
                    mean(took) / u32::try_from(version.targets.len()).unwrap_or(1).max(1)
                }
                Strategy::Auto | Strategy::Relink => Duration::ZERO,
            };
            for target in &version.targets {
                let link = mean(target.builds.iter().map(|build| build.record.took()));
                let is_of = |benchmark: &&Benchmark| benchmark.bench_target() == target.target;
                let sharing = benchmarks.iter().filter(is_of).count();
                let sharing = u32::try_from(sharing).unwrap_or(u32::MAX).max(1);
                targets.insert(target.target.clone(), (compiled + link, sharing));
            }
        }
        Self { targets }
    }

    /// The costs of a benchmark's repetitions, from its stored executions.
    pub fn costs(&self, found: &StoredLevels<'_>) -> Costs {
        let target = self.targets.get(&found.results.target());
        let (link, sharing) = target.copied().unwrap_or((Duration::ZERO, 1));
        let executions: Vec<(f64, f64)> = found.executions().map(start_and_measurement).collect();
        let median = |part: fn(&(f64, f64)) -> f64| {
            let mut parts: Vec<f64> = executions.iter().map(part).collect();
            parts.sort_by(f64::total_cmp);
            let middle = parts.get(parts.len() / 2).copied().unwrap_or_default();
            Duration::try_from_secs_f64(middle).unwrap_or_default()
        };
        Costs {
            link,
            sharing,
            start: median(|(start, _)| *start),
            measurement: median(|(_, one)| *one),
        }
    }
}

/// The duration of an execution without its measurements, and of one measurement, in seconds.
fn start_and_measurement(execution: &Execution) -> (f64, f64) {
    let resources = &execution.resources;
    let whole = match execution.schedule {
        // Interleaved, the process also waited for the other version.
        Schedule::Interleaved(_) => resources.user + resources.system,
        Schedule::NotRequested | Schedule::Unavailable(_) => resources.wall,
    };
    let measured = match execution.measured_time() {
        // The harness does not report its iterations.
        Duration::ZERO => whole.saturating_sub(execution.warm_up.unwrap_or_default()),
        measured => measured.min(whole),
    };
    let number = execution.measurements().max(1) as f64;
    (whole.saturating_sub(measured).as_secs_f64(), measured.as_secs_f64() / number)
}

fn mean(times: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = u32::try_from(times.len()).unwrap_or(u32::MAX).max(1);
    times.sum::<Duration>() / count
}
