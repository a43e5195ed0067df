//! What holds for one run: flags, else `bench.toml`, else the defaults.
//!
//! `bench.toml` lies beside the workspace's `Cargo.toml`, in the working tree: it is about how to
//! benchmark, and must be the same for all versions of an experiment. Lists from flags and from the
//! file are not joined; a flag replaces the file's list.

mod effort;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use effort::{BenchmarkTable, ExperimentTable};
pub use effort::{Effort, Efforts, Manners};

use crate::{
    cli::{CompileArgs, CriteriaArgs, LayoutArgs, TargetArgs},
    failure::{Exit, Failure, OrFail, Result},
    model::{BenchTarget, CompileSettings, HarnessKind, Layout, Strategy, TargetFilter},
    stats::Criteria,
};

/// The name of the configuration file.
pub const FILE_NAME: &str = "bench.toml";

/// Where results are kept, relative to the workspace, unless `path` in `[store]` says otherwise.
const STORE: &str = ".rbench/results.sqlite";

/// How versions are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSettings {
    /// How many builds of each bench target.
    pub builds: u32,
    /// How functions are arranged.
    pub layout: Layout,
    /// Where builds come from.
    pub strategy: Strategy,
    /// The seed that all layout seeds are drawn from.
    pub seed: u64,
    /// What the compiler is asked for.
    pub compile: CompileSettings,
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self {
            builds: 10,
            layout: Layout::Matched,
            strategy: Strategy::Auto,
            seed: 1,
            compile: CompileSettings::default(),
        }
    }
}

/// `bench.toml` as it is written: every key may be missing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BenchToml {
    /// `[build]`
    #[serde(default)]
    build: BuildTable,
    /// `[experiment]`
    #[serde(default)]
    experiment: ExperimentTable,
    /// `[[benchmark]]`
    #[serde(default)]
    benchmark: Vec<BenchmarkTable>,
    /// `[verdict]`
    #[serde(default)]
    verdict: VerdictTable,
    /// `[store]`
    #[serde(default)]
    store: StoreTable,
    /// `[[harness]]`
    #[serde(default)]
    harness: Vec<HarnessTable>,
    /// `[[command]]`
    #[serde(default)]
    command: Vec<CommandTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct VerdictTable {
    estimator: Option<String>,
    rule: Option<String>,
    false_alarm_rate: Option<f64>,
    confidence: Option<f64>,
    min_effect: Option<f64>,
    confirm: Option<bool>,
}

/// `[store]`: where results are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StoreTable {
    path: Option<PathBuf>,
}

/// `[[harness]]`: says outright which harness a bench target has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HarnessTable {
    package: Option<String>,
    bench: String,
    harness: String,
}

/// `[[command]]`: a run of a whole program as a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CommandTable {
    /// What the benchmark is called.
    pub id: String,
    package: Option<String>,
    bench: String,
    /// The program, relative to the package; the bench target's executable if absent.
    pub program: Option<PathBuf>,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BuildTable {
    builds: Option<u32>,
    layout: Option<Layout>,
    strategy: Option<Strategy>,
    seed: Option<u64>,
    profile: Option<String>,
    features: Option<Vec<String>>,
    all_features: Option<bool>,
    no_default_features: Option<bool>,
    locked: Option<bool>,
    offline: Option<bool>,
    jobs: Option<u32>,
}

impl BenchToml {
    /// Reads the file in `directory`; a missing one says nothing.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE_NAME);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path)
            .or_fail(Exit::Usage, || format!("cannot read {}", path.display()))?;
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let parsed: Self = toml::from_str(text).map_err(|error| {
            Failure::new(Exit::Usage, format!("cannot use {}", path.display()))
                .because(error.to_string())
                .hint("bench.toml.example in rbench's repository has every key")
        })?;
        parsed.check_harnesses(path)?;
        let refused = |reason: String| {
            Failure::new(Exit::Usage, format!("cannot use {}", path.display())).because(reason)
        };
        if parsed.build.builds == Some(0) {
            return Err(refused("`builds` in [build] is 0".to_owned())
                .hint("ask for at least one build; what is judged needs two"));
        }
        if parsed.store.path.as_ref().is_some_and(|path| path.file_name().is_none()) {
            return Err(refused("`path` in [store] names no file".to_owned()));
        }
        let own = parsed.benchmark.iter().find_map(BenchmarkTable::defect);
        match parsed.experiment.defect().or(own) {
            Some(defect) => Err(refused(defect)),
            None => Ok(parsed),
        }
    }
}

