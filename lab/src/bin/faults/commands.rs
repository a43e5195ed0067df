//! Faults at whole commands: signals, limits of the shell, a clock that is set, and damaged bytes in the store, the
//! cache and exported results. Afterwards nothing stored may be lost, nothing may be left, no answer may be another
//! one, and the same command must succeed.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::store::Store;
use rbench_stats::Random;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    left::Left,
    patience::usual,
    sandbox_words,
    tally::{Finding, Tally, Wrong},
    watch::watched,
};

const PATIENCE: Duration = Duration::from_secs(120);

/// Comparisons of two versions of which one has thirty times the work, with as little work as possible.
const COMPARE: &[&str] = &[
    "compare",
    "HEAD~1",
    "HEAD",
    "--config",
    "build.strategy=relink",
    "-l",
    "3",
    "-m",
    "1",
    "-n",
    "5",
    "--config",
    "experiment.warm-up=2ms",
    "--config",
    "experiment.min-time=200us",
    "--format",
    "json",
];
const STORED: &[&str] = &["compare", "HEAD~1", "HEAD", "--stored", "--format", "json"];
const RUN: &[&str] = &["run", "HEAD", "-l", "2", "-m", "1", "-n", "5"];
const BUILD: &[&str] = &["build", "HEAD~1", "HEAD", "-l", "2"];
const EXPORT: &[&str] = &["push", "-"];
const IMPORT: &[&str] = &["pull", EXPORTED];
const CLEAN: &[&str] = &["clean", "--max-size", "1"];

/// Commands that read the store; their whole output is their answer.
const READING: [&[&str]; 4] =
    [STORED, &["history", "--format", "json"], &["history", "HEAD", "--format", "json"], EXPORT];
const WRITING: [&[&str]; 5] = [COMPARE, RUN, BUILD, IMPORT, CLEAN];

/// The file of exported results, in the working tree, where git ignores it.
const EXPORTED: &str = "target/results.jsonl";

/// A library for `LD_PRELOAD` that sets the wall clock after some time.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static struct timespec first;
    if (!real) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        real(CLOCK_MONOTONIC, &first);
    }
    int result = real(id, now);
    if (id == CLOCK_REALTIME && result == 0) {
        struct timespec since;
        const char *step = getenv("CLOCK_STEP");
        real(CLOCK_MONOTONIC, &since);
        long passed = (since.tv_sec - first.tv_sec) * 1000 + (since.tv_nsec - first.tv_nsec) / 1000000;
        if (step && passed > 150) now->tv_sec += atol(step);
    }
    return result;
}
"#;

enum Fault {
    /// A signal after a part of the usual duration.
    Signal(Signal),
    /// A limit of the shell: the option of `ulimit`, and its value.
    Limit(char, usize),
    /// The wall clock is set by seconds.
    Clock(i64),
    Byte(Damaged),
}

/// What has a damaged byte.
#[derive(Clone, Copy)]
enum Damaged {
    Store,
    Cache,
    Exported,
}

