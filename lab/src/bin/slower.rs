//! The tables of docs/research/profiles.md on planted changes: whether `cargo rbench diff --explain` names the function that
//! made a benchmark slower, and how much of the verdict's change it attributes to it.
//!
//! `cargo run --release -p lab --bin slower [-- BENCHMARK...]` makes a repository of the fixture `slower` with a commit for
//! each planted change and twenty that change nothing that their benchmark executes, compares each with the base by
//! `compare`, explains it by `diff --explain`, and prints the tables and the requirements. It exits with an error if one is
//! missed. `RBENCH_PROGRAM` has the `cargo-rbench` to use instead of building one.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use git2::{Repository, build::CheckoutBuilder};
use lab::WorkingTree;
use planted::{PLANTED, Planted};
use serde_json::Value;

#[path = "../../../fixtures/slower/planted.rs"]
mod planted;

/// The tag of the version that all others are compared with.
const BASE: &str = "base";
/// The number of commits of each kind that change nothing that their benchmark executes.
const NOTHING: usize = 10;
/// The accepted ratios of the change attributed to a function to that of the verdict.
const RATIOS: std::ops::RangeInclusive<f64> = 0.8..=1.2;

/// The largest accepted shares of additional time of sampled measurements, and of samples whose callers are not all known.
const OVERHEAD: f64 = 0.05;
const CUT: f64 = 0.02;
/// The longest accepted median duration of an explanation.
const LONGEST: Duration = Duration::from_secs(5);

/// The options of the study.
#[derive(Debug, Parser)]
struct Options {
    /// Only these benchmarks, and no commits that change nothing.
    benchmarks: Vec<String>,
    /// Only the verdicts of `compare`.
    #[arg(long)]
    verdicts: bool,
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let program = lab::rbench::build("release")?;
    let scratch = tempfile::tempdir()?;
    let tree = WorkingTree::of_fixture("slower", scratch.path().join("slower"))?;
    make_versions(&tree)?;
    let study = Study { program, tree, cache: scratch.path().join("cache") };
    let is_selected = |one: &&Planted| {
        options.benchmarks.is_empty() || options.benchmarks.iter().any(|name| name == one.benchmark)
    };
    let selected: Vec<&Planted> = PLANTED.iter().filter(is_selected).collect();
    if options.verdicts {
        return study.print_verdicts(&selected);
    }
    let are_explained = study.explain_planted(&selected)?;
    Ok(if options.benchmarks.is_empty() {
        study.explain_nothing()? && are_explained
    } else {
        are_explained
    })
}

/// A version that changes nothing that a benchmark executes: comments for the first ones, another benchmark's function for
/// the others.
fn nothing(number: usize) -> (String, &'static Planted) {
    let kind = if number < NOTHING { "comment" } else { "unrelated" };
    (format!("{kind}-{:02}", number % NOTHING), &PLANTED[number % PLANTED.len()])
}

/// Makes a tag for each version, each on top of the base.
fn make_versions(tree: &WorkingTree) -> Result<(), Box<dyn Error>> {
    fs::write(tree.path().join(".gitignore"), "target\n.rbench\n")?;
    tree.commit("Ignore what is built")?;
    let git = Repository::open(tree.path())?;
    tag(&git, BASE)?;
    for Planted { benchmark, edit, .. } in &PLANTED {
        make_version(&git, tree, benchmark, |tree| replace(tree, *edit))?;
    }
    for number in 0..2 * NOTHING {
        let (name, of) = nothing(number);
        make_version(&git, tree, &name, |tree| {
            if number >= NOTHING {
                return replace(tree, PLANTED[(number + 1) % PLANTED.len()].edit);
            }
            let (file, add): (_, fn(String) -> String) = if number.is_multiple_of(2) {
                ("README.md", |text| format!("{text}\nMore about it.\n"))
            } else {
                (of.edit.0, |text| format!("{text}\n// More about it.\n"))
            };
            tree.edit(file, add)
        })?;
    }
    Ok(())
}

