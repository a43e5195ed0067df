//! The compared tools. Each says which of the ten functions it calls changed.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use lab::{
    WorkingTree,
    criterion::{self, Word},
    executables,
};
use serde_json::Value;

use super::make::Noise;

/// A row of a report: whether it is called changed, and whether it is shown to be unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The change in %, where the tool calls it a change.
    pub called: Option<f64>,
    pub is_shown_unchanged: bool,
    /// The tool calls it a change, with an interval that contains none.
    pub is_contradictory: bool,
    pub is_sequential: bool,
}

/// The rows by function, and the seconds that the comparison took.
pub struct Answer {
    pub rows: BTreeMap<String, Row>,
    pub seconds: f64,
    pub report: Vec<u8>,
}

/// Versions of the fixture, built for each tool.
pub struct Tools<'a> {
    rbench: PathBuf,
    tree: &'a WorkingTree,
    scratch: &'a Path,
    /// The bench target of the fixture that rbench measures.
    target: &'static str,
}

/// A tool, with the arguments that decide how long it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Rbench,
    Tango,
    Criterion,
}

impl Tool {
    pub const ALL: [Self; 3] = [Self::Rbench, Self::Tango, Self::Criterion];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Rbench => "rbench",
            Self::Tango => "tango-bench 0.9, 1 s",
            Self::Criterion => "Criterion.rs 0.8, 1 s",
        }
    }
}

impl<'a> Tools<'a> {
    pub fn new(
        tree: &'a WorkingTree,
        scratch: &'a Path,
        target: &'static str,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self { rbench: lab::rbench::build("release")?, tree, scratch, target })
    }

    /// Compares two versions by one tool. Each comparison by rbench gets other layouts.
    pub fn compare(
        &self,
        tool: Tool,
        noise: &Noise,
        versions: [&str; 2],
        seed: usize,
    ) -> Result<Answer, Box<dyn Error>> {
        match tool {
            Tool::Rbench => self.rbench(noise, versions, seed),
            Tool::Tango => self.tango(noise, versions),
            Tool::Criterion => self.criterion(noise, versions),
        }
    }

    /// Compiles and traces what a comparison needs, so that only measuring is timed.
    pub fn prepare(&self, versions: [&str; 2], others: bool) -> Result<(), Box<dyn Error>> {
        let mut command = Command::new(&self.rbench);
        command.args(["diff", versions[0], versions[1], "--bench", self.target, "--by-benchmark"]);
        self.output_of(command)?;
        for version in versions.iter().filter(|_| others) {
            self.executable(version, Tool::Criterion)?;
            self.executable(version, Tool::Tango)?;
        }
        Ok(())
    }

