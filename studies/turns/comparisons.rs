//! Whole comparisons of versions whose true difference is known, by `cargo rbench compare` itself.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use cargo_rbench::{
    model::{Benchmark, Execution, HarnessKind, Interleave, Stage},
    source::Repository,
    store::{Row as Stored, Store},
};
use serde::Deserialize;

use crate::{rbench, support::Project, unrelated};

/// What a head has that the base does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code that no benchmark calls.
    Unrelated,
    /// So many percent more work in each benchmark.
    More(usize),
}

/// One comparison.
pub struct Compared {
    /// What the head has.
    pub kind: Kind,
    /// How the executions were interleaved.
    pub interleave: Interleave,
    /// The verdicts.
    pub rows: Vec<Row>,
    /// How long measuring the first stage of each benchmark took.
    pub measuring: Vec<Duration>,
    /// How much of that was spent in warm-ups and measurements of both versions.
    pub inside: Duration,
}

/// The verdict on a benchmark, as far as it is needed here.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// The bench target.
    pub target: String,
    /// The benchmark.
    pub id: String,
    /// One word.
    pub verdict: String,
    /// `turns` or `executions`.
    pub interleave: Option<String>,
    /// The stages.
    pub stages: Vec<Judged>,
}

/// A stage of a verdict.
#[derive(Clone, Debug, Deserialize)]
pub struct Judged {
    /// The standard error of the change's logarithm.
    pub log_standard_error: f64,
    /// In which direction it was flagged, if it was.
    pub flagged: Option<String>,
}

#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Row>,
}

/// The fixture as a repository with one base and many heads, and what compares them.
pub struct Comparisons {
    project: Project,
    rbench: PathBuf,
    base: String,
}

impl Comparisons {
    /// Makes the repository, and builds rbench beside this example.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let project = Project::of_fixture("truth")?;
        let base = commit_of(&project)?;
        Ok(Self { project, rbench: rbench::build()?, base })
    }

    /// Compares the base with a head of this kind, the one with this number.
    pub fn compare(
        &self,
        kind: Kind,
        number: usize,
        interleave: Interleave,
    ) -> Result<Compared, Box<dyn Error>> {
        let head = self.commit(kind, number)?;
        let way = match interleave {
            Interleave::Turns => "turns",
            Interleave::Executions => "executions",
        };
        let seed = (1000 * number).to_string();
        let output = Command::new(&self.rbench)
            .args(["compare", &self.base, &head, "--interleave", way, "--seed", &seed])
            .args(["--format", "json"])
            .current_dir(self.project.tree.path())
            .env("RBENCH_CACHE_DIR", self.project.scratch().join("cache"))
            .stdin(Stdio::null())
            .output()?;
        let report: Report = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let mut compared = Compared {
            kind,
            interleave,
            rows: report.benchmarks,
            measuring: Vec::new(),
            inside: Duration::ZERO,
        };
        self.add_times(&mut compared)?;
        Ok(compared)
    }

    /// Commits the head, unless it is there.
    fn commit(&self, kind: Kind, number: usize) -> Result<String, Box<dyn Error>> {
        let tree = &self.project.tree;
        let (source, work) = match kind {
            Kind::Unrelated => (unrelated::source(number), 100),
            Kind::More(percent) => (unrelated::source(0), 100 + percent),
        };
        fs::write(tree.path().join("src/unrelated.rs"), source)?;
        for name in [
            "chase", "find", "fnv", "format", "horner", "map", "numbers", "primes", "sort", "split",
        ] {
            let file = tree.path().join(format!("src/{name}.rs"));
            let text = fs::read_to_string(&file)?;
            let begin = text.find("const WORK: usize = ").ok_or("no work in a benchmark")?;
            let end = begin + text[begin..].find(';').ok_or("no work in a benchmark")?;
            let text = format!("{}const WORK: usize = {work}{}", &text[..begin], &text[end..]);
            fs::write(file, text)?;
        }
        // The same files again are no failure: they are the head of the last commit.
        let _ = tree.commit("Change something");
        commit_of(&self.project)
    }

    /// What the newest experiment took.
    fn add_times(&self, compared: &mut Compared) -> Result<(), Box<dyn Error>> {
        let path = self.project.tree.path().join(".rbench/results.sqlite");
        let store = Store::open(&path, &|| {})?;
        let experiments = store.experiments()?;
        let newest = experiments.last().ok_or("nothing is stored")?;
        for planned in &newest.plan.benchmarks {
            let rows = store.rows(&planned.benchmark, &[newest.id])?;
            let first = rows.iter().filter(|row| row.slot.stage == Stage::First);
            let mut pairs: BTreeMap<(u32, u32), Vec<&Execution>> = BTreeMap::new();
            for Stored { slot, outcome, .. } in first {
                let Ok(execution) = outcome else { continue };
                let place = (slot.round, slot.seed.get());
                pairs.entry(place).or_default().push(execution);
                compared.inside += inside(&planned.benchmark, execution);
            }
            compared.measuring.push(pairs.values().map(|pair| duration(pair)).sum());
        }
        Ok(())
    }
}

/// How long a pair of executions took.
fn duration(pair: &[&Execution]) -> Duration {
    let begin = pair.iter().map(|one| one.resources.start).min();
    let end = pair.iter().map(|one| one.resources.start + one.resources.wall).max();
    let both = begin.zip(end).unwrap_or((SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH));
    both.1.duration_since(both.0).unwrap_or_default()
}

/// How long an execution warmed up and measured.
fn inside(benchmark: &Benchmark, execution: &Execution) -> Duration {
    let Execution { asked, warm_up, .. } = execution;
    // Divan gives one median for all of its samples, and does not warm up.
    if benchmark.target == format!("by_{}", HarnessKind::Divan.name()) {
        let samples = u32::try_from(asked.measurements).unwrap_or(u32::MAX);
        return execution.measured_time().saturating_mul(samples);
    }
    execution.measured_time() + warm_up.unwrap_or(asked.warm_up)
}

fn commit_of(project: &Project) -> Result<String, Box<dyn Error>> {
    let head = Repository::discover(project.tree.path())?.resolve("HEAD")?;
    Ok(head.commit.ok_or("nothing is committed")?)
}
