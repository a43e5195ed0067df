//! Finds level shifts within one execution: Gil et al. 2011, section 5, with change points as by PELT (Killick et al.
//! 2012) and the classes of Barrett et al. 2017.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, Options, Position, SIGNIFICANT,
    changes::{change_points, long_run_variance, without_spikes},
    execution::{Execution, long_enough, parts},
    values::{mean, without_steps},
};
use crate::{Estimator, Random, Scratch, distribution::normal_two_sided, median, segmentation};

/// With fewer measurements, level shifts cannot be distinguished from noise.
const FEWEST: usize = 200;
/// Longer executions are divided into this many parts: level shifts need only be located to 5 % of the length.
const POINTS: usize = 400;
/// The shortest segment: 5 %.
const SHORTEST: usize = 20;
/// A change must explain this many long-run variances: 5.5 standard errors, which noise does not exceed even with heavy
/// tails and 400 points at which it could.
const PENALTY: f64 = 30.0;
/// The stream of the seed that fills the steps of the clock.
const STREAM: u64 = 31;
/// An execution must be steady from this share of its length on (Barrett et al. 2017 require the last 500 of 2,000).
const LAST_QUARTER: f64 = 0.75;

/// The level shifts within executions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelShifts {
    /// Each execution with enough measurements, in the order of builds and rounds.
    pub executions: Vec<Segments>,
    /// The smallest relative size of a level shift.
    pub threshold: f64,
}

/// The segments of an execution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Segments {
    /// The execution.
    #[serde(flatten)]
    pub position: Position,
    /// The segments in order of time; each has at least 5 % of the measurements, and differs from its neighbours by at
    /// least the threshold.
    pub segments: Vec<Segment>,
    /// The class.
    pub class: Class,
    /// An upper bound of the p value of the clearest level shift; 1 without any.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// A stretch of an execution without a level shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Segment {
    /// The index of its first measurement, from 0.
    pub start: usize,
    /// The index after its last measurement.
    pub end: usize,
    /// The trimmed mean of its measurements, in the metric's unit.
    pub level: f64,
}

/// Barrett's classes of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// One segment.
    Flat,
    /// It ends in its fastest segment.
    WarmUp,
    /// It ends in a segment that is not its fastest.
    SlowDown,
    /// It still shifts in its last quarter.
    NoSteadyState,
}

impl LevelShifts {
    pub(super) fn detect(
        executions: &[Execution<'_>],
        resolution: f64,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let executions = long_enough(executions, FEWEST)?;
        let mut random = Random::stream(options.seed, STREAM);
        let threshold = options.min_effect / 2.0;
        let series: Vec<Series> = executions
            .iter()
            .map(|one| Series::new(&without_steps(one.values, resolution, &mut random)))
            .collect();
        let usual = median(&mut series.iter().map(|series| series.variance).collect::<Vec<_>>());
        // A tenth of a level shift is negligible noise, and clocks have steps.
        let least = (threshold / 10.0).max(1e-9).powi(2);
        let executions = executions
            .iter()
            .zip(&series)
            .map(|(execution, series)| {
                // An execution that seems less noisy than most may be too short to show its noise.
                let variance = series.variance.max(usual).max(least);
                Segments::detect(execution, series, variance, threshold)
            })
            .collect();
        Ok(Self { executions, threshold })
    }
}

/// One execution, prepared for change points.
struct Series {
    /// The medians of parts, relative to the median of all, without spikes.
    points: Vec<f64>,
    /// The long-run variance of `points`.
    variance: f64,
}

impl Series {
    fn new(values: &[f64]) -> Self {
        let center = median(&mut values.to_vec());
        let parts = parts(values, POINTS.min(values.len()));
        let points: Vec<f64> =
            parts.map(|part| median(&mut part.to_vec()) / center - 1.0).collect();
        let smooth = without_spikes(&points);
        // Many outlying values are no spikes but the normal behaviour of the benchmark.
        let [raw, variance] =
            [&points, &smooth].map(|points| long_run_variance(points, points.len() / SHORTEST));
        Self { points: smooth, variance: variance.max(raw) }
    }
}

impl Segments {
    fn detect(execution: &Execution<'_>, series: &Series, variance: f64, threshold: f64) -> Self {
        let points = &series.points;
        let shortest = points.len().div_ceil(SHORTEST);
        let changes = change_points(points, PENALTY * variance, shortest);
        let segments =
            merged(execution.values, segments(execution.values, &changes, points.len()), threshold);
        let p = if segments.len() > 1 { p_of_clearest(points, &changes, variance) } else { 1.0 };
        let class = class(&segments, threshold);
        Self { position: execution.position, segments, class, p }
    }

    pub fn has_shifts(&self) -> bool {
        self.class != Class::Flat && self.p < SIGNIFICANT
    }

    /// True if it only becomes faster, from its slowest segment at the start to its fastest at the end.
    pub fn warms_up(&self) -> bool {
        let slowest = self.segments.iter().map(|segment| segment.level).fold(0.0, f64::max);
        let starts_slowest = self.segments.first().is_some_and(|first| first.level >= slowest);
        self.class == Class::WarmUp && starts_slowest
    }