    fn output_of(&self, mut command: Command) -> Result<Vec<u8>, Box<dyn Error>> {
        command.current_dir(self.tree.path()).stdin(Stdio::null());
        command.env("RBENCH_CACHE_DIR", self.scratch.join("cache"));
        let output = command.output()?;
        // 1: a regression.
        if !matches!(output.status.code(), Some(0 | 1)) || output.stdout.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?}: {}: {errors}", output.status).into());
        }
        Ok(output.stdout)
    }

    fn rbench(
        &self,
        noise: &Noise,
        [base, head]: [&str; 2],
        seed: usize,
    ) -> Result<Answer, Box<dyn Error>> {
        let mut command = noise.command(&self.rbench);
        command.args([
            "compare",
            base,
            head,
            "--bench",
            self.target,
            "--no-skip",
            "--format",
            "json",
        ]);
        command.arg("--config").arg(format!("build.seed={seed}"));
        let start = Instant::now();
        let report = self.output_of(command)?;
        let seconds = start.elapsed().as_secs_f64();
        let json: Value = serde_json::from_slice(&report)?;
        let rows = json["benchmarks"].as_array().into_iter().flatten();
        let rows = rows.map(|row| {
            let id = row["id"].as_str().unwrap_or_default();
            (id.to_owned(), row_of_rbench(row))
        });
        Ok(Answer { rows: rows.collect(), seconds, report })
    }

    fn tango(&self, noise: &Noise, versions: [&str; 2]) -> Result<Answer, Box<dyn Error>> {
        let base = self.executable(versions[0], Tool::Tango)?;
        let head = self.executable(versions[1], Tool::Tango)?;
        let mut command = noise.command(&head);
        command.arg("compare").arg(base).args(["--time", "1"]);
        let start = Instant::now();
        let report = self.output_of(command)?;
        let seconds = start.elapsed().as_secs_f64();
        let rows = String::from_utf8_lossy(&report).lines().filter_map(row_of_tango).collect();
        Ok(Answer { rows, seconds, report })
    }

    fn criterion(&self, noise: &Noise, versions: [&str; 2]) -> Result<Answer, Box<dyn Error>> {
        let start = Instant::now();
        let mut report = Vec::new();
        for (version, baseline) in versions.into_iter().zip(["--save-baseline", "--baseline"]) {
            let mut command = noise.command(&self.executable(version, Tool::Criterion)?);
            command.args(["--bench", "--noplot", baseline, "base", "--warm-up-time", "0.5"]);
            command.args(["--measurement-time", "1"]);
            command.env("CRITERION_HOME", self.scratch.join("criterion-home"));
            report = self.output_of(command)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let verdicts = criterion::verdicts(&String::from_utf8_lossy(&report)).into_iter();
        let rows = verdicts.map(|(name, verdict)| (name, row_of_criterion(verdict))).collect();
        Ok(Answer { rows, seconds, report })
    }

    /// The executable of a version's benchmarks for one of the other tools, built by plain cargo once.
    fn executable(&self, version: &str, tool: Tool) -> Result<PathBuf, Box<dyn Error>> {
        let is_tango = tool == Tool::Tango;
        let kept = self
            .scratch
            .join(format!("{version}-{}", if is_tango { "tango" } else { "criterion" }));
        if kept.exists() {
            return Ok(kept);
        }
        let git = git2::Repository::open(self.tree.path())?;
        let commit = git.revparse_single(version)?.peel_to_commit()?;
        let force = &mut git2::build::CheckoutBuilder::new();
        git.checkout_tree(commit.as_object(), Some(force.force()))?;
        let mut cargo = Command::new(lab::rbench::cargo());
        cargo.args(["bench", "--target-dir"]);
        cargo.arg(self.scratch.join("target"));
        if is_tango {
            let package = self.scratch.join("tango");
            fs::create_dir_all(package.join("benches"))?;
            fs::create_dir_all(package.join("src"))?;
            fs::write(package.join("src/lib.rs"), "")?;
            fs::write(package.join("benches/by_tango.rs"), BY_TANGO)?;
            let truth = Value::from(self.tree.path().to_string_lossy());
            fs::write(package.join("Cargo.toml"), TANGO.replace("TRUTH", &truth.to_string()))?;
            // The head opens the base as a library, and looks for its functions by name.
            cargo.env("RUSTFLAGS", "-Clink-arg=-rdynamic").args(["--bench", "by_tango"]);
            cargo.current_dir(package);
        } else {
            cargo.args(["--bench", self.target]).current_dir(self.tree.path());
        }
        let (_, executable) = executables::built_by(&mut cargo)?.pop().ok_or("no executable")?;
        fs::copy(executable, &kept)?;
        Ok(kept)
    }
}

const TANGO: &str = r#"[package]
name = "by-tango"
version = "0.1.0"
edition = "2021"

[workspace]

[dev-dependencies]
tango-bench = "=0.9.0"
truth = { path = TRUTH }

[[bench]]
name = "by_tango"
harness = false
"#;

const BY_TANGO: &str = r"use std::hint::black_box;
use tango_bench::{benchmark_fn, tango_benchmarks, tango_main, Benchmark};

fn all() -> Vec<Benchmark> {
    black_box(truth::unrelated::touch(black_box(0)));
    let benchmark = |(name, prepare): (&'static str, fn() -> truth::Work)| {
        benchmark_fn(name, move |bencher| {
            let mut work = prepare();
            bencher.iter(move || work())
        })
    };
    truth::BENCHMARKS.into_iter().map(benchmark).collect()
}

tango_benchmarks!(all());
tango_main!();
";

fn row_of_rbench(row: &Value) -> Row {
    let verdict = row["verdict"].as_str().unwrap_or_default();
    let change = &row["change"];
    let [estimate, low, high] =
        ["estimate", "low", "high"].map(|key| change[key].as_f64().unwrap_or_default());
    let is_called = matches!(verdict, "regressed" | "improved");
    Row {
        called: is_called.then_some(100.0 * estimate),
        is_shown_unchanged: verdict == "unchanged",
        is_contradictory: is_called && low <= 0.0 && high >= 0.0,
        is_sequential: row["mode"] == "sequential",
    }
}

/// A line such as `sort   [ 375.5 ns ... 369.0 ns ]   -1.58%*`; the star marks a change.
fn row_of_tango(line: &str) -> Option<(String, Row)> {
    let (name, rest) = line.split_once('[')?;
    let change = rest.split_once(']')?.1.trim();
    let percent: f64 = change.split_once('%')?.0.trim().parse().ok()?;
    let called = change.ends_with('*').then_some(percent);
    Some((name.trim().to_owned(), Row::of_another_tool(called, false)))
}

fn row_of_criterion((word, percent): (Word, f64)) -> Row {
    let is_called = matches!(word, Word::Regressed | Word::Improved);
    Row::of_another_tool(is_called.then_some(percent), word == Word::NoChange)
}

impl Row {
    const fn of_another_tool(called: Option<f64>, is_shown_unchanged: bool) -> Self {
        Self { called, is_shown_unchanged, is_contradictory: false, is_sequential: false }
    }
}
