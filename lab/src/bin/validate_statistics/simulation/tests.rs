//! Simulated experiments have the requested truth.

#![expect(clippy::float_cmp, reason = "equal values are the same double")]

use rbench_stats::{Estimator, Moments, Summary};

use super::*;

const SHAPES: [Shape; 4] = [Shape::Normal, Shape::Skewed, Shape::Bimodal, Shape::Contaminated];
const SHAPE: SampleSizes =
    SampleSizes { first_analysis: None, builds: 4, executions: 3, measurements: 2 };

fn components(version: f64, build: f64, execution: f64) -> Levels<f64> {
    Levels { execution, build, version }
}

#[test]
fn shapes_have_mean_zero_and_variance_one() {
    for shape in SHAPES {
        let mut random = Random::new(1);
        let values: Vec<f64> = (0..40_000).map(|_| shape.draw(&mut random)).collect();
        let moments = Moments::compute(&values);
        // Standard errors: mean .005; variance at most sqrt(16/40000) = .02 (contaminated).
        assert!(moments.mean.abs() < 4.0 * 0.005, "{shape:?} {moments:?}");
        assert!((moments.variance().unwrap() - 1.0).abs() < 4.0 * 0.02, "{shape:?}");
    }
}

#[test]
fn dimensions_are_as_requested_and_a_seed_repeats_the_data() {
    let simulation = Simulation::new(components(1.0, 1.0, 1.0), SHAPE);
    let [base, head] = simulation.two(&mut Random::new(2)).unwrap();
    assert_eq!(base.builds().len(), 4);
    assert!(base.builds().all(|build| build.executions().len() == 3));
    assert!(head.builds().all(|build| build.executions().all(|values| values.len() == 2)));
    assert_eq!([base, head], simulation.two(&mut Random::new(2)).unwrap());
}

#[test]
fn only_levels_with_a_component_vary() {
    let values = |components| {
        Simulation::new(components, SHAPE).one(&mut Random::new(3)).unwrap().values().to_vec()
    };
    assert_eq!(values(components(0.0, 0.0, 0.0)), [1000.0; 24]);
    let layout = values(components(1.0, 0.0, 0.0));
    assert!(layout.chunks(6).all(|build| build.iter().all(|value| *value == build[0])));
    assert_ne!(layout[0], layout[6]);
    let start = values(components(0.0, 1.0, 0.0));
    assert_eq!(start[0], start[1]);
    assert_ne!(start[0], start[2]);
}

#[test]
fn correlated_builds_of_both_versions_differ_as_requested() {
    let many = SampleSizes { first_analysis: None, builds: 20_000, executions: 1, measurements: 1 };
    for shape in SHAPES {
        for correlation in [0.0, 0.5, 1.0] {
            let mut simulation = Simulation::new(components(1.0, 0.0, 0.0), many);
            (simulation.shape, simulation.correlation) = (shape, correlation);
            let [base, head] = simulation.two(&mut Random::new(4)).unwrap();
            let differences: Vec<f64> =
                base.values().iter().zip(head.values()).map(|(a, b)| b - a).collect();
            let variance = Moments::compute(&differences).variance().unwrap();
            // Var(d) = 2 (1 − ρ); its standard error is at most 2 sqrt(5/20000) = .032.
            assert!((variance - 2.0 * (1.0 - correlation)).abs() < 0.13, "{variance}");
        }
    }
}

#[test]
fn rounds_keep_seeds_together_and_the_other_order_versions() {
    let mut random = Random::new(5);
    let rounds = Order::Rounds.slots(2, SHAPE, &mut random);
    assert_eq!(rounds.len(), 24);
    assert!(rounds.chunks(2).all(|pair| pair[0].1 == pair[1].1 && pair[0].0 != pair[1].0));
    for round in rounds.chunks(8) {
        let mut seeds: Vec<usize> = round.iter().map(|slot| slot.1).collect();
        seeds.sort_unstable();
        assert_eq!(seeds, [0, 0, 1, 1, 2, 2, 3, 3]);
    }
    let apart = Order::BaseThenHead.slots(2, SHAPE, &mut random);
    assert!(apart.iter().map(|slot| slot.0).eq([0; 12].into_iter().chain([1; 12])));
}

#[test]
fn drift_follows_the_order_of_execution() {
    let mut random = Random::new(6);
    assert_eq!(Drift::Linear(4.0).offsets(5, &mut random), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(Drift::Linear(4.0).offsets(1, &mut random), [0.0]);
    let step = Drift::Step(2.0).offsets(50, &mut random);
    assert!(step.is_sorted() && step[49] == 2.0);
    let ends: Vec<f64> =
        (0..2000).map(|_| Drift::RandomWalk(3.0).offsets(20, &mut random)[19]).collect();
    // Variance 9, standard error 9 sqrt(2/2000) = .28.
    assert!((Moments::compute(&ends).variance().unwrap() - 9.0).abs() < 4.0 * 0.28);
}

#[test]
fn head_is_shifted_as_requested() {
    let mut simulation = Simulation::new(components(0.0, 0.0, 0.0), SHAPE);
    simulation.shift = 50.0;
    let [base, head] = simulation.two(&mut Random::new(7)).unwrap();
    assert_eq!(Summary::compute(&base, Estimator::Mean).values().mean, 1000.0);
    assert_eq!(Summary::compute(&head, Estimator::Mean).values().mean, 1050.0);
}

#[test]
fn effects_below_zero_are_rejected_rather_than_clamped() {
    let wide = Simulation::new(components(1e8, 0.0, 0.0), SHAPE);
    assert!(wide.one(&mut Random::new(8)).is_err());
}
