//! The tables of docs/research/time.md: where the time of a comparison goes.
//!
//! `cargo run -p lab --bin phases` makes seven projects and compares two versions of each: compiled for the first time,
//! compiled but nothing else stored, with everything stored, and one benchmark after edits. It prints a table with
//! the seconds of each phase. `phases divan libtest` makes only some of them, and `phases LOG...` prints the phases of
//! other runs, from the logs that `cargo rbench` writes to `target/rbench/logs/runs/`. Measuring is divided into measurements, warm-ups, and what executions need besides.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use lab::WorkingTree;

/// Each project: the fixture whose manifest and harness it has, and its number of benchmarks.
const PROJECTS: [(&str, &str, usize); 7] = [
    ("criterion, 10", "criterion-0-8", 10),
    ("criterion, 20", "criterion-0-8", 20),
    ("divan, 10", "divan", 10),
    ("rbench-harness, 10", "native", 10),
    ("libtest, 10", "libtest", 10),
    ("criterion, 300", "criterion-0-8", 300),
    ("criterion, 1,000", "criterion-0-8", 1000),
];

/// The phases in the order of the table, with their names in the log.
const PHASES: [(&str, &[&str]); 7] = [
    ("compile", &["checkout", "compile"]),
    ("list", &["list"]),
    ("machine code", &["machine code"]),
    ("trace", &["trace"]),
    ("link", &["link"]),
    ("measure", &["measure"]),
    ("statistics, report", &["statistics", "report", "store"]),
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let are_logs = words.first().is_some_and(|word| Path::new(word).exists());
    lab::end(if are_logs { show(&words) } else { study(&words) }.map(|()| true))
}

fn show(logs: &[String]) -> Result<(), Box<dyn Error>> {
    for log in logs {
        println!("{log}\n{}", Phases::read(&fs::read_to_string(log)?)?.table());
    }
    Ok(())
}

/// Compares two versions of each project whose name begins with one of these words, and prints the table.
fn study(words: &[String]) -> Result<(), Box<dyn Error>> {
    let rbench = lab::rbench::build("release")?;
    let scratch = tempfile::tempdir()?;
    let names = PHASES.map(|(name, _)| name).join(" | ");
    println!(
        "| benchmarks | state | seconds | {names} | executions | of an execution: measuring | warm-up | the rest |"
    );
    println!("|---|---|{}", "--:|".repeat(PHASES.len() + 5));
    let is_wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.starts_with(word));
    let wanted = PROJECTS.into_iter().filter(|(name, ..)| is_wanted(name));
    for (index, (name, fixture, count)) in wanted.enumerate() {
        let path = scratch.path().join(index.to_string());
        let tree = WorkingTree::of_fixture(fixture, path)?;
        write_benchmarks(&tree, fixture, count)?;
        tree.commit("Ten functions")?;
        work_more(&tree, 0)?;
        tree.commit("More work in one of them")?;
        let cache = scratch.path().join(format!("{index}-cache"));
        let compare = |words: &[&str]| compare(&rbench, tree.path(), &cache, words);
        let all = ["HEAD~1", "HEAD", "--no-skip"];
        let few: &[&str] = if count > 20 { &all[..2] } else { &all };
        let run = |state: &str, words: &[&str]| -> Result<(), Box<dyn Error>> {
            eprintln!("{name}: {state}");
            println!("| {name} | {state} | {}", compare(words)?.row());
            Ok(())
        };
        run("new", few)?;
        forget_traces(tree.path())?;
        run("compiled", &[few, &["--config", "build.seed=2"]].concat())?;
        run("stored", few)?;
        let one = ["HEAD", ".", "(^|::)f1$"];
        work_more(&tree, 1)?;
        run("one after an edit", &one)?;
        tree.edit("src/lib.rs", |lib| lib + "\npub fn edited() {}\n")?;
        run("one after an edit, --quick", &[&one[..], &["--quick"]].concat())?;
    }
    Ok(())
}

/// Runs a comparison, and reads its log.
fn compare(
    rbench: &Path,
    project: &Path,
    cache: &Path,
    words: &[&str],
) -> Result<Phases, Box<dyn Error>> {
    let status = Command::new(rbench)
        .args(["compare", "--bench", "same", "--quiet"])
        .args(words)
        .current_dir(project)
        .env("RBENCH_CACHE_DIR", cache)
        // Benchmarks of libtest need a feature that is not stable.
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    // A regression gives exit code 1.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("cargo rbench compare {}: {status}", words.join(" ")).into());
    }
    let logs = fs::read_dir(project.join("target/rbench/logs/runs"))?;
    let logs: Result<Vec<PathBuf>, _> = logs.map(|entry| entry.map(|one| one.path())).collect();
    let newest =
        logs?.into_iter().max_by_key(|log| log.metadata().and_then(|of| of.modified()).ok());
    Phases::read(&fs::read_to_string(newest.ok_or("there is no log")?)?)
}

