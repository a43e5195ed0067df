//! Simulated experiments with known truth: three-level data of one or two versions, builds of
//! several shapes, a machine that drifts, and two orders of execution.

use cargo_rbench::model::{Metric, SampleSizes};
use rbench_stats::{InvalidMeasurement, Levels, Measurements, Random};

/// The distribution of the true values of builds about that of their version. Every shape is scaled
/// to mean 0 and variance 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Normal.
    Normal,
    /// Exponential: skewness 2, a tail of slow builds.
    Skewed,
    /// One build in five lies in a slow mode: `2.5·Bernoulli(.2) + .1·normal`.
    Bimodal,
    /// One build in ten comes from a normal distribution five times as wide.
    Contaminated,
}

impl Shape {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => random.normal(),
            Self::Skewed => -f64::ln_1p(-random.unit()) - 1.0,
            Self::Bimodal => {
                let mode = if random.chance(0.2) { 2.5 } else { 0.0 };
                let deviation = mode + 0.1 * random.normal() - 2.5 * 0.2;
                deviation / f64::sqrt(2.5 * 2.5 * 0.2 * 0.8 + 0.1 * 0.1)
            }
            Self::Contaminated => {
                let width = if random.chance(0.1) { 5.0 } else { 1.0 };
                width * random.normal() / f64::sqrt(0.9 + 0.1 * 25.0)
            }
        }
    }
}

/// The change of the machine's speed during an experiment; sizes in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drift {
    /// No drift.
    None,
    /// Each execution adds an independent normal step; the last is off by this standard deviation.
    RandomWalk(f64),
    /// Steadily, by this much from the first execution to the last.
    Linear(f64),
    /// Once, by this much, before an execution that each simulation chooses anew.
    Step(f64),
}

impl Drift {
    /// The drift of each of `count` executions, in the order in which they run.
    fn offsets(self, count: usize, random: &mut Random) -> Vec<f64> {
        let steps = count as f64;
        match self {
            Self::None => vec![0.0; count],
            Self::RandomWalk(size) => {
                let mut at = 0.0;
                let walk = std::iter::repeat_with(|| {
                    at += size / steps.sqrt() * random.normal();
                    at
                });
                walk.take(count).collect()
            }
            Self::Linear(size) => {
                (0..count).map(|i| size * i as f64 / (steps - 1.0).max(1.0)).collect()
            }
            Self::Step(size) => {
                let first = random.below(count);
                (0..count).map(|i| if i < first { 0.0 } else { size }).collect()
            }
        }
    }
}

/// The order in which the executions of two versions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each round passes all seeds in random order; for each, the builds of both versions run one
    /// after the other, in random order.
    Rounds,
    /// All of the base, then all of the head; each in rounds over the seeds.
    BaseThenHead,
}

/// One execution: of a version (0 or 1) and one of its builds.
type Slot = (usize, usize);

impl Order {
    /// The executions in the order in which they run.
    fn slots(self, versions: usize, dimensions: SampleSizes, random: &mut Random) -> Vec<Slot> {
        let mut seeds: Vec<usize> = (0..dimensions.builds).collect();
        let mut both: Vec<usize> = (0..versions).collect();
        let mut slots = Vec::with_capacity(versions * seeds.len() * dimensions.executions);
        match self {
            Self::Rounds => {
                for _ in 0..dimensions.executions {
                    random.shuffle(&mut seeds);
                    for &seed in &seeds {
                        random.shuffle(&mut both);
                        slots.extend(both.iter().map(|&version| (version, seed)));
                    }
                }
            }
            Self::BaseThenHead => {
                for version in 0..versions {
                    for _ in 0..dimensions.executions {
                        random.shuffle(&mut seeds);
                        slots.extend(seeds.iter().map(|&seed| (version, seed)));
                    }
                }
            }
        }
        slots
    }
}

