//! Draws plots in a few lines of text.

use crate::{diagnosis, stats::median};

/// Eight heights.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character for each value, from the minimum to the maximum. Equal values are all low; a value
/// that is no number is a dot.
pub fn sparkline(values: &[f64]) -> String {
    between(values, [f64::INFINITY, f64::NEG_INFINITY])
}

/// Like [`sparkline`], with a range that covers at least `low` to `high`.
pub fn between(values: &[f64], [low, high]: [f64; 2]) -> String {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = (finite().fold(low, f64::min), finite().fold(high, f64::max));
    let bar = |value: &f64| {
        if !value.is_finite() {
            return '·';
        }
        let share = if most > least { (value - least) / (most - least) } else { 0.0 };
        BARS[height(share)]
    };
    values.iter().map(bar).collect()
}

/// A curve of shares from 0, where a share of 0 is a space.
pub fn curve(values: &[f64]) -> String {
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let bar = |value: &f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        if share < 0.01 { ' ' } else { BARS[height(share)] }
    };
    values.iter().map(bar).collect()
}

/// A bar of these shares, each in a different shade.
pub fn shares(shares: &[f64], width: usize) -> String {
    const SHADES: [char; 4] = ['█', '▓', '▒', '░'];
    let mut text = String::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (share, shade) in shares.iter().zip(SHADES.iter().cycle()) {
        sum += share;
        let end = whole(sum * width as f64).min(width);
        text.extend(std::iter::repeat_n(*shade, end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    text
}

/// The medians of at most `count` parts of equal length.
pub fn parts(values: &[f64], count: usize) -> Vec<f64> {
    diagnosis::parts(values, count).map(|part| median(&mut part.to_vec())).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 becomes an index, and casts saturate"
)]
fn height(share: f64) -> usize {
    ((share * BARS.len() as f64) as usize).min(BARS.len() - 1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of columns, and casts saturate"
)]
fn whole(number: f64) -> usize {
    number.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparkline_spans_the_range_of_values() {
        assert_eq!(sparkline(&[1.0, f64::NAN, 1.5, 2.0]), "▁·▅█");
        assert_eq!(sparkline(&[3.0, 3.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(between(&[1.0, 1.1], [1.0, 2.0]), "▁▁");
    }

    #[test]
    fn curve_is_blank_at_zero() {
        assert_eq!(curve(&[0.0, 0.001, 0.5, 1.0]), "  ▅█");
        assert_eq!(curve(&[0.0]), " ");
    }

    #[test]
    fn shares_fill_the_width() {
        assert_eq!(shares(&[0.5, 0.25, 0.25], 8), "████▓▓▒▒");
        assert_eq!(shares(&[1.0, 0.0], 3), "███");
    }

    #[test]
    fn parts_are_medians_of_neighbours() {
        assert_eq!(parts(&[1.0, 9.0, 1.0, 5.0, 5.0, 5.0], 2), [1.0, 5.0]);
        assert_eq!(parts(&[1.0], 9), [1.0]);
        assert_eq!(parts(&[], 9), [0.0; 0]);
    }
}
