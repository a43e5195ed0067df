//! Formats quantities for people, with units and a sensible number of digits, and dates in UTC, so
//! that a report is the same everywhere. Pure.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rbench_stats::{Change, Interval};
use serde::{Serialize, Serializer};

use crate::model::{SampleSizes, Throughput, Unit, rfc3339_of_seconds};

/// The maximum number of benchmarks or functions named in a list.
pub const MOST_NAMES: usize = 8;

/// The change above which digits say nothing.
const LARGE: f64 = 1000.0;

/// The smallest detectable change above which it is only called large: very few builds show next to
/// nothing.
const LARGE_SIZE: f64 = 10.0;

/// The p value below which it is only called small.
const SMALLEST_P: f64 = 1e-300;

/// A note on the values of a table. Other tables may have other builds, estimators or experiments.
pub const VALUES: &str =
    "values (± their CI) are comparable only within one table and one experiment";

/// A time in a suitable unit: `950 ms`, `2.10 s`, `3 min 20 s`.
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

/// An estimated time, no more precise than it is known: `about 30 s`, `about 4 min`, `about 2 h`.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let rounded = |unit: f64, step: f64| (seconds / unit / step).round().max(1.0) * step;
    if seconds < 55.0 {
        format!("about {:.0} s", rounded(1.0, 10.0))
    } else if seconds < 9.5 * 60.0 {
        format!("about {:.0} min", rounded(60.0, 1.0))
    } else if seconds < 57.5 * 60.0 {
        format!("about {:.0} min", rounded(60.0, 5.0))
    } else {
        format!("about {:.0} h", rounded(3600.0, 1.0))
    }
}

/// A number of things: `1 benchmark`, `7 benchmarks`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A number of iterations: `1 iteration`, `1000 iterations`.
pub fn iterations(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "iteration")
}

/// A factor, as of an impact or an F test: `1.25`, or `infinite`.
pub fn factor(factor: f64) -> String {
    if factor.is_finite() { format!("{factor:.2}") } else { "infinite".to_owned() }
}

/// The number of things that a list does not name, to append to it: ` and 3 more`, or nothing.
pub fn and_more(all: usize, most: usize) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// The size of an experiment: `5 builds × 1 execution × 5 measurements`.
pub fn sample_sizes(sizes: SampleSizes) -> String {
    let SampleSizes { builds, executions, measurements, .. } = sizes;
    let analyses = sizes.interim_analyses();
    let builds =
        if analyses.is_fixed() { count(builds, "build") } else { format!("{analyses} builds") };
    let [executions, measurements] = [(executions, "execution"), (measurements, "measurement")]
        .map(|(number, thing)| count(number, thing));
    format!("{builds} × {executions} × {measurements}")
}

/// A size in a suitable unit: `512 B`, `3.4 MiB`.
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

/// The change of the size of a function's stack frame, to append to its other sizes: `, stack 24 ->
/// 88 bytes`. Empty if both sizes are equal, or one is unknown.
pub fn change_of_stack(base: Option<u64>, head: Option<u64>) -> String {
    match (base, head) {
        (Some(base), Some(head)) if base != head => format!(", stack {base} -> {head} bytes"),
        _ => String::new(),
    }
}

/// A measured value with four digits: `4.384 µs`, `3.400 MiB`, `1.235 M instructions`.
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => four_digits(value, 1000.0, ["ns", "µs", "ms", "s"]),
        Unit::Bytes => four_digits(value, 1024.0, ["B", "KiB", "MiB", "GiB"]),
        Unit::Instructions | Unit::Cycles | Unit::Allocations => {
            let (number, things) = (count_of(value), unit.name());
            let things = if number == "1" { things.trim_end_matches('s') } else { things };
            format!("{number} {things}")
        }
    }
}

/// Like [`value`], without the unit that the metric's name implies: `4.384 µs`, `1.235 M`.
pub fn value_of_metric(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds | Unit::Bytes => self::value(value, unit),
        Unit::Instructions | Unit::Cycles | Unit::Allocations => count_of(value),
    }
}

/// A count with four digits, or a small integer without decimals: `1.235 M`, `2.500`, `3`.
fn count_of(value: f64) -> String {
    if value.fract() == 0.0 && value < 1000.0 {
        return format!("{value:.0}");
    }
    four_digits(value, 1000.0, ["", "k", "M", "G"]).trim_end().to_owned()
}

/// The half-width of an interval as a share of its center: `± 1.9 %`.
pub fn plus_minus(interval: &Interval) -> String {
    // A count of 0 is as exact as any other.
    let width = interval.half_width();
    let percent = if width > 0.0 { 100.0 * width / interval.center } else { 0.0 };
    if percent < 99.95 { format!("± {percent:.1} %") } else { "± >99 %".to_owned() }
}

/// The throughput of an iteration of this many nanoseconds: `1.034 GiB/s`.
pub fn rate(throughput: Throughput, nanoseconds: f64) -> String {
    let per_second = |amount: u64| amount as f64 / (nanoseconds * 1e-9);
    match throughput {
        Throughput::Bytes(amount) | Throughput::BytesDecimal(amount) => {
            format!("{}/s", value(per_second(amount), Unit::Bytes))
        }
        Throughput::Bits(amount) => format!("{:.4e} bits/s", per_second(amount)),
        Throughput::Elements(amount) => format!("{:.4e} elements/s", per_second(amount)),
    }
}

