//! Reads `bench.toml`: its tables and keys, and errors that name the line.
//!
//! Defaults are not here: an absent key stays absent, so that each setting can fall back to the next source.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use super::{
    BuildOptions, CriteriaOptions, Once, SamplingOptions,
    values::key,
    variant::{self, VariantTable},
};
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::{
        BenchTarget, Benchmark, ClockReadings, CompileSettings, HarnessKind, InterimAnalyses,
        Metric, Mode, SandboxExceptions, Setup, SetupRule, Setups, Variant, variables::PassedNames,
    },
    shell::quoted,
};

/// The default of `path` in `[store]`, relative to the workspace.
const STORE: &str = ".rbench/results.sqlite";

/// The contents of `bench.toml`.
#[derive(Clone, Debug, Default)]
pub struct BenchToml {
    path: PathBuf,
    text: String,
    pub(super) tables: Tables,
    /// The commands of `--command`, which replace those of the file.
    typed: Vec<CommandTable>,
    setups: OnceCell<Setups>,
    /// The tables of the base, if they decide.
    pub(super) judge: Option<Box<Tables>>,
}

/// All tables of the file. Every key is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    #[serde(rename = "pass-environment", deserialize_with = "passed_names")]
    passed_names: PassedNames,
    pub(super) build: BuildOptions,
    pub(super) experiment: SamplingOptions,
    benchmark: Vec<Spanned<BenchmarkTable>>,
    pub(super) verdict: CriteriaOptions,
    #[serde(deserialize_with = "metric_tables")]
    pub(super) metric: BTreeMap<String, MetricTable>,
    setup: Option<SetupTable>,
    pub(super) gate: GateTable,
    store: StoreTable,
    sandbox: SandboxTable,
    harness: Vec<Spanned<HarnessTable>>,
    command: Vec<Spanned<CommandTable>>,
    #[serde(deserialize_with = "variant::named")]
    variant: BTreeMap<String, VariantTable>,
}

impl Tables {
    pub(super) fn benchmarks(&self) -> Vec<BenchmarkTable> {
        self.benchmark.iter().map(|table| table.get_ref().clone()).collect()
    }
}

/// `[[benchmark]]`: settings for some benchmarks only. The first table that matches a benchmark applies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BenchmarkTable {
    /// A regular expression for their ids.
    #[serde(deserialize_with = "regex")]
    pub(super) filter: Regex,
    pub(super) package: Option<String>,
    pub(super) bench: Option<String>,
    #[serde(default, deserialize_with = "key::builds")]
    builds: Option<InterimAnalyses>,
    #[serde(default, deserialize_with = "key::count")]
    executions: Option<u32>,
    #[serde(default, deserialize_with = "key::count")]
    measurements: Option<u32>,
    #[serde(default, deserialize_with = "key::time")]
    warm_up: Option<Duration>,
    #[serde(default, deserialize_with = "key::time")]
    min_time: Option<Duration>,
    #[serde(default, deserialize_with = "key::share")]
    pub(super) min_effect: Option<f64>,
    setup: Option<SetupTable>,
}

/// `[setup]`: commands for what benchmarks need outside of their own processes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SetupTable {
    setup: Option<String>,
    prepare: Option<String>,
    conclude: Option<String>,
    cleanup: Option<String>,
    #[serde(deserialize_with = "key::deadline")]
    timeout: Option<Duration>,
}

impl SetupTable {
    /// The longest time of a command without `timeout`.
    const TIMEOUT: Duration = Duration::from_secs(300);

    fn setup(&self) -> Setup {
        let Self { setup, prepare, conclude, cleanup, timeout } = self.clone();
        Setup { setup, prepare, conclude, cleanup, timeout: timeout.unwrap_or(Self::TIMEOUT) }
    }
}

/// `[metric.NAME]`: the verdict settings of a metric that has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MetricTable {
    #[serde(deserialize_with = "key::share")]
    pub(super) min_effect: Option<f64>,
}

/// `[gate]`: a release that the head must not be slower than either, and counted metrics that affect the exit code.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GateTable {
    #[serde(deserialize_with = "key::metrics")]
    pub(super) fail_on: Vec<Metric>,
    pub(super) base: Option<String>,
    #[serde(deserialize_with = "key::share")]
    pub(super) min_effect: Option<f64>,
}

