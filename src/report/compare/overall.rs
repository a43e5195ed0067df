//! The overall change: the geometric mean of the changes of all compared benchmarks.
//!
//! An unaffected or identical benchmark did not change, so it counts with a change of exactly 0.
//! Without it, a comparison that measures only the benchmarks that a commit affects would report
//! the mean of those, and readers would take it for the mean of all. Benchmarks that failed,
//! skipped themselves or could not be compared are left out.
//!
//! # The interval
//!
//! On the log scale, the half-width of the interval of the mean is the mean half-width of the 95 %
//! CIs of the single changes. Errors of benchmarks that were measured together are not independent:
//! they share layouts, the machine and the time at which they ran, to an unknown degree. But the
//! standard deviation of a sum is never more than the sum of the standard deviations, whatever the
//! correlations are, and equal to it if all errors are proportional. So this interval is never too
//! narrow because of common errors. If benchmarks have no errors in common, it is too wide, by up
//! to the square root of their number. A change of exactly 0 adds no error.
//!
//! It takes the 95 % CI of every row, even if the interval of the row has a higher confidence
//! because of several interim analyses: no verdict depends on the mean. It does not account for
//! benchmarks stopping at an interim analysis that depends on their values. This matters only if
//! all errors are common and all true changes alike: in simulations of three analyses, the interval
//! then contains the true mean in 91 % of all cases at worst (near the smallest change of
//! interest), and otherwise in 94 % or more.

use std::collections::BTreeMap;

use rbench_stats::or_infinite;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ComparisonReport;
use crate::{
    model::Metric,
    report::quantity::{bare_percent, count, exact, percent},
    verdict::{DecidedStage, Verdict, VerdictKind},
};

const CONFIDENCE: f64 = 0.95;

/// The geometric mean of the changes of all compared benchmarks, in one metric. Unaffected and
/// identical benchmarks count with a change of 0; those that failed, were skipped or not
/// comparable, or change from or to 0 are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeometricMean {
    pub metric: String,
    /// 0.05 is 5 % more than the base.
    pub change: f64,
    /// The lower end of its 95 % CI, which is not too narrow, whatever errors benchmarks have in
    /// common; of its range, if the metric is counted.
    pub low: f64,
    /// The upper end; infinite, and null in JSON, if a count may come from 0.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// The number of benchmarks, including unaffected and identical ones.
    #[schemars(range(min = 1))]
    pub benchmarks: usize,
    /// The number of other benchmarks with a value of 0 in one of the versions, which has no ratio.
    #[serde(skip)]
    pub left_out: usize,
    /// True if the metric is counted, so that it has a range and no confidence.
    #[serde(skip)]
    pub is_counted: bool,
}

#[derive(Default)]
struct Sums {
    change: f64,
    low: f64,
    high: f64,
    benchmarks: usize,
    left_out: usize,
}

impl Sums {
    fn add_mean(&mut self, mean: &GeometricMean) {
        let benchmarks = mean.benchmarks as f64;
        self.change += mean.change.ln_1p() * benchmarks;
        self.low += mean.low.ln_1p() * benchmarks;
        self.high += mean.high.ln_1p() * benchmarks;
        self.benchmarks += mean.benchmarks;
        self.left_out += mean.left_out;
    }

    fn add(&mut self, metric: &Metric, stage: &DecidedStage) {
        let [base, head] = stage.summaries.each_ref().map(|one| one.values().mean);
        if (base > 0.0) != (head > 0.0) {
            self.left_out += 1;
            return;
        }
        let assessment = &stage.assessment;
        let change = assessment.comparison.log_change;
        let [low, high] = if metric.is_counted() {
            [assessment.change.low, assessment.change.high].map(f64::ln_1p)
        } else {
            let half_width = assessment.comparison.half_width(CONFIDENCE);
            [change - half_width, change + half_width]
        };
        self.change += change;
        self.low += low;
        self.high += high;
        self.benchmarks += 1;
    }

    /// The mean of these changes and of `same` changes of exactly 0.
    fn mean(&self, metric: &str, same: usize) -> GeometricMean {
        let benchmarks = self.benchmarks + same;
        let [change, low, high] =
            [self.change, self.low, self.high].map(|sum| (sum / benchmarks as f64).exp_m1());
        GeometricMean {
            metric: metric.to_owned(),
            change,
            low,
            high,
            benchmarks,
            left_out: self.left_out,
            is_counted: false,
        }
    }
}

