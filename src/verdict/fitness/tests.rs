//! What is concluded from rows of which it is known how they came about.

use std::time::{Duration, SystemTime};

use super::*;
use crate::{stats::Random, verdict::testing::benchmark};

/// How the rows of a test come about.
#[derive(Clone, Copy)]
struct Made {
    /// What every p value is multiplied by.
    p: f64,
    /// The standard deviation of a pair of executions, about.
    noise: f64,
    /// How much longer the second of a pair takes.
    second: f64,
    /// How much of a pair is that of the one before.
    memory: f64,
    reported: Reported,
}

const FIT: Made =
    Made { p: 1.0, noise: 0.01, second: 0.0, memory: 0.0, reported: Reported::Unchanged };

fn rows(made: Made, repetitions: usize) -> Vec<Observed> {
    let mut random = Random::new(7);
    let mut uniform = move || ((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mut all = Vec::new();
    let mut last = 0.0;
    for repetition in 0..repetitions {
        for id in ["a", "b", "c", "d", "e"] {
            let p = made.p * uniform();
            let pairs = (0..20_u64).map(|at| {
                let is_head_second = uniform() < 0.5;
                // A sum of uniform numbers is normal enough.
                let fresh = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                last = made.memory * last + fresh;
                let order = if is_head_second { made.second } else { -made.second };
                let place = (repetition * 1000 + all.len() * 20) as u64 + at;
                let begun = SystemTime::UNIX_EPOCH + Duration::from_secs(place);
                Pair { started: begun, is_head_second, log_ratio: made.noise * last + order }
            });
            let first = FirstStage {
                p,
                is_flagged: p < 0.05,
                deviation: made.noise,
                min_effect: 0.01,
                mode: Mode::Interleaved,
                pairs: pairs.collect(),
            };
            let (benchmark, reported) = (benchmark(id), made.reported);
            all.push(Observed { benchmark, repetition, reported, first: Some(first) });
        }
    }
    all
}

fn fitness(made: Made) -> Fitness {
    Fitness::evaluate(&rows(made, 20), 20, 0.05)
}

#[test]
fn a_machine_that_keeps_what_is_promised_is_fit() {
    let fitness = fitness(FIT);
    assert_eq!(fitness.findings(), []);
    assert!(fitness.is_fit());
    assert_eq!((fitness.rows, fitness.interleaved, fitness.unjudged), (100, 100, 0));
    assert_eq!(fitness.misleading(), Proportion { count: 0, of: 40 });
    assert_eq!(fitness.floors.len(), 5);
    assert!((fitness.floors[0].deviation - 0.01).abs() < 1e-12);
}

#[test]
fn more_small_p_values_than_there_should_be_make_a_machine_unfit() {
    let fitness = fitness(Made { p: 0.3, ..FIT });
    assert_eq!(fitness.findings(), [Finding::TooManyFlagged, Finding::SmallP]);
    assert!(!fitness.is_fit());
}

#[test]
fn reports_of_changes_in_many_comparisons_make_a_machine_unfit() {
    let fitness = fitness(Made { reported: Reported::Regressed, ..FIT });
    assert_eq!(fitness.regressed, 100);
    assert_eq!(fitness.misleading(), Proportion { count: 20, of: 40 });
    assert_eq!(fitness.findings(), [Finding::TooManyReported, Finding::Noisy]);
}

#[test]
fn a_machine_that_shows_little_is_noisy_and_yet_honest() {
    let fitness = fitness(Made { reported: Reported::Neither, noise: 0.1, ..FIT });
    assert_eq!(fitness.findings(), [Finding::Noisy]);
    assert!(fitness.is_fit());
    assert_eq!(fitness.sharp_with(20), 0);
}

#[test]
fn the_order_and_what_neighbours_share_are_told_and_do_no_harm() {
    let order = fitness(Made { second: 0.01, ..FIT });
    assert_eq!(order.findings(), [Finding::Order]);
    assert!((order.order.unwrap().mean - 0.01).abs() < 0.002);
    let serial = fitness(Made { memory: 0.6, ..FIT });
    assert_eq!(serial.findings(), [Finding::Autocorrelation]);
    assert!(order.is_fit() && serial.is_fit());
}

#[test]
fn where_nothing_was_judged_nothing_is_known() {
    let mut rows = rows(FIT, 1);
    for row in &mut rows {
        row.first = None;
    }
    let fitness = Fitness::evaluate(&rows, 1, 0.05);
    assert_eq!(fitness.findings(), [Finding::Nothing]);
    assert_eq!(fitness.unjudged, 5);
    assert!(!fitness.is_fit());
}
