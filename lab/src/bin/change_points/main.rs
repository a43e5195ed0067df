//! The tables of docs/research/false-alarms.md, "The change points themselves" and "A history that is read every night", and
//! of `crates/rbench-stats/src/changes/calibration.rs`: the prices of the calibration, how often changes of known size are
//! found, the gain from ties between sessions and from machines of one class, the time, and the effect of nightly
//! analyses on the rate of false suspicions.
//!
//! `cargo run --release -p lab --bin change_points` prints all of it in about a quarter of an hour
//! of processor time; one word, `prices`, `found`, `ties`, `classes`, `time` or `nights`, selects a part.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::time::Instant;

mod nights;

use rayon::prelude::*;
use rbench_stats::{
    Random,
    changes::{ChangePoint, LARGEST_P, Noise, Observation, Series},
    segmentation::Sums,
};

/// The standard deviation of a value; relative, as all effects here.
const DEVIATION: f64 = 0.01;

const VERSIONS: [usize; 19] =
    [5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40, 60, 100, 200, 500, 1_000, 3_000, 10_000];

/// Replications that share one stream of random numbers.
const CHUNK: usize = 100;

fn main() {
    let part = std::env::args().nth(1);
    let is_wanted = |name: &str| part.as_ref().is_none_or(|part| part == name);
    if is_wanted("prices") {
        prices();
    }
    if is_wanted("found") {
        found();
    }
    if is_wanted("ties") {
        ties();
    }
    if is_wanted("classes") {
        classes();
    }
    if is_wanted("time") {
        time();
    }
    if is_wanted("nights") {
        nights::nights();
    }
}

/// A series of these values, in standard deviations.
fn series(values: &[f64], noise: Noise) -> Option<Series> {
    let one = |(place, value): (usize, &f64)| {
        let log = DEVIATION * value;
        match noise {
            Noise::Known => {
                Observation { place, log, variance: DEVIATION * DEVIATION, session: 0, machine: 0 }
            }
            Noise::Estimated => {
                Observation { place, log, variance: 0.0, session: place, machine: 0 }
            }
        }
    };
    Series::new(&values.iter().enumerate().map(one).collect::<Vec<_>>(), None)
}

fn normal(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| random.normal()).collect()
}

/// The results of `count` replications, in any order.
fn replicate<T: Send>(
    count: usize,
    seed: u64,
    one: impl Fn(&mut Random) -> Option<T> + Sync,
) -> Vec<T> {
    let chunk = |index: usize| {
        let mut random = Random::stream(seed, index as u64);
        (0..CHUNK).filter_map(|_| one(&mut random)).collect::<Vec<_>>()
    };
    (0..count.div_ceil(CHUNK)).into_par_iter().flat_map_iter(chunk).collect()
}

/// Prints the rows of the tables in `crates/rbench-stats/src/changes/calibration.rs`.
fn prices() {
    println!("highest price that 5, 1, .1 and .01 % of series without a change exceed");
    for noise in [Noise::Known, Noise::Estimated] {
        for versions in VERSIONS {
            let count = (450_000_000 / (20 * versions + 200)).clamp(3_000, 1_000_000);
            // If a change costs next to nothing, every series has one.
            let least = if versions < 8 { 2.0 } else { 4.0 };
            let mut highest = replicate(count, versions as u64, |random| {
                let series = series(&normal(versions, random), noise)?;
                Some(series.highest_price(least).unwrap_or(0.0))
            });
            highest.sort_by(|one, other| other.total_cmp(one));
            let exceeded = |per: usize| highest[highest.len() / per];
            let [a, b, c, d] = [20, 100, 1_000, 10_000].map(exceeded);
            println!(
                "({versions}, [{a:.2}, {b:.2}, {c:.2}, {d:.2}]), // {noise:?}, {count} series"
            );
        }
    }
}

