//! Tests whether a benchmark warms up: Page's trend test over ranks within executions, Friedman's test of any effect of
//! the index, and the size of the trend.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, Options, SIGNIFICANT,
    execution::{Execution, parts, shortest},
    values::{Ranks, mean, mean_interval, sorted},
};
use crate::{
    Interval,
    distribution::{chi_squared_survival, normal_two_sided},
    median,
};

/// Fewer executions have no meaningful spread.
const FEWEST_EXECUTIONS: usize = 3;
/// Fewer measurements have no first tenth.
const FEWEST_MEASUREMENTS: usize = 10;
/// The number of parts of the profile, unless there are fewer measurements.
const PARTS: usize = 50;

/// The trend within executions, over the indices that all executions have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// `N`: the number of executions.
    pub executions: usize,
    /// `n`: the number of measurements used of each execution, that of the shortest.
    pub measurements: usize,
    /// Page's `L = Σ i·R_i`, with `R_i` the sum over executions of the rank of measurement `i` within
    /// its execution.
    pub l: f64,
    /// `N n (n+1)² / 4`.
    pub expected: f64,
    /// The square root of `N n² (n+1)² (n−1) / 144`, less where there are ties.
    pub sd: f64,
    /// Page's test, two-sided by the normal distribution: exact only for independent measurements.
    #[schemars(range(min = 0, max = 1))]
    pub p_page: f64,
    /// The p value that the warning uses: Student's t of the executions' own rank correlations with the index.
    /// Executions are independent even if neighbouring measurements are not.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
    /// The mean over executions of Spearman's rank correlation with the index, −1 to 1: below 0 it gets
    /// faster.
    pub correlation: f64,
    /// Friedman's statistic, chi-squared with `n − 1` degrees of freedom for independent measurements.
    pub friedman: f64,
    /// Its p value, if the index had no effect.
    #[schemars(range(min = 0, max = 1))]
    pub p_friedman: f64,
    /// The excess of the first tenth of an execution over its second half, relative (.01 is 1 %): the median over
    /// executions with its interval. Below 0 it slows down.
    pub effect: Interval,
    /// The excess of each of up to 50 equally long parts of an execution over its second half: medians over executions,
    /// relative.
    pub profile: Vec<f64>,
    /// The number of measurements at the start that are slower than the second half by `min_effect / 2` or more, in
    /// whole parts of the profile.
    pub warm_up: usize,
}

impl Trend {
    pub(super) fn test(
        executions: &[Execution<'_>],
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let measurements = shortest(executions, FEWEST_MEASUREMENTS)?;
        let found = executions.len();
        if found < FEWEST_EXECUTIONS {
            return Err(InsufficientData::Executions { needed: FEWEST_EXECUTIONS, found });
        }
        let ranked = Ranked::new(executions, measurements);
        let effects =
            sorted(executions.iter().map(|one| start(&one.values[..measurements])).collect());
        let profile = profile(executions, measurements);
        let slow = profile.iter().take_while(|excess| **excess >= options.min_effect / 2.0).count();
        let (friedman, p_friedman) = ranked.friedman();
        let (correlation, p) = ranked.correlation();
        let (l, expected, sd) = ranked.page();
        Ok(Self {
            executions: executions.len(),
            measurements,
            l,
            expected,
            sd,
            p_page: if sd > 0.0 { normal_two_sided((l - expected) / sd) } else { 1.0 },
            p,
            correlation,
            friedman,
            p_friedman,
            effect: median_interval(&effects, options.confidence),
            warm_up: slow * measurements / profile.len(),
            profile,
        })
    }

    /// True if ranks and means clearly show a trend in the same direction. They may disagree if a few measurements are
    /// outliers.
    pub(super) fn is_clear(&self) -> bool {
        self.p.max(self.p_page) < SIGNIFICANT && self.correlation * self.effect.center < 0.0
    }
}

/// The sums over ranks that both tests share.
struct Ranked {
    /// `R_i`: by index, the sum over executions of its rank.
    sums: Vec<f64>,
    /// For each execution, `Σ_i (i − ī) R_i`, and `Σ_i (R_i − R̄)²`.
    each: Vec<(f64, f64)>,
}

impl Ranked {
    fn new(executions: &[Execution<'_>], measurements: usize) -> Self {
        let mut sums = vec![0.0; measurements];
        let center = f64::midpoint(measurements as f64, 1.0);
        let mut rank = |execution: &Execution<'_>| {
            let ranked = Ranks::new(&execution.values[..measurements]);
            let mut slope = 0.0;
            for (index, (sum, rank)) in sums.iter_mut().zip(&ranked.ranks).enumerate() {
                *sum += rank;
                slope += (index as f64 + 1.0 - center) * rank;
            }
            (slope, ranked.squares)
        };
        let each = executions.iter().map(&mut rank).collect();
        Self { sums, each }
    }

