//! Runs cargo to compile: reads its messages as they arrive, and shows and logs its output.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use cargo_metadata::{Message, camino::Utf8PathBuf};
use tracing::debug;

use super::{
    build_env::{Event, Observer},
    compilation::BuildScript,
    config,
    run_time::OUT_DIR,
    tool,
};
use crate::{
    error::{Context, Error, Exit, Result},
    process::Tool,
    secrets,
};

/// The interval of signs of life from a compilation: some CI services end jobs that are silent for minutes.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// The error of a stable rustc about `#![feature(…)]`.
const UNSTABLE_FEATURE: &str = "error[E0554]";

/// Part of cargo's error about a package whose `rust-version` is newer than the toolchain.
const RUST_VERSION: &str = " requires rustc ";

/// Part of cargo's warning about a setting that it ignores in a profile for tests or benchmarks.
pub const IGNORED_FOR_PROFILE: &str = "` setting is ignored for `";

/// Cargo's messages about a compilation.
#[derive(Debug, Default)]
pub struct Messages {
    /// All bench targets and programs that were made.
    pub executables: Vec<Executable>,
    /// All build scripts, including those that ran earlier.
    pub scripts: Vec<BuildScript>,
    /// Files of all packages, each with the id of its package: one or more of each unit of cargo.
    pub files: Vec<(String, Utf8PathBuf)>,
    /// Cargo's sentences about settings that it ignores.
    pub ignored: Vec<String>,
}

/// The keys of the settings among `cargo_args` that cargo ignores by its sentences.
pub fn ignored_of<'m>(ignored: &'m [String], cargo_args: &[String]) -> Vec<&'m str> {
    let mut given = Vec::new();
    for word in cargo_args {
        if let Ok(config) = word.strip_prefix("--config=").unwrap_or(word).parse() {
            config::leaves(&toml::Value::Table(config), &mut Vec::new(), &mut |keys, _| {
                given.push(keys.join("."));
            });
        }
    }
    let keys = ignored.iter().filter_map(|sentence| sentence.split('`').nth(1));
    // Of a setting that exists but is ignored for benchmarks, cargo says only the last part of the key.
    let is_given = |key: &&str| {
        given.iter().any(|given| given == key || given.rsplit('.').next() == Some(key))
    };
    keys.filter(is_given).collect()
}

#[derive(Debug)]
pub struct Executable {
    pub package: String,
    pub target: String,
    /// True for a program, false for a bench target.
    pub is_program: bool,
    /// The file, at the path given to cargo.
    pub path: std::path::PathBuf,
}

/// Runs `command`, a `cargo bench --no-run` of `version` with JSON messages, to its end. `what` describes the
/// operation for errors; `log` gets the complete output of cargo.
pub fn compile(
    mut command: Command,
    version: &str,
    log: &Path,
    observer: &dyn Observer,
    what: impl Fn(&[String]) -> String,
    hints: &[String],
) -> Result<Messages> {
    let cannot_log = || format!("cannot write the log {}", log.display());
    let log_file = super::files::create_directory(log.parent().unwrap_or(Path::new(".")))
        .and_then(|()| File::create(log).context(Exit::Build, cannot_log))?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tool = Tool::spawn(&mut command)
        .map_err(|error| tool::cannot_start(command.get_program(), &error, what(&[])))?;

    let still = |since| observer.build_event(&Event::StillCompiling { version, since });
    let (messages, logged) = follow(tool.child(), log_file, observer, (SIGN_OF_LIFE, &still));
    let status = tool.wait().context(Exit::Build, || "cannot wait for cargo")?;
    debug!("cargo ended with {status}, output: {}", log.display());
    let messages = messages.context(Exit::Build, || "cannot read the messages of cargo")?;
    logged.context(Exit::Build, cannot_log)?;
    let text = std::fs::read_to_string(log)
        .context(Exit::Build, || format!("cannot read the log {}", log.display()))?;
    if status.success() {
        return Ok(Messages { ignored: ignored(&text), ..messages });
    }
    let mut error = Error::new(Exit::Build, what(&failed(&text)));
    // It may come long before the end of the output.
    if let Some(first) = first_error(&text) {
        error = error.cause(first);
    }
    error = error
        .cause(format!("cargo ended with {status}; the end of its output:"))
        .cause(indented(&tool::tail(&text)))
        .cause(format!("full output: {}", log.display()));
    // What to do comes before how to see the same failure again.
    if text.contains(UNSTABLE_FEATURE) {
        error = error.hint(
            "libtest's `test` and other unstable features need a nightly toolchain: use cargo \
             +nightly rbench",
        );
    }
    if text.contains(RUST_VERSION) {
        error = error
            .hint(
                "update the toolchain with `rustup update`, or choose one: cargo +TOOLCHAIN rbench",
            )
            .hint("to compile anyway: --cargo-arg=--ignore-rust-version");
    }
    if let Some(advice) = secrets::advice(&text) {
        error = error.hint(advice);
    }
    error = hints.iter().fold(error, |error, hint| error.hint(hint.as_str()));
    Err(super::files::or_full_disk(error, log))
}