/// `[store]`: the file of stored results.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StoreTable {
    #[serde(deserialize_with = "file")]
    path: Option<PathBuf>,
}

/// `[sandbox]`: what code of the project may do besides what the sandbox allows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct SandboxTable {
    #[serde(deserialize_with = "places")]
    read: Vec<String>,
    #[serde(deserialize_with = "places")]
    write: Vec<String>,
    unix_sockets: bool,
}

/// `[[harness]]`: the harness of a bench target that rbench cannot recognize.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HarnessTable {
    package: Option<String>,
    bench: String,
    #[serde(deserialize_with = "harness")]
    harness: HarnessKind,
}

/// `[[command]]`: a run of a whole program as a benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandTable {
    #[serde(deserialize_with = "one_line")]
    pub id: String,
    package: Option<String>,
    /// The bench target, or the program of `--command`.
    pub bench: String,
    /// The program, relative to the package; the bench target's executable if absent.
    pub program: Option<PathBuf>,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The file that it reads as its standard input, relative to the directory it runs in.
    pub stdin: Option<PathBuf>,
    /// The exit statuses besides 0 with which it has done its work.
    #[serde(default)]
    pub statuses: Vec<i32>,
    /// What its readings of the clock mean, if these are its measurements.
    pub clock: Option<ClockReadings>,
    setup: Option<SetupTable>,
}

impl BenchToml {
    pub const NAME: &str = "bench.toml";