    fn measurements(&self) -> f64 {
        self.sums.len() as f64
    }

    /// `Σ (i − ī)² = n (n² − 1) / 12`.
    fn squares_of_indices(&self) -> f64 {
        let n = self.measurements();
        n * (n * n - 1.0) / 12.0
    }

    /// `L`, its expectation and its standard deviation. Under a random order within an execution, `Σ i·R_i` has the
    /// variance `Σ (i − ī)² Σ (R_i − R̄)² / (n − 1)`, with any ties.
    fn page(&self) -> (f64, f64, f64) {
        let n = self.measurements();
        let expected = self.each.len() as f64 * n * (n + 1.0).powi(2) / 4.0;
        let slope: f64 = self.each.iter().map(|(slope, _)| slope).sum();
        let squares: f64 = self.each.iter().map(|(_, squares)| squares).sum();
        let variance = self.squares_of_indices() * squares / (n - 1.0);
        (expected + slope, expected, variance.sqrt())
    }

    /// The mean of the rank correlations with the index, and the p of Student's t that it is 0. An execution
    /// without two different values has the correlation 0.
    fn correlation(&self) -> (f64, f64) {
        let squares_of_indices = self.squares_of_indices();
        let of = |&(slope, squares): &(f64, f64)| {
            if squares > 0.0 { slope / (squares * squares_of_indices).sqrt() } else { 0.0 }
        };
        let (mean, p) = mean_interval(&self.each.iter().map(of).collect::<Vec<_>>(), 0.95);
        (mean.center, p)
    }

