//! The log of a run, to trace an error on another machine, such as a CI job, afterwards.
//!
//! Modules emit spans and events of `tracing`: phases with their durations, child processes, decisions, requests. All
//! of them go to a file of the run; `-v` and [`VARIABLE`] also print some on standard error. Every line passes through
//! this module, so it alone ensures that the log
//!
//! - disturbs no measurement: while a process runs that may measure, lines wait in memory ([`hold`]);
//! - has no secret: [`secrets`] replaces them, wherever they appear;
//! - has one line per event, without control sequences for a terminal;
//! - stays small: the newest `KEPT` files of at most `LARGEST` bytes each;
//! - never fails a run: if no file can be written, there is none.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use jiff::Timestamp;
use tracing::{Level, Metadata, info, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::Targets,
    fmt::{MakeWriter, format::FmtSpan},
};

use crate::{
    error::{Context as _, Exit, Result},
    escape::escape_untrusted,
    secrets,
};

/// Selects printed log lines without `-v`: `info`, `debug`, or only those of a module, `cargo_rbench::builds=debug`.
pub const VARIABLE: &str = "RBENCH_LOG";

/// Target of events whose text is printed anyway: they only go to the file.
pub const PRINTED: &str = "printed";

/// Most files in a directory, apart from those that other runs still write.
const KEPT: usize = 20;

/// Largest size of a file, in bytes.
const LARGEST: usize = 8 << 20;

/// Bytes kept from the beginning of a file that has become too large: versions and first decisions.
const BEGINNING: usize = 1 << 20;

/// The longest line of a file, in bytes. Linkers are called with thousands of words.
const LONGEST_LINE: usize = 8 << 10;

static LOG: Mutex<Log> = Mutex::new(Log::new());

static PATH: OnceLock<PathBuf> = OnceLock::new();

/// Starts to log spans and events of this `command`, which was typed as `typed`. With `quiet`, no line is printed;
/// otherwise `verbose` (the number of `-v`) or else the value of [`VARIABLE`] selects the printed lines. Fails if that
/// value is invalid.
pub fn start(command: &str, typed: &str, verbose: u8, quiet: bool) -> Result<()> {
    let variable = std::env::var(VARIABLE).unwrap_or_default();
    let printed = match verbose {
        _ if quiet => Targets::new(),
        0 if variable.is_empty() => Targets::new(),
        0 => variable
            .parse()
            .context(Exit::Usage, || format!("cannot use {VARIABLE}={variable}"))
            .map_err(|error| error.hint("use `info`, `debug` or `cargo_rbench::MODULE=debug`"))?,
        1 => Targets::new().with_default(LevelFilter::INFO),
        _ => Targets::new().with_default(LevelFilter::DEBUG),
    };
    command.clone_into(&mut lock().command);
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(Writer { printed })
        .finish();
    // It fails only if there is a subscriber already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let directory = std::env::current_dir().unwrap_or_default();
    info!("cargo-rbench {}: {typed}, in {}", env!("CARGO_PKG_VERSION"), directory.display());
    Ok(())
}

/// Writes all lines of this run, including earlier ones, to a new file in this directory. Only the first call after
/// [`start`] has an effect.
pub fn keep_in(directory: &Path) {
    let mut log = lock();
    if log.command.is_empty() || log.file.is_some() {
        return;
    }
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let path = directory.join(format!("{time}-{}-{}.log", log.command, std::process::id()));
    log.file = LogFile::create(&path).ok();
    if log.file.is_some() {
        let _ = PATH.set(path);
    }
    log.flush();
}

/// The file of this run, if it has one. Safe to call in a signal handler.
pub fn path() -> Option<&'static Path> {
    PATH.get().map(PathBuf::as_path)
}

/// Keeps all lines in memory until this guard and all others are dropped.
pub fn hold() -> Held {
    lock().held += 1;
    Held(())
}

/// While it lives, nothing is written, since a running process may be measuring.
#[must_use]
#[derive(Debug)]
pub struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        lock().release();
    }
}

fn lock() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of a run before they are written.
struct Log {
    command: String,
    /// Number of guards that forbid writing.
    held: usize,
    /// Lines for standard error that wait for the last guard.
    unprinted: String,
    /// Lines for the file that wait for the last guard, or for the file.
    unwritten: String,
    file: Option<LogFile>,
}

impl Log {
    const fn new() -> Self {
        Self {
            command: String::new(),
            held: 0,
            unprinted: String::new(),
            unwritten: String::new(),
            file: None,
        }
    }

    fn add(&mut self, text: &str, is_printed: bool) {
        let line = line(text);
        if is_printed {
            self.unprinted += &line;
            self.unprinted.push('\n');
        }
        self.unwritten += beginning(&line, LONGEST_LINE);
        self.unwritten.push('\n');
        self.flush();
    }

    fn release(&mut self) {
        self.held -= 1;
        self.flush();
    }

    fn flush(&mut self) {
        if self.held > 0 {
            return;
        }
        // A closed standard error is no reason to stop.
        let _ = io::stderr().write_all(self.unprinted.as_bytes());
        self.unprinted.clear();
        if let Some(file) = &mut self.file {
            // On a full disk, the log ends here.
            let _ = self.unwritten.split_inclusive('\n').try_for_each(|line| file.append(line));
            self.unwritten.clear();
        }
    }
}

/// An event as one line, without control sequences.
fn line(text: &str) -> String {
    escape_untrusted(text.trim_end_matches('\n')).into_owned()
}

