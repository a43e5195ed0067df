//! Counts that depend on the random state: how often they are called regressed although they did
//! not change.

use cargo_rbench::model::Metric;
use rbench_stats::{
    Criteria, Estimator, Measurements, Random, Summary, Verdict, counts_needed, decide_counts,
    varies,
};

use super::sheet::{Sheet, Target};

/// The smallest change of interest.
const LIMIT: f64 = 0.005;

/// The number of layouts and states in which a benchmark is counted if it differs between versions.
const FIRST: usize = 3;

#[derive(Clone, Copy)]
enum By {
    /// Ranges of three counts, of which two are in the same state.
    ThreeOfTwoStates,
    /// The rule in use, for this number of verdicts in the comparison.
    Judged(usize),
}

/// The counts of one version in all states that may be needed.
fn counts(deviation: f64, states: usize, random: &mut Random) -> Vec<f64> {
    (0..states).map(|_| 1e6 * (1.0 + deviation * random.normal())).collect()
}

fn summary(counts: &[f64]) -> Option<Summary> {
    let builds: Vec<_> = (1..).zip(counts).map(|(seed, count)| (seed, [[*count]])).collect();
    let data = Measurements::new(Metric::instructions(), builds).ok()?;
    Some(Summary::compute(&data, Estimator::Mean))
}

/// True if a benchmark is called regressed whose states are drawn anew for the head, as after
/// another order of a hash map.
fn regressed(by: By, deviation: f64, random: &mut Random) -> Option<bool> {
    let states = match by {
        By::ThreeOfTwoStates => 2,
        By::Judged(verdicts) => counts_needed(verdicts),
    };
    let [base, head] = [0, 1].map(|_| counts(deviation, states, random));
    // If the first layout shows no difference, no other is counted.
    if (head[0] / base[0] - 1.0).abs() < LIMIT / 2.0 {
        return Some(false);
    }
    let By::Judged(_) = by else {
        let means = [&base, &head].map(|one| (2.0 * one[0] + one[1]) / 3.0);
        let is_apart = base[0].max(base[1]) < head[0].min(head[1]);
        return Some(is_apart && means[1] / means[0] - 1.0 >= LIMIT);
    };
    let criteria = Criteria { min_effect: LIMIT, ..Criteria::default() };
    let three = [summary(&base[..FIRST])?, summary(&head[..FIRST])?];
    let [base, head] = if three.iter().any(|version| varies(version, LIMIT)) {
        [summary(&base)?, summary(&head)?]
    } else {
        three
    };
    let (_, verdict) = decide_counts(&base, &head, &criteria)?;
    Some(matches!(verdict, Verdict::Regressed { .. }))
}

/// No change, by the standard deviation of the counts over states: false regressions of a benchmark
/// by ranges of three, and by the rule in use, alone and among a hundred.
pub fn false_regressions(sheet: &mut Sheet) {
    for percent in [0.2, 0.5, 1.0] {
        let deviation = percent / 100.0;
        for (by, what, most) in [
            (By::ThreeOfTwoStates, "three counts of two states", 1.0),
            (By::Judged(1), "as counted", 0.002),
            (By::Judged(100), "as counted among 100", 0.0005),
        ] {
            let rate = sheet.trials(100_000).rate(|random| regressed(by, deviation, random));
            let check = format!("counts with sd {percent} % over states, {what}: regressed");
            sheet.estimated(check, Target::AtMost(most), rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sheet::{Precision, Row},
        *,
    };

    #[test]
    fn varying_counts_are_rarely_called_regressed() {
        let mut sheet = Sheet::new(Precision::Short);
        false_regressions(&mut sheet);
        assert_eq!(sheet.rows.len(), 9);
        assert!(sheet.rows.iter().all(|row| row.ok), "{:?}", sheet.rows);
        let of = |row: &Row| row.obtained;
        assert!(of(&sheet.rows[6]) > 20.0 * of(&sheet.rows[7]), "{:?}", sheet.rows);
    }
}
