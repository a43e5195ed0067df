//! Reads the table of Divan.

use std::time::Duration;

use super::time::ShownTime;
use crate::{
    model::{Metric, Series},
    process::Output,
};

/// The one line with measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) fastest: ShownTime,
    pub(super) slowest: ShownTime,
    pub(super) median: ShownTime,
    pub(super) mean: ShownTime,
    pub(super) samples: u64,
    /// The iterations of each sample. A measurement that stands for several samples counts those of one:
    /// so it shows how long a sample takes.
    pub(super) iterations: u64,
}

impl Row {
    /// How many iterations last `floor`, by the fastest sample.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    pub(super) fn iterations_for(&self, floor: Duration) -> u64 {
        let iterations = (floor.as_secs_f64() * 1e9 / self.fastest.value).ceil() as u64;
        // Divan's command line takes 32 bits.
        iterations.clamp(1, u32::MAX.into())
    }

    /// Its measurements: all samples if these are at most three, as many as were requested, and else one
    /// for all of them. Of more than three it is the median, and of fewer their mean: they are more than
    /// requested with threads, each of which takes some.
    pub(super) fn series(&self, requested: usize) -> Series {
        let times = match requested {
            4.. => vec![self.median],
            _ if self.samples != requested as u64 => vec![self.mean],
            1 => vec![self.fastest],
            2 => vec![self.fastest, self.slowest],
            _ => vec![self.fastest, self.median, self.slowest],
        };
        let resolution = times.iter().map(|time| time.step).fold(0.0, f64::max);
        self.series_of(times.into_iter().map(|time| time.value).collect(), resolution)
    }

    /// A series of these times per iteration in ns.
    pub(super) fn series_of(&self, values: Vec<f64>, resolution: f64) -> Series {
        let iterations = vec![self.iterations; values.len()];
        Series { metric: Metric::wall(), values, iterations, resolution }
    }
}

/// The line with measurements, or why there is none.
pub(super) fn row(output: &Output) -> Result<Row, String> {
    let text = output.to_string();
    let mut rows = text.lines().filter_map(cells);
    match (rows.next(), rows.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err("it printed no measurement; does a benchmark with this id \
                          exist?"
            .to_owned()),
        _ => Err("it printed several lines with measurements, not one".to_owned()),
    }
}

/// Reads a line from its end: names, and what a benchmark itself prints, may look like anything.
fn cells(line: &str) -> Option<Row> {
    let mut columns = line.rsplitn(6, '│').map(str::trim);
    let iterations: u64 = columns.next()?.parse().ok()?;
    let samples = columns.next()?.parse().ok().filter(|samples| *samples > 0)?;
    let mean = ShownTime::read(columns.next()?)?;
    let median = ShownTime::read(columns.next()?)?;
    let slowest = ShownTime::read(columns.next()?)?;
    let mut words = columns.next()?.split_whitespace().rev();
    let unit = words.next()?;
    let fastest = ShownTime::read(&format!("{} {unit}", words.next()?))?;
    Some(Row { fastest, slowest, median, mean, samples, iterations: iterations / samples })
}

#[cfg(test)]
pub(super) fn row_of(nanoseconds: f64, iterations: u64) -> Row {
    let time = ShownTime { value: nanoseconds, step: 0.1 };
    Row { fastest: time, slowest: time, median: time, mean: time, samples: 1, iterations }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output(text: &str) -> Output {
        Output { head: text.as_bytes().to_vec(), ..Output::default() }
    }

    const TABLE: &str = "Timer precision: 30 ns\n\
        same                        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
        ╰─ inner                                  │               │               │               │         │\n   \
           ╰─ a \"name\" │ with bars  70.16 ns      │ 1.5 µs        │ 70.32 ns      │ 70.32 ns      │ 3       │ 192\n                              \
              1.3 GB/s      │ 1.297 GB/s    │ 1.297 GB/s    │ 1.298 GB/s    │         │\n";

    #[test]
    fn three_measurements_are_read_from_the_table() {
        let series = row(&output(TABLE)).unwrap().series(3);
        assert_eq!(series.values, [70.16, 70.32, 1500.0]);
        assert_eq!(series.iterations, [64; 3]);
        assert!((series.resolution - 1.0).abs() < 1e-9, "the coarsest: {}", series.resolution);
    }

    #[test]
    fn more_samples_than_requested_are_their_mean() {
        let table = "a   fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ╰─ b 1 ns    │ 9 ns    │ 2 ns   │ 4 ns │ 16      │ 32\n";
        let row = row(&output(table)).unwrap();
        assert_eq!((row.series(3).values, row.iterations), (vec![4.0], 2));
    }

    #[test]
    fn of_more_than_three_samples_the_median_is_one_measurement_with_the_iterations_of_a_sample() {
        let table = "a   fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ╰─ b 1 ns    │ 9 ns    │ 2.5 µs │ 4 µs │ 52      │ 2080\n";
        for requested in [4, 50, 52] {
            let series = row(&output(table)).unwrap().series(requested);
            assert_eq!((series.values, series.iterations), (vec![2500.0], vec![40]));
            assert!((series.resolution - 1.0).abs() < 1e-9, "its own: {}", series.resolution);
        }
    }

    #[test]
    fn a_table_without_exactly_one_line_of_measurements_is_refused() {
        let twice = format!("{TABLE}{TABLE}");
        for (table, words) in
            [(&twice[..], "several lines"), ("Timer precision: 30 ns\n", "no measurement")]
        {
            let reason = row(&output(table)).unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }

    #[test]
    fn the_iterations_for_a_time_follow_the_fastest_and_fit_the_command_line() {
        let of = |fastest| row_of(fastest, 1);
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
