//! The tables of docs/research/skips.md: changes one thing of a small project, and compares what rbench skips with what the
//! processes do.
//!
//! `cargo run -p lab --bin skips` makes more than four hundred mutants of ten projects, `skips --quick` takes every tenth of
//! them, and `skips NAME…` those of some projects; `--results FILE` keeps each, and continues where it was stopped. Each
//! benchmark of each mutant is one case. rbench decides by `diff --by-benchmark`, which takes the same decision as
//! `compare`. The truth is not a time but what the process does, in a program that plain cargo has built: instructions by
//! callgrind and bytes read, and for mutants of an alignment also the address modulo 64. The exit code is 1 if a case that
//! does other work is skipped, or if too few that do the same are.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

mod mutate;
mod project;
mod truth;

use std::{
    collections::{BTreeMap, VecDeque},
    error::Error,
    fs,
    io::Write,
    path::PathBuf,
    process::{ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use clap::Parser;
use mutate::Mutant;
use project::{BENCHMARKS, Kind, PROJECTS, Project};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use truth::Laboratory;

const MUTANTS: usize = 44;
/// `--quick` takes one of this many mutants.
const TENTH: usize = 10;
/// Projects that are examined at the same time.
const AT_ONCE: usize = 2;
/// The least share of cases that do the same and are skipped.
const LEAST_SKIPPED: f64 = 0.8;

#[derive(Parser)]
struct Options {
    /// Only these projects
    names: Vec<String>,
    /// Only every tenth mutant
    #[arg(long)]
    quick: bool,
    /// Adds each examined mutant to this file; those that it has already are not examined again
    #[arg(long)]
    results: Option<PathBuf>,
}

#[derive(Deserialize, Serialize)]
struct Case {
    benchmark: String,
    /// The differences that rbench sees; none if it skips the benchmark.
    seen: Option<String>,
    /// The difference of what the process does.
    truth: Option<String>,
}

/// A mutant with its cases, or the reason why it could not be examined.
struct Examined {
    project: &'static str,
    number: usize,
    mutant: Mutant,
    cases: Result<Vec<Case>, String>,
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let start = Instant::now();
    let rbench = lab::rbench::build("dev")?;
    // Outside of this repository: git and cargo look for their files above a project too.
    let root = tempfile::tempdir()?;
    let study = Study {
        laboratory: Laboratory::new(root.path())?,
        rbench,
        root: root.path().to_owned(),
        quick: options.quick,
        results: options.results.clone(),
    };
    let is_wanted = |kind: &&Kind| {
        options.names.is_empty() || options.names.iter().any(|name| name == kind.name)
    };
    let waiting: Mutex<VecDeque<&'static Kind>> =
        Mutex::new(PROJECTS.iter().filter(is_wanted).collect());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(kind) = next() {
                    let examined =
                        study.project(kind).map_err(|error| format!("{}: {error}", kind.name));
                    if let Err(error) = &examined {
                        eprintln!("{error}");
                    }
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(examined);
                }
            });
        }
    });
    let done: Result<Vec<_>, _> =
        done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect();
    let mut examined: Vec<Examined> = done?.into_iter().flatten().collect();
    examined.sort_by_key(|one| (one.project, one.number));
    let is_good = report(&examined);
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    Ok(is_good)
}

struct Study {
    laboratory: Laboratory,
    rbench: PathBuf,
    root: PathBuf,
    quick: bool,
    results: Option<PathBuf>,
}