impl Fault {
    fn name(&self) -> String {
        match self {
            Self::Signal(Signal::KILL) => "SIGKILL".to_owned(),
            Self::Signal(Signal::INT) => "SIGINT".to_owned(),
            Self::Signal(_) => "SIGTERM".to_owned(),
            Self::Limit('f', _) => "file size".to_owned(),
            Self::Limit('v', _) => "memory".to_owned(),
            Self::Limit(..) => "descriptors".to_owned(),
            Self::Clock(_) => "clock set".to_owned(),
            Self::Byte(Damaged::Store) => "byte in the store".to_owned(),
            Self::Byte(Damaged::Cache) => "byte in the cache".to_owned(),
            Self::Byte(Damaged::Exported) => "byte in exported results".to_owned(),
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Throws `count` faults, and prints the findings; true if there are none.
pub fn run(home: &Path, count: usize, is_confined: bool, mut random: Random) -> Result<bool> {
    let project = lab::Project::compared()?;
    let mut commands = Commands::new(home, &project, is_confined)?;
    let left = Left::watching(project.scratch(), &std::env::temp_dir());
    let mut tally = Tally::default();
    for number in 0..count {
        let (words, fault) = draw(number, &mut random);
        let mut found = commands.throw(words, &fault, &mut random)?;
        found.extend(left.found().into_iter().map(|what| (Wrong::Left, what)));
        left.kill();
        tally.add(&words[0..2].join(" "), fault.name(), &number.to_string(), &found);
    }
    Ok(tally.print())
}

/// The command and the fault of a trial. Damage to the store is quick to try, so most trials are that.
fn draw(number: usize, random: &mut Random) -> (&'static [&'static str], Fault) {
    let writing = WRITING[random.below(WRITING.len())];
    let reading = READING[random.below(READING.len())];
    let signal = [Signal::KILL, Signal::TERM, Signal::INT][random.below(3)];
    match number % 10 {
        0..=3 => (reading, Fault::Byte(Damaged::Store)),
        4 => (IMPORT, Fault::Byte(Damaged::Exported)),
        5 => (COMPARE, Fault::Byte(Damaged::Cache)),
        6 | 7 => (writing, Fault::Signal(signal)),
        8 => (
            writing,
            match random.below(3) {
                0 => Fault::Limit('f', 1 << random.below(14)),
                1 => Fault::Limit('v', 20_000 << random.below(7)),
                _ => Fault::Limit('n', 4 + random.below(40)),
            },
        ),
        _ if random.chance(0.3) => {
            let day = 86_400;
            (COMPARE, Fault::Clock([-day, -60, 3600, 400 * day][random.below(4)]))
        }
        _ => (reading, Fault::Limit(['v', 'n'][random.below(2)], 4 + random.below(60_000))),
    }
}

/// Runs commands in a project whose store has one comparison.
struct Commands<'p> {
    rbench: PathBuf,
    tree: &'p Path,
    clock: PathBuf,
    cache: PathBuf,
    /// Words that turn the sandbox on.
    sandbox: Vec<String>,
    /// The store before each trial, and everything in it.
    store: Vec<u8>,
    experiment: String,
    rows: String,
    exported: Vec<u8>,
    /// The outputs of [`READING`].
    answers: Vec<Vec<u8>>,
    /// The usual durations of [`WRITING`].
    durations: Vec<Duration>,
}

impl<'p> Commands<'p> {
    fn new(home: &Path, project: &'p lab::Project, is_confined: bool) -> Result<Self> {
        let (source, clock) = (home.join("clock.c"), home.join("clock.so"));
        fs::write(&source, CLOCK)?;
        let files = [clock.as_os_str(), source.as_os_str()];
        let options = ["-shared", "-fPIC", "-O1", "-ldl", "-o"];
        if !Command::new("cc").args(options).args(files).status()?.success() {
            return Err("cc cannot compile the library that sets the clock".into());
        }
        let mut commands = Self {
            rbench: lab::rbench::build("release")?,
            tree: project.tree.path(),
            clock,
            cache: home.join("cache"),
            sandbox: if is_confined { sandbox_words().to_vec() } else { Vec::new() },
            store: Vec::new(),
            experiment: String::new(),
            rows: String::new(),
            exported: Vec::new(),
            answers: Vec::new(),
            durations: Vec::new(),
        };
        commands.succeed(COMPARE)?;
        commands.store = fs::read(commands.store_path())?;
        commands.experiment = commands.first_identity()?;
        commands.rows = commands.stored()?;
        commands.exported = commands.succeed(EXPORT)?.stdout;
        fs::write(commands.tree.join(EXPORTED), &commands.exported)?;
        for words in READING {
            commands.answers.push(commands.succeed(words)?.stdout);
        }
        for words in WRITING {
            commands.restore()?;
            let begin = Instant::now();
            commands.succeed(words)?;
            commands.durations.push(begin.elapsed());
        }
        Ok(commands)
    }

    fn store_path(&self) -> PathBuf {
        self.tree.join(".rbench/results.sqlite")
    }

