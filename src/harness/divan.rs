//! Benchmarks of Divan 0.1.18 and later, read from the table it prints.
//!
//! Divan tells no raw measurements. But when it takes three, its columns *fastest*, *median* and
//! *slowest* are those three, to four digits; so an execution has three measurements at most, and
//! their order is not known. It has no warm-up of its own: long measurements take its place.

use std::{ffi::OsString, time::Duration};

use super::{
    Conditions, Executable, Harness, check,
    executable::Process,
    text::{listed, time_in_nanoseconds},
};
use crate::{
    failure::Result,
    measure::process::{Ended, Output},
    model::{Asked, Execution, HarnessKind, Metric, Name, Series},
};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Divan;

/// The most measurements whose values the table shows.
const MOST: usize = 3;

impl Harness for Divan {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Divan
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let mut invocation =
            executable.invocation(["--list", "--format", "terse"], None, conditions);
        // It lists in a form to be read by programs for cargo-nextest alone.
        invocation.variables.push(("NEXTEST".into(), "1".into()));
        let purpose = format!("list the benchmarks of {}", executable.target);
        let process = Process { purpose, invocation, work: Duration::ZERO };
        let mut names = listed(&process.run_to_success(conditions)?.output);
        // They come in the order in which they were linked.
        names.sort();
        Ok(names)
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &Asked,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let measurements = asked.measurements.clamp(1, MOST);
        let run = |size: Option<u64>| {
            let process = Process {
                purpose: executable.purpose_of(benchmark),
                invocation: executable.invocation(
                    arguments(benchmark, measurements, size),
                    Some(asked.seed),
                    conditions,
                ),
                work: asked.least_time(),
            };
            let ended = process.run_to_success(conditions)?;
            let row = row(&ended.output, measurements)
                .map_err(|reason| process.failure(&reason, &ended.output))?;
            Ok::<_, crate::failure::Failure>((process, ended, row))
        };
        let size = match asked.iterations {
            Some(iterations) => iterations,
            None => run(None)?.2.iterations_for(asked.floor),
        };
        let (process, ended, row) = run(Some(size))?;
        let Ended { output, resources, .. } = ended;
        let series = Series {
            metric: Metric::wall(),
            iterations: vec![row.iterations; measurements],
            values: row.values,
        };
        match check::defect(&series) {
            Some(defect) => Err(process.failure(&defect, &output)),
            None => Ok(Execution {
                asked: asked.clone(),
                series: vec![series],
                throughput: Vec::new(),
                warm_up: None,
                resources,
            }),
        }
    }
}

/// The flags beat what the benchmark's attributes say.
fn arguments(benchmark: &Name, measurements: usize, size: Option<u64>) -> Vec<OsString> {
    let mut arguments = vec!["--bench".to_owned(), "--color".to_owned(), "never".to_owned()];
    arguments.extend(["--sample-count".to_owned(), measurements.to_string()]);
    if let Some(size) = size {
        arguments.extend(["--sample-size".to_owned(), size.to_string()]);
    }
    // More samples would be taken to fill a time, and the table would show no longer what each was.
    arguments
        .extend(["--min-time", "0", "--max-time", "1000000", "--exact", "--"].map(str::to_owned));
    arguments.push(benchmark.id.clone());
    arguments.into_iter().map(OsString::from).collect()
}

/// One line of the table.
#[derive(Debug, PartialEq)]
struct Row {
    /// Nanoseconds per iteration of each measurement, in ascending order.
    values: Vec<f64>,
    /// The iterations of each measurement.
    iterations: u64,
}

impl Row {
    /// How many iterations last `floor`, by the fastest measurement.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn iterations_for(&self, floor: Duration) -> u64 {
        let fastest = self.values.first().copied().unwrap_or(f64::INFINITY);
        let wanted = (floor.as_secs_f64() * 1e9 / fastest).ceil() as u64;
        // Divan's command line takes 32 bits.
        wanted.clamp(1, u32::MAX.into())
    }
}

/// The one line with measurements, or why there is none.
fn row(output: &Output, measurements: usize) -> Result<Row, String> {
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