/// Commits an edit of the base, and tags the commit.
fn make_version(
    git: &Repository,
    tree: &WorkingTree,
    name: &str,
    edit: impl FnOnce(&WorkingTree) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let base = git.revparse_single(&format!("refs/tags/{BASE}"))?.peel_to_commit()?;
    git.checkout_tree(base.as_object(), Some(CheckoutBuilder::new().force()))?;
    git.set_head_detached(base.id())?;
    edit(tree)?;
    tree.commit(name)?;
    tag(git, name)
}

fn tag(git: &Repository, name: &str) -> Result<(), Box<dyn Error>> {
    let head = git.head()?.peel_to_commit()?;
    git.tag_lightweight(name, head.as_object(), false)?;
    Ok(())
}

/// Replaces a text that a file has once.
fn replace(tree: &WorkingTree, (file, old, new): (&str, &str, &str)) -> Result<(), Box<dyn Error>> {
    let found = fs::read_to_string(tree.path().join(file))?.matches(old).count();
    if found != 1 {
        return Err(format!("{file} has {found} times: {old}").into());
    }
    tree.edit(file, |text| text.replace(old, new))
}

/// The program under study and its repository.
struct Study {
    program: PathBuf,
    tree: WorkingTree,
    cache: PathBuf,
}

impl Study {
    /// Runs rbench, which prints JSON. A regression changes the exit code.
    fn rbench(&self, words: &[&str]) -> Result<(Value, Duration), Box<dyn Error>> {
        let start = Instant::now();
        let output = Command::new(&self.program)
            .args(words)
            .args(["--format", "json"])
            .current_dir(self.tree.path())
            .env("RBENCH_CACHE_DIR", &self.cache)
            .stdin(Stdio::null())
            .output()?;
        let took = start.elapsed();
        let said = serde_json::from_slice(&output.stdout).map_err(|_| {
            let messages = String::from_utf8_lossy(&output.stderr);
            format!(
                "{} {}: {}\n{messages}",
                program_name(&self.program),
                words.join(" "),
                output.status
            )
        })?;
        Ok((said, took))
    }

    fn verdict(&self, head: &str, benchmark: &str) -> Result<Verdict, Box<dyn Error>> {
        let words = ["compare", BASE, head, "--exact", benchmark];
        let (said, took) = self.rbench(&words)?;
        let row = &said["benchmarks"][0];
        let word = row["verdict"].as_str().ok_or("a row without a verdict")?.to_owned();
        let part = |name: &str| row["change"][name].as_f64().map_or(f64::NAN, |part| 100.0 * part);
        let change = ["estimate", "low", "high"].map(part);
        Ok(Verdict { word, change, took })
    }

    fn explanation(&self, head: &str, benchmark: &str) -> Result<Explanation, Box<dyn Error>> {
        let (said, took) = self.rbench(&["diff", BASE, head, "--explain", benchmark])?;
        let base = said["base_ns"].as_f64().ok_or("an explanation that is not of time")?;
        Ok(Explanation { said, base, took })
    }

    /// A row for each planted change with its verdict alone. True if all are found.
    fn print_verdicts(&self, selected: &[&Planted]) -> Result<bool, Box<dyn Error>> {
        println!("| benchmark | alone | verdict | change | s |\n|---|--:|---|--:|--:|");
        let mut found = 0;
        for one in selected {
            let verdict = self.verdict(one.benchmark, one.benchmark)?;
            println!(
                "| {} | {:+.1} % | {} | {} | {:.0} |",
                one.benchmark,
                one.change,
                verdict.word,
                verdict.interval(),
                verdict.took.as_secs_f64()
            );
            found += usize::from(verdict.word == "regressed");
        }
        Ok(at_least("found", found, selected.len(), selected.len()))
    }