impl BenchToml {
    fn check_harnesses(&self, path: &Path) -> Result<()> {
        let known = HarnessKind::ALL.map(HarnessKind::name);
        let unknown = self.harness.iter().find(|table| !known.contains(&table.harness.as_str()));
        unknown.map_or(Ok(()), |table| {
            Err(Failure::new(Exit::Usage, format!("cannot use {}", path.display()))
                .because(format!(
                    "there is no harness `{}` (bench `{}`)",
                    table.harness, table.bench
                ))
                .hint(format!("the harnesses are {}", known.join(", "))))
        })
    }

    /// The file that keeps results, in the workspace or at an absolute path.
    pub fn store(&self, workspace: &Path) -> PathBuf {
        workspace.join(self.store.path.as_deref().unwrap_or(Path::new(STORE)))
    }

    /// The harness that the file says a bench target has.
    pub fn harness_of(&self, target: &BenchTarget) -> Option<HarnessKind> {
        let named = |table: &&HarnessTable| names(table.package.as_ref(), &table.bench, target);
        HarnessKind::from_name(&self.harness.iter().find(named)?.harness)
    }

    /// The commands that the file runs a bench target with.
    pub fn commands_of(&self, target: &BenchTarget) -> impl Iterator<Item = &CommandTable> {
        self.command.iter().filter(|table| names(table.package.as_ref(), &table.bench, target))
    }
}

/// Whether a table's `package`, if it has one, and `bench` name the target.
fn names(package: Option<&String>, bench: &str, target: &BenchTarget) -> bool {
    bench == target.target && package.is_none_or(|package| *package == target.package)
}

impl BuildSettings {
    /// What flags, file and defaults say together.
    pub fn resolve(file: &BenchToml, flags: &CompileArgs, layout: &LayoutArgs) -> Self {
        let default = Self::default();
        let table = file.build.clone();
        let list = |flags: &[String], file: Option<Vec<String>>| match flags {
            [] => file.unwrap_or_default(),
            flags => flags.to_vec(),
        };
        Self {
            builds: table.builds.unwrap_or(default.builds),
            layout: layout.layout.or(table.layout).unwrap_or(default.layout),
            strategy: layout.strategy.or(table.strategy).unwrap_or(default.strategy),
            seed: layout.seed.or(table.seed).unwrap_or(default.seed),
            compile: CompileSettings {
                profile: flags.profile.clone().or(table.profile).unwrap_or(default.compile.profile),
                features: list(&flags.features, table.features),
                all_features: flags.all_features || table.all_features.unwrap_or(false),
                no_default_features: flags.no_default_features
                    || table.no_default_features.unwrap_or(false),
                locked: flags.locked || table.locked.unwrap_or(false),
                offline: flags.offline || table.offline.unwrap_or(false),
                jobs: flags.jobs.or(table.jobs),
            },
        }
    }
}

/// How benchmarks are judged.
pub fn criteria(file: &BenchToml, flags: &CriteriaArgs) -> Result<Criteria> {
    let (default, table) = (Criteria::default(), &file.verdict);
    let what = "cannot use the settings for verdicts";
    let refused =
        |error: &dyn std::fmt::Display| Failure::new(Exit::Usage, what).because(error.to_string());
    let estimator = flags.estimator.as_ref().or(table.estimator.as_ref());
    let rule = flags.rule.as_ref().or(table.rule.as_ref());
    let criteria = Criteria {
        estimator: match estimator {
            Some(name) => name.parse().map_err(|error| refused(&error))?,
            None => default.estimator,
        },
        rule: match rule {
            Some(name) => name.parse().map_err(|error| refused(&error))?,
            None => default.rule,
        },
        false_alarm_rate: flags
            .false_alarm_rate
            .or(table.false_alarm_rate)
            .unwrap_or(default.false_alarm_rate),
        confidence: flags.confidence.or(table.confidence).unwrap_or(default.confidence),
        min_effect: flags.min_effect.or(table.min_effect).unwrap_or(default.min_effect),
        confirm: !flags.no_confirm && table.confirm.unwrap_or(default.confirm),
        seed: default.seed,
    };
    criteria.checked().map_err(|refusal| refused(&refusal))
}

