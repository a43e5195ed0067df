//! Statistics of the levels: the test of layouts, impact factors, the shares of a change's
//! variance.

use cargo_rbench::model::SampleSizes;
use rbench_stats::{
    Comparison, Components, Estimator, Levels, Pairing, Summary,
    impact::{Bootstrap, ImpactFactor},
};

use super::{
    sheet::{Sheet, Target},
    simulation::Simulation,
};

/// The F test of "layout has no effect" rejects a true hypothesis at its nominal rate.
pub fn layout_test(sheet: &mut Sheet) {
    let dimensions =
        SampleSizes { first_analysis: None, builds: 10, executions: 3, measurements: 2 };
    let simulation =
        Simulation::new(Levels { execution: 1.0, build: 1.0, version: 0.0 }, dimensions);
    let found = sheet.trials(60_000).rate(|random| {
        let summary = Summary::compute(&simulation.one(random).ok()?, Estimator::Mean);
        Some(Components::estimate(&summary).layout?.p <= 0.05)
    });
    let check = "F test of layouts at 5 %, V=0, l=10 m=3".to_owned();
    sheet.estimated(check, Target::Between(0.045, 0.055), found);
}

/// The impact factor of executions is near `sqrt(1 + B/E)`: here sqrt(2).
pub fn impact(sheet: &mut Sheet) {
    let dimensions =
        SampleSizes { first_analysis: None, builds: 10, executions: 5, measurements: 60 };
    let simulation =
        Simulation::new(Levels { execution: 1.0, build: 1.0, version: 9.0 }, dimensions);
    let bootstrap = Bootstrap { choose: None, repetitions: 50 };
    let factor = sheet.trials(200).mean(|random| {
        let data = simulation.one(random).ok()?;
        Some(ImpactFactor::execution_impact(&data, &bootstrap, random).ok()?.factor)
    });
    let check = "impact factor of executions, B=E=1, l=10 m=5 n=60".to_owned();
    sheet.estimated(check, Target::Within(1.414, 0.05), factor);
}

/// The share of executions in the variance of a change, as a ratio of variances, is too large on
/// average by (l−1)/(l−3).
pub fn shares(sheet: &mut Sheet) {
    // With correlation 1/2, d has the variance 1 of builds; executions add 2·2/4.
    let dimensions =
        SampleSizes { first_analysis: None, builds: 30, executions: 4, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 2.0, version: 1.0 };
    let simulation = Simulation { correlation: 0.5, ..Simulation::new(truth, dimensions) };
    let share = sheet.trials(4_000).mean(|random| {
        let versions =
            simulation.two(random).ok()?.map(|data| Summary::compute(&data, Estimator::Mean));
        let [base, head] = &versions;
        let comparison = Comparison::new(base, head, Pairing::BySeed, 0.05).ok()?;
        Some(comparison.shares(&versions)?.executions)
    });
    let check = "share of executions in the variance of d, .5 · 29/27, l=30 m=4".to_owned();
    sheet.estimated(check, Target::Within(0.537, 0.01), share);
}
