//! What one more build, execution and measurement of a benchmark cost on this machine.

use std::{collections::HashMap, time::Duration};

use super::levels::StoredLevels;
use crate::{
    measure::Builds,
    model::{BenchTarget, Benchmark, Execution, Schedule, Strategy},
    report::plan::Costs,
};

/// How long builds of bench targets take.
pub struct Links {
    /// For each bench target: one build, and how many benchmarks share it.
    targets: HashMap<BenchTarget, (Duration, u32)>,
}

impl Links {
    /// The mean over these builds, which were linked now or before, of one version.
    pub fn from_builds(builds: &Builds, benchmarks: &[Benchmark]) -> Self {
        let mut targets = HashMap::new();
        for version in &builds.versions {
            let compiled = match version.strategy {
                // One compilation makes a build of every bench target.
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

    /// What a benchmark's repetitions cost, by the executions that were found.
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

/// How long an execution took for all but its measurements, and for one of them, in seconds.
fn start_and_measurement(execution: &Execution) -> (f64, f64) {
    let resources = &execution.resources;
    let whole = match execution.schedule {
        // Its process also waited for the other one.
        Schedule::Interleaved(_) => resources.user + resources.system,
        Schedule::NotRequested | Schedule::Unavailable(_) => resources.wall,
    };
    let measured = match execution.measured_time() {
        // A harness that does not tell its iterations.
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
