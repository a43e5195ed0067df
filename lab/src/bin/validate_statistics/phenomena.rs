//! Diagnoses of simulated benchmarks: steady ones get no warning, and the others the right one.

use cargo_rbench::model::Metric;
use rbench_stats::{
    Estimator, Interval, Levels, Measurements, Random,
    diagnosis::{Options, Warning, diagnose},
};

use super::sheet::{Sheet, Target};

const BUILDS: u64 = 8;
const EXECUTIONS: usize = 5;
const MEASUREMENTS: usize = 200;

/// The relative deviation of a measurement from its execution's value, given its index.
type More = fn(&mut Process, usize, &mut Random) -> f64;
/// The name of a simulated benchmark, the variation of its levels, and its phenomenon.
type Row = (&'static str, Levels<f64>, More);

/// A benchmark of 1,000 ns whose builds, executions and measurements vary by `levels` (standard
/// deviations, relative), plus the deviations of `more`.
struct Benchmark {
    levels: Levels<f64>,
    more: More,
}

/// The state that an execution carries from one measurement to the next.
struct Process {
    wandering: f64,
    slow: bool,
    leap: usize,
}

impl Process {
    fn start(random: &mut Random) -> Self {
        let leap = MEASUREMENTS / 4 + random.below(MEASUREMENTS / 2);
        Self { wandering: random.normal(), slow: random.chance(0.5), leap }
    }

    /// A process of variance 1 whose successive values have this correlation.
    fn wander(&mut self, correlation: f64, random: &mut Random) -> f64 {
        let fresh = (1.0 - correlation * correlation).sqrt() * random.normal();
        self.wandering = correlation * self.wandering + fresh;
        self.wandering
    }

    /// Slow or not, for ten measurements on average.
    fn is_slow(&mut self, random: &mut Random) -> bool {
        self.slow ^= random.chance(0.1);
        self.slow
    }
}

impl Benchmark {
    fn measure(&self, random: &mut Random) -> Option<Measurements> {
        let Levels { execution: noise, build: of_executions, version: of_builds } = self.levels;
        let mut builds = vec![];
        for seed in 0..BUILDS {
            let build = 1000.0 * (1.0 + of_builds * random.normal());
            let executions = (0..EXECUTIONS).map(|_| {
                let center = build * (1.0 + of_executions * random.normal());
                let mut process = Process::start(random);
                let mut measurement = |index| {
                    let more = (self.more)(&mut process, index, random);
                    center * (1.0 + more + noise * random.normal())
                };
                (0..MEASUREMENTS).map(&mut measurement).collect::<Vec<f64>>()
            });
            builds.push((seed, executions.collect::<Vec<_>>()));
        }
        Measurements::new(Metric::wall(), builds).ok()
    }
}

fn options() -> Options {
    // The claims do not include the error of the bootstrap itself.
    Options { repetitions: 100, estimator: Estimator::TrimmedMean, ..Options::default() }
}

fn warnings(data: &Measurements) -> Option<Vec<Warning>> {
    Some(diagnose(data, &options()).ok()?.warnings)
}

fn if_true(condition: bool, size: f64) -> f64 {
    if condition { size } else { 0.0 }
}

const QUIET: Levels<f64> = Levels { execution: 0.005, build: 0.001, version: 0.001 };
const SPREAD: Levels<f64> = Levels { execution: 0.005, build: 0.003, version: 0.003 };

pub fn steady(sheet: &mut Sheet) {
    let heavy: More = |_, _, random| {
        let scale = (0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0;
        0.005 * (random.normal() / scale.sqrt()).abs().min(40.0)
    };
    let rows: [Row; 8] = [
        ("normal", QUIET, |_, _, _| 0.0),
        ("builds and executions vary by .3 %", SPREAD, |_, _, _| 0.0),
        ("skewed", QUIET, |_, _, random| -0.01 * (1.0 - random.unit()).ln()),
        ("heavy tails", QUIET, heavy),
        ("one in 30 far out", QUIET, |_, _, random| if_true(random.chance(0.03), 0.5)),
        ("neighbours correlated by .9", QUIET, |process, _, random| {
            0.007 * process.wander(0.9, random)
        }),
        ("slow wandering", QUIET, |process, _, random| 0.003 * process.wander(0.97, random)),
        ("drift of a tenth of min-effect", QUIET, |_, index, _| {
            0.001 * index as f64 / MEASUREMENTS as f64
        }),
    ];
    for (name, levels, more) in rows {
        let benchmark = Benchmark { levels, more };
        let silent = sheet
            .few_trials(200)
            .rate(|random| Some(warnings(&benchmark.measure(random)?)?.is_empty()));
        let check = format!("diagnosis, steady, {name}: no warning");
        sheet.estimated(check, Target::AtLeast(0.95), silent);
    }
}

/// Unsteady benchmarks get the right warning.
pub fn named(sheet: &mut Sheet) {
    let warm_up: [Row; 2] = [
        ("5 % slower at first, over a tenth", QUIET, |_, index, _| {
            0.05 * (-(index as f64) / 20.0).exp()
        }),
        ("the first 3 of 200 slower by 30 %", QUIET, |_, index, _| if_true(index < 3, 0.3)),
    ];
    names(sheet, &warm_up, |warning| matches!(warning, Warning::WarmUp { .. }));
    let slow_down: Row =
        ("slows down by 2 %", QUIET, |_, index, _| 0.02 * index as f64 / MEASUREMENTS as f64);
    names(sheet, &[slow_down], |warning| matches!(warning, Warning::SlowDown { .. }));
    let leaps: [Row; 2] = [
        ("leaps by 3 %", QUIET, |process, index, _| if_true(index >= process.leap, 0.03)),
        ("leaps by 3 % and back", QUIET, |process, index, _| {
            if_true((process.leap..process.leap + 25).contains(&index), 0.03)
        }),
    ];
    names(sheet, &leaps, |warning| matches!(warning, Warning::LevelShifts { .. }));
    let simultaneous: [Row; 3] = [
        ("every second slower by 3 %", QUIET, |_, index, _| if_true(index % 2 == 0, 0.03)),
        ("three in ten slower by 5 %", QUIET, |_, _, random| if_true(random.chance(0.3), 0.05)),
        ("slower by 5 % for ten at a time", QUIET, |process, _, random| {
            if_true(process.is_slow(random), 0.05)
        }),
    ];
    names(sheet, &simultaneous, |warning| matches!(warning, Warning::SimultaneousStates { .. }));
    let nothing: More = |_, _, _| 0.0;
    let executions = ("executions vary by 2 %", Levels { build: 0.02, ..QUIET }, nothing);
    names(sheet, &[executions], |warning| matches!(warning, Warning::SeveralSteadyStates { .. }));
    let builds = ("builds vary by 3 %", Levels { version: 0.03, ..QUIET }, nothing);
    names(sheet, &[builds], |warning| matches!(warning, Warning::Influence { .. }));
}

fn names(sheet: &mut Sheet, rows: &[Row], is: fn(&Warning) -> bool) {
    for &(name, levels, more) in rows {
        let benchmark = Benchmark { levels, more };
        let found = sheet
            .few_trials(200)
            .rate(|random| Some(warnings(&benchmark.measure(random)?)?.iter().any(is)));
        let check = format!("diagnosis, {name}: named");
        sheet.estimated(check, Target::AtLeast(0.95), found);
    }
}

/// The generalized intervals of shares contain them about as often as their level promises.
pub fn shares(sheet: &mut Sheet) {
    let benchmark = Benchmark {
        levels: Levels { execution: 0.01, build: 0.01, version: 0.01 },
        more: |_, _, _| 0.0,
    };
    let covered = sheet.few_trials(600).means(|random| {
        let found = diagnose(&benchmark.measure(random)?, &options()).ok()?.variance.ok()?;
        let covers = |share: Option<Interval>| {
            share.map(|share| f64::from(share.low <= 1.0 / 3.0 && 1.0 / 3.0 <= share.high))
        };
        Some([covers(found.shares.executions)?, covers(found.shares.layouts)?])
    });
    for (level, covered) in ["executions", "builds"].into_iter().zip(covered) {
        let check = format!("coverage, 95 % interval of the share of {level}, V=B=E, l=8 m=5");
        sheet.estimated(check, Target::Between(0.93, 0.98), covered);
    }
}
