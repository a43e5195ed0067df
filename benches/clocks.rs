//! Times a reading of each clock in a process of its own: without the interleaving library, and interleaved with another
//! process that does the same, in the process's own time. Both read the clocks through the C library's functions. The
//! library may add at most 2 ns: what it adds is part of every measured time.
//!
//! Run it with `cargo bench --bench clocks` on an idle machine.
#![expect(clippy::print_stdout, reason = "a benchmark reports to the terminal")]
#![expect(unsafe_code, reason = "the clocks are functions of the C library")]

use std::{
    env, fmt::Write as _, fs, hint::black_box, path::Path, process::Command, thread, time::Instant,
};

use cargo_rbench::process::{
    Interrupt, Invocation, Limits,
    interleaving::{InterleavedProcess, LIBRARY_FLAGS, LIBRARY_SOURCE, SLICE, SharedPage},
    run,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const READINGS: u32 = 400;
const ROUNDS: usize = 2_001;
/// The number of processes whose medians are compared: a process may have an unlucky address.
const PROCESSES: usize = 7;

/// A clock: its name, and a function that reads it.
type Clock = (&'static str, fn());

fn clock<const ID: libc::clockid_t>() {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is our own.
    unsafe { libc::clock_gettime(black_box(ID), &raw mut time) };
    black_box(&time);
}

fn time_of_day() {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: the place is our own.
    unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) };
    black_box(&time);
}

fn seconds() {
    // SAFETY: without a place, it only returns the time.
    black_box(unsafe { libc::time(std::ptr::null_mut()) });
}

const CLOCKS: [Clock; 9] = [
    ("CLOCK_MONOTONIC", clock::<{ libc::CLOCK_MONOTONIC }>),
    ("CLOCK_REALTIME", clock::<{ libc::CLOCK_REALTIME }>),
    ("CLOCK_MONOTONIC_RAW", clock::<{ libc::CLOCK_MONOTONIC_RAW }>),
    ("CLOCK_BOOTTIME", clock::<{ libc::CLOCK_BOOTTIME }>),
    ("CLOCK_TAI", clock::<{ libc::CLOCK_TAI }>),
    ("CLOCK_REALTIME_COARSE", clock::<{ libc::CLOCK_REALTIME_COARSE }>),
    ("CLOCK_MONOTONIC_COARSE", clock::<{ libc::CLOCK_MONOTONIC_COARSE }>),
    ("gettimeofday", time_of_day),
    ("time", seconds),
];

/// Median costs of a reading, in ns, in the order of [`CLOCKS`].
type Costs = Vec<f64>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[1..] {
        [mode, file] if mode == "measure" => Ok(fs::write(file, measure())?),
        _ => compare(),
    }
}

/// One line for each clock.
fn measure() -> String {
    let mut lines = String::new();
    for (_, read) in CLOCKS {
        let round = |_| {
            let start = Instant::now();
            (0..READINGS).for_each(|_| read());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
        };
        let _ = writeln!(lines, "{}", median((0..ROUNDS).map(round).collect()));
    }
    lines
}

fn compare() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let library = compiled_library(directory.path())?;
    let (mut alone, mut interleaved) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        alone.push(execute(directory.path(), "alone", None)?);
        let page = SharedPage::new(&library, &[0], SLICE)?;
        let members = [page.member(0, directory.path())?, page.member(1, directory.path())?];
        let both = thread::scope(|scope| {
            let other = scope.spawn(|| execute(directory.path(), "other", Some(&members[1])));
            [
                execute(directory.path(), "one", Some(&members[0])),
                other.join().unwrap_or_else(|_| Err("it panicked".into())),
            ]
        });
        for costs in both {
            interleaved.push(costs?);
        }
    }
    println!(
        "| clock | alone (ns) | interleaved (ns) | difference (ns) |\n| --- | --- | --- | --- |"
    );
    for (index, (name, _)) in CLOCKS.iter().enumerate() {
        let of = |all: &[Costs]| median(all.iter().map(|costs| costs[index]).collect());
        let (alone, interleaved) = (of(&alone), of(&interleaved));
        println!("| `{name}` | {alone:.1} | {interleaved:.1} | {:+.1} |", interleaved - alone);
    }
    Ok(())
}

fn compiled_library(directory: &Path) -> Result<std::path::PathBuf, Failure> {
    let (source, library) = (directory.join("library.rs"), directory.join("library.so"));
    fs::write(&source, LIBRARY_SOURCE)?;
    let mut command = Command::new("rustc");
    command.args(LIBRARY_FLAGS.split(' ')).arg("-o").args([&library, &source]);
    if command.status()?.success() { Ok(library) } else { Err("rustc fails".into()) }
}

/// Measures in a process of its own.
fn execute(
    directory: &Path,
    name: &str,
    member: Option<&InterleavedProcess>,
) -> Result<Costs, Failure> {
    let file = directory.join(name);
    let invocation = Invocation {
        program: env::current_exe()?,
        arguments: vec!["measure".into(), file.clone().into()],
        directory: directory.to_owned(),
        cpu: Some(0),
        ..Invocation::default()
    };
    let ended = run(&invocation, &Limits::default(), &Interrupt::new()?, member);
    // The other one must not wait for it.
    if let Some(member) = member {
        member.leave()?;
    }
    ended?;
    Ok(fs::read_to_string(file)?.lines().map(str::parse).collect::<Result<_, _>>()?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
