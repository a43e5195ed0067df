//! One execution of one benchmark: what was asked of a process, and what came of it.

use std::time::{Duration, SystemTime};

use super::{Metric, Throughput};

/// What an execution is asked to do.
///
/// A harness asks for as much of it as the benchmark's own harness understands; what came instead
/// stands in the [`Execution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionRequest {
    /// n: how many measurements to take.
    pub measurements: usize,
    /// How long to run before the first measurement.
    pub warm_up: Duration,
    /// How long one measurement shall last at least, when iterations are tuned.
    pub floor: Duration,
    /// Iterations of every measurement; tuned by the harness when absent.
    pub iterations: Option<u64>,
    /// The seed of the initial state: environment, stack, heap.
    pub seed: u64,
}

impl ExecutionRequest {
    /// The time that the asked measurements and warm-up take at least.
    pub fn least_time(&self) -> Duration {
        let measurements = u32::try_from(self.measurements).unwrap_or(u32::MAX);
        self.warm_up.saturating_add(self.floor.saturating_mul(measurements))
    }
}

/// The measurements of one metric in one execution, in the order taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What was measured.
    pub metric: Metric,
    /// The measurements: the metric's value *per iteration*.
    pub values: Vec<f64>,
    /// The iterations of each measurement, as many as there are `values`.
    pub iterations: Vec<u64>,
}

impl Series {
    /// Σ totals / Σ iterations: the mean over iterations rather than over measurements. The two
    /// differ where a harness lets iterations grow.
    pub fn mean_per_iteration(&self) -> f64 {
        let weights = self.iterations.iter().map(|iterations| *iterations as f64);
        let total: f64 = self.values.iter().zip(weights.clone()).map(|(value, w)| value * w).sum();
        total / weights.sum::<f64>()
    }

    /// The iterations of every measurement, if they all have the same.
    pub fn same_iterations(&self) -> Option<u64> {
        let first = *self.iterations.first()?;
        self.iterations.iter().all(|iterations| *iterations == first).then_some(first)
    }

    /// The reason why nobody can compute with this series, if there is one.
    pub fn defect(&self) -> Option<String> {
        if self.values.is_empty() {
            return Some("it gave no measurement".to_owned());
        }
        if !self.iterations.is_empty() && self.iterations.len() != self.values.len() {
            let (values, iterations) = (self.values.len(), self.iterations.len());
            return Some(format!("it gave {values} measurements but {iterations} iterations"));
        }
        if let Some(index) = self.iterations.iter().position(|iterations| *iterations == 0) {
            return Some(format!("measurement {} has no iteration", index + 1));
        }
        let index = self.values.iter().position(|value| !(value.is_finite() && *value > 0.0))?;
        let number = index + 1;
        let unit = self.metric.unit;
        Some(if self.values[index] == 0.0 {
            format!("measurement {number} is 0 {unit}: what it times may be optimised away")
        } else {
            format!("measurement {number} is {} {unit}", self.values[index])
        })
    }
}

/// What one process took, by the kernel's account of exactly that process and the children it
/// waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// When it was started.
    pub start: SystemTime,
    /// From the start until its end was noticed.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The most memory it had resident, in bytes. Absent where it cannot be told from the memory of
    /// rbench itself, which a child's record starts with.
    pub peak_memory: Option<u64>,
    /// Times it gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Times the kernel took its CPU away.
    pub involuntary_switches: u64,
    /// Instructions retired in user mode, where the kernel lets them be counted.
    pub instructions: Option<u64>,
    /// CPU cycles in user mode, where the kernel lets them be counted.
    pub cycles: Option<u64>,
}

/// What one execution gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// What was asked.
    pub asked: ExecutionRequest,
    /// What came, one series per metric; never empty, and none of them empty.
    pub series: Vec<Series>,
    /// How much one iteration processes, if the benchmark says so.
    pub throughput: Vec<Throughput>,
    /// The warm-up that was really spent, if the harness tells.
    pub warm_up: Option<Duration>,
    /// What the process took.
    pub resources: Resources,
}

impl Execution {
    /// How many measurements came, in the series with the fewest.
    pub fn measurements(&self) -> usize {
        self.series.iter().map(|series| series.values.len()).min().unwrap_or(0)
    }

    /// The reason why nobody can compute with what came, if there is one.
    pub fn defect(&self) -> Option<String> {
        if self.series.is_empty() {
            return Some("nothing was measured".to_owned());
        }
        self.series.iter().find_map(|series| {
            series.defect().map(|defect| format!("{}: {defect}", series.metric.name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64], iterations: &[u64]) -> Series {
        Series { metric: Metric::wall(), values: values.to_vec(), iterations: iterations.to_vec() }
    }

    #[test]
    fn the_mean_of_growing_iterations_weighs_each_measurement_by_its_iterations() {
        assert!((series(&[4.0, 1.0], &[1, 3]).mean_per_iteration() - 1.75).abs() < 1e-12);
    }

    #[test]
    fn iterations_are_the_same_or_none() {
        assert_eq!(series(&[1.0, 2.0], &[5, 5]).same_iterations(), Some(5));
        assert_eq!(series(&[1.0, 2.0], &[5, 6]).same_iterations(), None);
        assert_eq!(series(&[], &[]).same_iterations(), None);
    }

    #[test]
    fn absurd_requests_do_not_overflow_their_time() {
        let asked = ExecutionRequest {
            measurements: usize::MAX,
            warm_up: Duration::MAX,
            floor: Duration::MAX,
            iterations: None,
            seed: 0,
        };
        assert_eq!(asked.least_time(), Duration::MAX);
    }

    fn defect_of(values: &[f64], iterations: &[u64]) -> String {
        series(values, iterations).defect().unwrap_or_default()
    }

    #[test]
    fn positive_finite_values_are_sound() {
        assert_eq!(defect_of(&[1.0, 0.001], &[1, 2]), "");
        assert_eq!(defect_of(&[1.0], &[]), "", "a harness need not tell its iterations");
    }

    #[test]
    fn every_defect_is_named_with_its_place() {
        for (values, iterations, words) in [
            (&[][..], &[][..], "no measurement"),
            (&[1.0, 2.0], &[1], "2 measurements but 1 iterations"),
            (&[1.0, 2.0], &[1, 0], "measurement 2 has no iteration"),
            (&[1.0, 0.0], &[1, 1], "measurement 2 is 0 ns"),
            (&[f64::NAN], &[1], "measurement 1 is NaN ns"),
            (&[f64::INFINITY], &[1], "measurement 1 is inf ns"),
            (&[-1.0], &[1], "measurement 1 is -1 ns"),
        ] {
            let defect = defect_of(values, iterations);
            assert!(defect.contains(words), "{defect:?} lacks {words:?}");
        }
    }
}
