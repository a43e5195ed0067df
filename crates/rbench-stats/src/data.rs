//! The measurements of one benchmark of one version, in one metric: builds × executions × measurements, in any numbers.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    ops::Range,
};

use crate::Metric;

/// Measurements outside this range are refused: no unit needs them, and squares inside it neither overflow nor vanish.
const ACCEPTED: Range<f64> = 1e-100..1e100;

/// Builds × executions × measurements of one benchmark of one version.
///
/// All values lie in one slice, so that millions of them are read at memory bandwidth. An execution without
/// measurements (it failed) is absent, and so is a build without executions. A verdict needs two builds or more.
///
/// ```
/// use rbench_stats::{Measurements, Metric};
///
/// let builds = [(7, vec![vec![1.0, 2.0], vec![3.0]]), (8, vec![]), (9, vec![vec![4.0]])];
/// let measurements = Measurements::new(Metric::wall(), builds)?;
/// assert_eq!(measurements.values(), [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(measurements.builds().len(), 2);
/// # Ok::<(), rbench_stats::InvalidMeasurement>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    metric: Metric,
    resolution: f64,
    values: Vec<f64>,
    executions: Vec<ExecutionRange>,
    /// Seed and executions (as a range of `executions`) of each build.
    builds: Vec<(u64, Range<usize>)>,
    /// The start of the first execution of each build, by its seed.
    starts: BTreeMap<u64, f64>,
    /// The factor that gives each execution the ratio of its pair, by the seed of its build and its round.
    factors: BTreeMap<u64, Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ExecutionRange {
    round: usize,
    /// The end of its values; they start at the end of the execution before.
    end: usize,
}

impl Measurements {
    /// Takes builds, each a layout seed with its executions in the order of the rounds, each with its
    /// measurements in the metric's unit per iteration.
    ///
    /// Refuses a value that is not a positive finite number (and not between 1e-100 and 1e100), a seed
    /// that comes twice, and data without any measurement.
    pub fn new<B, E>(metric: Metric, builds: B) -> Result<Self, InvalidMeasurement>
    where
        B: IntoIterator<Item = (u64, E)>,
        E: IntoIterator<Item: AsRef<[f64]>>,
    {
        let mut data = Self {
            metric,
            resolution: 0.0,
            values: vec![],
            executions: vec![],
            builds: vec![],
            starts: BTreeMap::new(),
            factors: BTreeMap::new(),
        };
        let mut seeds = HashSet::new();
        for (seed, executions) in builds {
            if !seeds.insert(seed) {
                return Err(InvalidMeasurement::SeedTwice { seed });
            }
            data.push(seed, executions)?;
        }
        if data.values.is_empty() { Err(InvalidMeasurement::Nothing) } else { Ok(data) }
    }

    /// Sets the smallest step of a value in the metric's unit: 1 for times in whole nanoseconds. 0, the default, means
    /// unknown.
    #[must_use]
    pub fn with_resolution(self, resolution: f64) -> Self {
        Self { resolution: if resolution.is_finite() { resolution.max(0.0) } else { 0.0 }, ..self }
    }

    /// Sets the start of the first execution of each build, by its seed, in seconds since any one moment. It records
    /// the order of measurement; no statistic uses it.
    #[must_use]
    pub fn with_starts(self, starts: BTreeMap<u64, f64>) -> Self {
        Self { starts, ..self }
    }

    /// Sets the factor of each execution for the comparison with its partner: by the seed of its build, in the order of
    /// rounds. The default is 1.
    #[must_use]
    pub fn with_factors(self, factors: BTreeMap<u64, Vec<f64>>) -> Self {
        Self { factors, ..self }
    }

    fn push<E>(&mut self, seed: u64, executions: E) -> Result<(), InvalidMeasurement>
    where
        E: IntoIterator<Item: AsRef<[f64]>>,
    {
        let first = self.executions.len();
        for (round, values) in executions.into_iter().enumerate() {
            let values = values.as_ref();
            // Some counts may be 0.
            let is_nothing = |value: f64| value == 0.0 && self.metric.may_be_zero();
            let is_refused = |value: &f64| !ACCEPTED.contains(value) && !is_nothing(*value);
            if let Some(measurement) = values.iter().position(is_refused) {
                let position = MeasurementPosition { seed, round, measurement };
                return Err(InvalidMeasurement::Value { value: values[measurement], position });
            }
            if !values.is_empty() {
                self.values.extend_from_slice(values);
                self.executions.push(ExecutionRange { round, end: self.values.len() });
            }
        }
        if self.executions.len() > first {
            self.builds.push((seed, first..self.executions.len()));
        }
        Ok(())
    }

    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The smallest step of a value, in the metric's unit; 0 if it is unknown.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// All measurements, by build and execution.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The builds that have measurements, in their given order.
    pub fn builds(&self) -> impl ExactSizeIterator<Item = BuildMeasurements<'_>> {
        self.builds.iter().map(|(seed, executions)| BuildMeasurements {
            seed: *seed,
            data: self,
            executions: executions.clone(),
        })
    }

    fn execution(&self, index: usize) -> &[f64] {
        let start = if index == 0 { 0 } else { self.executions[index - 1].end };
        &self.values[start..self.executions[index].end]
    }
}