/// A signed share: `+1.64 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", bare_percent(share))
}

/// A signed share without the percent sign: `+1.64`.
pub fn bare_percent(share: f64) -> String {
    // Adding 0.0 turns a negative zero into a positive one.
    let percent = 100.0 * share + 0.0;
    if share > LARGE {
        format!(">{:+.0}", 100.0 * LARGE)
    } else if percent >= 999.95 {
        format!("{percent:+.0}")
    } else if percent >= 99.995 {
        format!("{percent:+.1}")
    } else {
        format!("{percent:+.2}")
    }
}

/// A reported change: `+1.64 %`, or `from 0`, because a change from 0 has no percentage.
pub fn changed(share: f64) -> String {
    if share == f64::INFINITY { "from 0".to_owned() } else { percent(share) }
}

/// A reported change with its interval: `+1.64 % (-5.85 .. +2.76)`, or `from 0`.
pub fn changed_within(&Change { estimate, low, high }: &Change) -> String {
    format!("{} {}", changed(estimate), range_in_brackets(low, high)).trim_end().to_owned()
}

/// An interval of shares beside their percentage: `-5.85 .. +2.76`. Empty for a change from 0.
pub fn range(low: f64, high: f64) -> String {
    if low == f64::INFINITY {
        return String::new();
    }
    format!("{} .. {}", bare_percent(low), bare_percent(high))
}

/// An interval to append to a change: `(-5.85 .. +2.76)`.
pub fn range_in_brackets(low: f64, high: f64) -> String {
    let range = range(low, high);
    if range.is_empty() { range } else { format!("({range})") }
}

/// An unsigned share: `1 %`, `0.25 %`, and `0.0012 %` below a hundredth of a percent.
pub fn size(share: f64) -> String {
    if share > LARGE_SIZE {
        return format!("more than {:.0} %", 100.0 * LARGE_SIZE);
    }
    let percent = 100.0 * share;
    let decimals = match percent {
        percent if percent >= 0.01 || percent <= 0.0 => 2,
        percent if percent >= 0.001 => 4,
        percent if percent >= 0.0001 => 5,
        _ => return format!("{percent:.0e} %"),
    };
    format!("{} %", trimmed(percent, decimals))
}

/// A share that a user chose, with all its digits: `5 %`, `99.99 %`; `any size` if unlimited.
pub fn exact(share: f64) -> String {
    if share == f64::INFINITY {
        return "any size".to_owned();
    }
    let percent = 100.0 * share;
    // Drops the rounding error of the multiplication: 0.07 is 7.000000000000001 %.
    let text = trimmed(percent, 9);
    let is_lost = text == "0" && share > 0.0 || text == "100" && share < 1.0;
    if is_lost { format!("{percent} %") } else { format!("{text} %") }
}

fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A named p value: `p 0.012`, `p 2e-13`, `p < 1e-300`.
pub fn p_value(p: f64) -> String {
    if p < SMALLEST_P { format!("p < {SMALLEST_P:e}") } else { format!("p {}", probability(p)) }
}

/// A probability: `0.012`, `2e-13`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

fn four_digits(mut value: f64, step: f64, units: [&str; 4]) -> String {
    if value == 0.0 {
        return format!("0 {}", units[0]);
    }
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

/// The day of a Unix time in seconds: `2026-11-02`; empty if no calendar has that time.
pub fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d").to_string())
}