/// Prints how often changes are found within three versions, compared with plain optimal
/// partitioning with known variance and a penalty of 3 ln T.
fn found() {
    const VERSIONS: usize = 100;
    const COUNT: usize = 10_000;
    println!(
        "\n{VERSIONS} versions; found within 3 versions, at 5 % and at 1 %; plain: 3 ln T, variance known"
    );
    println!("change            noise      at 5 %   at 1 %   plain   size covered   place covered");
    let plain = 3.0 * (VERSIONS as f64).ln();
    for (size, after) in [(0.0, 0), (2.0, 10), (2.0, 5), (3.0, 2), (1.0, 30)] {
        for noise in [Noise::Known, Noise::Estimated] {
            let from = VERSIONS - after;
            let is_near = |at: usize| after == 0 || at.abs_diff(from) <= 3;
            let outcomes = replicate(COUNT, 77, |random| {
                let mut values = normal(VERSIONS, random);
                values[from..].iter_mut().for_each(|value| *value += size);
                let series = series(&values, noise)?;
                let at = |level: f64| -> Option<ChangePoint> {
                    series.changes(level).into_iter().find(|change| is_near(change.at[1]))
                };
                let sums = Sums::new(&values, &vec![1.0; VERSIONS]);
                let in_plain = sums.divide(plain, 2).into_iter().any(is_near);
                let (loose, strict) = (at(LARGEST_P), at(0.01));
                let covers = |change: &ChangePoint| {
                    let size = DEVIATION * size;
                    let place = change.earliest[1]..=change.latest[1];
                    [change.low <= size && size <= change.high, place.contains(&from)]
                };
                let [size, place] = loose.as_ref().map_or([false; 2], covers);
                Some([loose.is_some(), strict.is_some(), in_plain, size, place])
            });
            let share = |index: usize| {
                let count = outcomes.iter().filter(|outcome| outcome[index]).count();
                count as f64 / outcomes.len() as f64
            };
            let of_found = |index: usize| share(index) / share(0);
            println!(
                "{size} sd, {after:>2} after    {:<9}  {:.4}   {:.4}   {:.4}   {:.3}          {:.3}",
                format!("{noise:?}"),
                share(0),
                share(1),
                share(2),
                of_found(3),
                of_found(4)
            );
        }
    }
}

/// The way in which the versions of a history were measured.
#[derive(Clone, Copy, Debug)]
enum Design {
    /// Each version in a separate experiment.
    Alone,
    /// Each with the previous one: all but the ends twice.
    Pairs,
    /// Five in each experiment.
    Groups,
    /// Five in each experiment, and the first version of all again in each.
    Anchored,
}

impl Design {
    /// The versions of session `number`, of `count` versions in all.
    fn versions(self, session: usize, count: usize) -> Vec<usize> {
        match self {
            Self::Alone => vec![session],
            Self::Pairs => vec![session, session + 1],
            Self::Groups => (5 * session..5 * session + 5).collect(),
            Self::Anchored if session == 0 => (0..5).collect(),
            Self::Anchored => [0].into_iter().chain(5 * session..5 * session + 5).collect(),
        }
        .into_iter()
        .filter(|version| *version < count)
        .collect()
    }
}

/// Sessions shift by five times the standard error of a value.
fn ties() {
    const VERSIONS: usize = 30;
    const COUNT: usize = 2_000;
    println!("\n{VERSIONS} versions, half of them slower; sd of a value 1, of sessions 5");
    println!("design     flagged without a change   found within 1 version: change of 4   of 8");
    for design in [Design::Alone, Design::Pairs, Design::Groups, Design::Anchored] {
        let share = |step: f64| {
            let outcomes = replicate(COUNT, 78, |random| {
                let mut observations = Vec::new();
                for session in 0..VERSIONS {
                    let shift = 5.0 * random.normal();
                    for place in design.versions(session, VERSIONS) {
                        let level = if place >= 17 { step } else { 0.0 };
                        let log = DEVIATION * (level + shift + random.normal());
                        let variance = DEVIATION * DEVIATION;
                        observations.push(Observation {
                            place,
                            log,
                            variance,
                            session,
                            machine: 0,
                        });
                    }
                }
                let changes = Series::new(&observations, None)?.changes(LARGEST_P);
                Some(changes.iter().any(|change| step == 0.0 || change.at[1].abs_diff(17) <= 1))
            });
            outcomes.iter().filter(|found| **found).count() as f64 / outcomes.len() as f64
        };
        let [none, small, large] = [0.0, 4.0, 8.0].map(share);
        println!(
            "{:<9}  {none:.3}                      {small:.3}                                 {large:.3}",
            format!("{design:?}")
        );
    }
}