/// The failed targets in the user's words: "bench target `parse`". They are read from cargo's own sentences, because
/// errors are not requested as JSON, so that they keep their colours.
fn failed(output: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for line in output.lines() {
        let quoted = |after: &str| line.strip_prefix(after)?.split_once('`');
        let name = if let Some((package, rest)) = quoted("error: could not compile `") {
            match rest.split(['(', ')', '"']).collect::<Vec<_>>().as_slice() {
                [_, "bench ", bench, ..] => format!("bench target `{bench}`"),
                [_, "bin ", program, ..] => format!("program `{program}`"),
                [_, part, ..] => format!("{} of `{package}`", part.trim()),
                _ => format!("`{package}`"),
            }
        } else if let Some((package, _)) = quoted("error: failed to run custom build command for `")
        {
            format!("build script of `{package}`")
        } else {
            continue;
        };
        if !failed.contains(&name) {
            failed.push(name);
        }
    }
    failed
}

/// Cargo's sentences about settings that it ignores.
pub fn ignored(output: &str) -> Vec<String> {
    let sentences = output.lines().filter_map(|line| line.strip_prefix("warning: "));
    // Some begin with the path of a manifest.
    let ignored = sentences.filter(|sentence| {
        let words = ["unused config key `", "unused manifest key: profile.", IGNORED_FOR_PROFILE];
        words.iter().any(|words| sentence.contains(words))
    });
    let mut ignored: Vec<String> = ignored.map(str::to_owned).collect();
    ignored.sort();
    ignored.dedup();
    ignored
}

/// The first error of rustc or cargo, with its place if it has one: `error[E0308]: mismatched types (src/lib.rs:3:5)`.
fn first_error(output: &str) -> Option<String> {
    let is_error = |line: &&str| line.starts_with("error[") || line.starts_with("error: ");
    let mut lines = output.lines();
    let error = lines.find(is_error)?;
    let place = lines.next().and_then(|next| next.trim_start().strip_prefix("--> "));
    Some(place.map_or(error.to_owned(), |place| format!("{error} ({place})")))
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |indented, line| indented + "  " + line + "\n")
}

/// Reads both outputs of the child to their end at the same time, so that neither pipe fills up. Meanwhile calls
/// `still` after each `every`.
fn follow(
    child: &mut Child,
    log: File,
    observer: &dyn Observer,
    (every, still): (Duration, &(dyn Fn(Duration) + Sync)),
) -> (io::Result<Messages>, io::Result<()>) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (running, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                still(start.elapsed());
            }
        });
        let shown = scope
            .spawn(move || stderr.map_or(Ok(()), |stderr| show_and_log(stderr, log, observer)));
        let messages =
            stdout.map_or(Ok(Messages::default()), |stdout| read(BufReader::new(stdout)));
        let shown = shown.join().unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        drop(running);
        (messages, shown)
    })
}