    /// Friedman's statistic, with its correction for ties, and its p:
    /// `(n − 1) Σ (R_i − R̄)² / Σ_j Σ_i (R_ij − R̄)²`.
    fn friedman(&self) -> (f64, f64) {
        let n = self.measurements();
        let mean = mean(&self.sums);
        let between: f64 = self.sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        let within: f64 = self.each.iter().map(|(_, squares)| squares).sum();
        if within > 0.0 {
            let statistic = (n - 1.0) * between / within;
            (statistic, chi_squared_survival(statistic, n - 1.0))
        } else {
            (0.0, 1.0)
        }
    }
}

/// The relative excess of the first tenth over the second half.
fn start(values: &[f64]) -> f64 {
    mean(&values[..values.len() / 10]) / mean(&values[values.len() / 2..]) - 1.0
}

/// The median excess of each part of an execution over its second half.
fn profile(executions: &[Execution<'_>], measurements: usize) -> Vec<f64> {
    let mut excesses: Vec<Vec<f64>> = vec![vec![]; PARTS.min(measurements)];
    for execution in executions {
        let values = &execution.values[..measurements];
        let base = mean(&values[measurements / 2..]);
        for (excess, part) in excesses.iter_mut().zip(parts(values, PARTS)) {
            excess.push(mean(part) / base - 1.0);
        }
    }
    excesses.iter_mut().map(|excess| median(excess)).collect()
}

/// The median of sorted values, and the interval between two of them that contains the true median with at least this
/// confidence, for any distribution; from the lowest to the highest if there are too few.
fn median_interval(sorted: &[f64], confidence: f64) -> Interval {
    let count = sorted.len();
    let tail = (1.0 - confidence) / 2.0;
    // P(Bin(N, 1/2) <= cut) is at most the tail, for the largest such cut.
    let mut term = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut below, mut cut) = (term, 0);
    while below <= tail && 2 * (cut + 1) < count {
        cut += 1;
        term *= (count - cut + 1) as f64 / cut as f64;
        below += term;
    }
    let cut = cut.saturating_sub(1);
    let center = median(&mut sorted.to_vec());
    Interval { center, low: sorted[cut], high: sorted[count - 1 - cut] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Random, diagnosis::testing::executions_of};

    /// Ranked executions with these measurements.
    fn ranked(blocks: &[Vec<f64>]) -> Ranked {
        Ranked::new(&executions_of(blocks), blocks[0].len())
    }

    fn normal(executions: usize, measurements: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Random::new(seed);
        let mut execution = || (0..measurements).map(|_| 100.0 + random.normal()).collect();
        (0..executions).map(|_| execution()).collect()
    }

    #[test]
    fn page_matches_his_table_for_twenty_executions_of_ten() {
        let (_, expected, sd) = ranked(&normal(20, 10, 1)).page();
        assert_eq!(expected, 6050.0);
        assert!((sd - 122.98).abs() < 0.005, "{sd}");
    }

    #[test]
    fn page_l_is_the_sum_of_indices_times_rank_sums() {
        let (l, ..) = ranked(&[vec![1.0, 2.0, 3.0], vec![1.0, 3.0, 2.0]]).page();
        // Sums of ranks 2, 5, 5.
        assert_eq!(l, 2.0 + 2.0 * 5.0 + 3.0 * 5.0);
    }

    #[test]
    fn friedman_matches_the_textbook_formula() {
        let (executions, n) = (6.0, 4.0);
        let blocks = normal(6, 4, 2);
        let ranked = ranked(&blocks);
        let squares: f64 = ranked.sums.iter().map(|sum| sum * sum).sum();
        let expected = 12.0 / (executions * n * (n + 1.0)) * squares - 3.0 * executions * (n + 1.0);
        assert!((ranked.friedman().0 - expected).abs() < 1e-9);
    }

    #[test]
    fn trend_is_absent_without_variance() {
        let ranked = ranked(&vec![vec![7.0; 10]; 5]);
        assert_eq!(ranked.correlation(), (0.0, 1.0));
        assert_eq!(ranked.friedman(), (0.0, 1.0));
        assert_eq!(ranked.page().2, 0.0);
    }

    #[test]
    fn median_interval_has_the_ranks_of_the_tables() {
        for (count, low, high) in [(5_u32, 1, 5), (6, 1, 6), (10, 2, 9), (25, 8, 18), (100, 40, 61)]
        {
            let sorted: Vec<f64> = (1..=count).map(f64::from).collect();
            let interval = median_interval(&sorted, 0.95);
            assert_eq!((interval.low, interval.high), (f64::from(low), f64::from(high)));
            assert_eq!(interval.center, f64::from(count + 1) / 2.0);
        }
    }

    #[test]
    fn warm_up_has_its_true_size_and_length() {
        let mut blocks = normal(12, 100, 3);
        for block in &mut blocks {
            for value in &mut block[..10] {
                *value *= 1.2;
            }
        }
        let executions = executions_of(&blocks);
        let trend = Trend::test(&executions, &Options::default()).unwrap();
        assert!((trend.effect.center - 0.2).abs() < 0.01, "{:?}", trend.effect);
        assert_eq!((trend.warm_up, trend.profile.len()), (10, 50));
        assert!(trend.p < 1e-6 && trend.p_page < 1e-6 && trend.p_friedman < 1e-6);
        let lacking = Trend::test(&executions[..2], &Options::default()).unwrap_err();
        assert_eq!(lacking, InsufficientData::Executions { needed: 3, found: 2 });
    }

    proptest! {
        #[test]
        fn trend_depends_only_on_the_order_within_executions(seed in any::<u64>(), scale in 0.01..100.0_f64) {
            let mut blocks = normal(5, 12, seed);
            let one = ranked(&blocks);
            blocks.rotate_left(2);
            for block in &mut blocks {
                for value in block.iter_mut() {
                    *value = (*value * scale).powi(3);
                }
            }
            let other = ranked(&blocks);
            prop_assert!((one.page().0 - other.page().0).abs() < 1e-9);
            prop_assert!((one.friedman().0 - other.friedman().0).abs() < 1e-9);
            prop_assert!((one.correlation().1 - other.correlation().1).abs() < 1e-9);
            for block in &mut blocks {
                block.reverse();
            }
            let (l, expected, _) = ranked(&blocks).page();
            prop_assert!((l - expected + one.page().0 - expected).abs() < 1e-9);
        }
    }
}