/// Removes the cached traces of a project.
fn forget_traces(project: &Path) -> Result<(), Box<dyn Error>> {
    for compilation in fs::read_dir(project.join("target/rbench/compilations"))? {
        let Ok(recipes) = fs::read_dir(compilation?.path().join("recipes")) else { continue };
        for recipe in recipes {
            let traces = recipe?.path().join("traces");
            if traces.exists() {
                fs::remove_dir_all(traces)?;
            }
        }
    }
    Ok(())
}

/// Writes functions and a benchmark of each, in place of those of the fixture.
fn write_benchmarks(tree: &WorkingTree, fixture: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let name = format!("fixture_{}", fixture.replace('-', "_"));
    let (mut functions, mut benchmarks) = (String::new(), String::new());
    for index in 0..count {
        write!(
            functions,
            "\n#[inline(never)]\npub fn f{index}() -> u64 {{\n    \
             (0..{}).fold({index}, |sum, n| std::hint::black_box(sum ^ n * 3))\n}}\n",
            300 + index
        )?;
        benchmarks += &match fixture {
            "divan" => {
                format!("#[divan::bench]\nfn f{index}() -> u64 {{\n    {name}::f{index}()\n}}\n")
            }
            "libtest" => format!(
                "#[bench]\nfn f{index}(bencher: &mut test::Bencher) {{\n    \
                 bencher.iter({name}::f{index});\n}}\n"
            ),
            "native" => format!(
                "    suite.bench(\"f{index}\", |bencher| bencher.iter({name}::f{index}));\n"
            ),
            _ => format!(
                "    suite.bench_function(\"f{index}\", |bencher| bencher.iter({name}::f{index}));\n"
            ),
        };
    }
    let source = match fixture {
        "divan" => format!("fn main() {{\n    divan::main();\n}}\n{benchmarks}"),
        "libtest" => format!("#![feature(test)]\nextern crate test;\n{benchmarks}"),
        "native" => format!(
            "fn all(suite: &mut rbench_harness::Suite) {{\n{benchmarks}}}\nrbench_harness::main!(all);\n"
        ),
        _ => format!(
            "use criterion::*;\nfn all(suite: &mut Criterion) {{\n{benchmarks}}}\n\
             criterion_group!(benches, all);\ncriterion_main!(benches);\n"
        ),
    };
    tree.edit("src/lib.rs", |lib| lib + &functions)?;
    let as_usual = |manifest: String| manifest.replace("= 0", "= 3").replace("= 1", "= 3");
    tree.edit("Cargo.toml", as_usual)?;
    tree.edit("benches/same.rs", |_| source)
}

/// Adds a tenth to the work of a function.
fn work_more(tree: &WorkingTree, index: usize) -> Result<(), Box<dyn Error>> {
    let (from, to) = (format!("(0..{})", 300 + index), format!("(0..{})", 330 + index));
    tree.edit("src/lib.rs", |lib| lib.replacen(&from, &to, 1))
}

/// The durations of a run, in seconds.
#[derive(Debug, Default, PartialEq)]
struct Phases {
    /// From the first line of the log to the last.
    whole: f64,
    /// Each phase, all its parts together.
    phases: BTreeMap<String, f64>,
    executions: usize,
    warm_ups: f64,
    measurements: f64,
    /// The time of all executions; less than the wall time of measuring where several run at once.
    in_executions: f64,
}

impl Phases {
    fn read(log: &str) -> Result<Self, Box<dyn Error>> {
        let mut found = Self::default();
        let mut times = log.lines().filter_map(time_of);
        let first = times.next().ok_or("no line of it has a time")?;
        found.whole = (times.next_back().unwrap_or(first) - first).rem_euclid(86_400.0);
        for line in log.lines() {
            if let Some((before, busy)) = line.split_once(" close time.busy=") {
                if let (Some(phase), Some(busy)) = (phase_of(before), seconds(busy)) {
                    *found.phases.entry(phase.to_owned()).or_default() += busy;
                }
            } else if let Some([warm_up, measured, own]) = execution(line) {
                found.executions += 1;
                found.warm_ups += warm_up;
                found.measurements += measured;
                found.in_executions += own;
            }
        }
        Ok(found)
    }