fn read(stdout: impl io::BufRead) -> io::Result<Messages> {
    let mut messages = Messages::default();
    for message in Message::parse_stream(stdout) {
        match message? {
            Message::CompilerArtifact(artifact) => {
                let package = artifact.package_id.repr;
                let files = artifact.filenames.into_iter().map(|file| (package.clone(), file));
                messages.files.extend(files);
                let (target, path) = (artifact.target, artifact.executable);
                if target.is_bench() || target.is_bin() || target.is_example() {
                    let is_program = !target.is_bench();
                    let made = |path: Utf8PathBuf| {
                        let (target, path) = (target.name, path.into());
                        Executable { package, target, is_program, path }
                    };
                    messages.executables.extend(path.map(made));
                }
            }
            Message::BuildScriptExecuted(script) => {
                messages.files.push((script.package_id.repr.clone(), script.out_dir.clone()));
                messages.scripts.push(script_of(script));
            }
            _ => {}
        }
    }
    Ok(messages)
}

/// A build script with the variables that cargo sets for its package: its directory, and its own output.
fn script_of(script: cargo_metadata::BuildScript) -> BuildScript {
    let directory = (OUT_DIR.to_owned(), script.out_dir.into_string());
    BuildScript {
        package_id: script.package_id.repr,
        variables: std::iter::once(directory).chain(script.env).collect(),
        libraries: script.linked_paths.into_iter().map(Utf8PathBuf::into_string).collect(),
        made: None,
    }
}

/// Passes the child's output on as it comes, without secrets, and logs it without colours and progress bars.
fn show_and_log(mut stderr: impl Read, log: File, observer: &dyn Observer) -> io::Result<()> {
    let redactor = secrets::redactor();
    let mut log = WithoutProgress { log: anstream::StripStream::new(log), line: Vec::new() };
    let mut buffer = [0; 8 * 1024];
    let mut pending = Vec::new();
    loop {
        let length = stderr.read(&mut buffer)?;
        pending.extend_from_slice(&buffer[..length]);
        let redacted = match length {
            0 => redactor.redact(&pending),
            _ => redactor.redact_beginning(&mut pending),
        };
        observer.build_event(&Event::CargoOutput(&redacted));
        log.write_all(&redacted)?;
        if length == 0 {
            return log.flush();
        }
    }
}

/// Writes lines as a terminal shows them in the end: what a carriage return lets cargo overwrite is a progress bar.
struct WithoutProgress<W> {
    log: W,
    /// What cargo has written of the present line.
    line: Vec<u8>,
}

