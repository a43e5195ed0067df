//! Small drawings of values.

/// The eight heights of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Where all values lie within this factor, the drawing is not stretched to its whole height: noise would
/// look like news.
const CALM: f64 = 1.05;

/// One character for each value, `·` where there is none; the lowest bar is the least of them.
pub fn sparkline(values: &[Option<f64>]) -> String {
    let there = || values.iter().flatten().copied();
    let (least, most) =
        there().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let range = (most - least).max(least * (CALM - 1.0));
    let bar =
        |value: &Option<f64>| value.map_or('·', |value| BARS[height((value - least) / range)]);
    values.iter().map(bar).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 becomes an index"
)]
fn height(share: f64) -> usize {
    ((share * BARS.len() as f64) as usize).min(BARS.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_reaches_from_the_least_to_the_most() {
        assert_eq!(sparkline(&[Some(1.0), None, Some(1.5), Some(2.0)]), "▁·▅█");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[None]), "·");
    }

    #[test]
    fn small_differences_stay_small_in_a_sparkline() {
        assert_eq!(sparkline(&[Some(100.0), Some(101.0), Some(100.2)]), "▁▂▁");
        assert_eq!(sparkline(&[Some(3.0), Some(3.0)]), "▁▁");
    }
}
