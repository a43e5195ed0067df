//! The paired t test where some differences are far from the others.

use rbench_stats::{Moments, Random, distribution::t_survival};

use super::sheet::{Sheet, Target};

/// The share of wide differences, and their width.
const CONTAMINATION: (f64, f64) = (0.1, 5.0);

/// The test where one difference in ten comes from a normal distribution five times as wide.
pub fn contaminated(sheet: &mut Sheet) {
    for builds in [5, 6, 10, 20] {
        let size = sheet
            .trials(100_000)
            .rate(|random| Some(t_test(&differences(builds, 0.0, random)) <= 0.05));
        let check = format!("size at 5 %, 10 % contamination at 5 sd, t, l={builds}");
        sheet.estimated(check, Target::AtMost(0.05), size);
    }
}

/// The power at the smallest change that the test detects with 80 % in normal differences. No theory gives the
/// targets: they are the rounded results of the simulation, and detect a change of the test.
pub fn power(sheet: &mut Sheet) {
    for (builds, change, expected) in [(5, 1.68, 0.86), (10, 1.0, 0.83), (20, 0.66, 0.81)] {
        let power = sheet
            .trials(40_000)
            .rate(|random| Some(t_test(&differences(builds, change, random)) <= 0.05));
        let check = format!("power, 10 % contamination at 5 sd, t, {change} sd, l={builds}");
        sheet.estimated(check, Target::Within(expected, 0.02), power);
    }
}

/// Differences of `builds` pairs with a standard deviation of 1 about a change.
fn differences(builds: usize, change: f64, random: &mut Random) -> Vec<f64> {
    let (share, width) = CONTAMINATION;
    let scale = f64::sqrt(1.0 - share + share * width * width);
    let mut draw = || {
        let wide = if random.chance(share) { width } else { 1.0 };
        change + wide * random.normal() / scale
    };
    (0..builds).map(|_| draw()).collect()
}

/// The two-sided p value of the paired t test.
fn t_test(differences: &[f64]) -> f64 {
    let moments = Moments::compute(differences);
    let freedom = moments.count as f64 - 1.0;
    let error = (moments.squares / freedom / moments.count as f64).sqrt();
    2.0 * t_survival((moments.mean / error).abs(), freedom)
}