    /// A row for each planted change. True if all requirements are met.
    fn explain_planted(&self, selected: &[&Planted]) -> Result<bool, Box<dyn Error>> {
        println!(
            "| benchmark | verdict | named first | expected | attributed | of the verdict | sum | meets it | overhead \
             | cut | s |\n|---|--:|---|---|--:|--:|--:|---|--:|--:|--:|"
        );
        let (mut first, mut itself, mut close, mut inside, mut same) = (0, 0, 0, 0, 0);
        let (mut overhead, mut cut, mut times) = (0.0_f64, 0.0_f64, Vec::new());
        for planted in selected {
            let verdict = self.verdict(planted.benchmark, planted.benchmark)?;
            let explanation = self.explanation(planted.benchmark, planted.benchmark)?;
            let named = explanation.first();
            let is_itself = named.is_some_and(|one| is_function(one, planted.functions));
            let is_first = named.is_some_and(|one| is_because_of(one, planted.functions));
            let attributed = explanation.attributed(planted.functions);
            let ratio = attributed / verdict.change[0];
            let sum = explanation.sum();
            let [_, low, high] = verdict.change;
            let [_, sum_low, sum_high] = explanation.change();
            let meets = low <= sum_high && sum_low <= high;
            let mut row = vec![planted.benchmark.to_owned(), verdict.interval()];
            row.push(named.map_or_else(|| "nothing".to_owned(), label));
            row.push(planted.functions[0].to_owned());
            row.push(format!("{attributed:+.2} %"));
            row.push(format!("{ratio:.2}"));
            row.push(format!("{sum:+.2} % ({sum_low:+.2} .. {sum_high:+.2})"));
            row.push(if meets { "yes" } else { "no" }.to_owned());
            for (name, most) in [("overhead_share", &mut overhead), ("cut_share", &mut cut)] {
                let share = explanation.said[name].as_f64().unwrap_or(f64::INFINITY);
                *most = most.max(share);
                row.push(format!("{:.1} %", 100.0 * share));
            }
            row.push(format!("{:.1}", explanation.took.as_secs_f64()));
            println!("| {} |", row.join(" | "));
            first += usize::from(is_first);
            itself += usize::from(is_itself);
            close += usize::from(RATIOS.contains(&ratio));
            inside += usize::from(meets);
            same += usize::from(explanation.said["is_about_verdict"] == true);
            times.push(explanation.took);
        }
        let all = selected.len();
        println!("named first by its own name, not as the caller of what is: {itself} of {all}");
        let most = all - all / 12;
        Ok([
            at_least("named first", first, all, most),
            at_least("attributed within 20 % of the verdict", close, all, most),
            at_least("intervals of the sum and of the verdict that meet", inside, all, most),
            at_least("sums that are the verdict's change", same, all, all),
            at_most("overhead", 100.0 * overhead, 100.0 * OVERHEAD, "%"),
            at_most("callers not all known", 100.0 * cut, 100.0 * CUT, "% of samples"),
            at_most(
                "a median explanation",
                median(times).as_secs_f64(),
                LONGEST.as_secs_f64(),
                "s",
            ),
        ]
        .iter()
        .all(|is_met| *is_met))
    }

    /// Explains versions that change nothing that the benchmark executes. True if no function is named.
    fn explain_nothing(&self) -> Result<bool, Box<dyn Error>> {
        println!("\n| version | benchmark | named | sum | s |\n|---|---|---|--:|--:|");
        let mut silent = 0;
        for number in 0..2 * NOTHING {
            let (name, of) = nothing(number);
            let explanation = self.explanation(&name, of.benchmark)?;
            let named: Vec<String> = explanation.named().map(label).collect();
            silent += usize::from(named.is_empty());
            println!(
                "| {name} | {} | {} | {:+.2} % | {:.1} |",
                of.benchmark,
                if named.is_empty() { "nothing".to_owned() } else { named.join(", ") },
                explanation.sum(),
                explanation.took.as_secs_f64()
            );
        }
        Ok(at_least("nothing named", silent, 2 * NOTHING, 2 * NOTHING))
    }
}