    /// The row of the table, in seconds.
    fn row(&self) -> String {
        let mut row = format!("{:.1} |", self.whole);
        for (_, names) in PHASES {
            let time: f64 = names.iter().filter_map(|name| self.phases.get(*name)).sum();
            write!(row, " {time:.1} |").unwrap_or_default();
        }
        let all = self.in_executions;
        let parts = [self.measurements, self.warm_ups, all - self.measurements - self.warm_ups];
        write!(row, " {} |", self.executions).unwrap_or_default();
        for part in parts.into_iter().filter(|_| self.executions > 0) {
            write!(row, " {:.0} % |", 100.0 * part / all).unwrap_or_default();
        }
        row
    }

    fn table(&self) -> String {
        let row = |name: &str, time: f64| {
            format!("  {name:<24}{time:>8.2} s {:>5.1} %\n", 100.0 * time / self.whole)
        };
        let mut table = String::new();
        for (phase, time) in &self.phases {
            table += &row(phase, *time);
            if phase == "measure" {
                let rest = self.in_executions - self.warm_ups - self.measurements;
                table += &row("  measurements", self.measurements);
                table += &row("  warm-ups", self.warm_ups);
                table += &row("  the rest of executions", rest);
                let each = 1e3 * self.in_executions / self.executions.max(1) as f64;
                table += &format!("    {} executions, {each:.0} ms each\n", self.executions);
            }
        }
        let other = self.whole - self.phases.values().sum::<f64>();
        table + &row("other", other) + &row("whole", self.whole)
    }
}

/// The warm-up, the measurements and the whole of an execution that a line reports, in seconds. Divan does not say how
/// long its warm-up took.
fn execution(line: &str) -> Option<[f64; 3]> {
    let (_, rest) = line.split_once(" warm_up=")?;
    let (warm_up, rest) = rest.split_once(" measured=")?;
    let (measured, own) = rest.split_once(" own=")?;
    let warm_up = warm_up.strip_prefix("Some(").and_then(seconds).unwrap_or_default();
    Some([warm_up, seconds(measured)?, seconds(own)?])
}

/// The time of day of a line, in seconds.
fn time_of(line: &str) -> Option<f64> {
    let (_, time) = line.split_once(' ').map_or(line, |(stamp, _)| stamp).split_once('T')?;
    let mut parts = time.trim_end_matches('Z').split(':').map(str::parse::<f64>);
    let mut next = || parts.next()?.ok();
    Some(next()? * 3600.0 + next()? * 60.0 + next()?)
}

/// The innermost span of a line, unless others are measured in it.
fn phase_of(line: &str) -> Option<&str> {
    let (_, spans) = line.split_once(" INFO ")?;
    let (spans, _module) = spans.rsplit_once(": ")?;
    // Names of versions may have any character but a closing brace that is followed by a colon.
    let last = spans.rsplit_once("}:").map_or(spans, |(_, last)| last);
    let name = last.split('{').next()?.trim();
    (name != "version").then_some(name)
}

/// A duration as the log writes it: `1.45s`, `85.6ms`, `17.5µs`.
fn seconds(text: &str) -> Option<f64> {
    let end = text.find([' ', ')']).unwrap_or(text.len());
    let text = &text[..end];
    let number = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = match &text[number.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-27T23:59:59.000000Z  INFO cargo_rbench::log: cargo-rbench 0.1.0: cargo rbench compare
2026-11-27T00:00:00.500000Z  INFO version{HEAD: ~1 (5be)}:compile: a::b: close time.busy=1.5s time.idle=17.5µs
2026-11-27T00:00:00.500000Z  INFO version{HEAD: ~1 (5be)}: a::b: close time.busy=1.5s time.idle=17.5µs
2026-11-27T00:00:01.000000Z DEBUG measure{stage=First}: a::run: measured p b x warm_up=Some(10ms) measured=90ms own=110ms schedule=A
2026-11-27T00:00:01.500000Z DEBUG measure{stage=First}: a::run: measured p b y warm_up=None measured=100ms own=390ms schedule=A
2026-11-27T00:00:02.000000Z  INFO measure{stage=First builds=5}: a::run: close time.busy=500ms time.idle=12µs
2026-11-27T00:00:09.000000Z  INFO cargo_rbench: exit code 1
";

    #[test]
    fn phases_are_summed_and_measuring_is_divided() {
        let phases = Phases::read(LOG).unwrap();
        let expected = [("compile".to_owned(), 1.5), ("measure".to_owned(), 0.5)];
        assert_eq!(phases.phases, BTreeMap::from(expected));
        assert_eq!((phases.whole, phases.executions), (10.0, 2));
        assert_eq!((phases.warm_ups, phases.measurements), (0.01, 0.19));
        let table = phases.table();
        assert!(table.contains("the rest of executions    0.30 s   3.0 %"), "{table}");
        assert!(table.contains("other                       8.00 s  80.0 %"), "{table}");
    }
}