/// A truth to draw experiments from.
///
/// Measurement `i` of execution `j` of build `k` is
/// `mean + build effect + execution effect + drift + error`: the additive model of Kalibera et al. 2005 and 2006.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// The true value of the base, in the metric's unit. Effects should be far smaller, or a
    /// measurement might fall below 0 and be rejected.
    pub mean: f64,
    /// The head's true value is `mean + shift`.
    pub shift: f64,
    /// The true variance components, in the squared unit.
    pub components: Levels<f64>,
    /// The distribution of builds; executions and measurements are normal.
    pub shape: Shape,
    /// The correlation of a layout's effects on both versions, from 0 to 1; it is high with layouts
    /// of the same addresses or order. Both versions' effects share a part of the wanted shape.
    pub correlation: f64,
    pub drift: Drift,
    pub order: Order,
    /// Builds, executions, measurements.
    pub dimensions: SampleSizes,
}

type Executions = Vec<Vec<f64>>;

impl Simulation {
    /// Normal builds of mean 1000, no change, no correlation, no drift, in rounds.
    pub fn new(components: Levels<f64>, dimensions: SampleSizes) -> Self {
        Self {
            mean: 1000.0,
            shift: 0.0,
            components,
            shape: Shape::Normal,
            correlation: 0.0,
            drift: Drift::None,
            order: Order::Rounds,
            dimensions,
        }
    }

    /// An experiment on one version, with the seeds 0, 1, …
    pub fn one(&self, random: &mut Random) -> Result<Measurements, InvalidMeasurement> {
        let [base] = self.experiment(random);
        measurements(base)
    }

    /// An experiment on two versions, base and head, both with the seeds 0, 1, …
    pub fn two(&self, random: &mut Random) -> Result<[Measurements; 2], InvalidMeasurement> {
        let [base, head] = self.experiment(random);
        Ok([measurements(base)?, measurements(head)?])
    }

    fn experiment<const VERSIONS: usize>(
        &self,
        random: &mut Random,
    ) -> [Vec<Executions>; VERSIONS] {
        let builds = self.build_values::<VERSIONS>(random);
        let slots = self.order.slots(VERSIONS, self.dimensions, random);
        let offsets = self.drift.offsets(slots.len(), random);
        let mut data = builds.each_ref().map(|values| vec![Executions::new(); values.len()]);
        for ((version, build), offset) in slots.into_iter().zip(offsets) {
            let value = builds[version][build] + offset;
            data[version][build].push(self.execution(value, random));
        }
        data
    }

    fn build_values<const VERSIONS: usize>(&self, random: &mut Random) -> [Vec<f64>; VERSIONS] {
        let sd = self.components.version.sqrt();
        let (common, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        let mut values = std::array::from_fn(|_| Vec::with_capacity(self.dimensions.builds));
        for _ in 0..self.dimensions.builds {
            // Only effects that count are drawn, so that draws without correlation keep the exact
            // shape.
            let layout = if common > 0.0 { common * self.shape.draw(random) } else { 0.0 };
            for (version, values) in values.iter_mut().enumerate() {
                let rest = if own > 0.0 { own * self.shape.draw(random) } else { 0.0 };
                let mean = self.mean + self.shift * version as f64;
                values.push(mean + sd * (layout + rest));
            }
        }
        values
    }

    fn execution(&self, build: f64, random: &mut Random) -> Vec<f64> {
        let Levels { execution, build: spread, .. } = self.components;
        let value = if spread > 0.0 { build + spread.sqrt() * random.normal() } else { build };
        let sd = execution.sqrt();
        let error = |random: &mut Random| if sd > 0.0 { sd * random.normal() } else { 0.0 };
        (0..self.dimensions.measurements).map(|_| value + error(random)).collect()
    }
}

fn measurements(builds: Vec<Executions>) -> Result<Measurements, InvalidMeasurement> {
    Measurements::new(Metric::wall(), (0..).zip(builds))
}

#[cfg(test)]
mod tests;