/// Each version is compared with the one before it, on one of several machines that differ: the history of the machine
/// that measured the newest version, and that of all.
fn classes() {
    const VERSIONS: usize = 60;
    const CHANGED: usize = 35;
    const COUNT: usize = 2_000;
    println!(
        "\n{VERSIONS} versions, each compared with the one before; sd of a value 1, of sessions 2"
    );
    println!(
        "                                     flagged without  found within 1 version:     the only one:\n\
         machines  the same again  they differ        a change  change of 3       of 6         of 100"
    );
    for (machines, again) in [(1, 0.0), (3, 0.0), (5, 0.0), (5, 0.8)] {
        for (differ, together) in [(0.0, false), (0.0, true), (20.0, false), (20.0, true)] {
            let share = |step: f64| {
                let outcomes = replicate(COUNT, 80, |random| {
                    let shifts: Vec<f64> =
                        (0..machines).map(|_| differ * random.normal()).collect();
                    let mut machine = random.below(machines);
                    let mut measured = Vec::new();
                    for session in 1..VERSIONS {
                        if !random.chance(again) {
                            machine = random.below(machines);
                        }
                        let shift = shifts[machine] + 2.0 * random.normal();
                        for place in [session - 1, session] {
                            let level = if place >= CHANGED { step } else { 0.0 };
                            let log = DEVIATION * (level + shift + random.normal());
                            let variance = DEVIATION * DEVIATION;
                            measured.push(Observation { place, log, variance, session, machine });
                        }
                    }
                    measured.retain(|one| together || one.machine == machine);
                    let series = Series::new(&measured, None);
                    let found = series.map(|series| series.changes(LARGEST_P)).unwrap_or_default();
                    let is_near = |one: &ChangePoint| one.at[1].abs_diff(CHANGED) <= 1;
                    let near = found.iter().any(|one| step == 0.0 || is_near(one));
                    Some([near, near && found.len() == 1])
                });
                let share = |index: usize| outcomes.iter().filter(|all| all[index]).count() as f64;
                [0, 1].map(|index| share(index) / outcomes.len() as f64)
            };
            let [[none, _], [small, _], [large, _], [_, alone]] = [0.0, 3.0, 6.0, 100.0].map(share);
            let shown = if together { "all" } else { "newest" };
            println!(
                "{machines} {shown:<7}  {again:<14}  by {differ:<4}            {none:.3}         {small:.3}        {large:.3}            {alone:.3}"
            );
        }
    }
}

/// A hundred benchmarks over ten thousand commits; every second one has a small change.
fn time() {
    let all: Vec<Vec<f64>> = (0..100)
        .map(|index| {
            let mut values = normal(10_000, &mut Random::stream(79, index));
            if index % 2 == 0 {
                values[5_000..].iter_mut().for_each(|value| *value += 0.3);
            }
            values
        })
        .collect();
    for noise in [Noise::Known, Noise::Estimated] {
        let started = Instant::now();
        let flagged = all
            .par_iter()
            .filter_map(|values| series(values, noise))
            .filter(|series| series.p() <= LARGEST_P && !series.changes(LARGEST_P).is_empty())
            .count();
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "\n100 benchmarks × 10,000 versions, {noise:?}: {flagged} flagged in {seconds:.2} s on {} threads",
            rayon::current_num_threads()
        );
    }
}