impl GeometricMean {
    /// Joins the means of parts of the benchmarks. Each part comes with the number of its
    /// unaffected or identical benchmarks: a part without a change in a metric has no mean in it,
    /// but these benchmarks still count.
    ///
    /// Averages the logarithms of the ends of intervals like those of the changes, because parts
    /// may share errors as the benchmarks of one part do.
    pub fn from_parts(parts: &[(&[Self], usize)]) -> Vec<Self> {
        let mut sums: BTreeMap<&str, Sums> = BTreeMap::new();
        for mean in parts.iter().flat_map(|(means, _)| *means) {
            sums.entry(&mean.metric).or_default().add_mean(mean);
        }
        let mean = |(metric, sums): (&str, Sums)| {
            let lacks = |means: &[Self]| means.iter().all(|mean| mean.metric != metric);
            let without = parts.iter().filter(|(means, _)| lacks(means));
            sums.mean(metric, without.map(|(_, same)| same).sum())
        };
        sums.into_iter().map(mean).collect()
    }

    /// `overall (geometric mean of 6 benchmarks, 2 unaffected): +0.38 % (95 % CI +0.10 to +0.66)`, with the words for
    /// those that count with a change of 0.
    fn text(&self, same: &str) -> String {
        let Self { metric, change, low, high, benchmarks, left_out, is_counted } = self;
        let metric =
            if *metric == Metric::wall().name { String::new() } else { format!(" in {metric}") };
        let benchmarks = count(*benchmarks, "benchmark");
        let same = if same.is_empty() { String::new() } else { format!(", {same}") };
        let without = match left_out {
            0 => String::new(),
            some => format!(", {some} with a zero value excluded"),
        };
        let [from, to] = [*low, *high].map(bare_percent);
        let interval = match (is_counted, from == to) {
            // Counts that do not vary are certain.
            (true, true) => String::new(),
            (true, false) => format!(" (range {from} to {to})"),
            (false, _) => format!(" ({} CI {from} to {to})", exact(CONFIDENCE)),
        };
        let change = percent(*change);
        format!(
            "overall{metric} (geometric mean of {benchmarks}{same}{without}): {change}{interval}"
        )
    }
}

impl ComparisonReport {
    /// The geometric mean of the changes in each metric with a change. An unaffected or identical
    /// benchmark has no metric, and counts in each of them as unchanged.
    pub(super) fn geometric_means(&self) -> Vec<GeometricMean> {
        let mut sums: BTreeMap<&Metric, Sums> = BTreeMap::new();
        let mut same = 0;
        for row in &self.outcome.rows {
            match (&row.verdict, &row.metric, row.decisive()) {
                (Verdict::Unaffected | Verdict::Identical, ..) => same += 1,
                (
                    Verdict::Failed { .. }
                    | Verdict::NotComparable { .. }
                    | Verdict::Skipped { .. },
                    ..,
                ) => {}
                (_, Some(metric), Some(stage)) => {
                    sums.entry(metric).or_default().add(metric, stage);
                }
                _ => {}
            }
        }
        let compared = sums.into_iter().filter(|(_, sums)| sums.benchmarks > 0);
        let mean = |(metric, sums): (&Metric, Sums)| GeometricMean {
            is_counted: metric.is_counted(),
            ..sums.mean(&metric.name, same)
        };
        compared.map(mean).collect()
    }

    /// The geometric means of more than one benchmark, each as a sentence.
    pub(super) fn mean_texts(&self) -> impl Iterator<Item = String> {
        let mut means = self.geometric_means();
        means.retain(|mean| mean.benchmarks > 1);
        // Wall time has no name in the sentence: after other metrics it would seem to be about all
        // of them.
        means.sort_by_key(|mean| mean.metric != Metric::wall().name);
        let same = [VerdictKind::Unaffected, VerdictKind::Identical];
        let same = self.outcome.counts().words(&same);
        means.into_iter().map(move |mean| mean.text(&same))
    }
}
