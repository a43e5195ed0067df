//! Maps values to positions: the ends of an axis, and the round numbers on it. Pure.

/// The approximate number of labels at an axis.
const TICKS: f64 = 6.0;

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// True for a logarithmic axis.
    pub logarithmic: bool,
    /// Names in place of numbers, for 0, 1, 2 and so on.
    pub names: Vec<String>,
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis with equal factors.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { logarithmic: true, ..Self::linear(label) }
    }
}

/// The scale of an axis.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The values at both ends, as logarithms if the axis is logarithmic.
    ends: [f64; 2],
    /// The positions of both ends, in pixels.
    places: [f64; 2],
    logarithmic: bool,
    /// The values of the labels.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// A scale with room for all values that can be drawn on it.
    pub fn fit(values: impl Iterator<Item = f64>, axis: &Axis, places: [f64; 2]) -> Self {
        let logarithmic = axis.logarithmic;
        let shown = values.filter(|value| can_be_drawn(*value, logarithmic));
        let shown = shown.map(|value| if logarithmic { value.log10() } else { value });
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let ends = if axis.names.is_empty() {
            widened(low, high)
        } else {
            [-0.6, axis.names.len() as f64 - 0.4]
        };
        let ticks = match axis.names.len() {
            0 if logarithmic => powers(ends),
            0 => round_numbers(ends),
            names => (0..names).map(|index| index as f64).collect(),
        };
        Self { ends, places, logarithmic, ticks }
    }

    /// True if a value is on the scale.
    pub fn has(&self, value: f64) -> bool {
        can_be_drawn(value, self.logarithmic)
    }

    /// The position of a value on the scale.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        let [low, high] = self.ends;
        let [first, last] = self.places;
        first + (last - first) * (value - low) / (high - low)
    }
}

/// The number of decimals that distinguishes these round numbers.
pub fn decimals(ticks: &[f64]) -> usize {
    let step = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    (0..9).find(|digits| step >= 0.9 * 0.1_f64.powi(*digits)).unwrap_or(9).unsigned_abs() as usize
}

fn can_be_drawn(value: f64, logarithmic: bool) -> bool {
    value.is_finite() && (!logarithmic || value > 0.0)
}

/// The ends with a little room, and some around a single value or none.
fn widened(low: f64, high: f64) -> [f64; 2] {
    if low > high {
        return [0.0, 1.0];
    }
    let room = if high > low { 0.04 * (high - low) } else { (0.05 * low.abs()).max(0.5e-9) };
    [low - room, high + room]
}

/// Multiples of 1, 2 or 5 times a power of ten.
#[expect(clippy::cast_possible_truncation, reason = "a power of ten within the range of floats")]
fn round_numbers([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let power = 10_f64.powi(rough.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power);
    let first = (low / step).ceil();
    let numbers = (0..20).map(|index| (first + f64::from(index)) * step);
    // Adding 0.0 turns a negative zero into a positive one.
    numbers.take_while(|number| *number <= high).map(|number| number + 0.0).collect()
}

/// Powers of ten, or of two if there would be too few.
#[expect(clippy::cast_possible_truncation, reason = "a power within the range of floats")]
fn powers([low, high]: [f64; 2]) -> Vec<f64> {
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    if last - first >= 1 {
        let step = usize::try_from((last - first) / 8 + 1).unwrap_or(1);
        return (first..=last).step_by(step).map(|power| 10_f64.powi(power)).collect();
    }
    let two = 2_f64.log10();
    let (first, last) = ((low / two).ceil() as i32, (high / two).floor() as i32);
    (first..=last).map(|power| 2_f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(values: &[f64], axis: &Axis) -> Scale {
        Scale::fit(values.iter().copied(), axis, [0.0, 100.0])
    }

    #[test]
    fn scale_covers_all_values_with_round_ticks() {
        let scale = scale(&[15.2, 19.5], &Axis::linear("ns"));
        assert!(scale.place(15.2) > 0.0 && scale.place(19.5) < 100.0);
        assert_eq!(scale.ticks, [16.0, 17.0, 18.0, 19.0]);
        assert_eq!(decimals(&scale.ticks), 0);
        assert_eq!(decimals(&[0.05, 0.1, 0.15]), 2);
    }

    #[test]
    fn logarithmic_scale_has_equal_steps_for_equal_factors() {
        let scale = scale(&[1.0, 10.0, 100.0], &Axis::logarithmic("iterations"));
        let [a, b, c] = [1.0, 10.0, 100.0].map(|value| scale.place(value));
        assert!(((b - a) - (c - b)).abs() < 1e-9);
        assert_eq!(scale.ticks, [1.0, 10.0, 100.0]);
        assert!(!scale.has(0.0) && !scale.has(-1.0) && !scale.has(f64::INFINITY));
    }

    #[test]
    fn scale_accepts_one_value_or_none() {
        for values in [&[][..], &[3.0], &[0.0], &[f64::NAN]] {
            for axis in [Axis::linear("x"), Axis::logarithmic("x")] {
                let scale = scale(values, &axis);
                assert!(scale.place(3.0).is_finite());
                assert!(scale.ticks.len() < 20);
            }
        }
    }
}