/// One build of [`Measurements`].
#[derive(Clone, Debug)]
pub struct BuildMeasurements<'a> {
    seed: u64,
    data: &'a Measurements,
    executions: Range<usize>,
}

impl<'a> BuildMeasurements<'a> {
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The start of its first execution, in seconds since a moment common to all builds, if known.
    pub fn start(&self) -> Option<f64> {
        self.data.starts.get(&self.seed).copied()
    }

    /// The measurements of each execution; none is empty.
    pub fn executions(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + use<'a> {
        let data = self.data;
        self.executions.clone().map(move |index| data.execution(index))
    }

    /// The round of each execution: its index among all executions of the build, from 0, those without
    /// measurements included. Executions of one round of both versions ran next to each other.
    pub fn rounds(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let data = self.data;
        self.executions.clone().map(move |index| data.executions[index].round)
    }
}

impl BuildMeasurements<'_> {
    /// The factor for the estimate of the execution of this round where it is compared with its partner.
    pub fn factor(&self, round: usize) -> f64 {
        let factors = self.data.factors.get(&self.seed);
        factors.and_then(|factors| factors.get(round)).copied().unwrap_or(1.0)
    }
}

/// The position of a measurement in the data as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementPosition {
    pub seed: u64,
    /// The index of its execution within the build, from 0.
    pub round: usize,
    /// Its index within the execution, from 0.
    pub measurement: usize,
}

impl fmt::Display for MeasurementPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, round, measurement } = self;
        write!(f, "measurement {measurement} of execution {round} of the build with seed {seed}")
    }
}

/// The reason why data are refused as [`Measurements`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum InvalidMeasurement {
    /// A value is not a positive finite number, or outside the range of any unit.
    #[error("{position} is {value:?}, not a positive number below {:e}", ACCEPTED.end)]
    Value { value: f64, position: MeasurementPosition },
    /// Two builds have the same layout seed.
    #[error("two builds have the same layout seed {seed}")]
    SeedTwice { seed: u64 },
    #[error("there is no measurement")]
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(builds: &[(u64, Vec<Vec<f64>>)]) -> Result<Measurements, InvalidMeasurement> {
        Measurements::new(
            Metric::wall(),
            builds.iter().map(|(seed, executions)| (*seed, executions)),
        )
    }

    #[test]
    fn ragged_data_are_returned_unchanged() {
        let given = [(3, vec![vec![1.0], vec![2.0, 3.0]]), (1, vec![vec![4.0, 5.0, 6.0]])];
        let data = wall(&given).unwrap();
        let back: Vec<(u64, Vec<Vec<f64>>)> = data
            .builds()
            .map(|build| (build.seed(), build.executions().map(<[f64]>::to_vec).collect()))
            .collect();
        assert_eq!(back, given);
        assert_eq!(data.metric(), &Metric::wall());
    }

    #[test]
    fn empty_executions_and_builds_are_absent() {
        let data = wall(&[(1, vec![vec![], vec![2.0]]), (2, vec![vec![], vec![]]), (5, vec![])]);
        let data = data.unwrap();
        assert_eq!(data.builds().len(), 1);
        let build = data.builds().next().unwrap();
        assert_eq!(build.executions().collect::<Vec<_>>(), [[2.0]]);
        assert_eq!(build.rounds().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn resolution_is_kept_and_an_invalid_one_is_unknown() {
        let data = wall(&[(1, vec![vec![2.0]])]).unwrap();
        assert_eq!(data.resolution(), 0.0);
        assert_eq!(data.clone().with_resolution(0.5).resolution(), 0.5);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(data.clone().with_resolution(nonsense).resolution(), 0.0);
        }
    }

    #[test]
    fn invalid_value_is_refused_with_its_position() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 1e-300, 1e300] {
            let refusal = wall(&[(1, vec![vec![1.0]]), (9, vec![vec![], vec![1.0, value]])]);
            let Err(InvalidMeasurement::Value { position, .. }) = refusal else {
                panic!("{value} was accepted")
            };
            assert_eq!(position, MeasurementPosition { seed: 9, round: 1, measurement: 1 });
        }
        assert_eq!(
            wall(&[(9, vec![vec![-1.5]])]).unwrap_err().to_string(),
            "measurement 0 of execution 0 of the build with seed 9 is -1.5, \
             not a positive number below 1e100"
        );
    }

    #[test]
    fn duplicate_seed_is_refused_even_if_one_build_is_empty() {
        let twice = wall(&[(4, vec![]), (4, vec![vec![1.0]])]);
        assert_eq!(twice, Err(InvalidMeasurement::SeedTwice { seed: 4 }));
    }

    #[test]
    fn empty_data_are_refused() {
        assert_eq!(wall(&[]), Err(InvalidMeasurement::Nothing));
        assert_eq!(wall(&[(1, vec![vec![]])]), Err(InvalidMeasurement::Nothing));
    }
}