    /// Gives the project the store and the exported results that it had at first.
    fn restore(&self) -> Result<()> {
        let store = self.store_path();
        fs::remove_dir_all(store.parent().ok_or("no directory")?)?;
        fs::create_dir(store.parent().ok_or("no directory")?)?;
        fs::write(store, &self.store)?;
        Ok(fs::write(self.tree.join(EXPORTED), &self.exported)?)
    }

    fn first_identity(&self) -> Result<String> {
        let store = Store::open(&self.store_path(), &|| {})?;
        let experiments = store.experiments()?;
        Ok(store.identity(experiments.first().ok_or("there is no experiment")?.id)?)
    }

    /// Everything that is stored of the first experiment. It is found by its identity: where the clock was set back,
    /// a later one seems to have started earlier.
    fn stored(&self) -> Result<String> {
        let store = Store::open(&self.store_path(), &|| {})?;
        let is_first = |id| store.identity(id).is_ok_and(|identity| identity == self.experiment);
        let experiments = store.experiments()?;
        let first = experiments.into_iter().find(|one| is_first(one.id));
        let first = first.ok_or("the experiment is not stored any more")?;
        let mut text = format!("{:?} {:?}", first.plan, first.finished);
        for benchmark in store.benchmarks()? {
            let rows = store.rows(&benchmark, &[first.id])?;
            text += &format!("{benchmark:?} {rows:?}\n");
        }
        Ok(text)
    }

    fn throw(
        &mut self,
        words: &[&str],
        fault: &Fault,
        random: &mut Random,
    ) -> Result<Vec<Finding>> {
        self.restore()?;
        let damage = match fault {
            Fault::Byte(damaged) => Some(self.damage(*damaged, random)?),
            _ => None,
        };
        let mut found = Vec::new();
        let output = self.faulty(words, fault, random)?;
        let Some(output) = output else { return Ok(vec![(Wrong::Hang, words.join(" "))]) };
        found.extend(self.check(words, fault, &output));
        if let Some((path, damaged, original)) = damage {
            for (_, what) in &mut found {
                *what += &format!("; damaged: {}", path.display());
            }
            // What rbench repaired stays.
            if fs::read(&path).is_ok_and(|now| now == damaged) {
                fs::write(&path, original)?;
            }
        }
        if matches!(fault, Fault::Byte(Damaged::Store)) {
            return Ok(found);
        }
        match self.stored() {
            Ok(rows) if rows == self.rows => {}
            Ok(_) => found.push((Wrong::Lost, "stored results differ".to_owned())),
            Err(error) => found.push((Wrong::Lost, error.to_string())),
        }
        let again = self.start(words, None)?;
        match end(again)? {
            None => found.push((Wrong::Hang, format!("again: {}", words.join(" ")))),
            Some(output) => {
                if !matches!(output.status.code(), Some(0 | 1)) {
                    found.push((Wrong::Error, format!("again: {}", said(&output))));
                }
                found.extend(self.other_answer(words, &output));
            }
        }
        Ok(found)
    }

    /// Damages a byte; returns the file, its content, and what it was.
    fn damage(&self, what: Damaged, random: &mut Random) -> Result<(PathBuf, Vec<u8>, Vec<u8>)> {
        let path = match what {
            Damaged::Store => self.store_path(),
            Damaged::Exported => self.tree.join(EXPORTED),
            Damaged::Cache => {
                let mut files = Vec::new();
                collect(&self.cache, &mut files)?;
                collect(&self.tree.join("target/rbench"), &mut files)?;
                files.sort();
                files.swap_remove(random.below(files.len()))
            }
        };
        let original = fs::read(&path)?;
        let mut damaged = original.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        fs::write(&path, &damaged)?;
        Ok((path, damaged, original))
    }

