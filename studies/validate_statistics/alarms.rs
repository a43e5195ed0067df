//! False alarms: how often versions that do not differ are flagged.

use cargo_rbench::{
    model::Dimensions,
    stats::{Comparison, Criteria, Estimator, Levels, Pairing, Random, Rule, Summary},
};

use super::{
    sheet::{Sheet, Target},
    simulation::{Drift, Order, Shape, Simulation},
};

/// The criteria of the checks: means, so that the truth is known.
const CRITERIA: Criteria = Criteria {
    estimator: None,
    rule: Rule::Overlap,
    false_alarm_rate: 0.05,
    judgements: 1,
    confidence: 0.95,
    min_effect: 0.0,
    counts: cargo_rbench::stats::CountLimits::DEFAULT,
    confirm: true,
    seed: 2006,
};

/// Whether the rule flags a simulated pair of versions.
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
    let [base, head] = simulation.two(random).ok()?.map(|data| Summary::of(&data, estimator));
    let comparison = Comparison::new(&base, &head, pairing, CRITERIA.false_alarm_rate).ok()?;
    Some(rule.flags(&base, &head, &comparison, &CRITERIA).ok()?.is_some())
}

/// The default rule, at its nominal 5 %.
pub fn overlap(sheet: &mut Sheet) {
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
                    Dimensions { first_look: None, builds, executions: 2, measurements: 2 };
                let truth = Levels { execution: 0.2, build: 0.2, version: 1.0 };
                let mut simulation = Simulation::new(truth, dimensions);
                (simulation.shape, simulation.correlation) = (shape, correlation);
                let estimate = sheet
                    .trials(40_000)
                    .rate(|random| flagged(&simulation, pairing, Rule::Overlap, random));
                let check =
                    format!("false alarms, overlap at 5 %, {method}, {name} builds, l={builds}");
                sheet.estimated(check, target, estimate);
            }
        }
    }
}

/// The default rule with the default estimator, which is not that of the papers.
pub fn minimum(sheet: &mut Sheet) {
    let dimensions = Dimensions { first_look: None, builds: 10, executions: 2, measurements: 10 };
    let truth = Levels { execution: 1.0, build: 0.2, version: 0.2 };
    let simulation = Simulation { correlation: 0.5, ..Simulation::new(truth, dimensions) };
    let estimate = sheet.trials(40_000).rate(|random| {
        flagged_by(Estimator::Minimum, &simulation, Pairing::BySeed, Rule::Overlap, random)
    });
    let check = "false alarms, overlap at 5 %, paired, minimum of 10, l=10 m=2".to_owned();
    sheet.estimated(check, Target::Between(0.045, 0.055), estimate);
}

/// The intervals (17) with few builds. The targets are exact, as those of `overlap-95`.
pub fn paper(sheet: &mut Sheet) {
    for (builds, expected) in [(2, 0.1324), (3, 0.0604), (5, 0.0280), (10, 0.0137)] {
        let dimensions = Dimensions { first_look: None, builds, executions: 1, measurements: 1 };
        let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
        let simulation = Simulation::new(truth, dimensions);
        let estimate = sheet
            .trials(40_000)
            .rate(|random| flagged(&simulation, Pairing::Unpaired, Rule::Paper, random));
        let check = format!("false alarms, paper, only builds vary, l={builds}");
        sheet.estimated(check, Target::Rounded(expected, 1e-4), estimate);
    }
}

/// The permutation test has exactly the rate that its few arrangements allow, whatever the shape.
pub fn permutation(sheet: &mut Sheet) {
    let cases = [
        (Pairing::BySeed, "paired", 8, 12.0 / 256.0),
        (Pairing::Unpaired, "unpaired", 5, 12.0 / 252.0),
    ];
    for (pairing, method, builds, exact) in cases {
        let dimensions = Dimensions { first_look: None, builds, executions: 1, measurements: 1 };
        let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
        let simulation = Simulation { shape: Shape::Skewed, ..Simulation::new(truth, dimensions) };
        let estimate = sheet
            .trials(40_000)
            .rate(|random| flagged(&simulation, pairing, Rule::Permutation, random));
        let check =
            format!("false alarms, permutation at 5 %, {method}, skewed builds, l={builds}");
        let exact = (exact * 1e4_f64).round() / 1e4;
        sheet.estimated(check, Target::Rounded(exact, 1e-4), estimate);
    }
}

/// Two separate 95 % intervals.
///
/// The targets are exact: with `s` the standard errors of both versions, which are chi distributed,
/// the mean of `2 Φ(−t_{.975, l−1} (s_1 + s_2) / √2)`, by quadrature over both.
pub fn overlap_95(sheet: &mut Sheet) {
    for (builds, expected) in [(3, 0.004_76), (5, 0.005_32), (10, 0.005_52), (30, 0.005_57)] {
        let dimensions = Dimensions { first_look: None, builds, executions: 1, measurements: 1 };
        let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
        let simulation = Simulation::new(truth, dimensions);
        let estimate = sheet
            .trials(150_000)
            .rate(|random| flagged(&simulation, Pairing::Unpaired, Rule::Overlap95, random));
        let check = format!("false alarms, overlap-95, only builds vary, l={builds}");
        sheet.estimated(check, Target::Rounded(expected, 1e-5), estimate);
    }
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
                let dimensions =
                    Dimensions { first_look: None, builds: 10, executions: 3, measurements: 1 };
                let truth = Levels { execution: 0.0, build: 0.2, version: 1.0 };
                let mut simulation = Simulation::new(truth, dimensions);
                (simulation.drift, simulation.order) = (drift, order);
                let estimate = sheet
                    .trials(30_000)
                    .rate(|random| flagged(&simulation, pairing, Rule::Overlap, random));
                let check = format!("false alarms, {name}, {what}, {method}, l=10 m=3");
                let target = if order == Order::Rounds { held } else { broken };
                sheet.estimated(check, target, estimate);
            }
        }
    }
}
