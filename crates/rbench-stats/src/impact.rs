//! Impact factors: the spread of measurements caused by a random initial state, relative to the spread within one
//! execution (or one build). Pure.
//!
//! The bootstrap of Kalibera et al. 2005, figure 2, and its use on builds, Kalibera et al. 2006, section 2. A factor of
//! 1 means no influence; where the additive model holds it is near `sqrt(1 + T_B²/T_E²)` for executions and `sqrt(1 +
//! T_V²/T_B²)` for builds with `T_B²` the variance of execution means.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Estimator, Measurements, Moments, Random, Scratch, moments::median};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// `c`: the number of data sets, and of values of one data set, that each repetition chooses. None: 75 % of the
    /// data sets, as in the paper, or the most that the data allow.
    pub choose: Option<usize>,
    /// `K`: the number of repetitions.
    pub repetitions: usize,
}

impl Default for Bootstrap {
    /// The paper's parameters: 75 % of the data sets, 10,000 repetitions.
    fn default() -> Self {
        Self { choose: None, repetitions: 10_000 }
    }
}

/// The reason why there is no impact factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoImpact {
    /// `c` must be at least 2, for a standard deviation, and below both the number of data sets and the
    /// number of values in the smallest.
    #[error(
        "{sets} data sets of at least {values} values do not allow to choose {choose}: it must be 2 or more, and less \
         than both"
    )]
    Choose {
        /// The requested `c`, or the largest that the data allow.
        choose: usize,
        sets: usize,
        /// The number of values in the smallest data set.
        values: usize,
    },
    /// The requested number of repetitions is 0.
    #[error("the bootstrap needs at least one repetition")]
    NoRepetition,
}

/// The impact factor of the data sets, by the bootstrap of Kalibera et al. 2005, figure 2.
///
/// In each of `K` repetitions, SD1 is the standard deviation of one random value from each of `c` random data sets, and
/// SD2 that of `c` random values from one random data set; data sets and values are chosen without replacement. The
/// factor is the median of SD1/SD2. If a data set is constant, SD2 is 0 and the ratio infinite, or 1 if SD1 is 0 too;
/// so the factor may be infinite, but is never NaN.
pub fn impact_factor(
    sets: &[&[f64]],
    bootstrap: &Bootstrap,
    random: &mut Random,
) -> Result<f64, NoImpact> {
    let choose = bootstrap.choice(sets)?;
    // Values are chosen by moving them to the front of their own data set: uniform in whatever order earlier
    // repetitions left, and contiguous in memory.
    let mut sets: Vec<Vec<f64>> = sets.iter().map(|set| set.to_vec()).collect();
    let mut indices: Vec<usize> = (0..sets.len()).collect();
    let mut one_of_each = vec![0.0; choose];
    let mut ratios: Vec<f64> = (0..bootstrap.repetitions)
        .map(|_| {
            let chosen = random.choose_front(&mut indices, choose);
            for (value, &index) in one_of_each.iter_mut().zip(&*chosen) {
                *value = sets[index][random.below(sets[index].len())];
            }
            let one = random.below(sets.len());
            let all_of_one = random.choose_front(&mut sets[one], choose);
            ratio(Moments::compute(&one_of_each).squares, Moments::compute(all_of_one).squares)
        })
        .collect();
    Ok(median(&mut ratios))
}

/// The impact factor after subtracting the mean of each data set from its values (Kalibera et al. 2005, section 5.2).
/// Near 1, the random initial state only shifts a data set.
pub(super) fn impact_factor_without_shift(
    sets: &[&[f64]],
    bootstrap: &Bootstrap,
    random: &mut Random,
) -> Result<f64, NoImpact> {
    let centered: Vec<Vec<f64>> = sets
        .iter()
        .map(|set| {
            let mean = Moments::compute(set).mean;
            set.iter().map(|value| value - mean).collect()
        })
        .collect();
    impact_factor(&views(&centered), bootstrap, random)
}

/// Both impact factors of one level. In JSON, an infinite one is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImpactFactor {
    /// As measured: 1 means that the level has no influence.
    #[schemars(with = "Option<f64>")]
    pub factor: f64,
    /// With the shift of each data set removed: near 1 if the additive model fits.
    #[schemars(with = "Option<f64>")]
    pub without_shift: f64,
}

impl ImpactFactor {
    /// The impact of restarting the program: data sets are executions, values are measurements.
    ///
    /// The effect of the build is removed first, or it would count as an effect of executions: each execution is moved
    /// so that executions lie about the mean of all builds, with their distance from the mean of their own build
    /// multiplied by `sqrt(m / (m − 1))`, which undoes the shrinkage from estimating that mean. Builds with a single
    /// execution carry no information here and are left out.
    pub fn execution_impact(
        data: &Measurements,
        bootstrap: &Bootstrap,
        random: &mut Random,
    ) -> Result<Self, NoImpact> {
        let mut sets: Vec<Vec<f64>> = vec![];
        for build in data.builds() {
            let means: Vec<f64> =
                build.executions().map(|set| Moments::compute(set).mean).collect();
            let m = means.len() as f64;
            let center = Moments::compute(&means).mean;
            if means.len() < 2 {
                continue;
            }
            let stretch = (m / (m - 1.0)).sqrt();
            for (set, mean) in build.executions().zip(means) {
                let shift = (mean - center) * stretch - mean;
                sets.push(set.iter().map(|value| value + shift).collect());
            }
        }
        Self::estimate(&sets, bootstrap, random)
    }

    /// The impact of rebuilding: data sets are builds, values are the estimates of their executions.
    pub fn build_impact(
        data: &Measurements,
        estimator: Estimator,
        bootstrap: &Bootstrap,
        random: &mut Random,
    ) -> Result<Self, NoImpact> {
        let mut scratch = Scratch::default();
        let sets: Vec<Vec<f64>> = data
            .builds()
            .map(|build| {
                build.executions().map(|set| estimator.estimate(set, &mut scratch)).collect()
            })
            .collect();
        Self::estimate(&sets, bootstrap, random)
    }

    fn estimate(
        sets: &[Vec<f64>],
        bootstrap: &Bootstrap,
        random: &mut Random,
    ) -> Result<Self, NoImpact> {
        let sets = views(sets);
        Ok(Self {
            factor: impact_factor(&sets, bootstrap, random)?,
            without_shift: impact_factor_without_shift(&sets, bootstrap, random)?,
        })
    }
}

impl Bootstrap {
    /// `c` for data sets of these sizes.
    fn choice(&self, sets: &[&[f64]]) -> Result<usize, NoImpact> {
        let values = sets.iter().map(|set| set.len()).min().unwrap_or(0);
        let most = sets.len().min(values).saturating_sub(1);
        let choose = self.choose.unwrap_or((sets.len() * 3 / 4).min(most));
        if choose < 2 || choose > most {
            return Err(NoImpact::Choose { choose, sets: sets.len(), values });
        }
        if self.repetitions == 0 { Err(NoImpact::NoRepetition) } else { Ok(choose) }
    }
}

fn views(sets: &[Vec<f64>]) -> Vec<&[f64]> {
    sets.iter().map(Vec::as_slice).collect()
}

/// SD1/SD2 from the two sums of squares, which have equal counts.
fn ratio(between: f64, within: f64) -> f64 {
    if within > 0.0 {
        (between / within).sqrt()
    } else if between > 0.0 {
        f64::INFINITY
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests;
