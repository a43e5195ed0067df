//! Two stages: a regression is flagged first and then confirmed on fresh builds alone.

use cargo_rbench::model::SampleSizes;
use rbench_stats::{Assessment, Criteria, Estimator, Levels, Pairing, Random, Summary, Verdict};

use super::{
    replicate::Estimate,
    sheet::{Sheet, Target},
    simulation::Simulation,
};

const BUILDS: usize = 10;

/// Benchmarks decided together.
const SUITE: usize = 50;

/// No change is too small to be of interest: the smallest of interest would only lower the false
/// alarms.
fn criteria() -> Criteria {
    Criteria { min_effect: 0.0, ..Criteria::default() }
}

/// Measures a benchmark once, or twice if need be.
fn measure(
    simulation: &Simulation,
    pairing: Pairing,
    criteria: &Criteria,
    random: &mut Random,
) -> Option<(Assessment, Option<Assessment>)> {
    let stage = |random: &mut Random| {
        let [base, head] =
            simulation.two(random).ok()?.map(|data| Summary::compute(&data, Estimator::Mean));
        Assessment::new(&base, &head, pairing, criteria).ok()
    };
    let first = stage(random)?;
    let second = if first.needs_confirmation(criteria) { Some(stage(random)?) } else { None };
    Some((first, second))
}

/// The verdict where there may be a change. Without a second stage, deciding would only search for
/// the reason why there is none, which takes time.
fn verdict(first: &Assessment, second: Option<&Assessment>) -> Option<Verdict> {
    second.map(|second| Verdict::decide(first, Some(second), SUITE, &criteria()))
}

fn is_regression(first: &Assessment, second: Option<&Assessment>) -> bool {
    matches!(verdict(first, second), Some(Verdict::Regressed { .. }))
}

/// Builds of which each contributes a variance of 1 to the difference of two versions.
fn of_difference() -> Simulation {
    let dimensions =
        SampleSizes { first_analysis: None, builds: BUILDS, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    // With correlation 1/2 the differences have the variance of the builds.
    Simulation { correlation: 0.5, ..Simulation::new(truth, dimensions) }
}

/// A change of exactly the smallest size of interest, with builds that estimate it precisely.
pub fn unchanged(sheet: &mut Sheet) {
    let criteria = Criteria { min_effect: 0.002, ..criteria() };
    let simulation = of_difference();
    let simulation = Simulation { shift: 0.002 * simulation.mean, ..simulation };
    let unchanged = sheet.trials(60_000).rate(|random| {
        let (first, second) = measure(&simulation, Pairing::BySeed, &criteria, random)?;
        // As in the verdict: by whichever stage is the last.
        Some(second.map_or(first.equivalent, |second| second.equivalent))
    });
    let check = "two stages, l=10+10, change of min-effect = 2 sd of d: unchanged".to_owned();
    sheet.estimated(check, Target::AtMost(0.05), unchanged);
}

/// A suite of 50, unpaired, of which 5 benchmarks change by 2 sd of their build means: the false
/// reports without and with a second stage, and the changes that two stages find.
pub fn suites(sheet: &mut Sheet) {
    const CHANGED: usize = 5;
    let dimensions =
        SampleSizes { first_analysis: None, builds: BUILDS, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    let same = Simulation::new(truth, dimensions);
    let changed = Simulation { shift: 2.0, ..same };
    // For each method: any false report, share of the changes found.
    let score = |reported: &dyn Fn(usize) -> bool| {
        let found = (0..CHANGED).filter(|&index| reported(index)).count();
        let any_false = (CHANGED..SUITE).any(reported);
        [f64::from(any_false), found as f64 / CHANGED as f64]
    };
    let estimates = sheet.trials(5_000).means(|random| {
        let (mut p, mut regressed) = (vec![], vec![]);
        for index in 0..SUITE {
            let simulation = if index < CHANGED { &changed } else { &same };
            let (first, second) = measure(simulation, Pairing::Unpaired, &criteria(), random)?;
            p.push(first.comparison.p);
            regressed.push(is_regression(&first, second.as_ref()));
        }
        let ways = [score(&|index| p[index] <= 0.05), score(&|index| regressed[index])];
        ways.concat().try_into().ok()
    });
    let ways = [("raw 5 %", 0.90, None), ("two stages", 0.039, Some(0.98))];
    let estimates: &[Estimate; 4] = &estimates;
    for ((way, any_false, power), pair) in ways.into_iter().zip(estimates.chunks(2)) {
        let check = format!("suite of 50, 5 changed by 2 sd, {way}: P(any false)");
        sheet.estimated(check, Target::Rounded(any_false, 0.01), pair[0]);
        if let Some(power) = power {
            let check = format!("suite of 50, 5 changed by 2 sd, {way}: power");
            sheet.estimated(check, Target::Rounded(power, 0.01), pair[1]);
        }
    }
}

/// `1 − (1 − p)^G`: the benchmarks of a suite are independent here.
pub fn any_of_suite(per_benchmark: Estimate) -> Estimate {
    let Estimate { mean, error } = per_benchmark;
    let suite = SUITE as f64;
    let none = (1.0 - mean).powf(suite);
    // The delta method.
    Estimate { mean: 1.0 - none, error: suite * none / (1.0 - mean) * error }
}