/// The beginning of a line, at most `longest` bytes.
fn beginning(line: &str, longest: usize) -> &str {
    let end = (0..=longest.min(line.len())).rfind(|end| line.is_char_boundary(*end));
    &line[..end.unwrap_or_default()]
}

/// A log file that keeps its first and its newest lines.
struct LogFile {
    file: File,
    length: usize,
}

impl LogFile {
    /// Creates a new file, and removes the oldest ones in its directory.
    fn create(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        // If the user's git does not ignore the target directory, it must not find the logs.
        fs::write(directory.join(".gitignore"), "*\n")?;
        remove_oldest(directory);
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        // The lock keeps other runs from removing it as an old one.
        let _ = file.try_lock();
        Ok(Self { file, length: 0 })
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        if self.length + line.len() > LARGEST {
            let mut text = Vec::with_capacity(self.length);
            self.file.rewind()?;
            self.file.read_to_end(&mut text)?;
            let text = shortened(&text);
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(&text)?;
            self.length = text.len();
        }
        self.file.write_all(line.as_bytes())?;
        self.length += line.len();
        Ok(())
    }
}

/// Whole lines from the beginning, and the newer half of the others.
fn shortened(text: &[u8]) -> Vec<u8> {
    let end_of_line = |from: usize| {
        let rest = text[from..].iter().position(|byte| *byte == b'\n');
        rest.map_or(text.len(), |length| from + length + 1)
    };
    let beginning = end_of_line(BEGINNING.min(text.len()));
    let newer = end_of_line(usize::midpoint(beginning, text.len()));
    [&text[..beginning], b"(lines are missing here)\n", &text[newer..]].concat()
}

/// Makes room for one more file. Names start with the time, and files that are still written are locked.
fn remove_oldest(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(io::Result::ok);
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let mut logs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_log).collect();
    logs.sort();
    let superfluous = (logs.len() + 1).saturating_sub(KEPT);
    for path in &logs[..superfluous] {
        if File::open(path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Decides where each event goes.
struct Writer {
    printed: Targets,
}

impl MakeWriter<'_> for Writer {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { is_printed: false }
    }

    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Line {
        let (target, level) = (metadata.target(), metadata.level());
        Line { is_printed: target != PRINTED && self.printed.would_enable(target, level) }
    }
}

/// Takes the text of one event, which arrives in one piece.
struct Line {
    is_printed: bool,
}

impl Write for Line {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        lock().add(&secrets::text(text), self.is_printed);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_in(directory: &Path) -> (Log, PathBuf) {
        let path = directory.join("20261102T140500Z-compare-1.log");
        let file = Some(LogFile::create(&path).unwrap());
        (Log { file, ..Log::new() }, path)
    }

    #[test]
    fn held_lines_are_written_with_the_last_guard() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, path) = log_in(directory.path());
        let written = || fs::read_to_string(&path).unwrap();
        log.add("before\n", false);
        log.held = 2;
        log.add("while it measures\n", false);
        log.release();
        assert_eq!(written(), "before\n", "another process still measures");
        log.release();
        assert_eq!(written(), "before\nwhile it measures\n");
    }

    #[test]
    fn earlier_lines_come_first_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::new();
        log.add("the command line\n", false);
        let (with_file, path) = log_in(directory.path());
        log.file = with_file.file;
        log.add("a phase\n", false);
        assert_eq!(fs::read_to_string(path).unwrap(), "the command line\na phase\n");
    }

    #[test]
    fn event_is_one_line_without_escapes() {
        let text = "it printed: one\n\x1b[31mred\u{202e}\n";
        assert_eq!(line(text), r"it printed: one\n\u{1b}[31mred\u{202e}");
    }

    #[test]
    fn line_length_is_limited() {
        let mut log = Log::new();
        log.add(&"ä".repeat(LONGEST_LINE), false);
        assert_eq!(log.unwritten.len(), LONGEST_LINE + 1);
    }

    #[test]
    fn growing_file_keeps_its_beginning_and_end() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, path) = log_in(directory.path());
        let lines = 2 * LARGEST / 1000;
        for number in 0..lines {
            log.add(&format!("{number:1000}"), false);
            assert!(log.file.as_ref().unwrap().length <= LARGEST);
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() <= LARGEST && text.len() > LARGEST / 2, "{}", text.len());
        let mut numbers = text.lines().map(|line| line.trim().parse::<usize>().ok());
        assert_eq!(numbers.next(), Some(Some(0)));
        assert_eq!(numbers.next_back(), Some(Some(lines - 1)));
        assert!(numbers.any(|number| number.is_none()), "it says that lines are missing");
    }

    #[test]
    fn newest_and_open_files_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path =
            |number: usize| directory.path().join(format!("20261102T1405{number:02}Z-run-1.log"));
        let running = LogFile::create(&path(0)).unwrap();
        for number in 1..=KEPT + 2 {
            drop(LogFile::create(&path(number)).unwrap());
        }
        let left: Vec<usize> = (0..=KEPT + 2).filter(|number| path(*number).exists()).collect();
        let newest = 3..=KEPT + 2;
        assert_eq!(left, [0].into_iter().chain(newest).collect::<Vec<_>>());
        drop(running);
        drop(LogFile::create(&path(KEPT + 3)).unwrap());
        assert!(!path(0).exists());
        assert_eq!(fs::read_to_string(directory.path().join(".gitignore")).unwrap(), "*\n");
    }
}