    /// The distance of the fastest and the slowest segment, relative to the fastest.
    pub fn distance(&self) -> f64 {
        let levels = || self.segments.iter().map(|segment| segment.level);
        levels().fold(0.0, f64::max) / levels().fold(f64::INFINITY, f64::min) - 1.0
    }
}

impl Segment {
    fn new(values: &[f64], start: usize, end: usize) -> Self {
        let level = Estimator::TrimmedMean.estimate(&values[start..end], &mut Scratch::default());
        Self { start, end, level }
    }
}

/// The segments of the measurements, from changes between `points` parts of them.
fn segments(values: &[f64], changes: &[usize], points: usize) -> Vec<Segment> {
    let bound = |point: usize| point * values.len() / points;
    let segment = |(start, end)| Segment::new(values, bound(start), bound(end));
    segmentation::segments(points, changes).map(segment).collect()
}

/// Merges neighbouring segments whose levels differ by less than the threshold, the most alike first.
fn merged(values: &[f64], mut segments: Vec<Segment>, threshold: f64) -> Vec<Segment> {
    loop {
        let pairs = segments.windows(2).map(|pair| difference(pair[0].level, pair[1].level));
        let closest = pairs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match closest {
            Some((index, difference)) if difference < threshold => {
                let end = segments.remove(index + 1).end;
                segments[index] = Segment::new(values, segments[index].start, end);
            }
            _ => return segments,
        }
    }
}

/// The excess of the slower over the faster, relative to the faster.
fn difference(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b) - 1.0
}

/// An upper bound of the p value of the clearest change: that of its difference of means, times the number of points.
fn p_of_clearest(points: &[f64], changes: &[usize], variance: f64) -> f64 {
    let bounds: Vec<usize> =
        [0].into_iter().chain(changes.iter().copied()).chain([points.len()]).collect();
    let score = |three: &[usize]| {
        let (before, after) = (&points[three[0]..three[1]], &points[three[1]..three[2]]);
        let error = variance * (1.0 / before.len() as f64 + 1.0 / after.len() as f64);
        (mean(before) - mean(after)).abs() / error.sqrt()
    };
    let clearest = bounds.windows(3).map(score).fold(0.0, f64::max);
    (points.len() as f64 * normal_two_sided(clearest)).min(1.0)
}

/// Barrett's rules, with the threshold for the equivalence of segments.
fn class(segments: &[Segment], threshold: f64) -> Class {
    let Some(last) = segments.last() else { return Class::Flat };
    let unlike_last = |segment: &&Segment| difference(segment.level, last.level) >= threshold;
    let steady_from = LAST_QUARTER * last.end as f64;
    if segments.iter().all(|segment| !unlike_last(&segment)) {
        Class::Flat
    } else if segments.iter().filter(unlike_last).any(|segment| segment.end as f64 > steady_from) {
        Class::NoSteadyState
    } else if segments.iter().filter(unlike_last).any(|segment| segment.level < last.level) {
        Class::SlowDown
    } else {
        Class::WarmUp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::executions_of;

    const THRESHOLD: f64 = 0.005;

    fn class_of(levels: &[f64], lengths: &[usize]) -> Class {
        let mut end = 0;
        let segment = |(&level, &length): (&f64, &usize)| {
            end += length;
            Segment { start: end - length, end, level }
        };
        class(&levels.iter().zip(lengths).map(segment).collect::<Vec<_>>(), THRESHOLD)
    }

    #[test]
    fn classes_follow_barretts_rules() {
        assert_eq!(class_of(&[100.0], &[1000]), Class::Flat);
        assert_eq!(class_of(&[100.0, 99.8, 100.1], &[300, 300, 400]), Class::Flat);
        assert_eq!(class_of(&[130.0, 110.0, 100.0], &[100, 200, 700]), Class::WarmUp);
        assert_eq!(class_of(&[100.0, 105.0], &[300, 700]), Class::SlowDown);
        assert_eq!(class_of(&[110.0, 100.0, 105.0], &[300, 300, 400]), Class::SlowDown);
        assert_eq!(class_of(&[110.0, 100.0], &[800, 200]), Class::NoSteadyState);
        assert_eq!(class_of(&[100.0, 110.0, 100.0], &[700, 100, 200]), Class::NoSteadyState);
    }

    fn shifts(measurements: usize, value: impl Fn(usize) -> f64) -> LevelShifts {
        let mut random = Random::new(9);
        let values: Vec<Vec<f64>> = (0..6)
            .map(|_| {
                (0..measurements).map(|i| value(i) * (1.0 + 0.004 * random.normal())).collect()
            })
            .collect();
        LevelShifts::detect(&executions_of(&values), 0.0, &Options::default()).unwrap()
    }

    #[test]
    fn level_shift_is_located_in_executions_of_any_length() {
        for measurements in [200, 999, 5_000] {
            let at = measurements * 2 / 5;
            for one in shifts(measurements, |i| if i < at { 100.0 } else { 103.0 }).executions {
                assert_eq!((one.segments.len(), one.class), (2, Class::SlowDown));
                assert!(
                    one.segments[0].end.abs_diff(at) <= measurements / 100,
                    "{:?}",
                    one.segments
                );
                assert!((one.distance() - 0.03).abs() < 0.003 && one.p < SIGNIFICANT);
                assert_eq!(one.segments[1].end, measurements);
            }
        }
    }

    #[test]
    fn spikes_and_small_changes_are_no_level_shifts() {
        let spikes = shifts(400, |i| if i % 37 < 2 { 300.0 } else { 100.0 });
        assert!(spikes.executions.iter().all(|one| one.class == Class::Flat && one.p == 1.0));
        let small = shifts(4_000, |i| if i < 2_000 { 100.0 } else { 100.2 });
        assert!(small.executions.iter().all(|one| one.segments.len() == 1));
    }

    #[test]
    fn short_executions_are_skipped() {
        let short = [vec![1.0; 199]];
        let short = executions_of(&short);
        let lacking = LevelShifts::detect(&short, 0.0, &Options::default()).unwrap_err();
        assert_eq!(lacking, InsufficientData::Measurements { needed: 200, found: 199 });
    }
}