/// Which bench targets the flags mean.
pub fn target_filter(flags: &TargetArgs) -> TargetFilter {
    TargetFilter {
        packages: flags.package.clone(),
        excluded: flags.exclude.clone(),
        benches: flags.bench.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> CompileArgs {
        CompileArgs {
            profile: None,
            features: Vec::new(),
            all_features: false,
            no_default_features: false,
            locked: false,
            offline: false,
            jobs: None,
        }
    }

    fn parse(text: &str) -> Result<BenchToml> {
        BenchToml::parse(text, Path::new("bench.toml"))
    }

    #[test]
    fn the_example_says_every_key_with_its_default() {
        let example = include_str!("../bench.toml.example");
        // Keys without a default are commented out with a single `#`; bring them to life.
        let table = parse(example).unwrap();
        assert_eq!(
            BuildSettings::resolve(&table, &flags(), &LayoutArgs::default()),
            BuildSettings::default()
        );
        assert_eq!(table.store.path.as_deref(), Some(Path::new(STORE)));
        for key in [
            "builds",
            "layout",
            "strategy",
            "seed",
            "profile",
            "features",
            "all-features",
            "no-default-features",
            "locked",
            "offline",
            "jobs",
            "path",
        ] {
            assert!(
                example
                    .lines()
                    .any(|line| line.trim_start_matches("# ").starts_with(&format!("{key} ="))),
                "{key}"
            );
        }
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = parse("[build]\nprofile = 'release'\nfeatures = ['a']\njobs = 1\n").unwrap();
        let flags = CompileArgs { features: vec!["b".to_owned()], jobs: Some(2), ..flags() };
        let settings = BuildSettings::resolve(&file, &flags, &LayoutArgs::default());
        assert_eq!(settings.compile.profile, "release");
        assert_eq!(settings.compile.features, ["b"]);
        assert_eq!(settings.compile.jobs, Some(2));
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let failure = parse("[build]\nbuild = 3\n").unwrap_err();
        let text = failure.to_string();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(text.contains("line 2") && text.contains("`build`"), "{text}");
    }

    #[test]
    fn a_harness_is_said_for_one_target_of_one_package() {
        let file = parse("[[harness]]\npackage = 'a'\nbench = 'x'\nharness = 'divan'\n").unwrap();
        let target = |package: &str| BenchTarget { package: package.into(), target: "x".into() };
        assert_eq!(file.harness_of(&target("a")), Some(HarnessKind::Divan));
        assert_eq!(file.harness_of(&target("b")), None);
        let unknown = parse("[[harness]]\nbench = 'x'\nharness = 'diwan'\n").unwrap_err();
        assert!(unknown.to_string().contains("no harness `diwan`"), "{unknown}");
    }

    #[test]
    fn the_store_lies_in_the_workspace_unless_the_file_says_where() {
        let store = |text: &str| parse(text).unwrap().store(Path::new("/w"));
        assert_eq!(store(""), Path::new("/w/.rbench/results.sqlite"));
        assert_eq!(store("[store]\npath = 'a/b.sqlite'"), Path::new("/w/a/b.sqlite"));
        assert_eq!(store("[store]\npath = '/srv/b.sqlite'"), Path::new("/srv/b.sqlite"));
        let refused = parse("[store]\npath = ''").unwrap_err();
        assert!(refused.to_string().contains("names no file"), "{refused}");
    }

    #[test]
    fn no_builds_at_all_is_refused() {
        assert!(
            parse("[build]\nbuilds = 0\n").unwrap_err().to_string().contains("at least one build")
        );
    }
}