    /// Reads the file in `directory`; an absent file is an empty one.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(Self::NAME);
        read_if_present(&path)?.map_or_else(|| Ok(Self::default()), |text| Self::parse(text, path))
    }

    /// Parses the text of a file; errors name its path.
    pub fn parse(text: String, path: PathBuf) -> Result<Self> {
        let tables = toml::from_str(&text).map_err(|error| {
            Error::new(Exit::Usage, format!("cannot use {}", path.display()))
                .cause(error.to_string())
                .hint("bench.toml.example in rbench's repository has every key")
        })?;
        let file = Self { path, text, tables, ..Self::default() };
        file.check_commands()?;
        Ok(file)
    }

    /// Sets keys, each given as `table.key=value`. A value that is not valid TOML is a string.
    pub fn with(self, settings: &[String]) -> Result<Self> {
        if settings.is_empty() {
            return Ok(self);
        }
        let refused = |setting: &str, error: &dyn std::fmt::Display| {
            Error::new(Exit::Usage, format!("cannot use --config {}", quoted(setting)))
                .cause(error.to_string().trim())
                .hint("write a key of bench.toml with its table: --config experiment.warm-up=20ms")
        };
        let mut all: toml::Table = self.text.parse().context(Exit::Usage, || Self::NAME)?;
        // Arrays of tables have no single key to set, so they stay as they are in the file.
        for name in ["benchmark", "harness", "command"] {
            all.remove(name);
        }
        let mut tables = self.tables;
        for setting in settings {
            let table: toml::Table = setting
                .parse()
                .or_else(|error| {
                    let (key, value) = setting.split_once('=').ok_or(error)?;
                    // A JSON string is also a TOML string.
                    format!("{key} = {}", serde_json::Value::from(value.trim())).parse()
                })
                .map_err(|error: toml::de::Error| refused(setting, &error))?;
            if table.get("build").is_some_and(|build| build.get("cargo-args").is_some()) {
                return Err(refused(setting, &"use --cargo-arg, whose secrets no report repeats"));
            }
            for (name, value) in table {
                let toml::Value::Table(keys) = value else {
                    return Err(refused(setting, &"it names no table"));
                };
                let known = all.entry(name).or_insert_with(|| toml::Table::new().into());
                // Nothing but tables is left of the file.
                if let toml::Value::Table(known) = known {
                    known.extend(keys);
                }
            }
            let Tables { benchmark, harness, command, .. } = tables;
            let set = Tables::deserialize(all.clone()).map_err(|error| refused(setting, &error))?;
            tables = Tables { benchmark, harness, command, ..set };
        }
        Ok(Self { tables, ..self })
    }

    /// The variables that it passes to code of a commit.
    pub const fn passed_names(&self) -> &PassedNames {
        &self.tables.passed_names
    }

    /// Refuses two commands with the same id for the same bench target: their results could not be distinguished.
    fn check_commands(&self) -> Result<()> {
        for (index, table) in self.tables.command.iter().enumerate() {
            let CommandTable { id, package, bench, .. } = table.get_ref();
            let same = |other: &&Spanned<CommandTable>| {
                let other = other.get_ref();
                let may_be_one = package.is_none() || other.package.is_none();
                other.id == *id
                    && other.bench == *bench
                    && (may_be_one || other.package == *package)
            };
            if let Some(other) = self.tables.command[..index].iter().find(same) {
                let reason = format!(
                    "[[command]] `{id}` of bench target `{bench}` is in line {} already",
                    self.line(other)
                );
                return Err(self.refused(table, &reason).hint("give each command its own id"));
            }
        }
        Ok(())
    }

    /// Returns an error for the first table that matches none of the `known` bench targets, those of the working tree.
    /// It is most likely a typing mistake.
    pub fn unknown_target(&self, known: &[BenchTarget]) -> Option<Error> {
        let Tables { benchmark, harness, command, .. } = &self.tables;
        let benchmarks =
            benchmark.iter().map(|t| ("benchmark", self.line(t), t.get_ref().target()));
        let harnesses = harness.iter().map(|t| ("harness", self.line(t), t.get_ref().target()));
        let commands = command.iter().map(|t| ("command", self.line(t), t.get_ref().target()));
        let is_known = |target: &TableTarget<'_>| {
            known.iter().any(|known| target.is(&known.package, &known.target))
        };
        let mut tables = benchmarks.chain(harnesses).chain(commands);
        let (kind, line, target) = tables.find(|(_, _, target)| !is_known(target))?;
        let names: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
        let what = format!(
            "{}, line {line}: [[{kind}]] is about {target}, which the working tree does not have",
            self.path.display()
        );
        Some(Error::new(Exit::Usage, what).hint(match names.as_slice() {
            [] => "the working tree has no bench target".to_owned(),
            names => format!("the bench targets are {}", names.join(", ")),
        }))
    }

    fn refused<T>(&self, table: &Spanned<T>, reason: &str) -> Error {
        Error::new(Exit::Usage, format!("cannot use {}", self.path.display()))
            .cause(format!("line {}: {reason}", self.line(table)))
    }

    /// The line of a table's header, from 1.
    fn line<T>(&self, table: &Spanned<T>) -> usize {
        let before = self.text.get(..table.span().start).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// Resolves the mode: interleaved or sequential.
    pub fn mode(&self, flag: Option<Mode>) -> Mode {
        flag.or(self.tables.experiment.mode).unwrap_or_default()
    }

    /// The number of benchmarks that are to run at once, if the user has chosen one.
    pub const fn parallel(&self) -> Option<u32> {
        self.tables.experiment.parallel
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The path of the store, in the workspace or absolute.
    pub fn store(&self, workspace: &Path) -> PathBuf {
        workspace.join(self.judge().store.path.as_deref().unwrap_or(Path::new(STORE)))
    }

    /// What code of the project may do besides what the sandbox allows; `home` is the user's.
    pub fn sandbox(&self, home: Option<&Path>) -> SandboxExceptions {
        let SandboxTable { read, write, unix_sockets } = &self.judge().sandbox;
        let place = |text: &String| match text.strip_prefix("~/") {
            Some(rest) => home.map(|home| home.join(rest)),
            None => Some(text.into()),
        };
        SandboxExceptions {
            read: read.iter().filter_map(place).collect(),
            write: write.iter().filter_map(place).collect(),
            unix_sockets: *unix_sockets,
        }
    }

    /// The harness that `[[harness]]` sets for a bench target.
    pub fn harness_of(&self, target: &BenchTarget) -> Option<HarnessKind> {
        let mut tables = self.tables.harness.iter().map(Spanned::get_ref);
        let table = tables.find(|table| table.target().is(&target.package, &target.target))?;
        Some(table.harness)
    }

    /// Makes the commands of `--command` the only benchmarks, with this standard input and these exit statuses.
    pub fn run_only(&mut self, commands: &[Once], stdin: Option<&Path>, statuses: &[i32]) {
        let table = |Once { id, program, arguments }: &Once| CommandTable {
            // With another input it is another benchmark.
            id: stdin.map_or_else(|| id.clone(), |stdin| format!("{id} < {}", quoted(stdin))),
            stdin: stdin.map(Path::to_owned),
            statuses: statuses.to_vec(),
            package: None,
            bench: program.clone(),
            program: None,
            arguments: arguments.clone(),
            clock: None,
            setup: None,
        };
        self.typed = commands.iter().map(table).collect();
        self.setups = OnceCell::new();
    }

    /// The set-ups: that of a command, else of the first matching `[[benchmark]]` that has one, else `[setup]`.
    pub fn setups(&self) -> &Setups {
        self.setups.get_or_init(|| self.find_setups())
    }

    fn find_setups(&self) -> Setups {
        let Tables { command, benchmark, setup, .. } = &self.tables;
        let commands = command.iter().map(Spanned::get_ref).filter_map(|table| {
            let CommandTable { id, package, bench, setup, .. } = table;
            Some(SetupRule {
                package: package.clone(),
                bench: Some(bench.clone()),
                filter: Regex::new(&format!("^{}$", regex::escape(id))).ok(),
                setup: setup.as_ref()?.setup(),
            })
        });
        let benchmarks = benchmark.iter().map(Spanned::get_ref).filter_map(|table| {
            let BenchmarkTable { filter, package, bench, setup, .. } = table;
            Some(SetupRule {
                package: package.clone(),
                bench: bench.clone(),
                filter: Some(filter.clone()),
                setup: setup.as_ref()?.setup(),
            })
        });
        let all = setup.iter().map(|table| SetupRule {
            package: None,
            bench: None,
            filter: None,
            setup: table.setup(),
        });
        // Commands of `--command` have no table.
        let commands = commands.filter(|_| self.typed.is_empty());
        Setups::new(commands.chain(benchmarks).chain(all).collect())
    }

    pub fn variants(&self) -> Vec<Variant> {
        self.tables.variant.iter().map(|(name, table)| table.named(name)).collect()
    }

    /// The settings for building each variant, on top of those of the plain version.
    pub fn variant_settings(&self, plain: &CompileSettings) -> Vec<(Variant, CompileSettings)> {
        let variants = self.tables.variant.iter();
        variants.map(|(name, table)| (table.named(name), table.on(plain))).collect()
    }

    /// True if `--command` was given. Then cargo compiles these programs instead of bench targets.
    pub fn runs_typed_commands(&self) -> bool {
        !self.typed.is_empty()
    }

    /// True if a command of this bench target runs another program than its executable.
    pub fn runs_other_programs(&self, target: &BenchTarget) -> bool {
        self.commands_of(target).any(|command| command.program.is_some())
    }

    /// The programs whose clock readings are their measurements: the id, what the readings mean, and the arguments.
    pub fn clocks(&self) -> Vec<String> {
        let tables = self.tables.command.iter().map(Spanned::get_ref);
        let clock = |table: &CommandTable| {
            let arguments = table.arguments.iter().map(quoted).collect::<Vec<_>>().join(" ");
            Some(format!("{}: {} {arguments}", table.id, table.clock?).trim_end().to_owned())
        };
        tables.filter(|_| self.typed.is_empty()).filter_map(clock).collect()
    }

    /// The commands of a bench target, or of a program of `--command`.
    pub fn commands_of(&self, target: &BenchTarget) -> impl Iterator<Item = &CommandTable> {
        let tables = self.tables.command.iter().map(Spanned::get_ref);
        let tables = tables.filter(|_| self.typed.is_empty()).chain(&self.typed);
        tables.filter(|table| table.target().is(&target.package, &target.target))
    }
}

/// The bench targets that a table matches: an absent name matches any.
struct TableTarget<'t> {
    package: Option<&'t str>,
    bench: Option<&'t str>,
}

