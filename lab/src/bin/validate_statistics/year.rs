//! A team, a year: how often comparisons report regressions where nothing changed.
//!
//! 100 benchmarks, 20 pull requests a day, 250 days. Pairs of builds differ by normal numbers about
//! 0, whose standard deviation is given in smallest changes of interest and is the same for all
//! benchmarks. The first stage is simulated. The probability that fresh builds confirm its
//! nominations is computed, because confirmation is far too rare to be counted.

use rbench_stats::{Criteria, Random, power::power_to_report};

use super::{
    procedure::{Drawn, Procedure},
    replicate::Estimate,
    sheet::{Sheet, Target},
};

/// Benchmarks decided together.
const BENCHMARKS: u16 = 100;

/// Comparisons in a year: 20 a day on 250 days.
const COMPARISONS: f64 = 20.0 * 250.0;

/// A rate of false alarms that a team may call rare, per year.
const RARE: f64 = 5.0;

/// The `false-alarm-rate` that this needs: the 5 % of each comparison allow 250 a year.
const RARE_RATE: f64 = 0.05 * RARE / 250.0;

/// The standard deviations of the difference of a pair of builds, in smallest changes of interest.
const DEVIATIONS: [f64; 7] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0];

/// More fresh builds than any comparison makes.
const MOST_FRESH: usize = 100;

/// False regressions a year by the standard deviation of pairs of builds: with the default rate of
/// false alarms, decided by one estimate and by two independent ones; and with the rate that makes
/// them rare.
pub fn year(sheet: &mut Sheet) {
    let normal = Criteria::default();
    for has_mean in [false, true] {
        for deviation in DEVIATIONS {
            let most = if deviation <= 1.0 { RARE } else { normal.false_alarm_rate * COMPARISONS };
            row(sheet, &normal, has_mean, deviation, most);
        }
    }
    let strict = Criteria { false_alarm_rate: RARE_RATE, ..normal };
    for has_mean in [false, true] {
        for deviation in DEVIATIONS {
            row(sheet, &strict, has_mean, deviation, RARE);
        }
    }
}

/// The mean may also veto, which is left out: so this is an upper bound if there are two estimates.
fn row(sheet: &mut Sheet, criteria: &Criteria, has_mean: bool, deviation: f64, most: f64) {
    let unit = criteria.min_effect.ln_1p();
    let rate = criteria.false_alarm_rate;
    let suite = usize::from(BENCHMARKS);
    // The probability, by the number of fresh builds, that they confirm a change in the flagged
    // direction.
    let confirmed: Vec<f64> = (0..MOST_FRESH)
        .map(|builds| {
            let (builds, needed) = (builds as f64, rate.min(1.0 / f64::from(BENCHMARKS)));
            power_to_report(builds - 1.0, 0.0, needed, builds.sqrt() / deviation)
        })
        .collect();
    // Benchmarks that stay undecided are drawn eight times as often, and are nominated more often.
    let trials = if deviation > 1.0 { 50_000 } else { 200_000 };
    let one = sheet.trials(trials).mean(|random| {
        let draw = |random: &mut Random| {
            let mut difference = || deviation * unit * random.normal();
            let own = difference();
            Drawn { mean: has_mean.then(difference), ..Drawn::by(own) }
        };
        let first = Procedure::usual(criteria, suite).first_stage(draw, random)?;
        Some(first.nominated_by.map_or(0.0, |decider| {
            let fresh = first.analysis.assessment(decider).confirmation_builds(suite, criteria);
            // One of both directions is a regression.
            confirmed[fresh] / 2.0
        }))
    });
    let others = (1.0 - one.mean).powi(i32::from(BENCHMARKS) - 1);
    let a_year = Estimate {
        mean: COMPARISONS * (1.0 - others * (1.0 - one.mean)),
        error: COMPARISONS * f64::from(BENCHMARKS) * others * one.error,
    };
    let by = if has_mean { "two estimates" } else { "one estimate" };
    let check = format!("a year at {rate}, sd of d {deviation} min-effects, {by}: false alarms");
    sheet.estimated(check, Target::AtMost(most), a_year);
}
