//! Chooses the sample sizes of a diagnosis: the largest that fit into the time. Pure: no files, no clock.

use std::time::Duration;

use crate::{config::SamplingOptions, measure::Probe, model::InterimAnalyses};

/// The time for the executions of one benchmark, of about a minute for the whole diagnosis.
const BUDGET: Duration = Duration::from_secs(38);
/// The time with `--long`.
const LONG_BUDGET: Duration = Duration::from_secs(420);

/// Numbers of builds, executions of each and measurements of each, from the most useful to the fewest.
///
/// Level shifts are only detectable in at least 200 measurements, so executions are reduced first.
const LADDER: [[u32; 3]; 11] = [
    [10, 10, 200],
    [10, 7, 200],
    [10, 5, 200],
    [10, 3, 200],
    [10, 2, 200],
    [10, 2, 100],
    [10, 2, 50],
    [10, 2, 20],
    [10, 2, 5],
    [5, 2, 5],
    [4, 2, 3],
];
/// The numbers with `--long`.
const LONG_LADDER: [[u32; 3]; 3] = [[10, 10, 2000], [10, 10, 1000], [10, 10, 500]];

/// The default minimum duration of a measurement. It is short, so that a benchmark's first iterations are not averaged
/// away in the first measurement.
const MIN_TIME: Duration = Duration::from_millis(1);

/// The sample sizes to choose from, the largest first. Given options are part of each.
pub fn candidates(typed: SamplingOptions, long: bool) -> Vec<SamplingOptions> {
    let of = |[builds, executions, measurements]: &[u32; 3]| {
        typed.or_else(SamplingOptions {
            builds: Some(InterimAnalyses::fixed(*builds)),
            executions: Some(*executions),
            measurements: Some(*measurements),
            warm_up: Some(Duration::ZERO),
            min_time: Some(MIN_TIME),
            deadline: None,
            parallel: None,
            mode: None,
        })
    };
    let ladder = LONG_LADDER.iter().filter(|_| long).chain(&LADDER);
    let mut all: Vec<SamplingOptions> = ladder.map(of).collect();
    all.dedup();
    all
}

/// Chooses the largest sample sizes that fit into the time, or the smallest.
pub fn chosen(candidates: &[SamplingOptions], probe: &Probe, long: bool) -> SamplingOptions {
    let budget = if long { LONG_BUDGET } else { BUDGET };
    let fits = |sampling: &&SamplingOptions| time(sampling, probe) <= budget;
    candidates.iter().find(fits).or(candidates.last()).copied().unwrap_or_default()
}

/// The expected duration of the executions.
fn time(sampling: &SamplingOptions, probe: &Probe) -> Duration {
    let number = |number: Option<u32>| number.unwrap_or(1);
    let each = probe.measurement.saturating_mul(number(sampling.measurements));
    let executions = number(sampling.builds.map(|analyses| analyses.most))
        .saturating_mul(number(sampling.executions));
    let all = each.saturating_add(probe.beyond).saturating_mul(executions);
    // The control runs after every second execution.
    all.saturating_mul(3) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HarnessKind;

    fn chosen_for(milliseconds: u64, typed: SamplingOptions, long: bool) -> [u32; 3] {
        let probe = Probe {
            measurement: Duration::from_millis(milliseconds),
            beyond: Duration::from_millis(10),
            iterations: None,
            harness: HarnessKind::Native,
        };
        let sampling = chosen(&candidates(typed, long), &probe, long);
        [sampling.builds.map(|analyses| analyses.most), sampling.executions, sampling.measurements]
            .map(Option::unwrap)
    }

    #[test]
    fn slow_benchmarks_get_smaller_samples() {
        let none = SamplingOptions::default();
        assert_eq!(chosen_for(1, none, false), [10, 10, 200]);
        assert_eq!(chosen_for(2, none, false), [10, 5, 200]);
        assert_eq!(chosen_for(100, none, false), [10, 2, 5]);
        assert_eq!(chosen_for(1000, none, false), [4, 2, 3]);
        assert_eq!(chosen_for(1, none, true), [10, 10, 2000]);
        assert_eq!(chosen_for(2, none, true), [10, 10, 1000]);
    }

    #[test]
    fn given_sample_sizes_ignore_the_budget() {
        let typed = SamplingOptions {
            builds: Some(InterimAnalyses::fixed(3)),
            measurements: Some(700),
            ..SamplingOptions::default()
        };
        assert_eq!(chosen_for(1, typed, false), [3, 10, 700]);
        assert_eq!(chosen_for(1000, typed, false), [3, 2, 700]);
        let all = SamplingOptions { executions: Some(4), ..typed };
        assert_eq!(chosen_for(100_000, all, false), [3, 4, 700]);
        assert_eq!(candidates(all, false).len(), 1);
    }
}
