//! Two stages: a regression is what is flagged and, on fresh builds alone, confirmed.

use super::{
    super::{
        Criteria, Estimator, Levels, Pairing, Random, Stage, Summary, Verdict, plan::Dimensions,
        simulation::Simulation,
    },
    Sheet, Target,
    replicate::Estimate,
};

/// Builds per version and stage.
const BUILDS: usize = 10;

/// Benchmarks judged together.
const SUITE: usize = 50;

/// No change is too small to be of interest: the smallest of interest would only lower the false alarms.
fn criteria() -> Criteria {
    Criteria { estimator: Estimator::Mean, min_effect: 0.0, ..Criteria::default() }
}

/// One benchmark of a suite, measured once or twice.
struct Outcome {
    regressed: bool,
    /// Builds per version.
    builds: usize,
}

fn judge(simulation: &Simulation, random: &mut Random) -> Option<Outcome> {
    let criteria = criteria();
    let stage = |random: &mut Random| {
        let [base, head] =
            simulation.two(random).ok()?.map(|data| Summary::of(&data, criteria.estimator));
        Stage::new(&base, &head, Pairing::BySeed, &criteria).ok()
    };
    let first = stage(random)?;
    if !first.needs_confirmation(&criteria) {
        return Some(Outcome { regressed: false, builds: BUILDS });
    }
    let second = stage(random)?;
    let verdict = Verdict::of(&first, Some(&second), SUITE, &criteria);
    Some(Outcome { regressed: matches!(verdict, Verdict::Regressed { .. }), builds: 2 * BUILDS })
}

/// False regressions, what they cost in builds, and the power.
pub(super) fn two_stages(sheet: &mut Sheet) {
    let dimensions = Dimensions { builds: BUILDS, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    // With correlation 1/2 the differences have the variance of the builds, 1.
    let mut simulation = Simulation { correlation: 0.5, ..Simulation::new(truth, dimensions) };
    let [alarms, builds] = sheet.trials(2_000_000).means(|random| {
        let Outcome { regressed, builds } = judge(&simulation, random)?;
        Some([f64::from(regressed), builds as f64])
    });
    let stages = "two stages, paired, l=10+10, G=50";
    let check = format!("{stages}: false regressions per benchmark");
    sheet.estimated(check, Target::AtMost(0.002), alarms);
    let check = format!("{stages}: P(any false regression)");
    sheet.estimated(check, Target::AtMost(0.05), any_of_suite(alarms));
    simulation.shift = 1.5;
    let power = sheet
        .trials(40_000)
        .rate(|random| judge(&simulation, random).map(|outcome| outcome.regressed));
    let check = format!("{stages}: power at 1.5 sd of d");
    sheet.estimated(check, Target::AtLeast(0.97), power);
    let check = format!("{stages}: builds per version, no change");
    sheet.estimated(check, Target::AtMost(10.6), builds);
}

/// `1 − (1 − p)^G`: the benchmarks of a suite are independent here.
fn any_of_suite(per_benchmark: Estimate) -> Estimate {
    let Estimate { mean, error } = per_benchmark;
    let suite = SUITE as f64;
    let none = (1.0 - mean).powf(suite);
    // The delta method.
    Estimate { mean: 1.0 - none, error: suite * none / (1.0 - mean) * error }
}
