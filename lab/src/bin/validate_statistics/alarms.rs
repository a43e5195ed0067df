//! False alarms: how often versions that do not differ are flagged.

use cargo_rbench::model::SampleSizes;
use rbench_stats::{Comparison, Criteria, Estimator, Levels, Pairing, Random, Rule, Summary};

use super::{
    power::welch_power,
    sheet::{Sheet, Target},
    simulation::{Drift, Order, Shape, Simulation},
};

/// The criteria of the checks: means, so that the truth is known.
const CRITERIA: Criteria = Criteria {
    estimator: None,
    rule: Rule::Paired,
    false_alarm_rate: 0.05,
    comparisons: 1,
    confidence: 0.95,
    min_effect: 0.0,
    limits: rbench_stats::MetricLimits::DEFAULT,
    confirm: true,
    seed: 2006,
};

/// The numbers of builds for which both rules are compared.
const FEW: [usize; 4] = [2, 3, 5, 10];

/// True if the rule flags a simulated pair of versions.
pub fn flagged(
    simulation: &Simulation,
    pairing: Pairing,
    rule: Rule,
    random: &mut Random,
) -> Option<bool> {
    flagged_by(Estimator::Mean, simulation, pairing, rule, random)
}

fn flagged_by(
    estimator: Estimator,
    simulation: &Simulation,
    pairing: Pairing,
    rule: Rule,
    random: &mut Random,
) -> Option<bool> {
    let versions = simulation.two(random).ok()?.map(|data| Summary::compute(&data, estimator));
    flags(&versions, pairing, rule)
}

/// True if the rule flags a pair of versions; none if it rejects them.
pub fn flags([base, head]: &[Summary; 2], pairing: Pairing, rule: Rule) -> Option<bool> {
    let comparison = Comparison::new(base, head, pairing, CRITERIA.false_alarm_rate).ok()?;
    Some(rule.flags(base, head, &comparison, CRITERIA.confidence).ok()?.is_some())
}

/// The default rule, at its nominal 5 %.
pub fn paired(sheet: &mut Sheet) {
    let nominal = Target::Between(0.045, 0.055);
    let bounded = Target::AtMost(0.055);
    let shapes = [
        (Shape::Normal, "normal"),
        (Shape::Skewed, "skewed"),
        (Shape::Bimodal, "bimodal"),
        (Shape::Contaminated, "contaminated"),
    ];
    let methods = [(Pairing::BySeed, "paired", 0.5), (Pairing::Unpaired, "Welch", 0.0)];
    for (pairing, method, correlation) in methods {
        for (shape, name) in shapes {
            for builds in [3, 5, 8, 10, 20] {
                let sure = shape == Shape::Normal && builds >= 8;
                let target = if sure { nominal } else { bounded };
                let dimensions =
                    SampleSizes { first_analysis: None, builds, executions: 2, measurements: 2 };
                let truth = Levels { execution: 0.2, build: 0.2, version: 1.0 };
                let mut simulation = Simulation::new(truth, dimensions);
                (simulation.shape, simulation.correlation) = (shape, correlation);
                let estimate = sheet
                    .trials(40_000)
                    .rate(|random| flagged(&simulation, pairing, Rule::Paired, random));
                let check =
                    format!("false alarms, t test at 5 %, {method}, {name} builds, l={builds}");
                sheet.estimated(check, target, estimate);
            }
        }
    }
}

/// The default rule with the default estimator, which is not that of the papers.
pub fn minimum(sheet: &mut Sheet) {
    let dimensions =
        SampleSizes { first_analysis: None, builds: 10, executions: 2, measurements: 10 };
    let truth = Levels { execution: 1.0, build: 0.2, version: 0.2 };
    let simulation = Simulation { correlation: 0.5, ..Simulation::new(truth, dimensions) };
    let estimate = sheet.trials(40_000).rate(|random| {
        flagged_by(Estimator::Minimum, &simulation, Pairing::BySeed, Rule::Paired, random)
    });
    let check = "false alarms, t test at 5 %, paired, minimum of 10, l=10 m=2".to_owned();
    sheet.estimated(check, Target::Between(0.045, 0.055), estimate);
}

/// The default rule without pairs, under the same conditions as [`overlap`].
pub fn unpaired(sheet: &mut Sheet) {
    for builds in FEW {
        let expected = (welch_power(builds, 0.0) * 1e4).round() / 1e4;
        let check = format!("false alarms, t test at 5 %, Welch, only builds vary, l={builds}");
        only_builds_vary(sheet, check, builds, Rule::Paired, expected);
    }
}

/// The rule of the paper: two intervals (17) that do not overlap, with few builds.
///
/// The targets are exact: with `s` the standard errors of both versions, which are chi distributed,
/// the mean of `2 Φ(−u_{.975} (s_1 + s_2) / √2)`, by quadrature over both.
pub fn overlap(sheet: &mut Sheet) {
    for (builds, expected) in FEW.into_iter().zip([0.1324, 0.0604, 0.0280, 0.0137]) {
        let check = format!("false alarms, overlap, only builds vary, l={builds}");
        only_builds_vary(sheet, check, builds, Rule::Overlap, expected);
    }
}

fn only_builds_vary(sheet: &mut Sheet, check: String, builds: usize, rule: Rule, expected: f64) {
    let dimensions = SampleSizes { first_analysis: None, builds, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    let simulation = Simulation::new(truth, dimensions);
    let estimate =
        sheet.trials(40_000).rate(|random| flagged(&simulation, Pairing::Unpaired, rule, random));
    sheet.estimated(check, Target::Rounded(expected, 1e-4), estimate);
}

/// Rounds keep the rate whatever the machine does; one version after the other does not.
pub fn drifts(sheet: &mut Sheet) {
    let drifts = [
        (Drift::None, "no drift", Target::Between(0.04, 0.06)),
        (Drift::RandomWalk(2.0), "random walk", Target::AtLeast(0.2)),
        (Drift::Linear(3.0), "linear drift", Target::AtLeast(0.2)),
        (Drift::Step(1.5), "step", Target::AtLeast(0.2)),
    ];
    let held = Target::Between(0.04, 0.06);
    for (order, name) in [(Order::Rounds, "rounds"), (Order::BaseThenHead, "A then B")] {
        for (pairing, method) in [(Pairing::BySeed, "paired"), (Pairing::Unpaired, "Welch")] {
            for (drift, what, broken) in drifts {
                let dimensions = SampleSizes {
                    first_analysis: None,
                    builds: 10,
                    executions: 3,
                    measurements: 1,
                };
                let truth = Levels { execution: 0.0, build: 0.2, version: 1.0 };
                let mut simulation = Simulation::new(truth, dimensions);
                (simulation.drift, simulation.order) = (drift, order);
                let estimate = sheet
                    .trials(30_000)
                    .rate(|random| flagged(&simulation, pairing, Rule::Paired, random));
                let check = format!("false alarms, {name}, {what}, {method}, l=10 m=3");
                let target = if order == Order::Rounds { held } else { broken };
                sheet.estimated(check, target, estimate);
            }
        }
    }
}
