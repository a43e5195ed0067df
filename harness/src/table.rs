//! The table of a plain `cargo bench`.

use std::fmt;

use crate::{bencher::Throughput, measure::Measured};

/// The line above the rows.
pub(crate) const HEADING: Heading = Heading;

/// The line above the rows, as a `Display` type.
pub(crate) struct Heading;

impl fmt::Display for Heading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", line("benchmark", "median", "lowest", "highest", "iterations", ""))
    }
}

/// The row of one benchmark: times per iteration, and the number of iterations of each measurement.
pub(crate) fn row(id: &str, throughput: Option<Throughput>, measured: &Measured) -> String {
    let mut times: Vec<f64> = measured
        .times
        .iter()
        .map(|time| time.as_secs_f64() * 1e9 / measured.iterations as f64)
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    let (Some(lowest), Some(highest)) = (times.first(), times.last()) else {
        return line(id, "", "", "", "", "");
    };
    let median = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
    let iterations = format!("{} x {}", times.len(), measured.iterations);
    let rate = throughput.map_or_else(String::new, |throughput| rate(throughput, median));
    line(id, &time(median), &time(*lowest), &time(*highest), &iterations, &rate)
}

fn line(
    id: &str,
    median: &str,
    lowest: &str,
    highest: &str,
    iterations: &str,
    rate: &str,
) -> String {
    let line =
        format!("{id:<32} {median:>10} {lowest:>10} {highest:>10}  {iterations:>16}  {rate}");
    line.trim_end().to_owned()
}

/// A time in nanoseconds, with four digits and a suitable unit.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", four_digits(value))
}

/// The amount of data per second if one iteration takes `nanoseconds`.
fn rate(throughput: Throughput, nanoseconds: f64) -> String {
    let (amount, unit) = match throughput {
        Throughput::Bytes(bytes) => (bytes, "B/s"),
        Throughput::Elements(elements) => (elements, "elements/s"),
    };
    let (value, prefix) = match amount as f64 / nanoseconds * 1e9 {
        rate if rate < 1e3 => (rate, ""),
        rate if rate < 1e6 => (rate / 1e3, "k"),
        rate if rate < 1e9 => (rate / 1e6, "M"),
        rate => (rate / 1e9, "G"),
    };
    format!("{} {prefix}{unit}", four_digits(value))
}

fn four_digits(value: f64) -> String {
    let decimals = match value {
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        value if value < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(iterations: u64, times: &[u64]) -> Measured {
        Measured {
            iterations,
            tuned: true,
            warm_up: Duration::ZERO,
            warm_up_iterations: 0,
            times: times.iter().copied().map(Duration::from_nanos).collect(),
        }
    }

    #[test]
    fn row_shows_times_per_iteration_under_the_headings() {
        let row = row("parse/64", Some(Throughput::Bytes(64)), &measured(10, &[300, 100, 240]));
        assert_eq!(
            format!("{HEADING}\n{row}"),
            "benchmark                            median     lowest    highest        iterations\n\
             parse/64                           24.00 ns   10.00 ns   30.00 ns            3 x 10  \
             2.667 GB/s"
        );
    }

    #[test]
    fn median_of_an_even_number_is_between_the_middle_times() {
        assert!(row("a", None, &measured(1, &[1, 3, 5, 1000])).contains("4.000 ns"));
    }

    #[test]
    fn time_unit_follows_the_size() {
        let shown = [0.25, 1234.0, 5e6, 12.5e9].map(time);
        assert_eq!(shown, ["0.250 ns", "1.234 µs", "5.000 ms", "12.50 s"]);
    }
}