impl TableTarget<'_> {
    fn is(&self, package: &str, bench: &str) -> bool {
        self.package.is_none_or(|name| name == package)
            && self.bench.is_none_or(|name| name == bench)
    }
}

impl std::fmt::Display for TableTarget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.package, self.bench) {
            (Some(package), Some(bench)) => write!(f, "bench target `{package}/{bench}`"),
            (Some(package), None) => write!(f, "a bench target of package `{package}`"),
            (None, bench) => write!(f, "bench target `{}`", bench.unwrap_or_default()),
        }
    }
}

impl BenchmarkTable {
    fn target(&self) -> TableTarget<'_> {
        TableTarget { package: self.package.as_deref(), bench: self.bench.as_deref() }
    }

    pub(super) fn names(&self, benchmark: &Benchmark) -> bool {
        self.target().is(&benchmark.package, &benchmark.target)
            && self.filter.is_match(&benchmark.name.id)
    }

    pub(super) fn sampling(&self) -> SamplingOptions {
        let Self { builds, executions, measurements, warm_up, min_time, .. } = *self;
        let others = SamplingOptions::default();
        SamplingOptions { builds, executions, measurements, warm_up, min_time, ..others }
    }
}

impl HarnessTable {
    fn target(&self) -> TableTarget<'_> {
        TableTarget { package: self.package.as_deref(), bench: Some(&self.bench) }
    }
}

