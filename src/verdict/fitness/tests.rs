//! Fitness of simulated rows with known properties.

use std::time::{Duration, SystemTime};

use rbench_stats::Random;

use super::*;
use crate::verdict::testing::benchmark;

/// The parameters from which rows are simulated.
#[derive(Clone, Copy)]
struct Simulation {
    /// The factor on every p value.
    p: f64,
    /// The approximate standard deviation of a pair of executions.
    noise: f64,
    /// The relative slowdown of the second execution of a pair.
    second: f64,
    /// The autocorrelation of consecutive pairs.
    memory: f64,
    reported: VerdictKind,
}

const FIT: Simulation =
    Simulation { p: 1.0, noise: 0.01, second: 0.0, memory: 0.0, reported: VerdictKind::Unchanged };

fn rows(simulation: Simulation, repetitions: usize) -> Vec<Observed> {
    let mut random = Random::new(7);
    let mut uniform = move || ((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mut all = Vec::new();
    let mut last = 0.0;
    for repetition in 0..repetitions {
        for id in ["a", "b", "c", "d", "e"] {
            let p = simulation.p * uniform();
            let pairs = (0..20_u64).map(|at| {
                let is_head_second = uniform() < 0.5;
                // A sum of uniform numbers is normal enough.
                let fresh = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                last = simulation.memory * last + fresh;
                let order = if is_head_second { simulation.second } else { -simulation.second };
                let place = (repetition * 1000 + all.len() * 20) as u64 + at;
                let started = SystemTime::UNIX_EPOCH + Duration::from_secs(place);
                Pair { started, is_head_second, log_ratio: simulation.noise * last + order }
            });
            let first = FirstStage {
                p,
                is_flagged: p < 0.05,
                deviation: simulation.noise,
                min_effect: 0.01,
                mode: Mode::Interleaved,
                pairs: pairs.collect(),
            };
            let (benchmark, reported) = (benchmark(id), simulation.reported);
            all.push(Observed { benchmark, repetition, reported, first: Some(first) });
        }
    }
    all
}

fn fitness(simulation: Simulation) -> Fitness {
    Fitness::evaluate(&rows(simulation, 20), 20, 0.05)
}

#[test]
fn fit_machine_has_no_findings() {
    let fitness = fitness(FIT);
    assert_eq!(fitness.findings, []);
    assert!(fitness.fit);
    assert_eq!((fitness.rows, fitness.interleaved, fitness.undecided), (100, 100, 0));
    assert_eq!(fitness.misleading(), Proportion { count: 0, of: 40 });
    assert_eq!(fitness.floors.len(), 5);
    assert!((fitness.floors[0].deviation - 0.01).abs() < 1e-12);
}

#[test]
fn too_many_small_p_values_are_unfit() {
    let fitness = fitness(Simulation { p: 0.3, ..FIT });
    assert_eq!(fitness.findings, [Finding::TooManyFlagged, Finding::SmallP]);
    assert!(!fitness.fit);
}

#[test]
fn too_many_false_reports_are_unfit() {
    let fitness = fitness(Simulation { reported: VerdictKind::Regressed, ..FIT });
    assert_eq!(fitness.regressed, 100);
    assert_eq!(fitness.misleading(), Proportion { count: 20, of: 40 });
    assert_eq!(fitness.findings, [Finding::TooManyReported, Finding::Noisy]);
}

#[test]
fn noisy_machine_is_still_fit() {
    let fitness = fitness(Simulation { reported: VerdictKind::Inconclusive, noise: 0.1, ..FIT });
    assert_eq!(fitness.findings, [Finding::Noisy]);
    assert!(fitness.fit);
    assert_eq!(fitness.sharp_with(20), 0);
}

#[test]
fn order_effect_and_autocorrelation_are_harmless() {
    let order = fitness(Simulation { second: 0.01, ..FIT });
    assert_eq!(order.findings, [Finding::Order]);
    assert!((order.order.unwrap().mean - 0.01).abs() < 0.002);
    let serial = fitness(Simulation { memory: 0.6, ..FIT });
    assert_eq!(serial.findings, [Finding::Autocorrelation]);
    assert!(order.fit && serial.fit);
}

#[test]
fn nothing_decided_is_unfit() {
    let mut rows = rows(FIT, 1);
    for row in &mut rows {
        row.first = None;
    }
    let fitness = Fitness::evaluate(&rows, 1, 0.05);
    assert_eq!(fitness.findings, [Finding::Nothing]);
    assert_eq!(fitness.undecided, 5);
    assert!(!fitness.fit);
}
