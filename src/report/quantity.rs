//! Quantities for people.

use std::time::Duration;

/// A time in the unit that suits it: `950 ms`, `2.10 s`, `3 min 20 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 99.995 {
        format!("{seconds:.2} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

/// A time per iteration, with four digits: `0.2501 ns`, `3.806 µs`, `12.40 ms`.
pub fn nanoseconds(time: f64) -> String {
    four_digits(time, 1000.0, ["ns", "µs", "ms", "s"])
}

/// A measured size, with four digits: `3.400 MiB`.
pub fn measured_bytes(size: f64) -> String {
    four_digits(size, 1024.0, ["B", "KiB", "MiB", "GiB"])
}

/// A measured number of `things`, with four digits: `1.235 M instructions`.
pub fn measured_count(number: f64, things: &str) -> String {
    let text = four_digits(number, 1000.0, ["", "k", "M", "G"]);
    format!("{} {things}", text.trim_end())
}

fn four_digits(mut value: f64, step: f64, units: [&str; 4]) -> String {
    let mut unit = 0;
    while value >= step - 0.05 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value {
        value if value >= 99.995 => 1,
        value if value >= 9.9995 => 2,
        value if value >= 0.99995 => 3,
        _ => 4,
    };
    format!("{value:.decimals$} {}", units[unit])
}

/// A number of things: `1 benchmark`, `7 benchmarks`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A size in the unit that suits it: `512 B`, `3.4 MiB`.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut value = size as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{size} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let text = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!(text(0.07), "70 ms");
        assert_eq!(text(2.1), "2.10 s");
        assert_eq!(text(200.4), "3 min 20 s");
    }

    #[test]
    fn times_per_iteration_have_four_digits() {
        assert_eq!(nanoseconds(0.2501), "0.2501 ns");
        assert_eq!(nanoseconds(3806.0), "3.806 µs");
        assert_eq!(nanoseconds(12_400_000.0), "12.40 ms");
        assert_eq!(nanoseconds(999.96), "1.000 µs");
    }

    #[test]
    fn measured_sizes_and_counts_have_four_digits() {
        assert_eq!(measured_bytes(3_565_158.0), "3.400 MiB");
        assert_eq!(measured_count(1_234_567.0, "instructions"), "1.235 M instructions");
        assert_eq!(measured_count(87.3, "cycles"), "87.30 cycles");
    }

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3_565_158), "3.4 MiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
    }
}