impl CommandTable {
    fn target(&self) -> TableTarget<'_> {
        TableTarget { package: self.package.as_deref(), bench: Some(&self.bench) }
    }
}

/// Returns the text of a configuration file, or `None` if there is none. A dangling link is an error.
pub(super) fn read_if_present(path: &Path) -> Result<Option<String>> {
    let what = || format!("cannot read {}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.context(Exit::Usage, what)?,
    };
    // Reading a pipe or a device may block forever.
    if !fs::metadata(path).context(Exit::Usage, what)?.is_file() {
        return Err(Error::new(Exit::Usage, what()).cause("it is not a file"));
    }
    fs::read_to_string(path).context(Exit::Usage, what).map(Some)
}

fn passed_names<'de, D: Deserializer<'de>>(value: D) -> Result<PassedNames, D::Error> {
    PassedNames::parse(Vec::deserialize(value)?).map_err(D::Error::custom)
}

fn metric_tables<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<BTreeMap<String, MetricTable>, D::Error> {
    let tables = BTreeMap::<String, MetricTable>::deserialize(value)?;
    let with_own = Metric::KNOWN.into_iter().filter(|known| known.min_effect.is_some());
    let names: Vec<&str> = with_own.map(|known| known.name).collect();
    match tables.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(tables),
        Some(name) => Err(D::Error::custom(format!(
            "`{name}` has no settings of its own; the metrics that have are {}",
            names.join(", ")
        ))),
    }
}

/// Files and directories: absolute, or of the user's home, since each version has a checkout of its own.
fn places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let all: Vec<String> = Vec::deserialize(deserializer)?;
    match all.iter().find(|one| !one.starts_with('/') && !one.starts_with("~/")) {
        Some(other) => Err(D::Error::custom(format!(
            "`{other}` does not begin with `/` or `~/`; what is in the repository is open anyway"
        ))),
        None => Ok(all),
    }
}

fn regex<'de, D: Deserializer<'de>>(value: D) -> Result<Regex, D::Error> {
    Regex::new(&String::deserialize(value)?).map_err(D::Error::custom)
}

fn file<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PathBuf>, D::Error> {
    let path = PathBuf::deserialize(value)?;
    if path.file_name().is_none() {
        return Err(D::Error::custom("the path names no file"));
    }
    Ok(Some(path))
}

fn one_line<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let text = String::deserialize(value)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom("an id cannot be empty"));
    }
    if text.contains(char::is_control) {
        return Err(D::Error::custom(
            "an id cannot have a line break or another control character",
        ));
    }
    Ok(text)
}

fn harness<'de, D: Deserializer<'de>>(value: D) -> Result<HarnessKind, D::Error> {
    let name = String::deserialize(value)?;
    HarnessKind::from_name(&name).ok_or_else(|| {
        let known = HarnessKind::ALL.map(HarnessKind::name).join(", ");
        D::Error::custom(format!("there is no harness `{name}`; the harnesses are {known}"))
    })
}

#[cfg(test)]
mod tests;