/// A time to the minute: `2026-11-02 14:05 UTC`.
pub fn minute(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// A time for programs, as RFC 3339 to the nanosecond: `2026-11-02T14:05:09.5Z`. The epoch, if no
/// calendar has that time.
pub fn rfc3339(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or_default().to_string()
}

pub fn time<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    rfc3339(*time).serialize(to)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub fn unix_time<S: Serializer>(seconds: &i64, to: S) -> Result<S::Ok, S::Error> {
    rfc3339_of_seconds(*seconds).serialize(to)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub fn optional_time<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.map(rfc3339).serialize(to)
}

pub fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_suitable_unit() {
        let text = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!(text(0.07), "70 ms");
        assert_eq!(text(2.1), "2.10 s");
        assert_eq!(text(200.4), "3 min 20 s");
    }

    #[test]
    fn estimated_times_have_few_digits() {
        let text = |seconds| about(Duration::from_secs_f64(seconds));
        assert_eq!(text(0.2), "about 10 s");
        assert_eq!(text(31.2), "about 30 s");
        assert_eq!(text(56.0), "about 1 min");
        assert_eq!(text(255.0), "about 4 min");
        assert_eq!(text(700.0), "about 10 min");
        assert_eq!(text(3500.0), "about 1 h");
        assert_eq!(text(9000.0), "about 3 h");
    }

    #[test]
    fn values_have_four_digits_and_a_suitable_unit() {
        let time = |nanoseconds| value(nanoseconds, Unit::Nanoseconds);
        assert_eq!(time(0.2501), "0.2501 ns");
        assert_eq!(time(3806.0), "3.806 µs");
        assert_eq!(time(12_400_000.0), "12.40 ms");
        assert_eq!(time(999.96), "1.000 µs");
        assert_eq!(value(3_565_158.0, Unit::Bytes), "3.400 MiB");
        assert_eq!(value(1_234_567.0, Unit::Instructions), "1.235 M instructions");
        assert_eq!(value(87.3, Unit::Cycles), "87.30 cycles");
        assert_eq!(value(3.0, Unit::Allocations), "3 allocations");
        assert_eq!(value(1.0, Unit::Allocations), "1 allocation");
        assert_eq!(value(0.0, Unit::Bytes), "0 B");
        assert_eq!(value_of_metric(1_234_567.0, Unit::Instructions), "1.235 M");
        assert_eq!(value_of_metric(0.0, Unit::Allocations), "0");
        assert_eq!(value_of_metric(3806.0, Unit::Nanoseconds), "3.806 µs");
    }

    #[test]
    fn plus_minus_shows_the_half_width() {
        let text = |half| plus_minus(&Interval::around(4384.0, half));
        assert_eq!(text(43.84), "± 1.0 %");
        assert_eq!(text(9000.0), "± >99 %");
        let nothing = Interval { center: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(plus_minus(&nothing), "± 0.0 %");
    }

    #[test]
    fn bytes_have_a_suitable_unit() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3_565_158), "3.4 MiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
    }

    #[test]
    fn change_of_stack_needs_both_sizes() {
        assert_eq!(change_of_stack(Some(24), Some(88)), ", stack 24 -> 88 bytes");
        for (base, head) in [(Some(24), Some(24)), (None, Some(88)), (Some(24), None), (None, None)]
        {
            assert_eq!(change_of_stack(base, head), "");
        }
    }

    #[test]
    fn rate_is_in_seconds() {
        assert_eq!(rate(Throughput::Bytes(1024), 1000.0), "976.6 MiB/s");
        assert_eq!(rate(Throughput::Elements(5), 1000.0), "5.0000e6 elements/s");
    }

    #[test]
    fn percent_has_only_significant_digits() {
        let texts = [0.0164, -0.0585, -0.0, 1.5, 29.0, 5000.0].map(percent);
        assert_eq!(texts, ["+1.64 %", "-5.85 %", "+0.00 %", "+150.0 %", "+2900 %", ">+100000 %"]);
        assert_eq!(range(-0.0585, 0.0276), "-5.85 .. +2.76");
        assert_eq!([0.01, 0.0025, 12.0].map(size), ["1 %", "0.25 %", "more than 1000 %"]);
    }

    #[test]
    fn changed_from_zero_has_no_percentage() {
        let from_nothing = [f64::INFINITY; 3];
        let shown =
            |[estimate, low, high]: [f64; 3]| changed_within(&Change { estimate, low, high });
        assert_eq!(shown(from_nothing), "from 0");
        assert_eq!(shown([0.5, 0.4, 0.6]), "+50.00 % (+40.00 .. +60.00)");
        assert_eq!(shown([f64::INFINITY, 0.5, f64::INFINITY]), "from 0 (+50.00 .. >+100000)");
        assert_eq!(range(f64::INFINITY, f64::INFINITY), "");
        assert_eq!(exact(f64::INFINITY), "any size");
    }

    #[test]
    fn size_above_zero_is_not_shown_as_zero() {
        let sizes = [0.0, 0.0001, 1.23e-5, 1e-5, 4.56e-6, 3e-12].map(size);
        assert_eq!(sizes, ["0 %", "0.01 %", "0.0012 %", "0.001 %", "0.00046 %", "3e-10 %"]);
    }

    #[test]
    fn exact_keeps_all_digits() {
        let chosen = [0.95, 0.07, 0.9999, 1.0 - 0.0001, 1e-5, 0.12345, 0.0, 1.0].map(exact);
        let texts = ["95 %", "7 %", "99.99 %", "99.99 %", "0.001 %", "12.345 %", "0 %", "100 %"];
        assert_eq!(chosen, texts);
        assert_ne!(exact(1.0 - 1e-13), "100 %");
        assert_ne!(exact(1e-14), "0 %");
    }

    #[test]
    fn p_value_is_never_zero() {
        assert_eq!([0.0124, 2e-13, 0.0].map(p_value), ["p 0.012", "p 2e-13", "p < 1e-300"]);
    }
}

#[cfg(test)]
mod date_tests {
    use super::*;

    #[test]
    fn dates_are_in_universal_time() {
        assert_eq!(day(1_700_000_000), "2023-11-14");
        assert_eq!(day(i64::MAX), "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(minute(time), "2023-11-14 22:13 UTC");
        assert_eq!(rfc3339(time + Duration::from_millis(500)), "2023-11-14T22:13:20.5Z");
        assert_eq!(rfc3339_of_seconds(1_700_000_000).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(rfc3339_of_seconds(i64::MAX), None);
    }
}
