//! Changes of the shape of a distribution, which only a part of the measurements or only their
//! spread shows; and the rate of false regressions for several distributions of pairs of builds.
//!
//! Each build is executed once, interleaved with the same build of the other version, and takes 80
//! measurements with independent noise.

use rbench_stats::{Criteria, Estimator, Random, Scratch, Verdict, paired_ratio};

use super::{
    procedure::{Drawn, Procedure},
    replicate::Estimate,
    sheet::{Sheet, Target},
};

const MEASUREMENTS: usize = 80;

/// Benchmarks decided together.
const SUITE: usize = 20;

/// The distribution of the measurements of one version, in shares of 100.
#[derive(Clone, Copy)]
struct Shape {
    /// The center of the fast measurements.
    level: f64,
    /// The standard deviation of each measurement.
    noise: f64,
    /// The share of measurements that are slower by a fifth.
    slow: f64,
    /// The number of successive measurements that are fast or slow together.
    phase: usize,
}

const STEADY: Shape = Shape { level: 1.0, noise: 0.01, slow: 0.0, phase: 1 };

impl Shape {
    fn execution(self, random: &mut Random) -> Vec<f64> {
        let mut values = Vec::with_capacity(MEASUREMENTS);
        while values.len() < MEASUREMENTS {
            let is_slow = random.chance(self.slow);
            let level = if is_slow { self.level * 1.2 } else { self.level };
            for _ in 0..self.phase {
                values.push(level * (1.0 + self.noise * random.normal()).max(0.5));
            }
        }
        values
    }
}

/// One pair of builds, whose ratio deviates by `deviation` from that of their shapes.
fn pair(shapes: [Shape; 2], deviation: f64, random: &mut Random) -> Drawn {
    let [base, head] = shapes.map(|shape| shape.execution(random));
    let mut scratch = Scratch::default();
    let mut log = |values: &[f64]| Estimator::Mean.estimate(values, &mut scratch).ln();
    let shift = deviation * random.normal();
    let mean = Some(log(&head) - log(&base) + shift);
    Drawn { mean, ..Drawn::by(paired_ratio::log_ratio(&head, &base) + shift) }
}

/// The rates of the verdicts regressed, improved and unchanged for such versions, and the mean
/// number of builds.
fn verdicts(sheet: &mut Sheet, shapes: [Shape; 2], deviation: f64) -> [Estimate; 4] {
    let criteria = Criteria::default();
    sheet.few_trials(5_000).means(|random| {
        let draw = |random: &mut Random| pair(shapes, deviation, random);
        let decided = Procedure::usual(&criteria, SUITE).compare(draw, random)?;
        Some([
            f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
            f64::from(matches!(decided.verdict, Verdict::Improved { .. })),
            f64::from(matches!(decided.verdict, Verdict::Unchanged { .. })),
            decided.builds as f64,
        ])
    })
}

/// The same mean, and another spread: no change may be reported.
pub fn spread(sheet: &mut Sheet) {
    for [base, head] in [[1.0, 3.0], [3.0, 1.0], [2.0, 5.0], [5.0, 2.0], [1.0, 2.0]] {
        let shapes = [base, head].map(|percent| Shape { noise: percent / 100.0, ..STEADY });
        let [regressed, improved, ..] = verdicts(sheet, shapes, 0.001);
        let check = |what| format!("same mean, sd {base} -> {head} %: {what}");
        sheet.estimated(check("regressed"), Target::AtMost(0.01), regressed);
        sheet.estimated(check("improved"), Target::AtMost(0.01), improved);
    }
}

/// A fast path that is faster, and a slow one that is taken more often, so that the mean increases;
/// and the reverse.
pub fn slow_path(sheet: &mut Sheet) {
    for (slow, phase, least) in [(0.2, 1, 0.95), (0.3, 1, 0.98), (0.3, 10, 0.75)] {
        let head = Shape { level: 0.98, slow, phase, ..STEADY };
        for (order, shapes) in [("", [STEADY, head]), ("reverse of ", [head, STEADY])] {
            let [regressed, improved, ..] = verdicts(sheet, shapes, 0.001);
            let [wrong, right] =
                if order.is_empty() { [improved, regressed] } else { [regressed, improved] };
            let check = |verdict| {
                format!("{order}fast path -2 %, {slow} at +20 % in phases of {phase}: {verdict}")
            };
            sheet.estimated(check("against the mean"), Target::AtMost(0.01), wrong);
            sheet.estimated(check("with the mean"), Target::AtLeast(least), right);
        }
    }
}