impl<W: Write> Write for WithoutProgress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            // A carriage return may also be the first half of the end of a line, which takes nothing back.
            if *byte != b'\n' && self.line.last() == Some(&b'\r') {
                self.line.clear();
            }
            self.line.push(*byte);
            if *byte == b'\n' {
                self.log.write_all(&self.line)?;
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.line.last() != Some(&b'\r') {
            self.log.write_all(&self.line)?;
        }
        self.line.clear();
        self.log.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_has_no_progress_bars() {
        let mut log = WithoutProgress { log: Vec::new(), line: Vec::new() };
        let output: [&[u8]; 5] = [
            b"   Compiling small\n    Building [===>   ] 1/28: small \r",
            b"    Building [====>  ] 2/28: small",
            b"\rerror[E0308]: mismatched types\r",
            b"\nerror: could not compile `small` (lib)\n",
            b"    Building [=====> ] 3/28: small   \r",
        ];
        for part in output {
            log.write_all(part).unwrap();
        }
        log.flush().unwrap();
        let text = String::from_utf8(log.log).unwrap();
        let expected = ["   Compiling small", "error[E0308]: mismatched types"];
        assert_eq!(text.lines().take(2).collect::<Vec<_>>(), expected);
        assert_eq!(failed(&text), ["lib of `small`"]);
        assert!(!text.contains("Building"), "{text}");
    }

    /// Stores the output of cargo.
    #[derive(Default)]
    struct Shown(std::sync::Mutex<Vec<u8>>);

    impl Observer for Shown {
        fn build_event(&self, event: &Event<'_>) {
            if let Event::CargoOutput(bytes) = event {
                self.0.lock().unwrap().extend_from_slice(bytes);
            }
        }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn failed_targets_are_named() {
        let output = "error[E0308]: mismatched types\n\
            error: could not compile `json` (bench \"parse\") due to 1 previous error\n\
            warning: build failed, waiting for other jobs to finish...\n\
            error: could not compile `json` (bench \"parse\") due to 1 previous error\n\
            error: could not compile `text` (lib) due to 2 previous errors; 1 warning emitted\n\
            error: failed to run custom build command for `zlib v1.0.0 (/a)`\n";
        assert_eq!(
            failed(output),
            ["bench target `parse`", "lib of `text`", "build script of `zlib v1.0.0 (/a)`"]
        );
    }

    #[test]
    fn settings_that_cargo_ignores_are_found_among_the_given_ones() {
        let output = "warning: unused config key `profile.bench.codegen_units` in `--config cli option`\n\
            warning: `panic` setting is ignored for `bench` profile\n\
            warning: unused config key `build.rustflag` in `/a/.cargo/config.toml`\n\
            warning: unused variable: `x`\n";
        let ignored = ignored(output);
        assert_eq!(ignored.len(), 3);
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            ignored_of(&ignored, &words).join(" ")
        };
        assert_eq!(of(&["--config=profile.\"bench\".\"panic\"=\"abort\""]), "panic");
        let units = "profile.bench.codegen_units=1";
        assert_eq!(of(&["--config", units]), "profile.bench.codegen_units");
        assert_eq!(of(&["--config=profile.bench.codegen-units=1", "-Zx"]), "");
    }

    #[test]
    fn first_error_has_its_place() {
        let output = "warning: unused variable: `a`\n --> src/lib.rs:1:1\n  |\nerror[E0308]: mismatched types\n   \
            --> src/lib.rs:3:5\n\nerror: another\n";
        let first = first_error(output).unwrap();
        assert_eq!(first, "error[E0308]: mismatched types (src/lib.rs:3:5)");
        assert_eq!(first_error("error: no such crate\n\n --> x").unwrap(), "error: no such crate");
        assert_eq!(first_error("errors: none"), None);
    }

    #[test]
    fn unstable_features_on_a_stable_toolchain_get_a_hint() {
        let directory = tempfile::tempdir().unwrap();
        let script = "echo 'error[E0554]: `#![feature]` may not be used' >&2; exit 101";
        let what = |_: &[String]| "cannot compile".to_owned();
        let error = compile(
            shell(script),
            "HEAD",
            &directory.path().join("x.log"),
            &(),
            what,
            &["try harder".to_owned()],
        )
        .unwrap_err();
        let hints = "hint: libtest's `test` and other unstable features need a nightly toolchain: use \
                     cargo +nightly rbench\nhint: try harder";
        assert!(error.to_string().ends_with(hints), "{error}");
    }

    #[test]
    fn long_compilation_gives_signs_of_life() {
        let directory = tempfile::tempdir().unwrap();
        let (marker, log) = (directory.path().join("told"), directory.path().join("log"));
        let wait = "for _ in $(seq 1000); do [ -e \"$0\" ] && exit; sleep 0.01; done; exit 1";
        let mut command = shell(wait);
        command.arg(&marker);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = File::create(log).unwrap();
        // The script waits for this file.
        let still = |_| std::fs::write(&marker, "").unwrap();
        let (messages, logged) = follow(&mut child, log, &(), (Duration::from_millis(1), &still));
        assert!(messages.is_ok() && logged.is_ok() && child.wait().unwrap().success());
    }

    #[test]
    fn failed_compilation_shows_the_end_of_output_and_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("logs").join("x.log");
        let script =
            "for i in $(seq 100); do echo \"\u{1b}[31mline $i\u{1b}[0m\" >&2; done; exit 101";
        let shown = Shown::default();
        let error = compile(
            shell(script),
            "HEAD",
            &log,
            &shown,
            |_| "cannot compile".to_owned(),
            &["try harder".to_owned()],
        )
        .unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot compile\n  cargo ended with exit status: 101"), "{text}");
        assert!(text.contains("\n    line 100\n"), "{text}");
        assert!(!text.contains("line 70\n"), "{text}");
        assert!(
            text.ends_with(&format!("full output: {}\nhint: try harder", log.display())),
            "{text}"
        );
        assert_eq!(error.exit(), Exit::Build);
        assert!(shown.0.lock().unwrap().starts_with(b"\x1b[31mline 1\x1b"));
        assert!(std::fs::read_to_string(&log).unwrap().starts_with("line 1\nline 2\n"));
    }
}
