//! How the time of a benchmark changed, function by function: the profiles of both versions are sampled and compared.

use rbench_code::{
    callgrind::{self, Code, FunctionDifference},
    impact::Impact,
    samples::{self, Explanation, FunctionTime, SampledState, Side},
};
use rbench_stats::{
    Change, Moments,
    distribution::{t_quantile, t_survival},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::functions::Functions;
use crate::{
    builds::changed_dependencies,
    error::{Error, Exit, Result},
    measure::{ListedVersion, Runner},
    model::{Benchmark, DependencyChange, Version},
    store::ExperimentId,
};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// By how much of itself a change may differ in another session, which the interval of one does not show: of 24 planted
/// changes, two differed by 1 and 2 % from the verdict's, and both intervals were narrower (docs/research/profiles.md).
const BETWEEN_SESSIONS: f64 = 0.05;

/// The explanation of a benchmark's changed time, function by function. Times are in ns per iteration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplainedTime {
    /// The version that the other is compared with.
    pub base: Version,
    /// The other version.
    pub head: Version,
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The times of its functions in measurements that were sampled.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The relative change of the verdict, which was measured without sampling; null without a verdict.
    pub verdict: Option<Change>,
    /// The additional time of a sampled measurement as a share of an unsampled one; null if it is not known.
    #[serde(rename = "overhead_share")]
    pub overhead: Option<f64>,
    /// True if both versions were interleaved while they were sampled.
    #[serde(skip)]
    pub is_interleaved: bool,
    /// The impact, including set-up.
    pub impact: Impact,
    /// The external packages whose version differs between base and head.
    pub dependencies: Vec<DependencyChange>,
    /// The instructions and calls of its functions, if they were counted too.
    #[serde(skip)]
    pub counted: Option<callgrind::Explanation>,
}

impl ExplainedTime {
    /// True if one of the functions has the same code, so that only counts tell more calls from slower ones.
    pub fn needs_counts(&self) -> bool {
        let mut functions = self.explanation.selection(usize::MAX).functions.into_iter();
        functions.any(|one| one.code == Code::Same && one.state == SampledState::Working)
    }

    /// The counts of a function, if it was counted.
    pub fn counts(&self, function: &FunctionTime) -> Option<&FunctionDifference> {
        let mut counted = self.counted.iter().flat_map(|counted| &counted.functions);
        counted.find(|one| one.name == function.name && one.place == function.place)
    }

    /// The relative change in sampled executions.
    pub fn sampled_change(&self) -> Change {
        let Explanation { base, change, .. } = &self.explanation;
        let [estimate, low, high] = [change.mean, change.low, change.high].map(|time| time / base);
        Change { estimate, low, high }
    }

    /// False if the change in sampled executions is another one than that of the verdict: their intervals have nothing in
    /// common, and the estimates differ by more than sessions do.
    pub fn is_about_the_verdict(&self) -> bool {
        let sampled = self.sampled_change();
        self.verdict.is_none_or(|verdict| {
            let differs = (sampled.estimate - verdict.estimate).abs();
            sampled.low <= verdict.high && verdict.low <= sampled.high
                || differs <= BETWEEN_SESSIONS * verdict.estimate.abs()
        })
    }
}

/// Samples a benchmark in both versions, and compares its times function by function. `impact` is the impact of the
/// changes on it, and `verdict` the change that was measured in these experiments, if any was.
pub fn explain_time(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    functions: &Functions,
    benchmark: &Benchmark,
    experiments: &[ExperimentId],
    impact: Impact,
    verdict: Option<Change>,
) -> Result<ExplainedTime> {
    let sets = functions.sets_of(benchmark)?;
    let sampled = runner.time_profiles(versions, benchmark, experiments)?;
    let side =
        |version: usize| Side { profile: &sampled.profiles[version], functions: sets[version] };
    let explanation = samples::explain([side(0), side(1)], &paired_change).ok_or_else(|| {
        Error::new(Exit::Benchmark, format!("the time of {benchmark} cannot be explained"))
            .cause("its measurements are too short to be sampled")
    })?;
    let [base, head] = versions;
    Ok(ExplainedTime {
        base: base.version.clone(),
        head: head.version.clone(),
        benchmark: benchmark.clone(),
        explanation,
        verdict,
        overhead: sampled.overhead,
        is_interleaved: sampled.is_interleaved,
        impact,
        dependencies: changed_dependencies(&base.locked, &head.locked),
        counted: None,
    })
}

/// The mean of the differences of pairs of builds, with its t interval, and the p value of Student's paired t test.
fn paired_change(differences: &[f64]) -> samples::Change {
    let moments = Moments::compute(differences);
    let (mean, freedom) = (moments.mean, differences.len() as f64 - 1.0);
    let error = moments.standard_deviation().unwrap_or(f64::INFINITY) / (freedom + 1.0).sqrt();
    let half = error * t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
    let p = if mean == 0.0 { 1.0 } else { 2.0 * t_survival(mean.abs() / error, freedom) };
    samples::Change { mean, low: mean - half, high: mean + half, p }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")]
mod tests {
    use super::*;

    #[test]
    fn paired_change_is_students() {
        // R: t.test(c(4.1, 3.2, 5.9, 4.4, 2.7))
        let change = paired_change(&[4.1, 3.2, 5.9, 4.4, 2.7]);
        for (value, expected) in [
            (change.mean, 4.06),
            (change.low, 2.528_353),
            (change.high, 5.591_647),
            (change.p, 0.001_839),
        ] {
            assert!((value - expected).abs() < 1e-3, "{value} {expected}");
        }
        let certain = paired_change(&[2.0, 2.0, 2.0]);
        assert_eq!([certain.low, certain.high, certain.p], [2.0, 2.0, 0.0]);
        let none = paired_change(&[0.0, 0.0]);
        assert_eq!([none.low, none.high, none.p], [0.0, 0.0, 1.0]);
    }
}
