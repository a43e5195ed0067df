//! How much a diagnosis measures of a benchmark: as much as there is time for.

use std::time::Duration;

use crate::{config::SamplingOptions, measure::Probe, model::InterimAnalyses};

/// What the executions of one benchmark may take, of a whole minute with all else.
const BUDGET: Duration = Duration::from_secs(38);
/// The same with `--long`.
const LONG_BUDGET: Duration = Duration::from_secs(420);

/// Builds, executions of each and measurements of each, from the most that are of use to the fewest.
///
/// Leaps are only seen in 200 measurements and more, so executions are given up first.
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
/// The same with `--long`.
const LONG_LADDER: [[u32; 3]; 3] = [[10, 10, 2000], [10, 10, 1000], [10, 10, 500]];

/// How long a measurement lasts at least, unless another floor is typed: a benchmark's first ones are not to be
/// lost in the first measurement.
const FLOOR: Duration = Duration::from_millis(1);

/// All efforts that may be chosen, from the most on: what was typed is in each of them.
pub fn candidates(typed: SamplingOptions, long: bool) -> Vec<SamplingOptions> {
    let of = |[builds, executions, measurements]: &[u32; 3]| {
        typed.or_else(SamplingOptions {
            builds: Some(InterimAnalyses::fixed(*builds)),
            executions: Some(*executions),
            measurements: Some(*measurements),
            warm_up: Some(Duration::ZERO),
            min_time: Some(FLOOR),
            deadline: None,
            parallel: None,
            mode: None,
        })
    };
    let mut all: Vec<SamplingOptions> = if long {
        LONG_LADDER.iter().chain(&LADDER).map(of).collect()
    } else {
        LADDER.iter().map(of).collect()
    };
    all.dedup();
    all
}

/// The most of these that there is time for, or the least.
pub fn chosen(candidates: &[SamplingOptions], probe: &Probe, long: bool) -> SamplingOptions {
    let budget = if long { LONG_BUDGET } else { BUDGET };
    let fits = |effort: &&SamplingOptions| time(effort, probe) <= budget;
    candidates.iter().find(fits).or(candidates.last()).copied().unwrap_or_default()
}

/// How long the executions take.
fn time(effort: &SamplingOptions, probe: &Probe) -> Duration {
    let number = |number: Option<u32>| number.unwrap_or(1);
    let each = probe.measurement.saturating_mul(number(effort.measurements));
    let executions =
        number(effort.builds.map(|looks| looks.most)).saturating_mul(number(effort.executions));
    let all = each.saturating_add(probe.beyond).saturating_mul(executions);
    // The control comes after every second execution.
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
        let effort = chosen(&candidates(typed, long), &probe, long);
        [effort.builds.map(|looks| looks.most), effort.executions, effort.measurements]
            .map(Option::unwrap)
    }

    #[test]
    fn slow_benchmarks_are_measured_less_often() {
        let none = SamplingOptions::default();
        assert_eq!(chosen_for(1, none, false), [10, 10, 200]);
        assert_eq!(chosen_for(2, none, false), [10, 5, 200]);
        assert_eq!(chosen_for(100, none, false), [10, 2, 5]);
        assert_eq!(chosen_for(1000, none, false), [4, 2, 3]);
        assert_eq!(chosen_for(1, none, true), [10, 10, 2000]);
        assert_eq!(chosen_for(2, none, true), [10, 10, 1000]);
    }

    #[test]
    fn what_was_typed_is_measured_whatever_it_takes() {
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
