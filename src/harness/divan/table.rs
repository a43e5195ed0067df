//! Reads the table of Divan.

use std::time::Duration;

use crate::{harness::text::time_in_nanoseconds, process::Output};

/// One line of the table.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// The number of threads as Divan shows it (`t=2`), where a benchmark runs with several.
    pub(super) threads: Option<String>,
    /// Nanoseconds per iteration of each measurement, in ascending order.
    pub(super) values: Vec<f64>,
    /// The iterations of each measurement.
    pub(super) iterations: u64,
}

impl Row {
    /// How many iterations last `floor`, by the fastest measurement.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    pub(super) fn iterations_for(&self, floor: Duration) -> u64 {
        let fastest = self.values.first().copied().unwrap_or(f64::INFINITY);
        let wanted = (floor.as_secs_f64() * 1e9 / fastest).ceil() as u64;
        // Divan's command line takes 32 bits.
        wanted.clamp(1, u32::MAX.into())
    }
}

/// The lines with measurements, or why there is none.
///
/// There are several when a benchmark runs with several numbers of threads.
pub(super) fn rows(output: &Output, measurements: usize) -> Result<Vec<Row>, String> {
    let text = output.to_string();
    let rows: Vec<_> =
        text.lines().filter_map(cells).map(|cells| cells.row(measurements)).collect();
    match &rows[..] {
        [] => Err("it printed no measurement; is there a benchmark of this id?".to_owned()),
        [_] => Ok(rows),
        _ if rows.iter().all(|row| row.threads.is_some()) => Ok(rows),
        _ => Err("it printed the measurements of several benchmarks".to_owned()),
    }
}

/// What a line of the table says.
struct Cells<'l> {
    threads: Option<&'l str>,
    fastest: f64,
    slowest: f64,
    median: f64,
    mean: f64,
    samples: u64,
    iterations: u64,
}

impl Cells<'_> {
    /// The measurements: all of them if these are as many as were asked, and else, as happens with
    /// threads, each of which takes some, their mean as one.
    fn row(&self, measurements: usize) -> Row {
        let threads = self.threads.map(str::to_owned);
        if self.samples != measurements as u64 || !self.iterations.is_multiple_of(self.samples) {
            return Row { threads, values: vec![self.mean], iterations: self.iterations };
        }
        let values = match measurements {
            1 => vec![self.fastest],
            2 => vec![self.fastest, self.slowest],
            _ => vec![self.fastest, self.median, self.slowest],
        };
        Row { threads, values, iterations: self.iterations / self.samples }
    }
}

/// Reads a line from its end: names, and what a benchmark itself prints, may look like anything.
fn cells(line: &str) -> Option<Cells<'_>> {
    let mut columns = line.rsplitn(6, '│').map(str::trim);
    let iterations = columns.next()?.parse().ok()?;
    let samples = columns.next()?.parse().ok().filter(|samples| *samples > 0)?;
    let mean = time_in_nanoseconds(columns.next()?)?;
    let median = time_in_nanoseconds(columns.next()?)?;
    let slowest = time_in_nanoseconds(columns.next()?)?;
    let mut words = columns.next()?.split_whitespace().rev();
    let unit = words.next()?;
    let fastest = time_in_nanoseconds(&format!("{} {unit}", words.next()?))?;
    let threads = words.next().filter(|name| is_thread_count(name));
    Some(Cells { threads, fastest, slowest, median, mean, samples, iterations })
}

/// Whether a name is a benchmark's number of threads, which is no part of its id: `t=2`.
pub(super) fn is_thread_count(name: &str) -> bool {
    name.strip_prefix("t=").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output(text: &str) -> Output {
        Output { head: text.as_bytes().to_vec(), ..Output::default() }
    }

    fn row(threads: Option<&str>, values: &[f64], iterations: u64) -> Row {
        Row { threads: threads.map(str::to_owned), values: values.to_vec(), iterations }
    }

    const TABLE: &str = "Timer precision: 30 ns\n\
        same                        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
        ╰─ inner                                  │               │               │               │         │\n   \
           ╰─ a \"name\" │ with bars  70.16 ns      │ 1.5 µs        │ 70.32 ns      │ 70.32 ns      │ 3       │ 192\n                              \
              1.3 GB/s      │ 1.297 GB/s    │ 1.297 GB/s    │ 1.298 GB/s    │         │\n";

    #[test]
    fn three_measurements_are_read_from_the_table() {
        let rows = rows(&output(TABLE), 3).unwrap();
        assert_eq!(rows, [row(None, &[70.16, 70.32, 1500.0], 64)]);
    }

    #[test]
    fn each_number_of_threads_is_a_row_and_more_samples_than_asked_are_their_mean() {
        let table = "a  fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ╰─ b       │         │        │      │         │\n   \
                        ├─ t=1  1 ns    │ 3 ns    │ 2 ns   │ 2 ns │ 3       │ 9\n   \
                        ╰─ t=16 1 ns    │ 9 ns    │ 2 ns   │ 4 ns │ 16      │ 32\n";
        let rows = rows(&output(table), 3).unwrap();
        assert_eq!(rows, [row(Some("t=1"), &[1.0, 2.0, 3.0], 3), row(Some("t=16"), &[4.0], 32)]);
    }

    #[test]
    fn what_a_table_cannot_say_is_refused() {
        let twice = format!("{TABLE}{TABLE}");
        for (table, words) in
            [(&twice[..], "several benchmarks"), ("Timer precision: 30 ns\n", "no measurement")]
        {
            let reason = rows(&output(table), 3).unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }

    #[test]
    fn the_iterations_for_a_time_follow_the_fastest_and_fit_the_command_line() {
        let of = |fastest| row(None, &[fastest], 1);
        assert_eq!(of(70.0).iterations_for(Duration::from_micros(7)), 100);
        assert_eq!(of(1e9).iterations_for(Duration::from_micros(7)), 1);
        assert_eq!(of(0.0).iterations_for(Duration::from_secs(7)), u64::from(u32::MAX));
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in "[│ 0-9.a-zµé\\t]{0,80}") {
            let _ = cells(&line);
        }
    }
}
