//! Protocol 1: the answer of a bench target's process to `cargo rbench`, as one text file.
//!
//! The file is written once, after measuring, under another name that is then renamed: so the file
//! is always complete, and its last line confirms it. Times are whole nanoseconds, so nothing is
//! rounded.
//!
//! ```text
//! rbench-harness 1                      the protocol
//! version 0.1.0                         of this crate
//! seed 7                                of the initial state; absent if none was requested
//! benchmark parse/1024                  one for each that was requested and exists
//! throughput bytes 1024                 or elements; optional
//! warm-up 100000123 4096                nanoseconds and iterations
//! iterations 512 tuned                  per measurement; tuned here or given
//! measurements 2                        followed by the time of each, all its iterations together
//! 1003412
//! 1003398
//! benchmark gpu
//! skipped no GPU here
//! benchmark parse/64
//! failed panicked: no such file
//! refused REASON                        nothing was run; or the target itself panicked
//! end 3                                 the number of benchmarks
//! ```
//!
//! A list has only the `benchmark` lines. In ids and reasons `\\`, `\n` and `\r` are escaped.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use crate::{
    arguments::Request,
    bencher::{Outcome, Task, Throughput},
    measure::{Measured, Settings},
    suite::{Driver, Record},
};

/// The protocol of this crate.
pub(crate) const VERSION: u64 = 1;

/// Carries out a request, and collects the outcomes for the answer.
pub(crate) struct Recorder<'r> {
    request: &'r Request,
    records: Vec<Record>,
    error: Option<String>,
}

impl<'r> Recorder<'r> {
    pub(crate) fn new(request: &'r Request) -> Self {
        Self { request, records: Vec::new(), error: None }
    }

    /// Records that nothing, or nothing more, can be run, because of `reason`.
    pub(crate) fn refuse(&mut self, reason: String) {
        self.error = Some(reason);
    }

    /// True if anything failed.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
            || self.records.iter().any(|record| matches!(record.outcome, Outcome::Failed(_)))
    }

    /// Writes the answer to the requested path.
    pub(crate) fn write(&self) -> io::Result<()> {
        let text = self.render(env!("CARGO_PKG_VERSION"));
        write_atomically(&self.request.output, text.as_bytes())
    }

    fn render(&self, version: &str) -> String {
        let mut text = format!("rbench-harness {VERSION}\nversion {version}\n");
        if let Some(seed) = self.request.seed {
            line(&mut text, format_args!("seed {seed}"));
        }
        for record in &self.records {
            render_record(&mut text, record);
        }
        if let Some(reason) = &self.error {
            line(&mut text, format_args!("refused {}", escaped(reason)));
        }
        line(&mut text, format_args!("end {}", self.records.len()));
        text
    }
}

impl Driver for Recorder<'_> {
    fn task(&self, id: &str) -> Task {
        if self.request.list {
            return Task::List;
        }
        if self.request.wanted.is_empty() {
            return Task::Measure(self.request.settings.clone());
        }
        match self.request.wanted.iter().find(|(wanted, _)| wanted == id) {
            None => Task::Ignore,
            Some((_, iterations)) => {
                Task::Measure(Settings { iterations: *iterations, ..self.request.settings.clone() })
            }
        }
    }

    fn ends(&mut self, record: Record) {
        self.records.push(record);
    }
}

fn render_record(text: &mut String, record: &Record) {
    line(text, format_args!("benchmark {}", escaped(&record.id)));
    match record.throughput {
        None => {}
        Some(Throughput::Bytes(bytes)) => line(text, format_args!("throughput bytes {bytes}")),
        Some(Throughput::Elements(elements)) => {
            line(text, format_args!("throughput elements {elements}"));
        }
    }
    match &record.outcome {
        Outcome::Listed | Outcome::Passed => {}
        Outcome::Measured(measured) => render_measured(text, measured),
        Outcome::Skipped(reason) => line(text, format_args!("skipped {}", escaped(reason))),
        Outcome::Failed(reason) => line(text, format_args!("failed {}", escaped(reason))),
    }
}

fn render_measured(text: &mut String, measured: &Measured) {
    let Measured { iterations, tuned, warm_up, warm_up_iterations, times } = measured;
    line(text, format_args!("warm-up {} {warm_up_iterations}", nanoseconds(*warm_up)));
    let source = if *tuned { "tuned" } else { "given" };
    line(text, format_args!("iterations {iterations} {source}"));
    line(text, format_args!("measurements {}", times.len()));
    for time in times {
        line(text, format_args!("{}", nanoseconds(*time)));
    }
}

/// Whole nanoseconds; a time that does not fit (584 years) becomes the maximum.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{words}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A user who repeats a command of rbench wants to see the answer.
    if path == Path::new("/dev/stdout") {
        return io::stdout().write_all(bytes);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(output: &Path) -> Request {
        let settings = Settings {
            measurements: 2,
            warm_up: Duration::from_millis(100),
            floor: Duration::from_millis(1),
            iterations: None,
        };
        let (output, wanted) = (output.to_owned(), vec![("a".to_owned(), Some(3))]);
        Request { protocol: Some(VERSION), output, list: false, wanted, settings, seed: Some(7) }
    }

    fn record(id: &str, throughput: Option<Throughput>, outcome: Outcome) -> Record {
        Record { id: id.to_owned(), throughput, outcome }
    }

    fn measured(iterations: u64, tuned: bool, times: &[u64]) -> Outcome {
        Outcome::Measured(Measured {
            iterations,
            tuned,
            warm_up: Duration::from_nanos(100_000_123),
            warm_up_iterations: 4096,
            times: times.iter().copied().map(Duration::from_nanos).collect(),
        })
    }

    /// The tests of cargo-rbench read the golden file too.
    #[test]
    fn answer_equals_the_golden_file() {
        let request = request(Path::new("unused"));
        let mut recorder = Recorder::new(&request);
        let bytes = Some(Throughput::Bytes(1024));
        recorder.ends(record("parse/1024", bytes, measured(512, true, &[1_003_412, 1_003_398])));
        let elements = Some(Throughput::Elements(3));
        recorder.ends(record("größe \"x\" \\ y", elements, measured(1, false, &[0, u64::MAX])));
        recorder.ends(record("gpu", None, Outcome::Skipped("no GPU here".to_owned())));
        let failed = Outcome::Failed("panicked: line 1\nC:\\line 2\r".to_owned());
        recorder.ends(record("parse/64", None, failed));
        recorder.refuse("panicked: after all".to_owned());
        assert_eq!(recorder.render("0.1.0"), include_str!("../golden/protocol-1.txt"));
        assert!(recorder.failed());
    }

    #[test]
    fn answer_is_written_completely_and_leaves_no_other_file() {
        let directory = std::env::temp_dir().join(format!("rbench-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let request = request(&directory.join("answer"));
        Recorder::new(&request).write().unwrap();
        let names: Vec<_> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["answer"]);
        assert!(fs::read_to_string(&request.output).unwrap().ends_with("\nend 0\n"));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn iterations_apply_to_their_own_id() {
        let request = request(Path::new("unused"));
        let recorder = Recorder::new(&request);
        assert!(matches!(recorder.task("b"), Task::Ignore));
        let Task::Measure(settings) = recorder.task("a") else { panic!("not measured") };
        assert_eq!(settings.iterations, Some(3));
    }
}
