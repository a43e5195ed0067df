//! Power of one stage, and what pairing gains.

use super::{
    super::{
        Comparison, Estimator, Levels, Pairing, Rule, Summary,
        plan::Dimensions,
        power::{Design, two_sided_power},
        simulation::Simulation,
    },
    Sheet, Target,
    alarms::flagged,
};

/// Only builds vary, with variance 1 and this correlation between versions.
fn only_builds(builds: usize, correlation: f64) -> Simulation {
    let dimensions = Dimensions { builds, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    Simulation { correlation, ..Simulation::new(truth, dimensions) }
}

/// The power of `overlap` is that of the noncentral t distribution.
pub(super) fn one_stage(sheet: &mut Sheet) {
    let cases = [
        (Pairing::BySeed, Design::Paired, "paired", "d", [(5, 1.68), (10, 0.75), (10, 1.5)]),
        (Pairing::Unpaired, Design::Unpaired, "Welch", "b", [(5, 2.02), (10, 1.32), (20, 0.91)]),
    ];
    for (pairing, design, method, unit, sizes) in cases {
        // With correlation 1/2 the differences have the variance of the builds, 1.
        let correlation = if pairing == Pairing::BySeed { 0.5 } else { 0.0 };
        for (builds, effect) in sizes {
            let mut simulation = only_builds(builds, correlation);
            simulation.shift = effect;
            let estimate = sheet
                .trials(40_000)
                .rate(|random| flagged(&simulation, pairing, Rule::Overlap, random));
            let noncentrality = effect / design.standard_error(builds);
            let exact = two_sided_power(design.degrees_of_freedom(builds), noncentrality, 0.05);
            // Four digits of the exact value are more than the tolerance needs.
            let exact = (exact * 1e4).round() / 1e4;
            let check = format!("power, {method}, change of {effect} sd of {unit}, l={builds}");
            sheet.estimated(check, Target::Within(exact, 0.015), estimate);
        }
    }
}

/// The gain is the correlation, and whatever it is, pairing keeps the false-alarm rate.
pub(super) fn pairing(sheet: &mut Sheet) {
    for correlation in [0.0, 0.5, 0.9] {
        let simulation = only_builds(30, correlation);
        let gain = sheet.trials(20_000).mean(|random| {
            let [base, head] =
                simulation.two(random).ok()?.map(|data| Summary::of(&data, Estimator::Mean));
            Comparison::new(&base, &head, Pairing::BySeed, 0.05).ok()?.gain
        });
        let check = format!("pairing gain at correlation {correlation}, l=30");
        sheet.estimated(check, Target::Within(correlation, 0.02), gain);
        let simulation = only_builds(10, correlation);
        let alarms = sheet
            .trials(60_000)
            .rate(|random| flagged(&simulation, Pairing::BySeed, Rule::Overlap, random));
        let check = format!("false alarms, paired, correlation {correlation}, l=10");
        sheet.estimated(check, Target::Between(0.045, 0.055), alarms);
    }
}