fn program_name(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Prints a requirement; true if it is met.
fn at_least(what: &str, count: usize, of: usize, wanted: usize) -> bool {
    let is_met = count >= wanted;
    println!("{what}: {count} of {of} (at least {wanted}){}", if is_met { "" } else { ": MISSED" });
    is_met
}

/// The same for a quantity.
fn at_most(what: &str, quantity: f64, limit: f64, unit: &str) -> bool {
    let is_met = quantity <= limit;
    let missed = if is_met { "" } else { ": MISSED" };
    println!("{what}: {quantity:.1} {unit} (at most {limit} {unit}){missed}");
    is_met
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What `compare` says about a benchmark, in %.
struct Verdict {
    word: String,
    /// The estimate and the ends of its interval.
    change: [f64; 3],
    took: Duration,
}

impl Verdict {
    fn interval(&self) -> String {
        let [estimate, low, high] = self.change;
        format!("{estimate:+.2} % ({low:+.2} .. {high:+.2})")
    }
}

/// What `diff --explain` says.
struct Explanation {
    said: Value,
    /// The time of an iteration of the base in sampled executions, in ns.
    base: f64,
    took: Duration,
}

impl Explanation {
    fn functions(&self) -> impl Iterator<Item = &Value> {
        self.said["functions"].as_array().into_iter().flatten()
    }

    /// The entries beyond noise, the largest first.
    fn named(&self) -> impl Iterator<Item = &Value> {
        self.functions().filter(|one| one["is_beyond_noise"] == true)
    }

    /// The first named function: a thread that waits for another executes none.
    fn first(&self) -> Option<&Value> {
        self.named().find(|one| one["state"] != "waiting")
    }

    /// The change of functions, and of what they call and changed only because of that, in % of the base.
    fn attributed(&self, functions: &[&str]) -> f64 {
        let because = self.named().filter(|one| is_because_of(one, functions));
        self.percent(because.filter(|one| one["state"] != "waiting"), "attributed")
    }

    /// The change in sampled executions, with the ends of its interval, in % of the base.
    fn change(&self) -> [f64; 3] {
        let of = |name: &str| self.said["change_ns"][name].as_f64().unwrap_or(f64::NAN);
        ["mean", "low", "high"].map(|name| 100.0 * of(name) / self.base)
    }

    /// The change of all functions of the measuring thread, in % of the base.
    fn sum(&self) -> f64 {
        self.percent(self.functions().filter(|one| one["thread"] == "measuring"), "self")
    }

    fn percent<'e>(&self, entries: impl Iterator<Item = &'e Value>, of: &str) -> f64 {
        let changes = entries.filter_map(|one| one[of]["mean"].as_f64());
        100.0 * changes.sum::<f64>() / self.base
    }
}

/// True if this is the name of one of these functions, of which a generic one has its types, too.
fn is_named(name: &Value, functions: &[&str]) -> bool {
    let name = name.as_str().unwrap_or_default();
    let mut rests = functions.iter().filter_map(|function| name.strip_prefix(function));
    rests.any(|rest| rest.is_empty() || rest.starts_with("::<"))
}

/// True if an entry is about the own code of one of these functions, and not about the kernel or a wait in it.
fn is_function(entry: &Value, functions: &[&str]) -> bool {
    is_named(&entry["name"], functions) && entry["state"] == "working"
}

/// True if an entry is about one of these functions, or about what one of them, which changed, calls.
fn is_because_of(entry: &Value, functions: &[&str]) -> bool {
    is_named(&entry["name"], functions) || is_named(&entry["changed_caller"]["name"], functions)
}

/// The name of an entry, and of the changed function that calls it.
fn label(entry: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state = match entry["state"].as_str() {
        Some("in-kernel") => "kernel, in ",
        Some("waiting") => "waiting in ",
        _ => "",
    };
    let by = entry["changed_caller"]["name"].as_str();
    let by = by.map_or_else(String::new, |caller| format!(" (by {caller})"));
    format!("{state}{}{by}", word(&entry["name"]))
}