/// Measurements that become slower by a fifth, each by chance or in phases: the mean increases by a
/// fifth of their share.
pub fn slower_share(sheet: &mut Sheet) {
    for (slow, phase, least, builds) in [
        (0.05, 1, 0.15, 12.0),
        (0.1, 1, 0.98, 15.0),
        (0.2, 1, 0.98, 12.0),
        (0.3, 1, 0.98, 12.0),
        (0.1, 10, 0.6, 40.0),
        (0.2, 10, 0.9, 30.0),
        (0.3, 10, 0.9, 22.0),
    ] {
        let shapes = [STEADY, Shape { slow, phase, ..STEADY }];
        let [regressed, improved, _, taken] = verdicts(sheet, shapes, 0.001);
        let check = |what| format!("{slow} of measurements +20 % in phases of {phase}: {what}");
        sheet.estimated(check("regressed"), Target::AtLeast(least), regressed);
        sheet.estimated(check("improved"), Target::AtMost(0.001), improved);
        sheet.estimated(check("builds"), Target::AtMost(builds), taken);
    }
}

/// Every measurement changes by the same factor: the verdicts that are lost because the mean must
/// agree with the fastest.
pub fn factor(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    for percent in [0.0, 2.0, 3.0] {
        for (deviation, most) in
            [(0.002, 0.01), (0.005, 0.01), (0.01, if percent > 0.0 { 0.01 } else { 0.04 })]
        {
            let shapes = [STEADY, Shape { level: 1.0 + percent / 100.0, ..STEADY }];
            let [regressed, _, unchanged, _] = verdicts(sheet, shapes, deviation);
            let alone = sheet.few_trials(5_000).rate(|random| {
                let draw =
                    |random: &mut Random| Drawn { mean: None, ..pair(shapes, deviation, random) };
                let decided = Procedure::usual(&criteria, SUITE).compare(draw, random)?;
                Some(if percent > 0.0 {
                    matches!(decided.verdict, Verdict::Regressed { .. })
                } else {
                    matches!(decided.verdict, Verdict::Unchanged { .. })
                })
            });
            let (what, decided) =
                if percent > 0.0 { ("regressed", regressed) } else { ("unchanged", unchanged) };
            let lost = Estimate {
                mean: alone.mean - decided.mean,
                error: alone.error.hypot(decided.error),
            };
            let check = format!(
                "{percent} % for all, builds deviate by {deviation}: {what}, lost by the mean"
            );
            sheet.estimated(check, Target::AtMost(most), lost);
        }
    }
}

/// Draws the difference of a pair of builds.
type Distribution = dyn Fn(&mut Random) -> f64 + Sync;

/// No change, and no smallest change of interest: P(any false regression) in a suite, by the
/// distribution of a pair of builds; the mean has the same one and is independent, the worst case.
/// Only `±a`, where one process of a pair is slow as a whole, is the same by both estimates.
pub fn false_regressions(sheet: &mut Sheet) {
    let criteria = Criteria { min_effect: 0.0, ..Criteria::default() };
    let t3 = |random: &mut Random| {
        let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
        random.normal() / (squares / 3.0).sqrt()
    };
    let laplace = |random: &mut Random| {
        let sign = if random.chance(0.5) { -1.0 } else { 1.0 };
        -sign * random.unit().max(f64::MIN_POSITIVE).ln()
    };
    let contaminated = |random: &mut Random| {
        let factor = if random.chance(0.1) { 5.0 } else { 1.0 };
        factor * random.normal()
    };
    let two_values = |random: &mut Random| {
        let sign = if random.chance(0.5) { -1.0 } else { 1.0 };
        sign + 0.05 * random.normal()
    };
    let kinds: [(&str, &Distribution); 5] = [
        ("normal", &|random: &mut Random| random.normal()),
        ("t with 3 degrees", &t3),
        ("Laplace", &laplace),
        ("a tenth at 5 sd", &contaminated),
        ("+-a", &two_values),
    ];
    for (kind, draw) in kinds {
        for suite in [1_u16, 10, 100, 1000] {
            // The event is rare for each benchmark: enough trials that its rate in the whole suite
            // is known.
            let trials = if suite < 100 { 100_000 } else { 400_000 };
            let rate = sheet.trials(trials).rate(|random| {
                let pair = |random: &mut Random| {
                    let own = 0.01 * draw(random);
                    let is_shared = kind == "+-a";
                    let mean = Some(if is_shared { own } else { 0.01 * draw(random) });
                    Drawn { mean, ..Drawn::by(own) }
                };
                let decided = Procedure::usual(&criteria, suite.into()).compare(pair, random)?;
                Some(matches!(decided.verdict, Verdict::Regressed { .. }))
            });
            let any = |rate: f64| 1.0 - (1.0 - rate).powi(suite.into());
            let slope = f64::from(suite) * (1.0 - rate.mean).powi(i32::from(suite) - 1);
            let estimate = Estimate { mean: any(rate.mean), error: slope * rate.error };
            // Two values are the worst case for a t test.
            let most = if kind == "+-a" && suite > 100 { 0.15 } else { 0.05 };
            let check = format!("no change, {kind}, {suite} benchmarks: P(any regressed)");
            sheet.estimated(check, Target::AtMost(most), estimate);
        }
    }
}
