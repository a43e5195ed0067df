//! Change points of histories: how often a series without a change has one, and how often a change
//! is found.

use rbench_stats::{
    Random,
    changes::{LARGEST_P, Observation, Series},
};

use super::sheet::{Sheet, Target};

/// The standard deviation of a value in its session; relative, as all effects here.
const NOISE: f64 = 0.01;

/// The standard deviation of a session's shift.
const SESSIONS: f64 = 0.05;

/// Series without a change, by standard errors alone (one session) and by the variation between
/// sessions.
pub fn unchanged(sheet: &mut Sheet) {
    for (versions, trials) in [(10, 100_000), (30, 50_000), (100, 20_000), (1_000, 4_000)] {
        for (name, alone) in [("one session", false), ("a session each", true)] {
            let estimate = sheet.trials(trials).rate(|random| {
                let one = |place: usize, random: &mut Random| {
                    let (variance, session) = if alone { (0.0, place) } else { (NOISE * NOISE, 0) };
                    Observation {
                        place,
                        log: NOISE * random.normal(),
                        variance,
                        session,
                        machine: 0,
                    }
                };
                let series: Vec<_> = (0..versions).map(|place| one(place, random)).collect();
                is_flagged(&series)
            });
            let check = format!("changes, {versions} versions, {name}: flagged without a change");
            sheet.estimated(check, Target::AtMost(LARGEST_P), estimate);
        }
    }
}

/// Series whose sessions shift by five times the noise, and measured several versions each: without a change, also on
/// machines that differ by twenty times the noise, and with one large change.
pub fn tied(sheet: &mut Sheet) {
    const VERSIONS: usize = 30;
    let series = |several: usize, machines: usize, change: f64, random: &mut Random| {
        let step = if several == 2 { 1 } else { several };
        let shifts: Vec<f64> = (0..machines).map(|_| 20.0 * NOISE * random.normal()).collect();
        let mut machine = 0;
        let mut series = Vec::new();
        for session in 0..VERSIONS / step {
            // A machine that has compiled a version often measures the next one too.
            if random.chance(0.2) {
                machine = random.below(machines);
            }
            let shift = shifts[machine] + SESSIONS * random.normal();
            let versions = (step * session..step * session + several).filter(|at| *at < VERSIONS);
            series.extend(versions.map(|place| {
                let level = if place < VERSIONS / 2 { 0.0 } else { change };
                let log = level + shift + NOISE * random.normal();
                Observation { place, log, variance: NOISE * NOISE, session, machine }
            }));
        }
        series
    };
    for (name, several, machines) in
        [("pairs", 2, 1), ("groups of five", 5, 1), ("pairs on five machines", 2, 5)]
    {
        let estimate =
            sheet.trials(4_000).rate(|random| is_flagged(&series(several, machines, 0.0, random)));
        let check = format!("changes, {VERSIONS} versions in {name}: flagged without a change");
        sheet.estimated(check, Target::AtMost(LARGEST_P), estimate);

        let estimate = sheet.trials(4_000).rate(|random| {
            let series = series(several, machines, 50.0 * NOISE, random);
            Some(Series::new(&series, None)?.changes(LARGEST_P).len() > 1)
        });
        let check = format!("changes, {VERSIONS} versions in {name}: a large change is several");
        sheet.estimated(check, Target::AtMost(LARGEST_P), estimate);
    }
}

/// One change in a hundred versions of one session. The bounds are the rates of a penalty of 3 ln
/// T, which are a little lower.
pub fn found(sheet: &mut Sheet) {
    const VERSIONS: usize = 100;
    for (size, after, least) in [(2.0, 10, 0.94), (2.0, 5, 0.74), (3.0, 2, 0.76), (1.0, 30, 0.62)] {
        let from = VERSIONS - after;
        let estimate = sheet.trials(10_000).rate(|random| {
            let one = |place: usize, random: &mut Random| {
                let level = if place < from { 0.0 } else { size };
                let log = NOISE * (level + random.normal());
                Observation { place, log, variance: NOISE * NOISE, session: 0, machine: 0 }
            };
            let series: Vec<_> = (0..VERSIONS).map(|place| one(place, random)).collect();
            let changes = Series::new(&series, None)?.changes(LARGEST_P);
            Some(changes.iter().any(|change| change.at[1].abs_diff(from) <= 3))
        });
        let check = format!("{size} sd in the last {after} of 100 versions: found, give or take 3");
        sheet.estimated(check, Target::AtLeast(least), estimate);
    }
}

fn is_flagged(observations: &[Observation]) -> Option<bool> {
    Some(!Series::new(observations, None)?.changes(LARGEST_P).is_empty())
}
