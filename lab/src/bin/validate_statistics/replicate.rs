//! Replications on all cores, with the same result on any number of them.

use rayon::prelude::*;
use rbench_stats::Random;

/// Replications that share one stream of random numbers, one after the other.
const CHUNK: usize = 256;

/// The number of replications of an experiment, and their seed.
pub struct Trials {
    pub seed: u64,
    pub count: usize,
}

/// A mean over replications and its Monte-Carlo standard error.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: f64,
    pub error: f64,
}

/// Sums over one chunk of replications.
type Sums<const N: usize> = [(f64, f64); N];

impl Trials {
    /// The means of N numbers that each replication gives. A replication without a result, because
    /// its data were rejected, makes them NaN, which meets no target.
    pub fn means<const N: usize>(
        &self,
        experiment: impl Fn(&mut Random) -> Option<[f64; N]> + Sync,
    ) -> [Estimate; N] {
        let chunk = |index: usize| {
            let mut random = Random::stream(self.seed, index as u64);
            let mut sums: Sums<N> = [(0.0, 0.0); N];
            for _ in 0..CHUNK.min(self.count - index * CHUNK) {
                let values = experiment(&mut random).unwrap_or([f64::NAN; N]);
                for ((sum, squares), value) in sums.iter_mut().zip(values) {
                    *sum += value;
                    *squares += value * value;
                }
            }
            sums
        };
        // Collected in order before they are added: the rounding must not depend on the threads.
        let chunks: Vec<Sums<N>> =
            (0..self.count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
        std::array::from_fn(|number| {
            let sum: f64 = chunks.iter().map(|sums| sums[number].0).sum();
            let squares: f64 = chunks.iter().map(|sums| sums[number].1).sum();
            Estimate::from_sums(sum, squares, self.count as f64)
        })
    }

    pub fn mean(&self, experiment: impl Fn(&mut Random) -> Option<f64> + Sync) -> Estimate {
        let [estimate] = self.means(|random| experiment(random).map(|value| [value]));
        estimate
    }

    pub fn rate(&self, experiment: impl Fn(&mut Random) -> Option<bool> + Sync) -> Estimate {
        self.mean(|random| experiment(random).map(f64::from))
    }
}

impl Estimate {
    fn from_sums(sum: f64, squares: f64, count: f64) -> Self {
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0);
        Self { mean, error: (variance / count).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replications_count_once_and_the_error_is_of_the_mean() {
        let trials = Trials { seed: 1, count: 1000 };
        let [one, normal] = trials.means(|random| Some([1.0, random.normal()]));
        assert_eq!((one.mean, one.error), (1.0, 0.0));
        assert!(normal.mean.abs() < 4.0 * normal.error);
        assert!((normal.error - 0.0316).abs() < 0.004);
    }

    #[test]
    fn number_of_threads_does_not_matter() {
        let trials = Trials { seed: 2, count: 5000 };
        let sum = || trials.mean(|random| Some(random.normal())).mean;
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(alone.install(sum).to_bits(), three.install(sum).to_bits());
    }

    #[test]
    fn replication_without_a_result_makes_the_mean_nan() {
        let trials = Trials { seed: 3, count: 300 };
        assert!(trials.rate(|random| random.chance(0.5).then_some(true)).mean.is_nan());
    }
}
