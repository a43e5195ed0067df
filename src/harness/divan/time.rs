//! Times as Divan shows them: cut after four digits.

/// How many digits it shows.
const DIGITS: i32 = 4;

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShownTime {
    pub(super) value: f64,
    /// The step to the next time that would be shown with another text.
    pub(super) step: f64,
}

impl ShownTime {
    /// Reads, for instance, `1.5 µs`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (number, unit) = text.split_once(' ')?;
        let unit = nanoseconds(unit.trim_start())?;
        let value = number.parse::<f64>().ok()?;
        let whole = number.split('.').next().map_or(0, str::len);
        let fraction = DIGITS.saturating_sub(i32::try_from(whole).unwrap_or(DIGITS)).max(0);
        Some(Self { value: value * unit, step: unit * 10_f64.powi(-fraction) })
    }
}

/// A unit of time.
fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "μs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit_with_the_step_that_their_digits_leave() {
        for (text, value, step) in [
            ("250 ps", 0.25, 1e-4),
            ("70.16 ns", 70.16, 0.01),
            ("0.251 ns", 0.251, 1e-3),
            ("1.5 µs", 1500.0, 1.0),
            ("123.4 ms", 123.4e6, 1e5),
            ("2 s", 2e9, 1e6),
            ("1234 h", 1234.0 * 3600e9, 3600e9),
        ] {
            let time = ShownTime::read(text).unwrap();
            assert!((time.value - value).abs() < 1e-9 * value, "{text}: {time:?}");
            assert!((time.step - step).abs() < 1e-9 * step, "{text}: {time:?}");
        }
    }

    #[test]
    fn nothing_else_is_a_time() {
        for text in ["", "ns", "1", "1.3 GB/s", "x ns"] {
            assert_eq!(ShownTime::read(text), None, "{text}");
        }
    }
}
