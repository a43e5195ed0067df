//! Draws small plots of values in text.

use crate::{report::diagnose::small::between, stats::segmentation};

/// The ratio of values within which the drawing is not stretched to its full height: noise would
/// look like a change.
const CALM: f64 = 1.05;

/// The maximum number of bars, so that the drawing fits beside the rest of a line of 80 columns.
/// More values share bars.
const WIDEST: usize = 36;

/// The sign before the first value of a new level.
const CHANGE: char = '|';

/// One character for each value, `·` for a missing one; the lowest bar is the minimum. A bar `|`
/// stands before each value at which a change is suspected. Many values share bars, which show the
/// mean of neighbours on one side of a change.
pub fn sparkline(values: &[Option<f64>], changes: &[usize]) -> String {
    let each = values.len().div_ceil(WIDEST).max(1);
    let segments: Vec<Vec<Option<f64>>> = segmentation::segments(values.len(), changes)
        .map(|(start, end)| values[start..end].chunks(each).map(mean).collect())
        .collect();
    let bars = bars(&segments.concat());
    let mut bars = bars.chars();
    let drawn =
        segments.iter().map(|segment| bars.by_ref().take(segment.len()).collect::<String>());
    drawn.collect::<Vec<_>>().join(&CHANGE.to_string())
}

/// The mean of the values that are not missing.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let there = || values.iter().flatten();
    let count = there().count();
    (count > 0).then(|| there().sum::<f64>() / count as f64)
}

fn bars(values: &[Option<f64>]) -> String {
    let numbers: Vec<f64> = values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    between(&numbers, [least, CALM * least])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparkline_spans_minimum_to_maximum() {
        assert_eq!(sparkline(&[Some(1.0), None, Some(1.5), Some(2.0)], &[]), "▁·▅█");
        assert_eq!(sparkline(&[], &[]), "");
        assert_eq!(sparkline(&[None], &[]), "·");
    }

    #[test]
    fn sparkline_keeps_small_differences_small() {
        assert_eq!(sparkline(&[Some(100.0), Some(101.0), Some(100.2)], &[]), "▁▂▁");
        assert_eq!(sparkline(&[Some(3.0), Some(3.0)], &[]), "▁▁");
    }

    #[test]
    fn sparkline_marks_a_change_before_the_new_level() {
        let values = [1.0, 1.0, 2.0, 2.0].map(Some);
        assert_eq!(sparkline(&values, &[2]), "▁▁|██");
    }

    #[test]
    fn sparkline_bars_never_mix_two_levels() {
        let values: Vec<Option<f64>> =
            (0..1000).map(|index| Some(if index < 501 { 1.0 } else { 2.0 })).collect();
        let drawn = sparkline(&values, &[501]);
        assert!(drawn.chars().count() <= WIDEST + 3, "{drawn}");
        let [before, after] = drawn.split('|').collect::<Vec<_>>()[..] else { panic!("{drawn}") };
        assert!(before.chars().all(|bar| bar == '▁') && after.chars().all(|bar| bar == '█'));
    }
}