    /// The output of a command with a fault; none if it hung.
    fn faulty(&self, words: &[&str], fault: &Fault, random: &mut Random) -> Result<Option<Output>> {
        let child = match fault {
            Fault::Limit(option, value) => {
                // A process that ignores the signal gets an error, as of a full disk.
                let script = format!("trap '' XFSZ; ulimit -{option} {value}; exec \"$0\" \"$@\"");
                self.start(words, Some(&script))?
            }
            Fault::Clock(step) => {
                let script = format!(
                    "CLOCK_STEP={step} LD_PRELOAD='{}' exec \"$0\" \"$@\"",
                    self.clock.display()
                );
                self.start(words, Some(&script))?
            }
            Fault::Byte(_) => self.start(words, None)?,
            Fault::Signal(signal) => {
                let child = self.start(words, None)?;
                let place = WRITING.iter().position(|one| *one == words).ok_or("no duration")?;
                let most = usize::try_from(self.durations[place].as_micros())?;
                thread::sleep(Duration::from_micros(random.below(most + 1) as u64));
                kill_process(Pid::from_child(&child), *signal)?;
                child
            }
        };
        end(child)
    }

    fn check(&self, words: &[&str], fault: &Fault, output: &Output) -> Vec<Finding> {
        let text = String::from_utf8_lossy(&output.stderr);
        let mut found = Vec::new();
        if text.contains("panicked at src") {
            found.push((Wrong::Error, said(output)));
        }
        let is_ended_by = |signal: Signal| output.status.signal() == Some(signal.as_raw());
        match (output.status.code(), fault) {
            (Some(0 | 1), _) => found.extend(self.other_answer(words, output)),
            (Some(2..=4), _) if text.contains("error:") => {}
            (None, Fault::Signal(signal)) if is_ended_by(*signal) => {}
            // The loader, or the allocator, has no memory for any message of ours.
            (Some(130), Fault::Signal(_)) | (None | Some(127), Fault::Limit('v' | 'n', _)) => {}
            _ => {
                let verdicts = verdicts(&output.stdout);
                found.push((Wrong::Error, format!("{}; verdicts: {verdicts:?}", said(output))));
            }
        }
        found
    }

    fn other_answer(&self, words: &[&str], output: &Output) -> Option<Finding> {
        if let Some(place) = READING.iter().position(|one| *one == words) {
            let is_same = output.stdout == self.answers[place];
            return (!is_same)
                .then(|| (Wrong::Answer, format!("another output: {}", said(output))));
        }
        if words != COMPARE {
            return None;
        }
        let verdicts = verdicts(&output.stdout);
        let is_right = verdicts.get("changing").is_some_and(|one| one == "regressed")
            && verdicts.get("steady").is_some_and(|one| one != "regressed" && one != "improved");
        (!is_right).then(|| (Wrong::Answer, format!("{verdicts:?}: {}", said(output))))
    }

    fn start(&self, words: &[&str], script: Option<&str>) -> Result<Child> {
        let mut command = match script {
            Some(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script]).arg(&self.rbench);
                command
            }
            None => Command::new(&self.rbench),
        };
        command.args(words).args(&self.sandbox).current_dir(self.tree);
        command.env("RBENCH_CACHE_DIR", &self.cache);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    fn succeed(&self, words: &[&str]) -> Result<Output> {
        let output = end(self.start(words, None)?)?.ok_or("it hangs")?;
        match output.status.code() {
            Some(0 | 1) => Ok(output),
            _ => Err(format!("{}: {}", words.join(" "), said(&output)).into()),
        }
    }
}

/// The output of a command; none if it had to be killed.
fn end(child: Child) -> Result<Option<Output>> {
    let id = Pid::from_child(&child);
    let kill = || {
        let _ = kill_process(id, Signal::KILL);
    };
    let (output, hung) = watched(usual(PATIENCE), kill, || child.wait_with_output());
    Ok(Some(output?).filter(|_| !hung))
}

/// The files below a directory that are not empty.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && entry.metadata()?.len() > 0 {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// The verdict of each benchmark of a comparison in JSON; none if it is not that.
fn verdicts(json: &[u8]) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_slice(json).unwrap_or_default();
    let rows = report["benchmarks"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdict = |row: &Value| match text(&row["verdict"]).as_str() {
        "failed" => format!("failed: {}", row["reason"]),
        verdict => verdict.to_owned(),
    };
    rows.iter().map(|row| (text(&row["id"]), verdict(row))).collect()
}

/// The status and the last lines of a command.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    format!("{}: {}", output.status, lines.into_iter().rev().collect::<Vec<_>>().join(" | "))
}
