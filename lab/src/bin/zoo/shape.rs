//! A shape: the files and commits of a small project, the commands that are run in it, and the
//! results that a user may expect of them.

use std::fmt;

use serde_json::Value;

/// The function that every project has, and one that the second commit changes.
const LIBRARY: &str = "\
//! Work.

use std::hint::black_box;

fn rounds(count: u64) -> u64 {
    (0..count).fold(1, |state, round| black_box(state ^ round).rotate_left(7))
}

pub fn sum() -> u64 {
    rounds(700)
}

pub fn other() -> u64 {
    rounds(1_000)
}
";

/// Benchmarks of both functions with the harness of this repository.
const BENCHMARKS: &str = "\
suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));
    suite.bench(\"other\", |bencher| bencher.iter(zoo::other));";

/// The verdicts of a benchmark that need not be measured.
pub const SKIPPED: &str = "unaffected|identical";

/// A kind of project, made by code.
pub struct Shape {
    pub name: &'static str,
    /// The report or the practice that it stands for.
    pub source: &'static str,
    /// Shapes of one set have the same dependencies, which are compiled once. Without a set, a
    /// shape has only the harness of this repository, and needs no network.
    pub set: Option<&'static str>,
    /// Why rbench does not do what is expected, if that is known: the shape does not fail before it is mended.
    pub open: Option<&'static str>,
    /// Among those that `--quick` runs.
    pub is_quick: bool,
    pub steps: Vec<Step>,
}

/// What happens in the directory of the project, in this order.
pub enum Step {
    Write { path: String, text: String },
    Replace { path: String, old: String, new: String },
    Shell(String),
    Commit(&'static str),
    Run(Run),
}

pub struct Run {
    /// Relative to the repository.
    pub directory: String,
    /// Separated by spaces.
    pub arguments: String,
    pub variables: Vec<(&'static str, String)>,
    pub expected: Expected,
}

/// The result that a command must have.
#[derive(Default)]
pub struct Expected {
    pub exit: i32,
    /// Texts in the output, where any white space is one space.
    pub has: Vec<String>,
    pub lacks: Vec<String>,
    pub ids: Option<Vec<String>>,
    /// Ids of a comparison, with the permitted verdicts, separated by bars.
    pub rows: Vec<(String, &'static str)>,
    /// Ids that only the base has, with the reason.
    pub removed: Vec<(String, &'static str)>,
    /// Other values of the report, by JSON pointer.
    pub values: Vec<(&'static str, Value)>,
}

impl Shape {
    /// A package with two benchmarks that use the harness of this repository.
    pub fn new(name: &'static str, source: &'static str) -> Self {
        Self::bare(name, source)
            .file("Cargo.toml", &manifest("rbench-harness = { path = \"HARNESS\" }"))
            .file("src/lib.rs", LIBRARY)
            .benchmarks(BENCHMARKS)
    }

    /// A package whose benchmarks need a dependency from the registry, in this source file.
    pub fn foreign(
        name: &'static str,
        source: &'static str,
        dependency: &'static str,
        benchmarks: &str,
    ) -> Self {
        let shape = Self { set: Some(dependency), ..Self::bare(name, source) };
        shape
            .file("Cargo.toml", &manifest(dependency))
            .file("src/lib.rs", LIBRARY)
            .file("benches/b.rs", benchmarks)
            .shell("CARGO_NET_OFFLINE=false cargo fetch --quiet")
    }

    pub fn bare(name: &'static str, source: &'static str) -> Self {
        Self { name, source, set: None, open: None, is_quick: false, steps: Vec::new() }
    }

    /// Makes `--quick` run this shape too.
    pub fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    /// Says why the result differs.
    pub fn open(self, reason: &'static str) -> Self {
        Self { open: Some(reason), ..self }
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Writes a file. `HARNESS` in a manifest is the directory of this repository's harness.
    pub fn file(self, path: &str, text: &str) -> Self {
        self.step(Step::Write { path: path.to_owned(), text: text.to_owned() })
    }

    /// Writes these definitions of benchmarks as the one bench target.
    pub fn benchmarks(self, body: &str) -> Self {
        self.file("benches/b.rs", &native(body))
    }

    /// Replaces a text that the file must have.
    pub fn replace(self, path: &str, old: &str, new: &str) -> Self {
        let [path, old, new] = [path, old, new].map(str::to_owned);
        self.step(Step::Replace { path, old, new })
    }

    pub fn manifest(self, more: &str) -> Self {
        self.shell(&format!("cat >>Cargo.toml <<'END'\n\n{more}\nEND"))
    }

    /// Runs a script, which must succeed, in the directory of the repository.
    pub fn shell(self, script: &str) -> Self {
        self.step(Step::Shell(script.to_owned()))
    }

    pub fn commit(self, message: &'static str) -> Self {
        self.step(Step::Commit(message))
    }

    /// Commits two versions, of which the second one does more work in `other`.
    pub fn two_commits(self) -> Self {
        self.commit("Base").more_work().commit("Head")
    }

    /// Gives `other` thirty times the work.
    pub fn more_work(self) -> Self {
        self.replace("src/lib.rs", "rounds(1_000)", "rounds(30_000)")
    }

    pub fn run(self, arguments: &str, expected: Expected) -> Self {
        self.step(Step::Run(Run {
            directory: String::new(),
            arguments: arguments.to_owned(),
            variables: Vec::new(),
            expected,
        }))
    }

    pub fn list(self, ids: &[&str]) -> Self {
        self.run("list .", exit(0).ids(ids))
    }

    /// Compares both commits, with both benchmarks: only `other` is measured.
    pub fn compared(self) -> Self {
        self.two_commits()
            .run("compare --quick", exit(1).row("sum", "unaffected").row("other", "regressed"))
    }

    /// Compares the benchmark that the second commit does not affect, which measures nothing.
    pub fn skipped(self) -> Self {
        self.two_commits().run("compare --quick --exact --filter sum", exit(0).row("sum", SKIPPED))
    }

    /// Runs the last command in a directory of the repository.
    pub fn inside(mut self, directory: &str) -> Self {
        if let Some(run) = self.last() {
            directory.clone_into(&mut run.directory);
        }
        self
    }

    /// Sets a variable of the last command.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Some(run) = self.last() {
            run.variables.push((name, value.to_owned()));
        }
        self
    }

    fn last(&mut self) -> Option<&mut Run> {
        self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Run(run) => Some(run),
            _ => None,
        })
    }
}

/// The profile of a package: nothing has to be fast.
pub const PROFILE: &str =
    "[profile.bench]\nopt-level = 1\n\n[profile.bench.package.\"*\"]\nopt-level = 0\n\n";

/// The manifest of a package with one bench target and this dependency.
pub fn manifest(dependency: &str) -> String {
    format!(
        "[package]\nname = \"zoo\"\nversion = \"0.1.0\"\nedition = \"2021\"\npublish = false\n\n\
         [workspace]\n\n[lib]\nbench = false\n\n{PROFILE}[dev-dependencies]\n{dependency}\n\n\
         [[bench]]\nname = \"b\"\nharness = false\n"
    )
}

/// The source of a bench target with these definitions.
pub fn native(body: &str) -> String {
    format!(
        "use rbench_harness::{{main, Suite}};\n\nfn all(suite: &mut Suite) {{\n    {body}\n}}\n\n\
         main!(all);\n"
    )
}

/// An expected exit code; more can be added.
pub fn exit(exit: i32) -> Expected {
    Expected { exit, ..Expected::default() }
}

impl Expected {
    pub fn has(mut self, text: &str) -> Self {
        self.has.push(text.to_owned());
        self
    }

    pub fn lacks(mut self, text: &str) -> Self {
        self.lacks.push(text.to_owned());
        self
    }

    pub fn ids(mut self, ids: &[&str]) -> Self {
        self.ids = Some(ids.iter().map(|&id| id.to_owned()).collect());
        self
    }

    pub fn row(mut self, id: &str, verdicts: &'static str) -> Self {
        self.rows.push((id.to_owned(), verdicts));
        self
    }

    pub fn removed(mut self, id: &str, absence: &'static str) -> Self {
        self.removed.push((id.to_owned(), absence));
        self
    }

    pub fn value(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((pointer, value.into()));
        self
    }

    /// True if a benchmark is measured, which other work would disturb.
    pub fn is_measured(&self) -> bool {
        const UNTIMED: [&str; 3] = ["unaffected", "identical", "failed"];
        let mut verdicts = self.rows.iter().flat_map(|(_, verdicts)| verdicts.split('|'));
        verdicts.any(|verdict| !UNTIMED.contains(&verdict))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exit {}", self.exit)?;
        if let Some(ids) = &self.ids {
            write!(formatter, ", {} ids", ids.len())?;
        }
        for (id, verdicts) in &self.rows {
            write!(formatter, ", {} {verdicts}", shorten(id))?;
        }
        for (id, absence) in &self.removed {
            write!(formatter, ", {} {absence}", shorten(id))?;
        }
        for (pointer, value) in &self.values {
            write!(formatter, ", {pointer} {value}")?;
        }
        for text in &self.has {
            write!(formatter, ", \"{}\"", shorten(text))?;
        }
        for text in &self.lacks {
            write!(formatter, ", no \"{}\"", shorten(text))?;
        }
        Ok(())
    }
}

/// A text as part of a line of the table.
pub fn shorten(text: &str) -> String {
    const WIDTH: usize = 60;
    let shown: String = text.escape_debug().take(WIDTH).collect();
    let rest = if shown.chars().count() < WIDTH { "" } else { "…" };
    format!("{shown}{rest}").replace('|', "\\|")
}
