//! The only place that writes to the terminal: progress and notes on standard error, results on
//! standard output. Everything printed is escaped, so that untrusted text cannot control the
//! terminal.

pub mod announcement;
mod live;
mod phase;

use std::{
    collections::HashSet,
    io::{IsTerminal, Write},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anstream::ColorChoice;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use tracing::debug;

use self::{
    live::LiveTable,
    phase::{Display, LONGEST_SILENCE, Phase, Words, progress_bar},
};
use crate::{
    builds::{self, Event},
    error::{Context, Exit, Result},
    escape::{escape_untrusted, escape_untrusted_lines},
    log::PRINTED,
    measure,
    model::{Benchmark, Incident, Version},
    report::{PLAIN_COLUMNS, quantity, style},
    secrets, store,
};

/// True if progress and notes are switched off for the whole process (`--quiet`).
static QUIET: AtomicBool = AtomicBool::new(false);

/// True if log lines are printed as well (`--verbose`).
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Prints progress on standard error. On a terminal, each phase has one line that is erased when
/// the phase ends; elsewhere, progress is plain lines. Everything printed is also in the log.
pub struct Console {
    /// True if lines can be erased.
    terminal: bool,
    /// True if all output of cargo is passed on.
    verbose: bool,
    quiet: bool,
    /// True if warnings get a line, but notes and usual steps do not.
    brief: bool,
    compiling: Mutex<Option<Compiling>>,
    /// The phase in progress, if its steps are counted.
    phase: Mutex<Option<Phase>>,
    measuring: Mutex<Option<Executions>>,
    /// What a comparison in progress has shown so far.
    live: Mutex<LiveTable>,
    /// Notices already printed: each is printed once.
    notices: Mutex<HashSet<String>>,
}

impl Console {
    pub fn attach() -> Self {
        let (quiet, verbose) = (QUIET.load(Ordering::Relaxed), Self::is_verbose());
        let terminal = std::io::stderr().is_terminal();
        Self {
            terminal: terminal && !quiet && !verbose,
            verbose: terminal && verbose,
            quiet,
            brief: false,
            compiling: Mutex::default(),
            phase: Mutex::default(),
            measuring: Mutex::default(),
            live: Mutex::default(),
            notices: Mutex::default(),
        }
    }

    /// Makes all consoles created from now on print only errors and results.
    pub fn be_quiet() {
        QUIET.store(true, Ordering::Relaxed);
    }

    /// Makes all consoles created from now on print progress as permanent lines, because log lines
    /// come between them.
    pub fn be_verbose() {
        VERBOSE.store(true, Ordering::Relaxed);
    }

    /// True if log lines are printed as well.
    pub fn is_verbose() -> bool {
        VERBOSE.load(Ordering::Relaxed)
    }

    /// The width of results on standard output, in columns: the terminal's, else `COLUMNS`, else
    /// [`PLAIN_COLUMNS`].
    pub fn result_columns() -> usize {
        let terminal = terminal_size::terminal_size_of(std::io::stdout());
        let variable = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
        let columns = terminal.map(|(width, _)| width.0.into()).or_else(variable);
        columns.filter(|columns| *columns > 0).unwrap_or(PLAIN_COLUMNS)
    }

    /// Prints no note and no line about the usual steps from now on, which repeat; a terminal still shows steps while they
    /// last.
    pub const fn be_brief(&mut self) {
        self.brief = true;
    }

    /// Erases the progress of phases that an error has ended.
    pub fn erase(&self) {
        if let (Ok(mut compiling), Ok(mut phase), Ok(mut measuring)) =
            (self.compiling.lock(), self.phase.lock(), self.measuring.lock())
        {
            (*compiling, *phase, *measuring) = (None, None, None);
        }
    }

    /// Prints a line about a usual step, as [`line`](Self::line) does.
    pub fn step(&self, text: &str) {
        if self.brief {
            debug!(target: PRINTED, "(brief) {text}");
        } else {
            self.line(text);
        }
    }

    /// Prints one or more lines of progress, unless progress is switched off. Escapes the text.
    pub fn line(&self, text: &str) {
        if self.quiet {
            debug!(target: PRINTED, "(quiet) {text}");
        } else {
            self.error(text);
        }
    }

    /// Prints an error, even if progress is switched off. Escapes the text.
    pub fn error(&self, text: &str) {
        print(text);
    }

    /// Asks a question that Enter alone answers with yes. Returns `None` if nobody can answer, because standard input or
    /// standard error is no terminal, or because of `--quiet`.
    pub fn ask(&self, question: &str) -> Option<bool> {
        let stdin = std::io::stdin();
        if self.quiet || !stdin.is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        let _ = write!(anstream::stderr(), "{} [Y/n] ", escape_untrusted_lines(question));
        let mut answer = String::new();
        let read = stdin.read_line(&mut answer).unwrap_or_default();
        Some(read > 0 && is_yes(&answer))
    }

    /// Prints a line unless it was printed before.
    fn line_once(&self, text: String) {
        let Ok(mut notices) = self.notices.lock() else { return };
        if !notices.contains(&text) {
            self.line(&text);
            notices.insert(text);
        }
    }

    /// Prints a line about a usual step, or a note, unless it was printed before.
    fn step_once(&self, text: String) {
        if !self.brief {
            self.line_once(text);
        }
    }

    /// Writes a long result to standard output. A closed pipe is not an error.
    pub fn stream(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        write(&mut std::io::BufWriter::new(Indifferent(std::io::stdout().lock())))
    }

    /// Prints a result on standard output. A closed pipe is not an error.
    pub fn result(text: &str) -> Result<()> {
        match anstream::stdout().write_all(secrets::text(text.as_bytes()).as_bytes()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context(Exit::Usage, || "cannot write the result"),
        }
    }

    /// Changes the table of the comparison in progress, and draws it.
    fn change_live(&self, change: impl FnOnce(&mut LiveTable)) {
        /// The bar, and what the terminal shows above it.
        const OTHER_LINES: usize = 4;
        let (Ok(mut live), Ok(measuring)) = (self.live.lock(), self.measuring.lock()) else {
            return;
        };
        change(&mut live);
        if let Some(Executions { bar: Some(bar), .. }) = &*measuring {
            let (columns, lines) = terminal_size();
            let lines = usize::from(lines).saturating_sub(OTHER_LINES);
            let table = live.text(columns.into(), lines);
            let is_plain = anstream::AutoStream::choice(&std::io::stderr()) == ColorChoice::Never;
            let table = if is_plain { style::plain(&table) } else { table };
            bar.set_message(if table.is_empty() { table } else { format!("\n{table}") });
        }
    }

    fn compiling(&self, what: &str) {
        if !self.terminal {
            self.step(what);
        }
        if let Ok(mut compiling) = self.compiling.lock() {
            *compiling = Some(Compiling::new(what, self.terminal));
        }
    }

    /// Shows the progress of a phase after `done` of `of` steps. The first time, none is done. Steps may end in another order
    /// than they began, and one may be reported after the last.
    fn advance(&self, words: Words, [done, of]: [usize; 2]) {
        let Ok(mut phase) = self.phase.lock() else { return };
        let display = match (self.terminal, self.quiet || self.brief) {
            (true, _) => Display::Bar,
            (false, true) => Display::Nowhere,
            (false, false) => Display::Lines(print),
        };
        let begun = match phase.take().filter(|begun| begun.words == words) {
            Some(begun) if begun.of == of && done > 0 => begun,
            None if done > 0 => return,
            _ => Phase::new(words, of, display),
        };
        begun.advance(done);
        *phase = Some(begun).filter(|_| done < of);
    }

    /// Prints a line about a phase that has ended, where it has no bar.
    fn ended(&self, line: &str) {
        if !self.terminal {
            self.step(line);
        }
    }
}

impl builds::Observer for Console {
    fn build_event(&self, event: &Event<'_>) {
        match event {
            Event::Compiling { version, purpose } => {
                let what = format!("compiling {version} {purpose}");
                self.compiling(what.trim_end());
            }
            Event::StillCompiling { version, since } => {
                if !self.terminal {
                    let compiling = self.compiling.lock().ok();
                    let crates = compiling.and_then(|one| one.as_ref()?.crates());
                    let crates = crates.map_or(String::new(), |crates| format!(": {crates}"));
                    self.step(&format!("still compiling {version}, {} s{crates}", since.as_secs()));
                }
            }
            Event::CargoOutput(bytes) => {
                if self.verbose {
                    // A terminal that cannot be written to is no reason to stop.
                    let _ = std::io::stderr().write_all(bytes);
                } else if let Ok(mut compiling) = self.compiling.lock()
                    && let Some(compiling) = compiling.as_mut()
                {
                    compiling.show(bytes);
                }
            }
            Event::Compiled { version, purpose, took: Some(took) } => {
                if let Ok(mut compiling) = self.compiling.lock() {
                    *compiling = None;
                }
                let took = format!("{:.1} s", took.as_secs_f64());
                self.step(&match *purpose {
                    "" => format!("compiled {version} in {took}"),
                    purpose => format!("compiled {version} {purpose}: {took}"),
                });
            }
            Event::Compiled { version, took: None, .. } => {
                self.step_once(format!("{version} is already compiled"));
            }
            Event::CompiledAgain { done, of } => {
                let what = "both versions again, to measure the time".to_owned();
                self.advance(Words { doing: "compiling", what, units: "times" }, [*done, *of]);
                if done == of && *of > 0 {
                    let times = quantity::count(*of, "time");
                    self.ended(&format!("compiled both versions again: {times}"));
                }
            }
            Event::Linked { target, version, done, of } => {
                let what = format!("{target} of {version}");
                if done == of {
                    self.ended(&format!("linked {what} {}", quantity::count(*of, "time")));
                }
                self.advance(Words { doing: "linking", what, units: "times" }, [*done, *of]);
            }
            Event::Locked(path) => self.line(&format!(
                "waiting for another rbench process in this repository ({})",
                path.display()
            )),
            Event::Note(text) => self.step_once(format!("note: {text}")),
            Event::Warning(text) => self.line_once(format!("warning: {text}")),
        }
    }

    fn progress_columns(&self) -> Option<u16> {
        self.terminal.then(|| terminal_size().0)
    }
}

impl store::Observer for Console {
    fn store_waits(&self) {
        self.line("waiting for another rbench process that is writing results");
    }
}

impl measure::Observer for Console {
    fn incident(&self, benchmark: &Benchmark, incident: &Incident) {
        self.line_once(format!("warning: {benchmark}: {incident}"));
    }

    fn note(&self, note: &str) {
        self.step_once(format!("note: {note}"));
    }

    fn executed(&self, done: usize, of: usize) {
        let Ok(mut measuring) = self.measuring.lock() else { return };
        let is_new = measuring.is_none();
        let progress = measuring.get_or_insert_with(|| Executions::new(self.terminal, of));
        if self.terminal || !(self.quiet || self.brief) {
            progress.done(done);
        }
        if done == of {
            *measuring = None;
        }
        drop(measuring);
        if is_new {
            // What earlier blocks of the comparison have shown.
            self.change_live(|_| ());
        }
    }

    fn takes_longer(&self, expected: Duration) {
        self.line(&format!(
            "executions take longer than planned: at this pace, all of them take about {}; choose \
             some benchmarks with --filter",
            quantity::duration(expected)
        ));
    }

    fn listed(&self, version: &Version, done: usize, of: usize) {
        let what = format!("the benchmarks of {version}");
        self.advance(Words { doing: "listing", what, units: "bench targets" }, [done, of]);
    }

    fn traced(&self, version: &Version, done: usize, of: usize) {
        let what = version.to_string();
        self.advance(Words { doing: "tracing", what, units: "benchmarks" }, [done, of]);
        if !self.terminal && done == of && of > 0 {
            let benchmarks = quantity::count(of, "benchmark");
            self.step_once(format!("traced {benchmarks} of {version}"));
        }
    }
}

/// Prints one or more lines on standard error. Escapes the text.
fn print(text: &str) {
    let text = &secrets::text(text.as_bytes());
    debug!(target: PRINTED, "{text}");
    // The terminal may have been closed: that is no reason to stop.
    let _ = writeln!(anstream::stderr(), "{}", escape_untrusted_lines(text));
}

/// The columns and lines of the terminal of standard error.
fn terminal_size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| (width.0, height.0))
}

