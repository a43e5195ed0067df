//! Shows the error of a measurement against its length: the curve that Algorithm 1 of Chen & Revels 2016 decides on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{median, plan};

/// Relative errors against iterations per measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Length {
    /// The points by ascending iterations.
    pub points: Vec<LengthPoint>,
    /// The value to which errors are relative: the median at the most iterations, in the metric's unit per iteration.
    pub reference: f64,
    /// The iterations by the oracle of Algorithm 1, which considers only the clock.
    pub oracle: u64,
    /// The iterations in use, which take at least the minimum time.
    pub in_use: u64,
}

/// All measurements with one number of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LengthPoint {
    /// Iterations per measurement.
    pub iterations: u64,
    /// The number of measurements.
    pub measurements: usize,
    /// Their median, in the metric's unit per iteration.
    pub value: f64,
    /// The root of the mean squared relative deviation from the reference: .01 is 1 %.
    pub error: f64,
}

impl Length {
    /// Computes the curve from measurements as (iterations, value per iteration), in any order. None without any.
    pub fn from_measurements(measurements: &[(u64, f64)], in_use: u64) -> Option<Self> {
        let mut by_iterations: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for &(iterations, value) in measurements {
            by_iterations.entry(iterations).or_default().push(value);
        }
        let reference = median(by_iterations.last_entry()?.get_mut());
        let points = by_iterations.into_iter();
        let points = points
            .map(|(iterations, values)| LengthPoint::new(iterations, values, reference))
            .collect();
        let least = measurements.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
        Some(Self { points, reference, oracle: plan::oracle(least), in_use })
    }
}

impl LengthPoint {
    fn new(iterations: u64, mut values: Vec<f64>, reference: f64) -> Self {
        let squares = values.iter().map(|value| (value / reference - 1.0).powi(2));
        let error = (squares.sum::<f64>() / values.len() as f64).sqrt();
        let measurements = values.len();
        Self { iterations, measurements, value: median(&mut values), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_median_at_most_iterations() {
        let measurements = [(1, 15.0), (100, 10.0), (1, 5.0), (100, 9.0), (100, 11.0), (10, 11.0)];
        let found = Length::from_measurements(&measurements, 100).unwrap();
        assert_eq!(found.reference, 10.0);
        let points: Vec<_> = found
            .points
            .iter()
            .map(|point| (point.iterations, point.measurements, point.value))
            .collect();
        assert_eq!(points, [(1, 2, 10.0), (10, 1, 11.0), (100, 3, 10.0)]);
        assert!((found.points[0].error - 0.5).abs() < 1e-12);
        assert!((found.points[1].error - 0.1).abs() < 1e-12);
        assert_eq!(Length::from_measurements(&[], 1), None);
    }
}
