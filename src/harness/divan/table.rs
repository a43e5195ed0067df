//! Reads the table of Divan.

use std::time::Duration;

use crate::{harness::text::time_in_nanoseconds, measure::process::Output};

/// One line of the table.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
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

/// The one line with measurements, or why there is none.
pub(super) fn row(output: &Output, measurements: usize) -> Result<Row, String> {
    let text = output.to_string();
    let mut rows = text.lines().filter_map(cells);
    let Some(cells) = rows.next() else {
        return Err("it printed no measurement; is there a benchmark of this id?".to_owned());
    };
    if rows.next().is_some() {
        return Err(
            "it runs with several numbers of threads, and so is several benchmarks".to_owned()
        );
    }
    let Cells { times: [fastest, slowest, median], samples, iterations } = cells;
    if samples != measurements as u64 {
        return Err(format!("it took {samples} measurements where {measurements} were asked"));
    }
    let values = match measurements {
        1 => vec![fastest],
        2 => vec![fastest, slowest],
        _ => vec![fastest, median, slowest],
    };
    if iterations % samples != 0 {
        return Err("its measurements have different numbers of iterations".to_owned());
    }
    Ok(Row { values, iterations: iterations / samples })
}

/// What a line of the table says.
struct Cells {
    /// Fastest, slowest, median.
    times: [f64; 3],
    samples: u64,
    iterations: u64,
}

/// Reads a line from its end: names, and what a benchmark itself prints, may look like anything.
fn cells(line: &str) -> Option<Cells> {
    let mut columns = line.rsplitn(6, '│').map(str::trim);
    let iterations = columns.next()?.parse().ok()?;
    let samples = columns.next()?.parse().ok().filter(|samples| *samples > 0)?;
    let _mean = time_in_nanoseconds(columns.next()?)?;
    let median = time_in_nanoseconds(columns.next()?)?;
    let slowest = time_in_nanoseconds(columns.next()?)?;
    let first = columns.next()?;
    let value = first.rfind(char::is_whitespace).and_then(|unit| {
        let start =
            first[..unit].trim_end().rfind(char::is_whitespace).map_or(0, |space| space + 1);
        first.get(start..)
    })?;
    Some(Cells {
        times: [time_in_nanoseconds(value.trim())?, slowest, median],
        samples,
        iterations,
    })
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
        let row = row(&output(TABLE), 3).unwrap();
        assert_eq!(row, Row { values: vec![70.16, 70.32, 1500.0], iterations: 64 });
    }

    #[test]
    fn what_a_table_cannot_say_is_refused() {
        let twice = format!("{TABLE}{TABLE}");
        let uneven = TABLE.replace("192", "193");
        for (table, measurements, words) in [
            (TABLE, 2, "3 measurements where 2"),
            (&twice, 3, "threads"),
            (&uneven, 3, "different numbers"),
            ("Timer precision: 30 ns\n", 3, "no measurement"),
        ] {
            let reason = row(&output(table), measurements).unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }

    #[test]
    fn the_iterations_for_a_time_follow_the_fastest_and_fit_the_command_line() {
        let of = |fastest| Row { values: vec![fastest], iterations: 1 };
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