/// True for an empty line, `y` and `yes`.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes")
}

/// The progress of cargo: its last line, on a terminal in one line that is erased at the end. If
/// cargo fails, the error carries its output.
struct Compiling {
    bar: Option<ProgressBar>,
    what: String,
    last: String,
    /// The output of cargo since the last end of a line.
    unfinished: Vec<u8>,
}

impl Compiling {
    fn new(what: &str, terminal: bool) -> Self {
        let what = escape_untrusted(what).into_owned();
        let bar = terminal.then(|| {
            let style = ProgressStyle::with_template("{wide_msg}");
            let bar = ProgressBar::new_spinner()
                .with_finish(ProgressFinish::AndClear)
                .with_message(what.clone());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.tick();
            bar
        });
        Self { bar, what, last: String::new(), unfinished: Vec::new() }
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(line) = last_line(&mut self.unfinished, bytes) else { return };
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {line}", self.what));
            bar.tick();
        }
        self.last = line;
    }

    /// What cargo's progress bar says: `crate 26 of 104: small, serde(build)`.
    fn crates(&self) -> Option<String> {
        let (place, names) = self.last.split_once("] ")?.1.split_once(": ")?;
        let (done, of) = place.split_once('/')?;
        Some(format!("crate {done} of {of}: {names}"))
    }
}