impl Study {
    /// Examines the mutants of a project one after the other.
    fn project(&self, kind: &'static Kind) -> Result<Vec<Examined>, Box<dyn Error>> {
        let files = Project::files(kind)?;
        let offset = PROJECTS.iter().position(|other| other.name == kind.name).unwrap_or(0);
        let mutants: Vec<(usize, Mutant)> = mutate::mutants(kind.name, kind, &files, MUTANTS)
            .into_iter()
            .enumerate()
            // Another tenth of each project.
            .filter(|(number, _)| !self.quick || number % TENTH == offset % TENTH)
            .collect();
        let mut earlier = self.earlier(kind.name)?;
        let project = Project::new(kind, self.root.join(kind.name), &mutants)?;
        let base = if mutants.iter().all(|(number, _)| earlier.contains_key(number)) {
            None
        } else {
            Some(self.laboratory.observe(&project, None, None)?)
        };
        let mut examined = Vec::new();
        for (number, mutant) in mutants {
            let cases = match (earlier.remove(&number), &base) {
                (None, Some(base)) => {
                    let cases = self.mutant(&project, base, number, &mutant);
                    project.restore(&mutant)?;
                    if let Ok(cases) = &cases {
                        self.keep(kind.name, number, cases)?;
                    }
                    cases.map_err(|error| error.to_string())
                }
                (cases, _) => Ok(cases.unwrap_or_default()),
            };
            let one = Examined { project: kind.name, number, mutant, cases };
            eprintln!("{}", line(&one));
            examined.push(one);
        }
        Ok(examined)
    }

    /// The cases of a project's mutants that the file of results has already.
    fn earlier(&self, project: &str) -> Result<BTreeMap<usize, Vec<Case>>, Box<dyn Error>> {
        let Some(path) = self.results.as_ref().filter(|path| path.exists()) else {
            return Ok(BTreeMap::new());
        };
        let mut found = BTreeMap::new();
        for line in fs::read_to_string(path)?.lines() {
            let (name, number, cases): (String, usize, Vec<Case>) = serde_json::from_str(line)?;
            if name == project {
                found.insert(number, cases);
            }
        }
        Ok(found)
    }

    fn keep(&self, project: &str, number: usize, cases: &[Case]) -> Result<(), Box<dyn Error>> {
        let Some(path) = &self.results else { return Ok(()) };
        let line = serde_json::to_string(&(project, number, cases))? + "\n";
        Ok(fs::File::options().create(true).append(true).open(path)?.write_all(line.as_bytes())?)
    }

    fn mutant(
        &self,
        project: &Project,
        base: &truth::Truth,
        number: usize,
        mutant: &Mutant,
    ) -> Result<Vec<Case>, Box<dyn Error>> {
        let revisions = project.apply(number, mutant)?;
        let truth = self.laboratory.observe(project, Some(mutant), Some(base))?;
        let decisions = self.decisions(project, &revisions)?;
        let case = |(index, benchmark): (usize, &&str)| {
            let seen =
                decisions.get(*benchmark).ok_or(format!("no decision on {benchmark}"))?.clone();
            let truth = truth.difference(base, index, mutant.aligned.as_ref());
            Ok(Case { benchmark: (*benchmark).to_owned(), seen, truth })
        };
        BENCHMARKS.iter().enumerate().map(case).collect()
    }

    /// What rbench says of each benchmark: none if it is skipped.
    fn decisions(
        &self,
        project: &Project,
        revisions: &[String; 2],
    ) -> Result<BTreeMap<String, Option<String>>, Box<dyn Error>> {
        let mut command = project.command(&self.rbench);
        command.args(["rbench", "diff"]).args(revisions).args([
            "--by-benchmark",
            "--format",
            "json",
        ]);
        if project.kind.arguments.is_none() {
            for benchmark in BENCHMARKS {
                command.arg("--command").arg(format!("skips {benchmark}"));
            }
        }
        let output =
            command.env("XDG_CACHE_HOME", self.root.join("cache")).stdin(Stdio::null()).output()?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("rbench: {}", errors(&output.stderr)))?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut decisions = BTreeMap::new();
        for benchmark in
            list(&report["targets"]).iter().flat_map(|target| list(&target["benchmarks"]))
        {
            let id = benchmark["id"].as_str().unwrap_or_default();
            let id = id.rsplit([' ', ':']).next().unwrap_or(id).to_owned();
            let impact = &benchmark["impact"];
            let seen: Vec<String> = ["functions", "files", "variables", "uncertainties"]
                .iter()
                .flat_map(|kind| list(&impact[*kind]))
                .map(|one| one["name"].as_str().or(one.as_str()).unwrap_or_default().to_owned())
                .collect();
            decisions.insert(id, (!seen.is_empty()).then(|| seen.join(", ")));
        }
        Ok(decisions)
    }
}

