//! The paired t test against the signed-rank test, where some differences are far from the others.

use rbench_stats::{Moments, Random, distribution::t_survival};

use super::{
    sheet::{Sheet, Target},
    wilcoxon::{Null, efficiency, interval, two_sided_p, walsh_averages},
};

/// The share of wide differences, and their width.
const CONTAMINATION: (f64, f64) = (0.1, 5.0);

/// Both tests where one difference in ten comes from a normal distribution five times as wide.
pub fn contaminated(sheet: &mut Sheet) {
    for builds in [5, 6, 10, 20] {
        let null = Null::for_count(builds);
        let [t, signed_rank] = sheet.trials(100_000).means(|random| {
            let differences = differences(builds, 0.0, random);
            Some([
                f64::from(t_test(&differences) <= 0.05),
                f64::from(two_sided_p(&differences, &null) <= 0.05),
            ])
        });
        let check = |test| format!("size at 5 %, 10 % contamination at 5 sd, {test}, l={builds}");
        sheet.estimated(check("t"), Target::AtMost(0.05), t);
        // Exact, and the same for every symmetric distribution.
        let exact = (null.size(0.05) * 1e4).round() / 1e4;
        sheet.estimated(check("signed-rank"), Target::Rounded(exact, 1e-4), signed_rank);
    }
}

/// The power of both at the smallest change that the t test detects with 80 % in normal
/// differences. No theory gives the targets: they are the rounded results of the simulation, and
/// detect a change of either test.
pub fn power(sheet: &mut Sheet) {
    for (builds, change, of_t, of_signed_rank) in
        [(5, 1.68, 0.86, 0.0), (10, 1.0, 0.83, 0.83), (20, 0.66, 0.81, 0.96)]
    {
        let null = Null::for_count(builds);
        let [t, signed_rank] = sheet.trials(40_000).means(|random| {
            let differences = differences(builds, change, random);
            Some([
                f64::from(t_test(&differences) <= 0.05),
                f64::from(two_sided_p(&differences, &null) <= 0.05),
            ])
        });
        let check =
            |test| format!("power, 10 % contamination at 5 sd, {test}, {change} sd, l={builds}");
        sheet.estimated(check("t"), Target::Within(of_t, 0.02), t);
        sheet.estimated(check("signed-rank"), Target::Within(of_signed_rank, 0.02), signed_rank);
    }
}

/// Known results of the signed-rank test.
pub fn known(sheet: &mut Sheet) {
    let null = Null::for_count(10);
    let critical = null.critical(0.05).map_or(f64::NAN, |w| w as f64);
    sheet.exact(
        "signed-rank at 5 %, l=10: rejected up to W".to_owned(),
        Target::Within(8.0, 0.0),
        critical,
    );
    let check = "signed-rank at 5 %, l=10: size".to_owned();
    sheet.exact(check, Target::Within(0.0488, 5e-5), null.size(0.05));
    let smallest = two_sided_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &Null::for_count(5));
    sheet.exact("signed-rank, l=5: smallest p".to_owned(), Target::Rounded(0.0625, 1e-4), smallest);
    for (share, width, expected) in [(0.0, 1.0, 0.955), (0.1, 3.0, 1.37), (0.1, 5.0, 2.41)] {
        let check = format!("efficiency of signed-rank to t, {:.0} % at {width} sd", 100.0 * share);
        sheet.exact(check, Target::Within(expected, 0.006), efficiency(share, width));
    }
    let covered = sheet.trials(40_000).rate(|random| {
        let differences = differences(10, 1.0, random);
        let [low, high] = interval(&differences, &null, 0.05)?;
        // The 9th of 55 at each end.
        debug_assert!(walsh_averages(&differences)[8] >= low);
        Some(low <= 1.0 && 1.0 <= high)
    });
    let check = "coverage of the Hodges-Lehmann interval, contaminated, l=10".to_owned();
    sheet.estimated(check, Target::Rounded(0.9512, 1e-4), covered);
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