/// The last complete line that is not empty, escaped; progress bars end their lines with a carriage
/// return. `unfinished` keeps the rest.
fn last_line(unfinished: &mut Vec<u8>, bytes: &[u8]) -> Option<String> {
    /// Limits the memory for output without line ends.
    const LONGEST: usize = 4096;
    unfinished.extend_from_slice(bytes);
    let end = unfinished.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'))?;
    let rest = unfinished.split_off(end);
    let complete = String::from_utf8_lossy(unfinished);
    let plain = anstream::adapter::strip_str(&complete).to_string();
    let line = plain.split(['\r', '\n']).map(str::trim).rfind(|line| !line.is_empty());
    let line = line.map(|line| escape_untrusted(line).into_owned());
    *unfinished = if rest.len() > LONGEST { Vec::new() } else { rest };
    line
}

/// The progress of executions. Drawn between two of them, never during one, to keep the CPU free.
struct Executions {
    bar: Option<ProgressBar>,
    started: Instant,
    lines: Lines,
}

impl Executions {
    /// The progress of `count` executions, the first of which starts now.
    fn new(terminal: bool, count: usize) -> Self {
        let template = "   Measuring [{bar:26}] {pos}/{len} executions, {eta} left{msg}";
        let bar = terminal.then(|| progress_bar(template, count));
        let lines = Lines { count, last: Duration::ZERO };
        Self { bar, started: Instant::now(), lines }
    }