fn errors(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines().skip_while(|line| !line.starts_with("error")).take(3).collect::<Vec<_>>().join(" ")
}

fn line(one: &Examined) -> String {
    let cases = match &one.cases {
        Err(error) => format!("NOT EXAMINED: {error}"),
        Ok(cases) => cases
            .iter()
            .map(|case| match (&case.seen, &case.truth) {
                (None, None) => "skipped".to_owned(),
                (Some(_), None) => format!("{} lost", case.benchmark),
                (Some(_), Some(_)) => format!("{} measured", case.benchmark),
                (None, Some(truth)) => format!("{} DEFECT: {truth}", case.benchmark),
            })
            .collect::<Vec<_>>()
            .join(", "),
    };
    format!("{} {} [{}] {}: {cases}", one.project, one.number, one.mutant.kind, one.mutant.what)
}

/// Cases by what they do and whether they are skipped.
#[derive(Clone, Copy, Default)]
struct Counts {
    mutants: usize,
    same_skipped: usize,
    same_measured: usize,
    other_measured: usize,
    other_skipped: usize,
}

impl Counts {
    fn add(&mut self, cases: &[Case]) {
        self.mutants += 1;
        for case in cases {
            match (&case.seen, &case.truth) {
                (None, None) => self.same_skipped += 1,
                (Some(_), None) => self.same_measured += 1,
                (Some(_), Some(_)) => self.other_measured += 1,
                (None, Some(_)) => self.other_skipped += 1,
            }
        }
    }

    fn row(&self, name: &str) -> String {
        let Self { mutants, same_skipped, same_measured, other_measured, other_skipped } = self;
        format!(
            "| {name} | {mutants} | {same_skipped} | {same_measured} | {other_measured} | {other_skipped} |"
        )
    }
}

/// Prints tables by kind and by project, and all surprises. True if all mutants were examined and the targets are met.
fn report(examined: &[Examined]) -> bool {
    let mut all = Counts::default();
    for by in ["change", "project"] {
        let mut table: BTreeMap<&str, Counts> = BTreeMap::new();
        for one in examined {
            let Ok(cases) = &one.cases else { continue };
            let name = if by == "change" { one.mutant.kind } else { one.project };
            table.entry(name).or_default().add(cases);
        }
        println!(
            "| {by} | mutants | same, skipped | same, measured | other work, measured | other work, skipped |"
        );
        println!("|---|--:|--:|--:|--:|--:|");
        for (name, counts) in &table {
            println!("{}", counts.row(name));
        }
        all = Counts::default();
        examined.iter().filter_map(|one| one.cases.as_ref().ok()).for_each(|cases| all.add(cases));
        println!("{}\n", all.row("all"));
    }
    for one in examined {
        let Ok(cases) = &one.cases else {
            println!("- {}", line(one));
            continue;
        };
        for case in cases {
            let Examined { project, mutant: Mutant { kind, what, .. }, .. } = one;
            let place = format!("{project}, {}: {kind}, {what}", case.benchmark);
            match (&case.seen, &case.truth) {
                (None, Some(truth)) => println!("- DEFECT: skipped, though {truth}: {place}"),
                (Some(seen), None) => println!("- lost: {place} ({seen})"),
                _ => {}
            }
        }
    }
    let same = all.same_skipped + all.same_measured;
    let share = all.same_skipped as f64 / same.max(1) as f64;
    println!(
        "\n{} mutants, {:.1} % of {same} cases that do the same are skipped",
        all.mutants,
        100.0 * share
    );
    let are_all = examined.iter().all(|one| one.cases.is_ok());
    are_all && all.other_skipped == 0 && share >= LEAST_SKIPPED
}
