//! Verdicts from stored results of two sessions, where no version differs.

use cargo_rbench::model::Metric;
use rbench_stats::{
    Assessment, Criteria, Estimator, Measurements, Pairing, Random, Repeat, SessionVariance,
    Summary, Verdict,
};

use super::sheet::{Sheet, Target};

const BUILDS: u64 = 10;

/// The standard deviation of a build's value in a session; relative, as all effects here.
const NOISE: f64 = 0.003;

/// The standard deviation between layouts.
const LAYOUTS: f64 = 0.01;

/// Benchmarks decided together; each may have .2 % false verdicts in either direction.
const SUITE: usize = 50;

/// False verdicts with one commit measured three times, so that the variance between sessions has
/// two degrees of freedom.
pub fn false_verdicts(sheet: &mut Sheet) {
    // Two sessions, paired by seed.
    let standard_error = NOISE * (2.0 / BUILDS as f64).sqrt();
    for times in [0.0, 1.0, 3.0] {
        let between = times * standard_error;
        let estimate = sheet.trials(100_000).rate(|random| is_false(between, random));
        let check = format!("two sessions, 3 repeats, sd between {times} SE: false verdicts");
        sheet.estimated(check, Target::AtMost(0.0025), estimate);
    }
}

/// True if two equal versions get a verdict that reports a difference.
fn is_false(between: f64, random: &mut Random) -> Option<bool> {
    let criteria = Criteria { min_effect: 0.0, ..Criteria::default() };
    let layouts = draw_layouts(random);
    let again = [0; 3].map(|_| session(&layouts, between, random));
    let sessions: Vec<(usize, &Summary)> = again
        .iter()
        .enumerate()
        .map(|(index, one)| Some((index, one.as_ref()?)))
        .collect::<Option<_>>()?;
    let variance = SessionVariance::estimate(&[Repeat { sessions, same_programs: true }])?;
    let layouts = draw_layouts(random);
    let (base, head) = (session(&layouts, between, random)?, session(&layouts, between, random)?);
    let stage = Assessment::across(&base, &head, Pairing::BySeed, &variance, &criteria).ok()?;
    // An unflagged result is no change, and the slow search for the reason is skipped.
    if stage.flag.is_none() {
        return Some(false);
    }
    let verdict = Verdict::decide_stored(&stage, SUITE, &criteria);
    Some(matches!(verdict, Verdict::Regressed { .. } | Verdict::Improved { .. }))
}

fn draw_layouts(random: &mut Random) -> Vec<f64> {
    (0..BUILDS).map(|_| LAYOUTS * random.normal()).collect()
}

/// The results of a session for a commit.
fn session(layouts: &[f64], between: f64, random: &mut Random) -> Option<Summary> {
    let shift = between * random.normal();
    let builds = (1..).zip(layouts).map(|(seed, layout)| {
        (seed, [[1000.0 * (shift + layout + NOISE * random.normal()).exp()]])
    });
    let data = Measurements::new(Metric::wall(), builds).ok()?;
    Some(Summary::compute(&data, Estimator::Mean))
}