    /// Shows that `done` executions are complete.
    fn done(&mut self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            if done == self.lines.count {
                bar.finish_and_clear();
            }
        } else if let Some(line) = self.lines.line(done, self.started.elapsed()) {
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }
}

/// The progress of executions as plain lines: one after each silence, and one at the end.
struct Lines {
    count: usize,
    /// The time of the last line, from the start.
    last: Duration,
}

impl Lines {
    /// The line to print after `done` executions and this time, if one is due.
    fn line(&mut self, done: usize, elapsed: Duration) -> Option<String> {
        let count = self.count;
        if done == count && count > 0 {
            return Some(format!(
                "measured {count} of {count} executions in {}",
                quantity::duration(elapsed)
            ));
        }
        if done == 0 || elapsed.saturating_sub(self.last) < LONGEST_SILENCE {
            return None;
        }
        self.last = elapsed;
        let rest = count.saturating_sub(done) as f64 / done as f64;
        let left = quantity::duration(elapsed.mul_f64(rest));
        Some(format!("measured {done} of {count} executions, {left} left"))
    }
}

/// A writer that ignores a closed pipe.
struct Indifferent<W>(W);

impl<W: Write> Write for Indifferent<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize, done: &[(usize, u64)]) -> Vec<String> {
        let mut lines = Lines { count, last: Duration::ZERO };
        let line =
            |(done, seconds): &(usize, u64)| lines.line(*done, Duration::from_secs(*seconds));
        done.iter().filter_map(line).collect()
    }

    #[test]
    fn enter_alone_means_yes() {
        assert!(["\n", "y\n", "Yes\r\n"].into_iter().all(is_yes));
        assert!(!["n\n", "no\n", "what?\n"].into_iter().any(is_yes));
    }

    #[test]
    fn last_line_ends_with_a_return_or_a_line_feed() {
        let mut rest = Vec::new();
        let mut last = |bytes: &[u8]| last_line(&mut rest, bytes);
        assert_eq!(
            last(b"   Compiling a v1.0.0\n\x1b[1;36m    Buil"),
            Some("Compiling a v1.0.0".into())
        );
        assert_eq!(last(b"ding\x1b[0m [=> ] 1/4: b\r"), Some("Building [=> ] 1/4: b".into()));
        assert_eq!(last(b"\x1b[K"), None);
        assert_eq!(last(b"\x07\n"), None);
    }

    #[test]
    fn crates_are_those_of_cargos_bar() {
        let mut compiling = Compiling::new("compiling HEAD", false);
        assert_eq!(compiling.crates(), None);
        compiling.show(b"    Building [====>  ] 26/104: small, serde(build)     \r");
        assert_eq!(compiling.crates().unwrap(), "crate 26 of 104: small, serde(build)");
        compiling.show(b"   Compiling small v1.0.0\n");
        assert_eq!(compiling.crates(), None);
    }

    #[test]
    fn first_execution_counts_for_the_remaining_time() {
        let first = ["measured 1 of 10 executions, 3 min 9 s left"];
        assert_eq!(lines(10, &[(0, 0), (1, 21)]), first);
    }

    #[test]
    fn lines_come_after_a_silence_and_at_the_end() {
        let done = [(1, 10), (2, 19), (3, 20), (4, 35), (10, 41), (11, 60), (100, 80)];
        assert_eq!(
            lines(100, &done),
            [
                "measured 3 of 100 executions, 10 min 46 s left",
                "measured 10 of 100 executions, 6 min 9 s left",
                "measured 100 of 100 executions in 80.00 s",
            ]
        );
    }
}
